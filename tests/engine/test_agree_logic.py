"""Functions about nulls and truth give for whole columns what they give for single values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.functions.function import Function
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.engine.codes.batch import Batch
from headwater.engine.codes.expressions import Expressions
from headwater.engine.codes.logic import NATIVE
from headwater.engine.codes.symbols import Symbols, decode, encode_all
from headwater.language.syntax import Call, Constant, Variable

DOMAINS: dict[Type, list[Any]] = {
    Type.INT: [0, 1, -3],
    Type.FLOAT: [0.0, 1.0, -2.5],
    Type.STRING: ["", "a", "b"],
    Type.BOOL: [False, True],
    Type.LIST: [(), (1,), (1, 2)],
    Type.TIMESTAMP: [0, 1_000_000, -1],
    Type.DATE: [0, 86_400_000_000],
}


def _kinds(function: Function, draw: st.DrawFn) -> list[Type]:
    """Types of the arguments of a call: ints may stand beside floats, everything else among its own."""
    count = len(function.params) if not function.variadic else draw(st.integers(1, 3))
    free = draw(st.sampled_from(list(DOMAINS)))
    mixed = draw(st.booleans()) and free in (Type.INT, Type.FLOAT)
    return [
        function.parameter(at) or (draw(st.sampled_from([Type.INT, Type.FLOAT])) if mixed else free)
        for at in range(count)
    ]


@pytest.mark.parametrize("name", sorted(NATIVE))
@settings(max_examples=40)
@given(data=st.data())
def test_agree_whole_columns_and_single_values(name: str, data: st.DataObject) -> None:
    function = FUNCTIONS[name]
    kinds = data.draw(st.composite(lambda draw: _kinds(function, draw))())
    nullable = [data.draw(st.booleans()) for _ in kinds]
    size = data.draw(st.integers(1, 6))
    columns = [
        data.draw(
            st.lists(st.sampled_from([None, *DOMAINS[kind]] if maybe else DOMAINS[kind]), min_size=size, max_size=size)
        )
        for kind, maybe in zip(kinds, nullable, strict=True)
    ]
    symbols = Symbols()
    names = [f"X{at}" for at in range(len(kinds))]
    batch = Batch(size, {n: encode_all(c, k, symbols) for n, c, k in zip(names, columns, kinds, strict=True)})
    maybe = [n for n, one in zip(names, nullable, strict=True) if one]
    terms = Expressions(dict(zip(names, kinds, strict=True)), maybe, symbols, holds_nulls=True)
    found = terms.value(Call(name, tuple(map(Variable, names))), batch)
    assert found.ok is None
    assert function.scalar is not None
    expected = [
        None if None in given_ and not function.sees_nulls else function.scalar(*given_)
        for given_ in zip(*columns, strict=True)
    ]
    assert decode(found.codes, found.type, symbols, nullable=found.nullable) == expected


def test_what_is_not_chosen_need_not_exist() -> None:
    symbols = Symbols()
    terms = Expressions({"X": Type.INT, "Y": Type.INT}, ["X"], symbols)
    batch = Batch(3, {"X": encode_all([6, None, 6], Type.INT, symbols), "Y": np.array([2, 0, 0], dtype=np.int64)})
    over = Call("to_int", (Call("nth", (Call("encd", (Variable("X"), Variable("X"))), Variable("Y"))),))
    guarded = terms.value(
        Call("if", (Call("is_equal", (Variable("Y"), Constant(0, Type.INT))), over, Constant(7, Type.INT))), batch
    )
    assert decode(guarded.codes, guarded.type, symbols, nullable=True) == [7, None, 6]
    assert guarded.ok is None or guarded.ok.all()
    first = terms.value(Call("coalesce", (Variable("X"), over)), batch)
    assert decode(first.codes, first.type, symbols, nullable=True) == [6, None, 6]
    assert first.ok is None or first.ok.all()
    bare = terms.value(over, batch)
    assert bare.ok is not None
    assert bare.ok.tolist() == [False, True, True]
