"""A piece of a rule with terms put in the place of its variables.

Guarantees: a location mark stays where it was written (the term that replaces `@X` is marked too), and
spans are kept, so that later stages still point at the user's text. Substitution is simultaneous: what was
put in is not looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from headwater.language.tree import (
    Aggregate,
    Assign,
    Atom,
    Binary,
    Call,
    Comparison,
    Condition,
    Constant,
    Goal,
    Head,
    ListTerm,
    Negation,
    Term,
    Variable,
    Wildcard,
)

Mapped = Mapping[str, Term]


def substitute_term(term: Term, terms: Mapped) -> Term:
    match term:
        case Variable(name, location):
            return _marked(terms[name], location) if name in terms else term
        case Wildcard() | Constant():
            return term
        case ListTerm(items, tail):
            rest = None if tail is None else substitute_term(tail, terms)
            return replace(term, items=tuple(substitute_term(item, terms) for item in items), tail=rest)
        case Call(args=args):
            return replace(term, args=tuple(substitute_term(arg, terms) for arg in args))
        case Binary(left=left, right=right):
            return replace(term, left=substitute_term(left, terms), right=substitute_term(right, terms))
        case _:
            assert_never(term)


def substitute_atom(atom: Atom, terms: Mapped) -> Atom:
    return replace(atom, args=tuple(substitute_term(arg, terms) for arg in atom.args))


def substitute_goal(goal: Goal, terms: Mapped) -> Goal:
    """The goal with `terms` in place of its variables; the variable that an `Assign` binds is not one of them."""
    match goal:
        case Atom():
            return substitute_atom(goal, terms)
        case Negation(atom):
            return replace(goal, atom=substitute_atom(atom, terms))
        case Comparison(left=left, right=right):
            return replace(goal, left=substitute_term(left, terms), right=substitute_term(right, terms))
        case Assign(term=term):
            return replace(goal, term=substitute_term(term, terms))
        case Condition(call):
            return replace(goal, call=replace(call, args=tuple(substitute_term(arg, terms) for arg in call.args)))
        case _:
            assert_never(goal)


def substitute_head(head: Head, terms: Mapped) -> Head:
    def argument(arg: Term | Aggregate) -> Term | Aggregate:
        if isinstance(arg, Aggregate):
            return replace(arg, args=tuple(substitute_term(inner, terms) for inner in arg.args))
        return substitute_term(arg, terms)

    return replace(head, args=tuple(argument(arg) for arg in head.args))


def _marked(term: Term, location: bool) -> Term:
    if isinstance(term, Variable | Constant) and term.location != location:
        return replace(term, location=location)
    return term
