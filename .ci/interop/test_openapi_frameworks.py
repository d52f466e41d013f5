"""Tools from OpenAPI against what four frameworks parse, through a real proxy, and beside fastmcp's import."""
import contextlib
import http.server
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolreg import HttpError, Media, ToolRegistry, openapi_tools, search_registry

SERVERS = pathlib.Path(__file__).with_name("openapi_servers.py")
WORDS = ["a b", "c,d", "ä&=#?/%", "☃"]


@contextlib.contextmanager
def running(*command, path="/"):
    """Run a child that serves a port, and give its address once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    child = subprocess.Popen([sys.executable, *(str(part).format(port=port) for part in command)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(200):
            assert child.poll() is None, "the server ended"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        os.killpg(child.pid, signal.SIGKILL)        # with its workers
        child.wait()


def value(registry, tool, /, **arguments):
    result = registry.invoke(tool, arguments)
    assert not result.is_error, result.content
    return result.value


@contextlib.contextmanager
def registry_of(framework, path):
    with running(SERVERS, framework, "{port}", path=path) as url:
        registry = ToolRegistry()
        tools = registry.register_from_openapi(url)
        assert tools.refused == {} and not [tool for tool in tools if tool.metadata.extra["openapi"]["left_out"]]
        yield registry


def test_fastapi_parses_what_was_sent():
    with registry_of("fastapi", "/openapi.json") as registry:
        assert value(registry, "all", key="k&%2f", q="ä &=#", tags=WORDS, n=2, session="s", **{"x-token": "t"}) == {
            "key": "k&%2f", "q": "ä &=#", "tags": WORDS, "n": 2.0, "session": "s", "x_token": "t"}
        item = {"name": "n", "parts": [{"name": "m", "parts": []}]}
        assert value(registry, "item", **item, dry=True) == {"item": item, "dry": True}
        assert value(registry, "form", a="ä&b= c", tags=WORDS) == {"a": "ä&b= c", "tags": WORDS}
        assert value(registry, "upload", note="ü", file="text ☃", more=["1", "2"]) == {
            "note": "ü", "file": "text ☃", "name": "file", "more": ["1", "2"]}
        assert registry["upload"](note="n", file=Media(b"bytes", "text/x"))["file"] == "bytes"
        assert value(registry, "raw", body="ü") == {"size": 2}
        assert registry.invoke("nothing", {}).content == "done: the server answered 204 without content"
        assert value(registry, "image") == Media(b"\x89PNG\xff", "image/png")
        assert registry.invoke("page", {"page": 4}).content == "[4]\n(there is more: /page?page=5)"


def test_litestar_parses_what_was_sent():
    with registry_of("litestar", "/schema/openapi.json") as registry:
        assert value(registry, "all", key="k &%", q="ä=", tags=WORDS, session="s", **{"X-Token": "t"}) == {
            "key": "k &%", "q": "ä=", "tags": WORDS, "session": "s", "token": "t"}
        assert value(registry, "item", name="ü", count=3) == {"name": "ü", "count": 3}


def test_django_ninja_parses_what_was_sent():
    with registry_of("ninja", "/openapi.json") as registry:
        assert value(registry, "all", key="k &%", q="ä=", tags=WORDS) == {"key": "k &%", "q": "ä=", "tags": WORDS}
        assert value(registry, "item", name="ü", count=3) == {"name": "ü", "count": 3}
        assert value(registry, "form", a="ä&=", n=5) == {"a": "ä&=", "n": 5}
        assert value(registry, "upload", file="text ☃") == {"name": "file", "text": "text ☃"}


def test_flask_restx_which_speaks_swagger_2_parses_what_was_sent():
    with registry_of("restx", "/swagger.json") as registry:
        assert value(registry, "all", key="k &%", q="ä=", tags=["a", "b"], many=WORDS) == {
            "key": "k &%", "q": "ä=", "tags": ["a", "b"], "many": WORDS}
        assert value(registry, "item", name="ü", count=3) == {"name": "ü", "count": 3}
        assert value(registry, "upload", note="ä", file="text") == {"note": "ä", "name": "file", "text": "text"}
        dated = {"name": "ü", "count": 3, "day": "2030-01-02T03:04:05", "stars": 5}
        assert value(registry, "dated", number=3, body=dated) == {**dated, "number": 3, "key": None}
        assert "- body.stars: " in registry.invoke("dated", {"number": 3, "body": {**dated, "stars": 6}}).content


# --- an independent reader of the specification
def read_query(query, name, style, explode):
    """Read one parameter of a query by OpenAPI's table of styles; values are texts."""
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
    if style == "deepObject":
        return {key[len(name) + 1:-1]: each for key, each in pairs}
    if explode:
        return [each for _, each in pairs]
    raw = dict(part.split("=", 1) for part in query.split("&")).get(name)
    between = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}[style]
    return [urllib.parse.unquote(each) for each in raw.split(between)]


@contextlib.contextmanager
def recording():
    seen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


@pytest.mark.parametrize("style, explode", [("form", True), ("form", False), ("spaceDelimited", False),
                                            ("pipeDelimited", False), ("pipeDelimited", True), ("deepObject", True)])
def test_what_a_reader_of_the_specification_reads_are_the_arguments(style, explode):
    is_object = style == "deepObject"
    with recording() as (url, seen):
        tool, = openapi_tools({"openapi": "3.1.0", "paths": {"/x/{p}": {"get": {"parameters": [
            {"in": "path", "name": "p", "required": True, "schema": {"type": "string"}},
            {"in": "query", "name": "q", "style": style, "explode": explode, "schema": {
                "type": "object" if is_object else "array"}}]}}}}, base_url=url)
        # what separates the items is no part of one: the specification has no way to say so
        texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" |"), min_size=1)
        keys = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[]"), min_size=1)

        @given(texts.filter(lambda text: ".." not in text and text != "." and "/" not in text and "\\" not in text),
               st.dictionaries(keys, texts, min_size=1) if is_object else st.lists(texts, min_size=1))
        @settings(max_examples=60, deadline=None)
        def same(path, query):
            tool.run({"p": path, "q": query})
            got, _, rest = seen[-1].partition("?")
            assert urllib.parse.unquote(got.removeprefix("/x/")) == path
            assert read_query(rest, "q", style, explode) == query
        same()


# --- a real proxy
@contextlib.contextmanager
def secured(folder):
    """Serve https on loopback; give (url, certificate file)."""
    pem = folder / "pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", folder / "crt",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", pem)
    handler = type("Handler", (http.server.SimpleHTTPRequestHandler,), {
        "log_message": lambda *_: None, "do_GET": lambda self: (self.send_response(204), self.end_headers())})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://localhost:{server.server_port}", folder / "crt"
        server.shutdown()


@pytest.mark.parametrize("login", ["", "user:p%40ss@"])
def test_http_and_https_go_through_a_real_proxy(login, tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    document = {"openapi": "3.1.0", "paths": {"/x": {"get": {"operationId": "op"}}}}
    options = ["--basic-auth", "user:p@ss"] if login else []
    with (running("-m", "proxy", "--hostname", "127.0.0.1", "--port", "{port}", "--num-workers", "1", *options,
                  path="") as proxy, recording() as (plain, seen), secured(tmp_path) as (https, certificate)):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        monkeypatch.setenv("ALL_PROXY", proxy.replace("://", f"://{login}"))
        for url in (plain, https):
            tool, = openapi_tools(document, base_url=url)
            assert tool.run({}) is not None and ToolRegistry([tool]).invoke("op", {}).value is None
        assert seen == ["/x", "/x"]
        if login:
            monkeypatch.setenv("ALL_PROXY", proxy)
            refused = [ToolRegistry(openapi_tools(document, base_url=url)).invoke("op", {}) for url in (plain, https)]
            assert all(result.is_error and "407" in result.content for result in refused)
            assert isinstance(refused[1].error, HttpError) and "p@ss" not in refused[1].content


# --- beside fastmcp
def large(operations=1200, schemas=900):
    """Describe many operations, whose schemas refer to each other."""
    parts = {f"S{at}": {"type": "object", "title": f"S{at}", "properties": {
        "v": {"type": "integer"}, **{f"to{step}": {"$ref": f"#/components/schemas/S{(at + step) % schemas}"}
                                     for step in (1, 7)}}} for at in range(schemas)}
    paths = {f"/p{at}": {"post": {"operationId": f"op{at}", "summary": f"Do thing {at}.", "requestBody": {
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/S{at % schemas}"}}}},
        "responses": {"200": {"description": "ok"}}}} for at in range(operations)}
    return {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "servers": [{"url": "http://127.0.0.1:9"}],
            "paths": paths, "components": {"schemas": parts}}


FASTMCP = """
import json, sys, time, httpx
from fastmcp import FastMCP
document = json.load(open(sys.argv[1]))
start = time.perf_counter()
FastMCP.from_openapi(document, client=httpx.AsyncClient(base_url="http://127.0.0.1:9"))
print(time.perf_counter() - start)
"""


def test_an_import_takes_less_than_half_the_time_of_fastmcp(tmp_path):
    document = large()
    (tmp_path / "api.json").write_text(json.dumps(document))
    start = time.perf_counter()
    tools = openapi_tools(document)
    ours = time.perf_counter() - start
    assert len(tools) == 1200
    with contextlib.suppress(subprocess.TimeoutExpired):    # longer than 6 times ours is enough to know
        theirs = subprocess.run([sys.executable, "-c", FASTMCP, tmp_path / "api.json"], text=True, check=True,
                                capture_output=True, timeout=6 * max(1, ours)).stdout
        assert ours < float(theirs.split()[-1]) / 2
    registry = search_registry(ToolRegistry(tools))
    assert "op77" in registry.invoke("find_tools", {"words": "thing 77"}).content
    assert len(registry.get_schemas()) <= 6
