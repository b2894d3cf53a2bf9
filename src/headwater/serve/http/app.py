"""The application: the interface under `/api`, the files of the page, and the guard before both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headwater.serve.http.answering import failure
from headwater.serve.http.guard import Door, Guarded
from headwater.serve.http.routes import ADDRESSES, openapi
from headwater.serve.http.shared_answers import SharedAnswers
from headwater.serve.http.watching import Bell
from headwater.serve.live import Live

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def make_app(live: Live, door: Door, started: Callable[[Bell], None] = lambda bell: None) -> ASGIApp:
    """`started` is called with the bell of the streams once there is one."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.live, app.state.bell, app.state.answers = live, Bell(live), SharedAnswers()
        started(app.state.bell)
        yield

    described = openapi()

    async def description(request: Request) -> Response:
        return JSONResponse(described)

    routes = [
        *(Route(each.path, each.answer, methods=[each.method]) for each in ADDRESSES),
        Route("/api/openapi.json", description),
        *_page(),
    ]
    return Guarded(Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _nothing, 405: _nothing}), door)


def _page() -> list[Route]:
    """A route per file, read once: no path of a request is ever looked up in a file system."""
    return list(_files_of(files("headwater.serve").joinpath("page"), "/page"))


def _files_of(folder: Traversable, path: str) -> Iterator[Route]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        suffix = entry.name[entry.name.rfind(".") :]
        if entry.is_dir():
            yield from _files_of(entry, f"{path}/{entry.name}")
        elif suffix in _KINDS:
            where = "/" if entry.name == "index.html" else f"{path}/{entry.name}"
            yield Route(where, _file(entry.read_bytes(), _KINDS[suffix]))


def _file(data: bytes, kind: str) -> Callable[[Request], Response]:
    def give(request: Request) -> Response:
        return Response(data, media_type=kind)

    return give


def _nothing(request: Request, problem: Exception) -> Response:
    return failure(getattr(problem, "status_code", 404), "there is nothing at this address")
