"""Values that rules compute, as what is asked for.

`v(A, Y) :- s(A, B), X = A + B, reach(X, Y).` asks `reach` for A + B: the equation gives X its value, so the rule for
the question is `reach'asked(X) :- v'asked(A), s(A, B), X := A + B.` And a relation whose column a rule computes can be
asked by that column: the rule keeps those of its values that are asked for.

An equation gives a variable its value if the value is of the variable's type, or is an int where floats are: 2 = 2.0
holds, but among ints there is no row of 2.0. Functions of users are left out, since they may be slow, or fail on values
that no row leads to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from headwater.core.functions.registry import FUNCTIONS, USER_FUNCTIONS
from headwater.core.types import Type
from headwater.language.syntax import Assign, Atom, Call, Comparison, Goal, Rule, Term, Variable
from headwater.language.terms import assigned, goal_names, names, positive_atoms, subterms
from headwater.program.model import Relation
from headwater.program.types.typing import term_type

Kinds: TypeAlias = Mapping[str, Type | None]
"""The types of a rule's variables, as far as they are known."""


def kinds_of(rule: Rule, relations: Mapping[str, Relation]) -> Kinds:
    found: dict[str, Type | None] = {}
    for atom in positive_atoms(rule):
        for arg, column in zip(atom.args, relations[atom.relation].columns, strict=True):
            if isinstance(arg, Variable) and found.get(arg.name) is None:
                found[arg.name] = column.type
    for goal in rule.body:
        if isinstance(goal, Assign):
            found.setdefault(goal.variable.name, term_type(goal.term, found, FUNCTIONS))
    return found


def solved(goal: Goal, known: Collection[str], kinds: Kinds) -> Assign | None:
    """The value that an equation gives to a variable, where that of the other side is known."""
    if not isinstance(goal, Comparison) or goal.op != "=":
        return None
    for variable, term in ((goal.left, goal.right), (goal.right, goal.left)):
        if not isinstance(variable, Variable) or variable.name in known or not _gives(term, known):
            continue
        if _fits(term_type(term, kinds, FUNCTIONS), kinds.get(variable.name)):
            return Assign(variable, term, span=goal.span)
    return None


def _fits(value: Type | None, column: Type | None) -> bool:
    """Whether a value of one type can be looked up in a column of another, as far as they are known."""
    return None in (value, column) or value is column or (value, column) == (Type.INT, Type.FLOAT)


def _gives(term: Term, known: Collection[str]) -> bool:
    calls_users = any(isinstance(part, Call) and part.function in USER_FUNCTIONS for part in subterms(term))
    return bool(names(term)) and names(term) <= set(known) and not calls_users


def compared(rule: Rule, guard: Atom) -> tuple[Goal, ...]:
    """A goal about what is asked of a rule's head; what the rule computes is compared with it, and keeps its type."""
    computed = assigned(rule)
    given = {arg: Variable(f"{arg.name}'asked") for arg in guard.args if isinstance(arg, Variable)}
    given = {arg: asked for arg, asked in given.items() if arg.name in computed}
    args = tuple(given.get(arg, arg) if isinstance(arg, Variable) else arg for arg in guard.args)
    return replace(guard, args=args), *(Comparison("=", asked, arg) for arg, asked in given.items())


def tested(body: Iterable[Goal]) -> Iterator[Goal]:
    """The goals of a body; what computes a value that some goal gives compares the two."""
    goals = tuple(body)
    given = set().union(*(goal_names(goal) for goal in goals if isinstance(goal, Atom)))
    for goal in goals:
        if isinstance(goal, Assign) and goal.variable.name in given:
            yield Comparison("=", goal.variable, goal.term, span=goal.span)
        else:
            yield goal
