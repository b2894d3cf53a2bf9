"""Cases that once failed, small, with the rows that the oracle expects after each transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def test_a_row_is_forbidden_although_a_wildcard_has_a_newer_match() -> None:
    replay(
        """
        relation b0(c0: int, c1: int).
        d0(0.1, X1) :- b0(X1, X2).
        d0(0.1, 0).
        d1(X2) :- d0(X1, X2), !b0(_, X2), d0(X1, _).
        """,
        Step({}, {}, {"d0": {(0.1, 0)}, "d1": {(0,)}}),
        Step({"b0": [(4, 0)]}, {}, {"d0": {(0.1, 0), (0.1, 4)}, "d1": {(4,)}}),
    )


def test_a_row_that_could_support_itself_is_forbidden() -> None:
    replay(
        """
        d0(X1, "a") :- b0(X1).
        d2(0) :- !d0(_, _), d2(_).
        d2(2).
        """,
        Step({}, {}, {"d0": set(), "d2": {(0,), (2,)}}),
        Step({"b0": [(2,)]}, {}, {"d0": {(2, "a")}, "d2": {(2,)}}),
    )


def test_what_rests_on_a_row_that_is_forbidden_goes_with_it() -> None:
    replay(
        """
        relation e(c0: int, c1: int).
        relation b(c0: int).
        p(X, Y) :- e(X, Y), !b(X).
        p(X, Z) :- p(X, Y), e(Y, Z).
        """,
        Step({}, {}, {"p": set()}),
        Step({"e": [(1, 2), (2, 3), (3, 4)]}, {}, {"p": {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}}),
        Step({"b": [(1,)]}, {}, {"p": {(2, 3), (2, 4), (3, 4)}}),
    )


def test_a_best_value_is_forbidden_as_another_binding_of_it_arrives() -> None:
    replay(
        """
        relation b0(c0: string, c1: int, c2: string).
        relation b1(c0: int).
        b0("a", 1, "a").
        d0(X4, top<3, X4>) :- b0(X3, X4, X2), !b1(X4).
        """,
        Step({}, {}, {"d0": {(1, 1)}}),
        Step({"b0": [("e", 1, "e")], "b1": [(1,)]}, {}, {"d0": set()}),
        Step({}, {"b1": [(1,)]}, {"d0": {(1, 1)}}),
    )


def test_lists_stand_in_heads() -> None:
    replay(
        """
        d0(X3, X2) :- b2(X2, X1), X3 := nil.
        d0([1, 2], 1).
        d1([], X) :- b2(X, _).
        """,
        Step({}, {}, {"d0": {((1, 2), 1)}, "d1": set()}),
        Step({"b2": [(7, 8)]}, {}, {"d0": {((1, 2), 1), ((), 7)}, "d1": {((), 7)}}),
    )


def test_a_relation_without_rows_or_types_is_compared_with_a_number() -> None:
    replay(
        """
        relation b1(c0: int, c1: int).
        d1(X2) :- b1(X1, X2).
        d1(X1) :- b0(X1), X1 > 1.
        """,
        Step({}, {}, {"d1": set()}),
        Step({"b1": [(3, 2)]}, {}, {"d1": {(2,)}}),
        Step({}, {"b1": [(3, 2)]}, {"d1": set()}),
    )


def test_a_computed_number_of_a_relation_without_types_is_compared() -> None:
    replay(
        """
        relation b2(c0: int).
        b2(1).
        d1(X2, X1) :- X3 < 4, !b2(X1), X3 = X1 + 1, b1(X1, X2).
        """,
        Step({}, {}, {"d1": set()}),
        Step({"b1": [(0, 2), (1, 2)]}, {}, {"d1": {(2, 0)}}),
    )


def test_a_program_with_a_text_constant_in_an_aggregate_is_saved(tmp_path: Path) -> None:
    db = hw.Database(hw.compile('d0(X, msum<("c", 1)>) :- b0(X).'))
    db.apply(insert={"b0": [("d",)]})
    db.save(tmp_path / "views")
    assert hw.Database.open(tmp_path / "views").rows("d0") == {("d", 1)}


def test_keys_of_different_types_are_pooled() -> None:
    replay(
        """
        relation b0(x: int).
        relation b1(x: string).
        total(msum<(K, 2)>) :- b0(K).
        total(msum<(K, 3)>) :- b1(K).
        """,
        Step({}, {}, {"total": set()}),
        Step({"b0": [(1,), (2,)], "b1": [("1",)]}, {}, {"total": {(7,)}}),
        Step({}, {"b0": [(1,)]}, {"total": {(5,)}}),
    )


def test_best_values_beside_a_count() -> None:
    replay(
        "stats(X, mmin<Y>, mmax<Y>, count<Y>) :- b(X, Y).",
        Step({}, {}, {"stats": set()}),
        Step({"b": [("a", 3), ("a", 5), ("a", 4)]}, {}, {"stats": {("a", 3, 5, 3)}}),
        Step({}, {"b": [("a", 3)]}, {"stats": {("a", 4, 5, 2)}}),
    )


def test_an_int_in_a_float_column_is_derived_again() -> None:
    replay(
        """
        relation whole(x: int, y: int).
        relation part(x: float).
        number(X) :- whole(X, _).
        number(X) :- part(X).
        double(Y) :- number(X), Y = X + X.
        """,
        Step({}, {}, {"number": set(), "double": set()}),
        Step(
            {"whole": [(1, 1), (1, 2)], "part": [(0.5,)]}, {}, {"number": {(1.0,), (0.5,)}, "double": {(2.0,), (1.0,)}}
        ),
        Step({}, {"whole": [(1, 2)]}, {"number": {(1.0,), (0.5,)}, "double": {(2.0,), (1.0,)}}),
        Step({"part": [(1.0,)]}, {"whole": [(1, 1)]}, {"number": {(1.0,), (0.5,)}, "double": {(2.0,), (1.0,)}}),
        Step({}, {"part": [(1.0,)]}, {"number": {(0.5,)}, "double": {(1.0,)}}),
    )


def test_a_query_asks_for_a_constant_of_a_relation_without_rows() -> None:
    replay(
        """
        d4(X1, X1) :- b1(X1, X1).
        Query: d4(1, X1).
        """,
        Step({}, {}, {"d4": set()}),
        Step({"b1": [(1, 1), (2, 2), (1, 2)]}, {}, {"d4": {(1, 1)}}),
    )


def test_a_best_row_that_came_and_went_stands_for_nothing() -> None:
    replay(
        """
        relation own(c0: string, c1: string, c2: int).
        held(X, Y, msum<(X, N)>) :- own(X, Y, N).
        held(X, Y, msum<(Z, N)>) :- controls(X, Z), own(Z, Y, N).
        controls(X, Y) :- held(X, Y, N).
        """,
        Step({}, {}, {"held": set()}),
        Step({"own": [("a", "c", 20)]}, {}, {"held": {("a", "c", 20)}}),
        Step({}, {"own": [("a", "c", 20)]}, {"held": set()}),
        Step({"own": [("a", "c", 20), ("c", "c", 30)]}, {}, {"held": {("a", "c", 50), ("c", "c", 30)}}),
        Step({}, {"own": [("c", "c", 30)]}, {"held": {("a", "c", 20)}}),
        Step({"own": [("c", "c", 30)]}, {}, {"held": {("a", "c", 50), ("c", "c", 30)}}),
    )


def test_a_best_row_needs_values_that_nobody_asks_for_too() -> None:
    replay(
        """
        relation e(c0: string, c1: string, c2: int).
        d(X, Y, min<C>) :- e(X, Y, C).
        d(X, Y, min<C>) :- e(X, Z, A), d(Z, Y, B), C = A + B, W = A / B.
        """,
        Step({}, {}, {"d": set()}),
        Step({"e": [("a", "b", 1), ("b", "c", 0)]}, {}, {"d": {("a", "b", 1), ("b", "c", 0)}}),
        Step({"e": [("b", "d", 2)]}, {}, {"d": {("a", "b", 1), ("b", "c", 0), ("b", "d", 2), ("a", "d", 3)}}),
    )


def test_rows_that_two_negated_atoms_forbid_at_once() -> None:
    replay(
        """
        relation t(c0: int).
        relation u(c0: int).
        v(X) :- u(X).
        w(X, count<Y>) :- u(Y), X = Y.
        r(X) :- t(X), !v(X), !w(X, _).
        s(X, Y) :- t(X), t(Y), !u(X), !u(Y).
        """,
        Step({}, {}, {"r": set(), "s": set()}),
        Step(
            {"t": [(1,), (2,)], "u": [(5,)]},
            {},
            {"r": {(1,), (2,)}, "s": {(1, 1), (1, 2), (2, 1), (2, 2)}},
        ),
        Step({"u": [(2,)]}, {}, {"r": {(1,)}, "s": {(1, 1)}}),
        Step({"u": [(1,)], "t": [(3,)]}, {"u": [(5,)]}, {"r": {(3,)}, "s": {(3, 3)}}),
        Step({}, {"u": [(1,), (2,)]}, {"r": {(1,), (2,), (3,)}, "s": {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}}),
    )


def test_null_costs_hide_no_path_behind_a_cheaper_one() -> None:
    """Every path over the link of unknown cost costs nobody knows what, also one whose rest is dear."""
    replay(
        """
        relation link(s: int, d: int, c: int?).
        path(S, D, P, C) :- link(S, D, C), P = [S, D].
        path(S, D, P, C) :- link(S, Z, C1), path(Z, D, P2, C2), C = C1 + C2, P = concatPath([S, Z], P2).
        best(S, D, min<C>) :- path(S, D, _, C).
        cheapest(S, D, P, C) :- path(S, D, P, C), best(S, D, C).
        query cheapest(1, D, P, C).
        """,
        Step({}, {}, {"cheapest": set()}),
        Step(
            {"link": [(1, 2, None), (2, 4, 1), (2, 3, 5), (3, 4, 5)]},
            {},
            {
                "cheapest": {
                    (1, 2, (1, 2), None),
                    (1, 3, (1, 2, 3), None),
                    (1, 4, (1, 2, 4), None),
                    (1, 4, (1, 2, 3, 4), None),
                }
            },
        ),
        Step(
            {},
            {"link": [(2, 4, 1)]},
            {"cheapest": {(1, 2, (1, 2), None), (1, 3, (1, 2, 3), None), (1, 4, (1, 2, 3, 4), None)}},
        ),
    )
