"""Documents and views over them: what there is, and pages of documents as JSON."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import DataError
from headwater.database import Database
from headwater.semistructured.documents import Documents
from headwater.serve.http.answering import Refused, ask, endpoint, live_of, number, reply
from headwater.serve.live import Live

_MOST = 200


@endpoint
async def collections(request: Request) -> Response:
    """The names of documents and the views, with how many documents each has."""
    live = live_of(request)

    def question(_: Database) -> dict[str, Any]:
        docs = _documents(live)
        names = [{"name": name, "kind": "documents", "count": len(docs.keys(name))} for name in docs.names]
        views = [{"name": view.name, "kind": "view", "count": len(view.primaries())} for view in docs.views]
        return {"transaction": live.journal.last, "collections": [*views, *names]}

    return reply(await ask(request, question))


@endpoint
async def documents(request: Request) -> Response:
    """A page of the documents of a name, by key, or of a view, by the ids of its objects."""
    live, name = live_of(request), request.path_params["name"]
    first, most = number(request, "offset", 0, 0, 10**12), number(request, "limit", 50, 0, _MOST)

    def question(_: Database) -> dict[str, Any]:
        total, found = _page(_documents(live), name, first, most)
        listed = [{"id": key, "document": document} for key, document in found.items()]
        return {"name": name, "transaction": live.journal.last, "total": total, "offset": first, "documents": listed}

    return reply(await ask(request, question))


def _documents(live: Live) -> Documents:
    if live.documents is None:
        raise Refused(404, "no documents are served; give a file of views in Lorel (.lorel)")
    return live.documents


def _page(docs: Documents, name: str, first: int, most: int) -> tuple[int, dict[Any, Any]]:
    for view in docs.views:
        if view.name == name:
            return len(view.primaries()), view.documents(first=first, most=most)
    if name not in docs.names:
        known = ", ".join([*(view.name for view in docs.views), *docs.names])
        raise DataError(f"there are no documents `{name}`; there are {known}")
    keys = docs.keys(name)
    return len(keys), {key: docs.document(key, name=name) for key in keys[first : first + most]}
