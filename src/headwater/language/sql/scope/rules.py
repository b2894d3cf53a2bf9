"""One FROM and WHERE as the body of rules.

A body has variables for the columns of its sources, goals that always hold, and perhaps alternatives: an OR that is
no plain condition becomes one rule per side. Columns that are equated become one variable, which is how a join is
written in rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import with_arguments, with_children, with_terms

_NO_LETTER = re.compile(r"\W")


@dataclass(frozen=True, slots=True)
class Same:
    """Two columns are equal and not null: they become one variable."""

    left: syntax.Variable
    right: syntax.Variable
    check: bool  # one of them may be null
    span: Span | None


Piece: TypeAlias = syntax.Goal | Same
Choices: TypeAlias = list[list[Piece]]
"""Ways to hold: each is a list of goals that hold together. There is one at least."""

ALWAYS: Choices = [[]]
NEVER: Choices = [[syntax.Comparison("=", syntax.Constant(0, Type.INT), syntax.Constant(1, Type.INT))]]


def both(left: Choices, right: Choices) -> Choices:
    return [[*one, *other] for one in left for other in right]


def either(left: Choices, right: Choices) -> Choices:
    return [*left, *right]


class FreshNames:
    """Fresh variable names for one rule, made from the columns' names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def variable(self, column: str, alias: str = "", span: Span | None = None) -> syntax.Variable:
        plain = _capital(column)
        if plain in self._taken and alias:
            plain = _capital(f"{alias}_{column}")
        name, number = plain, 2
        while name in self._taken:
            name = f"{plain}_{number}"
            number += 1
        self._taken.add(name)
        return syntax.Variable(name, span=span)


def _capital(text: str) -> str:
    letters = _NO_LETTER.sub("_", text) or "C"
    first = letters[0].upper()
    return first + letters[1:] if first.isalpha() and first.isupper() else f"C{letters}"


def made(
    relation: str,
    head: Sequence[syntax.Term | syntax.Aggregate],
    goals: Iterable[Piece],
    choices: Choices,
    span: Span | None,
) -> list[syntax.Rule]:
    """The rules for a head: one per way to hold."""
    always = list(goals)
    return [_rule(relation, head, [*always, *choice], span) for choice in choices]


def _rule(
    relation: str, head: Sequence[syntax.Term | syntax.Aggregate], pieces: list[Piece], span: Span | None
) -> syntax.Rule:
    merging = _merging(pieces)
    merged = merging.names()

    def rename(term: syntax.Term) -> syntax.Term:
        return renamed(term, merged)

    body: list[syntax.Goal] = []
    checked: set[str] = set()
    for piece in pieces:
        if not isinstance(piece, Same):
            body.append(with_terms(piece, rename))
        elif piece.check and (name := merging.root(piece.left.name)) not in checked:
            checked.add(name)
            body.append(present(syntax.Variable(name), piece.span))
    renamed_head = with_arguments(syntax.Head(relation, tuple(head), span=span), rename)
    return syntax.Rule(renamed_head, tuple(dict.fromkeys(body)), span=span)


def present(term: syntax.Term, span: Span | None) -> syntax.Condition:
    """The goal that a value is not null."""
    return syntax.Condition(syntax.Call("is_not_null", (term,), span=span), span=span)


def merged_names(pieces: Iterable[Piece]) -> Callable[[str], str]:
    """For each variable, the one it becomes where these pieces hold."""
    return _merging(pieces).root


def _merging(pieces: Iterable[Piece]) -> _EqualVariables:
    found = _EqualVariables()
    for piece in pieces:
        if isinstance(piece, Same):
            found.join(piece.left.name, piece.right.name)
    return found


class _EqualVariables:
    """Variables that become one, each under the name of the first."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def join(self, left: str, right: str) -> None:
        first, second = self.root(left), self.root(right)
        if first != second:
            self._parent[second] = first

    def root(self, name: str) -> str:
        while name in self._parent:
            name = self._parent[name]
        return name

    def names(self) -> dict[str, syntax.Term]:
        return {name: syntax.Variable(self.root(name)) for name in self._parent}


def renamed(term: syntax.Term, names: Mapping[str, syntax.Term]) -> syntax.Term:
    """The term with its variables replaced."""
    if isinstance(term, syntax.Variable):
        found = names.get(term.name)
        return term if found is None else replace(found, span=term.span)
    return with_children(term, lambda inner: renamed(inner, names))
