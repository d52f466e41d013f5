// Draw Mermaid diagrams in a real browser: node mermaid_draw.cjs NODE_MODULES CHROMIUM [PICTURE.png] < diagrams.json
// stdin: a JSON list of sources; stdout: for each {"texts": {class: [text, ...]}, "elements": [tag, ...]} or {"error": message}.
const fs = require("fs"), os = require("os"), path = require("path");
const [modules, executablePath, picture] = process.argv.slice(2);
const { chromium } = require(path.join(modules, "playwright-core"));

const draw = async (source) => {        // runs in the page
  try {
    const { svg } = await mermaid.render("diagram" + (window.count = (window.count || 0) + 1), source);
    document.body.innerHTML = svg;
  } catch (error) {
    return { error: String(error) };
  }
  const texts = {};
  for (const name of ["actor", "messageText", "noteText"])
    texts[name] = [...document.querySelectorAll(`text.${name}`)].map((element) => element.textContent);
  return { texts, elements: [...new Set([...document.body.querySelectorAll("*")].map((e) => e.tagName.toLowerCase()))] };
};

(async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mermaid-"));
  const browser = await chromium.launchPersistentContext(folder, { executablePath, headless: true, viewport: { width: 1400, height: 1000 }, args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"] });
  try {
    const page = await browser.newPage();
    page.on("dialog", (dialog) => { console.error("a dialog opened:", dialog.message()); process.exitCode = 1; dialog.dismiss(); });
    await page.addScriptTag({ path: path.join(modules, "mermaid/dist/mermaid.min.js") });
    await page.evaluate(() => mermaid.initialize({ startOnLoad: false, securityLevel: "strict" }));
    const answers = [];
    for (const source of JSON.parse(fs.readFileSync(0, "utf8"))) answers.push(await page.evaluate(draw, source));
    if (picture) await (await page.$("svg")).screenshot({ path: picture });
    process.stdout.write(JSON.stringify(answers));
  } finally {
    await browser.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
})().catch((error) => { console.error(error); process.exit(1); });
