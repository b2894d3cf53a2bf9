"""Questions about rows: why, why not, what is critical, until when; what if; what depends on each fact; asks."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from headwater.core.errors import BudgetSpent, DataError
from headwater.database import Database
from headwater.program.model import Relation
from headwater.provenance import Proof
from headwater.questions import parse_question
from headwater.serve.http.answering import Endpoint, Refused, ask, body_of, endpoint, finished, live_of, reply, whole
from headwater.serve.http.encoding import change_of, given_row, given_rows, plain

Row: TypeAlias = tuple[Any, ...]
_NODES = 2_000
"""Nodes of a proof that are sent."""
_SETS = 10
_FACTS = 1_000
_ROWS = 200


def about_a_row(answer: Callable[[Database, str, Row], dict[str, Any]]) -> Endpoint:
    """The endpoint of a question about the row that a request names."""

    @endpoint
    async def handler(request: Request) -> Response:
        asked = await body_of(request)
        return reply(await ask(request, lambda db: answer(db, *named(db, asked))))

    return handler


@about_a_row
def why(db: Database, relation: str, row: Row) -> dict[str, Any]:
    proof = db.why(relation, row)
    nodes = json.loads(proof.to_json(indent=None))
    return {
        "nodes": plain(nodes[:_NODES]),
        "left_off": max(0, len(nodes) - _NODES),
        "facts": [fact_of(fact) for fact in proof.facts[:_FACTS]],
        "text": _text(proof),
        "valid_until": plain(_until(db, relation, row)),
        "now": plain(db.now),
    }


def _text(proof: Proof) -> str:
    text = str(proof)
    return text if len(text) < 200_000 else text[:200_000] + "\n..."


def _until(db: Database, relation: str, row: Row) -> Any:
    try:
        return db.valid_until(relation, row)
    except (DataError, BudgetSpent):
        return None


@about_a_row
def why_not(db: Database, relation: str, row: Row) -> dict[str, Any]:
    found = db.why_not(relation, row)
    return {**plain(dataclasses.asdict(found)), "text": str(found)}


@about_a_row
def critical(db: Database, relation: str, row: Row) -> dict[str, Any]:
    found = db.critical(relation, row)
    return {
        "facts": [fact_of(fact) for fact in found.facts[:_FACTS]],
        "cuts": [[fact_of(fact) for fact in cut] for cut in found.cuts(_SETS)],
        "witnesses": [[fact_of(fact) for fact in each] for each in db.witnesses(relation, row, _SETS)],
    }


@about_a_row
def valid_until(db: Database, relation: str, row: Row) -> dict[str, Any]:
    return {"valid_until": plain(db.valid_until(relation, row)), "now": plain(db.now)}


@endpoint
async def blast_radius(request: Request) -> Response:
    asked = await body_of(request)
    most = whole(asked.get("limit"), "limit", 100, 1, _FACTS)

    def question(db: Database) -> dict[str, Any]:
        found = db.blast_radius(asked["relation"])
        facts = [
            {"fact": fact_of(each.fact), "rows": each.rows, "by_view": dict(each.by_view)} for each in found[:most]
        ]
        return {"relation": asked["relation"], "total": len(found), "facts": facts}

    return reply(await ask(request, question))


@endpoint
async def ask_view(request: Request) -> Response:
    """The answers to a query with parameters."""
    asked = await body_of(request)
    given = asked.get("given")
    if not isinstance(given, dict):
        raise Refused(400, '"given" holds a value for each parameter, as {"From": "lisbon"}')

    def question(db: Database) -> dict[str, Any]:
        found = sorted(db.ask(asked["view"], **given), key=repr)
        return {"view": asked["view"], "matching": len(found), "rows": plain(found[:1_000])}

    return reply(await ask(request, question))


# What if


@endpoint
async def what_if(request: Request) -> Response:
    """What every view would lose and gain; nothing is changed."""
    asked = await body_of(request)
    most = whole(asked.get("limit"), "limit", _ROWS, 0, 1_000)

    def question(db: Database) -> dict[str, Any]:
        inserts, deletes = (given_rows(db, asked.get(side, {}), side) for side in ("insert", "delete"))
        changes = db.suppose(insert=inserts, delete=deletes)
        return {"views": {name: change_of(changes[name], most) for name in changes}}

    return reply(await ask(request, question))


@endpoint
async def apply(request: Request) -> Response:
    """One transaction; only where the server was started as writable."""
    live = live_of(request)
    if not live.writable:
        raise Refused(403, "the server was started without --writable: nothing can be changed")
    asked = await body_of(request)
    title = str(asked.get("title") or "from the page")[:200]

    def changes(db: Database) -> tuple[dict[str, Any], dict[str, Any]]:
        return given_rows(db, asked.get("insert", {}), "insert"), given_rows(db, asked.get("delete", {}), "delete")

    entry = await finished(live.apply(title, changes, strict=True))
    return reply({"transaction": entry.number, "seconds": entry.seconds})


# Rows that are asked about


def named(db: Database, asked: Any) -> tuple[str, Row]:
    """The row that a request names, as `{"relation": ..., "row": [...]}` or as `{"atom": "reachable(a, c)"}`."""
    if "atom" in asked:
        question = parse_question(str(asked["atom"])[:10_000], db)
        if not question.is_exact:
            raise DataError("name one row: an upper-case word is a variable; put a value with a capital in quotes")
        return question.relation, tuple(question.arguments)
    if "relation" not in asked or "row" not in asked:
        raise Refused(400, 'name a row by "relation" and "row", or by "atom"')
    relation = asked["relation"]
    row = given_row(db, relation, asked["row"])
    return relation, _of_any_type(db, db.program.checked.relation(relation), row)


def _of_any_type(db: Database, relation: Relation, row: Row) -> Row:
    """Values of type `any` are sent as texts: the row that is there and reads the same is meant."""
    if not any(column.type is None or column.type.holds_any for column in relation.visible):
        return row
    rows = db.rows(relation.name)
    return row if row in rows else next((each for each in rows if tuple(map(str, each)) == tuple(map(str, row))), row)


def fact_of(fact: tuple[str, Any]) -> dict[str, Any]:
    return {"relation": fact[0], "row": plain(fact[1])}
