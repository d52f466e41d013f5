#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Give a language model tools: plain Python functions, in one file.

A tool call goes in, exactly one tool result comes out. Copy this file into your project; it needs
nothing but Python's standard library (3.10 or newer). `python toolreg.py` shows the whole flow.

    from toolreg import ToolCall, ToolRegistry, run_agent, scripted_model

    registry = ToolRegistry()

    @registry.register
    def get_weather(city: str, days: int = 1) -> str:
        "Get the weather forecast for a city."
        return f"{city}: sunny for {days} day(s)"

    registry.get_schemas()                                          # what the model is shown
    model = scripted_model(ToolCall("1", "get_weather", {"city": "Oslo"}), "It will be sunny.")
    run_agent(model, "How is the weather in Oslo?", registry)       # the whole conversation, as messages

The file is a lesson, to be read from top to bottom: a section uses only sections above it, and its
heading says which. For the message flow alone read 7 to 11.

     1  Words: errors, and JSON text             7  Messages: what travels
     2  JSON Schema: does this value fit?        8  The wire: how chat completions spell it
     3  JSON out: a Python value as JSON         9  Tools: a function a model may call
     4  Types: annotation -> (schema, reader)   10  Registry: names to tools, calls to results
     5  Reasons: toolcall_reason                11  The loop: the message flow
     6  Functions: what a function takes

Below the core stand chapters. A copy may have some of them alone, and refuses what another would have read:
resume, async, extract, elsewhere, media, schema, formats, texts, notes, types, contracts, roots, strict,
spellings, responses, anthropic, gemini, ollama, streams, importers, classes, langchain, network,
dialect, openapi, find, link, mcp, desk, serve, http, switch, trace, cli.
"""
from __future__ import annotations

import _thread  # for thread ids, locals and locks: threading itself is too heavy to import
import contextlib
import contextvars
import enum
import functools
import inspect
import io
import itertools
import json
import math
import os
import re
import sys
import time
import types
import typing
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar

__version__ = "1.0.0"
__all__ = [
    "ToolRegError", "SchemaError", "ValidationError", "ToolDefinitionError", "ToolNotFoundError",
    "ToolArgumentError", "ToolTimeoutError", "ToolError", "MaxTurnsExceeded", "ToolRegWarning",
    "Validator", "validate", "is_valid", "iter_errors", "check_schema", "coerce", "DRAFT_2020_12",
    "to_json", "schema_of", "from_json", "Injected", "TOOLCALL_REASON", "parse_docstring", "parameters_of",
    "ToolCall", "ToolResult",
    "API_FORMATS", "build_tool_schemas", "build_tool_choice", "parse_tool_calls",
    "build_assistant_messages", "build_tool_result_messages",
    "Tool", "ToolMetadata", "ToolRegistry", "Messages", "Model", "agent_loop", "run_agent", "scripted_model",
]


# ---------------------------------------------------------------------------
# 1. Words: which errors are there, and how is JSON text read and written?
#    uses nothing
# ---------------------------------------------------------------------------
# capitals without an underscore are policy: a copy of this file may change them
MAX_DEPTH = 128             # levels of arrays and objects in one JSON text, value or schema
SHOWN_CHARACTERS = 80       # of a value, in a message
SHOWN_NAMES = 20            # of a list of names, in a message


# what is in which chapter: a copy that lacks it refuses these words with its name, and never reads them wrongly
_CHAPTERS: dict[str, str] = {
    "resume": "resume",
    "async": "await ainvoke aexecute_tool_calls arespond arun aagent_loop arun_agent", "elsewhere": "timeout executor",
    "extract": "extract", "media": "Media Answer", "strict": "strict strict=True", "roots": "branches-at-the-root",
    "spellings": "other-calls sdk-object translation",
    "responses": "openai-responses function_call", "anthropic": "anthropic tool_use",
    "gemini": "gemini functionCall FunctionCall", "ollama": "ollama",
    "streams": "collect_stream acollect_stream", "importers": "ToolList", "classes": "class_tools register_from_class",
    "langchain": "langchain_tools register_from_langchain langchain message-of-langchain tool_call invalid_tool_call",
    "dialect": "", "openapi": "openapi_tools register_from_openapi", "link": "McpError",
    "mcp": "McpClient mcp_tools register_from_mcp", "desk": "mcp", "serve": "serve_mcp",
    "network": "HttpError", "http": "HttpModel", "find": "search_registry", "switch": "",
    "cli": "main", "trace": "trace", "contracts": "parameters=", "notes": "note-of-elsewhere", "formats": "formats",
    "schema": "DRAFT_2019_09 DRAFT_07 resources $schema $id $anchor $dynamicRef $dynamicAnchor $recursiveRef "
              "$recursiveAnchor if then else contains minContains maxContains dependentRequired dependentSchemas "
              "dependencies additionalItems unevaluatedItems unevaluatedProperties \\p \\P \\c \\k \\u (?",
    "types": "class-of-elsewhere type-variable type-alias key-of-a-mapping name-of-a-caller",
    "texts": "builtins.bytes builtins.bytearray datetime.datetime datetime.date datetime.time datetime.timedelta "
             "uuid.UUID decimal.Decimal fractions.Fraction ipaddress.IPv4Address ipaddress.IPv6Address pathlib.Path "
             "pathlib.PurePath pathlib.PosixPath pathlib.PurePosixPath pathlib.WindowsPath pathlib.PureWindowsPath",
}
_CHAPTER_OF = {known: chapter for chapter, listed in _CHAPTERS.items() for known in listed.split()}


def _needs_chapter(word: Any, subject: str = "") -> str | None:
    """Say which chapter has a word that nothing in this copy knows (of the `subject`); None for one of no chapter."""
    chapter = _CHAPTER_OF.get(word) if isinstance(word, str) else None
    return chapter and f'{subject or _shown(word)} needs the chapter "{chapter}" (cut from this copy)'


_CALLED_HERE: dict[str, str] = {}       # a word of another library -> what to write; chapters add rows


def _missing(name: str, subject: str) -> AttributeError:
    return AttributeError(_needs_chapter(name) or _CALLED_HERE.get(name) or f"{subject} has no {_shown(name)}")


def __getattr__(name: str) -> Any:              # of the module, where it has no such name
    raise _missing(name, f"module {__name__!r}")


class ToolRegError(Exception):
    """The root of all errors of this module."""


class SchemaError(ToolRegError, ValueError):
    """Not a valid JSON Schema, or one that uses what is not supported."""


class ValidationError(ToolRegError, ValueError):
    """Where and why a value does not fit its schema.

    `path` is the place to mend as keys and indices (a missing or unknown name is part of it),
    `schema_path` leads to the `keyword` in the schema, `message` has no place in it; `str` has both.
    """

    def __init__(self, message: str, path: Iterable[str | int] = (), schema_path: Iterable[str | int] = (),
                 keyword: str = "") -> None:
        super().__init__(message)
        self.message, self.keyword = message, keyword
        self.path, self.schema_path = tuple(path), tuple(schema_path)

    def __str__(self) -> str:
        return f"{_place(self.path)}: {self.message}"


class ToolDefinitionError(ToolRegError, TypeError):
    """What is wrong with the definition of a tool; `suggestion` is a legal name where the name was the fault."""

    def __init__(self, message: str, suggestion: str | None = None) -> None:
        super().__init__(message)
        self.suggestion = suggestion


class ToolNotFoundError(ToolRegError, KeyError):
    """No tool has this name; says which there are."""

    __str__ = Exception.__str__             # on purpose: KeyError would show the repr


class ToolArgumentError(ToolRegError, ValueError):
    """All that is wrong with the arguments of a call; `errors` holds the ValidationErrors."""

    def __init__(self, message: str, errors: Iterable[ValidationError] = ()) -> None:
        super().__init__(message)
        self.errors = list(errors)


class ToolTimeoutError(ToolRegError, TimeoutError):
    """A tool took longer than its timeout."""


class ToolError(ToolRegError):
    """Raise this in a tool: its text goes to the model as it is."""


class MaxTurnsExceeded(ToolRegError, RuntimeError):
    """The model still called tools in the last turn; `messages` is the whole history."""

    def __init__(self, message: str, messages: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.messages = list(messages)


class ToolRegWarning(UserWarning):
    """Names what was left out, or cannot be kept, though the program goes on."""


def _check_copy(thing: Any) -> None:
    """Refuse what another copy of this file made, which is another library: its classes are not these."""
    kind = type(thing)
    if kind.__module__ not in ("builtins", __name__) and hasattr(sys.modules.get(kind.__module__), "_check_copy"):
        raise ToolDefinitionError(f"a {kind.__name__} of {kind.__module__} is of another copy of this file: make it "
                                  f"with {__name__}, or give it to that copy's registry")


def _place(path: Iterable[str | int]) -> str:
    """Spell a path as a reader writes it: `items[2].price`; the root is `(root)`."""
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" if str(key).isidentifier() else f"[{_shown(str(key))}]"
             for key in path]
    return "".join(parts).lstrip(".") or "(root)"


def _shown(value: Any) -> str:
    """Spell a value for a message: as JSON where it has a JSON form, cut to SHOWN_CHARACTERS."""
    try:
        text = _write_json(value)
    except (TypeError, ValueError, RecursionError):
        text = f"a value of the type {type(value).__name__}"
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"


def _listed(names: Iterable[Any]) -> str:
    """Spell a list of names for a message, cut to SHOWN_NAMES."""
    texts = [str(name) for name in names]
    more = len(texts) - SHOWN_NAMES
    return ", ".join(texts[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _finite(text: str) -> float:
    """Read a number, or raise a ValueError where it becomes infinite, or is none of JSON."""
    value = float(text)
    if value - value:                       # nan for an infinite one, and quicker than asking
        raise ValueError(f"{text[:20]} is " + ("not JSON" if text[-1].isalpha() else "too large for a number"))
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make the dict of an object; a name that is there twice is a ValueError: the last would win unseen."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{_shown(twice)} is there twice in one object")
    return value


# RFC 8259 with two leniencies: raw control characters in strings (models do write them), and a byte order mark
_DECODER, _DECODER_ONCE = (
    json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=_finite, object_pairs_hook=hook)
    for hook in (None, _once_each))


def _read_json(text: str, once: bool = False) -> Any:
    """Read one JSON text, or raise a ValueError that says what is wrong and where; `once`: each name of an object."""
    decoder: Any = _DECODER_ONCE if once else _DECODER
    try:
        value, end = decoder.scan_once(text, 0)     # reads most texts, and quicker than decode
    except (ValueError, StopIteration, RecursionError):
        value, end = None, -1               # white space around it, or a fault to be told below
    try:
        value = value if end == len(text) else decoder.decode(text.removeprefix("\ufeff"))
        if len(text) > MAX_DEPTH and text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
            raise RecursionError
        return value
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc) or error.msg.startswith("Unterminated string")
        what = "the text ends too early" if cut else error.msg[:1].lower() + error.msg[1:]
        raise ValueError(f"{what} (line {error.lineno}, column {error.colno})") from None
    except ValueError as error:             # ours, or Python's limit for the digits of an integer
        raise ValueError(re.sub("^Exceeds.*", "an integer has too many digits", str(error))) from None


def _too_deep(value: Any) -> bool:
    """Tell whether a value has more than MAX_DEPTH levels, as one that holds itself has."""
    level = {0: value} if isinstance(value, (dict, list)) else {}
    for _ in range(MAX_DEPTH):
        level = {id(part): part for whole in level.values()
                 for part in (whole.values() if isinstance(whole, dict) else whole) if isinstance(part, (dict, list))}
        if not level:
            return False
    return True


def _printable(text: str) -> str:
    r"""Spell lone surrogates as `\udXXX`, since UTF-8 cannot carry them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json_writer() -> Callable[[Any], str]:
    """Make what writes JSON text; json's C encoder is made once: to make it costs more than a short text does."""
    plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
    try:
        encode = json.encoder.c_make_encoder(       # type: ignore[attr-defined]
            None, plain.default, json.encoder.encode_basestring, None, ": ", ", ", False, False, False)
    except (AttributeError, TypeError):             # another Python, with other internals
        return lambda value: _printable(plain.encode(value))
    return lambda value: _printable("".join(encode(value, 0)))


# JSON text of a JSON value, UTF-8 as it is; TypeError, ValueError or RecursionError where it has no form
_write_json = _json_writer()


def _error_text(error: BaseException) -> str:
    """Spell an exception with its type."""
    return f"{type(error).__name__}: {_words_of(error)}".removesuffix(": ")


def _words_of(error: Any) -> str:
    """Give the text of an exception, with what a group holds, as far as these do not raise themselves."""
    text = ""
    with contextlib.suppress(Exception):    # whatever is asked of an exception of a stranger may raise
        text = str(error).strip()
        if hasattr(error, "subgroup"):
            text += f": {_listed([_error_text(each) for each in error.exceptions])}"
    return text


# the types of the JSON values that hold no others, and what JSON Schema calls them
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _copied(value: Any, levels: int = 2 * MAX_DEPTH) -> Any:
    """Copy a JSON value, so that nobody shares it; a ValueError where it is nested too deeply or in itself."""
    if not levels:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALARS else _copied(item, levels - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _SCALARS else _copied(item, levels - 1) for item in value]
    return value


# ---------------------------------------------------------------------------
# 2. JSON Schema: does this value fit?
#    uses 1
# ---------------------------------------------------------------------------
# A schema is compiled once, to rules: one per keyword. What a rule demands is a table: for each type of JSON value
# the check that it must pass, or None; a type without a row does not fit. The tables of a schema are joined before any
# value comes, so that judging one is a look-up by its type and a call. Errors and coercion walk the rules instead.
#     {"type": "object", "properties": {"n": {"minimum": 1}}, "required": ["n"]} becomes
#     tables    type -> the check to pass                          of "type": {dict: None}
#     rules     one per keyword: its table judges, its parts explain and coerce
#     a node    the compiled schema: its rules, and their tables joined to one check, `fits`
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
_THOROUGH = 3_000           # times that alternatives of a union are weighed for values that fit none, even if mended
MAX_PATTERN = 2_000         # characters in a regular expression; a short one can be slow too, nothing prevents that

_Check = Callable[[Any], bool]
_Table = dict[type, "_Check | None"]
_ANYTHING: _Table = dict.fromkeys((dict, list, str, int, float, bool, type(None)))
_TYPES: dict[str, tuple[str, _Table]] = {
    "object": ("an object", {dict: None}), "array": ("an array", {list: None}), "string": ("a string", {str: None}),
    "integer": ("an integer", {int: None, float: float.is_integer}),            # 5.0 is one, true is not
    "number": ("a number", {float: math.isfinite, int: None}),
    "boolean": ("a boolean", {bool: None}), "null": ("null", {type(None): None}),
}
_PLAIN: dict[type, Callable[[Any], Any]] = {dict: dict, list: list, str: str.__str__, int: int, float: float}


def _only(kinds: Iterable[type], check: _Check) -> _Table:
    """Give the table of a check that is for some types; all others pass."""
    return {**_ANYTHING, **dict.fromkeys(kinds, check)}


def _both(first: _Check, second: _Check) -> _Check:
    return lambda value: first(value) and second(value)


def _merged(tables: Sequence[_Table], one_is_enough: bool = False) -> _Table:
    """Join tables so that all of them have to be passed, or one of them."""
    def check_of(checks: list[_Check]) -> _Check:
        def check(value: Any) -> bool:
            for each in checks:
                if each(value):
                    return True
            return False
        return check if one_is_enough and checks[1:] else functools.reduce(_both, checks)

    if len(tables) == 1:
        return tables[0]
    joined: _Table = {}
    for kind in _ANYTHING:
        rows = [table[kind] for table in tables if kind in table]
        if rows if one_is_enough else len(rows) == len(tables):
            checks = [] if one_is_enough and None in rows else [row for row in rows if row]
            joined[kind] = check_of(checks) if checks else None
    return joined


def _check_of(table: _Table) -> _Check:
    """Make the check of a table, for any value; what is no JSON value fits only where everything does."""
    def check(value: Any) -> bool:
        test = table.get(type(value), as_plain)
        return test is None or test(value)

    def as_plain(value: Any) -> bool:
        plain = _plain(value)
        return type(plain) in table and check(plain)
    return (lambda value: True) if table == _ANYTHING else check


def _plain(value: Any) -> Any:
    """Give a value of a subclass as the JSON type that it is; what is no JSON value stays."""
    if type(value) in _ANYTHING:
        return value
    return next((make(value) for kind, make in _PLAIN.items() if isinstance(value, kind)), value)


def _canonical(value: Any) -> Any:
    """Give a hashable stand-in, equal for values that are equal as JSON: 1 is 1.0, but not true."""
    if isinstance(value, dict):
        return frozenset((name, _canonical(part)) for name, part in value.items())
    if isinstance(value, list):
        return tuple(map(_canonical, value))
    if isinstance(value, bool):
        return bool, value
    return value if value is None or isinstance(value, (str, int, float)) else object()


# --- schemas in schemas: under these keywords, and never in a property's name, an enum or a default
_MAPS = {"properties", "patternProperties", "$defs", "definitions"}
_HOLDERS = {"items", "prefixItems", "additionalProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not"}
_IN_PLACE = {"allOf", "anyOf", "oneOf", "not"}      # their schemas judge the very value, not a part of it


def _change_schemas(keyword: str, argument: Any, change: Callable[..., Any]) -> Any:
    """Give a keyword's argument with each schema in it changed: by change(schema, steps in the argument)."""
    if keyword in _MAPS and isinstance(argument, dict):
        return {name: change(sub, name) for name, sub in argument.items()}
    if keyword in _HOLDERS and isinstance(argument, list):
        return [change(sub, index) for index, sub in enumerate(argument)]
    return change(argument) if keyword in _HOLDERS else argument


def _subschemas(schema: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for keyword, argument in schema.items():
        _change_schemas(keyword, argument, lambda sub, *steps: found.append(sub))
    return found


def _map_schema(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Rebuild a schema bottom-up, changing it and each schema in it; nothing is shared with the given one."""
    def rebuilt(sub: Any, *steps: str | int) -> Any:
        if isinstance(sub, dict):
            sub = {keyword: _change_schemas(keyword, argument, rebuilt) for keyword, argument in sub.items()}
        return change(sub) if isinstance(sub, (dict, bool)) else sub
    return rebuilt(_copied(schema))


def _pointer(document: Any, reference: str) -> Any:
    """Give what `#/a/b` leads to, or raise a LookupError."""
    from urllib.parse import unquote
    for token in unquote(reference).split("/")[1:]:
        key: Any = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list) and re.fullmatch("0|[1-9][0-9]{0,9}", token):
            key = int(token)
        elif not isinstance(document, dict):
            raise LookupError(token)
        document = document[key]
    return document


# --- patterns: ECMA-262's regular expressions in Python's words
_SPACE = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_NO_SPACE = (r"\0-\x08\x0e-\x1f!-\x9f\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
             r"\u3001-\ufefe\uff00-\U0010ffff")
_OUTSIDE = {"$": r"\Z", ".": r"[^\n\r\u2028\u2029]", r"\s": f"[{_SPACE}]", r"\S": f"[{_NO_SPACE}]", r"\B": r"(?!\b)",
            "[]": "(?!)", "[^]": r"[\s\S]"}
_INSIDE = {r"\s": _SPACE, r"\S": _NO_SPACE, "[": r"\[", "&": r"\&", "|": r"\|", "~": r"\~"}
_ESCAPE = (r"\\(?:[pP]\{[^}]*\}|u\{[0-9A-Fa-f]+\}|u[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}|"
           r"c[A-Za-z]|k<[^>]*>|[1-9][0-9]*|[\s\S]?)")
_TOKENS = {True: rf"{_ESCAPE}|[\[&|~]",     # in a class of characters, and outside of all
           False: rf"{_ESCAPE}|\(\?<(?![=!])|\[(?:{_ESCAPE}|[^\]\\])*\]|[$.]"}
# by the second character of a token: what is spelled otherwise in Python -> (what follows, whether in a class)
_ESCAPES: dict[str, Callable[[str, bool], str]] = {}


def _regex(source: str) -> _Check:
    """Make the check of a pattern, or raise a ValueError that says what is not supported."""
    try:
        if len(source) > MAX_PATTERN or len(spelled := _translated(source)) > 100 * MAX_PATTERN:
            raise ValueError("it is too long")
        search = re.compile(f"(?a){spelled}").search
    except (ValueError, OverflowError, RecursionError, Warning, re.error) as error:
        raise ValueError(f"{_shown(source)} is not a supported pattern: {error}") from None
    return lambda text: search(text) is not None


def _translated(source: str, in_class: bool = False) -> str:
    """Spell a pattern, or what stands in a class of characters, in Python's words; most of it needs none."""
    def spelled(match: re.Match[str]) -> str:
        token, kind, rest = match[0], match[0][1:2], match[0][2:]
        same = (_INSIDE if in_class else _OUTSIDE).get(token)
        if same or not kind:
            return same or token
        if token[0] == "[":
            return f"[{_translated(token[1:-1], in_class=True)}]"
        if kind in "123456789":             # one to a group that took no part fits the empty text
            return token if in_class else f"(?({token[1:]}){token})"
        if rest and kind not in _ESCAPES:
            raise ValueError(_needs_chapter(token[:2], token))
        if rest:
            return _ESCAPES[kind](rest.strip("{}<>"), in_class)
        if kind.isascii() and kind.isalpha() and kind not in "dDwWbBnrtfvxu":
            raise ValueError(f"{token} is no escape of ECMA-262")
        return token
    return re.sub(_TOKENS[in_class], spelled, source)


# --- rules
# A part is: its key in the value, or _ITSELF; the part; the compiled schema that it has to fit, or words that say why
# nothing would; where that schema is below the keyword
_Part = tuple[Any, Any, "_Node | str", tuple["str | int", ...]]
_ITSELF = object()


class _Rule:
    """Be what one keyword demands: the table decides, and the parts (of values of one kind, or all) know why."""

    keyword, last = "", False               # last: it looks at what the others judged

    def __init__(self, kind: type | None, parts: Callable[[Any], Iterable[_Part]], table: _Table | None = None,
                 optional: Collection[str] = ()) -> None:
        self.parts = parts if kind is None else lambda value: parts(value) if type(value) is kind else ()
        self.table = table if table is not None else _only([kind] if kind else _ANYTHING, lambda value: all(
            not isinstance(node, str) and node.fits(part) for _, part, node, _ in parts(value)))
        self.optional = optional

    def faults(self, value: Any) -> Iterator[ValidationError]:
        for key, part, node, steps in self.parts(value):
            path = () if key is _ITSELF else (key if isinstance(key, int) else str(key),)
            for fault in [ValidationError(node)] if isinstance(node, str) else node.faults(part):
                yield ValidationError(fault.message, path + fault.path, (self.keyword, *steps, *fault.schema_path),
                                      fault.keyword or self.keyword)

    def nearest(self, value: Any) -> Any:
        """Coerce the parts of a value; null for what may be left out, but not be null, is left out."""
        whole = value
        for key, part, node, _ in self.parts(value):
            if isinstance(node, str):
                continue
            near = node.nearest(whole if key is _ITSELF else part)
            drop = part is None and key in self.optional and not node.fits(None)
            if key is _ITSELF:
                whole = near
            elif near is not part or drop:
                whole = whole.copy() if whole is value else whole
                whole[key] = near
                if drop:
                    del whole[key]
        return whole


# --- keywords: a function makes the rule for an argument in a schema (the node); schemas in it are compiled already
def _says(table: _Table, words: str, *arguments: Any) -> _Rule:
    """Make a rule for the value alone; its error is the value, the words, the arguments."""
    return _Rule(None, lambda value: [] if _check_of(table)(value) else [
        (_ITSELF, value, f"{_shown(value)} {words} {_listed(map(_shown, arguments))}".rstrip(), ())], table)


@functools.cache
def _of_type(*names: str) -> _Rule:
    words = " or ".join([_TYPES[name][0] for name in names])
    return _says(_merged([_TYPES[name][1] for name in names], one_is_enough=True), f"is not {words}")


def _enum(values: list[Any], node: _Node, words: str = "is not one of") -> _Rule:
    allowed, kinds = {*map(_canonical, values)}, {type(_plain(value)) for value in values}
    if kinds & {int, float}:
        kinds |= {int, float}               # 1 is 1.0
    node.compiler.guarded |= bool(kinds & {dict, list})
    return _says({kind: allowed.__contains__ if kind is str else lambda value: _canonical(value) in allowed
                  for kind in kinds}, words, *values)


def _is_multiple_of(step: float) -> _Check:
    from fractions import Fraction

    def check(value: float) -> bool:
        if value - value or type(value) is type(step) is int:       # infinite, or easy
            return value % step == 0
        # of the numbers as they are written: 0.3 is three times 0.1
        number, unit = (Fraction(each if isinstance(each, int) else float.__repr__(each)) for each in (value, step))
        return number % unit == 0
    return check


def _unique_items(wanted: bool, node: _Node) -> _Rule | None:
    node.compiler.guarded |= wanted
    table = _only([list], lambda value: len(set(map(_canonical, value))) == len(value))
    return _says(table, "has equal items") if wanted else None


_FORMATS: dict[str, _Check] = {}


def _format(name: str, node: _Node) -> _Rule | None:
    check = _FORMATS.get(name) if node.compiler.formats else None
    return _says(_only([str], check), "does not have the format", name) if check else None


def _required(names: list[str], node: _Node) -> _Rule:
    others = {*names}.difference(node.arguments.get("properties", ()))      # the rest is its business
    return _Rule(dict, lambda value: [(name, None, "is missing", ()) for name in names if name not in value],
                 _only([dict], lambda value: value.keys() >= others) if others else _ANYTHING)


# This check and that of `_each` are the inner loops of it all: a part of the type that is expected needs no `fits`
def _properties(subs: dict[str, _Node], node: _Node) -> _Rule:
    required, more = subs.keys() & node.arguments.get("required", ()), node.arguments.get("additionalProperties")
    node.closed = closed = more is not None and more.schema is False and not node.arguments.get("patternProperties")
    there, maybe = ([(name, *sub.row) for name, sub in subs.items() if (name in required) is needed]
                    for needed in (True, False))
    least = len(there)

    def check(value: dict[str, Any]) -> bool:
        try:
            for name, kind, test, fits in there:
                part = value[name]
                if type(part) is not kind:
                    if not fits(part):
                        return False
                elif test is not None and not test(part):
                    return False
        except KeyError:
            return False
        known = least
        if len(value) > known:
            for name, kind, test, fits in maybe:
                if name in value:
                    known += 1
                    part = value[name]
                    if type(part) is not kind:
                        if not fits(part):
                            return False
                    elif test is not None and not test(part):
                        return False
        return not closed or known == len(value)
    return _Rule(dict, lambda value: [(name, value[name], sub, (name,)) for name, sub in subs.items() if name in value],
                 _only([dict], check), subs.keys() - required)


def _each(sub: _Node) -> Callable[[Iterable[Any]], bool]:
    kind, test, fits = sub.row

    def check(parts: Iterable[Any]) -> bool:
        for part in parts:
            if type(part) is not kind:
                if not fits(part):
                    return False
            elif test is not None and not test(part):
                return False
        return True
    return check


def _pattern_properties(subs: dict[str, _Node], node: _Node) -> _Rule:
    rows = [(source, _regex(source), sub) for source, sub in subs.items()]
    return _Rule(dict, lambda value: [(name, part, sub, (source,)) for name, part in value.items()
                                      for source, matches, sub in rows if isinstance(name, str) and matches(name)])


def _additional_properties(sub: _Node, node: _Node) -> _Rule:
    known, table, each = node.arguments.get("properties", {}), None, _each(sub)
    patterns = [_regex(source) for source in node.arguments.get("patternProperties", ())]
    if sub.table == _ANYTHING or node.closed:
        table = _ANYTHING                   # nothing to check, or checked with the properties
    elif not patterns and not known:
        table = _only([dict], lambda value: each(value.values()))
    words = f"is not allowed here (there are: {_listed(known)})" if known else "is not allowed here"
    return _Rule(dict, lambda value: [
        (name, part, words if sub.schema is False else sub, ()) for name, part in value.items()
        if name not in known and not any(isinstance(name, str) and matches(name) for matches in patterns)], table)


def _pairs(subs: list[_Node], node: _Node) -> _Rule:
    return _Rule(list, lambda value: [(index, *pair, (index,)) for index, pair in enumerate(zip(value, subs))])


def _items(sub: _Node, node: _Node, before: str = "prefixItems") -> _Rule:
    first, each = len(node.arguments.get(before, ())), _each(sub)
    return _Rule(list, lambda value: [(index, value[index], sub, ()) for index in range(first, len(value))],
                 _ANYTHING if sub.table == _ANYTHING else
                 _only([list], (lambda value: each(value[first:])) if first else each))


def _choice(subs: list[_Node], node: _Node, at_most: float = math.inf) -> _Rule:
    tables = [sub.usable_table() for sub in subs]
    table: _Table = _merged(tables, one_is_enough=True)
    checks = [*map(_check_of, tables)]
    if at_most == 1:
        def fits_one(value: Any) -> bool:
            return sum(check(value) for check in checks) == 1
        table = dict.fromkeys(table, fits_one)

    def parts(value: Any) -> list[_Part]:
        fitting: list[_Part] = [(_ITSELF, value, sub, (index,)) for index, sub in enumerate(subs) if sub.judge(value)]
        if len(fitting) > at_most:
            return [(_ITSELF, value, f"{_shown(value)} fits {len(fitting)} alternatives, not exactly one", ())]
        return fitting or [_meant(subs, value, node)]
    return _Rule(None, parts, table)


def _meant(subs: list[_Node], value: Any, node: _Node) -> _Part:
    """Give the alternative that a value is nearest to, or words where there is none, or where too many had none."""
    memo, key = node.compiler.memo, (_meant, node)
    if memo.get(key, 0) > _THOROUGH:
        return _ITSELF, value, f"{_shown(value)} fits no alternative", ()
    faults = [sub.faults(sub.nearest(value)) for sub in subs]
    memo[key] = memo.get(key, 0) + (len(subs) if all(faults) else 0)
    others = [[fault for fault in each if fault.keyword == "type" and not fault.path] for each in faults]
    if all(others):
        wanted = dict.fromkeys(each[0].message.rpartition(" is not ")[2] for each in others)
        return _ITSELF, value, f"{_shown(value)} is not {' or '.join(wanted)}", ()
    told = [{fault.path: fault for fault in each if fault.keyword in ("const", "enum") and len(fault.path) == 1}
            for each, other in zip(faults, others) if not other]
    for path in told[0] if told[1:] and type(value) is dict else ():        # a tag that is none of theirs
        if all(path in each for each in told):
            tags = dict.fromkeys(each[path].message.rpartition(" is not ")[2].removeprefix("one of ") for each in told)
            return path[0], value[path[0]], f"{_shown(value[path[0]])} is not one of {', '.join(tags)}", ()
    # another type is farthest away, then another constant (often a tag), then the number of faults
    best = min(range(len(subs)), key=lambda index: (bool(others[index]), sum(
        fault.keyword in ("const", "enum") for fault in faults[index]), len(faults[index])))
    return _ITSELF, value, subs[best], (best,)


def _reference(reference: str, node: _Node) -> _Rule:
    target = node.compiler.target(reference, node)
    node.here.append(target)
    return _Rule(None, lambda value: [(_ITSELF, value, target, ())], target.usable_table())


def _limit(kinds: list[type], check: Callable[[Any], _Check], words: str) -> Callable[[Any, _Node], _Rule]:
    return lambda argument, node: _says(_only(kinds, check(argument)), words, argument)


def _are_names(argument: Any) -> bool:
    strings = isinstance(argument, list) and all(isinstance(name, str) for name in argument)
    return strings and len({*argument}) == len(argument)


# --- the table of keywords; first what an argument has to be, in the words of the error
_SCHEMA, _SCHEMAS, _SCHEMA_MAP, _TEXT = "a schema", "a non-empty array of schemas", "an object of schemas", "a string"
_COUNT, _NUMBER, _DIFFERENT = "a non-negative integer", "a number", "an array of different strings"
_FORMS = {words: _check_of(table) for words, table in _TYPES.values()}
_FORMS.update({
    _SCHEMA: lambda argument: isinstance(argument, (dict, bool)), _SCHEMA_MAP: _FORMS["an object"],
    _SCHEMAS: lambda argument: isinstance(argument, list) and len(argument) > 0, "any value": lambda argument: True,
    _COUNT: lambda argument: _FORMS["an integer"](argument) and argument >= 0,
    "a number greater than 0": lambda argument: _FORMS[_NUMBER](argument) and argument > 0,
    _DIFFERENT: _are_names,
    "a type or an array of types": lambda argument: isinstance(argument, str) and argument in _TYPES or (
        _are_names(argument) and len(argument) > 0 and _TYPES.keys() >= {*argument}),
})

# keyword: (what its argument has to be, how the rule is made, or None for none); errors come in this order
_Row = tuple[str, "Callable[[Any, _Node], _Rule | None] | None"]
_KEYWORDS: dict[str, _Row] = {
    "$schema": (_TEXT, None), "$defs": (_SCHEMA_MAP, None), "definitions": (_SCHEMA_MAP, None),
    "$ref": (_TEXT, _reference),
    "type": ("a type or an array of types",
             lambda names, _: _of_type(names) if isinstance(names, str) else _of_type(*names)),
    "enum": ("an array", _enum),
    "const": ("any value", lambda value, node: _enum([value], node, "is not")),
    "minimum": (_NUMBER, _limit([int, float], lambda n: lambda value: value >= n, "is less than")),
    "maximum": (_NUMBER, _limit([int, float], lambda n: lambda value: value <= n, "is greater than")),
    "exclusiveMinimum": (_NUMBER, _limit([int, float], lambda n: lambda value: value > n, "is not greater than")),
    "exclusiveMaximum": (_NUMBER, _limit([int, float], lambda n: lambda value: value < n, "is not less than")),
    "multipleOf": ("a number greater than 0", _limit([int, float], _is_multiple_of, "is not a multiple of")),
    "minLength": (_COUNT, _limit([str], lambda n: lambda value: len(value) >= n, "has fewer characters than")),
    "maxLength": (_COUNT, _limit([str], lambda n: lambda value: len(value) <= n, "has more characters than")),
    "pattern": (_TEXT, _limit([str], _regex, "does not match the pattern")),
    "format": (_TEXT, _format),
    "minItems": (_COUNT, _limit([list], lambda n: lambda value: len(value) >= n, "has fewer items than")),
    "maxItems": (_COUNT, _limit([list], lambda n: lambda value: len(value) <= n, "has more items than")),
    "uniqueItems": ("a boolean", _unique_items),
    "minProperties": (_COUNT, _limit([dict], lambda n: lambda value: len(value) >= n, "has fewer properties than")),
    "maxProperties": (_COUNT, _limit([dict], lambda n: lambda value: len(value) <= n, "has more properties than")),
    "required": (_DIFFERENT, _required),
    "properties": (_SCHEMA_MAP, _properties), "patternProperties": (_SCHEMA_MAP, _pattern_properties),
    "additionalProperties": (_SCHEMA, _additional_properties),
    "propertyNames": (_SCHEMA, lambda sub, _: _Rule(dict, lambda value: [
        (name, name, fault.message, fault.schema_path) for name in value for fault in sub.faults(name)],
        _only([dict], lambda value: all(map(sub.fits, value))))),
    "prefixItems": (_SCHEMAS, _pairs), "items": (_SCHEMA, _items),
    "allOf": (_SCHEMAS, lambda subs, _: _Rule(
        None, lambda value: [(_ITSELF, value, sub, (index,)) for index, sub in enumerate(subs)],
        _merged([sub.usable_table() for sub in subs]))),
    "anyOf": (_SCHEMAS, _choice),
    "oneOf": (_SCHEMAS, lambda subs, node: _choice(subs, node, at_most=1)),
    "not": (_SCHEMA, lambda sub, _: _says(
        _only(_ANYTHING, lambda value: not sub.fits(value)), "must not fit", sub.schema)),
}
# what `$schema` may say -> which keywords mean something else there (a `$ref` only beside others)
_DRAFTS: dict[str, Collection[str]] = {
    DRAFT_2020_12: [], "https://json-schema.org/draft/2019-09/schema": ["prefixItems"],
    "http://json-schema.org/draft-07/schema": ["prefixItems", "$ref"]}


# --- compiling
def _once(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Answer once per value and run; else alternatives in alternatives would multiply, and so would references."""
    def remembered(self: _Node, value: Any) -> Any:
        memo, key = self.compiler.memo, (self, method, id(value))       # while a value is kept, its id is its own
        return (memo.get(key) or memo.setdefault(key, (method(self, value), value)))[0]
    return remembered


class _Node:
    """Be one compiled schema."""

    table: _Table | None = None     # until it is built, there is none
    keyword, length, weight = "", 0, 1      # weight: how many schemas may have to judge one value
    closed = False                  # whether the check of its properties refuses all others

    def __init__(self, compiler: _Compiler, schema: Any, home: Any, where: tuple[str | int, ...]) -> None:
        self.compiler, self.schema, self.home, self.where = compiler, schema, home, where
        self.words: dict[str, Any] = schema if isinstance(schema, dict) else {}
        self.fits: _Check = lambda value: self.fits(value)      # of whatever comes; until it is built: what it will be
        self.row: tuple[type | None, _Check | None, _Check] = None, None, self.fits     # most schemas have one type
        self.arguments: dict[str, Any] = {}
        self.rules: list[_Rule] = []
        self.here: list[_Node] = []         # the schemas that judge the same value

    def build(self) -> None:
        """Make the rules, once, and join what they demand."""
        rows, words = self.compiler.rows(self), self.words
        if not isinstance(self.schema, (dict, bool)):
            self.report(f"is not a schema (was {_shown(self.schema)})")
        for keyword in [each for each in rows if each in words]:
            if _FORMS[rows[keyword][0]](words[keyword]):
                self.arguments[keyword] = self.compiled(keyword, words[keyword])
            else:
                self.report(f"is not {rows[keyword][0]} (was {_shown(words[keyword])})", keyword)
        for keyword, argument in self.arguments.items():
            self.keyword, make = keyword, rows[keyword][1]
            try:
                rule = make and make(argument, self)
            except ValueError as error:
                self.report(str(error), keyword)
                continue
            if rule:
                rule.keyword = keyword
                self.rules.append(rule)
        self.table = {} if self.schema is False else _merged([rule.table for rule in self.rules])
        kind, anyhow = next(iter(self.table), None), _check_of(self.table)
        test = self.table[kind] if kind else None
        self.fits = lambda value: (test is None or test(value)) if type(value) is kind else anyhow(value)
        self.row = kind, test, self.fits
        self.weight = 1 + sum(inner.weight for inner in self.here)

    def compiled(self, keyword: str, argument: Any) -> Any:
        def node(schema: Any, *steps: str | int) -> Any:
            sub = self.compiler.node(schema, self.home, (*self.where, keyword, *steps))
            self.compiler.guarded |= sub.table is None          # it holds itself
            if keyword in _IN_PLACE:
                self.here.append(sub)
            return sub
        return _change_schemas(keyword, argument, node)

    def report(self, problem: str, *steps: str | int) -> None:
        self.compiler.problems.append(f"{_place((*self.where, *steps))}: {problem}")

    def usable_table(self) -> _Table:
        """Give the table; where it is not there yet, or asks too much, one that asks this node, once per value."""
        if self.table is not None and self.weight < MAX_DEPTH:
            return self.table
        self.compiler.guarded = True
        return _only(_ANYTHING, self.judge)

    def check_length(self, left: int = MAX_DEPTH) -> int:
        """Count the schemas in a row that judge the same value: there must be an end to it."""
        if not self.length and left:
            self.length = 1 + max([inner.check_length(left - 1) for inner in self.here], default=0)
        if not left or self.length > MAX_DEPTH:
            raise SchemaError("$ref: the schema refers to itself without end, or too often in a row")
        return self.length

    judge = _once(lambda node, value: node.fits(value))

    @_once
    def faults(self, value: Any) -> list[ValidationError]:
        if self.fits(value):
            return []
        value = _plain(value)
        if type(value) not in _ANYTHING:
            return [ValidationError(f"a value of the type {type(value).__name__} is not a JSON value", keyword="type")]
        if self.schema is False:
            return [ValidationError("is not allowed here")]
        found: dict[Any, ValidationError] = {}          # what several references find is said once
        for rule in self.rules:
            if not (found and rule.last):           # where others fail, nobody knows what it has to judge
                for fault in rule.faults(value):
                    found.setdefault((fault.path, fault.message), fault)
        return [*found.values()]

    @_once
    def nearest(self, value: Any) -> Any:
        if self.fits(value):
            return value
        value = self.read(value) if isinstance(value, str) else _plain(value)
        return functools.reduce(lambda near, rule: rule.nearest(near), self.rules, value)

    def read(self, text: str) -> Any:
        """Give the JSON value in a text, where this schema wants one of its type."""
        word = text.strip().lower()
        try:
            value = _read_json(word if word in ("true", "false") else text, once=True)
        except (ValueError, RecursionError):
            return text
        wanted = isinstance(value, (dict, list)) and type(value) in (self.table or ())
        return value if wanted or self.fits(value) else text


class _Compiler:
    """Compile the schemas of one document, each once; a chapter may know more of what references lead to."""

    def __init__(self, dialect: str, resources: Mapping[str, Any], formats: bool) -> None:
        # guarded: a check may go as deep as the value, not only as deep as the schema; then values are measured first
        self.dialect, self.given, self.formats, self.guarded, self.depth = dialect, resources, formats, False, 0
        self.nodes: dict[Any, _Node] = {}
        self.waiting: list[_Node] = []
        self.problems: list[str] = []
        self.memo: dict[Any, Any] = {}

    def compile(self, schema: Any) -> _Node:
        if any(map(_too_deep, (schema, *self.given.values()))):
            raise SchemaError(f"the schema is nested more than {MAX_DEPTH} levels deep")
        root = self.node(schema, self.home_of(schema), ())
        while self.waiting:
            self.waiting.pop().build()
        if self.problems:
            raise SchemaError("; ".join(self.problems[:SHOWN_NAMES]))
        for node in self.nodes.values() if self.guarded else ():
            node.check_length()
        self.nodes.clear()                  # so that nodes and compiler do not hold each other: they die at once
        return root

    def home_of(self, document: Any) -> Any:
        """Give what a chapter knows of where a schema stands; here, all are in one document."""
        said = str(document.get("$schema", self.dialect) if isinstance(document, dict) else self.dialect).rstrip("#")
        if said not in _DRAFTS:
            raise SchemaError(f"$schema: {_shown(said)} is not a known dialect (there are: {_listed(_DRAFTS)})")
        self.other_words, self.document = _DRAFTS[said], document

    def rows(self, node: _Node) -> dict[str, _Row]:
        """Give the keywords that count in a schema; what only a chapter reads, or reads otherwise, is refused."""
        alone = sum(_KEYWORDS.get(word, ("", None))[1] is not None for word in node.words) < 2
        for word in node.words:
            if word in self.other_words and not (alone and word == "$ref"):
                raise SchemaError(f"{word}: in an older draft, {_needs_chapter('$schema')}")
            if word not in _KEYWORDS and _CHAPTER_OF.get(word) == "schema":
                raise SchemaError(str(_needs_chapter(word)))
        return _KEYWORDS

    def target(self, reference: str, node: _Node) -> _Node:
        try:
            if not re.match("#(/|$)", reference):
                raise LookupError(reference)
            return self.node(_pointer(self.document, reference), None, (reference,), later=True)
        except LookupError:
            raise ValueError(f"{_shown(reference)} leads nowhere") from None

    def node(self, schema: Any, home: Any, where: tuple[str | int, ...], later: bool = False) -> _Node:
        """Give a compiled schema; what a reference leads to may have to wait, lest long chains need a deep stack."""
        key = id(schema), home
        if key not in self.nodes:
            node = self.nodes[key] = _Node(self, schema, home, where)
            if later and self.depth > 20:
                self.waiting.append(node)
            else:
                self.depth += 1
                node.build()
                self.depth -= 1
        return self.nodes[key]


class Validator:
    """Check values against one schema, which is compiled here, once.

    `dialect` is for schemas without `$schema`; `resources` maps URIs to the schemas that references may lead to
    (nothing is ever fetched); `formats` asserts `format`. All that is wrong with the schema is in one SchemaError.

    >>> check = Validator({"properties": {"n": {"type": "integer"}}})
    >>> check.is_valid({"n": 5}), check.coerce({"n": "5"}), [str(error) for error in check.iter_errors({"n": "x"})]
    (True, {'n': 5}, ['n: "x" is not an integer'])
    """

    is_valid: Callable[[Any], bool]         # an attribute, on purpose: mostly it is the compiled check itself
    compiler: ClassVar[type[_Compiler]] = _Compiler

    def __init__(self, schema: Any, *, dialect: str = DRAFT_2020_12, resources: Mapping[str, Any] | None = None,
                 formats: bool = False) -> None:
        if formats and not _FORMATS:
            raise SchemaError(str(_needs_chapter("formats")))
        if resources and self.compiler is _Compiler:
            raise SchemaError(str(_needs_chapter("resources")))
        try:
            compiler = self.compiler(dialect, resources or {}, formats)
            self._root = compiler.compile(schema)
        except RecursionError:
            raise SchemaError("the schema is nested too deeply") from None
        self.schema, self._memo, self._guarded = schema, compiler.memo, compiler.guarded
        self.is_valid = self._root.fits
        if self._guarded:
            self.is_valid = functools.partial(self._run, self._root.fits, False)

    def _run(self, work: Callable[[Any], Any], otherwise: Any, value: Any) -> Any:
        """Do the work, or give `otherwise` for a value that is nested too deeply for it."""
        try:
            return otherwise if self._guarded and _too_deep(value) else work(value)
        except RecursionError:
            return otherwise
        finally:
            self._memo.clear()

    def check_for(self, kind: type) -> Callable[[Any], bool]:
        """Give what is_valid comes to for a value that is known to be of this type: mostly a single check."""
        table = {} if self._guarded else self._root.table or {}
        return table.get(kind) or self.is_valid

    def iter_errors(self, value: Any) -> Iterator[ValidationError]:
        """Give all that is wrong; where alternatives fail, what is wrong for the nearest."""
        return iter(self._run(self._root.faults, [ValidationError("is nested too deeply")], value))

    def validate(self, value: Any) -> None:
        """Raise the first ValidationError where the value does not fit."""
        if not self.is_valid(value):
            raise next(self.iter_errors(value))

    def nearest(self, value: Any) -> Any:
        """Coerce as far as it goes, even if the result does not fit. Nothing is guessed, and what fits stays."""
        return self._run(self._root.nearest, value, value)

    def coerce(self, value: Any) -> Any:
        """Give the nearest value that fits, or the value itself; it is never changed in place."""
        near = self.nearest(value)
        return near if self.is_valid(near) else value


def validate(instance: Any, schema: Any) -> None:
    """Raise a ValidationError where the instance does not fit; for more than one instance make a Validator."""
    Validator(schema).validate(instance)


def is_valid(instance: Any, schema: Any) -> bool:
    """Tell whether the instance fits the schema."""
    return Validator(schema).is_valid(instance)


def iter_errors(instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Give all that is wrong with the instance."""
    return Validator(schema).iter_errors(instance)


def check_schema(schema: Any) -> None:
    """Raise a SchemaError with all that is wrong with the schema."""
    Validator(schema)


def coerce(instance: Any, schema: Any) -> Any:
    """Give the nearest value that fits the schema, or the instance itself."""
    return Validator(schema).coerce(instance)


# ---------------------------------------------------------------------------
# 3. JSON out: what does a Python value look like as JSON?
#    uses 1
# ---------------------------------------------------------------------------
WRITABLE_BITS = 2000        # of an int: Python may refuse to spell out more than 640 digits


def to_json(value: Any) -> Any:
    """Give the JSON form of any value; what has none becomes a short text. Never raises.

    Objects with named fields become objects, sets become sorted arrays, bytes become base64 text.

    >>> to_json({"pair": (1, 2), "tags": {"b", "a"}, 3: float("nan")})
    {'pair': [1, 2], 'tags': ['a', 'b'], '3': 'NaN'}
    """
    return _json_form(value)


def _json_form(value: Any, around: frozenset[int] = frozenset(), depth: int = 0, strict: bool = False) -> Any:
    """Give the JSON form of a value in objects with the ids `around`; `strict`: raise rather than make up a text."""
    kind = type(value)
    if kind is str:
        return _printable(value)
    if kind is bool or value is None or (kind is int and value.bit_length() < WRITABLE_BITS) or (
            kind is float and value - value == 0):
        return value
    try:
        if id(value) in around or depth >= MAX_DEPTH:
            raise ValueError("contains itself, or is nested too deep")
        around = around | {id(value)}
        if kind is dict:
            keys = [key if type(key) is str and key.isascii() else _key_form(key) for key in value]
            items = [_json_form(item, around, depth + 1, strict) for item in value.values()]
            form = dict(zip(keys, items))       # of 1 and "1" one would take the other's place: as pairs both stay
            return form if len(form) == len(items) else [[to_json(key), item] for key, item in zip(value, items)]
        if kind is list or kind is tuple:
            return [_json_form(item, around, depth + 1, strict) for item in value]
        write = _writer_of(kind)
        if write is None:
            raise TypeError(f"{kind.__name__} has no JSON form")
        return _json_form(write(value), around, depth, strict)
    except Exception:
        if strict:
            raise
        return _text_instead(value)


def _text_instead(value: Any) -> str:
    """Give a text for what has no JSON form."""
    if isinstance(value, (int, list, tuple, set, frozenset, Mapping)):
        return f"<{type(value).__name__} too large or within itself>"
    try:                                    # of floats, NaN, Infinity and -Infinity are left
        return json.dumps(value) if isinstance(value, float) else _printable(str(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _key_form(key: Any) -> str:
    """Give the text that stands for a mapping's key: JSON text where the key is no text."""
    form = to_json(key)
    return form if isinstance(form, str) else _write_json(form)


def _place_in_set(item: Any) -> tuple[bool, Any]:
    form = to_json(item)
    return (False, form) if isinstance(form, (int, float)) else (True, _key_form(form))


def _base64_text(value: Any) -> str:
    from base64 import b64encode
    return b64encode(value).decode()


def _member_form(member: Any) -> Any:
    """Give a member's value where all values of its enum are JSON scalars, else its name."""
    plain = all(type(each.value) in _SCALARS for each in type(member).__members__.values())
    return member.value if plain or isinstance(member, enum.Flag) else member.name


def _full_name(thing: Any) -> str:
    """Give `module.name` of a class or a form of typing; a table of such names needs no imports."""
    module = str(getattr(thing, "__module__", ""))
    return f"{_MODULES.get(module, module)}.{getattr(thing, '__qualname__', '')}"


def _first_fit(table: Iterable[tuple[Callable[[Any], bool], Any]], thing: Any) -> Any:
    """Give what the first row that is for this thing holds; None where none is."""
    return next((found for fits, found in table if fits(thing)), None)


def _has_any(*attributes: str) -> Callable[[Any], bool]:
    return lambda thing: any(getattr(thing, name, None) is not None for name in attributes)


def _is_any(*names: str) -> Callable[[Any], bool]:
    return lambda kind: any(_full_name(base) in names for base in kind.__mro__)


_MODULES = {"typing_extensions": "typing", "pathlib._local": "pathlib"}
# how the values of a class are written: the first row that fits
_WRITERS_BY_SHAPE: list[tuple[Callable[[type], bool], Callable[[Any], Any]]] = [
    (_has_any("model_dump", "__attrs_attrs__", "to_dicts", "to_pylist", "iterrows"),
     lambda value: f"<{_needs_chapter('class-of-elsewhere', type(value).__name__)}>"),
    (_is_any("enum.Enum"), _member_form),
    (_is_any("datetime.date", "datetime.time"), lambda value: value.isoformat()),
    (_is_any("builtins.bytes", "builtins.bytearray", "builtins.memoryview"), _base64_text),
    (_is_any("decimal.Decimal", "uuid.UUID", "pathlib.PurePath"), str),
    (is_dataclass, lambda value: {each.name: getattr(value, each.name) for each in fields(value)}),
    (lambda kind: hasattr(kind, "_asdict"), lambda value: value._asdict()),     # named tuples, rows of SQLAlchemy
    (lambda kind: issubclass(kind, str), lambda value: str.__str__(value)),
    (lambda kind: issubclass(kind, int), int),
    (lambda kind: hasattr(kind, "tolist"), lambda value: value.tolist()),       # numpy and its like
    (lambda kind: issubclass(kind, float), float),
    (lambda kind: hasattr(kind, "keys") and hasattr(kind, "__getitem__"), dict),    # mappings, rows of sqlite3
    (lambda kind: issubclass(kind, (set, frozenset)), lambda value: sorted(value, key=_place_in_set)),
    (lambda kind: issubclass(kind, Collection), list),
]


# of a class: the function that brings its values one step nearer to JSON
_writer_of: Callable[[Any], Callable[[Any], Any] | None] = functools.lru_cache(maxsize=512)(
    functools.partial(_first_fit, _WRITERS_BY_SHAPE))


# ---------------------------------------------------------------------------
# 4. Types: which schema has a type, and how does its JSON become a value?
#    uses 1 2 3
# ---------------------------------------------------------------------------
_Reader = Callable[[Any], Any]
_TypeRow = Callable[[Any, Any, "_Builder"], "_Form"]
_REQUIRED = inspect.Parameter.empty                 # stands where there is no default
_SOME_DEFAULT = object()                            # stands for one that is not shown
_INJECTED = object()                                # marks what the program fills in, not the model
_T = typing.TypeVar("_T")
Injected = typing.Annotated[_T, _INJECTED]          # write `user: Injected[User]` or `user: Annotated[User, Injected]`


def _as_it_is(value: Any) -> Any:
    return value


class _Form:            # and no NamedTuple, nor is _Field: that would read each annotation at import, which takes long
    """Pair the schema of a type with the reader of its JSON; readers get only JSON that fits the schema."""

    def __init__(self, schema: dict[str, Any], read: _Reader = _as_it_is, hashable: bool = True) -> None:
        self.schema, self.read, self.hashable = schema, read, hashable


class _Field:
    """Describe what an object or a function takes by name; a default without JSON form is not shown."""

    def __init__(self, name: str, annotation: Any, default: Any = _REQUIRED, text: str = "") -> None:
        self.name, self.annotation, self.default, self.text = name, annotation, default, text
        self.notes: tuple[Any, ...] = ()                    # as in Annotated
        self.make_default: Callable[[], Any] | None = None  # for each call, where the function itself would not
        if default is not _REQUIRED and hasattr(type(default), "is_required"):      # as pydantic's `Field(...)`
            self.notes, self.default = (default,), _REQUIRED
            if not default.is_required():
                self.default = default.default if default.default_factory is None else _SOME_DEFAULT
                self.make_default = lambda: default.get_default(call_default_factory=True)


# --- readers
def _unfit(*errors: ValidationError | str) -> ToolArgumentError:
    """Make the error that holds these; a mere message is about the whole value."""
    located = [ValidationError(each) if isinstance(each, str) else each for each in errors]
    return ToolArgumentError("\n".join(map(str, located)), located)


def _made(make: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call what others wrote; what it refuses is an error of the arguments."""
    try:
        return make(*args, **kwargs)
    except Exception as error:
        unfit = _unfit(f"is refused ({_error_text(error)})")
        with contextlib.suppress(Exception):        # some, as pydantic's, list what is wrong, with places
            errors = error.errors()                 # type: ignore[attr-defined]
            unfit = _unfit(*[ValidationError(each["msg"], each["loc"]) for each in errors])
    raise unfit


def _read_parts(whole: Any, readers: Iterable[tuple[Any, _Reader]], names: Any = None) -> Any:
    """Read parts of a copy where they stand, or raise all that is wrong (`names`: where that is, by index)."""
    errors: list[ValidationError] = []
    for key, read in readers:                       # each once: twice at every level would be endless
        try:
            whole[key] = read(whole[key])
        except ToolArgumentError as unfit:
            place = names[key] if names else key
            errors += [ValidationError(each.message, (place, *each.path)) for each in unfit.errors]
    if errors:
        raise _unfit(*errors)
    return whole


def _reads_items(construct: Callable[[Iterable[Any]], Any], readers: Iterable[_Reader]) -> _Reader:
    return lambda value: construct(_read_parts(list(value), zip(range(len(value)), readers)))


def _reads_fields(readers: Mapping[str, _Reader], rest: _Reader = _as_it_is) -> _Reader:
    """Make the reader of an object: it gives a copy with each value read; `rest` reads those of other names."""
    if rest is not _as_it_is:
        return lambda value: _read_parts(dict(value), [(name, readers.get(name, rest)) for name in value])
    needed = {name: read for name, read in readers.items() if read is not _as_it_is}
    return (lambda value: _read_parts(dict(value), [
        (name, read) for name, read in needed.items() if name in value])) if needed else _as_it_is


def _fits(schema: dict[str, Any], definitions: dict[str, Any]) -> Callable[[Any], bool]:
    """Make a check whose validator is compiled when it is first asked."""
    validator = functools.cache(lambda: Validator({"$defs": definitions, **schema}))
    return lambda value: validator().is_valid(value)


def _reads_union(members: Sequence[_Form], definitions: dict[str, Any]) -> _Reader:
    """Make the reader of a union: the first member that the value fits and that can read it does."""
    others = [form for form in members if form.schema != _NULL]
    if len(others) == 1:
        return lambda value: None if value is None else others[0].read(value)
    # {id of a part: (the part, lest its id is used again, made)}: each member would read all that is below once more
    running = _thread._local()

    @functools.cache
    def able(kind: type) -> list[tuple[_Reader, Callable[[Any], bool]]]:
        exact = _JSON_TYPES[kind][0]                # 5 is rather an int than a float, 5.0 rather a float
        forms = sorted((form for form in members if _may_be(form.schema, kind)),
                       key=lambda form: bool(form.schema.get("type", exact) != exact))
        return [(form.read, _fits(form.schema, definitions)) for form in forms]

    def first(value: Any, rows: list[tuple[_Reader, Callable[[Any], bool]]]) -> Any:
        made: Any = _unfit("fits no member of the union")
        for read_member, fits in rows:
            try:
                if fits(value):
                    return read_member(value)
            except ToolArgumentError as error:
                made = error
        return made

    def read(value: Any) -> Any:
        kind: Any = type(value)
        rows: Any = able(kind)
        if len(rows) == 1:
            return rows[0][0](value)
        known: dict[Any, Any] = running.__dict__
        whole = known.setdefault("whole", value) is value
        try:
            known[id(value)] = known.get(id(value)) or (value, first(value, rows))
            made = known[id(value)][1]
        finally:
            if whole:
                known.clear()
        if isinstance(made, ToolArgumentError):
            raise made
        return made
    return read


_NULL = {"type": "null"}
_JSON_TYPES = {type(None): ("null",), bool: ("boolean",), int: ("integer", "number"), float: ("number", "integer"),
               str: ("string",), list: ("array",), dict: ("object",)}


def _may_be(schema: dict[str, Any], kind: type, behind_reference: bool = True) -> bool:
    """Tell whether JSON of this Python type may fit the schema."""
    if "$ref" in schema:
        return behind_reference
    if "anyOf" in schema:
        return any(_may_be(each, kind, behind_reference) for each in schema["anyOf"])
    if "enum" in schema:
        return any(type(each) is kind or {type(each), kind} == {int, float} for each in schema["enum"])
    return schema.get("type", _JSON_TYPES[kind][0]) in _JSON_TYPES[kind]


# --- types that JSON has
def _as_float(value: Any) -> Any:
    try:
        return float(value)
    except OverflowError:
        return value                                # on purpose: a number that no float can hold is still a number


_SCALAR_READERS: dict[type, _Reader] = {int: int, float: _as_float}


# --- rows: (annotation, its arguments, builder) -> form
def _array(construct: Callable[[Iterable[Any]], Any], annotation: Any, args: Any, build: _Builder) -> _Form:
    item = build.form(args[0] if args else Any)
    if construct in (set, frozenset):
        item = build.hashed(item, annotation)
    plain = _as_it_is if construct is list else construct
    read = plain if item.read is _as_it_is else _reads_items(construct, itertools.repeat(item.read))
    hashable = construct is frozenset or (construct is tuple and item.hashable)
    return _Form({"type": "array", "items": item.schema}, read, hashable)


def _tuple(annotation: Any, args: Any, build: _Builder) -> _Form:
    if args[1:] == (...,) or annotation in (tuple, typing.Tuple):       # noqa: UP006
        return _array(tuple, annotation, args, build)
    forms = [build.form(arg) for arg in args if arg != ()]
    items: dict[str, Any] = {"prefixItems": [form.schema for form in forms], "items": False}
    if all(form.schema == forms[0].schema for form in forms):
        items = {"items": forms[0].schema if forms else {}}             # more APIs understand it
    schema = {"type": "array", **items, "minItems": len(forms), "maxItems": len(forms)}
    return _Form(schema, _reads_items(tuple, [form.read for form in forms]), all(form.hashable for form in forms))


def _mapping(annotation: Any, args: Any, build: _Builder) -> _Form:
    if args and args[0] not in (str, Any):
        return build.refuse(annotation, word="key-of-a-mapping")
    item = build.form(args[1] if args else Any)
    schema = {"type": "object", "additionalProperties": item.schema or True}
    return _Form(schema, _reads_fields({}, item.read), hashable=False)


def _union_of(members: Iterable[_Form], build: _Builder) -> _Form:
    forms = list(members)
    others = [form for form in forms if form.schema != _NULL]
    if len(others) < len(forms) and any(_may_be(form.schema, type(None), False) for form in others):
        forms = others                              # null need not be said twice
    if len(forms) == 1:
        return forms[0]
    read = _as_it_is if all(form.read is _as_it_is for form in forms) else _reads_union(forms, build.definitions)
    return _Form({"anyOf": [form.schema for form in forms]}, read, all(form.hashable for form in forms))


def _values(annotation: Any, values: Sequence[Any], build: _Builder) -> _Form:
    """Offer the values of a Literal or an Enum; those that JSON may spell another way (5.0) need a reader."""
    try:
        wires = [_json_form(value, strict=True) for value in values]
        first, *kinds = {_SCALARS[type(wire)] for wire in wires}
    except (TypeError, ValueError, KeyError):
        return build.refuse(annotation)
    schema: dict[str, Any] = {"enum": wires} if kinds else {"type": first, "enum": wires}
    by_wire = {(type(wire) is bool, wire): value for wire, value in zip(wires, values)}
    plain = all(type(value) in (str, bool, type(None)) for value in values)
    return _Form(schema, _as_it_is if plain else lambda wire: by_wire[type(wire) is bool, wire])


# --- classes with named fields
def _object_class(cls: Any, rows: list[_Field], build: _Builder) -> _Form:
    """Give the form of a class that is made of these fields."""
    form = build.object_of(rows, f"{cls.__name__}.")
    text, read = cls.__dict__.get("__doc__") or "", form.read
    if text and not text.startswith(f"{cls.__name__}("):        # such a text @dataclass and NamedTuple make up
        form.schema = {"description": inspect.cleandoc(text), **form.schema}
    return _Form(form.schema, read if issubclass(cls, dict) else lambda value: _made(cls, **read(value)),
                 form.hashable and cls.__hash__ is not None)


# from 3.14 on, annotations are looked at late: what names nothing is to be a ForwardRef (3), not an error
_LENIENT: dict[str, Any] = {"format": 3} if sys.version_info >= (3, 14) else {}
_LENIENT_SIGNATURE = {f"annotation_{word}": value for word, value in _LENIENT.items()}
_hints_of_class: Any = functools.lru_cache(maxsize=512)(typing.get_type_hints)
_signature_of_class: Any = functools.lru_cache(maxsize=512)(inspect.signature)
# where a name in annotations is not found, the last one is asked; the first gives them as they stand: texts are refused
_FIND_HINTS: list[Callable[[Any], dict[str, Any]]] = [lambda thing: inspect.get_annotations(thing, **_LENIENT)]


def _type_parameters(owner: Any) -> dict[str, Any]:
    """Give the type parameters (PEP 695) of a thing, and of the classes that it stands in: these names come first."""
    around = [type(getattr(owner, "__self__", None)), sys.modules.get(getattr(owner, "__module__", ""))]
    for name in getattr(owner, "__qualname__", "").split(".")[:-1]:
        around.append(getattr(around[-1], name, None))
    known = [getattr(thing, "__type_params__", ()) for thing in [*around, owner]]
    return {each.__name__: each for some in known if isinstance(some, tuple) for each in some}    # `type` has none


def _hints_of(thing: Any) -> dict[str, Any]:
    """Give the annotations of a function or class."""
    try:
        for owner in getattr(thing, "__mro__", (thing,)):       # get_type_hints does not know all of these parameters
            if str in map(type, getattr(owner, "__annotations__", {}).values()) and _type_parameters(owner):
                raise NameError
        read = _hints_of_class if isinstance(thing, type) else typing.get_type_hints
        return dict(read(thing, include_extras=True))
    except Exception:
        return _FIND_HINTS[-1](thing)


def _fields_of(cls: Any) -> list[_Field]:
    """Give what the constructor of a class takes, or the names in a TypedDict."""
    hints = _hints_of(cls)
    if issubclass(cls, dict):
        return [_Field(name, annotation, _REQUIRED if _is_required(cls, name, annotation) else _SOME_DEFAULT)
                for name, annotation in hints.items()]
    factories = "<factory>", "NOTHING"              # what stands for a default that is made anew for each object
    return [_Field(name, hints.get(name, each.annotation),
                   _SOME_DEFAULT if repr(each.default) in factories else each.default)
            for name, each in _signature_of_class(cls, **_LENIENT_SIGNATURE).parameters.items()]


def _is_required(typed_dict: Any, name: str, annotation: Any) -> bool:
    word = _full_name(typing.get_origin(annotation))
    if word in ("typing.ReadOnly", "typing.Annotated"):
        return _is_required(typed_dict, name, annotation.__args__[0])
    return word == "typing.Required" or (word != "typing.NotRequired" and name in typed_dict.__required_keys__)


_has_fields = _has_any("__dataclass_fields__", "_field_defaults", "__required_keys__")


# --- the tables: what stands at the head of an annotation -> its row, by name or else by what it is
def _refused_as(word: str | None) -> _TypeRow:
    return lambda annotation, args, build: build.refuse(annotation, word=word)


_ROWS: dict[str, _TypeRow] = {
    **dict.fromkeys(("typing.Any", "builtins.object", "inspect._empty"),
                    lambda given, args, build: _Form({}, hashable=False)),
    **dict.fromkeys(("typing.Final", "typing.Required", "typing.NotRequired", "typing.ReadOnly"),
                    lambda given, args, build: build.form(args[0] if args else Any)),
    **dict.fromkeys(("typing.Union", "types.UnionType"),
                    lambda given, args, build: _union_of(map(build.form, args), build)),
    "typing.Literal": _values, "typing.LiteralString": lambda given, args, build: build.form(str),
    **dict.fromkeys(("builtins.list", "collections.abc.Sequence", "collections.abc.MutableSequence",
                     "collections.abc.Iterable", "collections.abc.Collection"), functools.partial(_array, list)),
    **dict.fromkeys(("builtins.set", "collections.abc.Set", "collections.abc.MutableSet"),
                    functools.partial(_array, set)),
    "builtins.frozenset": functools.partial(_array, frozenset), "collections.deque": functools.partial(_array, deque),
    **dict.fromkeys(("builtins.dict", "collections.abc.Mapping", "collections.abc.MutableMapping"), _mapping),
    "builtins.tuple": _tuple,
    "typing.Annotated":
        lambda given, args, build: functools.reduce(build.noted, given.__metadata__, build.form(args[0])),
    "dataclasses.": lambda given, args, build: build.form(given.type),      # InitVar[...]: an object without a name
}
_ROWS_BY_SHAPE: list[tuple[Callable[[Any], bool], _TypeRow]] = [
    (lambda head: isinstance(head, (str, typing.ForwardRef)), lambda given, args, build: build.refuse(
        f'the text "{getattr(given, "__forward_arg__", given)}"', word="name-of-a-caller")),
    (lambda head: isinstance(head, typing.TypeVar), _refused_as("type-variable")),
    (_has_any("__supertype__"), lambda given, args, build: build.form(given.__supertype__)),
    (_has_any("__value__"), _refused_as("type-alias")),
    (lambda head: not isinstance(head, type) or issubclass(head, enum.Flag), _refused_as(None)),
    (lambda head: issubclass(head, enum.Enum), lambda cls, args, build: _values(cls, list(cls), build)),
    (_has_any("model_json_schema", "__attrs_attrs__", "__pydantic_fields__"), _refused_as("class-of-elsewhere")),
    (lambda head: bool(getattr(head, "__parameters__", ())), _refused_as("type-variable")),
    (_has_fields, lambda cls, args, build: build.named(
        cls, cls.__name__, lambda: _object_class(cls, _fields_of(cls), build))),
    (lambda head: True, _refused_as(None)),
]
# a note that is neither text nor keywords -> the form that keeps to it as well; what is not known here is another's
_NOTES: list[tuple[Callable[[Any], bool], Callable[[_Form, Any, _Builder], _Form]]] = [
    (_has_any("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "max_digits", "decimal_places",
              "pattern", "description", "documentation", "metadata", "func", "is_required"),
     lambda form, note, build: build.refuse(type(note), word="note-of-elsewhere")),
]
_INSTEAD = {
    **dict.fromkeys(("collections.abc.Callable", "builtins.callable"),
                    "a Literal of names, or Injected where the program gives the value"),
    "builtins.any": "typing.Any", "builtins.list": "list[X]", "builtins.tuple": "tuple[X, Y], or X | Y",
    "builtins.dict": "dict[str, X], or a TypedDict",
    "collections.abc.Iterator": "list", "collections.abc.Generator": "list", "builtins.complex": "tuple[float, float]",
}
_ANYTHING_ELSE = "a dataclass, TypedDict, NamedTuple or Enum, or Injected where the program gives the value"


_row_of: Callable[[Any], _TypeRow] = functools.lru_cache(maxsize=512)(
    lambda head: _ROWS.get(_full_name(head)) or _first_fit(_ROWS_BY_SHAPE, head))


class _Builder:
    """Make the forms of all types in one schema: it knows the named types met so far, and what is wrong."""

    def __init__(self) -> None:
        self.forms: dict[Any, _Form | None] = {}            # of the named types; None: still being made
        self.names: dict[Any, str] = {}
        self.places: dict[Any, list[dict[str, Any]]] = {}   # where the schema refers to them
        self.definitions: dict[str, Any] = {}               # `$defs`, once the schema is finished
        self.defaults: list[tuple[dict[str, Any], Any]] = []
        self.problems: list[str] = []
        self.foreign = False                                # whether others wrote parts of the schema
        self.validated = False                              # whether the function or class checks its notes itself
        self.place = ""                                     # begins a problem
        self.depth = 0

    def form(self, annotation: Any) -> _Form:
        """Give the form of a type as a part of this schema."""
        annotation = type(None) if annotation is None else annotation
        is_class = type(annotation) is type             # and no generic alias
        if is_class and annotation in _SCALARS:
            return _Form({"type": _SCALARS[annotation]}, _SCALAR_READERS.get(annotation, _as_it_is))
        if self.depth >= MAX_DEPTH:
            return self.refuse("a type nested so deep")
        self.depth += 1
        head = annotation if is_class else typing.get_origin(annotation) or annotation
        args = () if head is annotation else getattr(annotation, "__args__", ())
        try:
            row = _row_of(head)
        except TypeError:                               # what cannot be hashed, as [int], is no type
            row = _refused_as(None)
        form = row(annotation, args, self)
        self.depth -= 1
        return form

    def refuse(self, annotation: Any, instead: str | None = None, word: str | None = None) -> _Form:
        """Note that a type has no JSON form, and what to write instead, or that the chapter with the word reads it."""
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        heads = typing.get_origin(annotation) or annotation, type(annotation)     # [int] is a list, not a type
        known = [_INSTEAD[name] for name in map(_full_name, heads) if name in _INSTEAD]
        self.problems.append(self.place + (
            _needs_chapter(word or _full_name(annotation), text)
            or f"{text} has no JSON form (write {instead or [*known, _ANYTHING_ELSE][0]})"))
        return _Form({})

    def noted(self, form: _Form, note: Any) -> _Form:
        """Give the form that keeps to what stands behind the type in Annotated as well."""
        if isinstance(note, str):
            form.schema["description"] = note
        elif isinstance(note, Mapping):
            self.foreign = True
            try:
                form.schema.update(_json_form(note, strict=True))
            except Exception:
                return self.refuse("keywords that JSON cannot say", "values that it has")
        elif keep := _first_fit(_NOTES, note):
            return keep(form, note, self)       # type: ignore[no-any-return]
        return form

    def hashed(self, form: _Form, annotation: Any) -> _Form:
        """Give the form of what is put into a set or taken as a key."""
        if form.schema == {}:
            return _Form({"anyOf": [{"type": name} for name in _SCALARS.values()]})
        return form if form.hashable else self.refuse(annotation, "a list, or items that can be hashed")

    def refer(self, key: Any, name: str) -> dict[str, Any]:
        """Give a schema that refers to a named type; `finish` may put the definition in its place."""
        if key not in self.names:
            name = wished = re.sub(r"(?a)\W+", "_", name)
            while name in self.names.values():
                name = f"{wished}_{len(self.names)}"
            self.names[key] = name
        place = {"$ref": f"#/$defs/{self.names[key]}"}
        self.places.setdefault(key, []).append(place)
        return place

    def named(self, key: Any, name: str, make: Callable[[], _Form], inline: bool = False) -> _Form:
        """Give the form of a named type, made where it is first met; `inline`: in place, unless it holds itself."""
        if key in self.forms:
            known = self.forms[key] or _Form({}, lambda value: self.forms[key].read(value))  # type: ignore[union-attr]
            return _Form(self.refer(key, name), known.read, known.hashable)
        self.forms[key] = None
        place = {} if inline else self.refer(key, name)
        self.forms[key] = form = make()
        if inline and key not in self.places:
            del self.forms[key]
            return form
        return _Form(place or self.refer(key, name), form.read, form.hashable)

    def object_of(self, rows: Iterable[_Field], owner: str = "", rest: Sequence[Any] = ()) -> _Form:
        """Give the form of an object with these fields, and with others if `rest` holds the annotation of these."""
        properties: dict[str, Any] = {}
        required, readers, hashable, place = [], {}, True, self.place
        for each in rows:
            self.place, default = f"{owner}{each.name}: ", each.default
            form = functools.reduce(self.noted, each.notes, self.form(each.annotation))
            text = form.schema.pop("description", each.text)
            if default is None and not _may_be(form.schema, type(None), False):     # then it is as good as any other
                form = _union_of([form, _Form(dict(_NULL))], self)
            properties[each.name] = schema = form.schema
            if text:
                schema["description"] = text
            if default is _REQUIRED:
                required.append(each.name)
            elif default is not _SOME_DEFAULT:
                try:
                    self.defaults.append((schema, _json_form(default, strict=True)))
                except Exception:
                    pass                            # on purpose: such a default is the function's own affair
            readers[each.name] = form.read
            hashable = hashable and form.hashable
        self.place = place
        further = self.form(rest[0]) if rest else _Form({})
        needed = {"required": required} if required else {}
        more = bool(rest) and (further.schema or True)
        whole = {"type": "object", "properties": properties, **needed, "additionalProperties": more}
        return _Form(whole, _reads_fields(readers, further.read), hashable)

    def finish(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Put definitions of types used once in their places, the others into `$defs`; say the defaults that fit."""
        for key, (place, *others) in self.places.items():
            definition = self.forms[key].schema     # type: ignore[union-attr]
            if others:
                self.definitions[self.names[key]] = definition
            else:
                del place["$ref"]
                place.update({**definition, **place})
        whole = {**schema, "$defs": self.definitions} if self.definitions else schema
        try:
            if self.foreign:                        # a schema of our own needs no check
                Validator(whole)
            for part, wire in self.defaults:        # whether a plain one fits is seen at once
                plain = part.keys() <= {"type", "enum", "description"} and part.get("type") == _SCALARS.get(type(wire))
                fits = wire is None or (plain and wire in part.get("enum", (wire,)))
                if fits or is_valid(wire, {**part, "$defs": self.definitions}):
                    part["default"] = wire
        except SchemaError as error:
            self.problems.append(str(error))
        return whole

    def check(self, subject: str) -> None:
        """Raise all problems at once."""
        if self.problems:
            raise ToolDefinitionError(f"{subject}: " + "; ".join(self.problems))


# --- what is public
def _form_of(annotation: Any) -> _Form:
    """Give the form of a type that stands alone: its schema holds the `$defs`."""
    build = _Builder()
    form = build.form(annotation)
    form.schema = build.finish(form.schema)
    build.check("schema_of")
    return form


def schema_of(annotation: Any) -> dict[str, Any]:
    """Give the JSON Schema of a type, or raise a ToolDefinitionError that says what has no JSON form.

    >>> schema_of(dict[str, int | None])["additionalProperties"]
    {'anyOf': [{'type': 'integer'}, {'type': 'null'}]}
    """
    return _form_of(annotation).schema


def from_json(annotation: Any, value: Any) -> Any:
    """Read JSON as the type says, or raise a ToolArgumentError that holds all that is wrong.

    >>> from_json(tuple[int, set[str]], [1.0, ["a", "a"]])
    (1, {'a'})
    """
    form = _form_of(annotation)
    errors = list(iter_errors(value, form.schema))
    if errors:
        raise _unfit(*errors)
    return form.read(value)


# ---------------------------------------------------------------------------
# 5. Reasons: ask the model why
#    uses 1
# ---------------------------------------------------------------------------
TOOLCALL_REASON = "toolcall_reason"
REASON_DESCRIPTION = "Why you chose this tool and what you expect from it."


def _declares_reason(parameters: Mapping[str, Any]) -> bool:
    """Tell whether a foreign schema has a property of that name itself: then it is an argument like any other."""
    return TOOLCALL_REASON in parameters.get("properties", {})


def _with_reason(parameters: Mapping[str, Any], first: bool = False) -> dict[str, Any]:
    """Add the reason to a copy of a schema: last of the properties, or first; never required."""
    if _declares_reason(parameters):
        return dict(parameters)
    reason = {TOOLCALL_REASON: {"type": "string", "description": REASON_DESCRIPTION}}
    properties = parameters.get("properties", {})
    return {**parameters, "properties": {**reason, **properties} if first else {**properties, **reason}}


def _checked_think(asked: Any) -> Any:
    if asked not in (None, True, False, "first"):
        raise ToolDefinitionError(f'think_augment: must be True, False or "first" (got {_shown(asked)})')
    return asked


def _split_reason(arguments: dict[str, Any], declared: bool) -> tuple[dict[str, Any], str | None]:
    """Give (arguments without the reason, the reason as text); the given dict is left as it is."""
    reason = arguments.get(TOOLCALL_REASON)
    if TOOLCALL_REASON in arguments and not declared:
        arguments = {name: value for name, value in arguments.items() if name != TOOLCALL_REASON}
    return arguments, reason if isinstance(reason, str) or reason is None else _shown(reason)


# ---------------------------------------------------------------------------
# 6. Functions: what does a function take?
#    uses 1 3 4 5
# ---------------------------------------------------------------------------
_compiled = functools.cache(re.compile)     # when first needed: compiling costs more than importing
_Bind = Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]

# --- docstrings in the styles of Google, NumPy and Sphinx
_LISTS = {sort + noun for sort in ("", "keyword ", "other ") for noun in ("args", "arguments", "params", "parameters")}
_OTHERS = ("return", "returns", "yield", "yields", "raises", "warns", "example", "examples", "attributes", "methods",
           "see also", "references", "todo")
_SECTION = r"\n([A-Z][a-z]+(?: [A-Z][a-z]+)?) ?(:|\n[-=]{3,}) *(?=\n)((?:\n[-*• ].*|\n(?=\n))*)"  # indented, or listed
_GOOGLE_NAME = r"[*`]*(\w+)[*`]* ?(?:\((?:.|\n(?= ))*?\) ?)?(?::(?=[ \n])|：|(?<= )(?:--?|[–—]) )"   # name (type): text
_GOOGLE_ENTRY = rf"\n{_GOOGLE_NAME}(.*(?:\n(?!{_GOOGLE_NAME.replace('(', '(?:', 1)}).*)*)"
_NUMPY_ENTRY = r"\n([\w*][\w*, ]*?) ?(?::.*)?(?=\n)((?:\n[ \t].*|\n(?=\n))*)"
_SPHINX_FIELD = (r"\n:(?:(?:param|parameter|arg|argument|key|keyword) (?:[^:\n]* )?(?:\\?\*){0,2}(\w+)|"
                 r"(?i:returns?|rtype|types?|raises?|except|exception|throws|yields?|ytype|[ci]?var|vartype|meta)"
                 r"(?: [^:\n]*)?):(.*(?:\n[ \t].*)*)")


def parse_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    r"""Split a docstring into (description, {parameter: text}); what it says of results and errors is left out.

    >>> parse_docstring("Add.\n\nArgs:\n    a (int): One.\n    b: The\n      other.")
    ('Add.', {'a': 'One.', 'b': 'The other.'})
    """
    if not text or "\n" not in text:
        return (text or "").strip(), {}
    texts: dict[str, str] = {}
    text = inspect.cleandoc(text.strip().replace("\r\n", "\n"))
    heading, _, rest = text.partition(":\n")
    if heading.lower() in _LISTS and rest[:1] not in " \n":
        text = text.replace("\n", "\n ")            # it begins with a section, whose indentation was taken away
    description, *sections = _compiled(_SECTION).split(f"\n{text}\n")
    for heading, mark, block, rest in zip(*[iter(sections)] * 4):
        lists_parameters = heading.lower() in _LISTS
        if not lists_parameters and heading.lower() not in _OTHERS:
            description += f"\n{heading}{mark}{block}{rest}"
        elif mark == ":":                           # Google's: it ends where the indentation ends
            entries = f"\n{inspect.cleandoc(block)}\n" if lists_parameters else ""
            entries = re.sub(r"\n[-*•] ", "\n", entries) if entries[1:3] in ("- ", "* ", "• ") else entries
            unread, *parts = _compiled(_GOOGLE_ENTRY).split(entries)        # then name, text and what follows of each
            texts.update(zip(parts[::3], parts[1::3]))
            description += f"\n{heading}:{unread}\n{rest}" if unread.strip() else f"\n{rest}"
        elif lists_parameters:
            for names, said in _compiled(_NUMPY_ENTRY).findall(block + rest):
                texts.update(dict.fromkeys(re.findall(r"\w+", names), said))
    if "\n:" in description:
        texts.update({name: said for name, said in _compiled(_SPHINX_FIELD).findall(description) if name})
        description = _compiled(_SPHINX_FIELD).sub("", description)
    description = re.sub("\n{3,}", "\n\n", description.strip())
    return description, {name: _prose(said) for name, said in texts.items() if said.strip()}


def _prose(text: str) -> str:
    """Join wrapped lines; the items of a list keep their lines."""
    lines = [line.strip() for line in text.strip().split("\n")]
    return lines[0] if len(lines) == 1 else re.sub(r"\n(?![-*•]|\d+[.)])", " ", "\n".join(filter(None, lines)))


# --- signatures
_CALL_ID = "the call's id"          # among what a registry injects, for who declares it
_HAS_NO_VALUE = "{0}: has no value (write inject={{{0!r}: ...}}, or a default)"


class _Takes:
    """Hold what a function takes: what the model may fill in, and how it is passed."""

    def __init__(self, injected: Mapping[str, Any], hidden: set[str]) -> None:
        self.offered: list[_Field] = []
        self.positional: list[inspect.Parameter] = []       # positional-only, in order, hidden ones too
        self.rest: list[Any] = []                           # the annotation of **kwargs, where there is one
        self.injected, self.hidden = injected, hidden       # {parameter: value or ContextVar}; not for the model
        self.declared: dict[str, bool] = {}                 # Injected: whether a registry has to have a value for it

    def names(self) -> list[str]:
        return [each.name for each in self.offered]


def _unwrapped(func: Any) -> Any:
    return _unwrapped(func.func) if isinstance(func, functools.partial) else func


def _name_of(func: Any) -> str:
    func = _unwrapped(func)
    return str(getattr(func, "__name__", type(func).__name__))


def _holder_of(func: Any) -> tuple[Any, str | None]:
    """Give (what carries the annotations of a callable, its docstring, or that of a callable object's class)."""
    func = _unwrapped(func)
    if isinstance(func, types.FunctionType) or inspect.isroutine(func) or hasattr(func, "__wrapped__"):
        return func, func.__doc__ or inspect.getdoc(func)
    holder = getattr(func, "__init__" if isinstance(func, type) else "__call__")
    return holder, hasattr(holder, "__code__") and holder.__doc__ or func.__doc__     # else the text is Python's


def _taken_by(func: Any, holder: Any, texts: Mapping[str, str], inject: Mapping[str, Any], build: _Builder) -> _Takes:
    """Sort the parameters of a function; note what cannot be offered."""
    takes = _Takes(inject, {*inject, *(func.keywords if isinstance(func, functools.partial) else ())})
    try:
        parameters = inspect.signature(func, **_LENIENT_SIGNATURE).parameters
    except (TypeError, ValueError) as error:
        build.problems.append(f"{error} (write a function around it)")
        return takes
    hints = _hints_of(holder)
    dispatches = hasattr(func, "__wrapped__") and callable(getattr(func, "register", None))     # as singledispatch does
    by_place = next(iter(parameters.values()), None) if dispatches else None
    for name, parameter in parameters.items():
        default, kind = parameter.default, parameter.kind
        annotation = hints.get(name, parameter.annotation)
        if default is None and sys.version_info < (3, 11):      # get_type_hints makes Optional[Annotated[...]] then
            inner, *null = typing.get_args(annotation) or (annotation,)
            annotation = inner if null == [type(None)] and hasattr(inner, "__metadata__") else annotation
        if kind is parameter.VAR_KEYWORD:           # any names, or the keys of Unpack[TypedDict]
            unpacked = _full_name(typing.get_origin(annotation)) == "typing.Unpack"
            takes.rest += [] if unpacked else [annotation]
            takes.offered += _fields_of(annotation.__args__[0]) if unpacked else []
        elif kind is not parameter.VAR_POSITIONAL:
            if kind is parameter.POSITIONAL_ONLY or parameter is by_place:
                takes.positional.append(parameter)
            if any(note is _INJECTED or note is Injected for note in getattr(annotation, "__metadata__", ())):
                takes.declared[name] = default is _REQUIRED and name not in takes.hidden
                takes.hidden.add(name)
            if name not in takes.hidden:
                takes.offered.append(_Field(name, annotation, default, texts.get(name, "")))
    first = next(iter(takes.offered), None)
    if first and first.name in ("self", "cls") and first.annotation is first.default is _REQUIRED:
        build.problems.append(f"{first.name}: is the object of a method (write instance.method, not Class.method)")
    if TOOLCALL_REASON in parameters or TOOLCALL_REASON in takes.names():
        build.problems.append(f"{TOOLCALL_REASON}: is what a model's reason is called (write another name)")
    for name in takes.injected:
        if name not in parameters and not takes.rest:
            build.problems.append(f"inject: {_shown(name)} is no parameter (there are: {_listed(parameters)})")
    return takes


# --- a function as a tool
def parameters_of(func: Callable[..., Any]) -> dict[str, Any]:
    """Give the JSON Schema of what a function takes.

    >>> def add(a: int, b: int = 1): ...
    >>> parameters_of(add)["properties"]["b"]
    {'type': 'integer', 'default': 1}
    """
    return _form_of_function(func, name=_name_of(func))[1]


def _form_of_function(func: Callable[..., Any], *, name: str, parameters: Any = None,
                      inject: Mapping[str, Any] | None = None) -> tuple[str, dict[str, Any], _Bind | None]:
    """Give (description, parameters, bind) of a function; a ToolDefinitionError says all that is wrong with it.

    bind: arguments that fit -> (args, kwargs) as the annotations promise; None where func(**arguments) is right.
    """
    build = _Builder()
    build.validated = hasattr(func, "raw_function")         # pydantic's validate_call
    holder, text = _holder_of(func)
    description, texts = parse_docstring(text)
    takes = _taken_by(func, holder, texts, inject or {}, build)
    given = _first_fit(_PARAMETERS, parameters)
    if given is None:
        raise ToolDefinitionError(f'tool "{name}": {_needs_chapter("parameters=", "parameters=")}')
    schema, read = given(parameters, takes, build)
    build.check(f'tool "{name}"')
    return description, schema, _binder(takes, read, checked=not isinstance(parameters, Mapping))


def _from_signature(nothing: None, takes: _Takes, build: _Builder) -> tuple[dict[str, Any], _Reader]:
    form = build.object_of(takes.offered, rest=takes.rest)
    return build.finish(form.schema), form.read


# what is given as `parameters=` -> (schema, reader of the arguments): a chapter knows more
_PARAMETERS: list[tuple[Callable[[Any], bool], Callable[[Any, _Takes, _Builder], tuple[dict[str, Any], _Reader]]]] = [
    (lambda given: given is None, _from_signature)]


def _binder(takes: _Takes, read: _Reader, checked: bool) -> _Bind | None:
    """Make what turns arguments into (args, kwargs); `checked`: the schema refuses names that are not taken."""
    held = {each.name: each.make_default for each in takes.offered if each.make_default}
    if not (takes.positional or takes.hidden or held) and (checked or takes.rest):
        return None if read is _as_it_is else lambda arguments: ((), read(arguments))
    known = takes.names()

    def bind(arguments: dict[str, Any], given: Mapping[str, Any] = {}) -> tuple[tuple[Any, ...], dict[str, Any]]:
        wrong = [name for name in arguments if name in takes.hidden or not (name in known or takes.rest)]
        if wrong:
            words = f"is not allowed here (there are: {_listed(known)})"
            raise _unfit(*[ValidationError(words, (name,)) for name in wrong])
        values = read(arguments)
        kwargs = {**{name: make() for name, make in held.items() if name not in values}, **values}
        lacking = [name for name, needed in takes.declared.items() if needed and name not in given]
        if lacking:
            raise ToolDefinitionError(_HAS_NO_VALUE.format(lacking[0]))
        injected = {**takes.injected, **{name: given[name] for name in takes.declared if name in given}}
        for name, value in injected.items():
            kwargs[name] = value.get() if isinstance(value, contextvars.ContextVar) else value
        last = max((place for place, each in enumerate(takes.positional) if each.name in kwargs), default=-1)
        return tuple(kwargs.pop(each.name, each.default) for each in takes.positional[:last + 1]), kwargs
    bind.__dict__["declared"] = takes.declared
    return bind


# ---------------------------------------------------------------------------
# 7. Messages: what travels
#    uses 1
# ---------------------------------------------------------------------------
@dataclass
class ToolCall:
    """What a model asks for: run the tool `name` with `arguments`.

    Text that holds a JSON object, encoded once or up to three times, becomes the dict; empty text, null and None
    become {}. Any other text stays, and the call will be answered with an error.

    >>> ToolCall("call_1", "add", '{"a": 1}').arguments
    {'a': 1}
    """

    id: str
    name: str
    arguments: dict[str, Any] | str

    def __post_init__(self) -> None:
        self.arguments = _arguments_of(self.arguments)


def _arguments_of(given: Any, wraps: int = 2) -> Any:
    """Give a dict where there is a JSON object, else the text that the error will be about."""
    if isinstance(given, str):
        try:
            value = _read_json(given, once=True)
        except ValueError:
            return given if given.strip() else {}
        if wraps and type(value) is not dict:
            value = _arguments_of(value, wraps - 1)
        return value if type(value) is dict else given
    try:                                    # copied: a tool that changes its arguments must not change a message
        return _copied(dict(given or {})) if isinstance(given, (Mapping, type(None))) else _write_json(given)
    except (TypeError, ValueError, RecursionError):
        return dict(given) if isinstance(given, Mapping) else _shown(given)


def _fault_in(text: str) -> str:
    """Say why a text is no arguments object."""
    try:
        return f"{_shown(_read_json(text, once=True))} is not an object"
    except ValueError as error:
        return str(error)


@dataclass
class ToolResult:
    """What came of one call: `content` is text for the model, `value` and `error` are for the program.

    `reason`: the call's `toolcall_reason` · `media`: what is no text; `content` has a line for each · `seconds` it took
    """

    tool_call_id: str
    name: str
    content: str
    is_error: bool = False
    reason: str | None = None
    value: Any = field(default=None, compare=False, repr=False)
    error: Exception | None = field(default=None, compare=False, repr=False)
    media: tuple[Any, ...] = ()
    seconds: float = field(default=0.0, compare=False, repr=False)


# ---------------------------------------------------------------------------
# 8. The wire: how chat completions spell tools, calls and results
#    uses 1 5 7
# ---------------------------------------------------------------------------
API_FORMATS: tuple[str, ...] = ("openai-chat",)     # the chapters of other APIs add theirs


class _Formats(dict[str, Any]):
    """Have a row for each API format; asked for another, say which there are."""

    def __missing__(self, api_format: Any) -> Any:
        cut = None if api_format in API_FORMATS else _needs_chapter(api_format)
        got = "; ".join([_shown(api_format), *filter(None, [_CALLED_HERE.get(api_format)])])
        raise ValueError(f"api_format: {cut or f'must be one of {_listed(self)} (got {got})'}")


class _Format(types.SimpleNamespace):
    """How an API spells what travels: chat completions here; the chapters of other APIs say what is otherwise."""

    parts: str | None = "tool_calls"        # where a message has its calls; None: they are items on their own
    word: Callable[[str], Any] = str        # a choice: auto, none or required
    is_call: Callable[[Any], Any] = bool    # of a part
    said: Callable[[str], list[Any]] = staticmethod(lambda text: [])        # the parts that a text is
    user: Callable[[str], dict[str, Any]] = staticmethod(lambda text: {"role": "user", "content": text})
    answers: Callable[[Any], Any] = staticmethod(           # of a message (or part): the id, or name, of the call
        lambda message: message.get("role") == "tool" and message.get("tool_call_id"))
    no_answer: Callable[[Any], Any] = staticmethod(lambda response: None)   # why there is none
    pictures: Callable[[Any], list[Any]] = staticmethod(lambda results: [])         # the messages that show images
    kept: Callable[[Any, list[Any], Any], list[Any]] = staticmethod(lambda message, translated, parts: translated)

    @staticmethod
    def names(names: list[str]) -> Any:
        """Spell the choice of one of these tools."""
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": tools}}
        return allowed if len(tools) > 1 else tools[0]

    @staticmethod
    def call(call: ToolCall) -> dict[str, Any]:
        function = {"name": _legal(call.name), "arguments": _text(call)}
        return {"id": call.id, "type": "function", "function": function}

    @staticmethod
    def again(part: dict[str, Any], call: ToolCall) -> dict[str, Any]:
        """Give a call as it came, but for what no server takes back."""
        again, function = {**part, "id": call.id, "type": part.get("type") or "function"}, part.get("function")
        if function is not None:            # else it is none of a function
            function = function if isinstance(function, dict) else {}
            arguments = function.get("arguments", "{}")
            if not isinstance(arguments, str):          # an object stays one: Ollama takes nothing else
                arguments = _object(call, kept=True)
            elif call.arguments == _CUT:
                arguments = _CUT
            again["function"] = {**function, "name": _legal(call.name), "arguments": arguments}
        return again

    @staticmethod
    def message(said: Any, parts: Any) -> list[dict[str, Any]]:
        """Give what was said as it came, with these parts, but for what no server takes back."""
        message = {"role": "", **said, "tool_calls": parts} | {"role": said.get("role") or "assistant"}
        if not parts:
            message["content"] = said.get("content") or ""      # some servers fail on null
        return [{key: value for key, value in message.items() if key == "content" or value not in (None, [])}]

    @staticmethod
    def results(results: list[ToolResult]) -> list[dict[str, Any]]:
        return [{"role": "tool", "tool_call_id": _printable(result.tool_call_id), "content": _printable(result.content),
                 **({"tool_name": _legal(result.name)} if _is_made_up(result.tool_call_id) else {})}    # Ollama
                for result in results]


_APIS: dict[str, _Format] = _Formats({"openai-chat": _Format()})
# what chapters do where this section does not go on
_CHAPTERS_DO: dict[str, Callable[..., Any]] = {}


def _by_chapter(word: str, subject: str, error: type[Exception] = TypeError) -> Callable[..., Any]:
    """Give what a chapter does; where it was cut, refuse."""
    if word not in _CHAPTERS_DO:
        raise error(str(_needs_chapter(word, subject)))
    return _CHAPTERS_DO[word]


# --- tools out
# how a tool is spelled, of (the tool, its name and description, its parameters as a plain object, strict)
_TOOL: dict[str, Callable[[Any, dict[str, Any], dict[str, Any], bool | None], dict[str, Any]]] = _Formats()
_TOOL["openai-chat"] = lambda tool, about, parameters, strict: {
    "type": "function", "function": {**about, **_parameters(tool, parameters, strict)}}
_NO_CHOICE = 'tool_choice: must be "auto", "none", "required", a tool\'s name or a list of names (got {})'
_NOT_AT_THE_ROOT = ("allOf", "anyOf", "oneOf", "not", "enum", "const")


def build_tool_schemas(tools: Iterable[Any], *, api_format: str = "openai-chat", think_augment: bool | str = False,
                       strict: bool | None = None) -> list[dict[str, Any]]:
    """Spell tools as an API wants them, in fresh copies, with what their `extra` has for it.

    `think_augment` ("first": the reason before the arguments) and `strict`: for tools whose metadata leaves them open.
    """
    spell, schemas, think_augment = _TOOL[api_format], [], _checked_think(think_augment)
    for tool in tools:
        known, parameters = tool.metadata, tool.parameters
        if "$schema" in parameters and api_format in _APIS:
            parameters = _by_chapter("$schema", '"$schema"', SchemaError)(parameters)
        parameters = _object_root(parameters, merged=api_format in _APIS)
        asked = think_augment if known.think_augment is None else known.think_augment
        if asked:
            parameters = _with_reason(parameters, first="first" in (asked, think_augment))
        in_words = tool.description or " ".join(re.findall("[^_-]+", tool.name)) or "_"     # some refuse an empty one
        spelled = spell(tool, {"name": tool.name, "description": in_words}, parameters,
                        strict if known.strict is None else known.strict)
        more = known.extra.get(api_format)
        schemas.append(_copied(_encodable({**spelled, **more} if isinstance(more, Mapping) else spelled)))
    return schemas


def _object_root(parameters: dict[str, Any], merged: bool = True) -> dict[str, Any]:
    """Give a schema with its root as the plain object that the APIs want; a call is still checked against the whole."""
    if merged:
        for word in ("$ref", "allOf", "anyOf", "oneOf"):
            if word in parameters:
                parameters = _by_chapter("branches-at-the-root", f'"{word}" at the root', SchemaError)(parameters)
        parameters = {keyword: value for keyword, value in parameters.items() if keyword not in _NOT_AT_THE_ROOT}
    return dict({"type": "object", "properties": {}, **parameters}, type="object")


def _parameters(tool: Any, parameters: dict[str, Any], strict: bool | None) -> dict[str, Any]:
    """Spell the parameters in OpenAI's words; `strict` is left out where nobody spoke of it."""
    if strict is None:
        return {"parameters": parameters}
    subject = f'tool "{tool.name}": "strict"'
    said = _by_chapter("strict", subject, ToolDefinitionError)(tool, parameters) if strict else None
    return {"parameters": said or parameters, "strict": said is not None}


def build_tool_choice(choice: str | Iterable[str], *, api_format: str = "openai-chat") -> Any:
    """Spell "auto", "none", "required" (or "any"), a tool's name or a list of names; for gemini as `toolConfig`."""
    api = _APIS[api_format]
    if choice in ("auto", "none", "required", "any"):
        return api.word("required" if choice == "any" else str(choice))
    names = [choice] if isinstance(choice, str) else list(choice) if isinstance(choice, Iterable) else []
    if not names or not all(isinstance(name, str) and _legal(name) == name for name in names):
        raise ValueError(_NO_CHOICE.format(_shown(choice)))
    return api.names(names)


# --- messages out
def build_assistant_messages(calls: Iterable[ToolCall], *, api_format: str = "openai-chat") -> list[dict[str, Any]]:
    """Spell calls as the assistant message (openai-responses: the items) that a model would have sent."""
    api = _APIS[api_format]
    spelled = [_encodable(api.call(call)) for call in calls]
    return api.message({"content": ""}, spelled) if spelled else []


def build_tool_result_messages(results: Iterable[ToolResult], *,
                               api_format: str = "openai-chat") -> list[dict[str, Any]]:
    """Spell results as the message(s) that go back to the model: one for all in anthropic and gemini."""
    results, api = list(results), _APIS[api_format]
    for result in results:
        _check_copy(result)
    return api.results(results) if results else []


_CUT = "{"                                  # stands for arguments that are not to be run: no JSON, so they never are
_AS_TEXT = "arguments_as_text"              # the key under which a history of objects keeps a text
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def _text(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else _write_json(call.arguments)


def _object(call: ToolCall, kept: bool = False) -> dict[str, Any]:
    """Give the arguments as an object; for a text {}, or one that keeps it in a history, where {} might run again."""
    return call.arguments if isinstance(call.arguments, dict) else {_AS_TEXT: call.arguments} if kept else {}


def _legal(text: str, longest: int = 64) -> str:
    """Spell a name, or an id, in the characters that all APIs take back, whatever a model made up."""
    return re.sub("[^a-zA-Z0-9_-]", "_", text)[:longest] or "_"


def _fresh_id() -> str:
    return "call_" + os.urandom(12).hex()


def _is_made_up(call_id: str) -> bool:
    return len(call_id) == 29 and re.fullmatch("call_[0-9a-f]{24}", call_id) is not None     # the length is seen sooner


# --- calls in
_MODEL_GAVE = ('the model gave {} (must be an assistant message, as {{"role": "assistant", "content": …}}; '
               "of a stream, collect_stream makes one)")


def parse_tool_calls(response: Any, *, api_format: str | None = None) -> list[ToolCall]:
    """Read the calls in an assistant message, a list of one or of calls, a response, or what an SDK or LangChain gave.

    `api_format` overrides what is recognised. A missing id is made up. TypeError for what cannot be read.
    """
    return _read_calls(response, api_format)[1]


def _read_calls(response: Any, api_format: str | None = None) -> tuple[str, list[ToolCall], Any, bool]:
    """Give (the format to answer in, the calls, the message that holds them, whether it goes on when asked again)."""
    if api_format is not None:
        _APIS[api_format]                   # raises where there is none
    message = response[0] if type(response) is list and len(response) == 1 and _at(response[0], "role") else response
    calls = _chat_calls(message)
    if calls is not None:                   # most often
        return api_format or "openai-chat", calls, message, False
    response = _on_the_wire(response)
    read = _by_chapter("other-calls", "what is no message of chat completions")
    spelled, calls, message, goes_on = read(response, api_format)
    return api_format or spelled, calls, message, goes_on


def _chat_calls(said: Any) -> list[ToolCall] | None:
    """Read the calls of an assistant message, or of its list of calls; None for what is spelled otherwise."""
    entries: Any = said.get("tool_calls") if type(said) is dict else said
    if not entries and type(said) is dict:
        in_words = said.get("role") == "assistant" and isinstance(said.get("content"), (str, type(None)))
        return [] if in_words and not any(_at(value, "name") for value in said.values()) else None
    calls = []
    try:
        for entry in entries:
            if not isinstance(entry, ToolCall):
                function = entry["function"]
                arguments = function["arguments"] if len(function) > 1 else None
                entry = _made_call(entry.get("id"), function["name"], arguments)
            calls.append(entry)
    except (AttributeError, LookupError, TypeError):
        return None
    return calls


def _made_call(call_id: Any, name: Any, arguments: Any) -> ToolCall:
    """Make a call with an id; the text that a history of objects keeps for its arguments is its arguments."""
    call = ToolCall(f"{call_id or _fresh_id()}", f"{name or ''}", arguments)
    if isinstance(call.arguments, dict) and [*call.arguments] == [_AS_TEXT]:
        call.arguments = str(call.arguments[_AS_TEXT])
    return call


def _on_the_wire(thing: Any, around: tuple[int, ...] = ()) -> Any:
    """Copy what came as JSON values whose text is UTF-8; only ToolCalls stay, and what is nested without end."""
    if isinstance(thing, str):
        return _printable(thing)
    if type(thing) in _SCALARS or isinstance(thing, ToolCall) or id(thing) in around or len(around) > 2 * MAX_DEPTH:
        return thing
    around = (*around, id(thing))
    if isinstance(thing, Mapping):
        return {_printable(str(key)): _on_the_wire(each, around) for key, each in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [_on_the_wire(each, around) for each in thing]
    _check_copy(thing)
    return _on_the_wire(_by_chapter("sdk-object", f"a {type(thing).__name__}")(thing), around)


def _encodable(value: Any) -> Any:
    """Give what goes out with text that is UTF-8, whatever surrogates a stranger or a model let stand alone."""
    try:
        return value if "\\ud" not in _write_json(value) else _on_the_wire(value)      # as which they are spelled
    except (TypeError, ValueError, RecursionError):
        return value                        # something in it is no JSON


def _at(thing: Any, key: str) -> Any:
    return thing.get(key) if isinstance(thing, dict) else None


# --- turns: what a model answered, for the history
def _read_turn(answer: Any, api_format: str) -> tuple[list[dict[str, Any]], list[ToolCall], bool]:
    """Give (the messages to append, the calls, each with an id of its own, whether it was the last) of any answer."""
    api, answer = _APIS[api_format], _on_the_wire(answer)
    if (why := api.no_answer(answer)) is not None:
        raise ToolRegError(f"the model gave no answer: {_shown(why)}")
    try:
        spelled, calls, message, goes_on = _read_calls(answer)
        empty = message == [] and _at(answer, "output") is None
        if empty or _at(message, "role") not in (None, "assistant", "model"):
            raise TypeError("no assistant message")
    except TypeError as error:
        raise TypeError(_MODEL_GAVE.format(_shown(answer))) from error
    used: set[str] = set()
    for at, call in enumerate(calls):
        calls[at] = replace(call, id=_fresh_id()) if call.id in used else call
        used.add(call.id)
    # as it came, but for what its API would not take back
    parts = _at(message, api.parts) if api.parts else message if isinstance(message, list) else [message]
    if parts and (not calls or _APIS[spelled].again is api.again):
        left = iter(calls)
        messages = api.message(message, parts if isinstance(parts, str) else [
            api.again(part, next(left)) if calls and api.is_call(part) else part for part in parts])
    elif not calls and api_format == "openai-chat" and isinstance(message, dict):
        messages = api.message(message, [])
    else:
        messages = _by_chapter("translation", "a turn of another API")(spelled, message, calls, api)
    return messages, calls, not (calls or goes_on)


# ---------------------------------------------------------------------------
# 9. Tools: a function that a model may call
#    uses 1 2 5 6 7 8
# ---------------------------------------------------------------------------
_LEGAL_NAME = r"[a-zA-Z0-9_-]{1,64}\Z"      # what all the APIs take (OpenAI "function calling", name)
_NO_FUNCTION = "is no function (a tool of LangChain: write register_from_langchain)"
_CLASS_GIVEN = "is a class (write register_from_class for its methods, or a function that makes the object)"
_NO_SCHEMA = '{} are no keywords (write {{"type": "object", "properties": {{…}}}} around them)'
_ARGUMENTS_DO_NOT_FIT = 'the arguments do not fit the parameters of "{}":\n'
_NO_OBJECT = 'the arguments of "{}" are not a JSON object: {}'


def _legal_name(wished: str, distinct: bool = False) -> str:
    """Make a legal name of any text; one that is cut, emptied or has to be `distinct` ends in the text's checksum."""
    import zlib
    if re.match(_LEGAL_NAME, wished) and not distinct:
        return wished
    name = re.sub(r"[^a-zA-Z0-9_-]+", "_", wished).strip("_")
    if not name or len(name) > 64 or distinct:
        checksum = zlib.crc32(wished.encode("utf-8", "surrogatepass")) & 0xFFFFFF
        name = f"{(name or 'tool')[:57]}_{checksum:06x}"
    return name


def _checked_name(name: Any) -> str:
    if isinstance(name, str) and _compiled(_LEGAL_NAME).match(name):
        return name
    suggestion = _legal_name(str(name))
    raise ToolDefinitionError(f"tool name: must be 1 to 64 of a-z A-Z 0-9 _ - (got {_shown(name)}; "
                              f"write name={_shown(suggestion)})", suggestion)


@dataclass(frozen=True)
class ToolMetadata:
    """What is known of a tool besides its schema.

    `think_augment`: ask for a reason, "first": before all else (None: as the registry says) · `timeout`: seconds ·
    `parallel`: False keeps it on the caller's thread · `strict`: OpenAI's strict mode (None: as get_schemas says) ·
    `source`: where it comes from · `extra`: yours; what it has under an api_format is sent there.
    """

    think_augment: bool | str | None = None
    timeout: float | None = None
    parallel: bool = True
    strict: bool | None = None
    tags: Iterable[str] = frozenset()       # for get_schemas(tags=…): any iterable or one text; kept as a frozenset
    source: str = "python"
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _checked_think(self.think_augment)
        object.__setattr__(self, "tags", frozenset([self.tags] if isinstance(self.tags, str) else self.tags))
        if self.timeout is not None:
            _by_chapter("timeout", "", ToolDefinitionError)(self)


class _Extended:
    """A class whose methods are in part of chapters: one that was cut is refused with the chapter's name."""

    if not typing.TYPE_CHECKING:            # on purpose hidden from checkers, which then find misspelt names
        def __getattr__(self, name):
            raise _missing(name, f"a {type(self).__name__}")


def _is_async(func: Any) -> bool:
    """Tell whether a function may be called on an event loop; what it gives decides whether to await."""
    return any(test(each) for each in (func, type(func).__call__)
               for test in (inspect.iscoroutinefunction, inspect.isasyncgenfunction))


@dataclass(frozen=True, eq=False, repr=False)
class Tool(_Extended):
    """A function that a model may call, and what the model has to know of it.

    `parameters` is any JSON Schema of an object; `func` gets the arguments as keywords, unless `bind` says
    otherwise: it turns arguments that fit into (args, kwargs). Calling the tool calls the plain function.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    func: Callable[..., Any]
    metadata: ToolMetadata = ToolMetadata()
    bind: Callable[..., tuple[tuple[Any, ...], dict[str, Any]]] | None = None
    arun: ClassVar[Callable[..., Awaitable[Any]]]       # mounted by the chapter async

    def __post_init__(self, is_foreign: bool = True) -> None:
        _checked_name(self.name)
        subject = f'tool "{self.name}": '
        for part, what, fits in (("parameters", "a JSON Schema as a dict", isinstance(self.parameters, dict)),
                                 ("func", "callable", callable(self.func)),
                                 ("description", "text", isinstance(self.description, str)),
                                 ("metadata", "a ToolMetadata", isinstance(self.metadata, ToolMetadata))):
            if not fits:
                raise ToolDefinitionError(f"{subject}{part} must be {what} (got {_shown(getattr(self, part))})")
        if "await" not in _CHAPTERS_DO and self._is_async:
            raise ToolDefinitionError(f"{subject}{_needs_chapter('await')}")
        if is_foreign:
            self._take_schema(self.parameters, f"{subject}parameters")
        if self.metadata.strict:
            _by_chapter("strict=True", f"{subject}strict=True", ToolDefinitionError)(self)

    def _take_schema(self, given: dict[str, Any], subject: str) -> None:
        """Refuse what is no JSON Schema, and share it with nobody."""
        if given and "properties" not in given and not list(_subschemas(given)) and all(
                isinstance(value, dict) for value in given.values()):
            raise ToolDefinitionError(f"{subject}: {_NO_SCHEMA.format(_listed(given))}")
        try:
            self.__dict__["parameters"] = _copied(given)
            _object_root(self._validator.schema)    # refused where a chapter has to say it
        except ValueError as error:
            raise ToolDefinitionError(f"{subject}: {error}") from None

    @classmethod
    def from_function(cls, func: Callable[..., Any], *, name: str | None = None, description: str | None = None,
                      parameters: Any = None, metadata: ToolMetadata | None = None,
                      inject: Mapping[str, Any] | None = None) -> Tool:
        """Make a tool of a function: what is not given is read from its signature and docstring.

        `parameters`: a JSON Schema (the contract), or a dataclass, TypedDict or pydantic model whose fields
        the function takes. `inject`: parameter -> value or ContextVar; the model never sees those.
        """
        _check_copy(func)
        if isinstance(func, type) or not callable(func):
            fault = _CLASS_GIVEN if isinstance(func, type) else _NO_FUNCTION
            raise ToolDefinitionError(f"{getattr(func, '__name__', _shown(func))}: {fault}")
        name = _checked_name(_name_of(func) if name is None else name)
        if inject is not None and not isinstance(inject, Mapping):
            raise ToolDefinitionError(f'tool "{name}": inject must be a dict of values (got {_shown(inject)})')
        documented, schema, bind = _form_of_function(func, name=name, parameters=parameters, inject=inject)
        tool = object.__new__(cls)          # on purpose past __init__: a schema of our own needs no check
        tool.__dict__.update(
            name=name, description=documented if description is None else description, parameters=schema, func=func,
            metadata=ToolMetadata() if metadata is None else metadata, bind=bind)
        tool.__post_init__(is_foreign=parameters is not None)
        return tool

    # each when it is first asked for: most tools wait for a call in vain
    _validator = functools.cached_property(lambda self: Validator(self.parameters))
    _fits = functools.cached_property(lambda self: self._validator.check_for(dict))
    _is_async = functools.cached_property(lambda self: _is_async(self.func))
    _is_flat = functools.cached_property(lambda self: _is_flat(self.parameters))
    _declared = functools.cached_property(lambda self: getattr(self.bind, "declared", {}))      # what is Injected

    def __repr__(self) -> str:
        return f"<Tool {self.name}: {_shown(self.description)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function by the rules of Python."""
        return self.func(*args, **kwargs)

    def run(self, arguments: dict[str, Any] | str, *, coerce: bool = True) -> Any:
        """Strip the reason, validate, convert, call; raise what goes wrong. An async function is waited for."""
        fitting, _ = self._fitting(ToolCall("", self.name, arguments).arguments, coerce)
        args, kwargs = self._bound(fitting)
        return _finished(self.func(*args, **kwargs))

    def get_schema(self, api_format: str = "openai-chat", *, think_augment: bool | str | None = None,
                   strict: bool | None = None) -> dict[str, Any]:
        """Give the tool as an API wants it; `think_augment` overrides the metadata where it is given."""
        tool = self if think_augment is None else replace(self, metadata=replace(self.metadata,
                                                                                 think_augment=think_augment))
        return build_tool_schemas([tool], api_format=api_format, strict=strict)[0]

    def _fitting(self, arguments: Any, coerce: bool) -> tuple[dict[str, Any], str | None]:
        """Give (arguments that fit the schema, the reason), or raise a ToolArgumentError with all that is wrong."""
        reason = None
        if not isinstance(arguments, dict):
            raise ToolArgumentError(_NO_OBJECT.format(self.name, _fault_in(arguments)))
        if TOOLCALL_REASON in arguments:
            arguments, reason = _split_reason(arguments, _declares_reason(_object_root(self.parameters)))
        if not self._fits(arguments):
            arguments = self._validator.nearest(arguments) if coerce else arguments
            errors = list(self._validator.iter_errors(arguments))
            if errors:
                raise _misfit(self.name, errors)
        return arguments if self._is_flat else _copied(arguments), reason

    def _bound(self, arguments: dict[str, Any], given: Mapping[str, Any] = {}, call_id: str = "") -> Any:
        """Turn arguments that fit into the (args, kwargs) of the function, with what a registry injects."""
        if self.bind is None:
            return (), arguments
        more = [{**given, _CALL_ID: call_id}] if self._declared else []
        try:
            return self.bind(arguments, *more)
        except ToolArgumentError as error:
            raise (_misfit(self.name, error.errors) if error.errors else error) from None


def _is_flat(parameters: dict[str, Any]) -> bool:
    """Tell whether all arguments are plainly scalars: a list or an object a function could change in the call, too."""
    taken = [*parameters.get("properties", {}).values(), parameters.get("additionalProperties", True)]
    plain = [each is False or isinstance(each, dict) and each.get("type") in _SCALARS.values() for each in taken]
    return all(plain) and "patternProperties" not in parameters


def _misfit(name: str, errors: list[ValidationError]) -> ToolArgumentError:
    lines = [f"- {error}" for error in errors]
    lines[SHOWN_NAMES:] = [f"- and {len(lines) - SHOWN_NAMES} more"] if len(lines) > SHOWN_NAMES else []
    return ToolArgumentError(_ARGUMENTS_DO_NOT_FIT.format(name) + "\n".join(lines), errors)


# --- calling: whether to wait is decided by what the function gave, not by how it looks
_AT_HAND = frozenset({*_SCALARS, dict, list, tuple})        # types of values that nothing has to be waited for


def _finished(value: Any) -> Any:
    """Give what a function's value comes to: the list of what an iterator gives, what an awaitable ends in."""
    if isinstance(value, Iterator):
        return list(value)
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        return _by_chapter("await", 'what the function gave has to be awaited: "await"', ToolRegError)(value)
    return value


# ---------------------------------------------------------------------------
# 10. Registry: names to tools, calls to results
#    uses 1 3 5 7 8 9
# ---------------------------------------------------------------------------
# what the model reads when a call comes to nothing, by the step that failed; the first type that matches counts
_REFUSED: dict[type, str] = {
    ToolNotFoundError: "Error: {error}\nCall a tool that there is, or answer without one.",
    ToolArgumentError: "Error: {error}\nFix the arguments and call the tool again.",
    Exception: 'Error: the tool "{name}" cannot be called now.\nGo on without it.',     # why is the program's affair
}
_DENIED: dict[type, str] = {
    ToolError: "{error}",
    Exception: 'Error: the call of "{name}" was not allowed: {text}\nDo not repeat it as it is.',
}
_FAILED: dict[type, str] = {
    ToolError: "{error}",
    ToolTimeoutError: "Error: {error}\nAsk for less at once, or go on without it.",
    Exception: 'Error: the tool "{name}" failed: {text}\n'
               "If the arguments are the cause, change them; else go on without it.",
}
_CUT_RESULT = "{}\n[cut here: {} more characters]"
_NOT_INJECTED = ('tool "{0}": {1} is in inject=, but the model sets it (write {1}: Injected[...] in the function)')
_STRICT_NEEDS_COERCE = "strict mode spells what is left out as null, which only coerce=True reads back"
_NO_MEDIA = frozenset({*_SCALARS, dict})    # types of values that are no Media and hold none
_OPTIONS = ("think_augment", "coerce", "max_workers", "executor", "max_result", "before_call", "after_call")
_clock = time.perf_counter


# --- the calls of one turn at the same time
IDLE_SECONDS = 5.0                          # how long a thread waits for its next call
_WORKERS: dict[int, list[Any]] = {}         # process -> queues of the threads that wait; a forked child has none yet


class _Outcome:
    """What a call came to, on its way between threads, loops or processes, where not every exception could travel."""

    def __init__(self, value: Any, error: BaseException | None = None) -> None:
        self.value, self.error = value, error

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def _caught(func: Callable[..., Any], *args: Any) -> _Outcome:
    try:
        return _Outcome(func(*args))
    except BaseException as error:          # on purpose: it is raised again on the thread that waits
        return _Outcome(None, error)


def _on_daemon(func: Callable[..., Any], *args: Any) -> Any:
    """Call on a daemon thread, or here where there are no threads; give the future of the _Outcome.

    One that hangs cannot be killed, but it keeps no program from ending.
    """
    import concurrent.futures
    import queue
    import threading
    future: concurrent.futures.Future[_Outcome] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    waiting = _WORKERS.setdefault(os.getpid(), [])
    try:
        jobs = waiting.pop()
    except IndexError:
        jobs = queue.SimpleQueue()
        try:
            threading.Thread(target=_serve_calls, args=(jobs, waiting), name="toolreg-worker", daemon=True).start()
        except RuntimeError:
            future.set_result(_caught(func, *args))
    jobs.put((future, func, args))
    return future


def _serve_calls(jobs: Any, waiting: list[Any]) -> None:
    """Run the calls that come; end when none came for a while."""
    import queue
    while True:
        try:
            future, func, args = jobs.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with contextlib.suppress(ValueError):       # where it is not in the list, a job is on its way
                waiting.remove(jobs)
                return
            continue
        outcome = _caught(func, *args)
        waiting.append(jobs)                # before the result is given: who waits for it may have the next call
        future.set_result(outcome)
        del future, func, args, outcome     # a thread that waits keeps nothing alive


def _stays(self: ToolRegistry, call: ToolCall, workers: int) -> bool:
    """Tell whether a call runs here, one after the other, and not beside others."""
    tool = self._tools.get(call.name)
    return workers == 1 or tool is None or not tool.metadata.parallel


def _execute_at_once(self: ToolRegistry, calls: list[ToolCall], workers: int, executor: Any,
                     results: list[Any]) -> None:
    """Run calls on threads, and here, one after the other, those that must not be moved."""
    import queue
    here, beside = deque[Any](), deque[Any]()
    for job in enumerate(calls):
        (here if _stays(self, job[1], workers) else beside).append(job)
    done: Any = queue.SimpleQueue()

    def answer(place: int, call: ToolCall) -> None:
        results[place] = contextvars.copy_context().run(self._execute_one, call, executor)

    def work() -> None:
        while beside:                       # an IndexError, where another was faster, is the end, too
            outcome = _caught(answer, *beside.popleft())
            if outcome.error is not None:
                beside.clear()              # at once: who waits may be busy with a call of its own
            done.put(outcome)
    try:
        for _ in range(min(workers, len(beside))):
            _on_daemon(contextvars.copy_context().run, work)
        for job in here:
            answer(*job)
        for _ in range(len(calls) - len(here)):
            done.get().get()
    finally:
        beside.clear()


class ToolRegistry(_Extended):
    """Tools by name: shows their schemas to a model and answers its calls, one result per call.

    `think_augment`: ask for a reason · `coerce`: mend what models often misspell ("3" for 3) · `max_workers`: calls of
    one turn at once · `executor`: a concurrent.futures.Executor for the functions · `inject`: parameter -> value or
    ContextVar, for every tool that declares it Injected · `max_result`: characters of a result, at most ·
    `before_call(call, reason)`: sees what is about to run, and may raise to deny · `after_call(call, result)`: what it
    raises ends the turn.
    """

    register_from_class: ClassVar[Callable[..., list[Tool]]]            # mounted by chapters, like all of these
    register_from_langchain: ClassVar[Callable[..., list[Tool]]]
    register_from_openapi: ClassVar[Callable[..., list[Tool]]]
    register_from_mcp: ClassVar[Callable[..., list[Tool]]]
    ainvoke: ClassVar[Callable[..., Awaitable[ToolResult]]]
    aexecute_tool_calls: ClassVar[Callable[..., Awaitable[list[ToolResult]]]]
    arespond: ClassVar[Callable[..., Awaitable[list[dict[str, Any]]]]]

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = (), *, think_augment: bool | str = False,
                 coerce: bool = True, max_workers: int = 32, executor: Any = None,
                 inject: Mapping[str, Any] | None = None, max_result: int | None = None,
                 before_call: Callable[[ToolCall, str | None], Any] | None = None,
                 after_call: Callable[[ToolCall, ToolResult], Any] | None = None) -> None:
        if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
            raise TypeError(f"tools: must be functions or Tools; a registry has no name (got {_shown(tools)})")
        for option, given, what, fits in (("before_call", before_call, "callable", callable(before_call)),
                                          ("after_call", after_call, "callable", callable(after_call)),
                                          ("inject", inject, "a dict of values", isinstance(inject, Mapping))):
            if given is not None and not fits:
                raise TypeError(f"{option}: must be {what} (got {_shown(given)})")
        self.think_augment, self.coerce, self.inject = _checked_think(think_augment), coerce, dict(inject or {})
        self.max_workers, self.executor = _checked_count("max_workers", max_workers), _checked_executor(executor)
        self.max_result = _checked_count("max_result", max_result, None)
        self.before_call, self.after_call = before_call, after_call
        self._tools: dict[str, Tool] = {}
        self._disabled: dict[str, str] = {}
        self._spelled: list[Any] = [(None, [])]         # the last schemas, also of copies: they have the same tools
        self.register_all(tools)

    def copy(self, **options: Any) -> ToolRegistry:
        """Give a registry for one run: the same tools, other options of `ToolRegistry`; `inject` is added to ours."""
        ours = {name: vars(self)[name] for name in _OPTIONS}
        options = {**ours, **options, "inject": {**self.inject, **(options.get("inject") or {})}}
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        ToolRegistry.__init__(made, self, **options)
        made._disabled, made._spelled = dict(self._disabled), self._spelled
        return made

    # --- which tools there are
    @typing.overload
    def register(self, tool: _T, /, *, name: str | None = None, description: str | None = None, parameters: Any = None,
                 namespace: str | None = None, metadata: ToolMetadata | None = None,
                 inject: Mapping[str, Any] | None = None, replace: bool = False) -> _T: ...

    @typing.overload
    def register(self, /, *, name: str | None = None, description: str | None = None, parameters: Any = None,
                 namespace: str | None = None, metadata: ToolMetadata | None = None,
                 inject: Mapping[str, Any] | None = None, replace: bool = False) -> Callable[[_T], _T]: ...

    def register(self, tool: Any = inspect.Parameter.empty, /, *, name: str | None = None,
                 description: str | None = None, parameters: Any = None, namespace: str | None = None,
                 metadata: ToolMetadata | None = None, inject: Mapping[str, Any] | None = None,
                 replace: bool = False) -> Any:
        """Add a function or a Tool, and give it back as it was; without one, be a decorator.

        The options are those of Tool.from_function; of a Tool, its name and metadata.
        """
        options = {"name": name, "description": description, "parameters": parameters, "metadata": metadata,
                   "inject": inject}
        if tool is inspect.Parameter.empty:
            return functools.partial(self.register, namespace=namespace, replace=replace, **options)
        made = _renamed(tool, **options) if isinstance(tool, Tool) else Tool.from_function(tool, **options)
        self.register_all([made], namespace=namespace, replace=replace)
        return tool

    def register_all(self, tools: Iterable[Tool | Callable[..., Any]], *, namespace: str | None = None,
                     replace: bool = False) -> None:
        """Add Tools and functions, all or none; a name that is taken is refused unless `replace`."""
        import warnings
        added: dict[str, Tool] = {}
        taken = []
        for each in tools:
            tool = each if isinstance(each, Tool) else Tool.from_function(each)
            tool = tool if namespace is None else _renamed(tool, name=_in_namespace(namespace, tool.name))
            if tool.name in added or (tool.name in self._tools and not replace):
                taken.append(tool.name)
            if not self.coerce and tool.metadata.strict:
                raise ToolDefinitionError(f'tool "{tool.name}": {_STRICT_NEEDS_COERCE}')
            for name in self.inject.keys() & tool.parameters.get("properties", {}).keys():
                if tool.metadata.source in ("python", "class"):
                    warnings.warn(_NOT_INJECTED.format(tool.name, name), ToolRegWarning, stacklevel=4)
            added[tool.name] = tool
        if taken:
            raise ToolDefinitionError(f"already registered: {_listed(taken)} (write replace=True, or a namespace)")
        self._tools.update(added)
        self._disabled = {name: why for name, why in self._disabled.copy().items() if name not in added}

    def unregister(self, name: str) -> Tool:
        """Remove a tool and give it back."""
        self.enable(name)
        return self._tools.pop(name)

    def merge(self, other: ToolRegistry, *, namespace: str | None = None, replace: bool = False) -> None:
        """Add the tools of another registry, which stays as it is; what is disabled there is disabled here."""
        self.register_all(other, namespace=namespace, replace=replace)
        self._disabled.update({_in_namespace(namespace, name): why for name, why in other._disabled.items()})

    def enable(self, name: str) -> None:
        """Offer a disabled tool again."""
        self._disabled.pop(self[name].name, None)

    def disable(self, name: str, reason: str = "") -> None:
        """Take a tool out of get_schemas and answer its calls with an error; it is still counted and listed."""
        self._disabled[self[name].name] = reason

    def enable_think_augment(self, place: bool | str = True) -> None:
        """Ask the model for its reason, from now on; "first": before it fills in the arguments."""
        self.think_augment = _checked_think(place)

    def disable_think_augment(self) -> None:
        """Ask for reasons no more; one that comes all the same is still stripped and kept."""
        self.think_augment = False

    def get_tool(self, name: str) -> Tool | None:
        """Give the tool of this name, or None."""
        return self._tools.get(name)

    def get_callable(self, name: str) -> Callable[..., Any]:
        """Give the plain function of a tool."""
        return self[name].func

    def list_tools(self) -> list[str]:
        """Give the names of all tools in the order of registration."""
        return list(self._tools)

    def __getitem__(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise self._absence(name)
        return tool

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __bool__(self) -> bool:             # on purpose: `registry or ToolRegistry()` must not drop an empty one
        return True

    def __repr__(self) -> str:
        return f"<ToolRegistry: {_listed(self._tools) or 'no tools'}>"

    def get_schemas(self, name: str | None = None, *, api_format: str = "openai-chat",
                    tags: Iterable[str] | None = None, strict: bool | None = None) -> list[dict[str, Any]]:
        """Give the schemas of the enabled tools (or of one, or those with one of the `tags`) as an API wants them."""
        if strict and not self.coerce:
            raise ToolDefinitionError(_STRICT_NEEDS_COERCE)
        wanted = None if tags is None else frozenset([tags] if isinstance(tags, str) else tags)
        tools = [tool for tool in (self._offered() if name is None else [self[name]])
                 if tool.name not in self._disabled and (wanted is None or wanted.intersection(tool.metadata.tags))]
        asked, (known, spelled) = (tools, api_format, self.think_augment, strict), self._spelled[0]
        if asked != known:                  # else it is as in the turn before
            spelled = build_tool_schemas(tools, api_format=api_format, think_augment=self.think_augment, strict=strict)
            self._spelled[0] = asked, spelled       # at once: another thread may do the same
        return [_copied(schema) for schema in spelled]

    def _offered(self) -> list[Tool]:
        return [tool for tool in self if tool.name not in self._disabled]

    # --- one call
    def invoke(self, call: ToolCall | Mapping[str, Any] | str, arguments: Any = None) -> ToolResult:
        """Answer one call: a ToolCall, a wire dict, or a name with its arguments. A tool's failure is a result too."""
        return self._execute([_one_call(call, arguments)])[0]

    def _execute_one(self, call: ToolCall, executor: Any) -> ToolResult:
        """Take one call from the look-up to its result: exactly one, whatever happens."""
        started, reason, texts = _clock(), None, _REFUSED       # texts: for the model, where a step fails
        try:
            # 1. which tool, and do the arguments fit, without the reason?
            tool = self._tools.get(call.name)
            if tool is None or call.name in self._disabled:
                raise self._absence(call.name)
            arguments, reason = tool._fitting(call.arguments, self.coerce)
            # 2. may it run? the hooks see exactly what is going to
            if self.before_call is not None or self.after_call is not None:
                call = ToolCall(call.id, call.name, arguments)
            if self.before_call is not None:
                texts = _DENIED
                _finished(self.before_call(call, reason))
                texts = _REFUSED
            # 3. arguments become what the function takes
            args, kwargs = ((), arguments) if tool.bind is None else tool._bound(arguments, self.inject, call.id)
            # 4. it runs
            texts = _FAILED
            if executor is None and tool.metadata.timeout is None:
                value = tool.func(*args, **kwargs)
                value = value if type(value) in _AT_HAND else _finished(value)
            else:
                value = _CHAPTERS_DO["elsewhere"](tool, args, kwargs, executor)
            # 5. what it gave is spelled
            result = self._success(call, reason, value, started)
        except BaseException as error:
            result = self._failure(call, reason, error, texts, started)
        if self.after_call is not None:
            _finished(self.after_call(call, result))
        return result

    def _absence(self, name: Any) -> ToolNotFoundError:
        """Say that there is no such tool, or that it is disabled, and list the enabled ones, the most similar first."""
        text = f'the tool "{name}" is not offered' if name in self else f"there is no tool {_shown(name)}"
        if name in self._disabled:
            text = f'the tool "{name}" is disabled' + f" ({self._disabled[name]})".replace(" ()", "")
        others = [each for each in self.list_tools() if each not in self._disabled and each != name]
        there_are = _listed(_nearest_first(str(name)[:64], others))
        return ToolNotFoundError(f"{text} (there are: {there_are})" if others else f"{text} (there are none)")

    def _success(self, call: ToolCall, reason: str | None, value: Any, started: float) -> ToolResult:
        """Spell for the model what a function gave."""
        read = _CHAPTERS_DO.get("Media") if type(value) not in _NO_MEDIA else None
        content, value, media = read(value) if read else (_content_of(value), value, ())
        content = content if self.max_result is None else self._cut(content)
        return ToolResult(call.id, call.name, content, False, reason, value, None, media, _clock() - started)

    def _failure(self, call: ToolCall, reason: str | None, error: BaseException, texts: dict[type, str],
                 started: float) -> ToolResult:
        """Spell for the model what went wrong, and what to do; what ends more than a call is raised."""
        if type(error).__name__ == "CancelledError":        # that the tool made: it is its error
            error = ToolRegError(_error_text(error))
        if not isinstance(error, Exception):
            raise error
        if reason is None and isinstance(call.arguments, dict):     # which did not fit
            _, reason = _split_reason(call.arguments, declared=True)
        kind, words = next(row for row in texts.items() if isinstance(error, row[0]))
        if kind is Exception and texts is not _DENIED:
            _log_failure(call.name, error)
        content = words.format(name=call.name, text=_error_text(error), error=_words_of(error) or type(error).__name__)
        return ToolResult(call.id, call.name, self._cut(_printable(content)), True, reason, None, error, (),
                          _clock() - started)

    def _cut(self, content: str) -> str:
        missing = len(content) - (self.max_result or len(content))
        return _CUT_RESULT.format(content[:self.max_result], missing) if missing > 0 else content

    # --- the calls of one turn
    def execute_tool_calls(self, calls: Any, *, api_format: str | None = None, max_workers: int | None = None,
                           executor: Any = None) -> list[ToolResult]:
        """Answer the calls of one turn: one result per call, in order, whatever happens to each.

        Several run at once, on threads; those with parallel=False here. What is no Exception (Ctrl-C, SystemExit)
        passes through at once and carries `.results`: a ToolResult or None per call.
        """
        return self._execute(parse_tool_calls(calls, api_format=api_format),
                             _checked_count("max_workers", max_workers, None), _checked_executor(executor))

    def _execute(self, calls: list[ToolCall], workers: int | None = None, executor: Any = None) -> list[ToolResult]:
        """Answer calls that were read already."""
        results: list[Any] = [None] * len(calls)
        executor = self.executor if executor is None else executor
        try:
            if len(calls) == 1:
                results[0] = contextvars.copy_context().run(self._execute_one, calls[0], executor)
            else:
                _execute_at_once(self, calls, workers or self.max_workers, executor, results)
        except BaseException as error:
            raise _carrying(error, results=results)  # noqa: B904 (mostly the same)
        return results

    # --- the routing step as a whole
    def build_tool_call_messages(self, calls: Any, results: Iterable[ToolResult], *,
                                 api_format: str = "openai-chat") -> list[dict[str, Any]]:
        """Give the assistant message of these calls and the tool messages of these results."""
        return [*build_assistant_messages(parse_tool_calls(calls), api_format=api_format),
                *build_tool_result_messages(results, api_format=api_format)]

    def respond(self, response: Any, *, api_format: str | None = None) -> list[dict[str, Any]]:
        """Run the calls in an assistant message and give the tool messages, spelled as the message is."""
        api_format, calls, _, _ = _read_calls(response, api_format)
        results = self._execute(calls)
        return _APIS[api_format].results(results) if results else []


def _checked_count(option: str, count: Any, *others: Any) -> Any:
    if count not in others and (type(count) is not int or count < 1):
        raise ValueError(f"{option}: must be a whole number above 0 (got {_shown(count)})")
    return count


def _checked_executor(executor: Any) -> Any:
    return executor and _by_chapter("executor", "", ToolDefinitionError)(executor)


def _log_failure(name: str, error: Exception) -> None:
    import logging
    with contextlib.suppress(Exception):    # of who handles the log, or of the exception's attributes
        logging.getLogger(__name__).warning('the tool "%s" failed', name, exc_info=error)


def _carrying(error: BaseException, **done: list[Any]) -> BaseException:
    """Let what ends a turn or a run carry what was done; what a turn within a single call did stays."""
    if isinstance(error, StopIteration):    # which would end a generator without a word
        error = RuntimeError("a hook or a model raised StopIteration")
    with contextlib.suppress(Exception):    # some take no attributes
        kept = error.__dict__
        kept.update({name: what for name, what in done.items() if len(what) > 1 or name not in kept})
    return error


def _nearest_first(name: str, names: list[str]) -> list[str]:
    """Sort names by likeness: by how many of all their pairs of letters they share."""
    def likeness(each: str) -> float:
        wanted, pairs = (set(map("".join, itertools.pairwise(text.lower()))) for text in (name, each))
        return len(wanted & pairs) / (len(wanted | pairs) or 1)
    return sorted(names, key=likeness, reverse=True)


def _in_namespace(namespace: str | None, name: str) -> str:
    if not isinstance(namespace, (str, type(None))):
        raise TypeError(f"namespace: must be text (got {_shown(namespace)})")
    return name if namespace is None else f"{namespace}-{name}"


def _renamed(tool: Tool, **options: Any) -> Tool:
    """Give a Tool with another name or metadata; its schema and text are its own."""
    given = {key: value for key, value in options.items() if value is not None and value != getattr(tool, key, None)}
    if given.keys() - {"name", "metadata"}:
        raise TypeError(f'tool "{tool.name}": only its name and metadata can be changed here (got {_listed(given)}; '
                        "write dataclasses.replace(tool, …), or register the function)")
    return replace(tool, **given) if given else tool


def _one_call(call: Any, arguments: Any) -> ToolCall:
    if isinstance(call, str):
        return ToolCall(_fresh_id(), call, arguments)
    calls = parse_tool_calls([call]) if arguments is None else []
    if len(calls) != 1:
        raise TypeError(f"call: must be one call, or a name and its arguments (got {_shown(call)})")
    return calls[0]


def _content_of(value: Any) -> str:
    """Spell a result for the model: text as it is, everything else as JSON."""
    if type(value) is str:
        return _printable(value)
    try:
        if _is_json(value):
            return _write_json(value)
    except (ValueError, RecursionError):    # NaN, or a value within itself
        pass
    spelled = to_json(value)
    return spelled if isinstance(spelled, str) else _write_json(spelled)


def _is_json(value: Any) -> bool:
    """Tell whether a value needs no to_json."""
    if type(value) is dict:
        if [key for key in value if type(key) is not str]:
            return False
        value = [*value.values()]
    if type(value) is list:
        return not [item for item in value if type(item) not in _SCALARS and not _is_json(item)]
    return type(value) in _SCALARS


# ---------------------------------------------------------------------------
# 11. The loop: the message flow
#    uses 1 6 7 8 9 10
# ---------------------------------------------------------------------------
_NOT_NOW = "Error: no tool was to be called now.\nAnswer without one."
_OTHER_TOOL = 'Error: only the tool "{}" was to be called now.\nCall that one.'
_TURNS_ARE_UP = "the model still called tools in turn {} (raise max_turns, or see .messages)"
_MAY_RUN: dict[str, list[str] | None] = {"auto": None, "required": None, "any": None, "none": []}   # None: any tool

Messages = str | list[dict[str, Any]]
Model = typing.Callable[..., Any]              # model(messages=, tools=, tool_choice=) -> assistant message


def agent_loop(model: Model, messages: Messages, registry: ToolRegistry, *, max_turns: int = 10,
               tool_choice: str | list[str] = "auto", api_format: str | None = None) -> Iterator[dict[str, Any]]:
    """Let a model and its tools talk until it answers without a call; yield every new message.

    `model`: any callable(messages=, tools=, tool_choice=) that gives an assistant message (a dict or an SDK's object);
    tools and tool_choice come in the wire shape, and are left out where there are no tools; where it has a true
    `sees_images`, chat completions show it the images of results in a user message after them. A turn is one
    call of the model and the tool calls in its answer. `tool_choice`: "auto", "none", "required", a tool's name or
    a list of names; all but the first two hold until a call fitted. `api_format`: the model's own, else openai-chat.
    Messages that end in unanswered calls are resumed: these run first (again, where a process died in them), so
    check what a client sends. Still calling after `max_turns`: MaxTurnsExceeded; whatever ends it carries `.messages`.
    """
    return _turns(_Run(model, messages, registry, max_turns, tool_choice, api_format))


def run_agent(model: Model, messages: Messages, registry: ToolRegistry, *, max_turns: int = 10,
              tool_choice: str | list[str] = "auto", api_format: str | None = None) -> list[dict[str, Any]]:
    """Run agent_loop to its end; give a copy of the messages with everything appended."""
    run = _Run(model, messages, registry, max_turns, tool_choice, api_format)
    deque(_turns(run), maxlen=0)
    return run.history


def _turns(run: _Run) -> Iterator[dict[str, Any]]:
    in_context, execute = run.context.run, run.registry._execute        # that of the caller, whoever takes what is new
    try:
        # 0. go on where the messages end in calls without results
        waiting, append = run.waiting()
        yield from append(in_context(execute, waiting))
        for _ in range(run.max_turns):
            # 1. ask the model, and append what it says
            answer = in_context(lambda: _finished(run.model(**run.request())))
            said, calls, is_last = _read_turn(answer, run.api_format)
            run.history += said
            yield from said
            # 2. no calls? then this was its answer
            if is_last:
                return
            # 3. run the calls, each exactly once, and append the results
            results = in_context(execute, run.allowed(calls))
            yield from run.append_results(run.all_results(calls, results))
        raise MaxTurnsExceeded(_TURNS_ARE_UP.format(run.max_turns), run.history)
    except BaseException as error:
        raise _carrying(error, messages=list(run.history))  # noqa: B904 (mostly the same)


class _Run:
    """What a loop keeps from turn to turn: the history, and which tools the model is to call."""

    def __init__(self, model: Any, messages: Messages, registry: Any, max_turns: Any, choice: Any,
                 api_format: str | None) -> None:
        """Refuse what cannot run, before the model is asked."""
        if not callable(model):
            raise TypeError(f"model: must be callable, as model(messages=, tools=, tool_choice=) (got {_shown(model)})")
        if not isinstance(registry, ToolRegistry):
            raise TypeError(f"registry: must be a ToolRegistry, as ToolRegistry([function]) (got {_shown(registry)})")
        self.model, self.registry, self.context = model, registry, contextvars.copy_context()
        self.max_turns = _checked_count("max_turns", max_turns)
        self.api_format: str = api_format or getattr(model, "api_format", None) or "openai-chat"
        self.api = _APIS[self.api_format]
        given: Any = [self.api.user(messages)] if isinstance(messages, str) else messages
        self.history = [_as_given(message) for message in (given if isinstance(given, Iterable) else [None])]
        if not all(isinstance(message, dict) for message in self.history):
            raise TypeError(f"messages: must be a list, as [message], or a text (got {_shown(messages)})")
        self.ask_for(choice)
        offered = [tool.name for tool in registry._offered()]
        for name in self.names or ():
            if name not in offered:
                raise registry._absence(name)
        for tool in registry:
            for name, is_needed in tool._declared.items():
                if is_needed and name not in registry.inject and tool.name not in registry._disabled:
                    raise ToolDefinitionError(f'tool "{tool.name}": {_HAS_NO_VALUE.format(name)}')

    def ask_for(self, choice: Any) -> None:
        """Set what the model is told to call: `names` are the only tools that may run, None is any."""
        build_tool_choice(choice, api_format=self.api_format)       # refuses what is no choice
        names = [choice] if isinstance(choice, str) else list(choice)
        self.names = _MAY_RUN.get(choice, names) if isinstance(choice, str) else names
        self.choice = names[0] if len(names) == 1 else "required"

    def request(self) -> dict[str, Any]:
        """Give the keywords with which the model is asked."""
        asked: dict[str, Any] = {"messages": list(self.history)}
        if tools := self.registry.get_schemas(api_format=self.api_format):
            asked.update(tools=tools, tool_choice=build_tool_choice(self.choice, api_format=self.api_format))
        return asked

    def allowed(self, calls: list[ToolCall]) -> list[ToolCall]:
        return [call for call in calls if self.names is None or call.name in self.names]

    def all_results(self, calls: list[ToolCall], results: list[ToolResult]) -> list[ToolResult]:
        """Give one result for each call, in order: what was not asked for did not run, and is told so."""
        text, ran = _OTHER_TOOL.format('" or "'.join(self.names)) if self.names else _NOT_NOW, iter(results)
        every = [next(ran) if self.allowed([call]) else ToolResult(
            call.id, call.name, text, True, error=ToolError(text)) for call in calls]
        if not all(isinstance(result.error, (ToolArgumentError, ToolNotFoundError)) for result in results):
            self.ask_for("auto")            # a tool is asked for until a call fitted
        return every

    def append_results(self, results: list[ToolResult]) -> list[dict[str, Any]]:
        new = build_tool_result_messages(results, api_format=self.api_format)
        if getattr(self.model, "sees_images", False):
            new += self.api.pictures(results)
        self.history += new
        return new

    def waiting(self) -> tuple[list[ToolCall], Callable[..., Any]]:
        """Give (the calls at the end of the history that have no result yet, what appends their results)."""
        if "resume" not in _CHAPTERS_DO:
            read = _caught(lambda: _read_calls(self.history[-1], self.api_format)).value
            if not read or not read[1]:
                return [], self.append_results
        resumed: Any = _by_chapter("resume", "a history that ends in calls", ToolRegError)(self)
        return resumed[0], resumed[1]


def _as_given(message: Any) -> Any:
    """Give a message of an SDK as plain JSON; what is in a dict and cannot be JSON is for the model to take."""
    try:
        return _on_the_wire(message)
    except TypeError:
        return message


# --- a model without a model
def scripted_model(*answers: Any) -> Model:
    """Make a model that gives these answers one after the other: for tests, lessons and demos.

    An answer is a text, a ToolCall or a list of them, an assistant message, or a function of the messages
    that gives one of these.
    """
    left = iter(answers)

    def model(*, messages: list[dict[str, Any]], **_: Any) -> Any:
        answer = next(left, left)
        if answer is left:
            raise ToolRegError(f"the scripted model has no more answers (it had {len(answers)})")
        answer = answer(messages) if callable(answer) else answer
        if isinstance(answer, str):
            return {"role": "assistant", "content": answer}
        calls = [answer] if isinstance(answer, ToolCall) else answer
        return build_assistant_messages(calls)[0] if isinstance(calls, (list, tuple)) and calls else answer
    return model


# MIT License
#
# Copyright (c) 2026 the toolreg authors
#
# Permission is hereby granted, free of charge, to any person obtaining a copy
# of this software and associated documentation files (the "Software"), to deal
# in the Software without restriction, including without limitation the rights
# to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
# copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all
# copies or substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
# IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
# FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
# AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
# LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
# OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
# SOFTWARE.

# ===== end of the core: everything below may be deleted =====


# ---------------------------------------------------------------------------
# resume: histories that end in calls without results
#    uses 7 8
# ---------------------------------------------------------------------------
_SHARED = ("content", "parts")              # where a message has several results, in APIs where they share one


def _answered_in(message: dict[str, Any], api: _Format) -> list[Any]:
    """Give the ids (gemini: or names) of the calls that a message answers."""
    parts = message.get(api.parts) if api.parts in _SHARED else [message]
    return [*filter(None, map(api.answers, parts))] if isinstance(parts, list) else []


def _unanswered(history: list[dict[str, Any]], api_format: str) -> list[ToolCall]:
    """Give the calls at the end of a history that have no result yet."""
    api, waiting = _APIS[api_format], list[ToolCall]()
    ending = [*itertools.takewhile(lambda message: message.get("role") in (None, "assistant", "model")
                                   or _answered_in(message, api), reversed(history))][::-1]
    done = {key for message in ending for key in _answered_in(message, api)}
    for message in ending:
        answered = _answered_in(message, api)
        by_program = message.get("type") != "function_call" and not done.isdisjoint(map(message.get, ("call_id", "id")))
        if not answered and not by_program:
            calls = _read_calls(message, api_format)[1]
            waiting = calls if api.parts else waiting + calls
        for key in answered:
            first = next((call for call in waiting if key in (call.id, call.name, _legal(call.id, 256))), None)
            waiting = [call for call in waiting if call is not first]
    return waiting


def _with_shared_answers(history: list[dict[str, Any]], api: _Format) -> list[dict[str, Any]]:
    """Put answers into one message, first of all, where the API wants those of a turn so."""
    joined, key = list[dict[str, Any]](), str(api.parts)
    for message in history:
        if key in _SHARED and joined and _answered_in(message, api) and _answered_in(joined[-1], api):
            parts = [*joined[-1][key], *message[key]]
            joined[-1] = {**joined[-1], key: sorted(parts, key=lambda part: not api.answers(part))}
        else:
            joined.append(message)
    return joined


def _resumed(run: _Run) -> tuple[list[ToolCall], Callable[..., Any]]:
    """Give (the calls that run first, what appends their results)."""
    def append(results: list[ToolResult]) -> list[dict[str, Any]]:
        new = run.append_results(results)
        run.history = _with_shared_answers(run.history, run.api)
        return new
    run.history = _with_shared_answers(run.history, run.api)
    return _unanswered(run.history, run.api_format), append


_CHAPTERS_DO["resume"] = _resumed


# ---------------------------------------------------------------------------
# async: tools, batches and loops on an event loop
#    uses 1 7 8 9 10 11
# ---------------------------------------------------------------------------
LOOP_SECONDS = 1.0                          # a loop that has not begun a call by then is blocked by another
_LOOPS: dict[int, _Loop] = {}               # process -> the event loop of its sync code; a forked child has none
_TASKS_TELL = sys.version_info >= (3, 11)   # whether somebody cancels them
_ENDING: set[Any] = set()                   # tasks of ours that are being cancelled


# --- awaiting from async code
async def _afinished(value: Any) -> Any:
    """Give what a function's value comes to, on the running event loop."""
    while inspect.isawaitable(value):
        value = await value
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return list(value) if isinstance(value, Iterator) else value


async def _acaught(value: Any) -> _Outcome:
    import asyncio
    try:
        return _Outcome(await _afinished(value))
    except (GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:
        return _Outcome(None, error)


async def _acalled(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
                   future: Any = None) -> _Outcome:
    """Call a function to its end: one that is not async on a thread, unless its `future` was given by an executor."""
    import asyncio
    if future is None and _is_async(func):
        return await _acaught(func(*args, **kwargs))

    def called() -> Any:
        value = func(*args, **kwargs)
        return list(value) if isinstance(value, Iterator) else value
    future = future or _on_daemon(contextvars.copy_context().run, called)
    outcome: _Outcome = await asyncio.wrap_future(future)
    return outcome if type(outcome.value) in _AT_HAND else await _acaught(outcome.value)


async def _acalled_elsewhere(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], executor: Any) -> _Outcome:
    """Run a tool's function on a thread, on an executor or for a limited time."""
    func = _CHAPTERS_DO["timed"](tool) if tool.metadata.timeout else tool.func
    future = None if executor is None else _CHAPTERS_DO["submit"](tool, args, kwargs, executor)
    running = _acalled(func, args, kwargs, future)
    outcome: _Outcome = await (_CHAPTERS_DO["in time"](running, tool) if tool.metadata.timeout else running)
    return outcome


# --- awaiting from sync code: on an event loop in the background
class _Loop:
    """Be an event loop on a daemon thread; one that blocks is left, ends when its calls have, and another is made."""

    def __init__(self) -> None:
        import asyncio
        import threading
        self.loop, self.calls, self.is_open = asyncio.new_event_loop(), 0, True
        try:
            threading.Thread(target=self.serve, name="toolreg-loop", daemon=True).start()
        except RuntimeError:
            self.loop.close()
            raise

    def serve(self) -> None:
        """Run until something ends the loop: that ends the calls that are running on it, too."""
        import asyncio
        _caught(self.loop.run_forever)      # sys.exit() in a task ends this loop, and not the program
        self.is_open = False
        self.leave()
        _caught(self.loop.run_until_complete, _cancel(list(asyncio.all_tasks(self.loop))))
        _caught(self.loop.close)

    def leave(self) -> None:
        """Take no more calls, and end after those that are running."""
        if _LOOPS.get(os.getpid()) is self:
            _LOOPS.pop(os.getpid(), None)
        _caught(self.loop.call_soon_threadsafe, self.end_if_left)       # unless it has ended by itself

    def end_if_left(self) -> None:
        if not self.calls and _LOOPS.get(os.getpid()) is not self:
            self.loop.stop()

    def outcome_of(self, running: Any) -> _Outcome | None:
        """Wait for a coroutine; None where the loop does not come to it."""
        import concurrent.futures
        future: concurrent.futures.Future[_Outcome] = concurrent.futures.Future()
        tasks = []

        def begin() -> None:
            if self.is_open and future.set_running_or_notify_cancel():      # unless the caller has given up
                self.calls += 1
                tasks.append(self.loop.create_task(running))
                tasks[0].add_done_callback(end)

        def end(task: Any) -> None:
            self.calls -= 1
            ended = _caught(task.result)    # of one that was cancelled it raises
            future.set_result(ended.value or ended)
            self.end_if_left()
        if _caught(self.loop.call_soon_threadsafe, begin).error:
            return None                     # it has just been closed
        try:
            return future.result(LOOP_SECONDS)
        except concurrent.futures.TimeoutError:
            return None if future.cancel() else future.result()
        finally:
            if not (future.cancel() or future.done()):      # Ctrl-C on the waiting thread
                _caught(self.loop.call_soon_threadsafe, lambda: tasks[0].cancel())


def _await_on_loop(value: Any, tool: Tool | None = None) -> Any:
    """Wait for an awaitable on the background loop, no longer than a `tool` may take."""
    import asyncio
    running = _CHAPTERS_DO["in time"](_acaught(value), tool) if tool else _acaught(value)
    while loop := _background_loop():
        if outcome := loop.outcome_of(running):
            return outcome.get()
        loop.leave()
    return asyncio.run(running).get()


def _background_loop() -> _Loop | None:
    """Give the loop of this process (a forked child has no thread that runs its parent's); None without threads."""
    with contextlib.suppress(RuntimeError):
        loop = _LOOPS.get(os.getpid()) or _Loop()
        kept = _LOOPS.setdefault(os.getpid(), loop)
        if kept is not loop:                # another thread was quicker
            loop.leave()
        return kept
    return None


_CHAPTERS_DO["await"] = _await_on_loop


# --- tools
async def _arun_tool(self: Tool, arguments: dict[str, Any] | str, *, coerce: bool = True) -> Any:
    """Do what `run` does on the running event loop; a sync function runs on a thread meanwhile."""
    fitting, _ = self._fitting(ToolCall("", self.name, arguments).arguments, coerce)
    args, kwargs = self._bound(fitting)
    running = _acalled(self.func, args, kwargs) if self.metadata.parallel else _acaught(self.func(*args, **kwargs))
    return (await running).get()


# --- the calls of one turn
async def _ainvoke(self: ToolRegistry, call: ToolCall | Mapping[str, Any] | str, arguments: Any = None) -> ToolResult:
    """Answer one call on the running event loop; a sync tool runs on a thread meanwhile."""
    return (await _aexecute(self, [_one_call(call, arguments)]))[0]


async def _aexecute_tool_calls(self: ToolRegistry, calls: Any, *, api_format: str | None = None,
                               max_workers: int | None = None, executor: Any = None) -> list[ToolResult]:
    """Answer the calls of one turn on the running event loop; sync tools run on threads meanwhile."""
    return await _aexecute(self, parse_tool_calls(calls, api_format=api_format),
                           _checked_count("max_workers", max_workers, None), _checked_executor(executor))


async def _arespond(self: ToolRegistry, response: Any, *, api_format: str | None = None) -> list[dict[str, Any]]:
    """Do what `respond` does on the running event loop."""
    api_format, calls, _, _ = _read_calls(response, api_format)
    results = await _aexecute(self, calls)
    return _APIS[api_format].results(results) if results else []


async def _aexecute_one(self: ToolRegistry, call: ToolCall, executor: Any) -> ToolResult:
    """Do what `ToolRegistry._execute_one` does, step by step the same, on the running event loop."""
    started, reason, texts = _clock(), None, _REFUSED
    try:
        tool = self._tools.get(call.name)
        if tool is None or call.name in self._disabled:
            raise self._absence(call.name)
        arguments, reason = tool._fitting(call.arguments, self.coerce)
        if self.before_call is not None or self.after_call is not None:
            call = ToolCall(call.id, call.name, arguments)
        if self.before_call is not None:
            texts = _DENIED
            await _afinished(self.before_call(call, reason))
            texts = _REFUSED
        args, kwargs = ((), arguments) if tool.bind is None else tool._bound(arguments, self.inject, call.id)
        texts = _FAILED
        if not tool.metadata.parallel or (executor is None and tool.metadata.timeout is None and tool._is_async):
            value = tool.func(*args, **kwargs)
            value = await value if type(value) is types.CoroutineType else value
            value = value if type(value) in _AT_HAND else await _afinished(value)
        else:
            value = (await _acalled_elsewhere(tool, args, kwargs, executor)).get()
        result = self._success(call, reason, value, started)
    except BaseException as error:
        if _is_cancelled(error):
            raise
        result = self._failure(call, reason, error, texts, started)
    if self.after_call is not None:
        await _afinished(self.after_call(call, result))
    return result


async def _aexecute(self: ToolRegistry, calls: list[ToolCall], workers: int | None = None,
                    executor: Any = None) -> list[ToolResult]:
    results: list[Any] = [None] * len(calls)
    executor = self.executor if executor is None else executor
    try:
        if len(calls) == 1 and _TASKS_TELL:
            results[0] = await _in_context(contextvars.copy_context(), _aexecute_one(self, calls[0], executor))
        else:
            await _aexecute_at_once(self, calls, workers or self.max_workers, executor, results)
    except BaseException as error:
        raise _carrying(error, results=results)  # noqa: B904 (mostly the same)
    return results


async def _aexecute_at_once(self: ToolRegistry, calls: list[ToolCall], workers: int, executor: Any,
                            results: list[Any]) -> None:
    import asyncio
    here, beside = asyncio.Semaphore(1), asyncio.Semaphore(workers)

    async def answer(place: int, call: ToolCall) -> None:
        async with here if _stays(self, call, workers) else beside:
            results[place] = await _aexecute_one(self, call, executor)
    tasks = [asyncio.ensure_future(answer(*job)) for job in enumerate(calls)]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        await _cancel(tasks)
        raise


async def _cancel(tasks: list[Any]) -> None:
    """Cancel tasks, and wait until they have cleaned up."""
    import asyncio
    _ENDING.update(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    _ENDING.difference_update(tasks)


def _is_cancelled(error: BaseException) -> bool:
    """Tell whether a cancellation is that of the running task, which ends more than the call that it is in."""
    import asyncio
    task: Any = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and (
        task in _ENDING or (_TASKS_TELL and task is not None and task.cancelling() > 0))


@types.coroutine
def _in_context(context: contextvars.Context, coroutine: Any) -> Any:
    """Await a coroutine so that its every step runs in this context: what a task does, at a third of its cost."""
    step, given = coroutine.send, None
    while True:
        try:
            awaited = context.run(step, given)
        except StopIteration as end:
            return end.value
        try:
            step, given = coroutine.send, (yield awaited)
        except BaseException as error:      # a cancellation too has to reach the coroutine
            step, given = coroutine.throw, error


Tool.arun = _arun_tool
ToolRegistry.ainvoke = _ainvoke
ToolRegistry.aexecute_tool_calls = _aexecute_tool_calls
ToolRegistry.arespond = _arespond


# --- the loop
def aagent_loop(model: Model, messages: Messages, registry: ToolRegistry, *, max_turns: int = 10,
                tool_choice: str | list[str] = "auto",
                api_format: str | None = None) -> AsyncGenerator[dict[str, Any], None]:
    """Do what agent_loop does on the running event loop; the model may be async."""
    return _aturns(_Run(model, messages, registry, max_turns, tool_choice, api_format))


async def arun_agent(model: Model, messages: Messages, registry: ToolRegistry, *, max_turns: int = 10,
                     tool_choice: str | list[str] = "auto", api_format: str | None = None) -> list[dict[str, Any]]:
    """Do what run_agent does on the running event loop; the model may be async."""
    run = _Run(model, messages, registry, max_turns, tool_choice, api_format)
    async for _ in _aturns(run):
        pass
    return run.history


async def _aturns(run: _Run) -> AsyncGenerator[dict[str, Any], None]:
    async def execute(calls: list[ToolCall]) -> Any:
        return await _in_context(run.context, _aexecute(run.registry, calls))
    try:
        waiting, append = run.waiting()
        for message in append(await execute(waiting)):
            yield message
        for _ in range(run.max_turns):
            answer = await _in_context(run.context, _acalled(run.model, (), run.request()))
            said, calls, is_last = _read_turn(answer.get(), run.api_format)
            run.history += said
            for message in said:
                yield message
            if is_last:
                return
            for message in run.append_results(run.all_results(calls, await execute(run.allowed(calls)))):
                yield message
        raise MaxTurnsExceeded(_TURNS_ARE_UP.format(run.max_turns), run.history)
    except BaseException as error:
        raise _carrying(error, messages=list(run.history))  # noqa: B904 (mostly the same)


__all__ += ["aagent_loop", "arun_agent"]


# ---------------------------------------------------------------------------
# extract: a model's answer as a value of a type
#    uses 1 4 9 10 11
# ---------------------------------------------------------------------------
_NO_ANSWER_CAME = "the model answered in words, not by the tool answer (see .messages)"


def extract(model: Model, messages: Messages, type_: Any, *, registry: ToolRegistry | None = None, max_turns: int = 10,
            api_format: str | None = None) -> Any:
    """Let a model answer with a value of a type: by a tool that takes it, asked for until a call of it fitted.

    Before that it may use the tools of `registry`. An answer in words is a ToolRegError that has `.messages`.
    """
    found: list[Any] = []
    tools = ToolRegistry() if registry is None else registry.copy()
    tools.register(_answer_tool(type_, found, _legal_name("answer", distinct="answer" in tools)))
    choice = "answer" if registry is None else "required"
    run = _Run(model, messages, tools, max_turns, choice, api_format)
    for _ in _turns(run):
        if found:
            return found[0]
        run.ask_for(choice)        # whatever was called meanwhile
    raise _carrying(ToolRegError(_NO_ANSWER_CAME), messages=run.history)


def _answer_tool(type_: Any, found: list[Any], name: str) -> Tool:
    """Make the tool that takes a value of a type; what is no object is its one parameter `value`."""
    schema, here = schema_of(type_), ToolMetadata(parallel=False)       # on no executor: the value is wanted here

    def answer(value: Any) -> str:
        found.append(value)
        return "done"
    if schema.get("type") == "object":
        return Tool(name, "Give your answer.", schema, answer, here,
                    bind=lambda arguments: ((from_json(type_, arguments),), {}))
    answer.__annotations__["value"] = type_
    return Tool.from_function(answer, name=name, description="Give your answer.", metadata=here)


__all__ += ["extract"]


# ---------------------------------------------------------------------------
# elsewhere: timeouts, and executors of concurrent.futures
#    uses 1 8 9 10
# ---------------------------------------------------------------------------
_IS_SHIPPED: contextvars.ContextVar[bool] = contextvars.ContextVar("toolreg_is_shipped", default=False)
_CANNOT_TIME = 'the timeout of "{}" cannot be kept: there are no threads here'
_TIMED_OUT = 'the tool "{}" did not finish within {:g} seconds'


def _check_timeout(metadata: ToolMetadata) -> None:
    seconds: Any = metadata.timeout
    if not (type(seconds) in (int, float) and 0 < seconds <= _thread.TIMEOUT_MAX):
        raise ToolDefinitionError("timeout: must be a number of seconds above 0, "
                                  f"{_thread.TIMEOUT_MAX:.0f} at most (got {_shown(seconds)})")
    if not metadata.parallel:
        raise ToolDefinitionError("timeout: cannot be kept on the caller's thread (leave out parallel=False)")


def _check_executor(executor: Any) -> Any:
    submit = getattr(executor, "submit", executor)
    if not callable(submit):
        raise ToolDefinitionError(f"executor.submit: must be callable (got {_shown(submit)})")
    return executor


def _timed_out(tool: Tool) -> ToolTimeoutError:
    return ToolTimeoutError(_TIMED_OUT.format(tool.name, tool.metadata.timeout))


def _timed(tool: Tool) -> Callable[..., Any]:
    """Give a tool's function; one that is called on the same thread, and so cannot be left, says so."""
    import warnings
    caller = _thread.get_ident()

    def func(*args: Any, **kwargs: Any) -> Any:
        if _thread.get_ident() == caller:
            warnings.warn(_CANNOT_TIME.format(tool.name), ToolRegWarning, stacklevel=2)
        return tool.func(*args, **kwargs)
    return tool.func if tool._is_async else func


def _call_elsewhere(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], executor: Any) -> Any:
    """Run a tool's function on an executor or for a limited time, and wait for it."""
    import concurrent.futures
    future = None if executor is None else _submit(tool, args, kwargs, executor)
    if future is None and tool.metadata.timeout is None:
        return _finished(tool.func(*args, **kwargs))
    func = _timed(tool)

    def called() -> Any:
        value = func(*args, **kwargs)
        return _CHAPTERS_DO["await"](value, tool) if tool._is_async else _finished(value)
    future = future or _on_daemon(contextvars.copy_context().run, called)
    try:
        outcome = future.result(tool.metadata.timeout)
    except concurrent.futures.TimeoutError:
        future.cancel()                     # where an executor has not begun it
        raise _timed_out(tool) from None
    return outcome.get()


async def _in_time(running: Any, tool: Tool) -> _Outcome:
    """Wait for an outcome as long as the tool may take."""
    import asyncio
    task: asyncio.Future[_Outcome] = asyncio.ensure_future(running)
    try:
        done, _ = await asyncio.wait({task}, timeout=tool.metadata.timeout)     # wait_for would wait on for its end
        return task.result() if done else _Outcome(None, _timed_out(tool))
    finally:
        task.cancel()


def _submit(tool: Tool, args: tuple[Any, ...], kwargs: dict[str, Any], executor: Any) -> Any:
    """Give a function to an executor; None for what an importer made: it holds a connection, which cannot travel.

    None too for a call that a function on an executor makes: its workers may all wait for such calls.
    """
    stays = not tool.metadata.parallel or tool.metadata.source != "python" or _IS_SHIPPED.get()
    return None if stays else executor.submit(_call_shipped, tool.func, args, kwargs)


def _call_shipped(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Outcome:
    """Be what an executor runs, perhaps in another process: what cannot travel back is told in words."""
    import pickle
    token = _IS_SHIPPED.set(True)
    outcome = _caught(lambda: _finished(func(*args, **kwargs)))
    _IS_SHIPPED.reset(token)
    try:
        pickle.loads(sys.modules.get("cloudpickle", pickle).dumps(outcome))     # clusters pickle more than Python does
        return outcome
    except Exception as error:
        return _Outcome(None, ToolRegError(_error_text(outcome.error or error)))


_CHAPTERS_DO.update({"timeout": _check_timeout, "executor": _check_executor, "elsewhere": _call_elsewhere,
                     "submit": _submit, "timed": _timed, "in time": _in_time})


# ---------------------------------------------------------------------------
# media: results that are no text, or that word their own message
#    uses 1 3 8 10
# ---------------------------------------------------------------------------
class Media(types.SimpleNamespace):
    """What a tool returns that is no text, alone or in a list with texts: an image, audio, a file."""

    def __init__(self, data: bytes, media_type: str) -> None:
        if not (isinstance(data, (bytes, bytearray, memoryview)) and isinstance(media_type, str)):
            raise TypeError(f"Media: data must be bytes, media_type text (got {_shown(data)}, {_shown(media_type)})")
        self.data, self.media_type = bytes(data), media_type

    def __repr__(self) -> str:              # and what is said to who cannot see it
        return f"[{self.media_type}, {len(self.data)} bytes]"


class Answer(typing.NamedTuple):
    """What a tool returns that words its own message: `content` for the model, `value` for the program."""

    content: str | Media | list[str | Media]
    value: Any = None


def _read_answer(value: Any) -> tuple[str, Any, tuple[Media, ...]]:
    """Give (text for the model, value for the program, what is no text) of what a function gave."""
    content, value = value if type(value) is Answer else (value, value)
    parts: Any = content if type(content) in (list, tuple) else [content]
    media = tuple(part for part in parts if type(part) is Media)
    if content is value and not media:
        return _content_of(value), value, ()
    return "\n".join(repr(part) if type(part) is Media else _content_of(part) for part in parts), value, media


def _pictures(results: list[ToolResult]) -> list[dict[str, Any]]:
    """Give the images of results, whose messages take only text, as a message of the user."""
    parts = [{"type": "image_url", "image_url": {"url": f"data:{media.media_type};base64,{to_json(media.data)}"}}
             for result in results for media in result.media if media.media_type in _PICTURES]
    return [{"role": "user", "content": parts}] if parts else []


_CHAPTERS_DO["Media"], _Format.pictures = _read_answer, staticmethod(_pictures)
__all__ += ["Media", "Answer"]


# ---------------------------------------------------------------------------
# schema: JSON Schema in full, and its older drafts
#    uses 1 2 8
# ---------------------------------------------------------------------------
DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema"
MAX_SCOPED_SCHEMAS = 10_000     # compiled subschemas, where what they mean depends on the way that leads to them
__all__ += ["DRAFT_2019_09", "DRAFT_07"]
_MAPS.update(["dependentSchemas", "dependencies"])
_HOLDERS.update(["additionalItems", "unevaluatedItems", "contains", "unevaluatedProperties", "if", "then", "else",
                 "contentSchema"])
_IN_PLACE.update(["if", "then", "else", "dependentSchemas", "dependencies"])
_NAMING = frozenset({"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})


def _joined(base: str, reference: str) -> str:
    from urllib.parse import urljoin
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise SchemaError(f"{_shown(reference)} is no URI: {error}") from None


# --- patterns
_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Mark": "M", "Number": "N", "digit": "Nd",
    "Decimal_Number": "Nd", "Punctuation": "P", "punct": "P", "Symbol": "S", "Separator": "Z", "Other": "C"}


@functools.cache
def _property(name: str, in_class: bool, inverted: bool = False) -> str:
    """Give the characters of a Unicode category as a character class, or as the inside of one."""
    from unicodedata import category
    name = re.sub("^(gc|General_Category)=", "", name)
    wanted = _CATEGORIES.get(name, name)
    if not re.fullmatch("L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?", wanted):
        raise ValueError(f"the Unicode property {name} is not supported")
    flags = [False, *(category(chr(code)).startswith(wanted) is not inverted for code in range(0x110000)), False]
    edges = [code for code in range(0x110001) if flags[code] is not flags[code + 1]]
    ranges = "".join(f"\\U{start:08x}-\\U{end - 1:08x}" for start, end in zip(edges[::2], edges[1::2]))
    return ranges if in_class else f"[{ranges}]"


def _code_point(digits: str, in_class: bool) -> str:
    """Read `\\u{…}`, two halves of a surrogate pair, or the plain four digits."""
    high, _, low = digits.partition("\\u")
    return f"\\U{0x10000 + (int(high, 16) - 0xD800 << 10) + int(low, 16) - 0xDC00 if low else int(high, 16):08x}"


_ESCAPES.update({
    "u": _code_point, "p": _property, "P": functools.partial(_property, inverted=True),
    "c": lambda letter, in_class: f"\\x{ord(letter) % 32:02x}", "?": lambda rest, in_class: "(?P<",
    "k": lambda name, in_class: f"(?({name})(?P={name}))"})


# --- keywords
def _contains(sub: _Node, node: _Node, marks: bool = True) -> _Rule:
    least, most = node.arguments.get("minContains", 1), node.arguments.get("maxContains", math.inf)

    def parts(value: list[Any]) -> list[_Part]:
        fitting: list[_Part] = [(index, item, sub, ()) for index, item in enumerate(value) if sub.judge(item)]
        if least <= len(fitting) <= most:
            return fitting if marks else []
        words = f"fewer than {_shown(least)}" if len(fitting) < least else f"more than {_shown(most)}"
        return [(_ITSELF, value, f"{_shown(value)} has {words} items that fit", ())]
    return _Rule(list, parts, _only([list], lambda value: least <= sum(map(sub.fits, value)) <= most))


def _if(test: _Node, node: _Node) -> _Rule:
    then, other = node.arguments.get("then"), node.arguments.get("else")

    def parts(value: Any) -> Iterator[_Part]:
        if test.judge(value):
            yield _ITSELF, value, test, ()
            if then:
                yield _ITSELF, value, then, ("then",)
        elif other:
            yield _ITSELF, value, other, ("else",)

    def check(value: Any) -> bool:
        chosen = then if test.fits(value) else other
        return chosen is None or bool(chosen.fits(value))
    return _Rule(None, parts, _only(_ANYTHING, check))


def _seen_by(rule: _Rule, value: Any) -> set[Any]:
    """Give the names or indices that a keyword judges in a value that fits."""
    return set().union(*(_seen_in(node, value) if key is _ITSELF else {key} for key, _, node, _ in rule.parts(value)
                         if not isinstance(node, str)))


_seen_in = _once(lambda node, value: set().union(*(_seen_by(rule, value) for rule in node.rules)))


def _unevaluated(sub: _Node, node: _Node, kind: type, keys: Callable[[Any], Iterable[Any]]) -> _Rule:
    others, node.compiler.guarded = [*node.rules], True

    def parts(value: Any) -> list[_Part]:
        seen: set[Any] = set().union(*(_seen_by(rule, value) for rule in others))
        return [(key, value[key], sub, ()) for key in keys(value) if key not in seen]
    rule = _Rule(kind, parts)
    rule.last = True
    return rule


def _dependent(subs: dict[str, _Node], node: _Node) -> _Rule:
    return _Rule(dict, lambda value: [(_ITSELF, value, sub, (name,)) for name, sub in subs.items() if name in value])


_NAME = "a name"
_FORMS.update({
    _NAME: lambda argument: isinstance(argument, str) and bool(re.fullmatch("[A-Za-z_][-A-Za-z0-9._]*", argument)),
    "a URI without a fragment": lambda argument: isinstance(argument, str) and "#" not in argument.rstrip("#"),
    "an object of arrays of strings": lambda argument: (
        isinstance(argument, dict) and all(map(_are_names, argument.values()))),
    "a schema or an array of schemas": lambda argument: isinstance(argument, (dict, bool, list)),
    "an object of schemas and arrays of strings": lambda argument: isinstance(argument, dict) and all(
        isinstance(need, (dict, bool)) or _are_names(need) for need in argument.values()),
})
_UNEVALUATED: dict[str, _Row] = {           # last, since they look at what all others have judged
    "unevaluatedItems": (_SCHEMA, lambda sub, node: _unevaluated(sub, node, list, lambda value: range(len(value)))),
    "unevaluatedProperties": (_SCHEMA, lambda sub, node: _unevaluated(sub, node, dict, list))}
_KEYWORDS.update({
    "$id": ("a URI without a fragment", None), "$anchor": (_NAME, None), "$dynamicAnchor": (_NAME, None),
    "$dynamicRef": (_TEXT, _reference), "minContains": (_COUNT, None), "maxContains": (_COUNT, None),
    "dependentRequired": ("an object of arrays of strings", lambda needs, _: _Rule(dict, lambda value: [
        (other, None, "is missing", (name,)) for name in needs if name in value
        for other in needs[name] if other not in value])),
    "contains": (_SCHEMA, _contains), "if": (_SCHEMA, _if), "then": (_SCHEMA, None), "else": (_SCHEMA, None),
    "dependentSchemas": (_SCHEMA_MAP, _dependent), **_UNEVALUATED})
# the keywords of each vocabulary that a metaschema can leave out
_BASIC = {"$schema", "$id", "$ref", "$anchor", "$dynamicAnchor", "$dynamicRef", "$defs", "definitions"}
_APPLICATORS = {name for name, row in _KEYWORDS.items()
                if row[0] in (_SCHEMA, _SCHEMAS, _SCHEMA_MAP)} - _BASIC - _UNEVALUATED.keys()
_VOCABULARIES: dict[str, Collection[str]] = {
    "core": _BASIC, "applicator": _APPLICATORS, "unevaluated": _UNEVALUATED, "format": ["format"], "content": [],
    "meta-data": [], "validation": _KEYWORDS.keys() - _BASIC - _APPLICATORS - _UNEVALUATED.keys() - {"format"}}


_SINCE_2020_12 = {"$dynamicRef", "$dynamicAnchor", "prefixItems", *_UNEVALUATED}       # these come last, below
_SINCE_2019_09 = {"$anchor", "$defs", "minContains", "maxContains", "dependentRequired", "dependentSchemas"}
# before 2020-12 `items` was also what `prefixItems` is now, and `additionalItems` what `items` is after it
_OLD: dict[str, _Row] = {
    **{keyword: row for keyword, row in _KEYWORDS.items() if keyword not in _SINCE_2020_12},
    "items": ("a schema or an array of schemas", lambda subs, node: (
        _pairs(subs, node) if isinstance(subs, list) else _items(subs, node, before=""))),
    "additionalItems": (_SCHEMA, lambda sub, node: (
        _items(sub, node, before="items") if isinstance(node.arguments.get("items"), list) else None))}
_DIALECTS: dict[str, dict[str, _Row]] = {
    DRAFT_2020_12: _KEYWORDS,
    DRAFT_2019_09: {
        **_OLD, "$recursiveRef": (_TEXT, _reference), "$recursiveAnchor": ("a boolean", None),
        "contains": (_SCHEMA, functools.partial(_contains, marks=False)), **_UNEVALUATED},
    DRAFT_07: {
        **{keyword: row for keyword, row in _OLD.items() if keyword not in _SINCE_2019_09}, "$id": (_TEXT, None),
        "dependencies": ("an object of schemas and arrays of strings", _dependent)}}


def _is_alone(schema: dict[str, Any], rows: dict[str, _Row]) -> bool:
    """Tell whether a `$ref` is all that counts in a schema, as it is in draft-07."""
    return "$ref" in schema and "dependencies" in rows


def _tuple_of_now(part: Any) -> Any:
    """Say a list in `items` as all APIs take it; a call is still checked against what the draft means."""
    if not (isinstance(part, dict) and isinstance(part.get("items"), list)):
        return part
    now = {"items": "prefixItems", "additionalItems": "items"}
    return {now.get(keyword, keyword): argument for keyword, argument in part.items()
            if (keyword, argument) != ("items", [])}


def _in_words_of_now(parameters: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = _map_schema(parameters, _tuple_of_now)
    return parameters if said == parameters else {
        keyword: argument for keyword, argument in said.items() if keyword != "$schema"}


_CHAPTERS_DO["$schema"] = _in_words_of_now


# --- resources
class _Resource:
    """Hold a schema that has a URI of its own, and the names by which references find schemas in it."""

    def __init__(self, uri: str, root: Any, rows: dict[str, _Row]) -> None:
        self.uri, self.root, self.rows = uri, root, rows        # rows: the keywords of its dialect
        self.anchors: dict[str, Any] = {}
        self.dynamic: dict[str, Any] = {}


# where a schema stands: in a resource, and the outermost one of each dynamic name on the way there ($dynamicRef minds)
_Home = tuple[_Resource, frozenset[tuple[str, _Resource]]]


class _FullCompiler(_Compiler):
    """Know all schemas that references may lead to, and compile each once per scope."""

    def home_of(self, document: Any) -> _Home:
        self.given = {uri.rstrip("#"): schema for uri, schema in self.given.items()}
        self.default = self.dialect_of(self.dialect)
        self.resources: dict[str, _Resource] = {}
        self.homes: dict[int, _Resource] = {}           # by the ids of the schemas in it
        return self.index(document, ""), frozenset()

    def rows(self, node: _Node) -> dict[str, _Row]:
        rows: dict[str, _Row] = node.home[0].rows
        return {"$ref": rows["$ref"]} if _is_alone(node.words, rows) else rows

    def target(self, reference: str, node: _Node) -> _Node:
        """Follow a reference; a dynamic one to a dynamic name leads to the outermost schema of that name."""
        (home, scope), name = node.home, reference.partition("#")[2]
        schema, resource = self.find(reference, home)
        if node.keyword != "$ref" and resource.dynamic.get(name) is schema:
            resource = dict(scope).get(name, resource)
            schema = resource.dynamic[name]
        return self.node(schema, (resource, scope), (reference,), later=True)

    def node(self, schema: Any, home: _Home, where: tuple[str | int, ...], later: bool = False) -> _Node:
        if isinstance(schema, list) and where[-2:-1] == ("dependencies",):
            schema = {"required": schema}
        resource, scope = self.homes.get(id(schema), home[0]), home[1]
        if resource.dynamic:
            scope |= {(name, resource) for name in resource.dynamic.keys() - dict(scope)}
            if len(scope) > 1 and len(self.nodes) > MAX_SCOPED_SCHEMAS:
                raise SchemaError(f"$dynamicAnchor: the schema comes to more than {MAX_SCOPED_SCHEMAS} subschemas")
        return super().node(schema, (resource, scope), where, later)

    def dialect_of(self, uri: str) -> dict[str, _Row]:
        """Find a dialect by the URI of its metaschema; one that is given has the vocabularies that it lists."""
        uri = uri.rstrip("#")
        metaschema = self.given.get(uri)
        if uri in _DIALECTS:
            return _DIALECTS[uri]
        if not isinstance(metaschema, dict) or metaschema.get("$schema", uri) == uri:
            raise SchemaError(f"$schema: {_shown(uri)} is not a known dialect (there are: {_listed(_DIALECTS)})")
        rows, vocabulary = self.dialect_of(str(metaschema["$schema"])), metaschema.get("$vocabulary")
        if not isinstance(vocabulary, dict):
            return rows
        wanted = {name.rpartition("/")[2].partition("-annotation")[0]: needed for name, needed in vocabulary.items()}
        unknown = [name for name, needed in wanted.items() if needed and name not in _VOCABULARIES]
        if unknown:
            raise SchemaError(f"$schema: {_shown(uri)} needs unknown vocabularies ({_listed(unknown)})")
        left_out = {word for name in _VOCABULARIES.keys() - wanted for word in _VOCABULARIES[name]}
        return {word: row for word, row in rows.items() if word not in left_out}

    def index(self, document: Any, uri: str) -> _Resource:
        """Find the resources and the names in a document, and give the resource that it is."""
        first = self.resource(document, uri, self.default)
        stack, known = [(document, first)], set()
        while stack:
            schema, home = stack.pop()
            if isinstance(schema, dict) and id(schema) not in known:
                known.add(id(schema))
                if not _NAMING.isdisjoint(schema) and not _is_alone(schema, home.rows):
                    home = self.named(schema, home)
                self.homes[id(schema)] = home
                stack.extend([(sub, home) for sub in _subschemas(schema)])
        self.resources[uri] = self.homes.get(id(document), first)
        return self.resources[uri]

    def named(self, schema: dict[str, Any], home: _Resource) -> _Resource:
        """Note the names of a schema, and give the resource that it is in."""
        names = {keyword: schema[keyword] for keyword in _NAMING if isinstance(schema.get(keyword), str)}
        if not names.get("$id", "#").startswith("#"):
            home = self.resource(schema, _joined(home.uri, names["$id"]), home.rows)
        elif "$id" in names:
            home.anchors[names["$id"][1:]] = schema
        for keyword, table in (("$anchor", home.anchors), ("$dynamicAnchor", home.dynamic)):
            if keyword in names:
                table[names[keyword]] = schema
        if schema.get("$recursiveAnchor") is True:      # draft 2019-09: a dynamic anchor without a name
            home.dynamic[""] = schema
        return home

    def resource(self, root: Any, uri: str, rows: dict[str, _Row]) -> _Resource:
        if isinstance(root, dict) and isinstance(root.get("$schema"), str):
            rows = self.dialect_of(root["$schema"])
        uri = uri.rstrip("#")
        self.resources[uri] = _Resource(uri, root, rows)
        return self.resources[uri]

    def find(self, reference: str, home: _Resource) -> tuple[Any, _Resource]:
        """Give the schema that a reference leads to, with its resource."""
        uri, _, fragment = reference.partition("#")
        try:
            if uri:
                uri = _joined(home.uri, uri)
                home = self.resources[uri] if uri in self.resources else self.index(self.given[uri], uri)
            if fragment and not fragment.startswith("/"):
                return home.anchors.get(fragment) or home.dynamic[fragment], home
            schema = _pointer(home.root, fragment)
        except LookupError:
            raise ValueError(f"{_shown(reference)} leads nowhere") from None
        return schema, self.homes.get(id(schema), home)


Validator.compiler = _FullCompiler


# ---------------------------------------------------------------------------
# formats: what the keyword `format` asserts
#    uses 2
# ---------------------------------------------------------------------------
# Formats: regular expressions, and a function where these do not reach
def _matching(pattern: str, also: _Check = lambda text: True) -> _Check:
    return lambda text: re.fullmatch(pattern, text, re.ASCII) is not None and also(text)


def _is_day(text: str) -> bool:
    from calendar import monthrange
    year, month, day = map(int, text[:10].split("-"))
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _is_time(text: str) -> bool:
    """Allow a second 60 where a leap second can be: it ends a day of UTC."""
    offset = "+00:00" if text[-1] in "zZ" else text[-6:]
    local, ahead = (int(clock[:2]) * 60 + int(clock[3:5]) for clock in (text, offset[1:]))
    return text[6:8] < "60" or (local - int(offset[0] + "1") * ahead) % 1440 == 1439


def _is_ipv6(text: str) -> bool:
    from ipaddress import IPv6Address
    with contextlib.suppress(ValueError):
        return "%" not in text and IPv6Address(text) is not None
    return False


def _is_pattern(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return _regex(text) is not None and not re.search(r"\(\?(?:P|#|[aiLmsux]+\))", text)
    return False


# A host name in any script, by IDNA 2008: by category, with exceptions, and what must not stand where
_GOOD = "-\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u200c\u200d\u3007\u30fb"
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u0e3a\u0f84\u1039\u17d2"
_MISPLACED = "|".join([
    "^-|-$|^..--|[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]", "(?<!l)\u00b7|\u00b7(?!l)",
    "\u0375(?![\u0370-\u03ff\u1f00-\u1fff])|(?<![\u0590-\u05ff])[\u05f3\u05f4]",
    "^(?!.*[\u3005\u3007\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]).*\u30fb",
    "[\u0660-\u0669].*[\u06f0-\u06f9]|[\u06f0-\u06f9].*[\u0660-\u0669]", f"(?<![{_VIRAMA}])\u200d",
    f"(?<![{_VIRAMA}\u0620-\u064a])\u200c|(?<=[\u0620-\u064a])\u200c(?![\u0620-\u064a])"])


def _is_idn(text: str) -> bool:
    from unicodedata import bidirectional
    if len(text) > 253:                     # in ASCII it is even longer; and what follows takes its time
        return False
    labels = [_label(label) for label in re.split("[.\u3002\uff0e\uff61]", text)]
    kinds = [[bidirectional(character) for character in label] for label in labels]
    rightward = any(kind in ("R", "AL", "AN") for row in kinds for kind in row)
    return all(labels) and len(".".join(map(_ascii_label, labels))) <= 253 and not (rightward and any(
        row[0] not in ("L", "R", "AL") or {"EN", "AN"} <= {*row} or row[0] == "L" and {"R", "AL", "AN"} & {*row}
        for row in kinds))


def _label(text: str) -> str:
    """Give a label of a host name as it is read, or nothing where it is wrong."""
    from unicodedata import category, normalize
    label = text.lower() if text.isascii() else text
    if label.startswith("xn--"):
        try:
            label = label[4:].encode("ascii").decode("punycode")
        except UnicodeError:
            return ""
        return label if not label.isascii() and _ascii_label(label) == text.lower() and _label(label) else ""
    right = label and category(label[0])[0] != "M" and normalize("NFC", label) == label and all(
        category(character) in ("Ll", "Lo", "Lm", "Mn", "Mc", "Nd") or character in _GOOD for character in label)
    return label if right and not re.search(_MISPLACED, label) and len(_ascii_label(label)) <= 63 else ""


def _ascii_label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


_DATE, _CLOCK = r"\d{4}-\d\d-\d\d", r"(?:[01]\d|2[0-3]):[0-5]\d"
_TIME = rf"{_CLOCK}:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[-+]{_CLOCK})"
_HOST = r"(?=.{1,253}\Z)LABEL(?:\.LABEL)*".replace("LABEL", "[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)(?<!\b0\d)(?<!\b0\d\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_ATOM, _HIGH = r"[-\w!#$%&'*+/=?^`{|}~]+", "\\x80-\\U0010ffff"
_POINTER = r"(?:/(?:[^/~]|~[01])*)*"


def _uri(high: str, start: str) -> _Check:
    """Give the check of RFC 3986, or with characters above ASCII that of RFC 3987."""
    def some(more: str) -> str:
        return rf"(?:[-\w.~!$&'()*+,;={high}{more}]|%[0-9A-Fa-f]{{2}})*"
    literal = r"\[(?:(?P<ipv6>[0-9A-Fa-f:.]+)|[vV][0-9A-Fa-f]+\.[-\w.~!$&'()*+,;=:]+)\]"
    authority = rf"//(?:{some(':')}@)?(?:{literal}|{some('')})(?::\d*)?(?:/{some(':@/')})?"
    source = rf"{start}(?:{authority}|(?!//){some(':@/')})(?:\?{some(':@/?')})?(?:#{some(':@/?')})?"

    def check(text: str) -> bool:
        match = re.fullmatch(source, text, re.ASCII)
        return match is not None and (match["ipv6"] is None or _is_ipv6(match["ipv6"]))
    return check


_SCHEME = "[A-Za-z][-+.A-Za-z0-9]*:"
_RELATIVE = rf"(?:{_SCHEME}|(?![^/?#]*:))"


def _is_email(text: str, local: str = rf'{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\]|\\.)*"', in_any_script: bool = False) -> bool:
    from unicodedata import normalize
    user, _, host = text.rpartition("@")
    literal = re.fullmatch(rf"\[(?:IPv6:(.*)|{_IPV4})\]", host)
    if literal:
        right = not literal[1] or _is_ipv6(literal[1])
    else:
        right = _is_idn(normalize("NFC", host)) if in_any_script else _FORMATS["hostname"](host)
    return right and re.fullmatch(local, user, re.ASCII) is not None


_FORMATS.update({
    "date": _matching(_DATE, _is_day), "time": _matching(_TIME, _is_time),
    "date-time": _matching(f"{_DATE}[tT]{_TIME}", lambda text: _is_day(text) and _is_time(text[11:])),
    "duration": _matching(r"P(?:\d+W|(?=.)(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)?"
                          r"(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?)"),
    "ipv4": _matching(_IPV4), "ipv6": _is_ipv6,
    "hostname": _matching(_HOST, lambda text: all(map(_label, text.split(".")))),
    "idn-hostname": _is_idn, "email": _is_email,
    "idn-email": lambda text: len(text) <= 1_000 and _is_email(text, r'[^@ "]+|"[^"]*"', in_any_script=True),
    "uuid": _matching("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"), "regex": _is_pattern,
    "json-pointer": _matching(_POINTER), "relative-json-pointer": _matching(rf"(?:0|[1-9]\d*)(?:#|{_POINTER})"),
    "uri": _uri("", _SCHEME), "uri-reference": _uri("", _RELATIVE),
    "iri": _uri(_HIGH, _SCHEME), "iri-reference": _uri(_HIGH, _RELATIVE),
    "uri-template": _matching(
        r"(?:[^\x00-\x20\x7f\"%<>\\^`{|}]|%[0-9A-Fa-f]{2}|\{[+#./;?&=,!@|]?VAR(?:,VAR)*\})*".replace(
            "VAR", r"NAME(?:\.NAME)*(?:\*|:[1-9]\d{0,3})?").replace("NAME", "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+")),
})


# ---------------------------------------------------------------------------
# texts: types whose JSON is a text: dates and times, UUID, Decimal, Path, bytes
#    uses 1 3 4
# ---------------------------------------------------------------------------
def _read_iso(cls: Any, found: re.Match[str]) -> Any:
    """Read ISO 8601 alike on all versions of Python: bring it to the form that `fromisoformat` of 3.10 takes."""
    date, clock, second, fraction, offset = found.groups()
    if bool(clock) != hasattr(cls, "hour"):         # a date-time without a time would be a guess
        raise ValueError
    if offset:
        digits = "+0000" if offset in "Zz" else offset.replace(":", "") + "00"
        offset = f"{digits[:3]}:{digits[3:5]}" + (f":{digits[5:-2]}" if digits[5:-2] else "")
    if clock:
        clock += (second or ":00") + (f".{fraction[:6]:0<6}" if fraction else "") + (offset or "")
    return cls.fromisoformat("T".join(filter(None, (date, clock))))


def _read_base64(cls: Any, found: re.Match[str]) -> Any:
    from base64 import b64decode
    return cls(b64decode(found.string, validate=True))


def _duration_text(value: Any) -> str:
    """Spell a timedelta as ISO 8601 does; the sign of a negative one stands in front."""
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    fraction = f".{value.microseconds:06d}" if value.microseconds else ""
    return f"{sign}P{value.days}DT{minutes // 60}H{minutes % 60}M{seconds}{fraction}S"


def _read_duration(cls: Any, found: re.Match[str]) -> Any:
    sign, *parts = found.groups()
    names = ("weeks", "days", "hours", "minutes", "seconds")
    duration = cls(**{name: float(part) for name, part in zip(names, parts) if part})
    return -duration if sign == "-" else duration


_DURATION = r"([+-]?)P(?=.)(?:([\d.]+)W)?(?:([\d.]+)D)?(?:T(?=.)(?:([\d.]+)H)?(?:([\d.]+)M)?(?:([\d.]+)S)?)?\Z"
_ISO = (r"(?:(\d{4}-\d\d-\d\d)(?:[Tt ](?=\d)|\Z))?(?:((?:[01]\d|2[0-3]):[0-5]\d)(?:(:\d\d)(?:[.,](\d+))?)?"
        r"([Zz]|[+-]\d\d(?::?\d\d){0,2})?)?\Z"), _read_iso
# class -> (format, what its texts look like, how such a text is read; None: by the class, which alone would take more)
_SPELLED: dict[str, tuple[str, str, Callable[[Any, re.Match[str]], Any] | None]] = {
    "datetime.datetime": ("date-time", *_ISO), "datetime.date": ("date", *_ISO), "datetime.time": ("time", *_ISO),
    "uuid.UUID": ("uuid", r"(urn:uuid:)?\{?([0-9a-fA-F]-?){32}\}?\Z", None),
    "decimal.Decimal": ("decimal", r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", None),
    **dict.fromkeys(("builtins.bytes", "builtins.bytearray"), ("base64", r"[\w+/=]*\Z", _read_base64)),
    **{f"pathlib.{flavour}Path": ("path", ".*", None)
       for flavour in ("", "Posix", "Windows", "Pure", "PurePosix", "PureWindows")},
    "datetime.timedelta": ("duration", _DURATION, _read_duration),
    "fractions.Fraction": ("fraction", r"[+-]?\d+([/.]\d+)?\Z", None),
    "ipaddress.IPv4Address": ("ipv4", ".*", None), "ipaddress.IPv6Address": ("ipv6", ".*", None),
}


def _spelled(cls: Any, args: Any, build: _Builder) -> _Form:
    name, pattern, parse = _SPELLED[_full_name(cls)]
    article = {"i": "an ", "b": ""}.get(name[0], "a ")

    def read(text: str) -> Any:
        try:
            if found := re.match(pattern, text, re.ASCII | re.DOTALL):
                return parse(cls, found) if parse else cls(text)
        except (ValueError, ArithmeticError):
            pass
        raise _unfit(f"{_shown(text)} is not {article}{name}")
    keyword = "contentEncoding" if name == "base64" else "format"
    return _Form({"type": "string", keyword: name}, read, cls.__hash__ is not None)


_ROWS.update(dict.fromkeys(_SPELLED, _spelled))
_WRITERS_BY_SHAPE[:0] = [
    (_is_any("datetime.timedelta"), _duration_text), (_is_any("fractions.Fraction", "ipaddress._IPAddressBase"), str)]


# ---------------------------------------------------------------------------
# notes: limits, texts and checks of annotated-types and pydantic, in Annotated or as a default
#    uses 1 3 4
# ---------------------------------------------------------------------------
# a note is known by the attributes that it has
_TEXTS_IN_NOTES = {"pattern": "pattern", "description": "description", "documentation": "description"}
# the limits that a note may set -> (keyword, what holds, what is wrong where it does not)
_LIMITS: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "gt": ("exclusiveMinimum", lambda value, limit: value > limit, "is not greater than"),
    "ge": ("minimum", lambda value, limit: value >= limit, "is less than"),
    "lt": ("exclusiveMaximum", lambda value, limit: value < limit, "is not less than"),
    "le": ("maximum", lambda value, limit: value <= limit, "is greater than"),
    "multiple_of": ("multipleOf", lambda value, limit: not value % limit, "is not a multiple of"),
    "min_length": ("min", lambda value, limit: len(value) >= limit, "is shorter than"),
    "max_length": ("max", lambda value, limit: len(value) <= limit, "is longer than"),
    "max_digits": ("", lambda value, limit: len(value.as_tuple().digits) <= limit, "has more digits than"),
    "decimal_places": ("", lambda value, limit: -value.as_tuple().exponent <= limit, "has more decimal places than"),
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def _with_note(form: _Form, note: Any, build: _Builder) -> _Form:
    inner = getattr(note, "metadata", None)             # where FieldInfo keeps the constraints
    form = functools.reduce(build.noted, inner if isinstance(inner, (list, tuple)) else (), form)
    for attribute in _LIMITS:
        limit = getattr(note, attribute, None)
        if limit is not None and not callable(limit):
            build.foreign = True
            form = _limited(form, attribute, limit)
    for attribute, keyword in _TEXTS_IN_NOTES.items():
        text = getattr(note, attribute, None)
        text = getattr(text, "pattern", text)
        if isinstance(text, str):
            build.foreign = build.foreign or keyword == "pattern"
            form.schema[keyword] = text
    return _calling(form, note, build) if callable(getattr(note, "func", None)) and not build.validated else form


def _limited(form: _Form, attribute: str, limit: Any) -> _Form:
    """Say a limit in the schema, where JSON Schema can; else, as for what is spelled as text, check what was read."""
    keyword, holds, words = _LIMITS[attribute]
    of_length = keyword in ("min", "max")
    parts = [part for part in form.schema.get("anyOf", (form.schema,)) if part != {"type": "null"}]
    said = [keyword + _LENGTHS[part["type"]] if of_length else keyword for part in parts
            if part.get("type") in (_LENGTHS if of_length else ("integer", "number")) and "contentEncoding" not in part]
    if keyword and isinstance(limit, (str, int, float)) and limit not in (math.inf, -math.inf):
        form.schema.update(dict.fromkeys(said, limit))
        if len(said) == len(parts) and (form.read is _as_it_is or not of_length):   # a set may be shorter than its JSON
            return form

    def fits(value: Any) -> bool:
        try:
            return value is None or holds(value, limit)
        except Exception:
            if said:
                return True                             # the limit is about another member of the union
            raise
    return _checked(form, fits, f"{words} {to_json(limit)}")


def _checked(form: _Form, fits: Callable[[Any], Any], words: str) -> _Form:
    def read(wire: Any) -> Any:
        value = form.read(wire)
        if not _made(fits, value):
            raise _unfit(f"{_shown(wire)} {words}")
        return value
    return _Form(form.schema, read, form.hashable)


def _calling(form: _Form, note: Any, build: _Builder) -> _Form:
    """Call the function in a note with what was read; refuse one that is not called so, or with more."""
    func, kinds = note.func, {base.__name__ for base in type(note).__mro__}
    code = getattr(func, "__code__", None)
    alone = not code or code.co_argcount - len(func.__defaults__ or ()) - inspect.ismethod(func) < 2
    if alone and "AfterValidator" in kinds:
        return _Form(form.schema, lambda wire: _made(func, form.read(wire)), hashable=False)
    if alone and "Predicate" in kinds:
        return _checked(form, func, f"is refused (by {getattr(func, '__name__', type(func).__name__)})")
    if "Predicate" in kinds or type(note).__name__.endswith("Validator"):
        return build.refuse(type(note).__name__, "a pydantic model with this field")
    return form


_NOTES.insert(0, (lambda note: True, _with_note))


# ---------------------------------------------------------------------------
# types: pydantic, attrs, generics, keys that are no text, names that only callers know
#    uses 1 2 3 4
# ---------------------------------------------------------------------------
def _attrs_name(attribute: Any) -> str:
    """Give the name that the constructor of an attrs class takes (older attrs do not say it)."""
    return str(getattr(attribute, "alias", None) or attribute.name.lstrip("_"))


_WRITERS_BY_SHAPE[:0] = [
    (_has_any("model_dump"), lambda value: value.model_dump(        # under its aliases, unless it says otherwise
        mode="json", by_alias=getattr(value, "model_config", {}).get("serialize_by_alias", True))),
    (_has_any("__attrs_attrs__"),
     lambda value: {_attrs_name(each): getattr(value, each.name) for each in value.__attrs_attrs__}),
    (_has_any("to_dicts"), lambda value: value.to_dicts()),             # tables: polars, pyarrow, pandas
    (_has_any("to_pylist"), lambda value: value.to_pylist()),
    (lambda kind: hasattr(kind, "to_dict") and hasattr(kind, "columns"), lambda value: value.to_dict(orient="records")),
]


# --- names that are not found where an annotation stands
def _searched_hints(thing: Any) -> dict[str, Any]:
    """Give the annotations of a function or class."""
    hints = {}
    for owner in reversed(getattr(thing, "__mro__", (thing,))):
        names = _names_for(owner)
        for name, annotation in inspect.get_annotations(owner, **_LENIENT).items():
            hints[name] = _resolved(annotation, names)
    return hints


def _resolved(annotation: Any, names: dict[str, Any]) -> Any:
    """Give what an annotation means, or the exception that says why not: that is a fault only where it is needed."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, names, {}, include_extras=True)["it"]
    except Exception as error:
        return error.with_traceback(None)           # it is kept, and is not to keep the frames alive


def _names_for(owner: Any) -> dict[str, Any]:
    """Give what names may mean: in running functions, a closure, its module; type parameters (PEP 695) come first."""
    names: dict[str, Any] = {}
    frame: Any = sys._getframe()
    while frame:
        if frame.f_globals is not globals():
            names = {**({} if names else frame.f_globals), **frame.f_locals, **names}
        frame = frame.f_back
    function = inspect.unwrap(owner)
    if inspect.isfunction(function):
        names |= {**inspect.getclosurevars(function).nonlocals, **function.__globals__}
    elif owner:
        names |= {owner.__name__: owner, **vars(sys.modules.get(owner.__module__, typing))}
    return names | _type_parameters(owner)


def _not_found(error: Any, args: Any, build: _Builder) -> _Form:
    build.problems.append(build.place + _error_text(error))
    return _Form({})


_FIND_HINTS.append(_searched_hints)


# --- generics
def _filled(annotation: Any, known: Mapping[Any, Any]) -> Any:
    """Put the known types in the place of type variables."""
    if isinstance(annotation, typing.TypeVar):
        return known.get(annotation, annotation)
    free = getattr(annotation, "__parameters__", ()) if typing.get_origin(annotation) else ()
    return annotation[tuple(known.get(each, each) for each in free)] if free else annotation


def _stands_for(variable: Any) -> tuple[Any, ...]:
    """Give what a type variable of which nothing is known is taken for; its default is of Python 3.13."""
    has_default = getattr(variable, "has_default", bool)()
    return (variable.__default__,) if has_default else variable.__constraints__ or (variable.__bound__ or Any,)


def _meant_in(cls: Any, known: Mapping[Any, Any]) -> dict[str, Mapping[Any, Any]]:
    """Give, for each annotated name, what the type variables mean in the base class that it comes from."""
    inherited: dict[str, Mapping[Any, Any]] = {}
    for base in reversed(cls.__dict__.get("__orig_bases__", cls.__bases__)):
        origin = typing.get_origin(base) or base
        if isinstance(origin, type):
            args = [_filled(arg, known) for arg in typing.get_args(base)]
            inherited |= _meant_in(origin, dict(zip(getattr(origin, "__parameters__", ()), args)))
    own = dict.fromkeys(inspect.get_annotations(cls, **_LENIENT), known)
    return {**own, **inherited} if issubclass(cls, dict) else {**inherited, **own}    # a TypedDict repeats its bases'


def _alias(annotation: Any, args: Any, build: _Builder) -> _Form:
    alias = typing.get_origin(annotation) or annotation
    value = _filled(_resolved(alias.__value__, _names_for(alias)), dict(zip(alias.__type_params__, args)))
    return build.named(annotation, alias.__name__, lambda: build.form(value), inline=True)


# --- classes with named fields: generic ones, those of attrs, dataclasses of pydantic
def _attribute_names(cls: Any) -> dict[str, str]:
    """Give the attributes by the names that the constructor takes for them, where these are others."""
    aliases = {info.alias: name for name, info in getattr(cls, "__pydantic_fields__", {}).items() if info.alias}
    return {_attrs_name(each): each.name for each in getattr(cls, "__attrs_attrs__", ())} | aliases


def _is_further_class(head: Any) -> bool:
    if not isinstance(head, type) or issubclass(head, enum.Enum):
        return False
    generic = any(map(typing.get_args, getattr(head, "__orig_bases__", ())))
    return hasattr(head, "__attrs_attrs__") or _has_fields(head) and (generic or hasattr(head, "__pydantic_fields__"))


def _further_class(annotation: Any, args: Any, build: _Builder) -> _Form:
    cls = typing.get_origin(annotation) if args else annotation
    known, infos = dict(zip(getattr(cls, "__parameters__", ()), args)), getattr(cls, "__pydantic_fields__", {})

    def make() -> _Form:
        hints, attributes, meant, rows = _hints_of(cls), _attribute_names(cls), _meant_in(cls, known), []
        for each in _fields_of(cls):
            name = attributes.get(each.name, each.name)
            filled = _filled(hints.get(name, each.annotation), meant.get(name, known))
            rows.append(_Field(each.name, filled, infos.get(name, each.default)))
        outer, build.validated = build.validated, bool(infos)
        form = _object_class(cls, rows, build)
        build.validated = outer
        return form
    return build.named(annotation, "_".join([cls.__name__, *[getattr(arg, "__name__", "") for arg in args]]), make)


def _pydantic(cls: Any, args: Any, build: _Builder) -> _Form:
    own = None                                      # the reference to a model that holds itself

    def adopt(part: Any) -> Any:
        """Refer to what the model defines as to a named type of ours; close objects where the model says nothing."""
        if not isinstance(part, dict):
            return part
        target = part.pop("$ref", None)
        key = cls if target == own else (cls, target)
        place = build.refer(key, target.rpartition("/")[2]) if target else {}
        place.update(part)
        place.pop("discriminator", None)            # OpenAPI's: its references would lead nowhere
        if "properties" in place:
            place.setdefault("additionalProperties", False)
        return place

    def make() -> _Form:
        nonlocal own
        try:
            schema = cls.model_json_schema()
        except Exception as error:
            return build.refuse(cls, f"fields that have one: {_error_text(error)}")
        definitions, own = schema.pop("$defs", {}), schema.get("$ref")
        schema = definitions.pop(own.rpartition("/")[2]) if own else schema
        for name, definition in definitions.items():
            build.forms[cls, f"#/$defs/{name}"] = _Form(_map_schema(definition, adopt))
        build.foreign = True
        return _Form(_map_schema(schema, adopt),        # read as JSON: strict models read it, too
                     lambda value: _made(cls.model_validate_json, _write_json(value)), cls.__hash__ is not None)
    return build.named(cls, cls.__name__, make)


_ROWS_BY_SHAPE[:0] = [
    (lambda head: isinstance(head, (str, typing.ForwardRef)),
     lambda given, args, build: build.form(_resolved(given, _names_for(None)))),
    (lambda head: isinstance(head, Exception), _not_found),
    (lambda head: isinstance(head, typing.TypeVar),
     lambda given, args, build: _union_of(map(build.form, _stands_for(given)), build)),
    (lambda head: hasattr(head, "__type_params__") and hasattr(head, "__value__"), _alias),
    (lambda head: isinstance(head, type) and _has_any("model_json_schema")(head), _pydantic),
    (_is_further_class, _further_class),
]


# --- mappings: in the names of an object, a key that is no text is JSON text
_KEY_NAMES: dict[Any, dict[str, Any]] = {
    "integer": {"pattern": "^-?(0|[1-9][0-9]*)$"}, "number": {"pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"},
    "boolean": {"pattern": "^(true|false)$"}, "null": {"pattern": "^null$"}, "array": {}, "object": {}, None: {},
}


def _reads_key(form: _Form, definitions: dict[str, Any]) -> _Reader:
    """Make the reader of a mapping's key: the text itself where it fits, else what stands in it as JSON."""
    fits = _fits(form.schema, definitions)

    def read_key(text: str) -> Any:
        try:
            value = text if fits(text) else _read_json(text)
        except ValueError:
            value = ...                             # fits nothing
        if not (value is text or fits(value)):
            raise _unfit(f"{_shown(text)} is not a key of the right type")
        return form.read(value)
    return read_key


def _mapping_by_keys(annotation: Any, args: Any, build: _Builder) -> _Form:
    if not args or args[0] in (str, Any):
        return _mapping(annotation, args, build)
    key, item = build.hashed(build.form(args[0]), annotation), build.form(args[1])
    wires, read_key = key.schema.get("enum", ()), _reads_key(key, build.definitions)
    names = {"enum": list(map(_key_form, wires))} if wires else _KEY_NAMES.get(key.schema.get("type"), key.schema)
    schema = {"type": "object", "additionalProperties": item.schema or True,
              **({"propertyNames": dict(names)} if names not in ({}, {"type": "string"}) else {})}

    def read(value: Any) -> Any:
        readers = [read_key] * len(value) + [item.read] * len(value)
        parts = _read_parts([*value, *value.values()], enumerate(readers), [*value, *value])
        first: dict[Any, str] = {}
        twice = [ValidationError(f"is the same key as {_shown(first[key])}", (name,))
                 for name, key in zip(value, parts) if first.setdefault(key, name) is not name]
        if twice:
            raise _unfit(*twice)
        return dict(zip(parts, parts[len(value):]))
    return _Form(schema, read, hashable=False)


_ROWS.update(dict.fromkeys(
    ("builtins.dict", "collections.abc.Mapping", "collections.abc.MutableMapping"), _mapping_by_keys))


# ---------------------------------------------------------------------------
# contracts: what is given as `parameters=` of a function, a JSON Schema or a class with named fields
#    uses 1 2 4 6 types
# ---------------------------------------------------------------------------
def _from_contract(contract: Mapping[str, Any], takes: _Takes, build: _Builder) -> tuple[dict[str, Any], _Reader]:
    """Take a JSON Schema as it is; a value that fits the annotation, too, is read as that says."""
    properties, readers = contract.get("properties"), {}
    complete = contract.keys().isdisjoint({"$ref", "allOf", "anyOf", "oneOf", "patternProperties", "if"})
    _check_names(properties if isinstance(properties, Mapping) else (), complete, takes, build)
    for each in takes.offered:
        with contextlib.suppress(ToolDefinitionError):      # the contract says what comes, not the annotation
            form = _form_of(each.annotation)
            readers[each.name] = functools.partial(_read_if, _fits(form.schema, {}), form.read)
    return dict(contract), _reads_fields(readers)


def _read_if(fits: Callable[[Any], bool], read: _Reader, value: Any) -> Any:
    return read(value) if fits(value) else value


def _from_class(given: Any, takes: _Takes, build: _Builder) -> tuple[dict[str, Any], _Reader]:
    """Take a class with named fields: it gives the schema and reads the arguments, and its fields are passed."""
    form = build.form(given if isinstance(typing.get_origin(given) or given, type) else Any)
    schema = build.finish(form.schema)
    if "$ref" in schema:                            # the class holds itself; parameters must be an object outright
        schema = {**_copied(_pointer(schema, schema["$ref"])), "$defs": schema["$defs"]}
    if "properties" not in schema:
        build.problems.append("parameters: must be a JSON Schema or a class with named fields, such as a dataclass")
    names: list[str] = list(getattr(given, "model_fields", schema.get("properties", ())))
    attributes = _attribute_names(given)
    _check_names(names, True, takes, build)

    def read(arguments: Any) -> Any:
        made = form.read(arguments)
        if isinstance(made, dict):
            return made
        further = getattr(made, "model_extra", None) if takes.rest else None
        return {**{name: getattr(made, attributes.get(name, name)) for name in names}, **(further or {})}
    return schema, read


def _check_names(names: Iterable[str], complete: bool, takes: _Takes, build: _Builder) -> None:
    """Note what the function cannot take of the names in `parameters=`, and what it lacks where they are `complete`."""
    known, given = takes.names(), set(names)
    for name in names:
        if name in takes.hidden:
            build.problems.append(f"parameters: {_shown(name)} is filled in by the program (leave it out)")
        elif name not in known and not takes.rest:
            build.problems.append(f"parameters: {_shown(name)} is no parameter (there are: {_listed(known)})")
    for each in takes.offered:
        if each.default is _REQUIRED and each.name not in given and complete:
            build.problems.append(f"parameters: {_shown(each.name)} is missing, and the function needs it")


_PARAMETERS.extend([(lambda given: isinstance(given, Mapping), _from_contract), (lambda given: True, _from_class)])


# ---------------------------------------------------------------------------
# roots: parameters with `$ref` or branches at their root, as the plain object that the APIs want
#    uses 2 8
# ---------------------------------------------------------------------------
def _flat(schema: Any, root: dict[str, Any], known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Say a schema without `$ref` and branches: with all their properties; required is what every branch requires.

    `known` holds what references came to; one that is met again inside itself adds nothing.
    """
    flat = dict(schema) if isinstance(schema, dict) else {}
    reference = flat.pop("$ref", "")
    if reference.partition("/")[0] == "#" and reference not in known:       # nothing is fetched
        known[reference] = {}
        with contextlib.suppress(LookupError):
            known[reference] = _flat(_pointer(root, reference), root, known)
    groups = [[part] for part in (*flat.pop("allOf", ()), *filter(None, [known.get(reference)]))]
    groups += [flat.pop(keyword) for keyword in ("anyOf", "oneOf") if keyword in flat]
    for branches in [[_flat(branch, root, known) for branch in group] for group in groups]:
        whole, options = branches[0] if len(branches) == 1 else {}, dict[str, list[Any]]()
        for name, said in [pair for each in (flat, *branches) for pair in each.get("properties", {}).items()]:
            options.setdefault(name, []).append(said)
        common = [name for name in options if all(name in branch.get("required", ()) for branch in branches)]
        lists = {"properties": {name: said[0] if whole else _any_of(said) for name, said in options.items()},
                 "required": [*dict.fromkeys([*flat.get("required", ()), *common])]}
        flat = {**whole, **flat, **{keyword: value for keyword, value in lists.items() if value}}
    return flat


def _any_of(schemas: list[Any]) -> Any:
    distinct = [schema for at, schema in enumerate(schemas) if schema not in schemas[:at]]
    return {"anyOf": distinct} if len(distinct) > 1 else distinct[0] if distinct else {}


_CHAPTERS_DO["branches-at-the-root"] = lambda parameters: _flat(parameters, parameters, {})


# ---------------------------------------------------------------------------
# strict: OpenAI's strict mode
#    uses 1 8 roots
# ---------------------------------------------------------------------------
# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
_CLOSED = {"additionalProperties": False}
_STRICT_KEYWORDS = frozenset("enum $ref description multipleOf minimum maximum exclusiveMinimum "
                             "exclusiveMaximum minItems maxItems".split())
_STRICT_FORMATS = frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split())
_STRICT_LACKS = frozenset("allOf not if dependentRequired dependentSchemas dependencies patternProperties contains "
                          "unevaluatedProperties $dynamicRef $recursiveRef".split())
_BESIDE_REFERENCES = frozenset("$ref type title description default examples deprecated $comment".split())
_TYPE_OF_CLASS = {**_SCALARS, list: "array", dict: "object"}
_TYPE_OF_KEYWORD = {"properties": "object", "items": "array", "prefixItems": "array"}


def _strictly(tool: Any, parameters: dict[str, Any]) -> dict[str, Any] | None:
    """Say the parameters of a tool in strict mode; None where they cannot be said so."""
    return _strict({**_CLOSED, **parameters}) if _strict_fault(tool) is None else None


def _check_strict(tool: Any) -> None:
    fault = _strict_fault(tool)
    if fault:
        raise ToolDefinitionError(f'tool "{tool.name}": strict=True: {fault} (leave out strict)')


def _strict_fault(tool: Any) -> str | None:
    """Say what strict mode cannot say of a tool's parameters, or give None."""
    try:
        _strict({**_CLOSED, **_object_root(tool.parameters)})
    except SchemaError as error:
        return str(error)
    return next((f"{word} at the root cannot be said" for word in _NOT_AT_THE_ROOT if word in tool.parameters), None)


def _simple(schema: Any) -> dict[str, Any]:
    """Say a schema in fewer words: `type` is a list, `const` an `enum`, `oneOf` an `anyOf`, a tuple an array.

    Types that are not named are those of the values, or what the keywords are for.
    """
    node = dict(schema) if isinstance(schema, dict) else {}
    shapes = [_TYPE_OF_KEYWORD[keyword] for keyword in _TYPE_OF_KEYWORD if keyword in node]
    items = node.get("items") or []         # older drafts: a list of places
    places = [*node.pop("prefixItems", ()), *(items if isinstance(items, list) else [items])]
    said = {"enum": [node.pop("const")] if "const" in node else node.get("enum"),
            "anyOf": [*node.pop("anyOf", ()), *node.pop("oneOf", ())], "items": _any_of(places)}
    node.update({keyword: value for keyword, value in said.items() if value})
    named, values = node.get("type"), [_TYPE_OF_CLASS.get(type(value), "string") for value in node.get("enum", ())]
    node["type"] = [named] if isinstance(named, str) else [*dict.fromkeys(named or values or shapes)]
    return node


def _strict(schema: Any, or_null: bool = False) -> dict[str, Any]:
    """Say a schema for strict mode: objects closed, all required; what may be left out may be null instead."""
    schema = _simple(schema)
    allowed, properties, required = schema["type"], schema.get("properties", {}), schema.get("required", ())
    faults = {
        **dict.fromkeys(sorted(_STRICT_LACKS & schema.keys()), True),
        "$ref beside other keywords": "$ref" in schema and (allowed or not schema.keys() <= _BESIDE_REFERENCES),
        "a value of any type": not allowed and schema.keys().isdisjoint(("anyOf", "$ref")),
        "an object with branches": "object" in allowed and "anyOf" in schema,
        "an object with names of any kind":
            "object" in allowed and schema.get("additionalProperties", not properties) is not False,
        schema.get("$ref"): schema.get("$ref", "#").partition("/")[0] != "#",
        "a required name that is not declared": not properties.keys() >= set(required),
    }
    for fault in [fault for fault, found in faults.items() if found]:
        raise SchemaError(f"{fault} cannot be said")
    node = {"type": allowed if len(allowed) > 1 else allowed[0]} if allowed else {}
    node.update({keyword: value for keyword, value in schema.items() if keyword in _STRICT_KEYWORDS
                 or (keyword == "format" and value in _STRICT_FORMATS)
                 or (keyword == "pattern" and "(?" not in value)})      # no look-around; a call is checked here anyway
    if "anyOf" in schema:
        node["anyOf"] = [_strict(branch) for branch in schema["anyOf"]]
    if "array" in allowed:
        node["items"] = _strict(schema.get("items"))
    for key in {"$defs", "definitions"} & schema.keys():
        node[key] = {name: _strict(each) for name, each in schema[key].items()}
    if "object" in allowed:
        node["properties"] = {name: _strict(each, name not in required) for name, each in properties.items()}
        node.update(_CLOSED, required=list(properties))
    if "$ref" in node and len(node) > 1:    # nothing may stand beside it
        node["anyOf"] = [{"$ref": node.pop("$ref")}]
    return _null_too(node) if or_null else node


def _null_too(node: dict[str, Any]) -> dict[str, Any]:
    branches = [node] if "type" in node else node.get("anyOf", [node])
    if any("null" in _simple(branch)["type"] for branch in branches):
        return node
    if "type" in node and node.keys().isdisjoint(("enum", "anyOf")):
        return {**node, "type": [*_simple(node)["type"], "null"]}
    return {**({} if node in branches else node), "anyOf": [*branches, {"type": "null"}]}


_CHAPTERS_DO["strict"] = _strictly
_CHAPTERS_DO["strict=True"] = _check_strict


# ---------------------------------------------------------------------------
# spellings: calls that are spelled otherwise, by other APIs, SDKs and libraries
#    uses 1 3 7 8
# ---------------------------------------------------------------------------
# (format to answer in, the key that holds name and arguments, the call's `type`, the arguments' keys), most specific
# first; an entry of any other type is the provider's own: server_tool_use, web_search_call, mcp_call, …
_SPELLINGS: list[tuple[str, str, tuple[Any, ...], tuple[str, ...]]] = [
    ("openai-chat", "function", (...,), ("arguments",)),                        # whatever its type says
    ("openai-chat", "custom", ("custom",), ("input",)),                         # offered by nobody here: it is answered
    ("openai-chat", "", ("function", None), ("args", "arguments")),
]
# reasons for an end: after being cut short a call without arguments may have had some; what was taken back never runs
_CUT_SHORT = frozenset("length model_length max_tokens max_output_tokens model_context_window_exceeded "
                       "incomplete error abort aborted cancelled".split())
_TAKEN_BACK = frozenset("refusal content_filter safety prohibited_content blocklist recitation spii language "
                        "malformed_function_call unexpected_tool_call too_many_tool_calls".split())
_PAUSED = "pause_turn"                      # Anthropic, in the middle of its own tools: it goes on when asked again
_UNFINISHED = _CUT_SHORT | _TAKEN_BACK | {_PAUSED}
_REASONS = ("finish_reason", "finishReason", "stop_reason", "done_reason", "status")
# (a call's `type`, what is wrong with it, where): what nobody here answers must be refused, never skipped
_WAITING: list[tuple[str, str, Callable[[dict[str, Any]], bool]]] = [
    ("tool-call", "a call of the AI SDK (toolCallId, toolName), which is not read", bool)]
_UNREADABLE = "{} (got {}; give one assistant message, a response or a list of calls, and api_format= if it is unclear)"
_ARGUMENTS_KEYS, _INCOMPLETE = ("arguments", "args", "input"), ("in_progress", "incomplete")
_OF_MESSAGES = ("role", "content", "parts", "tool_calls", "finishReason", "candidates", "promptFeedback", "output")
_ABSENT = ("Unset", "NotGiven", "Omit", "Undefined", "UndefinedType", "PydanticUndefinedType")


def _other_calls(response: Any, api_format: str | None) -> tuple[str, list[ToolCall], Any, bool]:
    """Read what _read_calls gives in any response, message or list; TypeError for what waits, but is not read."""
    message, reasons = _message_in(response)
    spelled, calls = "openai-chat", _chat_calls(message)
    if calls is None:
        spelled, calls = _calls_in(message, api_format)
    if unfit := reasons & _TAKEN_BACK or reasons & _CUT_SHORT:
        calls = [replace(call, arguments=_CUT) if unfit & _TAKEN_BACK or not call.arguments else call for call in calls]
    return spelled, calls, message, _PAUSED in reasons


def _message_in(response: Any) -> tuple[Any, set[str]]:
    """Take (the message, or the items of Responses; why it ended) out of a response, or of a list with nothing else."""
    reasons = []
    for key in ("choices", "candidates", "output", "message", "content"):
        if isinstance(response, list) and len(response) == 1:
            response = response[0]
        reasons += [_at(response, name) for name in _REASONS] + [_at(_at(response, "incomplete_details"), "reason")]
        inner = _at(response, key)
        if isinstance(inner, list) and key in ("choices", "candidates", "output"):
            response = inner if key == "output" else inner[:1]      # one of several answers is enough
        elif not isinstance(inner, (list, str, type(None))):
            response = inner
    return response, {str(reason).lower() for reason in reasons if reason}


def _calls_in(message: Any, api_format: str | None) -> tuple[str, list[ToolCall]]:
    """Read (the format to answer in, the calls) in a message, or a list."""
    of_message = isinstance(message, dict) and not message.keys().isdisjoint(_OF_MESSAGES)
    called = entries = _list_at(message, "tool_calls")
    if not called and of_message:
        entries = [message, *(_list_at(message, "parts") or _list_at(message, "content"))]
    elif not called:
        entries = message if isinstance(message, list) else [message]
    found, done = [], {_at(entry, key) for entry in entries for key in ("call_id", "approval_request_id")
                       if str(_at(entry, "type")).endswith(("_output", "_response"))} - {None}
    for entry in entries:
        if done and (_at(entry, "call_id") or _at(entry, "id")) in done:
            continue                        # it has its answer, of the provider or of the program
        if call := _call_in(entry):
            found.append(call)
        elif fault := _unread_call(entry) or (
                "no tool call" if called or not (of_message or _is_beside_calls(entry)) else None):
            raise TypeError(_UNREADABLE.format(fault, _shown(entry)))
    formats = sorted({spelled for spelled, _ in found})
    if len(formats) > 1 and api_format is None:
        raise TypeError(_UNREADABLE.format("calls of several formats", _listed(formats)))
    return (formats or API_FORMATS)[0], [call for _, call in found]


def _list_at(thing: Any, key: str) -> list[Any]:
    """Give the list under a key; [] for none, or for the text that may be a content instead."""
    value = _at(thing, key)
    if not isinstance(value, (list, type(None))) and not (isinstance(value, str) and key == "content"):
        raise TypeError(_UNREADABLE.format(f"{key} is no list", _shown(value)))
    return value if isinstance(value, list) else []


def _call_in(entry: Any) -> tuple[str, ToolCall] | None:
    """Read (the format to answer in, the call), or give None for what is no call in a known spelling."""
    if not isinstance(entry, dict):
        return ("openai-chat", entry) if isinstance(entry, ToolCall) else None
    for kind, fault, waits in _WAITING:
        if entry.get("type") == kind and waits(entry):
            raise TypeError(_UNREADABLE.format(fault, _shown(entry)))
    for api_format, holder, kinds, keys in _SPELLINGS:
        part = entry.get(holder) if holder else entry
        if part is not None and (... in kinds or entry.get("type") in kinds):
            part = part if isinstance(part, dict) else {}       # nonsense is answered as a call of no tool
            given = next((key for key in (*keys, *_ARGUMENTS_KEYS) if part.get(key) is not None), None)
            told = holder or None not in kinds          # else a name and arguments have to tell
            if given in (*keys, None) and (told or None not in (given, part.get("name"))):
                call_id, arguments = entry.get("call_id") or entry.get("id") or part.get("id"), part.get(given)
                goes_on = part.get("willContinue") or part.get("will_continue") or entry.get("status") in _INCOMPLETE
                if goes_on and not (isinstance(arguments, str) and arguments.strip(" {}")):
                    arguments = _CUT
                return api_format, _made_call(call_id, part.get("name"), arguments)
    return None


def _is_beside_calls(entry: Any) -> bool:
    """Tell whether something in a list of calls is a text, a call of the provider's own, or a message of Responses."""
    if _at(entry, "role") is not None and entry.get("type") in (None, "message"):
        return bool(entry.get("type") and not any(map(_call_in, _list_at(entry, "content"))))
    return _at(entry, "text") is not None or isinstance(_at(entry, "type"), str)


def _unread_call(entry: Any) -> str | None:
    """Say what is wrong with what looks like a call, but has no row: Bedrock's `toolUse`, the old `function_call`, …"""
    kinds, holders = [kind for row in _SPELLINGS for kind in row[2]], [row[1] for row in _SPELLINGS]
    held = [key for key, each in entry.items() if _at(each, "name") is not None
            and (_needs_chapter(key) or not each.keys().isdisjoint(_ARGUMENTS_KEYS))] if isinstance(entry, dict) else []
    kind, *others = _at(entry, "type"), *(_at(entry[key], "type") for key in held)
    unknown = [word for word in (kind, *others) if word not in kinds] + [key for key in held if key not in holders]
    cut = next(filter(None, map(_needs_chapter, unknown)), None)
    return cut or ("a call in an unknown spelling" if held or kind not in (None, *unknown) else None)


# --- objects of SDKs
def _opened(thing: Any) -> Any:
    """Give what an object was on the wire, without what its SDK added for the program; None for one that means that."""
    kind = type(thing).__name__
    if kind in _ABSENT:
        return None
    if isinstance(thing, (bytes, enum.Enum)):
        return to_json(thing)
    if hasattr(thing, "additional_kwargs") or hasattr(thing, "invalid_tool_calls"):
        return _by_chapter("message-of-langchain", "a message of LangChain")(thing)
    if not hasattr(thing, "__dict__"):
        raise TypeError(_UNREADABLE.format("no JSON value", _shown(thing)))
    held = {key: value for key, value in vars(thing).items() if key[:1] != "_"}
    if hasattr(thing, "model_dump"):
        inside = {key: value for key, value in held.items() if _has_additions(value)}       # each is opened by itself
        left_out = dict.fromkeys((*inside, *(getattr(thing, "__api_exclude__", None) or ())), True)
        dump = functools.partial(thing.model_dump, mode="json", by_alias=True, exclude=left_out)
        held = {**_with_kinds(dump(exclude_unset=True), dump()), **inside}
    return {"type": kind, **held} if kind == "FunctionCall" else held           # Gemini's, on its own


def _with_kinds(said: Any, whole: Any) -> Any:
    """Say of each object, of which `whole` holds the defaults too, what it is: some classes leave that to a default."""
    if isinstance(said, list):
        return list(map(_with_kinds, said, whole))
    if not isinstance(said, dict) or not isinstance(whole, dict):
        return said
    kinds = {word: whole[word] for word in ("role", "type") if isinstance(whole.get(word), str)}
    return {**{key: _with_kinds(value, whole.get(key)) for key, value in said.items()}, **kinds}


def _has_additions(thing: Any) -> bool:
    """Tell whether an object, or one in it, names in `__api_exclude__` what the SDK added for the program."""
    if isinstance(thing, list):
        return any(map(_has_additions, thing))
    return hasattr(thing, "model_dump") and bool(
        getattr(thing, "__api_exclude__", None) or any(map(_has_additions, vars(thing).values())))


# --- turns of other APIs
def _text_in(message: Any) -> str:
    content = _at(message, "content")
    parts = content if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) else _at(part, "text") for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _translation(spelled: str, message: Any, calls: list[ToolCall], api: _Format) -> list[dict[str, Any]]:
    """Give the messages in which an API says what a message in another spelling does."""
    text = _text_in(message)
    said = {"content": text} if calls or not isinstance(message, dict) else message
    kept = [api.call(replace(call, arguments=_object(call, kept=True))) for call in calls]
    return _APIS[spelled].kept(message, api.message(said, [*api.said(text), *kept]), api.parts)


def _content(result: ToolResult, text: Callable[[str], list[Any]], media: dict[str, Callable[[str, str], Any]]) -> Any:
    """Spell a result as text, or with what `media` spells (of type and base64) as parts."""
    parts = [media[each.media_type](each.media_type, to_json(each.data))
             for each in result.media if each.media_type in media]
    said = _printable(result.content)
    return (text(said) if said.strip() else []) + parts if parts else said


def _again_as(api_format: str) -> Callable[[dict[str, Any], ToolCall], dict[str, Any]]:
    """Make what gives a call as it came, but for what an API of objects does not take back."""
    return lambda part, call: {**{key: part[key] for key in part if key != "function_call"},    # an object's attribute
                               **_APIS[api_format].call(replace(call, arguments=_object(call, kept=True)))}


def _message_of(role: str, key: str) -> Callable[[Any, Any], list[dict[str, Any]]]:
    """Make what gives a message with nothing but its parts, without texts that are blank."""
    def message(_: Any, parts: Any) -> list[dict[str, Any]]:
        kept = [part for part in parts if not _is_blank(part)] if isinstance(parts, list) else parts
        return [{"role": role, key: kept}] if kept else []
    return message


def _is_blank(part: Any) -> bool:
    said = [key for key in part if part[key] is not None and key != "type"] if isinstance(part, dict) else []
    return said == ["text"] and not str(part["text"]).strip()


_CHAPTERS_DO.update({"other-calls": _other_calls, "sdk-object": _opened, "translation": _translation})


# ---------------------------------------------------------------------------
# responses: the API of OpenAI's Responses
#    uses 1 8 spellings
# ---------------------------------------------------------------------------
def _responses_choice(names: list[str]) -> dict[str, Any]:
    tools = [{"type": "function", "name": name} for name in names]
    return {"type": "allowed_tools", "mode": "required", "tools": tools} if len(tools) > 1 else tools[0]


# https://platform.openai.com/docs/guides/function-calling: what an output may hold besides text
_RESPONSES_MEDIA: dict[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(_PICTURES, lambda kind, data: {"type": "input_image", "image_url": f"data:{kind};base64,{data}"}),
    "application/pdf": lambda kind, data: {
        "type": "input_file", "filename": "file.pdf", "file_data": f"data:{kind};base64,{data}"}}
# the Responses API takes a tool that does not speak of strict for a strict one
_TOOL["openai-responses"] = lambda tool, about, parameters, strict: {
    "type": "function", **about, "strict": False, **_parameters(tool, parameters, strict)}
_APIS["openai-responses"] = _Format(
    parts=None, names=_responses_choice,
    call=lambda call: {"type": "function_call", "call_id": call.id, "name": _legal(call.name),
                       "arguments": _text(call)},
    is_call=_call_in, again=lambda item, call: {
        **item, "call_id": call.id, "name": _legal(call.name),
        **({"arguments": _CUT} if call.arguments == _CUT else {})},
    said=lambda text: [{"role": "assistant", "content": text}] * bool(text), message=lambda said, items: items,
    results=lambda results: [
        {"type": "function_call_output", "call_id": _printable(result.tool_call_id),
         "output": _content(result, lambda text: [{"type": "input_text", "text": text}], _RESPONSES_MEDIA)}
        for result in results],
    pictures=lambda results: [],
    answers=lambda item: (item.get("call_id") if str(_at(item, "type")).endswith("_call_output") else
                          _at(item, "approval_request_id")),
    no_answer=lambda response: (_at(response, "error") or "failed") if _at(response, "status") == "failed" else None)
_SPELLINGS.append(("openai-responses", "", ("function_call",), ("arguments",)))
_WAITING.extend([
    *((kind, "a call that nobody here answers", bool) for kind in (
        "custom_tool_call computer_call local_shell_call shell_call apply_patch_call mcp_approval_request".split())),
    ("tool_search_call", "a call that nobody here answers", lambda item: item.get("execution") == "client"),
    ("function_call", "a call of Gemini's Interactions API, which is not read: ask generateContent",
     lambda item: item.get("call_id") is None and isinstance(item.get("arguments"), dict))])
API_FORMATS += ("openai-responses",)


# ---------------------------------------------------------------------------
# anthropic: the API of Anthropic's Messages
#    uses 1 2 8 spellings
# ---------------------------------------------------------------------------
# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
_ANTHROPIC_LACKS = frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems".split())


def _anthropic_tool(tool: Any, about: dict[str, Any], parameters: dict[str, Any], _: bool | None) -> dict[str, Any]:
    """Spell a tool: for strict mode only where the tool itself says so, and where nothing refers to itself."""
    if tool.metadata.strict and not _refers_to_itself(parameters):
        said = _parameters(tool, parameters, True)["parameters"]
        taken = _map_schema(said, lambda schema: schema and {
            keyword: value for keyword, value in schema.items() if keyword not in _ANTHROPIC_LACKS})
        return {**about, "strict": True, "input_schema": taken}
    return {**about, "input_schema": parameters}


def _refers_to_itself(schema: dict[str, Any]) -> bool:
    """Tell whether references lead in a ring; one that leads to no definition counts as one to the root."""
    parts = {f"#/$defs/{name}": part for name, part in schema.get("$defs", {}).items()}
    parts["#"] = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    graph = {place: [reference if reference in parts else "#" for reference in
                     re.findall(r'"\$ref": "([^"]*)"', _write_json(part))] for place, part in parts.items()}
    while ends := [place for place, leads_to in graph.items() if graph.keys().isdisjoint(leads_to)]:
        graph = {place: graph[place] for place in graph.keys() - ends}
    return bool(graph)


def _anthropic_choice(names: list[str]) -> dict[str, str]:
    if len(names) > 1:
        raise ValueError(f'tool_choice: anthropic takes one name (got {_listed(names)}; offer these and write "any")')
    return {"type": "tool", "name": names[0]}


# https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use: what a result may hold besides text
_ANTHROPIC_MEDIA: dict[str, Callable[[str, str], Any]] = dict.fromkeys(
    (*_PICTURES, "application/pdf"), lambda kind, data: {
        "type": "document" if kind == "application/pdf" else "image",
        "source": {"type": "base64", "media_type": kind, "data": data}})
_TOOL["anthropic"] = _anthropic_tool
_APIS["anthropic"] = _Format(
    parts="content", word=lambda word: {"type": "any" if word == "required" else word},
    names=_anthropic_choice,
    call=lambda call: {"type": "tool_use", "id": _legal(call.id, 256), "name": _legal(call.name),
                       "input": _object(call)},
    is_call=_call_in, again=_again_as("anthropic"),
    said=lambda text: [{"type": "text", "text": text}], message=_message_of("assistant", "content"),
    results=lambda results: [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": _legal(result.tool_call_id, 256),
         "content": _content(result, _APIS["anthropic"].said, _ANTHROPIC_MEDIA),
         **({"is_error": True} if result.is_error else {})} for result in results]}],
    pictures=lambda results: [],
    answers=lambda block: _at(block, "type") == "tool_result" and block.get("tool_use_id"))
_SPELLINGS.append(("anthropic", "", ("tool_use",), ("input",)))
API_FORMATS += ("anthropic",)


# ---------------------------------------------------------------------------
# gemini: the API of Google's Gemini
#    uses 1 2 3 8 spellings
# ---------------------------------------------------------------------------
# JSON Schema is taken but for these: https://ai.google.dev/api/caching#FunctionDeclaration
_GEMINI_LACKS = frozenset("$schema title examples discriminator exclusiveMinimum exclusiveMaximum const".split())


def _gemini_schema(schema: Any) -> Any:
    """Say a schema without what Gemini refuses; a call is still checked against the whole."""
    if not isinstance(schema, dict):
        return schema
    said = {keyword: value for keyword, value in schema.items() if keyword not in _GEMINI_LACKS}
    return {**said, "enum": [schema["const"]]} if "const" in schema else said


def _gemini_id(call_id: str) -> dict[str, str]:
    return {} if _is_made_up(call_id) else {"id": _printable(call_id)}


# https://ai.google.dev/gemini-api/docs/function-calling: what a response may hold besides JSON, from Gemini 3 on
_GEMINI_MEDIA = ("image/png", "image/jpeg", "image/webp", "application/pdf")


def _gemini_result(result: ToolResult) -> dict[str, Any]:
    parts = [{"inlineData": {"mimeType": media.media_type, "data": to_json(media.data)}}
             for media in result.media if media.media_type in _GEMINI_MEDIA]
    said = {"error" if result.is_error else "output": _printable(result.content)}
    return {"functionResponse": {"name": _legal(result.name), "response": said, **({"parts": parts} if parts else {}),
                                 **_gemini_id(result.tool_call_id)}}


def _gemini_blocked(response: Any) -> Any:
    """Give why a prompt was blocked, or why there is no content in the answer."""
    feedback = _at(response, "promptFeedback") or _at(response, "prompt_feedback")
    blocked = _at(feedback, "blockReason") or _at(feedback, "block_reason")
    message, reasons = _message_in(response)
    reasons -= {"stop", "max_tokens", "finish_reason_unspecified"}
    return blocked or (_listed(reasons) if reasons and _at(message, "parts") is None else None)


_TOOL["gemini"] = lambda tool, about, parameters, strict: {        # it takes no object without properties
    **about, **({"parametersJsonSchema": _map_schema(parameters, _gemini_schema)} if parameters["properties"] else {})}
_APIS["gemini"] = _Format(
    parts="parts",
    word=lambda word: {"functionCallingConfig": {"mode": "ANY" if word == "required" else word.upper()}},
    names=lambda names: {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": names}},
    call=lambda call: {"functionCall": {"name": _legal(call.name), "args": _object(call), **_gemini_id(call.id)}},
    is_call=_call_in, again=_again_as("gemini"), said=lambda text: [{"text": text}],
    message=_message_of("model", "parts"), pictures=lambda results: [],
    results=lambda results: [{"role": "user", "parts": list(map(_gemini_result, results))}],
    answers=lambda part: next(filter(None, (_at(_at(part, key), word) for word in ("id", "name") for key in (
        "functionResponse", "function_response"))), None),                      # as a call may be an object's attribute
    user=lambda text: {"role": "user", "parts": [{"text": text}]}, no_answer=_gemini_blocked)
_SPELLINGS.extend([
    ("gemini", "functionCall", (None,), ("args",)),
    ("gemini", "function_call", (None,), ("args",)),                            # an object's attribute
    ("gemini", "", ("FunctionCall",), ("args",)),                               # an SDK's object on its own
])
API_FORMATS += ("gemini",)


# ---------------------------------------------------------------------------
# ollama: chat completions as the API of Ollama and its SDK take them
#    uses 2 8
# ---------------------------------------------------------------------------
_MORE_THAN_TYPES = frozenset("$ref allOf anyOf oneOf not if const".split())        # hold for null as for anything


def _without_union(schema: Any) -> Any:
    """Say a union of types, or of a schema and null, by a list of types: `anyOf` is dropped. Gemini refuses a list."""
    branches = schema.get("anyOf", ()) if isinstance(schema, dict) and "type" not in schema else ()
    if not branches or not all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in branches):
        return schema
    kinds = list(dict.fromkeys(each["type"] for each in branches))
    said, *more = [each for each in branches if each.keys() != {"type"}] or [{}]
    if more or (said and ({*kinds} != {said["type"], "null"} or not _MORE_THAN_TYPES.isdisjoint(said))):
        return schema
    values = {"enum": [*said["enum"], None]} if "enum" in said else {}
    outer = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    return {**said, **values, **outer, "type": kinds}


_TOOL["ollama"] = lambda tool, about, parameters, strict: {
    "type": "function", "function": {**about, "parameters": _map_schema(parameters, _without_union)}}
_APIS["ollama"] = _Format(
    call=lambda call: {"function": {"name": _legal(call.name), "arguments": _object(call)}},
    results=lambda results: [{**message, "tool_name": _legal(result.name)}
                             for message, result in zip(_Format.results(results), results)],
    pictures=lambda results: [{"role": "user", "content": "", "images": [
        part["image_url"]["url"].partition(",")[2] for part in said["content"]]} for said in _Format.pictures(results)])
API_FORMATS += ("ollama",)


# ---------------------------------------------------------------------------
# streams: chunks to a message
#    uses 1 7 8 spellings
# ---------------------------------------------------------------------------
# the reasons for an end that say that all came which was meant
_WHOLE_ENDS = frozenset("stop tool_calls function_call end_turn tool_use stop_sequence".split())
_NOT_IN_PIECES = frozenset("type id index format role name".split())        # any other text comes in pieces
_PIECES = ("text", "thinking", "summary")


def collect_stream(chunks: Iterable[Any], *, api_format: str = "openai-chat") -> Any:
    """Put the chunks of a stream together into the assistant message (openai-responses: the items).

    Chunks are what the API streams, or what an SDK makes of it. A call that was cut keeps the text that came,
    so it is answered with an error and never run.
    """
    return _collect([_event(chunk) for chunk in chunks], api_format)


async def acollect_stream(chunks: AsyncIterable[Any], *, api_format: str = "openai-chat") -> Any:
    """Do what collect_stream does, for an async iterator."""
    return _collect([_event(chunk) async for chunk in chunks], api_format)


def _event(chunk: Any) -> dict[str, Any]:
    """Give a chunk as it was on the wire, out of the events of SDKs that hold it."""
    kind, *held = (chunk.get(key) if isinstance(chunk, dict) else getattr(chunk, key, None)
                   for key in ("type", "chunk", "data"))
    inner = held[kind != "chunk"]
    event = _on_the_wire(chunk if isinstance(inner, (str, type(None))) else inner)
    if not isinstance(event, dict):
        raise TypeError(f"stream: a chunk must be a dict or an SDK's object (got {_shown(event)})")
    if event.get("error") or event.get("type") in ("error", "response.failed"):
        raise ToolRegError(f"stream: the server reported an error (got {_shown(event)})")
    return event


def _collect(events: list[dict[str, Any]], api_format: str) -> Any:
    _APIS[api_format]                       # raises where there is none
    keys, collect = _COLLECT[api_format]
    if events and not any(keys & event.keys() for event in events):
        raise TypeError(f"stream: not as {api_format} spells it (got {_shown(events[0])}; pass the chunks of the API)")
    try:
        collected = collect(events)
        why = next(filter(None, map(_APIS[api_format].no_answer, events)), None)
    except (AttributeError, LookupError, TypeError, ValueError) as error:     # something is missing or amiss
        raise TypeError(f"stream: not as {api_format} spells it (got {_error_text(error)})") from error
    if why is not None and not any(_at(collected, key) for key in ("parts", "content")):
        raise ToolRegError(f"the model gave no answer: {_shown(why)}")
    return collected


def _added(old: Any, new: Any, key: str = "") -> Any:
    """Add what a delta says to what was said: text to text, objects key by key, lists item by item."""
    if isinstance(old, str) and isinstance(new, str) and key not in _NOT_IN_PIECES:
        return old + new
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{name: _added(old.get(name), value, name) for name, value in new.items()}}
    if isinstance(old, (list, type(None))) and isinstance(new, list):
        items = list(old or ())
        for item in new:
            at = next((at for at, of in enumerate(items) if _goes_on(of, item, items[at + 1:])), len(items))
            items[at:at + 1] = [_added(of, item) for of in items[at:at + 1]] or [item]
        return items
    return old if new in (None, "") and old is not None else new


def _goes_on(of: Any, item: Any, later: list[Any]) -> bool:
    """Tell whether an object in a list goes on with one before: of its type and index, or else the last, with text."""
    if not (isinstance(of, dict) and isinstance(item, dict)):
        return False
    ids = {each.get("id") for each in (of, item)} - {None}
    is_open = not later and not of.get("signature") and any(key in of for key in _PIECES)
    return (all(of.get(key) == item.get(key) for key in ("type", "index")) and len(ids) < 2
            and (is_open or of.get("index") is not None))


def _to_run(arguments: Any, is_taken_back: bool, all_came: bool) -> Any:
    """Give a call's arguments; what was taken back, or may have been cut before it began, is not to be run."""
    if is_taken_back or (_says_nothing(arguments) and not all_came):
        return _CUT
    return "{}" if arguments in (None, "") else arguments


def _says_nothing(arguments: Any) -> bool:
    return arguments in (None, {}) or (isinstance(arguments, str) and arguments.strip() in ("", "{}"))


# --- chat completions
def _collect_chat(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the deltas of the first choice. Where a `message` stands in place of a delta, its calls are whole."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls, parts, reason = list[dict[str, Any]](), list[Any](), None
    choices = [each for chunk in chunks for each in ([chunk] if "done" in chunk else chunk.get("choices") or ())]
    for choice in [choice for choice in choices if not choice.get("index")]:          # Ollama's chunk is the choice
        whole = not choice.get("delta")
        delta = {**(choice.get("delta") or choice.get("message") or {}), "role": "assistant"}
        said, entries = delta.pop("content", None) or [], delta.pop("tool_calls", None) or ()
        parts = _added(parts, [{"type": "text", "text": said}] if isinstance(said, str) else said)
        message = _added(message, delta)
        for entry in entries:
            _add_delta(entry, [] if whole else calls, calls)
        reason = choice.get("finish_reason") or choice.get("done_reason") or reason or (whole and entries and "stop")
        reason = reason and str(reason).lower()
    texts = [part.get("text") for part in parts if part.get("type", "text") == "text"]
    message["content"] = "".join(texts) if len(texts) == len(parts) else parts
    last_is_whole = bool(calls) and _is_whole(calls[-1]["function"]["arguments"])
    for call in calls:
        given = call["function"]["arguments"]       # None: not even an empty text began them, so there may be none
        all_came = reason in _WHOLE_ENDS or (
            reason not in _UNFINISHED and _is_whole(given) if reason else given is None and last_is_whole)
        call["function"]["arguments"] = _to_run(given, reason in _TAKEN_BACK, all_came)
        call["id"] = call["id"] or _fresh_id()
        del call["index"]
    return {**message, "tool_calls": calls} if calls else message


def _is_whole(arguments: Any) -> bool:
    return bool(arguments) and isinstance(_arguments_of(arguments), dict)


def _add_delta(entry: dict[str, Any], before: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    """Add a delta to the one of the calls before that it goes on with, or begin a call with it."""
    function, call_id, index = entry.pop("function", None) or {}, str(entry.get("id") or ""), entry.get("index")
    name, arguments = function.get("name") or "", function.get("arguments")
    call = _call_meant(call_id, index, name, arguments, before)
    if call is None:
        call = {"id": "", "type": "function", "function": {"name": "", "arguments": None}, "index": index}
        calls.append(call)
    known = call["function"]
    said = {"name": known["name"] + (name if name != known["name"] else ""),
            "arguments": _more_arguments(known["arguments"], arguments)}
    call.update(_added(call, {**entry, "id": call["id"] or call_id, "index": call["index"]}),
                function=_added(known, function) | said)


def _call_meant(call_id: str, index: Any, name: str, arguments: Any,
                calls: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Find the call that a delta goes on with; None where it begins one.

    Servers number badly: some write index 0 each time, some a new id with each delta, some neither. So a known id
    says most; without a name nothing begins; a name after the end of the arguments begins a call.
    """
    known = sorted((call for call in calls if call["id"] == call_id != ""), key=lambda call: call["index"] == index)
    there = [call for call in calls if call["index"] == index][-1:]
    if not name:
        return next(reversed(known or there or calls), None)
    if index is None and not call_id:
        there = there or calls[-1:]
    there = [call for call in there if call_id in ("", call["id"] or call_id)]
    if known and (index is None or name == known[-1]["function"]["name"]):
        there = there or known
    call = there[-1] if there else None
    function = call["function"] if call else {}
    repeated = bool(known) and function.get("arguments") in ("{}", arguments)
    ended = _is_whole(function.get("arguments")) and not repeated and (arguments or name != function["name"])
    return None if ended else call


def _more_arguments(known: Any, new: Any) -> Any:
    """Join arguments: text to text; an object stays one, as it has to go back. Some say all again at the end."""
    if new is None or (new == known and _is_whole(known)) or (isinstance(known, (dict, list)) and not str(new).strip()):
        return known
    if not known or (_says_nothing(known) and not _says_nothing(new)):
        return new
    return "".join(each if isinstance(each, str) else _write_json(each) for each in (known, new))


# --- the other APIs
def _collect_responses(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take the items as they are added, and again when they are whole; fill them with deltas meanwhile."""
    items: dict[int, dict[str, Any]] = {}
    for event in events:
        kind, at, response = event.get("type"), event.get("output_index", 0), event.get("response") or event
        if "item" in event:
            items[at] = {**({"status": "in_progress"} if str(kind).endswith("added") else {}), **event["item"]}
        elif kind == "response.function_call_arguments.delta":
            items[at] = _added(items[at], {"arguments": event["delta"]})
        elif kind == "response.output_text.delta":
            items[at] = _added(items[at], {"content": [{"type": "output_text", "text": event["delta"]}]})
        elif response.get("output"):
            items = dict(enumerate(response["output"]))
    reasons = set[str]().union(*(_message_in(event.get("response") or event)[1] for event in events))
    for call in [item for item in items.values() if item.get("type") == "function_call"]:
        if reasons & _TAKEN_BACK or (reasons & _CUT_SHORT and _says_nothing(call.get("arguments"))):
            call["arguments"] = _CUT
    return [items[at] for at in sorted(items)]


def _collect_anthropic(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the blocks as they start, and fill them with deltas; one that was stopped is whole, even without any."""
    blocks: dict[Any, dict[str, Any]] = {}
    stopped, reason = set[Any](), None
    for event in events:
        kind, at, delta = event.get("type"), event.get("index"), event.get("delta") or {}
        reason = delta.pop("stop_reason", None) or event.get("stop_reason") or reason
        if "content_block" in event:
            blocks[at] = event["content_block"]
        elif kind == "content_block_delta":
            cited = {"citations": [delta.pop("citation")]} if "citation" in delta else {}
            blocks[at] = _added(blocks[at], {**delta, **cited, "type": None})
        elif kind == "content_block_stop":
            stopped.add(at)
        elif event.get("content"):          # the message as a whole, where the server did not stream
            blocks = dict(enumerate(event["content"]))
    for at, block in blocks.items():
        given: Any = block.pop("partial_json", "").strip() or block.get("input")
        if "name" in block:
            all_came = reason in _WHOLE_ENDS or (reason not in _UNFINISHED and at in stopped)
            ours = block.get("type") == "tool_use"          # the provider's own must go back as an object
            said = ToolCall("", "", _to_run(given, reason in _TAKEN_BACK, all_came) if ours else given).arguments
            block["input"] = said if ours or isinstance(said, dict) else {}
    goes_on = {"stop_reason": reason} if reason == _PAUSED else {}
    return {"role": "assistant", "content": [blocks[at] for at in sorted(blocks)], **goes_on}


def _collect_gemini(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Put the parts of the first candidate in a row: text joined to text, a call that goes on to its rest."""
    parts: list[dict[str, Any]] = []
    contents = [each.get("content") or {} for chunk in chunks for each in (chunk.get("candidates") or ())[:1]]
    for part in [part for content in contents for part in content.get("parts") or ()]:
        last, call = parts[-1] if parts else {}, part.get("functionCall")
        begun = last.get("functionCall") or {}
        if {"text"} <= part.keys() == last.keys() <= {"text", "thought"}:
            part = {**parts.pop(), "text": last["text"] + part["text"]}
        elif call is not None:
            if begun.pop("willContinue", None):
                part, call = {**parts.pop(), **part}, {**begun, **call, "args": begun["args"]}
            call["args"] = call.get("args") or {}
            for piece in call.pop("partialArgs", ()):
                call["args"] = _set_in(call["args"], re.findall(_STEP, piece["jsonPath"]), piece)
            part["functionCall"] = call
        parts.append(part)
    reasons = set[str]().union(*(_message_in(chunk)[1] for chunk in chunks))
    for call in [part["functionCall"] for part in parts if "functionCall" in part]:
        if reasons & _TAKEN_BACK or (reasons & _CUT_SHORT and not call["args"]):
            call["args"] = {_AS_TEXT: _CUT}
    return {"role": "model", "parts": parts}


_STEP = r"""\.([^.\[]+)|\[['"](.*?)['"]\]|\[(\d+)\]"""             # of a path, as `$.a.b[0]`


def _set_in(value: Any, steps: list[tuple[str, str, str]], piece: dict[str, Any]) -> Any:
    """Set what a piece of arguments says at the place that its steps lead to; text is added to text."""
    if not steps:
        new = next((piece[key] for key in ("stringValue", "numberValue", "boolValue") if key in piece), None)
        return value + new if isinstance(value, str) and isinstance(new, str) else new
    (name, quoted, number), *rest = steps
    known: dict[Any, Any] = dict(enumerate(value or ())) if number else {**(value or {})}
    step = int(number) if number else name or quoted
    known[step] = _set_in(known.get(step), rest, piece)
    return list(known.values()) if number else known


# the keys that events have, and what puts events together
_COLLECT: dict[str, tuple[set[str], Callable[[list[dict[str, Any]]], Any]]] = _Formats({
    "openai-chat": ({"choices", "done", "usage"}, _collect_chat),
    "openai-responses": ({"response", "item", "output", "output_index"}, _collect_responses),
    "anthropic": ({"message", "content_block", "content", "delta", "index"}, _collect_anthropic),
    "gemini": ({"candidates", "usageMetadata", "promptFeedback"}, _collect_gemini),
})

__all__ += ["collect_stream", "acollect_stream"]


# ---------------------------------------------------------------------------
# importers: what all that import tools share
#    uses 1 9 10
# ---------------------------------------------------------------------------
__all__ += ["ToolList"]


class ToolList(list[Tool]):
    """The tools of an importer; `refused` names those it had to leave out, with the reasons."""

    def __init__(self, tools: Iterable[Tool] = (), refused: Mapping[str, str] | None = None) -> None:
        super().__init__(tools)
        self.refused = dict(refused or {})


def _make_tools(source: str, rows: Iterable[tuple[str, Callable[[str], Tool]]]) -> ToolList:
    """Make the tools of (wished name, make(legal name)) rows; what is refused is named in one ToolRegWarning."""
    import warnings
    tools, makers = ToolList(), list(rows)
    plain = [_legal_name(wished) for wished, _ in makers]
    seen: set[str] = set()
    for (wished, make), name in zip(makers, plain):
        try:
            if wished in seen:
                raise ToolDefinitionError("the name is there twice")
            seen.add(wished)
            tools.append(make(_legal_name(wished, distinct=name != wished and plain.count(name) > 1)))
        except ToolRegError as error:
            tools.refused[wished] = str(error)
    if tools.refused:
        told = [f"\n- {_listed(name for name, why in tools.refused.items() if why == reason)}: {reason}"
                for reason in dict.fromkeys(tools.refused.values())]        # hundreds of tools share a few reasons
        told[SHOWN_NAMES:] = [f"\n- and {len(told) - SHOWN_NAMES} more reasons"] if len(told) > SHOWN_NAMES else []
        warnings.warn(f"{source}: {len(tools.refused)} of {len(makers)} tools left out:{''.join(told)}",
                      ToolRegWarning, stacklevel=4)
    return tools


def _registers(build_tools: Callable[..., ToolList]) -> Callable[..., list[Tool]]:
    """Make the method that registers what an importer builds, and gives the tools as they were registered."""
    def register_from(self: ToolRegistry, *args: Any, namespace: str | None = None, replace: bool = False,
                      **options: Any) -> list[Tool]:
        tools = build_tools(*args, **options)
        named = [_renamed(tool, name=_legal_name(_in_namespace(namespace, tool.name))) for tool in tools]
        self.register_all(named, replace=replace)
        return ToolList(named, tools.refused)
    register_from.__doc__ = f"Register what {build_tools.__name__} gives, and give it back."
    return register_from


# ---------------------------------------------------------------------------
# classes: tools from the methods of classes
#    uses 1 9 10 importers
# ---------------------------------------------------------------------------
def class_tools(cls_or_instance: Any, *, include: Iterable[str] | None = None,
                exclude: Iterable[str] | None = None) -> ToolList:
    """Make a Tool of each public method of an instance; of a class, an instance is made where that needs no values.

    Of a class that needs some, static and class methods become tools. `include`, `exclude`: names of methods.
    Properties are never evaluated.
    """
    owner = cls_or_instance if isinstance(cls_or_instance, type) else type(cls_or_instance)
    names = dict.fromkeys(name for base in reversed(owner.__mro__) for name in vars(base)
                          if base.__module__ != "builtins" and not name.startswith("_"))    # Python's own are no tools
    statics = {name: inspect.getattr_static(owner, name, None) for name in names}
    methods = [name for name in names if _is_method(statics[name])]
    if not methods:
        raise ToolDefinitionError(f"{owner.__name__}: has no public methods")
    wanted = _methods_in(methods if include is None else include, methods)
    unwanted = _methods_in(exclude or (), methods)
    chosen = [name for name in methods if name in wanted and name not in unwanted]
    bound = [name for name in chosen if not isinstance(statics[name], (staticmethod, classmethod))]
    needs_no_values = _caught(lambda: inspect.signature(owner).bind()).error is None and not inspect.isabstract(owner)
    holder = owner() if cls_or_instance is owner and bound and needs_no_values else cls_or_instance

    def make(method: str, name: str) -> Tool:
        if holder is owner and method in bound:
            raise ToolDefinitionError(f"needs an instance (write {owner.__name__}(…) for the class)")
        return Tool.from_function(getattr(holder, method), name=name, metadata=ToolMetadata(source="class"))
    return _make_tools(owner.__name__, [(name, functools.partial(make, name)) for name in chosen])


def _is_method(static: Any) -> bool:
    """Tell a method from other attributes by what stands in the class, so that nothing is evaluated."""
    return (isinstance(static, (staticmethod, classmethod, functools.partialmethod, functools.singledispatchmethod))
            or (callable(static) and hasattr(type(static), "__get__")))


def _methods_in(given: Iterable[str], methods: list[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    unknown = [name for name in names if name not in methods]
    if unknown:
        raise ToolDefinitionError(f"there is no public method {_listed(unknown)} (there are: {_listed(methods)})")
    return names


ToolRegistry.register_from_class = _registers(class_tools)
__all__ += ["class_tools"]


# ---------------------------------------------------------------------------
# langchain: tools from LangChain, and answers to its messages
#    uses 1 4 6 8 9 10 media spellings importers
# ---------------------------------------------------------------------------
_FROM_A_GRAPH = frozenset(("InjectedState", "InjectedStore", "ToolRuntime", "_DirectlyInjectedToolArg"))
_NO_GRAPH = "{}: has a value only in a graph of LangGraph ({}; write a default, or a tool without it)"
_COMMAND = "Error: the tool answered with a Command to a graph of LangGraph, and there is none here.\nGo on without it."
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_NOT_DIRECT = "LangChain: return_direct of {} is not kept: the model reads the result, and answers"


def langchain_tools(*tools: Any) -> ToolList:
    """Make a Tool of each LangChain tool; it is run by `invoke` or `ainvoke`, so LangChain's callbacks fire.

    What LangChain injects is hidden from the model: the call's id is given, an InjectedToolArg is a value of
    `ToolRegistry(inject=…)`, and a tool that cannot do without a graph is left out. Nothing of LangChain is imported.
    """
    import warnings
    direct = [tool.name for tool in tools if getattr(tool, "return_direct", None) is True]
    if direct:
        warnings.warn(_NOT_DIRECT.format(_listed(direct)), ToolRegWarning, stacklevel=3)
    return _make_tools("LangChain", [
        (str(getattr(tool, "name", _shown(tool))), functools.partial(_langchain_tool, tool)) for tool in tools])


def _langchain_tool(tool: Any, name: str) -> Tool:
    if not hasattr(type(tool), "tool_call_schema"):
        raise ToolDefinitionError("is no LangChain tool (write *tools for a list of them)")
    try:
        hidden, parameters = _langchain_hidden(tool), _langchain_parameters(tool)
    except Exception as error:
        raise ToolDefinitionError(f"its schema cannot be read: {_error_text(error)}") from error
    takes = _Takes({}, {*hidden, _CALL_ID})
    takes.rest.append(Any)                  # the schema says which names there are
    for parameter, (kinds, needed) in hidden.items():
        if needed and kinds & _FROM_A_GRAPH:
            raise ToolDefinitionError(_NO_GRAPH.format(parameter, _listed(sorted(kinds & _FROM_A_GRAPH)[:1])))
        if not kinds & {*_FROM_A_GRAPH, "InjectedToolCallId"}:
            takes.declared[parameter] = needed
    takes.declared[_CALL_ID] = False
    closed = {"additionalProperties": False} if hidden else {}              # nothing hidden is sent
    ids = [parameter for parameter, (kinds, _) in hidden.items() if "InjectedToolCallId" in kinds]
    metadata = ToolMetadata(source="langchain", tags=frozenset(tool.tags or ()))
    return Tool(name, tool.description or "", {**parameters, **closed}, _langchain_call(tool, ids), metadata,
                _binder(takes, _as_it_is, checked=False))


def _langchain_parameters(tool: Any) -> dict[str, Any]:
    """Give the schema that the model is shown."""
    shown = tool.tool_call_schema
    if isinstance(shown, dict):
        return shown
    said = shown.model_json_schema() if hasattr(shown, "model_json_schema") else shown.schema()         # pydantic 1
    schema: dict[str, Any] = {
        "type": "object", "properties": {}, "additionalProperties": False,
        **{keyword: said[keyword] for keyword in said if keyword not in ("title", "description")}}
    if tool.args_schema is None and tool.args.keys() != schema["properties"].keys():    # Tool, a function of one text
        return {**schema, "properties": tool.args, "required": list(tool.args)}
    return schema


def _langchain_hidden(tool: Any) -> dict[str, tuple[set[str], bool]]:
    """Give what LangChain injects, as the signature or the schema's fields tell: {parameter: (kinds, needed)}."""
    func = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    hints, fields = _hints_of(func), getattr(tool.get_input_schema(), "model_fields", {})
    signature = _caught(inspect.signature, func).value or inspect.Signature()       # a builtin may have none
    rows = [(name, [hints.get(name), *getattr(hints.get(name), "__metadata__", ())], parameter.default is _REQUIRED)
            for name, parameter in signature.parameters.items()]
    rows += [(name, [field.annotation, *field.metadata], field.is_required()) for name, field in fields.items()]
    hidden = {}
    for name, notes, needed in rows:
        plain = [typing.get_origin(note) or note for note in notes]
        classes = [note if isinstance(note, type) else type(note) for note in plain]
        kinds = {base.__name__ for cls in classes for base in cls.__mro__}
        if not kinds.isdisjoint(("InjectedToolArg", "_DirectlyInjectedToolArg")):
            hidden[name] = kinds, needed
    return hidden


def _langchain_call(tool: Any, ids: list[str]) -> Callable[..., Any]:
    # a plain value says more to the program than LangChain's ToolMessage, which is asked for only where it is needed
    as_message = (ids or tool.response_format == "content_and_artifact" or tool.handle_tool_error
                  or tool.handle_validation_error)

    def given(arguments: dict[str, Any]) -> dict[str, Any]:
        call_id = arguments.pop(_CALL_ID, None) or _fresh_id()
        arguments.update(dict.fromkeys(ids, call_id))
        return {"type": "tool_call", "id": call_id, "name": tool.name, "args": arguments} if as_message else arguments

    async def ainvoke(**arguments: Any) -> Any:
        try:
            value = await tool.ainvoke(given(arguments))
        except Exception as error:
            value = error
        return _langchain_answer(value)

    def invoke(**arguments: Any) -> Any:
        outcome = _caught(tool.invoke, given(arguments))
        return _langchain_answer(outcome.value if outcome.error is None else outcome.error)
    is_sync = getattr(tool, "coroutine", None) is None and type(tool)._arun.__module__.startswith("langchain_core.")
    return invoke if is_sync else ainvoke


def _langchain_answer(value: Any) -> Any:
    """Read a ToolMessage, or what was raised; any other value is the tool's own."""
    if isinstance(value, BaseException):
        if any(cls.__name__ == "ToolException" for cls in type(value).__mro__):     # whose text is for the model
            raise ToolError(str(value)) from value
        raise value
    if any(type(each).__module__ == "langgraph.types" for each in (value if isinstance(value, list) else [value])):
        raise ToolError(_COMMAND)
    if not hasattr(value, "tool_call_id"):
        return value
    message: Any = value
    blocks = [message.content] if isinstance(message.content, str) else message.content
    text = "\n".join(block if isinstance(block, str) else block.get("text") or _write_json(block) for block in blocks)
    if message.status == "error":
        raise ToolError(text)
    return Answer(text, message.content if message.artifact is None else message.artifact)


def _langchain_results(results: list[ToolResult]) -> list[dict[str, Any]]:
    """Spell results as ToolNode does; an artifact is a value that the content does not say, where it is JSON."""
    return [{"role": "tool", "tool_call_id": _printable(result.tool_call_id), "content": _printable(result.content),
             "name": result.name, "status": "error" if result.is_error else "success",
             **({"artifact": result.value} if _caught(_is_artifact, result).value else {})} for result in results]


def _is_artifact(result: ToolResult) -> bool:
    return result.value is not None and _is_json(result.value) and _content_of(result.value) != result.content


def _message_of_langchain(message: Any) -> dict[str, Any]:
    """Give a message in the words of chat completions; one with calls keeps what a model has to be sent again."""
    calls = [{"id": _at(call, "id"), "type": "langchain", "name": _at(call, "name"), "args": _at(call, "args")}
             for key in ("tool_calls", "invalid_tool_calls") for call in getattr(message, key, None) or ()]
    if calls:
        return {"role": "assistant", "content": message.content, "tool_calls": calls}
    kind = "ai" if hasattr(message, "tool_calls") else message.type
    role = {"human": "user", "ai": "assistant"}.get(kind, getattr(message, "role", kind))
    answered = {"tool_call_id": message.tool_call_id} if hasattr(message, "tool_call_id") else {}
    is_text = role == "assistant" or all(isinstance(part, str) or "text" in part for part in message.content)
    return {"role": role, **answered, "content": _text_in({"content": message.content}) if is_text else message.content}


def _with_thoughts(message: Any, messages: list[Any], parts: str | None) -> list[Any]:
    """Keep these blocks as they came, where the spelling has a place for them."""
    blocks = message["content"] if isinstance(message["content"], list) else []
    thoughts = [block for block in blocks if _at(block, "type") in _THOUGHTS]
    if thoughts and messages and parts in ("content", "tool_calls"):
        said = messages[0]["content"]
        said = [{"type": "text", "text": said}] * bool(said) if isinstance(said, str) else said
        messages[0] = {**messages[0], "content": [*thoughts, *said]}
    return messages


_APIS["langchain"] = _Format(**vars(_APIS["openai-chat"]) | {
    "again": None, "results": _langchain_results, "kept": _with_thoughts})
_CHAPTERS_DO["message-of-langchain"] = _message_of_langchain
_SPELLINGS[:0] = [("langchain", "", ("langchain",), ("args",)),
                  ("openai-chat", "", ("tool_call", "invalid_tool_call"), ("args",))]       # a list of calls alone
ToolRegistry.register_from_langchain = _registers(langchain_tools)
__all__ += ["langchain_tools"]


# ---------------------------------------------------------------------------
# network: one careful HTTP request, one reader of server-sent events
#    uses 1
# ---------------------------------------------------------------------------
MAX_BODY = 16 * 2**20       # bytes of one answer, of one line, of one event
MAX_ERROR_BODY = 2_000      # bytes of an answer that an HttpError holds
_PORTS = {"http": 80, "https": 443}
_URL = (r"(?ai)(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?"    # scheme, host, port
        r"([/?][!-\"$-\[\]-~]*)?(?:#[!-~]*)?")                               # path and query
_HEADER_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_NOT_IN_HEADER = r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]"
_OWN_HEADERS = ("connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade")
_HEADERS = {"accept": "*/*", "user-agent": f"toolreg/{__version__}"}
_REDIRECTS: dict[str, tuple[int, ...]] = dict.fromkeys(("GET", "HEAD"), (301, 302, 303, 307, 308))
_EVENT_FIELDS = {"event": ".*", "data": ".*", "id": r"[^\0]*", "retry": "[0-9]{1,9}"}      # any other field is skipped


class HttpError(ToolRegError):
    """Say that no whole answer came (`status` is None), or what an answer says that is an error.

    `headers` (names in lower case) and `body` (bytes, cut) are the answer's. The message names the origin only:
    paths, queries and headers may hold secrets.
    """

    def __init__(self, message: str, status: int | None = None, headers: Mapping[str, str] | None = None,
                 body: bytes = b"") -> None:
        super().__init__(message)
        self.status, self.headers, self.body = status, dict(headers or {}), body


class _Target:
    """A URL that was checked: whom to ask (once as text), and for what. No error shows it: it may hold a password."""

    def __init__(self, url: str, base: str = "") -> None:
        from urllib.parse import urljoin
        try:
            found = re.fullmatch(_URL, urljoin(base, url))
        except ValueError:                  # urljoin is as strict, but only here and there
            found = None
        if found is None or int(found[3] or 0) > 65_535:
            raise HttpError("url: must be http:// or https:// with a host, in ASCII without spaces, user and password")
        scheme, host, port, path = found[1].lower(), found[2].lower(), found[3], found[4] or ""
        self.host, self.port = host.strip("[]"), int(port or _PORTS[scheme])
        self.path = path if path.startswith("/") else f"/{path}"
        self.address = f"{host}:{self.port}"
        self.name = self.address.removesuffix(f":{_PORTS[scheme]}")         # as the header `host` has it
        self.origin = f"{scheme}://{self.name}"


def _headers_of(given: Mapping[str, str], others: Mapping[str, str] = _HEADERS) -> dict[str, str]:
    """Check headers, spell their names in lower case, and add them to others."""
    for name, value in given.items():
        if not re.fullmatch(_HEADER_NAME, name) or name.lower() in _OWN_HEADERS:
            raise HttpError(f"headers: {_shown(name)} is not a header that can be set")
        if not isinstance(value, str) or re.search(_NOT_IN_HEADER, value):
            raise HttpError(f"headers: {name} must be text without control characters")
    return {**others, **{name.lower(): value for name, value in given.items()}}


def _proxy_of(target: _Target) -> tuple[_Target | None, dict[str, str]]:
    """Give (the proxy that the environment names for a target, the headers that the proxy wants)."""
    from base64 import b64encode
    from urllib.parse import unquote
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]
    proxies, scheme = getproxies_environment(), target.origin.partition(":")[0]
    url = proxies.get(scheme) or proxies.get("all") or ""
    if not url or any(proxy_bypass_environment(name, proxies) for name in (target.name, target.host)):
        return None, {}
    parts = re.fullmatch(r"(?i)(?:http://)?(?:([^@/:]*)(:[^@/]*)?@)?([^@/]+)/?", url)
    if parts is None:
        raise HttpError(f"{target.origin}: its proxy must be like http://user:password@host:port (see the environment)")
    login = b64encode(unquote((parts[1] or "") + (parts[2] or ":")).encode()).decode()
    return _Target(f"http://{parts[3]}"), {} if parts[1] is None else {"proxy-authorization": f"Basic {login}"}


def _seconds_to(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return min(left, 1e6)       # sockets and locks take no infinity


def _connected(target: _Target, deadline: float) -> Any:
    """Give a socket that is connected to one of the addresses of a host, all of which share the deadline."""
    import socket
    fault = OSError(f"{target.host} has no address")
    for *_, (host, port, *_) in socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM):
        try:
            return socket.create_connection((str(host), int(port)), _seconds_to(deadline))
        except OSError as error:
            fault = error
    raise fault


@functools.lru_cache(maxsize=4)             # reading the trusted certificates takes 20 ms
def _tls_context(*_trusted: str | None) -> Any:
    import ssl
    return ssl.create_default_context()     # which reads the two variables itself


class _Wire(io.RawIOBase):
    """A connection with one deadline for all of it, however slowly its bytes drip."""

    def __init__(self, socket: Any, deadline: float) -> None:
        self.socket, self.deadline = socket, deadline

    def makefile(self, mode: str) -> io.BufferedReader:         # all that http.client wants of a socket
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.socket.settimeout(_seconds_to(self.deadline))
        return int(self.socket.recv_into(buffer))

    def send(self, first: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        lines = [f"{first} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers), "\r\n"]
        self.socket.settimeout(_seconds_to(self.deadline))
        self.socket.sendall("\r\n".join(lines).encode() + body)

    def secure(self, target: _Target, tunnel: Mapping[str, str] | None) -> None:
        """Speak TLS; where `tunnel` (a proxy's headers) is given, through a tunnel that the proxy makes."""
        if tunnel is not None:
            self.send(f"CONNECT {target.address}", {"host": target.address, **tunnel})
            first, *_ = *iter(lambda: self.readline(65_536).strip(), b""), b""      # and no byte of the server's
            status = re.match(rb"HTTP/1\.[01] (\d{3})", first)
            if not status or status[1][:1] != b"2":
                raise HttpError(f"{target.origin}: the proxy made no tunnel: {first[:80].decode('ascii', 'replace')}",
                                int(status[1]) if status else None)
        context = _tls_context(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))
        self.socket.settimeout(_seconds_to(self.deadline))
        self.socket = context.wrap_socket(self.socket, server_hostname=target.host)

    def hang_up(self) -> None:
        """End the exchange from any thread: one that waits in a read comes to the end of the bytes."""
        with contextlib.suppress(OSError):  # the far side was faster
            self.socket.shutdown(2)         # both ways

    def close(self) -> None:
        self.socket.close()
        super().close()


def _exchange(method: str, target: _Target, headers: Mapping[str, str], body: bytes, deadline: float,
              watch: Callable[[_Wire], Any]) -> Generator[Any, None, None]:
    """Send one request; yield (wire, answer read as far as its headers), then the body as it comes, and whole."""
    import http.client
    proxy, hello = _proxy_of(target)
    is_plain, asked = target.origin.startswith("http:"), target.path
    sent = {**headers, "host": target.name, "connection": "close", "accept-encoding": "identity"}
    if body or method in ("POST", "PUT", "PATCH"):
        sent["content-length"] = str(len(body))
    if proxy and is_plain:                  # it is asked for the whole URL, and nobody else hears its password
        sent, asked = sent | hello, target.origin + asked
    try:
        with (_Wire(_connected(proxy or target, deadline), deadline) as wire,
              http.client.HTTPResponse(wire, method=method) as answer):     # type: ignore[arg-type]
            watch(wire)
            if not is_plain:
                wire.secure(target, hello if proxy else None)
            wire.send(f"{method} {asked}", sent, body)
            answer.begin()
            yield wire, answer
            pieces: Iterator[bytes] = iter(lambda: answer.read1(65_536), b"")
            for coding in reversed(re.split(r"[\s,]+", answer.headers.get("content-encoding", "identity").lower())):
                pieces = pieces if coding == "identity" else _unpacked(pieces, coding.removeprefix("x-"))
            yield from pieces
            if answer.length:               # read1 does not mind an end that comes too early
                raise http.client.IncompleteRead(b"", answer.length)
    except TimeoutError as error:
        raise ToolTimeoutError(f"{target.origin}: no complete answer within the timeout") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise HttpError(f"{target.origin}: {_error_text(error)[:200]}") from error


def _unpacked(pieces: Iterable[bytes], coding: str) -> Iterator[bytes]:
    """Yield what came packed though nobody asked, at most 64 KiB at a time: a few bytes may hold gigabytes."""
    import zlib
    unpacker: Any = None
    for piece in pieces:
        if coding not in ("gzip", "deflate"):
            raise ValueError(f"the answer is packed with {_shown(coding)}, which nobody asked for")
        while piece:
            if unpacker is None or unpacker.eof:        # gzip may come in several parts
                is_raw = coding == "deflate" and piece[0] & 15 != 8         # servers send both kinds
                unpacker = zlib.decompressobj(-15 if is_raw else 47)
            try:
                part = unpacker.decompress(piece, 65_536)
            except zlib.error:
                raise ValueError(f"the answer is not {coding}, as it says") from None
            if part:
                yield part
            piece = unpacker.unconsumed_tail or (unpacker.unused_data if coding == "gzip" else b"")
    if unpacker and not unpacker.eof:
        raise ValueError("the answer was cut short")


class _Response:
    """An answer, whose body is read once, by one thread; the names of its `headers` are in lower case."""

    def __init__(self, target: _Target, exchange: Generator[Any, None, None]) -> None:
        self.wire, answer = next(exchange)
        self.headers = {name.lower(): value for name, value in answer.headers.items()}
        self.charset: str = answer.headers.get_content_charset("utf-8")
        self.target, self.status, self.reason = target, int(answer.status), str(answer.reason[:80])
        self.close, self.pieces = exchange.close, exchange

    def read(self, limit: int = MAX_BODY, *, cut: bool = False) -> bytes:
        """Read the whole body, or with `cut` its first bytes, as many as can be had."""
        body = bytearray()
        with contextlib.suppress(*[ToolRegError] if cut else []), contextlib.closing(self):
            for piece in self.pieces:
                body += piece
                if len(body) > limit:
                    raise HttpError(f"{self.target.origin}: the answer is larger than {limit} bytes")
        return bytes(body[:limit])

    def text_of(self, body: bytes) -> str:
        """Read bytes of the body in the charset that the answer names, UTF-8 where it names none that is known."""
        try:
            return _printable(body.decode(self.charset, "replace"))
        except (LookupError, ValueError):
            return body.decode("utf-8", "replace")

    def lines(self, limit: int = MAX_BODY) -> Iterator[str]:
        """Yield the body's lines as they come; a line ends with LF, CR or both, and has at most `limit` bytes."""
        line, after_cr = bytearray(), False
        for piece in self.pieces:
            first, *others = re.split(rb"\r\n|\n|\r", piece[1:] if after_cr and piece[:1] == b"\n" else piece)
            after_cr = piece.endswith(b"\r")
            line += first
            for other in others:
                yield line.decode("utf-8", "replace")
                line = bytearray(other)
            if len(line) > limit:
                raise HttpError(f"{self.target.origin}: a line is longer than {limit} bytes")
        if line:
            yield line.decode("utf-8", "replace")

    def error(self) -> HttpError:
        """Make the HttpError that says what this answer says."""
        body = self.read(MAX_ERROR_BODY, cut=True)
        words = f"{self.target.origin} answered {self.status} {self.reason}: {self.text_of(body)}"
        return HttpError(" ".join(words.split()).rstrip(": "), self.status, self.headers, body)


def _request(method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None,
             timeout: float | None = 30, redirects: int = 5, watch: Callable[[_Wire], Any] = id) -> _Response:
    """Send a request and give the answer, whatever its status; `timeout` (seconds) is for all of it, body included.

    `watch` is given the connection as soon as there is one, so that somebody may hang up while this waits. GET and HEAD
    follow redirects, other methods only 307 and 308 within the origin; another origin gets nothing meant for the first.
    """
    deadline = time.monotonic() + (math.inf if timeout is None else timeout)
    target, sent, body = _Target(url), _headers_of(headers or {}), body or b""
    for _ in range(redirects + 1):
        response = _Response(target, _exchange(method, target, sent, body, deadline, watch))
        location = response.headers.get("location")
        if not location or response.status not in _REDIRECTS.get(method, (307, 308)):
            return response
        response.close()
        before, target = target, _Target(location, target.origin + target.path)
        if target.origin != before.origin:
            if method not in _REDIRECTS:
                return response             # whose body is not told: only its status counts
            if before.origin.startswith("https:") and target.origin.startswith("http:"):
                raise HttpError(f"{before.origin}: redirects from https to http")
            sent, body = _HEADERS, b""
    raise HttpError(f"{target.origin}: redirected more than {redirects} times")


def _sse_events(lines: Iterable[str]) -> Iterator[tuple[str, str | None, str, int | None]]:
    """Yield (event, data, id, retry in ms) for each server-sent event, read as the WHATWG's HTML standard says.

    A block that holds only an id or a retry has the data None; one that no empty line ended was cut, and is dropped.
    """
    block: dict[str, list[str]] = {}
    last_id, retry, size = "", None, 0
    for line in lines:
        name, _, value = line.removeprefix("\ufeff").partition(":")
        value, size = value.removeprefix(" "), size + len(line) + 1
        if size > MAX_BODY:
            raise HttpError(f"server-sent events: one is longer than {MAX_BODY} characters")
        if name in _EVENT_FIELDS and re.fullmatch(_EVENT_FIELDS[name], value):
            block.setdefault(name, []).append(value)
        if not line:
            last_id = block.get("id", [last_id])[-1]
            retry = int(block["retry"][-1]) if "retry" in block else retry
            if block.keys() - {"event"}:
                data = "\n".join(block["data"]) if "data" in block else None
                yield block.get("event", [""])[-1] or "message", data, last_id, retry
            block, size = {}, 0


__all__ += ["HttpError"]


# ---------------------------------------------------------------------------
# dialect: the schemas of OpenAPI descriptions, said in JSON Schema
#    uses 1 2 9
# ---------------------------------------------------------------------------
_Object = Mapping[str, Any]                 # as it stands in a description


def _part(node: Any, word: str, kind: type[Any]) -> Any:
    """Give a part of a node; an empty one where it is missing, null or of another kind."""
    found = node.get(word) if isinstance(node, Mapping) else None
    return found if isinstance(found, kind) else kind()


# --- keywords
@functools.lru_cache(maxsize=1024)
def _can_be_said(pattern: Any) -> bool:
    with contextlib.suppress(SchemaError):
        return isinstance(pattern, str) and bool(Validator({"pattern": pattern}))
    return False


# keyword -> whether its argument is one. What descriptions get wrong is left out, as is every other word: the server
# checks too, and a tool helps a model more than none does
_SAID: dict[str, Callable[[Any], bool]] = {each: _FORMS[form] for each, (form, _) in _KEYWORDS.items()
                                           if each not in ("$schema", "$defs", "definitions")}
_SAID |= {each: _FORMS[form] for form, more in {
    _SCHEMA: "if then else contains unevaluatedItems unevaluatedProperties", _COUNT: "minContains maxContains",
    "an object": "dependentSchemas dependentRequired", _TEXT: "description contentEncoding contentMediaType",
    "an array": "examples", "any value": "default"}.items() for each in more.split()}
_SAID |= {"pattern": _can_be_said, "deprecated": lambda argument: argument is True,
          **dict.fromkeys(("properties", "patternProperties"), lambda given: given and isinstance(given, dict)),
          "required": lambda argument: argument and _FORMS[_DIFFERENT](argument)}
_UNSAID = {"$dynamicRef": "a schema with $dynamicRef is not supported"}
if Validator.compiler is _Compiler:         # a copy without the chapter schema
    _UNSAID |= {each: str(_needs_chapter(each)) for each in _SAID.keys() - _KEYWORDS if each in _CHAPTER_OF}


def _modern(schema: _Object) -> dict[str, Any]:
    """Give the keywords of one schema as 2020-12 has them."""
    new = {**schema}
    for keyword, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if new.get(keyword) is True:
            new[keyword] = new.pop(bound, None)
    if isinstance(patterns := new.get("patternProperties"), dict):
        new["patternProperties"] = {pattern: patterns[pattern] for pattern in filter(_can_be_said, patterns)}
    for word in new.keys() & {"default", "const", "enum", "examples"}:          # a reader of YAML makes dates
        new[word] = json.loads(json.dumps(new[word], default=str))
    return {word: argument for word, argument in new.items() if word in _SAID and _SAID[word](argument)}


def _as_one(parts: list[_Object]) -> dict[str, Any]:
    """Say as one what several schemas say together, the last of them without a word that another contradicts."""
    properties, flat = dict[str, Any](), dict[str, Any]()
    for name, each in [row for part in parts for row in _part(part, "properties", dict).items()]:
        properties[name] = {**_part(properties, name, dict), **each} if isinstance(each, Mapping) else each
    for part in parts:
        rest = {word: part[word] for word in part if word not in ("properties", "required", "readOnly")
                and (part[word] is not False or part is parts[-1])}         # that another is closed is not its own word
        clashes = any(flat.get(word, rest[word]) != rest[word] for word in rest.keys() & _KEYWORDS.keys())
        flat |= {"allOf": [*flat.get("allOf", ()), rest]} if clashes else rest
    return {**flat, "properties": properties, "readOnly": any(part.get("readOnly") is True for part in parts),
            "required": [name for part in parts for name in _part(part, "required", list)]}


class _Schemas:
    """Say the schemas of a description as requests want them; nothing is copied that nobody uses."""

    def __init__(self, root: _Object) -> None:
        self.root, self.home = root, "#/definitions/" if "swagger" in root else "#/components/schemas/"
        self.definitions = functools.cache(self._definitions_of)        # tools that need the same share them
        self._needed_with = functools.cache(self._closure_of)
        self._sources: dict[str, tuple[str, Any]] = {}      # a name in $defs -> (what leads to its schema, the schema)
        self._definitions: dict[str, tuple[Any, list[str]]] = {}        # the same -> (it said, the names in it)
        self._inside = ""                                   # what leads to the definition that is being said
        self._flat: dict[int, tuple[Any, dict[str, Any]]] = {}          # the id of a schema -> (it, what it comes to)

    def complete(self, schema: Any) -> tuple[Any, set[str]]:
        """Give (a schema, said, the names of all definitions that it needs)."""
        self._inside, names = "", list[str]()
        said = self.said(schema, names)
        return said, set[str]().union(*map(self._needed_with, names))

    def _closure_of(self, name: str) -> set[str]:
        """Give the names of all definitions that one needs, itself too."""
        waiting, needed, new = [name], set[str](), dict[str, tuple[Any, list[str]]]()
        for each in waiting:                # it grows meanwhile
            if each not in self._definitions and each not in new:
                inner, (self._inside, source) = list[str](), self._sources[each]
                new[each] = self.said(source, inner, self._inside), inner
            waiting += () if each in needed else (new.get(each) or self._definitions[each])[1]
            needed.add(each)
        if new:                             # a way may lead back: that it ends is to be known now
            Validator({"$defs": {**dict.fromkeys(needed, True), **{each: said for each, (said, _) in new.items()}}})
        self._definitions |= new
        return needed

    def _definitions_of(self, names: frozenset[str]) -> dict[str, Any]:
        return {name: self._definitions[name][0] for name in sorted(names)}

    # --- references
    def target(self, reference: str) -> Any:
        with contextlib.suppress(LookupError):
            if reference.startswith("#/"):  # all of a description is no schema
                return _pointer(self.root, reference)
        raise ToolDefinitionError(f"the reference {_shown(reference)} leads nowhere "
                                  "(other documents are given in resources=)")

    def follow(self, node: Any) -> Any:
        """Give what a chain of references leads to."""
        for _ in range(MAX_DEPTH):
            if not _part(node, "$ref", str):
                return node
            node = self.target(node["$ref"])
        raise ToolDefinitionError("references lead round in a circle")

    def _named(self, reference: str, used: list[str], schema: Any = None) -> dict[str, str]:
        """Refer by a name in $defs to the schema given, or to what the reference leads to."""
        name = _legal_name(reference.rpartition("/")[2])
        if self._sources.get(name, [reference])[0] != reference:
            name = name[:57] + _legal_name(reference, distinct=True)[-7:]       # with the checksum of the whole
        if name not in self._sources:
            self._sources[name] = reference, schema or self.target(reference)
        used.append(name)
        return {"$ref": f"#/$defs/{name}"}

    # --- what a schema comes to
    def flat(self, schema: Any, around: frozenset[int] = frozenset()) -> Any:
        """Say as one what a schema refers to, what it has under allOf, and itself: open for what each of them adds."""
        inner = [self.target(schema["$ref"])] if _part(schema, "$ref", str) else []
        inner += _part(schema, "allOf", list)
        if not inner or id(schema) in around:
            return {} if inner or not isinstance(schema, Mapping) else schema
        if id(schema) not in self._flat:
            own = {word: schema[word] for word in schema if word not in ("$ref", "allOf")}
            parts = [*(self.flat(each, around | {id(schema)}) for each in inner), own]
            self._flat[id(schema)] = schema, _as_one(parts)
        return self._flat[id(schema)][1]

    def asked(self, schema: _Object) -> _Object:
        """Leave out the properties that are read-only."""
        properties, hidden = _part(schema, "properties", dict), set[str]()
        for name, each in properties.items():
            with contextlib.suppress(ToolDefinitionError):      # told where the schema is said
                hidden |= {name} if self.flat(each).get("readOnly") is True else set()
        required = dict.fromkeys(_part(schema, "required", list))
        return {**schema, "properties": {name: properties[name] for name in properties if name not in hidden},
                "required": [name for name in required if name not in hidden]}

    def said(self, schema: Any, used: list[str], reference: str = "") -> Any:
        """Say a schema; `used` collects the names in $defs, `reference` leads to a definition."""
        if not isinstance(schema, Mapping):
            return schema is not False
        for word in schema.keys() & _UNSAID.keys():
            raise ToolDefinitionError(_UNSAID[word])
        branches, own = _part(schema, "allOf", list), schema.keys() & {"properties", "required"}
        extends = len(branches) > 1 or (branches and reference) or (own and (branches or "$ref" in schema))
        text = json.dumps(schema, default=str) if extends and not reference else ""
        if '"$ref"' in text:                # it may hold itself, which only a definition can say
            base = re.findall(r'"\$ref": "(?:[^"]*[/#])?([^"]*)"', text)[0]
            return self._named(f"{text}/{base}_extended", used, schema)
        is_base = "discriminator" in schema
        schema = self.flat(schema) if extends else schema
        schema, kinds = self._kinds(self.asked(schema), reference if is_base else "", used)
        said: dict[str, Any] = {}
        for word, argument in _modern(schema).items():
            if word == "properties":
                said[word] = self._properties(argument, _part(schema, "required", list), used)
            else:
                said[word] = _change_schemas(word, argument, lambda sub, *_: self.said(sub, used))
        if {"$ref", "$recursiveRef"} & schema.keys():
            said |= self._named(str(schema.get("$ref", self._inside or "$recursiveRef")), used)
        if kinds:
            said["anyOf"] = kinds
        if said.get("format") == "binary":
            said = {"description": "the file's text", **said}
            del said["format"]
        if said and True in (schema.get("nullable"), schema.get("x-nullable")):
            beside: dict[str, Any] = {word: said.pop(word) for word in ("description", "default") if word in said}
            said = {**beside, "anyOf": [said, {"type": "null"}]} if said else beside
        return said

    def _properties(self, schemas: _Object, required: list[Any], used: list[str]) -> dict[str, Any]:
        kept = {}
        for name, each in schemas.items():
            try:
                kept[name] = self.said(each, used)
            except ToolRegError:            # an optional one costs itself
                if name in required:
                    raise
        return kept

    # --- kinds of one thing, which a property tells apart
    def _kinds(self, schema: _Object, reference: str, used: list[str]) -> tuple[_Object, list[Any]]:
        """Give (a schema without its kinds, each kind with the values of a property that mean it)."""
        told, choices = schema.get("discriminator"), _part(schema, "oneOf", list) or _part(schema, "anyOf", list)
        teller = told if isinstance(told, str) else _part(told, "propertyName", str)
        if not teller or not (choices or reference):
            return schema, []
        mapping = {value: each if re.search("[/#]", each) else self.home + each
                   for value, each in _part(told, "mapping", dict).items()}
        bare: _Object = {word: schema[word] for word in schema if word not in ("discriminator", "oneOf", "anyOf")}
        rows = [(_part(each, "$ref", str), each) for each in choices]
        if not choices:
            family, schemas = [reference], _part(_part(self.root, "components", dict), "schemas", dict)
            for each in family:             # it grows meanwhile
                family += [self.home + name for name, kind in schemas.items() if self.home + name not in family
                           and each in [_part(part, "$ref", str) for part in _part(kind, "allOf", list)]]
            mapping = mapping or {each.rpartition("/")[2]: each for each in family[len(family) < 2:]}
            rows = [(each, bare if each == reference else {"$ref": each}) for each in dict.fromkeys(mapping.values())]
            bare = {} if rows else schema
        return bare, [self._kind(each, teller, [value for value in mapping if mapping[value] == target], used)
                      for target, each in rows]

    def _kind(self, schema: Any, teller: str, values: list[str], used: list[str]) -> Any:
        """Say a kind, with the values that mean it unless it says others itself."""
        said, own = self.said(schema, used), _part(_part(self.flat(schema), "properties", dict), teller, dict)
        values = [value for value in values if value in own.get("enum", [own.get("const", value)])]
        if not values or not isinstance(said, dict):
            return said
        return {**said, "properties": {**said.get("properties", {}), teller: {"enum": values}},
                "required": [*dict.fromkeys([*said.get("required", ()), teller])]}


# ---------------------------------------------------------------------------
# openapi: tools from OpenAPI descriptions
#    uses 1 9 10 media importers network dialect
# ---------------------------------------------------------------------------
_MEND = "Error: {}\nFix the arguments and call the tool again."
_NO_SERVER = "no server is named with its whole URL (write base_url=)"
_METHODS = ("get", "put", "post", "delete", "head", "patch", "query")       # on purpose without options and trace
_BODY = " body"                             # where a field of it goes; on purpose no parameter's `in`
_Pairs = list[tuple[str, str]]              # names and encoded texts


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Read what others wrote: what a reader stumbles over is the document's fault."""
    try:
        yield
    except ToolRegError:
        raise
    except Exception as error:
        raise ToolDefinitionError(f"the OpenAPI document cannot be read: {_error_text(error)}") from error


def openapi_tools(spec: Any, *, base_url: str | None = None, headers: Mapping[str, str] | None = None,
                  auth: Mapping[str, Any] | None = None, include: Iterable[str] | None = None,
                  exclude: Iterable[str] = (), resources: Mapping[str, Any] | None = None,
                  timeout: float | None = 30) -> ToolList:
    """Make a Tool of each operation of an OpenAPI 3.0, 3.1 or 3.2 description, or of Swagger 2.0.

    `spec`: a dict, its JSON text, a path or a URL · `base_url`: instead of the servers it names · `headers`: for every
    request · `auth`: security scheme -> key, token or (user, password) · `include`, `exclude`: operationIds, tags,
    methods, or paths with * · `resources`: URI -> document, for references to other documents, which are never fetched.
    `metadata.extra["openapi"]` has each tool's method, path, deprecated, and what was left_out of it.
    """
    import warnings
    with _reading():
        root, uri = _openapi_document(spec, timeout)
        root = _with_resources(root, uri, resources) if resources else root
        client = _Client(_Schemas(root), uri, base_url, headers or {}, auth or {}, timeout)
        operations = _operations(client, include, exclude)
    tools = _make_tools("OpenAPI", operations)
    unsent = client.credentials.keys() - client.sent
    if unsent:
        warnings.warn(f"auth: {_listed(sorted(unsent))} is sent with no operation (security wants others, or more)",
                      ToolRegWarning, stacklevel=2)
    return tools


# --- the document
def _openapi_document(spec: Any, timeout: float | None) -> tuple[_Object, str]:
    """Give (the description as OpenAPI 3 has it, the URL that it came from)."""
    document, uri = spec, ""
    if isinstance(spec, str) and spec.startswith(("http://", "https://")):
        response = _request("GET", spec, timeout=timeout)
        if response.status != 200:
            raise response.error()
        document, uri = response.text_of(response.read()), response.target.origin + response.target.path
    elif not isinstance(spec, Mapping) and not (isinstance(spec, str) and re.match(r"\s*\{|.*\n", spec)):
        with open(os.fspath(spec), encoding="utf-8-sig") as file:
            document = file.read()
    try:
        said = document if isinstance(document, Mapping) else _read_json(document)
    except ValueError as fault:
        raise ToolDefinitionError(f"the OpenAPI document is not JSON: {fault} "
                                  "(of YAML write register_from_openapi(yaml.safe_load(text)))") from None
    said = said if isinstance(said, Mapping) else {}
    version = f"Swagger {said['swagger']}" if "swagger" in said else _shown(said.get("openapi"))
    if not re.match(r'Swagger 2\.|"?3\.[012](?![0-9])', version):
        raise ToolDefinitionError(f"openapi: must be 3.0, 3.1 or 3.2, or swagger 2.0 (got {version})")
    if "swagger" in said:                   # said as OpenAPI 3; definitions stay where references to them lead
        schemes, path = _part(said, "schemes", list), said.get("basePath") or "/"
        scheme = "http" if "http" in schemes and "https" not in schemes else "https"
        said = {**said, "servers": [{"url": f"{scheme}://{said['host']}{path}" if said.get("host") else path}],
                "components": {"schemas": said.get("definitions"), "securitySchemes": said.get("securityDefinitions")}}
    return said, uri


def _with_resources(root: _Object, uri: str, resources: Mapping[str, Any]) -> _Object:
    """Bring other documents into a description, and the references to them."""
    from urllib.parse import urljoin
    places = {urljoin(uri, name): f"#/x-resources/{number}" for number, name in enumerate(resources)} | {uri: "#"}

    def moved(document: Any, base: str) -> Any:
        def with_reference(node: dict[str, Any]) -> dict[str, Any]:
            if isinstance(node.get("$ref"), str):
                name, _, pointer = urljoin(base, node["$ref"]).partition("#")
                node["$ref"] = places[name] + pointer if name in places else node["$ref"]
            return node
        return json.loads(json.dumps(document, default=str, skipkeys=True), object_hook=with_reference)
    return {**moved(root, uri), "x-resources": [moved(other, urljoin(uri, name)) for name, other in resources.items()]}


_COLLECTIONS = {"ssv": "spaceDelimited", "pipes": "pipeDelimited", "tsv": "tsv"}        # Swagger's words


def _swagger_operation(root: _Object, node: _Object, parameters: list[_Object]) -> tuple[list[_Object], Any]:
    """Give (the parameters, each with a schema of its own where other keywords do no harm, the body) of OpenAPI 3."""
    given: list[_Object] = [{
        "schema": {"type": "string", "format": "binary"} if each.get("type") == "file" else each, **each,
        "style": _COLLECTIONS.get(each.get("collectionFormat", "")), "explode": each.get("collectionFormat") == "multi"}
        for each in parameters]
    body = next((each for each in given if each["in"] == "body"), None)
    fields = {each["name"]: each for each in given if each["in"] == "formData"}
    media_types = _part(node, "consumes", list) or _part(root, "consumes", list) or ["application/json"]
    if fields:
        has_file = any(each.get("type") == "file" for each in fields.values())
        is_parts = has_file or {_kind_of(each) for each in media_types} & {"form", "parts"} == {"parts"}
        media_types = ["multipart/form-data" if is_parts else "application/x-www-form-urlencoded"]
        needed = [name for name in fields if fields[name].get("required") is True]
        body = {"required": bool(needed), "encoding": fields, "schema": {
            "type": "object", "required": needed, "properties": {name: fields[name]["schema"] for name in fields}}}
    others = [each for each in given if each["in"] not in ("body", "formData")]
    return others, body and {**body, "content": dict.fromkeys(media_types, body)}


# --- what the program gives to every request
# Swagger's and OpenAPI's kinds of secrets -> the word before it in the header `authorization`, or nothing
_AUTHS = {"basic": "Basic", "http basic": "Basic", "http bearer": "Bearer", "oauth2": "Bearer",
          "openidconnect": "Bearer", **dict.fromkeys(("apikey header", "apikey query", "apikey cookie"), "")}


class _Client:
    def __init__(self, api: _Schemas, uri: str, base_url: str | None, headers: Mapping[str, str], auth: Any,
                 timeout: float | None) -> None:
        if not isinstance(auth, Mapping):
            raise ToolDefinitionError("auth: must be a dict of security scheme -> secret")
        self.api, self.uri, self.headers, self.timeout = api, uri, _headers_of(headers, {}), timeout
        self.servers = None if base_url is None else [{"url": base_url}]
        nodes = _part(_part(api.root, "components", dict), "securitySchemes", dict)
        schemes = {name: api.follow(nodes[name]) for name in nodes}
        self.credentials = {name: self._credential(name, schemes.get(name), auth[name]) for name in auth}
        self.sent: set[str] = set()         # the names of those that some operation sends
        self.hidden = {(_part(node, "in", str), _part(node, "name", str).lower()) for node in schemes.values()} | {
            ("header", name) for name in (*self.headers, *_OWN_HEADERS, "accept", "content-type", "authorization")}

    def _credential(self, name: str, scheme: Any, secret: Any) -> tuple[_Place, str]:
        """Give (where it goes, the text)."""
        from base64 import b64encode
        secret = ":".join(secret) if isinstance(secret, (tuple, list)) else secret
        where = _part(scheme, "in", str)
        kind = f"{_part(scheme, 'type', str)} {where or _part(scheme, 'scheme', str)}".strip().lower()
        if kind not in _AUTHS or not isinstance(secret, str):
            raise ToolDefinitionError(f"auth: {_shown(name)} must be a security scheme of the document that can be "
                                      f"sent, with text (it is {kind or 'none'}, with {type(secret).__name__})")
        word = _AUTHS[kind]
        secret = b64encode(secret.encode()).decode() if word == "Basic" else secret
        where, sent_as = ("header", "authorization") if word else (where, scheme["name"])
        return _Place(where, sent_as, True, {}, {}), f"{word} {secret}" if word else secret

    def base_for(self, servers: Iterable[_Object]) -> str:
        """Give the first server that has a whole URL, if only beside the document's; else nothing."""
        from urllib.parse import urljoin
        for server in self.servers or servers:
            url = str(_part(server, "url", str))
            for name, variable in _part(server, "variables", dict).items():
                url = url.replace(f"{{{name}}}", str(variable.get("default", *_part(variable, "enum", list)[:1])))
            url = urljoin(self.uri, url)
            if re.match("https?://[^?#{@]+$", url):
                return url.rstrip("/")
        return ""


# --- which operations there are
def _operations(client: _Client, include: Iterable[str] | None, exclude: Iterable[str]) -> Iterable[tuple[str, Any]]:
    """Give (the name that it wishes for, what makes its tool) for each operation that was chosen."""
    found: dict[str, _Operation] = {}
    for key, given in _part(client.api.root, "paths", dict).items():
        item: Any = {"get": {"parameters": [given]}}        # what leads nowhere is refused when its turn comes
        with contextlib.suppress(ToolDefinitionError):
            item = {} if str(key).startswith("x-") else client.api.follow(given)
        nodes = {method.upper(): item.get(method) for method in _METHODS if isinstance(item, Mapping)}
        for method, node in {**nodes, **_part(item, "additionalOperations", dict)}.items():
            if isinstance(node, Mapping) and method not in ("TRACE", "OPTIONS"):
                wished = str(node.get("operationId") or "")
                wished = wished if wished and wished not in found else f"{method.lower()} {key}"
                found[wished] = _Operation(client, wished, method, str(key), item, node)
    chosen = set(found) if include is None else _meant_by(found, "include", include)
    chosen -= _meant_by(found, "exclude", exclude)
    if not chosen:
        raise ToolDefinitionError("the OpenAPI document has no operations that could be called")
    if not any(each.base for each in found.values()):
        raise ToolDefinitionError(_NO_SERVER)
    plain = [_legal_name(wished) for wished in found]       # of all, so that a choice changes no names
    return [(wished, functools.partial(each.tool, _legal_name(wished, name != wished and plain.count(name) > 1)))
            for (wished, each), name in zip(found.items(), plain) if wished in chosen]


def _meant_by(operations: Mapping[str, _Operation], option: str, wanted: Iterable[str]) -> set[str]:
    """Give the operations that an option means by their ids, tags, methods, or paths with *."""
    chosen: set[str] = set()
    for word in [wanted] if isinstance(wanted, str) else wanted:
        fits = re.compile(".*".join(map(re.escape, word.split("*")))).fullmatch
        hits = {wished for wished, each in operations.items() if any(map(fits, each.words))}
        if not hits:
            there = _listed(_nearest_first(word, sorted(set().union(*(each.words for each in operations.values())))))
            raise ToolDefinitionError(f"the OpenAPI document has no operations {_shown(word)} of {option}= "
                                      f"(there are: {there})")
        chosen |= hits
    return chosen


# --- how an argument is written
# where an argument goes -> the styles that can be written there, the usual one first
_STYLES_IN = {"path": ("simple", "json"), "header": ("simple", "json"), "cookie": ("form", "json"), **dict.fromkeys(
    ("query", _BODY), ("form", "json", "spaceDelimited", "pipeDelimited", "tsv", "deepObject"))}
_BETWEEN = {"form": ",", "simple": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C", "tsv": "%09"}
_SPARED = {"cookie": "=+/:@!$", "query": "/?:@!$'()*,;"}    # in a query by allowReserved; what ends a value is not


def _styled(style: str, name: str, value: Any, explode: bool, encode: Callable[[str], str]) -> _Pairs:
    """Write a value as pairs: `explode` makes one of each item, deepObject of each scalar in it, as a[b][0]=value."""
    is_object, is_list = isinstance(value, dict), type(value) is list
    if style == "json":
        return [(name, encode(_printable(_write_json(value))))]
    if style == "deepObject" and (is_object or is_list):
        return [pair for key, each in (value.items() if is_object else enumerate(value))
                for pair in _styled(style, f"{name}[{key}]", each, explode, encode)]
    items = value.items() if is_object else [(name, each) for each in (value if is_list else [value])]
    pairs = [(key, encode(_as_text(each))) for key, each in items if each is not None]
    if style not in _BETWEEN or (explode and style != "simple"):
        return pairs
    equals = "=" if explode else _BETWEEN[style]
    return [(name, _BETWEEN[style].join(f"{encode(key)}{equals}{text}" if is_object else text for key, text in pairs))]


def _as_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _printable(value) if isinstance(value, str) else _write_json(value)


def _in_url(text: str, safe: str = "") -> str:
    from urllib.parse import quote
    return quote(_printable(text), safe=safe)


def _joined_pairs(pairs: _Pairs, between: str = "&") -> str:
    return between.join(f"{_in_url(name)}={text}" for name, text in pairs)


class _Place(typing.NamedTuple):
    """Say what an argument fills: a parameter, a field of the body, or the body."""

    where: str                              # a parameter's `in`, or _BODY
    name: str
    needed: bool
    schema: Any
    node: _Object                           # which says how it is written

    def argument(self, taken: Collection[str]) -> str:
        """Give the name as a model's API takes it, and other than those that are taken."""
        name = self.name if re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", self.name) else _legal_name(self.name)
        name += f"_{self.where.strip()}" if name in taken else ""
        while name in taken:
            name += "_"
        return name

    def told(self, argument: str, schema: Any) -> Any:
        """Add to a schema what stands beside it, and the name that is sent where the argument's is another."""
        texts = [_part(self.node, "description", str) or _part(schema, "description", str),
                 "" if argument.startswith(self.name) else f"(sent as {self.name})"]
        more = {"description": " ".join(filter(None, texts)), "deprecated": self.node.get("deprecated") is True}
        return {**schema, **{word: more[word] for word in more if more[word]}} if isinstance(schema, dict) else schema

    def pairs(self, value: Any = None) -> _Pairs:
        """Write a value in its style, or say why none can be; null and what is empty are left out."""
        styles, node = _STYLES_IN.get(self.where, ()), self.node
        content = _listed(_part(node, "content", dict))
        style = str(content or node.get("style") or next(iter(styles), "text"))
        explode = style == "form" if node.get("explode") is None else node["explode"]
        if _kind_of(content or node.get("contentType", "")) == "json" or (
                isinstance(value, dict) and self.where == _BODY and not node.get("style")):
            style = "json"
        if style not in styles:
            raise ToolDefinitionError(f"a {self.where} parameter written as {style} is not supported")
        spares = self.where == "cookie" or node.get("allowReserved") is True
        safe = _SPARED.get(self.where, "") if spares else ""
        encode: Any = str if self.where == "header" else functools.partial(_in_url, safe=safe)
        return [] if value in (None, [], {}) else _styled(style, self.name, value, explode, encode)


# --- the body
_LIFTED = frozenset("type properties required additionalProperties title description example examples default "
                    "deprecated externalDocs xml".split())
_FILE = '"format": "binary"|"content(MediaType|Encoding)":'
_WILD = {"*/*": "application/json", "application/*": "application/json", "text/*": "text/plain"}


class _Body:
    """Hold what the body of an operation takes (`places`), and write it."""

    def __init__(self, api: _Schemas, node: Any) -> None:
        body = api.follow(node)
        contents = _part(body, "content", dict)
        media_type = min(contents, key=lambda each: [*_BODIES].index(_kind_of(each)), default="")
        content = api.follow(contents.get(media_type)) or {}
        self.api, self.kind, self.type = api, _kind_of(media_type), _WILD.get(media_type, media_type)
        self.needed, self.encoding = _part(body, "required", bool), _part(content, "encoding", dict)
        schema = _part(content, "schema", dict)
        if self.kind in ("text", "raw"):        # whatever it means to the server, here it is text
            schema = {"type": "string", **{word: each for word, each in (api.follow(schema) or {}).items()
                                           if word in ("description", "contentEncoding", "enum", "format")}}
        fields = self._fields(schema)
        self.is_whole, whole = not fields, [_Place(_BODY, "body", self.needed, schema, {})]
        self.places = fields or whole[:len(contents)]

    def _fields(self, schema: Any) -> list[_Place]:
        """Give the properties of a plain object, closed or silent, as arguments: needed even where the body is not."""
        schema = self.api.asked(self.api.follow(schema) or {})
        properties, required = _part(schema, "properties", dict), _part(schema, "required", list)
        if (not properties or schema.get("type", "object") != "object" or schema.get("additionalProperties")
                or not properties.keys() >= {*required}
                or not all(keyword in _LIFTED or keyword.startswith("x-") for keyword in schema)):
            return []
        return [self.field(name, name in required, each) for name, each in properties.items()]

    def field(self, name: str, needed: bool = False, schema: Any = None) -> _Place:
        return _Place(_BODY, name, needed, schema, _part(self.encoding, name, dict))

    def written(self, given: Mapping[str, Any]) -> tuple[bytes | None, str]:
        """Give (the body or None, its content type)."""
        if not given and (not self.needed or not self.places):
            return None, ""
        value = given.get("body") if self.is_whole else given
        is_text = self.kind in ("form", "parts") and not isinstance(value, dict)        # written as such already
        body, media_type = _BODIES["raw" if is_text else self.kind][1](self, value)
        return body, media_type or self.type

    def multipart(self, fields: Mapping[str, Any]) -> tuple[bytes, str]:
        from uuid import uuid4
        boundary, written = uuid4().hex, b""
        schemas = {place.name: json.dumps(self.api.flat(place.schema), default=str) for place in self.places}
        rows = [(name, each) for name, value in fields.items() if value is not None
                for each in (value if isinstance(value, list) else [value])]
        for name, value in rows:
            data, media_type = _as_bytes(value, schemas.get(name, ""))
            media_type = _part(self.field(name).node, "contentType", str).partition(",")[0] or media_type
            quoted = re.sub(r'["\r\n]', lambda found: f"%{ord(found[0]):02X}", _printable(name))
            head = f'content-disposition: form-data; name="{quoted}"'
            if re.search(_FILE, schemas.get(name, "")) or isinstance(value, (Media, bytes, bytearray)):
                head += f'; filename="{quoted}"'
                media_type = media_type or "application/octet-stream"
            head += f"\r\ncontent-type: {media_type}" if media_type else ""
            written += f"--{boundary}\r\n{head}\r\n\r\n".encode() + data + b"\r\n"
        return written + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def _as_bytes(value: Any, schema: str) -> tuple[bytes, str]:
    """Give (the bytes that a value stands for, their type where the value says it); the schema is JSON text."""
    from base64 import b64decode
    if isinstance(value, (Media, bytes, bytearray)):
        return (value.data, value.media_type) if isinstance(value, Media) else (bytes(value), "")
    if isinstance(value, str) and '"contentEncoding": "base64"' in schema:
        try:
            return b64decode(value, validate=True), ""
        except ValueError:
            raise ToolError(_MEND.format("a file is not base64")) from None
    return _as_text(value).encode(), "application/json" if isinstance(value, (dict, list)) else ""


# the kinds of bodies, the best first: (their media types, what writes them)
_BODIES: dict[str, tuple[str, Callable[[_Body, Any], tuple[bytes, str]]]] = {
    "json": (r"application/json|.+\+json|application/\*|\*/\*",
             lambda body, value: (_write_json(value).encode(), "")),
    "form": (r"application/x-www-form-urlencoded", lambda body, fields: (_joined_pairs(
        [pair for name in fields for pair in body.field(name).pairs(fields[name])]).encode(), "")),
    "parts": (r"multipart/form-data", _Body.multipart),
    **{body_kind: (essences, lambda body, value: _as_bytes(value, json.dumps(body.places[0].schema)))
       for body_kind, essences in (("text", r"text/.+"), ("raw", r"(?s).*"))}}


def _kind_of(media_type: str) -> str:
    essence = str(media_type).partition(";")[0].strip().lower()
    return next(kind for kind, (essences, _) in _BODIES.items() if re.fullmatch(essences, essence))


# --- an operation
class _Operation:
    """Hold an operation: the words by which it is chosen, what it takes, and how that is sent; in no repr a secret."""

    def __init__(self, client: _Client, wished: str, method: str, key: str, item: _Object, node: _Object) -> None:
        self.api, self.client, self.method, self.key, self.node = client.api, client, method, key, node
        self.tags = [str(tag) for tag in _part(node, "tags", list)]
        self.words = {wished, key, method, method.lower(), *self.tags}
        self.parameters = [each for part in (item, node) for each in _part(part, "parameters", list) if each]
        servers = [_part(part, "servers", list) for part in (node, item, self.api.root)]
        self.base = client.base_for(next(filter(None, servers), [{"url": "/"}]))        # or nothing
        path, _, self.query = key.partition("#")[0].partition("?")
        self.path = re.split(r"\{([^{}]+)\}", "/" + path.removeprefix("/"))    # every second is a name

    @_reading()
    def tool(self, name: str, _: str) -> Tool:
        """Make the tool, or refuse it."""
        self.places: dict[str, _Place] = {}
        properties, needed, left_out = dict[str, Any](), set[str](), list[str]()
        for place in self._places():
            try:
                place.pairs()
                said, with_it = self.api.complete(place.schema)
            except ToolRegError as fault:
                if place.needed:
                    raise ToolDefinitionError(f"{place.name}: {fault}") from fault
                left_out.append(f"{place.name}: {fault}")
                continue
            argument = place.argument(properties)
            self.places[argument], properties[argument] = place, place.told(argument, said)
            needed |= with_it
        self.secrets = self._secrets()
        schema = {"type": "object", "properties": properties, "additionalProperties": False,
                  "required": [argument for argument, place in self.places.items() if place.needed]}
        if needed:
            schema["$defs"] = self.api.definitions(frozenset(needed))
        tool = object.__new__(Tool)         # past __post_init__: the schema is ours, and compiled when first called
        tool.__dict__.update(name=name, description=self._description(), parameters=schema, func=self.call, bind=None,
                             metadata=ToolMetadata(source="openapi", tags=self.tags, extra={"openapi": {
                                 "method": self.method, "path": self.key, "left_out": left_out,
                                 "deprecated": self.node.get("deprecated") is True}}))
        return tool

    def _description(self) -> str:
        texts = [str(self.node[word]).strip() for word in ("summary", "description") if self.node.get(word)]
        told = ["Deprecated."] if self.node.get("deprecated") is True else []
        return "\n\n".join(dict.fromkeys([*(texts or [f"{self.method} {self.key}"]), *told]))

    def _places(self) -> list[_Place]:
        """Give what can be filled: the parameters, of which its own win over those of its path, and the body."""
        api, body, places = self.api, self.node.get("requestBody"), list[_Place]()
        nodes = [*{(each["in"], each["name"]): each for each in map(api.follow, self.parameters)}.values()]
        if "swagger" in api.root:
            nodes, body = _swagger_operation(api.root, self.node, nodes)
        differing = {node["name"] for node in nodes if node["in"] == "path"}.symmetric_difference(self.path[1::2])
        if differing:
            raise ToolDefinitionError(f"the path and its parameters differ: {_listed(sorted(differing))}")
        if not self.base:
            raise ToolDefinitionError(_NO_SERVER)
        for node in nodes:
            where, content = node["in"], [*map(api.follow, _part(node, "content", dict).values())]
            schema = (content or [node])[0].get("schema", {})
            if (where, node["name"].lower()) not in self.client.hidden:
                needed = where == "path" or node.get("required") is True
                places.append(_Place(where, node["name"], needed, schema, node))
        self.body = _Body(api, body)
        return places + self.body.places

    def _secrets(self) -> list[tuple[_Place, str]]:
        """Give the credentials of the first way in for which all are there."""
        security = (self.api.root if self.node.get("security") is None else self.node).get("security")
        ways = [way for way in security or () if way and way.keys() <= self.client.credentials.keys()]
        self.client.sent.update(*ways[:1])
        return [self.client.credentials[name] for way in ways[:1] for name in way]

    def call(self, **arguments: Any) -> Any:
        """Make the request that the arguments mean, and give what the answer holds."""
        given = [(self.places[name], value) for name, value in arguments.items()]
        data, content_type = self.body.written({place.name: value for place, value in given if place.where == _BODY})
        cookie = _joined_pairs(self._pairs("cookie", given), "; ")
        headers = {name: text for name, text in (("cookie", cookie), ("content-type", content_type)) if text}
        headers |= self.client.headers | {name.lower(): text for name, text in self._pairs("header", given)}
        query = "&".join(filter(None, (self.query, _joined_pairs(self._pairs("query", given)))))
        url = self.base + self._filled(dict(self._pairs("path", given))) + (f"?{query}" if query else "")
        return _answer_in(_request(self.method, url, headers=headers, body=data, timeout=self.client.timeout))

    def _pairs(self, where: str, given: list[tuple[_Place, Any]]) -> _Pairs:
        """Write what goes to one place; what is the program's to set is not the model's."""
        written, own = ([pair for place, value in rows if place.where == where for pair in place.pairs(value)]
                        for rows in (given, self.secrets))
        return [pair for pair in written if (where, pair[0].lower()) not in self.client.hidden] + own

    def _filled(self, values: Mapping[str, str]) -> str:
        """Fill the path so that no value can leave its segment."""
        from urllib.parse import quote, unquote
        path = "".join(values.get(part, "") if at % 2 else quote(part, safe="/:@!$&'()*+,;=~%")
                       for at, part in enumerate(self.path))
        steps = re.split(r"[/\\]", unquote(path))           # as a server might that decodes before it splits
        if not all(map(values.get, self.path[1::2])) or not {".", ".."}.isdisjoint(steps):
            raise ToolError(_MEND.format("a value in the path is empty, or has a part . or .."))
        return path


def _answer_in(response: _Response) -> Any:
    if not 200 <= response.status < 300:
        why = response.error()
        raise ToolError(f"Error: {why}\nIf the arguments are the cause, change them; else go on without it.") from why
    body, media_type = response.read(), response.headers.get("content-type", "")
    if not body:
        return Answer(f"done: the server answered {response.status} without content", None)
    text, kind = response.text_of(body), _kind_of(media_type)
    if kind == "raw" and ("\ufffd" in text or "\0" in text):
        return Answer(f"{len(body)} bytes of {media_type or 'no type'}", Media(body, media_type))
    value: Any = text
    with contextlib.suppress(ValueError):   # JSON only by name
        value = _read_json(text) if kind == "json" else text
    following = re.search(r'<([^<>]*)>[^<]*;\s*rel="?next\b', response.headers.get("link", ""))
    return Answer(f"{_content_of(value)}\n(there is more: {following[1]})", value) if following else value


ToolRegistry.register_from_openapi = _registers(openapi_tools)
__all__ += ["openapi_tools"]


# ---------------------------------------------------------------------------
# find: a registry whose tools are found by words
#    uses 9 10
# ---------------------------------------------------------------------------
_FIND = "Find tools by words: what they do or work on. There are {} of them; what is found can be called from then on."
_FOUND_NONE = "No tool was found. Try other words, or go on without one."


def search_registry(registry: ToolRegistry, *, limit: int = 5) -> ToolRegistry:
    """Give a registry for one run: it has all tools, and offers find_tools, then what it found, `limit` at a time."""
    return _SearchRegistry(registry, limit)


class _SearchRegistry(ToolRegistry):
    def __init__(self, registry: ToolRegistry, limit: int) -> None:
        self.__dict__.update(vars(ToolRegistry.copy(registry)))
        is_ours = isinstance(registry, _SearchRegistry)
        self._limit, self._searched = limit, frozenset(self.list_tools()) - {"find_tools" if is_ours else ""}
        self._found: dict[str, None] = {}       # an ordered set
        self.register(self._find, name="find_tools", description=_FIND.format(len(self._searched)), replace=is_ours,
                      metadata=ToolMetadata(parallel=False))        # on no executor: what it found is kept here

    def copy(self, **options: Any) -> ToolRegistry:         # which has found nothing yet
        return _SearchRegistry(super().copy(**options), self._limit)

    def _offered(self) -> list[Tool]:       # find_tools, what was registered later, and what was found
        names = [each for each in self.list_tools() if each not in self._searched] + list(self._found)
        return [self[each] for each in names if each in self and each not in self._disabled]

    def _find(self, words: str) -> str:
        marks = {tool.name: 3 * _likeness(words, tool.name) + _likeness(words, " ".join(
            [tool.description, *tool.metadata.tags, *tool.parameters.get("properties", ())]))
            for tool in self if tool.name in self._searched and tool.name not in self._disabled}
        best = sorted(filter(marks.get, marks), key=lambda name: -marks[name])[:self._limit]
        self._found.update(dict.fromkeys(best))
        return "\n".join(f"{name}: {self[name].description[:200]}" for name in best) or _FOUND_NONE


def _likeness(words: str, text: str) -> float:
    """Count the words that are in a text, by half those of which only the beginning is (`issue` for issues)."""
    wanted, there = ({*re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", each).lower())}
                     for each in (words, text))
    return len(wanted & there) + sum(any(len(word) > 2 < len(each) and (each.startswith(word) or word.startswith(each))
                                         for each in there) for word in wanted - there) / 2


__all__ += ["search_registry"]


# ---------------------------------------------------------------------------
# link: a connection with an MCP server (stdio, streamable HTTP)
#    uses 1 10 network
# ---------------------------------------------------------------------------
_REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")         # newest first
_NO_HANDSHAKE = _REVISIONS[0]   # in it each request says who asks, in its `_meta` and its headers
_META = "io.modelcontextprotocol/"              # before the names in `_meta`
_CLIENT = {"name": "toolreg", "version": __version__}
_ANSWERABLE: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}     # by on_request
_TRIES, _ROUNDS = 4, 10         # at a greeting; of questions that one call may lead to
_MAX_UNSENT = 1_000             # replies to a server that asks and asks, and does not read
_GRACE = 1.0                    # seconds for each way of asking a server to end, and for each courtesy
_SHORTEST_PAUSE = 0.1           # before a stream is resumed, whatever the server says
_INHERITED = "HOME LANG LC_ALL LOGNAME PATH SHELL SYSTEMROOT TEMP TERM TMPDIR TZ USER".split()      # no keys in these
_HTTP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_PLAIN_HEADER = r"(?!=\?base64\?.*\?=\Z)(?:[!-~](?:[ -~]*[!-~])?)?"
_NO_TRANSPORT = ('transport: must be a command as a list, {"command": …}, {"url": …}, an http(s) URL or the path of a '
                 ".py or .js file (got %s)")
_Message = dict[str, Any]


class McpError(ToolRegError):
    """Say that an MCP server ended, broke the protocol, or refused a request (then with `code` and `data`)."""

    def __init__(self, message: str, code: Any = None, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.data = code, data


def _rpc_error(method: str, answer: _Message) -> McpError:
    error = answer["error"] if isinstance(answer.get("error"), dict) else {"message": "no result came"}
    text = f"the server refused {method}: {error.get('message')}"
    return McpError(text[:1_000], error.get("code"), error.get("data"))


def _objects(items: Any) -> list[_Message]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _messages_of(text: str) -> list[_Message]:
    """Read a line or an event: servers do print into their own output; an answer with NaN in it is an error."""
    read = _caught(_read_json, text)
    if read.error:
        loose = _caught(json.loads, text).value
        error = {"message": f"its answer cannot be read: {_words_of(read.error)}"}
        return [{"id": loose.get("id"), "error": error}] if isinstance(loose, dict) else []
    return _objects(read.value if isinstance(read.value, list) else [read.value])


def _encoded(message: _Message) -> bytes:
    return _printable(_write_json({"jsonrpc": "2.0", **message})).encode()


class _Link:
    """Be a connection with a server. It does not know its client: threads that read must keep no client alive."""

    send: Any                                   # (message, deadline): over HTTP a request is sent when it is answered
    leave: Any                                  # (): end the process or the session
    revisions: tuple[str, ...]                  # in the order in which they are tried

    def __init__(self, on_notification: Any, on_request: Any) -> None:
        self.on_notification, self.on_request = on_notification, on_request
        self.ids, self.process = itertools.count(1), os.getpid()
        self.waiting: dict[Any, Any] = {}       # id of a request -> the queue at which its caller waits
        self.session: dict[str, str] = {}       # the headers that a greeting brought: another dict after each
        self.about: _Message = {}               # what each request says of us, where there was no handshake
        self.mirrored: _Message = {}            # tool -> header -> the way to the argument that it repeats
        self.fault = self.last_words = ""       # why it has ended, and what a child said before

    def greet(self, deadline: float) -> _Message:
        """Agree on a revision, and give what the server says of itself."""
        todo, faults = [*self.revisions], dict[str, ToolRegError]()
        for _ in range(_TRIES):
            try:
                return self._agree(todo[0], deadline)
            except ToolRegError as error:
                faults[todo.pop(0)] = error
                data = getattr(error, "data", None)     # it may name those it has
                if isinstance(data, dict) and data.get("supported"):
                    todo = [each for each in _REVISIONS if each in str(data["supported"])]
            if not todo:
                break
        raise faults[min(faults)]               # what a handshake came to tells most

    def _agree(self, revision: str, deadline: float) -> _Message:
        able, is_new = _ANSWERABLE if self.on_request else {}, revision == _NO_HANDSHAKE
        about, hello = {}, {"protocolVersion": revision, "clientInfo": _CLIENT}
        if is_new:
            about = {_META + name: value for name, value in {**hello, "clientCapabilities": able}.items()}
            in_time = (deadline + time.monotonic()) / 2         # some older servers never answer this
            server = self.ask("server/discover", {"_meta": about}, in_time)
        else:
            server = self.ask("initialize", {**hello, "capabilities": able}, deadline)
        said = server.get("supportedVersions" if is_new else "protocolVersion")
        agreed = [each for each in _REVISIONS if each in str(said) and is_new == (each == _NO_HANDSHAKE)]
        if not agreed:
            text = f"the server speaks the revision {_shown(said)}, not {_listed(_REVISIONS)}"
            raise McpError(text, data={"supported": said})
        self.about, self.session = about, {**self.session, "mcp-protocol-version": agreed[0]}
        if not is_new:
            self.send({"method": "notifications/initialized"}, deadline)
        return {**server, "protocolVersion": agreed[0]}

    def ask(self, method: str, params: _Message, deadline: float) -> _Message:
        """Send a request, again with what the server asks for as often as it asks, and give its result."""
        more: _Message = {}
        kind, number = "", 0
        for number in range(_ROUNDS):
            result = self._ask_once(method, params | more, deadline)
            kind, asked = result.get("resultType", "complete"), result.get("inputRequests") or {}
            if kind == "complete":
                return result
            if kind != "input_required":
                break
            more = {key: result[key] for key in ("requestState",) if key in result}
            more |= {"inputResponses": {key: self.answer(asked[key]) for key in asked}} if asked else {}
            time.sleep(0 if asked else _SHORTEST_PAUSE * number)        # some only want to be asked later
        raise McpError(f"{method} came to no result, but to {_shown(kind)} (after {number} answers)")

    def _ask_once(self, method: str, params: _Message, deadline: float) -> _Message:
        import queue
        number, box = next(self.ids), queue.SimpleQueue[Any]()
        about = params.get("_meta", self.about) | ({"progressToken": number} if self.on_notification else {})
        message = {"id": number, "method": method, "params": params | ({"_meta": about} if about else {})}
        self.waiting[number] = box
        try:
            sent = _caught(self.send, message, deadline)
            if self.fault:                      # which tells more than what was sent into the void
                raise McpError(self.fault)
            sent.get()
            answer = box.get(timeout=_seconds_to(deadline)).get()
        except (TimeoutError, queue.Empty):
            if method == "tools/call":
                cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
                _on_daemon(self.send, cancelled, deadline + _GRACE)
            raise ToolTimeoutError(f"the server gave no answer within the timeout{self.last_words}") from None
        finally:
            self.waiting.pop(number, None)
        if not isinstance(answer.get("result"), dict):
            raise _rpc_error(method, answer)
        return dict(answer["result"])

    def take(self, text: str) -> None:
        """Hand answers to their callers and notifications on; answer what the server asks."""
        import warnings
        for message in _messages_of(text):
            method, number = message.get("method"), message.get("id")
            box = self.waiting.pop(number, None) if method is None and type(number) is int else None
            if box:
                box.put(_Outcome(message))
            elif method and "id" in message:    # its ids are its own, and the answer may take its time
                _on_daemon(self._reply, message)
            elif method and self.on_notification:
                error = _caught(self.on_notification, method, message.get("params") or {}).error
                if error:                       # which must not end the connection, even where warnings are errors
                    _caught(warnings.warn, f"on_notification: {_error_text(error)}", ToolRegWarning)

    def _reply(self, request: _Message) -> None:
        given = _caught(self.answer, request)
        code = given.error.code if isinstance(given.error, McpError) else None
        error = given.error and {"code": code or -32603, "message": _words_of(given.error)}
        reply = {"error": error} if error else {"result": given.value}
        _caught(self.send, {"id": request["id"], **reply}, time.monotonic() + _GRACE)

    def answer(self, request: Any) -> Any:
        """Give what answers a request of the server, or raise a McpError for what nobody answers."""
        method, params = request.get("method"), request.get("params") or {}
        result = {} if method == "ping" else self.on_request and self.on_request(method, params)
        if result is None:
            raise McpError(f"the server asks for {method}, which nobody here answers (see on_request)", -32601)
        _write_json(result)                     # what cannot be sent is an error here
        return result

    def end(self, fault: str) -> None:
        self.fault = self.fault or fault
        for box in list(self.waiting.values()):
            box.put(_Outcome(None, McpError(self.fault)))

    def close(self) -> None:
        if self.process == os.getpid():         # what was inherited at a fork is not ours to end
            self.end("the client is closed")
            self.leave()


class _Pipe(_Link):
    """Be the connection with a child process (stdio): a message is a line, and each pipe has a daemon thread."""

    revisions = _REVISIONS[1::-1]               # some older servers are silent, or end, before a handshake

    def __init__(self, command: list[str], env: dict[str, str], cwd: Any, *hooks: Any) -> None:
        import queue
        import subprocess
        super().__init__(*hooks)
        self.outbox = queue.SimpleQueue[Any]()
        try:
            self.child: Any = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, env=env, cwd=cwd,
                                               start_new_session=True)
        except (OSError, ValueError) as error:
            raise McpError(f"the server cannot be started: {error}") from None
        self.drained = _on_daemon(self._drain)
        _on_daemon(self._speak)
        _on_daemon(self._hear)

    def send(self, message: _Message, deadline: float) -> None:
        """Leave a message to the thread that speaks: a server that does not read would block this one."""
        if self.outbox.qsize() < _MAX_UNSENT:
            self.outbox.put(_encoded(message) + b"\n")

    def leave(self) -> None:
        """Close the child's input; one that does not end is terminated, then killed. Ctrl-C only makes it quicker."""
        self.outbox.put(None)
        kill = getattr(os, "killpg", os.kill)   # the group: npx, uv and shells start the server as their child
        for number in (15, 9, None):
            waits = _caught(self.child.wait, _GRACE), _caught(self.drained.result, _GRACE)
            if number and any(wait.error for wait in waits):        # or a grandchild could still write to stderr
                _caught(kill, self.child.pid, number)

    def _speak(self) -> None:
        with self.child.stdin as pipe:          # an error ends the thread: why, the one that hears will know
            for line in iter(self.outbox.get, None):
                pipe.write(line)
                pipe.flush()

    def _hear(self) -> None:
        with self.child.stdout as pipe:
            while (line := pipe.readline(MAX_BODY)) and len(line) < MAX_BODY:
                self.take(line.decode("utf-8", "replace"))
        self.leave()
        reason = f"was stopped: it sent a line of more than {MAX_BODY} bytes" if line else "has ended"
        self.end(f"the server {reason} (exit code {self.child.returncode}){self.last_words}")

    def _drain(self) -> None:
        tail = b""
        with self.child.stderr as pipe:
            for piece in iter(lambda: pipe.read1(1_000), b""):
                tail = (tail + piece)[-1_000:]
                self.last_words = f"; on stderr: {tail.decode('utf-8', 'replace').strip()}"


class _Http(_Link):
    """Be the connection with a URL (streamable HTTP): a message is a POST, answered by JSON or a stream of events."""

    revisions = _REVISIONS[:2]

    def __init__(self, url: str, headers: Callable[[], dict[str, str]], *hooks: Any) -> None:
        import threading
        import weakref
        super().__init__(*hooks)
        self.url, self.headers = url, headers
        self.over, self.wires = threading.Event(), weakref.WeakSet[_Wire]()

    def send(self, message: _Message, deadline: float) -> None:
        """Post a message, and read until it is answered if it is a request."""
        method = message.get("method")
        if method and "id" in message:
            self._follow(message, deadline)
        elif not self.about:                    # else nothing is told: the end of its stream cancels a request
            self._fetch("POST", message, deadline).close()
        if method == "notifications/initialized":       # from now on hear what belongs to no call
            _on_daemon(self._follow, {}, math.inf)

    def leave(self) -> None:
        if "mcp-session-id" in self.session:
            _caught(lambda: self._fetch("DELETE", {}, time.monotonic() + _GRACE).close())
        self.over.set()
        for wire in list(self.wires):
            wire.hang_up()

    def _fetch(self, method: str, message: _Message, deadline: float, last_id: str = "") -> _Response:
        resumed = {"last-event-id": last_id} if last_id else {}
        response = _request(method, self.url, timeout=deadline - time.monotonic(), watch=self.wires.add,
                            headers={**self.headers(), **_HTTP_HEADERS, **self._known(message), **resumed},
                            body=_encoded(message) if message else None)
        if not 200 <= response.status < 300:
            error = response.error()
            told = _messages_of(error.body.decode("utf-8", "replace")) if error.status in (400, 404) else []
            is_told = told and "error" in told[0] and "mcp-session-id" not in self.session
            raise _rpc_error(str(message.get("method")), told[0]) if is_told else error
        if message.get("method") == "initialize":
            self.session = {name: text for name, text in response.headers.items() if name == "mcp-session-id"}
        return response

    def _known(self, message: _Message) -> dict[str, str]:
        """Give the headers of a session, or without one those that repeat what a request says, and arguments of it."""
        method, params = message.get("method"), message.get("params", {})
        name, revision = params.get("name"), params.get("_meta", {}).get(f"{_META}protocolVersion")
        if revision is None:
            return {} if method == "initialize" else self.session
        said = {"mcp-protocol-version": revision, "mcp-method": method, "mcp-name": name}
        for header, way in self.mirrored.get(name, {}).items():
            said[header] = functools.reduce(lambda value, key: value.get(key) if isinstance(value, dict) else None,
                                            way, params["arguments"])
        return {header: _header_text(value) for header, value in said.items() if value is not None}

    def _follow(self, message: _Message, deadline: float) -> None:
        """Read until a request is answered, or without one for ever; a stream that ends too early is resumed."""
        number, last_id, pause = message.get("id"), "", 1.0
        while not self.over.is_set():
            stream = self._fetch("POST" if message else "GET", message, deadline, last_id)
            is_stream = "text/event-stream" in stream.headers.get("content-type", "")
            try:
                whole = [] if is_stream else [("", stream.read().decode("utf-8", "replace"), "", None)]
                for _, data, event_id, retry in whole or _sse_events(stream.lines()):
                    last_id, pause = event_id or last_id, pause if retry is None else retry / 1_000
                    self.take(data or "")
                    if number and number not in self.waiting:
                        return
            except HttpError:
                if not last_id:
                    raise
            finally:
                stream.close()
            if not is_stream or (number and (self.about or not last_id)):
                raise McpError("the server's answer ended without a result")
            self.over.wait(max(min(pause, deadline - time.monotonic()), _SHORTEST_PAUSE))
            message = {}                        # it is a GET that resumes


def _header_text(value: Any) -> str:
    """Spell a value as a header, in Base64 where it is not plain."""
    from base64 import b64encode
    text = value if isinstance(value, str) else _write_json(value)
    is_plain = re.fullmatch(_PLAIN_HEADER, text)
    return text if is_plain else f"=?base64?{b64encode(_printable(text).encode()).decode()}?="


def _connector_of(transport: Any, env: Mapping[str, str], headers: Any) -> Callable[..., _Link]:
    """Read a transport, in any of its spellings, as an entry of a configuration, and give what makes the connection."""
    others = "url" if isinstance(transport, (str, os.PathLike)) else "command"
    entry: Mapping[str, Any] = transport if isinstance(transport, Mapping) else {others: transport}
    where, command = str(entry.get("url")), entry.get("command")
    if where.startswith(("http://", "https://")):
        given: Any = headers if callable(headers) else lambda: headers      # tokens expire
        return functools.partial(_Http, where, lambda: {**(entry.get("headers") or {}), **given()})
    runner = {".py": sys.executable, ".js": "node"}.get(os.path.splitext(where)[1])
    command = [runner, where] if runner else [command] if isinstance(command, str) else command
    if not isinstance(command, (list, tuple)) or not command:
        raise McpError(_NO_TRANSPORT % _shown(list(entry) if entry is transport else transport))    # without secrets
    parts = [str(part) for part in [*command, *(entry.get("args") or [])]]
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    given = {name: str(value) for name, value in {**(entry.get("env") or {}), **env}.items()}
    return functools.partial(_Pipe, parts, inherited | given, entry.get("cwd"))


__all__ += ["McpError"]


# ---------------------------------------------------------------------------
# mcp: tools from MCP servers
#    uses 1 2 9 10 media importers network link
# ---------------------------------------------------------------------------
_HEADERS_DIFFER, _OTHER_REVISION = -32020, -32022       # errors after which a call is sent again, once
_BAD_MIRROR = "x-mcp-header: must name a header, once, of a string, integer or boolean in properties alone (got %s)"
_UNFIT_ANSWER = ('Error: what "{}" answered does not fit its outputSchema:\n{}\n'
                 "This is a fault of the tool, not of the arguments: go on without it.")
_FORKED = "the server belongs to the process that started it, and this one was forked from it (make an McpClient here)"
_TASK_ONLY = 'can only be run as a task (its execution.taskSupport is "required"), and toolreg starts no tasks'


class McpClient:
    """Speak with one MCP server, from any number of threads; raise McpError, HttpError, ToolTimeoutError.

    `transport`: a command as a list, the path of a .py or .js file, an http(s) URL, or a server's entry in a
    configuration file. A child process gets `env`, and of ours only what it needs to start (PATH, HOME, LANG …).
    `timeout`: for a call, whatever the server sends meanwhile. `on_notification(method, params)` runs on threads that
    must not wait for this client; `on_request(method, params)` answers what the server asks (elicitation, sampling,
    roots), None refuses. It connects anew where the server ended, or in a forked process. `close()`, the end of a
    `with` block, of the program or of the last tool ends it.
    """

    def __init__(self, transport: Any, *, env: Mapping[str, str] | None = None,
                 headers: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
                 on_notification: Callable[[str, Any], Any] | None = None,
                 on_request: Callable[[str, Any], Any] | None = None, timeout: float | None = 30,
                 start_timeout: float | None = 60) -> None:
        import threading
        self.timeout, self.start_timeout = (math.inf if each is None else each for each in (timeout, start_timeout))
        self.server: dict[str, Any] = {}        # what it said of itself
        connector = _connector_of(transport, env or {}, headers or {})
        self._connect = functools.partial(connector, on_notification, on_request)
        self._closed, self._process, self._lock = False, os.getpid(), threading.Lock()
        self._link: Any = None
        self._end: Any = bool                   # ends the link; there is none yet

    def __enter__(self) -> McpClient:
        self._linked()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server's process or session for good."""
        self._closed = True
        self._end()

    def list_tools(self) -> list[dict[str, Any]]:
        """Give all pages of the server's list, as it spells them, but for tools with a wrong `x-mcp-header`."""
        return [row for row, fault in self._rows() if not fault]

    def _rows(self) -> list[tuple[_Message, str]]:
        """Give all rows of the server's list, each with what is wrong with its `x-mcp-header`."""
        link, deadline = self._linked(), time.monotonic() + self.timeout
        rows, cursors, cursor = list[Any](), list[Any](), None
        while cursor not in cursors:            # one that was there leads in circles
            cursors.append(cursor)
            page = self._call("tools/list", {"cursor": cursor} if cursor else {}, deadline)
            for row in _objects(page.get("tools")):
                mirrors: _Message = {}
                link.mirrored[str(row.get("name"))] = mirrors
                noted = _caught(_note_mirrors, mirrors, (), row.get("inputSchema"))
                rows.append((row, str(noted.error or "") if link.about and isinstance(link, _Http) else ""))
            cursor = page.get("nextCursor") or None
        return rows

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and give its result as the server spells it: `content`, `structuredContent`, `isError`."""
        return dict(self._call("tools/call", {"name": name, "arguments": dict(arguments or {})}))

    def _call(self, method: str, params: _Message, deadline: float = 0.0) -> Any:
        link = self._linked()                   # a start has a timeout of its own
        session, deadline = link.session, deadline or time.monotonic() + self.timeout
        try:
            return link.ask(method, params, deadline)
        except (HttpError, McpError) as error:
            code = getattr(error, "code", None)
            is_lost = "mcp-session-id" in session and getattr(error, "status", None) in (400, 404)
            if not is_lost and code not in (_HEADERS_DIFFER, _OTHER_REVISION):
                raise                           # in all others nothing was run
        if code == _HEADERS_DIFFER and method == "tools/call":
            self.list_tools()                   # which says what the headers have to repeat
        return self._linked(session).ask(method, params, deadline)

    def _linked(self, lost: Any = None) -> Any:
        """Give the connection: made anew where the server ended, greeted anew where it forgot this session."""
        import threading
        import weakref
        deadline = time.monotonic() + self.start_timeout
        if self._process != os.getpid():        # forked: the lock may be held by a thread that is not here
            if isinstance(self._link, _Pipe):
                raise McpError(_FORKED)
            self._process, self._lock, self._link = os.getpid(), threading.Lock(), None
        with self._lock:
            if self._closed:
                raise McpError("the client is closed")
            if time.monotonic() > deadline:     # another thread waited for the server's greeting, in vain
                raise ToolTimeoutError("the server gave no answer within the timeout")
            if self._link is None or self._link.fault:
                self._end()
                self._link = self._connect()
                self._end = weakref.finalize(self, self._link.close)        # also at the end of the program
                lost = self._link.session
                if self.server:             # what it spoke before is tried first
                    is_new = self.server["protocolVersion"] == _NO_HANDSHAKE
                    self._link.revisions = _REVISIONS[:2] if is_new else _REVISIONS[1::-1]
            if self._link.session is lost:
                greeting = _caught(self._link.greet, deadline)
                if greeting.error or self._closed:          # perhaps meanwhile
                    self._end()
                self.server = greeting.get()
            return self._link


def _note_mirrors(found: _Message, way: tuple[Any, ...] | None, schema: Any, *steps: Any) -> None:
    """Note header -> way to the argument, None below other keywords than `properties`; a wrong one is a McpError."""
    way = None if way is None else (*way, *steps)
    for keyword, argument in schema.items() if isinstance(schema, dict) else ():
        onward = way if keyword == "properties" else None
        _change_schemas(keyword, argument, functools.partial(_note_mirrors, found, onward))
        if keyword == "x-mcp-header":
            is_name = isinstance(argument, str) and re.fullmatch(_HEADER_NAME, argument)
            header, is_value = f"mcp-param-{argument}".lower(), schema.get("type") in ("string", "integer", "boolean")
            if not (way and is_name and is_value) or header in found:
                raise McpError(_BAD_MIRROR % _shown(argument))
            found[header] = way


def _block_text(block: _Message) -> str:
    """Spell a content block for the model: text as it is, all else described, with the text that it holds."""
    inner = block["resource"] if isinstance(block.get("resource"), dict) else block
    data, text = inner.get("data", inner.get("blob")), inner.get("text")
    size = f"{len(data.rstrip('=')) * 3 // 4} bytes" if isinstance(data, str) else ""       # it is Base64
    words = [block.get("type"), inner.get("uri"), inner.get("name"), inner.get("mimeType"), size]
    label = "" if block.get("type") == "text" else f"[{', '.join(str(word) for word in words if word)}]"
    return "\n".join(str(part) for part in (label, text) if part)


def _answer_of(result: _Message, name: str = "", output: Validator | None = None) -> Answer:
    content, structured = result.get("content"), result.get("structuredContent")
    blocks = _objects([{"type": "text", "text": each} if isinstance(each, str) else each        # not all know blocks
                       for each in (content if isinstance(content, list) else [content])])
    parts = [_block_text(block) for block in blocks]
    is_structured = structured is not None or bool(output and "structuredContent" in result)
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if is_structured and not _is_said(structured, texts):
        parts.append(_write_json(structured))
    text = _printable("\n".join(parts))
    if result.get("isError"):
        raise ToolError(text or "Error: the tool failed without saying why.")
    if output:
        faults: list[Any] = [*output.iter_errors(structured)] if is_structured else ["structuredContent is missing"]
        if faults:
            raise ToolError(_UNFIT_ANSWER.format(name, "\n".join(f"- {fault}" for fault in faults[:SHOWN_NAMES])))
    return Answer(text, structured if is_structured else blocks)


def _is_said(structured: Any, texts: list[Any]) -> bool:
    """Tell whether texts say what is structured, or its only value: one as JSON or as it is, or all as the items."""
    inner = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    read = [_caught(_read_json, text) for text in texts]
    values = [text if each.error else each.value for text, each in zip(texts, read)]
    return any(said in (structured, inner) for said in (*values, *texts, values, texts))


def _mcp_tool(client: Any, row: _Message, fault: str, name: str) -> Tool:
    is_task = _caught(lambda: row["execution"]["taskSupport"]).value == "required"
    if fault or is_task or not isinstance(row.get("name"), str):
        raise McpError(fault or (_TASK_ONLY if is_task else "has no name"))
    metadata = ToolMetadata(source="mcp", extra={key: row[key] for key in ("title", "annotations") if row.get(key)})
    output = _caught(Validator, row.get("outputSchema")).value      # None where nobody can read it
    return Tool(name, row.get("description") or "", row.get("inputSchema", {}),
                lambda **arguments: _answer_of(client.call_tool(row["name"], arguments), name, output), metadata)


def mcp_tools(client_or_transport: Any, **options: Any) -> ToolList:
    """Give the tools of an MCP server, or of all in {"mcpServers": {name: entry}}, then named server-tool.

    `options` are McpClient's. The tools hold the client. The `value` of a result is what the server structured, or
    else its content blocks. One of several servers that cannot be reached is left out like a tool.
    """
    given, rows = client_or_transport, list[Any]()
    are_many = isinstance(given, Mapping) and "mcpServers" in given
    if are_many and options.keys() & {"env", "headers"}:
        raise TypeError("env and headers: belong to one server (write them into its entry)")
    for server, entry in (given["mcpServers"] if are_many else {"": given}).items():
        try:
            client = entry if isinstance(entry, McpClient) else McpClient(entry, **options)
            rows += [(f"{server}-{row.get('name')}" if are_many else f"{row.get('name')}",
                      functools.partial(_mcp_tool, client, row, fault)) for row, fault in client._rows()]
        except ToolRegError as error:
            if not are_many:
                raise
            rows.append((server, functools.partial(_mcp_tool, None, {}, str(error))))
    return _make_tools("mcp", rows)


ToolRegistry.register_from_mcp = _registers(mcp_tools)
__all__ += ["McpClient", "mcp_tools"]


# ---------------------------------------------------------------------------
# desk: the same tools as MCP says them, and the answers to its messages
#    uses 1 2 3 4 8 10
# ---------------------------------------------------------------------------
MAX_MESSAGE = 4 * 2**20     # bytes
_STATELESS, _GREETED = "2026-07-28", ("2025-11-25", "2025-06-18")       # in the older ones a greeting comes first
_META_NEEDED = ("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities")
_ABOUT = {"capabilities": {"tools": {}}, "serverInfo": {"name": "toolreg", "version": __version__}}
_FRESH = {"ttlMs": 0, "cacheScope": "private"}          # tools may change, and nobody is told
_NO_REQUEST = "a request must have an id (text or an integer), a method (text) and params that are an object"
_MISFIT_RESULT = 'Error: the result of "{}" does not fit its outputSchema:\n{}\nThe tool has run; its result was:\n{}'
_Rpc = dict[str, Any]       # an object of JSON-RPC

# what an MCP client is told of a tool: these schemas go out only, so nothing is read or answered in this format
API_FORMATS += ("mcp",)
_TOOL["mcp"] = lambda tool, about, parameters, strict: {**about, "inputSchema": parameters, **{
    key: tool.metadata.extra[key] for key in ("title", "annotations") if key in tool.metadata.extra}}


@functools.lru_cache(1024)
def _output_of(tool: Tool, revision: str) -> Validator | None:
    """Give the check of what a function says it returns: objects, and lately all but text and what may be null."""
    returns = _caught(lambda: _hints_of(inspect.unwrap(tool.func))["return"]).value
    written = getattr(returns, "model_json_schema", None)       # pydantic writes otherwise than it reads
    schema = _caught(lambda: written(mode="serialization") if written else schema_of(returns)).value
    output: Any = _caught(lambda: Validator(_map_schema(schema, _as_written))).value
    kind = "null" if output is None or output.is_valid(None) else output.schema.get("type")
    return output if kind == "object" or (revision == _STATELESS and kind not in ("string", "null")) else None


def _as_written(schema: Any) -> Any:
    """Open a part of a schema to all that is written: other fields than are read, and texts for numbers like NaN."""
    if not isinstance(schema, dict):
        return schema
    said = {{"oneOf": "anyOf"}.get(keyword, keyword): argument for keyword, argument in schema.items()
            if keyword != "required" and (keyword, argument) != ("additionalProperties", False)}
    return {**said, "type": ["number", "string"]} if said.get("type") == "number" else said


def _media_block(media: Media, name: str) -> _Rpc:
    kind, data = media.media_type.partition("/")[0], to_json(media.data)
    if kind in ("image", "audio"):
        return {"type": kind, "data": data, "mimeType": media.media_type}
    return {"type": "resource", "resource": {"uri": f"tool:{name}", "mimeType": media.media_type, "blob": data}}


class _RpcError(Exception):
    """Be (the status of HTTP, the error) that answer a request."""


def _insist(is_so: Any, code: int, message: str, status: int = 400, **more: Any) -> None:
    if not is_so:
        raise _RpcError(status, {"code": code, "message": message, **more})


def _revision_of(method: str, params: _Rpc, headers: Any) -> str:
    """Give the revision that a request follows: in the newest each says so itself, and its headers repeat it."""
    meta = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
    wished = params.get("protocolVersion") if method == "initialize" else None
    usual = wished if wished in _GREETED else headers.get("mcp-protocol-version", _GREETED[0])
    revision = meta.get(_META_NEEDED[0], usual)
    _insist(revision in [*_SERVED], -32022, f"{_shown(revision)} is no revision of MCP that is spoken here",
            data={"supported": [*_SERVED], "requested": str(revision)})
    if revision == _STATELESS:
        _insist(meta.keys() >= {*_META_NEEDED}, -32602, f"params._meta: must have {_listed(_META_NEEDED)}")
        said = {"mcp-protocol-version": revision, "mcp-method": method, "mcp-name": params.get("name")}
        wrong = [name for name in said if headers and said[name] not in (None, str(headers.get(name)).strip())]
        _insist(not wrong, -32020, f"{_listed(wrong)}: the header does not say what the message says")
    return str(revision)


class _Desk:
    """Answer messages on the threads on which they come; tools with parallel=False run on the one that serves."""

    def __init__(self, registry: ToolRegistry) -> None:
        import queue
        self.registry, self.context, self.bound = registry, contextvars.copy_context(), queue.SimpleQueue[Any]()

    def serve(self) -> None:
        """Run the calls that are bound to this thread, until None comes for one, or Ctrl-C."""
        import queue
        call: Any = bool
        while call:
            with contextlib.suppress(queue.Empty):          # Windows hears no Ctrl-C while it waits
                call, box = self.bound.get(timeout=1.0)
                box.put(outcome := _caught(call))
                if isinstance(outcome.error, KeyboardInterrupt):
                    return

    def answer(self, line: bytes, headers: Any) -> tuple[int, bytes]:
        """Give (the status of HTTP, one line of JSON), which is empty where nothing was asked."""
        import traceback
        known, status = None, 200
        try:
            _insist(len(line) <= MAX_MESSAGE, -32600, f"a message may have {MAX_MESSAGE} bytes at most")
            read = _caught(lambda: _read_json(line.decode()))
            _insist(read.error is None, -32700, f"the message is no JSON: {read.error}")
            message = read.value if isinstance(read.value, dict) else {}
            _insist(message.get("jsonrpc") == "2.0", -32600, 'a message must be one object with "jsonrpc": "2.0"')
            if "id" not in message or message.keys() & {"result", "error"}:
                return 202, b""                 # a notification, or an answer
            known = message["id"] if type(message["id"]) in (str, int) else None
            method, params = message.get("method"), message.get("params", {})
            _insist(known is not None and type(method) is str and isinstance(params, dict), -32600, _NO_REQUEST)
            revision = _revision_of(str(method), params, headers)
            methods, is_new = _SERVED[revision], revision == _STATELESS
            # older clients take 404 for a lost session
            _insist(method in methods, -32601, f"there is no method {_shown(method)}", 404 if is_new else 200)
            whole = {"resultType": "complete"} if is_new else {}
            part = {"result": {**methods[str(method)](self, params, revision), **whole}}
        except _RpcError as refused:
            status, part = refused.args[0], {"error": refused.args[1]}
        except BaseException as error:          # a hook failed, or a tool wants the program to end
            traceback.print_exception(error)
            part = {"error": {"code": -32603, "message": f"internal error: {type(error).__name__}"}}
        return status, _printable(_write_json({"jsonrpc": "2.0", "id": known, **part})).encode() + b"\n"

    def list_tools(self, params: _Rpc, revision: str) -> _Rpc:
        rows = self.registry.get_schemas(api_format="mcp")
        for row in rows:
            if output := _output_of(self.registry[row["name"]], revision):
                row["outputSchema"] = output.schema
        return {"tools": rows, **_FRESH}

    def call_tool(self, params: _Rpc, revision: str) -> _Rpc:
        import queue
        name: Any = params.get("name")
        arguments: Any = params.get("arguments")
        _insist(isinstance(name, str) and isinstance(arguments, (dict, type(None))), -32602,
                "name: must be text, and arguments an object")
        tool, box = self.registry.get_tool(name), queue.SimpleQueue[Any]()
        call: Any = functools.partial(self.context.copy().run, self.registry.invoke, name, arguments or {})
        if tool and not tool.metadata.parallel:
            self.bound.put((call, box))
            call = box.get().get
        result: ToolResult = call()
        text, is_error, structured = result.content, result.is_error, {}
        if tool and not is_error and (output := _output_of(tool, revision)):
            structured = {"structuredContent": to_json(result.value)}
            errors = itertools.islice(output.iter_errors(structured["structuredContent"]), SHOWN_NAMES)
            if faults := "\n".join(f"- {error}" for error in errors):       # clients refuse it without a word
                text, is_error, structured = _MISFIT_RESULT.format(name, faults, text), True, {}
        blocks = [{"type": "text", "text": text}, *(_media_block(media, name) for media in result.media)]
        return {"content": blocks, "isError": is_error, **structured}


_TOOLS = {"tools/list": _Desk.list_tools, "tools/call": _Desk.call_tool}
_SERVED: dict[str, dict[str, Any]] = {          # revision -> method -> what answers
    _STATELESS: {**_TOOLS, "server/discover": lambda *_: {"supportedVersions": [*_SERVED], **_ABOUT, **_FRESH}},
    **dict.fromkeys(_GREETED, {**_TOOLS, "ping": lambda *_: {}, "initialize": (
        lambda desk, params, revision: {**_ABOUT, "protocolVersion": revision})})}


# ---------------------------------------------------------------------------
# serve: the same tools for MCP clients
#    uses 1 10 network desk
# ---------------------------------------------------------------------------
MAX_SERVED = 100            # messages at once on stdio, connections at once over HTTP
MESSAGE_SECONDS = 30.0      # for one message to arrive over HTTP, and for its answer to leave
LAST_SECONDS = 1.5          # for the calls that still run when the client closes stdin
_LOOPBACK = r"localhost|127\.[0-9.]+|\[::1\]"
_HOST_PORT = r"(?ia)(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?"
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_OPEN_DOOR = "http: {} can be reached from other machines (write 127.0.0.1, or token= for a secret that clients send)"


def _serve_pipes(desk: _Desk) -> None:
    import threading
    turn, places = threading.Lock(), threading.Semaphore(MAX_SERVED)
    nothing = os.open(os.devnull, os.O_RDWR)    # first of all: it becomes stderr where there is none
    requests, replies = open(os.dup(0), "rb"), open(os.dup(1), "wb")
    os.dup2(nothing, 0)                         # from here on what tools and their child processes print goes to
    os.dup2(2, 1)                               # stderr, and they cannot read what the client says

    def reply(line: bytes) -> None:
        _, said = desk.answer(line, {})
        with turn:
            _caught(replies.write, said)        # in vain where the client has gone
            _caught(replies.flush)
        places.release()

    def listen() -> None:
        while line := (rest := requests.readline(MAX_MESSAGE + 1)):
            while len(rest) > MAX_MESSAGE and not rest.endswith(b"\n"):     # too long: the rest is thrown away
                rest = requests.readline(MAX_MESSAGE + 1)
            if line.strip():
                places.acquire()
                _on_daemon(reply, line)
        deadline = time.monotonic() + LAST_SECONDS
        for _ in range(MAX_SERVED):             # all places are free when all calls are answered
            places.acquire(timeout=max(0.0, deadline - time.monotonic()))
        desk.bound.put((None, desk.bound))

    _on_daemon(listen)
    desk.serve()


def _refusal_of(request: Any, size: int, token: str | None) -> int:
    """Give the status that refuses a request unheard, or 0: a page in a browser must not get at local tools."""
    import hmac
    headers, path = request.headers, request.path.partition("?")[0]
    places = [*headers.get_all("host", [""]), *(origin.partition("://")[2] for origin in headers.get_all("origin", []))]
    names = [found[1].lower() if (found := re.fullmatch(_HOST_PORT, place)) else "" for place in places]
    is_ours = [re.fullmatch(_LOOPBACK, name) or (token and name and name == names[0]) for name in names]
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    given = secret.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b""
    refusals = {404: path not in ("/", "/mcp"), 405: request.command != "POST",
                411: size < 0 or "transfer-encoding" in headers, 413: size > MAX_MESSAGE, 403: not all(is_ours),
                401: token is not None and not hmac.compare_digest(given, token.encode()),
                415: headers.get_content_type() != "application/json"}
    return next((status for status, is_refused in refusals.items() if is_refused), 0)


def _serve_http(desk: _Desk, host: str, port: int, token: str | None) -> None:
    import http.server
    import socket
    import threading
    places = threading.Semaphore(MAX_SERVED)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = default_request_version = "HTTP/1.1"
        server_version, sys_version = "toolreg", ""

        def handle(self) -> None:
            if not places.acquire(blocking=False):
                _caught(self.wfile.write, _BUSY)
                return
            self.wire = _Wire(self.connection, time.monotonic() + MESSAGE_SECONDS)
            self.rfile = self.wire.makefile("rb")
            _caught(super().handle)             # what fails here is the connection
            places.release()

        def answer(self) -> None:
            sizes = ",".join(self.headers.get_all("content-length", []))
            size = int(sizes) if re.fullmatch("[0-9]{1,18}", sizes) else -1
            body = self.rfile.read(size) if 0 <= size <= MAX_MESSAGE else b""
            refusal = _refusal_of(self, size, token)
            status, line = (refusal, b"") if refusal else desk.answer(body, self.headers)
            self.connection.settimeout(MESSAGE_SECONDS)
            self.send_response(status)
            more = {"Connection": "close", "Allow": "POST", "WWW-Authenticate": "Bearer"}   # a body stays unread
            about = {"Content-Type": "application/json", "Content-Length": len(line), **(more if refusal else {})}
            for name, value in about.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(line)
            self.wire.deadline = time.monotonic() + MESSAGE_SECONDS     # for the next, however slowly it drips

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass                                # stderr is for what tools print

    class Server(http.server.ThreadingHTTPServer):
        address_family, request_queue_size = socket.AF_INET6 if ":" in host else socket.AF_INET, 128

    with Server((host.strip("[]"), port), Handler) as server:
        print(f"toolreg: serving MCP at http://{host}:{server.server_port}/mcp", file=sys.stderr, flush=True)
        _on_daemon(server.serve_forever)
        _caught(desk.serve)
        server.shutdown()


def serve_mcp(registry: ToolRegistry, *, http: str | None = None, token: str | None = None) -> None:
    """Offer the tools of a registry to MCP clients, until they close stdin or Ctrl-C comes.

    Without `http` the one client is the program that started this one; what tools print goes to stderr.
    `http` is "host:port" (port 0: any), for streamable HTTP at /mcp; its clients must send the `token` if there is one.
    """
    place = None if http is None else re.fullmatch(_HOST_PORT, str(http))
    if http is not None and not (place and place[2] and int(place[2]) <= 65_535):
        raise ValueError(f'http: must be "host:port" (got {_shown(http)})')
    if token is not None and not (place and isinstance(token, str) and re.fullmatch("[!-~]+", token)):
        raise ValueError("token: must be visible ASCII text, and goes with http=")
    if place and token is None and not re.fullmatch(_LOOPBACK, place[1]):
        raise ValueError(_OPEN_DOOR.format(place[1]))
    with contextlib.suppress(KeyboardInterrupt):
        if place:
            _serve_http(_Desk(registry), place[1], int(place[2]), token)
        else:
            _serve_pipes(_Desk(registry))


__all__ += ["serve_mcp"]


# ---------------------------------------------------------------------------
# http: a model over HTTP (chat completions, Responses, Anthropic, Gemini)
#    uses 1 3 7 8 10 spellings streams network
# ---------------------------------------------------------------------------
FIRST_PAUSE = 0.5           # seconds before the second try; each further one waits twice as long
LONGEST_PAUSE = 60          # seconds; a server that asks for more in Retry-After is not waited for
MAX_TOKENS = 8_192          # of one answer, where the API has to be told and no option says it
_PASSING = '"(overloaded_error|api_error|rate_limit_error|server_error|rate_limit_exceeded|UNAVAILABLE|INTERNAL)"'
# what may stand beside Gemini's contents; any other option is one of its generationConfig
_BESIDE = "contents systemInstruction tools toolConfig cachedContent labels safetySettings serviceTier store".split()
_USAGE_LOCK = _thread.allocate_lock()


class _Endpoint(types.SimpleNamespace):
    """How one API is asked, and where its answers, and the events of its streams, say what."""

    paths: tuple[str, str]                  # plain and streamed; {} is the model; a version where base_url has none
    key: str                                # the header of the key; {} is the key
    history: str                            # where the messages stand
    usage: tuple[str, str, str]             # the words for the tokens that went in, came out, and for all
    message: Callable[[Any], Any]           # the assistant message in a whole answer
    text: Callable[[Any], str]              # what is given out of an answer or an event
    system: str = ""                        # where the first system messages stand, if not in the history
    body: Callable[[dict[str, Any]], dict[str, Any]] = dict
    headers: dict[str, str] = {}
    streamed: dict[str, Any] = {"stream": True}


_ENDPOINTS: dict[str, _Endpoint] = _Formats({         # each is used where _APIS has its format
    "openai-chat": _Endpoint(
        paths=("/chat/completions",) * 2, key="authorization: Bearer {}", history="messages",
        body=lambda asked: {**asked, "messages": list(map(_sendable, asked["messages"]))},
        usage=("prompt_tokens", "completion_tokens", "total_tokens"),
        message=lambda answer: {"role": "assistant", **answer["choices"][0]["message"]},
        text=lambda event: "".join(_text_in({**(choice.get("delta") or choice.get("message") or {})})
                                   for choice in event.get("choices") or () if not choice.get("index")),
        streamed={"stream": True, "stream_options": {"include_usage": True}}),
    "openai-responses": _Endpoint(
        paths=("/responses",) * 2, key="authorization: Bearer {}", history="input",
        usage=("input_tokens", "output_tokens", "total_tokens"),
        message=lambda answer: [{**item} for item in answer["output"]],
        text=lambda event: event["delta"] if event.get("type") == "response.output_text.delta" else "".join(
            _text_in(item) for item in event.get("output") or () if item.get("type") == "message")),
    "anthropic": _Endpoint(
        paths=("/v1/messages",) * 2, key="x-api-key: {}", history="messages", system="system",
        headers={"anthropic-version": "2026-10-21"}, body=lambda asked: {"max_tokens": MAX_TOKENS, **asked},
        usage=("input_tokens cache_creation_input_tokens cache_read_input_tokens", "output_tokens", ""),
        message=lambda answer: {"role": "assistant", "content": [{**block} for block in answer["content"]]},
        text=lambda event: _text_in(event) + ((event.get("delta") or {}).get("text") or "")),
    "gemini": _Endpoint(
        paths=("/v1/{}:generateContent", "/v1/{}:streamGenerateContent?alt=sse"), key="x-goog-api-key: {}",
        history="contents", system="systemInstruction", body=lambda asked: _gemini_body(asked), streamed={},
        usage=("promptTokenCount toolUsePromptTokenCount", "candidatesTokenCount thoughtsTokenCount",
               "totalTokenCount"),
        message=lambda answer: {"role": "model", "parts": [], **(answer["candidates"][0].get("content") or {})},
        text=lambda event: "".join(part.get("text") or "" for candidate in (event.get("candidates") or ())[:1]
                                   for part in (candidate.get("content") or {}).get("parts") or ()
                                   if not part.get("thought"))),
})


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    """Spell a message as all servers take it: some refuse null, an empty list, or arguments that are no JSON object."""
    sent = {key: value for key, value in message.items() if value not in (None, [])}
    if sent.get("role") == "assistant":
        sent.setdefault("content", "")
    for call in [call for call in sent.get("tool_calls", ()) if "function" in call]:
        arguments = call["function"].get("arguments")
        call["function"]["arguments"] = _write_json(_object(ToolCall("", "", arguments)))
        call.setdefault("type", "function")
    return sent


def _blocks_of(said: Any) -> list[Any]:
    """Give the blocks of a content, or the parts of one of Gemini's; a text is one block."""
    if isinstance(said, str):
        return [{"type": "text", "text": said}] if said else []
    return (said.get("parts") or _blocks_of(said.get("content"))) if isinstance(said, dict) else said or []


def _gemini_body(asked: dict[str, Any]) -> dict[str, Any]:
    """Put what is asked where Gemini wants it; the model stands in the path. Texts may be spelled as in other APIs."""
    def content_of(said: Any) -> dict[str, Any]:
        return {"parts": [{key: part[key] for key in part if key != "type"} for part in _blocks_of(said)]}
    tools, choice, system = asked.pop("tools", []), asked.pop("tool_choice", None), asked.get("systemInstruction")
    declared = [tool for tool in tools if "name" in tool]           # the others are Google's: {"googleSearch": {}}
    config = asked.pop("generationConfig", {}) | {key: asked[key] for key in asked.keys() - {"model", *_BESIDE}}
    said = {"contents": [{"role": "model" if turn.get("role") in ("model", "assistant") else "user", **content_of(turn)}
                         for turn in asked["contents"]],
            "systemInstruction": content_of(system) if system else None, "generationConfig": config,
            "tools": [{"functionDeclarations": declared}] * bool(declared) + [
                tool for tool in tools if "name" not in tool],
            "toolConfig": choice if declared else None}
    return {**{key: asked[key] for key in _BESIDE if key in asked}, **{key: said[key] for key in said if said[key]}}


class HttpModel:
    """Be a model for run_agent: a server that speaks OpenAI's chat completions or Responses, Anthropic or Gemini.

    `base_url`: what the API's SDK takes, as https://api.openai.com/v1 · `headers`: sent too, as Azure's api-key ·
    `timeout`: seconds for the answer, all tries and pauses included · `stream`: let the text come in pieces,
    `on_delta` gets each · `retries`: after 429, 5xx and lost connections, unless `on_delta` got text already ·
    `sees_images`: show it the images of results, in chat completions by a user message after them · `options`: sent
    too, as temperature=0. `usage` counts the tokens of all answers, as input, output and total.
    """

    def __init__(self, base_url: str, model: str, *, api_format: str = "openai-chat", api_key: str | None = None,
                 headers: Mapping[str, str] | None = None, timeout: float | None = 60, stream: bool = False,
                 on_delta: Callable[[str], Any] | None = None, retries: int = 2, sees_images: bool = False,
                 **options: Any) -> None:
        _APIS[api_format]                   # raises where there is none
        self._api, self.api_format, self.model, self.options = _ENDPOINTS[api_format], api_format, model, options
        self.timeout, self.retries, self.on_delta, self.sees_images = timeout, retries, on_delta, sees_images
        self.stream, self.usage = stream or on_delta is not None, {"input": 0, "output": 0, "total": 0}
        self._streamed = dict(self._api.streamed) if self.stream else {}
        self._url = self._url_at(base_url)
        self._origin = _Target(self._url).origin
        name, _, value = self._api.key.partition(": ")
        given = {**({name: value.format(api_key)} if api_key else {}), **(headers or {})}
        self._headers = _headers_of({"content-type": "application/json", **self._api.headers, **given})
        secrets = [re.escape(word) for word in " ".join(given.values()).split() if len(word) > 7]   # not "Bearer"
        self._hidden = functools.partial(re.sub, "|".join(secrets) or "(?!)", "***")

    def _url_at(self, base_url: str) -> str:
        from urllib.parse import quote
        place, _, query = base_url.partition("?")
        path = self._api.paths[self.stream].format(quote(self.model if "/" in self.model else f"models/{self.model}"))
        place = place.rstrip("/").removesuffix(path.removeprefix("/v1"))
        path = path.removeprefix("/v1") if re.search(r"/v\d\w*(/|$)", place) else path
        return place + path + (("&" if "?" in path else "?") + query if query else "")

    def __call__(self, *, messages: Iterable[Any], tools: Iterable[Any] = (), tool_choice: Any = None) -> Any:
        """Give the assistant message that the server answers; HttpError or ToolTimeoutError where there is none."""
        deadline = time.monotonic() + (math.inf if self.timeout is None else self.timeout)
        offered = [*(self.options.get("tools") or ()), *tools]
        asked = self._body([to_json(_on_the_wire(message)) for message in messages], offered, tool_choice)
        given_out: list[str] = []           # cannot be taken back: then there is no other try
        tried = 0
        while True:
            try:
                return self._ask(asked, deadline, given_out)
            except HttpError as error:
                if b"stream_options" in error.body and "stream_options" in asked.keys() - self.options.keys():
                    del asked["stream_options"]         # some servers refuse it: it is not sent again
                    self._streamed.pop("stream_options", None)
                    continue
                pause = _pause_after(error, tried)
                if pause is None or given_out or tried >= self.retries or time.monotonic() + pause > deadline:
                    meant = _tools_meant(str(error), offered) if error.status in (400, 422) else ""
                    raise HttpError(self._hidden(f"{error}{meant}"), error.status, error.headers, error.body) from None
            time.sleep(pause)
            tried += 1

    def _body(self, history: list[Any], tools: list[Any], choice: Any) -> dict[str, Any]:
        api, asked = self._api, {"model": self.model, **self._streamed, **self.options}
        if tools:
            choice = choice or asked.get("tool_choice") or build_tool_choice("auto", api_format=self.api_format)
            asked.update(tools=tools, tool_choice=choice)
        if api.system:
            first = list(itertools.takewhile(lambda each: each.get("role") in ("system", "developer"), history))
            told = [block for said in (asked.get(api.system), *first) for block in _blocks_of(said)]
            asked.update({api.system: told} if first else {})
            # an answer that was empty would not be taken back
            history = [each for each in history[len(first):] if each.get("content") or each.get("parts")]
        asked[api.history] = history
        return api.body({key: value for key, value in asked.items() if value is not None})

    def _ask(self, asked: dict[str, Any], deadline: float, given_out: list[str]) -> Any:
        """Send one request, read what comes, and give out its text; a stream that breaks off is a lost connection."""
        response = _request("POST", self._url, headers=self._headers, timeout=deadline - time.monotonic(),
                            body=_write_json(asked).encode("utf-8", "replace"))
        if response.status != 200:
            body = self._hidden(response.text_of(response.read(64 * MAX_ERROR_BODY, cut=True)))
            words = _provider_words(body) or response.reason
            raise HttpError(f"{self._origin} answered {response.status}: {words}".rstrip(": "), response.status,
                            response.headers, body.encode()[:MAX_ERROR_BODY])
        events, kind = list[Any](), response.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_stream = kind == "text/event-stream" or (self.stream and kind in ("", "text/plain"))     # some forget it
        told = ((name, data or "{}") for name, data, *_ in _sse_events(response.lines()))
        try:
            for name, text in told if is_stream else [("", response.text_of(response.read()))]:
                if text.strip() == "[DONE]":        # some servers forget it
                    break
                events.append(self._event(text, name))
                said = self._spelled(self._api.text, events[-1])
                if self.on_delta and said:
                    given_out.append(said)
                    self.on_delta(said)
            else:
                if is_stream and all(_reasons_in(event) <= {"in_progress", "queued"} for event in events):
                    raise HttpError(f"{self._origin}: the stream broke off") from EOFError()
        finally:
            response.close()
            self._count(events)
        # a stream is put together; so is what was cut or taken back, since that marks its calls
        if is_stream or _reasons_in(events[0]) & _UNFINISHED:
            return self._spelled(functools.partial(collect_stream, api_format=self.api_format), events)
        return self._spelled(self._api.message, events[0])

    def _event(self, text: str, name: str) -> dict[str, Any]:
        """Read an answer, or an event (of this name) of one; HttpError where it says that something failed."""
        event: dict[str, Any] = self._spelled(dict, self._spelled(_read_json, text))
        failed = next((each for each in (event, *(event.get("choices") or ())) if _at(each, "error")), None)
        blocked = "blockReason" in (event.get("promptFeedback") or ())
        if failed or blocked or name == "error" or event.get("type") in ("error", "response.failed"):
            passing = EOFError() if re.search(_PASSING, text) else None         # as a lost connection does
            words = _provider_words(self._hidden(_write_json(failed or event)))
            raise HttpError(f"{self._origin}: {words}", 200) from passing
        return event

    def _spelled(self, read: Callable[[Any], Any], value: Any) -> Any:
        try:
            return read(value)
        except (AttributeError, LookupError, TypeError, ValueError):
            raise HttpError(f"{self._origin}: no answer of {self.api_format}, but {_shown(value)}", 200) from None

    def _count(self, events: list[Any]) -> None:
        """Add the tokens that were counted; in a stream each count is what there was until then."""
        holders = [holder for event in events for holder in (event, event.get("response"), event.get("message"))]
        counts = [_at(holder, "usage") or _at(holder, "usageMetadata") for holder in holders]
        told = {word: count for each in counts if isinstance(each, dict) for word, count in each.items()
                if type(count) is int and count}
        into, out, total = (sum(told.get(word, 0) for word in words.split()) for words in self._api.usage)
        with _USAGE_LOCK:
            for key, count in {"input": into, "output": out, "total": total or into + out}.items():
                self.usage[key] += count


def _reasons_in(event: dict[str, Any]) -> set[str]:
    return _message_in(event.get("response") or event.get("delta") or event)[1]


def _pause_after(error: HttpError, tried: int) -> float | None:
    """Say how many seconds to wait before another try; None where another try is no use."""
    import random
    from email.utils import parsedate_to_datetime
    if error.__cause__ is None and error.status not in (408, 429) and (error.status or 0) < 500:
        return None                         # (a cause is what broke the connection)
    asked = error.headers.get("retry-after", "")        # seconds, or a date
    try:
        pause = float(asked) if asked[-1:].isdigit() else parsedate_to_datetime(asked).timestamp() - time.time()
    except (ValueError, OverflowError):     # at random, so that all who were refused do not return at once
        pause = FIRST_PAUSE * 2**tried * random.uniform(1, 1.5)
    return max(0.0, pause) if pause <= LONGEST_PAUSE else None


def _provider_words(body: str) -> str:
    """Find the message in the body of an error: {"error": {"message": …}}, {"error": …}, {"detail": …} …"""
    value = _caught(_read_json, body).value or " ".join(body.split())
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    for key in ("response", "error", "message", "detail"):
        value = _at(value, key) or value
    return (value if isinstance(value, str) else _write_json(value))[:MAX_ERROR_BODY]


def _tools_meant(text: str, tools: Sequence[Any]) -> str:
    """Name the tools that an error is about; servers often tell only a number, or a place in a schema."""
    text = re.sub(r"(?i)tools\[0\]\.function_?declarations", "tools", text)        # Gemini's are in one
    marks: dict[str, list[str]] = {}        # of each tool
    for number, tool in enumerate(tools):
        function = tool.get("function", tool)
        name = str(function.get("name") or tool.get("type"))
        schemas = [function[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if key in function]
        places = [f"#/properties/{place}" for schema in schemas for place in schema.get("properties", ())]
        marks[name] = [name, f"tools.{number}", f"tools[{number}]", *places]
    meant = [name for name, words in marks.items()
             if re.search(rf"(?<![\w-])({'|'.join(map(re.escape, words))})(?![\w-])", text)]
    named = _listed(meant or (marks if re.search("tool|function|schema", text) else ()))
    return f" (tools: {named})" if named else ""


__all__ += ["HttpModel"]


# ---------------------------------------------------------------------------
# switch: what the words of other libraries are called here
#    uses 1 7 9 10
# ---------------------------------------------------------------------------
# whose keywords (the method), or "" for names: what to write -> instead of what
_WRITE_INSTEAD: dict[Any, dict[str, str]] = {
    "": {
        "write get_schemas()": "get_tools_json get_json_schema describe args_schema bind_tools",
        "write list_tools(), which names disabled tools too": "get_available_tools list_all_tools get_tools_status",
        "write build_tool_call_messages(calls, results), or respond(message) for the tool messages alone":
            "recover_tool_call_assistant_message",
        "write register(), register_from_class(), …; in async code, in asyncio.to_thread":
            "register_async register_from_class_async register_from_langchain_async register_from_mcp_async "
            "register_from_openapi_async",
        "write register_from_mcp(client, replace=True), or register_from_openapi(…), again":
            "refresh_all refresh_all_async refresh_from_mcp refresh_from_mcp_async refresh_from_openapi "
            "refresh_from_openapi_async RefreshResult SchemaChangeKind",
        "write registry.register(tool, replace=True)": "override restore_override list_overrides update_tool_metadata "
                                                       "update_namespace_metadata apply_metadata_config",
        "write enable(name), disable(name, reason), and get_schemas(), which has the enabled ones":
            "is_enabled get_disable_reason disable_by_tags",
        "write copy() and unregister(name), or a registry of its own": "spinoff reduce_namespace",
        'names are joined by "-": write namespace= when a tool is registered':
            "name_sep qualified_name update_namespace requalify",
        "write ToolRegistry(executor=ProcessPoolExecutor()); threads need no word": "set_default_execution_mode "
            "set_execution_mode ThreadBackend ProcessPoolBackend ExecutionContext",
        "write ToolRegistry(before_call=…), which denies a call by raising":
            "set_permission_handler get_permission_handler remove_permission_handler set_permission_policy "
            "get_permission_policy remove_permission_policy permission_fallback PermissionHandler "
            "AsyncPermissionHandler PermissionPolicy PermissionRequest PermissionResult PermissionRule",
        "write ToolRegistry(after_call=…), which sees every call and its result": "enable_logging disable_logging "
            "get_execution_log ExecutionLog ExecutionLogEntry ExecutionStatus RequestMetrics ProgressReport",
        "write search_registry(registry)": "enable_tool_discovery disable_tool_discovery get_deferred_summaries "
                                           "ToolDiscoveryTool TOOL_DISCOVERY_NAME TOOL_CALL_DEFERRED_NAME",
        "nothing is told of changes: the program that registers knows": "on_change remove_on_change "
            "add_post_register_hook ChangeCallback ChangeEvent ChangeEventType PostRegisterHook",
        "there is no server for administration":
            "enable_admin disable_admin get_admin_info AdminInfo AdminServer TokenAuth",
        "there is nothing to close but an McpClient": "close close_async", "write Injected": "InjectedToolArg",
        "write ordinary Python: a tool may call other tools": "ptc", "write serve_mcp(registry)": "FastMCP",
        "write ToolMetadata(tags={…}), any words": "ToolTag", "write ToolError": "ToolException",
        "write ToolResult": "ToolCallResult ErrorResult ResultList",
        "write ValidationError, which has .path and .message": "ErrorDetail VALIDATION_ERRORS",
        "write SchemaError": "SchemaValidationError SchemaErrorDetail",
        "write .content, which the model reads, or .value": "result",
        'write api_format="openai-chat"': "openai openai-chatcompletion",
        'write api_format="openai-responses"': "openai-response",
        "write @registry.register": "tool StructuredTool BaseTool function_tool FunctionTool",
        "write registry.respond(message)": "ToolNode ToolExecutor",
        "write run_agent(model, messages, registry)": "AgentExecutor create_agent create_react_agent Runner"},
    (ToolRegistry, "__init__"): {
        "a registry has no name": "name", "write max_result=": "default_max_result_size",
        "write search_registry(registry)": "tool_discovery", 'names are joined by "-"': "name_sep"},
    (ToolRegistry, "register"): {
        "write register_from_class(), …_mcp(), …_openapi(), …_langchain()": "source", "write it first": "target",
        "write replace=": "allow_replace", "write name=": "method_name name_or_callable",
        "write metadata=ToolMetadata(timeout=…)": "timeout", "write metadata=ToolMetadata(tags=…)": "tags",
        "write parameters=": "args_schema"},
    (ToolRegistry, "get_schemas"): {
        "write name=": "tool_name", "write tags=, or disable(name)": "exclude_tags", "they keep their order": "sort",
        "write search_registry(registry)": "include_deferred"},
    (ToolRegistry, "merge"): {
        "write replace=True for the other's; a name that both have is refused": "keep_existing",
        "write namespace=": "force_namespace"},
    (ToolRegistry, "execute_tool_calls"): {
        "write calls=": "tool_calls", "write executor=ProcessPoolExecutor(); threads need no word": "execution_mode"},
    (ToolMetadata, "__init__"): {
        "write parallel=": "is_concurrency_safe", "it is seen": "is_async", "write tags=": "custom_tags",
        "write ToolRegistry(max_result=…)": "max_result_size", "write search_registry(registry)": "defer",
        "write it into the description": "search_hint", "write ToolRegistry(executor=…)": "natural_backend locality",
        'write extra={"mcp": {…}}': "title read_only_hint destructive_hint idempotent_hint open_world_hint "
                                    "source_detail schema_hash last_refreshed_at"},
    (Tool, "__init__"): {
        "write func=": "callable fn", "write Tool.from_function(func, parameters=…)": "parameters_model",
        "write parameters=": "args_schema", "write registry.register(tool, namespace=…)": "namespace",
        "write name=": "method_name", "it is seen": "is_async"},
}


def _tell(whose: Any, texts: dict[str, str]) -> None:
    """Let all that is asked for a name of elsewhere, or a method that gets a keyword of it, say what to write."""
    told = {word: text for text, words in texts.items() for word in words.split()}
    if not whose:
        _CALLED_HERE.update((word, f"{word} is not here: {text}") for word, text in told.items())
        return
    owner, method = whose
    known = getattr(owner, method)

    @functools.wraps(known)
    def telling(*args: Any, **options: Any) -> Any:
        for word in options:
            if word in told:
                raise TypeError(f"{known.__qualname__.removesuffix('.__init__')} takes no {word}=: {told[word]}")
        return known(*args, **options)
    setattr(owner, method, telling)


def _no_attribute(self: ToolResult, name: str) -> Any:
    raise _missing(name, "a ToolResult")


for _whose, _texts in _WRITE_INSTEAD.items():
    _tell(_whose, _texts)
setattr(ToolResult, "__getattr__", _no_attribute)       # noqa: B010 (type checkers must not see it)


# ---------------------------------------------------------------------------
# trace: a conversation to look at, as text, as a diagram, as a page
#    uses 1 3 5 7 8 10
# ---------------------------------------------------------------------------
TRACE_CHARACTERS = 2_000    # of one text in a trace: it is to be read
DIAGRAM_CHARACTERS = 150    # of one text in a diagram
_SPEAKERS = {"user": "user", "human": "user", "system": "system", "developer": "system", "tool": "tool"}  # or: model
_RESULT_KEYS = {"tool_call_id": "content", "tool_use_id": "content", "call_id": "output", "id": "response",
                "name": "response"}         # where the call's id stands, and where what it came to
_TRACE_ROWS = {             # what a message says: (how it is written, how it is drawn)
    "system": ("system  {text}", ["note over U,M: {text}"]),
    "user": ("user    {text}", ["U->>M: {text}"]),
    "model": ("model   {text}", ["M->>U: {text}"]),
    "tool": ("tool    {text}", ["R-->>M: {text}"]),
    "call": ("model   calls {name} {text}  [{id}]", ["M->>R: {id}: {name} {text}"]),
    "reason": ("        because: {text}", ["note over M,R: because: {text}"]),
    "result": ("tool    {name} answers [{id}]{time} {text}",
               ["R->>{tool}: {arguments}", "{tool}-->>R: {text}", "R-->>M: tool message {id}{time}"]),
    "error": ("tool    {name} fails [{id}]{time} {text}", ["R--xM: tool message {id}{time}: {text}"]),
    "image": ("        shows {text:.60}", ["note over M: shows an image"]),
}
_Said = Iterable[tuple[str, dict[str, str]]]                # (key of _TRACE_ROWS, its words)


def trace(messages: Iterable[Any], results: Iterable[ToolResult] = (), *, style: str = "text") -> str:
    """Show who says what in a list of messages: as "text", as a "mermaid" sequence diagram, or as an "html" page.

    `results`: of the calls, for their times and media. Whatever the messages hold, it cannot pass for another row,
    a terminal's command, Mermaid's syntax or markup. The page needs no network, no script and no other file.
    """
    styles = {"text": lambda said: "\n".join(itertools.starmap(_row, said)), "mermaid": _diagram, "html": _page}
    if style not in styles:
        raise ValueError(f'style: must be "text", "mermaid" or "html" (got {_shown(style)})')
    calls, known = dict[str, dict[str, str]](), {result.tool_call_id: result for result in results}
    return styles[style](each for message in messages for each in _said(message, calls, known))


def _said(message: Any, calls: dict[str, dict[str, str]], results: Mapping[str, ToolResult]) -> _Said:
    """Yield all that a message says; its `calls` are kept, by their ids, for the results that come later."""
    plain = to_json(message)
    if not isinstance(plain, dict):
        raise TypeError(f"messages: must hold messages only (got {_shown(plain)})")
    speaker = _SPEAKERS.get(str(plain.get("role") or plain.get("type")), "model")
    blocks = plain.get("content") or plain.get("parts")
    for block in blocks if isinstance(blocks, list) and "tool_call_id" not in plain else [plain]:
        block = _at(block, "functionResponse") or block
        key = next((key for key, said in _RESULT_KEYS.items() if None not in (_at(block, key), _at(block, said))), "")
        yield from _result_in(block, key, calls, results) if key else _pieces(block, speaker)
    read = _caught(parse_tool_calls, message if speaker == "model" else [])
    if read.error:                          # a call that is not read is shown as it came
        yield speaker, {"text": _write_json(plain)}
    for call in read.value or ():
        arguments, reason = _split_reason(_object(call), False)
        id = call.name if "parts" in plain and _is_made_up(call.id) else call.id
        text = call.arguments if isinstance(call.arguments, str) else (
            _caught(_write_json, arguments).value or _write_json(to_json(arguments)))
        calls[id] = {"id": id, "name": call.name, "text": text}
        yield "call", calls[id]
        if reason is not None:
            yield "reason", {"text": reason}


def _pieces(said: Any, speaker: str) -> _Said:
    """Yield the texts and images in a content, whichever API spells it."""
    for each in said if isinstance(said, list) else ():
        yield from _pieces(each, speaker)
    if isinstance(said, str) and said:
        yield speaker, {"text": said}
    if isinstance(said, dict):
        inner = [said[key] for key in ("text", "content", "output", "result", "error") if key in said]
        yield from _pieces(inner[:1], speaker)
        image = said.get("image_url") or said.get("source") or said.get("inlineData")
        if isinstance(image, dict):
            kind = image.get("media_type") or image.get("mimeType")
            image = f"data:{kind};base64,{image['data']}" if "data" in image else image.get("url")
        if isinstance(image, str):
            yield "image", {"text": image}


def _result_in(block: Any, key: str, calls: Mapping[str, dict[str, str]], results: Mapping[str, ToolResult]) -> _Said:
    """Yield the result of a call, and its images."""
    id, content = str(block[key]), block[_RESULT_KEYS[key]]
    pieces = list(_pieces([content, block.get("parts")], "result"))
    text = "\n".join(words["text"] for kind, words in pieces if kind == "result")
    text = text or (content if isinstance(content, str) else _write_json(content))
    result = results.get(id) or ToolResult(id, "", text)
    failed = block.get("is_error") or result.is_error or text.startswith("Error: ")
    call = calls.get(id) or {"name": str(block.get("name", "?")), "text": ""}
    yield "error" if failed else "result", {
        "id": id, "name": call["name"], "arguments": call["text"], "text": text,
        "time": f" in {result.seconds:.2f} s" if result.seconds else ""}
    media = [{"source": {"media_type": each.media_type, "data": to_json(each.data)}} for each in result.media]
    yield from [piece for piece in pieces if piece[0] == "image"] or _pieces(media, "")


def _seen(text: str, most: int = TRACE_CHARACTERS) -> str:
    """Cut a text, and spell out what a terminal would obey, hide or turn round."""
    text = text if len(text) <= most else text[:most] + "…"
    return "".join(each if each.isprintable() or each in "\n\t\xa0\u3000" else ascii(each)[1:-1] for each in text)


def _row(kind: str, words: dict[str, str]) -> str:
    """Write a row; its further lines are indented, so that no text can pass for a row."""
    text = _TRACE_ROWS[kind][0].format(**{key: _seen(word) for key, word in words.items()})
    return text.replace("\n", "\n        ")


def _diagram(said: _Said) -> str:
    """Draw what was said as Mermaid; a tool takes part once it has answered."""
    tools, lines = dict[str, str](), list[str]()
    for kind, words in said:
        drawn = {key: word if key == "time" else _in_diagram(word) for key, word in words.items()}
        if kind == "result":
            drawn["tool"] = tools.setdefault(drawn["name"], f"T{len(tools) + 1}")
        lines += [line.format(**drawn) for line in _TRACE_ROWS[kind][1]]
    parts = [("M", "model"), ("R", "registry"), *((short, name) for name, short in tools.items())]
    known = ["actor U as user", *(f"participant {short} as {name}" for short, name in parts)]
    return "\n    ".join(["sequenceDiagram", *known, *lines])


def _in_diagram(text: str) -> str:
    """Keep Mermaid from reading a text: as entities (ﬂ and ¶ are its marks for them), HTML, a `wrap:` to swallow …"""
    obeyed = r"(?m)[#;<>&%$\\`~@|*^ﬂ¶]|^(?=\s*:?(?:no)?wrap:)."
    safe = re.sub(obeyed, lambda found: f"#{ord(found[0])};", _seen(text, DIAGRAM_CHARACTERS).strip())
    return safe.replace("\n", "<br/>") or "(nothing)"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>A conversation with tools</title><style>
:root {{ color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }}
body {{ max-width: 52rem; margin: 1rem auto; padding: 0 1rem; overflow-wrap: anywhere }}
details {{ margin: .6rem 0; padding: .4rem .8rem; border-left: .3rem solid #999; background: #8881 }}
.user {{ border-color: #2d7ff9 }} .model {{ border-color: #20a060 }} .error {{ border-color: #e03e3e }}
pre {{ margin: 0; white-space: pre-wrap }} summary {{ font-size: .85rem }} img {{ max-width: 100% }}
:not(.call, .result, .error) > pre {{ font: inherit }}
</style></head><body><h1>A conversation with tools</h1>
{}
</body></html>"""
_PAINTED = r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}\Z"      # SVG could do more


def _page(said: _Said) -> str:
    """Write a page of HTML: the rows of a text, each to be folded, with nothing cut."""
    import html
    folded = []
    for kind, words in said:
        text, head = words["text"], _TRACE_ROWS[kind][0].format(**{**words, "text": ""})
        spread = _caught(lambda text=text: json.dumps(_read_json(text), ensure_ascii=False, indent=2)).value or text
        if "".join(spread.split()) == "".join(text.split()):        # JSON, where nothing but white space changes by it
            text = spread
        head, safe = (html.escape(_seen(each, len(each))) for each in (head, text))
        is_picture = kind == "image" and re.match(_PAINTED, text)       # any other stays an address
        body = f'<img src="{safe}" alt="an image">' if is_picture else f"<pre>\n{safe}</pre>"
        folded.append(f'<details class="{kind}" open><summary>{head}</summary>{body}</details>')
    return _PAGE.format("\n".join(folded))


__all__ += ["trace"]


# ---------------------------------------------------------------------------
# cli: the command line: lessons, a chat, and copies of this file
#    uses 1 2 3 7 8 10 11 resume trace
# ---------------------------------------------------------------------------
# --- lessons: what they are given are toolreg's own functions, so that the body of each is a program by itself
def _lesson_1(scripted_model: Any, trace: Any) -> None:
    """One call by hand: the model only writes, your program runs the function."""
    def get_weather(city: str) -> str:
        "Get the weather forecast for a city."
        return f"{city}: sunny, 25 °C"

    tools = [{"type": "function", "function": {         # all that the model knows of the function
        "name": "get_weather", "description": "Get the weather forecast for a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
    messages = [{"role": "user", "content": "How is the weather in Oslo?"}]
    model = scripted_model(ToolCall("call_1", "get_weather", {"city": "Oslo"}))     # a script plays the model
    answer = model(messages=messages, tools=tools)
    messages.append(answer)                             # a call: name, arguments as JSON text, and an id
    for call in answer.get("tool_calls") or ():
        content = get_weather(**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    print(*[json.dumps(message, ensure_ascii=False) for message in messages], sep="\n")
    # the same in one line, which describes the function, checks the arguments and answers whatever goes wrong
    print(ToolRegistry([get_weather]).respond(answer))


def _lesson_2(scripted_model: Any, trace: Any) -> None:
    """The loop: ask, run the calls, send the results back, until the model calls no more."""
    def get_weather(city: str) -> str:
        return f"{city}: sunny, 25 °C"

    def get_time(city: str) -> str:
        return f"{city}: 14:05"

    functions = {"get_weather": get_weather, "get_time": get_time}
    city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tools = [{"type": "function", "function": {"name": name, "parameters": city}} for name in functions]
    script = ([ToolCall("call_1", "get_weather", {"city": "Oslo"}), ToolCall("call_2", "get_time", {"city": "Oslo"})],
              "It is 14:05, and sunny at 25 °C.")
    model, messages = scripted_model(*script), [{"role": "user", "content": "Time and weather in Oslo?"}]
    for _ in range(10):                                 # a model that never stops calling has to be stopped
        answer = model(messages=messages, tools=tools)  # 1. ask, with the whole history and all tools
        messages.append(answer)                         # 2. append the answer as it is
        if not answer.get("tool_calls"):                # 3. no calls: that was the last word
            break
        for call in answer["tool_calls"]:               # 4. run each call, and append its result, by its id
            content = functions[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    print(trace(messages))
    # the same in one line; there a wrong name or wrong arguments end nothing, as they would above
    print(run_agent(scripted_model(*script), messages[:1], ToolRegistry([get_weather, get_time]))[-1]["content"])


def _lesson_3(scripted_model: Any, trace: Any) -> None:
    """Three ways to route a call to its function: an if for each, a table, a registry."""
    def get_weather(city: str) -> str:
        return f"{city}: sunny, 25 °C"

    table, registry = {"get_weather": get_weather}, ToolRegistry([get_weather])
    for name in "get_weather", "weather":
        print("a call of", name)
        if name == "get_weather":                       # no else: of a forgotten or invented name nobody hears
            print("  by if:   ", get_weather("Oslo"))
        try:
            print("  by table:", table[name]("Oslo"))
        except KeyError as error:
            print("  by table: the program ends with a KeyError:", error)
        print("  registry:", registry.invoke(name, {"city": "Oslo"}).content)
    # an error that reaches the model is one that it can mend
    wrong, right = (ToolCall(f"call_{name}", name, {"city": "Oslo"}) for name in ("weather", "get_weather"))
    print(trace(run_agent(scripted_model(wrong, right, "Sunny."), "How is the weather in Oslo?", registry)))


def _lesson_4(scripted_model: Any, trace: Any) -> None:
    """A wrong call, corrected: three ways to validate, and what each lets through."""
    def book(nights: int, room: typing.Literal["single", "double"] = "single") -> str:
        return f"booked a {room} room for {nights} nights"

    def by_hand(nights: int, room: typing.Any = "single") -> str:       # who wrote this did not think of room
        return book(nights, room) if isinstance(nights, int) else "Error: nights must be a number"

    registry = ToolRegistry([book])
    tries: list[dict[str, typing.Any]] = [{"nights": "many"}, {"nights": 2, "room": "suite"}, {"nights": "2"}]
    for arguments in tries:
        print(arguments)
        print("  not at all:", book(**arguments))                       # Python does not look at annotations
        print("  by hand:   ", by_hand(**arguments))
        print("  by schema: ", registry.invoke("book", arguments).content.replace("\n", "\n    "))
    wrong, right = {"nights": 2, "room": "suite"}, {"nights": 2, "room": "double"}
    model = scripted_model(ToolCall("call_1", "book", wrong), ToolCall("call_2", "book", right), "A double room.")
    print(trace(run_agent(model, "Book a large room for two nights.", registry)))


def _lesson_5(scripted_model: Any, trace: Any) -> None:
    """tool_choice: when the model may, must, or must not call, and which tool."""
    def get_weather(city: str) -> str:
        return f"{city}: sunny, 25 °C"

    look = [ToolCall("call_1", "get_weather", {"city": "Oslo"}), "Yes."]
    for choice, use, script in (
        ("auto", "the model decides: in a chat, nearly always", ["It often is."]),
        ("required", "it has to call something first: where an answer without looking would be a guess", look),
        ("get_weather", "it has to call this tool first: where your program knows the next step", look),
        ("none", "it must not call: where all is known and the answer is to be written", look),
    ):
        print(f"\n{choice}: {use}\n        sent as {build_tool_choice(choice)}")
        model, registry = scripted_model(*script), ToolRegistry([get_weather])
        print(trace(run_agent(model, "Is it sunny in Oslo?", registry, tool_choice=choice)))
    # servers may take tool_choice for a wish: the call that was not to be is answered with an error, and does not run
    # after the first call a loop goes back to "auto": "required" in every turn would never end


def _lesson_6(scripted_model: Any, trace: Any) -> None:
    """The reason, and approval: the model says why, and a dangerous call waits for a yes."""
    def delete_file(path: str) -> str:
        """Delete a file."""
        return f"{path} is deleted"                     # it never sees the reason

    # it sees exactly what is about to run, and denies by raising; a program for people would ask them here
    def approve(call: ToolCall, reason: str | None) -> None:
        print(f"? {call.name} {call.arguments}, because: {reason}")
        if "/tmp/" not in str(call.arguments):
            raise ToolError("Error: the user did not allow this. Ask which file is meant.")

    registry = ToolRegistry([delete_file], think_augment=True, before_call=approve)
    # each tool has a toolcall_reason, which the model fills in and the registry keeps
    print(*registry.get_schemas()[0]["function"]["parameters"]["properties"])
    wrong = ToolCall("call_1", "delete_file", {"path": "/etc/hosts", "toolcall_reason": "it is old"})
    right = ToolCall("call_2", "delete_file", {"path": "/tmp/old.txt", "toolcall_reason": "it is the old one there"})
    model = scripted_model(wrong, right, "Done.")
    print(trace(run_agent(model, "Delete the old file.", registry)))


_LESSONS = (_lesson_1, _lesson_2, _lesson_3, _lesson_4, _lesson_5, _lesson_6)
# of vendor: a chapter (its name, its title, what it uses), and the line above what is not to be edited (its hash)
_CHAPTER = (r"(?m)^# -{20,}\n# ([a-z]+): (.+)\n# +uses (.+)\n# -{20,}\n(?s:.*?)"
            r"(?=^# -{20,}\n# [a-z]+: |^if __name__)")
_SEAL = "(?m)^# do not edit what is below, make it anew; its sha256: ([0-9a-f]{64})\n"
_PROVIDERS = {              # (the address of its own API, what that speaks, what any other address speaks)
    "OPENAI": ("https://api.openai.com/v1", "openai-responses", "openai-chat"),
    "ANTHROPIC": ("https://api.anthropic.com", "anthropic", "anthropic"),
    "GEMINI": ("https://generativelanguage.googleapis.com", "gemini", "gemini"),
}
_NO_MODEL = ("no model (set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY; or OPENAI_BASE_URL or --base-url, as "
             "http://127.0.0.1:11434/v1 for ollama, http://127.0.0.1:8080/v1 for llama-server --jinja -m FILE.gguf)")
_NOT_ALLOWED = "Error: the user did not allow this call.\nDo not repeat it; ask what to do instead."
_STOPPED = "Error: the user stopped this before the tool had finished.\nWait for what the user says next."


class _Command(types.SimpleNamespace):
    """A command: what it was given are its attributes, what it does is the method of its name."""

    messages: list[dict[str, Any]]
    streamed = False                        # whether what is shown now came in pieces

    def lesson(self) -> None:
        """Print a lesson's program and run it; without a number, list the lessons."""
        def show(messages: Any) -> str:
            self.messages += messages
            return trace(messages)
        if self.number:
            lesson = _LESSONS[self.number - 1]
            model = None if self.model is None else _model_of(self, api_format="openai-chat")
            program = inspect.cleandoc(inspect.getsource(lesson).partition('"""\n')[2])
            modules, names = ([name for name in names if re.search(rf"\b{name}\b", program)]
                              for names in (["json", "typing"], __all__))
            print(f"=== Lesson {self.number}: {lesson.__doc__} ===\n", *map("import {}".format, modules),
                  f"from toolreg import {', '.join(names)}\n", program, "\n=== What it prints ===\n", sep="\n")
            lesson(scripted_model if model is None else lambda *script: model, show)
        print("\n=== Lessons: python toolreg.py lesson N ===")
        for number, lesson in enumerate(_LESSONS, 1):
            print(f"{number}  {lesson.__doc__}")

    def list(self) -> None:
        """List the tools of a module: those of its registry, or its public functions."""
        for tool in _tools_at(self.target):
            print(f"{tool.name:<24} {_seen(tool.description.partition(chr(10))[0])}".rstrip())

    def schema(self) -> None:
        """Print the schema of a tool as an API wants it."""
        schemas = _tools_at(self.target).get_schemas(api_format=self.format)
        print(json.dumps(schemas[0] if len(schemas) == 1 else schemas, ensure_ascii=False, indent=2))

    def call(self) -> None:
        """Call a tool as a model would."""
        registry = _tools_at(self.target)
        if len(registry) != 1:
            raise ToolRegError(f"{self.target}: write MODULE:NAME (there are: {_listed(registry.list_tools())})")
        result = registry.invoke(registry.list_tools()[0], self.arguments)
        if result.is_error:
            raise ToolRegError(result.content.removeprefix("Error: ") + _own_lines(result.error))
        print(result.content)

    def chat(self) -> None:
        """Let a model answer with the tools of a module: one question, or without one a conversation."""
        import importlib
        self.model = _model_of(self, self._stream if self.stream else None)
        self.tools = _tools_at(self.target)
        self.registry = self.tools.copy(
            before_call=self._allow, after_call=self._keep, think_augment=self.tools.think_augment or self.think,
            max_workers=1 if self.ask else self.tools.max_workers)
        self.messages += [{"role": "system", "content": self.system}] if self.system else []
        if self.save and os.path.exists(self.save):
            with open(self.save, encoding="utf-8") as file:
                saved = _caught(json.load, file).value
            if not is_valid(saved, {"type": "array", "items": {"type": "object"}}):
                raise ToolRegError(f"{self.save}: holds no messages")
            self.messages[:] = saved
        if self.question is not None or not sys.stdin.isatty():
            question = sys.stdin.read() if self.question is None else self.question
            print(_row("user", {"text": question}), flush=True)
            return self._answer(question)
        _caught(importlib.import_module, "readline")        # lines can be edited where it is
        print("Ctrl-C stops an answer, Ctrl-D ends.")
        with contextlib.suppress(EOFError):
            while True:
                try:
                    if question := input("\n> ").strip():
                        self._answer(question)
                except (KeyboardInterrupt, *_ERRORS) as error:
                    _print_error(str(error) or "stopped")
        return print()

    def _answer(self, question: str) -> None:
        """Run the loop; show and save each message once it is there."""
        api_format = self.model.api_format
        stopped = [self.results.get(call.id) or ToolResult(call.id, call.name, _STOPPED, True)      # some were through
                   for call in _unanswered(self.messages, api_format)]
        self.messages += build_tool_result_messages(stopped, api_format=api_format)     # no API takes calls without
        self.messages.append({"role": "user", "content": question})
        for message in agent_loop(self._ask, self.messages, self.registry, max_turns=self.max_turns,
                                  tool_choice=self.choice, api_format=api_format):
            self.messages.append(message)
            if self.save:
                with open(f"{self.save}.new", "w", encoding="utf-8") as file:
                    json.dump(to_json(self.messages), file, indent=1)
                os.replace(f"{self.save}.new", self.save)       # at once: what is there is never half a file
            for kind, words in _said(message, self.calls, self.results):
                print("" if kind == "model" and self.streamed else _row(kind, words), flush=True)
                self.streamed = False
            if not _answered_in(message, _APIS[api_format]):
                self.results.clear()        # in a new turn an id may come again

    def _ask(self, **request: Any) -> Any:
        print(end="model   …\r" if sys.stdout.isatty() else "", flush=True)     # the next row takes its place
        return self.model(**request)

    def _stream(self, text: str) -> None:
        print(_row("model", {"text": text})[8 if self.streamed else 0:], end="", flush=True)
        self.streamed = True

    def _allow(self, call: ToolCall, reason: str | None) -> Any:
        """Ask before a call where that is wanted; whatever the registry itself asks comes after."""
        if self.ask:
            print(_seen(f"run {call.name} {_write_json(call.arguments)}? [y/N] "), end="", flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):        # "" where nobody is there
                raise ToolError(_NOT_ALLOWED)
        return self.tools.before_call and self.tools.before_call(call, reason)

    def _keep(self, call: ToolCall, result: ToolResult) -> Any:
        self.results[result.tool_call_id] = result
        return self.tools.after_call and self.tools.after_call(call, result)

    def serve(self) -> None:
        """Offer the tools of a module to MCP clients: over HTTP, or to one that starts this command as stderr says."""
        serve_mcp, target = sys.modules[__name__].serve_mcp, self.target
        with contextlib.redirect_stdout(sys.stderr):            # stdout belongs to the protocol
            registry = _tools_at(target)
        if self.http is None and self.token is None:
            name = re.split(r"\.py\b|:", os.path.basename(target))[0]
            target = os.path.abspath(target) if re.search(r"\.py\b", target) else target
            known = {"command": sys.executable, "args": [os.path.abspath(__file__), "serve", target]}
            print(json.dumps({"mcpServers": {name: known}}, indent=2), file=sys.stderr)
        serve_mcp(registry, http=self.http, token=self.token or (self.http and os.environ.get("TOOLREG_TOKEN")))

    def vendor(self) -> None:
        """Make a copy of this file: its core, and the chapters that are asked for."""
        import shlex
        import textwrap
        from hashlib import sha256
        source = inspect.getsource(sys.modules[__name__])
        *_, body = re.split(_SEAL, source)          # of a copy: without its first lines
        chapters = {found[1]: found for found in re.finditer(_CHAPTER, body)}
        uses = {name: [each for each in chapters if each in found[3].split()] for name, found in chapters.items()}
        if self.listed:
            print(f"{'core':<10} {re.sub(_CHAPTER, '', body).count(chr(10)):>5}  what all of them use")
            for name, found in chapters.items():
                needs = f" · needs {_listed(uses[name])}" if uses[name] else ""
                print(f"{name:<10} {found[0].count(chr(10)):>5}  {found[2]}{needs}")
            return
        kept = _wanted(uses, self.wanted, self.unwanted)
        body = _with_chapters(body, kept)
        about = f"# toolreg {__version__}, the core and these chapters: {', '.join(kept) or 'none'}"
        text = (f"{textwrap.fill(about, 100, subsequent_indent='#     ')}\n"
                f"# made by: python toolreg.py {shlex.join(each for each in self.argv if each != '--force')}\n"
                f"# of a toolreg.py that has the sha256: {sha256(source.encode()).hexdigest()}\n"
                f"# do not edit what is below, make it anew; its sha256: {sha256(body.encode()).hexdigest()}\n{body}")
        if self.output and os.path.exists(self.output) and not self.force:
            with open(self.output, encoding="utf-8", errors="replace") as file:
                *_, promised, old = "", *re.split(_SEAL, file.read())
            if promised != sha256(old.encode()).hexdigest():
                raise ToolRegError(f"vendor: {self.output}: is not as vendor made it (--force overwrites it)")
        os.makedirs(os.path.dirname(self.output or "") or ".", exist_ok=True)
        with open(self.output or 1, "w", encoding="utf-8", newline="\n", closefd=bool(self.output)) as file:
            file.write(text)                # 1 is stdout
        size = f"{text.count(chr(10))} lines, {len(text.encode())} bytes"
        print(f"toolreg: {size}: {', '.join(['the core', *kept])}", file=sys.stderr)


def _wanted(uses: dict[str, list[str]], wanted: str, unwanted: str) -> list[str]:
    """Give the names of the chapters that are wanted and of those that they use, in the order of the file."""
    groups = {"core": [], "all": [*uses], **{name: [name] for name in uses}}
    named = [re.findall(r"[^\s,]+", text) for text in (wanted or ("all" if unwanted else ""), unwanted)]
    for name in itertools.chain(*named):
        if name not in groups:
            raise ToolRegError(f"vendor: there is no chapter {_shown(name)} (there are: {_listed(uses)})")
    asked, left_out = ({each for name in names for each in groups[name]} for names in named)
    kept = asked - left_out
    for name in reversed(uses):             # what uses a chapter stands below it
        if users := [user for user in uses if user in kept and name in uses[user]]:
            if name in left_out:
                raise ToolRegError(f"vendor: {_shown(name)} cannot be left out (it is used by: {_listed(users)})")
            kept.add(name)
    return [name for name in uses if name in kept]


def _with_chapters(text: str, kept: Sequence[str]) -> str:
    """Give the source with these chapters alone, and without the imports and declarations that nothing needs then."""
    import ast
    text = re.sub(_CHAPTER, lambda chapter: chapter[0] if chapter[1] in kept else "", text)
    # a method that nothing mounts is not declared
    text = re.sub(r"(?m)^    (\w+): ClassVar\[[^=\n]+\n(?!(?s:.*)^\w+\.\1 = )", "", text)
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    used = {"annotations", *(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))}
    imports = [name for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) for name in node.names]
    for line in {name.lineno for name in imports} - {name.lineno for name in imports if name.name in used}:
        lines[line - 1] = ""
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines).removeprefix("#!/usr/bin/env python3\n"))


def _model_of(command: Any, on_delta: Callable[[str], None] | None = None, api_format: str | None = None) -> Any:
    """Make the model that a command and the environment name."""
    given, known, http_model = command.base_url, os.environ.get, sys.modules[__name__].HttpModel
    providers = ["OPENAI"] if api_format else [*_PROVIDERS, "OPENAI"]       # the last is for all other addresses
    while True:
        provider = providers.pop(0)
        own, *formats = _PROVIDERS[provider]
        key, base_url = known(f"{provider}_API_KEY"), given or known(f"{provider}_BASE_URL")
        base_url = base_url or (key and own)
        is_own = re.fullmatch(rf"{re.escape(own)}(/v\d\w*)?/?", base_url or "")
        if is_own or (base_url and not given) or not providers:
            break
    model = command.model or known(f"{provider}_MODEL")
    if not base_url or not model:
        raise ToolRegError(f"which model? (set {provider}_MODEL or --model)" if base_url else _NO_MODEL)
    return http_model(base_url, model, api_format=api_format or formats[not is_own], api_key=key, on_delta=on_delta)


def _tools_at(target: str) -> ToolRegistry:
    """Give the tools of MODULE (its registry, or its public functions), or what is at MODULE:NAME."""
    import importlib
    place, names = re.findall(r"(?s)^(.*?)(?::([\w.]*))?$", target)[0]
    folder, file = os.path.split(os.path.abspath(place))
    is_path = os.path.exists(place) or not re.fullmatch(r"\w+(\.(?!py$)\w+)*", place)
    if is_path and not os.path.isdir(place) and not (os.path.isfile(place) and file.endswith(".py")):
        raise ToolRegError(f"{place}: there is no such Python file (*.py)")
    sys.path.insert(0, folder)              # as Python does for a script
    try:
        module: Any = importlib.import_module(file.removesuffix(".py") if is_path else place)
        found = [functools.reduce(getattr, filter(None, names.split(".")), module)]
    except (Exception, SystemExit) as error:
        raise ToolRegError(f"{place}: {_error_text(error)}{_own_lines(error)}") from error
    held = vars(module)
    if is_path and os.path.join(folder, file) not in (held.get("__file__"), *held.get("__path__", ())):
        raise ToolRegError(f"{place}: another module is called {module.__name__} (rename the file)")
    if not names:
        registries: list[Any] = [thing for thing in held.values() if isinstance(thing, ToolRegistry)]
        found = registries[:1] or [
            thing for name, thing in held.items()
            if name[:1] != "_" and inspect.isfunction(thing) and thing.__module__ == module.__name__]
    if not found:
        raise ToolRegError(f"{place}: there is no ToolRegistry and no public function in it")
    if len(found) == 1:
        return found[0] if isinstance(found[0], ToolRegistry) else ToolRegistry(found)
    registry = ToolRegistry()
    for thing in found:
        if fault := _caught(registry.register, thing).error:
            _print_error(f"{place}: left out: {fault}")
    return registry


def _own_lines(error: BaseException | None) -> str:
    """Say where an exception came from: the last lines that are neither Python's own nor of this file."""
    import traceback
    told = "".join(traceback.format_exception(error))
    others = (os.path.dirname(os.__file__), "<frozen ", __file__)
    lines = re.findall(r'  File "(.*)", line (\d+).*\n +(.*)', told)
    return "".join(["\n{}, line {}: {}".format(*line) for line in lines if not line[0].startswith(others)][-3:])


# what is told in a line: an AttributeError names the chapter that was cut, a KeyError what a model made up in a lesson
_ERRORS = (ToolRegError, OSError, TypeError, ValueError, AttributeError, KeyError)


def _print_error(error: object) -> None:
    print("toolreg:", _seen(str(error)).strip().replace("\n", "\n    "), file=sys.stderr)


_SWITCH = {"action": "store_true"}
_OR_STDIN: dict[str, Any] = {"type": lambda text: sys.stdin.read() if text == "-" else text}
_TARGET: dict[str, Any] = {"target": {"metavar": "MODULE[:NAME]", "help": "a dotted name or a .py file"}}
_MODEL = {"--model": {"metavar": "NAME", "help": "else OPENAI_MODEL, ANTHROPIC_MODEL or GEMINI_MODEL"},
          "--base-url": {"metavar": "URL", "help": "else OPENAI_BASE_URL …, or the own API of a key that is set"}}
_DRAWN = {"--mermaid": {"metavar": "FILE", "help": "write a Mermaid diagram of the conversation, too"},
          "--html": {"metavar": "FILE", "help": "write the conversation as a page for a browser, too"}}
_COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {     # name, as of its method: (an example, its arguments)
    "lesson": ("lesson 2", {
        "number": {"nargs": "?", "type": int, "choices": range(1, len(_LESSONS) + 1), "metavar": "N"},
        **_MODEL, "--model": {"nargs": "?", "const": "", "metavar": "NAME", "help": "a real model plays"}, **_DRAWN}),
    "list": ("list my_tools.py", _TARGET),
    "schema": ("schema my_tools.py:add --format anthropic", {
        **_TARGET, "--format": {"choices": API_FORMATS, "default": API_FORMATS[0]}}),
    "call": ("call my_tools.py:add '{\"a\": 17, \"b\": 25}'", {
        **_TARGET, "arguments": {**_OR_STDIN, "metavar": "JSON", "help": "the arguments (-: from stdin)"}}),
    "chat": ('chat my_tools.py "Add 17 and 25."', {
        **_TARGET, **_MODEL, "question": {**_OR_STDIN, "nargs": "?", "help": "(-: from stdin; none: a conversation)"},
        "--system": {"metavar": "TEXT", "help": "what the model is told first"},
        "--think": {**_SWITCH, "help": "ask the model for its reasons"},
        "--ask": {**_SWITCH, "help": "ask before every call that runs"},
        "--save": {"metavar": "FILE", "help": "keep the messages there as JSON, and go on from them"},
        "--max-turns": {"type": int, "default": 10, "help": "calls of the model for a question, at most (10)"},
        "--choice": {"default": "auto", "help": "auto, none, required, or a tool's name"},
        "--stream": {**_SWITCH, "help": "print the text as it comes"}, **_DRAWN}),
    "serve": ("serve my_tools.py --http 127.0.0.1:8000", {
        **_TARGET, "--http": {"metavar": "HOST:PORT", "help": "over HTTP (else on stdin and stdout)"},
        "--token": {"help": "what a client over HTTP has to send (else TOOLREG_TOKEN)"}}),
    "vendor": ("vendor --with anthropic,mcp -o app/_vendor/toolreg.py", {
        "--list": {**_SWITCH, "dest": "listed", "help": "what there is, how long it is, and what it needs"},
        "--with": {"dest": "wanted", "default": "", "metavar": "A,B", "help": "these chapters, too (or: all)"},
        "--without": {"dest": "unwanted", "default": "", "metavar": "A,B", "help": "not these (alone: of all)"},
        "-o": {"dest": "output", "metavar": "FILE", "help": "where to (else: printed)"},
        "--force": {**_SWITCH, "help": "overwrite FILE, whatever it is"}}),
}


def _command_of(argv: Sequence[str]) -> Any:
    """Read the name of a command, and then its own arguments, in any order."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> typing.NoReturn:
            raise ToolRegError(f"{message} (see --help)")           # on purpose one line, without the usage

    parser = Parser(prog="toolreg", description="Give a language model tools: see how it works, and try yours.",
                    epilog="exit status: 0, or 2 where something was wrong (stderr says what), or 130 after Ctrl-C")
    parser.add_argument("--version", action="version", version=f"toolreg {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, help="its own --help says more")
    for name, (example, arguments) in _COMMANDS.items():
        about = getattr(_Command, name).__doc__
        added = commands.add_parser(name, help=about, description=about, epilog=f"example: python toolreg.py {example}")
        for argument, settings in arguments.items():
            added.add_argument(argument, **settings)
    if argv[0] not in _COMMANDS:
        parser.parse_args(argv)             # asks for help, or is wrong
    given = _Command(run=getattr(_Command, argv[0]), argv=argv, messages=[], results={}, calls={})
    return commands.choices[argv[0]].parse_intermixed_args(argv[1:], given)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command (`--help` lists them; without one, a lesson) and give the exit status."""
    if __name__ == "__main__":              # the files that import this one are to find this very module
        for name in ("toolreg", getattr(__spec__, "name", "toolreg")):
            sys.modules.setdefault(name, sys.modules["__main__"])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")           # Chinese on an ASCII terminal
    try:
        command = _command_of((sys.argv[1:] if argv is None else argv) or ["lesson", "2"])
        try:
            command.run(command)
        finally:
            for style in ("mermaid", "html"):
                if path := getattr(command, style, None):
                    with open(path, "w", encoding="utf-8") as file:
                        print(trace(command.messages, command.results.values(), style=style), file=file)
    except BrokenPipeError:                 # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except _ERRORS as error:
        _print_error(_error_text(error) if type(error) is KeyError else error)
        return 2
    return 0


__all__ += ["main"]

if __name__ == "__main__":              # these lines are every copy's: where the chapter cli was cut they say so
    sys.exit(globals().get("main", lambda: _needs_chapter("main"))())
