"""Checks of `.ci/run` that are no pytest tests: python .ci/checks.py cut|copies|modules|mcp|wheel|bfcl ARGUMENT..."""
import ast
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^# -{20,}\n# (\d+(?=\. )|[a-z]+(?=: ))[.:] .*\n(?:#    +uses .*\n)?# -{20,}\n", re.M)
FIXED = ("core", "async,anthropic", "mcp", "openapi", "cli")       # the last is what is left out


def cut(module, tests, folder, *options):
    """Make a copy as `vendor` does (without options: the core), and its part of the tests."""
    made = str(pathlib.Path(folder, "toolreg.py"))
    subprocess.run([sys.executable, module, "vendor", *options, "--force", "-o", made], check=True)
    kept = {found[1] for found in HEADING.finditer(pathlib.Path(made).read_text("utf-8"))}
    cut_tests(pathlib.Path(tests), kept, pathlib.Path(folder, "test_toolreg.py"))


def cut_tests(tests, kept, path):
    """Write the tests without section 0's (its helpers stay) and without the sections of chapters that were cut."""
    text = tests.read_text("utf-8")
    lines, headings = text.splitlines(keepends=True), list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    line_of = {heading[1]: (text[:heading.start()].count("\n"), text[:end].count("\n"))
               for heading, end in zip(headings, ends)}
    for node in ast.parse(text).body:
        if line_of["0"][0] < node.lineno <= line_of["0"][1] and getattr(node, "name", "").startswith("test_"):
            begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            lines[begin - 1:node.end_lineno] = [""] * (node.end_lineno - begin + 1)
    for name, (begin, end) in line_of.items():
        if name.isalpha() and name not in kept:
            lines[begin:end] = [""] * (end - begin)
    path.write_text("".join(lines), "utf-8")


def copies(folder):
    """Make the five fixed copies, each with its tests, and let twenty random ones run the smoke test."""
    sys.path.insert(0, str(ROOT))
    import toolreg
    for chapters in FIXED:
        place = pathlib.Path(folder, chapters)
        place.mkdir(parents=True)
        shutil.copy(ROOT / "pyproject.toml", place)
        cut(ROOT / "toolreg.py", ROOT / "test_toolreg.py", place, *option_of(chapters))
    source = (ROOT / "toolreg.py").read_text("utf-8")
    smoke = re.search(r'^SMOKE = """\n(.*?)^"""', (ROOT / "test_toolreg.py").read_text("utf-8"), re.M | re.S)[1]
    names = [found[1] for found in HEADING.finditer(source) if found[1].isalpha()]
    for seed in range(20):
        some = random.Random(seed).sample(names, random.Random(seed).randrange(1, len(names)))
        made = str(pathlib.Path(folder, "random", "toolreg.py"))
        assert toolreg.main(["vendor", "--with", ",".join(some), "--force", "-o", made]) == 0
        script = f"import sys; sys.path.insert(0, {os.path.dirname(made)!r}); import toolreg\n{smoke}"
        subprocess.run([sys.executable, "-I", "-S", "-B", "-c", script], check=True)


def option_of(chapters):
    return ("--without" if chapters == "cli" else "--with"), chapters


def modules(folder):
    """Write the whole file and the five fixed copies as modules of different names, for the type checkers."""
    sys.path.insert(0, str(ROOT))
    import toolreg
    for chapters in FIXED:
        made = str(pathlib.Path(folder, f"copy_{chapters.replace(',', '_')}.py"))
        assert toolreg.main(["vendor", *option_of(chapters), "--force", "-o", made]) == 0
    shutil.copy(ROOT / "toolreg.py", folder)


def wheel(path):
    """Look into the wheel and use what was installed from it."""
    import importlib.metadata

    import toolreg
    names = zipfile.ZipFile(path).namelist()
    assert [name for name in names if ".dist-info/" not in name] == ["toolreg.py"], names
    assert any("LICENSE" in name for name in names), names
    assert "site-packages" in toolreg.__file__, toolreg.__file__
    about = importlib.metadata.metadata("toolreg")
    assert about["Version"] == toolreg.__version__ and about["License-Expression"] == "MIT", about
    assert about["Requires-Python"] == ">=3.10", about["Requires-Python"]
    needed = [line for line in about.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert not needed, needed

    def double(x: int) -> int:
        return 2 * x

    registry = toolreg.ToolRegistry()
    registry.register(double)
    assert registry.invoke("double", {"x": 21}).content == "42"
    print(pathlib.Path(path).name, names)


def mcp(folder, copy):
    """Let a copy import the tools of real MCP servers: all are taken, or refused for a reason."""
    found = {}
    for place in (ROOT, pathlib.Path(copy)):
        sys.path.insert(0, str(place))
        import toolreg
        assert toolreg.__file__ == str(place / "toolreg.py"), toolreg.__file__
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            with toolreg.McpClient([sys.executable, __file__, "offer", str(path)]) as client:
                with warnings.catch_warnings(record=True):
                    tools = toolreg.mcp_tools(client)
            found.setdefault(path.name, []).append((len(tools), dict(tools.refused)))
        del sys.modules["toolreg"]
    for name, ((whole, refused), (taken, refused_here)) in found.items():
        new = {tool: reason for tool, reason in refused_here.items() if tool not in refused}
        assert whole + len(refused) == taken + len(refused_here), (name, refused, refused_here)
        assert all("chapter" in reason for reason in new.values()), (name, new)
        print(f"{name}: {taken} taken, {len(refused_here)} refused", *refused_here.values(), sep="\n    ")
    assert sum(taken + len(refused) for _, (taken, refused) in found.values()) == 97


def offer(path):
    """Be an MCP server on stdio that has the tools of a file."""
    answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                              "serverInfo": {"name": "file", "version": "1"}},
               "tools/list": {"tools": json.loads(pathlib.Path(path).read_text("utf-8"))}}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = {"result": answers[message["method"]]} if message["method"] in answers else {
                "error": {"code": -32601, "message": "no such method"}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


def bfcl(path):
    """Register real tool lists by hand and run the real calls: what is known to fit runs, nothing else does."""
    sys.path.insert(0, str(ROOT))
    import toolreg
    cases = [json.loads(line) for line in pathlib.Path(path).read_text("utf-8").splitlines()]
    expected = {False: {case_place for case_place in places(cases) if call_at(cases, case_place)["fits"]}}
    expected[True] = expected[False] | {place for place in places(cases) if cases[place[0]]["id"] == "parallel_152"}
    assert (len(expected[False]), len(expected[True])) == (1742, 1744)
    for coerce in (False, True):
        ran = {(number, place) for number, case in enumerate(cases) for place in run_case(toolreg, case, coerce)}
        assert ran == expected[coerce], ran ^ expected[coerce]
        print(f"coerce={coerce}: {len(ran)} of {len(list(places(cases)))} calls run, as they should")


def places(cases):
    return ((number, place) for number, case in enumerate(cases) for place in range(len(case["calls"])))


def call_at(cases, place):
    return cases[place[0]]["calls"][place[1]]


def run_case(toolreg, case, coerce):
    """Give the places of the calls whose function ran and gave its own name and what it got."""
    registry, legal = toolreg.ToolRegistry(coerce=coerce), {}
    for tool in case["tools"]:
        def func(_name=tool["name"], /, **arguments):
            return [_name, arguments]
        given = tool["name"], tool["description"], tool["parameters"], func
        try:
            made = toolreg.Tool(*given)
        except toolreg.ToolDefinitionError as error:
            made = toolreg.Tool(error.suggestion, *given[1:])
        registry.register(made)
        legal[tool["name"]] = made.name
    calls = [toolreg.ToolCall(f"call_{place}", legal[call["name"]], call["arguments"])
             for place, call in enumerate(case["calls"])]
    results = registry.execute_tool_calls(calls)
    assert [result.tool_call_id for result in results] == [call.id for call in calls]
    for place, (call, result) in enumerate(zip(case["calls"], results)):
        if not result.is_error:
            assert result.value[0] == call["name"], (case["id"], result)
            yield place


if __name__ == "__main__":
    {"cut": cut, "copies": copies, "modules": modules, "mcp": mcp, "offer": offer, "wheel": wheel,
     "bfcl": bfcl}[sys.argv[1]](*sys.argv[2:])
