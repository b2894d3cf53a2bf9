"""Sizes of rows without writing them: what the wire format takes, value by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from headwater.core.types import Type
from headwater.engine.codes.symbols import Symbols
from headwater.network.nodes.sizes import RowSizes
from headwater.network.simulator.wire.message import put_value

VALUES: tuple[Any, ...] = (
    "",
    "a",
    "ü" * 90,
    "n1",
    ("n1", "n2", "n1"),
    (),
    (1, -70, 2.5),
    ("x",) * 200,
    (("a", 1), "b"),
)


def test_sizes_are_those_of_the_wire() -> None:
    symbols = Symbols()
    sizes = RowSizes(symbols)
    for repeated in range(40):  # more values each time, so that what is remembered grows
        some = [*VALUES, f"name {repeated}", (f"name {repeated}", "n1")]
        codes = np.array([[symbols.number(value)] for value in some], dtype=np.int64)
        found = sizes.of(codes, (Type.STRING,), (0,))
        for value, size in zip(some, found.tolist(), strict=True):
            out = bytearray()
            put_value(out, value)
            assert size == len(out), value
