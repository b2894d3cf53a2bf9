"""Terms on their way to normal form: plain function names, lists built by calls, patterns taken apart by calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from headwater.core.functions.function import lookup
from headwater.core.types import Type
from headwater.language.syntax import Binary, Call, Constant, ListTerm, Term, Variable, Wildcard
from headwater.program.names import PATH_FUNCTIONS, Names
from headwater.program.terms import subterms


def canonical(term: Term, known: Names) -> Term:
    """Functions by their plain names; a link inside a path function as the list of its two ends."""
    match term:
        case Variable() | Wildcard() | Constant():
            return term
        case ListTerm(items, tail):
            rest = None if tail is None else canonical(tail, known)
            return replace(term, items=tuple(canonical(item, known) for item in items), tail=rest)
        case Binary(_, left, right):
            return replace(term, left=canonical(left, known), right=canonical(right, known))
        case Call(name, args):
            function = lookup(known.registry, name)
            if function is None:
                return term
            if function.name in PATH_FUNCTIONS:
                args = tuple(_ends(arg, known) for arg in args)
            return replace(term, function=function.name, args=tuple(canonical(arg, known) for arg in args))
        case _:
            assert_never(term)


def _ends(arg: Term, known: Names) -> Term:
    match arg:
        case Call(name, args) if lookup(known.registry, name) is None and len(args) >= 2:
            return ListTerm(args[:2], span=arg.span)
        case _:
            return arg


def built(term: Term) -> Term:
    """The term as a value: `[H | T]` is built by `concat`."""
    match term:
        case Variable() | Wildcard() | Constant():
            return term
        case ListTerm(items, tail):
            front = ListTerm(tuple(built(item) for item in items), span=term.span)
            return front if tail is None else Call("concat", (front, built(tail)), span=term.span)
        case Binary(_, left, right):
            return replace(term, left=built(left), right=built(right))
        case Call(_, args):
            return replace(term, args=tuple(built(arg) for arg in args))
        case _:
            assert_never(term)


def has_hole(term: Term) -> bool:
    return any(isinstance(part, Wildcard) for part in subterms(term))


def stray_wildcards(term: Term) -> list[Wildcard]:
    """The `_` that are no part of a list pattern, but of something that must have a value."""
    match term:
        case ListTerm(items, tail):
            return [stray for part in (*items, *([tail] if tail else [])) for stray in stray_wildcards(part)]
        case Binary() | Call():
            return [part for part in subterms(term) if isinstance(part, Wildcard)]
        case Variable() | Wildcard() | Constant():
            return []
        case _:
            assert_never(term)


def takes_value(term: Term) -> bool:
    """Whether a term can be solved for its variables: a variable, or a list pattern."""
    return isinstance(term, Variable | Wildcard | ListTerm)


def pieces(pattern: ListTerm, whole: Variable) -> Iterator[tuple[Term, Term]]:
    """Each part of a list pattern with the call that takes it out of the whole list."""
    for place, item in enumerate(pattern.items):
        yield item, Call("nth", (whole, Constant(place, Type.INT, span=pattern.span)), span=pattern.span)
    if pattern.tail is not None:
        count = Constant(len(pattern.items), Type.INT, span=pattern.span)
        yield pattern.tail, Call("drop", (whole, count), span=pattern.span)
