"""Tests of toolreg.py: the numbers and headings are the module's, so section n here is about section n there."""

import ast
import asyncio
import collections
import contextlib
import contextvars
import dataclasses
import datetime
import decimal
import doctest
import enum
import fractions
import functools
import gc
import hashlib
import html.parser
import http.server
import importlib.util
import inspect
import io
import ipaddress
import itertools
import json
import math
import os
import pathlib
import py_compile
import pydoc
import re
import shlex
import signal
import socket
import subprocess
import symtable
import sys
import textwrap
import threading
import time
import tokenize
import traceback
import tracemalloc
import types
import typing
import uuid
import warnings
import weakref
import zipfile
import zlib
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import pytest
from hypothesis import HealthCheck, example, given, settings, stateful
from hypothesis import strategies as st

import toolreg
from toolreg import *  # noqa: F403

HERE = pathlib.Path(__file__).parent
SOURCE = pathlib.Path(toolreg.__file__).read_text("utf-8")

settings.register_profile("toolreg", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("toolreg")


# ---------------------------------------------------------------------------
# 0. The file itself
# ---------------------------------------------------------------------------
CUT_LINE = "# ===== end of the core: everything below may be deleted =====\n"
LAST_LINES = '\nif __name__ == "__main__":'
# the core's sections have numbers, the chapters have names
HEADING = re.compile(r"^# -{20,}\n# (\d+(?=\. )|[a-z]+(?=: ))[.:] (.+)\n# {4,5}uses (.+)\n# -{20,}\n", re.MULTILINE)
CHAPTERS = ("resume async extract elsewhere media schema formats texts notes types contracts roots strict spellings responses "
            "anthropic gemini ollama streams importers classes langchain network dialect openapi find link mcp desk "
            "serve http switch trace cli").split()
FORBIDDEN_AT_IMPORT = set(
    "asyncio subprocess urllib.request http concurrent.futures argparse logging socket ssl threading decimal uuid "
    "ipaddress pathlib datetime difflib fractions base64".split())
SMOKE = """
def get_weather(city: str, days: int = 1) -> str:
    "Get the weather forecast for a city."
    return f"{city}: sunny for {days} day(s)"

registry = toolreg.ToolRegistry(think_augment=True)
registry.register(get_weather)
arguments = '{"city": "Oslo", "days": "2", "toolcall_reason": "they asked"}'
call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
wrong = {"id": "call_2", "type": "function", "function": {"name": "get_weather", "arguments": '{"days": 1}'}}
answers = {"role": "assistant", "tool_calls": [call, wrong]}, {"role": "assistant", "content": "Sunny."}
messages = toolreg.run_agent(toolreg.scripted_model(*answers), "How is Oslo?", registry)
assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"], messages
assert messages[2]["content"] == "Oslo: sunny for 2 day(s)" and "city: is missing" in messages[3]["content"], messages
assert list(registry.get_schemas()[0]["function"]["parameters"]["properties"])[-1] == toolreg.TOOLCALL_REASON
print("it works")
"""


class Section(NamedTuple):
    key: str                # the number of a section of the core, the name of a chapter
    title: str
    uses: set[str]
    text: str


def sections_of(source):
    source = source.rpartition(LAST_LINES)[0] or source     # they belong to every copy, and to no chapter
    headings = list(HEADING.finditer(source))
    ends = [following.start() for following in headings[1:]] + [len(source)]
    front = Section("0", "front matter", set(), source[:headings[0].start()])
    return [front] + [Section(found[1], found[2], set(found[3].split()) - {"nothing"}, source[found.start():end])
                      for found, end in zip(headings, ends)]


SECTIONS = sections_of(SOURCE)
CORE = SOURCE.partition(CUT_LINE)[0]
TAIL = [section for section in SECTIONS if section.key.isalpha()]
HERE_ARE = {section.key for section in TAIL}       # the chapters of this copy
TREE = ast.parse(SOURCE)
FUNCTIONS = [node for node in ast.walk(TREE) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@functools.cache
def scopes_of(text):
    """Give the symbol tables of a text, the module's first, with annotations taken out: they do not run."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    scopes = [symtable.symtable(ast.unparse(tree), "section", "exec")]
    for scope in scopes:
        scopes.extend(scope.get_children())
    return scopes


def names_defined(text):
    return {symbol.get_name() for symbol in scopes_of(text)[0].get_symbols()
            if symbol.is_assigned() or symbol.is_namespace()}


def names_used(text):
    module, *inner = scopes_of(text)
    return ({symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced()}
            | {symbol.get_name() for scope in inner for symbol in scope.get_symbols() if symbol.is_global()})


def run_python(*arguments, cwd, status=0, **options):
    """Run this Python in a folder and give what it printed; it must end with the status and print no error."""
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, encoding="utf-8", timeout=60,
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert status or not done.stderr, done.stderr
    return done.stdout


def load_copy(source, folder, monkeypatch):
    """Import a changed copy of the file under a name of its own."""
    name = f"toolreg_{zlib.crc32(source.encode()):x}"
    (folder / f"{name}.py").write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def smoke_works(module):
    namespace = {"toolreg": module, "__name__": "smoke"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(SMOKE, namespace)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    return printed.getvalue() == "it works\n" and not missing


def of(*chapters):
    """Keep a test where this copy has all these chapters; elsewhere it is no test."""
    return (lambda test: test) if HERE_ARE.issuperset(chapters) else (lambda test: None)


def with_their_users(chapters):
    """Give the chapters, and all that cannot be without them."""
    gone = set(chapters)
    while more := {other.key for other in TAIL if other.uses & gone} - gone:
        gone |= more
    return gone


def without(chapters):
    """Give the source without these chapters and those that use them."""
    gone = with_their_users(chapters)
    return "".join(section.text for section in SECTIONS if section.key not in gone)


def test_the_sections_are_numbered_and_the_chapters_named_in_order():
    keys = [section.key for section in SECTIONS]
    assert keys == [*map(str, range(12)), *(chapter for chapter in CHAPTERS if chapter in HERE_ARE)]
    assert SOURCE.count(CUT_LINE) == 1
    assert [section.key for section in sections_of(CORE)] == list(map(str, range(12)))


def test_uses_are_read_off_the_code_and_not_off_annotations_or_local_names():
    text = ("def f(x: Above, y=default) -> Above:\n    local: Above = x\n    return [helper(z) for z in local]\n"
            "class C(Base):\n    field: Above = other\n    def g(self): return lambda q: f(q, deep)\nf.table = row\n")
    assert names_used(text) - {"print"} >= {"default", "helper", "Base", "other", "deep", "row", "f"}
    assert not names_used(text) & {"Above", "local", "x", "y", "z", "q", "self", "field", "g"}
    assert names_defined(text) == {"f", "C"}


def test_no_name_is_defined_in_two_sections():
    homes = {}
    for section in SECTIONS:
        for name in names_defined(section.text) - {"__all__", "API_FORMATS"}:
            homes.setdefault(name, []).append(section.key)
    assert not {name: numbers for name, numbers in homes.items() if len(numbers) > 1}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.key)
def test_a_section_uses_only_what_its_heading_says_and_that_is_above(section):
    home = {name: other.key for other in reversed(SECTIONS) for name in names_defined(other.text)}
    used, above = {}, [other.key for other in SECTIONS[:SECTIONS.index(section)]]
    for name in names_used(section.text):
        if home.get(name, "0") not in ("0", section.key):
            used.setdefault(home[name], set()).add(name)
    assert set(used) <= set(above), f"used from further down: {used}"
    assert set(used) == section.uses, f"the heading says {sorted(section.uses)}, but what is used is {used}"


def test_the_map_in_the_docstring_names_the_sections():
    first_word = dict(re.findall(r"(?:^|\s{2,})(\d{1,2})  (\w+)", toolreg.__doc__, re.MULTILINE))
    assert first_word == {section.key: section.title.split()[0].rstrip(":") for section in SECTIONS[1:12]}
    named = re.findall(r"\b[a-z]+\b", toolreg.__doc__.partition("Below the core")[2])
    assert [word for word in named if word in CHAPTERS] == [section.key for section in TAIL]


def test_the_tests_have_the_names_of_the_sections_in_their_order():
    heading = re.compile(r"^# -{20,}\n# (\d+(?=\. )|[a-z]+(?=: ))[.:] (.+)\n# -{20,}\n", re.MULTILINE)
    titles = dict(heading.findall(pathlib.Path(__file__).read_text("utf-8")))
    theirs = {section.key: section.title for section in SECTIONS}
    assert [key for key in titles if key in theirs] == list(theirs)
    assert {key: titles[key].split()[0] for key in theirs if key != "0"} == {
        key: title.split()[0] for key, title in theirs.items() if key != "0"}


def test_no_test_is_shadowed_by_another_of_the_same_name():
    names = [node.name for node in ast.parse(pathlib.Path(__file__).read_text("utf-8")).body
             if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    assert not {name for name in names if names.count(name) > 1}
    assert not set(names) & set(toolreg.__all__)


def test_the_core_works_with_the_tail_cut_off(tmp_path, monkeypatch):
    core = load_copy(CORE, tmp_path, monkeypatch)
    assert smoke_works(core)
    assert not hasattr(core, "openapi_tools") and not hasattr(core.ToolRegistry, "register_from_openapi")
    with pytest.raises(AttributeError, match='"register_from_openapi" needs the chapter "openapi"'):
        getattr(core.ToolRegistry(), "register_from_openapi")       # noqa: B009
    with pytest.raises(AttributeError, match='"openapi_tools" needs the chapter "openapi"'):
        getattr(core, "openapi_tools")                              # noqa: B009


def test_every_method_that_a_class_declares_is_mounted_by_one_chapter():
    declared = {node.target.id for owner in TREE.body if isinstance(owner, ast.ClassDef) for node in owner.body
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("ClassVar[")
                and node.value is None}
    mounted = re.findall(r"^[A-Z]\w+\.(\w+) = (?!_FullCompiler)", "".join(section.text for section in TAIL), re.MULTILINE)
    assert sorted(declared) == sorted(mounted)


@pytest.mark.parametrize("chapter", sorted(HERE_ARE))
def test_a_chapter_can_be_deleted_together_with_those_that_use_it(chapter, tmp_path, monkeypatch):
    module = load_copy(without({chapter}), tmp_path, monkeypatch)
    assert smoke_works(module)
    gone = {name for other in TAIL if other.key in with_their_users({chapter}) for name in names_defined(other.text)}
    assert set(toolreg.__all__) - set(module.__all__) == gone & set(toolreg.__all__) - {"API_FORMATS"}      # which shrinks


def test_the_file_stays_small():
    lengths = sorted((node.end_lineno - node.lineno + 1, node.name) for node in FUNCTIONS)
    assert len(CORE.splitlines()) <= 3_205
    assert len(SOURCE.splitlines()) <= 8_660
    assert lengths[-1][0] <= 60, lengths[-5:]
    assert lengths[len(lengths) * 9 // 10][0] <= 30
    assert sum(length for length, _ in lengths) / len(lengths) <= 12


def test_at_most_four_classes_are_dataclasses():
    decorated = [node.name for node in ast.walk(TREE) if isinstance(node, ast.ClassDef)
                 and any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)]
    assert set(decorated) <= {"Tool", "ToolMetadata", "ToolCall", "ToolResult"}


def test_no_code_is_made_from_text():
    names = {node.id for node in ast.walk(TREE) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "compile", "__import__", "builtins"}


def test_imports_stand_at_the_top_or_first_in_the_function_that_needs_them():
    imports = (ast.Import, ast.ImportFrom)
    allowed = [node for node in ast.parse(SECTIONS[0].text).body if isinstance(node, imports)]
    for function in FUNCTIONS:
        body = function.body[ast.get_docstring(function) is not None:]
        while body and isinstance(body[0], (ast.Try, ast.If)):       # what not every Python has
            body = body[0].body
        allowed += itertools.takewhile(lambda node: isinstance(node, imports), body)
    count = sum(isinstance(node, imports) for node in ast.walk(TREE))
    assert len(allowed) == count
    modules = {alias.name for node in allowed if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in allowed if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in modules} - sys.stdlib_module_names <= {"annotationlib"}


def test_no_variable_has_the_name_of_an_imported_module():
    modules = {alias.asname or alias.name for node in TREE.body if isinstance(node, ast.Import) for alias in node.names}
    stored = {node.id for node in ast.walk(TREE) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert modules and not modules & stored        # else a copy would seem to use a module that it does not


def test_what_is_exported_is_public_documented_and_in_the_readme():
    assert len(set(toolreg.__all__)) == len(toolreg.__all__)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    public = {node.name for node in TREE.body if isinstance(node, kinds) and not node.name.startswith("_")}
    exported = {name for name in toolreg.__all__ if isinstance(getattr(toolreg, name), (type, types.FunctionType))
                and not typing.get_origin(getattr(toolreg, name))}         # 3.10 takes an alias for a type
    assert exported == public
    assert not [name for name in exported if not (getattr(toolreg, name).__doc__ or "").strip()]
    readme = (HERE / "README.md").read_text("utf-8")
    assert not [name for name in toolreg.__all__ if not re.search(rf"\b{name}\b", readme)]


def test_import_register_schemas_and_a_single_call_load_nothing_heavy(tmp_path):
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    report = "print({name for name in sys.modules if name in FORBIDDEN or name.startswith('http.')} or 'none')\n"
    script = (f"import sys; sys.path.insert(0, '.'); FORBIDDEN = {FORBIDDEN_AT_IMPORT!r}\n"
              f"import toolreg, typing\n{report}"
              "def f(city: str, days: typing.Optional[int] = None, unit: typing.Literal['c', 'f'] = 'c', *,\n"
              "      tags: list[str] = []) -> dict[str, typing.Any]:\n"
              "    'Get the weather.\\n\\n    Args:\\n        city: The city.\\n'\n"
              "    return {'city': city}\n"
              f"registry = toolreg.ToolRegistry(); registry.register(f)\n{report}"
              f"for api_format in toolreg.API_FORMATS: registry.get_schemas(api_format=api_format)\n{report}"
              "result = registry.invoke('f', {'city': 'Oslo', 'days': '3'})\n"
              "call = {'id': '1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{\"city\": \"Oslo\"}'}}\n"
              f"assert not result.is_error and registry.respond([call]), result\n{report}")
    assert run_python("-I", "-S", "-B", "-c", script, cwd=tmp_path).split() == ["none"] * 4


def test_it_works_isolated_without_site_packages(tmp_path):
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    script = f"import sys; sys.path.insert(0, '.'); import toolreg\n{SMOKE}"
    assert run_python("-I", "-S", "-B", "-c", script, cwd=tmp_path) == "it works\n"


def test_it_works_in_a_folder_where_nothing_can_be_written(tmp_path):
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    (tmp_path / "toolreg.py").chmod(0o444)
    tmp_path.chmod(0o555)                  # root may write all the same, so the hook refuses it too
    script = ("import errno, os, sys; sys.path.insert(0, '.')\n"
              "def refuse(event, given):\n"
              "    if event in ('os.mkdir', 'os.rename', 'os.remove') or (\n"
              "            event == 'open' and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):\n"
              "        raise OSError(errno.EROFS, f'nothing can be written here: {event} {given}')\n"
              f"sys.addaudithook(refuse)\nimport toolreg\n{SMOKE}")
    try:
        assert run_python("-I", "-c", script, cwd=tmp_path) == "it works\n"
        assert os.listdir(tmp_path) == ["toolreg.py"]
    finally:
        tmp_path.chmod(0o755)


def test_it_works_inside_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("toolreg.py", SOURCE)
        archive.writestr("__main__.py", f"import toolreg\nassert 'app.zip' in toolreg.__file__\n{SMOKE}")
    assert run_python("-I", "app.zip", cwd=tmp_path) == "it works\n"


def test_it_works_vendored_under_two_other_names_at_once(tmp_path):
    for package in ("app", "plugin"):
        (tmp_path / package / "_vendor").mkdir(parents=True)
        (tmp_path / package / "_vendor" / "toolreg.py").write_text(SOURCE, "utf-8")
    script = ("import sys; sys.path.insert(0, '.')\n"
              "from app._vendor import toolreg as one\nfrom plugin._vendor import toolreg as two\n"
              f"assert one is not two and 'toolreg' not in sys.modules\nfor toolreg in (one, two):\n"
              f"{textwrap.indent(SMOKE, '    ')}"
              "    assert toolreg.is_valid([1], toolreg.schema_of(list[int]))\n"
              "message, = two.build_assistant_messages(two.parse_tool_calls([call]))\n"
              "assert one.parse_tool_calls(message)[0].id == 'call_1'\n"
              "try: one.ToolRegistry().respond([two.ToolCall('7', 'f', {})])\n"
              "except one.ToolDefinitionError as error: assert 'of another copy of this file' in str(error)\n"
              "else: raise AssertionError('a call of the other copy was taken')\n")
    assert run_python("-I", "-B", "-c", script, cwd=tmp_path) == "it works\n" * 2


def test_the_command_line_works_vendored(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "toolreg.py").write_text(SOURCE, "utf-8")
    (tmp_path / "tools.py").write_text("def double(x: int) -> int:\n    return 2 * x\n", "utf-8")
    printed = run_python("-B", "-m", "app.toolreg", "call", "tools:double", '{"x": 21}', cwd=tmp_path)
    assert printed.strip().endswith("42")


def test_it_works_without_source_and_without_docstrings(tmp_path):
    app = SMOKE.replace('"it works"', "registry.get_schemas()[0]['function']['description']")
    for name, text in (("toolreg", SOURCE), ("app", f"import toolreg\nassert toolreg.__doc__ is None\n{app}")):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        py_compile.compile(str(tmp_path / f"{name}.py"), str(tmp_path / f"{name}.pyc"), doraise=True, optimize=2)
        (tmp_path / f"{name}.py").unlink()
    script = "import sys; sys.path.insert(0, '.'); import app"
    assert run_python("-I", "-OO", "-c", script, cwd=tmp_path) == "get weather\n"


def test_where_threads_cannot_be_started_a_batch_runs_in_order_and_timeouts_say_so(tmp_path):
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    script = """
import _thread, sys; sys.path.insert(0, ".")
def refuse(*_, **__): raise RuntimeError("can't start new thread")
_thread.start_new_thread = _thread.start_joinable_thread = refuse
import asyncio, warnings
import toolreg
ran = []
def note(n: int) -> int:
    ran.append(n)
    return n
async def note_async(n: int) -> int:
    await asyncio.sleep(0)
    return note(n)
for func in (note, note_async):
    for timeout in (None, 60):
        registry = toolreg.ToolRegistry()
        registry.register(func, metadata=toolreg.ToolMetadata(timeout=timeout))
        calls = [toolreg.ToolCall(str(n), func.__name__, {"n": n}) for n in range(20)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for run in (registry.execute_tool_calls, lambda calls: asyncio.run(registry.aexecute_tool_calls(calls))):
                results = run(calls)
                assert ran == list(range(20)) == [result.value for result in results], results
                ran.clear()
        print(func.__name__, timeout, *{str(each.message) for each in caught})
"""
    assert run_python("-I", "-S", "-B", "-c", script, cwd=tmp_path).splitlines() == [
        "note None", 'note 60 the timeout of "note" cannot be kept: there are no threads here',
        "note_async None", "note_async 60"]


def test_the_doctests_hold():
    failures, examples = doctest.testmod(toolreg)
    assert not failures and examples >= 5


# A README block is a script: `x  # -> y` says what x gives (its repr; what it prints, where it prints; its error, where
# it raises), `…` at the end of y says that there is more. A promise may also stand in the line below, and go on in
# comments of the same kind that are indented more. All blocks run one after the other, as they are read.
FENCE = re.compile(r"^```(\w+)? *([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMISE = re.compile(r"# -> ?(.*)$")


def readme_blocks():
    text = (HERE / "README.md").read_text("utf-8")
    return [(text[:found.start()].count("\n") + 2, f"{found[1]} {found[2]}".strip(), found[3])
            for found in FENCE.finditer(text)]


def outcome_of(statement, namespace):
    """Run one statement and give what a `# ->` comment says of it."""
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), "README.md", "eval"), namespace)
            else:
                exec(compile(ast.Module([statement], []), "README.md", "exec"), namespace)
                targets = getattr(statement, "targets", None)
                value = namespace.get(targets[0].id) if targets and isinstance(targets[0], ast.Name) else None
    except Exception as error:
        return f"{type(error).__name__}: {error}", error
    return printed.getvalue().strip() or repr(value), None


def is_kept(promise, outcome):
    promise, outcome = " ".join(promise.split()), " ".join(outcome.split())
    if promise.endswith(("…", "...")):
        return outcome.startswith(promise.rstrip(".…").rstrip())
    return outcome == promise


def promises_in(text):
    """Give {line of the end of the statement: what is promised of it}."""
    promises, at = {}, None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = token.line.lstrip().startswith("#")
        found = PROMISE.search(token.string)
        if token.type == tokenize.COMMENT and found:
            at = token.start[0] - alone
            promises[at] = found[1]
        elif token.type == tokenize.COMMENT and alone and at and token.string.startswith("#   "):
            promises[at] += " " + token.string[1:].strip()
        elif token.type not in (tokenize.NL, tokenize.NEWLINE):
            at = None
    return promises


def run_block(text, namespace, line=1):
    """Run a block, compare each promise with what came, and give how many promises there were."""
    promises, count = promises_in(text), 0
    for statement in ast.parse(text).body:
        outcome, error = outcome_of(statement, namespace)
        promise = promises.get(statement.end_lineno)
        if promise is None and error:
            raise error
        assert promise is None or is_kept(promise, outcome), \
            f"README.md:{line + statement.lineno - 1}: promised {promise!r}, but it is {outcome!r}"
        count += promise is not None
    assert count == len(promises), f"README.md:{line}: a `# ->` does not stand at the end of a statement"
    return count


@pytest.mark.parametrize("text, kept", [
    ("1 + 1  # -> 2", True), ("1 + 1  # -> 3", False), ("x = 'a'  # -> 'a'", True), ("print('a')  # -> a", True),
    ("print('a')  # -> b", False), ("1 / 0  # -> ZeroDivisionError: division by zero", True), ("1 / 0  # -> 3", False),
    ("list(range(9))  # -> [0, 1, …", True), ("list(range(9))  # -> [1, …", False), ("(1 +\n 1)  # -> 2", True),
    ("1  # one  # -> 1", True), ("print('a\\nb')\n# -> a\n#    b", True), ("print('a\\nb')\n# -> a\n#    c", False),
    ("print('a\\nb')\n# -> a\n# b", False),
])
def test_a_promise_that_does_not_hold_is_noticed(text, kept):
    if kept:
        assert run_block(text, {}) == 1
    else:
        with pytest.raises(AssertionError, match="promised"):
            run_block(text, {})


def test_the_readme_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("readme")
    monkeypatch.setitem(sys.modules, "readme", module)
    blocks = [block for block in readme_blocks() if block[1] == "python"]
    assert sum(run_block(text, vars(module), line) for line, _, text in blocks) >= 10


def test_the_readme_says_what_the_core_and_each_chapter_weigh():
    said = dict(re.findall(r"^\| (?:`(\w+)`|the core) \| (\d+) \| \d+ \|", (HERE / "README.md").read_text("utf-8"), re.M))
    texts = {"": CORE, **{section.key: section.text for section in TAIL if len(section.text.splitlines()) > 12}}
    assert said.keys() == texts.keys()
    assert not {name: (said[name], len(text.splitlines())) for name, text in texts.items()
                if abs(int(said[name]) - len(text.splitlines())) > 10}


def test_the_readme_names_each_type_that_is_spelled_as_text():
    row = re.search("^[|] (`datetime`.*?) [|]", (HERE / "README.md").read_text("utf-8"), re.M)[1]
    assert set(re.findall(r"`(\w+)`", row)) == SPELLED_TEXTS.keys()


def test_a_readme_block_of_python_is_run_here_or_beside_its_counterpart():
    kinds = {kind for _, kind, _ in readme_blocks() if kind.startswith(("python", "py"))}
    assert kinds <= {"python", "python interop"}


# ---------------------------------------------------------------------------
# 1. Words: which errors are there, and how is JSON text read and written?
# ---------------------------------------------------------------------------
any_json = st.recursive(
    st.none() | st.booleans() | st.integers(-10**18, 10**18) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)


@given(any_json)
def test_json_text_comes_back_as_it_was(value):
    for text in (toolreg._write_json(value), json.dumps(value, indent=1, separators=(" , ", " : "))):
        assert toolreg._read_json(text) == toolreg._read_json(text, once=True) == value


@pytest.mark.parametrize("text, fault", [
    ('{"a": 1', "the text ends too early (line 1, column 8)"),
    ('{"a": "on', "the text ends too early (line 1, column 7)"),
    ("", "the text ends too early (line 1, column 1)"),
    ('{"a": 1}{"b": 2}', "extra data (line 1, column 9)"),
    ('{\n"a": }', "expecting value (line 2, column 6)"),
    ('\n\n{oops', "expecting property name enclosed in double quotes (line 3, column 2)"),
    ("NaN", "NaN is not JSON"),
    ("-Infinity", "-Infinity is not JSON"),
    ("1e999", "1e999 is too large for a number"),
    ("[" * 10_000 + "]" * 10_000, "nested more than 128 levels deep"),
    ('{"a":' * 10_000 + "1" + "}" * 10_000, "nested more than 128 levels deep"),
    ("[" * 129 + "]" * 129, "nested more than 128 levels deep"),
])
def test_text_that_is_no_json_is_refused_with_its_place(text, fault):
    with pytest.raises(ValueError) as caught:
        toolreg._read_json(text)
    assert str(caught.value) == fault


@pytest.mark.parametrize("text, name", [
    ('{"a": 1, "a": 1}', "a"), ('{"a":1,"b":{"c":[{"d":1 , "d" : 2}]}}', "d"), ('[[{"": 1, "": 2}]]', ""),
    ('{"a": "\\":", "a": 1}', "a"), (' {"a": 1, "\\u0061": 2}', "a"),
])
def test_a_name_that_is_twice_in_an_object_is_told_where_that_is_asked_for(text, name):
    with pytest.raises(ValueError) as caught:
        toolreg._read_json(text, once=True)
    assert str(caught.value) == f'"{name}" is there twice in one object'
    assert toolreg._read_json(text) == json.loads(text)
    result = ToolRegistry([collected]).invoke(ToolCall("1", "collected", text))
    assert result.is_error and f'"{name}" is there twice in one object' in result.content


def collected(**arguments):
    return arguments


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud83c": "\ud83c\udf78"}])
def test_lone_surrogates_reach_no_text(value):
    toolreg._write_json(value).encode()
    json.dumps(to_json(value), ensure_ascii=False).encode()


def test_an_integer_of_ten_thousand_digits_is_an_error_or_a_number_but_never_a_crash():
    try:
        assert toolreg._read_json("9" * 10_000) > 0
    except ValueError as error:
        assert str(error) == "an integer has too many digits"


@pytest.mark.parametrize("text, value", [
    (' \r\n\t{"a": 1}\n', {"a": 1}), ("\ufeff[] ", []), ('"a\tb\nc"', "a\tb\nc"),
    ("[" * 128 + "]" * 128, None), ('"' + "[" * 500 + '"', "[" * 500), (r'["\"[[[", "' + "{" * 200 + '"]', ['"[[[', "{" * 200]),
])
def test_text_that_models_do_write_is_read(text, value):
    read = toolreg._read_json(text)
    assert value is None or read == value


@pytest.mark.parametrize("path, place", [
    ((), "(root)"), (("city",), "city"), (("items", 2, "price"), "items[2].price"), ((0,), "[0]"),
    (("odd key",), '["odd key"]'), (("a", "b-c", 1), 'a["b-c"][1]'),
])
def test_a_place_is_spelled_as_a_reader_writes_it(path, place):
    assert str(ValidationError("is missing", path)) == f"{place}: is missing"


@pytest.mark.parametrize("value, text", [
    ("three", '"three"'), (None, "null"), ("é", '"é"'), ("x" * 200, '"' + "x" * 79 + "…"),
    ({1, 2}, "a value of the type set"), (float("nan"), "a value of the type float"), ([-float("inf")], "a value of the type list"),
])
def test_a_value_or_a_list_in_a_message_is_short(value, text):
    assert toolreg._shown(value) == text
    assert toolreg._listed(range(25)) == ", ".join(map(str, range(20))) + " and 5 more"


class ErrorWithoutText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class ErrorOfAnApi(Exception):
    """Have whatever attribute the body has: asked for another, it raises a KeyError."""

    def __init__(self, body):
        self.body = body

    def __getattr__(self, name):
        return self.body[name]


def raising(error):
    def tool(*args) -> None:
        raise error
    return tool


class GroupThatRaises(Exception):
    subgroup = None
    exceptions = property(lambda self: 1 / 0)


def test_every_exception_has_a_text_and_a_group_says_what_is_in_it_at_every_depth():
    for error, text in ((ValueError("bad\nnews"), "ValueError: bad\nnews"), (ErrorWithoutText(), "ErrorWithoutText")):
        assert toolreg._error_text(error) == text
    if sys.version_info >= (3, 11):         # before, there are none
        group = ExceptionGroup("inner", [KeyError("k"), ErrorWithoutText()])        # noqa: F821
        assert toolreg._error_text(ExceptionGroup("outer", [ValueError("bad"), group])) == (        # noqa: F821
            "ExceptionGroup: outer (2 sub-exceptions): ValueError: bad, ExceptionGroup: inner (2 sub-exceptions): "
            "KeyError: 'k', ErrorWithoutText")


@pytest.mark.parametrize("error, base", [
    (SchemaError("x"), ValueError), (ValidationError("x"), ValueError), (ToolDefinitionError("x"), TypeError),
    (ToolNotFoundError("x"), KeyError), (ToolArgumentError("x"), ValueError), (ToolTimeoutError("x"), TimeoutError),
    (ToolError("x"), Exception), (MaxTurnsExceeded("x"), RuntimeError),
])
def test_errors_are_of_this_module_and_of_the_builtin_kind(error, base):
    assert isinstance(error, base) and isinstance(error, ToolRegError)
    assert str(error) in ("x", "(root): x")


def test_a_copy_shares_nothing_and_a_loop_is_refused():
    value = {"a": [{"b": 1}]}
    copied = toolreg._copied(value)
    copied["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}
    value["a"].append(value)
    with pytest.raises(ValueError):
        toolreg._copied(value)


# ---------------------------------------------------------------------------
# 2. JSON Schema: does this value fit?
# ---------------------------------------------------------------------------
class ShownOddly(float):
    def __repr__(self):
        return "odd"


KEYWORDS = [        # schema, values that fit, values that do not
    ({"type": "integer"}, [1, 1.0, -5, 10**10_000], [1.5, True, "1", None, [], {}, float("nan")]),
    ({"type": "number"}, [1, 1.5, 1e300], [True, "1", float("inf"), float("nan")]),
    ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
    ({"type": "null"}, [None], [0, "", False]),
    ({"type": "object"}, [{}, {"a": 1}], [[], "{}"]),
    ({"type": "array"}, [[], [1]], [{}, (), "[]"]),
    ({"type": "string"}, ["", "x"], [1, None]),
    ({"enum": [1, "a", None, [1, {"b": 2}]]}, [1, 1.0, "a", None, [1.0, {"b": 2}]],
     [True, "b", 0, [1], [True, {"b": 2}]]),
    ({"enum": []}, [], [1, None]),
    ({"enum": [["boolean", 1]]}, [["boolean", 1]], [["boolean", True], [True]]),
    ({"const": {"a": [False]}}, [{"a": [False]}], [{"a": [0]}, {"a": []}, {}]),
    ({"const": 0}, [0, 0.0, -0.0], [False, None]),
    ({"minimum": 2}, [2, 2.5, "1", None], [1, 1.99, -3]),
    ({"maximum": 2.5}, [2, 2.5, True], [3, 10**400]),
    ({"exclusiveMinimum": 0}, [0.1, 1, []], [0, -1]),
    ({"exclusiveMaximum": 0}, [-0.1], [0, 0.0, 1]),
    ({"multipleOf": 0.1}, [0.3, 1, 0, 1.1, "x", 10**10_000], [0.35, 0.01, float("nan")]),
    ({"multipleOf": ShownOddly(0.1)}, [0.3], [0.35]), ({"minimum": 10**4_000}, [10**10_000], [1.5]),
    ({"multipleOf": 0.0001}, [0.0075], [0.00751]),
    ({"multipleOf": 3}, [9, 9.0, -3, 3 * 10**5000], [1, 1e308, 10, 0.5]),
    ({"multipleOf": 0.5}, [1e308, 10**5000], [0.25]),
    ({"minLength": 2}, ["ab", "\U0001f600x", 1], ["a", "\U0001f600", ""]),
    ({"maxLength": 1.0}, ["", "a"], ["ab"]),
    ({"pattern": "^a.c$"}, ["abc", 5], ["abc\n", "a\nc", "xabc", "a\u2028c"]),
    ({"pattern": r"^\d\w\s$"}, ["1a\ufeff", "2_\u3000"], ["\u0661a ", "1\xe9 ", "1a\x1c"]),
    ({"pattern": r"^[\d\S]+$"}, ["a1"], ["a b", "\ufeff"]),
    ({"pattern": "[]"}, [], ["", "a"]),
    ({"pattern": r"^[a[&&|~]+\/$"}, ["[&|~a/"], ["/"]),
    ({"pattern": "^(?=a)(?!ab)(?<=)a"}, ["ac"], ["ab"]),
    ({"pattern": "^[^[]+$"}, ["ab"], ["a[", "ab\n["]),
    ({"pattern": r"^\B$"}, [""], ["a"]),
    ({"pattern": r"^(?:(a)|b)\1$"}, ["aa", "b"], ["a", "ba"]),
    ({"minItems": 1}, [[0], {}], [[]]),
    ({"maxItems": 1}, [[], [1]], [[1, 2]]),
    ({"uniqueItems": True}, [[1, True, "1", None], [[1], [True]], [{"a": 1}, {"a": 2}]],
     [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]),
    ({"minProperties": 1}, [{"a": 1}, []], [{}]),
    ({"maxProperties": 0}, [{}], [{"a": 1}]),
    ({"required": ["a", "__proto__"]}, [{"a": None, "__proto__": 1}, [], "a"], [{}, {"a": 1}]),
    ({"properties": {"a": {"type": "integer"}, "$ref": {"type": "string"}}}, [{}, {"a": 1, "x": 2}, {"$ref": "#"}],
     [{"a": "1"}, {"$ref": 1}]),
    ({"properties": {"a": {"minimum": 1, "maximum": 2}}, "required": ["a", "b"]}, [{"a": 1, "b": 0}],
     [{"a": 1}, {"b": 0}, {"a": 3, "b": 0}]),
    ({"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 3}}}, [{"a": 1, "ab": 3}],
     [{"ab": 1}, {"b": 2}]),
    ({"properties": {"a": True}, "additionalProperties": False}, [{}, {"a": 1}], [{"b": 1}, {1: 1}]),
    ({"patternProperties": {"^a": True}, "additionalProperties": {"type": "null"}}, [{"ab": 1, "c": None}], [{"c": 1}]),
    ({"additionalProperties": {"type": "integer"}}, [{"x": 1}, {}], [{"x": "1"}]),
    ({"propertyNames": {"maxLength": 1}}, [{"a": 1}, []], [{"ab": 1}]),
    ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, [[], ["a"], ["a", 1, None]], [[1], ["a", "b"]]),
    ({"items": {"type": "integer"}}, [[], [1, 2.0], "x"], [[1, "2"], [None]]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}, {"type": "integer"}]}, [1, 2], [0, 3, 1.5, "a"]),
    ({"anyOf": [{"type": "string", "minLength": 2}, {"type": "string", "pattern": "x"}, {"type": "null"}]},
     ["ab", "x", None], ["a", 1]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5, "s"], [2, 0.5]),
    ({"not": {"type": "string"}}, [1, None], ["a"]),
    ({"$defs": {"a b/c": {"type": "integer"}}, "$ref": "#/$defs/a%20b~1c"}, [1], ["1"]),
    ({"properties": {"n": {"$ref": "#"}, "v": {"type": "integer"}}, "additionalProperties": False},
     [{"n": {"n": {"v": 1}}}], [{"n": {"n": {"v": "1"}}}]),
    *[({"properties": {"a": {"$ref": "#/properties/b/properties/c"}, "b": {     # it leads into itself from two sides
        **kind, "properties": {"c": {"items": {"$ref": "#/properties/b"}}}}}}, [{"a": [{"c": [{}]}]}, *fitting], wrong)
      for kind, fitting, wrong in (({}, [{"b": {"c": 1}}], []), ({"type": "object"}, [], [{"a": [{"c": [1]}]}]))],
    ({"x-foo": 1, "title": 5, "format": "date", 7: 8}, [1, "a"], []),
    (True, [1, None, object()], []),
    (False, [], [1, None]),
    ({}, [(), {1}], []),
]


def accepts_what_fits(schema, fitting, wrong):
    validator = Validator(schema)
    for value in fitting:
        assert validator.is_valid(value) and not list(validator.iter_errors(value)), value
        assert validator.coerce(value) is value and validator.validate(value) is None
    for value in wrong:
        assert not validator.is_valid(value) and list(validator.iter_errors(value)), value
        with pytest.raises(ValidationError):
            validator.validate(value)


@pytest.mark.parametrize(("schema", "fitting", "wrong"), KEYWORDS, ids=lambda value: type(value).__name__)
def test_each_keyword_accepts_what_fits_and_nothing_else(schema, fitting, wrong):
    accepts_what_fits(schema, fitting, wrong)


WEATHER = {"type": "object", "required": ["city"], "additionalProperties": False, "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["c", "f"]}}}
TAGGED = {"oneOf": [{"properties": {"kind": {"const": kind}, "size": {"type": "integer"}}, "required": ["kind", "size"]}
                    for kind in ("a", "b")]}
ERROR_LINES = [
    (WEATHER, {"days": "three", "unit": "k", "town": 1},
     ['city: is missing', 'days: "three" is not an integer', 'unit: "k" is not one of "c", "f"',
         'town: is not allowed here (there are: city, days, unit)']),
    ({"properties": {"a": False}}, {"a": 1}, ["a: is not allowed here"]),
    (False, 1, ["(root): is not allowed here"]),
    ({"const": {"a": 1}}, 2, ['(root): 2 is not {"a": 1}']),
    ({"type": ["string", "null"]}, 1, ["(root): 1 is not a string or null"]),
    ({"minimum": 1, "multipleOf": 2}, -1, ["(root): -1 is less than 1", "(root): -1 is not a multiple of 2"]),
    ({"pattern": "^a"}, "b", ['(root): "b" does not match the pattern "^a"']),
    ({"uniqueItems": True}, [1, 1], ["(root): [1, 1] has equal items"]),
    ({"items": {"properties": {"p q": {"minItems": 2}}}}, [{}, {"p q": [1]}],
     ['[1]["p q"]: [1] has fewer items than 2']),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, ['ab: "ab" has more characters than 1']),
    ({"not": {"type": "null"}}, None, ['(root): null must not fit {"type": "null"}']),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", ['(root): "x" is not an integer or null']),
    ({"anyOf": [{"type": "string"}, {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}, "type": "object"}]},
     {"a": 1, "b": 2}, ["a: 1 is not null", "b: 2 is not null"]),
    (TAGGED, {"kind": "b", "size": "L"}, ['size: "L" is not an integer']),
    ({"anyOf": [TAGGED["oneOf"][0], {"properties": {"kind": {"enum": ["b", "c"]}}}, {"type": "null"}]}, {"kind": "x"},
     ['kind: "x" is not one of "a", "b", "c"']),                     # and not only what the nearest wants
    ({"anyOf": [{"properties": {"kind": {"const": kind}}, "type": "object"} for kind in "ab"]}, '{"kind": "x"}',
     ['(root): "{\\"kind\\": \\"x\\"}" is not an object']),
    ({"oneOf": [True, {"minimum": 1}, False]}, 1, [ "(root): 1 fits 2 alternatives, not exactly one"]),
    ({"type": "string"}, 10**5000, ["(root): a value of the type int is not a string"]),
    ({"items": {"type": "string"}}, [()], ["[0]: a value of the type tuple is not a JSON value"]),
]


@pytest.mark.parametrize(("schema", "value", "lines"), ERROR_LINES, ids=lambda value: type(value).__name__)
def test_errors_read_like_this(schema, value, lines):
    assert [str(error) for error in iter_errors(value, schema)] == lines


def test_an_error_says_the_place_in_the_value_and_in_the_schema():
    schema = {"$defs": {"row": {"anyOf": [{"type": "null"}, {"properties": {"a": {"items": {"minimum": 1}}}}]}},
        "items": {"$ref": "#/$defs/row"}}
    (error,) = iter_errors([{"a": [1, 0]}], schema)
    assert error.path == (0, "a", 1) and error.keyword == "minimum" and error.message == "0 is less than 1"
    assert error.schema_path == ("items", "$ref", "anyOf", 1, "properties", "a", "items", "minimum")
    with pytest.raises(ValidationError, match="city: is missing"):
        validate({}, WEATHER)
    assert is_valid({"city": "Oslo"}, WEATHER) and not is_valid({}, WEATHER)


REFUSED = [
    ({"required": True}, "required: is not an array of different strings (was true)"),
    ({"type": "strin"}, 'type: is not a type or an array of types (was "strin")'),
    ("x", '(root): is not a schema (was "x")'),
    ({"properties": {"a": {"minLength": -1}, "b": {"items": 5}}},
     "properties.a.minLength: is not a non-negative integer (was -1); properties.b.items: is not a schema (was 5)"),
    ({"$ref": "#/$defs/x"}, '["$ref"]: "#/$defs/x" leads nowhere'),
    ({"items": {"$ref": "#a"}}, 'items["$ref"]: "#a" leads nowhere'),
    ({"pattern": "("}, 'pattern: "(" is not a supported pattern: missing ), unterminated subpattern at position 4'),
    ({"pattern": r"a\Z"}, r'pattern: "a\\Z" is not a supported pattern: \Z is no escape of ECMA-262'),
    ({"pattern": "\\"}, r'pattern: "\\" is not a supported pattern: bad escape (end of pattern)'),
    ({"properties": {("a",): {"type": "x"}}}, """properties["('a',)"].type: is not a type"""),
    ({"items": [True], "$ref": "#/items/" + "9" * 5000}, "leads nowhere"),
    ({"$ref": "#"}, "$ref: the schema refers to itself without end, or too often in a row"),
    ({"$schema": "http://json-schema.org/draft-03/schema#"}, "is not a known dialect"),
    ({"minLength": 1.5}, "minLength: is not a non-negative integer (was 1.5)"),
]


@pytest.mark.parametrize(("schema", "text"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_no_schema_is_refused_with_all_that_is_wrong(schema, text):
    with pytest.raises(SchemaError) as caught:
        check_schema(schema)
    assert text in str(caught.value)


def wrapped(levels, value=1):
    for _ in range(levels):
        value = [value]
    return value


SELF_NESTING = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize("schema", [SELF_NESTING, {"uniqueItems": True}, {"const": [1]}])
def test_a_value_that_is_nested_too_deeply_does_not_fit(schema):
    itself = []
    itself.append(itself)
    for value in (wrapped(100_000, []), wrapped(129, []), itself):
        validator = Validator(schema)
        assert not validator.is_valid(value) and validator.coerce(value) is value
        with pytest.raises(ValidationError, match="is nested too deeply"):
            validator.validate(value)
    assert Validator(SELF_NESTING).is_valid(wrapped(127, []))


def test_hostile_schemas_end_soon():
    chain = {f"a{number}": {"$ref": f"#/$defs/a{number + 1}"} for number in range(10_000)}
    long = {name: {"items": schema} for name, schema in chain.items()}
    around = {}
    around["items"] = around
    for schema in ({"$defs": {**chain, "a10000": True}, "$ref": "#/$defs/a0"}, {"default": wrapped(1000)}, around,
                   {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
                   {"pattern": "(" * 600},
                       {"pattern": "a{9999999999}"}):
        with pytest.raises(SchemaError):
            check_schema(schema)
    assert Validator({"$defs": {**long, "a10000": {"type": "string"}}, "$ref": "#/$defs/a0"}).is_valid([[[]]])
    for word in ("allOf", "anyOf", "oneOf"):        # each level asks the next one twice
        doubling = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}, {"minLength": 3, "$ref": f"#/$defs/a{n + 1}"}]}
            for n in range(50)}
        validator = Validator({"$defs": {**doubling, "a50": {"type": "string"}}, "$ref": "#/$defs/a0"})
        assert [validator.is_valid("x"), list(validator.iter_errors("x")) == []] == [word != "allOf"] * 2
    assert Validator({"anyOf": [{"const": number} for number in range(5_000)]}).is_valid(4_999)
    twin = {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}, "required": ["next"]}
    value = {"next": {"n": "x"}}
    for _ in range(25):
        value = {"next": value}
    validator = Validator({"anyOf": [twin, {**twin, "title": "the same"}, {"type": "null"}]})
    assert not validator.is_valid(value) and list(validator.iter_errors(value)) and validator.coerce(value) is value


def ends_soon(wrap):
    schema, value = {"type": "integer"}, 1
    for _ in range(40):
        schema, value = wrap(schema), [value]
    validator = Validator(schema)
    for instance in (1, "x", value, {"x": {"y": {}}}):
        assert validator.is_valid(instance) is not any(validator.iter_errors(instance))
        assert validator.is_valid(validator.coerce(instance)) or not validator.is_valid(instance)


@pytest.mark.parametrize("wrap", [lambda sub: {"not": {"not": sub}}, lambda sub: {"properties": {"x": sub, "y": sub}}])
def test_no_nesting_of_schemas_takes_exponential_time(wrap):
    ends_soon(wrap)


def test_what_can_be_mended_is_mended_however_many_there_are():
    validator = Validator({"items": {"anyOf": [{"properties": {"x": {"type": "integer"}}, "required": ["x"]},
                                               {"properties": {"y": {"type": "boolean"}}, "required": ["y"]}]}})
    values = [{"y": "true"}, {"x": "1"}] * 2_000
    assert validator.coerce(values) == [{"y": True}, {"x": 1}] * 2_000
    errors = [str(error) for error in validator.iter_errors([{"x": "x"} for _ in range(2_000)])]
    assert errors[0] == '[0].x: "x" is not an integer' and len(errors) == 2_000
    assert errors[-1] == '[1999]: {"x": "x"} fits no alternative'


def test_the_errors_of_a_long_array_of_a_union_are_found_soon():
    objects = [{"type": "object", "properties": {name: {"type": "integer"}}, "required": [name],
                "additionalProperties": False} for name in "xyz"]
    validator, start = Validator({"items": {"anyOf": objects}}), time.process_time()
    assert validator.coerce(values := [{"x": "no"}, "no"] + [{"q": at} for at in range(20_000)]) is values
    assert len({error.path[0] for error in validator.iter_errors(values)}) == 20_002
    assert time.process_time() - start < 20


class TextInName(str):
    pass


class ShadeInName(str, enum.Enum):
    RED = "red"


def test_subclasses_count_as_their_json_type_and_anything_else_fits_no_type():
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}, "b": {"type": "integer"}},
              "required": ["a"]}
    validator, missing = Validator(schema), collections.defaultdict(str)
    assert validator.is_valid(collections.OrderedDict(a=TextInName("x"), b=enum.IntEnum("N", "A B").A))
    assert not validator.is_valid(missing) and not missing and not validator.is_valid({"a": TextInName("long one")})
    assert validator.is_valid({"a": ShadeInName.RED}) and is_valid([ShadeInName.RED], {"items": {"enum": ["red"]}})
    assert not is_valid([ShadeInName.RED], {"items": {"enum": ["blue"]}})
    for value in ((), {1}, b"x", object(), decimal.Decimal(1)):
        assert is_valid(value, True) and not any(is_valid(value, {"type": kind}) for kind in toolreg._TYPES)
    odd = {1: 1, None: "x", 2.5: [], ("a",): {}}
    for schema in ({"patternProperties": {"": False}}, {"propertyNames": {"type": "string"}},
                   {"additionalProperties": {"type": "null"}}):
        assert is_valid(odd, schema) is not any(iter_errors(odd, schema))


COERCED = [
    ({"properties": {"a": {"type": "null"}, "b": {"type": ["integer", "null"]}}}, {"a": "null", "b": "null"},
     {"a": None, "b": None}),
    ({"type": "integer"}, "5.0", 5.0),
    ({"type": "number"}, " -1.5e3 ", -1500.0),
    ({"type": "boolean"}, "True", True),
    ({"type": "null"}, "null", None),
    ({"type": "object"}, '{"a": 1}', {"a": 1}),
    ({"type": ["integer", "null"]}, "7", 7),
    ({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]}, '["1", 2]', [1, 2]),
    ({"anyOf": [{"items": {"type": "integer"}, "type": "array"}, {"items": {"type": "boolean"}, "type": "array"}]},
     ["true"], [True]),
    ({"enum": [1, 2]}, "2", 2),
    ({"$defs": {"n": {"type": "integer"}}, "items": {"$ref": "#/$defs/n"}}, ["1", 2], [1, 2]),
    ({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "boolean"}}}]},
     {"a": "1", "b": "true"}, {"a": 1, "b": True}),
    (WEATHER, {"city": "Oslo", "days": "3", "unit": None}, {"city": "Oslo", "days": 3}),
    ({"properties": {"a": {"properties": {"b": {"type": "string"}}}}}, {"a": {"b": None, "c": None}},
     {"a": {"c": None}}),
    ({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}}, {"a": None, "b": None}, {"a": None}),
    ({"additionalProperties": {"type": "integer"}}, {"x": "1"}, {"x": 1}),
    ({"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}, ["1", "true"], [1, True]),
    (TAGGED, {"kind": "b", "size": "1"}, {"kind": "b", "size": 1}),
    ({"properties": {"n": {"$ref": "#"}, "v": {"type": "integer"}}}, {"n": {"n": {"v": "1"}}}, {"n": {"n": {"v": 1}}}),
]
LEFT_ALONE = [
    ({"type": "boolean"}, ["maybe", "1", "yes", 1, 0, None]),
    ({"type": "integer"}, ["5.5", "5 5", "0x5", "", "five", "1e999", "1" * 5000, "NaN", True, None, "true"]),
    ({"type": "string"}, [5, True, None]),
    ({"type": "array"}, ["[1, 2", "1", {"a": 1}, "a,b"]),
    ({"type": "object"}, ['{"a": 1', "[]"]),
    ({"type": "null"}, ["None", "", "NULL"]),
    ({"type": ["string", "integer"]}, ["5", "[1]"]),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["5"]),
    ({}, ["5", '{"a": 1}']),
    (WEATHER, [{"city": None}, {"city": "x", "nope": None}, {"city": "x", "days": "many"}]),
    ({"additionalProperties": {"type": "string"}}, [{"a": None}]),
]


@pytest.mark.parametrize(("schema", "value", "expected"), COERCED, ids=lambda value: type(value).__name__)
def test_coercion_finds_the_value_that_was_meant(schema, value, expected):
    before = json.dumps(value)
    result = coerce(value, schema)
    assert result == expected and json.dumps(result) == json.dumps(expected) and is_valid(result, schema)
    assert json.dumps(value) == before and coerce(result, schema) is result


@pytest.mark.parametrize(("schema", "values"), LEFT_ALONE, ids=lambda value: type(value).__name__)
def test_coercion_guesses_nothing(schema, values):
    for value in values:
        assert coerce(value, schema) is value
    assert Validator(WEATHER).nearest('{"days": "3", "unit": null}') == {"days": 3}     # goes as far as it can


def test_walkers_know_a_schema_from_a_property_of_that_name():
    schema = {"properties": {"properties": {"type": "string"}, "$ref": {"items": [{"enum": [{"type": "x"}]}]}},
              "default": {"not": {}}, "anyOf": [True, {"const": {"items": {}}}], "additionalProperties": False}
    direct = [{"type": "string"}, {"items": [{"enum": [{"type": "x"}]}]}, True, {"const": {"items": {}}}, False]
    assert list(toolreg._subschemas(schema)) == direct
    seen = []
    fresh = toolreg._map_schema(schema, lambda sub: seen.append(sub) or sub)
    assert fresh == schema and fresh is not schema and fresh["default"]["not"] is not schema["default"]["not"]
    assert seen == [direct[0], {"enum": [{"type": "x"}]}, *direct[1:], fresh]
    marked = toolreg._map_schema(schema, lambda sub: {**sub, "x": 1} if isinstance(sub, dict) else sub)
    assert marked["properties"]["properties"] == {"type": "string", "x": 1} and "x" not in marked["properties"]


def test_a_pointer_leads_to_a_place_or_raises_a_lookup_error():
    assert toolreg._pointer({"a/b": [{"~": 1}]}, "#/a~1b/0/~0") == 1
    assert toolreg._pointer({"a b": 2}, "#/a%20b") == 2 and toolreg._pointer([1], "#") == [1]
    for reference in ("#/x", "#/a~1b/01", "#/a~1b/-1", "#/a~1b/0/~0/1"):
        with pytest.raises(LookupError):
            toolreg._pointer({"a/b": [{"~": 1}]}, reference)


LEAVES = (st.none() | st.booleans() | st.integers(-3, 6) | st.sampled_from([0.5, 1.0, 1e300])
          | st.sampled_from(["", "a", "ab", "5", "true", "null", '["1"]']))


def fitting_values(leaves=LEAVES):
    names = st.sampled_from(["a", "b", "c"])
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
                        max_leaves=8)


def fitting_schemas():
    """Make schemas of all keywords, with references to two definitions."""
    name, kinds = st.sampled_from(["a", "b"]), st.sampled_from(sorted(toolreg._TYPES))
    names, pattern = st.lists(name, unique=True, max_size=2), st.sampled_from(["^a", "b$", "5"])
    simple = {
        **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains",
                         "minProperties", "maxProperties"], st.integers(0, 2)),
        **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum"], st.integers(-2, 4)),
        "type": kinds | st.lists(kinds, min_size=1, max_size=2, unique=True),
        "enum": st.lists(fitting_values(), max_size=3),
        "const": fitting_values(), "multipleOf": st.sampled_from([1, 2, 0.5]), "uniqueItems": st.booleans(),
        "pattern": pattern, "required": names, "dependentRequired": st.dictionaries(name, names, max_size=1),
        "$ref": st.sampled_from(["#", "#/$defs/d", "#/$defs/e"])}

    def larger(sub):
        several, named = st.lists(sub, min_size=1, max_size=2), st.dictionaries(name, sub, max_size=2)
        holding = {
            **dict.fromkeys(["properties", "patternProperties", "dependentSchemas"], named),
            **dict.fromkeys(["prefixItems", "allOf", "anyOf", "oneOf"], several),
            **dict.fromkeys(["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else",
                             "unevaluatedProperties", "unevaluatedItems"], sub)}
        words = sorted(toolreg._KEYWORDS.keys() & {**simple, **holding}.keys())
        return st.lists(st.sampled_from(words), max_size=4, unique=True).flatmap(
            lambda chosen: st.fixed_dictionaries({keyword: {**simple, **holding}[keyword] for keyword in chosen}))
    subs = st.recursive(st.booleans() | st.fixed_dictionaries({"type": kinds}), larger, max_leaves=6)
    return st.tuples(larger(subs), subs, subs).map(lambda three: {**three[0], "$defs": {"d": three[1], "e": three[2]}})


@settings(max_examples=60)
@given(fitting_schemas(), st.lists(fitting_values(), min_size=1, max_size=5))
def test_any_value_against_any_schema_is_answered_the_same_by_all_methods(schema, values):
    try:
        validator = Validator(schema)
    except SchemaError:
        return
    for value in values:
        before = json.dumps(value)
        errors, result = list(validator.iter_errors(value)), validator.coerce(value)
        assert validator.is_valid(value) is (not errors)
        assert all(error.message and error.keyword or "allowed" in error.message for error in errors)
        assert result is value if not errors else validator.is_valid(result) or result is value
        assert json.dumps(value) == before


@settings(max_examples=80)
@given(fitting_values(LEAVES | st.sampled_from(["object", "#", "^(", "//["])),
       st.sampled_from(sorted(toolreg._KEYWORDS)))
def test_no_argument_of_a_keyword_leads_to_any_other_error(argument, keyword):
    for schema in (argument, {keyword: argument}, {"items": {keyword: argument}}):
        try:
            Validator(schema).is_valid([argument])
        except SchemaError as error:
            assert str(error)


# ---------------------------------------------------------------------------
# 3. JSON out: what does a Python value look like as JSON?
# ---------------------------------------------------------------------------
class Shade(enum.Enum):
    LIGHT = "light"
    DARK = "dark"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    """Has values that are no JSON scalars, so its names stand for its members."""

    TOP_LEFT = (0, 0)
    TOP_RIGHT = (1, 0)


class Spot(NamedTuple):
    x: int
    y: float = 0.5


@dataclasses.dataclass
class Parcel:
    code: str
    spots: list
    shade: Shade = Shade.DARK


class Array:
    """Is like numpy's arrays and scalars, as far as we look."""

    def __init__(self, *items):
        self.items = items

    def tolist(self):
        return list(self.items)


class SubText(str):
    pass


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


@pytest.mark.parametrize("value, form", [
    ('say "hi"', 'say "hi"'), (SubText("a"), "a"), ("a\ud800é", "a\\ud800é"),
    ({"\ud800": SubText("\ud800")}, {"\\ud800": "\\ud800"}),
    (fractions.Fraction(1, 3), "1/3"), (True, True), (None, None), (3, 3), (2.5, 2.5),
    (math.inf, "Infinity"), (-math.inf, "-Infinity"), ([math.nan], ["NaN"]),
    ((1, (2,)), [1, [2]]), ({"a": {1}}, {"a": [1]}), ({10, 9, 1}, [1, 9, 10]), (frozenset("ba"), ["a", "b"]),
    ({1: 3, None: 2, (1, 2): 4}, {"1": 3, "null": 2, "[1, 2]": 4}), ({Shade.DARK: 1, Rank.LOW: 2}, {"dark": 1, "1": 2}),
    ({datetime.date(2024, 1, 2): 1, uuid.UUID(int=1): 2},
     {"2024-01-02": 1, "00000000-0000-0000-0000-000000000001": 2}),
    (Shade.LIGHT, "light"), (Rank.HIGH, 2), (Corner.TOP_LEFT, "TOP_LEFT"), (Spot(1), {"x": 1, "y": 0.5}),
    (Parcel("a", [Spot(2)]), {"code": "a", "spots": [{"x": 2, "y": 0.5}], "shade": "dark"}),
    (datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), "2024-01-02T03:04:05.000006+00:00"),
    (datetime.time(3, 4), "03:04:00"), (decimal.Decimal("1.50"), "1.50"), (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (b"abc", "YWJj"), (bytearray(b"abc"), "YWJj"), (memoryview(b"abc"), "YWJj"),
    (Array(1, Array(2.5)), [1, [2.5]]), (types.MappingProxyType({"a": 1}), {"a": 1}), (range(3), [0, 1, 2]),
    (collections.deque([1]), [1]), ({"a": 1}.keys(), ["a"]), (collections.OrderedDict(a=1), {"a": 1}),
    ({1: "a", "1": {None: 2, "null": {3}}}, [[1, "a"], ["1", [[None, 2], ["null", [3]]]]]),
    ({"\ud800": 1, "\\ud800": 2}, [["\\ud800", 1], ["\\ud800", 2]]),
    (ValueError("no"), "no"), (Unspeakable(), "<Unspeakable>"), (10**5000, "<int too large or within itself>"),
], ids=lambda value: type(value).__name__)
def test_a_value_has_this_json_form(value, form):
    assert json.dumps(to_json(value)) == json.dumps(form)


def test_a_row_of_a_database_keeps_its_names():
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        assert to_json(connection.execute("select 1 as a, 'x' as b").fetchall()) == [{"a": 1, "b": "x"}]


def test_names_that_are_the_same_as_json_cost_one_walk_at_any_depth():
    deep, pairs = 0, 0
    for _ in range(100):
        deep = {1: deep, "1": 0}
    form = to_json(deep)
    while isinstance(form, list):
        (key, form), other = form
        pairs += (key, other) == (1, ["1", 0])
    assert pairs == 100


def test_what_contains_itself_is_cut_where_it_does():
    ring = [1]
    ring.append({"again": ring})
    assert to_json(ring) == [1, {"again": "<list too large or within itself>"}]
    parent = Parcel("a", [])
    parent.spots.extend([ring, ring, parent])
    assert to_json(parent)["spots"] == [to_json(ring), to_json(ring), str(parent)]


def test_what_is_nested_too_deep_is_cut_there():
    deep = functools.reduce(lambda inner, _: [inner], range(500), 1)
    text = json.dumps(to_json(deep))
    assert text.count("[") == toolreg.MAX_DEPTH and toolreg._read_json(text)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals()
    | st.uuids() | st.timedeltas() | st.builds(Unspeakable) | st.sampled_from([*Shade, *Corner, object, len, sys]),
    lambda inner: st.lists(inner) | st.dictionaries(st.integers() | st.text() | st.none(), inner) | st.tuples(inner)
    | st.builds(Parcel, st.text(), st.lists(inner))))
@settings(max_examples=100, deadline=None)
def test_any_value_has_a_json_form_that_stays_as_it_is(value):
    form = to_json(value)
    assert toolreg._read_json(json.dumps(form, allow_nan=False)) == form
    assert to_json(form) == form


# ---------------------------------------------------------------------------
# 4. Types: which schema has a type, and how does its JSON become a value?
# ---------------------------------------------------------------------------
UserId = typing.NewType("UserId", int)


@dataclasses.dataclass
class Stop:
    city: str
    nights: int = 1
    tags: "list[str]" = dataclasses.field(default_factory=list)
    made: int = dataclasses.field(default=0, init=False)


@dataclasses.dataclass
class Node:
    """Hold a number and its children."""

    value: int
    children: "list[Node]" = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int

    def __post_init__(self):
        if self.x > 100:
            raise ValueError("x is too far out")


class Movie(TypedDict):
    title: str


class Sequel(Movie, total=False):
    part: int


class Pair(NamedTuple):
    left: int
    right: Optional[str] = None


class Bits(enum.Flag):
    A = 1


INTEGER, NUMBER, STRING, NULL = {"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": "null"}
SCALARS = {"anyOf": [STRING, {"type": "boolean"}, INTEGER, NUMBER, NULL]}
NO_TEXT_KEY = {"pattern": "^-?(0|[1-9][0-9]*)$"}


def array_of(items, **more):
    return {"type": "array", "items": items, **more}


def mapping_to(values, **more):
    return {"type": "object", "additionalProperties": values, **more}


def object_with(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def text_with(**says):
    return {"type": "string", **says}


BYTES = text_with(contentEncoding="base64")
DAY = text_with(format="date", default="2024-05-01")
TYPES = [  # annotation, its schema (None: not looked at), JSON that fits, the value it is read as
    (str, STRING, "5", "5"),
    (int, INTEGER, 5.0, 5),
    (float, NUMBER, 5, 5.0),
    (bool, {"type": "boolean"}, True, True),
    (None, NULL, None, None),
    (type(None), NULL, None, None),
    (Any, {}, {"a": [5.0]}, {"a": [5.0]}),
    (object, {}, 5.0, 5.0),
    (list, array_of({}), [5.0], [5.0]),
    (typing.List, array_of({}), [1], [1]),
    (list[int], array_of(INTEGER), [5.0], [5]),
    (typing.Sequence[int], array_of(INTEGER), [1.0], [1]),
    (typing.Iterable[str], array_of(STRING), ["a"], ["a"]),
    (collections.deque, array_of({}), [1], collections.deque([1])),
    (set, array_of(SCALARS), [1, 1], {1}),
    (typing.AbstractSet[str], array_of(STRING), ["a", "a"], {"a"}),
    (frozenset[Rank], None, [1.0], frozenset({Rank.LOW})),
    (tuple, array_of({}), [1], (1,)),
    (tuple[int, ...], array_of(INTEGER), [1.0, 2], (1, 2)),
    (tuple[int, int], array_of(INTEGER, minItems=2, maxItems=2), [1.0, 2], (1, 2)),
    (tuple[int, str], {"type": "array", "prefixItems": [INTEGER, STRING], "items": False, "minItems": 2, "maxItems": 2},
     [1.0, "a"], (1, "a")),
    (tuple[()], array_of({}, minItems=0, maxItems=0), [], ()),
    (dict, mapping_to(True), {"a": 1.0}, {"a": 1.0}),
    (dict[str, int], mapping_to(INTEGER), {"a": 1.0}, {"a": 1}),
    (Union[int, str], {"anyOf": [INTEGER, STRING]}, "5", "5"),
    (Union[int, str], None, 5.0, 5),
    (Union[int, float], None, 5.5, 5.5),
    (Union[bool, float], None, 5, 5.0),
    (Optional[int], {"anyOf": [INTEGER, NULL]}, None, None),
    (int | None, {"anyOf": [INTEGER, NULL]}, 5.0, 5),
    (Union[list[int], list[str]], None, ["a"], ["a"]),
    (Union[Stop, Point, None], None, {"x": 1, "y": 2}, Point(1, 2)),
    (Union[Point, Pair], None, {"left": 1.0}, Pair(1)),
    (Optional[Literal["a", None]], {"enum": ["a", None]}, None, None),
    (Literal["a", "b"], text_with(enum=["a", "b"]), "a", "a"),
    (Literal[1, True, None], {"enum": [1, True, None]}, 1.0, 1),
    (Literal[1, True], {"enum": [1, True]}, True, True),
    (Literal[Shade.DARK, 2], {"enum": ["dark", 2]}, "dark", Shade.DARK),
    (Shade, text_with(enum=["light", "dark"]), "dark", Shade.DARK),
    (Rank, {"type": "integer", "enum": [1, 2]}, 2.0, Rank.HIGH),
    (Corner, text_with(enum=["TOP_LEFT", "TOP_RIGHT"]), "TOP_LEFT", Corner.TOP_LEFT),
    (Annotated[int, "How many."], {"type": "integer", "description": "How many."}, 5.0, 5),
    (Annotated[int, {"minimum": 1, "examples": [2]}], {"type": "integer", "minimum": 1, "examples": [2]}, 5, 5),
    (typing.Final, {}, 5.0, 5.0),
    (typing.Final[int], INTEGER, 5.0, 5),
    (UserId, INTEGER, 5.0, 5),
    (Injected[int], INTEGER, 5.0, 5),
    (Stop, object_with(["city"], city=STRING, nights={"type": "integer", "default": 1}, tags=array_of(STRING)), {"city": "Oslo"}, Stop("Oslo")),
    (Pair, object_with(["left"], left=INTEGER, right={"anyOf": [STRING, NULL], "default": None}), {"left": 1.0}, Pair(1)),
    (Sequel, object_with(["title"], title=STRING, part=INTEGER), {"title": "a", "part": 2.0}, {"title": "a", "part": 2}),
    (Node, None, {"value": 1, "children": []}, Node(1)),
    (Union[float, int], {"anyOf": [NUMBER, INTEGER]}, 2**53 + 1, 2**53 + 1),
    (Union[float, int, None], None, 5.0, 5.0),
    (Union[int, float], None, 5.0, 5.0),
]


@pytest.mark.parametrize("annotation, schema, wire, value", TYPES, ids=lambda each: str(each)[:60])
def test_a_type_has_this_schema_and_its_json_is_read_so(annotation, schema, wire, value):
    if schema is not None:
        assert json.dumps(schema_of(annotation)) == json.dumps(schema)
    check_schema(schema_of(annotation))
    assert alike(from_json(annotation, wire), value)


def alike(one, other):
    """Tell whether two values are equal and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one):
        return alike(vars(one), vars(other))
    if isinstance(one, dict):
        return alike(list(one), list(other)) and alike(list(one.values()), list(other.values()))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


@pytest.mark.parametrize("annotation, problem", [
    (typing.Callable[[int], str], "Callable[[int], str] has no JSON form (write a Literal of names, or Injected"),
    (complex, "complex has no JSON form (write tuple[float, float])"),
    (typing.Iterator[int], "Iterator[int] has no JSON form"),
    (set[list[int]], "set[list[int]] has no JSON form (write"),
    (Bits, "Bits has no JSON form (write"),
    (range, "range has no JSON form (write a dataclass"),
    (len, "has no JSON form"),
    ([int], "[<class 'int'>] has no JSON form (write list[X])"),
    ((int, str), "(<class 'int'>, <class 'str'>) has no JSON form (write tuple[X, Y], or X | Y)"),
    ({"a": int}, "has no JSON form (write dict[str, X], or a TypedDict)"),
    (any, "<built-in function any> has no JSON form (write typing.Any)"),
    (callable, "has no JSON form (write a Literal of names"),
    (Annotated[str, {"pattern": "("}], '"(" is not a supported pattern'),
    (Annotated[float, {"enum": [math.nan]}], "keywords that JSON cannot say has no JSON form (write values"),
    (enum.Enum("Rate", {"ONE": 1.0, "NONE": math.nan}), "Rate has no JSON form"),
    (enum.Enum("Rates", {"ALL": math.inf}), "Rates has no JSON form"),
    (Literal[math.inf], "has no JSON form"),
    (list[Annotated[int, {"minimum": "x", "type": "int"}]], 'type: is not a type or an array of types (was "int")'),
    (Optional[Literal[object()]], "has no JSON form"),
])
def test_what_has_no_json_form_is_refused_with_what_to_write(annotation, problem):
    with pytest.raises(ToolDefinitionError) as caught:
        schema_of(annotation)
    assert problem in str(caught.value)


def test_all_problems_of_nested_types_are_told_at_once_with_their_fields():
    Bad = dataclasses.make_dataclass("Bad", [("call", typing.Callable), ("good", int), ("imaginary", list[complex])])
    with pytest.raises(ToolDefinitionError) as caught:
        schema_of(dict[str, Bad])
    assert str(caught.value) == (
        "schema_of: Bad.call: Callable has no JSON form (write a Literal of names, or Injected where the program gives "
        "the value); Bad.imaginary: complex has no JSON form (write tuple[float, float])"
    )


@pytest.mark.parametrize("annotation, wire, errors", [
    (list[Point], [{"x": 101, "y": 0}], ["[0]: is refused (ValueError: x is too far out)"]),
    (int, "x", ['(root): "x" is not an integer']),
])
def test_what_cannot_be_read_is_told_completely_and_located(annotation, wire, errors):
    with pytest.raises(ToolArgumentError) as caught:
        from_json(annotation, wire)
    assert [str(error) for error in caught.value.errors] == errors
    assert all(isinstance(error, ValidationError) for error in caught.value.errors)


@dataclasses.dataclass
class Stage:
    place: Point
    stages: "list[Stage]" = dataclasses.field(default_factory=list)
    by_name: "dict[str, Stage]" = dataclasses.field(default_factory=dict)


def test_each_value_is_read_once_however_deep_the_fault_is():
    wire = {"place": {"x": 101, "y": 0}}
    for _ in range(30):
        wire = {"place": {"x": 1, "y": 0}, "stages": [wire], "by_name": {"a": wire} if "stages" not in wire else {}}
    with pytest.raises(ToolArgumentError) as caught:
        from_json(Stage, wire)
    assert [error.path[-3:] for error in caught.value.errors] == [("stages", 0, "place"), ("by_name", "a", "place")]


def test_a_named_type_goes_to_the_definitions_only_where_it_is_used_twice_or_holds_itself():
    assert "$defs" not in schema_of(list[Stop])
    twice = schema_of(tuple[Stop, list[Stop]])
    assert twice["prefixItems"][0] == {"$ref": "#/$defs/Stop"} and list(twice["$defs"]) == ["Stop"]
    assert schema_of(Node) == {"$ref": "#/$defs/Node", "$defs": {"Node": {
        "description": "Hold a number and its children.",
        **object_with(["value"], value=INTEGER, children=array_of({"$ref": "#/$defs/Node"}))}}}


def test_two_types_of_one_name_keep_their_own_definitions():
    one, other = (dataclasses.make_dataclass("Same", [("it", kind)]) for kind in (int, str))
    schema = schema_of(tuple[one, other, one, other])
    places = [place["$ref"].rpartition("/")[2] for place in schema["prefixItems"]]
    assert [schema["$defs"][place]["properties"]["it"] for place in places] == [INTEGER, STRING, INTEGER, STRING]


def test_none_is_allowed_beside_a_reference_that_does_not_allow_it():
    def take(one: Union[Node, int] = None, other: Node = None): ...

    schema = parameters_of(take)
    check_schema(schema)
    assert is_valid({"one": None, "other": None}, schema)
    assert [each["default"] for each in schema["properties"].values()] == [None, None]


def test_a_class_takes_what_its_constructor_takes():
    @dataclasses.dataclass
    class Scaled:
        value: int
        factor: dataclasses.InitVar[int]
        seen: list = dataclasses.field(default_factory=list)
        count: int = dataclasses.field(default=1, init=False)

        def __post_init__(self, factor):
            self.value *= factor

    schema = object_with(["value", "factor"], value=INTEGER, factor=INTEGER, seen=array_of({}))
    assert schema_of(Scaled) == schema
    assert from_json(Scaled, {"value": 2.0, "factor": 3.0}).value == 6


def test_a_description_beside_a_reference_stays_there():
    schema = schema_of(tuple[Annotated[Node, "First."], Node])
    assert schema["prefixItems"][0] == {"$ref": "#/$defs/Node", "description": "First."}
    assert schema_of(Annotated[Node, "First."])["description"] == "First."


# --- properties: any type of ours, any value of it
OFFSETS = st.none() | st.integers(-86_399, 86_399).map(
    lambda seconds: datetime.timezone(datetime.timedelta(seconds=seconds)))
SPELLED = {
    bytes: st.binary(), uuid.UUID: st.uuids(), decimal.Decimal: st.decimals(allow_nan=False, allow_infinity=False),
    datetime.date: st.dates(), datetime.datetime: st.datetimes(timezones=OFFSETS),
    datetime.time: st.times(timezones=OFFSETS), datetime.timedelta: st.timedeltas(),
    fractions.Fraction: st.fractions(), ipaddress.IPv4Address: st.ip_addresses(v=4),
    pathlib.PurePosixPath: st.text("ab/.", min_size=1).map(pathlib.PurePosixPath),
} if "texts" in HERE_ARE else {}
LEAVES = {  # JSON's type -> annotation -> its values; in a union, members of different types cannot be confused
    "null": {None: st.none()},
    "boolean": {bool: st.booleans(), Literal[True]: st.just(True)},
    "number": {int: st.integers(), float: st.floats(allow_nan=False, allow_infinity=False),
               Rank: st.sampled_from(Rank), Literal[1, 2]: st.sampled_from([1, 2])},
    "string": {str: st.text(), Shade: st.sampled_from(Shade), Corner: st.sampled_from(Corner),
               Literal["a", "b"]: st.sampled_from("ab"), **SPELLED},
}
VALUES = {annotation: values for leaves in LEAVES.values() for annotation, values in leaves.items()}
KEYS = [str, *([int, bool, Shade, Rank, *[*SPELLED][1:4], Literal["a", "b"]] if "types" in HERE_ARE else [])]
HASHABLE = st.sampled_from([annotation for annotation in VALUES if annotation is not None])
NAMES = st.lists(st.sampled_from(["title", "type", "properties", "items", "x", "y_2", "größe"]),
                 min_size=1, max_size=3, unique=True)


def object_types(inner):
    """Give annotations of objects: dataclasses with and without defaults, TypedDicts, NamedTuples, dicts."""
    rows = st.builds(lambda names, types: list(zip(names, types)), NAMES, st.lists(inner, min_size=3, max_size=3))
    return (
        rows.map(lambda rows: dataclasses.make_dataclass("Made", rows))
        | rows.map(lambda rows: dataclasses.make_dataclass("Loose", [(name, Optional[it], None) for name, it in rows]))
        | st.builds(lambda rows, total: TypedDict("Typed", dict(rows), total=total), rows, st.booleans())
        | rows.map(lambda rows: NamedTuple("Tuple", rows))
        | st.builds(lambda key, value: typing.Dict[key, value], st.sampled_from(KEYS), inner))


def array_types(inner):
    return (
        st.builds(lambda it: typing.List[it], inner)
        | st.builds(lambda it: typing.Tuple[it, ...], inner)
        | st.builds(lambda it: typing.Set[it], HASHABLE)
        | st.builds(lambda it: typing.FrozenSet[it], HASHABLE)
        | st.lists(inner, min_size=1, max_size=3).map(lambda items: typing.Tuple[tuple(items)])
    )


def union_types(inner):
    members = [st.sampled_from(list(leaves)) for leaves in LEAVES.values()] + [array_types(inner), object_types(inner)]
    return (
        st.lists(st.sampled_from(range(len(members))), min_size=2, max_size=4, unique=True)
        .flatmap(lambda kinds: st.tuples(*(members[kind] for kind in kinds)))
        .map(lambda chosen: Union[chosen])
    )


def annotations():
    return st.recursive(st.sampled_from(list(VALUES)), max_leaves=6,
                        extend=lambda inner: object_types(inner) | array_types(inner) | union_types(inner))


def values(annotation):
    """Give the values of an annotation of ours."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in VALUES or annotation is type(None):
        return VALUES[None if annotation is type(None) else annotation]
    if origin is Union:
        return st.one_of(*map(values, args))
    if origin is dict:
        return st.dictionaries(values(args[0]), values(args[1]), max_size=3)
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple) if args[1:] == (...,) else st.tuples(*map(values, args))
    if origin in (list, set, frozenset):
        return st.lists(values(args[0]), max_size=3).map(origin)
    hints = {name: values(hint) for name, hint in typing.get_type_hints(annotation).items()}
    if issubclass(annotation, dict):
        return fixed(hints, annotation.__required_keys__)
    return st.fixed_dictionaries(hints).map(lambda fields: annotation(**fields))


def fixed(by_name, required):
    return st.fixed_dictionaries({name: it for name, it in by_name.items() if name in required},
                                 optional={name: it for name, it in by_name.items() if name not in required})


TYPED_VALUES = annotations().flatmap(lambda annotation: st.tuples(st.just(annotation), values(annotation)))
SOME = settings(max_examples=100, deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@SOME
@given(TYPED_VALUES)
def test_the_json_of_a_value_fits_the_schema_of_its_type_and_is_read_back_as_the_same(pair):
    annotation, value = pair
    schema, wire = schema_of(annotation), json.loads(json.dumps(to_json(value)))
    check_schema(schema)
    assert list(iter_errors(wire, schema)) == []
    assert alike(from_json(annotation, wire), value)


def json_fitting(schema, root):
    """Give JSON that fits a schema of ours, whatever its annotation would write."""
    if "$ref" in schema:
        return st.deferred(lambda: json_fitting(root["$defs"][schema["$ref"].rpartition("/")[2]], root))
    if "anyOf" in schema:
        return st.one_of(*(json_fitting(each, root) for each in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from([*schema["enum"], *[float(it) for it in schema["enum"] if type(it) is int]])
    if "prefixItems" in schema:
        return st.tuples(*(json_fitting(each, root) for each in schema["prefixItems"])).map(list)
    if "properties" in schema:
        return fixed({name: json_fitting(it, root) for name, it in schema["properties"].items()},
                     schema.get("required", ()))
    return {
        "null": lambda: st.none(),
        "boolean": lambda: st.booleans(),
        "string": lambda: st.text() | st.dates().map(str),
        "integer": lambda: st.integers() | st.integers(-9, 9).map(float),
        "number": lambda: st.integers() | st.floats(-9, 9) | st.just(10**400),
        "array": lambda: st.lists(json_fitting(schema["items"], root), min_size=schema.get("minItems", 0),
                                  max_size=schema.get("maxItems", 3)),
        "object": lambda: st.dictionaries(
            st.sampled_from(schema.get("propertyNames", {}).get("enum", ["1", "-20", "true", "2024-05-01"])),
            json_fitting(schema["additionalProperties"], root)),
    }[schema["type"]]()


@SOME
@given(annotations().flatmap(lambda it: st.tuples(st.just(it), json_fitting(schema_of(it), schema_of(it)))))
def test_json_that_fits_is_read_and_fits_when_it_is_written_again_or_is_text_that_is_refused(pair):
    annotation, wire = pair
    schema = schema_of(annotation)
    if not is_valid(wire, schema):  # a key of the wrong type
        return
    try:
        value = from_json(annotation, wire)
    except ToolArgumentError as refused:
        assert refused.errors and all(" is not " in str(error) for error in refused.errors)
        assert any(kind.__name__ in typing_text(annotation) for kind in SPELLED)
    else:
        assert is_valid(json.loads(json.dumps(to_json(value))), schema)


def typing_text(annotation):
    """Spell an annotation with all types that it holds."""
    hints = typing.get_type_hints(annotation) if isinstance(annotation, type) and annotation not in VALUES else {}
    return " ".join([str(annotation), *map(typing_text, [*typing.get_args(annotation), *hints.values()])])


@settings(SOME, max_examples=30)
@given(annotations())
def test_nothing_in_a_schema_is_shared(annotation):
    def spoil(part):
        for inner in list(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()):
            spoil(inner)
        if isinstance(part, (dict, list)):
            part.clear()

    before = json.dumps(schema_of(annotation))
    spoil(schema_of(annotation))
    assert json.dumps(schema_of(annotation)) == before


def test_required_and_not_required_have_the_last_word_in_a_typed_dict():
    def marked(name, annotation):
        if hasattr(typing, name):
            return getattr(typing, name)[annotation]
        parts = {"__module__": "typing_extensions", "__class_getitem__": classmethod(types.GenericAlias)}
        return type(name, (), parts)[annotation]

    Loose = TypedDict("Loose", {"a": marked("Required", int), "b": str, "c": marked("ReadOnly", bool)}, total=False)
    Tight = TypedDict("Tight", {
        "a": marked("NotRequired", int), "b": Annotated[marked("NotRequired", str), "Text."], "c": bool})
    assert schema_of(Loose)["required"] == ["a"] and list(schema_of(Loose)["properties"]) == ["a", "b", "c"]
    assert schema_of(Tight) == object_with(["c"], a=INTEGER, b={**STRING, "description": "Text."}, c={"type": "boolean"})


def test_not_required_has_the_last_word_where_annotations_are_postponed(monkeypatch):
    module = types.ModuleType("postponed")
    monkeypatch.setitem(sys.modules, "postponed", module)
    exec("from __future__ import annotations\nimport typing\n"
         "optional = getattr(typing, 'NotRequired', typing.Optional)\n"
         "class Tight(typing.TypedDict):\n    a: optional[int]\n    b: str\n", vars(module))
    expected = ["b"] if hasattr(typing, "NotRequired") else ["a", "b"]      # 3.10 has no NotRequired of its own
    assert schema_of(module.Tight)["required"] == expected


# ---------------------------------------------------------------------------
# 5. Reasons: ask the model why
# ---------------------------------------------------------------------------
object_schemas = st.fixed_dictionaries({}, optional={
    "type": st.just("object"), "properties": st.dictionaries(st.text(max_size=6), st.just({"type": "string"}), max_size=4),
    "required": st.lists(st.text(max_size=6), max_size=2), "additionalProperties": st.booleans()})


@given(object_schemas)
def test_the_reason_is_added_last_to_a_copy_and_is_never_required(schema):
    before = json.dumps(schema)
    added = toolreg._with_reason(schema)
    assert json.dumps(schema) == before
    assert list(added["properties"])[-1] == TOOLCALL_REASON and added.get("required") == schema.get("required")
    assert added["properties"][TOOLCALL_REASON] == {
        "type": "string", "description": "Why you chose this tool and what you expect from it."}
    del added["properties"][TOOLCALL_REASON]
    assert {"properties": {}, **schema} == added


@given(st.dictionaries(st.text(max_size=6), any_json, max_size=4), st.text())
def test_splitting_undoes_the_adding_of_a_reason(arguments, reason):
    given_arguments = {**arguments, TOOLCALL_REASON: reason}
    assert toolreg._split_reason(given_arguments, False) == (arguments, reason)
    assert TOOLCALL_REASON in given_arguments
    assert toolreg._split_reason(arguments, False) == (arguments, None)


def test_a_reason_that_a_foreign_schema_declares_stays_an_argument():
    schema = {"type": "object", "properties": {TOOLCALL_REASON: {"type": "integer"}}}
    assert toolreg._with_reason(schema) == schema and toolreg._declares_reason(schema)
    assert toolreg._split_reason({TOOLCALL_REASON: 3}, True) == ({TOOLCALL_REASON: 3}, "3")


# ---------------------------------------------------------------------------
# 6. Functions: what does a function take?
# ---------------------------------------------------------------------------
GOOGLE = """Fetch a text.
    Args:
        title (str): Name, e.g. "Ada (2nd ed.): notes".
        page (int, optional) : Page number, default: 1.
        mode: One of:
            - "fast": quick look
            - "deep": slow: reads everything
        raw (Union[bool, None]):
            Keep the markup,

            spaces and all.
        *names: More.

    Note:
        Not too often: it costs.

    Returns:
        str: the text.

    Keyword Args:
        limit: Most
          results.
    Last words.
    """
NUMPY = """Scale a point.

    Slowly.

    Parameters
    ----------
    x, y : float
        Coordinates
        in metres.
    factor : float, optional
        Multiplier: default 1.
    bare

    Other Parameters
    ----------------
    **mode : {"a", "b"}
        Rounding mode.

    Returns
    -------
    tuple
        The new point.
    """
SPHINX = """Do.

    :param int x: The x
        of it.
    :param y: The y.
    :type y: int
    :keyword z: The z: it is last.
    :returns: nothing
    :raises ValueError: never

    Last words.
    """


@pytest.mark.parametrize("text, description, texts", [
    (None, "", {}),
    ("  Add: two numbers. ", "Add: two numbers.", {}),
    ("Add.\n\n    Both: numbers.\n    ", "Add.\n\nBoth: numbers.", {}),
    (GOOGLE, "Fetch a text.\n\nNote:\n    Not too often: it costs.\n\nLast words.", {
            "title": 'Name, e.g. "Ada (2nd ed.): notes".', "page": "Page number, default: 1.",
            "mode": 'One of:\n- "fast": quick look\n- "deep": slow: reads everything',
            "raw": "Keep the markup, spaces and all.", "names": "More.", "limit": "Most results."}),
    (NUMPY, "Scale a point.\n\nSlowly.", {
            "x": "Coordinates in metres.", "y": "Coordinates in metres.", "factor": "Multiplier: default 1.",
            "mode": "Rounding mode."}),
    # text is not a field because a role stands at the beginning of its line
    ("Close it.\n\nReturns the\n:class:`Session` and\n:memory: for it.\n\n:rtype: str",
     "Close it.\n\nReturns the\n:class:`Session` and\n:memory: for it.", {}),
    (r"""Do.

    :param \*\*more: More.
    :param dict[str, int] x: The x.
    :raises json.JSONDecodeError: never
    :Returns: it
    """, "Do.", {"more": "More.", "x": "The x."}),
    # lists of parameters as people write them, too
    ("Do.\n\nArgs:\n    x: The\n      x.\n    `y` (int): The y.\n    **z**: z",
     "Do.", {"x": "The x.", "y": "The y.", "z": "z"}),
    ("Do.\n\nArgs:\n    city：城市名\n    x - The x.\n    y (int) -- The y.\n    z (dict[str,\n        int]): The z.\n",
     "Do.", {"city": "城市名", "x": "The x.", "y": "The y.", "z": "The z."}),
    ("Do.\n\nArgs:\n    mode: One of:\n    - fast: quick\n    last: It.\n", "Do.",
     {"mode": "One of:\n- fast: quick", "last": "It."}),
    ("Do.\n\nArgs:\n    - x: The x.\n    - `y` (int): The y:\n      - 1: one\n", "Do.", {"x": "The x.", "y": "The y:\n- 1: one"}),
    ("Do.\n\nParameters:\n- x: The x.\n* **y**: The y.\n\nReturns:\n- it", "Do.", {"x": "The x.", "y": "The y."}),
    ("Do.\n\nArgs:\n    The name of it.\n\n    x: The x.\n", "Do.\n\nArgs:\nThe name of it.", {"x": "The x."}),
    # a docstring that begins with its section
    ("Args:\n        x: The\n            x.\n        y: The y.\n    ", "", {"x": "The x.", "y": "The y."}),
    ("Args:\n        x: The x.\n\n    Returns:\n        It.\n    ", "", {"x": "The x."}),
    ("Do.\r\n\r\nArgs:\r\n    x: The x.\r\n", "Do.", {"x": "The x."}),
    (SPHINX, "Do.\n\nLast words.", {"x": "The x of it.", "y": "The y.", "z": "The z: it is last."}),
])
def test_a_docstring_is_split_into_description_and_parameters(text, description, texts):
    assert parse_docstring(text) == (description, texts)


def test_a_docstring_without_end_costs_no_time():
    text = "Do.\n\nArgs:\n    x (" + "a\n          " * 2000      # a type that is never closed
    assert parse_docstring(text)[0].startswith("Do.\n\nArgs:\nx (a")


@given(st.text(st.sampled_from("ab:*()-=\n \t.")))
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_docstring(text):
    description, texts = parse_docstring(text)
    assert isinstance(description, str) and all(said.strip() for said in texts.values())


class Counter:
    def __init__(self, start):
        self.value = start

    def add(self, amount: int) -> int:
        """Add to the counter."""
        self.value += amount
        return self.value

    @classmethod
    def label(cls, text: str = "a"):
        """Make a label."""
        return cls.__name__ + text

    @staticmethod
    def double(number: float):
        return 2 * number

    async def __call__(self, who: "str"):
        """Greet.

        Args:
            who: Whom.
        """
        return who


class SubCounter(Counter):
    def add(self, amount: int) -> int:
        return super().add(amount)


class Search:
    """Search the web."""

    def __call__(self, query: str): ...


class Unsaid:
    def __call__(self, query: str): ...


def through_a_wrapper(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapper


def forecast(place: str, *, days: int = 1, unit: Literal["c", "f"] = "c", when: Optional[Rank] = None):
    """Look."""
    return place, days, unit, when


def raised(base: int, exponent: float = 2.0, /, *rest, digits: int = 0):
    return base, exponent, rest, digits


def open_ended(name: str, **more: int):
    return name, more


def bound_and_called(func, arguments, **options):
    """Give what a function gets for arguments that fit."""
    _, schema, bind = toolreg._form_of_function(func, name="f", **options)
    assert list(iter_errors(arguments, schema)) == []
    args, kwargs = bind(arguments) if bind else ((), arguments)
    return func(*args, **kwargs)


@pytest.mark.parametrize("func, description, names, required", [
    (forecast, "Look.", ["place", "days", "unit", "when"], ["place"]),
    (Counter(1).add, "Add to the counter.", ["amount"], ["amount"]),
    (SubCounter(1).add, "Add to the counter.", ["amount"], ["amount"]),
    (Counter.label, "Make a label.", ["text"], []),
    (Counter.double, "", ["number"], ["number"]),
    (Counter(1), "Greet.", ["who"], ["who"]),
    (Search(), "Search the web.", ["query"], ["query"]),
    (Unsaid(), "", ["query"], ["query"]),
    (functools.partial(forecast, days=3), "Look.", ["place", "unit", "when"], ["place"]),
    (functools.partial(forecast, "Oslo"), "Look.", ["days", "unit", "when"], []),
    (through_a_wrapper(forecast), "Look.", ["place", "days", "unit", "when"], ["place"]),
    (functools.lru_cache(forecast), "Look.", ["place", "days", "unit", "when"], ["place"]),
    (functools.partial(through_a_wrapper(forecast), days=3), "Look.", ["place", "unit", "when"], ["place"]),
    (raised, "", ["base", "exponent", "digits"], ["base"]),
    (lambda x, y=1: x, "", ["x", "y"], ["x"]),
    (math.sqrt, math.sqrt.__doc__, ["x"], ["x"]),
], ids=lambda each: getattr(each, "__name__", ""))
def test_whatever_can_be_called_says_what_it_takes(func, description, names, required):
    said, schema, _ = toolreg._form_of_function(func, name="f")
    assert (said, list(schema["properties"]), schema.get("required", [])) == (description, names, required)
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("func, arguments, result", [
    (forecast, {"place": "a"}, ("a", 1, "c", None)),
    (forecast, {"place": "a", "days": 2.0, "when": 2.0}, ("a", 2, "c", Rank.HIGH)),
    (Counter(1).add, {"amount": 2}, 3),
    (functools.partial(forecast, "Oslo", days=3), {"unit": "f"}, ("Oslo", 3, "f", None)),
    (raised, {"base": 2}, (2, 2.0, (), 0)),
    (raised, {"digits": 1, "exponent": 3, "base": 2.0}, (2, 3.0, (), 1)),
    (open_ended, {"name": "a", "x": 1.0, "name_2": 2}, ("a", {"x": 1, "name_2": 2})),
    (math.sqrt, {"x": 4}, 2.0),
    (through_a_wrapper(forecast), {"place": "a", "days": 2.0}, ("a", 2, "c", None)),
], ids=lambda each: getattr(each, "__name__", ""))
def test_a_call_gives_the_function_what_its_annotations_promise(func, arguments, result):
    before = json.dumps(arguments)
    assert alike(bound_and_called(func, arguments), result)
    assert json.dumps(arguments) == before


def test_nothing_is_bound_where_the_arguments_are_right_as_they_are():
    def simple(a: str, b: bool = True, c: "list[str] | None" = None, d=1): ...

    assert toolreg._form_of_function(simple, name="f")[2] is None


def test_a_schema_says_defaults_and_descriptions_and_null():
    def report(
        title: str, shade: Shade = Shade.DARK, ratio: float = math.inf,
        size: int = "auto", hook: Any = len, tags: "set[str]" = frozenset("ba"), note: str = None,
        level: Annotated[int, "Told."] = 3, maybe: Annotated[int, "Or none."] = None, free=None, whole: float = 1,
    ):
        """Report.

        Args:
            title: The title.
            level: Not this.
            ghost: No parameter.
        """

    schema = parameters_of(report)
    assert schema["required"] == ["title"]
    assert {name: (it.get("default", "-"), it.get("description")) for name, it in schema["properties"].items()} == {
        "title": ("-", "The title."), "shade": ("dark", None), "ratio": ("-", None),
        "size": ("-", None), "hook": ("-", None), "tags": (["a", "b"], None), "note": (None, None),
        "level": (3, "Told."), "maybe": (None, "Or none."), "free": (None, None), "whole": (1, None)}
    assert [schema["properties"][name]["anyOf"] for name in ("maybe", "note")] == [[INTEGER, NULL], [STRING, NULL]]


def test_odd_parameter_names_survive():
    def odd(title: str, type: int, properties: bool, default: str = "a", items="b", enum: int = 1, required=2): ...

    schema = parameters_of(odd)
    assert list(schema["properties"]) == ["title", "type", "properties", "default", "items", "enum", "required"]


def unpacked(typed_dict):
    Unpack = type("Unpack", (), {"__module__": "typing_extensions"})
    return typing.Unpack[typed_dict] if sys.version_info >= (3, 11) else types.GenericAlias(Unpack, (typed_dict,))


def test_kwargs_of_a_typed_dict_are_named_and_cannot_claim_the_reason():
    def take(a: int, **options): ...

    take.__annotations__["options"] = unpacked(Sequel)
    assert parameters_of(take) == object_with(["a", "title"], a=INTEGER, title=STRING, part=INTEGER)
    take.__annotations__["options"] = unpacked(TypedDict("Reasons", {"toolcall_reason": str}))
    with pytest.raises(ToolDefinitionError, match="toolcall_reason: is what a model's reason is called"):
        parameters_of(take)


# --- what the program fills in
TENANT = contextvars.ContextVar("TENANT", default="nobody")


@pytest.mark.parametrize("marked", [
    Injected[str], Injected, Annotated[str, Injected], Annotated[str, "The tenant.", Injected]])
def test_an_injected_parameter_is_hidden_from_everything_that_a_model_reads(marked):
    def order(item: str, tenant: str = "none", count: int = 1):
        """Order.

        Args:
            item: The article.
            tenant: Who pays.
        """
        return item, tenant, count

    order.__annotations__["tenant"] = marked
    description, schema, bind = toolreg._form_of_function(order, name="order")
    assert "tenant" not in json.dumps([description, schema]) and "pays" not in json.dumps([description, schema])
    assert bound_and_called(order, {"item": "a"}) == ("a", "none", 1)
    assert bound_and_called(order, {"item": "a"}, inject={"tenant": "t"}) == ("a", "t", 1)
    with pytest.raises(ToolArgumentError, match=r"tenant: is not allowed here \(there are: item, count\)"):
        bind({"item": "a", "tenant": "me"})


def test_a_context_variable_is_read_at_each_call():
    def who(a: int, /, tenant, **more): ...

    _, schema, bind = toolreg._form_of_function(who, name="who", inject={"tenant": TENANT, "a": 5, "extra": 1})
    assert schema == {"type": "object", "properties": {}, "additionalProperties": True}
    assert bind({}) == ((5,), {"tenant": "nobody", "extra": 1})
    context = contextvars.copy_context()
    context.run(TENANT.set, "t-1")
    assert context.run(bind, {"x": 1}) == ((5,), {"tenant": "t-1", "extra": 1, "x": 1})
    with pytest.raises(ToolArgumentError, match="extra: is not allowed here"):
        bind({"extra": 2})


def test_what_a_partial_has_bound_cannot_be_sent():
    _, _, bind = toolreg._form_of_function(functools.partial(open_ended, fixed=1), name="f")
    with pytest.raises(ToolArgumentError, match="fixed: is not allowed here"):
        bind({"name": "a", "fixed": 2})


# --- what is refused
@pytest.mark.parametrize("func, options, problems", [
    (Counter.add, {}, ["self: is the object of a method (write instance.method, not Class.method)"]),
    (lambda toolcall_reason: 1, {}, ["toolcall_reason: is what a model's reason is called (write another name)"]),
    (forecast, {"inject": {"town": 1}}, ['inject: "town" is no parameter (there are: place, days, unit, when)']),
    (type, {}, ["no signature found"]),
])
def test_what_cannot_be_a_tool_is_refused_with_all_problems(func, options, problems):
    with pytest.raises(ToolDefinitionError) as caught:
        toolreg._form_of_function(func, name="f", **options)
    assert str(caught.value).startswith('tool "f": ' + problems[0])
    assert all(problem in str(caught.value) for problem in problems)


def test_a_function_is_refused_with_the_problems_of_all_its_parameters():
    def bad(call: typing.Callable, shape: complex, who: Injected[str], good: int): ...

    with pytest.raises(ToolDefinitionError, match="call: Callable has no JSON form .*; shape: complex has no JSON form"):
        parameters_of(bad)


def test_further_keywords_have_the_schema_of_their_annotation():
    assert parameters_of(open_ended)["additionalProperties"] == INTEGER
    registry = ToolRegistry([open_ended])
    assert registry.invoke("open_ended", {"name": "a", "x": 5.0}).value == ("a", {"x": 5})
    assert registry.invoke("open_ended", {"name": "a", "x": "no"}).is_error


def test_a_function_that_dispatches_on_a_type_is_given_it_by_place():
    @functools.singledispatch
    def show(value: Union[int, str], loud: bool = False) -> str:
        return f"{value!r} {loud}"

    @show.register
    def _(value: int, loud: bool = False) -> str:
        return f"int {value} {loud}"
    registry = ToolRegistry([show])
    assert registry["show"].parameters["required"] == ["value"]
    results = [*invoked(registry, "show", {"value": "a"}), *invoked(registry, "show", {"loud": True, "value": 2})]
    assert list(dict.fromkeys(result.content for result in results)) == ["'a' False", "int 2 True"]


# ---------------------------------------------------------------------------
# 7. Messages: what travels
# ---------------------------------------------------------------------------
def encoded(value, times):
    return encoded(json.dumps(value), times - 1) if times else value


@pytest.mark.parametrize("given_arguments, arguments", [
    ('{"a": 1}', {"a": 1}), ("", {}), ("  ", {}), ("null", {}), (None, {}), ("{}", {}), ('""', {}),
    ('"{\\"a\\": 1}"', {"a": 1}), (encoded({"a": 1}, 3), {"a": 1}), (encoded({"a": 1}, 4), encoded({"a": 1}, 4)),
    ({"a": 1}, {"a": 1}),
    ('{"a": 1', '{"a": 1'), ("[1]", "[1]"), ("5", "5"), ('"x"', '"x"'), ("wide", "wide"), ([1, 2], "[1, 2]"),
    ('{"a": NaN}', '{"a": NaN}'), ('{"a": 1}{"b": 2}', '{"a": 1}{"b": 2}'),
])
def test_arguments_become_the_object_they_hold_or_stay_the_text_they_are(given_arguments, arguments):
    assert ToolCall("1", "f", given_arguments).arguments == arguments


def test_a_dataclass_made_of_tool_call_reads_its_arguments_too():
    @dataclasses.dataclass
    class Scored(ToolCall):
        score: float = 0.0
    assert Scored("1", "f", '{"a": 1}', 0.5).arguments == {"a": 1}
    assert dataclasses.replace(ToolCall("1", "f", '{"a": 1}'), id="2") == ToolCall("2", "f", {"a": 1})


def test_long_arguments_that_are_no_object_are_kept_whole():
    assert json.loads(ToolCall("1", "f", list(range(500))).arguments) == list(range(500))


@pytest.mark.parametrize("text, fault", [
    ("[1]", "[1] is not an object"), ('"x"', '"x" is not an object'), ('{"a"', "the text ends too early (line 1, column 5)"),
])
def test_the_fault_in_a_text_is_named(text, fault):
    assert toolreg._fault_in(text) == fault


def test_results_are_equal_where_what_the_model_reads_is_equal():
    assert ToolResult("1", "f", "3", value=3) == ToolResult("1", "f", "3", error=ValueError())
    assert ToolResult("1", "f", "3") != ToolResult("2", "f", "3")


# ---------------------------------------------------------------------------
# 8. The wire: how chat completions spell tools, calls and results
# ---------------------------------------------------------------------------
# Tables with a row for each format: the tests of a chapter add that of its API.
MESSAGE_FORMATS = [api_format for api_format in API_FORMATS if api_format not in ("mcp", "ollama")]
STRICT_IS_HERE = "strict" in HERE_ARE
CITY_ONLY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TREE_OF_NODES = {"type": "object", "required": ["root"], "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {
    "Node": {"type": "object", "required": ["value"], "additionalProperties": False, "properties": {
        "value": {"type": "integer"}, "left": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}}}


def tool_taking(parameters, name="get_weather", description="Do it.", **metadata):
    return Tool(name, description, parameters, dict, ToolMetadata(**metadata))


def parameters_as(api_format, parameters, **options):
    """Give what an API is sent for these parameters, out of its wrapping."""
    schema, = build_tool_schemas([tool_taking(parameters)], api_format=api_format, **options)
    schema = schema.get("function", schema)
    return next((schema[key] for key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema") if key in schema), None)


TOOL_AS = {"openai-chat": {"type": "function", "function": {"name": "get_weather", "description": "Do it.",
                                                            "parameters": CITY_ONLY}}}


@pytest.mark.parametrize("api_format", API_FORMATS)
def test_a_tool_is_spelled_as_each_api_wants_it(api_format):
    tool = tool_taking(CITY_ONLY, extra={"title": "W", "annotations": {"readOnlyHint": True}, "mine": 1})
    assert build_tool_schemas([tool], api_format=api_format) == [TOOL_AS[api_format]]


@pytest.mark.parametrize("api_format", API_FORMATS)
def test_nobody_shares_what_is_built(api_format):
    tool = tool_taking({**TREE_OF_NODES, "properties": {**TREE_OF_NODES["properties"], "any": {}}},
                       extra={"annotations": {"a": [1]}})
    before = json.dumps([tool.parameters, tool.metadata.extra])

    def spoil(value):
        for inner in list(value.values()) if isinstance(value, dict) else value:
            if isinstance(inner, (dict, list)):
                spoil(inner)
        value.clear()
    first = json.dumps(build_tool_schemas([tool], api_format=api_format))
    for options in ({}, {"strict": STRICT_IS_HERE}, {"think_augment": True}):
        spoil(build_tool_schemas([tool], api_format=api_format, **options))
    assert json.dumps(build_tool_schemas([tool], api_format=api_format)) == first
    assert json.dumps([tool.parameters, tool.metadata.extra]) == before


@pytest.mark.parametrize("api_format", API_FORMATS)
@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_no_parameters_are_spelled_as_each_api_accepts_them(parameters, api_format):
    sent = parameters_as(api_format, parameters)
    assert sent == (None if api_format == "gemini" else {"type": "object", "properties": {}})


@pytest.mark.parametrize("name, words", [("get_weather", "get weather"), ("a-b__c", "a b c"), ("_", "_")])
def test_a_tool_without_description_is_sent_with_its_name_in_words(name, words):
    for api_format in API_FORMATS:
        schema, = build_tool_schemas([tool_taking({}, name, "")], api_format=api_format)
        assert schema.get("function", schema)["description"] == words


def test_strict_false_is_sent_as_it_is_said():
    assert build_tool_schemas([tool_taking(CITY_ONLY)], strict=False)[0]["function"]["strict"] is False
    assert build_tool_schemas([tool_taking(CITY_ONLY, strict=False)])[0]["function"]["strict"] is False


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from(["title", "type", "properties", "$ref", "default", "enum", "items", "required",
                                        "anyOf"]),
                       st.sampled_from(["string", "integer", "boolean"]), min_size=1))
def test_a_parameter_name_is_never_mistaken_for_a_keyword(types):
    parameters = {"type": "object", "properties": {name: {"type": kind} for name, kind in types.items()},
                  "required": [*types],
                  "additionalProperties": False}
    for api_format in API_FORMATS:
        for strict in (None, STRICT_IS_HERE):
            sent = parameters_as(api_format, parameters, strict=strict)
            assert {name: each["type"] for name, each in sent["properties"].items()} == types
            assert set(sent["required"]) == set(types)


CHOICES_AS = {                              # of a word each, of a name, and of several
    "openai-chat": ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}, {
        "type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
            {"type": "function", "function": {"name": name}} for name in "fg"]}}],
}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_tool_choice_is_spelled_as_each_api_wants_it(api_format):
    auto, none, required, named, several = CHOICES_AS[api_format]
    choices = [build_tool_choice(choice, api_format=api_format) for choice in ("auto", "none", "required", "any", "f")]
    assert choices == [auto, none, required, required, named] and build_tool_choice(["f"], api_format=api_format) == named
    if several is None:
        with pytest.raises(ValueError, match=f"tool_choice: {api_format} takes one name"):
            build_tool_choice(["f", "g"], api_format=api_format)
    else:
        assert build_tool_choice(iter(["f", "g"]), api_format=api_format) == several


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("choice", ["any tool", "", "größe", None, 5, [], ["f", 5], ["a b"]])
def test_a_tool_choice_that_is_neither_a_word_nor_a_name_is_refused(choice, api_format):
    with pytest.raises(ValueError, match='tool_choice: must be "auto", .* a list of names'):
        build_tool_choice(choice, api_format=api_format)


@pytest.mark.parametrize("api_format", API_FORMATS)
def test_what_a_tool_has_for_an_api_is_added_to_what_is_sent(api_format):
    plain = tool_taking(CITY_ONLY)
    more = {"cache_control": {"type": "ephemeral"}, "examples": [{"city": "Oslo"}]}
    tool = tool_taking(CITY_ONLY, extra={api_format: more, "other": {"a": 1}, "note": "mine"})
    sent, = build_tool_schemas([tool], api_format=api_format)
    assert sent == {**build_tool_schemas([plain], api_format=api_format)[0], **more}
    sent["cache_control"].clear()
    assert tool.metadata.extra[api_format] == more and more["cache_control"]


@pytest.mark.parametrize("says, asked, place", [
    (None, False, None), (None, True, -1), (None, "first", 0), (True, False, -1), (True, True, -1), (True, "first", 0),
    ("first", False, 0), ("first", True, 0), (False, False, None), (False, True, None), (False, "first", None)])
def test_the_reason_is_shown_and_stands_first_as_the_tool_says_or_else_as_asked(says, asked, place):
    parameters = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
    tool = tool_taking({**parameters, "additionalProperties": False}, think_augment=says)
    for api_format in API_FORMATS:
        for strict in (None, STRICT_IS_HERE):
            sent, = build_tool_schemas([tool], api_format=api_format, think_augment=asked, strict=strict)
            sent = sent.get("function", sent)
            names = [*next(sent[key] for key in ("parameters", "input_schema", "parametersJsonSchema", "inputSchema")
                           if key in sent)["properties"]]
            assert sorted(names) == sorted(["city", "days"] + [TOOLCALL_REASON] * (place is not None))
            assert place is None or names[place] == TOOLCALL_REASON


def test_a_reason_that_a_foreign_schema_declares_keeps_its_place():
    declared = {"type": "object", "properties": {"city": {"type": "string"}, TOOLCALL_REASON: {"type": "integer"}}}
    assert [*parameters_as("openai-chat", declared, think_augment="first")["properties"]] == ["city", TOOLCALL_REASON]


@pytest.mark.parametrize("build", [
    lambda: build_tool_schemas([], api_format="openai"), lambda: build_tool_choice("auto", api_format="x"),
    lambda: parse_tool_calls([], api_format=5), lambda: build_assistant_messages([], api_format="x"),
    lambda: build_tool_result_messages([], api_format="x")])
def test_an_unknown_format_is_named_with_those_there_are(build):
    with pytest.raises(ValueError, match="api_format: must be one of openai-chat.*got"):
        build()


ARGUMENTS_TEXT = '{"city": "Oslo"}'
CHAT_CALL = {"id": "i", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS_TEXT}}
SPELLED_MESSAGES = {
    "openai-chat": {
        "plain": {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
        "no type": {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "f", "arguments": {"city": "Oslo"}}}]},
    },
}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_message_is_read_in_every_wrapping(api_format):
    for message in SPELLED_MESSAGES[api_format].values():
        for response in (message, message if isinstance(message, list) else [message]):
            assert [(call.name, call.arguments) for call in parse_tool_calls(response)] == [("f", {"city": "Oslo"})]


WITHOUT_CALLS = {"openai-chat": [
    [], {"role": "assistant", "content": "Hello."}, {"role": "assistant", "content": None, "tool_calls": None},
    {"role": "assistant"}, {"role": "assistant", "content": "Hi.", "tool_calls": []},
]}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_message_without_calls_for_us_gives_none(api_format):
    for response in WITHOUT_CALLS[api_format]:
        assert parse_tool_calls(response) == [] == ToolRegistry().respond(response)


UNREAD = 'api_format=|needs the chapter "spellings"'        # what is said of it, also where that chapter is cut
UNREADABLE = {"openai-chat": [
    None, "f(1)", 5, {}, [{}], [None], [{"name": "f"}], [{"id": "x", "x": 1}],
    [{"role": "user", "content": "Hi."}, SPELLED_MESSAGES["openai-chat"]["plain"]],
    [SPELLED_MESSAGES["openai-chat"]["plain"]] * 2,
    [CHAT_CALL, {"type": "function", "function": None}],
    {"role": "assistant", "tool_calls": 5}, {"role": "assistant", "tool_calls": {"0": CHAT_CALL}},
    {"role": "assistant", "tool_calls": [None]}, {"role": "assistant", "tool_calls": [{"id": "i"}]},
    {"role": "assistant", "content": 5}, {"role": "assistant", "tool_calls": "f(1)"},
    {"role": "assistant", "tool_calls": CHAT_CALL},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"choices": [{"message": {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}}]},
    [{"function_call": {"name": "f", "arguments": '{"x": 1}'}}], [{"function": {"name": "f", "args": {"x": 1}}}],
    {"role": "assistant", "content": [{"text": "Hm."}, {"toolUse": {"toolUseId": "i", "name": "f", "input": {}}}]},
    {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"name": "f", "input": {}}}]}}},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "arguments": {"x": 1}}]},
]}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_what_is_no_message_and_no_call_is_refused_never_guessed(api_format):
    for response in UNREADABLE.get(api_format, ()):
        with pytest.raises(TypeError, match=UNREAD):
            parse_tool_calls(response)


@pytest.mark.parametrize("answer", [
    "hello", None, [], {"choices": []}, {"role": "user", "content": "Hi."}, {"output_text": "Hi."},
    ARGUMENTS_TEXT, {"choices": [{"message": {"role": "user", "content": "x"}}]}],
    ids=str)
def test_an_answer_that_is_no_assistant_message_is_laid_to_the_model(answer):
    text = f'the model gave {json.dumps(answer)} (must be an assistant message, as {{"role": "assistant", "content": …}}; ' \
        "of a stream, collect_stream makes one)"
    for api_format in MESSAGE_FORMATS:
        with pytest.raises(TypeError) as caught:
            run_agent(lambda **_: answer, "Hi.", ToolRegistry(), api_format=api_format)
        assert str(caught.value) == text and caught.value.__cause__


GOES_ON = {"openai-chat": []}              # calls that say that there is more to come


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_call_that_says_it_goes_on_is_never_run_without_the_rest(api_format):
    for part in GOES_ON.get(api_format, ()):
        assert parse_tool_calls([part])[0].arguments == "{"


call_names = st.text("abcdefgh_", min_size=1, max_size=8)
call_values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.floats(allow_nan=False,
                                                                                   allow_infinity=False), max_size=2)
random_calls = st.builds(ToolCall, st.text("ab-", min_size=1, max_size=3), call_names,
                         st.dictionaries(st.text(max_size=5), call_values, max_size=2))


@settings(max_examples=50)
@given(st.lists(random_calls, min_size=1, max_size=4), st.sampled_from(MESSAGE_FORMATS))
def test_calls_survive_the_round_trip_through_every_format(calls, api_format):
    messages = json.loads(json.dumps(build_assistant_messages(calls, api_format=api_format)))
    assert parse_tool_calls(messages, api_format=api_format) == calls == parse_tool_calls(messages)
    results = [ToolResult(call.id, call.name, "é", is_error=not call.arguments) for call in calls]
    assert json.dumps(build_tool_result_messages(results, api_format=api_format))
    mended, read, _ = toolreg._read_turn(messages if api_format == "openai-responses" else messages[0], api_format)
    assert len({call.id for call in read}) == len(calls) == len(parse_tool_calls(mended))
    if len({call.id for call in calls}) == len(calls):
        assert (mended, read) == (messages, calls)


TEXT_IS_KEPT = ["openai-chat"]              # formats whose arguments are text; the others take only objects


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("text", ['{"city": "Os', "[1, 2]", "oops", '"x"'])
def test_a_text_that_is_no_object_survives_where_the_api_has_text(text, api_format):
    message, = build_assistant_messages([ToolCall("i", "f", text)], api_format=api_format)
    kept = text if api_format in TEXT_IS_KEPT else {}
    assert parse_tool_calls([message]) == [ToolCall("i", "f", kept)]


MESSAGES_AS = {                             # the assistant's, the tools'
    "openai-chat": ([{"role": "assistant", "content": "", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": "é"}'}}]}],
     [{"role": "tool", "tool_call_id": "a", "content": "ok"}, {"role": "tool", "tool_call_id": "b", "content": "bad"}]),
}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_messages_are_spelled_as_each_api_wants_them(api_format):
    assistant, tool = MESSAGES_AS[api_format]
    assert build_assistant_messages([ToolCall("a", "f", {"x": "é"})], api_format=api_format) == assistant
    results = [ToolResult("a", "f", "ok"), ToolResult("b", "g", "bad", is_error=True)]
    assert build_tool_result_messages(iter(results), api_format=api_format) == tool
    assert build_assistant_messages([], api_format=api_format) == []
    assert build_tool_result_messages([], api_format=api_format) == []


KEPT_TURNS = {                              # what a model answers -> how it stands in the history
    "openai-chat": [
        ({"role": "assistant", "content": None, "reasoning_content": "…", "tool_calls": [CHAT_CALL]}, ...),
        ({"role": "assistant", "content": "Hello."}, ...),
        ({"role": "assistant", "content": None, "tool_calls": [], "refusal": "No."},      # as servers refuse it
         {"role": "assistant", "content": "", "refusal": "No."}),
        ({"role": "assistant", "content": None, "audio": None}, {"role": "assistant", "content": ""}),
    ],
}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_turn_is_kept_as_it_came_or_translated(api_format):
    for answer, kept in KEPT_TURNS[api_format]:
        kept = answer if kept is ... else kept
        messages, calls, _ = toolreg._read_turn(answer, api_format)
        assert messages == (kept if isinstance(kept, list) else [kept])
        assert [call.name for call in calls] == ["f"] * len(parse_tool_calls(answer))


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_every_call_of_a_turn_gets_an_id_of_its_own_in_a_copy(api_format):
    answer = build_assistant_messages([ToolCall("a", "f", {}), ToolCall("a", "g", {}), ToolCall("b", "h", {})],
                                      api_format=api_format)
    before = json.dumps(answer)
    messages, calls, _ = toolreg._read_turn(answer if api_format == "openai-responses" else answer[0], api_format)
    assert json.dumps(answer) == before and len({call.id for call in calls}) == 3
    assert [calls[0].id, calls[2].id] == ["a", "b"]
    if api_format == "gemini":
        assert [part["functionCall"].get("id") for part in messages[0]["parts"]] == ["a", None, "b"]
    else:
        assert parse_tool_calls(messages) == calls


ANSWERS_AS = {                              # a whole answer, of (its message, why it ended)
    "openai-chat": lambda message, reason: {"choices": [{"message": message, "finish_reason": reason}]}}
CUT_BY, TAKEN_BACK_BY = {"openai-chat": "length"}, {"openai-chat": "content_filter"}


@of("spellings")
@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_cut_answer_runs_only_calls_whose_arguments_came_also_when_it_is_read_again(api_format):
    ran = []
    registry = ToolRegistry()
    registry.register(lambda path="/": ran.append(path), name="wipe")
    calls = [ToolCall("a", "wipe", {"path": "x"}), ToolCall("b", "wipe", {})]
    message = build_assistant_messages(calls, api_format=api_format)
    message = message if api_format == "openai-responses" else message[0]
    answer = ANSWERS_AS[api_format](message, CUT_BY[api_format])
    registry.respond(answer)
    assert ran == ["x"]
    history, read, _ = toolreg._read_turn(answer, api_format)
    assert [call.arguments for call in read] == [{"path": "x"}, "{"] == [call.arguments for call in parse_tool_calls(history)]
    registry.respond(ANSWERS_AS[api_format](message, None))
    assert ran == ["x", "x", "/"]


@of("spellings")
@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_an_answer_that_was_taken_back_runs_no_calls(api_format):
    message = build_assistant_messages([ToolCall("a", "f", {"path": "x"})], api_format=api_format)
    message = message if api_format == "openai-responses" else message[0]
    answer = ANSWERS_AS[api_format](message, TAKEN_BACK_BY.get(api_format))
    assert [call.arguments for call in parse_tool_calls(answer)] == ["{" if api_format in TAKEN_BACK_BY else {"path": "x"}]


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("name", ["multi_tool_use.parallel", "größe", "a b", "x" * 80, "f\n"])
def test_a_name_that_a_model_made_up_is_legal_in_the_history_and_itself_in_the_error(name, api_format):
    answer = build_assistant_messages([ToolCall("a", "f", {})], api_format=api_format)
    answer = json.loads(json.dumps(answer).replace('"f"', json.dumps(name)))
    history, calls, _ = toolreg._read_turn(answer if api_format == "openai-responses" else answer[0], api_format)
    result, = ToolRegistry().execute_tool_calls(calls)
    assert calls[0].name == name and toolreg._shown(name) in result.content
    results = build_tool_result_messages([result], api_format=api_format)
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", parse_tool_calls(history)[0].name)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", found) for found in re.findall('"name": "(.*?)"', json.dumps(results)))


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_lone_surrogates_never_reach_a_message(api_format):
    asked = [ToolCall("\ud800", "f", {"x": "\udfff", "\ud800": [1]}), ToolCall("b", "g", '{"x": "\ud800"')]
    answer = build_assistant_messages(asked, api_format=api_format)
    history, calls, _ = toolreg._read_turn(answer if api_format == "openai-responses" else answer[0], api_format)
    told = [ToolResult(calls[0].id, "f", "a\ud800é"), ToolResult("call_" + 24 * "0", "\ud800", "")]
    results = build_tool_result_messages(told, api_format=api_format)
    assert json.dumps([answer, history, results], ensure_ascii=False).encode()
    assert "a\\ud800é" in str(results).replace("\\\\", "\\")


@pytest.mark.parametrize("api_format", API_FORMATS)
def test_lone_surrogates_of_a_tool_of_a_stranger_never_reach_a_schema(api_format):
    parameters = {"type": "object", "properties": {
        "\ud800": {"enum": ["a", "\udfff"]}, "é": {"$ref": "#/$defs/\ud800"}}, "$defs": {"\ud800": {"description": "\ud800"}}}
    extra = {api_format: {"title": "\ud800"}}
    registry = ToolRegistry([Tool("t", "\ud83c é", parameters, print, ToolMetadata(extra=extra))])
    for schemas in (registry.get_schemas(api_format=api_format), build_tool_schemas(registry, api_format=api_format)):
        text = json.dumps(schemas, ensure_ascii=False)
        assert text.encode() and "\\\\ud83c é" in text and text.count("\\\\ud800") == 5
    assert registry.invoke("t", {"\ud800": "b"}).content.startswith(
        'Error: the arguments do not fit the parameters of "t":\n- ["\\ud800"]: "b" is not one of "a", "\\udfff"\n')


@pytest.mark.parametrize("entry", [{"type": "weird", "id": "w"}, {"type": "weird", "id": "w", "weird": {"name": "f", "input": "x"}}])
def test_what_waits_for_an_answer_is_never_skipped(entry):
    with pytest.raises(TypeError, match=UNREAD):
        parse_tool_calls({"role": "assistant", "tool_calls": [CHAT_CALL, entry]})


def test_a_call_of_an_unknown_type_damages_nobodys_id():
    weird = {**CHAT_CALL, "id": "w", "type": "weird"}
    message = {"role": "assistant", "content": "", "tool_calls": [weird, CHAT_CALL]}
    history, calls, _ = toolreg._read_turn(message, "openai-chat")
    assert history == [message] and [call.id for call in calls] == ["w", "i"]


JUNK = [None, 5, 1e300, "x", "", True, [], {}, [None], [[]], {"type": "function"}, 10**30, ...]      # ...: left out


@st.composite
def spoiled(draw, value):
    """Give a copy of JSON with one thing in it replaced by junk, or left out."""
    if not draw(st.integers(0, 5)) or not value or not isinstance(value, (dict, list)):
        return draw(st.sampled_from(JUNK[:-1]))
    copy, key = value.copy(), draw(st.sampled_from([*value] if isinstance(value, dict) else range(len(value))))
    copy[key] = draw(st.just(...) | spoiled(value[key]))
    if copy[key] is ...:
        del copy[key]
    return copy


@settings(max_examples=100)
@given(st.sampled_from(MESSAGE_FORMATS), st.data())
def test_whatever_a_server_answers_is_read_or_refused_in_clear_words(api_format, data):
    registry = ToolRegistry()
    registry.register(lambda city="": city, name="f")
    plain = [message for message in SPELLED_MESSAGES[api_format].values() if "SdkObject" not in repr(message)]
    message = data.draw(st.sampled_from(plain).flatmap(spoiled))
    try:
        json.dumps([registry.respond(message), toolreg._read_turn(message, api_format)[0]])
    except TypeError as error:
        assert re.search(f"^the model gave |{UNREAD}", str(error)), error


@of("resume")
@pytest.mark.parametrize("arguments, kept", [("", "{"), ("{}", "{"), ({}, {"arguments_as_text": "{"})])
def test_a_cut_call_never_comes_alive_from_the_history_and_an_object_stays_an_object(arguments, kept):
    ran, registry = [], ToolRegistry()
    registry.register(lambda: ran.append(1), name="wipe")
    answer = {"message": {"role": "assistant", "content": "", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "wipe", "arguments": arguments}}]}, "finish_reason": "length"}
    history = run_agent(scripted_model({"choices": [answer]}, "Done."), "Go.", registry)
    assert history[1]["tool_calls"][0]["function"]["arguments"] == kept
    again = run_agent(scripted_model("Done."), json.loads(json.dumps(history[:2])), registry)       # it had crashed
    assert not ran and again[2]["content"] == history[2]["content"]


# ---------------------------------------------------------------------------
# 9. Tools: a function that a model may call
# ---------------------------------------------------------------------------
def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"],
        "additionalProperties": False}


@pytest.mark.parametrize("wished, name", [
    ("get_weather", "get_weather"), ("math.factorial", "math_factorial"), ("a  b//c", "a_b_c"), ("weird!", "weird"),
    ("<lambda>", "lambda"), ("", "tool_000000"), ("天气", "tool_4711bc"), ("x\n", "x"), ("_ok-1", "_ok-1"),
])
def test_a_legal_name_is_made_of_any_text(wished, name):
    assert toolreg._legal_name(wished) == name


@given(st.text(max_size=100), st.booleans())
def test_a_made_name_is_always_legal_and_always_the_same(wished, distinct):
    name = toolreg._legal_name(wished, distinct)
    assert re.match(toolreg._LEGAL_NAME, name) and name == toolreg._legal_name(wished, distinct)
    assert toolreg._legal_name(name) == name


def test_tags_are_a_set_and_one_text_is_one_tag():
    assert ToolMetadata(tags=["a", "b"]).tags == {"a", "b"} and ToolMetadata(tags="ab").tags == {"ab"}


@pytest.mark.parametrize("options, fault", [
    ({"name": "get weather"}, "tool name: must be 1 to 64 of a-z A-Z 0-9 _ - (got \"get weather\"; write name=\"get_weather\")"),
    ({"func": 5}, 'tool "t": func must be callable (got 5)'),
    ({"description": None}, 'tool "t": description must be text (got null)'),
    ({"parameters": []}, 'tool "t": parameters must be a JSON Schema as a dict (got [])'),
])
def test_a_tool_built_by_hand_is_checked(options, fault):
    with pytest.raises(ToolDefinitionError) as caught:
        Tool(**{"name": "t", "description": "", "parameters": {}, "func": print, **options})
    assert str(caught.value) == fault and caught.value.suggestion == ("get_weather" if "name" in options else None)


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"required": True}, {"$ref": "#/nowhere"}, {"properties": {"a": 5}}])
def test_a_tool_with_a_schema_that_is_none_is_refused_when_it_is_made(schema):
    with pytest.raises(ToolDefinitionError, match='tool "t": parameters: '):
        Tool("t", "", schema, print)


def test_properties_without_a_schema_around_them_are_refused():
    with pytest.raises(ToolDefinitionError, match='parameters: city are no keywords .write {"type": "object"'):
        Tool("t", "", {"city": {"type": "string"}}, print)
    assert Tool("t", "", {"not": {"required": ["x"]}}, print) and Tool("t", "", {"properties": {}}, print)


def test_a_tool_shares_no_schema_with_its_maker():
    schema = {"type": "object", "properties": {"a": {"enum": [1]}}}
    tool = Tool("t", "", schema, lambda a: a)
    schema["properties"]["a"]["enum"].append("x")
    with pytest.raises(ToolArgumentError):
        tool.run({"a": "x"})


def test_a_tool_is_called_like_its_function_and_run_like_a_model_calls_it():
    tool = Tool.from_function(add)
    assert (tool.name, tool.description, tool.func) == ("add", "Add two numbers.", add)
    assert tool(1, b=2) == 3 and tool.run({"a": 1}) == 1 and tool.run('{"a": "4", "toolcall_reason": "because"}') == 4
    with pytest.raises(ToolArgumentError):
        tool.run({"a": "4"}, coerce=False)


def test_a_class_is_refused_with_what_to_write():
    with pytest.raises(ToolDefinitionError, match="dict: is a class .write register_from_class"):
        Tool.from_function(dict)
    with pytest.raises(ToolDefinitionError, match="is no function"):
        Tool.from_function(5)


@pytest.mark.parametrize("text, fault", [
    ('{"city": "Os', "the text ends too early (line 1, column 10)"), ("[1]", "[1] is not an object"),
])
def test_arguments_that_are_no_object_are_named(text, fault):
    with pytest.raises(ToolArgumentError) as caught:
        Tool("t", "", CITY, print).run(text)
    assert str(caught.value) == f'the arguments of "t" are not a JSON object: {fault}'


def test_a_renamed_copy_keeps_how_arguments_are_converted():
    def rank(it: Rank, /) -> str:
        return it.name
    tool = dataclasses.replace(Tool.from_function(rank), name="name_of")
    assert tool.run({"it": 2.0}) == "HIGH" and tool.name == "name_of"


def test_what_only_the_conversion_finds_is_told_like_any_other_fault():
    def find(place: Point) -> int:
        return place.x
    tool, far = Tool.from_function(find), {"place": {"x": 101, "y": 0}}
    with pytest.raises(ToolArgumentError) as caught:
        tool.run(far)
    assert str(caught.value).startswith('the arguments do not fit the parameters of "find":\n- place: is refused')
    assert ToolRegistry([find]).invoke("find", far).content == (
        f"Error: {caught.value}\nFix the arguments and call the tool again.")


def test_one_schema_of_a_tool_asks_for_the_reason_only_where_it_is_told_to():
    tool = Tool.from_function(add)
    def properties(**options):
        return list(tool.get_schema(**options)["function"]["parameters"]["properties"])
    assert properties() == ["a", "b"] and properties(think_augment=True) == ["a", "b", TOOLCALL_REASON]


def nothing() -> None:
    """Do nothing."""


def test_what_another_copy_of_the_file_made_is_refused_by_a_sentence(tmp_path, monkeypatch):
    other = load_copy(SOURCE, tmp_path, monkeypatch)
    theirs = other.ToolRegistry([nothing])
    answered = other.ToolResult("c1", "nothing", "x")
    for word, use in [("Tool", lambda: ToolRegistry([theirs["nothing"]])), ("Tool", lambda: ToolRegistry(theirs)),
                      ("Tool", lambda: ToolRegistry().merge(theirs)),
                      ("ToolRegistry", lambda: ToolRegistry().register(theirs)),
                      ("ToolCall", lambda: ToolRegistry([nothing]).invoke(other.ToolCall("c1", "nothing", {}))),
                      ("ToolCall", lambda: ToolRegistry([nothing]).respond([other.ToolCall("c1", "nothing", {})])),
                      ("ToolResult", lambda: build_tool_result_messages([answered]))]:
        with pytest.raises(ToolDefinitionError, match=f"^a {word} of {other.__name__} is of another copy of this file"):
            use()


def test_a_callable_object_of_a_module_that_imports_all_of_ours_is_a_tool(monkeypatch):
    module = types.ModuleType("imports_all")
    monkeypatch.setitem(sys.modules, "imports_all", module)
    exec("from toolreg import *\nclass Adder:\n    def __call__(self, a: int) -> int:\n        return a + 1", vars(module))
    registry = ToolRegistry()
    registry.register(module.Adder(), name="add")
    assert registry.invoke("add", {"a": 1}).content == "2"


# ---------------------------------------------------------------------------
# 10. Registry: names to tools, calls to results
# ---------------------------------------------------------------------------
def get_weather(city: str, days: int = 1, unit: Literal["c", "f"] = "c") -> str:
    """Get the weather."""
    return f"{city} {days} {unit}"


def wire(name, arguments, call_id="call_1"):
    text = arguments if isinstance(arguments, str) or arguments is None else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def weather_registry(**options):
    return ToolRegistry([get_weather, add], **options)


def turns(registry, calls, **options):
    """Give the results of a turn on every path that this copy has."""
    results = [registry.execute_tool_calls(calls, **options)]
    if "async" in HERE_ARE:
        results.append(asyncio.run(registry.aexecute_tool_calls(calls, **options)))
    return results


def invoked(registry, *call):
    """Give the results of one call on every path that this copy has."""
    return [registry.invoke(*call), *([asyncio.run(registry.ainvoke(*call))] if "async" in HERE_ARE else [])]


# --- which tools there are
def test_register_has_four_forms_and_gives_back_what_it_was_given():
    registry = ToolRegistry()

    @registry.register
    def one() -> int:
        return 1

    @registry.register(name="zwei", namespace="n")
    def two() -> int:
        return 2
    tool = Tool("three", "", {}, lambda: 3)
    assert registry.register(add) is add and registry.register(tool) is tool and (one(), two()) == (1, 2)
    assert registry.list_tools() == ["one", "n-zwei", "add", "three"]
    assert registry.get_callable("one") is one and registry["n-zwei"]() == 2 and registry["three"] is tool


def test_a_registry_is_a_container_that_is_always_true():
    registry = ToolRegistry()
    assert registry and len(registry) == 0 and list(registry) == [] and "add" not in registry
    registry.register(add)
    assert len(registry) == 1 and "add" in registry and [tool.name for tool in registry] == ["add"]
    assert registry.get_tool("x") is None and {registry: 1}[registry] == 1 and repr(registry) == "<ToolRegistry: add>"


@pytest.mark.parametrize("tools", ["weather", {"a": add}, 5])
def test_a_registry_has_no_name(tools):
    with pytest.raises(TypeError, match="a registry has no name"):
        ToolRegistry(tools)


def test_what_is_given_by_mistake_is_refused():
    with pytest.raises(ToolDefinitionError, match="is no function"):
        ToolRegistry().register(None)
    with pytest.raises(TypeError, match="namespace: must be text"):
        ToolRegistry().register(add, namespace=True)
    with pytest.raises(ToolDefinitionError, match="inject must be a dict of values"):
        ToolRegistry().register(add, inject=["b"])
    with pytest.raises(ToolDefinitionError, match="metadata must be a ToolMetadata"):
        ToolRegistry().register(add, metadata={"timeout": 5})
    for option in ("before_call", "after_call"):
        with pytest.raises(TypeError, match=f"{option}: must be callable"):
            ToolRegistry(**{option: 5})


@pytest.mark.parametrize("use", [
    lambda r: r["wether"], lambda r: r.get_schemas("wether"), lambda r: r.enable("wether"), lambda r: r.disable("wether"),
    lambda r: r.unregister("wether"), lambda r: r.get_callable("wether")])
def test_unknown_names_raise_and_name_what_there_is(use):
    with pytest.raises(ToolNotFoundError) as caught:
        use(weather_registry())
    assert str(caught.value) == 'there is no tool "wether" (there are: get_weather, add)'


def test_among_thousands_of_tools_the_nearest_names_are_found_at_once():
    registry = ToolRegistry(Tool(f"find_trains_{number}", "", {}, print) for number in range(5_000))
    registry.register(Tool("get_weather", "", {}, print))
    start = time.perf_counter()
    assert registry.invoke("get_wether", {}).content.startswith(
        'Error: there is no tool "get_wether" (there are: get_weather, ')
    assert registry.invoke("get_wether", {}).content.endswith(
        " and 4981 more)\nCall a tool that there is, or answer without one.")
    assert "(there are: find_trains_4321" in registry.invoke("find_train_4321", {}).content
    assert time.perf_counter() - start < 2


def test_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced():
    registry = weather_registry()
    with pytest.raises(ToolDefinitionError, match="already registered: add .write replace=True, or a namespace."):
        registry.register(add)
    registry.register(add, replace=True)
    registry.register(add, namespace="math")
    assert registry.list_tools() == ["get_weather", "add", "math-add"]


def test_registering_many_is_all_or_nothing():
    registry = weather_registry()
    with pytest.raises(ToolDefinitionError, match="already registered: add, new"):
        registry.register_all([Tool("new", "", {}, print), Tool("add", "", {}, print), Tool("new", "", {}, print)])
    assert registry.list_tools() == ["get_weather", "add"]


@pytest.mark.parametrize("option", ["description", "parameters", "inject"])
def test_a_made_tool_is_not_made_again(option):
    with pytest.raises(TypeError, match=f'tool "t": only its name and metadata can be changed here .got {option}; '):
        ToolRegistry().register(Tool("t", "", {}, print), **{option: {"a": "b"}})


def test_merge_copies_tools_and_what_is_disabled_and_leaves_the_other_alone():
    one, other = ToolRegistry([get_weather]), ToolRegistry([add])
    other.disable("add", "later")
    one.merge(other, namespace="math")
    assert one.list_tools() == ["get_weather", "math-add"] and other.list_tools() == ["add"]
    assert "(later)" in one.invoke("math-add", {}).content and len(one.get_schemas()) == 1
    one.merge(other)
    assert one.list_tools() == ["get_weather", "math-add", "add"] and "(later)" in one.invoke("add", {}).content
    with pytest.raises(ToolDefinitionError, match="already registered: add "):
        one.merge(other)


def test_a_disabled_tool_is_not_offered_and_not_run_but_still_there():
    registry = weather_registry()
    registry.disable("add", "it is broken")
    assert len(registry.get_schemas()) == 1 and len(registry) == 2 and "add" in registry
    assert registry.invoke("add", {"a": 1}).content == (
        'Error: the tool "add" is disabled (it is broken) (there are: get_weather)\n'
        "Call a tool that there is, or answer without one.")
    registry.disable("add")
    assert registry.invoke("add", {"a": 1}).content.startswith('Error: the tool "add" is disabled (there are: get_weather)')
    assert registry.get_schemas("add") == []
    registry.enable("add")
    assert registry.invoke("add", {"a": 1}).value == 1 and len(registry.get_schemas()) == 2
    registry.disable("add")
    registry.register(add, replace=True)
    assert registry.invoke("add", {"a": 1}).value == 1


def test_unregister_gives_the_tool_back():
    registry = weather_registry()
    assert registry.unregister("add").func is add and registry.list_tools() == ["get_weather"]


def test_schemas_are_fresh_filtered_by_tag_and_follow_every_change():
    registry = ToolRegistry([get_weather])
    registry.register(add, metadata=ToolMetadata(tags={"math"}))
    registry.get_schemas()[0]["function"]["parameters"]["properties"].clear()
    assert "city" in registry.get_schemas()[0]["function"]["parameters"]["properties"]
    assert [schema["function"]["name"] for schema in registry.get_schemas(tags="math")] == ["add"]
    assert registry.get_schemas(tags=[]) == [] and len(registry.get_schemas("add")) == 1
    registry.enable_think_augment()
    assert TOOLCALL_REASON in registry.get_schemas()[0]["function"]["parameters"]["properties"]
    registry.disable_think_augment()
    assert TOOLCALL_REASON not in registry.get_schemas()[0]["function"]["parameters"]["properties"]
    registry.unregister("add")
    assert len(registry.get_schemas()) == 1


@of("strict")
def test_strict_needs_coercion():
    with pytest.raises(ToolDefinitionError, match="only coerce=True reads back"):
        ToolRegistry([add], coerce=False).get_schemas(strict=True)
    with pytest.raises(ToolDefinitionError, match="only coerce=True reads back"):
        ToolRegistry(coerce=False).register(add, metadata=ToolMetadata(strict=True))


# --- one call
def changes_lists(items: list):
    items.append("S")


def changes_objects(items: dict):
    items["a"][0]["b"] = "S"


def changes_a_union(items: Union[list[str], dict[str, list], None]):
    items.append("S")


def changes_anything(items, **rest: Any):
    items.append("S")
    rest["more"]["x"].append("S")


@pytest.mark.parametrize("func, arguments", [
    (changes_lists, {"items": [1]}), (changes_objects, {"items": {"a": [{"b": 1}]}}), (changes_a_union, {"items": ["a"]}),
    (changes_anything, {"items": [1], "more": {"x": []}}),
    (Tool("by_hand", "", {"properties": {"items": {"type": "array"}}}, changes_lists), {"items": [{}]}),
    (Tool("by_hand", "", {"properties": {"items": {"$ref": "#/$defs/i"}}, "$defs": {"i": {}}, "additionalProperties": False},
          changes_lists), {"items": []}),
    (Tool("by_hand", "", {"patternProperties": {"items": {}}, "additionalProperties": False}, changes_lists), {"items": []}),
])
def test_what_a_function_changes_is_not_changed_in_the_call(func, arguments):
    registry = ToolRegistry([func], after_call=lambda call, result: seen.append(call.arguments))
    calls, seen = [ToolCall("1", registry.list_tools()[0], arguments)], []
    for results in turns(registry, calls):
        assert not results[0].is_error and seen.pop() == calls[0].arguments == arguments
    meddled = registry.copy(before_call=lambda call, reason: call.arguments.clear())
    assert [result.is_error for result in invoked(meddled, calls[0])] == [False] * len(invoked(registry, calls[0]))
    assert calls[0].arguments == arguments


def test_a_call_comes_as_a_tool_call_a_wire_dict_or_a_name():
    registry = weather_registry()
    results = [registry.invoke(ToolCall("call_1", "add", {"a": 1, "b": 2})), registry.invoke(wire("add", {"a": 1, "b": 2})),
               registry.invoke("add", {"a": 1, "b": 2}), registry.invoke("add", '{"a": 1, "b": 2}')]
    assert [(result.content, result.value, result.is_error) for result in results] == [("3", 3, False)] * 4
    for wrong in ([wire("add", {}), wire("add", {})], {}, 5):
        with pytest.raises(TypeError):
            registry.invoke(wrong)
    with pytest.raises(TypeError):
        registry.invoke(wire("add", {}), {"a": 1})


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no")


@pytest.mark.parametrize("error, content", [
    (ValueError("bad"), 'Error: the tool "t" failed: ValueError: bad'), (ValueError(), 'Error: the tool "t" failed: ValueError'),
    (StopIteration("s"), 'Error: the tool "t" failed: StopIteration: s'), (Unprintable(), 'Error: the tool "t" failed: Unprintable'),
    (TimeoutError("own"), 'Error: the tool "t" failed: TimeoutError: own'), (StopAsyncIteration(), 'Error: the tool "t" failed: StopAsyncIteration'),
    (ToolArgumentError("inner"), 'Error: the tool "t" failed: ToolArgumentError: inner'),
])
def test_a_tool_that_raises_is_an_error_result_with_its_text(error, content):
    registry = ToolRegistry()
    registry.register(raising(error), name="t")
    for result in invoked(registry, "t", {}):
        assert result.content == content + "\nIf the arguments are the cause, change them; else go on without it."
        assert result.is_error and result.error is error and result.value is None


def test_a_tool_error_goes_to_the_model_word_for_word():
    registry = ToolRegistry()
    registry.register(raising(ToolError("No {such} city.")), name="t")
    assert registry.invoke("t", {}).content == "No {such} city." and registry.invoke("t", {}).is_error


def test_the_text_for_wrong_arguments_is_this_one():
    result = weather_registry().invoke("get_weather", {"days": "three", "unit": "k", "town": 1})
    assert result.content == """Error: the arguments do not fit the parameters of "get_weather":
- city: is missing
- days: "three" is not an integer
- unit: "k" is not one of "c", "f"
- town: is not allowed here (there are: city, days, unit)
Fix the arguments and call the tool again."""
    assert [error.path for error in result.error.errors] == [("city",), ("days",), ("unit",), ("town",)]


def test_text_that_is_no_object_is_never_run():
    ran = []
    registry = ToolRegistry()
    registry.register(Tool("wipe", "", {"type": "object"}, lambda **kw: ran.append(kw)))
    for text in ('{"a": 1', '{"a": 1}{"a": 2}', '{"a": NaN}', "[1]", "5", "yes", '{"a":' * 10_000, '"\ud800'):
        result = registry.invoke("wipe", text)
        assert result.is_error and result.content.startswith('Error: the arguments of "wipe" are not a JSON object: ')
        assert result.content.endswith("\nFix the arguments and call the tool again.")
    assert ran == []


@pytest.mark.parametrize("coerce, content", [(True, "3"), (False, None)])
def test_coercion_can_be_switched_off(coerce, content):
    result = weather_registry(coerce=coerce).invoke("add", {"a": "1", "b": "2"})
    assert result.content == content if content else result.is_error


@pytest.mark.parametrize("think_augment", [False, True])
def test_the_reason_is_stripped_and_kept_whether_or_not_it_was_asked_for(think_augment):
    seen = []
    registry = ToolRegistry(think_augment=think_augment, before_call=lambda call, reason: seen.append((call, reason)),
                            after_call=lambda call, result: seen.append((call, result.reason)))
    registry.register(Tool("echo", "", {"type": "object", "additionalProperties": INTEGER}, lambda **kw: kw))
    arguments = {"x": "1", "toolcall_reason": "to see"}
    result = registry.invoke("echo", arguments)
    assert result.value == {"x": 1} and result.reason == "to see" and arguments["toolcall_reason"] == "to see"
    assert [(call.arguments, reason) for call, reason in seen] == [({"x": 1}, "to see")] * 2
    wrong = registry.invoke("echo", {"x": "?", "toolcall_reason": "to fail"})
    assert wrong.is_error and wrong.reason == "to fail" and "toolcall_reason" not in wrong.content


@of("roots")
def test_a_reason_that_a_schema_declares_behind_a_reference_stays_an_argument():
    schema = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"toolcall_reason": {"type": "string"}},
                                                   "required": ["toolcall_reason"]}}}
    registry = ToolRegistry([Tool("t", "", schema, lambda **kw: kw)])
    result = registry.invoke("t", {"toolcall_reason": "mine"})
    assert result.value == {"toolcall_reason": "mine"} and result.reason == "mine"


def test_a_hook_that_raises_denies_and_the_tool_does_not_run():
    ran = []
    def guard(call, reason):
        raise {"a": ToolError("Ask the user first."), "b": PermissionError("no")}[call.name]
    registry = ToolRegistry(before_call=guard)
    for name in "ab":
        registry.register(lambda: ran.append(1), name=name)
    assert registry.invoke("a", {}).content == "Ask the user first."
    assert registry.invoke("b", {}).content == 'Error: the call of "b" was not allowed: PermissionError: no\nDo not repeat it as it is.'
    assert ran == [] and registry.invoke("b", {}).is_error


def test_what_after_call_raises_is_raised():
    registry = ToolRegistry([add], after_call=lambda call, result: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        registry.invoke("add", {"a": 1})
    with pytest.raises(ZeroDivisionError) as caught:
        registry.execute_tool_calls([wire("add", {"a": 1}, str(i)) for i in range(3)])
    assert len(caught.value.results) == 3


@pytest.mark.parametrize("value, content", [
    ("北京", "北京"), ("", ""), (None, "null"), ({"a": "é"}, '{"a": "é"}'), ([1, (2, 3)], "[1, [2, 3]]"), (True, "true"),
    (float("nan"), "NaN"), ("\ud800x", "\\ud800x"), (datetime.date(2024, 2, 29), "2024-02-29"), ({1: {2}}, '{"1": [2]}'),
    (["a", "b"], '["a", "b"]'), ([], "[]"), (decimal.Decimal("1.50"), "1.50"), (pathlib.PurePosixPath("/a b"), "/a b"),
    (uuid.UUID(int=0), str(uuid.UUID(int=0))), ([datetime.date(2024, 2, 29)], '["2024-02-29"]'),
])
def test_content_is_text_as_it_is_and_everything_else_as_json(value, content):
    registry = ToolRegistry()
    registry.register(lambda: value, name="t")
    result = registry.invoke("t", {})
    assert result.content == content and not result.is_error and result.value is value and result.media == ()


def test_a_result_without_a_json_form_is_still_a_success():
    class Odd:
        def __repr__(self):
            raise RuntimeError
    cyclic = []
    cyclic.append(cyclic)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    registry = ToolRegistry()
    for name, value in {"odd": Odd(), "cyclic": cyclic, "keys": {(1, 2): Odd()}, "digits": 10 ** 10_000, "deep": deep}.items():
        registry.register(Tool(name, "", {"type": "object"}, lambda value=value: value))
        result = registry.invoke(name, {})
        assert not result.is_error and result.content and result.content.isprintable()


class GridPlace(NamedTuple):
    x: int
    y: int


def test_a_named_tuple_in_a_result_is_an_object_like_in_a_schema():
    assert toolreg._content_of({"at": [GridPlace(1, 2)]}) == '{"at": [{"x": 1, "y": 2}]}'


@given(any_json)
def test_the_fast_way_to_content_gives_what_the_slow_way_gives(value):
    expected = value if isinstance(value, str) else toolreg._write_json(to_json(value))
    assert toolreg._content_of(value) == toolreg._printable(expected)


def test_each_call_runs_in_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    def touch() -> str:
        before = variable.get()
        variable.set("touched")
        return before
    registry = ToolRegistry([touch])
    variable.set("callers")
    calls = [wire("touch", {}, f"touch{i}") for i in range(3)]
    results = [*invoked(registry, calls[0]), *itertools.chain(*turns(registry, calls))]
    assert {result.content for result in results} == {"callers"} and variable.get() == "callers"


# --- time
@pytest.fixture
def threads():
    """Be asked for by tests that need threads without naming them: some hosts have none."""
    return threading


# --- the calls of one turn
def test_iterators_are_made_lists():
    registry = ToolRegistry()
    registry.register(lambda: map(str, range(2)), name="sync")
    assert [result.value for result in invoked(registry, "sync", {})] == [["0", "1"]] * len(turns(registry, []))


def test_other_threads_may_register_while_schemas_are_made_and_calls_answered():
    registry, faults, stop = weather_registry(), [], threading.Event()
    def change():
        while not stop.is_set():
            registry.register(Tool("new", "", {}, print), replace=True)
            registry.unregister("new")
    def read():
        try:
            for _ in range(150):
                registry.get_schemas()
                registry.invoke("nothing", {})
        except Exception as error:
            faults.append(error)
    changer = threading.Thread(target=change)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for thread in [changer, *readers]:
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    changer.join()
    assert faults == [] and len(registry.get_schemas()) == 2


@pytest.fixture
def no_threads(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(toolreg, "_WORKERS", {})


def boom(x: int) -> int:
    raise ValueError(f"boom {x}")


class Sealed(BaseException):
    __slots__ = ()

    @property
    def results(self):
        raise AttributeError("none here")


def test_a_stop_iteration_of_after_call_does_not_end_a_loop_over_calls():
    said = iter([1])
    registry = ToolRegistry([add], after_call=lambda call, result: next(said))
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        list(map(registry.invoke, [wire("add", {"a": 1})] * 3))


def test_an_exception_of_an_inner_turn_keeps_its_results():
    def stop() -> None:
        raise KeyboardInterrupt
    def seal() -> None:
        raise Sealed
    inner = ToolRegistry([stop, seal, add], max_workers=1)
    def outer() -> None:
        inner.execute_tool_calls([wire("add", {"a": 1, "b": 2}), wire("stop", {})])
    with pytest.raises(KeyboardInterrupt) as caught:
        ToolRegistry([outer]).invoke("outer", {})
    assert [result and result.content for result in caught.value.results] == ["3", None]
    with pytest.raises(Sealed):
        inner.execute_tool_calls([wire("seal", {}), wire("add", {"a": 1, "b": 2})])


# --- the routing step as a whole
def test_respond_is_the_whole_routing_step():
    registry = weather_registry()
    message = {"role": "assistant", "content": None, "tool_calls": [wire("add", {"a": 1}, "x"), wire("get_weather", {"city": "Oslo"}, "y")]}
    answers = [{"role": "tool", "tool_call_id": "x", "content": "1"}, {"role": "tool", "tool_call_id": "y", "content": "Oslo 1 c"}]
    ways = [registry.respond(message), *([asyncio.run(registry.arespond(message))] if "async" in HERE_ARE else [])]
    for got in ways:
        assert [{key: each[key] for key in ("role", "tool_call_id", "content")} for each in got] == answers
    assert registry.respond({"role": "assistant", "content": "hello"}) == []
    calls = parse_tool_calls(message)
    both = registry.build_tool_call_messages(calls, registry.execute_tool_calls(calls))
    assert both[0]["role"] == "assistant" and len(both) == 3


# --- many calls of many kinds
CALL_KINDS = {
    "fine": wire("add", {"a": 1, "b": 2}), "text": wire("add", {"a": "1"}), "wrong": wire("add", {"a": "?"}),
    "missing": wire("add", {}), "unknown": wire("nothing", {}), "cut": wire("add", '{"a": 1'), "list": wire("add", "[1]"),
    "raises": wire("boom", {"x": 1}), "reason": wire("add", {"a": 1, "toolcall_reason": "r"}),
    "none": wire("add", None), "stays": wire("stays", {"a": 2}),
}


@settings(max_examples=25)
@given(st.lists(st.sampled_from(sorted(CALL_KINDS)), max_size=8))
def test_all_paths_give_equal_results_one_per_call_in_order(kinds):
    registry = ToolRegistry([add, boom])
    registry.register(add, name="stays", metadata=ToolMetadata(parallel=False))
    calls = [{**CALL_KINDS[kind], "id": f"c{i}"} for i, kind in enumerate(kinds)]
    ways = [[registry.invoke(call) for call in calls], *turns(registry, calls), *turns(registry, calls, max_workers=1)]
    assert all(way == ways[0] for way in ways)
    assert all([type(result.error) for result in way] == [type(result.error) for result in ways[0]] for way in ways)
    assert [result.tool_call_id for result in ways[0]] == [call["id"] for call in calls]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["register", "replace", "unregister", "disable", "enable"]),
                          st.sampled_from("abc")), max_size=15))
def test_a_registry_behaves_like_a_dict_with_a_set_of_disabled_names(steps):
    registry, names, off = ToolRegistry(), [], set()
    for step, name in steps:
        tool = Tool(name, "", {}, print)
        if step == "register" and name in names:
            with pytest.raises(ToolDefinitionError):
                registry.register(tool)
        elif step in ("register", "replace"):
            registry.register(tool, replace=step == "replace")
            names += [name] * (name not in names)
            off = off - {name}
        elif name not in names:
            with pytest.raises(ToolNotFoundError):
                getattr(registry, step)(name)
        else:
            getattr(registry, step)(name)
            off = off | {name} if step == "disable" else off - {name}
            names = [each for each in names if each != name or step != "unregister"]
        assert registry.list_tools() == names
        assert [schema["function"]["name"] for schema in registry.get_schemas()] == [each for each in names if each not in off]


# --- a run's own registry
def test_a_function_that_leaves_to_the_model_what_a_registry_injects_is_named():
    def orders(user_id: str, n: int = 1) -> str:
        return user_id
    told = r'^tool "orders": user_id is in inject=, but the model sets it \(write user_id: Injected\[...\] in the function\)$'
    for attempt in (lambda: ToolRegistry([orders], inject={"user_id": "u-7"}),
                    lambda: ToolRegistry([orders]).copy(inject={"user_id": "u-7"}),
                    lambda: ToolRegistry(inject={"user_id": "u-7"}).register(orders)):
        with pytest.warns(ToolRegWarning, match=told):
            attempt()
    hidden = ToolRegistry()
    hidden.register(orders, inject={"user_id": "the tool's own"})
    assert hidden.copy(inject={"user_id": "u-7"}).invoke("orders", {}).value == "the tool's own"
    foreign = tool_taking({"type": "object", "properties": {"user_id": {}}}, "orders", source="mcp")
    assert ToolRegistry([foreign], inject={"user_id": "u-7"}).invoke("orders", {"user_id": 1}).value == {"user_id": 1}


def whoami(user: Injected[str], greeting: str = "hi") -> str:
    return f"{greeting} {user}"


def test_a_registry_injects_what_tools_declare_and_says_what_it_lacks():
    registry = ToolRegistry([whoami])
    lacking = registry.invoke("whoami", {})
    assert lacking.content == 'Error: the tool "whoami" cannot be called now.\nGo on without it.'
    assert str(lacking.error) == "user: has no value (write inject={'user': ...}, or a default)"
    variable = contextvars.ContextVar("variable", default="ann")
    for inject, content in (({"user": "u-7"}, "hi u-7"), ({"user": variable}, "hi ann")):
        run = registry.copy(inject=inject)
        assert {result.content for result in invoked(run, "whoami", {})} == {content}
        assert "user" not in json.dumps(run.get_schemas())
        assert "user: is not allowed here" in run.invoke("whoami", {"user": "eve"}).content


def test_what_a_tool_injects_itself_is_its_own_but_for_what_it_declares_injected():
    def both(user: Injected[str], key: str) -> str:
        return user + key
    registry = ToolRegistry(inject={"user": "run", "key": "run"})
    registry.register(both, inject={"user": "tool", "key": "tool"})
    assert registry.invoke("both", {}).value == "runtool"


def test_a_copy_has_the_same_tools_and_other_options_and_goes_its_own_way():
    seen = []
    shared = weather_registry(inject={"x": 1}, max_workers=3, coerce=False)
    shared.disable("add", "later")
    run = shared.copy(inject={"y": 2}, before_call=lambda call, reason: seen.append(call.name), max_result=5)
    assert (run.inject, run.max_workers, run.coerce, run.max_result) == ({"x": 1, "y": 2}, 3, False, 5)
    assert run.invoke("add", {"a": 1}).is_error and run.list_tools() == shared.list_tools()
    assert len(run.get_schemas()) == 1 and seen == []
    run.enable("add")
    shared.unregister("get_weather")
    run.register(raising(ValueError()), name="new")
    assert run.list_tools() == ["get_weather", "add", "new"] and shared.list_tools() == ["add"]
    assert shared.get_schemas() == [] and shared.inject == {"x": 1} and shared.before_call is None
    with pytest.raises(TypeError):
        shared.copy(nonsense=1)
    with pytest.raises(TypeError, match="inject: must be a dict"):
        ToolRegistry(inject=["a"])


def test_a_copy_of_a_subclass_keeps_what_its_constructor_made():
    class Mine(ToolRegistry):
        def __init__(self, name):
            super().__init__([add])
            self.name = name
    run = Mine("x").copy(max_result=9)
    assert (type(run), run.name, run.max_result, run.list_tools()) == (Mine, "x", 9, ["add"])


def test_a_result_that_is_too_long_is_cut_and_says_by_how_much():
    registry = ToolRegistry(max_result=4)
    registry.register(lambda n: "x" * n, name="t")
    registry.register(raising(ToolError("y" * 6)), name="fails")
    assert registry.invoke("t", {"n": 4}).content == "xxxx" and registry.invoke("t", {"n": 9}).value == "x" * 9
    for result in invoked(registry, "t", {"n": 9}):
        assert result.content == "xxxx\n[cut here: 5 more characters]"
    assert registry.invoke("fails", {}).content == "yyyy\n[cut here: 2 more characters]"
    with pytest.raises(ValueError, match="max_result"):
        ToolRegistry(max_result=0)


@pytest.mark.parametrize("make", [
    lambda: ErrorOfAnApi({"msg": "no"}), lambda: ErrorOfAnApi({"subgroup": None, "exceptions": 5}),
    lambda: GroupThatRaises("x"), ErrorWithoutText])
def test_an_exception_whose_attributes_raise_is_the_result_of_its_call_alone(make, caplog, monkeypatch):
    error = make()
    monkeypatch.setattr(caplog.handler, "emit", lambda record: error.code)      # what reports errors asks for more
    registry = ToolRegistry([Tool("fail", "", {}, raising(error)), add])
    for results in turns(registry, [wire("fail", {}), wire("add", {"a": 1}, "2")]):
        assert [(result.is_error, result.error) for result in results] == [(True, error), (False, None)]
        assert results[0].content.startswith('Error: the tool "fail" failed: ' + type(error).__name__)
    for result in invoked(registry.copy(before_call=raising(error)), "add", {"a": 1}):
        assert result.error is error and "was not allowed: " + type(error).__name__ in result.content
    with pytest.raises(type(error)) as caught:
        registry.copy(after_call=raising(error)).invoke("add", {"a": 1})
    assert caught.value is error and error.results == [None]


def test_a_failure_is_one_warning_with_its_traceback_and_what_a_tool_says_is_none(caplog):
    registry = ToolRegistry([add])
    registry.register(raising(ValueError("bad")), name="fails")
    registry.register(raising(ToolError("told")), name="says")
    for result in (*invoked(registry, "says", {}), *invoked(registry, "nothing", {}), *invoked(registry, "add", {})):
        assert result.is_error and not caplog.records
    results = invoked(registry, "fails", {})
    assert len(caplog.records) == len(results)
    for record in caplog.records:
        assert (record.name, record.levelname, record.getMessage()) == ("toolreg", "WARNING", 'the tool "fails" failed')
        assert record.exc_info[0] is ValueError


def test_a_result_says_how_long_its_call_took():
    registry = ToolRegistry()
    registry.register(lambda: time.sleep(0.02), name="t")
    assert all(0.02 <= result.seconds < 10 for result in invoked(registry, "t", {}))
    assert 0 < registry.invoke("nothing", {}).seconds < 10


# --- the reason first
@pytest.mark.parametrize("registry_says, tool_says, order", [
    ("first", None, [TOOLCALL_REASON, "a", "b"]), (True, "first", [TOOLCALL_REASON, "a", "b"]),
    ("first", True, [TOOLCALL_REASON, "a", "b"]), (True, True, ["a", "b", TOOLCALL_REASON]), ("first", False, ["a", "b"]),
    (False, "first", [TOOLCALL_REASON, "a", "b"]), (False, None, ["a", "b"]), (False, True, ["a", "b", TOOLCALL_REASON]),
    (True, None, ["a", "b", TOOLCALL_REASON]), (True, False, ["a", "b"])])
def test_the_tool_decides_about_the_reason_before_the_registry_does(registry_says, tool_says, order):
    registry = ToolRegistry()
    registry.enable_think_augment(registry_says)        # or not, where it says False
    registry.register(add, metadata=ToolMetadata(think_augment=tool_says))
    assert list(registry.get_schemas()[0]["function"]["parameters"]["properties"]) == order
    assert registry.invoke("add", {TOOLCALL_REASON: "why", "a": 1}).reason == "why"


@pytest.mark.parametrize("make", [
    lambda: ToolMetadata(think_augment="last"), lambda: ToolRegistry(think_augment="last"),
    lambda: ToolRegistry().enable_think_augment("last"), lambda: build_tool_schemas([], think_augment="last")])
def test_any_other_place_of_the_reason_is_refused(make):
    with pytest.raises(ToolDefinitionError, match='think_augment: must be True, False or "first" .got "last".'):
        make()


def test_what_needs_a_chapter_that_was_cut_is_refused_with_its_name(tmp_path, monkeypatch):
    core = load_copy(CORE, tmp_path, monkeypatch)
    async def later() -> int:
        return 1
    tool, registry = core.Tool("t", "", {}, lambda: 1), core.ToolRegistry()
    for refused, word in ((lambda: core.Tool.from_function(later), "await"), (lambda: registry.register(later), "await"),
                          (lambda: core.Tool("t", "", {}, later), "await"), (lambda: tool.arun({}), "arun"),
                          (lambda: registry.ainvoke("t", {}), "ainvoke"), (lambda: core.arun_agent, "arun_agent")):
        with pytest.raises((core.ToolDefinitionError, AttributeError), match=f'"{word}" needs the chapter "async"'):
            refused()
    with pytest.raises(core.ToolDefinitionError, match='"timeout" needs the chapter "elsewhere" .cut from this copy.'):
        core.ToolMetadata(timeout=5)
    for refused in (lambda: core.ToolRegistry(executor=5), lambda: registry.execute_tool_calls([], executor=5)):
        with pytest.raises(TypeError, match='"executor" needs the chapter "elsewhere"'):
            refused()
    class Later:
        def __await__(self):
            yield
    registry.register(lambda: Later(), name="late")
    result = registry.invoke("late", {})
    assert result.is_error and '"await" needs the chapter "async" (cut from this copy)' in result.content


def test_32_tools_that_meet_return_on_all_paths():
    barrier = threading.Barrier(32, timeout=10)
    registry = ToolRegistry()
    registry.register(lambda: barrier.wait() >= 0, name="meet")
    calls = [wire("meet", {}, str(i)) for i in range(32)]
    assert all(result.value is True for result in itertools.chain(*turns(registry, calls)))


def test_worker_threads_are_kept_for_the_next_turn(monkeypatch):
    monkeypatch.setattr(toolreg, "_WORKERS", {})
    registry = ToolRegistry()
    registry.register(lambda: threading.current_thread(), name="where")
    seen = set()
    for _ in range(20):
        seen |= {result.value for result in registry.execute_tool_calls([wire("where", {}, str(i)) for i in range(8)])}
    assert len(seen) <= 24                  # of 160 calls; one that is about to wait again may be passed over


def test_a_worker_thread_that_waits_in_vain_ends(monkeypatch):
    monkeypatch.setattr(toolreg, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr(toolreg, "_WORKERS", {})
    registry = ToolRegistry()
    registry.register(lambda: threading.current_thread(), name="where")
    thread = registry.execute_tool_calls([wire("where", {}, "1"), wire("where", {}, "2")])[0].value
    thread.join(10)
    assert not thread.is_alive()
    assert registry.execute_tool_calls([wire("where", {}, "1"), wire("where", {}, "2")])[0].value is not thread


def test_a_worker_thread_that_waits_keeps_nothing_alive():
    class Value:
        pass
    registry = ToolRegistry()
    registry.register(Tool("make", "", {}, Value))
    kept = [weakref.ref(result.value) for result in registry.execute_tool_calls([wire("make", {})] * 2)]
    patience = time.monotonic() + toolreg.IDLE_SECONDS / 2          # it may still be on its way to wait
    while any(each() for each in kept) and time.monotonic() < patience:
        time.sleep(0.001)
    assert [each() for each in kept] == [None, None]


def test_at_most_max_workers_run_at_once():
    running, most, lock = [0], [0], threading.Lock()
    def busy() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.002)
        with lock:
            running[0] -= 1
    registry = ToolRegistry([busy], max_workers=3)
    calls = [wire("busy", {}, str(i)) for i in range(20)]
    turns(registry, calls)
    assert 1 < most[0] <= 3
    for wrong in (0, "3", True):
        with pytest.raises(ValueError):
            registry.execute_tool_calls(calls, max_workers=wrong)


def test_tools_that_must_not_be_moved_run_on_the_callers_thread():
    def where() -> int:
        return threading.get_ident()
    registry = ToolRegistry([where])
    registry.register(where, name="stays", metadata=ToolMetadata(parallel=False))
    calls = [wire("stays", {}, "1"), wire("where", {}, "2"), wire("stays", {}, "3"), wire("where", {}, "4")]
    here = threading.get_ident()
    for results in turns(registry, calls):
        assert [result.value == here for result in results] == [True, False, True, False]
    assert {result.value for result in registry.execute_tool_calls(calls, max_workers=1)} == {here}
    assert registry.invoke("where", {}).value == here


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_ctrl_c_in_a_tool_passes_through_at_once_and_carries_the_results(stop):
    release = threading.Event()
    def wait() -> None:
        release.wait(20)
    registry = ToolRegistry([add, wait])
    registry.register(raising(stop()), name="stop")
    calls = [wire("add", {"a": 1}, "1"), wire("wait", {}, "2"), wire("stop", {}, "3")]
    start = time.monotonic()
    with pytest.raises(stop) as caught:
        registry.execute_tool_calls(calls)
    assert time.monotonic() - start < 10 and caught.value.results[1] is None and len(caught.value.results) == 3
    with pytest.raises(stop):
        registry.invoke(calls[2])
    release.set()


def test_after_an_error_on_a_thread_no_more_calls_are_begun_though_one_is_running_here(threads):
    begun, go_on = [], threading.Event()
    def stop() -> None:
        raise KeyboardInterrupt
    def hold() -> None:
        go_on.wait(20)
    def late() -> None:
        begun.append(1)
    def stays() -> None:
        time.sleep(0.3)                     # the threads have that long to begin what they must not
        go_on.set()
        time.sleep(0.1)
    registry = ToolRegistry([stop, hold, late], max_workers=2)
    registry.register(stays, metadata=ToolMetadata(parallel=False))
    with pytest.raises(KeyboardInterrupt) as caught:
        registry.execute_tool_calls([wire(name, {}, name) for name in ("hold", "stop", "late", "late", "stays")])
    assert begun == [] and [result and result.name for result in caught.value.results] == ["hold", None, None, None, "stays"]


def test_after_ctrl_c_on_this_thread_no_call_that_waits_is_begun():
    begun, two = [], threading.Barrier(3)

    def waits(place: int) -> None:
        begun.append(place)
        if place < 2:
            two.wait(10)
        time.sleep(0.1)

    def stops() -> None:
        two.wait(10)                        # two run beside it, and eight wait
        raise KeyboardInterrupt
    registry = ToolRegistry([waits], max_workers=2)
    registry.register(stops, metadata=ToolMetadata(parallel=False))
    calls = [ToolCall(str(place), "waits", {"place": place}) for place in range(10)] + [ToolCall("x", "stops", {})]
    with pytest.raises(KeyboardInterrupt):
        registry.execute_tool_calls(calls)
    time.sleep(0.5)
    assert sorted(begun) == [0, 1]


def test_after_call_sees_what_ran_whether_or_not_there_is_a_hook_before_it():
    seen = []
    for hook in (None, lambda call, reason: None):
        registry = ToolRegistry([add], before_call=hook, after_call=lambda call, result: seen.append(call.arguments))
        registry.invoke("add", {"a": "3", "toolcall_reason": "why"})
    assert seen == [{"a": 3}] * 2


def test_a_registry_that_is_gone_keeps_no_tool_alive():
    def made():
        tool = Tool("t", "", {}, print)
        registry = ToolRegistry([tool])
        run = registry.copy(max_result=5)
        assert run.get_schemas() == registry.get_schemas() and registry.get_schemas(api_format="openai-chat")
        return weakref.ref(tool)
    gone = made()
    gc.collect()
    assert gone() is None


def test_schemas_are_those_of_now_whatever_was_asked_before():
    registry = weather_registry()
    first = registry.get_schemas()
    first[0].clear()                        # a caller's own copy
    registry.enable_think_augment()
    with_reason = registry.get_schemas()
    registry.disable("add")
    assert TOOLCALL_REASON in json.dumps(with_reason) and len(registry.get_schemas()) == len(with_reason) - 1
    registry.disable_think_augment()
    registry.enable("add")
    assert registry.get_schemas() == weather_registry().get_schemas()


# ---------------------------------------------------------------------------
# 11. The loop: the message flow
# ---------------------------------------------------------------------------
def calls_message(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def history_faults(messages):
    """Say where a history breaks the rule: each call answered once, right after its message."""
    faults, at = [], 0
    while at < len(messages):
        message, at = messages[at], at + 1
        asked = [call["id"] for call in message.get("tool_calls") or []]
        answered = []
        while asked and at < len(messages) and messages[at]["role"] == "tool":
            answered.append(messages[at]["tool_call_id"])
            at += 1
        if asked != answered or len(set(asked)) != len(asked) or message["role"] == "tool":
            faults.append((asked, answered))
    return faults


def test_the_loop_runs_to_the_answer_and_leaves_the_callers_list_alone():
    registry = weather_registry()
    model = scripted_model(ToolCall("c1", "get_weather", {"city": "Oslo"}), "It is fine.")
    messages = [{"role": "user", "content": "weather?"}]
    history = run_agent(model, messages, registry)
    assert len(messages) == 1 and [message["role"] for message in history] == ["user", "assistant", "tool", "assistant"]
    assert history[2]["content"] == "Oslo 1 c" and history[-1]["content"] == "It is fine."
    assert history_faults(history) == []


def test_a_model_reads_its_errors_and_may_try_again():
    def correct(messages):
        assert '- city: is missing' in messages[-1]["content"]
        return ToolCall("c2", "get_weather", {"city": "Oslo"})
    history = run_agent(scripted_model(ToolCall("c1", "get_weather", {"town": "Oslo"}), correct, "ok"), "go", weather_registry())
    assert history[4]["content"] == "Oslo 1 c" and history[-1]["content"] == "ok"


def test_at_the_limit_the_error_carries_a_history_that_is_whole():
    asked = []
    def endless(*, messages, **_):
        asked.append(1)
        return calls_message(wire("add", {"a": 1}, f"c{len(asked)}"))
    with pytest.raises(MaxTurnsExceeded) as caught:
        run_agent(endless, "go", weather_registry(), max_turns=3)
    assert len(asked) == 3 and len(caught.value.messages) == 7 and history_faults(caught.value.messages) == []


@pytest.mark.parametrize("options, error", [
    ({"max_turns": 0}, ValueError), ({"max_turns": "3"}, ValueError), ({"tool_choice": "nothing"}, ToolNotFoundError),
    ({"turns": 3}, TypeError)])
def test_options_that_cannot_be_are_refused_before_the_model_is_asked(options, error):
    with pytest.raises(error):
        agent_loop(lambda **_: pytest.fail("asked"), "go", weather_registry(), **options)


@pytest.mark.parametrize("model, registry, fault", [
    (5, ToolRegistry(), "model: must be callable"), (print, [add], "registry: must be a ToolRegistry")])
def test_a_model_and_a_registry_that_are_none_are_named(model, registry, fault):
    with pytest.raises(TypeError, match=fault):
        run_agent(model, "go", registry)


def recorder(*answers):
    model, seen = scripted_model(*answers), []
    def recording(**asked):
        seen.append(asked)
        return model(**asked)
    return recording, seen


def test_the_model_is_given_messages_tools_and_choice():
    model, seen = recorder("hello")
    registry = weather_registry()
    run_agent(model, "go", registry)
    assert seen == [{"messages": [{"role": "user", "content": "go"}], "tools": registry.get_schemas(), "tool_choice": "auto"}]
    model, seen = recorder("hello")
    run_agent(model, "go", ToolRegistry())
    assert list(seen[0]) == ["messages"]    # nor a choice without tools


@pytest.mark.parametrize("choice, first", [
    ("required", "required"), ("any", "required"), ("add", {"type": "function", "function": {"name": "add"}})])
def test_a_forced_choice_holds_until_a_call_fitted(choice, first):
    model, seen = recorder(ToolCall("1", "add", {}), ToolCall("2", "add", {"a": 1}), "ok")
    run_agent(model, "go", weather_registry(), tool_choice=choice)
    assert [asked["tool_choice"] for asked in seen] == [first, first, "auto"]


def test_a_model_that_ignores_a_forced_choice_and_answers_is_final():
    assert run_agent(scripted_model("no"), "go", weather_registry(), tool_choice="required")[-1]["content"] == "no"


def test_while_no_tool_is_to_be_called_calls_are_answered_and_not_run():
    ran = []
    registry = ToolRegistry()
    registry.register(lambda: ran.append(1), name="f")
    model, seen = recorder(ToolCall("1", "f", {}), "ok")
    history = run_agent(model, "go", registry, tool_choice="none")
    assert history[2]["content"] == "Error: no tool was to be called now.\nAnswer without one." and ran == []
    assert [asked["tool_choice"] for asked in seen] == ["none", "none"] and history_faults(history) == []


def test_while_a_tool_is_asked_for_by_name_the_others_are_not_run():
    model = scripted_model([ToolCall("1", "get_weather", {"city": "Oslo"}), ToolCall("2", "add", {"a": 1})], "ok")
    history = run_agent(model, "go", weather_registry(), tool_choice="add")
    assert history[2]["content"] == 'Error: only the tool "add" was to be called now.\nCall that one.'
    assert history[3]["content"] == "1" and history_faults(history) == []


def test_calls_without_ids_or_with_one_id_get_their_own_in_a_copy():
    reply = calls_message(wire("add", {"a": 1}, None), wire("add", {"a": 2}, "x"), wire("add", {"a": 3}, "x"))
    del reply["tool_calls"][0]["id"]
    before = json.dumps(reply)
    history = run_agent(scripted_model(reply, "ok"), "go", weather_registry())
    assert json.dumps(reply) == before and history_faults(history) == []
    assert [message["content"] for message in history if message["role"] == "tool"] == ["1", "2", "3"]


def test_the_assistant_message_is_kept_as_it_came():
    reply = {**calls_message(wire("add", {"a": 1}), content="thinking"), "extra": {"signature": "abc"}}
    assert run_agent(scripted_model(reply, "ok"), "go", weather_registry())[1] == reply


def loops(model, messages, registry, **options):
    """Give the new messages of a run on every path that this copy has; the model is made anew for each."""
    async def alist():
        return [message async for message in aagent_loop(model(), messages, registry, **options)]
    return [list(agent_loop(model(), messages, registry, **options)),
            *([asyncio.run(alist())] if "async" in HERE_ARE else [])]


def test_a_choice_may_be_a_list_of_names():
    calls = [ToolCall("1", "get_weather", {"city": "Oslo"}), ToolCall("2", "add", {"a": 1})]
    model, seen = recorder(calls, "ok")
    history = run_agent(model, "go", weather_registry(), tool_choice=["add"])
    assert seen[0]["tool_choice"]["function"] == {"name": "add"} and "only the tool" in history[2]["content"]
    model, seen = recorder(calls, "ok")
    history = run_agent(model, "go", weather_registry(), tool_choice=["add", "get_weather"])
    assert seen[0]["tool_choice"] == "required" and [each["content"] for each in history[2:4]] == ["Oslo 1 c", "1"]
    for wrong, error in (([], ValueError), ([5], ValueError), (["add", "nothing"], ToolNotFoundError)):
        with pytest.raises(error):
            run_agent(model, "go", weather_registry(), tool_choice=wrong)


def test_what_nobody_injects_is_refused_before_the_model_is_asked():
    for run in (agent_loop, run_agent):
        with pytest.raises(ToolDefinitionError, match='tool "whoami": user: has no value'):
            run(lambda **_: pytest.fail("asked"), "go", ToolRegistry([whoami]))
    registry = ToolRegistry([whoami])
    registry.disable("whoami")
    assert run_agent(scripted_model("hi"), "go", registry)[-1]["content"] == "hi"


def test_tools_run_in_the_context_in_which_the_loop_was_called():
    variable = contextvars.ContextVar("variable", default="elsewhere")
    def where() -> str:
        return variable.get()
    def called_there():
        variable.set("called")
        return agent_loop(scripted_model(ToolCall("1", "where", {}), "ok"), "go", ToolRegistry([where]))
    loop = contextvars.copy_context().run(called_there)
    assert [message["content"] for message in loop][1] == "called" and variable.get() == "elsewhere"


@pytest.mark.parametrize("error", [ConnectionError("lost"), KeyboardInterrupt(), StopIteration(), ToolRegError("x")])
def test_whatever_ends_a_run_carries_the_messages(error):
    def fails(messages):
        raise error
    def model():
        return scripted_model(ToolCall("1", "add", {"a": 1}), fails)
    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    with pytest.raises(expected) as caught:
        run_agent(model(), "go", weather_registry())
    assert [message["role"] for message in caught.value.messages] == ["user", "assistant", "tool"]
    if expected is ConnectionError:
        assert caught.value is error
        resumed = run_agent(scripted_model("done"), caught.value.messages, weather_registry())
        assert len(resumed) == 4 and history_faults(resumed) == []


@of("spellings", "resume")
def test_a_history_may_hold_objects_of_an_sdk_and_is_plain_json_afterwards():
    call = SdkObject(id="c", type="function", function=SdkObject(name="add", arguments='{"a": 1}'))
    asked = SdkObject(role="assistant", content=None, tool_calls=[call])
    history = run_agent(scripted_model("ok"), [{"role": "user", "content": "go"}, asked], weather_registry())
    assert [message["role"] for message in history] == ["user", "assistant", "tool", "assistant"]
    assert json.loads(json.dumps(history)) == history


def test_what_is_no_json_in_a_history_that_is_given_is_left_to_the_model():
    picture = {"role": "user", "content": [{"type": "image", "source": {"data": pathlib.Path("x.png")}}]}
    assert run_agent(scripted_model("ok"), [picture], weather_registry())[0] == picture


def test_one_malformed_call_costs_the_others_nothing():
    calls = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
             {"id": "c2", "type": "function", "function": "add"}]
    turn = {"role": "assistant", "content": None, "tool_calls": calls}
    if "spellings" not in HERE_ARE:
        with pytest.raises(TypeError, match="spellings"):
            weather_registry().respond(turn)
        return
    first, second = weather_registry().respond(turn)
    assert (first["tool_call_id"], second["tool_call_id"]) == ("c1", "c2") and "no tool" in second["content"]
    history = run_agent(scripted_model(turn, "ok"), "go", weather_registry())
    assert history[1]["tool_calls"][1]["function"] == {"name": "_", "arguments": "{}"}


@pytest.mark.parametrize("messages", [["q"], [None], None, 5, {"role": "user", "content": "go"}])
def test_what_is_no_list_of_messages_is_refused_before_the_model_is_asked(messages):
    with pytest.raises(TypeError, match=r"messages: must be a list, as \[message\], or a text \(got "):
        run_agent(scripted_model(), messages, weather_registry())


def test_the_format_is_the_models_own_where_none_is_given():
    def model(**asked):
        return {"role": "assistant", "content": str(list(asked))}
    model.api_format = "nonsense"
    with pytest.raises(ValueError, match="api_format: must be one of"):
        run_agent(model, "go", weather_registry())


def test_a_scripted_model_that_has_no_more_answers_says_so():
    with pytest.raises(ToolRegError, match="no more answers .it had 1"):
        run_agent(scripted_model(ToolCall("1", "add", {"a": 1})), "go", weather_registry())


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from(sorted(CALL_KINDS)), max_size=4), max_size=5), st.integers(1, 5),
       st.sampled_from(["auto", "none", "required", "add"]))
def test_every_call_is_answered_once_right_after_its_message(turns, max_turns, choice):
    asked = []
    def model(**_):
        asked.append(1)
        kinds = turns[len(asked) - 1] if len(asked) <= len(turns) else []
        return calls_message(*[{**CALL_KINDS[kind], "id": None if i % 2 else "same"} for i, kind in enumerate(kinds)], content="x")
    try:
        history = run_agent(model, "go", ToolRegistry([add, boom]), max_turns=max_turns, tool_choice=choice)
    except MaxTurnsExceeded as limit:
        history = limit.messages
    assert len(asked) <= max_turns and history_faults(history) == []


# ---------------------------------------------------------------------------
# resume: histories that end in calls without results
# ---------------------------------------------------------------------------
SAID = {"anthropic": {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        "gemini": {"role": "model", "parts": [{"text": "done"}]}}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("answered", [0, 1, 2, 3])
def test_what_is_unanswered_runs_first_and_what_was_answered_never_again(api_format, answered):
    ran = []
    registry = ToolRegistry()
    registry.register(lambda n: ran.append(n) or f"ran {n}", name="f")
    calls = [ToolCall(f"c{n}", "f", {"n": n}) for n in range(3)]
    results = [ToolResult(f"c{n}", "f", f"before {n}") for n in range(answered)]
    user = toolreg._APIS[api_format].user("go")
    messages = [user, *build_assistant_messages(calls, api_format=api_format),
                *build_tool_result_messages(results, api_format=api_format)]
    stored = json.loads(json.dumps(messages))
    said = SAID.get(api_format, {"role": "assistant", "content": "done"})
    history = run_agent(lambda **_: said, stored, registry, api_format=api_format)
    whole = [*results, *(ToolResult(f"c{n}", "f", f"ran {n}") for n in range(answered, 3))]
    assert sorted(ran) == list(range(answered, 3)) and stored == messages
    assert history == [user, *build_assistant_messages(calls, api_format=api_format),
                       *build_tool_result_messages(whole, api_format=api_format), said]
    assert all(new[-1] == said for new in loops(lambda: lambda **_: said, stored, registry, api_format=api_format))


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("parts", [[None], ["hm", [1]], {"text": 5}])
def test_a_history_with_nonsense_in_it_is_for_the_model_to_take(api_format, parts):
    messages = [{"role": "user", "content": parts, "parts": parts}]
    said = SAID.get(api_format, {"role": "assistant", "content": "done"})
    assert run_agent(lambda **_: said, messages, ToolRegistry(), api_format=api_format) == [*messages, said]


def test_a_program_may_stop_before_the_calls_run_and_refuse_or_go_on_later():
    ran = []
    registry = ToolRegistry()
    registry.register(lambda: ran.append(1), name="wipe")
    asked = next(agent_loop(scripted_model(ToolCall("c1", "wipe", {})), "go", registry))
    messages = json.loads(json.dumps([{"role": "user", "content": "go"}, asked]))
    assert ran == []
    refused = build_tool_result_messages([ToolResult("c1", "wipe", "Not approved.", True)])
    assert run_agent(scripted_model("ok"), [*messages, *refused], registry)[2]["content"] == "Not approved." and ran == []
    for new in loops(lambda: scripted_model("ok"), messages, registry):
        assert [message["role"] for message in new] == ["tool", "assistant"]
    assert len(ran) == len(loops(lambda: scripted_model("ok"), [*messages, *refused], registry))


def test_ids_that_come_again_in_a_later_turn_are_other_calls():
    registry = weather_registry()
    turn = build_assistant_messages([ToolCall("same", "add", {"a": 1})])
    done = build_tool_result_messages([ToolResult("same", "add", "1")])
    history = run_agent(scripted_model("ok"), [*turn, *done, *turn], registry)
    assert [message["role"] for message in history] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert len(run_agent(scripted_model("ok"), [*turn, {"role": "user", "content": "no"}], registry)) == 3


def test_without_the_chapter_a_history_that_ends_in_calls_is_refused(tmp_path, monkeypatch):
    core = load_copy(CORE, tmp_path, monkeypatch)
    turn = core.build_assistant_messages([core.ToolCall("c", "f", {})])
    with pytest.raises(core.ToolRegError, match='a history that ends in calls needs the chapter "resume" .cut from this copy'):
        core.run_agent(core.scripted_model("ok"), turn, core.ToolRegistry())
    done = core.build_tool_result_messages([core.ToolResult("c", "f", "1")])
    assert core.run_agent(core.scripted_model("ok"), [*turn, *done], core.ToolRegistry())[-1]["content"] == "ok"


@of("anthropic", "gemini")
@pytest.mark.parametrize("api_format", ["anthropic", "gemini"])
def test_who_appends_what_a_resumed_loop_yields_has_each_answer_once(api_format):
    calls = [ToolCall(f"c{n}", "add", {"a": n}) for n in range(3)]
    kept = [*build_assistant_messages(calls, api_format=api_format),
            *build_tool_result_messages([ToolResult("c0", "add", "no", True)], api_format=api_format)]
    for new in loops(lambda: lambda **_: SAID[api_format], kept, ToolRegistry([add]), api_format=api_format):
        appended = [*kept, *new]
        again = run_agent(lambda **_: SAID[api_format], appended, ToolRegistry([add]), api_format=api_format)
        for history in (appended, again):
            answers = [key for message in history for key in toolreg._answered_in(message, toolreg._APIS[api_format])]
            assert answers == ["c0", "c1", "c2"]
        assert len(again) == 4              # what came apart shares a message when it is sent


@of("anthropic")
def test_a_call_that_was_answered_under_its_legal_id_does_not_run_again():
    turn = {"role": "assistant", "content": [{"type": "tool_use", "id": "functions.add:0", "name": "add", "input": {"a": 1}}]}
    registry = ToolRegistry([add])
    history = [turn, *registry.respond(turn)]
    assert run_agent(lambda **_: SAID["anthropic"], history, registry, api_format="anthropic") == [
        *history, SAID["anthropic"]]


@of("gemini")
def test_an_answer_is_seen_in_the_spelling_of_an_object_too():
    history = [{"role": "model", "parts": [{"function_call": {"name": "add", "id": f"c{n}", "args": {"a": n}}} for n in (1, 2)]},
               {"role": "user", "parts": [{"function_response": {"name": "add", "id": "c1", "response": {}}}]}]
    assert [call.id for call in toolreg._unanswered(history, "gemini")] == ["c2"]


@of("responses")
@pytest.mark.parametrize("call, answer", [
    ({"type": "custom_tool_call", "call_id": "k"}, {"type": "custom_tool_call_output", "call_id": "k", "output": "1"}),
    ({"type": "computer_call", "call_id": "k"}, {"type": "computer_call_output", "call_id": "k", "output": {}}),
    ({"type": "mcp_approval_request", "id": "k"}, {"type": "mcp_approval_response", "approval_request_id": "k"})])
def test_calls_of_other_kinds_that_the_program_answered_wait_no_more(call, answer):
    said = {"type": "message", "role": "assistant", "content": []}
    plain = {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a": 1}'}
    history = run_agent(lambda **_: [said], [call, answer, plain], ToolRegistry([add]), api_format="openai-responses")
    assert [item.get("type") for item in history] == [call["type"], answer["type"], "function_call",
                                                      "function_call_output", "message"]
    with pytest.raises(TypeError, match="a call that nobody here answers"):
        run_agent(lambda **_: [said], [call], ToolRegistry([add]), api_format="openai-responses")


# ---------------------------------------------------------------------------
# async: tools, batches and loops on an event loop
# ---------------------------------------------------------------------------
def test_async_functions_and_generators_run_to_their_end_on_both_paths():
    async def later(x: int) -> int:
        await asyncio.sleep(0)
        return x

    async def agenerate(x: int):
        for i in range(x):
            yield i

    def generate(x: int):
        yield from range(x)

    def hidden(x: int):
        return later(x)

    async def iterates(x: int):
        return iter(range(x))
    for func, value in ((later, 3), (agenerate, [0, 1, 2]), (generate, [0, 1, 2]), (hidden, 3), (iterates, [0, 1, 2])):
        tool = Tool.from_function(func)
        assert tool.run({"x": 3}) == value and asyncio.run(tool.arun({"x": 3})) == value


def test_the_background_loop_is_kept_between_calls():
    async def which() -> int:
        return id(asyncio.get_running_loop())
    tool = Tool.from_function(which)
    assert tool.run({}) == tool.run({})


def test_hooks_may_be_async_on_both_paths():
    seen = []
    async def hook(call, other):
        await asyncio.sleep(0)
        seen.append(call.name)
    registry = ToolRegistry([add], before_call=hook, after_call=hook)
    assert asyncio.run(registry.ainvoke("add", {"a": 1})).value == 1 and registry.invoke("add", {"a": 1}).value == 1
    assert seen == ["add"] * 4


def test_after_call_sees_what_ran_on_an_event_loop_too():
    seen = []
    for hook in (None, lambda call, reason: None):
        registry = ToolRegistry([add], before_call=hook, after_call=lambda call, result: seen.append(call.arguments))
        asyncio.run(registry.ainvoke("add", {"a": "3", "toolcall_reason": "why"}))
    assert seen == [{"a": 3}] * 2


def test_ctrl_c_in_an_async_tool_passes_through_and_the_next_call_still_works():
    registry = ToolRegistry([add])
    @registry.register
    async def stop() -> None:
        raise SystemExit(3)
    @registry.register
    async def fine() -> int:
        return 1
    with pytest.raises(SystemExit):
        registry.invoke("stop", {})
    assert registry.invoke("fine", {}).value == 1


def test_an_async_tool_that_calls_async_tools_from_sync_code_is_no_deadlock(threads, own_loop):
    registry = ToolRegistry([add])
    @registry.register
    async def leaf() -> int:
        return 1
    @registry.register
    async def outer() -> list:
        calls = [wire("leaf", {}, "1"), wire("add", {"a": 2}, "2"), wire("leaf", {}, "3")]
        return [result.content for result in registry.execute_tool_calls(calls)] + [registry["leaf"].run({})]
    assert registry.invoke("outer", {}).value == ["1", "2", "1", 1]



def test_the_loop_goes_on_while_a_sync_tool_runs():
    release = threading.Event()
    registry = ToolRegistry()
    registry.register(lambda: release.wait(10), name="wait")
    async def main():
        task = asyncio.ensure_future(registry.ainvoke("wait", {}))
        await asyncio.sleep(0.01)
        release.set()
        return await task
    assert asyncio.run(main()).value is True


def test_the_async_twin_gives_the_same_history_with_sync_and_async_models():
    async def amodel(**asked):
        await asyncio.sleep(0)
        return model(**asked)
    answers = [ToolCall("1", "add", {"a": 1}), [ToolCall("2", "nothing", {}), ToolCall("3", "add", "[")], "ok"]
    histories = [run_agent(scripted_model(*answers), "go", weather_registry()),
                 asyncio.run(arun_agent(scripted_model(*answers), "go", weather_registry()))]
    model = scripted_model(*answers)
    histories.append(asyncio.run(arun_agent(amodel, "go", weather_registry())))
    model = scripted_model(*answers)
    histories.append(run_agent(amodel, "go", weather_registry()))
    assert all(history == histories[0] for history in histories) and histories[0][-1]["content"] == "ok"


def test_async_tools_run_in_a_copy_of_the_callers_context():
    variable = contextvars.ContextVar("variable", default="unset")
    async def touch() -> str:
        before = variable.get()
        variable.set("touched")
        await asyncio.sleep(0)
        assert variable.get() == "touched"
        return before
    registry = ToolRegistry([touch])
    variable.set("callers")
    calls = [wire("touch", {}, f"touch{i}") for i in range(3)]
    results = [*invoked(registry, calls[0]), *itertools.chain(*turns(registry, calls))]
    assert {result.content for result in results} == {"callers"} and variable.get() == "callers"


@settings(max_examples=15)
@given(st.lists(st.sampled_from([*sorted(CALL_KINDS), "later", "fails"]), max_size=8))
def test_async_tools_give_equal_results_on_all_paths(kinds):
    async def later(x: int) -> int:
        await asyncio.sleep(0)
        return x
    async def fails(x: int) -> int:
        raise ValueError(x)
    registry = ToolRegistry([add, boom, later, fails])
    registry.register(add, name="stays", metadata=ToolMetadata(parallel=False))
    calls = [{**CALL_KINDS.get(kind, wire(kind, {"x": 1})), "id": f"c{i}"} for i, kind in enumerate(kinds)]
    async def one_by_one():
        return [await registry.ainvoke(call) for call in calls]
    ways = [[registry.invoke(call) for call in calls], *turns(registry, calls), *turns(registry, calls, max_workers=1),
            asyncio.run(one_by_one())]
    assert all(way == ways[0] for way in ways)
    assert all([type(result.error) for result in way] == [type(result.error) for result in ways[0]] for way in ways)


@pytest.fixture
def own_loop(monkeypatch):
    monkeypatch.setattr(toolreg, "_LOOPS", {})
    monkeypatch.setattr(toolreg, "LOOP_SECONDS", 0.1)


async def anum(n: int = 0) -> int:
    await asyncio.sleep(0)
    return n


def test_a_loop_that_a_tool_blocks_is_left_and_later_calls_have_another(threads, own_loop):
    release = threading.Event()
    async def block() -> None:
        release.wait(20)
    registry = ToolRegistry([anum, block])
    blocked = threading.Thread(target=registry.invoke, args=("block", {}), daemon=True)
    blocked.start()
    time.sleep(0.02)
    start = time.monotonic()
    assert registry.invoke("anum", {"n": 5}).value == 5 and time.monotonic() - start < 10
    release.set()
    blocked.join(10)
    assert not blocked.is_alive()


@pytest.mark.parametrize("leave", [lambda: asyncio.get_running_loop().stop(), sys.exit])
def test_what_ends_the_loop_ends_the_call_that_ran_there_and_not_the_next(threads, own_loop, leave):
    tasks = []
    async def later() -> None:
        leave()
    async def ends() -> None:
        tasks.append(asyncio.ensure_future(later()))
        await asyncio.sleep(10)
    registry = ToolRegistry([anum, ends])
    result = registry.invoke("ends", {})
    assert result.is_error and "CancelledError" in result.content
    assert registry.invoke("anum", {"n": 3}).value == 3
    assert isinstance(tasks[0].exception(), SystemExit) == (leave is sys.exit)      # asked here: it would be logged later


def exit_code_of_child(work):
    """Do some work in a forked child: 7 where it went well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(7)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    for _ in range(6_000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "the child hangs"


def test_a_forked_child_begins_with_loops_and_threads_of_its_own(threads):
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    registry = ToolRegistry([add, anum])
    calls = [wire("anum", {"n": 1}), wire("add", {"a": 1}), wire("anum", {"n": 2})]
    registry.execute_tool_calls(calls)
    def work():
        assert [[result.value for result in results] for results in turns(registry, calls)] == [[1, 1, 2]] * 2
    assert exit_code_of_child(work) == 7


async def cancels_inner() -> None:
    task = asyncio.ensure_future(asyncio.sleep(20))
    task.cancel()
    await task


def raises_cancelled() -> None:
    raise asyncio.CancelledError("mine")


@pytest.mark.parametrize("tool", [cancels_inner, raises_cancelled])
@pytest.mark.parametrize("metadata", [ToolMetadata(), ToolMetadata(parallel=False)])
def test_a_cancellation_that_a_tool_made_is_its_own_error(threads, tool, metadata):
    registry = ToolRegistry([add])
    registry.register(tool, name="t", metadata=metadata)
    for results in (*turns(registry, [wire("add", {"a": 1}), wire("t", {}), wire("add", {"a": 2})]),
                    *turns(registry, [wire("t", {})])):
        assert [result.is_error for result in results] in ([False, True, False], [True])
        assert "CancelledError" in next(result.content for result in results if result.is_error)


@pytest.mark.parametrize("calls", [1, 3])
def test_a_cancelled_task_ends_its_turn_after_the_cleanup_of_its_calls(calls):
    cleaned = []
    async def slow() -> None:
        try:
            await asyncio.sleep(20)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(1)
    registry = ToolRegistry([slow])
    async def main():
        task = asyncio.ensure_future(registry.aexecute_tool_calls([wire("slow", {}, str(i)) for i in range(calls)]))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(cleaned) == calls
    asyncio.run(main())


def test_an_async_loop_is_a_stream_whose_tools_run_in_the_context_of_its_call():
    variable = contextvars.ContextVar("variable", default="elsewhere")
    async def where() -> str:
        await asyncio.sleep(0)
        return variable.get()
    def called_there():
        variable.set("called")
        return aagent_loop(scripted_model(ToolCall("1", "where", {}), ToolCall("2", "where", {}), "ok"), "go", ToolRegistry([where]))
    async def main():
        return [message async for message in contextvars.copy_context().run(called_there)]
    messages = asyncio.run(main())
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert messages[1]["content"] == messages[3]["content"] == "called"


def test_what_ends_an_async_run_carries_the_messages():
    def fails(messages):
        raise ConnectionError("lost")
    with pytest.raises(ConnectionError) as caught:
        asyncio.run(arun_agent(scripted_model(ToolCall("1", "add", {"a": 1}), fails), "go", weather_registry()))
    assert [message["role"] for message in caught.value.messages] == ["user", "assistant", "tool"]


# ---------------------------------------------------------------------------
# extract: a model's answer as a value of a type
# ---------------------------------------------------------------------------
class Verdict(NamedTuple):
    score: int
    day: datetime.date


@pytest.mark.parametrize("type_, arguments, value", [
    (int, {"value": 5}, 5), (list[int], {"value": ["1", 2]}, [1, 2]), (Optional[str], {"value": None}, None),
    (Verdict, {"score": 3, "day": "2024-02-29"}, Verdict(3, datetime.date(2024, 2, 29))), (dict[str, int], {"a": 1}, {"a": 1})])
def test_a_value_of_a_type_is_extracted_after_what_was_wrong_was_told(type_, arguments, value):
    wrong = ToolCall("1", "answer", {"nonsense": "x"} if type_ is not Verdict else {"score": 1, "day": "2024-02-30"})
    model, seen = recorder(wrong, ToolCall("2", "answer", arguments))
    assert toolreg.extract(model, "go", type_) == value
    assert [asked["tool_choice"]["function"]["name"] for asked in seen] == ["answer"] * 2
    assert "Fix the arguments and call the tool again." in seen[1]["messages"][-1]["content"]


def test_with_a_registry_its_tools_may_be_used_before_the_answer():
    registry = weather_registry()
    model, seen = recorder(ToolCall("1", "add", {"a": 1}), ToolCall("2", "answer", {"value": True}))
    assert toolreg.extract(model, "go", bool, registry=registry) is True
    assert [asked["tool_choice"] for asked in seen] == ["required"] * 2 and "answer" not in registry


@pytest.mark.parametrize("type_, value", [(bool, {"value": True}), (dict[str, int], {"a": 1})])
def test_a_registry_that_has_a_tool_answer_keeps_it_beside_the_one_for_the_answer(type_, value):
    registry = ToolRegistry([Tool("answer", "Answer the phone.", {}, lambda: "hello")])
    name = toolreg._legal_name("answer", distinct=True)
    model, seen = recorder(ToolCall("1", "answer", {}), ToolCall("2", name, value))
    assert toolreg.extract(model, "go", type_, registry=registry) == value.get("value", value)
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == ["answer", name]
    assert seen[1]["messages"][-1]["content"] == "hello"


def test_an_answer_in_words_is_an_error_that_has_the_messages():
    with pytest.raises(ToolRegError, match="answered in words") as caught:
        toolreg.extract(scripted_model("42"), "go", int)
    assert caught.value.messages[-1]["content"] == "42"


def test_a_copy_without_the_chapter_extract_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"extract"}), tmp_path, monkeypatch)
    with pytest.raises(AttributeError, match='"extract" needs the chapter "extract" .cut from this copy.'):
        module.extract(scripted_model("42"), "go", int)


# ---------------------------------------------------------------------------
# elsewhere: timeouts, and executors of concurrent.futures
# ---------------------------------------------------------------------------
@pytest.mark.parametrize("options, fault", [
    *[({"timeout": wrong}, "timeout: must be a number of seconds above 0, "
       f"{threading.TIMEOUT_MAX:.0f} at most (got {json.dumps(wrong)})") for wrong in (0, "3", True, 1e10)],
    ({"timeout": 1, "parallel": False}, "timeout: cannot be kept on the caller's thread (leave out parallel=False)"),
])
def test_metadata_that_cannot_be_kept_is_refused(options, fault):
    with pytest.raises(ToolDefinitionError) as caught:
        ToolMetadata(**options)
    assert str(caught.value) == fault


def test_an_executor_that_is_none_is_refused_at_once():
    with pytest.raises(TypeError, match="executor.submit: must be callable"):
        ToolRegistry(executor="process")
    with pytest.raises(TypeError, match="executor.submit: must be callable"):
        ToolRegistry().execute_tool_calls([], executor=5)


@of("async")
def test_a_tool_that_takes_too_long_is_an_error_and_its_neighbours_are_not():
    release = threading.Event()
    def hang() -> None:
        release.wait(20)
    async def ahang() -> None:
        await asyncio.sleep(20)
    registry = ToolRegistry([add])
    for func in (hang, ahang):
        registry.register(func, metadata=ToolMetadata(timeout=0.05))
    calls = [wire("hang", {}, "1"), wire("ahang", {}, "2"), wire("add", {"a": 1}, "3")]
    start = time.monotonic()
    for results in (registry.execute_tool_calls(calls), asyncio.run(registry.aexecute_tool_calls(calls)),
                    [registry.invoke(call) for call in calls]):
        assert [result.content for result in results] == [
            'Error: the tool "hang" did not finish within 0.05 seconds\nAsk for less at once, or go on without it.',
            'Error: the tool "ahang" did not finish within 0.05 seconds\nAsk for less at once, or go on without it.', "1"]
        assert isinstance(results[0].error, ToolTimeoutError)
    assert time.monotonic() - start < 10
    release.set()


@of("async")
def test_a_timeout_is_kept_for_async_tools_that_block_or_will_not_be_cancelled(threads):
    async def blocks() -> int:
        time.sleep(1.5)
        return 1
    async def goes_on() -> int:
        for _ in range(10):
            try:
                await asyncio.sleep(0.15)
            except asyncio.CancelledError:
                pass
        return 1
    registry = ToolRegistry()
    for func in (blocks, goes_on):
        registry.register(func, metadata=ToolMetadata(timeout=0.1))
    start = time.monotonic()
    results = [registry.invoke("blocks", {}), registry.invoke("goes_on", {})]
    assert time.monotonic() - start < 1.2 and all(isinstance(result.error, ToolTimeoutError) for result in results)
    async def one():
        start = time.monotonic()
        return await registry.ainvoke("goes_on", {}), time.monotonic() - start
    result, seconds = asyncio.run(one())
    assert isinstance(result.error, ToolTimeoutError) and seconds < 1.2


@of("async")
def test_a_timeout_error_of_the_tools_own_is_told_as_its_own(threads):
    registry = ToolRegistry()
    registry.register(raising(TimeoutError("mine")), name="f", metadata=ToolMetadata(timeout=5))
    for result in (registry.invoke("f", {}), asyncio.run(registry.ainvoke("f", {}))):
        assert type(result.error) is TimeoutError and "TimeoutError: mine" in result.content


@of("async")
def test_what_must_be_awaited_more_than_once_is(threads):
    async def inner() -> int:
        return 1
    async def outer():
        return inner()
    async def numbers():
        yield 1
        yield 2
    for func, value in ((outer, 1), (lambda: outer(), 1), (lambda: numbers(), [1, 2])):
        for metadata in (ToolMetadata(), ToolMetadata(timeout=5), ToolMetadata(parallel=False)):
            registry = ToolRegistry()
            registry.register(func, name="f", metadata=metadata)
            assert registry.invoke("f", {}).value == value == asyncio.run(registry.ainvoke("f", {})).value


def test_a_hung_tool_does_not_keep_the_program_alive():
    code = ("import toolreg, time\nr = toolreg.ToolRegistry()\n"
            "r.register(lambda: time.sleep(60), name='hang', metadata=toolreg.ToolMetadata(timeout=0.05))\n"
            "print(r.invoke('hang', {}).is_error)")
    done = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, timeout=30)
    assert done.stdout == "True\n" and done.stderr == ""


@of("async")
def test_an_executor_may_be_given_for_one_turn():
    from concurrent.futures import ThreadPoolExecutor

    def on_thread() -> str:
        return threading.current_thread().name
    registry, calls = ToolRegistry([on_thread]), [wire("on_thread", {})]
    with ThreadPoolExecutor(1, thread_name_prefix="lent") as executor:
        results = [*registry.execute_tool_calls(calls, executor=executor),
                   *asyncio.run(registry.aexecute_tool_calls(calls, executor=executor)), registry.invoke(calls[0])]
    assert [result.content.startswith("lent") for result in results] == [True, True, False]


@of("async")
def test_an_executor_runs_the_functions_and_gives_back_values_and_errors():
    from concurrent.futures import ThreadPoolExecutor
    async def later(x: int) -> int:
        return x
    with ThreadPoolExecutor(2) as executor:
        registry = ToolRegistry([add, boom, later], executor=executor)
        registry.register(lambda: time.sleep(0.5), name="slow", metadata=ToolMetadata(timeout=0.02))
        calls = [wire("add", {"a": "1"}), wire("boom", {"x": 1}), wire("later", {"x": 3}), wire("add", {}), wire("slow", {})]
        for results in (registry.execute_tool_calls(calls), asyncio.run(registry.aexecute_tool_calls(calls))):
            assert [result.value for result in results] == [1, None, 3, None, None]
            assert type(results[1].error) is ValueError and "is missing" in results[3].content
            assert isinstance(results[4].error, ToolTimeoutError)


@of("async")
def test_what_an_importer_made_and_what_must_not_be_moved_stays_here():
    class Refusing:
        def submit(self, *_):
            raise AssertionError("shipped")
    for metadata in (ToolMetadata(source="mcp"), ToolMetadata(parallel=False)):
        registry = ToolRegistry([Tool("here", "", {}, lambda: 1, metadata)], executor=Refusing())
        assert [result.value for result in invoked(registry, "here", {})] == [1, 1]


@of("find", "extract")
def test_what_keeps_something_in_this_process_stays_here():
    class Refusing:
        def submit(self, *_):
            raise AssertionError("shipped")
    registry = search_registry(ToolRegistry([add], executor=Refusing()))
    for type_, value in ((bool, {"value": True}), (dict[str, int], {"a": 1})):
        model = scripted_model(ToolCall("1", "find_tools", {"words": "add"}), ToolCall("2", "answer", value))
        assert toolreg.extract(model, "go", type_, registry=registry) == value.get("value", value)


class Untravelled(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def test_an_exception_that_cannot_travel_is_told_in_words():
    outcome = toolreg._call_shipped(raising(Untravelled(1, 2)), (), {})
    assert type(outcome.error) is ToolRegError and str(outcome.error) == "Untravelled: 1 2"
    outcome = toolreg._call_shipped(threading.Lock, (), {})
    assert type(outcome.error) is ToolRegError and "pickle" in str(outcome.error)


def test_a_batch_within_a_call_on_a_full_executor_runs(threads):
    from concurrent.futures import ThreadPoolExecutor
    def outer() -> list:
        return [result.value for result in registry.execute_tool_calls([wire("add", {"a": 1}), wire("add", {"a": 2})])]
    with ThreadPoolExecutor(1) as executor:
        registry = ToolRegistry([outer, add], executor=executor)
        assert [result.value for result in registry.execute_tool_calls([wire("outer", {})] * 2)] == [[1, 2]] * 2


@of("async")
def test_a_timeout_holds_in_a_sync_call_from_an_async_tool(threads):
    release = threading.Event()
    registry = ToolRegistry()
    registry.register(lambda: release.wait(20), name="hang", metadata=ToolMetadata(timeout=0.05))
    async def outer() -> str:
        return registry.invoke("hang", {}).content
    registry.register(outer)
    assert all("did not finish within 0.05 seconds" in result.content for result in invoked(registry, "outer", {}))
    release.set()


@of("async")
def test_where_threads_do_not_exist_async_tools_keep_their_timeout(no_threads, monkeypatch):
    monkeypatch.setattr(toolreg, "_LOOPS", {})
    registry = ToolRegistry()
    async def slow() -> None:
        await asyncio.sleep(20)
    registry.register(slow, metadata=ToolMetadata(timeout=0.02))
    assert all(isinstance(result.error, ToolTimeoutError) for result in invoked(registry, "slow", {}))


# --- all of it, in any order
class Turmoil(stateful.RuleBasedStateMachine):
    """One registry, used as a server would that lives for months: after each step the next call works."""

    KINDS = {   # tool -> (whether its result is an error, its value)
        "add": (False, 3), "anum": (False, 5), "nothing": (True, None), "boom": (True, None), "cancels_inner": (True, None),
        "raises_cancelled": (True, None), "hang": (True, None), "ahang": (True, None), "nested": (False, [3, 5, None]),
        "anested": (False, [3, 5, None]), "mixed": (False, [3, 3])}
    ARGUMENTS = {"add": {"a": 1, "b": 2}, "anum": {"n": 5}, "boom": {"x": 1}}
    kinds = st.lists(st.sampled_from(sorted(KINDS)), max_size=6)

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.before = set(threading.enumerate())
        for name, value in (("_LOOPS", {}), ("_WORKERS", {}), ("LOOP_SECONDS", 0.3), ("IDLE_SECONDS", 0.05)):
            self.patch.setattr(toolreg, name, value)
        self.release, self.began, self.blocked = threading.Event(), threading.Event(), []
        self.registry = registry = ToolRegistry([add, anum, boom, cancels_inner, raises_cancelled])
        inner = [wire("add", {"a": 1, "b": 2}), wire("anum", {"n": 5}), wire("nothing", {})]

        def hang() -> None:
            self.release.wait(60)
        async def ahang() -> None:
            await asyncio.sleep(60)
        async def block() -> None:
            self.began.set()
            self.release.wait(60)
        def nested() -> list[Any]:
            return [result.value for result in registry.execute_tool_calls(inner)]
        async def anested() -> list[Any]:
            return [result.value for result in await registry.aexecute_tool_calls(inner)]
        async def mixed() -> list[Any]:
            return [result.value for result in registry.execute_tool_calls(inner[:1] * 2)]
        def interrupt() -> None:
            raise KeyboardInterrupt
        for func in (block, nested, anested, mixed, interrupt):
            registry.register(func)
        for func in (hang, ahang):
            registry.register(func, metadata=ToolMetadata(timeout=0.05))

    def calls(self, kinds):
        return [wire(kind, self.ARGUMENTS.get(kind, {}), f"c{place}") for place, kind in enumerate(kinds)]

    def check(self, kinds, results):
        assert [result.tool_call_id for result in results] == [f"c{place}" for place in range(len(kinds))]
        assert [(result.is_error, result.value) for result in results] == [self.KINDS[kind] for kind in kinds]

    @stateful.rule(kinds=kinds, workers=st.sampled_from([None, 1, 2]))
    def turn(self, kinds, workers):
        self.check(kinds, self.registry.execute_tool_calls(self.calls(kinds), max_workers=workers))

    @stateful.rule(kinds=kinds, workers=st.sampled_from([None, 1, 2]))
    def async_turn(self, kinds, workers):
        self.check(kinds, asyncio.run(self.registry.aexecute_tool_calls(self.calls(kinds), max_workers=workers)))

    @stateful.rule(kinds=kinds)
    def cancelled_turn(self, kinds):
        kinds, begun, ended = [*kinds, "waits"], [], []
        async def waits() -> None:
            begun.append(1)
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(1)
        run = self.registry.copy()
        run.register(waits)
        async def main():
            task = asyncio.ensure_future(run.aexecute_tool_calls(self.calls(kinds)))
            while not begun:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            return caught.value
        error = asyncio.run(main())
        assert ended == begun and len(getattr(error, "results", kinds)) == len(kinds)

    @stateful.rule(kinds=kinds)
    def interrupted_turn(self, kinds):
        with pytest.raises(KeyboardInterrupt) as caught:
            self.registry.execute_tool_calls(self.calls([*kinds, "interrupt"]))
        assert len(caught.value.results) == len(kinds) + 1 and caught.value.results[-1] is None

    @stateful.rule()
    def a_loop_is_blocked(self):
        self.began.clear()
        thread = threading.Thread(target=self.registry.invoke, args=("block", {}), daemon=True)
        self.blocked.append(thread)
        thread.start()
        assert self.began.wait(60)

    @stateful.rule(kinds=kinds)
    def forked(self, kinds):
        if hasattr(os, "fork"):
            assert exit_code_of_child(lambda: [self.check(kinds, results) for results in turns(
                self.registry, self.calls(kinds))]) == 7

    @stateful.invariant()
    def the_next_call_works(self):
        self.check(["anum"], [dataclasses.replace(self.registry.invoke("anum", {"n": 5}), tool_call_id="c0")])
        self.check(["add"], [asyncio.run(self.registry.ainvoke(*self.calls(["add"])))])

    def teardown(self):
        self.release.set()
        for thread in self.blocked:
            thread.join(60)
        for _ in range(3_000):              # no thread is left but that of the event loop
            left = [thread for thread in threading.enumerate() if thread not in self.before]
            if len(left) <= 1:
                break
            time.sleep(0.02)
        loop = toolreg._LOOPS.get(os.getpid())
        if loop is not None:
            loop.loop.call_soon_threadsafe(loop.loop.stop)
        self.patch.undo()
        assert all(thread.name == "toolreg-loop" for thread in left) and len(left) <= 1


@of("async")
def test_whatever_happens_each_call_has_one_result_and_nothing_is_left(threads):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of a fork beside threads, and of coroutines whose loop was blocked
        stateful.run_state_machine_as_test(Turmoil, settings=settings(
            max_examples=8, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)))


# ---------------------------------------------------------------------------
# media: results that are no text, or that word their own message
# ---------------------------------------------------------------------------
def test_media_are_bytes_with_a_type_and_are_shown_in_one_line():
    assert repr(Media(b"abc", "image/png")) == "[image/png, 3 bytes]" and Media(bytearray(b"a"), "a/b") == Media(b"a", "a/b")
    for wrong in (("text", "image/png"), (b"x", None)):
        with pytest.raises(TypeError, match="Media: data must be bytes, media_type text"):
            Media(*wrong)


# what an API has no place for stays a line of text
MIXED = ToolResult("i", "f", "see:\n[image/png, 3 bytes]\n[application/pdf, 1 bytes]\n[audio/wav, 2 bytes]", media=(
    Media(b"abc", "image/png"), Media(b"%", "application/pdf"), Media(b"ww", "audio/wav")))
SILENT = ToolResult("i", "f", "", media=(Media(b"abc", "image/png"),))


@pytest.mark.parametrize("value, content, program", [
    (Media(b"abc", "image/png"), "[image/png, 3 bytes]", Media(b"abc", "image/png")),
    (["see:", Media(b"abc", "image/png")], "see:\n[image/png, 3 bytes]", ["see:", Media(b"abc", "image/png")]),
    (Answer(["a", Media(b"abc", "image/png")], 7), "a\n[image/png, 3 bytes]", 7),
    (("see:", Media(b"abc", "image/png")), "see:\n[image/png, 3 bytes]", ("see:", Media(b"abc", "image/png"))),
    (Answer(("a", Media(b"abc", "image/png")), 7), "a\n[image/png, 3 bytes]", 7), (Answer("2 images", [1]), "2 images", [1]),
    (Answer(["a", "b"], 1), "a\nb", 1),
])
def test_media_reach_the_model_as_a_line_and_the_program_as_they_are(value, content, program):
    registry = ToolRegistry()
    registry.register(lambda: value, name="t")
    for result in invoked(registry, "t", {}):
        media = (Media(b"abc", "image/png"),) if "[image" in content else ()
        assert (result.content, result.value, result.media) == (content, program, media)


def looking(sees, media_type="image/png"):
    """Give a model that looks at something and at words, and a registry with which it does."""
    registry = ToolRegistry()
    registry.register(lambda: ["see:", Media(b"abc", media_type), Media(b"ww", "audio/wav")], name="look")
    registry.register(lambda: "words", name="read")
    model = scripted_model([ToolCall("c1", "look", {}), ToolCall("c2", "read", {})], ToolCall("c3", "read", {}), "Done.")
    model.sees_images = sees
    return model, registry


SEEN = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}]}


@pytest.mark.parametrize("sees, media_type, shown", [
    (True, "image/png", [SEEN]), (False, "image/png", []), (True, "application/pdf", [])])
def test_a_model_that_sees_is_shown_the_images_of_results_after_all_of_them(sees, media_type, shown):
    model, registry = looking(sees, media_type)
    said = list(agent_loop(model, "go", registry))
    assert said[3:-3] == shown and said[1]["content"].startswith(f"see:\n[{media_type}, 3 bytes]")
    assert [message["role"] for message in (*said[:3], *said[-3:])] == [
        "assistant", "tool", "tool", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("api_format", [api_format for api_format in API_FORMATS if api_format != "mcp"])
def test_an_image_is_shown_once_however_the_api_has_it(api_format):
    model, registry = looking(True)
    assert json.dumps(run_agent(model, "go", registry, api_format=api_format)).count("YWJj") == 1


@of("async")
@pytest.mark.parametrize("sees, shown", [(True, [SEEN]), (False, [])])
def test_a_model_that_sees_is_shown_images_in_async_runs_too(sees, shown):
    model, registry = looking(sees)
    assert asyncio.run(arun_agent(model, "go", registry))[4:-3] == shown


# ---------------------------------------------------------------------------
# schema: JSON Schema in full, and its older drafts
# ---------------------------------------------------------------------------
MORE_KEYWORDS = [
    ({"pattern": r"^\p{L}\P{Lu}[\p{Nd}-]$"}, ["\xe9a1", "Za-"], ["1a1", "aA1"]),
    ({"pattern": r"^\u{1F600}[\ud83d\ude00]\u0041\x42\cJ$"}, ["\U0001f600\U0001f600AB\n"], ["AB"]),
    ({"pattern": r"^(?<q>['\"])[^]*\k<q>$"}, ["'a\n'"], ["'a\""]),
    ({"contains": {"type": "string"}}, [["a"], [1, "a"], {}], [[], [1]]),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [[1, 1], [1, 2, 1, 1]], [[1], [1, 1, 1, 1]]),
    ({"contains": False, "minContains": 0}, [[], [1]], []),
    ({"dependentRequired": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    ({"if": {"type": "integer"}, "then": {"minimum": 5}, "else": {"type": "string"}}, [5, "a"], [4, None]),
    ({"if": {"const": 1}, "else": False}, [1], [2]),
    ({"then": False, "else": False}, [1], []),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{}, {"a": 1, "b": 2}], [{"a": 1}]),
    ({"$id": "http://x/y", "$defs": {"a": {"$anchor": "b", "type": "null"}}, "items": {"$ref": "#b"},
        "not": {"$ref": "y#/$defs/a"}},
     [[None]], [[1], None]),
    ({"$id": "http://x/strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": False,
        "$defs": {"t": {"$id": "tree", "$dynamicAnchor": "node",
            "properties": {"kids": {"items": {"$dynamicRef": "#node"}}}}}},
     [{"kids": [{"kids": []}]}], [{"kids": [{"kid": []}]}]),
    ({"allOf": [{"properties": {"a": True}}], "anyOf": [{"required": ["b"], "properties": {"b": True}}, True],
        "unevaluatedProperties": False},
     [{"a": 1}, {"a": 1, "b": 2}], [{"c": 1}, {"a": 1, "c": 2}]),
    ({"if": {"required": ["a"], "properties": {"a": True}}, "unevaluatedProperties": {"type": "null"}},
     [{"a": 1, "b": None}], [{"b": 1}]),
    ({"prefixItems": [True], "contains": {"type": "string"}, "unevaluatedItems": False}, [[1, "a", "b"]],
     [[1, 2, "a"]]),
    ({"$schema": DRAFT_07, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, [[], ["a", 1]],
     [[1], ["a", "b"]]),
    ({"$schema": DRAFT_07 + "#", "items": {"type": "string"}, "additionalItems": False}, [["a", "b"]], [[1]]),
    ({"$schema": DRAFT_07, "dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": False}},
     [{}, {"a": 1, "b": 2}, {"c": 1, "d": 2}], [{"a": 1}, {"c": 1}, {"e": 1}]),
    ({"$schema": DRAFT_07, "definitions": {"i": {"$id": "#int", "type": "integer"}},
      "properties": {"a": {"$ref": "#int", "minimum": 5}}}, [{"a": 1}], [{"a": "x"}]),
    ({"$schema": DRAFT_07, "prefixItems": [False], "minContains": 9, "dependentRequired": {"a": ["b"]},
      "unevaluatedItems": False}, [[1], {"a": 1}], []),
    ({"$schema": DRAFT_2019_09, "items": [True], "contains": {"type": "string"}, "unevaluatedItems": False}, [["a"]],
     [[1, "a"], ["a", "b"]]),
    ({"$schema": DRAFT_2019_09, "$id": "http://x/s", "$recursiveAnchor": True, "$ref": "t",
      "unevaluatedProperties": False, "$defs": {"t": {"$id": "t", "$recursiveAnchor": True, "properties": {
          "kids": {"items": {"$recursiveRef": "#"}}}}}}, [{"kids": [{"kids": []}]}], [{"kids": [{"kid": 1}]}]),
    ({"$schema": DRAFT_2019_09, "prefixItems": [False], "minContains": 2, "contains": True}, [[1, 2]], [[1]]),
]


@pytest.mark.parametrize(("schema", "fitting", "wrong"), MORE_KEYWORDS, ids=lambda value: type(value).__name__)
def test_each_keyword_of_the_chapter_accepts_what_fits_and_nothing_else(schema, fitting, wrong):
    accepts_what_fits(schema, fitting, wrong)


def test_every_keyword_of_the_tables_has_a_row_here():
    text = json.dumps([schema for schema, *_ in KEYWORDS + MORE_KEYWORDS if isinstance(schema, dict)])
    assert {word for word in toolreg._KEYWORDS if f'"{word}"' not in text} <= {"$schema", "definitions"}


@pytest.mark.parametrize(("schema", "value", "lines"), [
    ({"contains": {"type": "null"}}, [1], ["(root): [1] has fewer than 1 items that fit"]),
    ({"contains": True, "minContains": 2, "maxContains": 3}, [1], ["(root): [1] has fewer than 2 items that fit"]),
    ({"dependentRequired": {"a": ["b", "c"]}}, {"a": 1}, ["b: is missing", "c: is missing"]),
    ({"properties": {"a": True}, "required": ["b"], "unevaluatedProperties": False}, {"c": 1}, ["b: is missing"]),
    ({"unevaluatedItems": False}, [1], ["[0]: is not allowed here"]),
], ids=lambda value: type(value).__name__)
def test_errors_of_the_chapter_read_like_this(schema, value, lines):
    assert [str(error) for error in iter_errors(value, schema)] == lines


@pytest.mark.parametrize(("schema", "text"), [
    ({"dependentSchemas": {"a": []}, "properties": {"b": ["c"]}},
     'properties.b: is not a schema (was ["c"]); dependentSchemas.a: is not a schema (was [])'),
    ({"$dynamicRef": "#a"}, '["$dynamicRef"]: "#a" leads nowhere'),
    ({"pattern": r"\p{Lx}a]"}, "the Unicode property Lx is not supported"),
    ({"pattern": r"\p{Script=L}"}, "the Unicode property Script=L is not supported"),
    ({"pattern": r"\p{Greek}"},
     r'pattern: "\\p{Greek}" is not a supported pattern: the Unicode property Greek is not supported'),
    ({"$id": "http://x/", "$ref": "http://[x"}, '"http://[x" is no URI'),
    ({"$id": "http://x/", "not": {"$id": "//["}}, '"//[" is no URI'),
    ({"if": 1, "then": 2}, "then: is not a schema (was 2)"), ({"pattern": r"\p{L}" * 300}, "it is too long"),
    ({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}, "the schema refers to itself without end"),
], ids=lambda value: type(value).__name__)
def test_what_is_no_schema_in_full_is_refused_with_all_that_is_wrong(schema, text):
    with pytest.raises(SchemaError) as caught:
        check_schema(schema)
    assert text in str(caught.value)


def test_a_value_that_is_nested_too_deeply_does_not_fit_what_is_left_over():
    assert not Validator({"unevaluatedItems": False}).is_valid(wrapped(129, []))


@pytest.mark.parametrize(("schema", "value", "expected"), [
    ({"if": {"required": ["a"]}, "then": {"properties": {"a": {"type": "integer"}}}}, {"a": "1"}, {"a": 1}),
    ({"$schema": DRAFT_07, "definitions": {"i": {"type": "integer"}}, "items": [{"$ref": "#/definitions/i"}],
      "additionalItems": {"type": "boolean"}}, ["1", "true"], [1, True]),
    ({"$schema": DRAFT_07, "dependencies": {"a": {"properties": {"b": {"type": "null"}}}}}, {"a": 1, "b": "null"},
     {"a": 1, "b": None}),
])
def test_coercion_follows_the_keywords_of_the_chapter(schema, value, expected):
    assert coerce(value, schema) == expected


@pytest.mark.parametrize("wrap", [
    lambda sub: {"if": sub, "then": True}, lambda sub: {"if": True, "then": sub}, lambda sub: {"contains": sub}])
def test_no_nesting_of_conditions_takes_exponential_time(wrap):
    ends_soon(wrap)


PAIR = {"items": [{"type": "integer"}, {"items": [{"type": "string"}], "additionalItems": False}]}
PAIR_NOW = {"prefixItems": [{"type": "integer"}, {"prefixItems": [{"type": "string"}], "items": False}]}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
@pytest.mark.parametrize("draft", [toolreg.DRAFT_07, toolreg.DRAFT_2019_09, "http://json-schema.org/draft-07/schema#"])
def test_the_tuples_of_older_drafts_are_sent_as_all_apis_take_them(draft, api_format):
    def parameters(pair, **more):
        return {**more, "type": "object", "properties": {"b": pair, "items": {"const": {"items": [1]}}, "c": {
            "anyOf": [pair, {"items": [], "additionalItems": {"items": True}}]}}, "definitions": {"pair": pair}}
    tool = Tool("t", "", parameters(PAIR, **{"$schema": draft}), print)
    sent = json.dumps(build_tool_schemas([tool], api_format=api_format)[0])
    expected = json.loads(json.dumps(parameters(PAIR_NOW)).replace('"items": [], "additionalItems"', '"items"'))
    assert sent == json.dumps(build_tool_schemas([Tool("t", "", expected, print)], api_format=api_format)[0])
    assert ToolRegistry([tool]).invoke("t", {"b": [1, ["x", 2]]}).is_error and not tool.parameters.get("prefixItems")
    plain = {"$schema": draft, "type": "object", "properties": {"a": {"items": {"type": "string"}}}}
    sent, = build_tool_schemas([Tool("t", "", plain, print)], api_format=api_format)
    assert api_format == "gemini" or draft in json.dumps(sent)


@pytest.mark.parametrize("wrap", [lambda ref: ref, lambda ref: {"items": ref}, lambda ref: {"not": ref}])
@pytest.mark.parametrize("names", [lambda at: [at], lambda at: [0, at], lambda at: [at, at * 3 % 8, at * 5 % 8]])
def test_a_ring_of_resources_with_dynamic_names_is_compiled_soon_or_refused(names, wrap):
    schema, start = {"$ref": "http://x/0", "$defs": {str(at): {
        "$id": f"http://x/{at}", "$defs": {str(name): {"$dynamicAnchor": f"n{name}"} for name in names(at)},
        "allOf": [wrap({"$ref": f"http://x/{other}"}) for other in range(8) if other != at]} for at in range(8)}},\
        time.process_time()
    with contextlib.suppress(SchemaError):
        Validator(schema)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(("schema", "word"), [
    ({"if": True}, "if"), ({"items": {"$id": "a"}}, "$id"), ({"items": {"$dynamicRef": "#"}}, "$dynamicRef"),
    ({"properties": {"a": {"contains": True}}}, "contains"), ({"unevaluatedItems": False}, "unevaluatedItems"),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "minimum": 3,
      "definitions": {"a": True}}, "$ref"),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [True]}, "prefixItems"),
    ({"properties": {"a": {"$ref": "#/shared/b"}}, "shared": {"b": {"not": {"if": True}}}}, "if"),
    *[({"pattern": pattern}, "is not a supported pattern: ") for pattern in (
        r"\p{L}", r"[\P{L}]", "(?<a>b)", r"\ca", r"\u{41}", r"[\ud83d\ude00]", r"(?<a>b)\k<a>")],
])
def test_a_copy_without_the_chapter_refuses_what_it_would_read_otherwise(schema, word, tmp_path, monkeypatch):
    copy = load_copy(without({"schema"}), tmp_path, monkeypatch)
    with pytest.raises(copy.SchemaError, match=re.escape(f'{word}') + '.* needs the chapter "schema"'):
        copy.Validator(schema)
    Validator(schema)


def test_a_copy_without_the_chapter_reads_an_older_schema_that_means_the_same(tmp_path, monkeypatch):
    copy = load_copy(without({"schema"}), tmp_path, monkeypatch)
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/n"}},
             "definitions": {"n": {"type": "integer"}}, "format": "date"}
    assert copy.is_valid({"a": 1}, older) and not copy.is_valid({"a": "1"}, older)
    named = {**older, "$ref": "#/definitions/n", "title": "what is beside it demands nothing"}
    del named["properties"], named["format"]
    assert copy.is_valid(1, named) and not copy.is_valid("1", named) and copy.is_valid("A", {"pattern": r"^\u0041$"})
    with pytest.raises(copy.SchemaError, match="is not a known dialect .there are: .*draft-07"):
        copy.Validator({"$schema": "http://json-schema.org/draft-04/schema#"})
    with pytest.raises(copy.SchemaError, match='"resources" needs the chapter "schema"'):
        copy.Validator({}, resources={"a:b": True})


def test_a_metaschema_that_is_none_is_refused_or_ignored():
    loop = {"http://x/a": {"$schema": "http://x/b"}, "http://x/b": {"$schema": "http://x/a"}}
    for options in ({"dialect": "http://x/a"}, {"dialect": "http://x/c"}):
        with pytest.raises(SchemaError):
            Validator({}, resources=loop, **options)
    odd = {"http://x/m": {"$schema": DRAFT_2020_12, "$vocabulary": ["x"]}}
    assert not Validator({"$schema": "http://x/m", "type": "null"}, resources=odd).is_valid(1)


def test_references_lead_to_resources_and_nothing_is_fetched():
    resources = {"http://x/a": {"$defs": {"n": {"type": "integer"}}, "$ref": "b#it"},
                 "http://x/b": {"$id": "http://x/b", "$defs": {"i": {"$anchor": "it", "type": "object"}}}}
    schema = {"$id": "http://x/main", "properties": {"a": {"$ref": "a"}, "n": {"$ref": "a#/$defs/n"}}}
    validator = Validator(schema, resources=resources)
    assert [validator.is_valid(value) for value in ({"a": {}, "n": 1}, {"a": 1}, {"n": {}})] == [True, False, False]
    with pytest.raises(SchemaError, match="leads nowhere"):
        Validator(schema, resources={"http://x/a": resources["http://x/a"]})


def test_a_metaschema_that_is_given_chooses_the_vocabularies():
    base = "https://json-schema.org/draft/2020-12/vocab/"
    meta = {"$schema": DRAFT_2020_12, "$vocabulary": {base + "core": True, base + "applicator": True,
        "http://x/other": False}}
    schema = {"$schema": "http://x/meta", "properties": {"a": {"type": "string"}, "b": False}, "required": ["c"]}
    validator = Validator(schema, resources={"http://x/meta": meta})
    assert validator.is_valid({"a": 1}) and not validator.is_valid({"b": 1})
    meta["$vocabulary"]["http://x/other"] = True
    with pytest.raises(SchemaError, match="needs unknown vocabularies"):
        Validator(schema, resources={"http://x/meta": meta})


def test_a_schema_may_lead_to_one_of_another_draft():
    pair = {"items": [{"type": "string"}]}
    leading = Validator({"items": {"$ref": "http://x/old"}}, resources={"http://x/old": {"$schema": DRAFT_07, **pair}})
    for validator in (leading, Validator({"items": pair}, dialect=DRAFT_07)):
        assert validator.is_valid([["a"]]) and not validator.is_valid([[1]])
    with pytest.raises(SchemaError, match="items: is not a schema"):
        check_schema({"items": [{"type": "string"}]})
    with pytest.raises(SchemaError, match="is not an object of schemas and arrays of strings"):
        check_schema({"$schema": DRAFT_07, "dependencies": {"a": 1}})


SUITE = os.environ.get("JSON_SCHEMA_TEST_SUITE")
needs_the_suite = pytest.mark.skipif(
    not SUITE, reason="JSON_SCHEMA_TEST_SUITE names no folder of the official suite")


@functools.cache
def suite_resources(folder):
    found = {}
    for path in (folder / "remotes").rglob("*.json"):
        uri = "http://localhost:1234/" + path.relative_to(folder / "remotes").as_posix()
        found[uri] = json.loads(path.read_text("utf-8"))
    metaschemas = [json.loads(path.read_text("utf-8")) for path in (folder / "metaschemas").rglob("*.json")]
    return {**found, **{metaschema["$id"]: metaschema for metaschema in metaschemas}}


def suite_outcomes(*folders, **options):
    """Yield None for each test in a folder of the suite that passes, and the name of each that does not."""
    for path in sorted(pathlib.Path(SUITE, "tests", *folders).glob("*.json")):
        for case in json.loads(path.read_text("utf-8")):
            validator = Validator(case["schema"], resources=suite_resources(pathlib.Path(SUITE)), **options)
            for test in case["tests"]:
                passed = validator.is_valid(test["data"]) == test["valid"]
                yield None if passed else f"{path.stem}: {case['description']}: {test['description']}"


@needs_the_suite
@pytest.mark.parametrize(("draft", "dialect", "number"), [
    ("draft2020-12", DRAFT_2020_12, 1299), ("draft2019-09", DRAFT_2019_09, 1259), ("draft7", DRAFT_07, 927)])
def test_the_official_suite_passes(draft, dialect, number):
    outcomes = list(suite_outcomes(draft, dialect=dialect))
    assert len(outcomes) >= number and not [outcome for outcome in outcomes if outcome]


@of("formats")
@needs_the_suite
@pytest.mark.parametrize(("draft", "dialect", "least"), [
    ("draft2020-12", DRAFT_2020_12, 763), ("draft7", DRAFT_07, 675)])
def test_the_formats_of_the_official_suite_pass(draft, dialect, least):
    outcomes = list(suite_outcomes(draft, "optional", "format", dialect=dialect, formats=True))
    assert outcomes.count(None) >= least


# ---------------------------------------------------------------------------
# formats: what the keyword `format` asserts
# ---------------------------------------------------------------------------
FORMATS = {     # format: (texts that have it, texts that do not)
    "date": ("2024-02-29 2000-02-29 0001-01-01",
             "2023-02-29 1900-02-29 2024-13-01 2024-1-1 2024-04-31 \u0662024-01-01 2024-01-01x"),
    "time": ("12:00:00Z 23:59:60Z 00:29:60-23:30 08:30:06.28+01:00",
             "24:00:00Z 22:59:60Z 12:00:00 12:60:00Z 12:00:00+24:00 12:00:61Z"),
    "date-time": ("2024-02-29T12:00:00Z 1998-12-31t15:59:60.1-08:00",
                  "2023-02-29T12:00:00Z 2024-02-29 2024-02-29T12:00:00 2024-02-29T25:00:00Z"),
    "duration": ("P1Y2M3DT4H5M6S P2W PT1M P0D", "P P1Y2D PT P1W1D 1D PT0.5S P1D2H"),
    "uuid": ("2eb8aa08-AA98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380 x"),
    "email": ('a.b@example.com "a@b"@x.org a@[127.0.0.1] a@[IPv6:::1]',
              "a .a@x.org a..b@x.org a@b@c.de a@[1.2.3.400] @x a@"),
    "idn-email": ("\u03b4@\u03b4.com", "x a@-x"),
    "hostname": ("a a-b.C1 xn--9n2bp8q", "-a a- a..b a_b " + "a" * 64 + " xn--X a.b. ab--c"),
    "idn-hostname": ("\uc2e4\ub840.\ud14c\uc2a4\ud2b8 l\u00b7l \u05d0\u05f3\u05d1 a\u3002b",
                     "a\u00b7l \u302ea \u05f3 \u0300a a\u05d0 \u200d \u0660\u06f0 a.-b \u30fb"),
    "ipv4": ("1.2.3.4 0.0.0.0 255.255.255.255", "1.2.3 1.2.3.256 01.2.3.4 1.2.3.4.5"),
    "ipv6": (":: ::1 1:2:3:4:5:6:7:8 ::ffff:1.2.3.4", "1:2 ::1%eth0 :::1 12345:: ::1.2.3.04"),
    "uri": ("http://a/b?c#d urn:x:y mailto:a@b http://[::1]:80/%20",
            "/a a http://a/%zz http://a:b/ http://[::x]/ 1a:b http:/[::1] a\\b"),
    "uri-reference": ("a /a ?q # //h/p ./a:b a:b", "\\ 1:b %z //h:x/ //a@b@c/ \xe9"),
    "iri": ("http://\xe9/\u03c0?\u03c0 urn:\u03c0", "\u03c0 http://a/\\"),
    "iri-reference": ("\u03c0 /\u03c0", "\\"),
    "uri-template": ("{+a} a{b.c,d:3}/{e*} %20", "{ {a:0} {} a} {a,,b} %"),
    "json-pointer": ("/a/~0~1 / /a//b", "a /~2 #/a"),
    "relative-json-pointer": ("0 1/a 10#", "01 -1 /a 0##"),
    "regex": (r"^a\d$ [] (a)\1", r"( \a (?P<n>a) (?i)a [b-a] \Z"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_asserted_where_that_is_asked_for(name):
    validator = Validator({"format": name}, formats=True)
    fitting, wrong = (texts.split(" ") for texts in FORMATS[name])
    assert [text for text in fitting + wrong if validator.is_valid(text)] == fitting
    assert validator.is_valid(5) and is_valid(wrong[0], {"format": name})
    assert not validator.is_valid(fitting[0] + "\n") or name in ("json-pointer", "regex")
    assert str(next(validator.iter_errors(wrong[0]))).endswith(f'does not have the format "{name}"')


def test_all_formats_are_tested_and_unknown_ones_are_ignored():
    assert toolreg._FORMATS.keys() == FORMATS.keys() and is_valid_format("colour", "x")
    for pattern in (r"(?<n>a)\k<n>", r"\cA\u{41}"):
        assert is_valid_format("regex", pattern) is ("schema" in HERE_ARE)


@settings(max_examples=100)
@given(st.sampled_from(sorted(FORMATS)), st.text() | st.text("0123456789:-./TZPYMDWH+@[]{}#%~xn\\u05d0\u200d\u00b7"))
def test_any_text_has_a_format_or_has_not(name, text):
    assert Validator({"format": name}, formats=True).is_valid(text) in (True, False)


def is_valid_format(name, text):
    return Validator({"format": name}, formats=True).is_valid(text)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("text", ["".join(map(chr, range(0x4e00, 0x4e00 + 5_000))), "a" + "\u0301\u0316" * 20_000,
                                  "a." * 20_000, "1:" * 20_000, "xn--" + "9" * 20_000], ids=ascii)
def test_no_text_is_too_long_for_a_format(name, text):
    start = time.process_time()
    for whole in (text, f"a@{text}"):
        is_valid_format(name, whole)
    assert time.process_time() - start < 10


def test_a_copy_without_the_chapter_does_not_assert_formats(tmp_path, monkeypatch):
    copy = load_copy(without({"formats"}), tmp_path, monkeypatch)
    assert copy.is_valid("x", {"format": "date"})
    with pytest.raises(copy.SchemaError, match='^"formats" needs the chapter "formats" .cut from this copy.$'):
        copy.Validator({}, formats=True)


# ---------------------------------------------------------------------------
# texts: types whose JSON is a text: dates and times, UUID, Decimal, Path, bytes
# ---------------------------------------------------------------------------
@pytest.mark.parametrize("value, form", [
    (datetime.timedelta(1, 3661), "P1DT1H1M1S"),
    (datetime.timedelta(seconds=-1.5), "-P0DT0H0M1.500000S"),
])
def test_a_value_that_is_spelled_as_text_has_this_json_form(value, form):
    test_a_value_has_this_json_form(value, form)


@dataclasses.dataclass
class Trip:
    day: datetime.date = datetime.date(2024, 5, 1)


SPELLED_TYPES = [       # as in TYPES
    (Union[datetime.datetime, datetime.date, str], None, "2024-05-01", datetime.date(2024, 5, 1)),
    (Union[datetime.date, str], None, "soon", "soon"),
    (datetime.date, text_with(format="date"), "2024-05-01", datetime.date(2024, 5, 1)),
    (datetime.time, text_with(format="time"), "12:30", datetime.time(12, 30)),
    (uuid.UUID, text_with(format="uuid"), str(uuid.UUID(int=7)), uuid.UUID(int=7)),
    (decimal.Decimal, text_with(format="decimal"), "1.50", decimal.Decimal("1.50")),
    (pathlib.Path, text_with(format="path"), "a/b", pathlib.Path("a/b")),
    (bytes, BYTES, "YWJj", b"abc"),
    (bytearray, BYTES, "YWJj", bytearray(b"abc")),
    (datetime.timedelta, text_with(format="duration"), "P1DT1.5H", datetime.timedelta(1, 5400)),
    (ipaddress.IPv4Address, text_with(format="ipv4"), "10.0.0.1", ipaddress.ip_address("10.0.0.1")),
    (fractions.Fraction, text_with(format="fraction"), "-1/3", fractions.Fraction(-1, 3)),
    (Trip, {key: each for key, each in object_with([], day=DAY).items() if each != []}, {}, Trip()),
]


@pytest.mark.parametrize("annotation, schema, wire, value", SPELLED_TYPES, ids=lambda each: str(each)[:60])
def test_a_type_that_is_spelled_as_text_has_this_schema_and_is_read_so(annotation, schema, wire, value):
    test_a_type_has_this_schema_and_its_json_is_read_so(annotation, schema, wire, value)


SPELLED_TEXTS = {
    "datetime": (datetime.datetime, "2024-05-01T10:30:00Z"), "date": (datetime.date, "2024-05-01"),
    "time": (datetime.time, "10:30:00"), "timedelta": (datetime.timedelta, "P1DT2H"), "Path": (pathlib.Path, "a/b"),
    "UUID": (uuid.UUID, "urn:uuid:{00000000-0000-0000-0000-000000000007}"), "bytes": (bytes, "YWJj"),
    "Decimal": (decimal.Decimal, "-1.50E+3"), "Fraction": (fractions.Fraction, "-1/3"),
}


@pytest.mark.parametrize("name", SPELLED_TEXTS)
def test_a_type_that_is_spelled_as_text_comes_back_from_it(name):
    annotation, text = SPELLED_TEXTS[name]
    value = from_json(annotation, text)
    assert isinstance(value, annotation) and from_json(annotation, to_json(value)) == value


@pytest.mark.parametrize("annotation, wire, errors", [
    (list[datetime.date], ["2024-05-01", "soon", "2024-13-01"],
     ['[1]: "soon" is not a date', '[2]: "2024-13-01" is not a date']),
    (dict[str, uuid.UUID], {"a b": "x"}, ['["a b"]: "x" is not a uuid']),
    (tuple[int, decimal.Decimal], [1, "x"], ['[1]: "x" is not a decimal']),
    (list[Trip], [{"day": "x"}], ['[0].day: "x" is not a date']),
    (Optional[datetime.time], "x", ['(root): "x" is not a time']),
    (Union[datetime.date, uuid.UUID], "x", ['(root): "x" is not a uuid']),
    (pathlib.Path, 5, ["(root): 5 is not a string"]),
    (list[decimal.Decimal], ["NaN", "sNaN", "-Infinity", "1_000", "１", " 1", "1e", "."], [
        f'[{place}]: "{text}" is not a decimal'
        for place, text in enumerate(["NaN", "sNaN", "-Infinity", "1_000", "１", " 1", "1e", "."])]),
    (uuid.UUID, "１" * 32, [f'(root): "{"１" * 32}" is not a uuid']),
    (uuid.UUID, "1_" * 16, [f'(root): "{"1_" * 16}" is not a uuid']),
    (list[fractions.Fraction], ["1/0", "1/_3", "1e9", "1/-3"], [
        f'[{place}]: "{text}" is not a fraction' for place, text in enumerate(["1/0", "1/_3", "1e9", "1/-3"])]),
    (ipaddress.IPv4Address, "x", ['(root): "x" is not an ipv4']),
])
def test_a_text_that_cannot_be_read_is_told_completely_and_located(annotation, wire, errors):
    test_what_cannot_be_read_is_told_completely_and_located(annotation, wire, errors)


@dataclasses.dataclass
class Sum:
    of: decimal.Decimal
    then: "Sum | Product | Remark | None" = None


@dataclasses.dataclass
class Product(Sum):
    pass


@dataclasses.dataclass
class Remark:
    of: str
    then: "Sum | Product | Remark | None" = None


def test_members_of_a_union_that_look_alike_are_tried_once_for_each_value():
    wire = deepest = {"of": "much"}
    for _ in range(40):
        wire = {"of": "1", "then": wire}
    read = from_json(Sum, wire)
    while read.then:
        assert type(read) is Sum
        read = read.then
    assert read == Remark("much")
    deepest["then"] = {"of": "1", "then": {"of": "1"}}
    assert type(from_json(Union[Sum, Remark], wire)) is Sum
    with pytest.raises(ToolArgumentError, match='then.of: "much" is not a decimal'):
        from_json(Sums, wire)


@dataclasses.dataclass
class Sums:
    of: decimal.Decimal
    then: "Sums | Products | None" = None


@dataclasses.dataclass
class Products(Sums):
    pass


@pytest.mark.parametrize("cls, texts", [
    (datetime.datetime, {
        "2024-05-01T10:30": "2024-05-01T10:30:00",
        "2024-05-01 10:30:05Z": "2024-05-01T10:30:05+00:00",
        "2024-05-01t10:30:05.5z": "2024-05-01T10:30:05.500000+00:00",
        "2024-05-01T10:30:05,123456789-05": "2024-05-01T10:30:05.123456-05:00",
        "2024-05-01T10:30:05+0530": "2024-05-01T10:30:05+05:30",
        "2024-05-01T10:30:05+05:30:15": "2024-05-01T10:30:05+05:30:15",
        **dict.fromkeys([
            "2024-05-01", "20240501T1030", "2024-W18-3T10:30", "2024-05-01T24:00", "2024-05-01T10", "2024-05-01T",
            "2024-05-01T10:30:60", "2024-05-0110:30", "2024-02-30T10:30", "2024-05-01T10:30+24:00", "",
            " 2024-05-01T10:30", "２０２４-05-01T10:30", "2024-05-01T10:30\n"]),
    }),
    (datetime.date, {"2024-05-01": "2024-05-01",
                     **dict.fromkeys(["2024-05-01T10:30", "20240501", "2024-W18-3", "24-05-01"])}),
    (datetime.time, {"10:30": "10:30:00", "10:30:05.5Z": "10:30:05.500000+00:00",
                     **dict.fromkeys(["10:30.5", "1030", "10", "2024-05-01T10:30", "T10:30"])}),
])
def test_the_same_texts_are_read_alike_on_every_version(cls, texts):
    for text, read in texts.items():
        if read is None:
            with pytest.raises(ToolArgumentError):
                from_json(cls, text)
        else:
            assert from_json(cls, text).isoformat() == read


@pytest.mark.parametrize("text, read", [
    ("PT1H30M", "1:30:00"), ("P1W", "7 days, 0:00:00"), ("-P1DT0.5S", "-2 days, 23:59:59.500000"), ("PT1.5H", "1:30:00"),
    ("+P1D", "1 day, 0:00:00"), ("P", None), ("PT", None), ("P1DT", None), ("1:30", None), ("PT1.2.3S", None),
    ("P99999999999D", None), ("P1M", None),
])
def test_the_same_durations_are_read_alike_on_every_version(text, read):
    try:
        assert str(from_json(datetime.timedelta, text)) == read
    except ToolArgumentError as error:
        assert read is None and str(error) == f"(root): {json.dumps(text)} is not a duration"


def test_without_the_chapter_what_it_spells_as_text_is_refused_by_its_name(tmp_path, monkeypatch):
    core = load_copy(without({"texts"}), tmp_path, monkeypatch)
    for name in toolreg._SPELLED:
        with pytest.raises(core.ToolDefinitionError, match=r'needs the chapter "texts" \(cut from this copy\)'):
            core.schema_of(list[pydoc.locate(name)])


# ---------------------------------------------------------------------------
# notes: limits, texts and checks of annotated-types and pydantic, in Annotated or as a default
# ---------------------------------------------------------------------------
class Says:
    """Is like what annotated-types and pydantic put into Annotated."""

    def __init__(self, **said):
        self.__dict__.update(said)


Predicate, AfterValidator, BeforeValidator = (          # which are known by their names
    type(name, (Says,), {}) for name in ("Predicate", "AfterValidator", "BeforeValidator"))


class Field(Says):
    """Is like what pydantic's `Field(...)` gives, as far as we look."""

    default, default_factory = ..., None

    def is_required(self):
        return self.default is ... and self.default_factory is None

    def get_default(self, call_default_factory):
        return self.default_factory() if self.default_factory else self.default


@dataclasses.dataclass(init=False)
class CheckedLike:
    """Is like a dataclass of pydantic, as far as we look."""

    size: Annotated[int, AfterValidator(func=lambda size: size + 1)]       # pydantic itself would call it
    shade: Shade

    __pydantic_fields__ = {
        "size": Field(alias=None, metadata=[Says(ge=1)], description="How big."),
        "shade": Field(alias="colour", default=Shade.DARK),
    }
    def __init__(self, size, colour=Shade.DARK):
        self.size, self.shade = size, colour


DAY_1 = datetime.date(2020, 1, 1)


@pytest.mark.parametrize("annotation, schema, wire, value", [  # as in TYPES
    (Annotated[int, Says(gt=0, le=9, multiple_of=2, lt=None)],
     {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "multipleOf": 2}, 4, 4),
    (Annotated[Optional[str], Says(min_length=1, max_length=None, pattern=re.compile("^a"))],
     {"anyOf": [STRING, NULL], "minLength": 1, "pattern": "^a"}, "a", "a"),
    (Annotated[list[int], Says(metadata=[Says(max_length=3)], description="Some.")],
     array_of(INTEGER, maxItems=3, description="Some."), [], []),
    (Annotated[decimal.Decimal, Says(gt=0)], text_with(format="decimal"), "0.1", decimal.Decimal("0.1")),
    (Annotated[Optional[datetime.date], Says(ge=DAY_1)], None, None, None),
    (Annotated[bytes, Says(max_length=3)], BYTES, "YWJj", b"abc"),
    (Annotated[Union[decimal.Decimal, bool, list], Says(le=9, max_length=1)], None, True, True),
    (Annotated[Union[datetime.date, int], Says(gt=0)], None, "2024-05-01", datetime.date(2024, 5, 1)),
    (Annotated[int, Says(gt=decimal.Decimal(1), __call__=1, lt=len)], INTEGER, 2, 2),
])
def test_a_note_is_said_in_the_schema_where_json_can(annotation, schema, wire, value):
    test_a_type_has_this_schema_and_its_json_is_read_so(annotation, schema, wire, value)


@pytest.mark.parametrize("annotation, wire, error", [
    (Annotated[decimal.Decimal, Says(metadata=[Says(gt=0)])], "-5", '"-5" is not greater than 0'),
    (Annotated[datetime.date, Says(ge=DAY_1)], "2019-12-31", '"2019-12-31" is less than 2020-01-01'),
    (Annotated[Optional[decimal.Decimal], Says(le=1, multiple_of=decimal.Decimal("0.5"))], "0.7",
     '"0.7" is not a multiple of 0.5'),
    (Annotated[decimal.Decimal, Says(le=1)], "2", '"2" is greater than 1'),
    (Annotated[decimal.Decimal, Says(lt=1)], "1", '"1" is not less than 1'),
    (Annotated[decimal.Decimal, Says(max_digits=2)], "1.23", '"1.23" has more digits than 2'),
    (Annotated[decimal.Decimal, Says(decimal_places=1)], "1.23", '"1.23" has more decimal places than 1'),
    (Annotated[datetime.datetime, Says(gt=datetime.datetime(2020, 1, 1))], "2024-05-01T10:30Z",
     "is refused (TypeError: can't compare offset-naive and offset-aware datetimes)"),
    (Annotated[bytes, Says(max_length=2)], "YWJj", '"YWJj" is longer than 2'),
    (Annotated[set[int], Says(min_length=2)], [1, 1], "[1, 1] is shorter than 2"),
    (Annotated[int, Says(gt=decimal.Decimal(1))], 1, "1 is not greater than 1"),
    (Annotated[float, Says(ge=math.inf)], 5.0, "5.0 is less than Infinity"),
    (Annotated[str, Predicate(func=str.islower)], "B", '"B" is refused (by islower)'),
    (Annotated[int, AfterValidator(func={}.__getitem__)], 0, "is refused (KeyError: 0)"),
])
def test_a_limit_or_check_that_json_cannot_say_is_kept_by_reading(annotation, wire, error):
    test_what_cannot_be_read_is_told_completely_and_located(list[annotation], [wire], [f"[0]: {error}"])


@pytest.mark.parametrize("annotation, problem", [
    (Annotated[str, Says(pattern=r"\A\d+")], "is not a supported pattern"),
    (Annotated[int, Says(ge="x")], 'minimum: is not a number (was "x")'),
    (Annotated[str, Says(min_length=-1)], "minLength: "),
])
def test_a_note_that_cannot_be_kept_to_is_refused(annotation, problem):
    test_what_has_no_json_form_is_refused_with_what_to_write(annotation, problem)


@of("types")
def test_a_dataclass_of_pydantic_keeps_to_its_fields_and_checks_itself():
    assert from_json(CheckedLike, {"size": 1.0, "colour": "light"}) == CheckedLike(1, Shade.LIGHT)
    test_what_cannot_be_read_is_told_completely_and_located(CheckedLike, {"size": 0, "colour": "x"}, [
        "size: 0 is less than 1", 'colour: "x" is not one of "light", "dark"'])


def test_without_the_chapter_notes_are_refused_by_its_name(tmp_path, monkeypatch):
    core = load_copy(without({"notes"}), tmp_path, monkeypatch)
    for note in (Says(ge=1), Says(pattern="a"), Predicate(func=bool), Says(metadata=[Says(ge=1)])):
        with pytest.raises(core.ToolDefinitionError) as caught:
            core.schema_of(Annotated[str, note])
        assert f'{type(note).__name__} needs the chapter "notes" (cut from this copy)' in str(caught.value)

    def look(n: int = Field(default=3)): ...
    with pytest.raises(core.ToolDefinitionError, match=r'n: (\w+\.)?Field needs the chapter "notes"'):
        core.parameters_of(look)


class Known:
    def holds(self, value):
        return value == "a"


def test_functions_in_notes_are_called_with_what_was_read_or_refused():
    of_method = Annotated[str, Predicate(func=Known().holds)]
    assert from_json(of_method, "a") == "a"
    with pytest.raises(ToolArgumentError, match='"b" is refused .by holds.'):
        from_json(of_method, "b")
    with pytest.raises(ToolDefinitionError, match="Predicate has no JSON form"):
        schema_of(Annotated[int, Predicate(func=lambda value, info: True)])
    with pytest.raises(ToolDefinitionError, match="items that can be hashed"):
        schema_of(set[Annotated[str, AfterValidator(func=list)]])
    doubled = Annotated[int, AfterValidator(func=lambda number: number * 2), Predicate(func=lambda number: number < 9)]
    assert (from_json(doubled, 4.0), from_json(Annotated[str, Predicate(func=str.islower)], "a")) == (8, "a")
    for note in (BeforeValidator(func=int), AfterValidator(func=lambda value, info: value)):
        with pytest.raises(ToolDefinitionError, match=f"^schema_of: {type(note).__name__} has no JSON form"):
            schema_of(Annotated[int, note])
        with pytest.raises(ToolDefinitionError, match=f'"f": n: {type(note).__name__} has no JSON form .write'):
            ToolRegistry().register(annotated_with(note), name="f")


def annotated_with(note):
    def func(n: Annotated[int, note]): ...
    return func


def test_a_field_as_a_default_is_read():
    def look(
        place: str = Field(description="Where."),
        days: int = Field(default=3, metadata=[Says(ge=1)]),
        when: datetime.date = Field(default=None),          # noqa: B008
        tags: list = Field(default_factory=list),           # noqa: B008
    ):
        return place, days, when, tags

    assert parameters_of(look) == object_with(
        ["place"],
        place={**STRING, "description": "Where."},
        days={**INTEGER, "minimum": 1, "default": 3},
        when={"anyOf": [text_with(format="date"), NULL], "default": None},
        tags=array_of({}),
    )
    assert bound_and_called(look, {"place": "a"}) == ("a", 3, None, [])
    assert bound_and_called(look, {"place": "a", "days": 1.0, "tags": [1]}) == ("a", 1, None, [1])
    made = [bound_and_called(look, {"place": "a"})[3] for _ in range(2)]
    assert made[0] is not made[1]


# ---------------------------------------------------------------------------
# types: pydantic, attrs, generics, keys that are no text, names that only callers know
# ---------------------------------------------------------------------------
class Modelled:
    """Is like a pydantic model, as far as we look."""

    def model_dump(self, mode, by_alias):
        return {"mode": mode, "by_alias": by_alias, "when": datetime.date(2024, 5, 1)}


class Attribute(NamedTuple):
    name: str
    alias: "str | None" = None


class Attrs:
    """Is like an attrs class, as far as we look."""

    __attrs_attrs__ = (Attribute("_size"), Attribute("shape", "form"))
    _size, shape = 3, Spot(1)


class Table(list):
    """Is like a table of pandas, as far as we look: what it holds is the names of its columns."""

    columns = ("x",)

    def to_dict(self, orient):
        return [{"x": Array(1)}] if orient == "records" else {}


class Frame(Table):
    """Is like a table of polars, as far as we look."""

    def to_dicts(self):
        return [{"x": 2}]


class Chunk(list):
    """Is like a table of pyarrow, as far as we look."""

    def to_pylist(self):
        return [{"x": 3}]


T = typing.TypeVar("T")
Number = typing.TypeVar("Number", int, float)


@dataclasses.dataclass
class Box(typing.Generic[T]):
    item: T
    spares: "list[T]" = dataclasses.field(default_factory=list)


class AttrsLike:
    """Is like an attrs class, as far as we look."""

    _size: int
    shape: Optional[Pair]
    __attrs_attrs__ = (Attribute("_size"), Attribute("shape"), Attribute("cache"))

    def __init__(self, size, shape=None):
        self._size, self.shape = size, shape


class PydanticLike:
    """Is like a pydantic model, as far as we look."""

    def __init__(self, name, home):
        self.name, self.home = name, home

    @classmethod
    def model_json_schema(cls):
        person = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "home": {"$ref": "#/$defs/Home"}},
            "required": ["name", "home"],
            "discriminator": {"mapping": {"h": "#/$defs/Home"}},
        }
        return {**person, "$defs": {"Home": {"type": "object", "properties": {"street": {"type": "string"}}}}}

    @classmethod
    def model_validate_json(cls, text):
        value = json.loads(text)
        if value["name"] == "":
            raise PydanticLikeError
        return cls(**value)

    def model_dump(self, mode, by_alias):
        return vars(self)


class SelfHoldingPydanticLike(PydanticLike):
    @classmethod
    def model_json_schema(cls):
        itself = {"$ref": "#/$defs/SelfHoldingPydanticLike"}
        return {**itself, "$defs": {"SelfHoldingPydanticLike": {
            "type": "object", "properties": {"kids": {"type": "array", "items": itself}}}}}


class PydanticLikeError(Exception):
    def errors(self):
        return [{"msg": "must not be empty", "loc": ("name",)}]


class OddPydanticLike(PydanticLike):
    @classmethod
    def model_json_schema(cls):
        return {"type": "object", "properties": {"name": {"pattern": "("}}}


@dataclasses.dataclass
class DayBox(Box[datetime.date]):
    note: str = ""


@dataclasses.dataclass
class Twice(Box[list[T]], typing.Generic[T]):
    third: Optional[T] = None


class SubTwice(Twice[int]):
    pass


@pytest.mark.parametrize("value, form", [
    (Modelled(), {"mode": "json", "by_alias": True, "when": "2024-05-01"}),
    (Attrs(), {"size": 3, "form": {"x": 1, "y": 0.5}}),
    (Table("x"), [{"x": [1]}]),
    (Frame("x"), [{"x": 2}]),
    (Chunk("x"), [{"x": 3}]),
], ids=lambda value: type(value).__name__)
def test_a_value_of_a_known_package_has_this_json_form(value, form):
    test_a_value_has_this_json_form(value, form)


FURTHER_TYPES = [  # as in TYPES
    (typing.Mapping[int, str], mapping_to(STRING, propertyNames=NO_TEXT_KEY), {"-5": "a"}, {-5: "a"}),
    (dict[Shade, Rank], None, {"dark": 2}, {Shade.DARK: Rank.HIGH}),
    (dict[Rank, bool], None, {"1": True}, {Rank.LOW: True}),
    (dict[bool, None], None, {"true": None}, {True: None}),
    (dict[tuple[int, int], int], None, {"[1, 2]": 3}, {(1, 2): 3}),
    (dict[datetime.date, str], None, {"2024-05-01": "a"}, {datetime.date(2024, 5, 1): "a"}),
    (T, {}, 5.0, 5.0),
    (Number, {"anyOf": [INTEGER, NUMBER]}, 5, 5),
    ("list[int]", array_of(INTEGER), [5.0], [5]),
    (typing.List["Point"], None, [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Box[int], object_with(["item"], item=INTEGER, spares=array_of(INTEGER)), {"item": 1.0, "spares": [2.0]}, Box(1, [2])),
    (Box[Box[str]], None, {"item": {"item": "a"}}, Box(Box("a"))),
    (DayBox, None, {"item": "2024-05-01"}, DayBox(datetime.date(2024, 5, 1))),
    (Twice[int], None, {"item": [1.0], "spares": [[2.0]], "third": 3.0}, Twice([1], [[2]], 3)),
    (SubTwice, None, {"item": [1.0], "third": 3.0}, SubTwice([1], [], 3)),
]


@pytest.mark.parametrize("annotation, schema, wire, value", FURTHER_TYPES, ids=lambda each: str(each)[:60])
def test_a_further_type_has_this_schema_and_its_json_is_read_so(annotation, schema, wire, value):
    test_a_type_has_this_schema_and_its_json_is_read_so(annotation, schema, wire, value)


@pytest.mark.parametrize("annotation, problem", [
    (dict[tuple[Any, int], int], "has no JSON form (write"),
    ("Nowhere", "name 'Nowhere' is not defined"),
    (list["Nowhere"], "name 'Nowhere' is not defined"),
])
def test_a_further_type_that_has_no_json_form_is_refused(annotation, problem):
    test_what_has_no_json_form_is_refused_with_what_to_write(annotation, problem)


@pytest.mark.parametrize("annotation, wire, errors", [
    (dict[datetime.date, bytes], {"x": "!"}, ['x: "x" is not a date', 'x: "!" is not base64']),
    (dict[tuple[int, int], int], {"[1]": 1, "(": 2},
     ['["[1]"]: "[1]" is not a key of the right type', '["("]: "(" is not a key of the right type']),
    (dict[Optional[int], int], {"x": 1, "3": 2, "null": 4}, ['x: "x" is not a key of the right type']),
    (DayBox, {"item": "x"}, ['item: "x" is not a date']),
    (list[PydanticLike], [{"name": "", "home": {}}], ["[0].name: must not be empty"]),
])
def test_what_a_further_type_cannot_read_is_told_completely_and_located(annotation, wire, errors):
    test_what_cannot_be_read_is_told_completely_and_located(annotation, wire, errors)


def test_a_schema_of_a_foreign_class_is_checked_too():
    with pytest.raises(ToolDefinitionError, match="is not a supported pattern"):
        schema_of(list[OddPydanticLike])


@pytest.mark.skipif(sys.version_info < (3, 13), reason="type variables have no defaults before")
def test_a_type_variable_of_which_nothing_is_known_is_its_default():
    first = typing.TypeVar("first", default=int)
    second = typing.TypeVar("second", bound=object, default=first)

    @dataclasses.dataclass
    class Box(typing.Generic[first, second]):
        inner: first
        more: list[second]

    def g(a: first, b: list[second], c: Box, d: Box[str, bool]) -> None: ...
    names = parameters_of(g)["properties"]
    assert (names["a"], names["b"]) == (INTEGER, array_of(INTEGER))
    assert names["c"]["properties"] == {"inner": INTEGER, "more": array_of(INTEGER)}
    assert names["d"]["properties"] == {"inner": STRING, "more": array_of({"type": "boolean"})}


def test_a_generic_typed_dict_passes_on_what_its_variables_mean():
    if sys.version_info >= (3, 11):         # before, a TypedDict cannot be generic
        Generic = types.new_class("Generic", (TypedDict, typing.Generic[T]), {},
                                  lambda body: body.update(__annotations__={"item": T}, __module__=__name__))
        Dated = types.new_class("Dated", (Generic[datetime.date],), {},
                                lambda body: body.update(__annotations__={"n": int}, __module__=__name__))
        assert from_json(Dated, {"item": "2024-05-01", "n": 1.0}) == {"item": datetime.date(2024, 5, 1), "n": 1}


def test_a_type_that_grows_without_end_is_refused():
    Growing = dataclasses.make_dataclass("Growing", [("inner", "Growing[list[T]]")], bases=(typing.Generic[T],))
    with pytest.raises(ToolDefinitionError, match="nested"):
        schema_of(Growing[int])


def test_classes_that_look_like_attrs_and_pydantic_are_read_by_their_own_rules():
    assert schema_of(AttrsLike) == {
        "description": "Is like an attrs class, as far as we look.",
        **object_with(["size"], size=INTEGER, shape={"anyOf": [schema_of(Pair), NULL], "default": None}),
    }
    value = from_json(AttrsLike, {"size": 3.0, "shape": {"left": 1}})
    assert alike((value._size, value.shape), (3, Pair(1)))
    schema = schema_of(PydanticLike)
    assert schema["properties"]["home"] == {
        "type": "object", "properties": {"street": STRING}, "additionalProperties": False} and "discriminator" not in schema
    itself = schema_of(SelfHoldingPydanticLike)
    assert itself["$ref"] == "#/$defs/SelfHoldingPydanticLike" and [*itself["$defs"]] == ["SelfHoldingPydanticLike"]
    assert is_valid({"kids": [{"kids": []}]}, itself) and not is_valid({"kids": [{"kid": 1}]}, itself)
    twice = schema_of(tuple[PydanticLike, list[PydanticLike]])
    assert set(twice["$defs"]) == {"PydanticLike"} and is_valid([{"name": "a", "home": {}}, []], twice)
    assert from_json(PydanticLike, {"name": "a", "home": {}}).name == "a"


class Alias:
    """Be what `type Json = ...` makes from Python 3.12 on."""

    def __init__(self, name, value):
        self.__name__, self.__type_params__, self.__value__ = name, (), value

    __call__ = None  # so that typing of 3.10 takes it for a type


@pytest.mark.parametrize("annotation, wire, same", [
    (dict[float, str], {"1": "a", "1.0": "b", "2": "c"}, ("1.0", "1")),
    (dict[decimal.Decimal, int], {"1.0": 1, "1.00": 2}, ("1.00", "1.0")),
    (dict[tuple[int, ...], int], {"[1]": 1, "[1.0]": 2}, ("[1.0]", "[1]")),
])
def test_keys_that_become_equal_are_an_error_and_no_loss(annotation, wire, same):
    with pytest.raises(ToolArgumentError) as caught:
        from_json(annotation, wire)
    assert [(error.path, error.message) for error in caught.value.errors] == [
        ((same[0],), f'is the same key as "{same[1]}"')]


def test_results_of_models_follow_their_own_choice_of_aliases():
    class Chosen(Modelled):
        model_config = {"serialize_by_alias": False}
    assert (to_json(Chosen())["by_alias"], to_json(Modelled())["by_alias"]) == (False, True)


LATE_BOXES = """
from __future__ import annotations
import dataclasses, typing
S = T = str         # which the parameters of these names hide

@dataclasses.dataclass
class Box[T]:
    item: T
    more: list[T]

    def put(self, item: T, tags: list[S] = ()): return item

    @classmethod
    def first[S](cls, items: list[S]) -> S: return items[0]

class Boxes(Box[int]): pass
@dataclasses.dataclass
class Twice[T](Box[list[T]]):
    third: T
def echo[T: int](it: T): return it
type Pairs[T] = list["tuple[T, T]"]
"""


@pytest.mark.parametrize("annotation, wire, wrong", [
    ("Box[int]", {"item": 3.0, "more": [4]}, {"item": "x", "more": []}),
    ("Boxes", {"item": 3.0, "more": [4]}, {"item": "x", "more": []}),
    ("Twice[int]", {"item": [3.0], "more": [[4]], "third": 5}, {"item": [3], "more": [4], "third": 5}),
    ("Twice[int]", {"item": [3.0], "more": [[4]], "third": 5}, {"item": [3], "more": [[4]], "third": "x"}),
    ("Pairs[int]", [[1, 2.0]], [["a", "b"]]),
])
def test_the_type_parameters_of_a_class_or_alias_come_before_other_names(annotation, wire, wrong, late_boxes):
    T = bool                        # noqa: F841    # nor this
    meant = eval(annotation, vars(late_boxes))
    assert is_valid(wire, schema_of(meant)) and not is_valid(wrong, schema_of(meant))
    from_json(meant, wire)


@pytest.fixture
def late_boxes(monkeypatch):
    if sys.version_info < (3, 12):
        pytest.skip("there is no syntax for type parameters before 3.12")
    module = types.ModuleType("late_boxes")
    monkeypatch.setitem(sys.modules, "late_boxes", module)
    exec(LATE_BOXES, vars(module))
    return module


def test_the_type_parameters_of_functions_and_methods_come_before_other_names(late_boxes):
    assert parameters_of(late_boxes.echo)["properties"]["it"] == INTEGER
    put = parameters_of(late_boxes.Box(1, []).put)["properties"]
    assert put["item"] == {} and put["tags"]["items"] == STRING          # S is a name of the module here
    assert parameters_of(late_boxes.Box.first)["properties"]["items"] == array_of({})


def test_a_generic_type_is_named_after_its_arguments():
    assert list(schema_of(tuple[Box[int], Box[str], Box[int], Box[str]])["$defs"]) == ["Box_int", "Box_str"]


def test_none_is_allowed_beside_an_alias_that_does_not_allow_it():
    def take(alias: Optional[Alias("Either", Union[Node, int])] = 1): ...

    schema = parameters_of(take)
    assert is_valid({"alias": None}, schema) and schema["properties"]["alias"]["default"] == 1


def test_without_the_chapter_its_types_keys_and_names_are_refused_by_its_name(tmp_path, monkeypatch):
    core = load_copy(without({"types"}), tmp_path, monkeypatch)
    needs = 'needs the chapter "types" (cut from this copy)'
    for annotation, subject in [
            (PydanticLike, "PydanticLike"), (AttrsLike, "AttrsLike"), (Box[int], "Box[int]"),
            (DayBox, "DayBox.item: ~T"), (Box, "Box"), (T, "~T"), (dict[int, str], "dict[int, str]"),
            (dict[Shade, int], "dict[test_toolreg.Shade, int]"), (Alias("Tree", int), ">"),
            ("int", 'the text "int"'), (typing.List["Nowhere"], 'the text "Nowhere"')]:
        with pytest.raises(core.ToolDefinitionError) as caught:
            core.schema_of(annotation)
        assert f"{subject} {needs}" in str(caught.value)
    for value in (Modelled(), Attrs(), Frame(), Chunk("x")):
        assert core.to_json([value]) == [f"<{type(value).__name__} {needs}>"]


@pytest.mark.parametrize("make", [Alias, getattr(typing, "TypeAliasType", Alias)])
def test_a_type_alias_is_followed_and_refers_to_itself_where_it_holds_itself(make):
    Tree = make("Tree", Union[int, typing.List["Tree"]])
    tree = {"anyOf": [INTEGER, array_of({"$ref": "#/$defs/Tree"})]}
    assert schema_of(Tree) == {"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}
    assert from_json(Tree, [1.0, [2.0]]) == [1, [2]]
    assert schema_of(tuple[make("Ids", list[int]), str])["prefixItems"] == [array_of(INTEGER), STRING]


MODULE = """
import dataclasses, functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nowhere import Missing

def logged(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs)
    return wrapper

def make():
    @dataclasses.dataclass
    class Local:
        number: int
        inner: list[Local] = dataclasses.field(default_factory=list)
    def use(it: Local, hidden: Missing = None) -> Missing:
        return Local, it
    return use

def hides(it: int, hidden: Missing): ...
"""


LATE = ["from __future__ import annotations"] + [""] * (sys.version_info >= (3, 14))     # 3.14 is late by itself


@pytest.fixture(params=LATE)
def written_apart(tmp_path, monkeypatch, request):
    (tmp_path / "written_apart.py").write_text(request.param + MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("written_apart")
    yield module
    del sys.modules["written_apart"]


def test_string_annotations_find_local_classes_also_through_a_wrapper_from_elsewhere(written_apart):
    for wrap in (lambda func: func, through_a_wrapper, written_apart.logged):
        wire = {"number": 1.0, "inner": [{"number": 2}]}
        Local, it = bound_and_called(wrap(written_apart.make()), {"it": wire}, inject={"hidden": 0})
        assert alike(it, Local(1, [Local(2)]))


def test_names_that_only_a_type_checker_imports_do_not_matter_where_they_are_not_needed(written_apart):
    schema = toolreg._form_of_function(written_apart.hides, name="f", inject={"hidden": 1})[1]
    assert list(schema["properties"]) == ["it"]
    with pytest.raises(ToolDefinitionError, match="hidden: NameError: name 'Missing' is not defined"):
        parameters_of(written_apart.hides)


def test_a_class_of_the_calling_function_is_found_by_its_name():
    @dataclasses.dataclass
    class Here:
        number: int

    def use(it: "Here"):
        return it

    assert alike(bound_and_called(use, {"it": {"number": 1.0}}), Here(1))


# ---------------------------------------------------------------------------
# contracts: what is given as `parameters=` of a function, a JSON Schema or a class with named fields
# ---------------------------------------------------------------------------
def test_without_the_chapter_parameters_are_refused_by_its_name(tmp_path, monkeypatch):
    core = load_copy(without({"contracts"}), tmp_path, monkeypatch)
    for parameters in ({"type": "object"}, Node, ["x"]):
        with pytest.raises(core.ToolDefinitionError) as caught:
            core.Tool.from_function(lambda **given: given, name="f", parameters=parameters)
        assert str(caught.value) == 'tool "f": parameters= needs the chapter "contracts" (cut from this copy)'


@of("texts")
def test_a_given_schema_is_the_contract_and_values_that_fit_an_annotation_are_read():
    def forecast(place: str, *, days: int = 1, unit: str = "c", when: Optional[datetime.date] = None):
        return place, days, unit, when

    contract = {"type": "object", "properties": {
        "place": {"type": "string"}, "when": {"type": "string"}, "days": {"type": ["integer", "string"]}}}
    assert toolreg._form_of_function(forecast, name="f", parameters=contract)[1] == contract
    assert bound_and_called(forecast, {"place": "a", "when": "2024-05-01", "days": "many"}, parameters=contract) == (
        "a", "many", "c", datetime.date(2024, 5, 1))
    with pytest.raises(ToolArgumentError, match='when: "soon" is not a date'):
        bound_and_called(forecast, {"place": "a", "when": "soon"}, parameters=contract)
    with pytest.raises(ToolArgumentError, match=r"size: is not allowed here \(there are: place, days, unit, when\)"):
        bound_and_called(forecast, {"place": "a", "size": 1}, parameters=contract)
    odd = {"from": 1, "cik-A": 2}
    assert bound_and_called(lambda **kw: kw, odd, parameters={"type": "object"}) == odd


def test_what_has_no_json_form_may_be_annotated_where_the_schema_is_given():
    def call(back: typing.Callable):
        return back

    assert bound_and_called(call, {"back": "x"}, parameters={"type": "object", "properties": {"back": {}}}) == "x"


@pytest.mark.parametrize("func, options, problems", [
    (forecast, {"parameters": {"properties": {"town": {}}}}, [
        'parameters: "town" is no parameter (there are: place, days, unit, when)',
        'parameters: "place" is missing, and the function needs it']),
    (forecast, {"parameters": {"properties": {"place": {}, "days": {}}}, "inject": {"days": 1}},
     ['parameters: "days" is filled in by the program (leave it out)']),
    (forecast, {"parameters": ["x"]}, ["parameters: must be a JSON Schema or a class with named fields"]),
    (forecast, {"parameters": int}, [
        "parameters: must be a JSON Schema or a class with named fields, such as a dataclass",
        'parameters: "place" is missing, and the function needs it']),
    (forecast, {"parameters": Node}, [
        'parameters: "value" is no parameter (there are: place, days, unit, when)',
        'parameters: "children" is no parameter (there are: place, days, unit, when)',
        'parameters: "place" is missing, and the function needs it']),
])
def test_parameters_that_do_not_suit_the_function_are_refused_with_all_problems(func, options, problems):
    test_what_cannot_be_a_tool_is_refused_with_all_problems(func, options, problems)


@pytest.mark.parametrize("model, arguments, result", [
    (dataclasses.make_dataclass("M", [("place", str), ("when", Optional[datetime.date], None)]),
     {"place": "a", "when": "2024-05-01"}, ("a", 1, "c", datetime.date(2024, 5, 1))),
    (TypedDict("M", {"place": str, "days": int}), {"place": "a", "days": 2.0}, ("a", 2, "c", None)),
    (NamedTuple("M", [("place", str), ("days", int)]), {"place": "a", "days": 2.0}, ("a", 2, "c", None)),
])
def test_a_model_gives_the_schema_and_its_fields_are_passed(model, arguments, result):
    schema = toolreg._form_of_function(forecast, name="f", parameters=model)[1]
    assert schema["type"] == "object" and list(schema["properties"])[0] == "place"
    assert alike(bound_and_called(forecast, arguments, parameters=model), result)


def test_a_model_that_holds_itself_is_still_an_object_at_the_root():
    def take(value, children):
        return children

    schema = toolreg._form_of_function(take, name="f", parameters=Node)[1]
    assert schema["type"] == "object" and schema["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert bound_and_called(take, {"value": 1, "children": [{"value": 2}]}, parameters=Node) == [Node(2)]


def test_a_model_refuses_unknown_arguments_at_every_level_unless_it_allows_them():
    def meet(name, home, **rest):
        return name, home, rest

    tools = ToolRegistry([Tool.from_function(meet, parameters=PydanticLike)])
    known = {"name": "a", "home": {}}
    assert tools.invoke("meet", known).value == ("a", {}, {})
    assert "homes: is not allowed here" in tools.invoke("meet", {**known, "homes": 1}).content
    assert "home.town: is not allowed here" in tools.invoke("meet", {**known, "home": {"town": 1}}).content
    tools = ToolRegistry([Tool.from_function(meet, parameters=OpenPydanticLike)])
    assert tools.invoke("meet", {**known, "homes": 1}).value == ("a", {}, {"homes": 1})


class OpenPydanticLike(PydanticLike):
    """Is like a pydantic model that says extra="allow"."""

    def __init__(self, name, home, **extra):
        super().__init__(name, home)
        self.model_extra = extra

    model_fields = ("name", "home")

    @classmethod
    def model_json_schema(cls):
        return {**super().model_json_schema(), "additionalProperties": True}


# ---------------------------------------------------------------------------
# roots: parameters with `$ref` or branches at their root, as the plain object that the APIs want
# ---------------------------------------------------------------------------
def test_what_a_root_is_merged_of_is_not_shared_with_it():
    parameters = {"$ref": "#/$defs/one", "$defs": {"one": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    sent = parameters_as("openai-chat", parameters)
    sent["properties"]["n"].clear()
    assert sent["$defs"] == parameters["$defs"]


@pytest.mark.parametrize("branches, properties, required", [
    ({"anyOf": [{"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a", "b"]},
                {"properties": {"a": {"type": "string"}, "c": {"type": "string"}}, "required": ["a"]}]},
     ["a", "b", "c"], ["a"]),
    ({"oneOf": [{"$ref": "#/$defs/one"}, {"properties": {"n": {"type": "string"}}}]}, ["n"], []),
    ({"allOf": [{"$ref": "#/$defs/one"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}, ["b", "n"],
     ["n", "b"]),
    ({"$ref": "#/$defs/one"}, ["n"], ["n"]),
    ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
      "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, ["a", "b"], []),
])
def test_a_root_with_branches_is_merged_for_those_who_want_a_plain_object(branches, properties, required):
    parameters = {**branches, "$defs": {"one": {"type": "object", "properties": {"n": {"type": "integer"}},
                                                "required": ["n"]}}}
    for api_format in MESSAGE_FORMATS:
        sent = parameters_as(api_format, parameters)
        assert (sent["type"], sorted(sent["properties"]), sent.get("required", [])) == ("object", properties, required)
        assert sent.keys().isdisjoint(("anyOf", "oneOf", "allOf", "$ref"))


def test_references_at_a_root_that_meet_again_and_again_are_written_out_once():
    definitions = {f"d{n}": {"properties": {f"p{n}": {}}, "anyOf": [
        {}, *({"$ref": f"#/$defs/d{m}"} for m in range(n + 1, min(n + 13, 40)))]} for n in range(40)}
    sent = parameters_as("openai-chat", {"$ref": "#/$defs/d0", "$defs": definitions})
    assert sorted(sent["properties"]) == sorted(f"p{n}" for n in range(40))


def test_branches_that_say_different_things_of_a_property_are_both_kept():
    parameters = {"oneOf": [{"properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in "abda"]}
    assert parameters_as("openai-chat", parameters)["properties"]["kind"] == {
        "anyOf": [{"const": "a"}, {"const": "b"}, {"const": "d"}]}
    registry = ToolRegistry([tool_taking(parameters)])
    assert [registry.invoke("get_weather", {"kind": kind}).is_error for kind in "bc"] == [False, True]


def test_a_copy_without_the_chapter_roots_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"roots"}), tmp_path, monkeypatch)
    for word, root in (("$ref", {"$ref": "#/$defs/a", "$defs": {"a": {}}}), ("anyOf", {"anyOf": [{"required": ["a"]}]})):
        with pytest.raises(module.ToolDefinitionError, match=re.escape(f'"{word}" at the root needs the chapter "roots" (cut')):
            module.Tool("f", "", {"type": "object", "properties": {"a": {}}, **root}, dict)


# ---------------------------------------------------------------------------
# strict: OpenAI's strict mode
# ---------------------------------------------------------------------------
@pytest.mark.parametrize("says, asked, chat", [
    (None, None, None), (None, True, True), (None, False, False), (True, None, True), (True, False, True),
    (False, True, False)])
def test_strict_is_sent_as_the_tool_says_or_else_as_asked(says, asked, chat):
    tool = tool_taking(CITY_ONLY, strict=says)
    assert build_tool_schemas([tool], strict=asked)[0]["function"].get("strict") is chat


@pytest.mark.parametrize("schema, strict", [
    ({"type": "string", "minLength": 1, "default": "x", "title": "T"}, {"type": ["string", "null"]}),
    ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    ({"enum": ["c", "f"]}, {"anyOf": [{"enum": ["c", "f"], "type": "string"}, {"type": "null"}]}),
    ({"const": 1}, {"anyOf": [{"enum": [1], "type": "integer"}, {"type": "null"}]}),
    ({"type": "string", "anyOf": [{"pattern": "^a", "type": "string"}]},
     {"anyOf": [{"type": "string", "anyOf": [{"pattern": "^a", "type": "string"}]}, {"type": "null"}]}),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]},
     {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
    ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ({"$ref": "#/$defs/d"}, {"anyOf": [{"$ref": "#/$defs/d"}, {"type": "null"}]}),
    ({"$ref": "#/$defs/d", "description": "D"},
     {"description": "D", "anyOf": [{"$ref": "#/$defs/d"}, {"type": "null"}]}),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
     {"type": ["array", "null"], "items": {"type": "integer"}}),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "maxItems": 2},
     {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "maxItems": 2}),
    ({"type": "string", "format": "date-time"}, {"type": ["string", "null"], "format": "date-time"}),
    ({"type": "string", "format": "byte"}, {"type": ["string", "null"]}),
    ({"properties": {"default": {"type": "integer"}}, "additionalProperties": False},
     {"type": ["object", "null"], "properties": {"default": {"type": ["integer", "null"]}}, "required": ["default"],
      "additionalProperties": False}),
])
def test_strict_mode_requires_everything_and_says_null_for_what_may_be_left_out(schema, strict):
    parameters = {"type": "object", "properties": {"x": schema}, "$defs": {"d": {"type": "integer"}}}
    assert parameters_as("openai-chat", parameters, strict=True) == {
        "type": "object", "properties": {"x": strict}, "required": ["x"], "additionalProperties": False,
        "$defs": {"d": {"type": "integer"}}}


def test_strict_mode_leaves_what_is_required_as_it_is():
    parameters = {"type": "object", "properties": {"x": {"type": "string"}, "y": {"enum": [1]}}, "required": ["x", "y"]}
    sent = parameters_as("openai-chat", parameters, strict=True)
    assert sent["properties"] == {"x": {"type": "string"}, "y": {"enum": [1], "type": "integer"}}


@pytest.mark.parametrize("parameters, fault", [
    ({"type": "object", "properties": {"x": {}}}, "a value of any type cannot be said"),
    ({"type": "object", "properties": {"x": True}}, "a value of any type cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "array"}}}, "a value of any type cannot be said"),
    ({"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {}]}}},
     "a value of any type cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "object"}}}, "an object with names of any kind cannot be said"),
    ({"type": "object", "properties": {}, "additionalProperties": True},
     "an object with names of any kind cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "object", "additionalProperties": {"type": "string"}}}},
     "an object with names of any kind cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "string", "not": {"const": "y"}}}}, "not cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [
        {"properties": {"b": {"type": "string"}}}]}}}, "an object with branches cannot be said"),
    ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "patternProperties cannot be said"),
    ({"type": "object", "properties": {"x": {"$ref": "#here"}}, "$defs": {"x": {"$anchor": "here", "type": "string"}}},
     "#here cannot be said"),
    ({"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}}]}, "anyOf at the root cannot be said"),
    ({"type": "object", "properties": {"x": {"$ref": "#/$defs/d", "properties": {"a": {"type": "string"}}}},
      "$defs": {"d": {"type": "object", "additionalProperties": False}}}, "\\$ref beside other keywords cannot be said"),
    ({"type": "object", "properties": {"x": {"$ref": "#/$defs/d", "minimum": 3}}, "$defs": {"d": {"type": "integer"}}},
     "\\$ref beside other keywords cannot be said"),
    ({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x", "y"]},
     "a required name that is not declared cannot be said"),
])
def test_a_tool_that_strict_mode_cannot_say_is_refused_or_sent_without(parameters, fault):
    with pytest.raises(ToolDefinitionError, match=fault):
        tool_taking(parameters, strict=True)
    schema, = build_tool_schemas([tool_taking(parameters)], strict=True)
    assert schema["function"]["strict"] is False
    assert [schema] == build_tool_schemas([tool_taking(parameters, strict=False)])


def test_what_strict_mode_leaves_out_comes_back_as_left_out():
    def plan(city: str, days: int = 3, tags: Optional[list[str]] = None):
        return [city, days, tags]
    registry = ToolRegistry([plan])
    schema = registry.get_schemas(strict=True)[0]["function"]
    assert schema["strict"] and schema["parameters"]["required"] == ["city", "days", "tags"]
    assert registry.invoke("plan", {"city": "Oslo", "days": None, "tags": None}).value == ["Oslo", 3, None]


def test_what_strict_mode_is_known_to_refuse_is_left_out():
    parameters = {"type": "object", "properties": {
        "code": {"description": "A code.", "type": "string", "pattern": "^(?=a)ab$"},
        "plain": {"type": "string", "pattern": "^a"}}, "required": ["code", "plain"], "additionalProperties": False}
    sent = parameters_as("openai-chat", parameters, strict=True)["properties"]
    assert sent["code"] == {"type": "string", "description": "A code."} and list(sent["code"])[0] == "type"
    assert sent["plain"]["pattern"] == "^a"


def test_a_copy_without_the_chapter_strict_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"strict"}), tmp_path, monkeypatch)
    refused = '"strict" needs the chapter "strict" .cut from this copy.'
    tools = [module.Tool("t", "", {"type": "object"}, dict)]
    with pytest.raises(module.ToolDefinitionError, match=refused):
        module.build_tool_schemas(tools, strict=True)
    assert module.build_tool_schemas(tools, strict=False)[0]["function"]["strict"] is False


# ---------------------------------------------------------------------------
# spellings: calls that are spelled otherwise, by other APIs, SDKs and libraries
# ---------------------------------------------------------------------------
class SdkObject:
    """Stand for what an SDK gives: attributes, no keys."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class FunctionCall(SdkObject):
    pass


SPELLED_CALLS = {                           # for each format to answer in: what came -> its id
    "openai-chat": {
        "plain": ({"id": "i", "type": "function", "function": {"name": "f", "arguments": ARGUMENTS_TEXT}}, "i"),
        "object": (SdkObject(id="i", type="function", function=SdkObject(name="f", arguments=ARGUMENTS_TEXT)), "i"),
        "ollama": ({"function": {"name": "f", "arguments": {"city": "Oslo"}}}, None),
        "bare args": ({"name": "f", "args": {"city": "Oslo"}}, None),
        "bare arguments": ({"name": "f", "arguments": {"city": "Oslo"}}, None),
        "flat function": ({"type": "function", "id": "i", "name": "f", "arguments": ARGUMENTS_TEXT}, "i"),
        "bare call_id": ({"call_id": "i", "name": "f", "arguments": ARGUMENTS_TEXT}, "i"),
        "ours": (ToolCall("i", "f", {"city": "Oslo"}), "i"),
    },
}


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_a_call_is_read_in_every_spelling_and_answered_in_its_own(api_format):
    for call, call_id in SPELLED_CALLS[api_format].values():
        for response in ([call], (call,), call):
            got, = parse_tool_calls(response)
            assert (got.name, got.arguments) == ("f", {"city": "Oslo"}) and got.id == (call_id or got.id) != ""
        assert toolreg._read_calls([call])[0] == api_format
        assert toolreg._read_calls([call], "openai-chat")[0] == "openai-chat"
        ids = {got.id for got in parse_tool_calls([call, call])}
        assert len(ids) == (1 if call_id else 2)                   # a missing id is made up, each time a new one


SPELLED_MESSAGES["openai-chat"].update({
    "response": {"choices": [{"index": 0, "finish_reason": "tool_calls",
                              "message": {"role": "assistant", "tool_calls": [CHAT_CALL]}}]},
    "the first of two": {"choices": [{"message": {"role": "assistant", "tool_calls": [CHAT_CALL]}},
                                     {"message": {"role": "assistant", "content": "Hello."}}]},
    "ollama": {"model": "m", "done": True, "message": SPELLED_MESSAGES["openai-chat"]["no type"]},
    "object": SdkObject(choices=[SdkObject(message=SdkObject(
        role="assistant", content=None, tool_calls=[SPELLED_CALLS["openai-chat"]["object"][0]]))]),
    "choice": SdkObject(index=0, message={"role": "assistant", "tool_calls": [CHAT_CALL]}),
})
KEPT_TURNS["openai-chat"] += [
    (SPELLED_MESSAGES["openai-chat"]["response"], {"role": "assistant", "tool_calls": [CHAT_CALL]}),
    ({"role": None, "content": "Hello."}, {"role": "assistant", "content": "Hello."})]
WITHOUT_CALLS["openai-chat"] += [
    {"choices": []},
    {"tool_calls": []}, SdkObject(role="assistant", content="", tool_calls=[])]
UNREADABLE["openai-chat"] += [
    SdkObject(role="assistant", content=None, tool_calls=None, function_call=FunctionCall(name="f", arguments="{}"))]


def test_a_custom_call_that_nobody_offered_is_answered_with_an_error():
    message = {"role": "assistant", "tool_calls": [CHAT_CALL, {"id": "c", "type": "custom",
                                                             "custom": {"name": "code", "input": "print(1)"}}]}
    registry = ToolRegistry()
    registry.register(lambda city: city, name="f")
    plain, custom = registry.respond(message)
    assert plain["content"] == "Oslo"
    assert (custom["tool_call_id"], "there is no tool" in custom["content"]) == ("c", True)
    history, calls, _ = toolreg._read_turn(message, "openai-chat")
    assert history == [message] and [call.id for call in calls] == ["i", "c"]


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_the_parts_of_a_turn_may_be_objects_of_an_sdk(api_format):
    class Part(SdkObject):
        def model_dump(self, **options):
            return json.loads(json.dumps(self.__dict__))
    message = build_assistant_messages([ToolCall("a", "f", {"x": 1})], api_format=api_format)[0]
    key = toolreg._APIS[api_format].parts
    parts = [Part(**part) for part in message[key]] if key else [Part(**message)]
    answer = {**message, key: parts} if key else parts
    assert toolreg._read_turn(answer, api_format) == ([message], [ToolCall("a", "f", {"x": 1})], False)


@pytest.mark.parametrize("kind", ["Unset", "NotGiven", "Omit", "Undefined"])
def test_an_object_that_stands_for_what_is_absent_is_none(kind):
    absent = type(kind, (), {})()
    message = SdkObject(role="assistant", content=absent, tool_calls=[
        SdkObject(id=absent, type=absent, function=SdkObject(name="f", arguments=absent))])
    assert [(call.name, call.arguments) for call in parse_tool_calls(message)] == [("f", {})]
    assert parse_tool_calls(SdkObject(role="assistant", content="Hi.", tool_calls=absent)) == []


def test_what_an_sdk_added_for_the_program_is_not_sent_back():
    class Model(SdkObject):
        def model_dump(self, exclude, **_):
            return {key: value.model_dump(exclude.get(key, {})) if isinstance(value, Model) else
                    [each.model_dump(exclude.get(key, {}).get(at, {})) for at, each in enumerate(value)]
                    if isinstance(value, list) else value for key, value in self.__dict__.items()
                    if exclude.get(key) is not True}

    class Parsed(Model):
        __api_exclude__ = {"parsed"}
    call = Parsed(parsed=1, id="i", type="function", function=Parsed(parsed=2, name="f", arguments=ARGUMENTS_TEXT))
    message = Parsed(role="assistant", content="", parsed={"x": 1}, tool_calls=[call])
    assert toolreg._read_turn(message, "openai-chat")[0] == [{"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]}]


def test_a_copy_without_the_chapter_spellings_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"spellings"}), tmp_path, monkeypatch)
    refused = 'needs the chapter "spellings" .cut from this copy.'
    for response in (SPELLED_MESSAGES["openai-chat"]["object"], {"name": "f", "arguments": {}},
                     {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "input": {}}]}):
        with pytest.raises(TypeError, match=refused):
            module.parse_tool_calls(response)
    with pytest.raises(TypeError, match=refused):
        module.run_agent(lambda **_: SPELLED_MESSAGES["openai-chat"]["object"], "Hi.", module.ToolRegistry())


class Kinded:
    """Be like an object of pydantic whose class says in a default what it is."""

    def __init__(self, kinds, **given):
        self.__dict__.update(kinds, **given)
        self._given = given

    def model_dump(self, exclude_unset=False, exclude=(), **_):
        dumped = {key: value for key, value in vars(self).items() if key[:1] != "_" and key not in exclude}
        return {key: [each.model_dump(exclude_unset) for each in value] if isinstance(value, list) else value
                for key, value in dumped.items() if not exclude_unset or key in self._given}


def test_what_an_object_says_in_a_default_is_not_lost():
    block = Kinded({"type": "tool_use", "cache": None}, id="t", name="f", input={})
    message = Kinded({"role": "assistant", "usage": 5}, content=[block])
    assert toolreg._on_the_wire(message) == {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t", "name": "f", "input": {}}]}
    # some spell what was not set as null
    assert toolreg._with_kinds([{"role": None, "content": "q"}], [{"role": "user", "content": "q", "id": 1}]) == [
        {"role": "user", "content": "q"}]


def test_an_answer_in_the_same_output_leaves_nothing_to_wait_for():
    shell = [{"type": "shell_call", "call_id": "s"}, {"type": "shell_call_output", "call_id": "s"}]
    assert parse_tool_calls({"output": [*shell, {"type": "message", "role": "assistant", "content": []}]}) == []
    tools = {"type": "additional_tools", "role": "developer", "tools": []}
    assert parse_tool_calls({"output": [tools, {"type": "message", "role": "assistant", "content": []}]}) == []


# ---------------------------------------------------------------------------
# responses: the API of OpenAI's Responses
# ---------------------------------------------------------------------------
RESPONSES_CALL = {"id": "fc_1", "call_id": "i", "type": "function_call", "name": "f", "arguments": ARGUMENTS_TEXT}
RESPONSES = {"id": "resp_1", "output": [{"type": "reasoning", "id": "rs_1", "summary": []}, RESPONSES_CALL]}
TOOL_AS["openai-responses"] = {"type": "function", "name": "get_weather", "description": "Do it.",
                               "parameters": CITY_ONLY, "strict": False}
CHOICES_AS["openai-responses"] = ["auto", "none", "required", {"type": "function", "name": "f"}, {
    "type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": name} for name in "fg"]}]
UNREADABLE["openai-responses"] = [              # what waits for an answer that nobody here can give
    *([{"type": kind, "call_id": "c", "id": "x", "name": "code", "input": "1"}] for kind in (
        "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
        "mcp_approval_request")),
    [RESPONSES_CALL, {"type": "tool_search_call", "execution": "client", "call_id": "c", "arguments": {}}],
    [{"type": "function_call", "id": "c", "name": "f", "arguments": {"a": 1}}]]     # Gemini's Interactions API
SPELLED_CALLS["openai-responses"] = {"plain": (RESPONSES_CALL, "i"), "object": (SdkObject(**RESPONSES_CALL), "i")}
SPELLED_MESSAGES["openai-responses"] = {
    "plain": RESPONSES,
    "items": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]},
              RESPONSES_CALL],
}
WITHOUT_CALLS["openai-responses"] = [
    {"output": []}, [{"type": "web_search_call", "id": "ws", "action": {}},
                     {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}"},
                     {"type": "tool_search_call", "execution": "server", "call_id": None, "arguments": {}}]]
GOES_ON["openai-responses"] = [
    {"type": "function_call", "name": "f", "arguments": "{}", "status": "in_progress"},
    {"type": "function_call", "name": "f", "arguments": " ", "status": "incomplete"}]
TEXT_IS_KEPT.append("openai-responses")
ANSWERS_AS["openai-responses"] = lambda items, reason: {
    "output": items, "status": "incomplete" if reason else "completed",
    "incomplete_details": {"reason": reason} if reason else None}
CUT_BY["openai-responses"], TAKEN_BACK_BY["openai-responses"] = "max_output_tokens", "content_filter"
MESSAGES_AS["openai-responses"] = (
    [{"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": "é"}'}],
    [{"type": "function_call_output", "call_id": "a", "output": "ok"},
     {"type": "function_call_output", "call_id": "b", "output": "bad"}])
KEPT_TURNS["openai-responses"] = [
    ([{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}, RESPONSES_CALL], ...),
    (RESPONSES, RESPONSES["output"]),
    ({"role": "assistant", "content": "", "function_call": 1}, ...)]     # nothing that could be called


@pytest.mark.parametrize("status, expected", [("incomplete", "{"), ("in_progress", "{"), ("completed", {})])
def test_a_responses_call_that_is_not_complete_is_never_run_as_empty(status, expected):
    item = {"type": "function_call", "call_id": "i", "name": "f", "arguments": "", "status": status}
    assert parse_tool_calls([item])[0].arguments == expected


@pytest.mark.parametrize("response, why", [
    ({"status": "failed", "error": {"code": "server_error", "message": "sorry"}, "output": []}, "sorry"),
    ({"status": "failed", "error": None, "output": [{"type": "message", "role": "assistant", "content": []}]}, "failed")])
def test_a_responses_answer_that_failed_is_an_error_that_the_program_sees(response, why):
    with pytest.raises(ToolRegError, match=f"the model gave no answer: .*{why}|an assistant message.*"):
        run_agent(lambda **_: response, "Hi.", ToolRegistry(), api_format="openai-responses")


@of("responses", "strict")
@pytest.mark.parametrize("asked", [None, True, False])
def test_the_responses_api_is_always_told_of_strict(asked):
    schema, = build_tool_schemas([tool_taking(CITY_ONLY)], strict=asked, api_format="openai-responses")
    assert schema["strict"] is (asked is True)


@of("responses", "anthropic")
def test_calls_of_several_formats_are_refused_or_answered_as_asked_for():
    calls = [CHAT_CALL, RESPONSES_CALL, SPELLED_CALLS["anthropic"]["plain"][0]]
    with pytest.raises(TypeError, match="calls of several formats.*api_format="):
        parse_tool_calls(calls)
    assert [call.name for call in parse_tool_calls(calls, api_format="openai-chat")] == ["f", "f", "f"]


def test_a_copy_without_the_chapter_responses_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"responses"}), tmp_path, monkeypatch)
    refused = '"(openai-responses|function_call)" needs the chapter "responses" .cut from this copy.'
    for attempt in (lambda: module.parse_tool_calls(RESPONSES), lambda: module.parse_tool_calls([RESPONSES_CALL]),
                    lambda: module.build_tool_schemas([], api_format="openai-responses")):
        with pytest.raises((TypeError, ValueError), match=refused):
            attempt()


@of("media")
def test_responses_are_sent_media_as_parts_of_the_output():
    image = {"type": "input_image", "image_url": "data:image/png;base64,YWJj"}
    output = [{"type": "input_text", "text": MIXED.content}, image,
              {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,JQ=="}]
    assert build_tool_result_messages([MIXED, SILENT], api_format="openai-responses") == [
        {"type": "function_call_output", "call_id": "i", "output": output},
        {"type": "function_call_output", "call_id": "i", "output": [image]}]


def test_an_output_without_items_is_the_end_of_a_run():
    history = run_agent(lambda **_: {"status": "completed", "output": []}, "q", ToolRegistry(), api_format="openai-responses")
    assert history == [{"role": "user", "content": "q"}]


# ---------------------------------------------------------------------------
# anthropic: the API of Anthropic's Messages
# ---------------------------------------------------------------------------
ANTHROPIC_CALL = {"type": "tool_use", "id": "i", "name": "f", "input": {"city": "Oslo"}}
TOOL_AS["anthropic"] = {"name": "get_weather", "description": "Do it.", "input_schema": CITY_ONLY}
CHOICES_AS["anthropic"] = [{"type": "auto"}, {"type": "none"}, {"type": "any"}, {"type": "tool", "name": "f"}, None]
SPELLED_CALLS["anthropic"] = {"plain": (ANTHROPIC_CALL, "i"), "object": (SdkObject(**ANTHROPIC_CALL), "i")}
SPELLED_MESSAGES["anthropic"] = {
    "plain": {"role": "assistant", "content": [{"type": "text", "text": "Hm."}, ANTHROPIC_CALL]},
    "object": SdkObject(type="message", role="assistant", content=[SdkObject(**ANTHROPIC_CALL)]),
    "blocks": [{"type": "thinking", "thinking": "…"}, ANTHROPIC_CALL],
}
WITHOUT_CALLS["anthropic"] = [{"role": "assistant", "content": [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}]}]
UNREADABLE["anthropic"] = [
    [SPELLED_MESSAGES["anthropic"]["object"]] * 2, [CHAT_CALL, ANTHROPIC_CALL],
    {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "arguments": {"x": 1}}]}]
MESSAGES_AS["anthropic"] = (
    [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": "é"}}]}],
    [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"},
                                  {"type": "tool_result", "tool_use_id": "b", "content": "bad", "is_error": True}]}])
ANSWERS_AS["anthropic"] = lambda message, reason: {**message, "stop_reason": reason}
CUT_BY["anthropic"], TAKEN_BACK_BY["anthropic"] = "max_tokens", "refusal"
KEPT_TURNS["anthropic"] = [
    ({"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, ANTHROPIC_CALL]}, ...),
    ({"role": "assistant", "content": "Hello."}, ...),
    ({"id": "msg", "type": "message", "role": "assistant", "content": [], "usage": {}}, []),
    ({"role": "assistant", "content": [{"type": "text", "text": "\n"}, {"type": "text", "text": "", "citations": None}]}, []),
    ({"role": "assistant", "content": [{"type": "text", "text": " "}, ANTHROPIC_CALL]},
     {"role": "assistant", "content": [ANTHROPIC_CALL]}),
    ({"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "s"}, ANTHROPIC_CALL]}, ...),
    ([ToolCall("i", "f", {})],
     {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "input": {}}]})]


def test_an_id_that_anthropic_would_not_take_is_the_same_legal_one_in_call_and_result():
    call, = parse_tool_calls([{**CHAT_CALL, "id": "functions.look:0"}])
    message, = build_assistant_messages([call], api_format="anthropic")
    results, = build_tool_result_messages([ToolResult(call.id, "f", "x")], api_format="anthropic")
    assert message["content"][0]["id"] == results["content"][0]["tool_use_id"] == "functions_look_0"


@of("anthropic", "strict")
def test_strict_is_sent_to_anthropic_where_the_tool_itself_says_so_in_the_words_that_it_takes():
    closed = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"],
              "additionalProperties": False}
    sent, = build_tool_schemas([tool_taking(closed, strict=True)], api_format="anthropic")
    assert sent["strict"] is True and sent["input_schema"] == {**closed, "properties": {"n": {"type": "integer"}}}
    for tool in (tool_taking(closed), tool_taking(closed, strict=False)):
        sent, = build_tool_schemas([tool], api_format="anthropic", strict=True)
        assert "strict" not in sent and sent["input_schema"] == closed
    ring = {**TREE_OF_NODES, "additionalProperties": False}
    sent, = build_tool_schemas([tool_taking(ring, strict=True)], api_format="anthropic")
    assert "strict" not in sent and sent["input_schema"] == ring       # it takes nothing that refers to itself


def test_a_text_that_anthropic_would_not_take_back_is_mended_in_the_history():
    cut = {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "f", "input": '{"city": "O'}]}
    messages, calls, _ = toolreg._read_turn(cut, "anthropic")
    assert messages[0]["content"][0]["input"] == {"arguments_as_text": '{"city": "O'}
    assert parse_tool_calls(messages) == calls == [ToolCall("i", "f", '{"city": "O')]


def test_a_copy_without_the_chapter_anthropic_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"anthropic"}), tmp_path, monkeypatch)
    refused = '"(anthropic|tool_use)" needs the chapter "anthropic" .cut from this copy.'
    for attempt in (lambda: module.parse_tool_calls(SPELLED_MESSAGES["anthropic"]["plain"]),
                    lambda: module.parse_tool_calls(SPELLED_MESSAGES["anthropic"]["object"]),
                    lambda: module.parse_tool_calls([ANTHROPIC_CALL]),
                    lambda: module.build_tool_choice("auto", api_format="anthropic")):
        with pytest.raises((TypeError, ValueError), match=refused):
            attempt()


def test_a_turn_that_anthropic_paused_goes_on_and_one_with_calls_runs_them():
    searched = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    asked = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}
    def script(*contents):
        left = iter(contents)
        def model(**_):
            content, reason = next(left)
            return {"role": "assistant", "content": content, "stop_reason": reason}
        model.api_format = "anthropic"
        return model
    def paused():
        return script(([searched], "pause_turn"), ([searched, asked], "pause_turn"),
                      ([{"type": "text", "text": "done"}], "end_turn"), ([], "never asked"))
    for new in loops(paused, "go", ToolRegistry([add])):
        assert [message["role"] for message in new] == ["assistant", "assistant", "user", "assistant"]
        assert new[0]["content"] == [searched] and new[2]["content"][0]["tool_use_id"] == "t1"
    if "streams" in HERE_ARE:
        events = [{"type": "content_block_start", "index": 0, "content_block": searched},
                  {"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}]
        streamed = iter([collect_stream(events, api_format="anthropic"), {"role": "assistant", "content": "done"}])
        history = run_agent(lambda **_: next(streamed), "go", ToolRegistry([add]), api_format="anthropic")
        assert history[1:] == [{"role": "assistant", "content": [searched]}, {"role": "assistant", "content": "done"}]
    endless = [([searched], "pause_turn")] * 3
    with pytest.raises(MaxTurnsExceeded):
        run_agent(script(*endless), "go", ToolRegistry([add]), max_turns=3)


@of("resume")
def test_results_that_are_missing_come_before_what_a_user_added_to_the_others():
    turn, = build_assistant_messages([ToolCall("a", "add", {"a": 1}), ToolCall("b", "add", {"a": 2})],
                                     api_format="anthropic")
    done, = build_tool_result_messages([ToolResult("b", "add", "2")], api_format="anthropic")
    text = {"type": "text", "text": "and hurry"}
    model = scripted_model({"role": "assistant", "content": "ok"})
    history = run_agent(model, [turn, {**done, "content": [*done["content"], text]}], ToolRegistry([add]),
                        api_format="anthropic")
    assert [part.get("tool_use_id") for part in history[1]["content"]] == ["b", "a", None]


@of("media")
def test_anthropic_is_sent_media_as_blocks_of_the_result():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JQ=="}}
    content = [{"type": "text", "text": MIXED.content}, image, document]
    assert build_tool_result_messages([MIXED, SILENT], api_format="anthropic") == [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "i", "content": content},
        {"type": "tool_result", "tool_use_id": "i", "content": [image]}]}]


# ---------------------------------------------------------------------------
# gemini: the API of Google's Gemini
# ---------------------------------------------------------------------------
GEMINI_CALL = {"functionCall": {"id": "i", "name": "f", "args": {"city": "Oslo"}}}
GEMINI_OBJECT = SdkObject(text=None, function_call=FunctionCall(id=None, name="f", args={"city": "Oslo"}))
TOOL_AS["gemini"] = {"name": "get_weather", "description": "Do it.", "parametersJsonSchema": CITY_ONLY}
CHOICES_AS["gemini"] = [*({"functionCallingConfig": {"mode": mode}} for mode in ("AUTO", "NONE", "ANY")),
                        *({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": names}}
                          for names in (["f"], ["f", "g"]))]
SPELLED_CALLS["gemini"] = {
    "plain": (GEMINI_CALL, "i"), "without id": ({"functionCall": {"name": "f", "args": {"city": "Oslo"}}}, None),
    "object": (GEMINI_OBJECT, None), "bare object": (FunctionCall(id="i", name="f", args={"city": "Oslo"}), "i")}
SPELLED_MESSAGES["gemini"] = {
    "plain": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm."}, GEMINI_CALL]}}]},
    "object": SdkObject(candidates=[SdkObject(content=SdkObject(role="model", parts=[GEMINI_OBJECT]))]),
    "parts": [{"text": "Hm."}, GEMINI_CALL],
}
WITHOUT_CALLS["gemini"] = [
    {"role": "model", "parts": [{"text": "x"}]}, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}},
    {"role": "model", "parts": [{"functionResponse": {"name": "f", "response": {}}}, {"inlineData": {"data": ""}}]},
    {"candidates": [{"finishReason": "SAFETY"}]}, SdkObject(candidates=None, prompt_feedback=1)]
GOES_ON["gemini"] = [
    {"functionCall": {"name": "f", "args": {}, "willContinue": True}},
    SdkObject(function_call=FunctionCall(id=None, name="f", args={"x": 1}, will_continue=True))]
MESSAGES_AS["gemini"] = (
    [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": "é"}, "id": "a"}}]}],
    [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "ok"}, "id": "a"}},
                                {"functionResponse": {"name": "g", "response": {"error": "bad"}, "id": "b"}}]}])
ANSWERS_AS["gemini"] = lambda message, reason: {"candidates": [{"content": message, "finishReason": reason}]}
CUT_BY["gemini"] = "MAX_TOKENS"
KEPT_TURNS["gemini"] = [
    ({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}]}, ...),
    (SPELLED_MESSAGES["gemini"]["plain"], SPELLED_MESSAGES["gemini"]["plain"]["candidates"][0]["content"]),
    ({"role": "assistant", "content": "Hi."}, {"role": "model", "parts": [{"text": "Hi."}]}),
    ({"role": "model"}, []), ({"role": "model", "parts": []}, []), ({"role": "model", "parts": [{"text": ""}]}, []),
    ({"role": "model", "parts": [{"text": "", "thoughtSignature": "c2ln"}]}, ...)]


def test_a_made_up_id_is_left_out_of_what_gemini_is_sent():
    call, = parse_tool_calls([{"functionCall": {"name": "f", "args": {}}}])
    message, = build_assistant_messages([call], api_format="gemini")
    assert message["parts"] == [{"functionCall": {"name": "f", "args": {}}}]
    answer, = build_tool_result_messages([ToolResult(call.id, "f", "x")], api_format="gemini")
    assert answer["parts"] == [{"functionResponse": {"name": "f", "response": {"output": "x"}}}]


@pytest.mark.parametrize("response, why", [
    ({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {}}, "SAFETY"),
    (SdkObject(candidates=None, prompt_feedback=SdkObject(block_reason="OTHER")), "OTHER"),
    ({"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}, "prohibited_content"),
    ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "content": {}}]}, "malformed_function_call")])
def test_a_gemini_prompt_that_was_blocked_is_an_error_that_the_program_sees(response, why):
    with pytest.raises(ToolRegError, match=f"the model gave no answer: .*{why}"):
        run_agent(lambda **_: response, "Hi.", ToolRegistry(), api_format="gemini")


def test_bytes_and_nonsense_of_gemini_are_json_in_the_history():
    call = {"functionCall": {"name": "add", "args": {"a": 1}}, "thoughtSignature": b"abc"}
    answers = iter([{"role": "model", "parts": [call, {"functionCall": "x"}]}, {"role": "model", "parts": [{"text": "ok"}]}])
    history = run_agent(lambda **_: next(answers), "go", ToolRegistry([add]), api_format="gemini")
    assert json.loads(json.dumps(history)) == history and history[1]["parts"][0]["thoughtSignature"] == "YWJj"
    assert history[1]["parts"][1] == {"functionCall": {"name": "_", "args": {}}} and len(history[2]["parts"]) == 2


@of("gemini", "streams")
@pytest.mark.parametrize("chunk, why", [
    ({"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
    ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "content": {}}]}, "malformed_function_call")])
def test_a_stream_without_an_answer_says_why_and_one_with_text_is_kept(chunk, why):
    with pytest.raises(ToolRegError, match=f"the model gave no answer: .*{why}"):
        collect_stream([{"usageMetadata": {}}, chunk], api_format="gemini")
    said = {"candidates": [{"content": {"parts": [{"text": "so far"}]}}]}
    assert collect_stream([said, chunk], api_format="gemini")["parts"] == [{"text": "so far"}]


@pytest.mark.parametrize("reason, arguments, runs", [
    ("SAFETY", {"a": 1}, False), ("UNEXPECTED_TOOL_CALL", {"a": 1}, False), ("PROHIBITED_CONTENT", {}, False),
    ("MAX_TOKENS", {}, False), ("MAX_TOKENS", {"a": 1}, True), ("STOP", {"a": 1}, True)])
@pytest.mark.parametrize("streamed", [False, True][:1 + ("streams" in HERE_ARE)])
def test_gemini_runs_no_call_of_an_answer_that_was_taken_back_or_cut(reason, arguments, runs, streamed):
    answer = {"candidates": [{"finishReason": reason, "content": {"role": "model", "parts": [
        {"functionCall": {"id": "i", "name": "anything", "args": arguments}}]}}]}
    ran = []
    registry = ToolRegistry()
    registry.register(lambda a=0: ran.append(a), name="anything")
    answer = collect_stream([answer], api_format="gemini") if streamed else answer
    messages = registry.respond(answer)
    assert len(messages) == 1 and ran == ([1] if runs else [])


@pytest.mark.parametrize("schema, gemini", [
    ({"title": "T", "type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "integer", "maximum": 9}),
    ({"const": "a"}, {"enum": ["a"]}),
    ({"type": "object", "properties": {"title": {"type": "string"}, "const": {"const": 1}}, "examples": [{}]},
     {"type": "object", "properties": {"title": {"type": "string"}, "const": {"enum": [1]}}}),
    ({"type": "object", "additionalProperties": {"title": "T", "type": "number"}},
     {"type": "object", "additionalProperties": {"type": "number"}}),
    ({"$ref": "#/$defs/d"}, {"$ref": "#/$defs/d"}), ({"enum": [{"title": 1}]}, {"enum": [{"title": 1}]}),
    (True, True),
])
def test_gemini_gets_json_schema_but_for_what_it_refuses(schema, gemini):
    parameters = {"type": "object", "properties": {"x": schema}, "$defs": {"d": {"type": "integer"}}}
    assert parameters_as("gemini", parameters) == {**parameters, "properties": {"x": gemini}}


def test_a_copy_without_the_chapter_gemini_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"gemini"}), tmp_path, monkeypatch)
    refused = '"(gemini|functionCall|FunctionCall)" needs the chapter "gemini" .cut from this copy.'
    for attempt in (lambda: module.parse_tool_calls(SPELLED_MESSAGES["gemini"]["plain"]),
                    lambda: module.parse_tool_calls(GEMINI_CALL),
                    lambda: module.parse_tool_calls({"role": "model", "parts": [{"functionCall": {"name": "f"}}]}),
                    lambda: module.parse_tool_calls(SPELLED_CALLS["gemini"]["bare object"][0]),
                    lambda: module.parse_tool_calls(SPELLED_MESSAGES["gemini"]["object"]),
                    lambda: module.build_assistant_messages([], api_format="gemini")):
        with pytest.raises((TypeError, ValueError), match=refused):
            attempt()


@of("media")
def test_gemini_is_sent_media_as_parts_of_the_response():
    image, document = ({"inlineData": {"mimeType": kind, "data": data}} for kind, data in (
        ("image/png", "YWJj"), ("application/pdf", "JQ==")))
    assert build_tool_result_messages([MIXED, SILENT], api_format="gemini") == [{"role": "user", "parts": [
        {"functionResponse": {"name": "f", "response": {"output": MIXED.content}, "parts": [image, document], "id": "i"}},
        {"functionResponse": {"name": "f", "response": {"output": ""}, "parts": [image], "id": "i"}}]}]


# ---------------------------------------------------------------------------
# ollama: chat completions as the API of Ollama and its SDK take them
# ---------------------------------------------------------------------------
TOOL_AS["ollama"] = TOOL_AS["openai-chat"]
S, N = {"type": "string"}, {"type": "null"}


@pytest.mark.parametrize("schema, sent", [
    ({"anyOf": [S, N]}, {"type": ["string", "null"]}),
    ({"anyOf": [S, {"type": "integer"}, N], "default": None, "description": "D."},
     {"type": ["string", "integer", "null"], "default": None, "description": "D."}),
    ({"anyOf": [{"type": "array", "items": {"anyOf": [S, N]}, "minItems": 1}, N]},
     {"type": ["array", "null"], "items": {"type": ["string", "null"]}, "minItems": 1}),
    ({"anyOf": [N, {"type": "string", "enum": ["a"]}]}, {"type": ["null", "string"], "enum": ["a", None]}),
    ({"type": "object", "properties": {"anyOf": {"anyOf": [S, N]}}},
     {"type": "object", "properties": {"anyOf": {"type": ["string", "null"]}}}),
    *((same, same) for same in (
        {"anyOf": [{"$ref": "#/$defs/d"}, N]}, {"anyOf": [{**S, "maxLength": 2}, {"type": "integer"}]}, {"anyOf": [S, {}]},
        {"anyOf": [{**S, "minLength": 1}, {"type": "array", "items": S}]}, {"anyOf": [S, True]}, {"anyOf": [{**S, "const": "a"}, N]},
        {"anyOf": [{**S, "not": {"enum": [""]}}, N]}, {"enum": [{"anyOf": [S, N]}]}, {"type": "string", "anyOf": [S, N]}))])
def test_ollama_is_sent_lists_of_types_where_they_say_the_same_as_a_union(schema, sent):
    parameters = {"type": "object", "properties": {"x": schema}, "$defs": {"d": {"type": "integer"}}}
    assert parameters_as("ollama", parameters)["properties"]["x"] == sent
    before, after = toolreg.Validator({**parameters, "required": ["x"]}), toolreg.Validator(
        {**parameters_as("ollama", parameters), "required": ["x"]})
    for value in (None, "", "a", "abc", 5, 1.5, True, [], [None], ["a", 5], {}, {"anyOf": None}, {"anyOf": 5}):
        assert before.is_valid({"x": value}) is after.is_valid({"x": value}), value


def test_ollama_is_answered_by_the_tools_name_and_its_arguments_stay_objects():
    call = ToolCall("c", "add", {"a": 1})
    answer = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "add", "arguments": {"a": 1}}}]}
    assert build_assistant_messages([call], api_format="ollama") == [answer]
    said, asked = iter([answer, {"role": "assistant", "content": "1"}]), []
    history = run_agent(lambda **request: asked.append(request) or next(said), "go", ToolRegistry([add]), api_format="ollama")
    kept, result = history[1]["tool_calls"][0], history[2]
    assert kept["function"] == answer["tool_calls"][0]["function"]
    assert result == {"role": "tool", "tool_call_id": kept["id"], "content": "1", "tool_name": "add"}
    assert asked[0]["tools"] == ToolRegistry([add]).get_schemas(api_format="ollama")


@of("media")
def test_ollama_is_shown_images_in_its_own_words():
    model, registry = looking(True)
    assert run_agent(model, "go", registry, api_format="ollama")[4] == {"role": "user", "content": "", "images": ["YWJj"]}


def test_a_copy_without_the_chapter_ollama_refuses_its_words_and_never_reads_them_otherwise(tmp_path, monkeypatch):
    module = load_copy(without({"ollama"}), tmp_path, monkeypatch)
    with pytest.raises(ValueError, match='"ollama" needs the chapter "ollama" .cut from this copy.'):
        module.build_tool_schemas([], api_format="ollama")


# ---------------------------------------------------------------------------
# streams: chunks to a message
# ---------------------------------------------------------------------------
def chat_chunks(*deltas, finish="tool_calls"):
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": list(delta)}, "finish_reason": None}]}
              for delta in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish else chunks


def call_delta(index=None, call_id=None, name=None, arguments=None):
    entry = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in entry.items() if key == "function" or value is not None}


@pytest.mark.parametrize("deltas, calls", [
    ([[call_delta(0, "a", "f", ""), call_delta(0, None, None, '{"x"'), call_delta(0, None, None, ": 1}")]],
     [("a", "f", '{"x": 1}')]),
    ([[call_delta(0, "a", "f")], [call_delta(0)], [call_delta(1, "b", "g", "")], [call_delta(1, "b", "g", "{}")]],
     [("a", "f", "{}"), ("b", "g", "{}")]),
    ([[call_delta(0, "a", "get_", "")], [call_delta(0, None, "weather", "")], [call_delta(0, None, None, "{}")]],
     [("a", "get_weather", "{}")]),
    ([[call_delta(0, None, "f", '{"x": 1}')], [call_delta(0, None, "f", '{"x": 2}')]],
     [(None, "f", '{"x": 1}'), (None, "f", '{"x": 2}')]),
    ([[call_delta(None, "a", "f", "")], [call_delta(0, None, None, '{"x":')], [call_delta(0, None, None, "1}")]],
     [("a", "f", '{"x":1}')]),
    ([[call_delta(0, "a", "f", '{"x":')], [call_delta(None, None, None, "1")], [call_delta(None, "a", "f", "}")]],
     [("a", "f", '{"x":1}')]),
    ([[call_delta(None, "a", "f", "")], [call_delta(None, "b", "f", "{}")], [call_delta(0, "a", None, '{"x":1}')]],
     [("a", "f", '{"x":1}'), ("b", "f", "{}")]),
    ([[call_delta(0, "a", "f", "{}")], [call_delta(0, "a", None, '{"x":1}')]], [("a", "f", '{"x":1}')]),
    ([[call_delta(0, "a", "f", {"x": 1})], [call_delta(0, "a", None, " ")]], [("a", "f", {"x": 1})]),
    ([[call_delta(0, "a", "f", {"x": "1"})], [call_delta(0, "a", None, {"x": "2"})]], [("a", "f", '{"x": "1"}{"x": "2"}')]),
    ([[call_delta(0, "a", "f", '{"x": 1}')], [call_delta(0, None, None, {})]], [("a", "f", '{"x": 1}{}')]),
    ([[call_delta(0, "a", "f", '{"x": 1}')], [call_delta(0, "b", "f", '{"x": 1}')], [call_delta(0, "a", "f", '{"x": 1}')]],
     [("a", "f", '{"x": 1}'), ("b", "f", '{"x": 1}')]),
    ([[call_delta(0, "a", "f", '{"x":')], [call_delta(0, None, None, "1}")], [call_delta(0, "a", "f", '{"x":1}')]],
     [("a", "f", '{"x":1}')]),
    # without a name nothing begins, and a known id says more than an index
    ([[call_delta(0, "a", "f", "")], [call_delta(0, "b", None, '{"x":')], [call_delta(0, "c", None, "5}")]],
     [("a", "f", '{"x":5}')]),
    ([[call_delta(0, "a", "f", '{"x":')], [call_delta(1, "b", "g", '{"y":')], [call_delta(0, "b", None, "2}")],
      [call_delta(0, "a", None, "1}")]], [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]),
    ([[call_delta(0, "a", "f", "")], [call_delta(1, None, None, '{"x":')], [call_delta(2, None, None, "1}")]],
     [("a", "f", '{"x":1}')]),
    ([[call_delta(0, 7, "f", "")], [call_delta(0, 7, None, "{}")], [call_delta(0, 8, "g", "{}")]],
     [("7", "f", "{}"), ("8", "g", "{}")]),
    ([[call_delta(0, "a", "f", "")], [call_delta(0, "b", "g", '{"x": 1}')]], [("a", "f", "{}"), ("b", "g", '{"x": 1}')]),
    ([[call_delta(0, "a", "f", "{}")], [call_delta(1, "a", "g", "{}")]], [("a", "f", "{}"), ("a", "g", "{}")]),
])
def test_chat_deltas_are_joined_to_the_call_they_belong_to(deltas, calls):
    message = collect_stream(chat_chunks(*deltas))
    got = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message["tool_calls"]]
    assert got == [(call_id or got[at][0], name, arguments) for at, (call_id, name, arguments) in enumerate(calls)]
    assert all(call_id for call_id, _, _ in got)


def test_chat_text_and_what_servers_add_is_kept():
    chunks = [{"choices": [{"delta": {"role": "assistant", "content": "Hel", "reasoning_content": "a"}}]},
              {"choices": [{"delta": {"content": "lo", "reasoning_content": "b", "tool_calls": None}}]},
              {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
              {"choices": [{"delta": {"tool_calls": [{**call_delta(0, "a", "f", "{}"),
                                                      "extra_content": {"google": 1}}]}, "finish_reason": "stop"}]},
              {"choices": [], "usage": {"total_tokens": 1}}]
    message = collect_stream(chunks)
    assert message.pop("tool_calls")[0]["extra_content"] == {"google": 1}
    assert message == collect_stream(chunks[:2]) == {"role": "assistant", "content": "Hello", "reasoning_content": "ab"}


# how servers spell the deltas of a call: (the index, the id, the name) of its first delta, and of the others
SPELLINGS_OF_DELTAS = {
    "by the book": lambda at, first: (at, f"id{at}" if first else None, first),
    "all said again": lambda at, first: (at, f"id{at}", True),
    "index 0 each time, with ids": lambda at, first: (0, f"id{at}", first),
    "no index": lambda at, first: (None, f"id{at}" if first else None, first),
    "no index, with ids": lambda at, first: (None, f"id{at}", first),
    "an empty id": lambda at, first: (at, f"id{at}" if first else "", first),
    "no ids": lambda at, first: (at, None, first),
    "a new id each time": lambda at, first: (at, f"id{at}" if first else f"noise{at}", first),
}


@settings(max_examples=150)
@given(st.sampled_from([*SPELLINGS_OF_DELTAS]), st.data())
def test_any_deltas_that_split_the_calls_of_a_message_give_them_back(spelling, data):
    calls = data.draw(st.lists(st.tuples(st.sampled_from("fgh"), st.dictionaries(st.text(max_size=3), call_values,
                                                                                min_size=1, max_size=3)), min_size=1, max_size=4))
    pieces = []
    for _, arguments in calls:
        text, cuts = json.dumps(arguments), data.draw(st.lists(st.integers(0, 40), max_size=5).map(sorted))
        pieces.append([text[start:end] for start, end in zip([0, *cuts], [*cuts, None])])
    order = [at for at, texts in enumerate(pieces) for _ in texts]
    if spelling != "no index":              # the calls begin in order; their deltas may come in any
        rest = [at for at, texts in enumerate(pieces) for _ in texts[1:]]
        order = [*range(len(calls)), *data.draw(st.permutations(rest))]
    deltas, seen = [], set()
    for at in order:
        index, call_id, named = SPELLINGS_OF_DELTAS[spelling](at, at not in seen)
        seen.add(at)
        deltas.append([call_delta(index, call_id, calls[at][0] if named else None, pieces[at].pop(0))])
    got = parse_tool_calls(collect_stream(chat_chunks(*deltas)))
    assert [(call.name, call.arguments) for call in got] == [(name, json.loads(json.dumps(each))) for name, each in calls]


@pytest.mark.parametrize("key, deltas, kept", [
    ("reasoning_details", [[{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.text", "text": "c", "index": 1}],
                           [{"type": "reasoning.text", "text": "b", "index": 0}],
                           [{"type": "reasoning.encrypted", "data": "S", "index": 0, "id": "c"}]],
     [{"type": "reasoning.text", "text": "ab", "index": 0}, {"type": "reasoning.text", "text": "c", "index": 1},
      {"type": "reasoning.encrypted", "data": "S", "index": 0, "id": "c"}]),
    ("thinking_blocks", [[{"type": "thinking", "thinking": "a"}], [{"type": "thinking", "thinking": "b"}],
                         [{"type": "thinking", "thinking": "", "signature": "s"}], [{"type": "thinking", "thinking": "c"}]],
     [{"type": "thinking", "thinking": "ab", "signature": "s"}, {"type": "thinking", "thinking": "c"}]),
    ("annotations", [[{"type": "url_citation", "url_citation": {"url": "a"}}], [{"type": "url_citation", "url_citation": {"url": "b"}}]],
     [{"type": "url_citation", "url_citation": {"url": "a"}}, {"type": "url_citation", "url_citation": {"url": "b"}}]),
    ("audio", [{"id": "i", "data": "ab"}, {"id": "i", "data": "cd", "expires_at": None}, {"expires_at": 5}],
     {"id": "i", "data": "abcd", "expires_at": 5}),
    ("content", [[{"type": "thinking", "thinking": [{"type": "text", "text": "h"}]}],
                 [{"type": "thinking", "thinking": [{"type": "text", "text": "m"}]}], "Os", "lo"],
     [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Oslo"}]),
    ("content", [[{"type": "text", "text": "Hel"}], [{"type": "text", "text": "lo"}]], "Hello"),
])
def test_whatever_a_delta_holds_is_kept(key, deltas, kept):
    message = collect_stream([{"choices": [{"index": 0, "delta": {"role": "assistant", key: each}}]} for each in deltas])
    assert message == {"role": "assistant", "content": "", key: kept}
    assert toolreg._read_turn(message, "openai-chat")[0] == [message]


@pytest.mark.parametrize("wrap", [lambda chunk: SdkObject(data=chunk), lambda chunk: {"type": "chunk", "chunk": chunk},
                                  lambda chunk: {"event": "completion", "data": chunk}])
def test_the_events_in_which_an_sdk_holds_its_chunks_are_opened(wrap):
    noise = {"type": "content.delta", "delta": "Let me see.", "snapshot": "Let me see."}
    assert collect_stream([each for chunk in CHAT_CHUNKS for each in (wrap(chunk), noise)]) == collect_stream(CHAT_CHUNKS)


@pytest.mark.parametrize("api_format", MESSAGE_FORMATS)
def test_events_that_hold_nothing_of_the_api_are_refused(api_format):
    for events in ([{"type": "text.done", "text": "x"}], [{"kind": "x"}, {"kind": "y"}]):
        with pytest.raises(TypeError, match=f"stream: not as {api_format} spells it .*pass the chunks of the API"):
            collect_stream(events, api_format=api_format)


def test_what_came_as_an_object_goes_back_as_one_and_is_answered_by_its_name():
    chunks = [{"model": "m", "message": {"role": "assistant", "content": text}, "done": False} for text in ("He", "y")]
    calls = [{"function": {"name": "f", "arguments": given}} for given in ({"city": "Oslo"}, {})]        # of Ollama
    message = collect_stream([*chunks, {"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": False},
                              {"message": {"role": "assistant", "content": ""}, "done_reason": "stop", "done": True}])
    (said,), read, _ = toolreg._read_turn(message, "openai-chat")
    assert said["content"] == "Hey" and [call["function"] for call in said["tool_calls"]] == [call["function"] for call in calls]
    answer, = build_tool_result_messages([ToolResult(read[0].id, "f", "ok")])
    assert answer == {"role": "tool", "tool_call_id": read[0].id, "content": "ok", "tool_name": "f"}


@of("streams", "anthropic")
@pytest.mark.parametrize("reason, pieces, arguments", [
    ("tool_use", [], {}), (None, [], {}), ("max_tokens", [], "{"), ("refusal", ['{"a":', " 1}"], "{"), ("refusal", [], "{"),
    ("tool_use", ['{"a":', " 1}"], {"a": 1}), ("max_tokens", ['{"a": 1}'], {"a": 1}), ("max_tokens", ["{}"], "{"),
    (None, ['{"a":'], '{"a":')])
def test_a_block_of_anthropic_that_was_stopped_is_whole_unless_the_answer_was_cut(reason, pieces, arguments):
    events = [*ANTHROPIC_EVENTS[:1], ANTHROPIC_EVENTS[6],
              *({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
                for piece in pieces), {"type": "content_block_stop", "index": 1},
              *([{"type": "message_delta", "delta": {"stop_reason": reason}}] if reason else [])]
    assert parse_tool_calls(collect_stream(events, api_format="anthropic"))[0].arguments == arguments


@of("streams", "anthropic")
def test_citations_and_compactions_of_anthropic_are_kept():
    cited = [{"type": "char_location", "cited_text": text} for text in "ab"]
    events = [{"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": None}},
              {"type": "content_block_delta", "index": 0, "delta": {"type": "compaction_delta", "content": "All so far."}},
              {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": None}},
              *({"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": each}} for each in cited),
              {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "So."}}]
    assert collect_stream(events, api_format="anthropic")["content"] == [
        {"type": "compaction", "content": "All so far."}, {"type": "text", "text": "So.", "citations": cited}]


@of("streams", "gemini")
@pytest.mark.parametrize("calls, expected", [
    ([{"name": "f", "willContinue": True}, {"partialArgs": [{"jsonPath": "$.a", "numberValue": 5}], "willContinue": True}, {}],
     [("f", {"a": 5})]),
    ([{"name": "f", "id": "i", "willContinue": True},
      {"partialArgs": [{"jsonPath": "$.a.b[0]['c d']", "stringValue": "Os", "willContinue": True}], "willContinue": True},
      {"partialArgs": [{"jsonPath": "$.a.b[0]['c d']", "stringValue": "lo"}, {"jsonPath": "$.a.b[1]", "nullValue": "NULL_VALUE"},
                       {"jsonPath": "$.t", "boolValue": True}]}, {"name": "g", "args": {}}],
     [("f", {"a": {"b": [{"c d": "Oslo"}, None]}, "t": True}), ("g", {})]),
    ([{"name": "f", "willContinue": True}, {"partialArgs": [{"jsonPath": "$.a", "numberValue": 0.5}], "willContinue": True}],
     [("f", "{")]),
    ([{"name": "f", "willContinue": True}], [("f", "{")]),
])
def test_the_pieces_of_a_gemini_call_are_one_call(calls, expected):
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"functionCall": call}]}}]} for call in calls]
    message = collect_stream(chunks, api_format="gemini")
    assert [(call.name, call.arguments) for call in parse_tool_calls(message)] == expected


def test_a_call_without_arguments_runs_only_where_the_end_says_that_all_is_there():
    deltas = [call_delta(0, "a", "f", None)], [call_delta(1, "b", "g", '{"x": 1}')]
    for finish, arguments in ((None, {}), ("length", "{"), ("stop", {}), ("tool_calls", {})):
        calls = parse_tool_calls(collect_stream(chat_chunks(*deltas, finish=finish)))
        assert [call.arguments for call in calls] == [arguments, {"x": 1}]
    begun = [call_delta(0, "a", "f", "")]       # an empty text says that there is more to come
    for cut in (deltas[:1], deltas[::-1], [*deltas, [call_delta(2, "c", "h", None)]], [begun], [begun, deltas[1]]):
        calls = parse_tool_calls(collect_stream(chat_chunks(*cut, finish=None)))
        assert "{" in [call.arguments for call in calls if call.name != "g"]


def test_a_message_in_place_of_a_delta_is_taken_whole():
    message = {"role": "assistant", "content": "Hm.", "tool_calls": [
        {"type": "function", "function": {"name": "f", "arguments": ""}},
        {"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}
    for chunk in ({"choices": [{"message": message, "finish_reason": "stop"}]},
                  {"model": "m", "message": message, "done": True, "done_reason": "stop"}):
        got = collect_stream([chunk])
        assert got["content"] == "Hm." and got["role"] == "assistant"
        assert [(call.name, call.arguments) for call in parse_tool_calls(got)] == [("f", {}), ("f", {"x": 1})]


def test_the_old_form_of_calls_is_refused():
    old = [{"choices": [{"delta": {"function_call": given}}]} for given in ({"name": "f", "arguments": ""},
                                                                          {"arguments": "{}"})]
    with pytest.raises(TypeError, match="unknown spelling|needs the chapter"):
        parse_tool_calls(collect_stream(old))


def response_item(**fields):
    return {"type": "response.output_item.added" if fields["status"] == "in_progress" else "response.output_item.done",
            "output_index": 1 if "name" in fields else 0, "item": fields}


RESPONSES_EVENTS = [
    {"type": "response.created", "response": {"id": "r", "output": []}},
    response_item(type="message", id="m", role="assistant", status="in_progress", content=[]),
    *({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": piece}
      for piece in ("Let me ", "see.")),
    response_item(type="message", id="m", role="assistant", status="completed",
                  content=[{"type": "output_text", "text": "Let me see.", "annotations": []}]),
    response_item(type="function_call", id="fc", call_id="i", name="f", arguments="", status="in_progress"),
    *({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc", "delta": piece}
      for piece in ('{"city": ', '"Oslo"}')),
    response_item(type="function_call", id="fc", call_id="i", name="f", arguments='{"city": "Oslo"}', status="completed"),
    {"type": "response.completed", "response": {"id": "r", "output": []}},
]
ANTHROPIC_EVENTS = [
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "t"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1,
     "content_block": {"type": "tool_use", "id": "i", "name": "f", "input": {}}},
    *({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
      for piece in ("", '{"city": ', '"Oslo"}')),
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
GEMINI_CALL = {"functionCall": {"id": "i", "name": "f", "args": {"city": "Oslo"}}, "thoughtSignature": "c2ln"}
GEMINI_CHUNKS = [
    *({"candidates": [{"content": {"role": "model", "parts": [part]}}]}
      for part in ({"text": "Let "}, {"text": "me see."}, GEMINI_CALL)),
    {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}, {"usageMetadata": {"totalTokenCount": 1}},
]
CHAT_CHUNKS = [{"choices": [{"delta": {"role": "assistant", "content": "Let me see."}}]},
               *chat_chunks([call_delta(0, "i", "f", "")], [call_delta(0, None, None, '{"city": ')],
                            [call_delta(0, None, None, '"Oslo"}')])]
SPELLED_STREAMS = {"openai-chat": CHAT_CHUNKS, "openai-responses": RESPONSES_EVENTS, "anthropic": ANTHROPIC_EVENTS,
                   "gemini": GEMINI_CHUNKS}
STREAMED_FORMATS = [api_format for api_format in MESSAGE_FORMATS if api_format in SPELLED_STREAMS]


@pytest.mark.parametrize("api_format", STREAMED_FORMATS)
def test_a_stream_becomes_the_message_that_would_have_come_at_once(api_format):
    message = collect_stream(iter(SPELLED_STREAMS[api_format]), api_format=api_format)
    assert parse_tool_calls(message) == [ToolCall("i", "f", {"city": "Oslo"})]
    assert toolreg._read_turn(message, api_format)[0] == (message if isinstance(message, list) else [message])

    async def chunks():
        for chunk in SPELLED_STREAMS[api_format]:
            yield chunk
    assert asyncio.run(acollect_stream(chunks(), api_format=api_format)) == message


@of("streams", "anthropic", "responses")
def test_a_whole_message_in_a_stream_is_taken_as_it_is():
    whole = {"type": "message", "role": "assistant", "content": [ANTHROPIC_EVENTS[6]["content_block"]]}
    for reason, arguments in (("tool_use", {}), ("max_tokens", "{")):
        got = collect_stream([{**whole, "stop_reason": reason}], api_format="anthropic")
        assert parse_tool_calls(got)[0].arguments == arguments
    assert collect_stream([RESPONSES], api_format="openai-responses") == RESPONSES["output"]


@of("streams", "anthropic", "responses", "gemini")
def test_text_and_thoughts_of_a_stream_are_kept_also_where_it_was_cut():
    for end in (4, None):
        item = collect_stream(RESPONSES_EVENTS[:end], api_format="openai-responses")[0]
        thought = collect_stream(ANTHROPIC_EVENTS[:end], api_format="anthropic")["content"][0]
        assert item["content"][0]["text"] == "Let me see." and thought["thinking"] == "t"
    assert thought["signature"] == "s"
    assert collect_stream(GEMINI_CHUNKS, api_format="gemini")["parts"] == [{"text": "Let me see."}, GEMINI_CALL]


@pytest.mark.parametrize("api_format", STREAMED_FORMATS)
def test_a_stream_cut_anywhere_is_never_run_with_less_than_was_meant(api_format):
    ran = []
    registry = ToolRegistry()
    registry.register(lambda city="": ran.append(city), name="f")
    for end in range(len(SPELLED_STREAMS[api_format])):
        message = collect_stream(SPELLED_STREAMS[api_format][:end], api_format=api_format)
        registry.respond(message)
    assert set(ran) <= {"Oslo"}


TWO_CALLS = ([call_delta(0, "a", "f", "")], [call_delta(1, "b", "f", "")], [call_delta(1, None, None, '{"city":')])


@of("streams", "anthropic", "responses", "gemini")
@pytest.mark.parametrize("api_format, chunks", [
    *[("openai-chat", chat_chunks([call_delta(0, "i", "f", arguments)], finish=finish)) for arguments, finish in [
        ("", "length"), ("", "no reason that is known"), ("\n", None), ("{}", None), ('{"x": 1}', "content_filter")]],
    *[("openai-chat", chat_chunks(*TWO_CALLS, finish=finish)) for finish in (None, "length")],
    ("openai-responses", [{"type": "response.output_item.added", "output_index": 0, "item": {
        "type": "function_call", "call_id": "i", "name": "f", "arguments": ""}}]),
    ("anthropic", [{"type": "content_block_start", "index": 0,
                    "content_block": {"type": "tool_use", "id": "i", "name": "f"}}]),
    ("anthropic", [*ANTHROPIC_EVENTS[6:8], {"type": "content_block_delta", "index": 1, "delta": {
        "type": "input_json_delta", "partial_json": " "}}]),
    ("gemini", [{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "willContinue": True}}]}}]}]),
])
def test_a_call_whose_arguments_never_came_is_answered_with_an_error(api_format, chunks):
    message = collect_stream(chunks, api_format=api_format)
    assert parse_tool_calls(message)[0].arguments == "{"
    registry = ToolRegistry()
    registry.register(lambda: "ran", name="f")
    assert "the text ends too early" in str(registry.respond(message))


@of("streams", "anthropic", "responses", "gemini")
@pytest.mark.parametrize("api_format, chunk", [
    ("openai-chat", {"error": {"message": "overloaded"}}),
    ("anthropic", {"type": "error", "error": {"type": "overloaded_error"}}),
    ("openai-responses", {"type": "response.failed", "response": {"error": {"message": "overloaded"}}})])
def test_an_error_in_a_stream_is_raised(api_format, chunk):
    with pytest.raises(ToolRegError, match="stream: the server reported an error"):
        collect_stream([chunk], api_format=api_format)


@settings(max_examples=100)
@given(st.sampled_from(STREAMED_FORMATS), st.data())
def test_whatever_a_server_streams_is_read_or_refused_in_clear_words(api_format, data):
    registry = ToolRegistry()
    registry.register(lambda city="": city, name="f")
    chunks = data.draw(spoiled(SPELLED_STREAMS[api_format]))
    try:
        message = collect_stream(chunks if isinstance(chunks, list) else [chunks], api_format=api_format)
        json.dumps([registry.respond(message), toolreg._read_turn(message, api_format)[0]])
    except ToolRegError as error:                   # what the server reported itself
        assert "the server reported an error" in str(error)
    except TypeError as error:
        assert re.search("^stream: |^the model gave |api_format=", str(error)), error


def test_a_stream_of_a_format_that_is_not_there_is_refused():
    for api_format in ("mcp", "x"):
        with pytest.raises(ValueError, match="api_format: must be one of openai-chat.*got"):
            collect_stream([], api_format=api_format)


@of("streams", "anthropic")
@pytest.mark.parametrize("chapter, error", [("streams", AttributeError), ("anthropic", ValueError)])
def test_a_copy_without_the_chapter_streams_or_one_of_an_api_refuses_its_words(chapter, error, tmp_path, monkeypatch):
    module = load_copy(without({chapter}), tmp_path, monkeypatch)
    with pytest.raises(error, match=f'needs the chapter "{chapter}"'):
        module.collect_stream(ANTHROPIC_EVENTS, api_format="anthropic")


@of("anthropic")
@pytest.mark.parametrize("reason", ["pause_turn", "max_tokens", "refusal"])
@pytest.mark.parametrize("kind", ["mcp_tool_use", "server_tool_use"])
def test_a_tool_of_the_provider_itself_keeps_an_object_as_its_input_however_the_answer_ends(kind, reason):
    own = {"type": kind, "id": "s1", "name": "look", "input": {}}
    whole = [{"role": "assistant", "stop_reason": reason, "content": [dict(own)]}]
    cut = [{"type": "content_block_start", "index": 0, "content_block": dict(own)},
           {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"q": "a'}},
           {"type": "message_delta", "delta": {"stop_reason": reason}}]
    for events in (whole, cut):
        assert collect_stream(events, api_format="anthropic")["content"] == [own]


@pytest.mark.parametrize("finish", ["eos", "TOOL_CALLS", "STOP", "tool_call"])
def test_a_call_that_says_it_takes_nothing_runs_whatever_the_end_is_called(finish):
    message = collect_stream(chat_chunks([call_delta(0, "i", "f", "{}")], finish=finish))
    assert parse_tool_calls(message)[0].arguments == {}


@of("responses")
@pytest.mark.parametrize("reason, arguments", [("content_filter", '{"a": 66}'), ("max_output_tokens", "{}")])
def test_what_responses_took_back_or_cut_never_runs_in_a_stream(reason, arguments):
    call = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "add", "arguments": arguments}
    event = {"type": "response.incomplete", "response": {
        "status": "incomplete", "incomplete_details": {"reason": reason}, "output": [call]}}
    assert parse_tool_calls(collect_stream([event], api_format="openai-responses"))[0].arguments == "{"


# ---------------------------------------------------------------------------
# importers: what all that import tools share
# ---------------------------------------------------------------------------
def test_the_importers_list_names_what_it_left_out():
    def make(name):
        return Tool(name, "", {}, print)

    def fail(name):
        raise ToolDefinitionError("no good")
    with pytest.warns(ToolRegWarning, match="api: 2 of 5 tools left out:\n- bad: no good\n- a.b: the name is there twice"):
        tools = toolreg._make_tools("api", [("a.b", make), ("a b", make), ("a_b", make), ("bad", fail), ("a.b", make)])
    assert tools.refused == {"bad": "no good", "a.b": "the name is there twice"}
    names = [tool.name for tool in tools]
    assert names[2] == "a_b" and names[0] != names[1] and all(name.startswith("a_b") for name in names)


def test_importers_mount_a_method_that_registers_and_names_spaces():
    class Registry(ToolRegistry):
        register_from_list = toolreg._registers(lambda *names: toolreg.ToolList([Tool(n, "", {}, print) for n in names], {"x": "no"}))
    registry = Registry()
    tools = registry.register_from_list("a", "b", namespace="my list")
    assert [tool.name for tool in tools] == registry.list_tools() == ["my_list-a", "my_list-b"] and tools.refused == {"x": "no"}


# ---------------------------------------------------------------------------
# classes: tools from the methods of classes
# ---------------------------------------------------------------------------
class Shelf:
    "Keep books."

    size: int = 3

    def __init__(self, books):
        self.books = books

    def __len__(self):
        return len(self.books)

    def add(self, title: str, copies: int = 1) -> int:
        "Add a book."
        self.books += [title] * copies
        return len(self.books)

    async def find(self, title: str) -> bool:
        return title in self.books

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def cached(self) -> str:
        return "cached"

    @classmethod
    def make(cls, kind: str) -> str:
        return f"{cls.__name__} of {kind}"

    @staticmethod
    def double(n: int) -> int:
        return 2 * n

    @property
    def explosive(self):
        raise AssertionError("a property was evaluated")

    explosive_too = functools.cached_property(lambda self: self.explosive)

    def _private(self):
        return "private"

    class Inner:
        pass


class Bookcase(Shelf):
    def add(self, title: str) -> str:
        return "overridden"

    find = None

    def bad(self, callback: threading.Lock) -> None:
        "Take what no model can write."


def test_the_public_methods_of_an_instance_become_tools_that_share_it():
    registry, shelf = ToolRegistry(), Shelf([])
    tools = registry.register_from_class(shelf)
    assert [tool.name for tool in tools] == ["add", "find", "cached", "make", "double"] == registry.list_tools()
    assert tools.refused == {} and registry["add"].description == "Add a book."
    assert registry["add"].parameters == Tool.from_function(shelf.add).parameters
    assert registry.invoke("add", {"title": "T", "copies": "2"}).value == 2
    assert [registry.invoke("find", {"title": title}).value for title in ("T", "U")] == [True, False]
    assert registry.invoke("make", {"kind": "oak"}).value == "Shelf of oak"
    assert registry.invoke("double", {"n": 4, "toolcall_reason": "why"}).reason == "why"


def test_a_class_gives_its_static_and_class_methods_and_names_what_needs_an_instance():
    with pytest.warns(ToolRegWarning, match="Shelf: 3 of 5 tools left out"):
        tools = class_tools(Shelf)
    assert [tool.name for tool in tools] == ["make", "double"]
    assert tools.refused == dict.fromkeys(("add", "find", "cached"), "needs an instance (write Shelf(…) for the class)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [tool.name for tool in class_tools(Shelf, include=["make"])] == ["make"]


def test_a_subclass_gives_what_it_overrides_and_inherits_but_not_what_it_took_away_or_what_is_pythons_own():
    with pytest.warns(ToolRegWarning, match="callback"):
        tools = class_tools(Bookcase([]))
    assert {tool.name for tool in tools} == {"add", "cached", "make", "double"} and list(tools.refused) == ["bad"]
    assert {tool.name: tool for tool in tools}["add"].run({"title": "T"}) == "overridden"
    books = type("Books", (list,), {"borrow": lambda self: self.pop()})
    assert [(tool.name, tool.run({})) for tool in class_tools(books(["a"]))] == [("borrow", "a")]


@pytest.mark.parametrize("value", [5, int, "text", str, [1], {"a": 1}, (1,), b"x", None, True, 1.5, {1}, len, json, object()])
def test_what_has_only_methods_of_pythons_own_has_no_tools(value):
    with pytest.raises(ToolDefinitionError, match="has no public methods"):
        class_tools(value)


def test_include_and_exclude_choose_and_a_name_that_is_not_there_is_a_mistake():
    assert [tool.name for tool in class_tools(Shelf([]), include="add")] == ["add"]
    assert [tool.name for tool in class_tools(Shelf([]), include=["find", "add"], exclude=["find"])] == ["add"]
    for options in ({"include": ["ad"]}, {"exclude": ["_private"]}, {"include": ["explosive"]}):
        with pytest.raises(ToolDefinitionError,
                           match="there is no public method .* \\(there are: add, find, cached, make, double\\)"):
            class_tools(Shelf([]), **options)


def test_one_class_can_be_registered_twice_under_two_namespaces():
    registry = ToolRegistry()
    registry.register_from_class(Shelf(["a"]), namespace="left", include=["add"])
    registry.register_from_class(Shelf([]), namespace="right", include=["add"])
    assert [registry.invoke(f"{side}-add", {"title": "b"}).value for side in ("left", "right")] == [2, 1]
    with pytest.raises(ToolDefinitionError, match="already registered: left-add"):
        registry.register_from_class(Shelf([]), namespace="left", include=["add"])


# ---------------------------------------------------------------------------
# langchain: tools from LangChain
# ---------------------------------------------------------------------------
SPELLED_CALLS["openai-chat"].update({
    "langchain": ({"type": "tool_call", "id": "i", "name": "f", "args": {"city": "Oslo"}}, "i"),
    "langchain invalid": ({"type": "invalid_tool_call", "id": "i", "name": "f", "args": ARGUMENTS_TEXT,
                           "error": None}, "i"),
})
LANGCHAIN_CALL, INVALID_CALL = [SPELLED_CALLS["openai-chat"][key][0] for key in ("langchain", "langchain invalid")]
SPELLED_MESSAGES["openai-chat"].update({
    "langchain": SdkObject(type="ai", content=[{"type": "tool_use", "id": "i", "name": "f", "input": {"city": "Oslo"}}],
                           additional_kwargs={}, invalid_tool_calls=[], tool_calls=[LANGCHAIN_CALL]),
    "langchain invalid": SdkObject(type="ai", content="", additional_kwargs={}, tool_calls=[],
                                   invalid_tool_calls=[INVALID_CALL]),
})
WITHOUT_CALLS["openai-chat"] += [
    SdkObject(type="human", content="Hi.", additional_kwargs={}),
    SdkObject(type="ai", content="", tool_calls=[], invalid_tool_calls=[], additional_kwargs={})]
UNREADABLE["openai-chat"].append(
    [SdkObject(type="human", content="x", additional_kwargs={}), SPELLED_MESSAGES["openai-chat"]["langchain"]])
KEPT_TURNS["openai-chat"].append(
    (SPELLED_MESSAGES["openai-chat"]["langchain"], {"role": "assistant", "content": "", "tool_calls": [CHAT_CALL]}))


def test_a_text_that_langchain_would_not_take_back_is_mended_in_the_history():
    langchain = SdkObject(content="Hm.", tool_calls=[], invalid_tool_calls=[{**INVALID_CALL, "args": "{oops"}])
    messages, calls, _ = toolreg._read_turn(langchain, "openai-chat")
    assert messages[0]["content"] == "Hm." and calls[0].arguments == "{oops" and parse_tool_calls(messages) == calls
    assert json.loads(messages[0]["tool_calls"][0]["function"]["arguments"]) == {"arguments_as_text": "{oops"}


class LangChainLike:
    """Look like a LangChain tool from outside; the real ones are in `.ci/interop/`."""

    description, tags, args_schema, coroutine = "Add numbers.", ["sums"], None, None
    response_format, handle_tool_error, handle_validation_error, tool_call_schema = "content", False, False, None

    def __init__(self, name, invoke, schema=None, **attributes):
        self.given = []
        vars(self).update({"name": name, "run": invoke, "tool_call_schema": schema or ADD, **attributes})

    def get_input_schema(self):
        return self.args_schema

    def _run(self):
        pass

    def invoke(self, given):
        self.given.append(given)
        return self.run(given)

    async def ainvoke(self, given):
        await asyncio.sleep(0)
        return self.invoke(given)

    def _arun(self):
        pass


LangChainLike._arun.__module__ = "langchain_core.tools"
ADD = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}


class ToolMessageLike(NamedTuple):
    content: Any
    artifact: Any = None
    status: str = "success"
    tool_call_id: str = "1"


def test_a_tool_is_invoked_with_arguments_that_were_validated_here_and_awaited_where_it_has_a_coroutine():
    tool = LangChainLike("add", lambda given: given["a"] + 1)
    registry = ToolRegistry(think_augment=True)
    registered, = registry.register_from_langchain(tool)
    assert (registered.name, registered.description, registered.parameters) == ("add", "Add numbers.", ADD)
    assert registered.metadata.source == "langchain" and registered.metadata.tags == {"sums"}
    result = registry.invoke("add", {"a": "1", "toolcall_reason": "why"})
    assert (result.value, result.reason, tool.given) == (2, "why", [{"a": 1}])
    assert "- a: " in registry.invoke("add", {"a": -1}).content and len(tool.given) == 1
    awaited, = langchain_tools(LangChainLike("add", lambda given: 7, coroutine=print))
    assert awaited.run({"a": 1}) == 7 and asyncio.run(awaited.arun({"a": 1})) == 7
    assert awaited._is_async and not registered._is_async


# these have the names of LangChain's and LangGraph's marks, by which they are known
InjectedToolArg, _DirectlyInjectedToolArg = type("InjectedToolArg", (), {}), type("_DirectlyInjectedToolArg", (), {})
InjectedToolCallId, InjectedState = [type(name, (InjectedToolArg,), {}) for name in ("InjectedToolCallId", "InjectedState")]


class ToolRuntime(_DirectlyInjectedToolArg, typing.Generic[typing.TypeVar("T")]):
    pass


class Everything:
    model_fields = {name: types.SimpleNamespace(annotation=str, metadata=notes, is_required=lambda: True)
                    for name, notes in {"a": [], "user": [InjectedToolArg], "call": [InjectedToolCallId()]}.items()}


class OnlyA:
    @staticmethod
    def model_json_schema():
        return {"title": "OnlyA", "description": "D", **ADD}


def takes_all(a: int, user: Annotated[str, InjectedToolArg()], call: Annotated[str, InjectedToolCallId]):
    pass


@pytest.mark.parametrize("options", [{"tool_call_schema": OnlyA, "args_schema": Everything}, {"func": takes_all}])
def test_what_langchain_injects_is_hidden_from_the_model_and_given_by_the_program_and_the_call(options):
    tool, user = LangChainLike("add", lambda given: ToolMessageLike("7"), **options), contextvars.ContextVar("user")
    registry = ToolRegistry(langchain_tools(tool))
    assert registry["add"].parameters == {**ADD, "additionalProperties": False}
    for name in ("user", "call"):
        assert f"- {name}: is not allowed here (there are: a)" in registry.invoke("add", {"a": 1, name: "root"}).content
    assert registry.invoke("add", {"a": 1}).is_error and tool.given == []
    with pytest.raises(ToolDefinitionError, match='tool "add": user: has no value'):
        run_agent(scripted_model("hi"), "go", registry)
    user.set("u-7")
    run = registry.copy(inject={"user": user, "call": "not this"})
    for result, given_ in zip(invoked(run, "add", {"a": 1}), tool.given, strict=True):
        assert (result.value, given_) == ("7", {
            "type": "tool_call", "id": result.tool_call_id, "name": "add",
            "args": {"a": 1, "user": "u-7", "call": result.tool_call_id}})


def test_a_tool_that_cannot_do_without_a_graph_is_left_out_and_says_why():
    def in_graph(a: int, state: Annotated[dict, InjectedState]): ...
    def runs(a: int, runtime: ToolRuntime[None]): ...
    def anywhere(a: int, state: Annotated[dict, InjectedState()] = {}): ...  # noqa: B006
    tools = [LangChainLike(func.__name__, lambda given: 7, func=func) for func in (in_graph, runs, anywhere)]
    with pytest.warns(ToolRegWarning, match="LangChain: 2 of 3 tools left out"):
        made = langchain_tools(*tools)
    text = "{}: has a value only in a graph of LangGraph ({}; write a default, or a tool without it)"
    assert made.refused == {"in_graph": text.format("state", "InjectedState"), "runs": text.format("runtime", "ToolRuntime")}
    assert made[0].run({"a": 1}) == 7 and tools[2].given == [{"a": 1}]
    assert "- state: is not allowed here" in ToolRegistry(made).invoke("anywhere", {"a": 1, "state": {}}).content


def test_a_command_to_a_graph_is_an_error_and_return_direct_is_named_as_not_kept():
    command = type("Command", (), {"__module__": "langgraph.types"})()
    tools = [LangChainLike("one", lambda given: command, return_direct=True),
             LangChainLike("several", lambda given: ["a", command], return_direct=False)]
    with pytest.warns(ToolRegWarning) as told:
        registry = ToolRegistry(langchain_tools(*tools))
    assert [str(each.message) for each in told] == [
        "LangChain: return_direct of one is not kept: the model reads the result, and answers"]
    assert [registry.invoke(name, {"a": 1}).content for name in ("one", "several")] == [
        "Error: the tool answered with a Command to a graph of LangGraph, and there is none here.\nGo on without it."] * 2


class AIMessage:
    """Have the name of LangChain's message, by which it is known."""

    invalid_tool_calls = []

    def __init__(self, *names, content=""):
        self.content = content
        self.tool_calls = [{"name": name, "args": {}, "id": f"c{at}", "type": "tool_call"} for at, name in enumerate(names)]


@pytest.mark.parametrize("api_format, kept", [
    ("openai-chat", True), *([("anthropic", True)] if "anthropic" in HERE_ARE else []),
    *([("openai-responses", False)] if "responses" in HERE_ARE else [])])
def test_thoughts_of_a_langchain_model_go_back_to_it_where_an_api_has_a_place_for_them(api_format, kept):
    thoughts = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "reasoning", "id": "r"}]
    so = {"type": "text", "text": "So."}
    answers = iter([AIMessage("f", content=[*thoughts, so, {"type": "tool_use", "id": "c0"}]),
                    AIMessage(content=[*thoughts, "Done."])])
    registry = ToolRegistry()
    registry.register(lambda: 7, name="f")
    history = run_agent(lambda **_: next(answers), "go", registry, api_format=api_format)
    if kept:
        assert history[1]["content"][:3] == [*thoughts, so]
    else:
        assert history[1]["content"] == "So." and "thinking" not in json.dumps(history)
    assert parse_tool_calls(history[1 if kept else 2])[0].id == "c0"


def test_a_message_of_langchain_is_answered_as_its_own_node_does():
    made = {"text": "a", "number": 1.5, "drawn": Answer("a picture", [1, 2]), "odd": Answer("odd", {1, 2}),
            "same": Answer("[1]", [1]), "seen": Media(b"abc", "image/png")}
    registry = ToolRegistry([boom])
    for name, value in made.items():
        registry.register(lambda value=value: value, name=name)
    def told(call_id, name, content, status="success", **more):
        return {"role": "tool", "tool_call_id": call_id, "content": content, "name": name, "status": status, **more}
    message = AIMessage(*made, "boom")
    answers = registry.respond(message)
    assert answers[:-1] == [told("c0", "text", "a"), told("c1", "number", "1.5"),
                            told("c2", "drawn", "a picture", artifact=[1, 2]), told("c3", "odd", "odd"),
                            told("c4", "same", "[1]"), told("c5", "seen", "[image/png, 3 bytes]")]
    assert answers[-1] == told("c6", "boom", answers[-1]["content"], "error") and json.dumps(answers)
    for plain in (registry.respond(message.tool_calls), registry.respond(message, api_format="openai-chat")):
        assert plain[0] == {"role": "tool", "tool_call_id": "c0", "content": "a"}


@pytest.mark.parametrize("message, content, value", [
    (ToolMessageLike("text", {"k": 1}), "text", {"k": 1}), (ToolMessageLike("text"), "text", "text"),
    (ToolMessageLike(["a", {"type": "text", "text": "b"}, {"type": "image"}], 3), 'a\nb\n{"type": "image"}', 3)])
def test_a_tool_message_gives_content_to_the_model_and_the_artifact_to_the_program(message, content, value):
    tool = LangChainLike("add", lambda given: message, response_format="content_and_artifact")
    result = ToolRegistry(langchain_tools(tool)).invoke("add", {"a": 1})
    assert (result.content, result.value, result.is_error) == (content, value, False)
    given, = tool.given
    assert given.pop("id") and given == {"type": "tool_call", "name": "add", "args": {"a": 1}}


def test_an_error_that_langchain_made_text_of_is_an_error_here_and_a_tool_exception_speaks_for_itself():
    def fail(given):
        raise type("ToolException", (Exception,), {})("no luck")
    handled = LangChainLike("handled", lambda given: ToolMessageLike("it", status="error"), handle_tool_error=True)
    registry = ToolRegistry(langchain_tools(
        handled, LangChainLike("fails", fail), LangChainLike("later", fail, coroutine=print),
        LangChainLike("crashes", lambda given: 1 // 0)))
    results = [registry.invoke(name, {"a": 1}) for name in registry.list_tools()]
    assert all(result.is_error for result in results)
    assert [result.content for result in results[:3]] == ["it", "no luck", "no luck"]
    assert "ZeroDivisionError" in results[3].content


def test_what_is_no_langchain_tool_is_refused_by_name_and_odd_names_are_made_legal():
    class Broken(LangChainLike):
        tool_call_schema = property(lambda self: 1 // 0)
    with pytest.warns(ToolRegWarning, match="LangChain: 2 of 3 tools left out"):
        tools = langchain_tools(len, LangChainLike("legacy search!", print), Broken("broken", print))
    assert [tool.name for tool in tools] == ["legacy_search"]
    assert {reason.partition(" (")[0].partition(": Zero")[0] for reason in tools.refused.values()} == {
        "is no LangChain tool", "its schema cannot be read"}


def test_messages_of_langchain_keep_their_ids_roles_and_images():
    class Message(types.SimpleNamespace):
        additional_kwargs = {}
    image = [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "http://x/y.png"}}]
    two = AIMessage("add", "add")
    history = [Message(type="human", content=image), two, Message(type="tool", content="5", tool_call_id="c0"),
               Message(type="chat", role="critic", content=[{"type": "text", "text": "a"}, "b"])]
    said = list(map(toolreg._on_the_wire, history))
    assert (said[0], said[2], said[3]) == ({"role": "user", "content": image}, {
        "role": "tool", "tool_call_id": "c0", "content": "5"}, {"role": "critic", "content": "ab"})
    ran = []
    registry = ToolRegistry()
    registry.register(lambda: ran.append(1), name="add")
    done = run_agent(scripted_model("ok"), history[:3], registry)
    assert ran == [1] and [message.get("tool_call_id") for message in done] == [None, None, "c0", "c1", None]


# ---------------------------------------------------------------------------
# network: one careful HTTP request, one reader of server-sent events
# ---------------------------------------------------------------------------
@contextlib.contextmanager
def serving(answer, wrap=lambda connection: connection):
    """Serve a loopback port from a thread and give (url, requests); answer(request, connection) or bytes."""
    requests, stopped = [], threading.Event()

    def serve():
        while not stopped.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                connection.settimeout(5)
                with wrap(connection) as connection:
                    requests.append(read_request(connection))
                    reply = answer if isinstance(answer, bytes) else answer(requests[-1], connection)
                    connection.sendall(reply or b"")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
        finally:
            stopped.set()
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)         # where it can, it ends the wait for a connection at once
            thread.join(5)


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data and (piece := connection.recv(65_536)):
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while length and len(body) < int(length[0].split(b":")[1]) and (piece := connection.recv(65_536)):
        body += piece
    return head + b"\r\n\r\n" + body


def http_answer(body=b"", status="200 OK", **headers):
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in {"content_length": len(body), **headers}.items()]
    return ("\r\n".join([f"HTTP/1.1 {status}", *lines]) + "\r\n\r\n").encode() + body


def test_a_request_carries_its_method_path_headers_and_body_and_asks_for_no_compression():
    with serving(http_answer("später".encode(), X_Y="1")) as (url, requests):
        response = toolreg._request("POST", url + "/a/b?c=d#e", headers={"X-Key": "s\t☃"}, body=b"12")
        assert (response.status, response.headers["x-y"], response.read()) == (200, "1", "später".encode())
    head, body = requests[0].split(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert (first, body) == ("POST /a/b?c=d HTTP/1.1", b"12")
    assert sorted(lines) == ["accept-encoding: identity", "accept: */*", "connection: close", "content-length: 2",
                             "host: " + url[7:], f"user-agent: toolreg/{toolreg.__version__}", "x-key: s\t☃"]


def test_a_body_comes_whole_however_it_is_framed():
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    for answer in (chunked, b"HTTP/1.0 200 OK\r\n\r\nabcde", http_answer(b"abcde"), http_answer(b"abcde") + b"extra"):
        with serving(answer) as (url, _):
            assert toolreg._request("GET", url).read() == b"abcde"
    with serving(http_answer(b"", "204 No Content")) as (url, _):
        assert toolreg._request("DELETE", url).read() == b""
    with serving(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n") as (url, _):
        assert toolreg._request("HEAD", url).read() == b""


@pytest.mark.parametrize("url", [
    "http://h/a b", "http://h/a\r\nX: 1", "http://h/\x00", "http://h/ä", "http://h\\@e/", "ftp://h/", "file:///etc/passwd",
    "//h/", "h/a", "", "http://", "http\u017f://h/", "http://\u212a/", "http:///a", "http://u:p@h/", "http://u@h/", "http://h:x/",
    "http://h:99999/", "http://[::1/"])
def test_a_url_that_is_not_plain_is_refused_and_never_shown(url):
    with pytest.raises(HttpError, match="^url: ") as caught:
        toolreg._request("GET", url)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("headers", [
    {"a": "1\r\nb: 2"}, {"a": "1\n 2"}, {"a": "\x00"}, {"a": "\x7f"}, {"a": "\ud800"}, *({name: "1"} for name in (
        "a b", "a:", "", "ä", "a\r\n", "Host", "content-length", "Transfer-Encoding"))])
def test_a_header_that_could_change_the_request_is_refused_and_its_value_never_shown(headers):
    with pytest.raises(HttpError, match="^headers: ") as caught:
        toolreg._request("GET", "http://127.0.0.1:1", headers=headers)
    assert "b: 2" not in str(caught.value)


def test_where_no_answer_comes_an_error_names_the_origin_only():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/secret?key=secret", "http://no-such-host.invalid/secret",
                f"http://{'a' * 70}.b/secret"):
        with pytest.raises(HttpError) as caught:
            toolreg._request("GET", url)
        assert str(caught.value).startswith(url.partition("/secret")[0] + ": ") and "secret" not in str(caught.value)
        assert caught.value.status is None
    for junk in (b"", b"junk\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"x" * 70_000,
                 b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200):
        with serving(junk) as (url, _), pytest.raises(HttpError) as caught:
            toolreg._request("GET", url + "/secret")
        assert str(caught.value).startswith(url + ": ") and len(str(caught.value)) < 300


def test_a_body_that_was_cut_short_or_is_too_large_is_an_error():
    half_chunk = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc"
    no_last_chunk = half_chunk + b"de\r\n"
    for cut in (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", half_chunk, no_last_chunk,
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc"):
        with serving(cut) as (url, _):
            with pytest.raises(HttpError, match="IncompleteRead"):
                toolreg._request("GET", url).read()
            with pytest.raises(HttpError):
                list(toolreg._request("GET", url).lines())
    with serving(http_answer(b"x" * 1000)) as (url, _):
        with pytest.raises(HttpError, match="larger than 999 bytes"):
            toolreg._request("GET", url).read(999)
        assert len(toolreg._request("GET", url).read(1000)) == 1000
        with pytest.raises(HttpError, match="a line is longer than 999 bytes"):
            list(toolreg._request("GET", url).lines(999))


def drip(request, connection):
    """Send a byte every 50 ms, so that no single wait is long."""
    where = request.split()[1]
    connection.sendall(b"HTTP/1.1 200 OK\r\n" if where == b"/head" else b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(30):
        connection.sendall(b"x" if where == b"/head" else b": ping\n")
        time.sleep(0.05)


@pytest.mark.parametrize("path", ["/head", "/body"])
def test_bytes_that_drip_cannot_stretch_the_timeout(path):
    with serving(drip) as (url, _):
        start = time.monotonic()
        with pytest.raises(ToolTimeoutError, match="no complete answer within the timeout"):
            toolreg._request("GET", url + path, timeout=0.2).read()
        assert 0.15 < time.monotonic() - start < 5


def test_many_addresses_of_one_host_cannot_stretch_the_timeout(monkeypatch):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        port = listener.getsockname()[1]
        for _ in range(4):                  # more than wait in its queue: the next is not answered
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        addresses = socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM) * 5
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, *args, **options: addresses if host == "many" else
                            [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))])
        start = time.monotonic()
        with pytest.raises(ToolRegError):
            toolreg._request("GET", f"http://many:{port}", timeout=0.3).read()
        assert time.monotonic() - start < 5


def test_another_address_of_a_host_is_tried_where_one_refuses(monkeypatch):
    with serving(http_answer(b"there")) as (url, _), socket.create_server(("127.0.0.1", 0)) as free:
        ports = free.getsockname()[1], int(url.rpartition(":")[2])
        free.close()
        look_up = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", lambda host, port, *args, **options: [
            found for each in (ports if host == "many" else [port])
            for found in look_up("127.0.0.1", each, *args, **options)])
        assert toolreg._request("GET", "http://many").read() == b"there"


def test_the_deadline_of_a_stream_can_be_moved_and_its_end_can_come_from_another_thread():
    with serving(drip) as (url, _):
        response = toolreg._request("GET", url, timeout=None)
        lines = response.lines()
        assert next(lines) == ": ping"
        response.wire.deadline = time.monotonic() + 0.2
        with pytest.raises(ToolTimeoutError):
            list(lines)

    def begin(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        connection.recv(1)                  # until the other side hangs up
    with serving(begin) as (url, _):
        response = toolreg._request("GET", url, timeout=20)
        threading.Timer(0.1, response.wire.hang_up).start()
        start = time.monotonic()
        with contextlib.suppress(HttpError):
            assert response.read() == b""
        assert time.monotonic() - start < 2


def test_what_an_error_answer_says_is_cut_and_kept():
    with serving(http_answer(b"no such\n item" + b"!" * 9000, "404 Not Found", Retry_After="7")) as (url, _):
        error = toolreg._request("GET", url + "/secret").error()
    assert (error.status, error.headers["retry-after"], len(error.body)) == (404, "7", 2000)
    assert str(error).startswith(f"{url} answered 404 Not Found: no such item!!!") and len(str(error)) < 2100
    with serving(http_answer(status="500 ")) as (url, _):
        assert str(toolreg._request("GET", url).error()) == f"{url} answered 500"
    with serving(b"HTTP/1.1 503 Busy\r\ncontent-length: 9\r\n\r\nabc") as (url, _):
        assert str(toolreg._request("GET", url).error()) == f"{url} answered 503 Busy: abc"
    with serving(http_answer(b"abc", "503 " + "x" * 9_000)) as (url, _):
        assert str(toolreg._request("GET", url).error()) == f"{url} answered 503 {'x' * 80}: abc"


SECRETS = dict.fromkeys(("Authorization", "X-Api-Key", "Cookie"), "secret")


def test_a_redirect_within_the_origin_keeps_the_headers_and_another_origin_never_gets_them():
    with serving(http_answer(b"there")) as (there, far):
        def answer(request, connection):
            _, status, path = request.split()[1].decode().split("/")
            return http_answer(b"here") if path == "end" else http_answer(status=f"{status} F", location=targets[path])

        targets = {"near": "end", "far": there + "/x", "loop": "loop", "file": "file:///etc/passwd",
                   "split": "http://[x", "user": "http://u:p@127.0.0.1/"}
        with serving(answer) as (here, near):
            assert toolreg._request("GET", here + "/302/near", headers=SECRETS).read() == b"here"
            assert near[1].count(b"secret") == 3
            assert toolreg._request("GET", here + "/302/far", headers=SECRETS, body=b"secret").read() == b"there"
            assert b"secret" not in far[0] and b"content-length" not in far[0]
            with pytest.raises(HttpError, match="redirected more than 5 times"):
                toolreg._request("GET", here + "/302/loop")
            assert len(near) == 2 + 1 + 6
            for path in ("file", "split", "user"):
                with pytest.raises(HttpError, match="^url: must be http:// or https://"):
                    toolreg._request("GET", here + f"/302/{path}")
            assert toolreg._request("POST", here + "/302/near", body=b"1").status == 302
            assert toolreg._request("PUT", here + "/307/near", body=b"12").read() == b"here"
            assert [request.endswith(b"\r\n\r\n12") for request in near[-2:]] == [True, True]
            assert toolreg._request("PUT", here + "/307/far", body=b"12").status == 307 and len(far) == 1


def test_a_request_without_a_body_says_so_where_one_is_usual():
    with serving(http_answer(b"there")) as (url, requests):
        for method in ("POST", "GET"):
            toolreg._request(method, url).close()
    assert [b"content-length: 0\r\n" in request for request in requests] == [True, False]


PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture
def no_proxies(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("variable, login, hello", [
    ("HTTP_PROXY", "", None), ("http_proxy", "u:p%40%3A@", b"Basic dTpwQDo="), ("ALL_PROXY", "u@", b"Basic dTo=")])
def test_a_proxy_of_the_environment_is_asked_for_the_whole_url_and_alone_hears_its_password(
        no_proxies, variable, login, hello):
    with serving(http_answer(b"by proxy")) as (proxy, requests), serving(http_answer(b"directly")) as (url, direct):
        no_proxies.setenv(variable, proxy.replace("://", f"://{login}"))
        assert toolreg._request("GET", "http://example.invalid/a?b").read() == b"by proxy"
        assert requests[0].startswith(b"GET http://example.invalid/a?b HTTP/1.1\r\n")
        said = re.search(rb"proxy-authorization: (.*)\r\n", requests[0])
        assert (said and said[1]) == hello and b"\r\nhost: example.invalid\r\n" in requests[0]
        for exempt in ("127.0.0.1", "*", f"x,{url[7:]}"):
            no_proxies.setenv("NO_PROXY", exempt)
            assert toolreg._request("GET", url).read() == b"directly" and b"proxy-auth" not in direct[-1]


@pytest.fixture
def secured(tmp_path):
    """Give what wraps the connection of a server for https, and has the file of its certificate."""
    import ssl
    (tmp_path / "pem").write_text(CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    return functools.partial(context.wrap_socket, server_side=True), str(tmp_path / "pem")


def test_an_https_request_goes_through_a_tunnel_that_the_proxy_makes(no_proxies, secured):
    (wrap, pem), inner = secured, []

    def answer(request, connection):
        if b"proxy-authorization: Basic dTpw\r\n" not in request:
            return http_answer(b"who?", "407 Proxy Authentication Required")
        connection.sendall(b"HTTP/1.1 200 Connection established\r\nx: y\r\n\r\n")
        with wrap(connection) as inside:
            inner.append(read_request(inside))
            inside.sendall(http_answer(b"through"))
        return b""

    no_proxies.setenv("SSL_CERT_FILE", pem)
    with serving(answer) as (proxy, requests):
        no_proxies.setenv("HTTPS_PROXY", proxy.replace("://", "://u:p@"))
        assert toolreg._request("GET", "https://localhost/a", headers={"x-key": "secret"}).read() == b"through"
        assert requests[0].startswith(b"CONNECT localhost:443 HTTP/1.1\r\nhost: localhost:443\r\n")
        assert b"secret" not in requests[0] and b"dTpw" not in inner[0] and inner[0].startswith(b"GET /a HTTP/1.1\r\n")
        no_proxies.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(HttpError, match="^https://localhost: the proxy made no tunnel: HTTP/1.1 407 ") as caught:
            toolreg._request("GET", "https://localhost/secret")
        assert "secret" not in str(caught.value) and caught.value.status == 407


def test_a_proxy_that_hangs_up_or_is_of_another_kind_is_one_clear_error(no_proxies):
    with serving(b"") as (proxy, _):
        no_proxies.setenv("ALL_PROXY", proxy)
        with pytest.raises(HttpError, match="^https://example.invalid: the proxy made no tunnel: "):
            toolreg._request("GET", "https://example.invalid/")
    for other in ("socks5://u:secret@127.0.0.1:1", "https://u:secret@127.0.0.1:1", "http://u:secret@", "http:///a"):
        no_proxies.setenv("ALL_PROXY", other)
        with pytest.raises(HttpError, match="^http://example.invalid: its proxy must be like http://") as caught:
            toolreg._request("GET", "http://example.invalid/")
        assert "secret" not in str(caught.value)
    with serving(lambda request, connection: time.sleep(0.4)) as (proxy, _):
        no_proxies.setenv("ALL_PROXY", proxy)
        with pytest.raises(ToolTimeoutError):
            toolreg._request("GET", "https://example.invalid/", timeout=0.2)


def packed(data, window):
    import zlib
    packer = zlib.compressobj(wbits=window)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize("body, coding", [
    (packed(b"abc" * 999, 31), "gzip"), (packed(b"abc" * 999, 31), "X-Gzip"), (packed(b"abc" * 999, 15), "deflate"),
    (packed(b"abc" * 999, -15), "deflate"), (packed(b"abc" * 500, 31) + packed(b"abc" * 499, 31), "gzip"),
    (packed(packed(b"abc" * 999, 15), 31), "deflate, gzip"), (b"abc" * 999, "identity")])
def test_an_answer_is_unpacked_as_its_content_encoding_says(body, coding):
    with serving(http_answer(body, content_encoding=coding)) as (url, _):
        assert toolreg._request("GET", url).read() == b"abc" * 999
    if coding != "identity":
        with serving(http_answer(body[:-1], content_encoding=coding)) as (url, _):
            with pytest.raises(HttpError, match="cut short"):
                toolreg._request("GET", url).read()


def test_what_is_packed_is_limited_by_its_unpacked_size_and_must_be_what_it_says():
    bomb = packed(bytes(200_000_000), 31)
    with serving(http_answer(bomb, content_encoding="gzip")) as (url, _):
        start = time.monotonic()
        with pytest.raises(HttpError, match="larger than 1000 bytes"):
            toolreg._request("GET", url).read(1000)
        assert time.monotonic() - start < 10
    for coding, text in (("gzip", "is not gzip, as it says"), ("br", 'is packed with "br", which nobody asked for')):
        with serving(http_answer(b"plain", content_encoding=coding)) as (url, _):
            with pytest.raises(HttpError, match=text):
                toolreg._request("GET", url).read()
    with serving(http_answer(status="204 No Content", content_encoding="gzip")) as (url, _):
        assert toolreg._request("GET", url).read() == b""


@pytest.mark.parametrize("content_type, body, text", [
    ("text/plain; charset=ISO-8859-1", b"gr\xfcn", "grün"), ('text/plain;charset="utf-16"', "ü".encode("utf-16"), "ü"),
    ("text/plain", "ü".encode(), "ü"), ("text/plain; charset=no-such", "ü".encode(), "ü"),
    ("text/plain; charset=rot13", b"ab", "ab"), ("text/plain; charset=unicode_escape", rb"\ud800", r"\ud800")])
def test_a_body_is_text_in_the_charset_that_the_answer_names(content_type, body, text):
    with serving(http_answer(body, content_type=content_type)) as (url, _):
        response = toolreg._request("GET", url)
        assert response.text_of(response.read()) == text


def test_certificates_are_verified_and_https_is_never_left_by_a_redirect(secured, monkeypatch):
    wrap, pem = secured
    with serving(http_answer(status="302 Found", location="http://127.0.0.1:1/"), wrap) as (url, requests):
        url = url.replace("http://127.0.0.1", "https://localhost")
        with pytest.raises(HttpError, match="certificate verify failed"):
            toolreg._request("GET", url)
        assert requests == []
        monkeypatch.setenv("SSL_CERT_FILE", pem)
        with pytest.raises(HttpError, match="redirects from https to http"):
            toolreg._request("GET", url)
        with pytest.raises(HttpError, match="mismatch"):
            toolreg._request("GET", url.replace("localhost", "127.0.0.1"))
        assert toolreg._request("POST", url, body=bytes(100_000)).status == 302


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_far_side_that_reads_slowly_cannot_stretch_the_timeout(scheme, secured, monkeypatch):
    def read_slowly(connection):
        connection = secured[0](connection) if scheme == "https" else connection
        with contextlib.suppress(OSError):
            while connection.recv(16_384):
                time.sleep(0.02)
        return connection
    monkeypatch.setenv("SSL_CERT_FILE", secured[1])
    with serving(b"", read_slowly) as (url, _):
        start = time.monotonic()
        with pytest.raises(ToolTimeoutError):
            toolreg._request("POST", url.replace("http://127.0.0.1", f"{scheme}://localhost"), body=bytes(30_000_000),
                             timeout=0.3)
        assert time.monotonic() - start < 5


SSE = [
    (b"data: a\n\n", [("message", "a", "", None)]),
    (b"\xef\xbb\xbfdata: a\r\ndata:b\r\n\r\n", [("message", "a\nb", "", None)]),
    (b"event: e\rid: 1\rdata:  x\r\r", [("e", " x", "1", None)]),
    (b": comment\n\n:\n\ndata\n\n", [("message", "", "", None)]),
    (b"id: 1\ndata:\n\nretry: 50\n\ndata: b\n\n",
     [("message", "", "1", None), ("message", None, "1", 50), ("message", "b", "1", 50)]),
    (b"id: 1\nid: 2\x00\nretry: 5s\nretry: " + b"9" * 5000 + b"\ndata: a: b\nunknown: 1\n\n",
     [("message", "a: b", "1", None)]),
    (b"event: e\n\ndata: a\n\nid\ndata: \xe2\x98\x83\xff\n\n",
     [("message", "a", "", None), ("message", "☃\ufffd", "", None)]),
    *[(b"data: a\n\ndata: cut" + end, [("message", "a", "", None)]) for end in (b"", b"\n")],
]


@pytest.mark.parametrize("text, events", SSE)
def test_server_sent_events_are_read_as_the_standard_says(text, events):
    with serving(b"HTTP/1.1 200 OK\r\n\r\n" + text) as (url, _):
        assert list(toolreg._sse_events(toolreg._request("GET", url).lines())) == events


@given(st.data())
@settings(max_examples=50)
def test_lines_do_not_depend_on_how_the_bytes_arrive(data):
    text = "".join(data.draw(st.lists(st.sampled_from(["\r", "\n", "\r\n", "a", "é", "bc"]), max_size=12))).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    response = object.__new__(toolreg._Response)
    response.pieces = (text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)]) if a < b)
    assert list(response.lines()) == [line.decode()
                                      for line in text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines()]


def test_an_event_is_bounded(monkeypatch):
    monkeypatch.setattr(toolreg, "MAX_BODY", 100)
    assert len(list(toolreg._sse_events(["data: " + "x" * 80, ""] * 3))) == 3
    with pytest.raises(HttpError, match="longer than 100 characters"):
        list(toolreg._sse_events(["data: x"] * 30))


# a self-signed certificate for localhost and its key, made for this test alone
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgOT4fYdYVhz+r6OQP
brd/ULyaB6DeeK1t+g6PygiSY12hRANCAASUb915ISf8V+WVlQra7CV2igf1a1dS
1qFXHUQiIngl+uUpKce/XINbSDb/0I9LdbQBd4WfBSbSBPLXvXdRcefs
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBlTCCATugAwIBAgIUe06R6FIGFn6ADh4S0qDSX0CVIpcwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDE1NDUyOFoYDzIxMjYxMTA2
MTU0NTI4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASUb915ISf8V+WVlQra7CV2igf1a1dS1qFXHUQiIngl+uUpKce/XINb
SDb/0I9LdbQBd4WfBSbSBPLXvXdRcefso2kwZzAdBgNVHQ4EFgQUEHt74dN71rpP
6g/TsVxKB8TvHRgwHwYDVR0jBBgwFoAUEHt74dN71rpP6g/TsVxKB8TvHRgwDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwID
SAAwRQIgTRGi+RATVv5RhhKgenrjzVSuYmzP5MO0wIuk+P687VYCIQCpCj4Y8iXm
tX9YuoSiczyLLQ+UWyXp/rDUnyTSoh1/Jw==
-----END CERTIFICATE-----
"""


# ---------------------------------------------------------------------------
# dialect: the schemas of OpenAPI descriptions, said in JSON Schema
# ---------------------------------------------------------------------------
def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def said_in_json_schema(schema, schemas=None, **more):
    """Give a schema of a description, said, with all that it needs, and the names of that."""
    api = toolreg._Schemas({"components": {"schemas": schemas}, **more})
    said, names = api.complete(schema)
    return {**said, "$defs": api.definitions(frozenset(names))}, names


TEXT, ARRAY, OBJECT, NULL = ({"type": kind} for kind in ("string", "array", "object", "null"))
ODD = "^[\\w-\\.]+$"                     # a pattern that Python cannot say


@pytest.mark.parametrize("schema, said", [
    ({**TEXT, "nullable": True, "example": 1, "xml": {}}, {"anyOf": [TEXT, NULL]}),
    ({**TEXT, "nullable": False}, TEXT),
    ({"enum": ["a"], **TEXT, "nullable": True}, {"anyOf": [{"enum": ["a"], **TEXT}, NULL]}),
    ({"nullable": True}, {}),
    ({"nullable": True, "description": "D", "default": None}, {"description": "D", "default": None}),
    ({**TEXT, "nullable": True, "description": "D"}, {"description": "D", "anyOf": [TEXT, NULL]}),
    ({"minimum": 1, "exclusiveMinimum": True, "maximum": 2, "exclusiveMaximum": False},
     {"exclusiveMinimum": 1, "maximum": 2}),
    ({"exclusiveMinimum": 1}, {"exclusiveMinimum": 1}),
    ({"properties": {"nullable": TEXT, "title": {"title": "is a title"}, "id": {"readOnly": True}},
      "required": ["id", "title", "title"]}, {"properties": {"nullable": TEXT, "title": {}}, "required": ["title"]}),
    ({"oneOf": [OBJECT, ARRAY], "discriminator": {"propertyName": "k", "mapping": {"a": "#/A", "b": "#/B"}}},
     {"anyOf": [OBJECT, ARRAY]}),
    ({"properties": {"k": TEXT}, "discriminator": {"propertyName": "k"}}, {"properties": {"k": TEXT}}),
    ({"allOf": [{**OBJECT, "properties": {"a": TEXT, "id": {"readOnly": True}}, "required": ["a", "id"],
                 "additionalProperties": False},
                {"properties": {"a": {"enum": ["x"]}, "b": {}}, "description": "D"}]},
     {**OBJECT, "properties": {"a": {**TEXT, "enum": ["x"]}, "b": {}}, "required": ["a"], "description": "D"}),
    ({"allOf": [{"oneOf": [TEXT, NULL]}, {"oneOf": [{"minLength": 1}, {"enum": [None]}]}]},
     {"oneOf": [TEXT, NULL], "allOf": [{"oneOf": [{"minLength": 1}, {"enum": [None]}]}]}),
    ({"type": "strange", "pattern": ODD, "title": "A", "x-y": 1, "description": "D", "required": True},
     {"description": "D"}),
    ({**TEXT, "minLength": "3", "deprecated": True, "enum": ["x"], "format": "binary"},
     {"description": "the file's text", **TEXT, "deprecated": True, "enum": ["x"]}),
    ({**OBJECT, "properties": None, "required": None, "items": None, "enum": None, "patternProperties": {ODD: {}}}, OBJECT),
    ({"patternProperties": {ODD: NULL, "^x": ARRAY}}, {"patternProperties": {"^x": ARRAY}}),
    ({"properties": {"a": {"$ref": "other.json#/A"}, "d": {"default": datetime.date(2020, 1, 2)}, "n": None}},
     {"properties": {"d": {"default": "2020-01-02"}, "n": True}}),
])
def test_a_schema_of_openapi_is_said_in_json_schema_2020_12(schema, said):
    given = json.dumps(schema, default=str)
    assert said_in_json_schema(schema) == ({**said, "$defs": {}}, set()) and json.dumps(schema, default=str) == given


def kinds_of(pet, **more):
    """Write the schema of a pet, and two that extend it."""
    return {"Pet": {"type": "object", "required": ["kind"], "discriminator": {"propertyName": "kind", **more}, **pet},
            **{name: {"allOf": [ref("Pet"), {"type": "object", "properties": properties}]} for name, properties in (
                ("Cat", {"lives": {"type": "integer"}}), ("Dog", {"breed": {"type": "string"}}))}}


NUMBER = {"n": {"type": "integer"}}
NODE = {"type": "object", "required": ["n", "id"], "additionalProperties": False, "properties": {
    **NUMBER, "id": {"readOnly": True}, "up": {"allOf": [ref("Node"), {"properties": {"n": {"minimum": 5}}}]}}}
CAT_AND_DOG = [{"kind": "Cat", "lives": 9}, {"kind": "Dog", "breed": "b"}]
NO_PETS = [{"kind": "Cat", "lives": "many"}, {"kind": "Cow"}, {"lives": 9}]
ANIMAL = {"properties": {"kind": {"type": "string"}, "name": {"type": "string"}}}
CLOSED = {"properties": {"kind": {"type": "string", "enum": ["Cat", "Dog"]}}, "additionalProperties": False}


@pytest.mark.parametrize("schema, schemas, fitting, others", [
    # kinds of one thing
    (ref("Pet"), kinds_of(ANIMAL), [*CAT_AND_DOG, {"kind": "Cat", "name": "n"}], [*NO_PETS, {"kind": "Dog", "name": 5}]),
    (ref("Pet"), kinds_of(ANIMAL, mapping={"c": "#/components/schemas/Cat", "Dog": "Dog"}),
     [{"kind": "c", "lives": 9}, {"kind": "Dog", "breed": "b"}], [{"kind": "Cat", "lives": 9}, {"kind": "c", "lives": "x"}]),
    ({"allOf": [ref("Pet")], "nullable": True}, kinds_of(CLOSED), [*CAT_AND_DOG, None], NO_PETS),
    ({**ref("Pet"), "nullable": True}, kinds_of(ANIMAL), [*CAT_AND_DOG, None], NO_PETS),
    ({"oneOf": [ref("A"), ref("B")], "discriminator": {"propertyName": "k", "mapping": {"a": "#/components/schemas/A"}}},
     {"A": {"type": "object", "properties": {"k": {"type": "string"}}},
      "B": {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]}},
     [{"k": "a"}, {"k": "b"}], [{"k": "c"}]),
    # what is read-only is not asked for, however it is said
    ({"allOf": [{"required": ["id", "n"]}, {"properties": {"id": {"readOnly": True}, "n": {}}}]}, {}, [{"n": 1}], [{}]),
    ({"allOf": [ref("Base"), {"properties": {"id": {"readOnly": True}, "n": {}}}]}, {"Base": {"required": ["id", "n"]}},
     [{"n": 1}], [{}]),
    ({"allOf": [ref("Read")], "required": ["id", "n"]}, {"Read": {"properties": {"id": {"readOnly": True}, "n": {}}}},
     [{"n": 1}], [{}]),
    ({"properties": {"id": ref("Id"), "n": {}}, "required": ["id", "n"]}, {"Id": {"type": "integer", "readOnly": True}},
     [{"n": 1}], [{}]),
    # what extends others by allOf leaves room for what each adds, and may hold itself
    ({"allOf": [ref("A"), {"properties": {"b": {}}}]}, {"A": {"properties": NUMBER, "additionalProperties": False}},
     [{"n": 1, "b": 2}], [{"n": "x"}]),
    (ref("Node"), {"Node": NODE}, [{"n": 1, "up": {"n": 5, "up": {"n": 6}}}],
     [{"n": 1, "up": {"n": 5, "up": {"n": "x"}}}, {"up": {"n": 5}}, {"n": 1, "up": {"n": 1}}]),
    (ref("S0"), {**{f"S{at}": {"allOf": [ref(f"S{at + 1}")] * 2} for at in range(60)}, "S60": {"properties": NUMBER}},
     [{"n": 1}], [{"n": "x"}]),
    (ref("Leaf"), {"Base": {"properties": {"up": ref("Base")}}, "Leaf": {"allOf": [ref("Base"), {
        "properties": {"up": ref("Leaf"), **NUMBER}}]}}, [{"up": {"up": {"n": 1}}}], [{"up": {"up": {"n": "x"}}}]),
    (ref("Tree"), {"Tree": {"$recursiveAnchor": True, "type": "object", "required": ["all"], "properties": {
        "all": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$recursiveRef": "#"}]}}}}},
     [{"all": [1, {"all": [2]}]}], [{"all": [{"all": ["x"]}]}]),
    # what is written oddly means what its author meant
    ({"type": "string", "nullable": True, "enum": ["a", None]}, {}, ["a", None], ["b", 1]),
    ({"type": ["string", "null"], "enum": ["a", None]}, {}, ["a", None], ["b"]),
    ({"allOf": [{"type": "object", "properties": NUMBER}], "nullable": True}, {}, [None, {"n": 1}], [{"n": "x"}, 1]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1.0, "maxItems": "2"}, {}, [[1, 2, 3]], [[], ["x"]])])
def test_a_schema_judges_as_its_author_meant(schema, schemas, fitting, others):
    check = Validator(said_in_json_schema(schema, schemas)[0]).is_valid
    assert all(map(check, fitting)) and not any(map(check, others))


def test_references_lead_to_definitions_also_recursive_ones_and_two_of_one_name():
    node = {"type": "object", "properties": {"children": {"type": "array", "items": ref("Node")},
                                             "other": {"$ref": "#/x-defs/Node"}}}
    said, names = said_in_json_schema(ref("Node"), {"Node": node, "Unused": {}}, **{
        "x-defs": {"Node": {"type": "integer", "nullable": True}}})
    assert "Node" in names and len(names) == 2 and names == said["$defs"].keys()
    check = Validator(said).is_valid
    assert check({"children": [{"children": [], "other": None}], "other": 3})
    assert not check({"children": [{"children": [{"other": "x"}]}]})
    paths = {"/x": {"post": {"x-schema": {"type": "array"}}}}
    assert not Validator(said_in_json_schema({"$ref": "#/paths/~1x/post/x%2Dschema"}, paths=paths)[0]).is_valid(1)


# ---------------------------------------------------------------------------
# openapi: tools from OpenAPI descriptions
# ---------------------------------------------------------------------------
def describe(operation=None, path="/x", method="get", version="3.1.0", **more):
    """Write a description with one operation."""
    return {"openapi": version, "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://example.com"}],
            "paths": {path: {method: {"operationId": "op", **(operation or {})}}}, **more}


def parameter(name, schema=None, where="query", **more):
    return {"name": name, "in": where, "schema": schema or TEXT, **more}


def body_of(media_type, schema=None, encoding=None, **more):
    return {"requestBody": {"content": {media_type: {"schema": schema or {}, "encoding": encoding}}, **more}}


def json_body(schema):
    return body_of("application/json", schema, required=True)


def only(tools):
    tool, = tools
    return tool


def sent_by(document, arguments, answer=None, **options):
    """Call the one tool of a document on a recording server; give (the raw request, the result)."""
    with serving(answer or http_answer(b"ok")) as (url, requests):
        tool = only(openapi_tools(document, **{"base_url": url, **options}))
        result = ToolRegistry([tool]).invoke(tool.name, arguments)
    return (requests[0].decode() if requests else None), result


LIST, DICT = ["a b", "c,d", 5.0, True], {"k": "v&", "n": 1}


@pytest.mark.parametrize("given, value, target", [
    (parameter("q"), "ä &=?#/%+", "/x?q=%C3%A4%20%26%3D%3F%23%2F%25%2B"),
    (parameter("q"), "", "/x?q="),
    (parameter("q"), "\ud800", "/x?q=%5Cud800"),
    (parameter("q[]", {"type": "integer"}), 5, "/x?q%5B%5D=5"),
    (parameter("q", {"type": "number"}), 1.5, "/x?q=1.5"),
    (parameter("q", {"type": "boolean"}), False, "/x?q=false"),
    (parameter("q", {"type": ["string", "null"]}), None, "/x"),
    (parameter("q", ARRAY), LIST, "/x?q=a%20b&q=c%2Cd&q=5&q=true"),
    (parameter("q", ARRAY), [], "/x"),
    (parameter("q", ARRAY, explode=None, style=None), LIST, "/x?q=a%20b&q=c%2Cd&q=5&q=true"),
    (parameter("q", ARRAY, explode=False), LIST, "/x?q=a%20b,c%2Cd,5,true"),
    (parameter("q", OBJECT), {**DICT, "no": None}, "/x?k=v%26&n=1"),
    (parameter("q", OBJECT, style="form", explode=False), DICT, "/x?q=k,v%26,n,1"),
    (parameter("q", ARRAY), [{"a": 1}], "/x?q=%7B%22a%22%3A%201%7D"),
    (parameter("id", where="path"), "..a?b#c/%2f", "/x/..a%3Fb%23c%2F%252f"),
    (parameter("q", ARRAY, explode=False, style="spaceDelimited"), [1, "c,d"], "/x?q=1%20c%2Cd"),
    (parameter("q", ARRAY, explode=False, style="pipeDelimited"), ["a", "b|"], "/x?q=a%7Cb%7C"),
    (parameter("q", ARRAY, style="pipeDelimited", explode=True), ["a", "b"], "/x?q=a&q=b"),
    (parameter("q", OBJECT, style="deepObject"), {"a": {"b": [1, {"c": "&"}]}, "d": None, "e": []},
     "/x?q%5Ba%5D%5Bb%5D%5B0%5D=1&q%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=%26"),
    (parameter("q", ARRAY, style="deepObject"), ["x", "y"], "/x?q%5B0%5D=x&q%5B1%5D=y"),
    (parameter("q", OBJECT), {}, "/x"),
    (parameter("q", allowReserved=True), "a/b:c?d&e=f#+", "/x?q=a/b:c?d%26e%3Df%23%2B"),
    (parameter("q", content={"application/json": {"schema": OBJECT}}), {"a": [1]}, "/x?q=%7B%22a%22%3A%20%5B1%5D%7D"),
    (parameter("id", ARRAY, "path"), LIST, "/x/a%20b,c%2Cd,5,true"),
    (parameter("id", OBJECT, "path", explode=True), DICT, "/x/k=v%26,n=1"),
    (parameter("id", OBJECT, "path", style="simple"), DICT, "/x/k,v%26,n,1"),
    (parameter("id", {"type": "string", "readOnly": True}, "path"), "1", "/x/1"),
    (parameter("größe 1", where="path"), "ß", "/%C3%BC%20x/%C3%9F"),
    (parameter("beta", where="path"), "1", "/x/1?beta=true"),
])
def test_a_parameter_is_written_in_its_style(given, value, target):
    paths = {"id": "/x/{id}", "größe 1": "/ü x/{größe 1}", "beta": "/x/{beta}?beta=true#note"}
    document = describe({"parameters": [given]}, paths.get(given["name"], "/x"))
    name, = only(openapi_tools(document)).parameters["properties"]
    request, result = sent_by(document, {name: value})
    assert request.startswith(f"GET {target} HTTP/1.1\r\n") and result.value == "ok"


@pytest.mark.parametrize("a, b", [("", "x"), (".", ""), (".", "."), ("..", ""), ("../../admin", "x"), ("a/..", "/x"),
                                  ("x\\..\\", "y"), ("./", "x")])
def test_a_path_value_that_would_be_no_segment_is_refused(a, b):
    document = describe({"parameters": [parameter("a", where="path"), parameter("b", {}, "path")]}, "/x/{a}{b}/end")
    request, result = sent_by(document, {"a": a, "b": b})
    assert request is None and result.content == ("Error: a value in the path is empty, or has a part . or ..\n"
                              "Fix the arguments and call the tool again.")


def test_header_and_cookie_parameters_are_sent_and_cannot_add_headers():
    given = [parameter("X-A", where="header"), parameter("X-B", ARRAY, "header"),
             parameter("a", where="cookie"), parameter("b", ARRAY, "cookie", explode=False)]
    never = [parameter(name, where="header") for name in ("Accept", "Content-Type", "AUTHORIZATION", "Host")]
    document = describe({"parameters": [*given, *never]})
    assert list(only(openapi_tools(document)).parameters["properties"]) == ["X-A", "X-B", "a", "b"]
    request, _ = sent_by(document, {"X-A": "a, b☃", "X-B": [1, "c"], "a": "x; y", "b": [1, 2]})
    assert "\r\ncookie: a=x%3B%20y; b=1,2\r\n" in request and "\r\nx-a: a, b☃\r\nx-b: 1,c\r\n" in request
    assert "cookie" not in sent_by(document, {})[0]
    for value in ("a\r\nX-C: 1", "a\nb", "\x00"):
        request, result = sent_by(document, {"X-A": value})
        assert request is None and "headers: x-a must be text without control characters" in result.content


ITEM = {"type": "object", "required": ["id", "name"], "properties": {
    "id": {"type": "integer", "readOnly": True}, "name": TEXT,
    "tags": {"type": "array", "items": TEXT}}}


@pytest.mark.parametrize("content_type, schema, arguments, body", [
    ("application/json", ITEM, {"name": "ü", "tags": ["a"]}, '{"name": "ü", "tags": ["a"]}'),
    ("application/vnd.x+json; v=1", ITEM, {"name": "n"}, '{"name": "n"}'),
    ("application/json", ARRAY, {"body": [1, None]}, "[1, null]"),
    ("application/json", {**ITEM, "additionalProperties": True}, {"body": {"name": "n", "x": 1}},
     '{"name": "n", "x": 1}'),
    ("application/json", {"allOf": [ITEM]}, {"body": {"name": "n"}}, '{"name": "n"}'),
    ("application/json", {"type": "object", "properties": {"n": {"type": ["null"]}}}, {"n": None}, '{"n": null}'),
    ("application/json", {"type": "object", "properties": {"n": {}}}, {}, "{}"),
    ("application/x-www-form-urlencoded", ITEM, {"name": "a&b= ☃", "tags": ["1", "2"]},
     "name=a%26b%3D%20%E2%98%83&tags=1&tags=2"),
    ("application/x-www-form-urlencoded", {"properties": {"o": OBJECT}}, {"o": {"a": 1}},
     "o=%7B%22a%22%3A%201%7D"),
    ("application/x-www-form-urlencoded", OBJECT, {"body": {"o": ["&"]}}, "o=%26"),
    ("application/x-www-form-urlencoded", TEXT, {"body": "a=1&b=%26"}, "a=1&b=%26"),     # written already
    ("multipart/form-data", {"anyOf": [TEXT, OBJECT]}, {"body": "--x--"}, "--x--"),
    ("application/json", True, {"body": [1]}, "[1]"),
    ("text/plain", True, {"body": "t"}, "t"),
    ("text/plain", TEXT, {"body": "text\n"}, "text\n"),
    ("application/octet-stream", {}, {"body": "ü"}, "ü"),
    ("application/json", TEXT, {"body": "\ud800"}, '"\\ud800"'),
    ("*/*", TEXT, {"body": "b"}, '"b"'), ("application/*", TEXT, {"body": "b"}, '"b"'), ("text/*", TEXT, {"body": "b"}, "b"),
])
def test_a_body_is_written_in_its_content_type(content_type, schema, arguments, body):
    usual = {"*/*": "application/json", "application/*": "application/json", "text/*": "text/plain"}
    for media_type in ({"schema": schema}, {"$ref": "#/components/mediaTypes/M"}):      # the best of several is sent
        operation = {"requestBody": {"required": True, "content": {content_type: media_type, "image/png": {}}}}
        document = describe(operation, method="post", components={"mediaTypes": {"M": {"schema": schema}}})
        request, result = sent_by(document, arguments)
        assert request.endswith("\r\n\r\n" + body) and not result.is_error
        assert f"\r\ncontent-type: {usual.get(content_type, content_type)}\r\n" in request
        assert f"\r\ncontent-length: {len(body.encode())}\r\n" in request


def test_an_optional_body_that_is_not_given_is_not_sent():
    for media_type in ("*/*", "text/*", "application/json", "application/x-www-form-urlencoded"):
        request, _ = sent_by(describe(body_of(media_type, {"properties": {"a": {}}}), method="post"), {})
        assert request.endswith("\r\n\r\n") and "content-type" not in request and "content-length: 0" in request


def test_names_that_clash_are_told_apart_and_routed_back():
    document = describe({"parameters": [parameter("name", where="path"), parameter("name"), parameter("$filter"),
                                        parameter("filter<", description="When")],
                         **json_body({"properties": {"name": {"type": "integer"}, "name_query": {},
                                                     "toolcall_reason": {}}})}, "/x/{name}", "put")
    properties = only(openapi_tools(document)).parameters["properties"]
    assert list(properties) == ["name", "name_query", "filter", "filter_query", "name_body", "name_query_body",
                                "toolcall_reason"]
    assert properties["filter_query"]["description"] == "When (sent as filter<)"
    request, result = sent_by(document, {"name": "p", "name_query": "q", "name_body": 1, "name_query_body": 2,
                                         "filter": "f", "filter_query": "g", "toolcall_reason": "why"})
    assert request.startswith("PUT /x/p?name=q&%24filter=f&filter%3C=g ") and result.reason == "why"
    assert json.loads(request.split("\r\n\r\n")[1]) == {"name": 1, "name_query": 2, "toolcall_reason": "why"}


def test_names_and_descriptions_come_from_the_document_or_from_method_and_path():
    document = describe()
    document["paths"] = {
        "/a/{b}": {"get": {"operationId": "pets/list all", "summary": "S", "description": "D", "tags": ["t"]},
                   "post": {"summary": "S", "description": "S"}, "x-y": 1,
                   "parameters": [parameter("b", where="path")]},
        "/a": {"delete": {"operationId": "pets/list all"}, "trace": {}, "options": {}},
        "/A": {"delete": {"deprecated": True}}, "x-extension": {"get": {}}}
    tools = openapi_tools(document)
    assert [(tool.name, tool.description) for tool in tools] == [
        ("pets_list_all", "S\n\nD"), ("post_a_b", "S"), ("delete_a", "DELETE /a"),
        ("delete_A", "DELETE /A\n\nDeprecated.")]
    assert (tools[0].metadata.source, tools[0].metadata.tags) == ("openapi", {"t"})
    assert tools[3].metadata.extra["openapi"] == {"method": "DELETE", "path": "/A", "deprecated": True, "left_out": []}


def test_operations_are_chosen_by_ids_tags_methods_and_paths_and_keep_their_names():
    document = describe()
    document["paths"] = {"/a": {"get": {"operationId": "x y", "tags": ["t"]}, "delete": {"operationId": "d"}},
                         "/a/{b}/c": {"get": {"operationId": "x_y", "parameters": [parameter("b", where="path")]}},
                         "/b": {"get": {"operationId": "x.y"}}}
    names = {tool.metadata.extra["openapi"]["path"]: tool.name for tool in openapi_tools(document, include="get")}
    for include, exclude, paths in ((["t"], (), ["/a"]), (["/a*"], ["delete"], ["/a", "/a/{b}/c"]),
                                    (None, ["GET"], ["/a"]), (["x.y", "t"], "/b", ["/a"]), ("x y", (), ["/a"])):
        chosen = openapi_tools(document, include=include, exclude=exclude)
        assert [tool.metadata.extra["openapi"]["path"] for tool in chosen] == paths
        assert all(tool.name in (*names.values(), "d") for tool in chosen)
    with pytest.raises(ToolDefinitionError, match=r'has no operations "delet" of exclude= \(there are: DELETE, delete, '):
        openapi_tools(document, exclude=["delet"])


def test_an_operation_has_the_parameters_of_its_path_and_its_own_win():
    document = describe({"parameters": [parameter("a", {"type": "integer"}), None]})
    document["paths"]["/x"]["parameters"] = [parameter("a"), {"$ref": "#/components/parameters/b"}]
    document["components"] = {"parameters": {"b": parameter("b", required=True, description="B")}}
    assert only(openapi_tools(document)).parameters == {
        "type": "object", "additionalProperties": False, "required": ["b"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "description": "B"}}}


def test_references_to_other_documents_are_read_from_resources_and_never_fetched():
    with serving(http_answer(b"{}")) as (url, requests):
        document = describe({"parameters": [{"$ref": "common.json#/p"}]})
        document["paths"]["/y"] = {"$ref": f"{url}/items.json#/y"}
        resources = {"common.json": {"p": parameter("q", {"$ref": "#/s"}),
                                     "s": {"type": "array", "items": {"$ref": "more.json"}}},
                     "more.json": {"type": "integer"}, f"{url}/items.json": {"y": {"get": {"operationId": "y"}}}}
        first, second = openapi_tools(document, resources=resources)
        assert first._validator.is_valid({"q": [1]}) and not first._validator.is_valid({"q": ["1"]})
        del document["paths"]["/y"]
        told = r'op: the reference "common.json#/p" leads nowhere \(other documents are given in resources=\)'
        with pytest.warns(ToolRegWarning, match=told):
            assert openapi_tools(document) == []
        assert requests == []


def ring(size):
    """Describe operations whose schemas refer to each other."""
    schemas = {f"S{at}": {"type": "object", "properties": {"v": {"type": "integer"}, **{
        f"to{step}": ref(f"S{(at + step) % size}") for step in (1, 7, 31)}}} for at in range(size)}
    return {**describe(components={"schemas": schemas}), "paths": {
        f"/p{at}": {"post": {"operationId": f"op{at}", **json_body(ref(f"S{at}"))}} for at in range(size)}}


def test_schemas_that_refer_to_each_other_are_imported_as_fast_as_the_document_grows_and_shared():
    def seconds(size):
        start = time.perf_counter()
        assert len(openapi_tools(ring(size))) == size
        return time.perf_counter() - start
    assert seconds(300) < max(3, 40 * min(seconds(30) for _ in range(3)))
    first, *others = openapi_tools(ring(50))
    assert len(first.parameters["$defs"]) == 50
    assert all(tool.parameters["$defs"] is first.parameters["$defs"] for tool in others)
    assert "_validator" not in vars(first)      # compiled when it is first called
    assert not first._validator.is_valid({"to7": {"to31": {"v": "x"}}}) and first._validator.is_valid({"to7": {"v": 1}})


@pytest.mark.parametrize("schemas", [
    {"A": {"oneOf": [ref("A"), TEXT]}},
    {"A": {"required": ["b"], "properties": {"b": ref("B")}}, "B": {"anyOf": [TEXT, {"oneOf": [ref("B")]}]}}])
def test_an_operation_whose_schema_refers_to_itself_without_end_is_refused_at_once(schemas):
    document = {**describe(components={"schemas": schemas}), "paths": {"/a": {
        "post": {"operationId": "needs", **json_body(ref("A"))},
        "get": {"operationId": "may", "parameters": [parameter("q", ref("A"))]}}}}
    with pytest.warns(ToolRegWarning, match="- needs: .*refers to itself without end"):
        tool = only(openapi_tools(document))
    assert tool.name == "may" and "without end" in str(tool.metadata.extra["openapi"]["left_out"])


# --- documents
def test_a_document_may_be_a_dict_a_text_a_path_or_a_url_and_its_servers_may_be_relative(tmp_path):
    text = json.dumps(describe(servers=[{"url": "api/{v}", "variables": {"v": {"default": "v1"}}}]))
    (tmp_path / "api.json").write_text(text, "utf-8-sig")
    for spec in (json.loads(text), text, tmp_path / "api.json", str(tmp_path / "api.json")):
        assert only(openapi_tools(spec, base_url="https://example.com")).name == "op"

    with serving(lambda request, _: http_answer(text.encode() if b"api.json" in request else b"ok")) as (url, requests):
        assert only(openapi_tools(url + "/docs/api.json")).run({}) == "ok"
        assert requests[1].startswith(b"GET /docs/api/v1/x ")


@pytest.mark.parametrize("spec, text", [
    ("openapi: 3.0.0\n", "the OpenAPI document is not JSON: expecting value (line 1, column 1) "
                         "(of YAML write register_from_openapi(yaml.safe_load(text)))"),
    ({"swagger": "1.2"}, "openapi: must be 3.0, 3.1 or 3.2, or swagger 2.0 (got Swagger 1.2)"),
    ({"openapi": "4.0.0"}, 'openapi: must be 3.0, 3.1 or 3.2, or swagger 2.0 (got "4.0.0")'),
    ({"openapi": 3.3}, "openapi: must be 3.0, 3.1 or 3.2, or swagger 2.0 (got 3.3)"),
    ("[]\n", "openapi: must be 3.0, 3.1 or 3.2, or swagger 2.0 (got null)"),
    ({"swagger": "2.0", "paths": [1]}, "the OpenAPI document has no operations that could be called"),
    ({"openapi": "3.1.0", "webhooks": {}}, "the OpenAPI document has no operations that could be called"),
    (describe(servers=[{"url": "https://{a}", "variables": {"a": 1}}]), "the OpenAPI document cannot be read: "),
    (describe(servers=None), "no server is named with its whole URL (write base_url=)"),
    ("no such file.json", "the OpenAPI document cannot be read: FileNotFoundError"),
    (None, "the OpenAPI document cannot be read: TypeError"),
    ("no\0file", "the OpenAPI document cannot be read: ValueError"),
])
def test_a_document_that_cannot_be_used_is_refused_with_one_clear_line(spec, text):
    with pytest.raises(ToolDefinitionError) as caught:
        openapi_tools(spec)
    assert str(caught.value).startswith(text) and "\n" not in str(caught.value)


def wanted(name, schema=None, **more):
    return {"parameters": [parameter(name, schema, required=True, **more)]}


@pytest.mark.parametrize("operation, reason", [
    (wanted("c", where="querystring"), "c: a querystring parameter written as text is not supported"),
    (wanted("d", style="matrix"), "d: a query parameter written as matrix is not supported"),
    (wanted("j", content={"a/b": {}}), "j: a query parameter written as a/b is not supported"),
    (json_body({"$dynamicRef": "#a"}), "body: a schema with $dynamicRef is not supported"),
    (json_body({"$recursiveRef": "#"}), 'body: the reference "$recursiveRef" leads nowhere'),
    (json_body({"$ref": "#"}), 'the reference "#" leads nowhere'),
    (json_body({"items": {"$ref": "#Anchor"}}), 'body: the reference "#Anchor" leads nowhere'),
    ({"requestBody": {"$ref": "other.json#/b"}}, 'the reference "other.json#/b" leads nowhere (other documents are '),
    ({"parameters": [parameter("p", where="path")]}, "the path and its parameters differ: p"),
    (wanted("a", {"$ref": "#/no"}), 'a: the reference "#/no" leads nowhere'),
    ({"parameters": [{"$ref": "#/paths/~1x/get/parameters/0"}]}, "references lead round in a circle"),
    ({"parameters": [{"name": "a"}]}, "the OpenAPI document cannot be read: KeyError: 'in'"),
    ({"parameters": [1]}, "the OpenAPI document cannot be read: TypeError"),
    ({"servers": [{"url": "/relative"}]}, "no server is named with its whole URL (write base_url=)"),
    ({"servers": [{"url": "https://u:p@example.com"}]}, "no server is named with its whole URL (write base_url=)"),
])
def test_an_operation_that_is_not_supported_is_refused_by_name_and_the_others_register(operation, reason):
    document = describe(operation)
    document["paths"]["/good"] = {"get": {"operationId": "good"}}
    with pytest.warns(ToolRegWarning, match="OpenAPI: 1 of 2 tools left out"):
        tools = openapi_tools(document)
    assert [tool.name for tool in tools] == ["good"] and tools.refused["op"].startswith(reason)


def test_a_part_that_is_none_costs_itself():
    document = describe({"parameters": [{"in": "body", "name": "b", "schema": {}}, None], "tags": [None],
                         "security": None, "description": None, "requestBody": {"content": None}}, components=None)
    document["paths"]["/x"].update(post=None, parameters=None, servers=None)
    document["paths"].update({"/y": {"$ref": "other.json#/y"}, "pets": {"delete": {"operationId": "slash"}}})
    with pytest.warns(ToolRegWarning, match=r'1 of 3 tools left out:\n- get /y: the reference "other.json#/y" leads'):
        first, second = openapi_tools(document)
    assert first.metadata.extra["openapi"]["left_out"] == ["b: a body parameter written as text is not supported"]
    assert sent_by({**document, "paths": {"pets": document["paths"]["pets"]}}, {})[0].startswith("DELETE /pets ")


def test_an_optional_part_that_leads_nowhere_costs_itself_and_a_required_one_the_operation():
    schema = {"properties": {"a": {"$ref": "#/no"}, "b": {}}}
    document = describe({"parameters": [parameter("p", {"$ref": "#/no"})], **json_body(schema)}, method="post")
    told = 'the reference "#/no" leads nowhere (other documents are given in resources=)'
    tool = only(openapi_tools(document))
    assert tool.parameters["properties"] == {"b": {}}
    assert tool.metadata.extra["openapi"]["left_out"] == [f"p: {told}", f"a: {told}"]
    schema["required"] = ["a"]
    with pytest.warns(ToolRegWarning):
        assert openapi_tools(document).refused == {"op": f"a: {told}"}


def test_the_reasons_of_many_refusals_are_grouped_and_at_most_twenty():
    bad = [{"requestBody": {"$ref": "#/no"}}] * 50 + [{"parameters": [parameter(f"p{at}", where="path")]} for at in range(50)]
    with pytest.warns(ToolRegWarning, match="OpenAPI: 100 of 101 tools left out:") as caught:
        openapi_tools({**describe(), "paths": {"/": {"get": {}}, **{f"/{at}": {"post": bad[at]} for at in range(100)}}})
    lines = str(caught[0].message).splitlines()
    assert len(lines) == 22 and ' and 30 more: the reference "#/no" leads nowhere' in lines[1]
    assert lines[-1] == "- and 31 more reasons"


# --- servers and secrets
def test_the_nearest_server_counts_and_base_url_counts_before_all():
    document = describe()
    path = document["paths"]["/x"]
    for port, node in enumerate((document, path, path["get"]), 1):
        node["servers"] = [{"url": f"http://127.0.0.1:{port}/"}]
        with pytest.raises(HttpError, match=f"^http://127.0.0.1:{port}: ConnectionRefusedError"):
            only(openapi_tools(document)).run({})
    with serving(http_answer(b"ok")) as (url, requests):
        only(openapi_tools(document, base_url=url + "/v1/")).run({})
    assert requests[0].startswith(b"GET /v1/x ")
    for url in ("ftp://x", "https://x?y=1", "https://x#y", "https://u:p@x", "x", "", "https://{left}.invalid"):
        with pytest.raises(ToolDefinitionError, match="^no server is named with its whole URL"):
            openapi_tools(document, base_url=url)
    variables = {"region": {"enum": ["eu", "us"]}, "port": {"default": 8443}}
    whole = [{"url": "https://{left}.invalid"}, {"url": "https://{region}.invalid:{port}/", "variables": variables}]
    for servers, text in ((None, "no server"), ([{}], "no server"), (whole, "https://eu.invalid:8443: ")):
        with pytest.raises(ToolRegError, match=f"^{text}"):
            only(openapi_tools({**describe(), "servers": servers})).run({})


SCHEMES = {"k": {"type": "apiKey", "in": "header", "name": "X-Key"},
           "q": {"type": "apiKey", "in": "query", "name": "key"}, "o": {"type": "oauth2"},
           "basic": {"type": "http", "scheme": "Basic"}, "bearer": {"type": "http", "scheme": "bearer"},
           "c": {"type": "apiKey", "in": "cookie", "name": "c"}, "d": {"type": "http", "scheme": "digest"},
           "referred": {"$ref": "#/components/securitySchemes/bearer"}}


@pytest.mark.parametrize("security, auth, sent", [
    ([{"k": []}], {"k": "secret"}, "\r\nx-key: secret\r\n"),
    ([{"q": []}], {"q": "secret&"}, "GET /x?n=1&key=secret%26 "),
    ([{"c": []}], {"c": "secret=; "}, "\r\ncookie: c=secret=%3B%20\r\n"),
    ([{"basic": []}], {"basic": ("u", "secret")}, "\r\nauthorization: Basic dTpzZWNyZXQ=\r\n"),
    ([{"basic": []}], {"basic": "u:secret"}, "\r\nauthorization: Basic dTpzZWNyZXQ=\r\n"),
    ([{"bearer": []}], {"bearer": "secret"}, "\r\nauthorization: Bearer secret\r\n"),
    ([{"referred": []}], {"referred": "secret"}, "\r\nauthorization: Bearer secret\r\n"),
    ([{"k": [], "q": []}, {}, {"o": ["scope"]}], {"o": "secret"}, "\r\nauthorization: Bearer secret\r\n"),
])
def test_credentials_are_filled_in_and_never_offered_shown_or_overwritten(security, auth, sent):
    document = describe({"security": security, "parameters": [
        parameter("x-key", where="header"), parameter("key"), parameter("o", OBJECT)]},
                        components={"securitySchemes": SCHEMES})
    tool = only(openapi_tools(document, auth=auth))
    assert list(tool.parameters["properties"]) == ["o"]
    assert "secret" not in repr(tool) + repr(vars(tool)["func"]) and "dTp" not in repr(tool)
    request, _ = sent_by(document, {"o": {"n": 1, "key": "of the model"}}, auth=auth)
    assert sent in request and "of%20the%20model" not in request
    document["security"], document["paths"]["/x"]["get"]["security"] = security, []
    with pytest.warns(ToolRegWarning, match="is sent with no operation"):
        assert not re.search("secret|dTp", sent_by(document, {}, auth=auth)[0])


@pytest.mark.parametrize("auth, text", [
    ({"d": "1"}, 'auth: "d" must be a security scheme of the document that can be sent, with text (it is http digest, '),
    ({"x": "1"}, 'auth: "x" must be a security scheme of the document that can be sent, with text (it is none, with str)'),
    ({"k": None}, 'auth: "k" must be a security scheme of the document that can be sent, with text (it is apikey head'),
    ("secret", "auth: must be a dict of security scheme -> secret")])
def test_credentials_that_cannot_be_used_are_refused_and_those_that_no_operation_sends_told(auth, text):
    document = describe({"security": [{"k": [], "q": []}]}, components={"securitySchemes": SCHEMES})
    with pytest.raises(ToolDefinitionError, match=f"^{re.escape(text)}"):
        openapi_tools(document, auth=auth)
    with pytest.warns(ToolRegWarning, match="^auth: k is sent with no operation"):
        openapi_tools(document, auth={"k": "secret"})       # half of what one wants
    openapi_tools(document, auth={"k": "secret", "q": "secret"})        # in tests, a warning is an error


def test_headers_are_for_every_request():
    document = describe({"parameters": [parameter("X-Token", where="header", required=True)],
                         **json_body(ARRAY)}, method="post")
    request, result = sent_by(document, {"body": []}, headers={"X-Token": "mine", "Accept": "a/b", "Content-Type": "c/d"})
    assert "\r\nx-token: mine\r\n" in request and "\r\naccept: a/b\r\n" in request and not result.is_error
    assert "\r\ncontent-type: c/d\r\n" in request
    with pytest.raises(HttpError, match="headers: X-Token must be text without control characters"):
        openapi_tools(document, headers={"X-Token": "a\r\nb: c"})


# --- answers
@pytest.mark.parametrize("answer, content, value", [
    (http_answer(b'{"a": [1.5, "\xc3\xa4"]}', content_type="application/problem+json"), '{"a": [1.5, "ä"]}',
     {"a": [1.5, "ä"]}),
    (http_answer(b"{broken", content_type="application/json"), "{broken", "{broken"),
    (http_answer("☃".encode(), content_type="text/plain; charset=utf-8"), "☃", "☃"),
    (http_answer(b"7", content_type="text/plain"), "7", "7"),
    (http_answer(b"<a/>", content_type="application/xml"), "<a/>", "<a/>"),
    (http_answer(b"\xff\xd8", content_type="image/jpeg"), "2 bytes of image/jpeg",
     toolreg.Media(b"\xff\xd8", "image/jpeg")),
    (http_answer(b'[1]', content_type="application/json", link='<https://x/?p=1>; rel="prev", </x?p=3>; rel="next"'),
     "[1]\n(there is more: /x?p=3)", [1]),
    (http_answer(status="204 No Content"), "done: the server answered 204 without content", None),
])
def test_an_answer_is_read_by_its_content_type(answer, content, value):
    _, result = sent_by(describe(), {}, answer)
    assert (result.content, result.value, result.is_error) == (content, value, False)


def test_an_answer_that_is_no_success_or_does_not_come_is_an_error_that_tells_why():
    for status in ("404 Not Found", "500 Oops", "304 Not Modified", "301 Moved"):
        _, result = sent_by(describe(), {}, http_answer(b"why " * 10_000 if status[0] > "3" else b"", status))
        assert result.is_error and f" answered {status}" in result.content and len(result.content) < 2200
        assert result.content.endswith("\nIf the arguments are the cause, change them; else go on without it.")
        assert result.error.__cause__.status == int(status[:3])
    _, refused = sent_by(describe(), {}, base_url="http://127.0.0.1:1")
    assert "HttpError: http://127.0.0.1:1: ConnectionRefusedError" in refused.content
    assert isinstance(sent_by(describe(), {}, drip, timeout=0.2)[1].error, ToolTimeoutError)


# --- forms and files
def parts_of(request):
    """Read a multipart body with the standard library's reader of mail: [(name, file name, type, bytes)]."""
    import email.policy
    head, _, body = request.partition(b"\r\n\r\n")
    kind = re.search(rb"content-type: (.*)", head)[1]
    message = email.message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + body, policy=email.policy.HTTP)
    return [(part.get_param("name", header="content-disposition"), part.get_filename(),
             part["content-type"] and part.get_content_type(), part.get_payload(decode=True))
            for part in message.iter_parts()]


def test_a_multipart_body_carries_text_json_and_files_of_models_and_programs():
    schema = {"type": "object", "properties": {
        "note": TEXT, "n": {"type": "integer"}, "o": OBJECT, "tags": ARRAY,
        "file": {"type": "string", "format": "binary"}, "csv": {"type": "string", "contentMediaType": "text/csv"},
        "image": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"},
        "many": {"type": "array", "items": {"anyOf": [{"type": "string", "format": "binary"}, {"type": "null"}]}}}}
    document = describe(body_of("multipart/form-data", schema, {"csv": {"contentType": "text/csv"}}), method="post")
    with serving(http_answer(b"ok")) as (url, requests):
        tool = only(openapi_tools(document, base_url=url))
        assert tool.parameters["properties"]["file"] == {"type": "string", "description": "the file's text"}
        result = ToolRegistry([tool]).invoke("op", {
            "note": "ü", "n": 1, "o": {"a": 1}, "tags": ["x", "y"], "file": "text", "image": "/9g=", "csv": "a,b",
            "many": ["1", "2"]})
        assert result.content == "ok"
        assert parts_of(requests[0]) == [
            ("note", None, None, "ü".encode()), ("n", None, None, b"1"), ("o", None, "application/json", b'{"a": 1}'),
            ("tags", None, None, b"x"), ("tags", None, None, b"y"),
            ("file", "file", "application/octet-stream", b"text"),
            ("image", "image", "application/octet-stream", b"\xff\xd8"), ("csv", "csv", "text/csv", b"a,b"),
            ("many", "many", "application/octet-stream", b"1"), ("many", "many", "application/octet-stream", b"2")]
        tool(file=toolreg.Media(b"\xff", "image/jpeg"), image=b"\x00")
        assert parts_of(requests[1]) == [("file", "file", "image/jpeg", b"\xff"),
                                         ("image", "image", "application/octet-stream", b"\x00")]
        assert "a file is not base64" in ToolRegistry([tool]).invoke("op", {"image": "?"}).content
        only(openapi_tools(describe(body_of("application/octet-stream"), method="put"), base_url=url))(body=b"\xff")
        assert requests[2].endswith(b"\r\n\r\n\xff")


def test_the_shapes_of_a_large_payment_service_are_taken_and_sent_as_it_reads_them():
    deep, form = {"style": "deepObject", "explode": True}, "application/x-www-form-urlencoded"
    created = {"anyOf": [{**OBJECT, "properties": {"gt": {"type": "integer"}, "lte": {"type": "integer"}}},
                         {"type": "integer"}]}
    listed = describe({"parameters": [parameter("created", created, **deep), parameter("expand", ARRAY, **deep)],
                       **body_of(form, {**OBJECT, "properties": {}}, {})})
    request, _ = sent_by(listed, {"created": {"gt": 1, "lte": 2}, "expand": ["data.customer"]})
    assert request.startswith("GET /x?created%5Bgt%5D=1&created%5Blte%5D=2&expand%5B0%5D=data.customer HTTP/1.1\r\n")
    assert "content-type" not in request and sent_by(listed, {"created": 5})[0].startswith("GET /x?created=5 ")
    made = describe(body_of(form, {**OBJECT, "properties": {
        "amount": {"type": "integer"}, "items": {**ARRAY, "items": {**OBJECT, "properties": {"price": TEXT}}},
        "metadata": {"anyOf": [{**OBJECT, "additionalProperties": TEXT}, {"enum": [""], **TEXT}]}, "j": ARRAY}}, {
            "metadata": deep, "items": {"style": "deepObject"}, "j": {"contentType": "application/json"}}), method="post")
    request, _ = sent_by(made, {"amount": 5, "items": [{"price": "p"}], "metadata": {"k": "v"}, "j": [1]})
    assert request.endswith("\r\n\r\namount=5&items%5B0%5D%5Bprice%5D=p&metadata%5Bk%5D=v&j=%5B1%5D")
    assert sent_by(made, {"metadata": ""})[0].endswith("\r\n\r\nmetadata=")


def test_the_shapes_of_a_cluster_manager_are_taken_and_each_tool_holds_only_what_it_needs():
    inner = {"allOf": [ref("io.k8s.Meta")], "default": {}}
    pod = {**OBJECT, "x-kubernetes-group-version-kind": [{"group": "", "kind": "Pod"}], "properties": {
        "metadata": {**inner, "description": "D"}, "status": {**OBJECT, "readOnly": True},
        "port": {"oneOf": [{"type": "integer"}, TEXT], "format": "int-or-string"}}}
    document = describe({"parameters": [parameter("namespace", where="path"), parameter("dryRun")],
                         **body_of("*/*", ref("io.k8s.Pod"), required=True)},
                        "/api/v1/namespaces/{namespace}/pods", "post", "3.0.0", components={"schemas": {
                            "io.k8s.Meta": {**OBJECT, "description": "M", "properties": {"name": TEXT, "owner": inner}},
                            "io.k8s.Pod": pod, "io.k8s.Other": {}}})
    tool = only(openapi_tools(document))
    assert list(tool.parameters["properties"]) == ["namespace", "dryRun", "metadata", "port"]
    assert list(tool.parameters["$defs"]) == ["io_k8s_Meta"] and "x-kubernetes" not in str(tool.parameters)
    sent = {"metadata": {"name": "p", "owner": {"name": "o"}}, "port": "http"}
    request, _ = sent_by(document, {"namespace": "n", **sent})
    assert request.startswith("POST /api/v1/namespaces/n/pods HTTP/1.1\r\n")
    assert json.loads(request.partition("\r\n\r\n")[2]) == sent


def test_no_value_leaves_its_place_and_what_an_independent_reader_reads_are_the_arguments():
    from urllib.parse import parse_qsl, unquote
    form = {"properties": {"s": TEXT, "many": ARRAY}, "required": ["s"]}
    places = [parameter(name, where=where) for name, where in zip(("p", "q", "X-A", "c"), ("path", "query", "header", "cookie"))]
    with serving(http_answer(b"ok")) as (url, requests):
        urlencoded, multipart = (only(openapi_tools(describe(
            {"parameters": places, **body_of(kind, form)}, "/x/{p}/end", "post"), base_url=url))
            for kind in ("application/x-www-form-urlencoded", "multipart/form-data"))
        text = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r"), max_size=8)
        segment = text.filter(lambda text: text and {".", ".."}.isdisjoint(re.split(r"[/\\]", text)))
        plain = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)

        @given(segment, text, plain, text, text, st.lists(text, max_size=3))
        @settings(max_examples=25)
        @example("%2e%2e", "a&b=c", "a,b", "; x=1", '"\n--', ["&", "=", ""])
        @example("//evil.com/", "\r\nX: 1\x00#", "a", "", "", [])
        def same(segment, query, header, cookie, single, many):
            for tool in (urlencoded, multipart):
                assert tool.run({"p": segment, "q": query, "X-A": header, "c": cookie, "s": single, "many": many}) == "ok"
                head, _, sent = requests[-1].partition(b"\r\n\r\n")
                first, *lines = head.decode().split("\r\n")
                fields, (got, asked) = dict(line.split(": ", 1) for line in lines), first.split(" ")[1].split("?")
                assert [*map(unquote, got.split("/"))] == ["", "x", segment, "end"] and len(fields) == 9
                assert parse_qsl(asked, keep_blank_values=True) == [("q", query)]
                assert fields["x-a"] == header and unquote(fields["cookie"]) == f"c={cookie}"
                pairs = ([(name, data.decode()) for name, _, _, data in parts_of(requests[-1])] if tool is multipart
                         else parse_qsl(sent.decode(), keep_blank_values=True))
                assert pairs == [("s", single), *(("many", each) for each in many)]
        same()


SWAGGER = {
    "swagger": "2.0", "host": "example.com", "basePath": "/v1", "schemes": ["http", "https"],
    "consumes": ["application/json"], "definitions": {"Item": {"type": "object", "properties": {
        "n": {"type": "integer"}, "more": {"type": "array", "items": {"$ref": "#/definitions/Item"}}}}},
    "parameters": {"limit": {"in": "query", "name": "limit", "type": "integer"}},
    "securityDefinitions": {"b": {"type": "basic"}, "k": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "paths": {
        "/items/{id}": {
            "parameters": [{"in": "path", "name": "id", "required": True, "type": "string"}],
            "put": {"operationId": "put", "security": [{"b": []}], "parameters": [
                {"$ref": "#/parameters/limit"},
                *({"in": "query", "name": name, "type": "array", "items": {}, **more} for name, more in (
                    ("csv", {}), *((name, {"collectionFormat": name}) for name in ("multi", "pipes", "ssv", "tsv")))),
                {"in": "body", "name": "b", "required": True, "schema": {"$ref": "#/definitions/Item"}}]}},
        "/form": {"post": {"operationId": "form", "parameters": [
            {"in": "formData", "name": "a", "type": "string", "required": True},
            {"in": "formData", "name": "l", "type": "array", "items": {}, "collectionFormat": "multi"}]}},
        "/file": {"post": {"operationId": "file", "parameters": [{"in": "formData", "name": "f", "type": "file"}]}},
        "/any": {"post": {"operationId": "any", "parameters": [{"in": "body", "name": "b"}]}},
        "/other": {"get": {"operationId": "other", "parameters": [{"$ref": "other.json#/p"}]}}}}


def test_swagger_2_is_read_and_sent_as_it_says():
    given = json.dumps(SWAGGER)
    with serving(http_answer(b"ok")) as (url, requests):
        registry = ToolRegistry()
        with pytest.warns(ToolRegWarning, match=r'1 of 5 tools left out:\n- other: the reference "other.json#/p" leads'):
            registry.register_from_openapi(SWAGGER, base_url=url, auth={"b": ("u", "p")})
        for name, arguments in (("put", {"id": "a", "limit": 3, "csv": ["x", "y"], "multi": [1, 2], "pipes": [1, 2],
                                         "ssv": [1, 2], "tsv": [1, "b c"], "n": 1, "more": [{"n": 2}]}),
                                ("form", {"a": "ä", "l": [1, 2]}), ("file", {"f": "text"}), ("any", {"body": [1, "x"]})):
            assert registry.invoke(name, arguments).content == "ok"
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"PUT /items/a?limit=3&csv=x,y&multi=1&multi=2&pipes=1%7C2&ssv=1%202&tsv=1%09b%20c HTTP/1.1")
    assert b"authorization: Basic dTpw\r\n" in head and json.loads(body) == {"n": 1, "more": [{"n": 2}]}
    assert requests[1].endswith(b"\r\n\r\na=%C3%A4&l=1&l=2")
    assert parts_of(requests[2]) == [("f", "f", "application/octet-stream", b"text")]
    assert requests[3].endswith(b'\r\n\r\n[1, "x"]') and json.dumps(SWAGGER) == given
    assert registry["put"].metadata.extra["openapi"]["left_out"] == []
    with pytest.raises(HttpError, match="^https://[^:]*: "):
        only(openapi_tools({**SWAGGER, "host": "no-such-host.invalid"}, include="form")).run({"a": "x"})


# ---------------------------------------------------------------------------
# find: a registry whose tools are found by words
# ---------------------------------------------------------------------------
def catalogue():
    """Make a registry of 200 tools."""
    registry = ToolRegistry(think_augment=True)
    for thing in ("issue", "branch", "release", "label"):
        for verb in ("create", "list", "delete", *map("check{}".format, range(47))):
            registry.register(Tool(f"{verb}_{thing}", f"{verb.title()} one {thing} of a repository.",
                                   {"type": "object", "properties": {"name": {"type": "string"}}},
                                   lambda name, thing=thing, verb=verb: f"{verb} {thing} {name}"))
    return registry


def offered(registry, **options):
    return [schema["function"]["name"] for schema in registry.get_schemas(**options)]


def test_a_registry_that_is_searched_offers_one_tool_and_then_what_it_found():
    whole = catalogue()
    registry = search_registry(whole, limit=3)
    assert offered(registry) == ["find_tools"] and "There are 200 of them" in str(registry.get_schemas())
    found = registry.invoke("find_tools", {"words": "create an issue", "toolcall_reason": "why"})
    assert (found.content.splitlines()[0], found.reason) == ("create_issue: Create one issue of a repository.", "why")
    assert offered(registry)[:2] == ["find_tools", "create_issue"] and len(offered(registry)) == 4
    assert "toolcall_reason" in str(registry.get_schemas()[1])
    assert registry.invoke("delete_label", {"name": "x"}).content == "delete label x"       # not found, but there
    assert registry.invoke("find_tools", {"words": "zzz"}).content == (
        "No tool was found. Try other words, or go on without one.")
    assert "find_tools" not in whole and len(whole) == 200


def test_a_registry_that_is_searched_has_the_options_of_the_whole():
    whole = ToolRegistry(inject={"who": "me"}, max_result=40)

    @whole.register
    def greet(times: int, who: Injected[str]) -> str:
        return f"hello {who} " * times
    result = search_registry(whole).invoke("greet", {"times": 20})
    assert result.content.startswith("hello me ") and len(result.content) < len(greet(20, "me"))


def test_what_one_run_finds_never_reaches_another_and_what_is_disabled_is_not_found():
    whole = catalogue()
    whole.disable("create_issue", "not today")
    runs = [search_registry(whole) for _ in range(8)]
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: each[0].invoke("find_tools", {"words": each[1]}),
                      zip(runs, ["issue", "branch", "release", "label"] * 2)))
    again = runs[0].copy(max_result=9)
    assert offered(again) == ["find_tools"] and "There are 200 of them" in str(again.get_schemas())
    again.invoke("find_tools", {"words": "label"})
    for run, word in zip(runs, ["issue", "branch", "release", "label"] * 2):
        assert len(offered(run)) == 6 and all(word in name for name in offered(run)[1:])
        assert "create_issue" not in offered(run)
    assert "not today" in runs[0].invoke("create_issue", {"name": "x"}).content


@of("extract")
def test_what_is_registered_later_needs_no_search_and_the_options_stay():
    whole = catalogue().copy(max_result=9, inject={"user": "u-7"}, coerce=False)
    registry = search_registry(whole)
    registry.register(add)
    assert offered(registry) == ["find_tools", "add"] and registry.inject == {"user": "u-7"} and not registry.coerce
    assert "cut here" in registry.invoke("find_tools", {"words": "add label"}).content
    assert offered(registry)[:3] == ["find_tools", "add", "create_label"] and len(offered(registry)) == 7
    model, seen = recorder(ToolCall("1", "answer", {"value": 5}))
    assert toolreg.extract(model, "go", int, registry=search_registry(whole)) == 5
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == ["find_tools", "answer"]


def test_only_a_tool_that_is_offered_can_be_asked_for():
    registry = search_registry(catalogue(), limit=1)
    for choice in ("create_label", ["find_tools", "create_label"]):
        with pytest.raises(ToolNotFoundError, match='the tool "create_label" is not offered .there are: .*create_'):
            run_agent(scripted_model("x"), "go", registry, tool_choice=choice)
    registry.invoke("find_tools", {"words": "create label"})
    for choice in ("create_label", "find_tools"):
        assert run_agent(scripted_model("x"), "go", registry, tool_choice=choice)[-1]["content"] == "x"


def test_an_agent_finds_a_tool_and_calls_it_in_every_spelling():
    registry = search_registry(catalogue(), limit=1)
    for api_format in ("openai-chat", "openai-responses", "anthropic", "gemini"):
        assert registry.get_schemas(api_format=api_format)
    seen = []

    def model(messages, tools, tool_choice):
        seen.append([tool["function"]["name"] for tool in tools])
        calls = [("find_tools", {"words": "delete a branch"}), ("delete_branch", {"name": "old"})][len(seen) - 1:][:1]
        return {"role": "assistant", "content": None if calls else "done", **({"tool_calls": [
            {"id": str(len(seen)), "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for name, arguments in calls]} if calls else {})}
    messages = run_agent(model, "go", registry)
    assert seen == [["find_tools"], ["find_tools", "delete_branch"], ["find_tools", "delete_branch"]]
    assert [message["content"] for message in messages if message["role"] == "tool"][1] == "delete branch old"


# ---------------------------------------------------------------------------
# link: a connection with an MCP server (stdio, streamable HTTP)
# ---------------------------------------------------------------------------
@pytest.mark.parametrize("transport", ["npx -y server", "server.exe", [], {}, {"args": ["x"]}, 7, None, "ftp://x/y"])
def test_a_transport_that_is_none_is_refused_with_what_to_write(transport):
    with pytest.raises(McpError, match="transport: must be a command as a list"):
        toolreg._connector_of(transport, {}, {})


def test_a_path_is_run_by_the_interpreter_of_its_kind(tmp_path):
    for name, interpreter in (("server.py", sys.executable), ("server.js", "node")):
        command, *_ = toolreg._connector_of(tmp_path / name, {}, {}).args
        assert command == [interpreter, str(tmp_path / name)]


# ---------------------------------------------------------------------------
# mcp: tools from MCP servers
# ---------------------------------------------------------------------------
# A server that does what the code says that its tool "run" is given, and misbehaves as its first argument says.
MCP_CHILD = r'''
import json, os, signal, sys, time
mode = sys.argv[1] if len(sys.argv) > 1 else ""
if mode == "dead":
    sys.exit("no such database")
if mode in ("stubborn", "mute"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def text(id, text, **more):
    say(id=id, result={"content": [{"type": "text", "text": text}], **more})

def tool(name, schema=None, **more):
    return {"name": name, "inputSchema": schema or {"type": "object"}, **more}

PAGES = {
    None: [tool("add", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                description="Add one.", title="Adder", annotations={"readOnlyHint": True}), tool("a tool!")],
    "2": [tool("broken", {"type": "object", "properties": {"a": {"type": "nope"}}}), tool("list", 7), tool(None), 8,
          tool("old", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                       "properties": {"a": {"items": [{"type": "integer"}]}}})],
    "3": [tool("run"), tool("a task", execution={"taskSupport": "required"}),
          tool("perhaps a task", execution={"taskSupport": "optional"})]}
NEXT = {None: "2", "2": "3", "3": "2"}          # in circles
REFUSES = {"future": ["2026-07-28"], "far": ["2099-01-01"]}
waiting, cancelled = [], []
for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize" and mode in REFUSES:
        say(id=id, error={"code": -32022, "message": "unknown version", "data": {"supported": REFUSES[mode]}})
    elif method == "initialize" and mode not in ("silent", "mute"):
        version = {"old": "2024-11-05", "odd": "1999-01-01"}.get(mode, params["protocolVersion"])
        say(id=id, result={"protocolVersion": version, "capabilities": {}, "asked": params})
    elif method == "server/discover" and mode == "future":
        say(id=id, result={"resultType": "complete", "supportedVersions": ["2026-07-28"], "serverInfo": {"name": "new"}})
    elif method == "server/discover":
        say(id=id, error={"code": -32601, "message": "no such method"})
    elif method == "tools/list":
        page = params.get("cursor")
        say(id=id, result={"tools": PAGES[page], "nextCursor": NEXT[page] if mode != "short" else ""})
    elif method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    elif method == "tools/call" and params["name"] == "run":
        exec(params["arguments"]["code"])
    elif method == "tools/call" and params["name"] == "add":
        text(id, str(params["arguments"]["a"] + 1), structuredContent={"result": params["arguments"]["a"] + 1})
    elif method == "tools/call":
        text(id, json.dumps(params["arguments"]))
while mode in ("stubborn", "mute"):
    time.sleep(1)
'''


@pytest.fixture
def mcp_child(tmp_path, monkeypatch):
    """Give the command of the server above; at the end every process that was started must have been reaped."""
    children = []

    class Recorded(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            children.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    path = tmp_path / "mcp_child.py"
    path.write_text(MCP_CHILD, "utf-8")
    yield lambda *arguments: [sys.executable, "-I", "-S", str(path), *arguments]
    alive = [child for child in children if child.returncode is None]
    for child in alive:
        child.kill()
        child.wait()
    assert children and not alive


def call_content(client, name, /, **arguments):
    return client.call_tool(name, arguments)["content"][0]["text"]


@of("schema")
def test_all_pages_are_read_once_and_unusable_tools_are_named_while_the_others_register(mcp_child):
    registry = ToolRegistry()
    with McpClient(mcp_child()) as client:
        with pytest.warns(ToolRegWarning, match="- a task: can only be run as a task") as warned:
            tools = registry.register_from_mcp(client)
        assert registry.list_tools() == ["add", "a_tool", "old", "run", "perhaps_a_task"]
        assert list(tools) == list(registry) and set(tools.refused) == {"broken", "list", "None", "a task"}
        assert len(warned) == 1
        assert registry["add"].metadata.source == "mcp"
        assert registry["add"].metadata.extra == {"title": "Adder", "annotations": {"readOnlyHint": True}}
        old = registry["old"]
        assert old.run({"a": [1, "x"]}) and pytest.raises(ToolArgumentError, old.run, {"a": ["x", 1]})
        assert registry.invoke("a_tool", {}).content == "{}"
    with McpClient(mcp_child("short")) as client:
        assert [row["name"] for row in client.list_tools()] == ["add", "a tool!"]


@of("async")
def test_a_result_is_text_for_the_model_and_what_the_server_structured_for_the_program(mcp_child):
    with McpClient(mcp_child("short")) as client:
        registry = ToolRegistry(toolreg.mcp_tools(client), think_augment=True)
        for a, content, value in [("2", "3", {"result": 3}), (
                "x", 'Error: the arguments do not fit the parameters of "add":\n- a: "x" is not an integer\n'
                     "Fix the arguments and call the tool again.", None)]:
            call = ToolCall("1", "add", {"a": a, TOOLCALL_REASON: "why not"})
            for result in (registry.invoke(call), asyncio.run(registry.ainvoke(call))):
                assert (result.content, result.reason, result.value) == (content, "why not", value)


@pytest.mark.parametrize("code, told", [
    (r'sys.stdout.write("I am noise\n[1, 2]\n\n7\n{\"half\": \n\xff\n"); text(id, "through the noise")', "through the noise"),
    ("""for wrong in (id + 1000, str(id), True, None, [id], float(id)):
        text(wrong, "wrong")
text(id, "right")""", "right"),
    ("say(id=id, result=[1])", "^the server refused tools/call: no result came$"),
    ("say(id=id, error=7)", "^the server refused tools/call: no result came$"),
    ('say(id=id, error={"code": -32602, "message": "not like this", "data": [1]})',
     "^the server refused tools/call: not like this$"),
    ('say(id=id, result={"resultType": "task"})', 'tools/call came to no result, but to "task" '),
])
def test_what_a_server_answers_is_read_whatever_it_is(mcp_child, code, told):
    with McpClient(mcp_child()) as client:
        if told.isalpha() or "noise" in told:
            assert call_content(client, "run", code=code) == told
        else:
            with pytest.raises(McpError, match=told) as refused:
                client.call_tool("run", {"code": code})
            assert (refused.value.code, refused.value.data) == ((-32602, [1]) if "not like" in told else (None, None))


def test_a_greeting_says_who_asks_and_arguments_travel_as_they_are(mcp_child):
    with McpClient(mcp_child()) as client:
        assert client.server["asked"] == {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {
            "name": "toolreg", "version": toolreg.__version__}}
        assert call_content(client, "x", self="ü\ud800", name="\n") == json.dumps({"self": "ü\ud800", "name": "\n"})
    with McpClient(mcp_child("old")) as client:
        assert client.server["protocolVersion"] == "2024-11-05" and call_content(client, "echo") == "{}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_in_a_forked_child_a_call_fails_at_once_and_the_parents_server_lives_on(mcp_child):
    with McpClient(mcp_child()) as client:
        assert call_content(client, "echo") == "{}"
        pid = os.fork()
        if not pid:
            error = toolreg._caught(client.call_tool, "echo").error
            client.close()
            os._exit(7 if "forked from it" in str(error) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert call_content(client, "echo") == "{}"


def test_calls_of_several_threads_get_their_own_answers(mcp_child):
    last_first = """waiting.append((id, params["arguments"]["n"]))
if len(waiting) == 4:
    for id, n in reversed(waiting):
        text(id, str(n))"""
    with McpClient(mcp_child()) as client:
        meet = Tool("meet", "", {"type": "object"}, lambda n: call_content(client, "run", n=n, code=last_first))
        results = ToolRegistry([meet]).execute_tool_calls([ToolCall(str(n), "meet", {"n": n}) for n in range(4)])
        assert [result.content for result in results] == ["0", "1", "2", "3"]


ASKS = """say(id=id, method="ping")
say(id=id, method="roots/list")
say(method="notifications/progress", params={"n": 1})
text(id, json.dumps([json.loads(sys.stdin.readline()) for _ in range(2)]))"""       # its ids are its own


@pytest.mark.parametrize("on_request, answer", [
    (None, {"error": {"code": -32601, "message": (
        "the server asks for roots/list, which nobody here answers (see on_request)")}}),
    (lambda method, params: None, {"error": {"code": -32601, "message": (
        "the server asks for roots/list, which nobody here answers (see on_request)")}}),
    (lambda method, params: {"roots": [method, params]}, {"result": {"roots": ["roots/list", {}]}}),
    (lambda method, params: 1 / 0, {"error": {"code": -32603, "message": "division by zero"}}),
    (raising(ErrorOfAnApi({"msg": "no"})), {"error": {"code": -32603, "message": "{'msg': 'no'}"}}),
    (lambda method, params: {"roots": {1}}, {"error": {
        "code": -32603, "message": "Object of type set is not JSON serializable"}}),
])
def test_a_server_may_ask_and_tell_while_it_works(mcp_child, on_request, answer):
    told = []

    def note(method, params):
        told.append((method, params))
        raise ValueError("mine")

    with McpClient(mcp_child(), on_notification=note, on_request=on_request) as client, \
            warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert bool(client.server["asked"]["capabilities"]) == bool(on_request)
        answers = json.loads(call_content(client, "run", code=ASKS))
        assert [str(warning.message) for warning in warned] == ["on_notification: ValueError: mine"]
        warnings.simplefilter("error")
        assert call_content(client, "run", code=ASKS) and client._link.child.returncode is None
    assert told == [("notifications/progress", {"n": 1})] * 2
    same = {"jsonrpc": "2.0", "id": answers[0]["id"]}
    assert {**same, **answer} in answers and {**same, "result": {}} in answers


def test_a_child_gets_the_environment_it_is_given_and_no_keys_of_ours(mcp_child, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "secret")
    entry = {"command": mcp_child()[0], "args": mcp_child()[1:], "env": {"A": 1, "B": "2"}}
    with McpClient(entry, env={"B": "3"}) as client:
        environment = json.loads(call_content(client, "run", code="text(id, json.dumps(dict(os.environ)))"))
    assert environment["A"] == "1" and environment["B"] == "3" and environment["PATH"] == os.environ["PATH"]
    assert "MY_API_KEY" not in environment


@pytest.mark.parametrize("name, code", [
    ("hangs", "pass"), ("deaf", "time.sleep(60)"),
    ("chatty", 'for _ in range(100):\n    say(method="notifications/message", params={})\n    time.sleep(0.02)'),
    ("floods", 'while True:\n    sys.stdout.write("junk\\n" * 1000)'), ("pings", 'while True:\n    say(id=1, method="ping")'),
])
def test_no_server_makes_a_call_last_longer_than_its_timeout(mcp_child, monkeypatch, name, code):
    monkeypatch.setattr(toolreg, "_GRACE", 0.2)
    with McpClient(mcp_child("stubborn" if name == "deaf" else "")) as client:
        client.timeout, started = 0.2, time.monotonic()
        with pytest.raises(ToolTimeoutError, match="the server gave no answer within the timeout"):
            client.call_tool("run", {"code": code})
        if name in ("hangs", "deaf"):
            with pytest.raises(ToolTimeoutError):
                client.call_tool("run", {"code": "pass", "filler": "x" * 500_000})      # more than a pipe holds
        assert time.monotonic() - started < 2
        if name == "hangs":
            assert json.loads(call_content(client, "run", code="text(id, json.dumps(cancelled))"))[0] == 2
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("code", ['say(id=id, result={"v": float("nan")})', """
print('{"id": %d, "result": {"v": %s}}' % (id, "[" * 300 + "]" * 300), flush=True)"""])
def test_an_answer_that_cannot_be_read_is_an_error_at_once_and_the_next_call_works(mcp_child, code):
    with McpClient(mcp_child()) as client:
        with pytest.raises(McpError, match="the server refused tools/call: its answer cannot be read"):
            client.call_tool("run", {"code": code})
        assert call_content(client, "echo", a=1) == '{"a": 1}'


@pytest.mark.parametrize("code, error", [
    ('print("x" * 5000 + "\\nout of luck", file=sys.stderr)\nos._exit(3)',
     r"the server has ended \(exit code 3\); on stderr: x+\nout of luck$"),
    ("os.close(1)\ntime.sleep(60)", r"the server has ended \(exit code -15\)$"),
    ('for _ in range(1600):\n    sys.stdout.write("x" * 2**16)\nprint(flush=True)',
     "the server was stopped: it sent a line of more than 16777216 bytes"),
])
def test_a_server_that_ends_is_an_error_at_once_and_started_anew_by_the_next_call(mcp_child, monkeypatch, code, error):
    monkeypatch.setattr(toolreg, "_GRACE", 0.3)
    tracemalloc.start()
    try:
        with McpClient(mcp_child()) as client:
            call_content(client, "echo")
            started = time.monotonic()
            with pytest.raises(McpError, match=error) as caught:
                client.call_tool("run", {"code": code})
            assert time.monotonic() - started < 5 and len(str(caught.value)) < 1_200
            assert call_content(client, "echo", a=1) == '{"a": 1}'
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("mode, error", [
    ("dead", r"the server has ended \(exit code 1\); on stderr: no such database"),
    ("silent", "no answer within the timeout"),
    ("odd", 'the server speaks the revision "1999-01-01", not 2026-07-28, 2025-11-25'),
    ("far", "the server refused initialize: unknown version"),
])
def test_a_handshake_that_fails_says_why(mcp_child, mode, error):
    with pytest.raises(ToolRegError, match=error):
        toolreg.mcp_tools(mcp_child(mode), start_timeout=0.3 if mode == "silent" else 30)


def test_calls_that_wait_in_vain_for_one_greeting_all_end_in_time(mcp_child, monkeypatch):
    monkeypatch.setattr(toolreg, "_GRACE", 0.2)
    client = McpClient(mcp_child("mute"), start_timeout=0.3)
    calls, started = [ToolCall(str(n), "list", {}) for n in range(8)], time.monotonic()
    results = ToolRegistry([Tool("list", "", {"type": "object"}, client.list_tools)]).execute_tool_calls(calls)
    assert time.monotonic() - started < 2
    assert all("the server gave no answer within the timeout" in result.content for result in results)


ABOUT_US = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {
    "name": "toolreg", "version": toolreg.__version__}, "io.modelcontextprotocol/clientCapabilities": {}}
INQUIRES = """asked = {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}}
if "inputResponses" in params:
    text(id, json.dumps([params["inputResponses"], params["requestState"], id]))
else:
    say(id=id, result={"resultType": "input_required", "inputRequests": asked, "requestState": f"after {id}"})"""
LATER = """states = {None: "second", "second": "third"}
if params.get("requestState") == "third":
    text(id, json.dumps(sorted(params)))
else:
    say(id=id, result={"resultType": "input_required", "requestState": states[params.get("requestState")]})"""
INSATIABLE = 'say(id=id, result={"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}})'


def test_a_server_without_a_handshake_is_told_all_with_each_request(mcp_child):
    meta = 'text(id, json.dumps(params["_meta"]))'
    with McpClient(mcp_child("future")) as client:
        assert (client.server["protocolVersion"], client.server["serverInfo"]) == ("2026-07-28", {"name": "new"})
        with pytest.raises(McpError, match="the server has ended"):
            client.call_tool("run", {"code": "os._exit(3)"})
        assert json.loads(call_content(client, "run", code=meta)) == ABOUT_US
        assert next(client._link.ids) == 3          # the greeting and the call: no handshake was tried again
        with pytest.raises(McpError, match="the server asks for elicitation/create, which nobody here answers"):
            client.call_tool("run", {"code": INQUIRES})
    with McpClient(mcp_child("future"), on_request=lambda method, params: {"roots": []}) as client:
        assert json.loads(call_content(client, "run", code=meta))["io.modelcontextprotocol/clientCapabilities"] == {
            "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
        with pytest.raises(McpError, match='no result, but to "input_required" .after 9 answers.'):
            client.call_tool("run", {"code": INSATIABLE})


def test_what_a_server_asks_before_it_answers_is_answered_by_on_request(mcp_child):
    asked = []

    def on_request(method, params):
        asked.append((method, params))
        return {"action": "accept", "content": {"name": "me"}} if method == "elicitation/create" else None

    with McpClient(mcp_child("future"), on_request=on_request) as client:
        answers, state, number = json.loads(call_content(client, "run", code=INQUIRES))
        assert answers == {"who": {"action": "accept", "content": {"name": "me"}}}
        assert state == f"after {number - 1}" and asked == [("elicitation/create", {"message": "Who?"})]
        told = json.loads(call_content(client, "run", code=LATER))
        assert told == ["_meta", "arguments", "name", "requestState"]


def listed(row, result):
    """Give a client of a server that lists one tool, and answers every call with one result."""
    class Listed(McpClient):
        def _rows(self):
            return [({"name": "t", "inputSchema": {"type": "object"}, **row}, "")]

        def call_tool(self, name, arguments):
            return result

    return Listed(["unused"])


OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
UNFIT = ('Error: what "t" answered does not fit its outputSchema:\n- {}\n'
         "This is a fault of the tool, not of the arguments: go on without it.")
BLOCKS = [
    {"type": "text", "text": "one"}, {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///x", "name": "x"},
    {"type": "resource", "resource": {"uri": "mem://1", "text": "inside"}},
    {"type": "resource", "resource": {"uri": "mem://2", "blob": "AAA=", "mimeType": "a/b"}}, {"type": "new"}]


def as_text(*texts):
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize("schema, result, content, value", [
    (OUTPUT, {"structuredContent": {"n": 1}}, '{"n": 1}', {"n": 1}),
    (OUTPUT, {"structuredContent": {"n": "x"}}, UNFIT.format('n: "x" is not an integer'), ToolError),
    (OUTPUT, {"content": as_text("x")}, UNFIT.format("structuredContent is missing"), ToolError),
    (OUTPUT, {"content": as_text("no luck"), "isError": True}, "no luck", ToolError),
    ({"type": "array"}, {"structuredContent": [1], "content": as_text("one")}, "one\n[1]", [1]),
    (None, {"structuredContent": {"ids": ["A", "B"]}, "content": as_text("2 listed")},
     '2 listed\n{"ids": ["A", "B"]}', {"ids": ["A", "B"]}),
    (None, {"structuredContent": {"n": 1}, "content": as_text('{ "n":1 }')}, '{ "n":1 }', {"n": 1}),
    (None, {"structuredContent": {"result": "one"}, "content": as_text("one")}, "one", {"result": "one"}),
    (None, {"structuredContent": {"sum": 3}, "content": as_text("3")}, "3", {"sum": 3}),
    (None, {"structuredContent": {"result": ["a", 2]}, "content": as_text(*"a2")}, "a\n2", {"result": ["a", 2]}),
    (None, {"structuredContent": {"code": 7}, "content": as_text("no"), "isError": True}, 'no\n{"code": 7}', ToolError),
    ({"type": ["null", "boolean"]}, {"structuredContent": None}, "null", None),
    ({"type": ["null", "boolean"]}, {"structuredContent": False}, "false", False),
    (None, {"structuredContent": 0}, "0", 0), (None, {"structuredContent": None}, "", []), (None, {"content": []}, "", []),
    (None, {"content": "plain"}, "plain", as_text("plain")), (None, {"content": as_text("one")[0]}, "one", as_text("one")),
    (None, {"content": ["a", as_text("b")[0], 5]}, "a\nb", as_text(*"ab")),
    (None, {"content": [*BLOCKS, 7]}, "one\n[image, image/png, 4 bytes]\n[audio, audio/wav, 3 bytes]\n"
     "[resource_link, file:///x, x]\n[resource, mem://1]\ninside\n[resource, mem://2, a/b, 2 bytes]\n[new]", BLOCKS),
    (None, {"isError": True}, "Error: the tool failed without saying why.", ToolError),
    *[(broken, {"structuredContent": {"a": 1}}, '{"a": 1}', {"a": 1})       # what nobody can read is not checked
      for broken in ({"$ref": "http://127.0.0.1:9/x"}, {"$ref": "#/$defs/No"}, {"type": "text"}, 5)],
])
def test_what_a_server_structured_may_be_any_json_and_has_to_fit_its_output_schema(schema, result, content, value):
    told = ToolRegistry(toolreg.mcp_tools(listed({"outputSchema": schema}, result))).invoke("t", {})
    assert told.content == content
    assert told.is_error == (value is ToolError) and (told.is_error or told.value == value)


def test_a_server_ends_with_its_last_tool(mcp_child):
    tools = toolreg.mcp_tools(mcp_child("short"))
    child = tools[0].func.__closure__[0].cell_contents._link.child
    assert tools[0].run({"a": 1}).content == "2" and child.returncode is None
    tools.clear()
    gc.collect()
    assert child.returncode == 0


def test_a_server_that_ignores_everything_ends_with_the_program(mcp_child):
    script = ("import sys; sys.path.insert(0, sys.argv[1])\nimport toolreg\ntoolreg._GRACE = 0.2\n"
              "client = toolreg.McpClient(sys.argv[2:])\nclient.call_tool('echo')\nprint(client._link.child.pid)")
    folder = str(pathlib.Path(toolreg.__file__).parent)
    done = subprocess.run([sys.executable, "-c", script, folder, *mcp_child("stubborn")],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and not done.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)


def test_a_server_behind_a_shell_ends_with_it_whatever_it_ignores(mcp_child, monkeypatch):
    monkeypatch.setattr(toolreg, "_GRACE", 0.2)
    with McpClient(["sh", "-c", '"$@"; true', "sh", *mcp_child("stubborn")]) as client:
        assert call_content(client, "echo") == "{}"
    assert client._link.drained.done()                  # nobody holds its stderr


def test_a_configuration_registers_all_its_servers_and_names_the_one_that_cannot_be_reached(mcp_child):
    command, *arguments = mcp_child()
    servers = {"one": {"command": command, "args": arguments}, "gone": {"command": "no-such-command-at-all"},
               "odd": {"what": 1}, "two 2": {"command": command, "args": [*arguments, "old"]}}
    registry = ToolRegistry()
    with pytest.warns(ToolRegWarning, match="gone: the server cannot be started: "):
        tools = registry.register_from_mcp({"mcpServers": servers}, timeout=20)
    assert {"gone", "odd", "one-broken"} < set(tools.refused)
    assert "transport: must be" in tools.refused["odd"]
    assert {"one-add", "two_2-add", "one-a_tool"} < set(registry.list_tools())
    assert registry.invoke("two_2-add", {"a": 1}).content == "2"
    with pytest.raises(TypeError, match="belong to one server"):
        toolreg.mcp_tools({"mcpServers": {}}, headers={"authorization": "x"})
    for tool in tools:
        tool.func.__closure__[0].cell_contents.close()


# --- streamable HTTP: a loopback server that behaves as the tool's name says
class McpOverHttp(http.server.BaseHTTPRequestHandler):
    """A server with a handshake and sessions."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status=202, message=None, **headers):
        body = b"" if message is None else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, *events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            data = f"data: {json.dumps({'jsonrpc': '2.0', **event})}\n\n" if isinstance(event, dict) else event
            self.wfile.write(data.encode())

    def answer(self, text):
        return {"id": self.message["id"], "result": {"content": as_text(text)}}

    def do_POST(self):
        self.message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.messages.append((self.headers, self.message))
        self.handle_message(self.message.get("method"), self.message.get("params"))

    def handle_message(self, method, params):
        if method == "initialize":
            self.server.sessions.append(f"session {len(self.server.sessions)}")
            result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
            self.reply(200, {"id": self.message["id"], "result": result}, mcp_session_id=self.server.sessions[-1])
        elif self.headers.get("mcp-session-id") not in self.server.sessions[-1:]:
            error = {"code": -32600, "message": "no session"}
            self.reply(404, {"id": "server-error", "error": error}, mcp_session_id="bad")
        elif method == "tools/list":
            self.stream("id: 0\ndata:\n\n", {"id": self.message["id"], "result": {"tools": []}})
        elif method == "tools/call":
            getattr(self, params["name"])()
        else:
            self.reply()
            self.server.replied.set()

    def do_GET(self):
        last_id = self.headers.get("last-event-id")
        if last_id is None:
            self.stream({"method": "notifications/tools/list_changed"}, {"id": 1, "method": "ping"})
            self.server.over.wait(5)
        else:
            self.message = {"id": int(last_id)}
            self.stream(self.answer(f"resumed after {time.monotonic() - self.server.broken:.3f}"))

    def do_DELETE(self):
        self.server.messages.append((self.headers, "DELETE"))
        self.server.over.set()
        self.reply(200)

    def plain(self):
        self.reply(200, self.answer("as JSON"))

    def talks(self):
        self.server.replied.clear()
        self.stream(": hello\n\n", "id: 1\ndata:\n\n", {"method": "notifications/progress", "params": {}},
                    {"id": 77, "method": "ping"})
        self.server.replied.wait(5)
        self.wfile.write(f"data: {json.dumps(self.answer('after a ping'))}\n\n".encode())

    def breaks(self):
        self.server.broken = time.monotonic()
        self.stream(f"id: {self.message['id']}\nretry: 200\ndata:\n\n")

    def ends(self):
        self.stream(": nothing\n\n", {"id": 999, "result": {}}, self.answer("never") | {"id": str(self.message["id"])})

    def cut(self):
        self.stream("id: 1\ndata:\n\n")

    def drips(self):
        self.server.hung_up.clear()
        self.stream()
        with contextlib.suppress(OSError):
            while not self.server.over.wait(0.02):
                self.wfile.write(b": alive\n\n")
        self.server.hung_up.set()

    def withholds(self):
        self.server.late.wait(5)
        self.reply(200, self.answer("late"))

    def refuses(self):
        self.reply(500, {"id": None, "error": {"code": -32603, "message": "broken inside"}}, mcp_session_id="bad")

    def page(self):
        self.reply(200, {"hello": 1}, content_type="text/html")

    def forgets(self):
        self.server.sessions.append("lost")
        self.reply(200, self.answer("forgotten"))


class StatelessMcp(McpOverHttp):
    """A server of the revision 2026-07-28: no handshake, no session, only POST."""

    def handle_message(self, method, params):
        results = {"server/discover": {"supportedVersions": ["2026-07-28", "2025-11-25"]}, "tools/list": {
            "tools": [{"name": name, "inputSchema": schema} for name, schema in self.server.schemas.items()]}}
        if method not in (*results, "tools/call") or self.server.refusals:
            code, data = self.server.refusals.pop() if self.server.refusals else (-32601, None)
            number = None if code == -32022 else self.message["id"]
            self.reply(404 if code == -32601 else 400, {"id": number, "error": {
                "code": code, "message": "no", "data": data}}, mcp_session_id="ignore me")
        elif method in results:
            self.reply(200, {"id": self.message["id"], "result": results[method]})
        else:
            getattr(self, params["name"], self.plain)()


def serve_over_http(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.messages, server.sessions, server.refusals, server.schemas = [], [], [], {}
    server.request_queue_size = 100
    server.replied, server.over, server.late, server.hung_up = (threading.Event() for _ in range(4))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/mcp", server
    server.over.set()
    server.late.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def stateless_mcp():
    yield from serve_over_http(StatelessMcp)


@pytest.fixture
def mcp_url():
    yield from serve_over_http(McpOverHttp)


def test_over_http_answers_come_as_json_as_events_and_from_a_resumed_stream(mcp_url):
    url, server = mcp_url
    told, tokens = [], itertools.count()
    with McpClient({"url": url, "headers": {"x-a": "1", "x-b": "1"}}, headers=lambda: {"x-b": f"token {next(tokens)}"},
                   on_notification=lambda method, params: told.append(method)) as client:
        assert client.list_tools() == []
        assert call_content(client, "plain") == "as JSON"
        assert call_content(client, "talks") == "after a ping"
        assert 0.19 < float(call_content(client, "breaks").removeprefix("resumed after ")) < 2
    headers = [headers for headers, _ in server.messages]
    assert {"application/json, text/event-stream"} == {each["accept"] for each in headers}
    # a try without a handshake, the handshake, the rest
    assert [each["mcp-session-id"] for each in headers] == [None] * 2 + ["session 0"] * (len(headers) - 2)
    versions = [each["mcp-protocol-version"] for each in headers]
    assert versions == ["2026-07-28", None] + ["2025-06-18"] * (len(headers) - 2)
    assert {each["x-a"] for each in headers} == {"1"}
    assert len({each["x-b"] for each in headers}) == len(headers)       # asked for with each request
    assert server.messages[-1][1] == "DELETE"
    for number in (77, 1):
        assert {"jsonrpc": "2.0", "id": number, "result": {}} in [message for _, message in server.messages]
    assert sorted(told) == ["notifications/progress", "notifications/tools/list_changed"]


@pytest.mark.parametrize("kind, name, error, text", [
    ("mcp_url", "drips", ToolTimeoutError, "the server gave no answer within the timeout"),
    ("mcp_url", "ends", McpError, "the server's answer ended without a result"),
    ("mcp_url", "page", McpError, "ended without a result"),
    ("mcp_url", "refuses", toolreg.HttpError, "answered 500 Internal Server Error: .*broken inside"),
    ("stateless_mcp", "drips", ToolTimeoutError, "the server gave no answer within the timeout"),
    ("stateless_mcp", "cut", McpError, "ended without a result"),       # no stream is resumed
])
def test_over_http_a_call_that_comes_to_nothing_says_why_in_time(request, kind, name, error, text):
    url, server = request.getfixturevalue(kind)
    started = time.monotonic()
    with McpClient(url, timeout=0.4) as client:
        with pytest.raises(error, match=text):
            client.call_tool(name)
        assert time.monotonic() - started < 8
        assert name != "drips" or server.hung_up.wait(10)           # it cannot write any more
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and name == "drips" and kind == "mcp_url" and (
                server.messages[-1][1].get("method") != "notifications/cancelled"):
            time.sleep(0.01)
        assert call_content(client, "plain") == "as JSON"
    cancelled = [message["params"] for _, message in server.messages if "cancelled" in str(message)]
    assert cancelled == ([{"requestId": 3}] if name == "drips" and kind == "mcp_url" else [])
    assert len(server.sessions) == (kind == "mcp_url")


def test_over_http_calls_that_all_find_their_session_lost_share_a_new_one(mcp_url):
    url, server = mcp_url
    with McpClient(url) as client:
        assert call_content(client, "forgets") == "forgotten"
        tool = Tool("plain", "", {"type": "object"}, lambda: call_content(client, "plain"))
        results = ToolRegistry([tool]).execute_tool_calls([ToolCall(str(n), "plain", {}) for n in range(30)])
        assert {result.content for result in results} == {"as JSON"}
        assert server.sessions == ["session 0", "lost", "session 2"]


def test_over_http_without_a_handshake_headers_repeat_what_a_request_says(stateless_mcp):
    url, server = stateless_mcp
    values = ["plain text", "", True, -7, "a\tb", "=?base64?x?=", "x ", "\r\nx: 1", "Köln", None, {}]
    server.schemas = {"plain": {"type": "object", "properties": {
        "a": {"type": "string", "x-mcp-header": "Place"}, "x-mcp-header": {"type": "string"},
        "b": {"properties": {"c": {"type": "integer", "x-mcp-header": "N"}}}}}}
    with McpClient(url) as client:
        client.list_tools()
        for value in values:
            assert call_content(client, "plain", a=value, b={"c": 7} if value == "" else 1, other="x") == "as JSON"
        call_content(client, "ä\n")
    assert {headers["mcp-protocol-version"] for headers, _ in server.messages} == {"2026-07-28"}
    assert {message["method"] for _, message in server.messages} == {"server/discover", "tools/list", "tools/call"}
    assert all(headers["mcp-method"] == message["method"] for headers, message in server.messages)
    assert all(message["params"]["_meta"] == ABOUT_US for _, message in server.messages)
    told = [[headers[f"mcp-{name}"] for name in ("name", "param-place", "param-n")] for headers, _ in server.messages]
    places = ["plain text", "", "true", "-7", "=?base64?YQli?=", "=?base64?PT9iYXNlNjQ/eD89?=", "=?base64?eCA=?=",
              "=?base64?DQp4OiAx?=", "=?base64?S8O2bG4=?=", None, "{}"]
    assert told == [[None] * 3] * 2 + [["plain", place, "7" if place == "" else None] for place in places] + [
        ["=?base64?w6QK?=", None, None]]


A = {"type": "string", "x-mcp-header": "A"}


@pytest.mark.parametrize("wrong", [
    *[{"properties": {"a": {"type": "string", "x-mcp-header": name}}} for name in ("", "a b", 7)],
    *[{"properties": {"a": {"type": kind, "x-mcp-header": "A"}}} for kind in ("number", ["string"])],
    {"properties": {"a": A, "b": {"type": "string", "x-mcp-header": "a"}}}, {"properties": {"a": {"items": A}}},
    {"properties": {"a": {"items": {"properties": {"b": A}}}}}, {"allOf": [{"properties": {"a": A}}]}, A,
    {"$defs": {"a": A}, "properties": {"a": {"$ref": "#/$defs/a"}}},
])
def test_a_tool_that_says_wrongly_what_goes_into_headers_is_left_out_and_named(stateless_mcp, wrong):
    url, server = stateless_mcp
    fine = {"properties": {"a": {"enum": [{"x-mcp-header": "no annotation"}]}}}
    server.schemas = {"wrong": wrong, "fine": fine}
    with McpClient(url) as client:
        assert client.list_tools() == [{"name": "fine", "inputSchema": fine}]
        with pytest.warns(ToolRegWarning, match="- wrong: x-mcp-header: must name a header, once, of a string"):
            tools = toolreg.mcp_tools(client)
        assert [tool.name for tool in tools] == ["fine"] and tools.refused.keys() == {"wrong"}


def test_over_http_without_a_handshake_two_refusals_are_understood_and_others_told(stateless_mcp):
    url, server = stateless_mcp
    server.schemas = {"plain": {"properties": {"a": A}}}
    server.refusals = [(-32022, {"supported": ["2026-07-28"]})]
    with McpClient(url, timeout=20) as client:
        server.refusals = [(-32020, None)]              # it misses a header of a schema that was never read
        assert call_content(client, "plain", a="x") == "as JSON"
        assert server.messages[-1][0]["mcp-param-a"] == "x"
        server.refusals = [(-32022, {"supported": ["2026-07-28"]})]
        assert call_content(client, "plain") == "as JSON"
        server.refusals = [(-32021, {"requiredCapabilities": {"sampling": {}}})]
        with pytest.raises(McpError, match="^the server refused tools/call: no$") as refused:
            client.call_tool("plain")
        assert (refused.value.code, refused.value.data) == (-32021, {"requiredCapabilities": {"sampling": {}}})


@pytest.mark.parametrize("kind, name", [("mcp_child", "run"), *itertools.product(
    ("mcp_url", "stateless_mcp"), ("drips", "withholds"))])
def test_a_closed_client_ends_what_is_waiting_and_stays_closed(request, kind, name):
    given = request.getfixturevalue(kind)
    client = McpClient(given("short") if kind == "mcp_child" else given[0])
    client.list_tools()
    timer = threading.Timer(0.1, client.close)
    timer.start()
    started = time.monotonic()
    with pytest.raises(McpError, match="the client is closed"):
        client.call_tool(name, {"code": "pass"})
    timer.join()
    assert time.monotonic() - started < 8
    with pytest.raises(McpError, match="the client is closed"):
        client.list_tools()
    client.close()
    for _ in range(500):
        wires = list(getattr(client._link, "wires", ()))
        if all(wire.closed for wire in wires):
            break
        time.sleep(0.02)
    assert all(wire.closed for wire in wires)           # nobody waits any more


def test_over_http_what_is_no_server_is_named():
    with pytest.raises(toolreg.HttpError, match=r"^http://127.0.0.1:9: "):
        toolreg.mcp_tools("http://127.0.0.1:9/secret-token")


# ---------------------------------------------------------------------------
# desk: the same tools as MCP says them, and the answers to its messages
# ---------------------------------------------------------------------------
TOOL_AS["mcp"] = {"name": "get_weather", "description": "Do it.", "inputSchema": CITY_ONLY, "title": "W",
                  "annotations": {"readOnlyHint": True}}


def test_the_mcp_format_is_for_tools_only_and_keeps_their_roots():
    parameters = {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}]}
    assert parameters_as("mcp", parameters) == {"type": "object", "properties": {}, **parameters}
    old = {"$schema": toolreg.DRAFT_07, "type": "object", "properties": {"a": {"items": [True]}}}
    assert parameters_as("mcp", old) == old
    for build in (lambda: build_tool_choice("auto", api_format="mcp"), lambda: parse_tool_calls([], api_format="mcp")):
        with pytest.raises(ValueError, match="api_format: must be one of openai-chat.*got"):
            build()


@dataclasses.dataclass
class Order:
    price: int
    discount: dataclasses.InitVar[int]
    mean: float = 0.0
    total: int = dataclasses.field(init=False)

    def __post_init__(self, discount):
        self.total = self.price - discount


@dataclasses.dataclass
class GiftOrder(Order):
    card: str = ""


class PriceOfPydantic:
    """Read by one schema, and written by another, as a model with computed fields and serializers is."""

    @staticmethod
    def model_json_schema(mode="validation"):
        kinds = {"validation": {"price": "integer"}, "serialization": {"price": "string", "sum": "integer"}}[mode]
        return {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}, "required": [*kinds]}

    def model_dump(self, **options):
        return {"price": "5 €", "sum": 5, "of a subclass": 1}


@of("types")
@pytest.mark.parametrize("returns, value, written", [
    (Order, Order(5, 1), {"price": 5, "mean": 0.0, "total": 4}),
    (Order, Order(5, 1, float("nan")), {"price": 5, "mean": "NaN", "total": 4}),
    (Order, GiftOrder(5, 1, float("-inf"), card="x"), {"price": 5, "mean": "-Infinity", "total": 4, "card": "x"}),
    (dict[str, Order], {"a": GiftOrder(5, 1)}, {"a": {"price": 5, "mean": 0.0, "total": 4, "card": ""}}),
    (PriceOfPydantic, PriceOfPydantic(), {"price": "5 €", "sum": 5, "of a subclass": 1}),
])
def test_whatever_a_function_gives_by_its_annotation_fits_the_schema_that_is_listed(returns, value, written):
    def quote():
        return value
    quote.__annotations__["return"] = returns
    registry = ToolRegistry([quote])
    desk = toolreg._Desk(registry)
    [listed] = desk.list_tools({}, "2025-06-18")["tools"]
    answer = desk.call_tool({"name": "quote"}, "2025-06-18")
    assert (answer["isError"], answer["structuredContent"]) == (False, written)
    assert is_valid(written, listed["outputSchema"]) and not is_valid({"a": 5, "price": None}, listed["outputSchema"])


# ---------------------------------------------------------------------------
# serve: the same tools for MCP clients
# ---------------------------------------------------------------------------
SERVED = r"""
import os, signal, subprocess, sys, threading, time
sys.path.insert(0, FOLDER)
signal.signal(signal.SIGINT, signal.default_int_handler)        # it is ignored where a shell runs the tests with &
from typing import TypedDict
import toolreg
from toolreg import ToolMetadata, ToolRegistry, serve_mcp

class Sum(TypedDict):
    total: int

registry = ToolRegistry(think_augment=True)

@registry.register(metadata=ToolMetadata(extra={"mcp": {"title": "Adder", "annotations": {"readOnlyHint": True}}}))
def add(a: int, b: int) -> Sum:
    "Add two numbers."
    return {"total": a + b}

@registry.register
def lies() -> dict[str, int]:
    return {"a": "x"}

@registry.register
def prints() -> str:
    print("from the tool", flush=True)
    os.write(1, b"from below\n")
    subprocess.run([sys.executable, "-I", "-S", "-c", "print('from a child')"], check=True)
    return f"read {sys.stdin.readline()!r}"

@registry.register
def fails() -> str:
    raise ValueError("no luck")

@registry.register
def leaves() -> str:
    sys.exit(3)

@registry.register
def interrupts() -> str:
    raise KeyboardInterrupt

@registry.register
def sleeps(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"

@registry.register
def says(size: int) -> str:
    return "x" * size

@registry.register
def shows() -> list:
    return ["look:", *(toolreg.Media(b"abc", kind) for kind in ("image/png", "audio/wav", "application/pdf"))]

@registry.register(metadata=ToolMetadata(parallel=False))
def stays(gate: str = "") -> bool:
    while gate and not os.path.exists(gate):
        time.sleep(0.01)
    return threading.current_thread() is threading.main_thread()

@registry.register
def opens(gate: str) -> str:
    open(gate, "w").close()
    return "opened"

for name, value in SETTINGS.items():
    setattr(toolreg, name, value)
serve_mcp(registry, **OPTIONS)
print("ended", file=sys.stderr)
"""


def served_script(folder, options, settings):
    path = folder / "served.py"
    path.write_text(f"FOLDER, OPTIONS, SETTINGS = {str(HERE)!r}, {options!r}, {settings!r}\n{SERVED}", "utf-8")
    return [sys.executable, "-I", "-S", "-B", str(path)]


def over_stdio(folder, *lines, **settings):
    """Send lines to a server on stdio and close; give (its messages by id, what was printed to stderr)."""
    sent = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    done = subprocess.run(served_script(folder, {}, settings), input=sent, capture_output=True, timeout=60)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and all(message["jsonrpc"] == "2.0" for message in messages)
    assert done.stderr.splitlines()[-1] == b"ended", done.stderr
    return messages, done.stderr.decode()


def rpc(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def rpc_new(id, method, version="2026-07-28", **params):
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    return rpc(id, method, **params, _meta=meta)


def rpc_tool(id, name, **arguments):
    return rpc(id, "tools/call", name=name, arguments=arguments)


@contextlib.contextmanager
def over_http(folder, token=None, **settings):
    """Give the port of a server on loopback; at the end Ctrl-C has to end it with status 0."""
    command = served_script(folder, {"http": "127.0.0.1:0", "token": token}, settings)
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        try:
            found = re.fullmatch(rb"toolreg: serving MCP at http://127\.0\.0\.1:(\d+)/mcp\s*", server.stderr.readline())
            yield int(found[1])
            server.send_signal(signal.SIGINT)
            assert (server.wait(timeout=10), server.stderr.read().splitlines()[-1:]) == (0, [b"ended"])
        finally:
            server.kill()


def post(port, message, method="POST", path="/mcp", **headers):
    """Give (status, headers, JSON or None); a header that is None is left out."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    given = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "content-length": str(len(body)),
             **{name.replace("_", "-"): value for name, value in headers.items()}}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        text = response.read()
        return response.status, response.headers, json.loads(text) if text else None
    finally:
        connection.close()


def test_stdio_answers_every_request_once_and_nothing_else(tmp_path):
    messages, _ = over_stdio(
        tmp_path, rpc(1, "initialize", protocolVersion="2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"}, rpc("two", "ping"), rpc(3, "initialize"),
        rpc(4, "initialize", protocolVersion="1999-01-01"), rpc(5, "resources/list"), b"\r\n",
        {"jsonrpc": "2.0", "id": 6, "result": {}}, {"jsonrpc": "2.0", "method": "no/such/notification"},
        rpc_new(7, "server/discover"), rpc_new(8, "ping"), rpc_new(9, "tools/list", "2031-01-01"),
        rpc(10, "server/discover"), rpc_new(11, "ping", "2025-11-25"),
        b'{"jsonrpc": "2.0", "id": 12, "method": "ping"}')
    results = {message["id"]: message.get("result", message.get("error")) for message in messages}
    assert len(messages) == len(results) and results.keys() == {1, "two", 3, 4, 5, 7, 8, 9, 10, 11, 12}
    assert [results[id]["protocolVersion"] for id in (1, 3, 4)] == ["2025-06-18", "2025-11-25", "2025-11-25"]
    assert results["two"] == {} and results[1]["capabilities"] == {"tools": {}}
    spoken = ["2026-07-28", "2025-11-25", "2025-06-18"]
    assert results[7] == {"supportedVersions": spoken, "capabilities": {"tools": {}}, "resultType": "complete",
                          "serverInfo": {"name": "toolreg", "version": toolreg.__version__},
                          "ttlMs": 0, "cacheScope": "private"}
    assert [results[id]["code"] for id in (5, 8, 9, 10)] == [-32601, -32601, -32022, -32601] and results[11] == {}
    assert results[9]["data"] == {"supported": spoken, "requested": "2031-01-01"}


def test_tools_are_listed_with_what_mcp_adds_to_them(tmp_path):
    messages, _ = over_stdio(tmp_path, rpc(1, "tools/list"), rpc_new(2, "tools/list"))
    old, new = sorted(messages, key=lambda message: message["id"])
    tools = {tool["name"]: tool for tool in old["result"]["tools"]}
    assert list(tools) == "add lies prints fails leaves interrupts sleeps says shows stays opens".split()
    assert tools["add"]["description"] == "Add two numbers."
    assert (tools["add"]["title"], tools["add"]["annotations"]) == ("Adder", {"readOnlyHint": True})
    assert list(tools["add"]["inputSchema"]["properties"]) == ["a", "b", TOOLCALL_REASON]
    assert tools["add"]["outputSchema"]["properties"] == {"total": {"type": "integer"}}
    assert {name for name in tools if "outputSchema" in tools[name]} == {"add", "lies"}
    assert "resultType" not in old["result"]
    assert {tool["name"]: tool.pop("outputSchema") for tool in new["result"]["tools"] if "outputSchema" in tool} == {
        **{name: tools[name].pop("outputSchema") for name in ("add", "lies")},      # only here also of what is no object
        "shows": {"type": "array", "items": {}}, "stays": {"type": "boolean"}}
    assert new["result"] == {**old["result"], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def test_a_call_goes_the_way_of_the_registry_and_printing_cannot_break_the_protocol(tmp_path):
    messages, printed = over_stdio(
        tmp_path, rpc_tool(1, "add", a="1", b=2, toolcall_reason="why not"), rpc_tool(2, "prints"), rpc_tool(3, "fails"),
        rpc_tool(4, "lies"), rpc_tool(5, "leaves"), rpc_tool(6, "nothing"), rpc_tool(7, "add", a=1),
        rpc_tool(8, "stays"), rpc(9, "tools/call", name="add", arguments=[]), rpc(10, "tools/call"),
        rpc_tool(11, "interrupts"), rpc_tool(13, "shows"),
        rpc_new(14, "tools/call", name="stays", arguments=None), rpc_new(12, "tools/call", name="says", arguments={"size": 5_000_000}))
    answers = {message["id"]: message for message in messages}
    assert sorted(answers) == [*range(1, 15)] and len(messages) == 14
    assert answers[1]["result"] == {"content": [{"type": "text", "text": '{"total": 3}'}], "isError": False,
                                    "structuredContent": {"total": 3}}
    texts = {id: answers[id]["result"]["content"][0]["text"] for id in (2, 3, 4, 6, 7, 8, 12)}
    assert texts[2] == "read ''" and {"from the tool", "from below", "from a child"} <= {*printed.splitlines()}
    assert texts[3] == ('Error: the tool "fails" failed: ValueError: no luck\n'
                        "If the arguments are the cause, change them; else go on without it.")
    assert texts[4] == ('Error: the result of "lies" does not fit its outputSchema:\n- a: "x" is not an integer\n'
                        'The tool has run; its result was:\n{"a": "x"}')
    assert texts[6].startswith('Error: there is no tool "nothing"') and "- b: is missing" in texts[7]
    assert texts[8] == "true" and texts[12] == "x" * 5_000_000
    assert {id for id in texts if answers[id]["result"]["isError"]} == {3, 4, 6, 7}
    assert answers[13]["result"]["content"] == [
        {"type": "text", "text": "look:\n[image/png, 3 bytes]\n[audio/wav, 3 bytes]\n[application/pdf, 3 bytes]"},
        {"type": "image", "data": "YWJj", "mimeType": "image/png"},
        {"type": "audio", "data": "YWJj", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "tool:shows", "mimeType": "application/pdf", "blob": "YWJj"}}]
    assert answers[14]["result"]["structuredContent"] is True and "structuredContent" not in answers[8]["result"]
    assert "structuredContent" not in answers[4]["result"] and answers[12]["result"]["resultType"] == "complete"
    assert [answers[id]["error"] for id in (5, 11)] == [
        {"code": -32603, "message": f"internal error: {name}"} for name in ("SystemExit", "KeyboardInterrupt")]
    assert [answers[id]["error"]["code"] for id in (9, 10)] == [-32602, -32602]


def test_calls_on_stdio_run_beside_each_other_and_one_that_hangs_keeps_nothing_from_ending(tmp_path):
    began = time.monotonic()
    calls = [rpc_tool(id, "sleeps", seconds=0.5) for id in range(50)]
    messages, _ = over_stdio(tmp_path, rpc_tool(99, "sleeps", seconds=1_000), *calls, rpc("last", "ping"))
    assert time.monotonic() - began < 15
    assert messages[0]["id"] == "last" and {message["id"] for message in messages} == {*range(50), "last"}


def test_what_is_no_request_is_answered_as_json_rpc_says_and_the_next_one_works(tmp_path):
    rows = [
        (b"\xff\xfe\n", -32700, None), (b"[" * 1_000 + b"\n", -32700, None), (b"[]\n", -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": NaN}\n', -32700, None),
        ({"id": 2, "method": "ping"}, -32600, None), ({"jsonrpc": "2.0", "id": 3}, -32600, 3),
        ({"jsonrpc": "2.0", "id": "x", "method": 5}, -32600, "x"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600, None),
        ({"jsonrpc": "2.0", "id": 4, "method": "ping", "params": []}, -32600, 4),
        (rpc(5, "tools/call", name={"add": 1}, arguments={}), -32602, 5),
        (rpc(6, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}), -32602, 6),
        (rpc_new(7, "tools/list", ["2026-07-28"]), -32022, 7), (b"x" * 9_000 + b"\n", -32600, None),
        (rpc("last", "ping"), None, "last"), (b'{"jsonrpc": "2.0", "id": 8, "meth', -32700, None)]
    messages, _ = over_stdio(tmp_path, *[line for line, _, _ in rows], MAX_MESSAGE=4_096)
    told = [(message.get("error", {}).get("code"), message["id"]) for message in messages]
    assert sorted(told, key=repr) == sorted([(code, id) for _, code, id in rows], key=repr)
    assert all(message["error"]["message"] for message in messages if "error" in message)
    assert over_stdio(tmp_path, b"x" * 9_000, MAX_MESSAGE=4_096)[0][0]["error"]["code"] == -32600


def test_http_answers_with_the_status_that_each_revision_wants(tmp_path):
    new = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "add"}
    call = rpc_new(1, "tools/call", name="add", arguments={"a": 1, "b": 2})
    rows = [
        (rpc(1, "initialize", protocolVersion="2025-11-25"), {}, 200, None),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, 202, None),
        (rpc(1, "ping"), {"mcp_protocol_version": "2025-06-18"}, 200, None),
        (rpc(1, "ping"), {"mcp_protocol_version": "1999-01-01"}, 400, -32022),
        (rpc(1, "prompts/list"), {}, 200, -32601),
        (rpc(1, "tools/call"), {}, 400, -32602),
        (call, new, 200, None),
        (call, {**new, "mcp_name": " add \t"}, 200, None),
        (call, {}, 400, -32020),
        (call, {**new, "mcp_name": "lies"}, 400, -32020),
        (call, {**new, "mcp_method": "tools/list"}, 400, -32020),
        (call, {**new, "mcp_protocol_version": "2025-11-25"}, 400, -32020),
        (rpc(1, "tools/list"), {**new, "mcp_method": "tools/list"}, 400, -32602),
        (rpc_new(1, "ping"), {**new, "mcp_method": "ping"}, 404, -32601),
        (rpc_new(1, "ping", "2031-01-01"), {"mcp_protocol_version": "2031-01-01", "mcp_method": "ping"}, 400, -32022),
        (b"nonsense", {}, 400, -32700),
        (b"", {}, 400, -32700),
        ([call], {}, 400, -32600),
    ]
    with over_http(tmp_path) as port:
        for message, headers, status, code in rows:
            got, _, answer = post(port, message, **headers)
            assert (got, (answer or {}).get("error", {}).get("code")) == (status, code), (message, headers)
        assert post(port, call, **new)[2]["result"]["structuredContent"] == {"total": 3}


def test_http_lets_in_only_who_may_ask(tmp_path):
    ping = rpc(1, "ping")
    with over_http(tmp_path) as port:
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LOCALHOST", "[::1]:80"):
            assert post(port, ping, host=host)[0] == 200
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost@evil.example", "", None):
            assert post(port, ping, host=host)[0] == 403
        for origin in ("http://localhost:3000", "http://127.0.0.1", "https://[::1]:8"):
            assert post(port, ping, origin=origin)[0] == 200
        for origin in ("http://evil.example", "null", "", "http://localhost.evil.example", "file://"):
            assert post(port, ping, origin=origin)[0] == 403
        for content_type in ("text/plain", "application/x-www-form-urlencoded", None):
            assert post(port, ping, content_type=content_type)[0] == 415
        assert post(port, ping, content_type="application/json; charset=utf-8")[0] == 200
        for method in ("GET", "DELETE", "PUT", "OPTIONS"):
            status, headers, _ = post(port, b"", method)
            assert (status, headers["allow"]) == (405, "POST")
        assert [post(port, ping, path=path)[0] for path in ("/", "/mcp?x=1", "/other", "/mcp/more")] == [200, 200, 404, 404]
    with over_http(tmp_path, "s3cret") as port:
        for given in ("Bearer s3cret", "bearer s3cret"):
            assert post(port, ping, authorization=given)[0] == 200
        for given in (None, "", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret", "s3cret", "Bearer \xe9"):
            status, headers, answer = post(port, ping, authorization=given)
            assert (status, headers["www-authenticate"], answer) == (401, "Bearer", None)
        assert post(port, ping, authorization="Bearer s3cret", origin="http://evil.example")[0] == 403


def test_http_bounds_the_size_the_time_and_the_number_of_requests(tmp_path):
    with over_http(tmp_path, MAX_MESSAGE=1_000, MESSAGE_SECONDS=1.5, MAX_SERVED=3) as port, contextlib.ExitStack() as stack:
        def status(body, **headers):            # a thread that is about to end may still count as one of the three
            for _ in range(50):
                with contextlib.suppress(OSError):
                    if (answer := post(port, body, **headers)[0]) != 503:
                        return answer
                time.sleep(0.1)
            return 503

        assert [status(b"", content_length=size) for size in ("1001", "9" * 18)] == [413, 413]
        assert [status(b"", content_length=size) for size in (None, "-1", "x", "1_0", "9" * 19)] == [411] * 5
        assert status(rpc(1, "ping"), transfer_encoding="chunked") == 411

        def connected(sent):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            client.sendall(sent)
            return client

        head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        began = time.monotonic()
        assert status(rpc(1, "ping")) == 200
        time.sleep(0.5)
        slow = [connected(sent) for sent in (b"", b"POST /mc", head.encode() + b"{")]
        time.sleep(0.2)
        full = connected(b"")
        assert full.recv(1_000).startswith(b"HTTP/1.1 503 ") and full.recv(1) == b""
        while slow and time.monotonic() - began < 15:       # a byte now and then buys no time
            time.sleep(0.1)
            for client in list(slow):
                client.setblocking(False)
                try:
                    client.send(b"a")
                    is_over = client.recv(1_000) == b""
                except OSError as error:
                    is_over = not isinstance(error, BlockingIOError)
                if is_over:
                    slow.remove(client)
        assert time.monotonic() - began < 10
        for _ in range(200):                    # one after the other, and none is left
            connected(b"").close()
            connected(head.encode() + b"{").close()
        assert status(rpc(1, "ping")) == 200


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_call_that_is_bound_to_the_thread_that_serves_runs_there_and_keeps_nothing_else_waiting(tmp_path, transport):
    calls = [rpc_tool(name, name, gate=str(tmp_path / "gate")) for name in ("stays", "opens")]
    if transport == "stdio":
        answers, _ = over_stdio(tmp_path, *calls)
    else:
        with over_http(tmp_path) as port:
            first = toolreg._on_daemon(post, port, calls[0])
            answers = [post(port, calls[1])[2], first.result(timeout=30).get()[2]]
    assert {answer["id"]: answer["result"]["content"][0]["text"] for answer in answers} == {
        "opens": "opened", "stays": "true"}


@of("mcp", "serve")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_our_own_client_uses_the_server(tmp_path, transport):
    with contextlib.ExitStack() as stack:
        target = served_script(tmp_path, {}, {}) if transport == "stdio" else {
            "url": f"http://127.0.0.1:{stack.enter_context(over_http(tmp_path, 't'))}/mcp",
            "headers": {"authorization": "Bearer t"}}
        client = stack.enter_context(McpClient(target))
        registry = ToolRegistry(toolreg.mcp_tools(client))
        assert registry["add"].metadata.extra == {"title": "Adder", "annotations": {"readOnlyHint": True}}
        assert registry.invoke("add", {"a": 1, "b": 2}).value == {"total": 3}
        calls = [ToolCall(str(number), "sleeps", {"seconds": 0.2}) for number in range(50)]
        assert {result.content for result in registry.execute_tool_calls(calls, max_workers=50)} == {"slept"}
        assert len(registry.invoke("says", {"size": 5_000_000}).content) == 5_000_000
        assert registry.invoke("fails", {}).is_error


@pytest.mark.parametrize("options, words", [
    ({"http": "0.0.0.0:1"}, "http: 0.0.0.0 can be reached from other machines (write 127.0.0.1, or token="),
    ({"http": "example.com:1"}, "http: example.com can be reached from other machines"),
    ({"http": "127.0.0.1"}, 'http: must be "host:port" (got "127.0.0.1")'),
    ({"http": "127.0.0.1:65536"}, 'http: must be "host:port"'),
    ({"http": "http://127.0.0.1:80"}, 'http: must be "host:port"'),
    ({"http": 8000}, 'http: must be "host:port" (got 8000)'),
    ({"http": "127.0.0.1:0", "token": ""}, "token: must be visible ASCII text, and goes with http="),
    ({"http": "127.0.0.1:0", "token": "a b"}, "token: must be visible ASCII text"),
    ({"token": "x"}, "token: must be visible ASCII text, and goes with http="),
])
def test_what_would_be_unsafe_or_unclear_is_not_served(options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        toolreg.serve_mcp(ToolRegistry(), **options)


# ---------------------------------------------------------------------------
# http: a model over HTTP (chat completions, Responses, Anthropic, Gemini)
# ---------------------------------------------------------------------------
SOME_KEY = "sk-5ecret-5ecret"
SOME_TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {argument: {"type": "integer"}}}}} for name, argument in [("mul", "x"), ("add", "a")]]
SOME_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
QUESTION = [{"role": "user", "content": "北京?"}]


def json_answer(value, status="200 OK", **headers):
    return http_answer(json.dumps(value).encode(), status, content_type="application/json", **headers)


def completion(message):
    return json_answer({"choices": [{"message": message}]})


def failure(status, error="no", **headers):
    return json_answer({"error": {"message": error}}, status, **headers)


def events_answer(events, end=""):
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end
    return ("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n" + text).encode()


def event_stream(*deltas, end="data: [DONE]\n\n", finish="stop"):
    last = [{"choices": [{"delta": {}, "finish_reason": finish}]}] if finish else []
    return events_answer([*({"choices": [{"delta": delta}]} for delta in deltas), *last], end)


def serving_each(*answers):
    left = list(answers)
    return serving(lambda request, connection: left.pop(0) if len(left) > 1 else left[0])


def sent_body(request):
    return json.loads(request.partition(b"\r\n\r\n")[2])


def path_of(request):
    return request.split()[1].decode()


def model_at(url, api_format="openai-chat", **options):
    base = url + "/v1" if api_format.startswith("openai") else url
    return HttpModel(base, "m", api_format=api_format, **{"timeout": 10, **options})


def ask(url, *, messages=QUESTION, tools=(), tool_choice=None, **options):
    return model_at(url, **options)(messages=messages, tools=tools, tool_choice=tool_choice)


@pytest.fixture
def no_pauses(monkeypatch):
    monkeypatch.setattr(toolreg, "FIRST_PAUSE", 0.01)


def lambda_free_add(a: int, b: int) -> int:
    return a + b


lambda_free_add.__name__ = "add"


@pytest.mark.parametrize("base, path", [
    ("", "/chat/completions"), ("/v1", "/v1/chat/completions"), ("/v1/", "/v1/chat/completions"),
    ("/v1/chat/completions", "/v1/chat/completions"), ("/d?api-version=1", "/d/chat/completions?api-version=1")])
def test_a_question_goes_to_the_chat_endpoint_with_the_key_and_all_options(base, path):
    with serving(completion({"role": "assistant", "content": "42"})) as (url, requests):
        model = HttpModel(url + base, "m", api_key=SOME_KEY, headers={"Api-Key": "other"}, temperature=0, seed=1)
        for options in ({"tools": SOME_TOOLS, "tool_choice": "required"}, {}):
            assert model(messages=QUESTION, **options) == {"role": "assistant", "content": "42"}
            asked = {"model": "m", "messages": QUESTION, "temperature": 0, "seed": 1}
            assert sent_body(requests[-1]) == {**asked, **options}
    head = requests[0].partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert head[0] == f"POST {path} HTTP/1.1"
    assert {f"authorization: Bearer {SOME_KEY}", "api-key: other", "content-type: application/json"} <= set(head)


def test_a_model_without_a_key_sends_none_and_only_http_is_spoken():
    with serving(completion({"content": "42"})) as (url, requests):
        assert ask(url) == {"role": "assistant", "content": "42"}
    assert b"authorization" not in requests[0].lower()
    for url in ("file:///etc/passwd", "ftp://host/v1", "host/v1", "http://u:p@host/v1"):
        with pytest.raises(HttpError, match="^url: "):
            HttpModel(url, "m")
    with pytest.raises(HttpError, match="headers: .* control character"):
        HttpModel("http://host", "m", api_key="a\r\nx: y")


def test_an_agent_runs_over_http_and_the_history_is_one_that_servers_take():
    odd = {"role": "assistant", "content": None, "function_call": None, "audio": None, "tool_calls": [
        {"function": {"name": "add", "arguments": {"a": 1, "b": 2}}},
        {"id": "c2", "type": "function", "function": {"name": "add", "arguments": '{"a": '}, "extra_content": {"s": "s"}}]}
    done = completion({"role": "assistant", "content": "3", "tool_calls": []})
    with serving_each(completion(odd), done) as (url, requests):
        messages = run_agent(HttpModel(url, "m"), "add", ToolRegistry([lambda_free_add]), tool_choice="required")
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert messages[2]["content"] == "3" and messages[3]["content"].startswith("Error: ")
    first, second = map(sent_body, requests)
    assert (first["tool_choice"], second["tool_choice"]) == ("required", "auto")
    one, two = second["messages"][1]["tool_calls"]
    assert second["messages"][1] == {"role": "assistant", "content": "", "tool_calls": [one, two]}
    assert one == {"id": messages[1]["tool_calls"][0]["id"], "type": "function",
                   "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    assert (two["function"]["arguments"], two["extra_content"]) == ("{}", {"s": "s"})


@of("media")
@pytest.mark.parametrize("options, shown", [({"sees_images": True}, [{"role": "user", "content": [
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}]}]), ({}, [])])
def test_images_are_shown_over_http_by_an_option_that_is_not_sent_itself(options, shown):
    script, registry = looking(True)
    with serving_each(*[completion(script(messages=[])) for _ in range(3)]) as (url, requests):
        run_agent(HttpModel(url, "m", **options), "go", registry)
    assert sent_body(requests[1])["messages"][4:] == shown and b"sees_images" not in b"".join(requests)


@pytest.mark.parametrize("trouble", [
    failure("429 Too Many Requests", Retry_After="0"), failure("500 Internal Server Error"),
    failure("503 Service Unavailable"), failure("529 Overloaded"), b"",
    b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", b"\x00\x01 no http\r\n\r\n"])
def test_what_may_pass_is_tried_again_as_often_as_said(trouble, no_pauses):
    with serving_each(trouble, trouble, completion({"content": "42"})) as (url, requests):
        assert ask(url)["content"] == "42" and len(requests) == 3
    with serving(trouble) as (url, requests):
        for retries, asked in ((1, 2), (0, 3)):
            with pytest.raises(HttpError):
                ask(url, retries=retries)
            assert len(requests) == asked


NO_ANSWER = ": no answer of openai-chat, but "


@pytest.mark.parametrize("answer, told", [
    (failure("400 Bad Request", "bad 'temperature'"), "answered 400: bad 'temperature'"),
    (failure("401 Unauthorized", f"wrong key {SOME_KEY}"), "answered 401: wrong key ***"),
    (http_answer(b'{"error": "no such model"}', "404 Not Found"), "answered 404: no such model"),
    (http_answer(b'{"detail": [{"loc": 1}]}', "422 Unprocessable"), 'answered 422: [{"loc": 1}]'),
    (http_answer(b'{"error": null, "message": "busy"}', "400 Bad Request"), "answered 400: busy"),
    (http_answer(b"<html>\n<b>Forbidden</b>", "403 Forbidden"), "answered 403: <html> <b>Forbidden</b>"),
    (http_answer(b"", "404 Not Found"), "answered 404: Not Found"),
    (http_answer(b"", "302 Found", Location="http://127.0.0.1:9/login"), "answered 302: Found"),
    (failure("429 Too Many Requests", "come tomorrow", Retry_After="86400"), "answered 429: come tomorrow"),
    (failure("200 OK", "rate limited"), ": rate limited"),
    (http_answer(b"<p>Log in", content_type="text/html"), NO_ANSWER + '"<p>Log in"'),
    *[(http_answer(body), NO_ANSWER + (body.decode() or '""')) for body in (
        b"", b"[1]", b'{"choices": []}', b'{"choices": [null]}', b'{"choices": "no"}', b'{"choices": [{"message": null}]}')]])
def test_an_error_says_what_the_provider_said_at_once_and_without_the_key(answer, told):
    with serving(answer) as (url, requests):
        with pytest.raises(HttpError) as caught:
            ask(url, api_key=SOME_KEY)
    assert str(caught.value) == url + (" " if told.startswith("answered") else "") + told
    assert caught.value.status == int(answer.split()[1]) and len(requests) == 1
    assert SOME_KEY.encode() not in caught.value.body and caught.value.__suppress_context__


@pytest.mark.parametrize("said, named", [
    ("Invalid schema for function 'add': x", "add"), ("tools.1.function.parameters: x", "add"),
    ("tools[0].function: x", "mul"), ("tools.2: no", "web_search"), ("GenerateContentRequest.tools[0].function_declarations[1]", "add"),
    *[(text, "mul, add, web_search") for text in (
        "schema error at #/nope", "this model takes no tools", "tools[7]: x", "tools.10: x")],
    *[(text, None) for text in ("bad address", "bad readd", "bad temperature")]])
def test_a_schema_that_the_server_dislikes_is_told_with_the_name_of_its_tool(said, named):
    with serving(failure("400 Bad Request", said)) as (url, _):
        with pytest.raises(HttpError) as caught:
            ask(url, tools=[*SOME_TOOLS, {"type": "web_search"}])
    assert str(caught.value) == f"{url} answered 400: {said}" + (f" (tools: {named})" if named else "")


@pytest.mark.parametrize("asked, least, most", [
    ("0", 0, 0), ("7", 7, 7), ("0.25", 0.25, 0.25), ("61", None, None), ("", 0.5, 0.75), ("soon", 0.5, 0.75), ("-5", 0, 0),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("Wed, 21 Oct 2099 07:28:00 GMT", None, None), ("1e9", None, None),
    ("9" * 400, None, None), ("nan1", 0.5, 0.75), ("Wed, 21 Oct 99999 07:28:00 GMT", 0.5, 0.75)])
def test_retry_after_is_honoured_and_bounded(asked, least, most):
    pause = toolreg._pause_after(HttpError("x", 429, {"retry-after": asked}), 0)
    assert pause is None if least is None else least <= pause <= most
    assert toolreg._pause_after(HttpError("x", 400, {"retry-after": asked}), 0) is None


def test_retry_after_is_waited_for():
    with serving_each(failure("429 Too Many Requests", Retry_After="0.3"), completion({"content": "42"})) as (url, _):
        started = time.monotonic()
        assert ask(url)["content"] == "42"
        assert 0.3 <= time.monotonic() - started < 3


def test_the_key_is_in_no_repr_and_goes_nowhere_else_on_a_redirect():
    assert SOME_KEY not in repr(HttpModel("https://host:1/v1?key=k", "m", api_key=SOME_KEY))
    with serving(completion({"content": "stolen"})) as (other, seen):
        for status in ("301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"):
            with serving(http_answer(b"", status, Location=other + "/v1/chat/completions")) as (url, requests):
                with pytest.raises(HttpError, match=f"answered {status[:3]}"):
                    ask(url, api_key=SOME_KEY)
            assert len(requests) == 1
    assert not seen
    moved = http_answer(b"", "307 Temporary Redirect", Location="/new")
    with serving_each(moved, completion({"content": "42"})) as (url, requests):
        assert ask(url, api_key=SOME_KEY)["content"] == "42" and SOME_KEY.encode() in requests[1]


def test_a_stream_gives_its_text_piece_by_piece_and_its_calls_whole():
    parts = [{"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}},
             *({"index": 0, "function": {"arguments": piece}} for piece in ('{"a"', ": 1}"))]
    deltas = [{"role": "assistant", "content": ""}, {"content": "let "}, {"content": "me"},
              *({"tool_calls": [part]} for part in parts)]
    for end in ("data: [DONE]\n\n", ": comment\n\ndata:\n\n", ""):  # some servers forget [DONE]
        pieces = []
        with serving(event_stream(*deltas, end=end)) as (url, requests):
            message = ask(url, on_delta=pieces.append, tools=SOME_TOOLS)
        assert pieces == ["let ", "me"] and sent_body(requests[0])["stream"] is True
        assert (message["content"], message["tool_calls"]) == ("let me", [SOME_CALL])


def test_of_text_that_comes_in_parts_only_the_text_is_given_out():
    pieces, thought = [], {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    message = {"role": "assistant", "content": [thought, {"type": "text", "text": "42"}]}
    with serving(completion(message)) as (url, _):
        assert ask(url, on_delta=pieces.append) == message and pieces == ["42"]


@pytest.mark.parametrize("data, told", [
    ('{"error": {"message": "overloaded"}}', "overloaded"), ("<html>", 'no answer of openai-chat, but "<html>"'),
    *[(data, f"no answer of openai-chat, but {data}") for data in (
        "[1]", '{"choices": [null]}', '{"choices": [{"delta": "x"}]}')]])
def test_an_error_in_the_midst_of_a_stream_is_told(data, told):
    with serving(event_stream({"content": "4"}, finish=None, end=f"data: {data}\n\n")) as (url, requests):
        with pytest.raises(HttpError) as caught:
            ask(url, stream=True)
    assert str(caught.value) == f"{url}: {told}" and len(requests) == 1


def test_the_connection_of_a_stream_that_fails_is_closed_at_once():
    ends = []

    def fail_and_wait(request, connection):
        connection.sendall(event_stream(finish=None, end='data: {"error": "overloaded"}\n\n'))
        connection.settimeout(2)
        ends.append(connection.recv(1))

    with serving(fail_and_wait) as (url, _):
        with pytest.raises(HttpError, match="overloaded") as caught:
            ask(url, stream=True)
    assert ends == [b""] and caught.value.status == 200


def test_a_large_answer_is_read_and_one_beyond_the_bound_is_refused_at_once():
    with serving(completion({"content": "a" * 10_000_000})) as (url, _):
        assert len(ask(url)["content"]) == 10_000_000
    with serving(completion({"content": "a" * toolreg.MAX_BODY})) as (url, requests):
        with pytest.raises(HttpError, match="larger than"):
            ask(url)
        assert len(requests) == 1


def test_lone_surrogates_and_nan_do_not_reach_the_wire():
    with serving(completion({"content": "42"})) as (url, requests):
        ask(url, messages=[{"role": "user", "content": "\ud800é"}])
        assert sent_body(requests[0])["messages"][0]["content"] == "\\ud800é"
        with pytest.raises(ValueError):
            ask(url, temperature=math.nan)


@pytest.mark.parametrize("message, sent", [
    ({"role": "assistant", "content": None, "refusal": None}, {"role": "assistant", "content": ""}),
    ({"role": "assistant", "content": "a", "tool_calls": []}, {"role": "assistant", "content": "a"}),
    ({"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}]},
     {"role": "assistant", "content": "", "tool_calls": [SOME_CALL]}),
    *[(message, message) for message in (
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "custom", "custom": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "tool", "tool_call_id": "c1", "content": ""})]])
def test_a_message_is_sent_as_every_server_takes_it(message, sent):
    with serving(completion({"content": "42"})) as (url, requests):
        ask(url, messages=[message])
    assert sent_body(requests[0])["messages"] == [sent]


# --- the other APIs
# where it is asked, the header of the key, an answer, and the same as the events of a stream
SOME_APIS = {
    "openai-chat": {
        "path": "/v1/chat/completions", "key": f"authorization: Bearer {SOME_KEY}",
        "answer": {"choices": [{"message": {"role": "assistant", "content": "42"}}],
                   "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
        "events": [*({"choices": [{"delta": {"content": piece}}]} for piece in "42"),
                   {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}]},
    "openai-responses": {
        "path": "/v1/responses", "key": f"authorization: Bearer {SOME_KEY}",
        "answer": {"output": [{"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "42"}]}], "usage": {"input_tokens": 3, "output_tokens": 4}},
        "events": [{"type": "response.created", "response": {"status": "in_progress", "output": []}},
                   {"type": "response.output_item.added", "output_index": 0,
                    "item": {"type": "message", "role": "assistant", "content": []}},
                   {"type": "response.output_text.delta", "output_index": 0, "delta": "4"},
                   {"type": "response.output_text.delta", "output_index": 0, "delta": "2"},
                   {"type": "response.completed", "response": {
                       "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 4}, "output": [
                           {"type": "message", "role": "assistant",
                            "content": [{"type": "output_text", "text": "42"}]}]}}]},
    "anthropic": {
        "path": "/v1/messages", "key": f"x-api-key: {SOME_KEY}",
        "answer": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "42"}],
                   "stop_reason": "end_turn", "usage": {"input_tokens": 1, "cache_read_input_tokens": 2,
                                                        "output_tokens": 4}},
        "events": [{"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {
                       "input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 1}}},
                   {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                   {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "4"}},
                   {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "2"}},
                   {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                    "usage": {"input_tokens": 0, "output_tokens": 4}}]},
    "gemini": {
        "path": "/v1/models/m:generateContent", "key": f"x-goog-api-key: {SOME_KEY}",
        "answer": {"candidates": [{"content": {"role": "model", "parts": [
            {"text": "hm", "thought": True}, {"text": "42"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "thoughtsTokenCount": 3}},
        "events": [{"candidates": [{"content": {"role": "model", "parts": [{"text": "hm", "thought": True}]}}],
                    "usageMetadata": {"promptTokenCount": 3, "thoughtsTokenCount": 3}},
                   {"candidates": [{"content": {"role": "model", "parts": [{"text": "4"}]}}]},
                   {"candidates": [{"content": {"role": "model", "parts": [{"text": "2"}]}, "finishReason": "STOP"}],
                    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "thoughtsTokenCount": 3}}]},
}
each_api = pytest.mark.parametrize("api_format", [name for name in SOME_APIS if name in API_FORMATS])
TOKENS = {"input": 3, "output": 4, "total": 7}


@each_api
def test_each_api_is_asked_at_its_path_with_its_key_and_answers_in_its_spelling(api_format):
    api, pieces = SOME_APIS[api_format], []
    with serving(json_answer(api["answer"])) as (url, requests):
        model = model_at(url, api_format, api_key=SOME_KEY)
        messages = run_agent(model, "add", ToolRegistry([lambda_free_add]), api_format=model.api_format)
    with serving(events_answer(api["events"])) as (url, requests_streamed):
        streaming = model_at(url, api_format, api_key=SOME_KEY, on_delta=pieces.append)
        assert run_agent(streaming, "add", ToolRegistry([lambda_free_add]), api_format=api_format)[1:] == (
            messages[1:] if api_format != "gemini" else [{"role": "model", "parts": [
                {"text": "hm", "thought": True}, {"text": "42"}]}])
    assert pieces == ["4", "2"] and model.usage == streaming.usage == TOKENS
    assert path_of(requests[0]) == api["path"] and api["key"].encode() in requests[0].split(b"\r\n")
    assert (b"anthropic-version: 2026-10-21" in requests[0].split(b"\r\n")) == (api_format == "anthropic")
    assert path_of(requests_streamed[0]) == (
        "/v1/models/m:streamGenerateContent?alt=sse" if api_format == "gemini" else api["path"])
    assert sent_body(requests_streamed[0]).get("stream") is (None if api_format == "gemini" else True)
    with serving(json_answer(api["answer"])) as (url, _):        # a server that does not stream is understood
        pieces.clear()
        model_at(url, api_format, on_delta=pieces.append)(messages=[toolreg._APIS[api_format].user("add")])
        assert pieces == ["42"]


@of("anthropic", "gemini")
@pytest.mark.parametrize("api_format, base, path", [
    *[("anthropic", base, "/v1/messages") for base in ("", "/", "/v1", "/v1/messages")],
    ("anthropic", "/anthropic", "/anthropic/v1/messages"), ("anthropic", "/v1?beta=true", "/v1/messages?beta=true"),
    ("gemini", "", "/v1/models/m:generateContent"),
    *[("gemini", base, "/v1beta/models/m:generateContent") for base in ("/v1beta", "/v1beta/models/m:generateContent")],
    ("gemini", "/v1/projects/p/publishers/google", "/v1/projects/p/publishers/google/models/m:generateContent")])
def test_the_version_of_an_api_is_added_unless_the_base_url_names_one(api_format, base, path):
    with serving(json_answer(SOME_APIS[api_format]["answer"])) as (url, requests):
        HttpModel(url + base, "m", api_format=api_format)(messages=[])
    assert path_of(requests[0]) == path


@of("gemini")
@pytest.mark.parametrize("name, place", [("tunedModels/t", "/tunedModels/t"), ("models/m", "/models/m"),
                                         ("a b?c", "/models/a%20b%3Fc")])
def test_the_name_of_a_gemini_model_stands_in_the_path_and_is_quoted(name, place):
    with serving(json_answer(SOME_APIS["gemini"]["answer"])) as (url, requests):
        HttpModel(url + "?x=1", name, api_format="gemini")(messages=[])
        HttpModel(url + "?x=1", name, api_format="gemini", stream=True)(messages=[])
    assert [path_of(request) for request in requests] == [
        f"/v1{place}:generateContent?x=1", f"/v1{place}:streamGenerateContent?alt=sse&x=1"]


@pytest.mark.parametrize("api_format", ["mcp", "openai", "", None])
def test_a_model_of_an_unknown_format_is_refused_with_those_that_there_are(api_format):
    with pytest.raises(ValueError, match=r"^api_format: must be one of openai-chat(, .+)? \(got "):
        HttpModel("http://host", "m", api_format=api_format)


@of("anthropic", "gemini", "responses")
@pytest.mark.parametrize("chapter, api_format", [("anthropic", "anthropic"), ("gemini", "gemini"),
                                                 ("responses", "openai-responses")])
def test_a_model_whose_chapter_was_cut_is_refused_with_its_name(chapter, api_format, tmp_path, monkeypatch):
    module = load_copy(without({chapter}), tmp_path, monkeypatch)
    with pytest.raises(ValueError, match=f'^api_format: "{api_format}" needs the chapter "{chapter}"'):
        module.HttpModel("http://host", "m", api_format=api_format)
    assert module.HttpModel("http://host", "m").api_format == "openai-chat"


SYSTEM, DEVELOPER = {"role": "system", "content": "be brief"}, {"role": "developer", "content": [
    {"type": "text", "text": "be kind", "cache_control": {"type": "ephemeral"}}]}
TEXT_BLOCKS = [{"type": "text", "text": "be brief"}, DEVELOPER["content"][0]]


@of("anthropic", "gemini", "responses")
@pytest.mark.parametrize("api_format, options, sent", [
    ("openai-chat", {}, {"messages": [SYSTEM, DEVELOPER, *QUESTION, SYSTEM]}),
    ("openai-responses", {"instructions": "i"}, {"input": [SYSTEM, DEVELOPER, *QUESTION, SYSTEM], "instructions": "i"}),
    # what comes later stays where it is: from there on it holds
    ("anthropic", {}, {"system": TEXT_BLOCKS, "messages": [*QUESTION, SYSTEM], "max_tokens": 8_192}),
    ("anthropic", {"system": "first", "max_tokens": 9}, {
        "system": [{"type": "text", "text": "first"}, *TEXT_BLOCKS], "messages": [*QUESTION, SYSTEM], "max_tokens": 9}),
    ("gemini", {}, {
        "systemInstruction": {"parts": [{key: each[key] for key in each if key != "type"} for each in TEXT_BLOCKS]},
        "contents": [{"role": "user", "parts": [{"text": text}]} for text in ("北京?", "be brief")]})])
def test_system_messages_go_where_each_api_wants_them(api_format, options, sent):
    with serving(json_answer(SOME_APIS[api_format]["answer"])) as (url, requests):
        model_at(url, api_format, **options)(messages=[SYSTEM, DEVELOPER, *QUESTION, SYSTEM])
    assert sent_body(requests[0]) == ({} if api_format == "gemini" else {"model": "m"}) | sent


@of("anthropic", "gemini")
def test_an_option_alone_stays_as_it_is():
    for api_format, option, value in [("anthropic", "system", "be brief"),
                                      ("gemini", "systemInstruction", {"parts": [{"text": "be brief"}]})]:
        with serving(json_answer(SOME_APIS[api_format]["answer"])) as (url, requests):
            model_at(url, api_format, **{option: value})(messages=[])
        assert sent_body(requests[0])[option] == value
    with serving(json_answer(SOME_APIS["gemini"]["answer"])) as (url, requests):
        model_at(url, "gemini", systemInstruction={"parts": [{"text": "a"}]})(
            messages=[{"role": "system", "parts": [{"text": "b"}]}])
        model_at(url, "gemini", systemInstruction="a")(messages=[])
    assert [sent_body(request)["systemInstruction"]["parts"] for request in requests] == [
        [{"text": "a"}, {"text": "b"}], [{"text": "a"}]]


@of("gemini")
def test_gemini_is_asked_with_its_own_names_and_its_own_tools():
    tools = ToolRegistry([lambda_free_add]).get_schemas(api_format="gemini")
    choice = build_tool_choice("add", api_format="gemini")
    safety = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    with serving(json_answer(SOME_APIS["gemini"]["answer"])) as (url, requests):
        model = model_at(url, "gemini", temperature=0, generationConfig={"seed": 1}, safetySettings=safety,
                         tools=[{"googleSearch": {}}], topK=None)
        model(messages=QUESTION, tools=tools, tool_choice=choice)
        model(messages=[{"role": "assistant", "content": "hi"}, {"role": "model", "parts": []}])
    assert sent_body(requests[0]) == {
        "contents": [{"role": "user", "parts": [{"text": "北京?"}]}], "safetySettings": safety, "toolConfig": choice,
        "tools": [{"functionDeclarations": tools}, {"googleSearch": {}}],
        "generationConfig": {"temperature": 0, "seed": 1}}
    assert sent_body(requests[1])["contents"] == [{"role": "model", "parts": [{"text": "hi"}]}]
    assert sent_body(requests[1])["tools"] == [{"googleSearch": {}}] and "toolConfig" not in sent_body(requests[1])


@of("anthropic")
def test_an_answer_that_was_empty_is_not_sent_back_where_that_would_be_refused():
    empty = {"role": "assistant", "content": []}
    with serving(json_answer(SOME_APIS["anthropic"]["answer"])) as (url, requests):
        model_at(url, "anthropic")(messages=[*QUESTION, empty, *QUESTION])
    assert sent_body(requests[0])["messages"] == QUESTION * 2


def test_an_option_that_is_none_is_not_sent_and_tools_of_the_options_are_offered_too():
    with serving(completion({"content": "42"})) as (url, requests):
        ask(url, seed=None, stream=True, stream_options=None, tools=SOME_TOOLS[:1])
        HttpModel(url + "/v1", "m", tools=SOME_TOOLS[1:])(messages=QUESTION, tools=SOME_TOOLS[:1])
    assert sent_body(requests[0]).keys() == {"model", "messages", "tools", "tool_choice", "stream"}
    assert sent_body(requests[1])["tools"] == SOME_TOOLS[::-1]


def test_the_tokens_of_all_answers_are_added_up_also_where_a_try_broke_off(no_pauses):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16, "prompt_tokens_details": {"cached": 9}}
    whole = json_answer({"choices": [{"message": {"content": "42"}}], "usage": usage})
    counted = events_answer([{"choices": [], "usage": usage}, {"choices": [], "usage": None}], "data: [DONE]\n\n")
    with serving_each(whole, completion({"content": "?"}), counted,
                      events_answer([{"choices": [], "usage": usage}]), whole) as (url, requests):
        model = HttpModel(url, "m", timeout=10)
        assert model.usage == {"input": 0, "output": 0, "total": 0}
        for total in (16, 16, 32, 64):      # the last one took two tries
            model(messages=QUESTION)
            assert model.usage["total"] == total
    assert model.usage == {"input": 40, "output": 20, "total": 64} and len(requests) == 5


@pytest.mark.parametrize("usage", [None, [], "x", {"prompt_tokens": None}, {"prompt_tokens": "3"}])
def test_counts_that_are_none_are_left_out(usage):
    with serving(json_answer({"choices": [{"message": {"content": "42"}}], "usage": usage})) as (url, _):
        model = HttpModel(url, "m", timeout=10)
        assert model(messages=QUESTION)["content"] == "42" and model.usage == {"input": 0, "output": 0, "total": 0}


def test_a_server_that_refuses_to_count_in_a_stream_is_asked_without_from_then_on():
    refusal = failure("422 Unprocessable", 'extra_forbidden: ["body","stream_options"]')
    with serving_each(refusal, event_stream({"content": "42"})) as (url, requests):
        model = HttpModel(url, "m", timeout=10, stream=True, retries=0)
        assert [model(messages=QUESTION)["content"] for _ in range(2)] == ["42", "42"]
    assert ["stream_options" in sent_body(request) for request in requests] == [True, False, False]
    with serving(refusal) as (url, requests):           # an option is the user's own
        with pytest.raises(HttpError, match="answered 422: extra_forbidden"):
            HttpModel(url, "m", timeout=10, stream=True, stream_options={"include_usage": True})(messages=QUESTION)
    assert len(requests) == 1


@each_api
def test_a_stream_of_any_api_that_was_cut_is_tried_again_unless_its_text_was_given_out(api_format, no_pauses):
    events = SOME_APIS[api_format]["events"]
    whole, cut, broken = events_answer(events), events_answer(events[:-1]), events_answer(events[:1], "data: {\n")
    with serving_each(cut, broken, whole) as (url, requests):
        model = model_at(url, api_format, stream=True)
        assert "42" in json.dumps(model(messages=[])) and len(requests) == 3
    with serving_each(cut, whole) as (url, requests):
        pieces = []
        with pytest.raises(HttpError, match="the stream broke off"):
            model_at(url, api_format, on_delta=pieces.append)(messages=[])
        assert "".join(pieces) in ("4", "42") and len(requests) == 1


@of("responses", "anthropic", "gemini")
@pytest.mark.parametrize("api_format, event, told, passes", [
    *[("anthropic", {"type": "error", "error": {"type": kind, "message": "no"}}, "no", passes)
      for kind, passes in (("overloaded_error", True), ("invalid_request_error", False))],
    *[("openai-responses", {"type": "error", "code": code, "message": "sorry"}, "sorry", passes)
      for code, passes in (("server_error", True), ("bad", False))],
    ("openai-responses", {"type": "response.failed", "response": {"status": "failed", "error": {
        "code": "rate_limit_exceeded", "message": "slow down"}}}, "slow down", True),
    *[("gemini", {"error": {"code": 503, "message": "later", "status": status}}, "later", passes)
      for status, passes in (("UNAVAILABLE", True), ("INVALID_ARGUMENT", False))],
    ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, '{"promptFeedback": {"blockReason": "SAFETY"}}', False)])
def test_a_failure_within_an_answer_is_told_and_what_may_pass_is_tried_again(api_format, event, told, passes, no_pauses):
    with serving(events_answer([event])) as (url, requests):
        with pytest.raises(HttpError) as caught:
            model_at(url, api_format, stream=True)(messages=[])
    assert str(caught.value) == f"{url}: {told}" and len(requests) == (3 if passes else 1)
    with serving(json_answer(event)) as (url, requests):
        with pytest.raises(HttpError, match=f": {re.escape(told)}$"):
            model_at(url, api_format, retries=0)(messages=[])


@each_api
@pytest.mark.parametrize("answer", [b"<html>", b"[1]", b"{}", b'{"choices": []}', b'{"output": 1, "content": 1}',
                                    b'{"output": [1], "content": [1], "candidates": [1]}', b'{"candidates": []}'])
def test_what_is_no_answer_of_an_api_is_told_at_once(api_format, answer):
    with serving(http_answer(answer)) as (url, requests):
        with pytest.raises(HttpError, match=f"^{url}: no answer of {api_format}, but "):
            model_at(url, api_format)(messages=[])
    assert len(requests) == 1


@of("responses", "anthropic", "gemini")
def test_an_answer_without_any_words_is_an_empty_one():
    for api_format, answer in [("gemini", {"candidates": [{"finishReason": "STOP"}]}),
                               ("openai-responses", {"output": []}),
                               ("anthropic", {"content": [], "stop_reason": "end_turn"})]:
        with serving(json_answer(answer)) as (url, _):
            assert model_at(url, api_format)(messages=[]) in (
                {"role": "model", "parts": []}, [], {"role": "assistant", "content": []})


@of("anthropic")
@pytest.mark.parametrize("reason, ran", [("tool_use", [{}]), ("max_tokens", []), ("refusal", [])])
def test_a_call_of_an_answer_that_was_cut_or_taken_back_does_not_run(reason, ran):
    use = {"type": "tool_use", "id": "t1", "name": "now", "input": {}}
    chat_reason = {"tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}[reason]
    chat_call = {"id": "t1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    for api_format, answer in [
        ("anthropic", {"content": [use], "stop_reason": reason}),
        ("openai-chat", {"choices": [{"message": {"tool_calls": [chat_call]}, "finish_reason": chat_reason}]}),
    ]:
        calls, registry = [], ToolRegistry([Tool("now", "", {"type": "object"}, dict)])
        registry.before_call = lambda call, reason, calls=calls: calls.append(call.arguments)
        with serving(json_answer(answer)) as (url, _):
            model = model_at(url, api_format)
            with contextlib.suppress(MaxTurnsExceeded):
                run_agent(model, "now", registry, api_format=api_format, max_turns=1)
        assert calls == ran


def test_one_deadline_holds_for_all_tries_and_pauses():
    def slow(request, connection):
        time.sleep(0.2)
        return failure("503 Service Unavailable", "busy", Retry_After="0")
    with serving(slow) as (url, requests):
        started = time.monotonic()
        with pytest.raises(ToolTimeoutError):
            ask(url, timeout=0.5, retries=99)
        assert time.monotonic() - started < 2 and len(requests) <= 3
    with serving(failure("429 Too Many Requests", "slow down", Retry_After="5")) as (url, requests):
        started = time.monotonic()
        with pytest.raises(HttpError, match="answered 429: slow down$"):          # no pause that ends too late
            ask(url, timeout=2)
        assert time.monotonic() - started < 1.5 and len(requests) == 1


def test_a_server_that_is_not_there_is_tried_again_and_told(no_pauses):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(HttpError, match=f"^{url}: ConnectionRefusedError") as caught:
        ask(url)
    assert caught.value.status is None


def test_the_message_of_an_api_is_told_whole_up_to_its_bound_and_without_the_key():
    words = f"wrong {SOME_KEY} " + "é" * 5_000
    for detail in ({}, {"a_detail_that_comes_first": "x" * 6_000}):
        body = json.dumps({**detail, "error": {"message": words}}).encode()
        with serving(http_answer(body, "400 Bad Request")) as (url, _):
            with pytest.raises(HttpError) as caught:
                ask(url, api_key=SOME_KEY)
        told = str(caught.value).removeprefix(f"{url} answered 400: ")
        assert told == ("wrong *** " + "é" * 5_000)[:2_000] and len(caught.value.body) <= 2_000
    half = "x" * (2_000 - 4) + SOME_KEY     # a key at the bound is not told by half
    for status in ("401 Unauthorized", "200 OK"):
        with serving(failure(status, half)) as (url, _):
            with pytest.raises(HttpError) as caught:
                ask(url, api_key=SOME_KEY)
        assert str(caught.value).endswith("x***") and SOME_KEY[:4] not in str(caught.value)
    with serving(http_answer(f"<p>{SOME_KEY}".encode())) as (url, _):
        with pytest.raises(HttpError, match=r'no answer of openai-chat, but "<p>\*\*\*"$'):
            ask(url, api_key=SOME_KEY)


@pytest.mark.parametrize("answer", [
    json_answer({"choices": [{"finish_reason": "error", "error": {"message": "upstream died"},
                              "message": {"role": "assistant", "content": ""}}]}),
    events_answer([{"choices": [{"delta": {"content": "hi"}}]}],
                  'event: error\ndata: {"message": "upstream died"}\n\ndata: [DONE]\n\n')], ids=["whole", "streamed"])
def test_a_failure_that_is_told_within_an_answer_is_no_answer(answer):
    with serving(answer) as (url, _):
        with pytest.raises(HttpError, match="upstream died"):
            HttpModel(url, "m", timeout=10, retries=0, stream=True)(messages=QUESTION)


@pytest.mark.parametrize("kind", ["content-type: Text/Event-Stream", "content-type: text/plain", "x-none: 1"])
def test_a_stream_is_read_however_carelessly_it_is_told(kind):
    answer = event_stream({"content": "42"}, end="data: [DONE] \n\n").replace(
        b"content-type: text/event-stream; charset=utf-8", kind.encode())
    with serving(answer) as (url, requests):
        assert HttpModel(url, "m", timeout=10, retries=0, stream=True)(messages=QUESTION)["content"] == "42"
    assert len(requests) == 1


# ---------------------------------------------------------------------------
# switch: what the words of other libraries are called here
# ---------------------------------------------------------------------------
@of("switch")
@pytest.mark.parametrize("ask, told", [
    (lambda: ToolRegistry().spinoff("x"), "spinoff is not here: write copy() and unregister(name)"),
    (lambda: toolreg.ToolTag, "ToolTag is not here: write ToolMetadata(tags={…}), any words"),
    (lambda: toolreg.AgentExecutor, "AgentExecutor is not here: write run_agent(model, messages, registry)"),
    (lambda: Tool("a", "", {}, print).args_schema, "args_schema is not here: write get_schemas()"),
    (lambda: ToolRegistry(name="x"), "ToolRegistry takes no name=: a registry has no name"),
    (lambda: ToolRegistry().get_schemas(tool_name="x"), "ToolRegistry.get_schemas takes no tool_name=: write name="),
    (lambda: ToolRegistry().register(print, allow_replace=True), "register takes no allow_replace=: write replace="),
    (lambda: ToolRegistry().merge(ToolRegistry(), keep_existing=True), "merge takes no keep_existing="),
    (lambda: ToolRegistry().execute_tool_calls([], execution_mode="thread"), "write executor=ProcessPoolExecutor()"),
    (lambda: ToolMetadata(is_concurrency_safe=False), "ToolMetadata takes no is_concurrency_safe=: write parallel="),
    (lambda: Tool(name="a", description="", parameters={}, callable=print), "Tool takes no callable=: write func="),
    (lambda: ToolResult("1", "a", "x").result, "result is not here: write .content"),
    (lambda: ToolResult("1", "a", "x").nonsense, 'a ToolResult has no "nonsense"'),
    (lambda: build_tool_schemas([], api_format="openai"), '(got "openai"; openai is not here: write api_format="openai-chat")'),
])
def test_a_word_of_another_library_fails_with_the_word_to_write(ask, told):
    with pytest.raises((AttributeError, TypeError, ValueError), match=re.escape(told)):
        ask()


@of("switch")
def test_the_words_that_are_told_are_none_of_ours_and_what_was_no_word_stays_an_ordinary_error():
    ours = {*toolreg.__all__, *dir(ToolRegistry), *dir(Tool)}
    assert not ours & set(toolreg._CALLED_HERE)
    for (owner, method), texts in [each for each in toolreg._WRITE_INSTEAD.items() if each[0]]:
        assert not set(inspect.signature(getattr(owner, method)).parameters) & set(" ".join(texts.values()).split())
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        ToolRegistry(nonsense=1)
    with pytest.raises(AttributeError, match='a ToolRegistry has no "nonsense"'):
        assert ToolRegistry().nonsense


# ---------------------------------------------------------------------------
# trace: a conversation to look at, as text, as a diagram, as a page
# ---------------------------------------------------------------------------
EVERY_API = [name for name in API_FORMATS if name in toolreg._APIS and name != "ollama"]
FLOW_CALLS = [
    ToolCall("c1", "add", {"a": 1, "toolcall_reason": "they asked"}), ToolCall("c2", "sub", {"text": "x"}),
    ToolCall("c3", "nope", "{cut")]
FLOW_RESULTS = [
    ToolResult("c1", "add", "2"), ToolResult("c2", "sub", "Error: one\n- two", is_error=True),
    ToolResult("c3", "nope", "said by ToolError", is_error=True)]
FLOW_TEXT = """\
user    hi
model   calls add {"a": 1}  [c1]
        because: they asked
model   calls sub {"text": "x"}  [c2]
model   calls nope {cut  [c3]
tool    add answers [c1] 2
tool    sub fails [c2] Error: one
        - two
tool    nope answers [c3] said by ToolError
model   bye"""
FLOW_DIAGRAM = """\
sequenceDiagram
    actor U as user
    participant M as model
    participant R as registry
    participant T1 as add
    participant T2 as nope
    U->>M: hi
    M->>R: c1: add {"a": 1}
    note over M,R: because: they asked
    M->>R: c2: sub {"text": "x"}
    M->>R: c3: nope {cut
    R->>T1: {"a": 1}
    T1-->>R: 2
    R-->>M: tool message c1
    R--xM: tool message c2: Error: one<br/>- two
    R->>T2: {cut
    T2-->>R: said by ToolError
    R-->>M: tool message c3
    M->>U: bye"""
PNG = "data:image/png;base64,iVBORw=="
HOSTILE = [
    "\x1b[2J\x1b]0;x\x07", "a\nuser    forged", "\rtool    forged", "\u202eevil\u2066", "\U000e0041\u200b", "\x9b31m", "\ud800",
    "end", "wrap: x", "nowrap:x", " wrap:y", "x\nwrap: y", "a;b#35;c", "%%{init: {}}%%", "<script>alert(1)</script>", "<br/>",
    "x\n    U->>M: y", "#lt;img src=x onerror=alert(1)#gt;", "ﬂ°°60¶ß", "$$x^2$$", "`a` **b** _c_", "@{ type: x }", "", " ",
    "{text}", "{0.__class__}", "\\n", "loop x", "as y", "M", "model", "registry", "+U", "\u2028", "参数\t值", "a" * 5_000]
hostile_flows = st.tuples(*[st.sampled_from(HOSTILE) | st.text()] * 5)      # a name, an id, words, a reason, an output


def hostile_flow(name, id, words, reason, output):
    return [{"role": "user", "content": words},
            *build_assistant_messages([ToolCall(id, name, {words: reason, "toolcall_reason": reason})]),
            {"role": "tool", "tool_call_id": id, "content": output}]


def answered(result, api_format="openai-chat", arguments=()):
    """Give the messages of a call and its result."""
    return [*build_assistant_messages([ToolCall(result.tool_call_id, result.name, dict(arguments))], api_format=api_format),
            *build_tool_result_messages([result], api_format=api_format)]


def flow_messages(api_format):
    first, last = ({"role": role, "content": text} for role, text in (("user", "hi"), ("assistant", "bye")))
    if api_format == "gemini":
        first, last = ({"role": role, "parts": [{"text": text}]} for role, text in (("user", "hi"), ("model", "bye")))
    return [first, *build_assistant_messages(FLOW_CALLS, api_format=api_format),
            *build_tool_result_messages(FLOW_RESULTS, api_format=api_format), last]


@pytest.mark.parametrize("api_format", EVERY_API)
def test_a_trace_shows_who_says_what_with_ids_reasons_and_errors_alike_in_every_api(api_format):
    keeps_texts, says_failed = api_format.startswith("openai"), api_format == "anthropic"
    text = FLOW_TEXT if keeps_texts else FLOW_TEXT.replace("{cut", "{}")
    text = text.replace("nope answers", "nope fails") if says_failed else text
    assert trace(flow_messages(api_format)) == text
    assert keeps_texts <= (trace(flow_messages(api_format), style="mermaid") == FLOW_DIAGRAM)


@pytest.mark.parametrize("messages, text", [
    ([{"role": "system", "content": ["be", "good"]}, {"role": "assistant", "content": None}], "system  be\nsystem  good"),
    ([{"role": "tool", "content": "no id"}], "tool    no id"),
    ([{"role": "tool", "tool_call_id": "c1", "content": [{"text": "in"}, "blocks"]}],
     "tool    ? answers [c1] in\n        blocks"),
    ([{"role": "tool", "tool_call_id": "c1", "content": {"a": 1}}], 'tool    ? answers [c1] {"a": 1}'),
    ([{"role": "user", "content": "北京 é\t🎉"}], "user    北京 é\t🎉"),
    ([{"role": "user", "content": "\0\x07\x1b\r\x7f\x9b\u061c\u200b\u200f\u2028\u202a\u202e\u2066\ufeff\ud800\U000e0041"}],
     "user    \\x00\\x07\\x1b\\r\\x7f\\x9b\\u061c\\u200b\\u200f\\u2028\\u202a\\u202e\\u2066\\ufeff\\ud800\\U000e0041"),
    ([{"role": "user", "content": "x" * 5_000}], "user    " + "x" * 2_000 + "…"),
    ([{"role": "user", "content": "x" * 2_000}], "user    " + "x" * 2_000),
])
def test_a_trace_shows_whatever_there_is_and_spells_out_what_a_terminal_would_obey(messages, text):
    assert trace(messages) == text


def test_a_call_that_reuses_an_id_is_drawn_with_its_own_arguments_and_a_long_text_is_cut():
    talk = [*answered(ToolResult("c", "add", "ok"), arguments={"a": 1}),
            *answered(ToolResult("c", "add", "x" * 151), arguments={"a": 2})]
    drawn = trace(talk, style="mermaid")
    assert re.findall("R->>T1: (.*)", drawn) == ['{"a": 1}', '{"a": 2}']
    assert f"T1-->>R: {'x' * 150}…\n" in drawn


@of("spellings", "anthropic")
def test_a_trace_reads_objects_of_sdks_and_text_beside_calls():
    class Block(types.SimpleNamespace):
        def model_dump(self, **_):
            return dict(vars(self))

    block = Block(type="tool_use", id="t1", name="add", input={"a": 1})
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "2"}]}
    flow = [{"role": "assistant", "content": [Block(type="text", text="let me see"), block]},
            {"role": "user", "content": [answer]}]
    assert trace(flow) == 'model   let me see\nmodel   calls add {"a": 1}  [t1]\ntool    add answers [t1] 2'


def test_a_trace_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match='style: must be "text", "mermaid" or "html" \\(got "xml"\\)'):
        trace([], style="xml")
    with pytest.raises(TypeError, match="messages: must hold messages only"):
        trace("hello")


class Markup(html.parser.HTMLParser):
    """Collects what a browser would find in a page: its tags with their attributes, and the text of each."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.is_open = [], [], False
        self.feed(page)
        self.close()
        self.shown = [text.removeprefix("\n") for (tag, _), text in zip(self.tags, self.texts) if tag == "pre"]  # as browsers do
        self.painted = [given["src"] for tag, given in self.tags if tag == "img"]

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.texts.append("")
        self.is_open = True

    def handle_endtag(self, tag):
        self.is_open = False

    def handle_data(self, text):
        if self.is_open:
            self.texts[-1] += text


def test_a_page_shows_calls_results_reasons_errors_and_pictures():
    picture = {"type": "image_url", "image_url": {"url": PNG}}
    found = Markup(trace([*flow_messages("openai-chat"), {"role": "user", "content": [picture]}], style="html"))
    kinds = [given["class"] for tag, given in found.tags if tag == "details"]
    assert kinds == ["user", "call", "reason", "call", "call", "result", "error", "result", "model", "image"]
    assert found.painted == [PNG] and found.shown == [
        "hi", '{\n  "a": 1\n}', "they asked", '{\n  "text": "x"\n}', "{cut", "2", "Error: one\n- two", "said by ToolError", "bye"]


@pytest.mark.parametrize("piece, shown", [
    ({"type": "image_url", "image_url": {"url": "http://x/a.png"}}, "http://x/a.png"),
    ({"type": "input_image", "image_url": "data:image/gif;base64,R0lG"}, "img data:image/gif;base64,R0lG"),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
     "img data:image/png;base64,iVBO"),
    ({"inlineData": {"mimeType": "image/webp", "data": "UklG"}}, "img data:image/webp;base64,UklG"),
    ({"image_url": "data:image/svg+xml;base64,PHN2Zz4="}, "data:image/svg+xml;base64,PHN2Zz4="),
    ({"image_url": "data:text/html;base64,PGI+"}, "data:text/html;base64,PGI+"),
    ({"image_url": "data:image/png;base64,\" onerror=x"}, "data:image/png;base64,\" onerror=x"),
])
def test_only_pictures_that_are_in_the_messages_are_painted_on_a_page(piece, shown):
    message = {"role": "user", "parts" if "inlineData" in piece else "content": [piece]}
    found = Markup(trace([message], style="html"))
    assert [f"img {address}" for address in found.painted] + found.shown == [shown]
    assert trace([message]) == "        shows " + shown.removeprefix("img ")[:60]
    assert trace([message], style="mermaid").endswith("note over M: shows an image")


@pytest.mark.parametrize("text, shown", [
    *[(text, text) for text in ('{"a": 1, "a": 2}', '{"a": 1e2}', '{"a": "\\u0041"}', "[1", "plain")],
    ('{"a": ["北京 x", 1.0]}', '{\n  "a": [\n    "北京 x",\n    1.0\n  ]\n}'),
])
def test_json_is_spread_over_lines_only_where_nothing_else_changes(text, shown):
    assert Markup(trace([{"role": "tool", "tool_call_id": "c1", "content": text}], style="html")).shown == [shown]


@settings(max_examples=60)
@given(hostile_flows)
def test_no_text_is_markup_on_a_page_and_none_is_lost(texts):
    page = trace(hostile_flow(*texts), style="html")
    page.encode("utf-8")
    found, (_, _, words, reason, output) = Markup(page), texts
    assert {tag for tag, _ in found.tags} <= set("html head meta title style body h1 details summary pre".split())
    assert {key for _, given in found.tags for key in given} <= set("lang charset name content http-equiv class open".split())
    expected = [*[words] * bool(words), json.dumps({words: reason}, ensure_ascii=False), reason, output]
    assert [re.sub(r"\s", "", said) for said in found.shown] == [
        re.sub(r"\s", "", toolreg._seen(each, len(each))) for each in expected]


@settings(max_examples=60)
@given(hostile_flows)
def test_no_text_can_pass_for_a_row_or_for_a_command_in_text_or_diagram(texts):
    flow, (_, _, words, _, output) = hostile_flow(*texts), texts
    rows = trace(flow).split("\n")
    assert [row[:8].strip() for row in rows if row[:1] != " "] == ["user"] * bool(words) + ["model", "tool"]
    assert all(each.isprintable() or each in "\t\xa0\u3000" for row in rows for each in row)
    lines = trace(flow, style="mermaid").split("\n")
    assert len(lines) == 1 + 3 + bool(words) + 2 + (1 if output.startswith("Error: ") else 4)
    for line in lines[1:]:
        assert re.fullmatch(r"    (actor|participant|note over|\w+-+(>>|x)\w+:) .*", line.replace("\t", " "))
        text_of_line = re.sub(r"<br/>|#\d+;", "", line.split(" ", 5)[-1].partition(": ")[2] if ":" in line else "")
        assert not set(text_of_line) & set("#;<>%\\`@$")


@pytest.mark.parametrize("api_format", EVERY_API)
def test_an_image_in_a_result_is_shown_once_and_times_and_media_where_results_are_given(api_format):
    result = ToolResult("c1", "look", "seen", media=(Media(b"\x89PNG", "image/png"),), seconds=0.25)
    flow, asked, shown = answered(result, api_format), "model   calls look {}  [c1]\ntool    look answers [c1]", f"shows {PNG}"
    assert trace(flow, [result]) == f"{asked} in 0.25 s seen\n        {shown}"
    assert "R-->>M: tool message c1 in 0.25 s" in trace(flow, [result], style="mermaid")
    page = trace(flow, [result], style="html")
    assert "answers [c1] in 0.25 s" in page and Markup(page).painted == [PNG]
    if api_format != "openai-chat":         # which has no images in a tool message
        assert trace(flow) == f"{asked} seen\n        {shown}"


@of("responses")
def test_a_trace_shows_calls_that_nobody_here_reads_and_numbers_that_json_has_not():
    custom = {"type": "custom_tool_call", "call_id": "k", "name": "sql", "input": "select 1"}
    assert trace([custom]) == f"model   {json.dumps(custom)}"
    assert "NaN" in trace([{"role": "assistant", "tool_calls": [wire("f", {"a": math.nan})]}])


# ---------------------------------------------------------------------------
# cli: the command line: lessons, a chat, and copies of this file
# ---------------------------------------------------------------------------
TOOLS_FILE = '''
from toolreg import ToolRegistry
registry = ToolRegistry()
@registry.register(name="add_numbers")
def add(a: int, b: int = 1) -> int:
    "Add two numbers.\\n\\nMore words."
    return a + b
'''
FUNCTIONS_FILE = '''
import dataclasses, sibling
from textwrap import shorten
@dataclasses.dataclass
class Place:
    name: str
def greet(place: Place) -> str:
    "Greet a place."
    return sibling.WORD + place.name
def strange(x: object()): ...
async def fail(n: int) -> int:
    raise ValueError("no \\x1b[31m" + "n" * n + "\\nsecond line")
def _hidden(): ...
'''
WAIT_FILE = "def wait(n: int):\n    raise KeyboardInterrupt\n"
FILES = {"sibling.py": "WORD = 'Hello '\n", "my_tools.py": TOOLS_FILE, "functions.py": FUNCTIONS_FILE, "notes.txt": "",
         "list.json": "[1]", "picture.png": "\x89PNG\xff", "two.py": "def one(): ...\ndef two(): ...\n", "broken.py": "\ndef f(:\n", "nulls.py": "x = 1\0\n",
         "quits.py": "import sys\nsys.exit(3)\n", "strange.py": "def strange(x: object()): ...",
         "raises.py": "import json\ndef deep(text): return 1 / 0\njson.loads('[1]', parse_int=deep)\n",
         **dict.fromkeys(("json.py", "sys.py"), "def f(x: int): ...\n"),
         "a_package/__init__.py": "from .more import add\n", "a_package/more.py": "def add(a: int) -> int:\n    return a + 1\n"}


@pytest.fixture
def user_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    for provider, word in itertools.product(("OPENAI", "ANTHROPIC", "GEMINI"), ("BASE_URL", "API_KEY", "MODEL")):
        monkeypatch.delenv(f"{provider}_{word}", raising=False)
    (tmp_path / "a_package").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "latin-1")
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in str(getattr(module, "__file__", "")):
            del sys.modules[name]


def run_main(capsys, *argv):
    return main(list(argv)), *capsys.readouterr()


def test_list_schema_and_call_work_on_a_registry_in_a_file_and_in_a_module(user_files, monkeypatch, capsys):
    for place in ("my_tools.py", "my_tools", str(user_files / "my_tools.py"), "./my_tools.py:registry"):
        assert run_main(capsys, "list", place) == (0, "add_numbers              Add two numbers.\n", "")
    status, out, _ = run_main(capsys, "schema", "my_tools.py:add", "--format", toolreg.API_FORMATS[-1])
    expected = Tool.from_function(sys.modules["my_tools"].add).get_schema(toolreg.API_FORMATS[-1])
    assert (status, json.loads(out)) == (0, expected)
    assert run_main(capsys, "call", "my_tools.py:add", '{"a": "2"}') == (0, "3\n", "")
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"a": 2,\n"b": 3}\n'))
    assert run_main(capsys, "call", "my_tools", "-") == (0, "5\n", "")


def test_functions_of_a_file_are_listed_and_called_with_their_real_types_and_what_can_be_no_tool_is_named(user_files, capsys):
    status, out, err = run_main(capsys, "list", "functions.py")
    assert (status, out) == (0, "greet                    Greet a place.\nfail\n")
    assert err.startswith('toolreg: functions.py: left out: tool "strange": x: ') and err.count("\n") == 1
    assert run_main(capsys, "call", "functions.py:greet", '{"place": {"name": "北京"}}') == (0, "Hello 北京\n", "")
    assert run_main(capsys, "call", "textwrap:shorten", '{"text": "a  b", "width": 9}') == (0, "a b\n", "")
    assert json.loads(run_main(capsys, "schema", "functions.py")[1])[0]["function"]["name"] == "greet"
    for place in ("./a_package", "a_package/", str(user_files / "a_package")):
        assert run_main(capsys, "call", f"{place}:add", '{"a": 1}') == (0, "2\n", "")


@pytest.mark.parametrize("argv, told", [
    ("frobnicate", "invalid choice: 'frobnicate'"),
    ("call my_tools.py", "arguments are required: JSON"),
    ("--x", "COMMAND"),
    ("schema my_tools.py:add --format x", "--format: invalid choice: 'x'"),
    ("list no_such_module", "no_such_module: ModuleNotFoundError: No module named"),
    *[(f"call {place}:add {{}}", f"{place}: there is no such Python file (*.py)")
      for place in ("none.py", "''", "./no_such", ".x", "notes.txt", "./notes.txt")],
    ("chat my_tools.py --thunk", "unrecognized arguments: --thunk"),
    ("lesson 7", "(choose from 1, 2, 3, 4, 5, 6)"),
    ("lesson 1 --model m", "ollama"),
    ("list json.py", "json.py: another module is called json (rename the file)"),
    ("list sys.py", "sys.py: another module is called sys (rename the file)"),
    ("list sibling", "sibling: there is no ToolRegistry and no public function in it"),
    ("schema my_tools.py:nope", "my_tools.py: AttributeError: module 'my_tools' has no attribute 'nope'"),
    *[(f"list {place}", 'toolreg: tool "strange": x: ') for place in ("functions.py:strange", "strange.py")],
    ("list functions.py:sibling.WORD", "toolreg: "),
    ("call two.py {}", "two.py: write MODULE:NAME (there are: one, two)"),
    ("chat my_tools.py hi", "ollama"),
    ("chat my_tools.py hi --base-url http://127.0.0.1:9", "which model?"),
    ("chat my_tools.py hi --base-url http://x --model m --max-turns 0", "max_turns: must be"),
    ("chat my_tools.py hi --base-url http://x --model m --save notes.txt", "notes.txt: holds no messages"),
    ("chat my_tools.py hi --base-url http://x --model m --save list.json", "list.json: holds no messages"),
    ("lesson 2 --mermaid /nowhere/x", "No such file"),
    ("serve my_tools.py --token x", "token: must be visible ASCII text, and goes with http="),
    ("vendor --with mcp,nope", 'vendor: there is no chapter "nope" (there are: resume, '),
    ("vendor --without network", 'vendor: "network" cannot be left out (it is used by: openapi, link, mcp, serve, http)'),
    ("vendor --with mcp --without network", 'vendor: "network" cannot be left out (it is used by: link, mcp)'),
    ("vendor -o .", "Is a directory"),
    *[(f"vendor -o {name}", f"vendor: {name}: is not as vendor made it (--force overwrites it)")
      for name in ("my_tools.py", "picture.png", "changed.py")],
])
def test_an_error_is_one_clear_line_and_status_2_and_nothing_is_written(user_files, capsys, argv, told):
    if not HERE_ARE.issuperset(("network", "openapi", "mcp", "serve", "http")):
        pytest.skip("what is cut out is refused in its own words")
    if "changed.py" in argv:
        assert main(["vendor", "-o", "changed.py"]) == 0
        (user_files / "changed.py").write_text((user_files / "changed.py").read_text("utf-8") + "# mine\n", "utf-8")
    before = {path: path.read_bytes() for path in user_files.glob("*.*")}
    capsys.readouterr()
    status, _, err = run_main(capsys, *shlex.split(argv))
    assert status == 2 and err.startswith("toolreg: ") and err.count("\n") == 1 and "\x1b" not in err
    assert told.replace("''", "") in err
    assert {path: path.read_bytes() for path in user_files.glob("*.*")} == before


@pytest.mark.parametrize("argv, lines", [
    (["call", "functions.py:fail", '{"n": 1}'], [
        'toolreg: the tool "fail" failed: ValueError: no \\x1b[31mn', "    second line",
        "    If the arguments are the cause, change them; else go on without it.",
        "    functions.py, line 12: raise ValueError(\"no \\x1b[31m\" + \"n\" * n + \"\\nsecond line\")"]),
    (["call", "my_tools.py:add", '{"b": 1}'], [
        'toolreg: the arguments do not fit the parameters of "add":', "    - a: is missing",
        "    Fix the arguments and call the tool again."]),
    (["list", "broken.py"], ["toolreg: broken.py: SyntaxError: invalid syntax", "    broken.py, line 2: def f(:"]),
    (["list", "nulls.py"], ["toolreg: nulls.py: "]),         # a SyntaxError since 3.12, a ValueError before
    (["list", "quits.py"], ["toolreg: quits.py: SystemExit: 3", "    quits.py, line 2: sys.exit(3)"]),
    (["list", "raises.py"], [
        "toolreg: raises.py: ZeroDivisionError: division by zero", "    raises.py, line 3: json.loads('[1]', parse_int=deep)",
        "    raises.py, line 2: def deep(text): return 1 / 0"]),
])
def test_an_error_in_a_file_of_the_user_shows_its_own_last_lines(user_files, capsys, argv, lines):
    (user_files / "json.py").unlink()
    status, out, err = run_main(capsys, *argv)
    said = err.replace(f"{user_files}{os.sep}", "").splitlines()
    assert (status, out) == (2, "") and said[0].startswith(lines[0]) and said[1:] == lines[1:], err


def test_help_names_every_command_with_an_example_that_is_one_of_its_own_and_the_exit_codes(capsys):
    def printed(*argv):
        with pytest.raises(SystemExit) as caught:
            main(argv)
        assert caught.value.code == 0
        return " ".join(capsys.readouterr().out.split())
    commands = ["lesson", "list", "schema", "call", "chat", "serve", "vendor"]
    assert list(toolreg._COMMANDS) == commands and "exit status: 0, or 2" in printed("--help")
    for command in commands:
        said = printed(command, "--help")
        example = said.partition("example: python toolreg.py ")[2]
        about = toolreg._command_of(shlex.split(example)).run.__doc__
        assert about in said and about in printed("--help") and example.startswith(command)
    assert printed("--version") == f"toolreg {toolreg.__version__}"


# --- lessons
def lesson_parts(capsys, number, *options):
    status, out, err = run_main(capsys, "lesson", str(number), *options)
    assert (status, err) == (0, "")
    program, _, printed = out.partition("\n=== What it prints ===\n")
    return program.partition("===\n\n")[2], printed.partition("\n=== Lessons:")[0].lstrip("\n")


@pytest.mark.parametrize("number, rows", [
    (1, ["{\"role\": \"tool\", \"tool_call_id\": \"call_1\", \"content\": \"Oslo: sunny, 25 °C\"}",
         "[{'role': 'tool', 'tool_call_id': 'call_1', 'content': 'Oslo: sunny, 25 °C'}]"]),
    (2, ['model   calls get_time {"city": "Oslo"}  [call_2]', "tool    get_time answers [call_2] Oslo: 14:05",
         "It is 14:05, and sunny at 25 °C."]),
    (3, ["  by table: the program ends with a KeyError: 'weather'",
         '  registry: Error: there is no tool "weather" (there are: get_weather)']),
    (4, ["  not at all: booked a single room for many nights", "  by hand:    booked a suite room for 2 nights",
         '    - room: "suite" is not one of "single", "double"', "  by schema:  booked a single room for 2 nights"]),
    (5, ["        sent as auto", "model   It often is.", "tool    get_weather answers [call_1] Oslo: sunny, 25 °C",
         "tool    get_weather fails [call_1] Error: no tool was to be called now.",
         "        sent as {'type': 'function', 'function': {'name': 'get_weather'}}"]),
    (6, ["path toolcall_reason", "? delete_file {'path': '/etc/hosts'}, because: it is old",
         "tool    delete_file fails [call_1] Error: the user did not allow this. Ask which file is meant.",
         "tool    delete_file answers [call_2] /tmp/old.txt is deleted"]),
])
def test_a_lesson_shows_what_it_is_about_by_a_program_that_prints_the_same_by_itself(number, rows, tmp_path, capsys):
    program, printed = lesson_parts(capsys, number)
    assert [row for row in rows if row not in printed.splitlines()] == []
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    (tmp_path / "lesson.py").write_text(program, "utf-8")
    alone = run_python("-I", "-S", "-B", "-c", "import sys; sys.path.insert(0, '.'); import lesson", cwd=tmp_path)
    assert alone.lstrip("\n") == printed and 15 <= len(program.splitlines()) <= 30


def test_lessons_are_listed_and_drawn_and_the_second_runs_where_nothing_is_said(tmp_path, capsys):
    listed = run_main(capsys, "lesson")[1]
    assert [line[:3] for line in listed.splitlines()[2:]] == ["1  ", "2  ", "3  ", "4  ", "5  ", "6  "]
    out = run_main(capsys)
    assert out == run_main(capsys, "lesson", "2") and out[1].endswith(listed)
    drawn, page = tmp_path / "flow.mmd", tmp_path / "flow.html"
    lesson_parts(capsys, 2, "--mermaid", str(drawn), "--html", str(page))
    assert "M->>R: call_2: get_time" in drawn.read_text("utf-8")
    assert page.read_text("utf-8").count('<details class="call" open>') == 2


@of("http")
def test_a_lesson_runs_with_a_real_model_in_chat_completions_where_one_is_named(user_files, monkeypatch, capsys):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-secret")
    assert run_main(capsys, "lesson", "2", "--model", "m")[0] == 2
    monkeypatch.setenv("OPENAI_MODEL", "m")
    with serving(*saying("It rains.")) as (url, requests):
        printed = lesson_parts(capsys, 2, "--base-url", url, "--model")[1]
    assert printed == "user    Time and weather in Oslo?\nmodel   It rains.\nIt rains.\n" and len(requests) == 2
    assert sent_body(requests[0])["tools"][1]["function"]["name"] == "get_time"
    monkeypatch.setenv("OPENAI_API_KEY", "a-secret")
    model = toolreg._model_of(toolreg._command_of(["lesson", "2", "--model", "m"]), api_format="openai-chat")
    assert model._url == "https://api.openai.com/v1/chat/completions"


def test_the_readme_shows_the_lessons_as_they_are(tmp_path, capsys):
    lesson = (HERE / "README.md").read_text("utf-8").partition("## The message flow, step by step\n")[2]
    lesson = lesson.partition("\n## ")[0]
    shown = "".join("".join(lesson_parts(capsys, number)) for number in range(1, 7))
    blocks = re.findall(r"```text\n(.*?)```", lesson, re.DOTALL)
    assert len(blocks) >= 4 and [block for block in blocks if block not in shown] == []
    run_main(capsys, "lesson", "2", "--mermaid", str(tmp_path / "flow.mmd"))
    assert f"```mermaid\n{(tmp_path / 'flow.mmd').read_text('utf-8')}```" in lesson


# --- vendor: copies with some of the chapters
def vendored(folder, *options):
    """Make a copy by the command, and give its text; it goes to a folder that is made for it."""
    path = folder / "_vendor" / "toolreg.py"
    assert main(["vendor", *options, "--force", "-o", str(path)]) == 0
    return path.read_text("utf-8")


def below_head(copy):
    return copy.partition("# SPDX")[2]


@pytest.mark.parametrize("chapters", ["core", *sorted(HERE_ARE), "all"])
def test_a_copy_with_one_chapter_works_isolated_and_holds_what_that_needs_and_no_more(chapters, tmp_path, capsys):
    copy = vendored(tmp_path, "--with", chapters)
    kept = {"core": set(), "all": HERE_ARE}.get(chapters, {chapters})
    while more := {need for section in TAIL if section.key in kept for need in section.uses if need.isalpha()} - kept:
        kept |= more
    assert {section.key for section in sections_of(copy) if section.key.isalpha()} == kept
    assert f"{len(copy.splitlines())} lines, {len(copy.encode())} bytes: the core" in capsys.readouterr().err
    script = ("import sys; sys.path.insert(0, '.'); from _vendor import toolreg\n"
              f"assert all(hasattr(toolreg, name) for name in toolreg.__all__)\n{SMOKE}")
    assert run_python("-I", "-S", "-B", "-c", script, cwd=tmp_path) == "it works\n"


@pytest.mark.parametrize("options", ["", "--with mcp", "--without cli", "--with all"])
def test_a_copy_has_no_import_that_nothing_uses_and_declares_no_method_that_nothing_mounts(options, tmp_path, capsys):
    copy = vendored(tmp_path, *options.split())
    front, _, text = copy.partition("\n__version__")
    imported = {name.asname or name.name for node in ast.walk(ast.parse(front)) for name in getattr(node, "names", ())}
    assert [name for name in imported - {"annotations"} if not re.search(rf"\b{name}\b", text)] == []
    declared = re.findall(r"^    (\w+): ClassVar\[[^=\n]+$", copy, re.MULTILINE)
    assert sorted(declared) == sorted(re.findall(r"^(?:Tool|ToolRegistry)\.(\w+) = ", copy, re.MULTILINE))
    assert (options == "--with all") <= (front.partition("# SPDX")[2] == SOURCE.partition("\n__version__")[0].partition("# SPDX")[2])


def test_the_whole_copy_is_the_source_below_a_head_that_says_how_it_was_made(tmp_path, capsys):
    about, *head = vendored(tmp_path, "--with", "all").partition("# SPDX")[0].replace("\n#     ", " ").splitlines()
    body = SOURCE.partition("\n")[2]
    assert vendored(tmp_path, "--with", "all").endswith(f"\n{body}") and SOURCE.startswith("#!/usr/bin/env python3\n")
    assert about == f"# toolreg {toolreg.__version__}, the core and these chapters: {', '.join(each.key for each in TAIL)}"
    assert head == [f"# made by: python toolreg.py vendor --with all -o {tmp_path / '_vendor' / 'toolreg.py'}",
                    f"# of a toolreg.py that has the sha256: {hashlib.sha256(SOURCE.encode()).hexdigest()}",
                    f"# do not edit what is below, make it anew; its sha256: {hashlib.sha256(body.encode()).hexdigest()}"]


@pytest.mark.parametrize("options, same", [
    ("", "--with core"), ("--with openapi,cli", "--with cli,trace,openapi"),
    ("--with all --without 'mcp, cli'", "--without mcp,cli"), ("--without core", "--with all"),
])
def test_the_command_in_the_head_of_a_copy_makes_it_anew_and_where_no_file_is_named_it_is_printed(options, same, tmp_path, capfd):
    copy = vendored(tmp_path, *shlex.split(options))
    command = re.search("^# made by: python toolreg.py (.*)$", copy, re.MULTILINE)[1]
    (tmp_path / "_vendor" / "toolreg.py").write_bytes(copy.replace("\n", "\r\n").encode())      # as git may have done
    assert main(shlex.split(command)) == 0 and (tmp_path / "_vendor" / "toolreg.py").read_bytes() == copy.encode()
    capfd.readouterr()
    assert main(["vendor", *shlex.split(same)]) == 0 and below_head(capfd.readouterr().out) == below_head(copy)


def test_a_copy_that_has_the_command_line_makes_smaller_ones_itself_and_one_without_it_says_so(tmp_path, capsys):
    copy = tmp_path / "_vendor" / "toolreg.py"
    vendored(tmp_path, "--with", "extract,cli")
    copy.rename(tmp_path / "larger.py")
    assert run_python("-I", "-c", "import runpy; runpy.run_path('larger.py')", cwd=tmp_path) == ""
    done = subprocess.run([sys.executable, "larger.py", "vendor", "--with", "extract"], cwd=tmp_path, capture_output=True,
                          encoding="utf-8", timeout=60)
    assert done.returncode == 0 and below_head(done.stdout) == below_head(vendored(tmp_path, "--with", "extract"))
    done = subprocess.run([sys.executable, copy], capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == '"main" needs the chapter "cli" (cut from this copy)\n'


def test_the_list_of_chapters_says_how_long_they_are_and_what_they_need(capsys):
    status, out, err = run_main(capsys, "vendor", "--list")
    rows = [line.split(None, 2) for line in out.splitlines()]
    assert (status, err) == (0, "") and [row[0] for row in rows] == ["core", *(section.key for section in TAIL)]
    assert sum(int(row[1]) for row in rows) == SOURCE.count("\n")
    for section, (_, lines, text) in zip(TAIL, rows[1:]):
        needs = ", ".join(other.key for other in TAIL if other.key in section.uses)
        assert text == section.title + (f" · needs {needs}" if needs else "")
        assert abs(int(lines) - section.text.count("\n")) <= 1


def test_the_source_is_read_from_a_zip_and_where_there_is_only_bytecode_that_is_said(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("toolreg.py", SOURCE)
        archive.writestr("__main__.py", "import toolreg\ntoolreg.main(['lesson', '1'])\ntoolreg.main(['vendor', '-o', 'made.py'])")
    done = subprocess.run([sys.executable, "-I", "app.zip"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert b"def get_weather(city: str) -> str:" in done.stdout
    assert below_head((tmp_path / "made.py").read_text("utf-8")) == below_head(vendored(tmp_path))
    (tmp_path / "toolreg.py").write_text(SOURCE, "utf-8")
    py_compile.compile(str(tmp_path / "toolreg.py"), str(tmp_path / "toolreg.pyc"), doraise=True)
    (tmp_path / "toolreg.py").unlink()
    for command in (["lesson", "2"], ["vendor"]):
        done = subprocess.run([sys.executable, "toolreg.pyc", *command], cwd=tmp_path, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr.decode()) == (2, "toolreg: could not get source code\n")


# --- how it is run
def test_the_file_runs_as_a_script_and_as_a_module_beside_code_that_imports_it(user_files):
    script, ascii_only = toolreg.__file__, {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    (user_files / "my_tools.py").write_text(TOOLS_FILE.replace("Add two numbers", "加"), "utf-8")
    (user_files / "json.py").unlink()
    listed = "add_numbers              \\u52a0.\n"
    assert run_python(script, "list", "my_tools.py", cwd=user_files, env=ascii_only) == listed
    assert "sunny, 25 \\xb0C" in run_python(script, cwd=user_files, env=ascii_only)
    (user_files / "app" / "_vendor").mkdir(parents=True)
    (user_files / "app" / "_vendor" / "toolreg.py").write_text(SOURCE, "utf-8")
    (user_files / "theirs.py").write_text(TOOLS_FILE.replace("from toolreg", "from app._vendor.toolreg"), "utf-8")
    for module, file in (("toolreg", "my_tools"), ("app._vendor.toolreg", "theirs")):
        environ = {**os.environ, "PYTHONPATH": str(pathlib.Path(script).parent)}
        assert run_python("-m", module, "call", file, '{"a": 1}', cwd=user_files, env=environ) == "2\n"


def test_a_reader_that_has_seen_enough_ends_a_lesson_quietly(tmp_path):
    with subprocess.Popen([sys.executable, toolreg.__file__], cwd=tmp_path, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as lesson:
        lesson.stdout.close()
        assert lesson.stderr.read() == b"" and lesson.wait(30) == 0


@pytest.mark.parametrize("chapter, argv, word", [
    ("serve", "serve x.py", "serve_mcp"), ("http", "chat x.py hi", "HttpModel"), ("http", "lesson 2 --model m", "HttpModel")])
def test_a_command_names_the_chapter_that_was_cut_out(chapter, argv, word, tmp_path, monkeypatch, capsys):
    assert load_copy(without({chapter}), tmp_path, monkeypatch).main(argv.split()) == 2
    assert capsys.readouterr().err == f'toolreg: "{word}" needs the chapter "{chapter}" (cut from this copy)\n'


# --- chat
class Keyboard(io.StringIO):
    def isatty(self):
        return True


def calling(*arguments, name="add_numbers"):
    """Give an answer with calls of one tool, with ids c1, c2, …"""
    return completion({"role": "assistant", "content": "", "tool_calls": [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, text in enumerate(arguments, 1)]})


def saying(*texts):
    return [completion({"role": "assistant", "content": text}) for text in texts]


@pytest.fixture
def chat(user_files, monkeypatch, capsys):
    """Chat with a model that gives these answers, as at a terminal where this is typed; give what came of it, and was sent."""
    def run(answers, typed, *options, provider="OPENAI"):
        monkeypatch.setattr(sys, "stdin", Keyboard(typed) if isinstance(typed, str) else typed)
        monkeypatch.setenv(f"{provider}_MODEL", "m")
        with serving_each(*answers) as (url, requests):
            monkeypatch.setenv(f"{provider}_BASE_URL", url)
            status, out, err = run_main(capsys, "chat", "my_tools.py", *options)
        return status, re.sub(r" in \d\.\d\d s", " in S s", out), err, [sent_body(request) for request in requests]
    return run


def contents(messages):
    return [message["content"] for message in messages]


@of("http")
def test_chat_runs_the_loop_with_the_tools_of_a_file_and_shows_the_flow(chat, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SOME_KEY)
    answers = calling('{"a": 2, "toolcall_reason": "sum"}'), *saying("3")
    options = "--think 2+1? --choice required --mermaid flow.mmd".split()
    status, out, err, (asked, _) = chat(answers, "", *options)
    assert (status, err) == (0, "") and out.splitlines() == [
        "user    2+1?", 'model   calls add_numbers {"a": 2}  [c1]', "        because: sum",
        "tool    add_numbers answers [c1] in S s 3", "model   3"]
    assert pathlib.Path("flow.mmd").read_text("utf-8").startswith("sequenceDiagram\n")
    assert "toolcall_reason" in asked["tools"][0]["function"]["parameters"]["properties"]
    assert asked["tool_choice"] == "required"


@of("http")
def test_chat_shows_a_streamed_text_once_and_draws_what_there_is_when_the_turns_are_over(chat):
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "add_numbers", "arguments": "{}"}}]}
    stream = event_stream({"content": "let\nme"}, {"content": " \x1b[2Jsee"}, call, finish="tool_calls")
    status, out, err, _ = chat([stream] * 2, "", *"hi --stream --max-turns 2 --mermaid flow.mmd".split())
    assert status == 2 and err.startswith("toolreg: the model still called tools in turn 2")
    assert out.count("\nmodel   let\n") == 2 and out.startswith(
        "user    hi\nmodel   let\n        me \\x1b[2Jsee\n"
        "model   calls add_numbers {}  [c1]\ntool    add_numbers fails [c1] in S s Error")
    assert "M->>R: c1: add_numbers {}" in pathlib.Path("flow.mmd").read_text("utf-8")


@of("http")
def test_a_chat_goes_on_until_ctrl_d_and_is_kept_in_a_file_from_which_the_next_one_goes_on(chat, user_files):
    options = "--system", "Be brief.", "--save", "talk.json"
    status, out, err, sent = chat(saying("One.", "Two."), "first\n\nsecond\n", *options, "--html", "talk.html")
    assert (status, err) == (0, "")
    assert out == "Ctrl-C stops an answer, Ctrl-D ends.\n\n> model   One.\n\n> \n> model   Two.\n\n> \n"
    kept = json.loads((user_files / "talk.json").read_text())
    sent += chat(saying("Three."), "third\n", *options)[3]
    texts = ["Be brief.", "first", "One.", "second", "Two.", "third", "Three."]
    assert contents(kept) == texts[:5] and contents(json.loads((user_files / "talk.json").read_text())) == texts
    assert [contents(asked["messages"]) for asked in sent] == [texts[:2], texts[:4], texts[:6]]
    assert (user_files / "talk.html").read_text().count("<details") == 5
    assert sorted(path.name for path in user_files.glob("talk*")) == ["talk.html", "talk.json"]


@of("http")
def test_ctrl_c_or_an_error_ends_one_answer_and_not_the_chat_and_a_stopped_call_is_answered(chat, user_files, capsys):
    (user_files / "my_tools.py").write_text(WAIT_FILE)
    assert run_main(capsys, "call", "my_tools.py", '{"n": 1}') == (130, "", "")
    answers = calling('{"n": 1}', name="wait"), failure(400), *saying("Good.")
    status, out, err, sent = chat(answers, "wait\nfail\nnever mind\n")
    assert status == 0 and out.endswith("model   Good.\n\n> \n")
    assert err.startswith("toolreg: stopped\ntoolreg: ") and "400" in err and err.count("toolreg: ") == 2
    assert contents(sent[2]["messages"]) == [
        "wait", "", "Error: the user stopped this before the tool had finished.\nWait for what the user says next.",
        "fail", "never mind"]


@of("http")
def test_after_ctrl_c_the_model_is_told_what_was_through(chat, user_files):
    (user_files / "my_tools.py").write_text(TOOLS_FILE + f"registry.max_workers = 1\n@registry.register\n{WAIT_FILE}")
    both = completion({"role": "assistant", "content": "", "tool_calls": [
        {"id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in (("add_numbers", '{"a": 1}'), ("wait", '{"n": 1}'))]})
    status, out, err, sent = chat((both, *saying("Good.")), "go\nand?\n")
    assert (status, err) == (0, "toolreg: stopped\n")
    assert contents(sent[1]["messages"]) == ["go", "", "2", (
        "Error: the user stopped this before the tool had finished.\nWait for what the user says next."), "and?"]


@of("http")
@pytest.mark.parametrize("saved", ['[{"role": "assistant", "content": 5}]', '[{"role": "assistant", "tool_calls": 5}]'])
def test_saved_messages_that_no_api_has_are_one_line_of_error(chat, user_files, saved):
    (user_files / "talk.json").write_text(saved)
    status, out, err, _ = chat(saying("One."), io.StringIO("q"), "--save", "talk.json")
    assert status == 2 and err.startswith("toolreg: ") and err.count("\n") == 1


@of("http")
@pytest.mark.parametrize("typed, content", [
    ("y\n", "3"), ("Yes\n", "3"),
    *[(typed, "Error: the user did not allow this call.\nDo not repeat it; ask what to do instead.")
      for typed in ("n\n", "\n", "")],
])
def test_before_a_call_that_runs_a_person_is_asked_where_that_is_wanted(chat, typed, content):
    status, out, err, (_, told) = chat((calling('{"a": "2"}', '{"b": 2}'), *saying("ok")), typed, "2+1?", "--ask")
    assert (status, err) == (0, "") and out.count("[y/N]") == 1 and 'run add_numbers {"a": 2}? [y/N] ' in out
    assert contents(told["messages"])[2] == content and "a: is missing" in contents(told["messages"])[3]


@of("http")
def test_the_hooks_of_a_registry_are_asked_too(chat, user_files):
    (user_files / "my_tools.py").write_text(TOOLS_FILE + (
        "def deny(call, reason): raise PermissionError('not ' + call.name)\n"
        "def log(call, result): print('logged', result.tool_call_id)\n"
        "registry.before_call, registry.after_call = deny, log\n"))
    _, out, _, (_, told) = chat((calling('{"a": 2}'), *saying("ok")), "y\n", "2+1?", "--ask")
    assert "logged c1\n" in out and "not add_numbers" in contents(told["messages"])[2]


@of("http")
@pytest.mark.parametrize("options, answer, status, question", [
    ((), "ok", 0, "two\nlines\n"), (("-",), "ok", 0, "two\nlines\n"), (("x",), None, 2, "x")])
def test_a_question_comes_from_stdin_where_nobody_types_and_an_error_ends_the_command(chat, options, answer, status, question):
    came = chat(saying(answer) if answer else [failure(400)], io.StringIO("two\nlines\n"), *options)
    assert came[0] == status and contents(came[3][0]["messages"]) == [question]


GEMINI = "https://generativelanguage.googleapis.com"


@of("http", "responses", "anthropic", "gemini")
@pytest.mark.parametrize("environ, given, api_format, url", [
    ("OPENAI_API_KEY=my-key", "", "openai-responses", "https://api.openai.com/v1/responses"),
    ("OPENAI_BASE_URL=https://api.openai.com/v1/", "", "openai-responses", "https://api.openai.com/v1/responses"),
    ("OPENAI_API_KEY=my-key OPENAI_BASE_URL=http://x/v1", "", "openai-chat", "http://x/v1/chat/completions"),
    ("OPENAI_BASE_URL=https://api.openai.com.example", "", "openai-chat", "https://api.openai.com.example/chat/completions"),
    ("ANTHROPIC_API_KEY=my-key", "", "anthropic", "https://api.anthropic.com/v1/messages"),
    ("ANTHROPIC_API_KEY=other", "http://x/v1", "openai-chat", "http://x/v1/chat/completions"),
    ("GEMINI_API_KEY=my-key", "", "gemini", f"{GEMINI}/v1/models/m:generateContent"),
    ("OPENAI_API_KEY=other GEMINI_API_KEY=my-key", GEMINI, "gemini", f"{GEMINI}/v1/models/m:generateContent"),
    ("OPENAI_API_KEY=my-key GEMINI_API_KEY=other", f"{GEMINI}/openai", "openai-chat", f"{GEMINI}/openai/chat/completions"),
])
def test_each_provider_is_asked_at_its_own_address_with_its_own_key(user_files, monkeypatch, environ, given, api_format, url):
    for each in environ.split():
        monkeypatch.setenv(*each.split("="))
    model = toolreg._model_of(toolreg._command_of(["chat", "x.py", "hi", "--model", "m", *["--base-url", given] * bool(given)]))
    assert (model.api_format, model._url) == (api_format, url)
    assert ("my-key" in str(model._headers)) == ("my-key" in environ) and "other" not in str(model._headers)


@of("http", "anthropic")
def test_a_chat_in_another_api_goes_on_and_its_stopped_call_is_answered(chat, user_files):
    (user_files / "my_tools.py").write_text(WAIT_FILE)
    turns = [{"type": "tool_use", "id": "c1", "name": "wait", "input": {"n": 1}}], [{"type": "text", "text": "Good."}]
    answers = [json_answer({"role": "assistant", "content": content, "stop_reason": "end_turn"}) for content in turns]
    status, out, err, (_, asked) = chat(answers, "wait\nnever mind\n", "--system", "Be brief.", provider="ANTHROPIC")
    assert (status, err) == (0, "toolreg: stopped\n") and out.endswith("model   Good.\n\n> \n")
    assert asked["system"] == [{"type": "text", "text": "Be brief."}]
    assert [message["role"] for message in asked["messages"]] == ["user", "assistant", "user", "user"]
    assert (asked["messages"][2]["content"][0]["tool_use_id"], asked["messages"][2]["content"][0]["is_error"]) == ("c1", True)


@of("http")
def test_a_terminal_shows_that_the_model_is_waited_for(user_files, monkeypatch):
    shown = Keyboard()
    monkeypatch.setattr(sys, "stdout", shown)
    with serving(*saying("ok")) as (url, _):
        assert main(["chat", "my_tools.py", "hi", "--base-url", url, "--model", "m"]) == 0
    assert "model   …\r" in shown.getvalue() and shown.getvalue().endswith("\rmodel   ok\n")


# --- serve
@of("serve")
def test_serve_says_what_a_client_has_to_know_and_keeps_stdout_for_the_protocol(user_files):
    (user_files / "json.py").unlink()
    (user_files / "my_tools.py").write_text("print('loaded')\n" + TOOLS_FILE)
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    done = subprocess.run([sys.executable, toolreg.__file__, "serve", "my_tools.py"], cwd=user_files, timeout=60,
                          input=ping + "\n", capture_output=True, encoding="utf-8")
    assert json.loads(done.stdout)["id"] == 1
    assert json.loads(done.stderr.partition("loaded\n")[2]) == {"mcpServers": {"my_tools": {
        "command": sys.executable, "args": [os.path.abspath(toolreg.__file__), "serve", str(user_files / "my_tools.py")]}}}


@of("serve")
def test_serve_over_http_takes_its_token_from_the_environment_and_says_where_it_is(user_files):
    (user_files / "json.py").unlink()
    with subprocess.Popen([sys.executable, toolreg.__file__, "serve", "my_tools.py", "--http", "127.0.0.1:0"],
                          cwd=user_files, env={**os.environ, "TOOLREG_TOKEN": "a-secret"}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            url = server.stderr.readline().removeprefix("toolreg: serving MCP at ").strip()
            ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
            assert [toolreg._request("POST", url, body=ping, headers={
                "Content-Type": "application/json", "Authorization": f"Bearer {token}"}).status
                for token in ("another", "a-secret")] == [401, 200], url
        finally:
            server.kill()
