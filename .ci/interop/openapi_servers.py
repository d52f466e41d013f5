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
    api = Api(app)
    item = api.model("Item", {"name": fields.String(required=True), "count": fields.Integer})
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
