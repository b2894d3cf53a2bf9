"""Snapshots: symbols of every kind come back, damage never passes, and equal beginnings lead to equal ends."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headwater as hw
from headwater.engine.border.checksum import checksum
from headwater.engine.border.snapshot import Snapshot, pack
from headwater.engine.border.soundness import Unsound, refuse_unsound
from headwater.engine.border.symbol_columns import from_columns, to_columns
from headwater.engine.codes.symbols import Symbols
from headwater.engine.shard import Shard

TEXT = """
relation edge(a: string, b: string).
reach(X, Y) :- edge(X, Y).
reach(X, Z) :- edge(X, Y), reach(Y, Z).
far(X, count<Y>) :- reach(X, Y).
"""


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["a", "", "é\0🙂"],
        [("a", "b"), ("c",), ("",)],
        [(1, -(2**63)), (2**63 - 1,)],
        ["x", ("a",), (1,), (), ((),), (1, "a"), (True,), (1.5, float("inf")), ("a", (1, (2.0, False)))],
        [7, True, 0.1, "7", (7,), ("7",)],
        ["\ud800", "a", ("\udfff", "b"), ("b",)],
    ],
)
def test_symbols_of_every_kind(values: list[Any]) -> None:
    assert list(map(repr, from_columns(to_columns(values)))) == list(map(repr, values))


def test_a_checksum_notices_any_changed_byte_swap_and_length() -> None:
    dice = np.random.default_rng(5)
    for size in [*range(40), 1000, 4099]:
        whole = dice.integers(0, 256, size).astype(np.uint8)
        before = checksum(whole)
        assert checksum(whole.copy()) == before
        assert checksum(np.append(whole, np.uint8(0))) != before
        for at in range(0, size, max(1, size // 40)):
            for bit in (1, 128):
                other = whole.copy()
                other[at] ^= bit
                assert checksum(other) != before
                if at >= 8:
                    other[at - 8] ^= bit
                    assert checksum(other) != before
    words = np.arange(1, 100, dtype=np.int64)
    assert len({checksum(np.roll(words, by)) for by in range(words.size)}) == words.size


def opened(db: hw.Database, path: Path) -> Shard:
    """The shard of a database, filled from a file by mapping it."""
    snapshot = Snapshot.map(path)
    shard = Shard(db._shard.plan, Symbols(snapshot.symbols), {}, db._held.guard)
    snapshot.fill(shard)
    return shard


def contents(shard: Shard) -> dict[str, Any]:
    """Rows by number, with their state and witness (which has space for the longest rule; the rest means nothing)."""
    found: dict[str, Any] = {"tick": shard.tick}
    for name, store in shard.stores.items():
        rows = zip(
            *(getattr(store, one)[: store.size].tolist() for one in ("data", "stamp", "rules", "witness")), strict=True
        )
        lengths = [len(rule.atoms) for rule in shard.plan.rules]
        found[name] = [
            (data, stamp, rule, witness[: lengths[rule]] if rule >= 0 else ()) for data, stamp, rule, witness in rows
        ]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_shards_opened_from_one_file_stay_equal_to_the_last_witness(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    nodes = [f"n{number}" for number in range(40)]
    db = hw.Database(hw.compile(TEXT))
    for _ in range(4):
        edges = [(dice.choice(nodes), dice.choice(nodes)) for _ in range(60)]
        db.apply(insert={"edge": edges}, delete={"edge": [edge for edge in db.rows("edge") if dice.random() < 0.4]})
    path = tmp_path / "shard"
    path.write_bytes(b"".join(map(bytes, pack(db._shard, {}))))
    first, second = opened(db, path), opened(db, path)
    path.unlink()
    for _ in range(6):
        came = {"edge": np.array([[dice.randrange(40), dice.randrange(40)] for _ in range(30)], dtype=np.int64)}
        went = {"edge": first.stores["edge"].data[first.stores["edge"].alive()].astype(np.int64)[::3]}
        first.apply(came, went)
        second.apply(came, went)
        assert contents(first) == contents(second)
    assert first.stores["reach"].count


def test_a_large_shard_is_opened_with_its_identities(tmp_path: Path) -> None:
    """Rows that are there are found, and not stored again, in a table of identities that came from the file."""
    database = hw.Database(hw.compile("relation link(x: int, y: int). both(Y, X) :- link(X, Y)."))
    links = [(number, number * 7 % 20_011) for number in range(20_000)]
    database.apply(insert={"link": links})
    database.apply(insert={"link": [(1, 1)]})
    database.save(tmp_path / "saved")
    opened = hw.Database.open(tmp_path / "saved")
    changes = opened.apply(insert={"link": [*links[:50], (5, 5)]}, delete={"link": [links[60]]})
    assert [changes["both"].inserted.num_rows, changes["both"].deleted.num_rows] == [1, 1]
    assert opened.count("both") == 20_001
    again = opened.apply(insert={"link": [links[60]]}, delete={"link": [(5, 5), (1, 1)]})
    assert [again["both"].inserted.num_rows, again["both"].deleted.num_rows] == [1, 2]
    assert sorted(opened.rows("both")) == sorted((y, x) for x, y in links)


@pytest.mark.parametrize("apart", [1, 10**12])
def test_equal_rows_are_found_however_far_apart_their_values_lie(apart: int) -> None:
    db = hw.Database(hw.compile("relation e(x: int, y: int). v(X, Y) :- e(X, Y)."))
    db.apply(insert={"e": [(at * apart, -at * apart) for at in range(40)]})
    refuse_unsound(db._shard)
    db._shard.stores["e"].data[31] = db._shard.stores["e"].data[7]
    with pytest.raises(Unsound, match="table `e`: two of its rows are the same"):
        refuse_unsound(db._shard)


def test_a_row_that_rests_on_itself_through_another_table() -> None:
    text = "p(X, Y) :- e(X, Y). p(X, Y) :- q(Y, X). q(X, Y) :- f(X, Y). q(X, Y) :- p(X, Y), X > 0."
    db = hw.Database(hw.compile(f"relation e(x: int, y: int). relation f(x: int, y: int). {text}"))
    db.apply(insert={"e": [(-at, at) for at in range(5)], "f": [(7, 8), (9, 10)]})
    refuse_unsound(db._shard)
    p, q = db._shard.stores["p"], db._shard.stores["q"]
    from_p = q.rules[q.find(np.array([[8, 7]]))]
    (first,) = q.find(np.array([[7, 8]]))
    q.rules[first], q.witness[first] = from_p[0], p.find(np.array([[7, 8]]))  # p(7, 8) rests on q(8, 7), p(8, 7), this
    with pytest.raises(Unsound, match=r"table `[pq]`: row \d+ rests on itself"):
        refuse_unsound(db._shard)
