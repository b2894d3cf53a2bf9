"""Questions over streams: rows, changes and the moments at which rows end are those of the whole view."""

from __future__ import annotations

from random import Random

import pytest

import headwater as hw
from headwater.rewrite.rules import DEMAND_RULES

PROGRAMS = {
    "cheapest": """
stream ride(ts: int, p: string, d: string, f: int).
best(T, P, D, mmin<F>) :- ride(T, P, D, F).
best(T, P, D, mmin<F>) :- ride(T1, P, Z, F1), best(T2, Z, D, F2), F = F1 + F2, largest(T, T1, T2).
query best(_, a, D, F), WINDOW(8).
""",
    "doubled": """
stream ride(ts: int, p: string, d: string, f: int).
r(T, P, D) :- ride(T, P, D, _).
r(T, P, D) :- r(T1, P, Z), r(T2, Z, D), largest(T, T1, T2).
query r(_, a, D), WINDOW(8).
""",
    "negated": """
stream ride(ts: int, p: string, d: string, f: int) ttl 6.
relation node(id: string).
r(T, P, D) :- ride(T, P, D, _).
r(T, P, D) :- ride(T1, P, Z, _), r(T2, Z, D), largest(T, T1, T2).
none(P, D) :- node(P), node(D), !r(_, P, D).
query none(a, D). query r(_, b, D).
""",
    "negated stream": """
stream ride(ts: int, p: string, d: string, f: int) ttl 6.
stream seen(ts: int, p: string) ttl 5.
q(T, P, D) :- ride(T, P, D, _), !back(_, D).
back(T, D) :- seen(T, D).
back(T, D) :- back(T1, E), ride(T2, E, D, _), largest(T, T1, T2).
query q(T, a, D).
""",
    "counted": """
stream ride(ts: int, p: string, d: string, f: int) ttl 6.
r(P, D) :- ride(_, P, D, _).
r(P, D) :- ride(_, P, Z, _), r(Z, D).
n(P, count<D>) :- r(P, D).
query n(a, C). query n(b, C).
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(4))
def test_agree_questions_over_streams(name: str, seed: int) -> None:
    text, dice, now = PROGRAMS[name], Random(seed), 0
    off = [rule.__name__ for rule in DEMAND_RULES]
    whole, asked = (hw.Database(hw.compile(text, disabled=disabled)) for disabled in (off, []))
    for db in (whole, asked):
        db.advance(0)
        if "node(" in text:
            db.apply(insert={"node": [(node,) for node in "abcd"]})
    for _ in range(8):
        now += dice.randint(0, 3)
        rides = [(now, dice.choice("abcd"), dice.choice("abcd"), dice.randint(1, 4)) for _ in range(dice.randint(0, 4))]
        rows = {"ride": rides}
        if "seen(" in text:
            rows["seen"] = [(now, dice.choice("abcd"))][: dice.randint(0, 1)]  # type: ignore[list-item]
        for db in (whole, asked):
            db.apply(insert=rows)
        if dice.random() < 0.3:
            now += dice.randint(0, 2)
            for db in (whole, asked):
                db.advance(now)
        for view in whole.program.outputs:
            found, wanted = asked.rows(view), whole.rows(view)
            assert found == wanted
            assert {asked.valid_until(view, row) for row in found} == {whole.valid_until(view, row) for row in wanted}


def test_a_stream_is_asked_with_parameters() -> None:
    text = PROGRAMS["doubled"].replace("query r(_, a, D)", "query r(_, $P, D)")
    db = hw.Database(hw.compile(text))
    live = db.follow("r", P="a")
    db.apply(insert={"ride": [(1, "a", "b", 1), (5, "b", "c", 1)]})
    assert {row[1:] for row in live.rows} == {("a", "b"), ("a", "c")}
    assert {row[1:] for row in db.ask("r", P="b")} == {("b", "c")}
    db.advance(10)
    assert live.rows == set()
    assert {row[1:] for row in db.ask("r", P="b")} == {("b", "c")}
