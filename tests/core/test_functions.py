"""The built-in functions value by value, and what a user may register."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.core.errors import CheckProblem
from headwater.core.functions.builtins import BUILTINS
from headwater.core.functions.function import lookup
from headwater.core.functions.registry import FUNCTIONS, register, unregister
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.parse import parse
from headwater.program.check import check


def call(name: str, *values: Any) -> Any:
    scalar = BUILTINS[name].scalar
    assert scalar is not None
    return scalar(*values)


@pytest.mark.parametrize(
    ("left", "right", "joined"),
    [
        (("a", "b"), (), ("a", "b")),
        (("a", "b"), ("b", "c"), ("a", "b", "c")),
        (("a", "b"), ("b",), ("a", "b")),
        (("b", "a"), ("b", "c"), ("a", "b", "c")),
        (("a", "b", "c"), ("c", "d"), ("a", "b", "c", "d")),
        (("a", "b", "c"), ("d", "c"), ("a", "b", "c", "d")),
        (("a", "b"), ("b", "a"), ("a", "b", "a")),
        ("a", ("b", "c"), ("a", "b", "c")),
        (("a", "b"), "c", ("a", "b", "c")),
        (("a", "b", "c"), ("d", "e", "f"), None),
        ((), (), ()),
    ],
)
def test_paths_join_where_they_meet(left: Any, right: Any, joined: Any) -> None:
    assert call("concatPath", left, right) == joined


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("inPath", (("a", "b"), "b"), True),
        ("inPath", (("a", "b"), "c"), False),
        ("member", ("b", ("a", "b")), True),
        ("concat", (("a",), ("b", "c"), ()), ("a", "b", "c")),
        ("concat", ("a", 1, 2.5, True), "a12.5true"),
        ("concat", ("a", ("b",)), None),
        ("append", (("a",), "b"), ("a", "b")),
        ("encd", (2.5, "x"), (2.5, "x")),
        ("length", (("a", "b"),), 2),
        ("size", ("abc",), 3),
        ("first", (("a", "b"),), "a"),
        ("first", ((),), None),
        ("last", (("a", "b"),), "b"),
        ("last", ((),), None),
        ("rest", (("a", "b"),), ("b",)),
        ("rest", ((),), None),
        ("drop", (("a", "b", "c"), 2), ("c",)),
        ("drop", (("a",), 2), None),
        ("nth", (("a", "b"), 1), "b"),
        ("nth", (("a", "b"), 2), None),
        ("nth", (("a", "b"), -1), None),
        ("reverse", (("a", "b"),), ("b", "a")),
        ("reverse", ("ab",), "ba"),
        ("larger", (1, 2), 2),
        ("largest", (3, 1, 2), 3),
        ("smaller", ("a", "b"), "a"),
        ("smallest", (3, 1, 2), 1),
        ("largest", ((1, "b"), (1, "a"), (0, "z")), (1, "b")),
        ("distance", ((0, 0), (3, 4)), 5.0),
        ("distance", (0, 0, 3, 4), 5.0),
        ("distance", ((0, 0), (3, 4, 5)), None),
        ("distance", (("a",), ("b",)), None),
        ("abs", (-3,), 3),
        ("floor", (-1.5,), -2),
        ("ceil", (1.2,), 2),
        ("floor", (math.inf,), None),
        ("round", (1.6,), 2),
        ("round", (1.256, 2), 1.26),
        ("sqrt", (9,), 3.0),
        ("sqrt", (-1,), None),
        ("pow", (2, 10), 1024.0),
        ("pow", (0, -1), None),
        ("exp", (1e9,), None),
        ("log", (0,), None),
        ("mod", (7, 3), 1),
        ("mod", (-7, 3), 2),
        ("mod", (7, 0), None),
        ("to_int", ("12",), 12),
        ("to_int", ("x",), None),
        ("to_int", (2.9,), 2),
        ("to_float", ("2.5",), 2.5),
        ("to_float", ((),), None),
        ("to_string", (("a", 1),), "[a, 1]"),
        ("upper", ("aß",), "ASS"),
        ("lower", ("AB",), "ab"),
        ("trim", ("  a ",), "a"),
        ("substr", ("hello", 1, 3), "ell"),
        ("substr", ("hello", 3), "lo"),
        ("substr", ("hello", -1), None),
        ("starts_with", ("hello", "he"), True),
        ("ends_with", ("hello", "he"), False),
        ("contains", ("hello", "ell"), True),
        ("contains", (("a", "b"), "b"), True),
        ("replace", ("banana", "an", "o"), "booa"),
        ("split", ("a,b,", ","), ("a", "b", "")),
        ("split", ("ab", ""), ("a", "b")),
    ],
)
def test_values(name: str, values: tuple[Any, ...], result: Any) -> None:
    given = call(name, *values)
    assert given == result
    assert type(given) is type(result)


def test_every_builtin_says_what_it_does() -> None:
    assert [name for name, function in BUILTINS.items() if not function.doc or function.name != name] == []


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("larger", (Type.INT, Type.FLOAT), Type.FLOAT),
        ("larger", (Type.TIMESTAMP, Type.TIMESTAMP), Type.TIMESTAMP),
        ("largest", (Type.INT, None), None),
        ("concat", (Type.LIST, None), Type.LIST),
        ("concat", (Type.STRING, Type.INT), Type.STRING),
        ("concat", (None,), None),
        ("first", (Type.LIST,), None),
        ("abs", (Type.INT,), Type.INT),
        ("round", (Type.FLOAT,), Type.INT),
        ("round", (Type.FLOAT, Type.INT), Type.FLOAT),
    ],
)
def test_result_types(name: str, given: tuple[Type | None, ...], result: Type | None) -> None:
    assert BUILTINS[name].result_type(given) is result


def test_the_prefix_of_ndlog_is_optional() -> None:
    assert lookup(BUILTINS, "f_concatPath") is lookup(BUILTINS, "concatPath") is BUILTINS["concatPath"]
    assert lookup(BUILTINS, "f_nothing") is None


@pytest.fixture
def area():
    @register("area", ("float", Type.FLOAT), "float")
    def area(width, height):
        """Width times height."""
        import pyarrow.compute as pc

        return pc.multiply(width, height)

    yield
    unregister("area")


@pytest.mark.usefixtures("area")
def test_a_registered_function_is_checked_like_any_other() -> None:
    assert FUNCTIONS["area"].doc == "Width times height."
    program = check(parse(Source("program.dl", "relation r(w: float, h: int).\np(A) :- r(W, H), A = f_area(W, H).")))
    assert program.relation("p").columns[0].type is Type.FLOAT
    with pytest.raises(CheckProblem, match="HW203"):
        check(parse(Source("program.dl", "p(A) :- r(W, H), A = area(W).")))
    with pytest.raises(CheckProblem, match="HW405"):
        check(parse(Source("program.dl", "relation r(w: string).\np(A) :- r(W), A = area(W, 1).")))


@pytest.mark.usefixtures("area")
def test_a_registered_function_is_worked_out_in_facts() -> None:
    program = check(parse(Source("program.dl", "p(area(2.0, 3.5)).")))
    assert [arg.value for arg in program.rules[0].head.args] == [7.0]


def test_a_function_that_is_not_registered_is_unknown() -> None:
    with pytest.raises(CheckProblem, match="HW202"):
        check(parse(Source("program.dl", "p(A) :- r(W, H), A = area(W, H).")))


@pytest.mark.parametrize("name", ["concat", "f_concat", "encd", "decd", "Area", "a b", ""])
def test_names_that_cannot_be_registered(name: str) -> None:
    with pytest.raises(ValueError):
        register(name, ("int",), "int")(lambda value: value)


def test_a_type_that_does_not_exist_cannot_be_registered() -> None:
    with pytest.raises(ValueError, match="there is no type 'integer'"):
        register("twice", ("integer",), "int")(lambda value: value)


KEYED = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.lists(st.integers(-3, 3), max_size=3).map(tuple),
)


def rank(value: Any) -> tuple[Any, ...]:
    """How sort keys sort: numbers, texts, lists, nulls."""
    match value:
        case None:
            return (4,)
        case int() | float():
            return 1, value
        case str():
            return 2, value
        case _:
            return 3, tuple(map(rank, value))


@given(st.tuples(KEYED, KEYED), st.tuples(KEYED, KEYED))
def test_sort_keys_sort_as_the_values_do(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    keys = [call("sort_key", *pair) for pair in (one, other)]
    first, second = (tuple(map(rank, pair)) for pair in (one, other))
    assert (keys[0] < keys[1]) == (first < second)
    assert (call("reverse_sort_key", keys[0]) > call("reverse_sort_key", keys[1])) == (first < second)
