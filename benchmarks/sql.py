"""Recursive SQL over texts beside DuckDB: seconds of processor time from tables in memory to the answer in memory.

    python benchmarks/sql.py [--rows 100000] [--repeats 3]

Both get the same Arrow tables and give an Arrow table, one thread each, in turns, and the answers are compared. The
smallest of the repeats counts; loops are compiled before. `sql.md` has the figures.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import duckdb
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import headwater as hw

PEOPLE = "CREATE TABLE emp (id BIGINT NOT NULL, boss BIGINT, name STRING NOT NULL, pay BIGINT NOT NULL);"
WORDS = "CREATE TABLE words (id BIGINT NOT NULL, txt STRING NOT NULL);"
QUERIES = {
    "path of names": (
        PEOPLE,
        "WITH RECURSIVE r(id, path) AS (SELECT id, name FROM emp WHERE boss IS NULL UNION ALL "
        "SELECT emp.id, r.path || '/' || emp.name FROM emp JOIN r ON emp.boss = r.id) SELECT id, path FROM r",
    ),
    "pay of everybody below": (
        PEOPLE,
        "WITH RECURSIVE r(top, id, pay) AS (SELECT id, id, pay FROM emp UNION ALL "
        "SELECT r.top, emp.id, emp.pay FROM emp JOIN r ON emp.boss = r.id) "
        "SELECT top, sum(pay) AS s FROM r GROUP BY top",
    ),
    "threaded order": (
        PEOPLE,
        "WITH RECURSIVE r(id, sort, depth) AS (SELECT id, lpad(CAST(id AS VARCHAR), 8, '0'), 0 FROM emp "
        "WHERE boss IS NULL UNION ALL SELECT emp.id, r.sort || '.' || lpad(CAST(emp.id AS VARCHAR), 8, '0'), depth + 1 "
        "FROM emp JOIN r ON emp.boss = r.id) SELECT id, sort, depth FROM r ORDER BY sort",
    ),
    "texts split": (
        WORDS,
        "WITH RECURSIVE r(id, word, rest) AS (SELECT id, '', txt || ',' FROM words UNION ALL SELECT id, "
        "substr(rest, 1, instr(rest, ',') - 1), substr(rest, instr(rest, ',') + 1) FROM r WHERE rest <> '') "
        "SELECT id, word FROM r WHERE word <> ''",
    ),
}


def people(count: int) -> pa.Table:
    """A company in which everybody has eight people below."""
    ids = range(count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "boss": pa.array([(each - 1) // 8 if each else None for each in ids], pa.int64()),
            "name": [f"name{each}" for each in ids],
            "pay": pa.array([each % 97 for each in ids], pa.int64()),
        }
    )


def words(count: int) -> pa.Table:
    texts = [",".join(f"w{(row * 7 + at) % 5000}" for at in range(5)) for row in range(count // 6)]
    return pa.table({"id": pa.array(range(count // 6), pa.int64()), "txt": texts})


def timed(work: Callable[[], pa.Table]) -> tuple[float, pa.Table]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


def theirs(query: str, tables: dict[str, pa.Table]) -> pa.Table:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    for name, table in tables.items():
        connection.register(name, table)
    return connection.execute(query).to_arrow_table()


def ours(program: hw.Program, tables: dict[str, pa.Table]) -> pa.Table:
    db = hw.Database(program)
    db.apply(insert=tables)
    return db.table(program.outputs[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    shown = Table("query", "DuckDB s", "ours s", "ours / DuckDB")
    sources = {PEOPLE: {"emp": people(given.rows)}, WORDS: {"words": words(given.rows)}}
    small = {PEOPLE: {"emp": people(500)}, WORDS: {"words": words(500)}}
    for name, (declared, query) in QUERIES.items():
        program = hw.compile(declared + query)
        ours(program, small[declared])
        best = [float("inf"), float("inf")]
        for _ in range(given.repeats):
            one, expected = timed(lambda: theirs(query, sources[declared]))  # noqa: B023 - called at once
            other, found = timed(lambda: ours(program, sources[declared]))  # noqa: B023 - called at once
            keys = [(column, "ascending") for column in expected.column_names]
            assert found.sort_by(keys).to_pydict() == expected.sort_by(keys).to_pydict(), name
            best = [min(best[0], one), min(best[1], other)]
        shown.add_row(name, f"{best[0]:.2f}", f"{best[1]:.2f}", f"{best[1] / best[0]:.1f}")
    Console().print(shown)


if __name__ == "__main__":
    main()
