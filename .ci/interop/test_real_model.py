"""A real language model (SmolLM2-135M, llama.cpp, one CPU thread) behind HttpModel: its form is asserted."""

import functools
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

import toolreg

PROMPTS = [
    "Add 3 and 4.",
    "Add 12 to 30.",
    "Multiply 6 by 7.",
    "What is 9 times 9?",
    "What is the weather in Paris?",
    "How is the weather in Oslo, in fahrenheit?",
    "Please add 100 and 250.",
    "Weather in Tokyo?",
]


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def multiply(x: int, y: int) -> int:
    """Multiply two integers."""
    return x * y


def get_weather(city: str, unit: str = "celsius") -> str:
    """Get the weather in a city."""
    return f"It is sunny in {city}, 20 {unit}."


@pytest.fixture(scope="module")
def base_url():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, str(pathlib.Path(__file__).with_name("llama_server.py")), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            assert server.poll() is None, f"the server ended with status {server.returncode}"
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                    break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


def answered_by_a_call(model, question, registry, tool_choice="auto"):
    """Run one turn, and give (call, tool message, messages); a model this small may call on for ever."""
    loop = toolreg.agent_loop(model, question, registry, tool_choice=tool_choice)
    assistant, tool_message = next(loop), next(loop)
    (call, *more) = toolreg.parse_tool_calls(assistant)
    assert call.id and call.name in registry and isinstance(call.arguments, dict), assistant
    assert tool_message["role"] == "tool" and tool_message["tool_call_id"] == call.id
    return (
        call,
        tool_message,
        [{"role": "user", "content": question}, assistant, tool_message, *[next(loop) for _ in more]],
    )


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streaming"])
@pytest.mark.parametrize(
    "api_format, limit",
    [("openai-chat", "max_tokens"), ("openai-responses", "max_output_tokens"), ("anthropic", "max_tokens")],
)
def test_a_question_is_answered_through_a_real_tool_call(base_url, api_format, limit, stream):
    pieces = []
    model = toolreg.HttpModel(
        base_url.removesuffix("/v1") if api_format == "anthropic" else base_url,
        "smollm2",
        api_format=api_format,
        temperature=0,
        timeout=300,
        stream=stream,
        on_delta=pieces.append if stream else None,
        **{limit: 60},
    )
    registry = toolreg.ToolRegistry([add])
    messages = toolreg.run_agent(model, "Add 17 and 25.", registry, max_turns=3, api_format=api_format)
    print(toolreg.trace(messages))
    call = toolreg.parse_tool_calls(messages[1])[0]
    assert (call.name, call.arguments) == ("add", {"a": 17, "b": 25})
    assert messages[2] == registry.build_tool_call_messages(
        [call], [toolreg.ToolResult(call.id, "add", "42")], api_format=api_format)[-1]
    assert messages[-1]["role"] == "assistant" and "42" in toolreg.trace(messages[-1:])
    assert not stream or (toolreg.trace(messages[-1:]).endswith("".join(pieces[-2:])) and len(pieces) > 1)
    assert model.usage["input"] > 100 < model.usage["total"] == model.usage["input"] + model.usage["output"]


@pytest.mark.parametrize(
    "func, question", [(add, "Please add 100 and 250."), (get_weather, "What is the weather in Paris?")]
)
def test_a_reason_is_asked_for_stripped_and_kept(base_url, func, question):
    results = []
    strict = toolreg.Tool.from_function(
        func, metadata=toolreg.ToolMetadata(strict=True)
    )  # so that the reason is required
    registry = toolreg.ToolRegistry(
        [strict], think_augment=True, after_call=lambda call, result: results.append(result)
    )
    # dry_multiplier: a model this small repeats its reason until it is cut
    model = toolreg.HttpModel(base_url, "smollm2", temperature=0, max_tokens=300, dry_multiplier=0.8, timeout=300)
    call, _, messages = answered_by_a_call(model, question, registry, "required")
    print(toolreg.trace(messages))
    assert (
        results[0].reason == call.arguments[toolreg.TOOLCALL_REASON] and results[0].reason and not results[0].is_error
    )


@pytest.mark.parametrize("question", PROMPTS)
def test_a_prompt_reaches_a_well_formed_call(base_url, question):
    registry = toolreg.ToolRegistry([add, multiply, get_weather])
    model = toolreg.HttpModel(base_url, "smollm2", temperature=0, max_tokens=80, timeout=300)
    call, tool_message, messages = answered_by_a_call(model, question, registry, "required")
    assert not registry.invoke(call).is_error, tool_message
    assert f"[{call.id}]" in toolreg.trace(messages)


def test_a_schema_that_the_server_dislikes_is_told_with_its_tool(base_url):
    odd = toolreg.Tool(
        "odd", "", {"type": "object", "properties": {"z": {"$ref": "#/$defs/nope"}}, "$defs": {"nope": True}}, print
    )
    schemas = toolreg.build_tool_schemas([toolreg.Tool.from_function(add), odd])
    schemas[1]["function"]["parameters"]["properties"]["z"] = {"type": "dict"}
    with pytest.raises(toolreg.HttpError, match=r"answered 400: .*unrecognized type dict.* \(tools: odd\)"):
        toolreg.HttpModel(base_url, "smollm2", timeout=300)(messages=[{"role": "user", "content": "hi"}], tools=schemas)


def test_a_history_with_cut_arguments_and_null_content_is_taken(base_url):
    call = {"id": "c1", "function": {"name": "add", "arguments": '{"a": '}}
    history = [
        {"role": "user", "content": "Add 1 and 2."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: cut"},
    ]
    model = toolreg.HttpModel(base_url, "smollm2", temperature=0, max_tokens=10, timeout=300)
    assert model(messages=history, tools=toolreg.ToolRegistry([add]).get_schemas())["role"] == "assistant"


def test_chat_on_the_command_line_shows_the_whole_flow(base_url, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toolreg, "HttpModel", functools.partial(toolreg.HttpModel, temperature=0))     # else it varies
    (tmp_path / "sums.py").write_text("def add(a: int, b: int) -> int:\n    'Add two integers.'\n    return a + b\n")
    assert (
        toolreg.main(
            [
                "chat",
                "sums.py",
                "Add 17 and 25.",
                "--base-url",
                base_url,
                "--model",
                "smollm2",
                "--stream",
                "--mermaid",
                "flow.mmd",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("user    Add 17 and 25.\nmodel   calls add ") and "tool    add answers [" in out
    assert "participant T1 as add" in (tmp_path / "flow.mmd").read_text("utf-8")
    assert json.dumps(42) in out


def test_the_lesson_of_the_loop_is_run_by_a_real_model(base_url, monkeypatch, capsys):
    monkeypatch.setattr(toolreg, "HttpModel", functools.partial(toolreg.HttpModel, temperature=0, max_tokens=60))
    assert toolreg.main(["lesson", "2", "--base-url", base_url, "--model", "smollm2"]) == 0
    printed = capsys.readouterr().out.partition("=== What it prints ===")[2]
    print(printed)
    assert "user    Time and weather in Oslo?" in printed and "\nmodel   " in printed


def test_a_chat_is_kept_and_a_real_model_goes_on_from_it(base_url, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(toolreg, "HttpModel", functools.partial(toolreg.HttpModel, temperature=0, max_tokens=60))
    (tmp_path / "sums2.py").write_text("def add(a: int, b: int) -> int:\n    'Add two integers.'\n    return a + b\n")
    argv = ["--base-url", base_url, "--model", "smollm2", "--save", "talk.json", "--html", "talk.html"]
    kept = []
    for question in ("Add 17 and 25.", "Add 1 and 2."):
        assert toolreg.main(["chat", "sums2.py", question, *argv]) == 0
        kept.append(json.loads((tmp_path / "talk.json").read_text("utf-8")))
    assert kept[1][:len(kept[0])] == kept[0] and kept[0][-1]["role"] == "assistant"
    asked = [message["content"] for message in kept[1] if message["role"] == "user"]
    assert asked == ["Add 17 and 25.", "Add 1 and 2."]
    assert "tool    add answers [" in (tmp_path / "talk.html").read_text("utf-8")
