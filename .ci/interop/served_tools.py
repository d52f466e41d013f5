"""The tools that real clients, the conformance suite and hostile bytes get at: `served_tools.py [HOST:PORT]`."""
import signal
import subprocess
import sys
import time
from typing import TypedDict

import toolreg
from toolreg import Media, Tool, ToolError, ToolMetadata, ToolRegistry

PNG = b"\x89PNG\r\n\x1a\n"
PERSON = {                      # what keywords the suite wants to see again, as they came
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "phone": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["phone"]}]}],
    "if": {"properties": {"name": {"const": "x"}}, "required": ["name"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["address"]},
    "additionalProperties": False,
}
registry = ToolRegistry(think_augment=True)


class Total(TypedDict):
    total: int


@registry.register
def add(a: int, b: int = 1) -> Total:
    """Add two integers."""
    return {"total": a + b}


@registry.register
def fails(text: str) -> str:
    """Raise what is no ToolError."""
    raise ValueError(text)


@registry.register
def prints() -> str:
    """Print, also from a child process, where the protocol is spoken."""
    print("noise", flush=True)
    subprocess.run([sys.executable, "-I", "-S", "-c", "print('noise of a child')"], check=True)
    return "printed"


@registry.register
def naps(seconds: float) -> str:
    """Sleep."""
    time.sleep(seconds)
    return "slept"


@registry.register(metadata=ToolMetadata(timeout=0.3))
def hangs() -> str:
    """Never come back, which the registry ends."""
    time.sleep(1_000)
    return "never"


@registry.register
def big(size: int) -> str:
    """Give a long text."""
    return "x" * size


@registry.register
def numbers(count: int) -> list[int]:
    """Give a list, which only the newest revision knows as structured."""
    return list(range(count))


@registry.register
def picture() -> Media:
    """Give an image."""
    return Media(PNG, "image/png")


# from here on with the names that the conformance suite calls
registry.register(picture, name="test_image_content")
registry.register(Tool("json_schema_2020_12_tool", "Take a schema with many keywords.", PERSON, lambda **_: "ok"))


@registry.register
def test_simple_text() -> str:
    """Give a text."""
    return "This is a simple text response for testing."


@registry.register
def test_audio_content() -> Media:
    """Give a sound."""
    return Media(b"RIFF", "audio/wav")


@registry.register
def test_embedded_resource() -> Media:
    """Give a file."""
    return Media(b"This is an embedded resource content.", "text/plain")


@registry.register
def test_multiple_content_types():
    """Give a text, an image and a file."""
    return ["Multiple content types test:", Media(PNG, "image/png"), Media(b'{"test": "data"}', "application/json")]


@registry.register
def test_error_handling() -> str:
    """Fail with a text for the model."""
    raise ToolError("This tool intentionally returns an error for testing")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)        # it is ignored where a shell runs the tests with &
    toolreg.serve_mcp(registry, http=sys.argv[1] if sys.argv[1:] else None)
