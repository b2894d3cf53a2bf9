"""Syntax tree to text: what it prints parses back to an equal tree.

One statement per line; a rule longer than a line has one goal per line. Names that the grammar would
not take as they are stand in backquotes, strings that are plain names stand without quotes. An
`Assign`, which only the checks make, prints with `:=`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import assert_never

from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.escapes import quoted
from headwater.language.units import duration_text

_WIDTH = 100
_INDENT = "    "
_NAME = re.compile(r"[a-z]\w*(?:'\w+)*")
_COLUMN = re.compile(r"[A-Za-z]\w*(?:'\w+)*|_\w+(?:'\w+)*")
_LABEL = re.compile(r"[A-Za-z0-9_][\w'-]*")
_PLAIN = re.compile(r"[a-z]\w*")
_PLAIN_VARIABLE = re.compile(r"[A-Z]\w*")
_WORDS = frozenset({"true", "false", "nil", "not", "null"})  # mean something else where a name would stand
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_OPERAND = 3  # how tightly a variable, a constant, a call or a bracket holds together


def print_tree(tree: syntax.Tree) -> str:
    return "".join(f"{print_statement(statement)}\n" for statement in tree.statements)


_BRACKETS = re.compile(r"[\s)\]]*")


def as_written(statement: syntax.Statement) -> str:
    """A statement's own text, quotes and all; printed, if it is a declaration or was not read from a text."""
    span = statement.span
    if span is None or isinstance(statement, syntax.Declaration):
        return print_statement(statement)
    text = span.source.text
    end = _BRACKETS.match(text, span.end)  # a span ends with the last term, inside its brackets
    if end is None or not text.startswith(".", end.end()):
        return print_statement(statement)
    return f"{text[span.start : end.end()]}."


def print_statement(statement: syntax.Statement) -> str:
    match statement:
        case syntax.Rule():
            return print_rule(statement)
        case syntax.Declaration():
            return print_declaration(statement)
        case syntax.Query():
            return print_query(statement)
        case _:
            assert_never(statement)


def print_rule(rule: syntax.Rule) -> str:
    label = "" if rule.label is None else f"{_label(rule.label)}: "
    head = print_head(rule.head)
    if not rule.body:
        return f"{label}{head}."
    goals = [print_goal(goal) for goal in rule.body]
    order = _order(rule)
    line = f"{label}{head} :- {', '.join(goals)}{order}."
    if len(line) <= _WIDTH:
        return line
    body = f",\n{_INDENT}".join(goals)
    return f"{label}{head} :-\n{_INDENT}{body}{order}."


def _order(rule: syntax.Rule) -> str:
    """The join order that a rule says, if it says one for all its atoms."""
    places = () if rule.plan is None else rule.plan.places
    atoms = [goal for goal in rule.body if isinstance(goal, syntax.Atom)]
    turns = [(atom.turn, place) for place, atom in enumerate(atoms, 1) if atom.turn is not None]
    if rule.plan is None and len(turns) == len(atoms):
        places = tuple(place for _, place in sorted(turns))
    return f" plan({', '.join(map(str, places))})" if places else ""


def print_declaration(declaration: syntax.Declaration) -> str:
    columns = ", ".join(
        f"{_column(column.name)}: {column.type.value}{'?' if column.nullable else ''}" for column in declaration.columns
    )
    text = f"{declaration.kind.value} {print_name(declaration.relation)}({columns})"
    if declaration.key is not None:
        text += f" key({', '.join(map(_column, declaration.key))})"
    if declaration.ttl is not None:
        text += f" ttl {_extent(declaration.ttl)}"
    if declaration.lateness is not None:
        text += f" lateness {_extent(declaration.lateness)}"
    if declaration.optional:
        text += " optional"
    return f"{text}."


def print_query(query: syntax.Query) -> str:
    window = "" if query.window is None else f", {print_window(query.window)}"
    args = tuple(
        replace(arg, name=f"${arg.name}") if isinstance(arg, syntax.Variable) and arg.name in query.parameters else arg
        for arg in query.atom.args
    )
    return f"query {print_goal(replace(query.atom, args=args))}{window}."


def print_window(window: syntax.Window) -> str:
    slide = "" if window.slide is None else f", {_extent(window.slide)}"
    return f"WINDOW({_extent(window.size)}{slide})"


def print_head(head: syntax.Head) -> str:
    args = (print_aggregate(arg) if isinstance(arg, syntax.Aggregate) else print_term(arg) for arg in head.args)
    return f"{print_name(head.relation)}({', '.join(args)})"


def print_aggregate(aggregate: syntax.Aggregate) -> str:
    args = ", ".join(map(_aggregated, aggregate.args))
    if len(aggregate.args) > 1:
        args = f"({args})"
    limit = "" if aggregate.limit is None else f"{aggregate.limit}, "
    return f"{print_name(aggregate.function)}<{limit}{args}>"


def _aggregated(term: syntax.Term) -> str:
    """A text stands in quotes here: without them it would look like a variable that was misspelt."""
    if isinstance(term, syntax.Constant) and isinstance(term.value, str):
        return ("@" if term.location else "") + quoted(term.value)
    return print_term(term)


def print_goal(goal: syntax.Goal) -> str:
    match goal:
        case syntax.Atom(relation, args, link):
            name = "`include`" if link and relation == "include" else print_name(relation)
            return f"{'#' if link else ''}{name}({_terms(args)})"
        case syntax.Negation(atom):
            return f"!{print_goal(atom)}"
        case syntax.Comparison(op, left, right):
            return f"{print_term(left)} {op} {print_term(right)}"
        case syntax.Assign(variable, term):
            return f"{print_term(variable)} := {print_term(term)}"
        case syntax.Condition(call, negated):
            return f"{'!' if negated else ''}{print_name(call.function)}({_terms(call.args)})"
        case _:
            assert_never(goal)


def print_term(term: syntax.Term) -> str:
    match term:
        case syntax.Variable(name, location):
            return f"@{name}" if location else name
        case syntax.Wildcard():
            return "_"
        case syntax.Constant(value, type_, location):
            return ("@" if location else "") + _constant(value, type_)
        case syntax.ListTerm(items, tail):
            return f"[{_terms(items)}]" if tail is None else f"[{_terms(items)} | {print_term(tail)}]"
        case syntax.Call(function, args):
            return f"{print_name(function)}({_terms(args)})"
        case syntax.Binary("%", left, right):
            return f"{_divided(left)} % {_divisor(right)}"
        case syntax.Binary(op, left, right):
            strength = _STRENGTH[op]
            return f"{_operand(left, strength)} {op} {_operand(right, strength + 1)}"
        case _:
            assert_never(term)


def print_name(name: str) -> str:
    """The name of a relation or a function."""
    return name if _NAME.fullmatch(name) and name not in _WORDS else f"`{name}`"


def _column(name: str) -> str:
    return name if _COLUMN.fullmatch(name) else f"`{name}`"


def _label(label: str) -> str:
    return label if _LABEL.fullmatch(label) and label.lower() != "query" else f"`{label}`"


def _terms(terms: tuple[syntax.Term, ...]) -> str:
    return ", ".join(map(print_term, terms))


def _operand(term: syntax.Term, strength: int) -> str:
    text = print_term(term)
    holds = _STRENGTH[term.op] if isinstance(term, syntax.Binary) else _OPERAND
    return text if holds >= strength else f"({text})"


def _divided(term: syntax.Term) -> str:
    """The left side of `%`: behind a quotation mark, the sign would open a comment."""
    text = _operand(term, _STRENGTH["%"])
    return f"({text})" if text.endswith(('"', "`")) else text


def _divisor(term: syntax.Term) -> str:
    """The right side of `%`: before anything but a plain variable or number, the sign would open a comment."""
    match term:
        case syntax.Variable(name, location=False) if _PLAIN_VARIABLE.fullmatch(name):
            return name
        case syntax.Constant(value=int() as value, type=Type.INT) if value >= 0:
            return str(value)
        case _:
            return f"({print_term(term)})"


def _extent(value: syntax.Duration | int) -> str:
    return duration_text(value) if isinstance(value, syntax.Duration) else str(value)


def _constant(value: int | float | str | bool | syntax.Duration | None, type_: Type | None) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if type_ is Type.FLOAT:
            return _float(float(value))
        case int():
            return str(value)
        case float():
            return _float(value)
        case str():
            return value if _PLAIN.fullmatch(value) and value not in _WORDS else quoted(value)
        case syntax.Duration():
            return duration_text(value)
        case _:
            assert_never(value)


def _float(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "1.0e999" if value > 0 else "-1.0e999"  # too large for a float: reads back as infinity
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"
