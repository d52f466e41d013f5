"""Tools from OpenAPI against real servers, real descriptions, and the types of two SDKs."""
import contextlib
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.request
import warnings

import httpx2
import jsonschema
import pytest
from fastmcp import FastMCP
from google.genai import types as genai_types
from openai.types.chat import ChatCompletionFunctionToolParam
from pydantic import TypeAdapter

from toolreg import HttpError, ToolDefinitionError, ToolRegistry, ToolRegWarning, openapi_tools


@contextlib.contextmanager
def running(name, path):
    """Run a server of openapi_servers.py as a child process, and give its address once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = pathlib.Path(__file__).with_name("openapi_servers.py")
    child = subprocess.Popen([sys.executable, str(script), name, str(port)], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    try:
        for _ in range(150):
            assert child.poll() is None, child.stdout.read().decode()
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        child.kill()
        child.communicate()


@pytest.fixture(scope="module")
def shop_url():
    with running("shop", "/openapi.json") as url:
        yield url


def call(registry, start, **arguments):
    """Call the one tool whose name starts so, as a model would."""
    name, = [name for name in registry.list_tools() if name.startswith(start)]
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {
        "name": name, "arguments": json.dumps({**arguments, "toolcall_reason": "why"})}}]}
    result, = registry.execute_tool_calls(message)
    assert (result.tool_call_id, result.reason) == ("c1", "why")
    return result


def value(registry, start, **arguments):
    result = call(registry, start, **arguments)
    assert not result.is_error, result.content
    return result.value


def error(registry, start, **arguments):
    result = call(registry, start, **arguments)
    assert result.is_error, result.content
    return result.content


AUTH = {"HTTPBearer": "t0ken", "APIKeyHeader": "k1", "APIKeyQuery": "k2&x"}


def test_every_operation_of_a_real_app_is_called_or_refused_by_name(shop_url):
    registry = ToolRegistry(think_augment=True)
    tools = registry.register_from_openapi(shop_url, auth=AUTH)
    assert tools.refused == {} and len(tools) == 16
    ware = {"name": "n", "price": 2.5, "size": "large", "words": ["a"], "hint": None}
    assert value(registry, "add_ware", **ware, draft=True) == {"ware": ware, "draft": True}
    assert value(registry, "add_ware", name="n", price=1)["ware"]["size"] == "small"
    replaced = value(registry, "replace_ware", name="p%2f #1", name_body="n", price=1)
    assert (replaced["old"], replaced["ware"]["name"]) == ("p%2f #1", "n")
    assert value(registry, "fill_basket", ware=ware, count=3) == {"ware": ware, "count": 3}
    assert value(registry, "pay_by", body={"pays": "bank", "account": "b"}) == {"pays": "bank", "account": "b"}
    assert value(registry, "pay_by", body={"pays": "card"}) == {"pays": "card", "digits": 16}
    shelf = {"number": 1, "within": [{"number": 2, "within": [{"number": 3, "within": []}]}]}
    assert value(registry, "build_shelves", **shelf) == shelf
    assert value(registry, "sum_up", body=[1, 2, "3"]) == 6
    assert value(registry, "write_letter", text="ä&b= c", copies="5") == {"text": "ä&b= c", "copies": 5}
    assert value(registry, "write_letter", text="x") == {"text": "x", "copies": 2}
    assert value(registry, "send_picture", file="abc", note="ü") == {"name": "file", "size": 3, "note": "ü"}
    assert value(registry, "by_bearer") == {"scheme": "Bearer", "token": "t0ken"}
    assert value(registry, "by_header") == "k1" and value(registry, "by_query") == "k2&x"
    assert value(registry, "read_paper", path="a/b c.txt") == "a/b c.txt"
    assert value(registry, "read_sign") == "open ☀"
    assert value(registry, "remove_ware", ware=1) is None
    assert "answered 500 Internal Server Error" in error(registry, "burn_down")


def test_wrong_arguments_are_told_before_a_request_is_made_and_by_the_server_where_only_it_knows(shop_url):
    registry = ToolRegistry(think_augment=True)
    document = json.load(urllib.request.urlopen(shop_url))
    find = document["paths"]["/wares/{ware}"]["get"]
    find["parameters"] = [each for each in find["parameters"] if each["in"] != "cookie"]
    registry.register_from_openapi(document)
    nothing = {"ware": 7, "text": None, "most": 10, "word": [], "x_lang": None, "visit": None}
    assert value(registry, "find_ware", ware=7) == nothing
    assert value(registry, "find_ware", ware=7, text="ä &=?#", most="5", word=["a,b", "c"], **{"x-lang": "t ☃"}) == {
        **nothing, "text": "ä &=?#", "most": 5, "word": ["a,b", "c"], "x_lang": "t ☃".encode().decode("latin-1")}
    content = error(registry, "find_ware", ware=0, most=101, wrod=[])
    assert "- ware: " in content and "- most: " in content and "- wrod: is not allowed here" in content
    assert 'answered 404 Not Found: {"detail":"sold out"}' in error(registry, "find_ware", ware=404)
    assert "- name: " in error(registry, "add_ware", name="", price=1)
    assert "- price: " in error(registry, "add_ware", name="n", price=0)
    assert "- kind: is not allowed here" in error(registry, "read_sign", kind=1)
    assert "account" in error(registry, "pay_by", body={"pays": "bank"})
    assert re.search("answered 40[13]", error(registry, "by_bearer"))
    assert "a value in the path is empty, or has a part . or .." in error(registry, "read_paper", path="..")


def test_every_document_imports_or_is_refused_by_name_and_every_schema_is_one_for_others_too(shared, capsys):
    documents = sorted((shared / "data" / "openapi").glob("*.json"))
    assert len(documents) >= 16
    lines, refused, count, left_out = [], [], 0, 0
    for path in documents:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ToolRegWarning)
            try:
                tools = openapi_tools(path, base_url="https://example.com/v1")
            except ToolDefinitionError as fault:
                refused.append(path.name)
                lines.append(f"{path.name}: refused: {fault}")
                continue
        seconds = time.perf_counter() - start
        lines.append(f"{path.name}: {len(tools)} tools, {len(tools.refused)} refused, {seconds:.3f} s")
        names = [tool.name for tool in tools]
        assert len(set(names)) == len(names) and all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names)
        assert all(reason for reason in tools.refused.values())
        left_out += len(tools.refused)
        for tool in tools:
            count += 1
            jsonschema.Draft202012Validator.check_schema(tool.parameters)
            schema, = ToolRegistry([tool], think_augment=True).get_schemas()
            TypeAdapter(ChatCompletionFunctionToolParam).validate_python(schema)
            gemini, = ToolRegistry([tool]).get_schemas(api_format="gemini")
            genai_types.FunctionDeclaration.model_validate(gemini)
    with capsys.disabled():
        print("\n" + "\n".join([*lines, f"{count} of {count + left_out} operations became tools"]))
    assert refused == ["learn_v3.1_webhook-example.json"]       # which has webhooks only
    assert count > 280 and count / (count + left_out) >= 0.99


@pytest.mark.parametrize("version, info, theirs", [
    ("3.1.0", {"title": "t", "version": "1"}, True), ("3.2.0", {"title": "t", "version": "1"}, False),
    ("3.1.0", {"title": "t"}, False)])
def test_what_fastmcp_refuses_is_taken_too(version, info, theirs):
    ask = {"operationId": "ask", "responses": {"200": {"description": "ok"}},
           "parameters": [{"name": "b", "in": "path", "required": True, "schema": {"type": "string"}}]}
    document = {"openapi": version, "info": info, "servers": [{"url": "https://example.com"}],
                "paths": {"/a/{b}": {"get": ask}}}
    assert [tool.name for tool in openapi_tools(document)] == ["ask"]
    with contextlib.nullcontext() if theirs else pytest.raises(ValueError):
        FastMCP.from_openapi(document, client=httpx2.AsyncClient(base_url="https://example.com"))


def test_a_description_that_cannot_be_had_is_an_error():
    with pytest.raises(HttpError):
        openapi_tools("http://127.0.0.1:1/openapi.json")
