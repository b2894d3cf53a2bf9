"""What SQL engines do with recursive queries, feature by feature: a query for each, and the table of docs/sql.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import headwater as hw
from tests.sql.engines import Duck

DECLARATIONS = "CREATE TABLE e (a INT, b INT, w INT);\nCREATE TABLE p (id INT, parent INT, s STRING);\n"
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "e": [(1, 2, 1), (2, 3, 1), (3, 1, 5), (1, 3, 4), (3, 4, 2), (4, 5, 1)],
    "p": [(1, None, "x,y"), (2, 1, "y"), (3, 1, "z"), (4, 2, "z")],
}
_DOWN = "SELECT id, 1 FROM p WHERE parent IS NULL UNION ALL SELECT p.id, r.n + 1 FROM p JOIN r ON p.parent = r.id"
_R = f"WITH RECURSIVE r(id, n) AS ({_DOWN}) "
_SET = "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e UNION SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) "
FEATURES: dict[str, str] = {
    "`UNION ALL`, linear": _R + "SELECT * FROM r",
    "`UNION`: the data may have cycles": _SET + "SELECT * FROM r",
    "a part that reads the view twice": "WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e WHERE a < b UNION "
    "SELECT x.a, y.b FROM r x JOIN r y ON x.b = y.a) SELECT * FROM r",
    "several recursive parts": "WITH RECURSIVE r(n) AS (SELECT 4 UNION SELECT e.b FROM r JOIN e ON e.a = r.n "
    "UNION SELECT e.a FROM r JOIN e ON e.b = r.n) SELECT * FROM r",
    "views that read each other": "WITH RECURSIVE x(n) AS (SELECT 1 UNION SELECT y.n + 1 FROM y WHERE y.n < 9), "
    "y(n) AS (SELECT x.n * 2 FROM x WHERE x.n < 9) SELECT * FROM x",
    "`NOT EXISTS` over other tables inside": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT e.b FROM r "
    "JOIN e ON e.a = r.n WHERE e.b > r.n AND NOT EXISTS (SELECT 1 FROM p WHERE p.id = e.b AND p.s = 'y')) SELECT * "
    "FROM r",
    "`LEFT JOIN` to another table inside": "WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' UNION ALL SELECT e.b, p.s FROM r "
    "JOIN e ON e.a = r.n AND e.b > r.n LEFT JOIN p ON p.id = e.b) SELECT * FROM r",
    "`DISTINCT` inside": "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT DISTINCT e.b FROM r JOIN e ON e.a = r.n) "
    "SELECT * FROM r",
    "`GROUP BY` with `min` inside": "WITH RECURSIVE r(n, c) AS (SELECT 1, 0 UNION SELECT e.b, min(r.c + e.w) FROM r "
    "JOIN e ON e.a = r.n WHERE r.c < 9 GROUP BY e.b) SELECT n, min(c) FROM r GROUP BY n",
    "best rows only: `min() AS cost` in the head": "WITH RECURSIVE r(n, min() AS c) AS (SELECT 1, 0 UNION "
    "SELECT e.b, r.c + e.w FROM r JOIN e ON e.a = r.n) SELECT * FROM r",
    "`USING KEY (n, min(cost))`": "WITH RECURSIVE r(n, c) USING KEY (n, min(c)) AS (SELECT 1, 0 UNION "
    "SELECT e.b, r.c + e.w FROM r JOIN e ON e.a = r.n) SELECT * FROM r",
    "scalar subquery inside": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r "
    "WHERE n < (SELECT max(id) FROM p)) SELECT * FROM r",
    "`LATERAL` subquery inside": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT q.b FROM r, "
    "LATERAL (SELECT e.b FROM e WHERE e.a = r.n AND e.b > e.a) q) SELECT * FROM r",
    "`explode` or `unnest` inside": "WITH RECURSIVE r(n, s) AS (SELECT 1, 'x,y' UNION ALL SELECT r.n + 1, q.v FROM r, "
    "LATERAL unnest(split(r.s, ',')) AS q(v) WHERE r.n < 2) SELECT * FROM r",
    "`MAX RECURSION LEVEL`": "WITH RECURSIVE r(n) MAX RECURSION LEVEL 20 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r "
    "WHERE n < 9) SELECT * FROM r",
    "`LIMIT` over a recursion without an end": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) "
    "SELECT * FROM r LIMIT 5",
    "`SEARCH DEPTH FIRST`": _R.rstrip() + " SEARCH DEPTH FIRST BY id SET o SELECT id, n FROM r",
    "`CYCLE`": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT e.b FROM r JOIN e ON e.a = r.n) "
    "CYCLE n SET c USING w SELECT n, c FROM r",
    "`WITH MUTUALLY RECURSIVE`": "WITH MUTUALLY RECURSIVE r(a INT, b INT) AS (SELECT a, b FROM e UNION "
    "SELECT r.a, e.b FROM r JOIN e ON r.b = e.a) SELECT * FROM r",
    "nested `WITH RECURSIVE`": "SELECT count(*) FROM (" + _R + "SELECT id FROM r) q",
    "window functions outside": _R + "SELECT id, rank() OVER (PARTITION BY n ORDER BY id) AS k FROM r",
    "`QUALIFY` outside": _R + "SELECT id FROM r QUALIFY row_number() OVER (PARTITION BY n ORDER BY id) = 1",
    "correlated scalar subquery outside": _R + "SELECT id, (SELECT s FROM p WHERE p.id = r.id) AS s FROM r",
    "`LATERAL` with `LIMIT` outside": _R + "SELECT r.id, q.b FROM r, LATERAL (SELECT b FROM e WHERE e.a = r.id "
    "ORDER BY b LIMIT 1) q",
    "`GROUPING SETS` outside": _R + "SELECT n, count(*) FROM r GROUP BY GROUPING SETS ((n), ())",
    "`(a, b) NOT IN (SELECT ...)` outside": _R + "SELECT * FROM r WHERE (id, n) NOT IN (SELECT a, b FROM e)",
    "`EXCEPT` outside": _R + "SELECT id FROM r EXCEPT SELECT a FROM e",
    "`EXCEPT ALL` outside": _R + "SELECT id FROM r EXCEPT ALL SELECT a FROM e",
    "`* EXCEPT` outside": _R + "SELECT * EXCEPT (n) FROM r",
    "`PIVOT` outside": _R + "SELECT * FROM r PIVOT (count(id) FOR n IN (1, 2))",
}  # fmt: skip
ENDLESS = frozenset({("DuckDB 2.0", "`LIMIT` over a recursion without an end")})  # never asked: no answer would come
ENGINES = ("Spark 4.3", "DuckDB 2.0", "Headwater", "`hws.sql`")
PAGE = Path(__file__).parents[2] / "docs" / "sql.md"


def same(found: Sequence[Sequence[Any]]) -> list[str]:
    return sorted(repr(list(row)) for row in found)


def ours(query: str) -> list[str] | None:
    try:
        program = hw.compile(DECLARATIONS + query)
    except hw.ProgramError:
        return None
    db = hw.Database(program)
    used = {one.name for one in program.checked.relations}
    db.apply(insert={name: rows for name, rows in ROWS.items() if name in used})
    table = db.table(program.outputs[-1])
    return same(list(zip(*(column.to_pylist() for column in table.columns), strict=True)))


def ducks() -> Callable[[str], list[str] | None]:
    import duckdb

    duck = Duck(DECLARATIONS)
    duck.load(ROWS)

    def run(query: str) -> list[str] | None:
        try:
            return same(duck.rows(query))
        except duckdb.Error:
            return None

    return run


def verdict(found: list[str] | None, expected: list[str] | None) -> str:
    if found is None:
        return "no"
    return "yes" if expected is None or found == expected else "other rows"


def printed(engine: str) -> dict[str, str]:
    """What the page says of an engine, by feature."""
    at = ENGINES.index(engine) + 1
    text = PAGE.read_text(encoding="utf-8").partition("## Conformance")[2].partition("\n## ")[0]
    lines = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in text.splitlines() if line.startswith("| ")]
    return {cells[0].strip(): cells[at].strip() for cells in lines[1:]}
