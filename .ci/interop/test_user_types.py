"""mypy --strict and pyright read a user's file as they should: registered functions keep their types."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import toolreg

FILE = pathlib.Path(__file__).with_name("typed_user.py")


def said_of_file(folder, *command):
    for path in (FILE, toolreg.__file__):
        shutil.copy(path, folder)
    return subprocess.run([*command, FILE.name], cwd=folder, capture_output=True, text=True, timeout=300).stdout


def line_of(text):
    return next(number for number, line in enumerate(FILE.read_text("utf-8").splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def mypy_said(tmp_path_factory):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache"]
    return said_of_file(tmp_path_factory.mktemp("mypy"), *command)


@pytest.fixture(scope="module")
def pyright_said(tmp_path_factory, node, node_modules):
    command = [node, node_modules / "pyright" / "index.js", "--outputjson"]
    found = json.loads(said_of_file(tmp_path_factory.mktemp("pyright"), *command))["generalDiagnostics"]
    return [(each["severity"], each["range"]["start"]["line"] + 1, each["message"]) for each in found]


def test_the_file_has_every_public_name():
    words = set(re.findall(r"\w+", FILE.read_text("utf-8")))
    assert set(toolreg.__all__) - words == set()


def test_mypy_finds_what_is_wrong_and_nothing_else(mypy_said):
    errors = re.findall(r"^typed_user\.py:(\d+): error: (.*)", mypy_said, re.M)
    assert [int(line) for line, _ in errors] == [line_of("# wrong:")], mypy_said
    assert 'has incompatible type "int"; expected "str"' in errors[0][1]


def test_mypy_sees_the_types_of_registered_functions(mypy_said):
    assert re.findall(r'note: Revealed type is "(.*)"', mypy_said.replace("builtins.", "")) == [
        "def (city: str, days: int =) -> str",
        "def (count: int, user: str) -> typing.Coroutine[Any, Any, list[int]]",
        "def (city: str, days: int =) -> str"]


def test_pyright_finds_what_is_wrong_and_nothing_else(pyright_said):
    errors = [(line, message) for severity, line, message in pyright_said if severity != "information"]
    assert [line for line, _ in errors] == [line_of("# wrong:")], errors


def test_pyright_sees_the_types_of_registered_functions(pyright_said):
    assert [message.partition(" is ")[2] for severity, _, message in pyright_said if severity == "information"] == [
        '"(city: str, days: int = 1) -> str"', '"(count: int, user: str) -> CoroutineType[Any, Any, list[int]]"',
        '"(city: str, days: int = 1) -> str"']
