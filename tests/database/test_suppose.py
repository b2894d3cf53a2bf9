"""`suppose` says what `apply` would change, and changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headwater as hw

TEXT = """
relation link(a: int, b: int, ms: int) key(a, b).
reach(X, Y, min<T>) :- link(X, Y, T).
reach(X, Z, min<T>) :- link(X, Y, T1), reach(Y, Z, T2), T = T1 + T2.
"""
PROGRAM = hw.compile(TEXT)
LINKS = st.lists(st.tuples(*[st.integers(0, 4)] * 2, st.integers(1, 5)), max_size=8)


@given(start=LINKS, insert=LINKS, delete=LINKS, mode=st.sampled_from(["witness", "absorption"]))
def test_agree_with_what_apply_then_does(
    start: list[tuple[int, ...]], insert: list[tuple[int, ...]], delete: list[tuple[int, ...]], mode: str
) -> None:
    db = hw.Database(PROGRAM, provenance=mode)
    db.apply(insert={"link": start})
    before = {name: db.rows(name) for name in ("link", "reach")}
    supposed = db.suppose(insert={"link": insert}, delete={"link": delete})
    assert {name: db.rows(name) for name in before} == before
    done = db.apply(insert={"link": insert}, delete={"link": delete})
    for name in before:
        for way in ("inserted", "deleted"):
            one, other = (_rows(getattr(found[name], way)) for found in (supposed, done))
            assert one == other


def _rows(table: object) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in table.to_pylist()}  # type: ignore[attr-defined]


def test_rows_that_do_not_fit_are_refused() -> None:
    db = hw.Database(PROGRAM)
    with pytest.raises(hw.DataError, match="HW801"):
        db.suppose(insert={"link": [("a", "b", "c")]})


def test_rows_of_types_not_known_yet_are_refused() -> None:
    db = hw.Database(hw.compile("reach(X, Y) :- link(X, Y)."))
    with pytest.raises(hw.DataError, match="the types of `link` are not known before its first rows"):
        db.suppose(insert={"link": [("a", "b")]})
    db.apply(insert={"link": [("a", "b")]})
    assert db.suppose(insert={"link": [("b", "c")]})["reach"].inserted.to_pylist() == [{"x": "b", "y": "c"}]
