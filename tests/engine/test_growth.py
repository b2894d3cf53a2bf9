"""Tables that grow while they are being read: a rule that joins its own head, over enough rows that the head's arrays
move, its indexes are sorted, and its table of identities is made anew, all in the middle of one loop."""

from __future__ import annotations

import random

import pytest

import headwater as hw

NODES = 300
LABELS = 3


def facts(seed: int, count: int) -> list[tuple[int, int, int]]:
    dice = random.Random(seed)
    return [(dice.randrange(NODES), dice.randrange(LABELS), dice.randrange(NODES)) for _ in range(count)]


def closure(edges: list[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
    following: dict[tuple[int, int], list[int]] = {}
    for start, label, end in edges:
        following.setdefault((start, label), []).append(end)
    found: set[tuple[int, int, int]] = set()
    for start, label in following:
        reached: set[int] = set()
        pending = [start]
        while pending:
            for end in following.get((pending.pop(), label), ()):
                if end not in reached:
                    reached.add(end)
                    pending.append(end)
        found.update((start, label, end) for end in reached)
    return found


DOUBLED = "q(X, R, Z) :- q(X, R, Y), q(Y, R, Z)."
TRIPLED = "q(X, R, Z) :- q(X, R, Y), q(Y, R, Z). q(X, R, W) :- q(X, R, Y), q(Y, R, Z), q(Z, R, W)."
TESTED = "q(X, R, Z) :- q(X, R, Y), q(Y, R, Z), X + Y + Z >= 0."
BOTH = "q(X, R, Z) :- q(X, R, Y), q(Y, R, Z). q(X, R, W) :- q(X, R, Y), q(Y, R, Z), q(Z, R, W), X + W >= 0."


@pytest.mark.parametrize("step", [DOUBLED, TRIPLED, TESTED, BOTH], ids=["doubled", "tripled", "tested", "both"])
@pytest.mark.parametrize(("seed", "sparse"), [(0, False), (1, True)], ids=["dense", "sparse"])
def test_oracle_a_rule_that_joins_its_own_growing_head(step: str, seed: int, sparse: bool) -> None:
    spread = 982_451_653 if sparse else 1
    edges = [(start * spread, label, end * spread) for start, label, end in facts(seed, 1_100)]
    db = hw.Database(hw.compile(f"relation e(x: int, r: int, y: int). q(X, R, Y) :- e(X, R, Y). {step}"))
    db.apply({"e": edges})
    assert len(db.rows("q")) == len(expected := closure(edges))
    assert set(db.rows("q")) == expected
    db.apply({}, {"e": edges[::7]})
    gone = set(edges[::7])
    assert set(db.rows("q")) == closure([edge for edge in edges if edge not in gone])
