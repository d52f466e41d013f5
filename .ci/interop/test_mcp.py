"""toolreg's MCP client against real servers: python mcp 2.x and 1.x, fastmcp, and those of npm; stdio and HTTP.

What they answer is compared with what python mcp's own client gets from the same servers, and with literal results.
"""
import asyncio
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import toolreg
from toolreg import McpClient, McpError, ToolCall, ToolRegistry

HERE = pathlib.Path(__file__).parent
MCP1_SERVER = '''
import sys
import anyio
from mcp.server.fastmcp import Context, FastMCP, Image
server = FastMCP("one", host="127.0.0.1", port=int(sys.argv[2]) if len(sys.argv) > 2 else 1)

@server.tool()
def add(a: int, b: int = 1) -> int:
    "Add two integers."
    return a + b

@server.tool()
def noisy() -> str:
    print("I am noise on stdout", flush=True)
    return "ok"

@server.tool()
def fails(text: str) -> str:
    raise ValueError(text)

@server.tool()
def picture() -> Image:
    return Image(data=b"12345678", format="png")

@server.tool()
async def slow(seconds: float, context: Context) -> str:
    await context.report_progress(1, 2)
    await context.info("half way")
    await anyio.sleep(seconds)
    return "done"

@server.tool()
async def pings(context: Context) -> str:
    await context.session.send_ping()
    return "alive"

server.run("stdio" if sys.argv[1] == "stdio" else "streamable-http")
'''
MCP2_SERVER = '''
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("two")

@server.tool()
def add(a: int, b: int = 1) -> int:
    "Add two integers."
    return a + b

if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
'''
FASTMCP_SERVER = '''
import sys
from fastmcp import FastMCP
server = FastMCP("fast")

@server.tool
def add(a: int, b: int = 1) -> int:
    "Add two integers."
    return a + b

@server.tool(description="Give a table.", tags={"data"})
def table(rows: int) -> list[dict[str, int]]:
    return [{"row": row} for row in range(rows)]

@server.tool
def fails(text: str) -> str:
    raise ValueError(text)

if sys.argv[1] == "stdio":
    server.run(show_banner=False)
else:
    server.run("http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
'''
REPLAY_SERVER = '''
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    result = {"protocolVersion": "2025-11-25", "tools": json.load(file)}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''
ANY = re.compile("", re.DOTALL)
NOT_A = '- a: "x" is not an integer'
# tool, arguments, what the content is (a text, or a pattern in it), is it an error
MANY = [
    ("add", {"a": 2}, "3", False), ("add", {"a": "2", "b": 5}, "7", False),
    ("add", {"a": "x"}, re.compile(NOT_A), True),
    ("add", {"a": 1, "b": -1}, re.compile("- b: -1 "), True),
    ("make_point", {"p": {"x": 1}, "kind": "b"}, re.compile(r'"y": 0.5'), False),
    ("make_point", {"p": {"x": 1}, "kind": "c"}, re.compile('- kind: "c" is not one of "a", "b"'), True),
    ("tree_sum", {"root": {"value": 1, "children": [{"value": 2}, {"value": 3, "children": [{"value": 4}]}]}},
     re.compile('"sum": 10'), False),
    ("tree_sum", {"root": {"value": 1, "children": [{"value": "two"}]}},
     re.compile(r"- root.children\[0\].value: "), True),
    ("fail", {"msg": "boom"}, "Error executing tool fail", True), ("nothing", {}, '{"result": null}', False),
    ("picture", {}, "[image, image/png, 8 bytes]", False),
    ("mixed", {}, 'one\n[image, image/png, 4 bytes]\n{\n  "k": "v"\n}', False),
    ("slow", {"seconds": 0.3}, "done", False),
    ("elicits", {"who": "you"}, re.compile("failed: McpError: the server refused tools/call: "), True),
    ("roots", {}, re.compile("failed: McpError: the server refused tools/call: "), True),
    ("unicode_tool", {"text": "añ☃", "ünïcode": 1}, "☃ña☃", False), ("big", {"n": 300_000}, "x" * 300_000, False),
    ("noisy", {}, "ok", False), ("none such", {}, re.compile("there is no tool"), True),
]
MCP1 = [
    ("add", {"a": 2}, "3", False), ("add", {"a": "x"}, re.compile(NOT_A), True), ("noisy", {}, "ok", False),
    ("fails", {"text": "boom"}, "Error executing tool fails: boom", True), ("slow", {"seconds": 0.2}, "done", False),
    ("picture", {}, "[image, image/png, 8 bytes]", False), ("pings", {}, "alive", False),
]
FASTMCP = [
    ("add", {"a": 2}, "3", False), ("add", {"a": "x"}, re.compile(NOT_A), True),
    ("table", {"rows": 2}, '[{"row":0},{"row":1}]', False), ("fails", {"text": "boom"}, re.compile("boom"), True),
]
EVERYTHING = [
    ("echo", {"message": "hällo"}, "Echo: hällo", False),
    ("get-sum", {"a": 1, "b": "2"}, "The sum of 1 and 2 is 3.", False),
    ("get-sum", {"a": 1}, re.compile("- b: is missing"), True),
    ("get-tiny-image", {}, re.compile(r"\[image, image/png, \d+ bytes\]"), False),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}, ANY, False),
    ("get-annotated-message", {"messageType": "odd"}, re.compile('"odd" is not one of'), True),
    ("get-structured-content", {"location": "Chicago"}, re.compile("temperature"), False),
    ("get-resource-links", {"count": 2}, re.compile(r"\[resource_link, .*\n\[resource_link, "), False),
    ("get-resource-reference", {"resourceType": "Text", "resourceId": 1}, re.compile(r"\[resource, demo://"), False),
    ("trigger-long-running-operation", {"duration": 1, "steps": 2}, re.compile("completed"), False),
]


def timeless(text):
    return re.sub(r"\d+:\d\d:\d\d", "the time", text)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving_http(command, port, **environment):
    """Run a server until the end of the block, and give its URL once it accepts connections."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, **environment})
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, f"{command} has ended"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def start(tmp_path, request):
    """Give start(name) -> a transport: a command for stdio, the URL of a running server for HTTP."""
    def command_of(name, *arguments):
        if name in ("mcp1", "fastmcp"):
            path = tmp_path / f"{name}_server.py"
            path.write_text({"mcp1": MCP1_SERVER, "fastmcp": FASTMCP_SERVER}[name], "utf-8")
            python = request.getfixturevalue("mcp1_python") if name == "mcp1" else sys.executable
            return [python, str(path), *arguments]
        if name in ("many", "paged"):
            return [sys.executable, str(pathlib.Path(__file__).with_name("mcp2_server.py")), name, *arguments]
        packages = request.getfixturevalue("node_modules") / "@modelcontextprotocol"
        script = packages / f"server-{name}" / "dist" / "index.js"
        return [request.getfixturevalue("node"), str(script), *arguments]

    with contextlib.ExitStack() as stack:
        def start(name, how="stdio", *arguments):
            if how == "stdio":
                return command_of(name, *([str(tmp_path)] if name == "filesystem" else ["stdio"]))
            port = free_port()
            arguments = ["streamableHttp"] if name == "everything" else ["http", str(port), *arguments]
            return stack.enter_context(serving_http(command_of(name, *arguments), port, PORT=str(port)))

        yield start


SERVERS = [
    ("many", ["stdio"], MANY), ("many", ["http"], MANY), ("many", ["http", "json"], MANY),
    ("many", ["http", "stateless"], MANY), ("mcp1", ["stdio"], MCP1), ("mcp1", ["http"], MCP1),
    ("fastmcp", ["stdio"], FASTMCP), ("fastmcp", ["http"], FASTMCP), ("everything", ["stdio"], EVERYTHING),
    ("everything", ["http"], EVERYTHING),
]


TASKS = {"simulate-research-query"}         # it runs only as a task, and is refused with that reason


@pytest.mark.parametrize("name, how, rows", SERVERS, ids=[" ".join([name, *how]) for name, how, _ in SERVERS])
def test_all_tools_are_listed_and_called_with_right_and_wrong_arguments(start, name, how, rows):
    told = []
    with McpClient(start(name, *how), on_notification=lambda method, params: told.append(method)) as client:
        registry = ToolRegistry(think_augment=True)
        tools = registry.register_from_mcp(client)
        assert set(tools.refused) <= TASKS
        for tool in tools:
            validator = jsonschema.validators.validator_for(tool.parameters, jsonschema.Draft202012Validator)
            validator.check_schema(tool.parameters)
        assert {row[0] for row in rows} - set(registry.list_tools()) <= {"none such"}
        calls = [ToolCall(str(index), row[0], {**row[1], "toolcall_reason": "a test"})
                 for index, row in enumerate(rows)]
        results = registry.execute_tool_calls(calls)
        for (tool, _, wanted, is_error), result in zip(rows, results):
            found = wanted.search(result.content) if isinstance(wanted, re.Pattern) else wanted == result.content
            assert found and result.is_error == is_error, (tool, result)
            assert result.reason == "a test"
        again = asyncio.run(registry.aexecute_tool_calls(calls))
        assert [timeless(result.content) for result in again] == [timeless(result.content) for result in results]
        if how[-1] != "json" and name != "fastmcp":
            assert "notifications/progress" in told


@pytest.mark.parametrize("name, rows", [("many", MANY), ("mcp1", MCP1), ("everything", EVERYTHING)])
def test_raw_results_are_those_of_the_official_client(start, name, rows):
    command = start(name)

    async def officially():
        parameters = StdioServerParameters(command=command[0], args=command[1:])
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            listed = [tool.model_dump(by_alias=True, exclude_none=True, mode="json")
                      for tool in (await session.list_tools()).tools]
            return listed, [await outcome_of(session, row) for row in rows]

    async def outcome_of(session, row):
        try:
            result = await session.call_tool(row[0], row[1])
        except Exception as error:
            return str(error)
        return told(result.model_dump(by_alias=True, exclude_none=True, mode="json"))

    def told(result):
        kept = {key: result.get(key) or None for key in ("content", "structuredContent", "isError")}
        return json.loads(timeless(json.dumps(kept)))

    listed, results = asyncio.run(officially())
    with McpClient(command) as client:
        assert [tool["name"] for tool in client.list_tools()] == [tool["name"] for tool in listed]
        assert [tool["inputSchema"] for tool in client.list_tools()] == [tool["inputSchema"] for tool in listed]
        for row, result in zip(rows, results):
            if isinstance(result, str):
                with pytest.raises(McpError, match=re.escape(result)):
                    client.call_tool(row[0], row[1])
            else:
                assert told(client.call_tool(row[0], row[1])) == result


def test_a_list_of_several_pages_and_all_kinds_of_content(start):
    with McpClient(start("paged")) as client:
        registry = ToolRegistry()
        registry.register_from_mcp(client, namespace="p")
        assert registry.list_tools() == [f"p-t{index:02d}" for index in range(25)]
        result = registry.invoke("p-t02", {"a": None})
        assert result.content == ("t02 {'a': None}\n[resource_link, file:///x.txt, x]\n"
                                  "[resource, mem://1, text/plain]\nemb\n[audio, audio/wav, 3 bytes]")
        assert [block["type"] for block in result.value] == ["text", "resource_link", "resource", "audio"]
        assert registry.invoke("p-t03", {"q": ["a", 1]}).is_error and registry.invoke("p-t02", {"b": 1}).is_error
        assert registry.invoke("p-t03", {"q": ["a"]}).content.startswith("t03 {'q': ['a']}")


def test_the_file_server_works_and_keeps_to_its_folder(start, tmp_path):
    (tmp_path / "a.txt").write_text("first\nsecond\n", "utf-8")
    registry = ToolRegistry()
    with McpClient(start("filesystem")) as client:
        assert not registry.register_from_mcp(client).refused
        read = registry.invoke("read_text_file", {"path": str(tmp_path / "a.txt"), "head": "1"})
        assert read.content == "first" and not read.is_error
        listed = registry.invoke("list_directory", {"path": str(tmp_path)})
        assert "[FILE] a.txt" in listed.content
        edited = registry.invoke("edit_file", {"path": str(tmp_path / "a.txt"),
                                               "edits": '[{"oldText": "second", "newText": "2nd"}]'})
        assert not edited.is_error and (tmp_path / "a.txt").read_text("utf-8") == "first\n2nd\n"
        outside = registry.invoke("read_text_file", {"path": "/etc/hostname"})
        assert outside.is_error and "outside allowed directories" in outside.content
        missing = registry.invoke("write_file", {"path": str(tmp_path / "b.txt")})
        assert missing.is_error and "- content: is missing" in missing.content


def test_a_configuration_file_with_two_servers(start):
    command, *arguments = start("everything")
    entries = {"all": {"command": command, "args": arguments}, "one": {"url": start("mcp1", "http"), "type": "http"},
               "gone": {"url": f"http://127.0.0.1:{free_port()}/mcp"}}
    registry = ToolRegistry()
    with pytest.warns(toolreg.ToolRegWarning, match="gone: http://127.0.0.1"):
        tools = registry.register_from_mcp({"mcpServers": entries})
    assert "gone" in tools.refused and set(tools.refused) <= {"gone", *(f"all-{name}" for name in TASKS)}
    assert {"all-echo", "one-add"} < set(registry.list_tools())
    assert registry.invoke("one-add", {"a": 1}).content == "2"
    assert registry.invoke("all-echo", {"message": "x"}).content == "Echo: x"


@pytest.mark.parametrize("how", ["stdio", "http"])
def test_a_slow_tool_is_cut_short_and_the_server_lives_on(start, how):
    with McpClient(start("many", how)) as client:
        client.list_tools()
        client.timeout, started = 0.5, time.monotonic()
        with pytest.raises(toolreg.ToolTimeoutError):
            client.call_tool("slow", {"seconds": 20})
        assert time.monotonic() - started < 1
        client.timeout = 20
        assert client.call_tool("add", {"a": 1})["content"][0]["text"] == "2"


@pytest.mark.parametrize("name", ["many", "mcp1", "everything"])
def test_a_session_that_the_server_lost_is_begun_anew(start, name):
    tool, arguments = ("echo", {"message": "x"}) if name == "everything" else ("add", {"a": 1})
    with McpClient(start(name, "http")) as client:
        first = client.call_tool(tool, arguments)
        toolreg._request("DELETE", client._link.url, headers=client._link.session).close()
        assert client.call_tool(tool, arguments) == first


def test_no_process_is_left_even_of_a_server_that_ignores_a_closed_input(start):
    with McpClient(start("everything")) as client:
        assert client.call_tool("toggle-simulated-logging")
        child = client._link.child
    assert child.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


def test_every_tool_of_the_corpus_is_usable(shared, tmp_path):
    replay = tmp_path / "replay.py"
    replay.write_text(REPLAY_SERVER, "utf-8")
    count = 0
    for path in sorted((shared / "data" / "mcp_tools").glob("*.json")):
        with McpClient([sys.executable, str(replay), str(path)]) as client:
            tools = toolreg.mcp_tools(client)
        assert set(tools.refused) <= TASKS
        names = [row["name"] for row in json.loads(path.read_text("utf-8"))]
        assert [tool.name for tool in tools] == [name for name in names if name not in TASKS]
        assert all(toolreg.is_valid({}, {**tool.parameters, "required": []}) for tool in tools)
        count += len(tools)
    assert count >= 90


ADDERS = {                      # more servers with a tool that adds, each of another SDK
    "fastmcp3": ("mcp1_python", FASTMCP_SERVER, "2025-11-25", "2025-11-25"),
    "fastmcp4": (None, FASTMCP_SERVER, "2025-11-25", "2026-07-28"),
    "mcp1": ("mcp1_python", MCP1_SERVER, "2025-11-25", "2025-11-25"),
    "mcp2": (None, MCP2_SERVER, "2025-11-25", "2026-07-28"),
    "sdk1": ("node", None, "2025-11-25", "2025-11-25"),
    "sdk2": ("node", None, "2025-11-25", "2026-07-28"),
    "modern": ("node", None, "2026-07-28", "2026-07-28"),           # refuses a handshake
}


@pytest.mark.parametrize("how", ["stdio", "http"])
@pytest.mark.parametrize("kind", ADDERS)
def test_fifty_calls_at_once_in_the_revision_that_each_sdk_prefers(request, tmp_path, node_modules, kind, how):
    runner, source, over_stdio, over_http = ADDERS[kind]
    program = tmp_path / "server.py"
    program.write_text(source or "", "utf-8")
    command = [request.getfixturevalue(runner) if runner else sys.executable, str(program)]
    if source is None:
        command[1:] = [str(HERE / "typescript_server.cjs"), str(node_modules), kind]
    port = free_port()
    arguments = ["stdio"] if how == "stdio" else [str(port)] if source is None else ["http", str(port)]
    with contextlib.ExitStack() as stack:
        command += arguments
        transport = command if how == "stdio" else stack.enter_context(serving_http(command, port))
        client = stack.enter_context(McpClient(transport))
        registry = ToolRegistry()
        registry.register_from_mcp(client)
        results = registry.execute_tool_calls([ToolCall(str(n), "add", {"a": n, "b": 1}) for n in range(50)])
        assert [result.content for result in results] == [str(n + 1) for n in range(50)]
        assert [list(result.value.values()) for result in results] == [[n + 1] for n in range(50)]
        assert client.server["protocolVersion"] == (over_stdio if how == "stdio" else over_http)


SCENARIOS = {
    "initialize": ["2025-06-18", "2025-11-25"], "tools_call": ["2025-06-18", "2025-11-25", "2026-07-28"],
    "sse-retry": ["2025-11-25"], "request-metadata": ["2026-07-28"], "http-standard-headers": ["2026-07-28"],
    "http-custom-headers": ["2026-07-28"], "http-invalid-tool-headers": ["2026-07-28"],
    "sep-2322-client-request-state": ["2026-07-28"], "json-schema-ref-no-deref": ["2026-07-28"],
    "json-schema-2020-12-preservation": ["2025-11-25", "2026-07-28"],
    "elicitation-sep1034-client-defaults": ["2025-11-25"],
}


@pytest.mark.parametrize("scenario, revision", [(name, each) for name in SCENARIOS for each in SCENARIOS[name]])
def test_the_official_conformance_scenarios_pass(node, node_modules, tmp_path, scenario, revision):
    runner = node_modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    driver = f"{sys.executable} {HERE / 'conformance_client.py'}"
    command = [node, str(runner), "client", "--command", driver, "--scenario", scenario, "--spec-version", revision]
    folder = str(pathlib.Path(toolreg.__file__).parent)
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": folder}, capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Passed: ([1-9]\d*)/\1, 0 failed, 0 warnings", done.stdout + done.stderr)
