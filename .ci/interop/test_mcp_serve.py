"""toolreg as an MCP server: the official conformance suite, real clients, and bytes that no client would send."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from served_client import CALLS

import toolreg

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(toolreg.__file__).parent
# clients start servers without most of the environment
SERVER = ["/usr/bin/env", f"PYTHONPATH={FOLDER}", sys.executable, str(HERE / "served_tools.py")]
CONNECTIONS = 1_000         # one after the other
TOOLS = ["add", "fails", "prints", "naps", "hangs", "big", "numbers", "picture", "test_image_content",
         "json_schema_2020_12_tool", "test_simple_text", "test_audio_content", "test_embedded_resource",
         "test_multiple_content_types", "test_error_handling"]
OUTCOMES = [                # of CALLS: is it an error, the blocks (of a long text the length), what is structured
    [False, [["text", '{"total": 5}']], {"total": 5}],
    [True, [["text", 'Error: the arguments do not fit the parameters of "add":\n- a: "x" is not an integer\n'
                     "Fix the arguments and call the tool again."]], None],
    [True, [["text", 'Error: the tool "fails" failed: ValueError: boom\n'
                     "If the arguments are the cause, change them; else go on without it."]], None],
    [False, [["text", "printed"]], None],
    [True, [["text", 'Error: the tool "hangs" did not finish within 0.3 seconds\n'
                     "Ask for less at once, or go on without it."]], None],
    [False, [["text", "slept"]], None],
    [False, [["text", 5_000_000]], None],
    [False, [["text", "[image/png, 8 bytes]"], ["image", "image/png"]], None],
    [False, [["text", "Multiple content types test:\n[image/png, 8 bytes]\n[application/json, 16 bytes]"],
             ["image", "image/png"], ["resource", "application/json"]], None],
]


@contextlib.contextmanager
def serving_tools():
    """Give (port, process) of a server over HTTP; at the end Ctrl-C has to end it, whatever it has been through."""
    server = subprocess.Popen([*SERVER, "127.0.0.1:0"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        said = server.stderr.readline()
        reader = threading.Thread(target=server.stderr.read)
        reader.start()
        yield int(re.search(rb":(\d+)/mcp", said)[1]), server
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == 0
    finally:
        server.kill()
        server.wait()
        reader.join()
        server.stderr.close()


@pytest.fixture(scope="module")
def served():
    with serving_tools() as (port, _):
        yield f"http://127.0.0.1:{port}/mcp"


TOOL_SCENARIOS = ["tools-list", "tools-call-simple-text", "tools-call-image", "tools-call-audio",
                  "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error"]
GREETED = ["server-initialize", "ping", *TOOL_SCENARIOS]        # there is neither in 2026-07-28
SCENARIOS = {
    "2025-06-18": GREETED, "2025-11-25": [*GREETED, "json-schema-2020-12", "dns-rebinding-protection"],
    "2026-07-28": [*TOOL_SCENARIOS, "json-schema-2020-12", "dns-rebinding-protection", "http-header-validation",
                   "sep-2164-resource-not-found"],
}
# what a server without sessions that offers nothing but tools cannot pass
NOT_OURS = re.compile(
    "resources-.*|prompts-.*|completion-complete|logging-set-level|caching"         # asks for more than tools
    "|tools-call-with-(?:logging|progress)"         # a tool tells of its progress: answers are whole here, no streams
    "|tools-call-(?:sampling|elicitation)|elicitation-.*|input-required-.*"         # a tool asks the client
    "|server-stateless"                             # all pass but those for a tool that needs a client's capability
    "|http-custom-header-server-validation")        # a tool with x-mcp-header: these are made by hand alone


@pytest.mark.parametrize("revision", SCENARIOS)
def test_the_official_conformance_scenarios_for_servers_pass(node, node_modules, tmp_path, served, revision):
    runner = node_modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run([node, str(runner), "server", "--url", served, "--suite", "all", "--spec-version", revision],
                          cwd=tmp_path, capture_output=True, text=True, timeout=120)
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    found = {name: (mark, int(count)) for mark, name, count in re.findall(r"(\S) ([\w-]+): (\d+) passed", summary)}
    passed = {name for name, (mark, count) in found.items() if mark == "✓" and count}
    assert passed >= set(SCENARIOS[revision]), done.stdout
    assert [name for name, (mark, _) in found.items() if mark != "✓" and not NOT_OURS.fullmatch(name)] == []


@pytest.mark.parametrize("how", ["stdio", "http"])
@pytest.mark.parametrize("kind", ["mcp1", "langchain", "mcp2", "mcp2-legacy", "fastmcp", "ours", "sdk1", "sdk2-auto"])
def test_a_real_client_gets_what_the_tools_give(request, node, node_modules, served, kind, how):
    target = json.dumps(SERVER if how == "stdio" else served)
    if kind.startswith("sdk"):
        command = [node, str(HERE / "served_client.cjs"), str(node_modules), kind, target, json.dumps(CALLS)]
    else:
        python = request.getfixturevalue("mcp1_python") if kind in ("mcp1", "langchain") else sys.executable
        command = [python, str(HERE / "served_client.py"), kind, target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout, done.stderr
    told = json.loads(done.stdout)
    assert told["tools"] == TOOLS
    assert [[bool(failed), *others] for failed, *others in told["calls"]] == OUTCOMES
    assert told["fifty"] == [{"total": number + 1} for number in range(50)]


def state_of(process):
    """Give (KB of memory, threads) of a process."""
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text("ascii")
    return [int(re.search(rf"{name}:\s+(\d+)", text)[1]) for name in ("VmRSS", "Threads")]


def exchanged(port, sent, seconds=20):
    """Send bytes and give all that comes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), seconds) as connection:
        got = b""
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
            while piece := connection.recv(65_536):
                got += piece
        return got


def posted(body=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', **headers):
    given = {"host": "127.0.0.1", "content-type": "application/json", "content-length": len(body),
             "connection": "close", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return b"POST /mcp HTTP/1.1\r\n" + "".join(f"{key}: {given[key]}\r\n" for key in given).encode() + b"\r\n" + body


HOSTILE = [                     # bytes, the status line's number
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n", b"400"),
    (b"GET / HTTP/9.9\r\n\r\n", b"505"), (b"x" * 100_000 + b"\r\n\r\n", b"414"),
    (b"POST /mcp HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
    (posted(host="evil.example"), b"403"), (posted(origin="http://evil.example"), b"403"), (posted(host=""), b"403"),
    (posted(content_type="text/plain"), b"415"), (posted(content_length=2**40), b"413"),
    (posted(content_length="-5"), b"411"), (posted(transfer_encoding="chunked"), b"411"),
    (posted(b'{"jsonrpc": "2.0", "id": 1, "result": {}}'), b"202"), (posted(b"[" * 10_000), b"400"),
    (posted(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}'), b"202"),
    (posted(b"\xff\xfe"), b"400"), (b"OPTIONS /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n", b"405"),
]


def test_hostile_bytes_over_http_get_a_clear_answer_and_leave_nothing_behind():
    with serving_tools() as (port, server):
        assert exchanged(port, posted()).split()[1] == b"200"
        before, others = state_of(server), [each for each in HOSTILE if len(each[0]) < 1_000]
        for sent, status in HOSTILE:
            assert exchanged(port, sent).split()[1:2] == [status], sent[:80]
        with contextlib.ExitStack() as stack:           # slow bodies: 40 that hang do not keep others from their answer
            for _ in range(40):
                slow = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
                slow.sendall(posted(b'{"jsonrpc"', content_length=100))
            assert exchanged(port, posted()).split()[1] == b"200"
        for number in range(CONNECTIONS):
            if number % 4:                              # some break off in the middle
                with socket.create_connection(("127.0.0.1", port), 20) as connection:
                    connection.sendall(posted()[:number % 200])
            else:
                exchanged(port, others[number % len(others)][0])
        deadline = time.monotonic() + 30
        while state_of(server)[1] > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        memory, threads = state_of(server)
        assert threads == 2 and memory < before[0] + 20_000, (before, memory)
        assert exchanged(port, posted()).split()[1] == b"200"


def test_hostile_lines_on_stdio_get_one_answer_each_and_the_memory_stays_flat():
    ping = b'{"jsonrpc": "2.0", "id": %d, "method": "ping"}\n'
    server = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        def answered(sent, count=1):
            server.stdin.write(sent)
            server.stdin.flush()
            return [json.loads(server.stdout.readline()) for _ in range(count)]

        assert answered(ping % 1) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
        before = state_of(server)[0]
        for _ in range(100):                            # one line of 100 MB
            server.stdin.write(b"x" * 1_000_000)
        assert answered(b"\n")[0]["error"]["code"] == -32600
        for junk in (b"\xff\x00", b"{}", b"[[[", b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": 5}'):
            assert answered(junk + b"\n")[0]["error"]["code"] in (-32700, -32600)
        silent = (b'{"jsonrpc": "2.0", "id": 77, "result": {}}\n\n'
                  b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}\n')
        flood = answered(silent * 500 + b"".join(ping % number for number in range(1_000)), 1_000)
        assert sorted(each["id"] for each in flood) == [*range(1_000)]
        assert state_of(server)[0] < before + 60_000
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 3, "meth')          # half a message, and then the end
        server.stdin.close()
        assert json.loads(server.stdout.read())["error"]["code"] == -32700
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def test_a_client_that_is_gone_ends_the_server_also_while_a_tool_hangs():
    with open(os.devnull, "wb") as nothing:
        server = subprocess.Popen(SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=nothing)
    params = {"name": "naps", "arguments": {"seconds": 999}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    server.stdin.write(json.dumps(call).encode() + b"\n")
    server.stdin.flush()
    server.stdout.close()
    server.stdin.close()
    try:
        assert server.wait(20) == 0
    finally:
        server.kill()
        server.wait()
