"""Rows on their way: owned by value, packed exactly, and as bytes that nobody can make dangerous."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import StateError
from headwater.core.types import ONE_WORD, Type
from headwater.engine.codes.symbols import NULL, Symbols, encode_all, null_code
from headwater.exchange.packing import pack, unpack
from headwater.exchange.routing import Owners
from headwater.exchange.wire import (
    Activity,
    Incoming,
    Outgoing,
    Parcel,
    read_incoming,
    read_outgoing,
    ship,
    write_incoming,
    write_outgoing,
)
from headwater.plan.model import Table

_scalars = (
    st.text(st.characters(), max_size=5) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.booleans()
)
_values = st.recursive(_scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def _same(left: object, right: object) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return type(left) is type(right) and left == right


@given(values=st.lists(_values, max_size=20))
def test_symbols_of_any_value_arrive_as_they_were(values: list[object]) -> None:
    here, there = Symbols(), Symbols(["something", "else"])
    table = Table("t'out", (Type.STRING, Type.LIST), ("a", "b"))
    codes = encode_all(values, Type.LIST, here)
    arrived = unpack(table, pack(table, np.stack([codes, codes[::-1]], axis=1), here), there)
    assert all(map(_same, (there.values[code] for code in arrived[:, 0].tolist()), values))
    assert all(map(_same, (there.values[code] for code in arrived[:, 1].tolist()), values[::-1]))


def test_few_rows_among_many_symbols_arrive() -> None:
    here, there = Symbols(str(number) for number in range(1000)), Symbols()
    table = Table("t'out", (Type.STRING,), ("a",))
    arrived = unpack(table, pack(table, np.array([[8], [1000], [8]]), here), there)
    assert [there.values[code] for code in arrived[:, 0]] == ["7", "999", "7"]


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), shards=st.sampled_from([1, 2, 3, 8]))
def test_a_number_has_one_owner_whatever_its_column(numbers: list[int], shards: int) -> None:
    symbols = Symbols()
    owners = Owners(symbols, shards)
    as_ints = owners.of(np.array(numbers, dtype=np.int64), Type.INT)
    as_floats = owners.of(encode_all([float(one) for one in numbers], Type.FLOAT, symbols), Type.FLOAT)
    as_anything = owners.of(encode_all(numbers, Type.STRING, symbols), Type.STRING)
    assert as_ints.tolist() == as_floats.tolist() == as_anything.tolist()
    assert as_ints.min() >= 0
    assert as_ints.max() < shards


@pytest.mark.parametrize("shards", [2, 3, 8])
def test_a_null_has_one_owner_whatever_its_column(shards: int) -> None:
    owners = Owners(Symbols(), shards)
    found = {int(owners.of(np.array([null_code(kind)]), kind)[0]) for kind in ONE_WORD}
    assert len(found) == 1


def test_nulls_travel() -> None:
    table = Table("t'out", (Type.STRING, Type.LIST, Type.INT), ("a", "b", "c"), nullable=frozenset({0, 1, 2}))
    here, there = Symbols(["x", (1,)]), Symbols(["y"])
    rows = np.array([[0, 2, NULL], [1, 0, 3]])
    arrived = unpack(table, pack(table, rows, here), there)
    assert arrived.tolist() == [[0, there.number((1,)), NULL], [there.number("x"), 0, 3]]


@pytest.mark.parametrize("shards", [2, 3, 8])
@pytest.mark.parametrize("kind", [Type.INT, Type.FLOAT, Type.STRING])
def test_every_shard_owns_its_share(kind: Type, shards: int) -> None:
    symbols = Symbols()
    values = [f"node {one}" if kind is Type.STRING else one for one in range(4000)]
    counts = np.bincount(Owners(symbols, shards).of(encode_all(values, kind, symbols), kind), minlength=shards)
    assert counts.min() > 0.8 * 4000 / shards
    assert counts.max() < 1.2 * 4000 / shards


def _parcel(marks: bool = False) -> Parcel:
    words = pa.array(["a", "b", "a"]).dictionary_encode()
    return Parcel("reach'out", marks, pa.table({"0": pa.array([1, 2, 3], pa.int32()), "1": words}))


def test_rounds_survive_as_bytes() -> None:
    outgoing = Outgoing({2: [_parcel(), _parcel(marks=True)], 0: [_parcel()]}, Activity.SENT)
    again = read_outgoing(write_outgoing(outgoing).to_pybytes())
    assert again == outgoing
    incoming = ship([outgoing, Outgoing({}, Activity.WORK), Outgoing()])[2]
    assert read_incoming(memoryview(write_incoming(incoming).to_pybytes())) == incoming
    assert sum(parcel.rows.num_rows for _, parcel in incoming.parcels) == 6
    assert read_incoming(write_incoming(Incoming())) == Incoming()


@given(data=st.data())
def test_damaged_bytes_are_told_or_harmless(data: st.DataObject) -> None:
    good = bytearray(write_outgoing(Outgoing({1: [_parcel()]}, Activity.SENT)).to_pybytes())
    if data.draw(st.booleans()):
        good = good[: data.draw(st.integers(0, len(good) - 1))]
    for _ in range(data.draw(st.integers(0, 3))):
        if good:
            good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = read_outgoing(bytes(good))
    except StateError:
        return
    assert all(isinstance(parcel, Parcel) for many in found.parcels.values() for parcel in many)


def test_rows_of_another_shape_are_refused() -> None:
    table = Table("t'out", (Type.INT, Type.STRING), ("a", "b"))
    with pytest.raises(StateError, match="columns"):
        unpack(table, pa.table({"0": [1]}), Symbols())
    with pytest.raises(StateError, match="codes"):
        unpack(table, pa.table({"0": [0.5], "1": pa.array(["x"]).dictionary_encode()}), Symbols())
    with pytest.raises(StateError, match="instead of strings"):
        unpack(table, pa.table({"0": [1], "1": ["x"]}), Symbols())


def test_not_a_number_travels() -> None:
    table = Table("t'out", (Type.LIST,), ("a",))
    here, there = Symbols([(math.nan, math.inf, -0.0)]), Symbols()
    unpack(table, pack(table, np.array([[1]]), here), there)
    assert repr(there.values) == "[None, (nan, inf, -0.0)]"
