"""A registry in LangChain and LangGraph: schemas into bind_tools, AIMessages into respond, ToolMessages out of it."""
import asyncio
import json
from typing import Annotated

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage, convert_to_messages
from langchain_core.tools import InjectedToolCallId, ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from scripted_server import serving

from toolreg import ToolRegistry, run_agent


def get_weather(city: str, days: int = 1) -> str:
    """Get the weather forecast for a city."""
    return f"{city}: sunny for {days} day(s)"


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class ScriptedChatModel(FakeMessagesListChatModel):
    """LangChain's own fake model, that takes tools too; it keeps what it was asked."""

    asked: list = []
    tools: list = []

    def bind_tools(self, tools, **options):
        self.tools = tools
        return self

    def _generate(self, messages, *rest, **options):
        self.asked.append(list(messages))
        return super()._generate(messages, *rest, **options)


def graph_of(model, tools_node):
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", tools_node)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if calls_in(state["messages"][-1]) else END)
    graph.add_edge("tools", "model")
    return graph.compile()


def calls_in(message):
    return message.tool_calls or message.invalid_tool_calls


def asks_for(*calls, text=""):
    return AIMessage(text, tool_calls=[{"name": name, "args": args, "id": call_id, "type": "tool_call"} for name, args,
                                       call_id in calls])


TWO_TOOLS = [asks_for(("get_weather", {"city": "Oslo", "days": "3"}, "a"), ("add", {"a": 17, "b": 25}, "b")),
             AIMessage("Sunny, and 42.")]
TOOL_MESSAGES = [("a", "Oslo: sunny for 3 day(s)"), ("b", "42")]


def test_a_graph_runs_two_tools_through_a_node_of_one_line():
    registry, model = ToolRegistry([get_weather, add]), ScriptedChatModel(responses=TWO_TOOLS)
    model.bind_tools(registry.get_schemas())
    graph = graph_of(model, lambda state: {"messages": registry.respond(state["messages"][-1])})
    messages = graph.invoke({"messages": [("user", "How is Oslo, and 17 + 25?")]})["messages"]
    assert [(message.tool_call_id, message.content) for message in messages
            if isinstance(message, ToolMessage)] == TOOL_MESSAGES
    assert messages[-1].content == "Sunny, and 42." and len(model.asked) == 2
    assert [tool["function"]["name"] for tool in model.tools] == ["get_weather", "add"]


def test_an_async_graph_runs_through_arespond():
    registry = ToolRegistry([get_weather, add])

    async def tools(state):
        return {"messages": await registry.arespond(state["messages"][-1])}
    graph = graph_of(ScriptedChatModel(responses=TWO_TOOLS), tools)
    messages = asyncio.run(graph.ainvoke({"messages": [("user", "Go.")]}))["messages"]
    assert [(message.tool_call_id, message.content) for message in messages[2:4]] == TOOL_MESSAGES


def test_a_wrong_call_is_told_to_the_model_and_then_corrected():
    registry = ToolRegistry([get_weather])
    model = ScriptedChatModel(responses=[
        asks_for(("get_weather", {"town": "Oslo"}, "a")), asks_for(("get_wether", {"city": "Oslo"}, "b")),
        asks_for(("get_weather", {"city": "Oslo"}, "c")), AIMessage("Sunny.")])
    graph = graph_of(model, lambda state: {"messages": registry.respond(state["messages"][-1])})
    messages = graph.invoke({"messages": [("user", "How is Oslo?")]})["messages"]
    assert [message.type for message in messages] == ["human", *["ai", "tool"] * 3, "ai"]
    told = [message.content for message in messages if message.type == "tool"]
    assert "- city: is missing" in told[0] and "- town: is not allowed here" in told[0] and "get_weather" in told[1]
    assert told[2] == "Oslo: sunny for 1 day(s)" and messages[-1].content == "Sunny."


def test_a_call_that_langchain_could_not_read_is_answered_with_what_is_wrong():
    unreadable = AIMessage("", invalid_tool_calls=[
        {"name": "get_weather", "args": '{"city": "Os', "id": "a", "error": None, "type": "invalid_tool_call"}])
    registry, model = ToolRegistry([get_weather]), ScriptedChatModel(responses=[unreadable, AIMessage("Sorry.")])
    graph = graph_of(model, lambda state: {"messages": registry.respond(state["messages"][-1])})
    answer = graph.invoke({"messages": [("user", "How is Oslo?")]})["messages"][-2]
    assert answer.tool_call_id == "a" and "the text ends too early" in answer.content


def test_merged_chunks_of_a_streaming_model_are_read_like_the_message():
    chunks = [AIMessageChunk("", tool_call_chunks=[{"name": "get_weather", "args": "", "id": "a", "index": 0}]),
              AIMessageChunk("", tool_call_chunks=[{"name": None, "args": '{"city": "Oslo"', "id": None, "index": 0}]),
              AIMessageChunk("", tool_call_chunks=[{"name": None, "args": "}", "id": None, "index": 0}])]
    message = chunks[0] + chunks[1] + chunks[2]
    assert ToolRegistry([get_weather]).respond(message)[0]["content"] == "Oslo: sunny for 1 day(s)"


@pytest.mark.parametrize("content", ["", [{"type": "text", "text": "Let me see."},
                                          {"type": "tool_use", "id": "a", "name": "get_weather",
                                           "input": {"city": "Oslo"}}]])
def test_a_message_is_answered_once_also_where_its_content_names_the_call_again(content):
    message = AIMessage(content, tool_calls=[{"name": "get_weather", "args": {"city": "Oslo"}, "id": "a",
                                              "type": "tool_call"}])
    answers = ToolRegistry([get_weather]).respond(message)
    assert convert_to_messages(answers) == [
        ToolMessage("Oslo: sunny for 1 day(s)", name="get_weather", tool_call_id="a")]


def chat_completion(**message):
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [{"index": 0, "message": {"role": "assistant", "content": None, **message},
                         "finish_reason": "stop"}]}


def test_our_loop_drives_a_langchain_model_through_a_call_that_it_could_not_read():
    calls = [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
             for call_id, name, arguments in [("a", "get_weather", '{"city": "Oslo"}'),
                                              ("b", "get_weather", '{"city": "Os')]]
    registry = ToolRegistry([get_weather])
    with serving(chat_completion(tool_calls=calls), chat_completion(content="Sunny.")) as server:
        llm = ChatOpenAI(model="m", base_url=f"{server.url}/v1", api_key="none", max_retries=0)

        def model(messages, tools, tool_choice):
            return llm.bind_tools(tools, tool_choice=tool_choice).invoke(messages)
        history = run_agent(model, "How is Oslo?", registry)
        asked, answered = server.requests
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "tool", "assistant"]
    assert history[2]["content"] == "Oslo: sunny for 1 day(s)" and "the text ends too early" in history[3]["content"]
    assert [message.get("tool_call_id") for message in answered["messages"][2:]] == ["a",
        "b"] and asked["tools"] == registry.get_schemas()
    assert json.dumps(history)


# --- the same calls, answered by LangGraph's own node
@tool
def divide(a: int, b: int = 2) -> float:
    """Divide."""
    return a / b


@tool(response_format="content_and_artifact")
def draw(size: int) -> tuple[str, dict]:
    """Draw a picture."""
    return f"a picture of size {size}", {"pixels": [size] * 2}


@tool
def look_up(text: str, limit: int = 3) -> dict:
    """Look a text up."""
    return {"query": text, "found": [None, True, "é"], "limit": limit}


@tool
def nothing() -> None:
    """Give nothing."""


@tool
async def later(text: str) -> str:
    """Answer later."""
    return text.upper()


@tool
def ticket(text: str, call: Annotated[str, InjectedToolCallId]) -> str:
    """Say which call this is."""
    return f"{text} is {call}"


def fail(text: str) -> str:
    """Fail, in words of its own."""
    raise ToolException(f"no {text}")


refuse = tool(fail)
refuse.handle_tool_error = "the kitchen is closed"
NODE_TOOLS = [divide, draw, look_up, nothing, later, ticket, refuse]
NODE_CALLS = [("divide", {"a": 3}), ("divide", {"a": 3, "b": 4}), ("draw", {"size": 3}), ("look_up", {"text": "tea"}),
              ("nothing", {}), ("later", {"text": "x"}), ("ticket", {"text": "this"}), ("fail", {"text": "tea"}),
              ("look_up", {"text": "", "limit": 1}),
              # what goes wrong is told in other words
              ("divide", {"b": 4}), ("divide", {"a": 3, "b": 0}), ("multiply", {"a": 3})]


def test_the_node_of_langgraph_and_ours_answer_the_same_calls_with_equal_messages():
    message = asks_for(*((name, arguments, f"c{at}") for at, (name, arguments) in enumerate(NODE_CALLS)))
    registry = ToolRegistry()
    registry.register_from_langchain(*NODE_TOOLS)

    def answers_of(node):
        graph = StateGraph(MessagesState)
        graph.add_node("tools", node)
        graph.add_edge(START, "tools")
        answers = asyncio.run(graph.compile().ainvoke({"messages": [message]}))["messages"][1:]
        return [{**answer.model_dump(), "id": None} for answer in answers]

    async def ours(state):
        return {"messages": await registry.arespond(state["messages"][-1])}
    theirs, ours = answers_of(ToolNode(NODE_TOOLS, handle_tool_errors=True)), answers_of(ours)
    assert theirs[:-3] == ours[:-3] and len(theirs) == len(NODE_CALLS)
    assert [answer["status"] for answer in ours[-3:]] == ["error"] * 3
    assert [{**answer, "content": ""} for answer in theirs[-3:]] == [{**answer, "content": ""} for answer in ours[-3:]]
    assert [{**answer, "id": None} for answer in map(ToolMessage.model_dump, convert_to_messages(
        registry.respond(message)))] == ours


# https://platform.claude.com/docs/en/build-with-claude/extended-thinking: blocks go back unchanged, before the calls
THOUGHTS = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "redacted_thinking", "data": "x"}]


@pytest.mark.parametrize("api_format", ["openai-chat", "anthropic"])
def test_the_thinking_blocks_of_claude_survive_our_loop(api_format):
    def claude(*content, reason):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(content),
                "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    call = {"type": "tool_use", "id": "toolu_0", "name": "add", "input": {"a": 17, "b": 25}}
    text = {"type": "text", "text": "Let me add."}
    answers = [claude(*THOUGHTS, text, call, reason="tool_use"),
               claude(*THOUGHTS, {"type": "text", "text": "42"}, reason="end_turn")]
    with serving(*answers) as server:
        llm = ChatAnthropic(model="m", base_url=server.url, api_key="none", max_retries=0, max_tokens=99,
                            thinking={"type": "enabled", "budget_tokens": 50})
        history = run_agent(lambda messages, tools, tool_choice: llm.bind_tools(tools).invoke(messages), "17 + 25?",
                            ToolRegistry([add]), api_format=api_format)
        _, answered = server.requests
    _, said, result = answered["messages"]
    assert said["content"] == [*THOUGHTS, text, call]
    assert (result["content"][0]["tool_use_id"], result["content"][0]["content"]) == ("toolu_0", "42")
    assert history[-1]["content"] == [*THOUGHTS, {"type": "text", "text": "42"}] and json.dumps(history)
