"""A recursion over rows that do not change goes on in one compiled loop while its rounds are small."""

from __future__ import annotations

import random
from random import Random

import pytest

import headwater as hw
from tests.thresholds import no_room

REACH = "relation edge(x: int, y: int). reach(X, Y) :- edge(X, Y). reach(X, Z) :- reach(X, Y), edge(Y, Z)."


def _reached(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(edges)
    while True:
        more = {(x, z) for x, y in found for w, z in edges if w == y} - found
        if not more:
            return found
        found |= more


def test_the_plan_says_so() -> None:
    assert "join of two atoms, short form, until no row comes any more" in hw.compile(REACH).explain("plan")


def test_not_where_another_rule_must_see_each_round() -> None:
    text = f"{REACH} reach(X, Y) :- reach(Y, X), back(X). relation back(x: int)."
    assert "until no row comes any more" not in hw.compile(text).explain("plan")


def test_rows_and_rounds_that_meet_the_ends_of_buffers() -> None:
    for seed in range(6):
        dice = random.Random(seed)
        with no_room(seed):
            db = hw.Database(hw.compile(REACH))
            edges: set[tuple[int, int]] = set()
            for _ in range(8):
                gone = {edge for edge in sorted(edges) if dice.random() < 0.2}
                came = {(dice.randrange(12), dice.randrange(12)) for _ in range(5)}
                edges = (edges - gone) | came
                db.apply(insert={"edge": came}, delete={"edge": gone})
                assert db.rows("reach") == _reached(edges)


def test_a_chain_that_comes_back_after_a_question_was_dropped() -> None:
    text = "reach(X, Y) :- edge(X, Y). reach(X, Y) :- edge(X, Z), reach(Z, Y). query reach($From, To)."
    db = hw.Database(hw.compile(text))
    db.apply(insert={"edge": [(at, at + 1) for at in range(3_000)]})
    for _ in range(3):  # what an undone transaction leaves behind comes back in place
        assert db.ask("reach", From=1) == {(1, at) for at in range(2, 3_001)}
    db.apply(delete={"edge": [(2_000, 2_001)]})
    assert len(db.ask("reach", From=1)) == 1_999


def test_a_loop_of_many_rounds_can_be_cancelled() -> None:
    db = hw.Database(hw.compile(REACH))
    calls = 0

    def cancelled() -> bool:
        nonlocal calls
        calls += 1
        return calls > 4

    with pytest.raises(KeyboardInterrupt):
        db.apply(insert={"edge": [(at, at + 1) for at in range(2_000)]}, cancelled=cancelled)
    assert db.rows("reach") == set()


@pytest.mark.parametrize("fan", [20, 105, 300])
@pytest.mark.parametrize("rule", ["link(X, Y), reach(Y, Z)", "reach(X, Y), link(Y, Z)"])
def test_rows_of_a_round_that_fills_the_table_all_start(rule: str, fan: int) -> None:
    """A hub makes many rows of few: the table is full in the middle of a small round."""
    text = f"relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- {rule}."
    links = {(at, 0) for at in range(1, fan)} | {(0, -at) for at in range(1, fan)}

    def through_hub(there: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return there | {(x, y) for x, hub in there if hub == 0 for other, y in there if other == 0}

    db = hw.Database(hw.compile(text))
    db.apply(insert={"link": sorted(links)})
    assert db.rows("reach") == through_hub(links)
    db.apply(delete={"link": [(3, 0), (0, -7)]})
    links -= {(3, 0), (0, -7)}
    assert db.rows("reach") == through_hub(links)
    db.apply(insert={"link": [(3, 0), (0, -7), (-5, 1)]})
    chain = {(3, 0), (0, -7), (-5, 1)} | links
    assert db.rows("reach") == closure(chain)


@pytest.mark.parametrize("seed", range(12))
def test_oracle_hubs_of_any_size(seed: int) -> None:
    dice = Random(seed)
    hubs, leaves = range(4), range(10, 10 + dice.choice((30, 120, 400)))
    links = {(dice.choice(leaves), dice.choice(hubs)) for _ in leaves} | {
        (dice.choice(hubs), dice.choice(leaves)) for _ in leaves
    }
    text = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- reach(X, Y), link(Y, Z)."
    db, given = hw.Database(hw.compile(text)), sorted(links)
    dice.shuffle(given)
    size = dice.choice((len(given), 40))
    for at in range(0, len(given), size):
        db.apply(insert={"link": given[at : at + size]})
    assert db.rows("reach") == closure(links)
    db.apply(delete={"link": given[:9]})
    assert db.rows("reach") == closure(links - set(given[:9]))


def closure(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    ahead: dict[int, set[int]] = {}
    for x, y in links:
        ahead.setdefault(x, set()).add(y)
    found = set()
    for start in ahead:
        waiting, seen = [start], set[int]()
        while waiting:
            for there in ahead.get(waiting.pop(), ()):
                if there not in seen:
                    seen.add(there)
                    waiting.append(there)
        found |= {(start, there) for there in seen}
    return found
