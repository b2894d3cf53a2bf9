"""Subqueries as values, LATERAL, LIMIT in subqueries, rows in NOT IN: as in DuckDB, also while the data changes."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from headwater.language.terms import body_atoms
from tests.sql.engines import Duck, bag

TABLES = "CREATE TABLE t (g STRING, a INT, b INT); CREATE TABLE one (k INT, x INT); CREATE TABLE u (k INT, x INT);"
QUERIES = (
    "SELECT a, (SELECT x FROM one WHERE one.k = t.a) AS v FROM t",
    "SELECT a, (SELECT x FROM one WHERE k = 1) AS v FROM t",
    "SELECT a, (SELECT x + t.b FROM one WHERE one.k = t.a AND x > 0) AS v FROM t WHERE (SELECT k FROM one WHERE "
    "k = t.a) > 1",
    "SELECT a, (SELECT max(x) + 1 FROM u WHERE u.k = t.a) AS v FROM t",
    "SELECT a, (SELECT count(*) + sum(x) FROM u WHERE u.k < t.a) AS v, (SELECT count(*) FROM u WHERE k < t.a OR "
    "k IS NULL) FROM t",
    "SELECT a, (SELECT coalesce(sum(x), 0) FROM u WHERE u.k = t.a HAVING count(*) < 2) AS v FROM t",
    "SELECT a, (SELECT x FROM u WHERE u.k = t.a ORDER BY x NULLS FIRST LIMIT 1) AS v FROM t",
    "SELECT a, (SELECT (SELECT max(x) FROM u WHERE u.k = t.a) + count(*) FROM one WHERE one.k = t.a) AS r FROM t",
    "SELECT a, (SELECT q.x FROM (SELECT x FROM one WHERE k = 1) q) AS r FROM t",
    "SELECT a, EXISTS (SELECT 1 FROM u WHERE k = t.a LIMIT 1) AS e FROM t",
    "SELECT g, sum(a) AS s, (SELECT max(x) FROM u WHERE u.k < 3) AS m FROM t GROUP BY g",
    "SELECT a, count(*) AS n, (SELECT max(x) FROM u WHERE u.k = t.a) AS m FROM t GROUP BY a",
    "SELECT t.a, q.x FROM t, LATERAL (SELECT x FROM u WHERE u.k = t.a) q",
    "SELECT t.a, q.x FROM t, LATERAL (SELECT x FROM u WHERE u.k = t.a ORDER BY x DESC NULLS LAST LIMIT 2) q",
    "SELECT t.a, q.* FROM t LEFT JOIN LATERAL (SELECT x FROM u WHERE k = t.a ORDER BY x NULLS FIRST LIMIT 2) q ON TRUE",
    "SELECT t.a, q.n FROM t LEFT JOIN LATERAL (SELECT count(*) AS n, max(x) FROM u WHERE u.k = t.a) q ON TRUE",
    "SELECT t.a, q.n, q.m FROM t CROSS JOIN LATERAL (SELECT k AS n, count(*) AS m FROM u WHERE u.k > t.a GROUP BY k) q",
    "SELECT t.a, v.z FROM t CROSS JOIN LATERAL (VALUES (t.a), (t.b)) v(z)",
    "SELECT t.a, v.z FROM t, LATERAL (SELECT t.a + 1 AS z) v, LATERAL (SELECT v.z * 2 AS y) w WHERE w.y > 4",
    "SELECT t.a, one.k, v.z FROM t, one, LATERAL (SELECT t.a + one.k AS z) v",
    "SELECT t.a, v.z FROM t, LATERAL (SELECT x AS z FROM u WHERE k = t.a UNION SELECT b FROM t t2 WHERE t2.a = t.a) v",
    "SELECT t.a, q.r, q.x FROM t, LATERAL (SELECT x, rank() OVER (ORDER BY x NULLS FIRST) AS r FROM u WHERE u.k "
    "= t.a) q",
    "SELECT t.a FROM t WHERE EXISTS (SELECT k FROM u WHERE u.k >= t.a GROUP BY k HAVING count(*) > 1)",
    "SELECT sum(DISTINCT a - b), count(2) FROM t WHERE 3 > (SELECT min(x) FROM u WHERE u.k = t.a)",
    "SELECT count(*), sum(b) FROM t, range(0, 3) AS r(n) WHERE n > 7",
    "SELECT t.a, q.v FROM t LEFT JOIN LATERAL (SELECT g FROM t t2 WHERE t2.a = t.b) AS q(v) ON TRUE",
    "SELECT t.a FROM t WHERE t.b IN (SELECT max(x) FROM u WHERE u.k <= t.a)",
    "SELECT t.a FROM t WHERE t.b NOT IN (SELECT max(x) FROM u WHERE u.k <= t.a GROUP BY k)",
    "SELECT a, b FROM t WHERE (a, b) IN (SELECT k, x FROM u)",
    "SELECT a FROM t WHERE b = ANY (SELECT x FROM u WHERE u.k = t.a) OR a <> ALL (SELECT k FROM u)",
    "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT k, x FROM u)",
    "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT k, x FROM u WHERE k > 1 AND x > 0)",
    "SELECT * FROM (SELECT a FROM t ORDER BY a NULLS FIRST LIMIT 3) q",
    "SELECT * FROM (SELECT DISTINCT a FROM t ORDER BY 1 NULLS FIRST LIMIT 3 OFFSET 1) q",
    "WITH v AS (SELECT a, b FROM t ORDER BY a NULLS FIRST, b NULLS FIRST LIMIT 4) SELECT sum(b), count(*) FROM v",
    "SELECT a FROM t WHERE b IN (SELECT x FROM u ORDER BY x DESC NULLS LAST LIMIT 2)",
    "WITH RECURSIVE r(n) AS (SELECT a FROM t UNION SELECT q.x FROM r, LATERAL (SELECT x FROM u WHERE u.k = r.n) "
    "q) SELECT n FROM r",
)  # fmt: skip


def some(dice: random.Random, most: int) -> dict[str, list[tuple[object, ...]]]:
    def number() -> int | None:
        return dice.choice([1, 2, 3, 4, None])

    rows: dict[str, list[tuple[object, ...]]] = {
        "t": [(dice.choice(["x", "y", None]), number(), number()) for _ in range(dice.randint(0, most))],
        "one": [(key, number()) for key in (1, 2, 3) if dice.random() < 0.7],
        "u": [(number(), number()) for _ in range(dice.randint(0, most))],
    }
    for name in ("t", "u"):
        rows[name] += rows[name][:1]
    return rows


@pytest.mark.parametrize("part", range(3))
def test_agree_subqueries_while_rows_come_and_go(part: int) -> None:
    duck = Duck(TABLES)
    for query in QUERIES[part::3]:
        dice = random.Random(query)
        program = hw.compile(TABLES + query)
        db = hw.Database(program)
        used = {one.name for one in program.checked.relations}
        held = {name: list[tuple[object, ...]]() for name in ("t", "one", "u")}
        for most in (9, 3):
            gone = {name: dice.sample(rows, len(rows) // 3) for name, rows in held.items()}
            for name, rows in gone.items():
                for row in rows:
                    held[name].remove(row)
            came = some(dice, most)
            came["one"] = [row for row in came["one"] if row[0] not in {key for key, _ in held["one"]}]
            for name, rows in came.items():
                held[name] += rows
            db.apply(
                insert={name: rows for name, rows in came.items() if name in used},
                delete={name: rows for name, rows in gone.items() if name in used},
            )
            duck.load(held)
            assert bag(db.table(program.outputs[-1])) == duck.run(query), f"{query}\n{held}"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, (SELECT x FROM u WHERE u.k = t.a) AS v FROM t",
        "SELECT a, (SELECT x FROM u) AS v FROM t",
        "SELECT a FROM t WHERE b > (SELECT x FROM u WHERE u.k = t.a)",
        "WITH RECURSIVE r(n) AS (SELECT a FROM t UNION SELECT (SELECT x FROM u WHERE u.k = r.n) FROM r) SELECT "
        "n FROM r",
    ],
)
def test_a_second_row_of_a_value_is_refused_and_undone(query: str) -> None:
    db = hw.Database(hw.compile(TABLES + query))
    view = db.program.outputs[-1]
    db.apply(insert={"t": [("x", 1, 9)], "u": [(1, 7)]})
    before = bag(db.table(view))
    assert before
    with pytest.raises(hw.HeadwaterError, match="HW835"):
        db.apply(insert={"u": [(1, 8)]})
    assert bag(db.table(view)) == before
    db.apply(insert={"u": [(1, 8)]}, delete={"u": [(1, 7)]})


def test_relations_of_subqueries_are_told_from_those_of_questions() -> None:
    """Both were called by the same name, where the subquery's own relation is derived only in part."""
    query = (
        "SELECT (SELECT max(u.x) FROM u WHERE u.k <> t.a AND u.x = t.b AND 1 <= q.c) AS m FROM t "
        "FULL JOIN (SELECT x AS c FROM u GROUP BY ROLLUP (x)) AS q ON t.b = q.c"
    )
    program = hw.compile(TABLES + query)
    widths = {relation.name: relation.arity for relation in program.rewritten.relations}
    atoms = [atom for rule in program.rewritten.rules for atom, _ in body_atoms(rule)]
    assert all(len(atom.args) == widths[atom.relation] for atom in atoms)
    db = hw.Database(program)
    db.apply(insert={"t": [("x", 1, 2)], "u": [(2, 2)]})
    assert bag(db.table("result")) == {(2,): 1, (None,): 1}


def test_rows_that_nobody_asks_for_are_not_counted() -> None:
    db = hw.Database(hw.compile(TABLES + "SELECT a, (SELECT x FROM u WHERE u.k = t.a) AS v FROM t"))
    db.apply(insert={"t": [("x", 1, 1)], "u": [(1, 7), (2, 8), (2, 9)]})
    assert db.rows("result") == {(1, 7)}


def test_columns_whose_names_end_in_a_quote_are_not_hidden() -> None:
    program = hw.compile_sql("SELECT * FROM t", tables={"t": {"DATE '2024-02-27'": "string", "x'": "int"}})
    db = hw.Database(program)
    db.apply(insert={"t": [("a", 1)]})
    assert db.rows(program.outputs[-1]) == {("a", 1)}
