"""Databases with absorption provenance: transactions that fail, files, room and order."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater.provenance.functions import absorption

_CLOSURE = "reachable(X, Y) :- link(X, Y). reachable(X, Z) :- link(X, Y), reachable(Y, Z)."
_MIXED = """
relation link(a: int, b: int, cost: int). relation down(n: int).
up(X, Y, C) :- link(X, Y, C), !down(X), !down(Y).
near(X, Y, min<C>) :- up(X, Y, C).
near(X, Z, min<C>) :- up(X, Y, C1), near(Y, Z, C2), C = C1 + C2.
degree(X, count<Y>) :- up(X, Y, C).
"""


def links(seed: int, nodes: int, count: int) -> list[tuple[int, int]]:
    dice = random.Random(seed)
    return sorted({tuple(dice.sample(range(nodes), 2)) for _ in range(count)})  # type: ignore[misc]


def answers(db: hw.Database, relation: str) -> dict[Any, Any]:
    """All that can be asked of every row."""
    return {
        row: (
            {frozenset(one) for one in db.witnesses(relation, row, None)},
            set(db.critical(relation, row).facts),
            round(float(db.probability(relation, row, 0.7)), 12),  # type: ignore[arg-type]
        )
        for row in db.rows(relation)
    }


def state(db: hw.Database) -> Any:
    worlds = db._absorbed.worlds  # type: ignore[union-attr]
    held = {name: {row: absorption.to_bytes(one) for row, one in worlds.rows(name)} for name in worlds.stores}
    return held, worlds.variables.numbered(), worlds.budget.held


def test_running_out_of_room_leaves_the_database_as_it_was() -> None:
    db = hw.Database(hw.compile(_CLOSURE), provenance="absorption", nodes=3_000)
    db.apply(insert={"link": links(1, 8, 10)})
    before = state(db), db.rows("reachable")
    with pytest.raises(hw.BudgetSpent, match=r"HW903.*3,000 nodes(.|\n)*nodes="):
        db.apply(insert={"link": links(2, 30, 120)}, delete={"link": links(1, 8, 10)[:2]})
    assert (state(db), db.rows("reachable")) == before
    db.apply(insert={"link": [(7, 50)]}, delete={"link": links(1, 8, 10)[:2]})
    again = hw.Database(hw.compile(_CLOSURE))
    again.apply(insert={"link": [*links(1, 8, 10)[2:], (7, 50)]})
    assert answers(db, "reachable") == answers(again, "reachable")


def test_a_cancelled_transaction_leaves_the_database_as_it_was() -> None:
    db = hw.Database(hw.compile(_CLOSURE), provenance="absorption")
    db.apply(insert={"link": links(1, 8, 10)})
    before = state(db), db.rows("reachable")
    for patience in range(0, 30, 3):
        asked = 0

        def cancelled() -> bool:
            nonlocal asked
            asked += 1
            return asked > patience  # noqa: B023

        with pytest.raises(KeyboardInterrupt):
            db.apply(insert={"link": [(at, at + 1) for at in range(40)]}, cancelled=cancelled)
        assert (state(db), db.rows("reachable")) == before


@pytest.mark.parametrize("order", ["arrival", "value", lambda relation, row: (-row[0], row)])
def test_order_changes_no_answer(order: Any) -> None:
    db = hw.Database(hw.compile(_CLOSURE), provenance="absorption", order=order)
    plain = hw.Database(hw.compile(_CLOSURE))
    for step in range(3):
        for one in (db, plain):
            one.apply(insert={"link": links(step, 7, 8)}, delete={"link": links(step - 1, 7, 8)[::2]})
    assert answers(db, "reachable") == answers(plain, "reachable")


def edits(db: hw.Database) -> None:
    dice = random.Random(5)
    rows = [(a, b, dice.randint(1, 3)) for a, b in links(3, 5, 7)]
    db.apply(insert={"link": rows, "down": [(3,)]})
    db.apply(insert={"down": [(1,)]}, delete={"link": rows[:2]})
    db.apply(insert={"link": rows[:1]}, delete={"down": [(3,)]})


@pytest.mark.parametrize("order", ["arrival", "value"])
def test_saved_and_opened(tmp_path: Path, order: Any) -> None:
    db = hw.Database(hw.compile(_MIXED), provenance="absorption", order=order, nodes=50_000)
    edits(db)
    db.save(tmp_path / "kept")
    again = hw.Database.open(tmp_path / "kept")
    assert again.provenance == "absorption"
    assert state(again) == state(db)
    for one in (db, again):
        one.apply(insert={"link": [(9, 1, 1)]}, delete={"down": [(1,)]})
    for relation in ("near", "degree", "up"):
        assert again.rows(relation) == db.rows(relation)
        assert answers(again, relation) == answers(db, relation)


def test_answers_agree_with_those_of_a_database_with_witnesses() -> None:
    kept, asked = hw.Database(hw.compile(_MIXED), provenance="absorption"), hw.Database(hw.compile(_MIXED))
    edits(kept)
    edits(asked)
    for relation in ("near", "degree", "up"):
        assert kept.rows(relation) == asked.rows(relation)
        assert answers(kept, relation) == answers(asked, relation)
    for base in ("link", "down"):
        found = {one.fact: (one.rows, one.by_view) for one in kept.blast_radius(base)}
        assert found == {one.fact: (one.rows, one.by_view) for one in asked.blast_radius(base)}
        assert [one.rows for one in kept.blast_radius(base)] == sorted((r for r, _ in found.values()), reverse=True)


def test_next_best_and_what_a_fact_forbids_are_foretold() -> None:
    db = hw.Database(hw.compile(_MIXED), provenance="absorption")
    db.apply(insert={"link": [(1, 2, 5), (1, 3, 1), (3, 2, 1)], "down": [(4,)]})
    changes = db.without({"link": [(3, 2, 1)]})
    assert changes["near"].inserted.to_pylist() == [{"x": 1, "y": 2, "c": 5}]
    db.apply(insert={"down": [(3,)]})
    assert db.rows("near") == {(1, 2, 5)}
    assert db.without({"down": [(3,)]})["near"].inserted.num_rows == 3
    assert db.probability("near", (1, 2, 2), {"down": 0.25}) == pytest.approx(0.75)


def test_program_facts_are_certain() -> None:
    text = 'relation link(a: string, b: string). link("a", "b"). ' + _CLOSURE
    for mode in ("absorption", "witness"):
        db = hw.Database(hw.compile(text), provenance=mode)
        db.apply(insert={"link": [("b", "c")]})
        assert db.critical("reachable", ("a", "b")).facts == []
        assert db.witnesses("reachable", ("a", "b")) == [[]]
        assert db.critical("reachable", ("a", "b")).cuts() == []
        assert db.witnesses("reachable", ("a", "c")) == [[("link", ("b", "c"))]]
        assert db.probability("reachable", ("a", "c"), 0.5) == 0.5


_RIDES = (
    "stream ride(ts: int, a: string, b: string) ttl 5. to(A, B) :- ride(_, A, B). to(A, C) :- ride(_, A, B), to(B, C)."
)


@pytest.mark.parametrize("mode", ["absorption", "witness"])
def test_provenance_speaks_of_the_rows_alive_now(mode: str, tmp_path: Path) -> None:
    db = hw.Database(hw.compile(_RIDES), provenance=mode)
    db.apply(insert={"ride": [(1, "a", "b"), (2, "b", "c"), (4, "a", "c")]})
    assert len(db.witnesses("to", ("a", "c"))) == 2
    db.apply(insert={"ride": [(5, "a", "b")]})  # renewed: the same fact, with another time
    assert {len(one) for one in db.witnesses("to", ("a", "c"))} == {1, 2}
    assert db.critical("to", ("a", "b")).facts == [("ride", (5, "a", "b"))]
    assert db.probability("to", ("a", "b"), {"ride": {(5, "a", "b"): 0.25}}) == 0.25
    db.advance(7)
    assert db.witnesses("to", ("a", "c")) == [[("ride", (4, "a", "c"))]]
    assert {one.fact[1]: one.rows for one in db.blast_radius("ride")} == {(5, "a", "b"): 1, (4, "a", "c"): 1}
    db.save(tmp_path / "rides")
    again = hw.Database.open(tmp_path / "rides")
    assert again.witnesses("to", ("a", "c")) == db.witnesses("to", ("a", "c"))
    again.advance(100)
    assert again.rows("to") == set()


@pytest.mark.parametrize("mode", ["absorption", "witness"])
def test_a_row_that_would_only_end_sooner_does_not_depend_on_a_fact(mode: str) -> None:
    db = hw.Database(hw.compile(_RIDES), provenance=mode)
    db.apply(insert={"ride": [(1, "a", "b"), (2, "b", "c"), (4, "a", "c")]})
    assert {one.fact[1]: one.rows for one in db.blast_radius("ride")}[4, "a", "c"] == 0
    assert not db.without({"ride": [(4, "a", "c")]})["to"]


def test_facts_of_the_program_that_live_by_the_clock_are_refused() -> None:
    text = 'stream ride(ts: int, a: string) ttl 5. ride(1, "a"). to(A) :- ride(_, A).'
    with pytest.raises(hw.CheckProblem, match="HW902") as caught:
        hw.Database(hw.compile(text), provenance="absorption")
    assert "insert these facts" in str(caught.value)
    with pytest.raises(hw.CheckProblem, match="HW902"):
        hw.Database(hw.compile(text)).critical("to", ("a",))


def test_rows_that_are_not_there() -> None:
    db = hw.Database(hw.compile(_CLOSURE))
    db.apply(insert={"link": [(1, 2)]})
    with pytest.raises(hw.DataError, match="why_not"):
        db.critical("reachable", (2, 1))
    with pytest.raises(hw.DataError, match="why_not"):
        db.witnesses("reachable", (2, 1))
    assert db.probability("reachable", (2, 1), 0.5) == 0


@pytest.mark.parametrize("facts", [1.5, -0.1, True, "often", {"link": {(1, 2): 7}}, {"link": float("nan")}])
def test_probabilities_that_are_none(facts: Any) -> None:
    db = hw.Database(hw.compile(_CLOSURE))
    db.apply(insert={"link": [(1, 2)]})
    with pytest.raises(hw.DataError, match="HW805"):
        db.probability("reachable", (1, 2), facts)


def test_settings_that_make_no_sense() -> None:
    for given in ({"nodes": 0}, {"nodes": 1.5}, {"order": "best"}, {"provenance": "all"}):
        with pytest.raises(ValueError):
            hw.Database(hw.compile(_CLOSURE), **given)  # type: ignore[arg-type]
    db = hw.Database(hw.compile(_CLOSURE))
    db.apply(insert={"link": [(1, 2)]})
    with pytest.raises(ValueError, match="limit"):
        db.witnesses("reachable", (1, 2), 0)


def test_names_in_the_order_of_arrival_are_learnt_as_types_are() -> None:
    """The first rows tell the types: the engine is made anew, and so are the worlds."""
    db = hw.Database(hw.compile(_CLOSURE), provenance="absorption")
    assert db.rows("reachable") == set()
    db.apply(insert={"link": [("x", "y")]})
    db.apply(insert={"link": [("y", "z")]})
    assert json.dumps(db.witnesses("reachable", ("x", "z"))) == '[[["link", ["x", "y"]], ["link", ["y", "z"]]]]'


def test_of_equally_good_rows_the_earliest_is_told_of() -> None:
    text = """stream s(t: int, x: string). stream e(t: int, x: string, y: string, c: float) ttl 4.
        d(T, X, mmin<C>) :- s(T, X), C = 0.0.
        d(T, Y, mmin<C>) :- d(T0, X, A), e(T1, X, Y, B), C = A + B, T = largest(T0, T1)."""
    for mode in ("absorption", "witness"):
        db = hw.Database(hw.compile(text), provenance=mode)
        db.apply(insert={"s": [(10, "b"), (17, "a")], "e": [(18, "b", "a", 0.0)]})
        change = db.without({"s": [(17, "a")]})["d"]
        assert change.deleted.to_pylist() == [{"t": 17, "x": "a", "c": 0.0}]
        assert change.inserted.to_pylist() == [{"t": 18, "x": "a", "c": 0.0}]


def test_a_fact_without_columns_that_ends() -> None:
    db = hw.Database(hw.compile("relation on() ttl 6. relation a(x: int). d(X) :- a(X), on()."), "absorption")
    db.advance(2)
    db.apply(insert={"on": [()], "a": [(1,)]})
    assert set(db.critical("d", (1,)).facts) == {("on", ()), ("a", (1,))}
    db.advance(8)
    assert db.rows("d") == set()
