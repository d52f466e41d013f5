// Run .ci/pyodide_tests.py in Pyodide: node pyodide.mjs NODE_MODULES SITE_PACKAGES ROOT
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, site, root] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${modules}/pyodide/pyodide.mjs`));
const pyodide = await loadPyodide();
for (const [folder, target] of [[site, "/site"], [root, "/root"]]) {
  pyodide.FS.mkdirTree(target);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, target);
}
// async, so that asyncio.run can wait (needs --experimental-wasm-jspi on node 22)
const status = await pyodide.runPythonAsync(readFileSync(`${root}/.ci/pyodide_tests.py`, "utf8"));
process.exit(status);
