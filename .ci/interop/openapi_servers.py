# ruff: noqa: B008
"""Serve one app of a framework on loopback: `python openapi_servers.py NAME PORT`. Each answers with what it parsed."""
import sys


def fastapi_app():
    from fastapi import Body, Cookie, FastAPI, File, Form, Header, Query, Response, UploadFile
    from pydantic import BaseModel
    app = FastAPI()

    class Item(BaseModel):
        name: str
        parts: list["Item"] = []

    @app.get("/all/{key}", operation_id="all")
    def take_all(key: str, q: str | None = None, tags: list[str] = Query([]), n: float = 1.5,
                 session: str | None = Cookie(None), x_token: str | None = Header(None)):
        return {"key": key, "q": q, "tags": tags, "n": n, "session": session, "x_token": x_token}

    @app.put("/item", operation_id="item")
    def take_item(item: Item, dry: bool = False):
        return {"item": item, "dry": dry}

    @app.post("/form", operation_id="form")
    def take_form(a: str = Form(), tags: list[str] = Form([])):
        return {"a": a, "tags": tags}

    @app.post("/upload", operation_id="upload")
    def take_files(note: str = Form(), file: UploadFile = File(), more: list[UploadFile] = File([])):
        return {"note": note, "file": file.file.read().decode(), "name": file.filename,
                "more": [each.file.read().decode() for each in more]}

    @app.post("/raw", operation_id="raw")
    def take_raw(data: bytes = Body(media_type="application/octet-stream")):
        return {"size": len(data)}

    @app.get("/nothing", operation_id="nothing", status_code=204)
    def give_nothing():
        return None

    @app.get("/image", operation_id="image")
    def give_image():
        return Response(b"\x89PNG\xff", media_type="image/png")

    @app.get("/page", operation_id="page")
    def give_page(response: Response, page: int = 1):
        response.headers["link"] = f'</page?page={page + 1}>; rel="next"'
        return [page]
    return app


def shop_app():
    """Have an operation for each kind of parameter, body, credential and answer."""
    from enum import Enum
    from typing import Annotated, Literal

    from fastapi import Body, Cookie, Depends, FastAPI, File, Form, Header, HTTPException, Path, Query, UploadFile
    from fastapi.responses import PlainTextResponse
    from fastapi.security import APIKeyHeader, APIKeyQuery, HTTPAuthorizationCredentials, HTTPBearer
    from pydantic import BaseModel, Field
    port = {"port": {"default": sys.argv[2]}}
    app = FastAPI(title="shop", servers=[{"url": "http://127.0.0.1:{port}", "variables": port}])

    class Size(str, Enum):
        SMALL = "small"
        LARGE = "large"

    class Ware(BaseModel):
        name: str = Field(min_length=1)
        price: float = Field(gt=0)
        size: Size = Size.SMALL
        words: list[str] = []
        hint: str | None = None

    class Card(BaseModel):
        pays: Literal["card"]
        digits: int = 16

    class Bank(BaseModel):
        pays: Literal["bank"]
        account: str

    class Shelf(BaseModel):
        number: int
        within: list["Shelf"] = []

    @app.get("/wares/{ware}")
    def find_ware(ware: Annotated[int, Path(ge=1)], text: str | None = None,
                  most: Annotated[int, Query(le=100)] = 10, word: Annotated[list[str], Query()] = [],  # noqa: B006
                  x_lang: Annotated[str | None, Header()] = None, visit: Annotated[str | None, Cookie()] = None):
        if ware == 404:
            raise HTTPException(404, "sold out")
        return {"ware": ware, "text": text, "most": most, "word": word, "x_lang": x_lang, "visit": visit}

    @app.post("/wares", status_code=201)
    def add_ware(ware: Ware, draft: bool = False):
        return {"ware": ware, "draft": draft}

    @app.put("/wares/{name}")
    def replace_ware(name: str, ware: Ware):
        return {"old": name, "ware": ware}

    @app.delete("/wares/{ware}", status_code=204)
    def remove_ware(ware: int):
        return None

    @app.post("/basket")
    def fill_basket(ware: Ware, count: Annotated[int, Body()]):
        return {"ware": ware, "count": count}

    @app.post("/payment")
    def pay_by(way: Annotated[Card | Bank, Field(discriminator="pays")]):
        return way

    @app.post("/shelves")
    def build_shelves(shelf: Shelf) -> Shelf:
        return shelf

    @app.post("/sum")
    def sum_up(prices: list[int]):
        return sum(prices)

    @app.post("/letter")
    def write_letter(text: Annotated[str, Form()], copies: Annotated[int, Form()] = 2):
        return {"text": text, "copies": copies}

    @app.post("/picture")
    def send_picture(file: Annotated[UploadFile, File()], note: Annotated[str, Form()] = ""):
        return {"name": file.filename, "size": len(file.file.read()), "note": note}

    @app.get("/bearer")
    def by_bearer(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]):
        return {"scheme": given.scheme, "token": given.credentials}

    @app.get("/header")
    def by_header(key: Annotated[str, Depends(APIKeyHeader(name="X-Shop-Key"))]):
        return key

    @app.get("/query")
    def by_query(key: Annotated[str, Depends(APIKeyQuery(name="shop_key"))]):
        return key

    @app.get("/papers/{path:path}")
    def read_paper(path: str):
        return path

    @app.get("/sign", response_class=PlainTextResponse)
    def read_sign():
        return "open ☀"

    @app.get("/fire")
    def burn_down():
        raise RuntimeError("fire")
    return app


def litestar_app():
    from dataclasses import dataclass

    from litestar import Litestar, get, post
    from litestar.params import Parameter

    @dataclass
    class Item:
        name: str
        count: int = 1

    @get("/all/{key:str}", operation_id="all", sync_to_thread=False)
    def take_all(key: str, tags: list[str] | None = None, q: str | None = None,
                 session: str | None = Parameter(cookie="session", default=None),
                 token: str | None = Parameter(header="X-Token", default=None)) -> dict:
        return {"key": key, "q": q, "tags": tags, "session": session, "token": token}

    @post("/item", operation_id="item", sync_to_thread=False)
    def take_item(data: Item) -> Item:
        return data
    return Litestar([take_all, take_item])


def ninja_app():
    import django
    from django.conf import settings
    settings.configure(DEBUG=True, SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])
    django.setup()
    from django.core.asgi import get_asgi_application
    from django.urls import path
    from ninja import File, Form, NinjaAPI, Query, Schema
    from ninja.files import UploadedFile
    api = NinjaAPI()

    class Item(Schema):
        name: str
        count: int = 1

    @api.get("/all/{key}", operation_id="all")
    def take_all(request, key: str, tags: list[str] = Query([]), q: str | None = None):
        return {"key": key, "q": q, "tags": tags}

    @api.post("/item", operation_id="item")
    def take_item(request, item: Item):
        return item

    @api.post("/form", operation_id="form")
    def take_form(request, a: str = Form(), n: int = Form(1)):
        return {"a": a, "n": n}

    @api.post("/upload", operation_id="upload")
    def take_file(request, file: File[UploadedFile]):
        return {"name": file.name, "text": file.read().decode()}
    globals()["urlpatterns"] = [path("", api.urls)]
    return get_asgi_application()


def restx_app():
    from flask import Flask, request
    from flask_restx import Api, Resource, fields
    from werkzeug.datastructures import FileStorage
    app = Flask(__name__)
    api = Api(app, authorizations={"shop": {"type": "apiKey", "in": "header", "name": "X-Shop-Key"}})
    item = api.model("Item", {"name": fields.String(required=True), "count": fields.Integer})
    dated = api.inherit("Dated", item, {"day": fields.DateTime, "stars": fields.Integer(min=1, max=5)})
    asked = api.parser()
    asked.add_argument("q", location="args")
    asked.add_argument("tags", location="args", action="split")
    asked.add_argument("many", location="args", action="append")
    sent = api.parser()
    sent.add_argument("note", location="form", required=True)
    sent.add_argument("file", location="files", type=FileStorage, required=True)

    @api.route("/all/<string:key>")
    class All(Resource):
        @api.expect(asked)
        @api.doc(id="all")
        def get(self, key):
            return {"key": key, **asked.parse_args()}

    @api.route("/item")
    class Item(Resource):
        @api.expect(item)
        @api.doc(id="item")
        def post(self):
            return request.json

    @api.route("/dated/<int:number>")
    class Dated(Resource):
        @api.expect(dated)
        @api.doc(id="dated", security="shop")
        def post(self, number):
            return {"number": number, "key": request.headers.get("X-Shop-Key"), **request.json}

    @api.route("/upload")
    class Upload(Resource):
        @api.expect(sent)
        @api.doc(id="upload")
        def post(self):
            given = sent.parse_args()
            return {"note": given["note"], "name": given["file"].filename, "text": given["file"].read().decode()}
    return app


if __name__ == "__main__":
    app = globals()[sys.argv[1] + "_app"]()
    if sys.argv[1] == "restx":
        app.run("127.0.0.1", int(sys.argv[2]))
    else:
        import uvicorn
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
