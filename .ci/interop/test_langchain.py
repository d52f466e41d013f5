"""Tools from LangChain: the kinds of tools that langchain-core has, sync and async, with right and wrong arguments."""
import asyncio
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Optional

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    tool,
)
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.types import Command
from pydantic import BaseModel, Field

from toolreg import ToolCall, ToolDefinitionError, ToolError, ToolRegistry, ToolRegWarning, run_agent, scripted_model


class Started(BaseCallbackHandler):
    def __init__(self):
        self.names = []

    def on_tool_start(self, serialized, input_str, **kwargs):
        self.names.append(serialized["name"])


STARTED = Started()


@tool
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


class Search(BaseModel):
    """Search for text."""

    query: str = Field(description="what to look for", min_length=2)
    where: Literal["web", "mail"] = "web"
    limit: Optional[int] = None


def search_for(query: str, where: str = "web", limit: Optional[int] = None) -> dict:
    return {"query": query, "where": where, "limit": limit}


search = StructuredTool.from_function(search_for, name="search", description="Search.", args_schema=Search,
                                      callbacks=[STARTED])
by_schema = StructuredTool.from_function(
    lambda **arguments: arguments, name="by_schema", description="Take a dict.",
    args_schema={"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]})


class Multiply(BaseTool):
    name: str = "multiply"
    description: str = "Multiply."

    def _run(self, a: float, b: float = 3.0, run_manager=None) -> float:
        return a * b


class Later(BaseTool):
    name: str = "later"
    description: str = "Answer later."

    def _run(self, text: str) -> str:
        raise NotImplementedError("only async")

    async def _arun(self, text: str) -> str:
        await asyncio.sleep(0.01)
        return text.upper()


async def only_async(text: str) -> str:
    """Answer in a coroutine."""
    await asyncio.sleep(0.01)
    return text[::-1]


coroutine_only = StructuredTool.from_function(coroutine=only_async)


@tool(response_format="content_and_artifact")
def draw(size: int) -> tuple[str, dict]:
    """Draw a picture."""
    return f"a picture of size {size}", {"pixels": [size] * 2}


@tool
def whoami(greeting: str, user: Annotated[str, InjectedToolArg] = "nobody") -> str:
    """Greet the user."""
    return f"{greeting} {user}"


@tool
def ticket(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
    """Say which call this is."""
    return f"{text} {bool(tool_call_id)}"


@tool
def refuse(text: str) -> str:
    """Raise the exception that is meant for the model."""
    raise ToolException(f"no {text} today, ask for tea")


def fail(text: str) -> str:
    """Raise, and have LangChain make text of it."""
    raise ToolException(f"no {text}")


handled = StructuredTool.from_function(fail, name="handled", handle_tool_error="the kitchen is closed")


@tool
def crash(n: int) -> float:
    """Divide by n."""
    return 1 / n


legacy = Tool("legacy search!", lambda query: f"found {query}", "A tool of one text.")


@tool
def nothing() -> None:
    """Take and give nothing."""


ALL = [add, search, by_schema, Multiply(), Later(), coroutine_only, draw, whoami, ticket, refuse, handled, crash,
       legacy, nothing]

RIGHT = [
    ("add", {"a": 1}, "3", 3), ("add", {"a": "1", "b": 5}, "6", 6),
    ("search", {"query": "tea", "limit": None}, '{"query": "tea", "where": "web", "limit": null}',
     {"query": "tea", "where": "web", "limit": None}),
    ("by_schema", {"n": 3}, '{"n": 3}', {"n": 3}),
    ("multiply", {"a": 1.5}, "4.5", 4.5),
    ("later", {"text": "x"}, "X", "X"), ("only_async", {"text": "ab"}, "ba", "ba"),
    ("draw", {"size": 3}, "a picture of size 3", {"pixels": [3, 3]}),
    ("whoami", {"greeting": "hi"}, "hi nobody", "hi nobody"), ("ticket", {"text": "t"}, "t True", "t True"),
    ("legacy_search", {"tool_input": "q"}, "found q", "found q"), ("nothing", {}, "null", None),
]
WRONG = [
    ("add", {}, "- a: is missing"), ("add", {"a": "x"}, '- a: "x" is not an integer'),
    ("add", {"a": 1, "c": 2}, "- c: is not allowed here"),
    ("search", {"query": "t", "where": "sea"}, "- query: "),
    ("search", {"query": "tea", "where": "sea"}, '"sea" is not one of "web", "mail"'),
    ("by_schema", {"n": 0}, "- n: "), ("by_schema", {}, "- n: is missing"),
    ("multiply", {"a": 1, "c": 1}, "- c: is not allowed here"),
    ("whoami", {"greeting": "hi", "user": "root"}, "- user: is not allowed here (there are: greeting)"),
    ("ticket", {"text": "t", "tool_call_id": "1"}, "- tool_call_id: is not allowed here"),
    ("refuse", {"text": "coffee"}, "no coffee today, ask for tea"),
    ("handled", {"text": "coffee"}, "the kitchen is closed"),
    ("crash", {"n": 0}, "ZeroDivisionError"), ("legacy_search", {"q": "x"}, "- tool_input: is missing"),
]


@pytest.fixture(scope="module")
def registry():
    registry = ToolRegistry(think_augment=True)
    registry.register_from_langchain(*ALL)
    return registry


def answers(registry, calls):
    """Run the calls as LangChain's own message holds them, in a batch, sync and async."""
    message = AIMessage("", tool_calls=[
        {"id": f"c{at}", "name": name, "args": {**arguments, "toolcall_reason": "why"}} for at,
        (name, arguments, *_) in enumerate(calls)])
    results = registry.execute_tool_calls(message)
    assert results == asyncio.run(registry.aexecute_tool_calls(message))
    assert [(result.tool_call_id, result.reason) for result in results] == [(f"c{at}", "why")
                                                                            for at in range(len(calls))]
    return results


def test_all_kinds_register_under_legal_names_with_closed_schemas(registry):
    assert registry.list_tools() == ["add", "search", "by_schema", "multiply", "later", "only_async", "draw", "whoami",
                                     "ticket",
                                     "refuse", "handled", "crash", "legacy_search", "nothing"]
    search = registry["search"].parameters
    assert search["properties"]["query"] == {"title": "Query", "type": "string", "minLength": 2,
                                             "description": "what to look for"}
    assert (search["required"], search["additionalProperties"]) == (["query"], False)
    assert list(registry["whoami"].parameters["properties"]) == ["greeting"]
    assert list(registry["ticket"].parameters["properties"]) == ["text"]
    assert registry["add"].description == "Add two numbers."
    for schema in registry.get_schemas():
        assert "toolcall_reason" in schema["function"]["parameters"]["properties"]


def test_right_arguments_give_the_value_sync_and_async(registry):
    STARTED.names.clear()
    for result, (name, _, content, value) in zip(answers(registry, RIGHT), RIGHT):
        assert (result.name, result.content, result.value, result.is_error) == (name, content, value, False)
    assert STARTED.names == ["search"] * 2, "LangChain's own callbacks did not fire"


def test_wrong_arguments_and_failures_are_error_results_sync_and_async(registry):
    for result, (name, arguments, text) in zip(answers(registry, WRONG), WRONG):
        assert result.is_error and text in result.content, (name, arguments, result.content)


def test_a_tool_exception_speaks_for_itself(registry):
    result = registry.invoke("refuse", {"text": "milk"})
    assert result.content == "no milk today, ask for tea" and type(result.error) is ToolError
    assert isinstance(result.error.__cause__, ToolException)


def test_what_is_no_tool_is_refused_by_name():
    with pytest.warns(ToolRegWarning, match="LangChain: 1 of 2 tools left out"):
        tools = ToolRegistry().register_from_langchain(add, [add])
    assert [each.name for each in tools] == ["add"] and len(tools.refused) == 1


@tool
def sign(text: str, user: Annotated[str, InjectedToolArg], call: Annotated[str, InjectedToolCallId]) -> str:
    """Sign a text."""
    return f"{text}, {user}, {call}"


class Signing(BaseModel):
    """Sign a text."""

    text: str
    user: Annotated[str, InjectedToolArg]
    call: Annotated[str, InjectedToolCallId]


class Sign(BaseTool):
    name: str = "sign"
    description: str = "Sign a text."
    args_schema: type = Signing

    def _run(self, text: str, user: str, call: str) -> str:
        return f"{text}, {user}, {call}"


async def asign(text: str, user: str, call: str) -> str:
    """Sign a text."""
    return f"{text}, {user}, {call}"


@tool(args_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}, description="S")
def sign_by_schema(
    text: str, user: Annotated[str, InjectedToolArg], call: Annotated[str, InjectedToolCallId]) -> str:
    return f"{text}, {user}, {call}"


@pytest.mark.parametrize("signing", [
    sign, Sign(), StructuredTool.from_function(coroutine=asign, name="sign", args_schema=Signing), sign_by_schema])
def test_what_langchain_injects_comes_from_the_call_and_from_inject(signing):
    registry, user = ToolRegistry(), ContextVar("user")
    made, = registry.register_from_langchain(signing)
    assert list(made.parameters["properties"]) == ["text"]
    for name in ("user", "call"):
        assert f"- {name}: is not allowed here" in registry.invoke(made.name, {"text": "t", name: "root"}).content
    with pytest.raises(ToolDefinitionError, match=f'tool "{made.name}": user: has no value'):
        run_agent(scripted_model("hi"), "go", registry)
    user.set("u-7")
    for value in ("u-7", user):
        run, call = registry.copy(inject={"user": value}), ToolCall("c-1", made.name, {"text": "t"})
        assert run.invoke(call).content == asyncio.run(run.ainvoke(call)).content == "t, u-7, c-1"


@tool
def by_state(text: str, state: Annotated[dict, InjectedState]) -> str:
    """Need the state."""


@tool
def by_part(text: str, part: Annotated[list, InjectedState("messages")]) -> str:
    """Need a part of the state."""


@tool
def by_store(text: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Need the store."""


@tool
def by_runtime(text: str, runtime: ToolRuntime) -> str:
    """Need the runtime."""


@tool
def anywhere(text: str, state: Annotated[Optional[dict], InjectedState] = None) -> str:
    """Do without a state."""
    return f"{text} {state}"


def test_what_needs_a_graph_is_left_out_and_says_why():
    with pytest.warns(ToolRegWarning, match="LangChain: 4 of 5 tools left out"):
        made = ToolRegistry().register_from_langchain(by_state, by_part, by_store, by_runtime, anywhere)
    assert made.refused == {
        name: f"{parameter}: has a value only in a graph of LangGraph ({kind}; write a default, or a tool without it)"
        for name, parameter, kind in [
            ("by_state", "state", "InjectedState"), ("by_part", "part", "InjectedState"),
            ("by_store", "store", "InjectedStore"), ("by_runtime", "runtime", "ToolRuntime")]}
    assert made[0].run({"text": "t"}) == "t None"


@tool(return_direct=True)
def leave(text: str, call: Annotated[str, InjectedToolCallId]) -> Command:
    """Send the graph elsewhere."""
    return Command(goto="elsewhere")


@tool
def leave_twice(text: str) -> list:
    """Send the graph elsewhere, and say so."""
    return [Command(goto="elsewhere"), "left"]


def test_a_command_is_an_error_and_return_direct_is_named_as_not_kept():
    registry = ToolRegistry()
    with pytest.warns(ToolRegWarning) as told:
        registry.register_from_langchain(leave, leave_twice)
    assert [(str(each.message), each.filename) for each in told] == [
        ("LangChain: return_direct of leave is not kept: the model reads the result, and answers", __file__)]
    for name in ("leave", "leave_twice"):
        result = registry.invoke(name, {"text": "t"})
        assert result.is_error and result.content.startswith("Error: the tool answered with a Command to a graph")
