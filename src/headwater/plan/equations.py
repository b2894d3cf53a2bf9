"""Equations of a rule as keys: `a(X, K), b(L, Y), L = K + 1` finds the rows of `b` by a value that K gives.

An equation is used for an atom of which nothing else is known but constants, and tested everywhere else: an atom that
shares a variable with what is known needs no further index. A key is looked up by its code, so both sides must have
one type, and equal values of it equal codes. Lists and mixed values are not looked up in this way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.language.syntax import Atom, Comparison, Term, Variable
from headwater.language.terms import names
from headwater.plan.drafts import Draft
from headwater.program.types.typing import term_type

_EXACT = frozenset({Type.INT, Type.FLOAT, Type.STRING, Type.BOOL, Type.TIMESTAMP, Type.DATE, Type.DURATION})


@dataclass(frozen=True, slots=True)
class Equation:
    """A variable of an atom, and the term that gives its value."""

    variable: Variable
    term: Term
    goal: Comparison


Equations: TypeAlias = Mapping[str, tuple[Equation, ...]]
"""The equations of a rule that can give keys, by the variable whose value they give."""


def equations_of(draft: Draft) -> Equations:
    found: dict[str, tuple[Equation, ...]] = {}
    for goal in draft.body:
        if isinstance(goal, Comparison) and goal.op == "=":
            for variable, term in ((goal.left, goal.right), (goal.right, goal.left)):
                if isinstance(variable, Variable) and _is_exact(draft, variable, term):
                    found[variable.name] = (*found.get(variable.name, ()), Equation(variable, term, goal))
    return found


def solved(equations: Equations, atom: Atom, known: Collection[str]) -> tuple[Equation, ...]:
    """The equations that give keys for an atom of which no variable is known, one per variable."""
    there = dict.fromkeys(arg.name for arg in atom.args if isinstance(arg, Variable))
    if equations.keys().isdisjoint(there) or any(name in known for name in there):
        return ()
    firsts = (
        next((one for one in equations.get(name, ()) if all(each in known for each in names(one.term))), None)
        for name in there
    )
    return tuple(one for one in firsts if one is not None)


def _is_exact(draft: Draft, variable: Variable, term: Term) -> bool:
    kind = draft.types[variable.name]
    return kind in _EXACT and term_type(term, draft.types, FUNCTIONS) is kind
