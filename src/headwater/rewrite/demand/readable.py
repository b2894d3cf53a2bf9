"""Names for the variables of a rule that was made from others, for people to read.

`path(Far'1, Y, Joined'2) :- path(Far'1, X, Value'2), edge(X, Y, C), Joined'2 = Value'2 + C.` says the same as
`path(X, Y, C) :- path(X, Z, C2), edge(Z, Y, C1), C = C2 + C1.`: its head has the names of the rule that it was made of,
the others are those of the rule as written, where it has some to spare, or get a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count

from headwater.language.syntax import Assign, Goal, Head, Rule, Variable
from headwater.language.terms import goal_terms, positive_atoms, variables
from headwater.rewrite.substitution import substitute_goal, substitute_head

_NAMELESS = "V"


def readable(rule: Rule, step: Rule, written: Rule | None, made: frozenset[str]) -> Rule:
    """A rule in readable names: `step` is what it was made of, `made` are the generated names."""
    names = _Names(written, {name[0] for name in _body_names(step)})
    own = [arg.name if isinstance(arg, Variable) else None for arg in step.head.args]
    heads = {arg.name: at for at, arg in enumerate(rule.head.args) if isinstance(arg, Variable)}
    for name in sorted(heads, key=lambda name: name in made):
        wanted = own[heads[name]] if name in made else name
        names.give(name, wanted or names.said(heads[name]))
    columns = {
        arg.name: at
        for atom in positive_atoms(rule)
        if atom.relation == rule.head.relation
        for at, arg in enumerate(atom.args)
        if isinstance(arg, Variable)
    }
    for name in _body_names(rule):
        if name not in names.given:
            names.give(name, names.used(columns[name]) or own[columns[name]] if name in made else name)
    terms = {name: Variable(new) for name, new in names.given.items()}
    body = tuple(_renamed(substitute_goal(goal, terms), names.given) for goal in rule.body)
    return replace(rule, head=substitute_head(rule.head, terms), body=body)


class _Names:
    """The names that were given, each once."""

    def __init__(self, written: Rule | None, letters: set[str]) -> None:
        self._head: Head | None = None if written is None else written.head
        self._goals = [] if written is None else list(positive_atoms(written))
        self._spare = [] if written is None else list(_body_names(written))
        self._letters = letters
        self.given: dict[str, str] = {}

    def give(self, name: str, wanted: str | None) -> None:
        taken, base = set(self.given.values()), wanted or _NAMELESS
        spare = [each for each in self._spare if each not in taken and "'" not in each]
        alike = [each for each in spare if each[0] == base[0]]
        spare = [each for each in spare if each[0] not in self._letters]
        numbered = (f"{base}{at}" for at in count(1))
        self.given[name] = next(each for each in chain((base, *alike, *spare), numbered) if each not in taken)

    def said(self, at: int) -> str | None:
        """The name of a column in the head as written."""
        arg = None if self._head is None else self._head.args[at]
        return arg.name if isinstance(arg, Variable) else None

    def used(self, at: int) -> str | None:
        """The name of a column in the recursive goal as written."""
        own = [goal.args[at] for goal in self._goals if self._head is not None and goal.relation == self._head.relation]
        return next((arg.name for arg in own if isinstance(arg, Variable) and "'" not in arg.name), None)


def _body_names(rule: Rule) -> Iterator[str]:
    for goal in rule.body:
        yield from (each.name for term in goal_terms(goal) for each in variables(term))
        if isinstance(goal, Assign):
            yield goal.variable.name


def _renamed(goal: Goal, names: dict[str, str]) -> Goal:
    return replace(goal, variable=Variable(names[goal.variable.name])) if isinstance(goal, Assign) else goal
