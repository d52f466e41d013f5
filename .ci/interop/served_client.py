"""Use `served_tools.py` as one of Python's MCP clients does: `served_client.py KIND TARGET`, the target in JSON.

A target is a command or a URL. What came is printed as JSON: the tools' names, what each call gave, and fifty sums that
were asked for at once. KIND: mcp1 and langchain (in the venv of mcp 1.x), mcp2, fastmcp, ours; after a dash the mode.
"""
import asyncio
import contextlib
import json
import sys

CALLS = [["add", {"a": 2, "b": 3}], ["add", {"a": "x"}], ["fails", {"text": "boom"}], ["prints", {}], ["hangs", {}],
         ["naps", {"seconds": 0.01}], ["big", {"size": 5_000_000}], ["picture", {}],
         ["test_multiple_content_types", {}]]


def plain(block):
    """Give [type, text or media type] of a block of content, of a long text its length."""
    block = block if isinstance(block, dict) else block.model_dump(by_alias=True, mode="json")
    inner = block.get("resource") or block
    said = inner.get("text") or inner.get("mimeType") or inner.get("mime_type")
    kind = {"file": "resource"}.get(block["type"], block["type"])          # LangChain has words of its own
    return [kind, said if len(said) < 10_000 else len(said)]


async def told(names, call):
    outcomes = [await call(*each) for each in CALLS]
    fifty = await asyncio.gather(*(call("add", {"a": number}) for number in range(50)))
    print(json.dumps({"tools": names, "calls": outcomes, "fifty": [structured for _, _, structured in fifty]}))


def outcome_of(result):
    """Give [is it an error, its blocks, what is structured] of what a session of mcp gives."""
    fields = result.model_dump(by_alias=True, mode="json")
    return [fields["isError"], [plain(block) for block in fields["content"]], fields["structuredContent"]]


async def with_mcp1(target, mode):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client
    over_http = isinstance(target, str)
    streams = streamablehttp_client(target) if over_http else stdio_client(
        StdioServerParameters(command=target[0], args=target[1:]))
    async with streams as (reading, writing, *_), ClientSession(reading, writing) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]

        async def call(name, arguments):
            return outcome_of(await session.call_tool(name, arguments))
        await told(names, call)


async def with_mcp2(target, mode):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client
    server = target if isinstance(target, str) else stdio_client(
        StdioServerParameters(command=target[0], args=target[1:]))
    async with Client(server, mode=mode or "auto") as client:
        async def call(name, arguments):
            return outcome_of(await client.call_tool(name, arguments))
        await told([tool.name for tool in (await client.list_tools()).tools], call)


async def with_fastmcp(target, mode):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    transport = target if isinstance(target, str) else StdioTransport(command=target[0], args=target[1:])
    async with Client(transport, mode=mode or "auto") as client:
        async def call(name, arguments):
            result = await client.call_tool(name, arguments, raise_on_error=False)
            return [result.is_error, [plain(block) for block in result.content], result.structured_content]
        await told([tool.name for tool in await client.list_tools()], call)


async def with_langchain(target, mode):
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools
    entry = {"transport": "streamable_http", "url": target} if isinstance(target, str) else {
        "transport": "stdio", "command": target[0], "args": target[1:]}
    async with MultiServerMCPClient({"ours": entry}).session("ours") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call(name, arguments):
            message = await tools[name].ainvoke(
                {"type": "tool_call", "id": "1", "name": name, "args": arguments})
            return [message.status == "error", [plain(block) for block in message.content],
                    (message.artifact or {}).get("structured_content")]
        await told([*tools], call)


async def with_ours(target, mode):
    from toolreg import McpClient
    with McpClient(target) as client:
        async def call(name, arguments):
            result = await asyncio.to_thread(client.call_tool, name, arguments)
            return [result["isError"], [plain(block) for block in result["content"]], result.get("structuredContent")]
        await told([row["name"] for row in client.list_tools()], call)


if __name__ == "__main__":
    kind, _, mode = sys.argv[1].partition("-")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(globals()[f"with_{kind}"](json.loads(sys.argv[2]), mode))
