"""What is written is read again, to the last number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.network.simulator.provenance.absorption import Absorption
from headwater.network.simulator.wire.message import WireReader, put_packed, put_steps
from tests.engine.holding import pairs

_NUMBERS = st.sets(st.integers(0, 300) | st.integers(0, 2**40), max_size=40).map(sorted)
_CUBES = st.sets(st.integers(0, 500), max_size=20).map(lambda facts: tuple(sorted(facts)))


@pairs(200)
@given(st.lists(_NUMBERS, max_size=4))
def test_numbers_bit_by_bit(many: list[list[int]]) -> None:
    out = bytearray()
    for numbers in many:
        put_packed(out, numbers)
    source = WireReader(bytes(out))
    assert [source.packed(len(numbers)) for numbers in many] == many


@pairs(100)
@given(st.lists(_CUBES, max_size=80))
def test_single_derivations_in_small_and_large_messages(cubes: list[tuple[int, ...]]) -> None:
    algebra = Absorption()
    assert algebra.decode(algebra.encode(cubes)) == cubes


def test_packed_numbers_take_less() -> None:
    numbers = list(range(3, 400, 23))
    packed, plain = bytearray(), bytearray()
    put_packed(packed, numbers)
    put_steps(plain, numbers)
    assert len(packed) < 0.8 * len(plain)
