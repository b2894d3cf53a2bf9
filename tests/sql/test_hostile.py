"""Texts that nobody would write: names, sizes, depths and signs; each gives an answer or a finding, never a crash."""

from __future__ import annotations

from typing import Any

import pytest

import headwater as hw

T = "CREATE TABLE t (a INT, b INT); "
ROWS = {"t": [(1, 2), (2, 3), (3, 1)]}


def answer(text: str, rows: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    program = hw.compile_sql(text)
    db = hw.Database(program)
    db.apply(insert=ROWS if rows is None else rows)
    table = db.table(program.outputs[-1])
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize(
    ("text", "rows", "expected"),
    [
        ("CREATE TABLE `we ird-näme` (`a b` INT); SELECT `a b` FROM `we ird-näme`", {"we ird-näme": [(1,)]}, [(1,)]),
        ("CREATE TABLE `select` (`from` INT); SELECT `from` FROM `select`", {"select": [(1,)]}, [(1,)]),
        (
            T + "WITH RECURSIVE `r'rows`(`x'y`) AS (SELECT a FROM t WHERE a = 1 UNION SELECT t.b FROM t JOIN `r'rows` "
            "ON t.a = `x'y`) SELECT * FROM `r'rows`",
            ROWS,
            [(1,), (2,), (3,)],
        ),
        (T + "SELECT a -- ; ' `\n FROM t /* ; */ WHERE a > 2;;;", ROWS, [(3,)]),
        (T + "SELECT '日本;''x' AS `ключ` FROM t WHERE a = 1", ROWS, [("日本;x",)]),
        (T + "SELECT -9223372036854775808 AS n FROM t WHERE a = 1", ROWS, [(-(2**63),)]),
        ("\ufeffVALUES (1, 'a')", {}, [(1, "a")]),
        (T + f"SELECT a FROM t WHERE a IN ({', '.join(map(str, range(3, 3000)))})", ROWS, [(3,)]),
        (T + f"SELECT a FROM t WHERE {' OR '.join(f'a = {at}' for at in range(3, 1000))}", ROWS, [(3,)]),
        (T + f"SELECT a{' + 1 - 1' * 50} FROM t WHERE a = 3", ROWS, [(3,)]),
        (T + "SELECT a FROM t LIMIT 99999999999999999999", ROWS, [(1,), (2,), (3,)]),
        (T + f"SELECT {', '.join(f'a AS c{at}' for at in range(300))} FROM t WHERE a = 3", ROWS, [(3,) * 300]),
    ],
)
def test_strange_texts_are_read(text: str, rows: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    assert answer(text, rows) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {'(' * 500}a{')' * 500} FROM t",
        f"SELECT {'+'.join(['a'] * 3000)} FROM t",
        f"SELECT a FROM t WHERE {'NOT ' * 2000}a = 1",
        f"SELECT CASE {' '.join(f'WHEN a = {at} THEN {at}' for at in range(2000))} END FROM t",
    ],
    ids=["brackets", "sum", "NOT", "CASE"],
)
def test_what_is_too_deep_is_told(text: str) -> None:
    with pytest.raises(hw.ProgramError) as caught:
        hw.compile_sql(T + text)
    assert {one.code for one in caught.value.diagnostics} == {"HW106"}
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", ";", "SELECT", "DROP TABLE t", "SELECT 99999999999999999999", "SELECT * FROM t\x00"]
)
def test_what_is_no_query_is_told(text: str) -> None:
    with pytest.raises(hw.ProgramError):
        hw.compile_sql(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t VALUES (1)", "rows come from files, frames or `db.apply`"),
        ("delete from t", "rows come from files, frames or `db.apply`"),
        ("DROP TABLE t", "Headwater reads CREATE TABLE"),
        ("EXPLAIN SELECT 1", "Headwater reads CREATE TABLE"),
        (
            "WITH RECURSIVE r(n) MAX RECURSION LEVEL 0 AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
            "MAX RECURSION LEVEL takes a whole number",
        ),
    ],
)
def test_sql_that_is_not_read_is_known_as_sql(text: str, message: str) -> None:
    with pytest.raises(hw.ProgramError) as caught:
        hw.compile(text)
    assert message in str(caught.value)
