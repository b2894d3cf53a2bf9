"""Strings and lists that no row holds any more are forgotten, and nobody notices."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.engine.codes.symbols import Symbols


def test_a_list_and_a_number_never_share_a_symbol() -> None:
    symbols = Symbols()
    values = [float("nan"), ("float", "nan"), ("float", None), 1, 1.0, True, ("int", 1), ("a", 1), ("a", True), (), ""]
    assert len({symbols.number(value) for value in values}) == len(values)
    assert symbols.number(float("nan")) == symbols.number(float("nan"))
    assert symbols.find(("a", "b")) == -1
    assert symbols.find(("a", True)) == symbols.number(("a", True)) != symbols.number(("a", 1))


def test_symbols_of_deleted_rows_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.engine.border.learning_shard._SYMBOLS_KEPT", 50)
    text = 'reach(X, Y) :- link(X, Y).\nreach(X, Y) :- link(X, Z), reach(Z, Y).\nhub(X) :- reach(X, "n1").'
    db = hw.Database(hw.compile(text))
    chain = [(f"n{at}", f"n{at + 1}") for at in range(200)]
    before = db.apply(insert={"link": chain})
    went = db.apply(delete={"link": chain[2:]})
    assert len(db._held.symbols) <= 10
    assert db.rows("reach") == {("n0", "n1"), ("n0", "n2"), ("n1", "n2")}
    assert db.rows("hub") == {("n0",)}
    assert ("n198", "n200") in set(zip(*before["reach"].inserted.to_pydict().values(), strict=True))
    assert went["reach"].deleted.num_rows == 200 * 201 // 2 - 3
    db.apply(insert={"link": chain[2:]})
    assert len(db.rows("reach")) == 200 * 201 // 2
    assert db.why("reach", ("n0", "n200")).facts == [("link", row) for row in chain]
