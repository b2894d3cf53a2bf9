"""One SQL query on several engines: ours, and DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

import headwater as hw
from tests.sql.random_queries import DECLARATIONS

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
        return Counter(self._connection.execute(query).fetchall())
