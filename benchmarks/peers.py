"""Other systems doing the same work: each takes Arrow tables, loads them and counts the rows of the view.

A peer is asked for the size of the view and, where that is cheap, a sum over it: the least it can do to have
computed it, and what its answer is held against ours by. Loading the Arrow tables is part of every call. What a
peer cannot express is absent from its works. `PEERS[name].threads` are the settings tried; the best counts.
"""

from __future__ import annotations

import importlib.util
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphs import Input
from programs import PROGRAMS

Answer = tuple[int, int]  # rows of the view, sum over its last column
UNKNOWN = -1  # the sum, where a peer would be slowed down by giving it

CLOSURE_SQL = """WITH RECURSIVE reach(src, dst) AS (
  SELECT src, dst FROM link UNION SELECT reach.src, link.dst FROM reach JOIN link ON link.src = reach.dst)
SELECT count(*), sum(dst) FROM reach"""

REACH_SQL = """WITH RECURSIVE reach(node) AS (
  SELECT node FROM source UNION SELECT link.dst FROM reach JOIN link ON link.src = reach.node)
SELECT count(*), sum(node) FROM reach"""

GENERATION_SQL = """WITH RECURSIVE same(x, y) AS (
  SELECT a.child, b.child FROM parent a JOIN parent b ON a.parent = b.parent
  UNION SELECT a.child, b.child FROM same JOIN parent a ON a.parent = same.x JOIN parent b ON b.parent = same.y)
SELECT count(*), sum(y) FROM same"""

SHORTEST_SQL = """WITH RECURSIVE dist(node, cost) USING KEY (node) AS (
  SELECT node, 0::BIGINT FROM source
  UNION
  SELECT link.dst, min(dist.cost + link.weight) FROM dist JOIN link ON link.src = dist.node
    LEFT JOIN recurring.dist known ON known.node = link.dst
    WHERE known.cost IS NULL OR dist.cost + link.weight < known.cost GROUP BY link.dst)
SELECT count(*), sum(cost) FROM dist"""

COMPONENTS_SQL = """WITH RECURSIVE label(node, least) USING KEY (node) AS (
  SELECT id, id FROM node
  UNION
  SELECT near.b, min(label.least) FROM label
    JOIN (SELECT src AS a, dst AS b FROM link UNION ALL SELECT dst, src FROM link) near ON near.a = label.node
    JOIN recurring.label known ON known.node = near.b WHERE label.least < known.least GROUP BY near.b)
SELECT count(*), sum(least) FROM label"""

SQL = {
    "closure-1k": CLOSURE_SQL,
    "closure-1k-far": CLOSURE_SQL,
    "closure-2k": CLOSURE_SQL,
    "reach": REACH_SQL,
    "generation": GENERATION_SQL,
}
KEYED_SQL = {"shortest": SHORTEST_SQL, "components": COMPONENTS_SQL}


@dataclass(frozen=True, slots=True)
class Peer:
    """One system: whether it is here, what it can do, and how to run it."""

    missing: Callable[[], str | None]  # why it cannot run, if so
    works: frozenset[str]
    session: Callable[[str, int], Any]  # a context manager for one work and number of threads: Input -> Answer
    threads: tuple[int, ...] = (1,)


def _needs(module: str) -> Callable[[], str | None]:
    return lambda: None if importlib.util.find_spec(module) else f"{module} is not installed"


@contextmanager
def _duckdb(work: str, threads: int) -> Iterator[Callable[[Input], Answer]]:
    import duckdb

    query = SQL.get(work) or KEYED_SQL[work]

    def run(tables: Input) -> Answer:
        with duckdb.connect(config={"threads": threads}) as connection:
            for name, rows in tables.items():
                connection.register("given", rows)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
                connection.unregister("given")
            rows, total = connection.execute(query).fetchall()[0]
            return int(rows), int(total)

    yield run


@contextmanager
def _sqlite(work: str, threads: int) -> Iterator[Callable[[Input], Answer]]:
    def run(tables: Input) -> Answer:
        connection = sqlite3.connect(":memory:")
        for name, rows in tables.items():
            columns = rows.column_names
            connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in columns)})")
            values = zip(*(rows[column].to_pylist() for column in columns), strict=True)
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", values)
            # The recursive steps probe by the columns that hold the known end.
            connection.execute(f"CREATE INDEX {name}_by_first ON {name} ({', '.join(columns)})")
        rows, total = connection.execute(SQL[work]).fetchone()
        connection.close()
        return int(rows), int(total)

    yield run


def _rules(work: str) -> str:
    """Our program in the syntax that clingo and Souffle share: without the query."""
    text, _ = PROGRAMS[work]
    return "\n".join(line for line in text.splitlines() if not line.startswith("query"))


@contextmanager
def _clingo(work: str, threads: int) -> Iterator[Callable[[Input], Answer]]:
    import clingo

    _, view = PROGRAMS[work]

    def run(tables: Input) -> Answer:
        control = clingo.Control(["--warn=none"])
        facts: list[str] = []
        for name, rows in tables.items():
            values = zip(*(rows[column].to_pylist() for column in rows.column_names), strict=True)
            facts.extend(f"{name}({','.join(map(str, row))})." for row in values)
        control.add("base", [], "\n".join(facts))
        control.add("base", [], _rules(work))
        control.ground([("base", [])])
        # Going through millions of atoms in Python would be our cost, not clingo's: it counts them itself.
        derived = len(control.symbolic_atoms) - sum(rows.num_rows for rows in tables.values())
        if view == "points":
            derived -= sum(1 for _ in control.symbolic_atoms.by_signature("heap", 2))
        return derived, UNKNOWN

    yield run


@contextmanager
def _souffle(work: str, threads: int) -> Iterator[Callable[[Input], Answer]]:
    """Compiled before the clock starts; reading its fact files is counted, as loading is for everyone."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        source, binary = at / "program.dl", at / "program"
        made = False

        def run(tables: Input) -> Answer:
            nonlocal made
            if not made:
                source.write_text(_souffle_text(work, tables))
                subprocess.run(["souffle", "-o", str(binary), str(source)], check=True, capture_output=True)
                made = True
            import pyarrow.csv

            for name, rows in tables.items():
                pyarrow.csv.write_csv(
                    rows, at / f"{name}.facts", pyarrow.csv.WriteOptions(include_header=False, delimiter="\t")
                )
            subprocess.run([str(binary), "-F", folder, "-D", folder], check=True, capture_output=True)
            return int((at / "answer.csv").read_text().split()[0]), UNKNOWN

        yield run


def _souffle_text(work: str, tables: Input) -> str:
    _, view = PROGRAMS[work]
    widths = {"reach": 1 if work == "reach" else 2, "same": 2, "points": 2, "heap": 2}
    lines = []
    for name, rows in tables.items():
        columns = ", ".join(f"{column}: number" for column in rows.column_names)
        lines += [f".decl {name}({columns})", f".input {name}"]
    for name, width in widths.items():
        if f"{name}(" in _rules(work):
            lines.append(f".decl {name}({', '.join(f'c{at}: number' for at in range(width))})")
    blanks = ", ".join("_" * widths[view])
    lines += [_rules(work), ".decl answer(n: number)", f"answer(n) :- n = count : {view}({blanks}).", ".output answer"]
    return "\n".join(lines)


PLAIN = frozenset(SQL)

PEERS: dict[str, Peer] = {
    "DuckDB": Peer(_needs("duckdb"), PLAIN | frozenset(KEYED_SQL), _duckdb, (1, 2)),
    "SQLite": Peer(lambda: None, PLAIN, _sqlite),
    "clingo": Peer(_needs("clingo"), PLAIN | {"points-to"}, _clingo),
    "Souffle": Peer(
        lambda: None if shutil.which("souffle") else "no `souffle` on the path", PLAIN | {"points-to"}, _souffle
    ),
}
