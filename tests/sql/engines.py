"""One SQL query on several engines: ours, and DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

import headwater as hw
from tests.sql.random_queries import DECLARATIONS, random_rows

Rows = Mapping[str, Sequence[tuple[object, ...]]]
Bag = Counter[tuple[Any, ...]]


def ours(query: str, rows: Rows, declarations: str = DECLARATIONS) -> Bag:
    program = hw.compile(declarations + query)
    db = hw.Database(program)
    used = {relation.name for relation in program.checked.relations}
    db.apply(insert={name: given for name, given in rows.items() if name in used})
    return bag(db.table(program.outputs[-1]))


def bag(table: Any) -> Bag:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


class Duck:
    """A DuckDB in memory, its tables filled anew for each query."""

    def __init__(self, declarations: str = DECLARATIONS) -> None:
        self._declarations = declarations
        self._connection = duckdb.connect()

    def load(self, rows: Rows) -> None:
        for name in rows:
            self._connection.execute(f"DROP TABLE IF EXISTS {name}")
        self._connection.execute(self._declarations)
        for name, given in rows.items():
            for row in given:
                marks = ", ".join("?" * len(row))
                self._connection.execute(f"INSERT INTO {name} VALUES ({marks})", row)

    def run(self, query: str) -> Bag:
        return Counter(self.rows(query))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()


def follow(query: str, duck: Duck, dice: random.Random, steps: int) -> None:
    """A query's view while rows come and go, copies among them: the same rows as DuckDB's, and changes that add up."""
    program = hw.compile(DECLARATIONS + query)
    db = hw.Database(program)
    used = {one.name for one in program.checked.relations}
    held = {name: list(rows) for name, rows in random_rows(dice).items()}
    seen = None
    inserts: Rows = held
    deletes: Rows = {}
    for _ in range(steps):
        changes = db.apply(
            insert={name: rows for name, rows in inserts.items() if name in used},
            delete={name: rows for name, rows in deletes.items() if name in used},
        )
        duck.load(held)
        view = program.outputs[-1]
        found = bag(db.table(view))
        assert found == duck.run(query), f"{query}\n{held}"
        if seen is not None:
            came, went = bag(changes[view].inserted), bag(changes[view].deleted)
            assert seen + came - went == found, query
            assert not came & went
        seen = found
        deletes = {name: dice.sample(rows, min(len(rows), 2)) for name, rows in held.items()}
        inserts = random_rows(dice, most=2)
        for name, rows in held.items():
            for row in deletes[name]:
                rows.remove(row)
            rows += inserts[name]
