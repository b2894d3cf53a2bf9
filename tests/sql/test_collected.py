"""Aggregates that collect values agree with DuckDB, or with Spark where the two differ, and are kept right."""

from __future__ import annotations

import pytest

import headwater as hw
from tests.sql.engines import Duck
from tests.sql.people import compared, edited, loaded_duck

QUERIES: list[tuple[str, str | None]] = [
    (
        "SELECT boss, collect_list(name) FROM emp GROUP BY boss",
        "SELECT boss, list(name ORDER BY name) FROM emp GROUP BY boss",
    ),
    ("SELECT collect_set(w), collect_list(w) FROM edge", "SELECT [1, 2, 4, 5], [1, 1, 1, 1, 2, 4, 5]"),
    ("SELECT collect_list(boss) FROM emp", "SELECT [1, 1, 2, 4]"),
    ("SELECT collect_list(boss) FROM emp WHERE id > 100", "SELECT []::INT[]"),  # as in Spark; DuckDB gives null
    ("SELECT boss, max_by(name, pay), min_by(name, pay) FROM emp GROUP BY boss", None),
    ("SELECT max_by(pay, boss), max_by(name, boss) FROM emp", None),
    ("SELECT max_by(boss, pay) FROM emp", "SELECT NULL"),  # as in Spark: DuckDB passes over rows without a boss
    ("SELECT boss, string_agg(name, ',' ORDER BY pay DESC, id) FROM emp GROUP BY boss", None),
    ("SELECT string_agg(name, '-' ORDER BY boss NULLS FIRST, id DESC) FROM emp", None),
    ("SELECT string_agg(name, '-' ORDER BY boss NULLS LAST, id DESC) FROM emp", None),
    ("SELECT string_agg(name, ',') FROM emp WHERE id > 100", None),
    ("SELECT string_agg(DISTINCT w, '-') FROM edge", "SELECT '1-2-4-5'"),
    (
        "SELECT listagg(name, ',') WITHIN GROUP (ORDER BY name DESC) FROM emp",
        "SELECT string_agg(name, ',' ORDER BY name DESC) FROM emp",
    ),
    ("SELECT array_agg(name ORDER BY pay, id) FROM emp", "SELECT list(name ORDER BY pay, id) FROM emp"),
    (
        "SELECT boss, collect_list(pay) FILTER (WHERE pay > 45) FROM emp GROUP BY boss",
        "SELECT boss, coalesce(list(pay ORDER BY pay) FILTER (WHERE pay > 45), []) FROM emp GROUP BY boss",
    ),
    (
        "SELECT boss, max_by(name, pay) FILTER (WHERE pay < 85), string_agg(name, ',' ORDER BY id) "
        "FILTER (WHERE pay < 85) FROM emp GROUP BY boss",
        None,
    ),
    ("SELECT name FROM emp WHERE pay = (SELECT max_by(pay, id) FROM emp)", None),
    (
        "WITH RECURSIVE r(top, id) AS (SELECT id, id FROM emp WHERE boss IS NULL UNION ALL SELECT r.top, emp.id "
        "FROM emp JOIN r ON emp.boss = r.id) SELECT top, array_join(collect_list(id), ',') FROM r GROUP BY top",
        "WITH RECURSIVE r(top, id) AS (SELECT id, id FROM emp WHERE boss IS NULL UNION ALL SELECT r.top, emp.id "
        "FROM emp JOIN r ON emp.boss = r.id) SELECT top, string_agg(id, ',' ORDER BY id) FROM r GROUP BY top",
    ),
    (
        "SELECT x.boss, t.n FROM (SELECT boss, collect_list(name) AS names FROM emp GROUP BY boss) x, "
        "unnest(x.names) AS t(n)",
        "SELECT boss, name FROM emp",
    ),
]


@pytest.fixture(scope="module")
def duck() -> Duck:
    return loaded_duck()


@pytest.mark.parametrize(("query", "theirs"), QUERIES)
def test_agree_with_duckdb(duck: Duck, query: str, theirs: str | None) -> None:
    compared(duck, query, theirs)


@pytest.mark.parametrize("query", [query for query, _ in QUERIES])
def test_oracle_edits(query: str) -> None:
    edited(query, seed=len(query), edits=6)


@pytest.mark.parametrize("provenance", ["witness", "absorption", "none"])
def test_rules_collect_with_every_provenance(provenance: str) -> None:
    text = "relation e(a: int, b: string?).\nc(A, collect<B>) :- e(A, B).\nd(collect<A>) :- e(A, _)."
    db = hw.Database(hw.compile(text), provenance=provenance)
    db.apply(insert={"e": [(1, "x"), (1, "a"), (2, None), (3, "q")]})
    assert db.rows("c") == {(1, ("a", "x")), (2, None), (3, ("q",))}
    assert db.rows("d") == {((1, 2, 3),)}
    db.apply(delete={"e": [(1, "a")]})
    assert db.rows("c") == {(1, ("x",)), (2, None), (3, ("q",))}
    if provenance != "none":
        assert db.probability("c", (1, ("x",)), facts=0.5) == 0.5
        gone = db.without({"e": [(1, "x")]})["c"].deleted.to_pylist()
        assert [list(row.values()) for row in gone] == [[1, ["x"]]]
