// Use served_tools.py as a client of the TypeScript SDK does: served_client.cjs NODE_MODULES sdk1|sdk2[-MODE] TARGET CALLS
// TARGET, a command or a URL, and CALLS, [[name, arguments], ...], are JSON; what came is printed as served_client.py does.
const { createRequire } = require("node:module");
const [modules, kind, target, calls] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const [sdk, ...mode] = kind.split("-");
const parts = sdk === "sdk1"
    ? { ...load("@modelcontextprotocol/sdk/client/index.js"), ...load("@modelcontextprotocol/sdk/client/stdio.js"),
        ...load("@modelcontextprotocol/sdk/client/streamableHttp.js") }
    : { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };

function plain(block) {
    const inner = block.resource ?? block;
    const said = inner.text ?? inner.mimeType;
    return [block.type, said.length < 10_000 ? said : said.length];
}

async function main() {
    const [where, ...rest] = [JSON.parse(target)].flat();
    const options = mode.length ? { versionNegotiation: { mode: mode[0] === "auto" ? "auto" : { pin: mode.join("-") } } } : {};
    const client = new parts.Client({ name: "sdk", version: "1" }, options);
    await client.connect(rest.length
        ? new parts.StdioClientTransport({ command: where, args: rest, stderr: "ignore" })
        : new parts.StreamableHTTPClientTransport(new URL(where)));
    const call = async (name, given) => {
        const result = await client.callTool({ name, arguments: given });
        return [result.isError ?? false, result.content.map(plain), result.structuredContent ?? null];
    };
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    const outcomes = [];
    for (const each of JSON.parse(calls)) outcomes.push(await call(...each));
    const fifty = await Promise.all([...Array(50).keys()].map((number) => call("add", { a: number })));
    console.log(JSON.stringify({ tools, calls: outcomes, fifty: fifty.map((each) => each[2]) }));
    await client.close();
}

main().catch((error) => { console.error(error); process.exitCode = 1; });
