"""The numbers of ways over whole columns are those of single values, and differ where the values differ."""

from __future__ import annotations

import numpy as np

from headwater.core.functions.ways import way_of
from headwater.core.types import Type, list_of
from headwater.engine.codes.symbols import Symbols, encode
from headwater.engine.codes.term_values import Value
from headwater.engine.codes.ways import ways_of

COLUMNS = (
    (Type.INT, [0, -1, 7, None, 2**62, -(2**62)]),
    (Type.FLOAT, [0.0, -0.0, 1.5, None, float("inf"), float("nan")]),
    (Type.STRING, ["", "a", None, "eight letters and more: \u00e9\u4e2d\U0001f600", "12345678", "123456789"]),
    (Type.BOOL, [True, False, None, True, False, True]),
    (list_of(Type.INT), [(), (1,), (1, None), None, (2, 3), (23,)]),
)


def test_agree_with_single_values() -> None:
    symbols = Symbols()
    values = [
        Value(np.array([encode(each, kind, symbols) for each in column], dtype=np.int64), kind, nullable=True)
        for kind, column in COLUMNS
    ]
    for count in range(1, len(values) + 1):
        found = ways_of(symbols, values[:count], 6).codes.tolist()
        assert found == [way_of(*row) for row in zip(*(column for _, column in COLUMNS[:count]), strict=True)]


def test_different_ways_have_different_numbers() -> None:
    numbers = Value(np.arange(-50_000, 50_000, dtype=np.int64), Type.INT)
    swapped = Value(numbers.codes[::-1].copy(), Type.INT)
    symbols = Symbols()
    words = Value(np.array([symbols.number(f"{at}") for at in range(100_000)], dtype=np.int64), Type.STRING)
    for values in ([numbers], [numbers, swapped], [swapped, words], [words]):
        found = ways_of(symbols, values, 100_000).codes
        assert len(np.unique(found)) == 100_000
        assert found.min() >= 0
