"""Checks of `.ci/run` that are no pytest tests: python .ci/checks.py cut|wheel|bfcl ARGUMENT..."""
import ast
import json
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CUT_LINE = "# ===== end of the core: everything below may be deleted =====\n"


def cut(module, tests, folder):
    """Write the core without the tail, and the tests of sections 1 to 11 (with section 0's helpers)."""
    core, line, tail = pathlib.Path(module).read_text("utf-8").partition(CUT_LINE)
    assert line and tail, "there is no cut line"
    text = pathlib.Path(tests).read_text("utf-8")
    heading = re.compile(r"^# -{20,}\n# (\d+(?=\. )|[a-z]+(?=: ))[.:] .*\n# -{20,}\n", re.M)
    start = {found[1]: found.start() for found in heading.finditer(text)}
    text = text[:min(at for key, at in start.items() if key.isalpha())]
    lines = text.splitlines(keepends=True)
    first, last = text[:start["0"]].count("\n"), text[:start["1"]].count("\n")
    for node in reversed(ast.parse(text).body):
        if first < node.lineno <= last and getattr(node, "name", "").startswith("test_"):
            begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[begin - 1:node.end_lineno]
    pathlib.Path(folder, "toolreg.py").write_text(core, "utf-8")
    pathlib.Path(folder, "test_toolreg.py").write_text("".join(lines), "utf-8")
    print(f"the core has {len(core.splitlines())} lines")


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
    {"cut": cut, "wheel": wheel, "bfcl": bfcl}[sys.argv[1]](*sys.argv[2:])
