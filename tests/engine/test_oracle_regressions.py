"""Cases that once failed, small, with the rows that the oracle expects after each transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import headwater as hw
from tests.oracle.harness import typed
from tests.oracle.program import Row


@dataclass(frozen=True, slots=True)
class Step:
    insert: Mapping[str, list[Row]]
    delete: Mapping[str, list[Row]]
    rows: Mapping[str, set[Row]]


def replay(text: str, *steps: Step) -> None:
    """After each step the views hold exactly these rows; the first step is the database before any change."""
    db = hw.Database(hw.compile(text))
    for number, step in enumerate(steps):
        if number:
            db.apply(insert=dict(step.insert), delete=dict(step.delete))
        for relation, expected in step.rows.items():
            assert typed(set(db.rows(relation))) == typed(expected), f"{relation} after step {number}"


def test_an_edge_that_was_the_only_witness_of_a_cycle() -> None:
    replay(
        """
        relation e(c0: string, c1: string).
        tc(X, Y) :- e(X, Y).
        tc(X, Y) :- e(X, Z), tc(Z, Y).
        """,
        Step({}, {}, {"tc": set()}),
        Step(
            {"e": [("a", "b"), ("b", "c"), ("c", "b")]},
            {},
            {"tc": {("a", "b"), ("a", "c"), ("b", "b"), ("b", "c"), ("c", "b"), ("c", "c")}},
        ),
        Step({}, {"e": [("c", "b")]}, {"tc": {("a", "b"), ("b", "c"), ("a", "c")}}),
        Step({}, {"e": [("b", "c")]}, {"tc": {("a", "b")}}),
    )
