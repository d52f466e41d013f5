"""Run inside Pyodide (see pyodide.mjs): a lesson, then the tests that need neither threads, processes nor sockets.

Which they are is read off their code: a test that names one of NEEDS, itself or in a fixture or helper of the test
module that it uses, is left out and counted, and so are those of BY_NAME. All others must pass. The value of the last
line is the exit status.
"""
import inspect
import os
import shutil
import sys
import types

NEEDS = {"subprocess", "threading", "socket", "socketserver", "multiprocessing", "concurrent", "http", "_thread",
         "HTTPServer", "ThreadingHTTPServer", "ThreadPoolExecutor", "ProcessPoolExecutor", "run_in_executor",
         "to_thread", "_background_loop"}
BY_NAME = {             # they need threads or sockets without naming them
    "test_the_background_loop_is_kept_between_calls",
    "test_over_http_what_is_no_server_is_named",
}


def names_in(code):
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            yield constant


def code_of(thing):
    """Give the code of a function, fixture, hypothesis test or class of the test module."""
    thing = getattr(thing, "_get_wrapped_function", lambda: thing)()
    thing = inspect.unwrap(getattr(getattr(thing, "hypothesis", None), "inner_test", thing))
    if isinstance(thing, type):
        return [code for value in vars(thing).values() for code in code_of(value)]
    return [thing.__code__] if isinstance(thing, types.FunctionType) else []


def is_possible(item):
    """Tell whether a test, its fixtures and its helpers name nothing of NEEDS."""
    module, seen, here = vars(item.module), set(), item.module.__name__
    todo = [item.obj, *(module.get(name) for name in item.fixturenames)]
    while todo:
        for code in code_of(todo.pop()):
            names = set(names_in(code)) - seen
            seen |= names
            todo += [module[name] for name in names if getattr(module.get(name), "__module__", "") == here]
    return not seen & NEEDS and item.originalname not in BY_NAME


class Here:
    """Leave out what cannot run here, and count what passed."""

    passed = left_out = 0

    def pytest_collection_modifyitems(self, config, items):
        possible = [item for item in items if is_possible(item)]
        self.left_out = len(items) - len(possible)
        config.hook.pytest_deselected(items=[item for item in items if item not in possible])
        items[:] = possible

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


def run():
    sys.path[:0] = ["/work", "/site"]
    os.makedirs("/work")
    for name in ("toolreg.py", "test_toolreg.py", "README.md", "pyproject.toml"):
        shutil.copy(f"/root/{name}", "/work")
    os.chdir("/work")
    import toolreg
    if toolreg.main(["lesson", "2"]) != 0:
        return 1
    import pytest
    here = Here()
    # a timeout cannot be kept without threads, and toolreg says so: a warning, that must not be an error here
    options = ["-q", "--tb=native", "-p", "no:cacheprovider", "-W", "ignore:the timeout of:UserWarning"]
    status = pytest.main([*options, "test_toolreg.py"], plugins=[here])
    print(f"pyodide, Python {sys.version.split()[0]} on {sys.platform}: {here.passed} tests passed, "
          f"{here.left_out} need threads, processes or sockets and were left out")
    return int(status) or int(here.passed < here.left_out)


run()
