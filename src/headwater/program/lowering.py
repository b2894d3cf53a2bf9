"""Terms on their way to normal form: plain function names, lists built by calls, patterns taken apart by calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from headwater.core.functions.function import lookup
from headwater.core.types import Type
from headwater.language.syntax import Binary, Call, Constant, ListTerm, Term, Variable, Wildcard
from headwater.language.terms import children, subterms, with_children
from headwater.program.names import PATH_FUNCTIONS, Names


def canonical(term: Term, known: Names) -> Term:
    """Functions by their plain names; a link inside a path function as the list of its two ends."""
    if isinstance(term, Call):
        function = lookup(known.registry, term.function)
        if function is None:
            return term
        args = tuple(_ends(arg, known) for arg in term.args) if function.name in PATH_FUNCTIONS else term.args
        term = replace(term, function=function.name, args=args)
    return with_children(term, lambda inner: canonical(inner, known))


def _ends(arg: Term, known: Names) -> Term:
    match arg:
        case Call(name, args) if lookup(known.registry, name) is None and len(args) >= 2:
            return ListTerm(args[:2], span=arg.span)
        case _:
            return arg


def built(term: Term) -> Term:
    """The term as a value: `[H | T]` is built by `concat`."""
    found = with_children(term, built)
    if isinstance(found, ListTerm) and found.tail is not None:
        return Call("concat", (replace(found, tail=None), found.tail), span=term.span)
    return found


def has_hole(term: Term) -> bool:
    return any(isinstance(part, Wildcard) for part in subterms(term))


def stray_wildcards(term: Term) -> list[Wildcard]:
    """The `_` that are no part of a list pattern, but of something that must have a value."""
    match term:
        case ListTerm():
            return [stray for part in children(term) for stray in stray_wildcards(part)]
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
