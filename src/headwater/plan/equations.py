"""Equations of a rule as keys: `a(X, K), b(L, Y), L = K + 1` finds the rows of `b` by a value that K gives.

An equation is used for an atom of which nothing else is known but constants, and tested everywhere else: an atom that
shares a variable with what is known needs no further index. A key is looked up by its code, so both sides must have
one type, and equal values of it equal codes. Lists and mixed values are not looked up in this way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.language.syntax import Atom, Comparison, Term, Variable
from headwater.language.terms import names
from headwater.plan.drafts import Draft
from headwater.program.types.typing import term_type

_EXACT = frozenset({Type.INT, Type.FLOAT, Type.STRING, Type.BOOL, Type.TIMESTAMP, Type.DURATION})


@dataclass(frozen=True, slots=True)
class Equation:
    """A variable of an atom, and the term that gives its value."""

    variable: Variable
    term: Term
    goal: Comparison


def solved(draft: Draft, atom: Atom, known: Collection[str]) -> tuple[Equation, ...]:
    """The equations that give keys for an atom of which no variable is known, one per variable."""
    there = {arg.name for arg in atom.args if isinstance(arg, Variable)}
    if not there.isdisjoint(known):
        return ()
    found: dict[str, Equation] = {}
    for equation in _equations(draft):
        name = equation.variable.name
        if name in there and name not in found and names(equation.term) <= set(known) and _is_exact(draft, equation):
            found[name] = equation
    return tuple(found.values())


def _equations(draft: Draft) -> Iterator[Equation]:
    for goal in draft.body:
        if isinstance(goal, Comparison) and goal.op == "=":
            for variable, term in ((goal.left, goal.right), (goal.right, goal.left)):
                if isinstance(variable, Variable):
                    yield Equation(variable, term, goal)


def _is_exact(draft: Draft, equation: Equation) -> bool:
    kind = draft.types[equation.variable.name]
    return kind in _EXACT and term_type(equation.term, draft.types, FUNCTIONS) is kind
