"""A recursion that goes only so many levels: rows carry the number of steps that led to them.

`r(n) MAX RECURSION LEVEL 5 AS ...` has the rows of five levels, those that it begins with being the first; a row of a
sixth is an error, as in Spark. A plain `SELECT ... FROM r LIMIT 5` asks for five levels at most, because each has a
row at least until the recursion ends: so it has an answer also where the recursion has no end.

The rules of a recursion are made as ever, and then given one column more. `r` itself stays what it was: the rows
without their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlglot import exp

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.render import render
from headwater.core.types import Type
from headwater.language.sql.scope.context import Translation
from headwater.language.sql.scope.rules import ALWAYS, Piece
from headwater.language.sql.scope.sources import SqlTable
from headwater.language.sql.text.shape import is_recursion, mentioned, tables_in
from headwater.language.sql.text.statements import Levels, SqlQuery, SqlView
from headwater.language.syntax import (
    Aggregate,
    Atom,
    Binary,
    Call,
    Comparison,
    Constant,
    Goal,
    Negation,
    Rule,
    Term,
    Variable,
)
from headwater.language.terms import body_atoms, goal_names, names

_SHOWING = frozenset({"expressions", "from_", "limit", "offset", "kind", "operation_modifiers"})


def with_limit(query: SqlQuery) -> SqlQuery:
    """The query, its recursion bounded where a LIMIT asks for the first rows of an endless one."""
    most, name = _rows_asked(query.select)
    views = {view.name.lower(): view for view in query.views}
    view = views.get(name)
    if most is None or view is None or not is_recursion([name], views) or not _computes(view, name):
        return query
    readers = [other for other in query.views if other is not view and name in mentioned(other)]
    if readers or (view.levels is not None and view.levels.most < most):
        return query
    bounded = replace(view, levels=Levels(max(most, 1), False, view.span))
    return replace(query, views=tuple(bounded if each is view else each for each in query.views))


def _rows_asked(select: exp.Expr | None) -> tuple[int | None, str]:
    """How many rows of which view a query shows, if it shows each as it comes."""
    if not isinstance(select, exp.Select) or any(value for part, value in select.args.items() if part not in _SHOWING):
        return None, ""
    source = select.args["from_"].this if select.args.get("from_") is not None else None
    bounds = [select.args[part].expression for part in ("limit", "offset") if select.args.get(part) is not None]
    numbers = [int(bound.this) for bound in bounds if isinstance(bound, exp.Literal) and str(bound.this).isdigit()]
    plain = isinstance(source, exp.Table) and not source.args.get("joins") and not source.args.get("sample")
    gathers = any(item.find(exp.AggFunc, exp.Window, exp.Query, exp.Explode, exp.UDTF) for item in select.expressions)
    if not plain or gathers or select.args.get("limit") is None or len(numbers) < len(bounds):
        return None, ""
    assert isinstance(source, exp.Table)
    return sum(numbers), source.name.lower()


def _computes(view: SqlView, name: str) -> bool:
    """Whether a step makes new values: only then can a recursion go on for ever."""
    assert view.query.select is not None
    steps = [select for select in view.query.select.find_all(exp.Select) if name in tables_in(select)]
    items = [item.unalias() for select in steps for item in select.expressions]
    return any(not isinstance(item, exp.Column | exp.Star | exp.Literal) for item in items)


def give_levels(context: Translation, view: SqlView, table: SqlTable, rules: Sequence[Rule]) -> list[Rule] | None:
    """The rules of a recursive view, with levels; None if its rows have none, and only a LIMIT asks for them."""
    levels = view.levels
    assert levels is not None
    name = table.relation
    reason = next((why for rule in rules if (why := _why_none(rule, name)) is not None), None)
    if reason is not None:
        if levels.refuses:
            hint = "leave it out: a recursion ends by itself when nothing new follows, and a guard stops an endless one"
            context.text.refuse("HW117", "MAX RECURSION LEVEL does not work here", levels.span, note=reason, hint=hint)
        return None
    levelled = context.relation(f"{name}'levels")
    made = [_with_level(rule, levelled, levels) if rule.head.relation == name else rule for rule in rules]
    width = table.arity
    context.define(SqlTable(levelled, list(table.columns), hidden=table.hidden + 1, span=table.span))
    row: list[Term] = [Variable(f"C{at}") for at in range(width)]
    level = Variable("Level")
    within = Comparison("<", level, Constant(levels.most, Type.INT))
    before = len(context.rules)
    rows: list[Piece] = [Atom(levelled, (*row, level)), within]
    if levels.refuses:
        inside, beyond = context.relation(f"{name}'inside"), context.relation(f"{name}'beyond")
        context.emit(inside, list(row), rows, ALWAYS, view.span)
        shown = Atom(inside, tuple(row))
        last = Atom(levelled, (*row, Constant(levels.most, Type.INT)))
        context.emit(beyond, [], [last, Negation(shown)], ALWAYS, levels.span)
        context.alarms[beyond] = _alarm(view, levels)
        rows = [shown, Negation(Atom(beyond, ()))]
    context.emit(name, list(row), rows, ALWAYS, view.span, list(table.columns))
    context.define(table)
    made += context.rules[before:]
    del context.rules[before:]
    return made


def _why_none(rule: Rule, name: str) -> str | None:
    """Why the rows of a rule have no level, in the words of a note; None if they have one."""
    if rule.head.relation == name:
        if any(isinstance(arg, Aggregate) for arg in rule.head.args):
            return "the recursion keeps the best rows of groups, which have no level of their own"
        return None
    if any(atom.relation == name for atom, _ in body_atoms(rule)):
        return "a subquery, a group or a WITH of its own reads the recursion"
    return None


def _with_level(rule: Rule, levelled: str, levels: Levels) -> Rule:
    name = rule.head.relation
    taken = set().union(*map(names, rule.head.args), *map(goal_names, rule.body))
    fresh = (Variable(found) for number in count(1) if (found := f"Level{number}") not in taken)
    steps: list[Variable] = []
    body: list[Goal] = []
    for goal in rule.body:
        if isinstance(goal, Atom) and goal.relation == name:
            steps.append(next(fresh))
            body.append(replace(goal, relation=levelled, args=(*goal.args, steps[-1])))
        else:
            body.append(goal)
    most = Constant(levels.most if levels.refuses else levels.most - 1, Type.INT)
    body += [Comparison("<", step, most) for step in steps]
    last: Term = steps[0] if len(steps) == 1 else Call("greatest", tuple(steps))
    level: Term = Binary("+", last, Constant(1, Type.INT)) if steps else Constant(0, Type.INT)
    head = replace(rule.head, relation=levelled, args=(*rule.head.args, level))
    return replace(rule, head=head, body=tuple(body))


def _alarm(view: SqlView, levels: Levels) -> Alarm:
    told = Diagnostic(
        "HW833",
        f"the recursion of `{view.name}` has rows beyond MAX RECURSION LEVEL {levels.most}",
        levels.span,
        note="the rows that it begins with are the first level; nothing was changed",
        hint="raise the number, or leave it out: Headwater needs no bound where the recursion ends",
        severity=Severity.ERROR,
    )
    return Alarm(told.code, render(told), True)
