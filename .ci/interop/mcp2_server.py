"""Servers on python mcp 2.x: `many stdio`, `many http PORT [json] [stateless]`, `paged stdio` (several pages)."""
import sys
from typing import Annotated, Literal

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, Elicit, Image, ListRoots, MCPServer, Resolve
from mcp.server.stdio import stdio_server
from pydantic import BaseModel, Field

many = MCPServer("many", version="1", instructions="Tools of every kind.")
PNG = b"\x89PNG\r\n\x1a\n"


class Point(BaseModel):
    x: int
    y: float = 0.5


class Node(BaseModel):
    value: int
    children: list["Node"] = []


class Age(BaseModel):
    age: int = Field(ge=1)


def ask_for_age(context: Context):
    return Elicit("How old are you?", Age)


def ask_for_roots(context: Context):
    return ListRoots()


@many.tool()
def add(a: int, b: Annotated[int, Field(ge=0)] = 1) -> int:
    """Add two integers."""
    return a + b


@many.tool()
def make_point(p: Point, kind: Literal["a", "b"] = "a") -> Point:
    """Give the point back."""
    return p


@many.tool()
def tree_sum(root: Node) -> dict[str, int]:
    """Add all values of a tree."""
    total, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        total += node.value
        waiting += node.children
    return {"sum": total}


@many.tool()
def fail(msg: str) -> str:
    """Raise an error."""
    raise ValueError(msg)


@many.tool()
def picture() -> Image:
    """Give an image."""
    return Image(data=PNG, format="png")


@many.tool()
def mixed() -> list:
    """Give a text, an image and an object."""
    return ["one", Image(data=PNG[:4], format="png"), {"k": "v"}]


@many.tool()
async def slow(seconds: float, context: Context) -> str:
    """Tell of progress, then answer."""
    for step in range(3):
        await context.report_progress(step, 3)
        await anyio.sleep(seconds / 3)
    return "done"


@many.tool()
async def elicits(who: str, age: Annotated[Age, Resolve(ask_for_age)]) -> str:
    """Ask the client's user."""
    return f"{who} is {age.age}"


@many.tool()
async def roots(found: Annotated[object, Resolve(ask_for_roots)]) -> str:
    """Ask for the client's folders."""
    return str(found)


@many.tool()
def unicode_tool(text: str, ünïcode: int = 3) -> str:
    """Turn a text round ☃."""
    return text[::-1] + "☃" * ünïcode


@many.tool()
def nothing() -> None:
    """Give nothing."""


@many.tool()
def big(n: int) -> str:
    """Give a long text."""
    return "x" * n


@many.tool()
def noisy() -> str:
    """Print where the protocol is spoken."""
    print("I am noise on stdout", flush=True)
    return "ok"


SHAPES = [
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {"type": ["integer", "null"]}}, "additionalProperties": False},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["q"],
     "properties": {"q": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}}},
]


async def list_page(context, params):
    start = int(params.cursor) if params and params.cursor else 0
    tools = [mcp_types.Tool(name=f"t{at:02d}", input_schema=SHAPES[at % 4]) for at in range(start, min(start + 10, 25))]
    return mcp_types.ListToolsResult(tools=tools, next_cursor=str(start + 10) if start < 20 else None)


async def call_with_all_kinds(context, params):
    resource = mcp_types.TextResourceContents(uri="mem://1", text="emb", mime_type="text/plain")
    return mcp_types.CallToolResult(content=[
        mcp_types.TextContent(type="text", text=f"{params.name} {params.arguments}"),
        mcp_types.ResourceLink(type="resource_link", uri="file:///x.txt", name="x"),
        mcp_types.EmbeddedResource(type="resource", resource=resource),
        mcp_types.AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    ])


async def serve_pages():
    paged = Server("paged", on_list_tools=list_page, on_call_tool=call_with_all_kinds)
    async with stdio_server() as streams:
        await paged.run(*streams, paged.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1] == "paged":
        anyio.run(serve_pages)
    elif sys.argv[2] == "stdio":
        many.run("stdio")
    else:
        many.run("streamable-http", host="127.0.0.1", port=int(sys.argv[3]), json_response="json" in sys.argv,
                 stateless_http="stateless" in sys.argv)
