"""No function makes a value whose size has nothing to do with the data: it is refused before it is made."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.core.functions.sizes import LONGEST_TEXT, MOST_ITEMS

HUGE = 10**10


@pytest.mark.parametrize(
    "call",
    [
        f'repeat("ab", {HUGE})',
        f'lpad("a", {HUGE})',
        f'rpad("a", {HUGE}, "xy")',
        f"repeat(S, {HUGE})",
        f"lpad(S, {HUGE})",
        f'rpad(S, {HUGE}, "xy")',
        'replace(repeat(S, 10000), "a", repeat(S, 10000))',
        'regexp_replace(repeat(S, 10000), "a", repeat(S, 10000))',
        "concat(repeat(S, 10000000), repeat(S, 10000000))",
        'concat_ws("-", repeat(S, 10000000), repeat(S, 10000000))',
    ],
)
def test_a_text_without_bounds_is_refused(call: str) -> None:
    db = hw.Database(hw.compile(f"relation t(s: string). out(length(T)) :- t(S), T = {call}."))
    db.apply(insert={"t": []})
    with pytest.raises(hw.EvaluationError, match=f"a text of .* letters; a text may have {LONGEST_TEXT:,}"):
        db.apply(insert={"t": [("a",)]})
    assert db.rows("out") == set()


@pytest.mark.parametrize("rule", ["s(concat(X, X)) :- s(X).", "s([X, X]) :- s(X).", "s(append(X, X)) :- s(X)."])
def test_a_list_that_doubles_in_a_recursion_is_refused(rule: str) -> None:
    db = hw.Database(hw.compile(f"relation t(l: list). s(L) :- t(L). {rule}"))
    with pytest.raises(hw.EvaluationError, match=f"a list of more than {MOST_ITEMS:,} items"):
        db.apply(insert={"t": [(["a", "b"],)]})
    assert db.rows("s") == set()


def test_a_text_that_doubles_in_a_recursion_is_refused() -> None:
    db = hw.Database(hw.compile("relation t(s: string). s(S) :- t(S). s(concat(X, X)) :- s(X)."))
    with pytest.raises(hw.EvaluationError, match="`concat` would make a text of"):
        db.apply(insert={"t": [("ab",)]})
    assert db.rows("s") == set()
    assert hw.Database(hw.compile("relation t(s: string). s(repeat(S, -5)) :- t(S).")).apply(insert={"t": [("ab",)]})


def test_rounding_to_absurd_places_ends() -> None:
    db = hw.Database(hw.compile(f"relation t(x: int). a(round(X, -{HUGE})) :- t(X). b(round(7, -{HUGE})) :- t(X)."))
    db.apply(insert={"t": [(5,)]})
    assert (db.rows("a"), db.rows("b")) == ({(0.0,)}, {(0.0,)})
