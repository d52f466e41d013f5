// A server of the TypeScript SDK: typescript_server.cjs NODE_MODULES sdk1|sdk2|modern stdio|PORT
// sdk2 speaks all revisions; modern refuses those with a handshake.
const { createRequire } = require("node:module");
const { createServer } = require("node:http");
const { randomUUID } = require("node:crypto");
const [modules, kind, port] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { z } = load("zod");
const about = { name: kind, version: "1" };
const numbers = { a: z.number(), b: z.number() };
const add = async ({ a, b }) => ({
    content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } });

function sdk1() {
    const { McpServer } = load("@modelcontextprotocol/sdk/server/mcp.js");
    const server = new McpServer(about);
    server.registerTool("add", { inputSchema: numbers, outputSchema: { sum: z.number() } }, add);
    return server;
}

async function serve1() {
    if (port === "stdio") {
        const { StdioServerTransport } = load("@modelcontextprotocol/sdk/server/stdio.js");
        return sdk1().connect(new StdioServerTransport());
    }
    const { StreamableHTTPServerTransport } = load("@modelcontextprotocol/sdk/server/streamableHttp.js");
    const sessions = new Map();
    createServer(async (request, response) => {
        const id = request.headers["mcp-session-id"];
        let transport = sessions.get(id);
        if (!transport) {
            transport = new StreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID, onsessioninitialized: (session) => sessions.set(session, transport) });
            await sdk1().connect(transport);
        }
        await transport.handleRequest(request, response);
    }).listen(Number(port), "127.0.0.1");
}

function serve2() {
    const { McpServer, createMcpHandler } = load("@modelcontextprotocol/server");
    const make = () => {
        const server = new McpServer(about);
        server.registerTool("add", { inputSchema: z.object(numbers), outputSchema: z.object({ sum: z.number() }) }, add);
        return server;
    };
    const options = kind === "modern" ? { legacy: "reject" } : {};
    if (port === "stdio") return load("@modelcontextprotocol/server/stdio").serveStdio(make, options);
    const { toNodeHandler } = load("@modelcontextprotocol/node");
    createServer(toNodeHandler(createMcpHandler(make, options))).listen(Number(port), "127.0.0.1");
}

(kind === "sdk1" ? serve1 : serve2)();
