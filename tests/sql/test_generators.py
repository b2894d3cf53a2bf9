"""Generators: `explode`, `unnest`, `range` and their like give the rows that DuckDB gives, and are kept right."""

from __future__ import annotations

import pytest

import headwater as hw
from tests.sql.engines import Duck
from tests.sql.people import DECLARATIONS, compared, edited, loaded_duck

SPLIT = "string_split(tags, ',')"
QUERIES: list[tuple[str, str | None]] = [
    ("SELECT * FROM range(3)", None),
    ("SELECT * FROM range(2, 10, 3) AS t(x)", None),
    ("SELECT * FROM range(5, 0, -2) AS t(x)", None),
    ("SELECT * FROM generate_series(10, 1, -3) AS t(x)", None),
    ("SELECT * FROM generate_series(5, 1) AS t(x)", None),
    ("SELECT x FROM explode(sequence(5, 1)) AS t(x)", "SELECT * FROM generate_series(5, 1, -1)"),
    ("SELECT count(*), sum(x) FROM range(100000) AS t(x)", None),
    ("SELECT a.x, b.y FROM range(3) AS a(x), range(2) AS b(y)", None),
    ("SELECT a.x FROM range(4) AS a(x) LEFT JOIN range(2) AS b(y) ON true WHERE a.x = b.y", None),
    ("SELECT edge.a, t.x FROM edge, range(edge.w) AS t(x)", None),
    ("SELECT edge.a, t.x FROM edge CROSS JOIN generate_series(edge.a, edge.b) AS t(x)", None),
    ("SELECT edge.a, t.x FROM edge JOIN generate_series(1, edge.w) AS t(x) ON t.x > 1", None),
    ("SELECT edge.a, t.x FROM edge LEFT JOIN generate_series(2, edge.w) AS t(x) ON true", None),
    ("SELECT edge.a, t.x FROM edge LEFT JOIN generate_series(2, 3) AS t(x) ON t.x = edge.a", None),
    ("SELECT edge.a, t.x FROM edge RIGHT JOIN range(1, 9) AS t(x) ON t.x = edge.a AND edge.b > 1", None),
    ("SELECT edge.a, t.x FROM edge FULL JOIN generate_series(2, 20) AS t(x) ON t.x = edge.b", None),
    ("SELECT a, edge.b FROM edge JOIN range(1, 9) AS t(a) USING (a)", None),
    ("SELECT edge.a FROM edge SEMI JOIN range(1, 3) AS t(x) ON t.x = edge.a", None),
    (
        "SELECT d FROM explode(sequence(DATE '2024-01-30', DATE '2024-02-03')) AS t(d)",
        "SELECT * FROM generate_series(DATE '2024-01-30', DATE '2024-02-03', INTERVAL 1 DAY)",
    ),
    (
        "SELECT d FROM explode(sequence(DATE '2024-01-31', DATE '2024-04-30', INTERVAL 1 MONTH)) AS t(d)",
        "VALUES (DATE '2024-01-31'), (DATE '2024-02-29'), (DATE '2024-03-31'), (DATE '2024-04-30')",
    ),
    (
        "SELECT d FROM explode(sequence(TIMESTAMP '2024-01-30 00:00:00', TIMESTAMP '2024-01-30 02:30:00', "
        "INTERVAL 1 HOUR)) AS t(d)",
        "SELECT * FROM generate_series(TIMESTAMP '2024-01-30', TIMESTAMP '2024-01-30 02:30:00', INTERVAL 1 HOUR)",
    ),
    ("SELECT x FROM unnest([1, 1, 2]) AS t(x)", None),
    ("SELECT explode(array(1, 1, 2)) AS x", "SELECT unnest([1, 1, 2])"),
    (
        "SELECT id, tag FROM note LATERAL VIEW explode(split(tags, ',')) t AS tag",
        f"SELECT id, unnest({SPLIT}) FROM note",
    ),
    (
        "SELECT id, explode(split(tags, ',')) AS tag FROM note WHERE id < 5",
        f"SELECT id, unnest({SPLIT}) FROM note WHERE id < 5",
    ),
    (
        "SELECT note.id, t.tag FROM note LATERAL VIEW OUTER explode(split(tags, ',')) t AS tag",
        f"SELECT note.id, t.tag FROM note LEFT JOIN unnest({SPLIT}) AS t(tag) ON true",
    ),
    (
        "SELECT note.id, t.tag FROM note LATERAL VIEW explode_outer(split(tags, ',')) t AS tag",
        f"SELECT note.id, t.tag FROM note LEFT JOIN unnest({SPLIT}) AS t(tag) ON true",
    ),
    (
        "SELECT id, explode_outer(split(tags, ',')) AS tag FROM note",
        f"SELECT note.id, t.tag FROM note LEFT JOIN unnest({SPLIT}) AS t(tag) ON true",
    ),
    (
        "SELECT id, posexplode(split(tags, ',')) FROM note",
        f"SELECT id, generate_subscripts({SPLIT}, 1) - 1, unnest({SPLIT}) FROM note",
    ),
    (
        "SELECT id, p, v FROM note LATERAL VIEW posexplode(split(tags, ',')) t AS p, v",
        f"SELECT id, generate_subscripts({SPLIT}, 1) - 1, unnest({SPLIT}) FROM note",
    ),
    (
        "SELECT note.id, t.x, t.n FROM note CROSS JOIN unnest(split(note.tags, ',')) WITH ORDINALITY AS t(x, n)",
        f"SELECT id, unnest({SPLIT}), generate_subscripts({SPLIT}, 1) FROM note",
    ),
    (
        "SELECT id, x.v, y.v FROM note LATERAL VIEW explode(split(tags, ',')) x AS v "
        "LATERAL VIEW explode(split(tags, ',')) y AS v WHERE x.v < y.v",
        f"SELECT id, x.v, y.v FROM note, unnest({SPLIT}) x(v), unnest({SPLIT}) y(v) WHERE x.v < y.v",
    ),
    (
        "SELECT tag, count(*) AS n FROM note LATERAL VIEW explode(split(tags, ',')) t AS tag GROUP BY tag",
        f"SELECT tag, count(*) FROM note, unnest({SPLIT}) t(tag) GROUP BY tag",
    ),
    (
        "SELECT id FROM note WHERE NOT EXISTS (SELECT 1 FROM unnest(split(note.tags, ',')) AS t(x) WHERE t.x = 'b')",
        "SELECT id FROM note WHERE NOT coalesce(list_contains(string_split(tags, ','), 'b'), false)",
    ),
    (
        "SELECT id FROM note WHERE 'b' IN (SELECT t.x FROM unnest(split(note.tags, ',')) AS t(x))",
        "SELECT id FROM note WHERE list_contains(string_split(tags, ','), 'b')",
    ),
    (
        "SELECT x FROM (SELECT array(boss, id) AS pair FROM emp) q, unnest(q.pair) AS t(x)",
        "SELECT x FROM (SELECT [boss, id] AS pair FROM emp) q, unnest(q.pair) AS t(x)",
    ),
    ("SELECT array(boss, id) AS pair FROM emp", "SELECT [boss, id] FROM emp"),
]
IN_RECURSIONS: list[tuple[str, str | None]] = [
    (
        "WITH RECURSIVE r(n) AS (SELECT x FROM range(3) AS t(x) UNION SELECT n + 9 FROM r WHERE n < 9) SELECT n FROM r",
        None,
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT t.x FROM r, unnest([r.n + 1, r.n + 2]) AS t(x) WHERE r.n < 5) "
        "SELECT * FROM r",
        None,
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT t.x FROM r, unnest([r.n * 2, r.n * 2]) AS t(x) "
        "WHERE r.n < 5) SELECT * FROM r",
        None,
    ),
    (
        "WITH RECURSIVE r(a, n) AS (SELECT a, 0 FROM edge WHERE a = 4 UNION ALL SELECT t.x, n + 1 FROM r, "
        "unnest([r.a, r.a + 1]) AS t(x) WHERE n < 3) SELECT * FROM r",
        None,
    ),
    (
        "WITH RECURSIVE w(id, word) AS (SELECT id, explode(split(tags, ',')) AS tag FROM note UNION "
        "SELECT id, word || '!' FROM w WHERE length(word) < 3) SELECT * FROM w",
        f"WITH RECURSIVE w(id, word) AS (SELECT id, unnest({SPLIT}) FROM note UNION "
        "SELECT id, word || '!' FROM w WHERE length(word) < 3) SELECT * FROM w",
    ),
]


@pytest.fixture(scope="module")
def duck() -> Duck:
    return loaded_duck()


@pytest.mark.parametrize(("query", "theirs"), QUERIES + IN_RECURSIONS)
def test_agree_with_duckdb(duck: Duck, query: str, theirs: str | None) -> None:
    compared(duck, query, theirs)


@pytest.mark.parametrize("query", [query for query, _ in QUERIES + IN_RECURSIONS if "note" in query or "edge" in query])
def test_oracle_edits(query: str) -> None:
    edited(query, seed=len(query), edits=6)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT id, explode(name) AS x FROM emp", "HW404"),
        ("SELECT x FROM emp RIGHT JOIN unnest([emp.id, 2]) AS t(x) ON true", "HW117"),
        ("SELECT 1 FROM range(1.5) AS t(x)", "HW404"),
        ("SELECT array(1, NULL) AS pair", "HW117"),
        ("SELECT t.x FROM unnest([1, 2]) AS t(x, y)", "HW201"),
    ],
)
def test_what_is_refused(query: str, code: str) -> None:
    with pytest.raises(hw.ProgramError) as caught:
        hw.compile(DECLARATIONS + query)
    assert caught.value.diagnostics[0].code == code
