"""Literals where a column asks for another type: `3` in a float column, an ISO text where a timestamp or a date stands.

A timestamp is microseconds since 1970-01-01 UTC; text without a time zone is read as UTC.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from headwater.core.functions.casts import micros_of
from headwater.core.functions.time_functions import DAY
from headwater.core.types import Type
from headwater.language import syntax


def microseconds(text: str) -> int | None:
    """The moment that an ISO 8601 text names, or None if it names none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return micros_of(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def coerced(constant: syntax.Constant, wanted: Type | None) -> syntax.Constant:
    """The literal as the type that its place asks for; unchanged where it already fits or cannot."""
    if wanted is None or wanted is Type.ANY:
        return constant
    match wanted, constant.type, constant.value:
        case _, None, None:
            return replace(constant, type=wanted)
        case Type.FLOAT, Type.INT, int(value):
            try:
                return replace(constant, value=float(value), type=Type.FLOAT)
            except OverflowError:
                return constant
        case Type.TIMESTAMP | Type.DATE, Type.STRING, str(text):
            moment = microseconds(text)
            fits = moment is not None and (wanted is Type.TIMESTAMP or moment % DAY == 0)
            return replace(constant, value=moment, type=wanted) if fits else constant
        case Type.DATE, Type.TIMESTAMP, int(moment) if moment % DAY == 0:
            return replace(constant, type=Type.DATE)
        case Type.TIMESTAMP, Type.INT, int():
            return replace(constant, type=Type.TIMESTAMP)
        case Type.ADDRESS, Type.STRING, str():
            return replace(constant, type=Type.ADDRESS)
        case _:
            return constant


def coerce_rule(
    rule: syntax.Rule, columns: dict[str, tuple[Type | None, ...]], variables: dict[str, Type | None]
) -> syntax.Rule:
    """The rule with every literal as its place asks for it."""
    head = replace(rule.head, args=_head(rule.head, columns.get(rule.head.relation, ())))
    body = tuple(_goal(goal, columns, variables) for goal in rule.body)
    return rule if head == rule.head and body == rule.body else replace(rule, head=head, body=body)


def coerce_query(query: syntax.Query, columns: dict[str, tuple[Type | None, ...]]) -> syntax.Query:
    return replace(query, atom=_atom(query.atom, columns))


def _head(head: syntax.Head, types: tuple[Type | None, ...]) -> tuple[syntax.Term | syntax.Aggregate, ...]:
    return tuple(
        coerced_term(arg, wanted) if isinstance(arg, syntax.Constant | syntax.ListTerm) else arg
        for arg, wanted in zip(head.args, types, strict=True)
    )


def coerced_term(term: syntax.Term, wanted: Type | None) -> syntax.Term:
    """The same for a literal that may be a list: each item as the type that its place asks for."""
    match term:
        case syntax.Constant():
            return coerced(term, wanted)
        case syntax.ListTerm(items, None) if wanted is not None and wanted.is_list:
            found = tuple(coerced_term(item, wanted.part(at)) for at, item in enumerate(items))
            return term if found == items else replace(term, items=found)
        case _:
            return term


def _atom(atom: syntax.Atom, columns: dict[str, tuple[Type | None, ...]]) -> syntax.Atom:
    types = columns[atom.relation]
    args = tuple(
        coerced(arg, wanted) if isinstance(arg, syntax.Constant) else arg
        for arg, wanted in zip(atom.args, types, strict=True)
    )
    return atom if args == atom.args else replace(atom, args=args)


def _goal(
    goal: syntax.Goal, columns: dict[str, tuple[Type | None, ...]], variables: dict[str, Type | None]
) -> syntax.Goal:
    match goal:
        case syntax.Atom():
            return _atom(goal, columns)
        case syntax.Negation(atom):
            return replace(goal, atom=_atom(atom, columns))
        case syntax.Comparison(_, syntax.Variable(name), syntax.Constant() as right):
            return replace(goal, right=_beside(right, variables.get(name)))
        case syntax.Comparison(_, syntax.Constant() as left, syntax.Variable(name)):
            return replace(goal, left=_beside(left, variables.get(name)))
        case syntax.Comparison() | syntax.Assign() | syntax.Condition():
            return goal


def _beside(constant: syntax.Constant, other: Type | None) -> syntax.Constant:
    """A literal compared with a variable: only time and `null` need it, numbers compare as they are."""
    if other is not None and other.is_moment:
        return coerced(constant, Type.TIMESTAMP)
    return coerced(constant, other) if constant.value is None else constant
