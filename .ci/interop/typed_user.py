"""What a user writes, with every public name; never run: `test_user_types.py` has mypy and pyright check it."""
import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_type, reveal_type

import toolreg as t
from toolreg import Injected, ToolCall, ToolMetadata, ToolRegistry, ToolResult

registry = ToolRegistry(think_augment="first", inject={"user": "u-7"}, max_result=20_000)


@registry.register
def plain(city: str, days: int = 1) -> str:
    return city * days


@registry.register(name="other", metadata=ToolMetadata(timeout=5, tags={"slow"}, strict=True, parallel=True))
async def later(count: int, user: Injected[str]) -> list[int]:
    return [count] * len(user)


@dataclass
class Verdict:
    score: int


def my_model(*, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": str(messages)}


def ask(call: ToolCall, reason: str | None) -> None:
    raise t.ToolError(reason or call.name)


reveal_type(plain)                          # (city: str, days: int = 1) -> str
reveal_type(later)                          # (count: int, user: str) -> Coroutine[Any, Any, list[int]]
reveal_type(registry.register(plain))
assert_type((plain("Oslo"), asyncio.run(later(3, "u-7"))), tuple[str, list[int]])
assert_type((registry["plain"], registry.get_tool("plain")), tuple[t.Tool, t.Tool | None])
plain(5)                                    # wrong: int is no str
run = registry.copy(before_call=ask)
tool: t.Tool = t.Tool.from_function(plain, name="made")
results: list[ToolResult] = run.execute_tool_calls([ToolCall("1", "plain", {"city": "Oslo"})])
messages: list[dict[str, Any]] = run.respond({"role": "assistant", "content": "hello"})
verdict: Verdict = t.extract(my_model, "How good is it?", Verdict, registry=run)
model: t.Model = t.scripted_model("hello")
asked: t.Messages = "hi"
new: dict[str, Any] = next(t.agent_loop(model, asked, run, tool_choice=["plain"]))
history = t.run_agent(t.HttpModel("http://127.0.0.1:1/v1", "m", stream=True), messages, t.search_registry(run, limit=3))
answer, media = t.Answer(["see:", t.Media(b"", "image/png")], 5), results[0].media[:1]
schemas = t.build_tool_schemas(run, api_format=t.API_FORMATS[0]) + run.get_schemas(tags=["slow"], strict=True)
choice, calls = t.build_tool_choice(["plain", "other"], api_format="gemini"), t.parse_tool_calls(new)
assert_type((history, calls, schemas), tuple[list[dict[str, Any]], list[ToolCall], list[dict[str, Any]]])
said = t.build_assistant_messages(calls) + t.build_tool_result_messages(results) + [t.collect_stream([])]
validator = t.Validator({"type": "object"}, dialect=t.DRAFT_07, formats=True)
fits: bool = validator.is_valid({}) and t.is_valid(1, {}) and not list(t.iter_errors(1, {}))
value: Any = t.coerce("1", {"type": "integer"}) or t.from_json(int, 5) or t.to_json({1: 2})
drafts: tuple[str, ...] = (t.DRAFT_2020_12, t.DRAFT_2019_09, t.TOOLCALL_REASON)
taken: dict[str, Any] = {**t.schema_of(list[int]), **t.parameters_of(plain), "text": t.parse_docstring("x")[0]}
methods: t.ToolList = t.class_tools(Verdict)
importers = [methods, t.langchain_tools(), t.openapi_tools({}, timeout=None), t.mcp_tools(["server"])]
registered: list[t.Tool] = registry.register_from_mcp(["server"], namespace="far")
errors = (t.SchemaError, t.ToolDefinitionError, t.ToolNotFoundError, t.ToolTimeoutError, t.HttpError, t.McpError)

try:
    t.validate({}, {})
    t.check_schema({})
except t.ValidationError as error:
    print(error.path, error.keyword)
except t.ToolArgumentError as error:
    print(error.errors)
except t.MaxTurnsExceeded as error:
    print(t.trace(error.messages))
except (t.ToolRegError, t.ToolRegWarning, *errors):
    raise


async def go_on() -> str:
    async for message in t.aagent_loop(my_model, history, run):
        print(message["role"], await t.acollect_stream(chunks()))
    result: ToolResult = await run.ainvoke("other", {"count": 3})
    return result.content if await t.arun_agent(my_model, "hi", run) else ""


async def chunks() -> AsyncIterator[Any]:
    yield {}

with t.McpClient("http://127.0.0.1:1/mcp", timeout=5) as client:
    print(asyncio.run(go_on()), client, t.main([]), t.__version__)
    t.serve_mcp(registry, http="127.0.0.1:1")
