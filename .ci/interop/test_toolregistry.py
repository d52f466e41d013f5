"""What people know from ToolRegistry: it means the same here, or fails with the word to write, and README has it."""
import inspect
import pathlib
import re

import pytest
import toolregistry

import toolreg

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text("utf-8")
METHODS = [name for name, _ in inspect.getmembers(toolregistry.ToolRegistry) if not name.startswith("_")]
OWNERS = [("ToolRegistry", "__init__"), ("ToolRegistry", "register"), ("ToolRegistry", "get_schemas"),
          ("ToolRegistry", "merge"), ("ToolRegistry", "execute_tool_calls"), ("ToolMetadata", "__init__"),
          ("Tool", "__init__")]
KEYWORDS = [(owner, method, word) for owner, method in OWNERS
            for word, parameter in inspect.signature(getattr(getattr(toolregistry, owner), method)).parameters.items()
            if word != "self" and parameter.kind is not parameter.VAR_KEYWORD]


def readme_names(word):
    return re.search(rf"\b{word}\b", README[README.index("## Coming from"):README.index("## Security")])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_here_or_tells_what_to_write_and_readme_names_it(name):
    if not hasattr(toolreg.ToolRegistry, name):
        with pytest.raises(AttributeError, match=f"^{name} is not here: "):
            getattr(toolreg.ToolRegistry(), name)
        assert readme_names(name)


@pytest.mark.parametrize("name", toolregistry.__all__)
def test_every_public_name_is_here_or_tells_what_to_write(name):
    if name not in toolreg.__all__:
        with pytest.raises(AttributeError, match=f"^{name} is not here: "):
            getattr(toolreg, name)


@pytest.mark.parametrize("owner, method, word", KEYWORDS)
def test_every_keyword_is_known_or_tells_what_to_write_and_readme_names_it(owner, method, word):
    ours = getattr(getattr(toolreg, owner), method)
    known = set(inspect.signature(ours).parameters)
    if "options" in known:                  # are passed on
        known |= set(inspect.signature(toolreg.Tool.from_function).parameters)
    if word not in known:
        with pytest.raises(TypeError, match=f" takes no {word}=: "):
            ours(None, **{word: None})
        assert readme_names(word)


class Calc:
    """Calculate."""

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def both():
    """Give a registry of each library, in which the function and the class are registered by the same words."""
    for library in (toolregistry, toolreg):
        registry = library.ToolRegistry()
        assert registry.register(add) is add
        registry.register_from_class(Calc, namespace="calc")
        yield library, registry


def test_the_words_that_both_have_do_the_same():
    seen = []
    for library, registry in both():
        registry.enable_think_augment()
        schema = registry.get_schemas("add")[0]["function"]
        registry.disable_think_augment()
        registry.disable("add", "not now")
        off = [one["function"]["name"] for one in registry.get_schemas()]
        registry.enable("add")
        call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        results = registry.execute_tool_calls([call])
        messages = registry.build_tool_call_messages([call], results)
        seen.append((
            list(schema["parameters"]["properties"]), schema["description"], off, sorted(registry.list_tools()),
            registry.get_tool("add").name, registry.get_callable("add")(a=1, b=2), "add" in registry,
            [message["role"] for message in messages], messages[-1]["content"], messages[-1]["tool_call_id"],
            library.Tool.from_function(add).name, library.ToolMetadata(think_augment=True).think_augment,
        ))
    assert seen[0] == seen[1]
    assert seen[0][0] == ["a", "b", "toolcall_reason"] and seen[0][2] == ["calc-add"] and seen[0][8] == "3"
