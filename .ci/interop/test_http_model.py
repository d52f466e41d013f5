"""HttpModel beside the providers' own SDKs: both ask the same server on loopback, which keeps every byte they send."""
import contextlib
import http.server
import json
import socket
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


def again(answer):
    """Give the same answer with other ids."""
    return json.loads(json.dumps(answer).replace("_1", "_2"))


def trouble(status):
    """What a provider says with a status that is none of success, in the words of all of them."""
    return {"type": "error", "error": {"message": "slow down", "type": "overloaded_error", "code": status,
                                       "status": "UNAVAILABLE"}}


class Provider:
    """Answers each request with the next answer (a number: a status), and keeps (path, headers, body, bytes) of each.

    Of an event that is None the stream breaks off.
    """

    def __init__(self, answers):
        self.answers, self.requests = list(answers), []

    def handler(provider):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {k.lower(): v for k, v in self.headers.items()}
                provider.requests.append((self.path, headers, json.loads(body), body))
                answer = provider.answers.pop(0)
                is_stream, status = isinstance(answer, list), answer if isinstance(answer, int) else 200
                events = answer if is_stream else [trouble(status) if status != 200 else answer]
                sent = "".join(event_text(event) if is_stream else json.dumps(event) for event in events if event)
                self.send_response(status)
                self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
                self.send_header("content-length", str(len(sent.encode()) + 100 * (None in events)))
                self.send_header("retry-after", "0")
                self.end_headers()
                self.wfile.write(sent.encode())

            def log_message(self, *_):
                pass
        return Handler


@contextlib.contextmanager
def provider(answers):
    kept = Provider(answers)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kept.handler()) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=[0.01], daemon=True)
        thread.start()
        kept.url = f"http://127.0.0.1:{listener.server_address[1]}"
        try:
            yield kept
        finally:
            listener.shutdown()
            thread.join()


# --- how each SDK is asked the same
def ask_openai_chat(url, history, stream, retries=0):
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=retries)
    more = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    answer = client.chat.completions.create(
        model="m", messages=[SYSTEM, *history], tools=REGISTRY.get_schemas(), tool_choice="auto",
        **OPTIONS["openai-chat"], **more)
    return list(answer) if stream else answer


def ask_openai_responses(url, history, stream, retries=0):
    client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=retries)
    answer = client.responses.create(
        model="m", input=[SYSTEM, *history], tools=REGISTRY.get_schemas(api_format="openai-responses"),
        tool_choice="auto", **OPTIONS["openai-responses"], **({"stream": True} if stream else {}))
    return list(answer) if stream else answer


def ask_anthropic(url, history, stream, retries=0):
    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=retries)
    answer = client.messages.create(
        model="m", system=[{"type": "text", "text": SYSTEM["content"]}], messages=history,
        tools=REGISTRY.get_schemas(api_format="anthropic"),
        tool_choice=build_tool_choice("auto", api_format="anthropic"),
        **OPTIONS["anthropic"], **({"stream": True} if stream else {}))
    return list(answer) if stream else answer


def ask_gemini(url, history, stream, retries=0):
    tries = {"attempts": retries + 1, "initial_delay": 0.01}
    client = genai.Client(api_key=KEY, http_options={"base_url": url, "retry_options": tries})
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


def sdk_body_of(request, api_format):
    """Give what an SDK sent, as HttpModel sends it."""
    return (as_every_server_takes_it if api_format == "openai-chat" else in_camel_case)(request[2])


each_way = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
each_format = pytest.mark.parametrize("api_format", FORMATS)


@each_way
@each_format
def test_every_turn_asks_as_the_real_sdk_asks(api_format, stream):
    pieces, asked = [], []
    first, last = ANSWERS[api_format, stream]
    answers = [first, again(first), last]
    with provider(answers) as ours:
        model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, api_key=KEY, timeout=20,
                          on_delta=pieces.append if stream else None, **OPTIONS[api_format])

        def recording(*, messages, **request):
            asked.append(messages[1:])
            return model(messages=messages, **request)
        question = toolreg._APIS[api_format].user("Add 17 and 25.")
        messages = run_agent(recording, [SYSTEM, question], REGISTRY, api_format=api_format)
    with provider(answers) as theirs:
        for history in asked:
            ASK[api_format](theirs.url + BASES[api_format], history, stream)
    assert len(ours.requests) == len(theirs.requests) == 3 and len(asked[0]) < len(asked[1]) < len(asked[2])
    for request, sdk_request in zip(ours.requests, theirs.requests):
        path, headers, body, _ = request
        assert (path, body) == (sdk_request[0], sdk_body_of(sdk_request, api_format))
        sdk_headers = sdk_request[1]
        assert headers["content-type"] == sdk_headers["content-type"] == "application/json"
        assert headers.get("anthropic-version") == sdk_headers.get("anthropic-version")
        if api_format == "anthropic":       # the documented header; the SDK sends the same key as a bearer's
            assert (keys_sent(headers), keys_sent(sdk_headers)) == (
                {"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"})
        else:
            assert keys_sent(headers) == keys_sent(sdk_headers) != {}
    calls = [call for message in messages[2:] if message.get("role") != "user" and message.get("role") != "tool"
             for call in toolreg.parse_tool_calls(message)]
    assert [call.arguments for call in calls] == [{"a": 17, "b": 25}] * 2
    assert api_format == "gemini" or calls[0].id.replace("_1", "_2") == calls[1].id != calls[0].id
    assert model.usage == {"input": 30, "output": 15, "total": 45}
    assert "42" in json.dumps(ours.requests[1][2]) and "It is 42." in json.dumps(messages[-1])
    assert not stream or pieces == ["It ", "is 42."]


@each_way
@each_format
def test_what_may_pass_is_asked_again_as_the_real_sdk_asks_again(api_format, stream, monkeypatch):
    monkeypatch.setattr(toolreg, "FIRST_PAUSE", 0.01)
    answers = [429, 503, ANSWERS[api_format, stream][1]]
    history = [toolreg._APIS[api_format].user("Add 17 and 25.")]
    schemas = REGISTRY.get_schemas(api_format=api_format)
    with provider(answers) as ours:
        model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, api_key=KEY, timeout=20,
                          stream=stream, **OPTIONS[api_format])
        assert "It is 42." in json.dumps(model(messages=[SYSTEM, *history], tools=schemas))
    with provider(answers) as theirs:
        ASK[api_format](theirs.url + BASES[api_format], history, stream, retries=2)
    assert len(ours.requests) == len(theirs.requests) == 3
    assert len({request[3] for request in ours.requests}) == 1      # the very same bytes each time
    assert [request[2] for request in ours.requests] == [
        sdk_body_of(request, api_format) for request in theirs.requests]


@each_format
def test_what_does_not_pass_is_told_as_the_real_sdk_tells_it(api_format):
    history = [toolreg._APIS[api_format].user("Add 17 and 25.")]
    for status in (400, 401, 404, 429, 500, 529):
        with provider([status]) as ours, pytest.raises(toolreg.HttpError) as told:
            HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, timeout=20, retries=0)(messages=history)
        with provider([status]) as theirs, pytest.raises(Exception, match="slow down") as told_by_sdk:
            ASK[api_format](theirs.url + BASES[api_format], history, False)
        known = getattr(told_by_sdk.value, "status_code", None) or told_by_sdk.value.code
        assert (told.value.status, str(told.value)) == (known, f"{ours.url} answered {status}: slow down")


@each_format
def test_a_stream_that_breaks_off_is_asked_again_unless_its_text_was_given_out(api_format, monkeypatch):
    monkeypatch.setattr(toolreg, "FIRST_PAUSE", 0.01)
    whole = ANSWERS[api_format, True][1]
    history = [toolreg._APIS[api_format].user("Add 17 and 25.")]
    for kept in range(len(whole) - 2):                              # before the event that says why it ended
        cut = [*whole[:kept], None]
        with provider([cut, whole]) as ours:
            model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, timeout=20, stream=True)
            assert "It is 42." in json.dumps(model(messages=history))
        assert len({request[3] for request in ours.requests}) == 1 and len(ours.requests) == 2
        pieces = []
        with provider([cut, whole]) as ours, contextlib.suppress(toolreg.HttpError):
            HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, timeout=20,
                      on_delta=pieces.append)(messages=history)
        said = sum(json.dumps(cut).count(f'"{piece}"') for piece in ("It ", "is 42."))       # the pieces that came
        assert pieces == ["It ", "is 42."][:said or 2] and len(ours.requests) == (1 if said else 2)


@each_way
@each_format
def test_a_server_that_is_not_there_is_told_as_such(api_format, stream, monkeypatch):
    monkeypatch.setattr(toolreg, "FIRST_PAUSE", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    history = [toolreg._APIS[api_format].user("Add 17 and 25.")]
    with pytest.raises(toolreg.HttpError, match=f"^{url}: ConnectionRefusedError") as told:
        HttpModel(url + BASES[api_format], "m", api_format=api_format, timeout=20, stream=stream)(messages=history)
    assert told.value.status is None
    with pytest.raises(Exception, match="(?i)connect"):
        ASK[api_format](url + BASES[api_format], history, stream)


@each_way
@each_format
def test_what_was_signed_or_encrypted_goes_back_as_it_came(api_format, stream):
    with provider(ANSWERS[api_format, stream]) as ours:
        model = HttpModel(ours.url + BASES[api_format], "m", api_format=api_format, timeout=20, stream=stream)
        run_agent(model, "Add 17 and 25.", REGISTRY, api_format=api_format)
    body = ours.requests[1][2]
    sent = {"openai-chat": lambda: body["messages"][1]["tool_calls"],
            "openai-responses": lambda: body["input"], "anthropic": lambda: body["messages"][1]["content"],
            "gemini": lambda: body["contents"][1]["parts"]}[api_format]()
    assert SIGNED[api_format] in sent
