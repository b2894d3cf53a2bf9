"""Rules as text, into the oracle's own picture of a program, so that cases here read like programs.

No more than the cases need: atoms with variables, wildcards and ints, negation, comparisons, sums of two terms, and
aggregates of one variable. Declarations are skipped: rows say what they are.
"""

from __future__ import annotations

import re

from tests.oracle.program import Agg, Assign, Atom, Compare, Goal, Not, Rule
from tests.oracle.terms import Const, Op, Term, Var, Wild

_STATEMENT = re.compile(r"[^.]+\.")
_ATOM = re.compile(r"(!?)\s*(\w+)\(([^()]*)\)$")
_SUM = re.compile(r"([A-Z]\w*)\s*=\s*(\w+)\s*\+\s*(\w+)$")
_COMPARISON = re.compile(r"(\w+)\s*(!=|<=|>=|<|>|=)\s*(\w+)$")
_AGGREGATE = re.compile(r"(\w+)<(\w+)>$")


def rules_of(text: str) -> tuple[Rule, ...]:
    statements = [one.strip().removesuffix(".") for one in _STATEMENT.findall(text)]
    return tuple(_rule(one) for one in statements if not one.startswith("relation "))


def _rule(text: str) -> Rule:
    head, _, body = text.partition(":-")
    made = _ATOM.match(head.strip())
    assert made is not None, text
    goals = re.split(r",\s*(?![^()]*\))", body.strip())
    args = tuple(_argument(arg.strip()) for arg in made[3].split(","))
    return Rule(made[2], args, tuple(_goal(goal.strip()) for goal in goals))


def _argument(text: str) -> Term | Agg:
    found = _AGGREGATE.match(text)
    return _term(text) if found is None else Agg(found[1], (_term(found[2]),))


def _goal(text: str) -> Goal:
    if found := _ATOM.match(text):
        atom = Atom(found[2], tuple(_term(arg.strip()) for arg in found[3].split(",")))
        return Not(atom) if found[1] else atom
    if found := _SUM.match(text):
        return Assign(Var(found[1]), Op("+", _term(found[2]), _term(found[3])))
    found = _COMPARISON.match(text)
    assert found is not None, text
    return Compare(found[2], _term(found[1]), _term(found[3]))


def _term(text: str) -> Term:
    if text == "_":
        return Wild()
    return Var(text) if text[0].isupper() else Const(int(text))
