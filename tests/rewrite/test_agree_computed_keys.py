"""With keys kept or not, rows, changes and proofs are the same, under edits, on shards, saved and opened."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import headwater as hw
from headwater.language.datalog.printer import print_rule
from headwater.rewrite.computed_keys import computed_keys
from tests.oracle.program import to_text
from tests.oracle.strategies import random_case
from tests.rewrite.left_out import Rows, agree_on_shards
from tests.rewrite.spec_cases import compiled

NUMBERS = """
relation a(x: int, k: int). relation b(l: int, y: int). relation c(x: int?, y: int?).
next(X, Y) :- a(X, K), b(K + 1, Y).
both(X, Y) :- a(X, K), b(L, Y), 2 * K = L - 1, K < 5.
same(X, Y) :- a(X, K), b(L, Y), K = L.
maybe(X, Y) :- c(X, K), c(L, Y), K = L.
later(X, Y) :- c(X, K), c(L, Y), K + 1 = L.
far(X) :- a(X, _).
far(Y) :- far(X), b(X * 2, Y), !a(Y, X).
pairs(X, Y) :- a(X, Y).
pairs(X, Z) :- pairs(X, Y), pairs(Y1, Z), Y1 = Y - 1.
count_next(X, count<Y>) :- a(X, K), b(K + 1, Y).
total(sum<Y>) :- a(_, K), b(K + 1, Y).
"""
LISTS = """
relation a(x: int, k: int). relation b(l: int, y: int). relation c(x: int?, y: int?).
left([X, K]) :- a(X, K).
left([X]) :- a(X, _).
right([K, Y]) :- b(K, Y).
met(X, Y) :- left([X, K]), right([K, Y]), X != Y.
chain([X, Y]) :- left([X, Y]).
chain([X, Z]) :- chain([X, Y]), right([Y, Z]).
some(X, Y) :- c(X, Y).
most(Y, max<X>) :- left([X, K]), b(K, Y).
text(X, Y) :- a(X, K), b(L, Y), concat("n", to_string(K)) = concat("n", to_string(L)).
"""
PROGRAMS = [NUMBERS, LISTS]


def _edits(dice: Random, count: int = 8) -> list[tuple[Rows, Rows]]:
    def some(most: int) -> Rows:
        made: Rows = {
            name: [(dice.randrange(7), dice.randrange(7)) for _ in range(dice.randrange(most))] for name in "ab"
        }
        values = [None, *range(5)]
        made["c"] = [(dice.choice(values), dice.choice(values)) for _ in range(dice.randrange(most))]
        return made

    return [(some(9 if not at else 4), some(4)) for at in range(count)]


def _expected(a: set[tuple[int, int]], b: set[tuple[int, int]], c: set[tuple[Any, Any]]) -> dict[str, set[Any]]:
    """The views without recursion, in plain Python."""
    bindings = {(x, k, y) for x, k in a for low, y in b if low == k + 1}
    found: dict[str, set[Any]] = {
        "next": {(x, y) for x, _, y in bindings},
        "both": {(x, y) for x, k in a for low, y in b if 2 * k == low - 1 and k < 5},
        "same": {(x, y) for x, k in a for low, y in b if low == k},
        "maybe": {(x, y) for x, k in c for low, y in c if low == k},
        "count_next": {(x, sum(x == other for other, _, _ in bindings)) for x, _, _ in bindings},
        "total": {(sum(y for _, y in {(k, y) for _, k, y in bindings}),)} if bindings else set(),
        "met": {(x, y) for x, k in a for low, y in b if low == k and x != y},
        "most": {
            (y, max(x for x, k in a for low, z in b if low == k and z == y)) for _, k in a for low, y in b if low == k
        },
        "text": {(x, y) for x, k in a for low, y in b if low == k},
    }
    return found


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("seed", range(10))
def test_oracle_and_agree_without_keys(text: str, seed: int, tmp_path: Path) -> None:
    kept, plain = hw.Database(hw.compile(text)), hw.Database(hw.compile(text, disabled=["computed_keys"]))
    assert any("'keyed" in name for name in kept._shard.stores)
    assert not any("'keyed" in name for name in plain._shard.stores)
    there: dict[str, set[Any]] = {name: set() for name in "abc"}
    for insert, delete in _edits(Random(seed)):
        one, other = (db.apply(insert=insert, delete=delete) for db in (kept, plain))
        for name, rows in there.items():
            rows -= set(delete[name])
            rows |= set(insert[name])
        expected = _expected(**there)
        for view in kept.program.outputs:
            assert kept.rows(view) == plain.rows(view)
            assert kept.rows(view) == expected.get(view, kept.rows(view))
            assert one[view].inserted.num_rows == other[view].inserted.num_rows
            assert one[view].deleted.num_rows == other[view].deleted.num_rows
        if seed % 3 == 0:
            kept.save(tmp_path / "db")
            kept = hw.Database.open(tmp_path / "db")


@pytest.mark.parametrize("text", PROGRAMS)
def test_proofs_show_the_goals_as_written(text: str) -> None:
    db = hw.Database(hw.compile(text))
    for insert, delete in _edits(Random(1)):
        db.apply(insert=insert, delete=delete)
    rules = {re.sub(r"\s+", " ", print_rule(rule)) for rule in db.program.checked.rules}
    shown = 0
    for view in db.program.outputs:
        for row in db.rows(view):
            proof = db.why(view, row)
            alone = hw.Database(hw.compile(text))
            facts: Rows = {name: [] for name in "abc"}
            for name, fact in proof.facts:
                facts[name].append(fact)
            alone.apply(insert=facts)
            assert row in alone.rows(view) or "<" in proof.rule or view == "far"
            for node in proof.nodes():
                assert "'" not in str(node.relation)
                assert node.rule is None or re.sub(r"\s+", " ", node.rule) in rules
                shown += 1
    assert shown > 20


def test_what_is_missing_is_said_in_the_goals_as_written() -> None:
    db = hw.Database(hw.compile(NUMBERS))
    db.apply(insert={"a": [(1, 2)], "b": [(4, 4)], "c": []})
    text = str(db.why_not("next", (1, 9)))
    assert "keyed" not in text
    assert "next(X, Y) :- a(X, K), b(K'1, Y), K'1 = K + 1." in text
    with pytest.raises(hw.UnknownRelation):
        db.rows("next'keyed1")


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_agree_shards(text: str, shards: int) -> None:
    agree_on_shards(text, "computed_keys", shards, _edits(Random(shards)))


def test_random_programs_have_computed_keys() -> None:
    """The programs that the oracle is asked about must have some of each kind that is rewritten."""
    programs = [compiled(to_text(random_case(seed, lists=seed % 2 == 0).program)) for seed in range(400)]
    assert sum(computed_keys(program) != program for program in programs) > 3
