"""Rows: relations with their sizes, pages of rows as JSON or Arrow, rows as they were, and rows drawn as a graph."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import DataError
from headwater.database import Database
from headwater.questions import parse_question
from headwater.serve.http.answering import ask, endpoint, live_of, number, reply
from headwater.serve.http.encoding import as_text, change_of, columns_of, plain, rows_of, schema_of
from headwater.serve.http.shared_answers import SharedAnswers
from headwater.serve.live import Live, Page, Wanted, net_change, table_after
from headwater.serve.live.graph import graph_of
from headwater.serve.live.snapshots import MOST, selected, sliced

_MOMENTS = ("at_least", "seen")
_ARROW = "application/vnd.apache.arrow.stream"


@endpoint
async def relations(request: Request) -> Response:
    live = live_of(request)
    return reply(await ask(request, lambda db: _relations(live, db)))


def _relations(live: Live, db: Database) -> dict[str, Any]:
    found = []
    outputs = db.program.outputs
    for name, reason in live.relations.items():
        relation = db.program.checked.relation(name)
        about: dict[str, Any] = {
            "name": name,
            "kind": "view" if name in outputs else "derived" if relation.derived else relation.kind.value,
            "derived": relation.derived,
            "hidden": reason,
            "key": [relation.columns[place].name for place in relation.key or ()],
        }
        if reason is None:
            about |= {"rows": db.count(name), "columns": columns_of(schema_of(db, name))}
        else:
            about |= {"rows": None, "columns": [{"name": each.name, "type": "any"} for each in relation.visible]}
        found.append(about)
    return {"transaction": live.journal.last, "relations": found}


@endpoint
async def rows(request: Request) -> Response:
    live, name = live_of(request), request.path_params["name"]
    first, most = number(request, "offset", 0, 0, 10**12), number(request, "limit", 100, 0, MOST)
    at_least = number(request, "at_least", 0, 0, 10**15)
    seen = number(request, "seen", 0, 0, 10**15)
    at = number(request, "at", -1, 0, 10**15)

    def question(db: Database) -> Page:
        wanted = _wanted(request, db, name)
        if at >= 0:
            then = table_after(db, live.journal, name, at)
            found = selected(then, wanted)
            return Page(sliced(found, first, most), found.num_rows, then.num_rows, at)
        return live.snapshots.page(db, wanted, first, most, live.journal.last, at_least)

    if request.query_params.get("format") == "arrow":
        page = await ask(request, question)
        headers = {"x-headwater-transaction": str(page.transaction), "x-headwater-matching": str(page.matching)}
        return Response(_arrow(page.table), media_type=_ARROW, headers=headers)
    shared: SharedAnswers = request.app.state.answers
    asked = f"{name}?{urlencode(sorted(each for each in request.query_params.items() if each[0] not in _MOMENTS))}"
    text = shared.find(asked, max(at_least, seen)) if at < 0 and (at_least or seen) else None
    if text is None:
        page = await ask(request, question)
        text = as_text(_page(name, first, page))
        if at < 0:
            shared.keep(asked, page.transaction, text)
    return Response(text, media_type="application/json")


def _page(name: str, first: int, page: Page) -> dict[str, Any]:
    return {
        "relation": name,
        "transaction": page.transaction,
        "total": page.total,
        "matching": page.matching,
        "offset": first,
        "columns": columns_of(page.table.schema),
        "rows": rows_of(page.table),
    }


def _wanted(request: Request, db: Database, name: str) -> Wanted:
    schema_of(db, name)  # says what is wrong with a name
    given = request.query_params
    sort = tuple(part for part in given.get("sort", "").split(",") if part)
    where = given.get("where", "").strip()
    question = None
    if where:
        question = parse_question(where, db)
        if question.relation != name:
            raise DataError(f"`{where}` asks about `{question.relation}`, not about `{name}`")
    return Wanted(name, sort, question, given.get("find", ""))


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@endpoint
async def difference(request: Request) -> Response:
    """What came and went between two transactions, together."""
    live, name = live_of(request), request.path_params["name"]
    since = number(request, "since", 0, 0, 10**15)
    until = number(request, "until", live.journal.last, 0, 10**15)
    most = number(request, "limit", 100, 0, MOST)

    def question(db: Database) -> dict[str, Any]:
        schema = schema_of(db, name)
        if since < live.journal.reach:
            raise DataError(
                f"the changes behind transaction {since:,} are not kept; those behind {live.journal.reach:,} are"
            )
        entries = [entry for entry in live.journal.since(since) if entry.number <= until]
        change = net_change(entries, name)
        empty = schema.empty_table()
        found = {
            "inserted": 0,
            "deleted": 0,
            "inserted_rows": [],
            "deleted_rows": [],
            "columns": columns_of(empty.schema),
        }
        return {
            "relation": name,
            "since": since,
            "until": until,
            **(found if change is None else change_of(change, most)),
        }

    return reply(await ask(request, question))


@endpoint
async def graph(request: Request) -> Response:
    """The rows of a relation as edges between the values of two columns."""
    live, name = live_of(request), request.path_params["name"]
    given = request.query_params
    most = number(request, "limit", 2_000, 1, 5_000)
    hops = number(request, "hops", 2, 0, 10)

    def question(db: Database) -> dict[str, Any]:
        table = live.snapshots.whole(db, name, live.journal.last)
        found = graph_of(table, given.get("from"), given.get("to"), given.get("around"), hops, most)
        return {"relation": name, "transaction": live.journal.last, **plain(found)}

    return reply(await ask(request, question))
