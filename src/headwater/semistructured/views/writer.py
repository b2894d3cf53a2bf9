"""Writes the rules of one view: new relations under the view's name, new variables, and rules that derive them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Goal,
    Head,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.semistructured.schema import EDGE

Body: TypeAlias = tuple[Goal, ...]
"""Goals that must all hold. A list of bodies is an alternative of each."""

MOST_BODIES = 16
"""More alternatives than this become a relation of their own, so that the rules of a view grow with its text."""

_SOME = re.compile(r"[A-Za-z]\w*", re.ASCII)


def relation_prefix(view: str) -> str:
    """The beginning of a view's relations. Two names never give the same: behind `_` there is `u`, a code, or a second
    `_`, which ends the name."""
    return "v_" + "".join(map(_letter, view))


def _letter(letter: str) -> str:
    if letter.isascii() and letter.isalnum():
        return letter
    return "_u" if letter == "_" else f"_{ord(letter):06x}"


def text(value: str) -> Constant:
    return Constant(value, Type.STRING)


def number(value: float) -> Constant:
    return Constant(float(value), Type.FLOAT)


def integer(value: int) -> Constant:
    return Constant(value, Type.INT)


def compared(left: Term, op: str, right: Term) -> Comparison:
    return Comparison(op, left, right)


def never(oid: Term) -> Body:
    """A condition on an object that no object meets."""
    return (Negation(Atom(EDGE, (oid, Wildcard(), Wildcard(), Wildcard()))),)


def _impossible(term: Term) -> Body:
    """Goals that bind an object and never hold."""
    return (Atom(EDGE, (term, Wildcard(), Wildcard(), Wildcard())), *never(term))


class RuleWriter:
    """The rules of one view so far."""

    def __init__(self, view: str) -> None:
        self._prefix = relation_prefix(view)
        self._count = 0
        self._variables: dict[str, int] = {}
        self.rules: list[Rule] = []

    def part_relation(self, part: str, what: str) -> str:
        """A relation of one statement, which users see."""
        return f"{self._prefix}__{''.join(map(_letter, part))}__{what}"

    def relation(self, hint: str) -> str:
        """A new relation; what stands between the two `__` of a statement's relation never begins like this."""
        self._count += 1
        return f"{self._prefix}__{self._count}_{hint}"

    def variable(self, hint: str = "X") -> Variable:
        """A new variable, called after a variable or a label of the view where it can be."""
        found = _SOME.match(hint)
        stem = found[0][:20] if found else "X"
        stem = (stem[0].upper() + stem[1:]).rstrip("0123456789") or "X"
        count = self._variables[stem] = self._variables.get(stem, 0) + 1
        return Variable(stem if count == 1 else f"{stem}{count}")

    def derive(self, hint: str, args: Sequence[Term], bodies: Iterable[Body]) -> Atom:
        """A new relation with the rows that any of the bodies gives for `args`."""
        found = tuple(args) or (integer(1),)  # a relation has at least one column
        relation = self.relation(hint)
        self.rule(relation, found, list(bodies) or [tuple(goal for term in found for goal in _impossible(term))])
        return Atom(relation, found)

    def derives(self, relation: str) -> bool:
        """Whether a rule for a relation was written."""
        return any(rule.head.relation == relation for rule in self.rules)

    def rule(self, relation: str, args: Sequence[Term | Aggregate], bodies: Iterable[Body]) -> None:
        self.rules += (Rule(Head(relation, tuple(args)), body) for body in dict.fromkeys(bodies))
