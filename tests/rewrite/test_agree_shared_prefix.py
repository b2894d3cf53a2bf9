"""With pairs of goals kept or not, rows, changes and proofs are the same, under edits, on shards, saved and opened."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import headwater as hw
from tests.rewrite.left_out import agree_on_shards
from tests.scale.shapes import SHAPES

ANDERSEN = SHAPES["andersen"].text
LONG = """
relation address(x: int, y: int). relation assign(x: int, y: int).
relation load(x: int, y: int). relation store(x: int, y: int).
p(X, Y) :- address(X, Y).
p(X, V) :- p(X, Y), assign(Y, Z), p(Z, W), load(W, U), p(U, V), X != V, !store(X, V).
q(X, Y) :- p(X, Y), !assign(X, Y).
q(X, W) :- q(X, Y), q(Y, Z), q(Z, W).
far(X, count<Y>) :- q(X, Y).
"""
SHARED = """
relation address(x: int, y: int). relation assign(x: int, y: int).
relation load(x: int, y: int). relation store(x: int, y: int).
points(Y, X) :- address(Y, X).
points(Y, W) :- load(Y, X), points(X, Z), points(Z, W).
points(B, D) :- load(B, A), points(A, C), points(C, E), store(E, D), !assign(B, D).
"""
PROGRAMS = [ANDERSEN, LONG, SHARED]
BASES = ("address", "assign", "load", "store")
Edit = dict[str, list[tuple[int, int]]]


def _edits(dice: Random, nodes: int = 9, count: int = 8) -> list[tuple[Edit, Edit]]:
    def some(most: int) -> Edit:
        return {
            name: [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(dice.randrange(most))]
            for name in BASES
        }

    return [(some(9 if not at else 4), some(4)) for at in range(count)]


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("seed", range(12))
def test_agree_with_every_goal_for_itself(text: str, seed: int, tmp_path: Path) -> None:
    kept, plain = hw.Database(hw.compile(text)), hw.Database(hw.compile(text, disabled=["shared_prefix"]))
    assert any("'part" in name for name in kept._shard.stores)
    for insert, delete in _edits(Random(seed)):
        one, other = (db.apply(insert=insert, delete=delete) for db in (kept, plain))
        for view in kept.program.outputs:
            assert kept.rows(view) == plain.rows(view)
            assert one[view].inserted.num_rows == other[view].inserted.num_rows
            assert one[view].deleted.num_rows == other[view].deleted.num_rows
        if seed % 3 == 0:
            kept.save(tmp_path / "db")
            kept = hw.Database.open(tmp_path / "db")


@pytest.mark.parametrize("seed", range(4))
def test_proofs_show_the_goals_as_written(seed: int) -> None:
    db = hw.Database(hw.compile(ANDERSEN))
    for insert, delete in _edits(Random(seed)):
        db.apply(insert=insert, delete=delete)
    rules = {line.strip() for line in ANDERSEN.splitlines() if ":-" in line}
    for row in sorted(db.rows("points")):
        proof = db.why("points", row)
        for node in proof.nodes():
            assert "'" not in str(node.relation)
            assert node.rule is None or node.rule in rules
            if node.rule is not None:
                written = node.rule.split(":- ")[1].count("(")
                assert len(node.children) == written
        alone = hw.Database(hw.compile(ANDERSEN))
        facts: dict[str, list[tuple[int, ...]]] = {name: [] for name in BASES}
        for name, fact in proof.facts:
            facts[name].append(fact)
        alone.apply(insert=facts)
        assert row in alone.rows("points")


def test_what_is_missing_is_said_in_the_goals_as_written() -> None:
    db = hw.Database(hw.compile(ANDERSEN))
    db.apply(insert={"address": [(1, 2)], "assign": [], "load": [(5, 1)], "store": []})
    text = str(db.why_not("points", (5, 9)))
    assert "'part" not in text
    assert "points(Y, W) :- load(Y, X), points(X, Z), points(Z, W)." in text
    with pytest.raises(hw.UnknownRelation):
        db.rows("points'part1")


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_agree_shards(text: str, shards: int) -> None:
    agree_on_shards(text, "shared_prefix", shards, _edits(Random(shards)))


def test_a_recursion_that_is_stopped_names_the_rule_as_written() -> None:
    db = hw.Database(hw.compile(ANDERSEN), guard=20)
    rows = [(at, at + 1) for at in range(20)]
    with pytest.raises(hw.GuardError) as stopped:
        db.apply(insert={"address": rows, "assign": rows, "load": rows, "store": rows})
    assert "'part" not in str(stopped.value)
