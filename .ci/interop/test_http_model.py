"""HttpModel beside the providers' own SDKs: both ask the same server on loopback, which keeps every byte they send."""
import contextlib
import http.server
import json
import threading

import anthropic
import openai
import pytest
from google import genai
from scripted_server import event_text

import toolreg
from toolreg import HttpModel, ToolRegistry, build_tool_choice, run_agent

FORMATS = ["openai-chat", "openai-responses", "anthropic", "gemini"]
BASES = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "", "gemini": ""}
KEY = "key-of-nobody"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


REGISTRY = ToolRegistry([add])
SYSTEM = {"role": "system", "content": "Be brief."}
OPTIONS = {
    "openai-chat": {"temperature": 0.5},
    "openai-responses": {"store": False, "include": ["reasoning.encrypted_content"]},
    "anthropic": {"max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
    "gemini": {"temperature": 0.5, "maxOutputTokens": 50,
               "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]},
}


# --- what the server answers: a thought and a call, then a text; whole, and as events
def chat(message, finish):
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


def chat_events(*deltas, finish):
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    last = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}]
    return [{"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", **chunk}
            for chunk in chunks + last] + ["[DONE]"]


CHAT_CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 17, "b": 25}'}}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAAAB=="}
ITEM = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a":17,"b":25}',
        "status": "completed"}
WORDS = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "It is 42.", "annotations": []}]}
THOUGHT = {"type": "thinking", "thinking": "17 + 25 …", "signature": "EqQBCg=="}
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 17, "b": 25}}
PART = {"functionCall": {"name": "add", "args": {"a": 17, "b": 25}}, "thoughtSignature": "c2lnbmVk"}


def response(*items, status="completed"):
    return {"id": "resp_1", "object": "response", "created_at": 0, "model": "m", "status": status, "error": None,
            "output": list(items), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}}


def response_events(*items, text=""):
    events = [{"type": "response.created", "response": {**response(status="in_progress"), "usage": None}}]
    for at, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": at,
                       "item": {**item, **({"arguments": ""} if "arguments" in item else {})}})
        if item is ITEM:
            events += [{"type": "response.function_call_arguments.delta", "output_index": at, "item_id": "fc_1",
                        "delta": piece} for piece in ('{"a":17,', '"b":25}')]
        events += [{"type": "response.output_text.delta", "output_index": at, "content_index": 0, "item_id": "msg_1",
                    "delta": piece, "logprobs": []} for piece in (text[:3], text[3:]) if item is WORDS]
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    return [*events, {"type": "response.completed", "response": response(*items)}]


def claude(*content, reason):
    return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(content),
            "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 5}}


def claude_events(*blocks, reason):
    events = [{"type": "message_start", "message": {**claude(reason=None), "usage": {
        "input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": 1}}}]
    for at, (start, *deltas) in enumerate(blocks):
        events += [{"type": "content_block_start", "index": at, "content_block": start},
                   *({"type": "content_block_delta", "index": at, "delta": delta} for delta in deltas),
                   {"type": "content_block_stop", "index": at}]
    return [*events, {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
                      "usage": {"output_tokens": 5}}, {"type": "message_stop"}]


def gemini(*parts, finish="STOP"):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0,
                            **({"finishReason": finish} if finish else {})}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 3,
                              "totalTokenCount": 15}}


ANSWERS = {
    ("openai-chat", False): [chat({"content": None, "refusal": None, "tool_calls": [CHAT_CALL]}, "tool_calls"),
                             chat({"content": "It is 42."}, "stop")],
    ("openai-chat", True): [
        chat_events({"role": "assistant", "content": None}, {"tool_calls": [{"index": 0, **CHAT_CALL}]},
                    finish="tool_calls"),
        chat_events({"role": "assistant", "content": "It "}, {"content": "is 42."}, finish="stop")],
    ("openai-responses", False): [response(REASONING, ITEM), response(WORDS)],
    ("openai-responses", True): [response_events(REASONING, ITEM), response_events(WORDS, text="It is 42.")],
    ("anthropic", False): [claude(THOUGHT, TOOL_USE, reason="tool_use"),
                           claude({"type": "text", "text": "It is 42."}, reason="end_turn")],
    ("anthropic", True): [
        claude_events(({"type": "thinking", "thinking": "", "signature": ""},
                       {"type": "thinking_delta", "thinking": "17 + 25 …"},
                       {"type": "signature_delta", "signature": "EqQBCg=="}),
                      ({**TOOL_USE, "input": {}}, {"type": "input_json_delta", "partial_json": '{"a": 17,'},
                       {"type": "input_json_delta", "partial_json": ' "b": 25}'}), reason="tool_use"),
        claude_events(({"type": "text", "text": ""}, {"type": "text_delta", "text": "It "},
                       {"type": "text_delta", "text": "is 42."}), reason="end_turn")],
    ("gemini", False): [gemini({"text": "17 + 25 …", "thought": True}, PART), gemini({"text": "It is 42."})],
    ("gemini", True): [[gemini({"text": "17 + 25 …", "thought": True}, finish=None), gemini(PART)],
                       [gemini({"text": "It "}, finish=None), gemini({"text": "is 42."})]],
}
SIGNED = {"openai-chat": CHAT_CALL, "openai-responses": REASONING, "anthropic": THOUGHT, "gemini": PART}


class Provider:
    """Answers each request with the next answer, and keeps (path, headers, body) of each."""

    def __init__(self, answers):
        self.answers, self.requests = list(answers), []

    def handler(provider):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                provider.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                answer = provider.answers.pop(0)
                is_stream = isinstance(answer, list)
                sent = ("".join(map(event_text, answer)) if is_stream else json.dumps(answer)).encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_):
                pass
        return Handler


@contextlib.contextmanager
def provider(answers):
    kept = Provider(answers)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kept.handler()) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        kept.url = f"http://127.0.0.1:{listener.server_address[1]}"
        try:
            yield kept
        finally:
            listener.shutdown()
            thread.join()


# --- how each SDK is asked the same
def ask_openai_chat(url, history, stream):
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = client.chat.completions.create(
        model="m", messages=[SYSTEM, *history], tools=REGISTRY.get_schemas(), tool_choice="auto",
        **OPTIONS["openai-chat"], **more)
    return list(answer) if stream else answer


def ask_openai_responses(url, history, stream):
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0)
    answer = client.responses.create(
        model="m", input=[SYSTEM, *history], tools=REGISTRY.get_schemas(api_format="openai-responses"),
        tool_choice="auto", **OPTIONS["openai-responses"], **({"stream": True} if stream else {}))
    return list(answer) if stream else answer


def ask_anthropic(url, history, stream):
    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    answer = client.messages.create(
        model="m", system=[{"type": "text", "text": SYSTEM["content"]}], messages=history,
        tools=REGISTRY.get_schemas(api_format="anthropic"),
        tool_choice=build_tool_choice("auto", api_format="anthropic"),
        **OPTIONS["anthropic"], **({"stream": True} if stream else {}))
    return list(answer) if stream else answer


def ask_gemini(url, history, stream):
    client = genai.Client(api_key=KEY, http_options={"base_url": url})
    config = {"systemInstruction": {"parts": [{"text": SYSTEM["content"]}]}, **OPTIONS["gemini"],
              "tools": [{"functionDeclarations": REGISTRY.get_schemas(api_format="gemini")}],
              "toolConfig": build_tool_choice("auto", api_format="gemini"),
              "automaticFunctionCalling": {"disable": True}}
    ask = client.models.generate_content_stream if stream else client.models.generate_content
    answer = ask(model="m", contents=history, config=config)
    return list(answer) if stream else answer


ASK = dict(zip(FORMATS, [ask_openai_chat, ask_openai_responses, ask_anthropic, ask_gemini]))


def in_camel_case(value):
    """Spell the names of a body as JSON of protocol buffers does: Google's SDK leaves some in snake case."""
    if isinstance(value, dict):
        return {{"parameters_json_schema": "parametersJsonSchema"}.get(key, key): in_camel_case(each)
                for key, each in value.items()}
    return [in_camel_case(each) for each in value] if isinstance(value, list) else value


def as_every_server_takes_it(body):
    """Leave out what OpenAI's own server takes and others refuse: the nulls of an assistant message."""
    return {**body, "messages": [{"content": "", **{key: each[key] for key in each if each[key] is not None}}
                                 for each in body["messages"]]}


def keys_sent(headers):
    return {name: headers[name] for name in ("authorization", "x-api-key", "x-goog-api-key") if name in headers}


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("api_format", FORMATS)
def test_every_turn_asks_as_the_real_sdk_asks(api_format, stream):
    pieces = []
    with provider(ANSWERS[api_format, stream]) as ours:
        model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, api_key=KEY, timeout=20,
                          on_delta=pieces.append if stream else None, **OPTIONS[api_format])
        question = toolreg._APIS[api_format].user("Add 17 and 25.")
        messages = run_agent(model, [SYSTEM, question], REGISTRY, api_format=api_format)
    _, _, *told = messages
    with provider(ANSWERS[api_format, stream]) as theirs:
        last = len(messages) - 1
        ASK[api_format](theirs.url + BASES[api_format], messages[1:2], stream)
        ASK[api_format](theirs.url + BASES[api_format], messages[1:last], stream)
    assert len(ours.requests) == len(theirs.requests) == 2 and len(told) >= 3
    for (path, headers, body), (sdk_path, sdk_headers, sdk_body) in zip(ours.requests, theirs.requests):
        sdk_body = as_every_server_takes_it(sdk_body) if api_format == "openai-chat" else in_camel_case(sdk_body)
        assert (path, body) == (sdk_path, sdk_body)
        assert headers["content-type"] == sdk_headers["content-type"] == "application/json"
        assert headers.get("anthropic-version") == sdk_headers.get("anthropic-version")
        if api_format == "anthropic":       # the documented header; the SDK sends the same key as a bearer's
            assert (keys_sent(headers), keys_sent(sdk_headers)) == (
                {"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"})
        else:
            assert keys_sent(headers) == keys_sent(sdk_headers) != {}
    assert toolreg.parse_tool_calls(told[1 if api_format == "openai-responses" else 0])[0].arguments == {
        "a": 17, "b": 25}
    assert model.usage == {"input": 20, "output": 10, "total": 30}
    assert "42" in json.dumps(ours.requests[1][2]) and "It is 42." in json.dumps(messages[-1])
    assert not stream or pieces == ["It ", "is 42."]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("api_format", FORMATS)
def test_what_was_signed_or_encrypted_goes_back_as_it_came(api_format, stream):
    with provider(ANSWERS[api_format, stream]) as ours:
        model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, timeout=20, stream=stream)
        run_agent(model, "Add 17 and 25.", REGISTRY, api_format=api_format)
    body = ours.requests[1][2]
    sent = {"openai-chat": lambda: body["messages"][1]["tool_calls"],
            "openai-responses": lambda: body["input"], "anthropic": lambda: body["messages"][1]["content"],
            "gemini": lambda: body["contents"][1]["parts"]}[api_format]()
    assert SIGNED[api_format] in sent
