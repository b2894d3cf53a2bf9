"""UNION ALL in a recursion as rules: a bag, in which every way to a row is a row of its own.

A hidden column tells equal rows apart: the *way* by which a row came, a digest of the part that made it, of the rows it
was made from, and of their ways. So all that reads the recursion counts its rows as it counts those of any other bag,
and where nothing counts them the column goes, and the recursion is a set.

The ways to a row are endless where the row leads back to itself. So the recursion is computed as a set first, with a
step from each row to each row that follows from it. A row is *sure* when all rows that lead to it are: on a cycle, and
behind one, none ever is. If all are sure, the copies are made; if not, an alarm rings, and the rows of the set are the
rows of the view. Where a column moves on with every step (`level + 1`), no row leads back to itself, and none of this
is needed.

A recursion is a bag only if each part reads it once, in its FROM: else the number of copies is not defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headwater.core.alarm import Alarm
from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.render import render
from headwater.core.types import Type
from headwater.language.sql.query.select import Branch, Selects
from headwater.language.sql.query.translator import Translator
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.context import Scope
from headwater.language.sql.scope.rules import ALWAYS, Piece, made
from headwater.language.sql.scope.sources import SqlColumn
from headwater.language.sql.text.shape import bare_query, unions
from headwater.language.sql.text.statements import SqlView
from headwater.language.syntax import Aggregate, Atom, Call, Comparison, Constant, Negation, Term, Variable, Wildcard

_OF_A_CHAIN = ("with_", "by_name", "limit", "offset", "order")
_SUMMED_UP = ("group", "having", "distinct", "with_", "limit", "offset")


@dataclass(frozen=True, slots=True)
class BagPart:
    """A part of a UNION ALL, and whether it reads the recursion."""

    query: exp.Expr
    recursive: bool


# Which recursions are bags


def has_union_all(view: SqlView) -> bool:
    return any(not union.args.get("distinct") for union in unions(view.query.select))


def keeps_copies(view: SqlView, keys: set[str]) -> bool:
    """Whether no UNION takes equal rows out of what the recursion gives."""
    return _parts(view.query.select, keys) is not None


def why_no_bag(view: SqlView, keys: set[str]) -> str | None:
    """Why a view of a recursion is no bag, in the words of a note; None if it is one."""
    if any(column.aggregate is not None for column in view.columns or ()):
        return "the head keeps one best row of each group"
    if any(_reads(nested.query.select, keys) for nested in view.query.views):
        return "its own WITH reads the recursion"
    parts = _parts(view.query.select, keys)
    if parts is None:
        return "one of its UNIONs leaves out equal rows"
    for part in parts:
        reason = _why_not(part, keys) if part.recursive else None
        if reason is not None:
            return reason
    return None


def bag_parts(view: SqlView, keys: set[str]) -> list[BagPart]:
    """The parts of a view that is a bag."""
    return _parts(view.query.select, keys) or []


def _parts(query: exp.Expr | None, keys: set[str]) -> list[BagPart] | None:
    """What UNION ALL puts together; None if a UNION takes equal rows out of what the recursion gives."""
    assert query is not None
    node = bare_query(query)
    if not _reads(node, keys):
        return [BagPart(node, False)]
    if not isinstance(node, exp.Union) or any(node.args.get(part) for part in _OF_A_CHAIN):
        return [BagPart(node, True)]
    if node.args.get("distinct"):
        return None
    left, right = _parts(node.this, keys), _parts(node.expression, keys)
    return None if left is None or right is None else [*left, *right]


def _why_not(part: BagPart, keys: set[str]) -> str | None:
    select = part.query
    own = _own_tables(select, keys)
    if len(own) > 1:
        return "a part reads the recursion twice: how often a row follows is not defined"
    if not isinstance(select, exp.Select) or any(select.args.get(clause) for clause in _SUMMED_UP):
        return "a part takes rows of the recursion together"
    if any(isinstance(node, exp.AggFunc) for item in select.expressions for node in item.walk()):
        return "a part takes rows of the recursion together"
    join = own[0].find_ancestor(exp.Join, exp.Select)
    filters = isinstance(join, exp.Join) and (join.kind or "").upper() in ("SEMI", "ANTI")
    if filters or own[0].find_ancestor(exp.Select) is not select:
        return "a part reads the recursion in a subquery: how often a row follows is not defined"
    return None


def _own_tables(node: exp.Expr, keys: set[str]) -> list[exp.Table]:
    return [table for table in node.find_all(exp.Table) if table.name.lower() in keys]


def _reads(node: exp.Expr | None, keys: set[str]) -> bool:
    return node is not None and bool(_own_tables(node, keys))


# Columns that move on


def moves_on(parts: Sequence[BagPart], columns: Sequence[SqlColumn], name: str) -> bool:
    """Whether some column grows in every step, or falls in every one, so that no row can lead back to itself."""
    selects = [part.query for part in parts if part.recursive]
    if any(item.find(exp.Star) for select in selects for item in select.expressions):
        return False
    for at, column in enumerate(columns):
        if column.nullable or column.type is None:
            continue
        directions = {_direction(select, at, column, name) for select in selects}
        if directions in ({1}, {-1}):
            return True
    return False


def _direction(select: exp.Expr, at: int, column: SqlColumn, name: str) -> int:
    """1 if a step makes the column larger (a text or a list longer), -1 if smaller; 0 if that is not known."""
    if at >= len(select.expressions):
        return 0
    node = _bare(select.expressions[at])
    (own,) = _own_tables(select, {name.lower()})

    def is_own(each: exp.Expr) -> bool:
        each = _bare(each)
        alias = each.table.lower() if isinstance(each, exp.Column) else ""
        named = isinstance(each, exp.Column) and each.name.lower() == column.name.lower()
        return named and alias in ("", own.alias_or_name.lower())

    def is_step(each: exp.Expr) -> bool:
        each = _bare(each)
        if column.type is not None and column.type.is_moment and isinstance(each, exp.Interval):
            each = _bare(each.this)
        text = str(each.this) if isinstance(each, exp.Literal) else ""
        return text.isdigit() and int(text) > 0

    kinds = (Type.INT, Type.TIMESTAMP, Type.DATE)
    is_list = column.type is not None and column.type.is_list
    match node:
        case exp.Add() if column.type in kinds:
            pairs = ((node.this, node.expression), (node.expression, node.this))
            return int(any(is_own(one) and is_step(other) for one, other in pairs))
        case exp.Sub() if column.type in kinds:
            return -int(is_own(node.this) and is_step(node.expression))
        case exp.DPipe() | exp.Concat() if column.type is Type.STRING:
            joined = list(node.flatten()) if isinstance(node, exp.DPipe) else node.expressions
            texts = [one for one in map(_bare, joined) if isinstance(one, exp.Literal) and one.is_string]
            return int(any(map(is_own, joined)) and any(str(one.this) for one in texts))
        case exp.ArrayAppend() if is_list:
            return int(is_own(node.this))
        case exp.DPipe() | exp.Concat() | exp.ArrayConcat() if is_list:
            joined = list(node.flatten()) if isinstance(node, exp.DPipe) else [node.this, *node.expressions]
            lists = [one for one in joined if isinstance(one, exp.Array) and one.expressions]
            return int(bool(lists) and any(is_own(one) for one in joined if isinstance(one, exp.Expr)))
        case _:
            return 0


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Alias | exp.Paren):
        node = node.this
    return node


# Rules


class BagRules:
    """The rules of one recursion that is a bag, view by view and part by part."""

    def __init__(
        self,
        translator: Translator,
        selects: Selects,
        group: list[SqlView],
        names: list[str],
        parts: list[list[BagPart]],
    ) -> None:
        self.translator = translator
        self.selects = selects
        self.context = translator.context
        self.text = translator.context.text
        self.group = group
        self.names = names
        self.parts = parts

    def cycle(self, sets: list[str], scopes: list[Scope]) -> str:
        """The relation that has a row if a row leads back to itself; `sets` are the views without copies."""
        owner, span = self.names[0], self.group[0].span
        step, needs, got, sure, cycle = (
            self.context.relation(f"{owner}'{word}") for word in ("step", "needs", "got", "sure", "cycle")
        )
        for number, (parts, scope) in enumerate(zip(self.parts, scopes, strict=True)):
            for part in parts:
                if part.recursive:
                    self._step(step, number, part, sets, scope)
        one, other, some, all_ = (Variable(name) for name in ("Row", "Next", "Some", "All"))
        emit = self.context.emit
        emit(needs, [other, Aggregate("count", (one,))], [Atom(step, (one, other))], ALWAYS, span)
        unneeding = Negation(Atom(needs, (one, Wildcard())))
        emit(sure, [one], [Atom(step, (one, Wildcard())), unneeding], ALWAYS, span)
        passed: list[Piece] = [Atom(step, (one, other)), Atom(sure, (one,))]
        emit(got, [other, Aggregate("mcount", (one,))], passed, ALWAYS, span)
        enough = Comparison(">=", some, all_)
        emit(sure, [other], [Atom(got, (other, some)), Atom(needs, (other, all_)), enough], ALWAYS, span)
        unsure = Negation(Atom(sure, (other,)))
        emit(cycle, [], [Atom(needs, (other, Wildcard())), unsure], ALWAYS, span)
        self.context.alarms[cycle] = self._alarm()
        return cycle

    def _step(self, step: str, number: int, part: BagPart, sets: list[str], scope: Scope) -> None:
        body, branch = self._branch(part, sets[number], scope)
        before = next(source for source in body.sources if source.table.relation in sets)
        place = sets.index(before.table.relation)
        shown = before.variables[: len(before.table.columns)]
        values = [value.term for value in branch.values]
        single = len(sets) == 1 and len(values) == 1 and not before.table.columns[0].nullable
        head = [shown[0], values[0]] if single else [_digest(place, shown), _digest(number, values)]
        self.context.emit(step, head, branch.goals, branch.choices, branch.span)

    def _branch(self, part: BagPart, name: str, scope: Scope) -> tuple[Body, Branch]:
        assert isinstance(part.query, exp.Select)
        body = Body(self.context, scope, name)
        return body, self.selects.branch(part.query, body)

    def copies(self, scopes: list[Scope], cyclic: tuple[str, list[str]] | None) -> None:
        """The rows of every view with the ways by which they came, unless there is a cycle."""
        gate: list[Piece] = [] if cyclic is None else [Negation(Atom(cyclic[0], ()))]
        for number, (name, parts, scope) in enumerate(zip(self.names, self.parts, scopes, strict=True)):
            for at, part in enumerate(parts):
                self._part(name, at, part, scope, gate)
            if cyclic is not None and self.context.union_all != "refuse":
                cycle, sets = cyclic
                self._set_instead(name, cycle, sets[number])

    def _part(self, name: str, at: int, part: BagPart, scope: Scope, gate: list[Piece]) -> None:
        if part.recursive or self._is_plain(part.query):
            _, branch = self._branch(part, name, scope)
            head: list[Term | Aggregate] = [value.term for value in branch.values]
            head.append(_digest(at, branch.identity))
            goals = [*branch.goals, *gate]
            self.context.rules += made(name, head, goals, branch.choices, branch.span)
            return
        inner = self.translator.relation(part.query, scope, self.context.relation(f"{name}'part"))
        body = Body(self.context, scope, name)
        source = body.add(inner, "part", part.query)
        shown: list[Term | Aggregate] = list(source.variables[: len(inner.columns)])
        head = [*shown, _digest(at, source.variables)]
        span = self.text.span(part.query)
        self.context.rules += made(name, head, [*body.goals, *gate], ALWAYS, span)

    def _is_plain(self, query: exp.Expr) -> bool:
        """Whether its rows are those of its FROM."""
        if not isinstance(query, exp.Select) or query.args.get("with_") or query.args.get("distinct"):
            return False
        return not self.selects.grouped(query)

    def _set_instead(self, name: str, cycle: str, plain: str) -> None:
        body = Body(self.context, Scope(None), name)
        source = body.add(self.context.made[plain], "set", None)
        head: list[Term | Aggregate] = [*source.variables, _digest(-1, source.variables)]
        goals: list[Piece] = [*body.goals, Atom(cycle, ())]
        self.context.rules += made(name, head, goals, ALWAYS, self.group[0].span)

    def _alarm(self) -> Alarm:
        views = " and ".join(f"`{view.name}`" for view in self.group)
        refuses = self.context.union_all == "refuse"
        what = "there is no end to its rows" if refuses else "it is taken as UNION, and equal rows are kept once"
        told = Diagnostic(
            "HW826" if refuses else "HW704",
            f"the data has a cycle, and UNION ALL in the recursion of {views} counts every way round it: {what}",
            self.group[0].span,
            hint="write UNION, or leave the cycle out of the data, or count the steps in a column and bound it",
            severity=Severity.ERROR if refuses else Severity.WARNING,
        )
        return Alarm(told.code, render(told), refuses)


def _digest(number: int, terms: Sequence[Term]) -> Call:
    return Call("way_of", (Constant(number, Type.INT), *terms))
