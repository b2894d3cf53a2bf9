"""Recursive views as other engines write them: Materialize's WITH MUTUALLY RECURSIVE, Feldera's DECLARE RECURSIVE VIEW.

The first query of each is taken from their documentation, up to its names.
"""

from __future__ import annotations

import pytest

import headwater as hw

TABLE = "CREATE TABLE e (a INT, b INT);"
RING = [(1, 2), (2, 3), (3, 1), (3, 4)]
CLOSURE = {(a, b) for a in (1, 2, 3) for b in (1, 2, 3, 4)}
STEP = "SELECT r.a, e.b FROM r JOIN e ON r.b = e.a"


def rows(text: str, view: str = "r") -> set[tuple[object, ...]]:
    db = hw.Database(hw.compile(text))
    db.apply(insert={"e": RING})
    db.apply(delete={"e": RING[3:]})
    db.apply(insert={"e": RING[3:]})
    return db.rows(view)


def test_materialize() -> None:
    text = f"""{TABLE}
        WITH MUTUALLY RECURSIVE
          r (a int, b numeric(10, 0)) AS (SELECT a, b FROM e UNION {STEP}),
          far (a int NOT NULL) AS (SELECT a FROM r WHERE b = 4)
        SELECT a FROM far"""
    assert rows(text, "far") == {(1,), (2,), (3,)}


def test_materialize_views_that_read_each_other() -> None:
    text = f"""{TABLE}
        WITH MUTUALLY RECURSIVE
          odd (b int) AS (SELECT b FROM e WHERE a = 1 UNION SELECT e.b FROM even JOIN e ON even.b = e.a),
          even (b int) AS (SELECT e.b FROM odd JOIN e ON odd.b = e.a)
        SELECT * FROM even"""
    assert rows(text, "even") == {(1,), (2,), (3,), (4,)}


@pytest.mark.parametrize("union", ["UNION", "UNION ALL"])
def test_feldera(union: str) -> None:
    text = f"""DECLARE RECURSIVE VIEW r(a INT NOT NULL, b INT);
        {TABLE}
        CREATE MATERIALIZED VIEW r AS SELECT a, b FROM e {union} {STEP}"""
    assert rows(text) == CLOSURE
    db = hw.Database(hw.compile(text))
    db.apply(insert={"e": RING})
    assert db.table("r").num_rows == len(CLOSURE)


def test_feldera_views_that_read_each_other() -> None:
    text = f"""{TABLE}
        DECLARE RECURSIVE VIEW odd(b INT);
        DECLARE RECURSIVE VIEW even(b INT);
        CREATE LOCAL VIEW odd AS SELECT b FROM e WHERE a = 1 UNION SELECT e.b FROM even JOIN e ON even.b = e.a;
        CREATE VIEW even AS SELECT e.b FROM odd JOIN e ON odd.b = e.a;"""
    assert rows(text, "even") == {(1,), (2,), (3,), (4,)}
    assert hw.compile(text).outputs == ("even",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DECLARE RECURSIVE VIEW r(a INT); SELECT 1", "`r` is declared as a recursive view, but not created"),
        ("DECLARE RECURSIVE VIEW r; SELECT 1", "the columns of `r` are missing here"),
        ("WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 5) r (a int) AS (SELECT 1) SELECT * FROM r", "limit"),
        ("WITH MUTUALLY RECURSIVE r () AS (SELECT 1) SELECT * FROM r", "`r` names 0 columns"),
    ],
)
def test_what_is_missing_is_told(text: str, message: str) -> None:
    with pytest.raises(hw.ProgramError, match=message):
        hw.compile(text)
