"""The bound on memory: a transaction that would need more is refused before it takes it, and leaves no trace."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headwater as hw
from headwater.core import memory
from headwater.core.errors import GuardError
from headwater.engine.store import store as stores
from headwater.engine.store.budget import Budget, shown_bytes
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import choose

CLOSURE = "relation e(x: int, y: int). reach(X, Y) :- e(X, Y). reach(X, Z) :- e(X, Y), reach(Y, Z)."
GROWING: dict[str, tuple[str, int, int, str]] = {
    "a closure": (CLOSURE, 900, 2700, "reach"),
    "a closure of its own": (CLOSURE.replace("e(X, Y), reach(Y, Z)", "reach(X, Y), reach(Y, Z)"), 500, 1500, "reach"),
    "shortest ways": (
        "relation e(x: int, y: int). d(X, Y, min<C>) :- e(X, Y), C = 1. "
        "d(X, Z, min<C>) :- d(X, Y, A), e(Y, Z), C = A + 1.",
        900,
        2700,
        "d",
    ),
    "pairs of pairs": ("relation e(x: int, y: int). v(A, B, C, D) :- e(A, B), e(C, D).", 900, 2000, "v"),
    "lists": (
        "relation e(x: int, y: int). p(X, Y, [X, Y]) :- e(X, Y). "
        "p(X, Z, append(P, Z)) :- p(X, Y, P), e(Y, Z), !inPath(P, Z).",
        40,
        200,
        "p",
    ),
    "sums": ("relation e(x: int, y: int). v(A, B, D, sum<C>) :- e(A, B), e(C, D).", 900, 1500, "v"),
}


def edges(nodes: int, count: int) -> list[tuple[int, int]]:
    dice = random.Random(nodes)
    return [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(count)]


@pytest.mark.parametrize("case", GROWING)
def test_a_transaction_that_needs_too_much_memory_leaves_no_trace(case: str) -> None:
    text, nodes, count, view = GROWING[case]
    rows = edges(nodes, count)
    program = hw.compile(text, disabled=["linear_recursion"])
    db, twin = (hw.Database(program, guard=guard) for guard in (hw.Guard(memory=4_000_000), None))
    for one in (db, twin):
        one.apply(insert={"e": rows[:20]})
    before = db.rows(view)
    for _ in range(2):  # what was taken is given back: it fails in the same way again
        with pytest.raises(GuardError, match=r"error\[HW906\]: not enough memory: .* of 4 MB are in use") as told:
            db.apply(insert={"e": rows})
        assert (db.rows(view), db.count("e")) == (before, len(set(rows[:20])))
        assert db._shard.budget.held < 4_000_000
    if case != "lists":
        assert f"`{view}` with " in str(told.value)
    assert "the database is as it was before it" in str(told.value)
    for one in (db, twin):
        one.apply(insert={"e": rows[20:30]}, delete={"e": rows[:5]})
    assert db.rows(view) == twin.rows(view)


def test_a_database_near_its_bound_can_still_be_made_smaller() -> None:
    rows = edges(700, 2100)
    db = hw.Database(hw.compile(CLOSURE), guard=hw.Guard(memory=None))
    db.apply(insert={"e": rows})
    db._shard.budget.limit = int(1.25 * db._shard.budget.held)
    db.apply(delete={"e": rows[:100]})
    fresh = hw.Database(hw.compile(CLOSURE))
    fresh.apply(insert={"e": sorted(set(rows) - set(rows[:100]))})
    assert db.count("reach") == fresh.count("reach")


def test_tables_grow_in_smaller_steps_where_little_is_left() -> None:
    """Growth by four would ask for more than there is long before the rows do."""
    program = hw.compile("relation e(x: int, y: int). v(X, Y) :- e(X, Y).")
    free = hw.Database(program)
    pieces = [[(at, 0) for at in range(start, start + 6_000)] for start in range(0, 60_000, 6_000)]
    for piece in pieces:
        free.apply(insert={"e": piece})
    tight = hw.Database(program, guard=hw.Guard(memory=3 * free.nbytes // 2))
    for piece in pieces:
        tight.apply(insert={"e": piece})
    assert tight.count("v") == 60_000


def test_a_table_takes_the_room_that_another_has_not_used() -> None:
    """Tables grow by four: what one has left over would be missing where the other has come to its rows."""
    program = hw.compile(
        "relation a(x: int, y: int). relation b(x: int, y: int). v(X, Y) :- a(X, Y). w(X, Y) :- b(X, Y)."
    )
    free = hw.Database(program)
    pieces = [[(at, 0) for at in range(start, start + 6_000)] for start in range(0, 60_000, 6_000)]
    for name in "ab":
        for piece in pieces:
            free.apply(insert={name: piece})
    tight = hw.Database(program, guard=hw.Guard(memory=5 * free.nbytes // 4))
    for name in "ab":
        for piece in pieces:
            tight.apply(insert={name: piece})
    assert (tight.count("v"), tight.count("w")) == (60_000, 60_000)


def test_strings_take_the_room_that_a_table_has_not_used() -> None:
    text = "relation e(x: int, y: int). relation s(t: string). v(X, Y) :- e(X, Y). w(T) :- s(T)."
    db = hw.Database(hw.compile(text))
    for start in range(0, 60_000, 6_000):
        db.apply(insert={"e": [(at, 0) for at in range(start, start + 6_000)]})
    budget = db._shard.budget
    budget.limit, budget._looked = budget.held, 0  # look at strings again
    db.apply(insert={"s": [(f"{at:0100}",) for at in range(100)]})
    assert db.count("w") == 100
    assert budget.held < budget.limit
    budget.limit, budget._looked = budget.held, 0
    with pytest.raises(hw.GuardError, match=r"HW906.* strings and lists take"):
        db.apply(insert={"s": [(f"{at:0200}",) for at in range(100)]})
    assert db.count("w") == 100


def test_the_row_bound_stops_a_closure_in_the_middle_of_a_round() -> None:
    db = hw.Database(hw.compile(CLOSURE), guard=2_000)
    rows = edges(300, 900)
    with pytest.raises(GuardError, match="the recursion through `reach` made more than 2,000 rows"):
        db.apply(insert={"e": rows})
    assert db._shard.stores["reach"].size < 2 * 2_000 + 1024


def test_an_allocation_that_fails_is_a_guard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    db = hw.Database(hw.compile(CLOSURE))
    db.apply(insert={"e": [(1, 2), (2, 3)]})
    grow = stores.Store._grow

    def fails(self: Any, needed: int, wanted: int, held: int) -> None:
        if wanted > 10_000:
            np.empty(1 << 62, dtype=np.int8)  # a real MemoryError
        grow(self, needed, wanted, held)

    monkeypatch.setattr(stores.Store, "_grow", fails)
    with pytest.raises(GuardError, match=r"error\[HW906\]: not enough memory: the system gave no more memory"):
        db.apply(insert={"e": edges(300, 900)})
    assert db.rows("reach") == {(1, 2), (1, 3), (2, 3)}
    with pytest.raises(GuardError):
        Cluster(choose(hw.compile(CLOSURE), {}, 2, kinds=("exchange",)), 2).apply({"e": _table(edges(300, 900))}, {})


@pytest.mark.parametrize("kind", ["exchange", "decomposed"])
def test_a_shard_without_memory_is_named_and_all_are_undone(kind: str) -> None:
    text = CLOSURE.replace("e(X, Y), reach(Y, Z)", "reach(X, Y), e(Y, Z)")
    cluster = Cluster(choose(hw.compile(text), {}, 2, kinds=(kind,)), 2, hw.Guard(memory=4_000_000))
    cluster.apply({"e": _table([(1, 2)])}, {})
    with pytest.raises(GuardError, match=r"error\[HW906\]: not enough memory on shard [01]: `reach` with"):
        cluster.apply({"e": _table(edges(900, 2700))}, {})
    assert cluster.rows("reach").num_rows == 1
    cluster.apply({"e": _table([(2, 3)])}, {})
    assert cluster.rows("reach").num_rows == 3


def test_the_bound_is_saved(tmp_path: Path) -> None:
    guard = hw.Guard(rows=7, rounds=8, computed=9, memory=10_000_000)
    db = hw.Database(hw.compile(CLOSURE), guard=guard)
    db.save(tmp_path / "db")
    again = hw.Database.open(tmp_path / "db")
    assert again._held.guard == guard
    assert again._shard.budget.limit == 10_000_000


def test_by_default_it_is_a_share_of_the_memory_there_is() -> None:
    there = memory.memory_for()
    assert there is not None
    assert hw.Database(hw.compile(CLOSURE))._shard.budget.limit == int(0.5 * there)
    assert hw.Database(hw.compile(CLOSURE), guard=None)._shard.budget.limit is None


def test_a_container_grants_less_than_the_machine_has(tmp_path: Path) -> None:
    inner = tmp_path / "pod" / "box"
    inner.mkdir(parents=True)
    (tmp_path / "pod" / "memory.max").write_text("4000000\n")
    (inner / "memory.max").write_text("max\n")
    told = tmp_path / "cgroup"
    told.write_text("0::/pod/box\n")
    assert list(memory._containers(tmp_path, told)) == [4_000_000]
    older = tmp_path / "memory" / "pod"
    older.mkdir(parents=True)
    (older / "memory.limit_in_bytes").write_text("3000000\n")
    told.write_text("5:cpu,cpuacct:/x\n4:memory:/pod\n")
    assert list(memory._containers(tmp_path, told)) == [3_000_000]


@pytest.mark.parametrize("bad", [0, -1, 1.5, 0.0, "8GB"])
def test_a_bound_that_is_none(bad: Any) -> None:
    with pytest.raises(ValueError, match="the memory of a guard is a number of bytes"):
        hw.Guard(memory=bad)


def test_what_is_taken_beside_rows_has_a_reserve_and_an_end() -> None:
    db = hw.Database(hw.compile(CLOSURE))
    budget, store = db._shard.budget, db._shard.stores["reach"]
    budget.limit = 100_000_000
    budget.take(store, 170_000_000)
    with pytest.raises(hw.GuardError, match=r"`reach` with 0 rows needs 180 MB more"):
        budget.take(store, 180_000_000)


def test_sizes_are_told_in_round_numbers() -> None:
    assert [shown_bytes(one) for one in (0, 999, 1_500, 2_000_000, 31_400_000_000)] == [
        "0 bytes", "999 bytes", "1.5 KB", "2 MB", "31.4 GB",
    ]  # fmt: skip
    assert Budget().fits(1 << 60)


def _table(rows: list[tuple[int, int]]) -> pa.Table:
    return pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]})
