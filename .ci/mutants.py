"""Show that the tests notice: each row breaks one line of the core, and the tests must fail.

    python .ci/mutants.py [NUMBER ...]      # all, or those of some sections

A row is (section, old text, new text); the old text stands exactly once in the section. Each is applied to a copy; the
tests of the section run first, and all others only where those pass. A mutant that they all let live is a failure.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SECONDS = 600               # for one run of the tests; one that takes longer counts as noticed

HEADING = r"^# -{20,}\n# (\d+(?=\. )|[a-z]+(?=: ))[.:] .*\nEND# -{20,}\n"

MUTANTS = [
    # 1. words
    (1, "strict=False, parse_float=_finite", "strict=True, parse_float=_finite"),
    (1, "False, False, False)", "False, False, True)"),
    (1, "for _ in range(MAX_DEPTH):", "for _ in range(MAX_DEPTH + 1):"),
    (1, 'text[:SHOWN_CHARACTERS] + "…"', "text[:SHOWN_CHARACTERS]"),
    # 2. JSON Schema
    (2, 'value >= n, "is less than"', 'value > n, "is less than"'),
    (2, 'value < n, "is not less than"', 'value <= n, "is not less than"'),
    (2, 'len(value) >= n, "has fewer characters than"', 'len(value) > n, "has fewer characters than"'),
    (2, "return number % unit == 0", "return value % step == 0"),
    (2, "kinds |= {int, float} ", "pass "),
    ("schema", "if least <= len(fitting) <= most:", "if least <= len(fitting):"),
    (2, "sum(check(value) for check in checks) == 1", "sum(check(value) for check in checks) >= 1"),
    (2, "first, each = len(node.arguments.get(before, ())), _each(sub)", "first, each = 0, _each(sub)"),
    ("schema", "for key in keys(value) if key not in seen]", "for key in keys(value) if key in seen]"),
    (2, "key in self.optional and not node.fits(None)", "key in self.optional"),
    # 3. JSON out
    (3, "sorted(value, key=_place_in_set)", "list(value)"),
    # 4. types
    (4, '"additionalProperties": item.schema or True}', '"additionalProperties": True}'),
    (4, 'needed = {"required": required} if required else {}', "needed = {}"),
    (4, "more = bool(rest) and (", "more = True and ("),
    (4, '(word != "typing.NotRequired" and name in', '(name in'),
    (3, "if id(value) in around or depth >= MAX_DEPTH:", "if depth >= MAX_DEPTH:"),
    (4, "(place, *each.path)) for each in unfit.errors]", "each.path) for each in unfit.errors]"),
    (4, "            if others:\n", "            if True:\n"),
    # 5. reasons
    (5, "in arguments and not declared:", "in arguments and declared:"),
    (5, "{**reason, **properties} if first else {**properties, **reason}", "{**reason, **properties}"),
    # 6. functions
    (4, "bool(rest) and (further.schema or True)", "bool(rest)"),
    (6, "if name not in takes.hidden:", "if True:"),
    (6, "for each in takes.positional[:last + 1]), kwargs", "for each in takes.positional[:last]), kwargs"),
    (6, "if name in takes.hidden or not (name in known or takes.rest)]", "if not (name in known or takes.rest)]"),
    # 7. messages
    (7, "if wraps and type(value)", "if wraps > 1 and type(value)"),
    # 8. provider formats
    (8, "asked = think_augment if known.think_augment is None else known.think_augment", "asked = think_augment"),
    (8, '"strict": said is not None}', '"strict": strict}'),
    ("spellings", 'entry.get("call_id") or entry.get("id")', 'entry.get("id") or entry.get("call_id")'),
    ("streams", "        return _CUT\n", '        return "{}"\n'),
    ("ollama", "or not _MORE_THAN_TYPES.isdisjoint(said)", ""),
    ("anthropic", '**({"is_error": True} if result.is_error else {})', "**({})"),
    (8, "replace(call, id=_fresh_id()) if call.id in used else call", "call"),
    (8, "        _check_copy(result)\n", "        pass\n"),
    (8, "            if not isinstance(arguments, str): ", "            if False: "),
    ("spellings", "unfit & _TAKEN_BACK or not call.arguments", "not call.arguments"),
    ("streams", 'function.get("arguments") in ("{}", arguments)', 'function.get("arguments") == "{}"'),
    # 9. tools
    (9, "{1,64}\\Z", "{1,64}$"),
    (9, "raise (_misfit(self.name, error.errors) if error.errors else error) from None", "raise"),
    (9, "if isinstance(value, Iterator):\n        return list(value)", "if False:\n        return value"),
    (9, "self._validator.nearest(arguments) if coerce else arguments", "self._validator.nearest(arguments)"),
    (9, 'if "await" not in _CHAPTERS_DO and self._is_async:', "if False:"),
    (4, "if default is None and not _may_be(form.schema, type(None), False):",
     "if default is None and _may_be(form.schema, type(None), False):"),
    (9, "        _check_copy(func)\n", ""),
    # 10. registry
    (10, "(tool.name in self._tools and not replace)", "(tool.name in self._tools)"),
    (10, "        if name in self._disabled:\n", "        if self._disabled.get(name):\n"),
    (10, "texts = _DENIED\n                _finished", "texts = _FAILED\n                _finished"),
    (10, "wanted.intersection(tool.metadata.tags)", "wanted <= set(tool.metadata.tags)"),
    (10, "                beside.clear() ", "                pass "),
    (10, "        beside.clear()\n\n", "        pass\n\n"),
    (10, "made._disabled, made._spelled = dict(self._disabled)", "made._disabled, made._spelled = {}"),
    (10, '"inject": {**self.inject, **(options.get("inject") or {})}}', '"inject": options.get("inject") or {}}'),
    (10, "workers == 1 or tool is None or not tool.metadata.parallel", "workers == 1 or tool is None"),
    (10, "if kind is Exception and texts is not _DENIED:", "if False:"),
    (10, "content if self.max_result is None else self._cut(content)", "content"),
    (10, "self._disabled.copy().items() if name not in added}", "self._disabled.copy().items()}"),
    (10, "return [_copied(schema) for schema in spelled]", "return spelled"),
    (10, 'if type(error).__name__ == "CancelledError":', "if False:"),
    (10, "contextvars.copy_context().run(self._execute_one, call, executor)", "self._execute_one(call, executor)"),
    (10, 'if tool.metadata.source in ("python", "class"):', "if False:"),
    # 11. the loop
    (11, "for _ in range(run.max_turns):", "for _ in range(run.max_turns + 1):"),
    (11, 'self.ask_for("auto")', "pass"),
    (11, "if self.names is None or call.name in self.names]", "]"),
    (8, "not (calls or goes_on)", "not (calls and goes_on)"),
    (11, "messages=list(run.history))", "messages=[])"),
    ("extract", "        run.ask_for(choice) ", "        choice = choice "),
    ("resume", "waiting = [call for call in waiting if call is not first]", "pass"),
    ("resume", "        run.history = _with_shared", "        _with_shared"),
    (11, "if is_needed and name not in registry.inject and", "if False and"),
    ("resume", "key=lambda part: not api.answers(part))", "key=lambda part: 0)"),
    # chapters
    ("async", "async with here if _stays(self, call, workers) else beside:", "if True:"),
    ("async", "            if is_last:\n                return", "            if is_last:\n                break"),
    ("texts", '("-", -value) if value.days < 0 else ("", value)', '("", value)'),
    ("mcp", "    if is_structured and not _is_said(structured, texts):", "    if is_structured and not texts:"),
    ("serve", "403: not all(is_ours)", "403: not any(is_ours)"),
    ("desk", "if tool and not tool.metadata.parallel:", "if False:"),
    ("elsewhere", "0 < seconds <= ", "0 <= seconds <= "),
    ("elsewhere", "not tool.metadata.parallel or tool.metadata.source", "tool.metadata.source"),
]


def sections_of(text, heading):
    """Give {number: (start, end)} of the sections in a text."""
    found = list(re.finditer(heading, text, re.MULTILINE))
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {each[1]: (each.start(), end) for each, end in zip(found, ends)}


def mutated(source, section, old, new):
    start, end = sections_of(source, HEADING.replace("END", r"# {4,5}uses .*\n"))[str(section)]
    count = source.count(old, start, end)
    assert count == 1, f"section {section}: {old!r} stands there {count} times, not once"
    at = source.index(old, start, end)
    return source[:at] + new + source[at + len(old):]


def tests_of(section):
    """Give the names of the tests in the section of the same number."""
    text = (ROOT / "test_toolreg.py").read_text("utf-8")
    start, end = sections_of(text, HEADING.replace("END", ""))[str(section)]
    names = re.findall(r"^(?:async )?def (test_\w+)", text[start:end], re.MULTILINE)
    return [f"test_toolreg.py::{name}" for name in names]


def first_failure(source, *tests):
    """Run tests against a changed copy; give the name of the first that fails, or None where all pass."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("test_toolreg.py", "README.md", "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
        pathlib.Path(folder, "toolreg.py").write_text(source, "utf-8")
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no", *tests]
        environment = {**os.environ, "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}       # CI: hypothesis is repeatable
        environment.pop("PYTHONPATH", None)
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return f"no end within {SECONDS} s"
    if done.returncode == 0:
        return None
    failed = re.search(r"^FAILED \S+?::(\S+)", done.stdout, re.MULTILINE)
    assert done.returncode == 1 and failed, f"the tests did not run:\n{done.stdout}\n{done.stderr}"
    return failed[1]


def judge(row):
    source = mutated((ROOT / "toolreg.py").read_text("utf-8"), *row)
    compile(source, "toolreg.py", "exec")
    return first_failure(source, *tests_of(row[0])) or first_failure(source)


def main(sections):
    started = time.monotonic()
    rows = [row for row in MUTANTS if not sections or str(row[0]) in sections]
    source = (ROOT / "toolreg.py").read_text("utf-8")
    for row in rows:
        mutated(source, *row)
    assert sections or len(rows) >= 60, f"only {len(rows)} mutants"
    failure = first_failure(source)
    assert failure is None, f"the tests fail without any mutant: {failure}"
    survivors = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, noticed in zip(rows, pool.map(judge, rows)):
            survivors += noticed is None
            verdict = f"noticed by {noticed}" if noticed else "SURVIVED"
            print(f"{row[0]:>10}  {row[1].strip()[:60]!r:64} {verdict}", flush=True)
    print(f"{len(rows)} mutants, {survivors} survived, {time.monotonic() - started:.0f} s")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(set(sys.argv[1:])))
