"""Rows that come in order, or nearly, are stored as all others are: each once, ascending."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.core.types import Type
from headwater.engine.codes.columns import column_codes
from headwater.engine.codes.symbols import Symbols
from headwater.engine.store import index
from headwater.engine.store.index import packed_sort

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3), st.integers(0, 5)), min_size=1, max_size=40)


@example([(0, 1, 0), (0, 1, 0), (1, 0, 0)], "grouped", 0)
@given(ROWS, st.sampled_from(["mixed", "grouped", "ascending"]), st.integers(0, 4))
def test_rows_are_sorted_however_they_come(rows: list[tuple[int, int, int]], order: str, moves: int) -> None:
    if order == "grouped":
        rows = sorted(rows, key=lambda row: row[0])
    if order == "ascending":
        rows = sorted(set(rows))
    given_rows = np.array(rows, dtype=np.int64)
    kept = given_rows.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_MOVES", moves)
        found = packed_sort(given_rows)
    assert found is not None
    assert list(map(tuple, found.tolist())) == sorted(set(rows))
    assert (given_rows == kept).all()


def test_rows_that_are_nearly_in_order_need_no_bits() -> None:
    """Codes of more than 63 bits together can only be sorted where they are."""
    wide = 2**61
    rows = np.array([[0, wide, 1], [0, -wide, 2], [wide, 5, 5], [wide, 4, 9]], dtype=np.int64)
    found = packed_sort(rows)
    assert found is not None
    assert found.tolist() == sorted(rows.tolist())
    assert packed_sort(rows[::-1].copy()) is None


WORDS = st.lists(st.sampled_from(["a", "b", "", "é", "long word"]), max_size=12)


@given(WORDS, WORDS, st.booleans(), st.booleans())
def test_dictionaries_have_the_codes_of_their_words(
    words: list[str], more: list[str], large: bool, chunked: bool
) -> None:
    text = pa.large_string() if large else pa.string()
    plain = pa.array(words, type=text)
    column = plain.dictionary_encode()
    if chunked:
        column = pa.chunked_array([column, pa.array(more, type=text).dictionary_encode()])
        words = [*words, *more]
    symbols = Symbols()
    codes, problems = column_codes(column, Type.STRING, symbols)
    assert not problems
    assert [symbols.values[code] for code in codes.tolist()] == words


def test_words_that_a_dictionary_does_not_use_are_no_symbols() -> None:
    symbols = Symbols()
    column = pa.DictionaryArray.from_arrays(pa.array([2, 2]), pa.array(["never", "neither", "used"]))
    assert column_codes(column, Type.STRING, symbols)[0].tolist() == [1, 1]
    assert symbols.values == [None, "used"]


def test_a_null_of_a_dictionary_does_not_fit() -> None:
    for column in (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None])),
        pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array(["a"])),
    ):
        _, problems = column_codes(column, Type.STRING, Symbols())
        assert [at for at, _ in problems] == [1]
        nullable, problems = column_codes(column, Type.STRING, Symbols(), nullable=True)
        assert not problems
        assert nullable.tolist() == [1, 0]
