"""A small company, a graph and some texts: tables for queries that are compared with DuckDB, and kept right."""

from __future__ import annotations

import random
from typing import Any

import headwater as hw
from tests.sql.engines import Bag, Duck

DECLARATIONS = """
CREATE TABLE emp (id INT, boss INT, name STRING, pay INT);
CREATE TABLE edge (a INT, b INT, w INT);
CREATE TABLE note (id INT, tags STRING);
"""
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "emp": [
        (1, None, "Ann", 100),
        (2, 1, "Bob", 80),
        (3, 1, "Cyd", 81),
        (4, 2, "Dee", 50),
        (5, 4, "Eve", 40),
        (6, None, "Fay", 90),
    ],
    "edge": [(1, 2, 1), (2, 3, 1), (3, 1, 5), (1, 3, 4), (3, 4, 2), (4, 5, 1), (4, 5, 1)],
    "note": [(1, "a,b,c"), (2, "x"), (3, None), (4, "a,b"), (4, "a,b"), (5, "")],
}


def loaded_duck() -> Duck:
    duck = Duck(DECLARATIONS)
    duck.load(ROWS)
    return duck


def _plain(value: Any) -> Any:
    """Lists as tuples, so that rows can be counted; a date as the moment at which it begins."""
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if hasattr(value, "isoformat"):
        return value.isoformat()[:19].removesuffix("T00:00:00")
    return value


def answers(db: hw.Database) -> Bag:
    table = db.table(db.program.outputs[-1])
    return Bag(tuple(map(_plain, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True))


def edited(query: str, seed: int, edits: int = 12) -> None:
    """A query stays what it would be if computed anew, over random edits of the tables that it reads."""
    dice = random.Random(seed)
    program = hw.compile(DECLARATIONS + query)
    used = [name for name in ROWS if name in {relation.name for relation in program.checked.relations}]
    held = {name: list(ROWS[name]) for name in used}
    db = hw.Database(program)
    db.apply(insert=held)
    for _ in range(edits):
        name = dice.choice(used)
        gone = dice.sample(held[name], min(len(held[name]), dice.randint(0, 2)))
        come = [dice.choice(ROWS[name]) for _ in range(dice.randint(0, 2))]
        for row in gone:
            held[name].remove(row)
        held[name] += come
        db.apply(insert={name: come}, delete={name: gone})
        anew = hw.Database(program)
        anew.apply(insert=held)
        assert answers(db) == answers(anew), (query, held)


def compared(duck: Duck, query: str, theirs: str | None) -> None:
    program = hw.compile(DECLARATIONS + query)
    db = hw.Database(program)
    used = {relation.name for relation in program.checked.relations}
    db.apply(insert={name: rows for name, rows in ROWS.items() if name in used})
    rows = duck.rows(query if theirs is None else theirs)
    assert answers(db) == Bag(tuple(map(_plain, row)) for row in rows), query
