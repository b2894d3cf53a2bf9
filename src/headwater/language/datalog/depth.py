"""Keeps trees shallow: later stages walk terms by recursion, and a stack is not endless."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language import syntax
from headwater.language.terms import children, goal_terms

DEEPEST = 150


def too_deep(statements: Sequence[syntax.Statement | syntax.Include], length: int) -> Iterator[Diagnostic]:
    """One finding per statement with a term nested deeper than `DEEPEST`; `length` is that of the text."""
    if length <= DEEPEST:
        return  # every level costs at least one character
    for statement in statements:
        if (term := _deep_term(_roots(statement))) is not None:
            message = f"this term is nested more than {DEEPEST} levels deep"
            note = "every bracket is a level, and so is every operator in a row of them"
            hint = "name parts of it, as in `X = ..., Y = X + ...`"
            yield Diagnostic("HW106", message, term.span, note=note, hint=hint)


def deepest(statements: Sequence[syntax.Statement | syntax.Include]) -> Span | None:
    """The place of the term that is nested deepest."""
    level = [(term, term) for statement in statements for term in _roots(statement)]
    last: list[tuple[syntax.Term, syntax.Term]] = []
    while level:
        last, level = level, [(child, root) for term, root in level for child in children(term)]
    return last[0][1].span if last else None


def _deep_term(roots: Iterable[syntax.Term]) -> syntax.Term | None:
    level = [(term, term) for term in roots]
    for _ in range(DEEPEST):
        level = [(child, root) for term, root in level for child in children(term)]
        if not level:
            return None
    return level[0][1]


def _roots(statement: syntax.Statement | syntax.Include) -> Iterator[syntax.Term]:
    match statement:
        case syntax.Rule(head, body):
            for arg in head.args:
                yield from arg.args if isinstance(arg, syntax.Aggregate) else (arg,)
            for goal in body:
                yield from goal_terms(goal)
        case syntax.Query(atom):
            yield from atom.args
        case syntax.Declaration() | syntax.Include():
            pass
