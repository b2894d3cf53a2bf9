"""A few words to write oracle programs by hand: `rule(...)`, `atom(...)`; upper-case strings are variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tests.oracle.program import Agg, Assign, Atom, Base, Compare, Goal, Not, Program, Rule
from tests.oracle.terms import Const, Op, Term, Value, Var, Wild

Short: TypeAlias = Term | Value


def term(short: Short) -> Term:
    """`"X"` is a variable, `"_"` the wildcard, any other plain value a constant; terms stay themselves."""
    if isinstance(short, str) and short == "_":
        return Wild()
    if isinstance(short, str) and short[:1].isupper():
        return Var(short)
    if short is None or isinstance(short, int | float | str | tuple):
        return Const(short)
    made: Term = short
    return made


def atom(relation: str, *args: Short) -> Atom:
    return Atom(relation, tuple(term(arg) for arg in args))


def no(relation: str, *args: Short) -> Not:
    return Not(atom(relation, *args))


def let(name: str, value: Short) -> Assign:
    return Assign(Var(name), term(value))


def holds(left: Short, op: str, right: Short) -> Compare:
    return Compare(op, term(left), term(right))


def plus(left: Short, right: Short) -> Op:
    return Op("+", term(left), term(right))


def agg(function: str, *args: Short, limit: int | None = None) -> Agg:
    return Agg(function, tuple(term(arg) for arg in args), limit)


def head(relation: str, *args: Short | Agg) -> tuple[str, tuple[Term | Agg, ...]]:
    return relation, tuple(arg if isinstance(arg, Agg) else term(arg) for arg in args)


def rule(made: tuple[str, tuple[Term | Agg, ...]], *body: Goal, label: str | None = None) -> Rule:
    relation, args = made
    return Rule(relation, args, body, label)


def program(bases: Mapping[str, tuple[str, ...]], *rules: Rule, queries: tuple[Atom, ...] = ()) -> Program:
    return Program(tuple(Base(name, types) for name, types in bases.items()), rules, queries)
