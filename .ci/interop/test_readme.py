"""The README's blocks that need a counterpart, run in their order between the others, against a server on loopback."""
import contextlib
import http.server
import json
import re
import sys
import threading
import types

import pytest

import test_toolreg


def answer_to(request):
    """Be a model: call the first tool with what the question names, then say what the tool said."""
    last = request["messages"][-1]
    if last["role"] == "tool" or "tools" not in request:
        return {"role": "assistant", "content": f"The answer is {last['content']}."}
    function = request["tools"][0]["function"]
    numbers = re.findall(r"-?\d+", last["content"])
    words = re.findall(r"\b[A-Z]\w+", last["content"])
    arguments = {}
    for name in function["parameters"].get("required", []):
        is_number = function["parameters"]["properties"][name].get("type") in ("integer", "number")
        arguments[name] = int(numbers.pop(0)) if is_number else words.pop()
    call = {"id": "call_1", "type": "function",
            "function": {"name": function["name"], "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def response_to(request):
    """Do the same in the Responses API."""
    last = request["input"][-1]
    if last.get("type") == "function_call_output":
        text = {"type": "output_text", "text": f"The answer is {last['output']}.", "annotations": []}
        item = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    else:
        first, second = re.findall(r"\d+", last["content"])
        item = {"id": "f1", "type": "function_call", "call_id": "call_1", "name": request["tools"][0]["name"],
                "status": "completed", "arguments": json.dumps({"a": int(first), "b": int(second)})}
    return {"id": "r1", "object": "response", "created_at": 1, "model": request["model"], "status": "completed",
            "output": [item], "parallel_tool_calls": True, "tool_choice": "auto", "tools": request["tools"],
            "usage": {"input_tokens": 4_000, "output_tokens": 2_000, "total_tokens": 6_000,
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}


class OpenAI(http.server.BaseHTTPRequestHandler):
    """Answer /v1/chat/completions and /v1/responses as OpenAI does."""

    seen: list[dict] = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append(request)
        if self.path == "/v1/responses":
            body = json.dumps(response_to(request))
        else:
            message = answer_to(request)
            reason = "tool_calls" if "tool_calls" in message else "stop"
            body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": request["model"],
                               "choices": [{"index": 0, "message": message, "finish_reason": reason}]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OpenAI) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_the_readme_holds_with_its_counterparts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("readme")
    monkeypatch.setitem(sys.modules, "readme", module)
    ran = 0
    with serving() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        for line, kind, text in test_toolreg.readme_blocks():
            if kind in ("python", "python interop"):
                try:
                    test_toolreg.run_block(text, vars(module), line)
                except Exception as error:
                    pytest.fail(f"README.md:{line}: {type(error).__name__}: {error}")
                ran += kind == "python interop"
    assert ran >= 1 and OpenAI.seen
    told = [request["input"][-1].get("output") for request in OpenAI.seen if "input" in request]
    assert told == [None, "42"] * 2             # by Responses, with the SDK and without
