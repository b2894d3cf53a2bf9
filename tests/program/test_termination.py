"""Recursions that may never end are warned of exactly where data with a cycle shows that they do not end."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.pipeline import CompiledProgram

PATHS = """
path(X, Y, P, C) :- link(X, Y, C), P = f_concat([X, Y], nil).
path(X, Y, P, C) :- link(X, Z, C0), path(Z, Y, P1, C1), C = C0 + C1, P = f_concat([X], P1).
minCost(X, Y, min<C>) :- path(X, Y, P, C).
cheapestPath(X, Y, P, C) :- path(X, Y, P, C), minCost(X, Y, C).
"""
SQL_PATHS = """
WITH RECURSIVE path(src, dst, cost) AS (
    SELECT src, dst, cost FROM link
    UNION SELECT l.src, p.dst, l.cost + p.cost FROM link l JOIN path p ON l.dst = p.src
)
"""
CHEAPEST = f"{SQL_PATHS} SELECT src, dst, min(cost) AS cost FROM path GROUP BY src, dst;"
NOT_NULL = "CREATE TABLE link (src string NOT NULL, dst string NOT NULL, cost bigint NOT NULL);"
NULLABLE = "CREATE TABLE link (src string, dst string, cost bigint);"
COLUMNS = {"link": {"src": "string", "dst": "string", "cost": "int"}}

ENDS = {
    "cheapest paths asked for": f"{PATHS} query cheapestPath(X, Y, P, C).",
    "no way back": PATHS.replace("C = C0 + C1,", "C = C0 + C1, !f_inPath(P1, X),"),
    "paths that no query needs": f"{PATHS} other(X) :- link(X, _, _). query other(X).",
    "SQL over a table that nobody declared": CHEAPEST,
    "SQL over a declared table": NOT_NULL + CHEAPEST,
}
ENDLESS = {
    "000's Query 2 without a query": PATHS,
    "paths asked for": f"{PATHS} query path(X, Y, P, C). query minCost(X, Y, C).",
    "another rule sees all paths": f"{PATHS} far(X) :- path(X, _, _, C), C > 7. query far(X). query minCost(X, _, C).",
    "SQL that shows all paths": f"{SQL_PATHS} SELECT * FROM path;",
    "SQL views, all of them shown": f"{NOT_NULL} CREATE VIEW all_paths AS {SQL_PATHS} SELECT src, dst, cost FROM path;",
    "SQL whose costs may be null": NULLABLE + CHEAPEST,
}


def is_warned_of(program: CompiledProgram) -> bool:
    return "HW701" in {warning.code for warning in program.warnings}


def ends(program: CompiledProgram) -> bool:
    rows = [
        {"src": "a", "dst": "b", "cost": 1},
        {"src": "b", "dst": "a", "cost": 1},
        {"src": "b", "dst": "c", "cost": 2},
    ]
    plain = [tuple(row.values()) for row in rows]
    named = program.checked.relation("link").named
    try:
        hw.Database(program, guard=300).apply(insert={"link": rows if named else plain})
    except hw.GuardError:
        return False
    return True


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_what_ends_is_not_warned_of(text: str) -> None:
    program = hw.compile(text)
    assert (is_warned_of(program), ends(program)) == (False, True)


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_what_does_not_end_is_warned_of(text: str) -> None:
    program = hw.compile(text)
    assert (is_warned_of(program), ends(program)) == (True, False)


def test_a_table_known_from_its_frame_may_hold_nulls() -> None:
    program = hw.compile(CHEAPEST, tables=COLUMNS)
    assert (is_warned_of(program), ends(program)) == (True, False)


def test_a_rewrite_that_is_left_out_keeps_nothing_in_bounds() -> None:
    program = hw.compile(f"{PATHS} query cheapestPath(X, Y, P, C).", disabled=["aggregate_selection"])
    assert (is_warned_of(program), ends(program)) == (True, False)
