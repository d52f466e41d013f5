"""The providers' own SDKs, against a provider on loopback: they take what toolreg builds, it reads what they build."""
import asyncio
import dataclasses
import enum
import json

import anthropic
import jsonschema
import ollama
import openai
import pydantic
import pytest
from anthropic.types import Message, MessageParam, RawMessageStreamEvent, ToolChoiceParam, ToolUnionParam
from google import genai
from google.genai import types as gemini
from mistralai.client import Mistral
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageParam,
    ChatCompletionToolChoiceOptionParam,
    ChatCompletionToolParam,
)
from openai.types.responses import Response, ResponseInputItemParam, ResponseStreamEvent, response_create_params
from openai.types.responses.tool_param import ToolParam
from scripted_server import serving

import toolreg
from toolreg import (
    ToolRegistry,
    acollect_stream,
    build_tool_choice,
    build_tool_schemas,
    collect_stream,
    parse_tool_calls,
    run_agent,
)

CALLS = [("get_weather", {"location": "Paris"}), ("add", {"a": 17, "b": 25})]


def get_weather(location: str, days: int = 1) -> str:
    """Get the weather in a place."""
    return f"{location}: sunny, 21 °C"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


# --- what each provider sends: one message with a text and two calls, at once and as a stream, and a last answer
# https://platform.openai.com/docs/api-reference/chat/object, and for the deltas (entries split within a chunk)
# https://github.com/openai/openai-python/blob/main/tests/lib/chat/test_tool_call_deltas.py
def chat_completion(message, reason):
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "m", "choices": [
        {"index": 0, "message": {"role": "assistant", "refusal": None, **message}, "logprobs": None,
         "finish_reason": reason}]}


def chat_chunk(delta, finish=None):
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


CHAT_CALLS = [{"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
              for n, (name, arguments) in enumerate(CALLS)]
CHAT = chat_completion({"content": None, "tool_calls": CHAT_CALLS}, "tool_calls")
CHAT_END = chat_completion({"content": "Sunny, and 42."}, "stop")
CHAT_STREAM = [
    chat_chunk({"role": "assistant", "content": None, "refusal": None}),
    chat_chunk({"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": {"name": "get_weather"}},
                               {"index": 0, "function": {"arguments": '{"location"'}}]}),
    chat_chunk({"tool_calls": [{"index": 1, "id": "call_1", "type": "function",
                                "function": {"name": "add", "arguments": ""}}]}),
    chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": ': "Paris"}'}},
                               {"index": 1, "function": {"arguments": '{"a": 17'}}]}),
    chat_chunk({"tool_calls": [{"index": 1, "function": {"arguments": ', "b": 25}'}}]}),
    chat_chunk({}, "tool_calls"), "[DONE]"]


# https://platform.openai.com/docs/guides/function-calling?api-mode=responses (items, and events under "Streaming"),
# https://github.com/openai/openai-python/blob/main/tests/lib/responses/test_function_call_done_event.py
def response(*output, status="completed"):
    return {"id": "resp_1", "object": "response", "created_at": 0, "status": status, "model": "m",
            "output": list(output),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {}, "temperature": 1.0, "top_p": 1.0}


def function_call(n, **changes):
    name, arguments = CALLS[n]
    return {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed", **changes}


RESPONSES_TEXT = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                  "content": [{"type": "output_text", "text": "Sunny, and 42.", "annotations": []}]}
RESPONSES = response({"type": "reasoning", "id": "rs_1", "summary": []}, function_call(0), function_call(1))
RESPONSES_END = response(RESPONSES_TEXT)
RESPONSES_STREAM = [
    {"type": "response.created", "sequence_number": 0, "response": response(status="in_progress")},
    {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
     "item": function_call(0, arguments="", status="in_progress")},
    {"type": "response.function_call_arguments.delta", "sequence_number": 2, "output_index": 0, "item_id": "fc_0",
     "delta": '{"location": "Pa'},
    {"type": "response.function_call_arguments.delta", "sequence_number": 3, "output_index": 0, "item_id": "fc_0",
     "delta": 'ris"}'},
    {"type": "response.function_call_arguments.done", "sequence_number": 4, "output_index": 0, "item_id": "fc_0",
     "name": "get_weather", "arguments": '{"location": "Paris"}'},
    {"type": "response.output_item.done", "sequence_number": 5, "output_index": 0, "item": function_call(0)},
    {"type": "response.output_item.added", "sequence_number": 6, "output_index": 1,
     "item": function_call(1, arguments="", status="in_progress")},
    {"type": "response.function_call_arguments.delta", "sequence_number": 7, "output_index": 1, "item_id": "fc_1",
     "delta": '{"a": 17, "b": 25}'},
    {"type": "response.output_item.done", "sequence_number": 8, "output_index": 1, "item": function_call(1)},
    {"type": "response.completed", "sequence_number": 9, "response": response(function_call(0), function_call(1))}]


# https://platform.claude.com/docs/en/build-with-claude/streaming,
# https://github.com/anthropics/anthropic-sdk-python/blob/main/tests/lib/streaming/fixtures/tool_use_response.txt,
# and server_tool_use_response.txt beside it
def claude(*content, reason="tool_use"):
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content),
            "stop_reason": reason,
            "stop_sequence": None, "usage": {"input_tokens": 377, "output_tokens": 1}}


def tool_use(n, **changes):
    name, arguments = CALLS[n]
    return {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": arguments, "caller": {"type": "direct"},
            **changes}


def block_events(index, start, *deltas):
    return [{"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index}]


def partial_json(text):
    return {"type": "input_json_delta", "partial_json": text}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "weather in Paris"}}
CLAUDE = claude({"type": "text", "text": "I'll check."}, SEARCH, tool_use(0), tool_use(1))
CLAUDE_END = claude({"type": "text", "text": "Sunny, and 42."}, reason="end_turn")
CLAUDE_STREAM = [
    {"type": "message_start", "message": claude(reason=None)},
    *block_events(0, {"type": "thinking", "thinking": "", "signature": ""},
                  {"type": "thinking_delta", "thinking": "Hm."},
                  {"type": "signature_delta", "signature": "c2ln"}),
    {"type": "ping"},
    *block_events(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I"},
                  {"type": "text_delta", "text": "'ll check."}),
    *block_events(2, {**SEARCH, "input": {}}, partial_json(""), partial_json('{"query": "weather in Paris"}')),
    *block_events(3, tool_use(0, input={}), partial_json(""), partial_json('{"locati'), partial_json('on": "Paris"}')),
    *block_events(4, tool_use(1, input={}), partial_json('{"a": 17, "b": 25}')),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None},
     "usage": {"output_tokens": 65}},
    {"type": "message_stop"}]


# https://ai.google.dev/gemini-api/docs/function-calling (REST), and thought-signatures beside it,
# https://github.com/googleapis/python-genai/blob/main/google/genai/tests/afc/test_generate_content_stream_afc.py
def candidate(*parts, finish="STOP"):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": "m"}


GEMINI_CALLS = [{"functionCall": {"name": "get_weather", "args": {"location": "Paris"}},
                 "thoughtSignature": "c2lnbmF0dXJl"},
                {"functionCall": {"id": "zq7", "name": "add", "args": {"a": 17, "b": 25}}}]
GEMINI = candidate({"text": "I'll check."}, *GEMINI_CALLS)
GEMINI_END = candidate({"text": "Sunny, and 42."})
GEMINI_STREAM = [candidate({"text": "I'll "}), candidate({"text": "check."}), candidate(GEMINI_CALLS[0]),
                 candidate(GEMINI_CALLS[1])]


# --- the SDKs as models; `stream` and `end` are what the provider sends
def chat_model(url, client=openai.OpenAI, **options):
    completions = client(base_url=f"{url}/v1", api_key="none", max_retries=0).chat.completions
    return lambda **request: completions.create(model="m", **request, **options)


def responses_model(url, client=openai.OpenAI, **options):
    responses = client(base_url=f"{url}/v1", api_key="none", max_retries=0).responses
    return lambda messages, **request: responses.create(model="m", input=messages, **request, **options)


def claude_model(url, client=anthropic.Anthropic, **options):
    messages = client(base_url=url, api_key="none", max_retries=0).messages
    return lambda **request: messages.create(model="m", max_tokens=99, **request, **options)


def gemini_model(url, is_async=False, stream=False):
    client = genai.Client(api_key="none", http_options={"base_url": url})
    models = (client.aio if is_async else client).models
    generate = models.generate_content_stream if stream else models.generate_content

    def model(messages, tools, tool_choice):
        return generate(model="m", contents=messages, config={
            "tools": [{"function_declarations": tools}], "tool_config": tool_choice,
            "automatic_function_calling": {"disable": True}})
    model.client = client                   # an SDK's client closes when it is forgotten
    return model


@dataclasses.dataclass
class Provider:
    model: object
    async_model: object
    whole: dict
    end: dict
    stream: list
    response_type: object                   # the SDK's own types: they validate the fixtures and what toolreg builds
    chunk_type: object
    tool_type: object
    choice_type: object
    message_type: object

    def streaming(self, url):
        return self.model(url, stream=True)

    def chunks(self):
        """Give the stream as the SDK gives it to its user: without what only travels."""
        travels = [chunk for chunk in self.stream if chunk != "[DONE]" and chunk.get("type") != "ping"]
        return [pydantic.TypeAdapter(self.chunk_type).validate_python(chunk) for chunk in travels]


PROVIDERS = {
    "openai-chat": Provider(
        chat_model, lambda url: chat_model(url, openai.AsyncOpenAI, stream=True), CHAT, CHAT_END, CHAT_STREAM,
        ChatCompletion,
        ChatCompletionChunk, ChatCompletionToolParam, ChatCompletionToolChoiceOptionParam, ChatCompletionMessageParam),
    "openai-responses": Provider(
        responses_model, lambda url: responses_model(url, openai.AsyncOpenAI, stream=True), RESPONSES, RESPONSES_END,
        RESPONSES_STREAM,
        Response, ResponseStreamEvent, ToolParam, response_create_params.ToolChoice, ResponseInputItemParam),
    "anthropic": Provider(
        claude_model, lambda url: claude_model(url, anthropic.AsyncAnthropic, stream=True), CLAUDE, CLAUDE_END,
        CLAUDE_STREAM, Message, RawMessageStreamEvent, ToolUnionParam, ToolChoiceParam, MessageParam),
    "gemini": Provider(
        gemini_model, lambda url: gemini_model(url, is_async=True, stream=True), GEMINI, GEMINI_END, GEMINI_STREAM,
        gemini.GenerateContentResponse, gemini.GenerateContentResponse, gemini.FunctionDeclaration, gemini.ToolConfig,
        gemini.Content),
}
each_provider = pytest.mark.parametrize("api_format", PROVIDERS)


def fits(sdk_type, value):
    """Let an SDK's own type validate a value; keys that it does not know are faults."""
    adapter = pydantic.TypeAdapter(sdk_type)
    checked = adapter.validate_python(json.loads(json.dumps(value)))
    if isinstance(checked, dict):
        assert set(checked) == set(value)
    for part in [each for each in checked.values() if hasattr(each, "__next__")] if isinstance(checked, dict) else ():
        list(part)                          # pydantic checks an Iterable only when it is read
    return checked


@each_provider
def test_the_fixtures_are_what_the_sdk_takes_for_its_provider(api_format):
    provider = PROVIDERS[api_format]
    assert len(provider.chunks()) > 3       # which validates each
    for answer in (provider.whole, provider.end):
        pydantic.TypeAdapter(provider.response_type).validate_python(answer)


@each_provider
@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_runs_through_the_sdk(api_format, streamed):
    provider, registry = PROVIDERS[api_format], ToolRegistry([get_weather, add])
    with serving(provider.stream if streamed else provider.whole, provider.end) as server:
        first, last = (provider.streaming if streamed else provider.model)(server.url), provider.model(server.url)
        turns = iter([lambda **request: collect_stream(first(**request), api_format=api_format)
                      if streamed else first(**request), last])
        history = run_agent(lambda **request: next(turns)(**request), "How is Paris, and 17 + 25?", registry,
                            api_format=api_format)
        asked, answered = server.requests
    assert "Sunny, and 42." in json.dumps(history[-1])
    for message in history:
        fits(provider.message_type, message)
    # each call is answered once, right after it, under its id
    messages = answered.get("messages") or answered.get("input") or answered["contents"]
    if api_format != "gemini":              # whose SDK adds to what it is given
        assert messages == history[:len(messages)]
    if api_format == "openai-chat":
        results = [(each["tool_call_id"], each["content"]) for each in messages[-2:]]
    elif api_format == "openai-responses":
        results = [(each["call_id"], each["output"]) for each in messages[-2:]]
    elif api_format == "anthropic":
        results = [(each["tool_use_id"], each["content"]) for each in messages[-1]["content"]]
    else:                                   # the first call had no id
        results = [(each["functionResponse"].get("id"), each["functionResponse"]["response"]["output"])
                   for each in messages[-1]["parts"]]
        assert [part.get("thoughtSignature") for part in messages[-2]["parts"]] == [None, "c2lnbmF0dXJl", None]
    ids = [call.id for call in parse_tool_calls(provider.whole)] if api_format != "gemini" else [None, "zq7"]
    assert results == list(zip(ids, ["Paris: sunny, 21 °C", "42"], strict=True))


@each_provider
def test_a_stream_gives_the_same_calls_as_the_message_at_once_also_async(api_format):
    provider = PROVIDERS[api_format]
    with serving(provider.stream, provider.stream) as server:
        request = {"messages": [toolreg._APIS[api_format].user("Go.")],
                   "tools": ToolRegistry([add]).get_schemas(api_format=api_format),
                   "tool_choice": build_tool_choice("auto", api_format=api_format)}
        model = provider.streaming(server.url)
        message = collect_stream(model(**request), api_format=api_format)

        async def collected():
            model = provider.async_model(server.url)
            return await acollect_stream(await model(**request), api_format=api_format)
        assert asyncio.run(collected()) == message
    streamed, whole = parse_tool_calls(message), parse_tool_calls(provider.response_type.model_validate(provider.whole))
    assert [(call.name, call.arguments) for call in streamed] == CALLS
    assert [(call.name, call.arguments) for call in whole] == CALLS
    assert [call.id for call in streamed][1:] == [call.id for call in whole][1:]
    if api_format == "anthropic":           # what else there was is kept, to be sent back
        assert [block["type"] for block in message["content"][:3]] == ["thinking", "text", "server_tool_use"]
        assert message["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
        assert message["content"][2]["input"] == SEARCH["input"]


@each_provider
def test_a_stream_that_breaks_off_runs_nothing_by_halves(api_format):
    provider, ran = PROVIDERS[api_format], []
    registry = ToolRegistry()
    registry.register(lambda location="": ran.append(location), name="get_weather")
    registry.register(lambda a=0, b=0: ran.append((a, b)), name="add")
    for end in range(len(provider.chunks())):
        message = collect_stream(provider.chunks()[:end], api_format=api_format)
        results = registry.respond(message)
        assert bool(results) == bool(parse_tool_calls(message))
    assert set(ran) <= {"Paris", (17, 25)}


# https://github.com/anthropics/anthropic-sdk-python/tree/main/tests/lib/streaming/fixtures:
# incomplete_partial_json_response.txt
def test_a_message_of_claude_that_ran_out_of_tokens_is_answered_with_an_error():
    events = [*block_events(0, tool_use(0, input={}), partial_json('{"location": "taxes'))[:-1],
              {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
               "usage": {"output_tokens": 124}}]
    chunks = [pydantic.TypeAdapter(RawMessageStreamEvent).validate_python(event) for event in events]
    messages, calls, _ = toolreg._read_turn(collect_stream(chunks, api_format="anthropic"), "anthropic")
    fits(MessageParam, messages[0])
    answer, = ToolRegistry([get_weather]).respond(calls, api_format="anthropic")
    assert answer["content"][0]["is_error"] and "the text ends too early" in answer["content"][0]["content"]
    fits(MessageParam, answer)


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclasses.dataclass
class Node:
    value: int
    children: list["Node"] = dataclasses.field(default_factory=list)
    left: "Node | None" = None


def search(query: str, unit: Unit = Unit.CELSIUS, level: int | None = None, tags: list[str] = (),
           place: tuple[str, int] | None = None,
           tree: Node | None = None, either: int | str = 1, anything: object = None) -> str:
    """Search."""


def ping():
    """Ping."""


def free(options: dict[str, int], **more: int):
    """Take anything."""


MERGED = toolreg.Tool("merged", "", {"oneOf": [
    {"type": "object", "properties": {"kind": {"const": kind}, kind: {"type": "string"}}, "required": ["kind", kind]}
    for kind in "ab"]}, dict)


@each_provider
@pytest.mark.parametrize("strict", [None, True])
def test_the_sdk_takes_our_tools_and_choices(api_format, strict):
    provider, registry = PROVIDERS[api_format], ToolRegistry([search, ping, free, get_weather, MERGED],
        think_augment=True)
    for schema in registry.get_schemas(api_format=api_format, strict=strict):
        fits(provider.tool_type, schema)
        inner = schema.get("function", schema)
        parameters = next((inner[key] for key in ("parameters", "input_schema", "parametersJsonSchema")
                           if key in inner), {"type": "object"})       # gemini is sent none where there are none
        jsonschema.Draft202012Validator.check_schema(parameters)
        assert parameters["type"] == "object" and "anyOf" not in parameters and inner["description"]
    for choice in ("auto", "none", "required", "add"):
        fits(provider.choice_type, build_tool_choice(choice, api_format=api_format))
    if api_format != "anthropic":           # which takes one name
        fits(provider.choice_type, build_tool_choice(["add", "ping"], api_format=api_format))


@each_provider
def test_a_cut_answer_an_unknown_call_and_a_reason_go_through_the_sdk(api_format):
    provider = PROVIDERS[api_format]
    whole = json.loads(json.dumps(provider.whole).replace('"add"', '"multi_tool_use.parallel"').replace(
        *(('\\"location\\": \\"Paris\\"', '\\"location\\": \\"Paris\\", \\"toolcall_reason\\": \\"they asked\\"')
          if api_format.startswith("openai") else
          ('"location": "Paris"', '"location": "Paris", "toolcall_reason": "they asked"'))))
    reasons = []
    registry = ToolRegistry([get_weather], think_augment=True, before_call=lambda call, reason: reasons.append(reason))
    with serving(whole, provider.end) as server:
        model = provider.model(server.url)
        history = run_agent(model, "How is Paris?", registry, api_format=api_format)
        asked, answered = server.requests
    assert reasons == ["they asked"] and "toolcall_reason" in json.dumps(asked["tools"])
    assert "Paris: sunny" in json.dumps(answered) and 'there is no tool' in json.dumps(answered)
    assert "multi_tool_use_parallel" in json.dumps(answered)            # legal in the history
    for message in history:
        fits(provider.message_type, message)


CUT = {"openai-chat": chat_completion({"content": None, "tool_calls": [
           {"id": "call_0", "type": "function", "function": {"name": "ping", "arguments": ""}}]}, "length"),
       "openai-responses": response({**function_call(0), "name": "ping", "arguments": "", "status": "incomplete"},
                                    status="incomplete"),
       "anthropic": claude({**tool_use(0), "name": "ping", "input": {}}, reason="max_tokens"),
       "gemini": candidate({"functionCall": {"name": "ping", "args": {}}}, finish="MAX_TOKENS")}


@each_provider
def test_a_call_that_an_answer_cut_short_does_not_run(api_format):
    provider, ran = PROVIDERS[api_format], []
    registry = ToolRegistry()
    registry.register(lambda: ran.append(1), name="ping")
    with serving(CUT[api_format], provider.end) as server:
        history = run_agent(provider.model(server.url), "Go.", registry, api_format=api_format)
        assert len(server.requests) == 2
    assert not ran and "the text ends too early" in json.dumps(history[2])
    for message in history:
        fits(provider.message_type, message)


PICTURE, PAPER, SOUND = (toolreg.Media(data, kind) for data, kind in (
    (b"\x89PNG", "image/png"), (b"%PDF", "application/pdf"), (b"RIFF", "audio/wav")))
LINES = "Paris:\n[image/png, 4 bytes]\n[application/pdf, 4 bytes]\n[audio/wav, 4 bytes]"
MEDIA_AS_SENT = {       # where an API has no place for it, it stays a line of text
    "openai-chat": {"role": "tool", "tool_call_id": "call_0", "content": LINES},
    "openai-responses": {"type": "function_call_output", "call_id": "call_0", "output": [
        {"type": "input_text", "text": LINES}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
        {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}]},
    "anthropic": {"type": "tool_result", "tool_use_id": "toolu_0", "content": [
        {"type": "text", "text": LINES},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}}]},
    "gemini": {"functionResponse": {"name": "get_weather", "response": {"output": LINES}, "parts": [     # by its SDK
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw=="}},
        {"inline_data": {"mime_type": "application/pdf", "data": "JVBERg=="}}]}},
}


@each_provider
def test_media_are_sent_by_the_sdk_in_the_blocks_of_its_api(api_format):
    provider, registry = PROVIDERS[api_format], ToolRegistry([add])
    registry.register(lambda location: [f"{location}:", PICTURE, PAPER, SOUND], name="get_weather")
    with serving(provider.whole, provider.end) as server:
        model = provider.model(server.url)
        history = run_agent(model, "How is Paris?", registry, api_format=api_format)
        answered = server.requests[1]
    messages = answered.get("messages") or answered.get("input") or answered["contents"]
    sent = {"anthropic": lambda: messages[-1]["content"][0], "gemini": lambda: messages[-1]["parts"][0]}.get(
        api_format, lambda: messages[-2])()
    assert sent == MEDIA_AS_SENT[api_format]
    for message in history:
        fits(provider.message_type, message)


def test_the_streams_of_the_helpers_of_openai_and_anthropic_are_read():
    with serving(CHAT_STREAM) as server:
        completions = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none").chat.completions
        with completions.stream(model="m", messages=[{"role": "user", "content": "Go."}]) as stream:
            message = collect_stream(stream)
    assert [(call.name, call.arguments) for call in parse_tool_calls(message)] == CALLS
    with serving(CLAUDE_STREAM) as server:
        messages = anthropic.Anthropic(base_url=server.url, api_key="none").messages
        with messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "Go."}]) as stream:
            message = collect_stream(stream, api_format="anthropic")
    assert [(call.name, call.arguments) for call in parse_tool_calls(message)] == CALLS
    with serving(RESPONSES_STREAM) as server:
        responses = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none").responses
        with responses.stream(model="m", input="Go.") as stream:
            items = collect_stream(stream, api_format="openai-responses")
    assert [(call.name, call.arguments) for call in parse_tool_calls(items)] == CALLS


def test_tools_of_real_mcp_servers_are_taken_by_every_sdk(shared):
    tools = [toolreg.Tool(each["name"].replace(".", "_"), each.get("description") or "", each["inputSchema"], dict)
             for path in sorted((shared / "data" / "mcp_tools").glob("*.json"))
             for each in tools_in(json.loads(path.read_text("utf-8")))]
    assert len(tools) > 60
    for api_format, provider in PROVIDERS.items():
        for strict in (None, True):
            for schema in build_tool_schemas(tools, api_format=api_format, strict=strict):
                fits(provider.tool_type, schema)


def tools_in(document):
    if isinstance(document, dict) and "inputSchema" in document:
        return [document]
    return [tool for each in (document.values() if isinstance(document, dict) else document
                              if isinstance(document, list) else ())
            for tool in tools_in(each)]


def test_strict_schemas_are_as_strict_as_those_of_the_openai_sdk():
    class Item(pydantic.BaseModel):
        name: str
        tags: list[str]

    class Order(pydantic.BaseModel):
        items: list[Item]
        note: str | None

    def order(**fields):
        """Order."""
    registry = ToolRegistry()
    registry.register(order, parameters=Order, name="Order")
    ours = registry.get_schemas(strict=True)[0]["function"]
    theirs = openai.pydantic_function_tool(Order)["function"]

    def shape(schema, root):
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        return {"closed": schema.get("additionalProperties"), "required": schema.get("required"),
                "properties": {name: shape(each, root) for name, each in schema.get("properties", {}).items()},
                "items": shape(schema["items"], root) if "items" in schema else None}
    assert ours["strict"] is theirs["strict"] is True
    assert shape(ours["parameters"], ours["parameters"]) == shape(theirs["parameters"], theirs["parameters"])


# https://github.com/ollama/ollama/blob/main/docs/api.md ("Chat request (with tools)")
OLLAMA = {"model": "m", "created_at": "2025-07-07T20:32:53.844124Z", "done": True, "done_reason": "stop", "message": {
    "role": "assistant", "content": "", "tool_calls": [{"function": {"name": "get_weather",
        "arguments": {"location": "Paris"}}},
                                                       {"function": {"name": "add", "arguments": {"a": 17, "b": 25}}}]}}


def test_ollama_takes_our_tools_and_its_calls_are_answered():
    registry = ToolRegistry([get_weather, add, search])
    with serving(OLLAMA, {**OLLAMA, "message": {"role": "assistant", "content": "Sunny, and 42."}}) as server:
        client = ollama.Client(host=server.url)

        def model(messages, tools, tool_choice):
            return client.chat(model="m", messages=messages, tools=tools)
        history = run_agent(model, "How is Paris, and 17 + 25?", registry)
        assert len(server.requests[0]["tools"]) == 3
    assert [message["content"] for message in history[2:]] == ["Paris: sunny, 21 °C", "42", "Sunny, and 42."]
    assert [call["id"] for call in history[1]["tool_calls"]] == [message["tool_call_id"] for message in history[2:4]]


def test_the_sdk_of_ollama_keeps_unions_that_are_said_by_lists_of_types():
    def find(name: str | None, tags: list[str] | None = None, kind: int | str = 5) -> str:
        return "x"
    sent, = ToolRegistry([find]).get_schemas(api_format="ollama")
    kept = ollama.Tool(**sent).function.parameters.properties
    types = [kept[name].type for name in ("name", "tags", "kind")]
    assert types == [["string", "null"], ["array", "null"], ["integer", "string"]]


def test_the_stream_of_ollama_goes_back_as_its_sdk_takes_it():
    chunks = [{**OLLAMA, "done": False, "done_reason": None},
              {**OLLAMA, "message": {"role": "assistant", "content": ""}}]
    message = collect_stream([ollama.ChatResponse(**chunk) for chunk in chunks])
    history, calls, _ = toolreg._read_turn(message, "openai-chat")
    assert [(call.name, call.arguments) for call in calls] == CALLS
    assert [(call.function.name, call.function.arguments) for call in ollama.Message(**history[0]).tool_calls] == CALLS
    answers = ToolRegistry([get_weather, add]).respond(message)
    assert [ollama.Message(**answer).tool_name for answer in answers] == ["get_weather", "add"]


# https://docs.mistral.ai/api/#tag/chat
def mistral_model(url, stream=False):
    client = Mistral(api_key="none", server_url=url)
    ask = client.chat.stream if stream else client.chat.complete

    def model(**request):
        return ask(model="m", **request)
    model.client = client
    return model


@pytest.mark.parametrize("streamed", [False, True])
def test_a_conversation_runs_through_the_sdk_of_mistral(streamed):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    calls = [{**call, "type": None, "index": n} for n, call in enumerate(CHAT_CALLS)]
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    whole = {**chat_completion({"content": [thinking, {"type": "text", "text": "I'll check."}], "tool_calls": [
        {key: value for key, value in call.items() if key != "type"} for call in calls]}, "tool_calls"), "usage": usage}
    chunks = [chat_chunk({"role": "assistant", "content": [thinking]}), chat_chunk({"content": "I'll check."}),
              chat_chunk({"content": "", "tool_calls": [{key: value for key, value in call.items() if key != "type"}
                                                        for call in calls]}, "tool_calls"), "[DONE]"]
    registry = ToolRegistry([get_weather, add])
    with serving(chunks if streamed else whole, {**CHAT_END, "usage": usage}) as server:
        first, last = mistral_model(server.url, streamed), mistral_model(server.url)
        turns = iter([(lambda **request: collect_stream(first(**request))) if streamed else first, last])
        history = run_agent(lambda **request: next(turns)(**request), "How is Paris, and 17 + 25?", registry)
        asked, answered = server.requests
    assert [(each["tool_call_id"], each["content"]) for each in answered["messages"][-2:]] == [
        ("call_0", "Paris: sunny, 21 °C"), ("call_1", "42")]
    assert answered["messages"][1]["content"][0]["thinking"] == thinking["thinking"]        # it has to come back
    assert history[-1]["content"] == "Sunny, and 42."


def test_a_cut_answer_an_unknown_call_and_a_reason_go_through_the_sdk_of_mistral():
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    calls = [{"id": "c0", "index": 0, "function": {
                 "name": "get_weather", "arguments": '{"location": "Paris", "toolcall_reason": "they asked"}'}},
             {"id": "c1", "index": 1, "function": {"name": "multi_tool_use.parallel", "arguments": "{}"}}]
    cut = [{"id": "c2", "index": 0, "function": {"name": "ping", "arguments": "{}"}}]
    ran, reasons = [], []
    registry = ToolRegistry([get_weather], think_augment=True, before_call=lambda call, reason: reasons.append(reason))
    registry.register(lambda: ran.append(1), name="ping")
    with serving({**chat_completion({"content": "", "tool_calls": calls}, "tool_calls"), "usage": usage},
                 {**chat_completion({"content": "", "tool_calls": cut}, "length"), "usage": usage},
                 {**CHAT_END, "usage": usage}) as server:
        history = run_agent(mistral_model(server.url), "How is Paris?", registry)
        asked, answered, ended = server.requests
    assert reasons == ["they asked"] and not ran and "toolcall_reason" in json.dumps(asked["tools"])
    assert [call["function"]["name"] for call in answered["messages"][1]["tool_calls"]] == [
        "get_weather", "multi_tool_use_parallel"]                       # legal in the history
    assert [message["content"] for message in history[2:3]] == ["Paris: sunny, 21 °C"]
    assert "there is no tool" in history[3]["content"] and "the text ends too early" in ended["messages"][-1]["content"]


def test_a_cut_answer_an_unknown_call_and_a_reason_go_through_the_sdk_of_ollama():
    def answer(*calls, reason="stop"):
        return {**OLLAMA, "done_reason": reason, "message": {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": name, "arguments": arguments}} for name, arguments in calls]}}

    ran, reasons = [], []
    registry = ToolRegistry([get_weather], think_augment=True, before_call=lambda call, reason: reasons.append(reason))
    registry.register(lambda: ran.append(1), name="ping")
    with serving(answer(("get_weather", {"location": "Paris", "toolcall_reason": "they asked"}), ("a.b", {})),
                 answer(("ping", {}), reason="length"),
                 {**OLLAMA, "message": {"role": "assistant", "content": "Sunny."}}) as server:
        client = ollama.Client(host=server.url)
        history = run_agent(lambda messages, tools, tool_choice: client.chat(model="m", messages=messages, tools=tools),
                            "How is Paris?", registry)
        asked, answered, ended = server.requests
    assert reasons == ["they asked"] and not ran and "toolcall_reason" in json.dumps(asked["tools"])
    assert [call["function"]["name"] for call in answered["messages"][1]["tool_calls"]] == ["get_weather", "a_b"]
    assert answered["messages"][1]["tool_calls"][0]["function"]["arguments"]["location"] == "Paris"     # an object
    assert history[2]["content"] == "Paris: sunny, 21 °C" and "there is no tool" in history[3]["content"]
    assert "the text ends too early" in ended["messages"][-1]["content"]
