"""A piece of a rule with terms put in the place of its variables.

Guarantees: a location mark stays where it was written (the term that replaces `@X` is marked too), and
spans are kept, so that later stages still point at the user's text. Substitution is simultaneous: what was
put in is not looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from headwater.language import syntax

Mapped = Mapping[str, syntax.Term]


def substitute_term(term: syntax.Term, terms: Mapped) -> syntax.Term:
    match term:
        case syntax.Variable(name, location):
            return _marked(terms[name], location) if name in terms else term
        case syntax.Wildcard() | syntax.Constant():
            return term
        case syntax.ListTerm(items, tail):
            rest = None if tail is None else substitute_term(tail, terms)
            return replace(term, items=tuple(substitute_term(item, terms) for item in items), tail=rest)
        case syntax.Call(args=args):
            return replace(term, args=tuple(substitute_term(arg, terms) for arg in args))
        case syntax.Binary(left=left, right=right):
            return replace(term, left=substitute_term(left, terms), right=substitute_term(right, terms))
        case _:
            assert_never(term)


def substitute_atom(atom: syntax.Atom, terms: Mapped) -> syntax.Atom:
    return replace(atom, args=tuple(substitute_term(arg, terms) for arg in atom.args))


def substitute_goal(goal: syntax.Goal, terms: Mapped) -> syntax.Goal:
    """The goal with `terms` in place of its variables; the variable that an `Assign` binds is not one of them."""
    match goal:
        case syntax.Atom():
            return substitute_atom(goal, terms)
        case syntax.Negation(atom):
            return replace(goal, atom=substitute_atom(atom, terms))
        case syntax.Comparison(left=left, right=right):
            return replace(goal, left=substitute_term(left, terms), right=substitute_term(right, terms))
        case syntax.Assign(term=term):
            return replace(goal, term=substitute_term(term, terms))
        case syntax.Condition(call):
            return replace(goal, call=replace(call, args=tuple(substitute_term(arg, terms) for arg in call.args)))
        case _:
            assert_never(goal)


def substitute_head(head: syntax.Head, terms: Mapped) -> syntax.Head:
    def argument(arg: syntax.Term | syntax.Aggregate) -> syntax.Term | syntax.Aggregate:
        if isinstance(arg, syntax.Aggregate):
            return replace(arg, args=tuple(substitute_term(inner, terms) for inner in arg.args))
        return substitute_term(arg, terms)

    return replace(head, args=tuple(argument(arg) for arg in head.args))


def _marked(term: syntax.Term, location: bool) -> syntax.Term:
    if isinstance(term, syntax.Variable | syntax.Constant) and term.location != location:
        return replace(term, location=location)
    return term
