"""A piece of a rule with terms put in the place of its variables.

Guarantees: a location mark stays where it was written (the term that replaces `@X` is marked too), and
spans are kept, so that later stages still point at the user's text. Substitution is simultaneous: what was
put in is not looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headwater.language import syntax
from headwater.language.terms import with_arguments, with_children, with_terms

Mapped = Mapping[str, syntax.Term]


def substitute_term(term: syntax.Term, terms: Mapped) -> syntax.Term:
    if isinstance(term, syntax.Variable):
        return _marked(terms[term.name], term.location) if term.name in terms else term
    return with_children(term, lambda inner: substitute_term(inner, terms))


def substitute_atom(atom: syntax.Atom, terms: Mapped) -> syntax.Atom:
    return replace(atom, args=tuple(substitute_term(arg, terms) for arg in atom.args))


def substitute_goal(goal: syntax.Goal, terms: Mapped) -> syntax.Goal:
    """The goal with `terms` in place of its variables; the variable that an `Assign` binds is not one of them."""
    return with_terms(goal, lambda term: substitute_term(term, terms))


def substitute_head(head: syntax.Head, terms: Mapped) -> syntax.Head:
    return with_arguments(head, lambda term: substitute_term(term, terms))


def _marked(term: syntax.Term, location: bool) -> syntax.Term:
    if isinstance(term, syntax.Variable | syntax.Constant) and term.location != location:
        return replace(term, location=location)
    return term
