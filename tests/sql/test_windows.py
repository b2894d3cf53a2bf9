"""Window functions and QUALIFY: the same rows as DuckDB's, also while the data changes."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from tests.sql.engines import Duck, follow, ours
from tests.sql.random_queries import DECLARATIONS, random_rows

EVERYTHING = "t.a {} NULLS FIRST, t.b {} NULLS LAST, t.s {} NULLS FIRST"
QUERIES = (
    "SELECT s, count(*) AS n, rank() OVER (ORDER BY count(*) DESC) AS r, sum(count(*)) OVER () AS all_of FROM t "
    "GROUP BY s",
    "SELECT a, b FROM t QUALIFY row_number() OVER (PARTITION BY s ORDER BY a NULLS FIRST, b NULLS FIRST) <= 2",
    "SELECT s, rank() OVER w AS k FROM t WINDOW w AS (PARTITION BY s ORDER BY a NULLS FIRST) QUALIFY k < 3",
    "SELECT DISTINCT s, count(DISTINCT a) OVER (PARTITION BY s) AS n FROM t",
    "SELECT a, sum(b) FILTER (WHERE b > 1) OVER (ORDER BY a NULLS FIRST GROUPS BETWEEN 1 PRECEDING AND CURRENT "
    "ROW) FROM t",
    "SELECT a, n FROM (SELECT a, sum(b) OVER (PARTITION BY s ORDER BY a NULLS FIRST) AS n FROM t) WHERE n > 1",
    "SELECT t.a, u.c, count(*) OVER (PARTITION BY u.c) AS n FROM t LEFT JOIN u ON t.a = u.a",
    "SELECT a FROM t WHERE b IN (SELECT k FROM (SELECT b AS k, rank() OVER (ORDER BY b NULLS FIRST) AS n FROM "
    "t) WHERE n < 4)",
    "SELECT a + row_number() OVER (ORDER BY a NULLS FIRST, b NULLS FIRST) AS x FROM t WHERE a > 0 OR b IN "
    "(SELECT c FROM u)",
    "WITH RECURSIVE r(x, y) AS (SELECT x, y FROM w UNION SELECT r.x, w.y FROM r JOIN w ON r.y = w.x) "
    "SELECT x, y, dense_rank() OVER (PARTITION BY x ORDER BY y DESC NULLS LAST) AS d FROM r",
)  # fmt: skip


def drawn(dice: random.Random) -> str:
    """A query with two window functions. Where ties would show, rows are ordered by all their columns."""
    return f"SELECT a, b, s, {_call(dice)} AS x, {_call(dice)} AS y FROM t"


def _call(dice: random.Random) -> str:
    part = dice.choice(["", "PARTITION BY s ", "PARTITION BY b, s ", "PARTITION BY a % 2 "])
    whole = EVERYTHING.format(*(dice.choice(["ASC", "DESC"]) for _ in range(3)))
    some = f"t.{dice.choice('ab')} {dice.choice(['ASC', 'DESC'])} NULLS {dice.choice(['FIRST', 'LAST'])}"
    value = dice.choice(["a", "b", "a + b"])
    aggregate = f"{dice.choice(['sum', 'count', 'min', 'max', 'avg'])}({value})"
    bounds = ["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"]
    low = dice.randrange(4)
    frame = f"BETWEEN {bounds[low]} AND {bounds[max(1, dice.randint(low, 4))]}"
    match dice.randrange(6):
        case 0:
            ranking = dice.choice(["rank()", "dense_rank()", "percent_rank()", "cume_dist()"])
            return f"{ranking} OVER ({part}ORDER BY {some})"
        case 1:
            shift = dice.choice(
                ["row_number()", "ntile(3)", f"lag({value})", f"lead({value}, 2, 0)", f"lag({value}, 1, b)"]
            )
            return f"{shift} OVER ({part}ORDER BY {whole})"
        case 2:
            pick = dice.choice([f"first_value({value})", f"last_value({value})", f"nth_value({value}, 2)"])
            return f"{pick} OVER ({part}ORDER BY {whole} ROWS {frame})"
        case 3:
            return f"{aggregate} OVER ({part}ORDER BY {whole} ROWS {frame})"
        case 4:
            return f"{aggregate} OVER ({part}ORDER BY {some}{dice.choice(['', f' RANGE {frame}', f' GROUPS {frame}'])})"
        case _:
            return f"{aggregate} OVER ({part.strip()})"


def test_agree_random_windows() -> None:
    duck = Duck()
    for seed in range(60):
        dice = random.Random(f"windows {seed}")
        rows, query = random_rows(dice), drawn(dice)
        duck.load(rows)
        assert ours(query, rows) == duck.run(query), f"{seed}: {query}\n{rows}"


def test_agree_windows_after_every_change() -> None:
    duck = Duck()
    for seed, query in enumerate((*QUERIES, *(drawn(random.Random(f"changed {at}")) for at in range(8)))):
        dice = random.Random(f"changes {seed}")
        follow(query, duck, dice, 3)


def test_nulls_are_skipped_where_asked() -> None:
    rows = [(1, None, "x"), (2, 5, "x"), (3, None, "x"), (4, 7, "x")]
    query = (
        "SELECT a, lag(b) IGNORE NULLS OVER (ORDER BY a) AS l, first_value(b) IGNORE NULLS OVER (ORDER BY a) AS f, "
        "last(b, true) OVER (ORDER BY a) AS z FROM t"
    )
    assert set(ours(query, {"t": rows})) == {
        (1, None, None, None),
        (2, None, 5, 5),
        (3, 5, 5, 5),
        (4, 5, 5, 7),
    }


def test_a_range_of_times() -> None:
    text = (
        "CREATE TABLE e (at TIMESTAMP, n INT); "
        "SELECT n, sum(n) OVER (ORDER BY at RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS s FROM e"
    )
    db = hw.Database(hw.compile(text))
    db.apply(insert={"e": [("2024-01-01", 1), ("2024-01-02", 2), ("2024-01-04", 4), ("2024-01-04 12:00:00", 8)]})
    assert db.rows("result") == {(1, 1), (2, 3), (4, 4), (8, 12)}


def test_a_sum_that_does_not_fit_is_told() -> None:
    db = hw.Database(hw.compile(DECLARATIONS + "SELECT sum(a) OVER (ORDER BY b) AS x FROM t"))
    with pytest.raises(hw.HeadwaterError, match="does not fit into 64 bits"):
        db.apply(insert={"t": [(2**62, 1, "x"), (2**62, 2, "x")]})
    assert db.rows("result") == set()
