"""Types when data comes: undeclared base relations get theirs from `known`, and the program follows."""

from __future__ import annotations

import pytest

from headwater.core.errors import CheckProblem
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.datalog.parse import parse
from headwater.language.syntax import Constant
from headwater.program.check import check
from headwater.program.model import Program
from headwater.program.types.inference import infer, with_types
from headwater.program.types.literals import microseconds

SHORTEST = """
dist(X, 0) :- source(X).
dist(Y, min<D>) :- dist(X, D1), link(X, Y, C), D = D1 + C.
"""


def checked(text: str) -> Program:
    return check(parse(Source("program.dl", text)))


def test_nothing_is_known_of_undeclared_base_relations() -> None:
    types = infer(checked(SHORTEST))
    assert types.columns["link"] == (None, None, None)
    assert types.columns["dist"] == (None, Type.INT)


@pytest.mark.parametrize("cost", [Type.INT, Type.FLOAT])
def test_types_of_data_flow_through_the_recursion(cost: Type) -> None:
    known = {"source": (Type.STRING,), "link": (Type.STRING, Type.STRING, cost)}
    types = infer(checked(SHORTEST), known)
    assert types.columns["dist"] == (Type.STRING, cost)
    assert types.variables[1] == {"X": Type.STRING, "Y": Type.STRING, "D1": cost, "C": cost, "D": cost}


def test_literals_follow_the_types_of_the_data() -> None:
    program = checked(SHORTEST)
    known = {"source": (Type.STRING,), "link": (Type.STRING, Type.STRING, Type.FLOAT)}
    assert program.rules[0].head.args[1] == Constant(0, Type.INT)
    typed = with_types(program, infer(program, known))
    assert typed.rules[0].head.args[1] == Constant(0.0, Type.FLOAT)
    assert typed.relation("link").columns[2].type is Type.FLOAT


def test_data_that_clashes_with_the_rules_is_an_error() -> None:
    with pytest.raises(CheckProblem) as caught:
        infer(checked("p(X) :- a(X), b(X)."), {"a": (Type.INT,), "b": (Type.STRING,)})
    assert [each.code for each in caught.value.diagnostics] == ["HW402"]


def test_a_variable_in_an_int_and_a_float_column_is_an_error_with_a_hint() -> None:
    with pytest.raises(CheckProblem) as caught:
        infer(checked("p(X) :- a(X), b(X)."), {"a": (Type.INT,), "b": (Type.FLOAT,)})
    (problem,) = caught.value.diagnostics
    assert problem.hint is not None
    assert "X = X2" in problem.hint


def test_facts_and_data_of_one_base_relation_widen_each_other() -> None:
    program = checked("w(1, a).\np(X) :- w(X, _).")
    assert infer(program, {"w": (Type.FLOAT, Type.STRING)}).columns["p"] == (Type.FLOAT,)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01 01:00:00+01:00", 0),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("1970-01-01T00:00:00.000001", 1),
        ("yesterday", None),
        ("", None),
        ("2026-02-30", None),
    ],
)
def test_moments(text: str, moment: int | None) -> None:
    assert microseconds(text) == moment
