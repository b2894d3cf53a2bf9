"""What `leases` makes of programs, as text."""

from __future__ import annotations

import pytest

import headwater as hw


def rules(text: str) -> list[str]:
    """The rules of a rewritten program, each in one line."""
    shown = hw.compile(text).explain("rewritten").replace("\n    ", " ")
    return [line for line in shown.splitlines() if ":-" in line]


def test_plain_rows_carry_the_smallest_lease_of_what_they_rest_on() -> None:
    assert rules(
        """
        stream link(ts: int, a: string, b: string) ttl 10.
        relation open(b: string).
        reach(Ts, X, Y) :- link(Ts, X, Y), open(Y).
        reach(Ts, X, Z) :- link(T1, X, Y), reach(T2, Y, Z), larger(Ts, T1, T2).
        query reach(_, X, Y).
        """
    ) == [
        "reach(X, Y, Until'at0) :- link(_, X, Y, Until'at0), open(Y).",
        "reach(X, Z, Until') :- link(_, X, Y, Until'at0), reach(Y, Z, Until'at1), "
        "Until' := smaller(Until'at0, Until'at1).",
    ]


def test_the_best_of_a_group_keeps_what_can_become_best() -> None:
    assert rules(
        """
        stream ride(ts: int, p: string, d: string, f: int) ttl 10.
        best(T, P, D, min<F>) :- ride(T, P, D, F).
        dear(P) :- best(_, P, _, F), F > 100.
        query dear(P).
        """
    ) == [
        "best'kept(P, D, min<F>, Until'at0) :- ride(_, P, D, F, Until'at0).",
        "dear(P, Until'at0) :- best(P, _, F, Until'at0), F > 100.",
        "best(V'0, V'1, min<V'2>, V'3) :- best'kept(V'0, V'1, V'2, V'3).",
    ]


def test_totals_have_no_lease() -> None:
    assert rules(
        """
        stream pub(ts: int, p: string, r: string) ttl 10.
        cited(Ts, P, count<R>) :- pub(Ts, P, R).
        query cited(_, P, N).
        """
    ) == ["cited(P, count<R>) :- pub(_, P, R, _)."]


def test_a_negated_goal_that_looks_back_becomes_two() -> None:
    assert rules(
        """
        stream ping(ts: int, x: string, y: string).
        stream ack(ts: int, x: string, z: string).
        lost(T, X) :- ping(T, X, _), !ack(_, X, _).
        query lost(_, X).
        """
    ) == [
        "ack'first0(X, mmin<First'time0>) :- ack(First'time0, X, _).",
        "lost(X) :- ping(_, X, _), !ack'first0(X, _).",
        "lost(X) :- ping(T, X, _), ack'first0(X, First'time0), First'time0 > T.",
    ]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("p(X) :- q(X).", True),
        ("stream s(t: int, x: int).\np(X) :- s(_, X).", True),
        ("stream s(t: int, x: int).\np(T, X) :- s(T, X).\nquery p(_, X).", False),
        ("relation s(x: int) ttl 5.\np(X) :- s(X).", False),
    ],
)
def test_rules_without_time_stay_as_they_are(text: str, same: bool) -> None:
    program = hw.compile(text)
    assert (program.rewritten.rules == program.checked.rules) is same
