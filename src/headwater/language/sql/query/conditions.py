"""Conditions of SQL as goals: `holds` gives the ways in which a condition is true, `fails` those in which it is false.

SQL's logic has three values; a WHERE keeps the rows for which its condition is true. So a negation is pushed down to
where it meets a comparison: NOT a < b holds where both are there and a >= b. A comparison with a null is neither true
nor false. Goals agree for `<` and its like, which never hold for a null; `=` and `!=` take null for a value like
others, so they are preceded by a goal that it is none.

`x NOT IN (SELECT y ...)` is true where the subquery has no row at all, or where x is not null, no y is null and
none equals x.
"""

from __future__ import annotations

from sqlglot import exp

from headwater.core.types import Type
from headwater.language.sql.query.translator import Rows, Translator
from headwater.language.sql.scalar.scalars import COMPARISONS, Values
from headwater.language.sql.scalar.value import SqlValue
from headwater.language.sql.scope.body import Body
from headwater.language.sql.scope.rules import ALWAYS, NEVER, Choices, Piece, both, either, present
from headwater.language.syntax import Assign, Atom, Call, Comparison, Condition, Constant, Negation, Term, Wildcard

_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def holds(node: exp.Expr, body: Body, translator: Translator) -> Choices:
    """The ways in which a condition over a body is true."""
    return Conditions(Values(body, translator.scalar), translator).holds(node)


class Conditions:
    """The conditions of one body."""

    def __init__(self, values: Values, translator: Translator) -> None:
        self.values = values
        self.body = values.body
        self.text = values.text
        self._translator = translator

    def holds(self, node: exp.Expr) -> Choices:
        match node:
            case exp.Paren():
                return self.holds(node.this)
            case exp.And():
                return both(self.holds(node.this), self.holds(node.expression))
            case exp.Or() if _has_subquery(node):
                return either(self.holds(node.this), self.holds(node.expression))
            case exp.Not():
                return self.fails(node.this)
            case exp.Boolean():
                return ALWAYS if node.this else NEVER
            case exp.Null():
                return NEVER
            case exp.Exists():
                return self._exists(node, negated=False)
            case exp.In() if node.args.get("query"):
                return self._in(node)
            case exp.EQ():
                return [self._equal(node)]
            case exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return [self._compare(node, COMPARISONS[type(node)])]
            case exp.Between():
                return [[self._bound(node, "low", ">="), self._bound(node, "high", "<=")]]
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._null(node, negated=False)
            case _:
                return [[self._condition(node, negated=False)]]

    def fails(self, node: exp.Expr) -> Choices:
        match node:
            case exp.Paren():
                return self.fails(node.this)
            case exp.Or():
                return both(self.fails(node.this), self.fails(node.expression))
            case exp.And() if _has_subquery(node):
                return either(self.fails(node.this), self.fails(node.expression))
            case exp.Not():
                return self.holds(node.this)
            case exp.Boolean():
                return NEVER if node.this else ALWAYS
            case exp.Null():
                return NEVER
            case exp.Exists():
                return self._exists(node, negated=True)
            case exp.In() if node.args.get("query"):
                return self._not_in(node)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return [self._compare(node, _OPPOSITE[COMPARISONS[type(node)]])]
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._null(node, negated=True)
            case _:
                return [[self._condition(node, negated=True)]]

    def fails_or_unknown(self, node: exp.Expr) -> Choices:
        """Every way in which a plain condition is not true."""
        truth = self.values.truth(node)
        call = Call("coalesce", (truth.term, Constant(False, Type.BOOL)), span=self.text.span(node))
        return [[Comparison("=", call, Constant(False, Type.BOOL), span=self.text.span(node))]]

    # Plain conditions

    def _equal(self, node: exp.EQ) -> list[Piece]:
        left, right = self.values.compared(node)
        plain = isinstance(_bare(node.this), exp.Column) and isinstance(_bare(node.expression), exp.Column)
        if plain and left.is_variable and right.is_variable and _joins(left.type, right.type):
            ours, theirs = _bare(node.this), _bare(node.expression)
            assert isinstance(ours, exp.Column)
            assert isinstance(theirs, exp.Column)
            if ours not in self.values.replaced and theirs not in self.values.replaced:
                return [self.body.same(self.body.column(ours), self.body.column(theirs), node)]
        return self._compare(node, "=")

    def _compare(self, node: exp.Expr, op: str) -> list[Piece]:
        """A comparison; to `=` and `!=`, null is a value like others, so they are asked for none."""
        left, right = self.values.compared(node)
        span = self.text.span(node)
        sides = [side for side in (left, right) if side.nullable]
        if op == "=":
            sides = sides[:1] if len(sides) == 2 else []
        elif op != "!=":
            sides = []
        return [*(present(side.term, span) for side in sides), Comparison(op, left.term, right.term, span=span)]

    def _bound(self, node: exp.Between, which: str, op: str) -> Piece:
        return Comparison(
            op, self.values.term(node.this), self.values.term(node.args[which]), span=self.text.span(node)
        )

    def _null(self, node: exp.Is, *, negated: bool) -> Choices:
        value = self.values.value(node.this)
        if not value.nullable:
            return ALWAYS if negated else NEVER
        span = self.text.span(node)
        return [[Condition(Call("is_not_null" if negated else "is_null", (value.term,), span=span), span=span)]]

    def _condition(self, node: exp.Expr, *, negated: bool) -> Piece:
        span = self.text.span(node)
        value = self.values.truth(node)
        if isinstance(value.term, Call):
            return Condition(value.term, negated, span=span)
        return Comparison("=", value.term, Constant(not negated, Type.BOOL, span=span), span=span)

    # Subqueries

    def _exists(self, node: exp.Exists, *, negated: bool) -> Choices:
        rows = self._translator.rows(node.this, self.body, values=False)
        atom = Atom(rows.relation, rows.borrowed, span=self.text.span(node))
        return [[Negation(atom, span=atom.span) if negated else atom]]

    def _in(self, node: exp.In) -> Choices:
        wanted, rows = self._asked(node)
        span = self.text.span(node)
        atom = Atom(rows.relation, (*(value.term for value in wanted), *rows.borrowed), span=span)
        checks: list[Piece] = [present(value.term, span) for value in wanted if value.nullable]
        return [[*checks, atom]]

    def _not_in(self, node: exp.In) -> Choices:
        wanted, rows = self._asked(node)
        span = self.text.span(node)
        found = Negation(Atom(rows.relation, (*(value.term for value in wanted), *rows.borrowed), span=span), span=span)
        if not any(value.nullable for value in (*wanted, *rows.values)):
            return [[found]]
        if len(wanted) > 1:
            return self._not_among(wanted, rows, node)
        anything = Negation(self._some(rows, None, node), span=span)
        nulls: list[Piece] = []
        if rows.values[0].nullable:
            nulls = [Negation(self._some(rows, Constant(None, rows.values[0].type), node), span=span)]
        return [[anything], [*(present(value.term, span) for value in wanted if value.nullable), found, *nulls]]

    def _not_among(self, wanted: list[SqlValue], rows: Rows, node: exp.In) -> Choices:
        """No row of the subquery may be equal: in every one, some column differs, and is not null on either side."""
        span, names, context = self.text.span(node), self.body.names, self.body.context
        ours: list[Term] = []
        for value in wanted:
            variable = names.variable("wanted")
            self.body.goals.append(Assign(variable, value.term, span=span))
            ours.append(variable)
        borrowed = list(dict.fromkeys(rows.borrowed))
        asked, perhaps = (context.relation(f"{self.body.owner}'{kind}") for kind in ("borrowed", "rows"))
        context.emit(asked, [*ours, *borrowed], self.body.goals, self.body.choices, span)
        theirs: list[Term] = [names.variable("row") for _ in rows.values]
        same: list[Piece] = []
        for pair in zip(ours, theirs, strict=True):
            tests = (*(Call("is_null", (side,), span=span) for side in pair), Call("is_same", pair, span=span))
            same.append(Condition(Call("any_true", tests, span=span), span=span))
        atoms = [Atom(asked, (*ours, *borrowed), span=span), Atom(rows.relation, (*theirs, *rows.borrowed), span=span)]
        context.emit(perhaps, [*ours, *borrowed], [*atoms, *same], ALWAYS, span)
        return [[Negation(Atom(perhaps, (*ours, *borrowed), span=span), span=span)]]

    def _some(self, rows: Rows, value: Term | None, node: exp.Expr) -> Atom:
        return Atom(
            rows.relation,
            (*(Wildcard() if value is None else value for _ in rows.values), *rows.borrowed),
            span=self.text.span(node),
        )

    def _asked(self, node: exp.In) -> tuple[list[SqlValue], Rows]:
        query = node.args["query"]
        given = _bare(node.this)
        items = given.expressions if isinstance(given, exp.Tuple) else [given]
        wanted = [self.values.value(item) for item in items]
        rows = self._translator.rows(query, self.body, values=True)
        if len(rows.values) != len(wanted):
            message = f"{len(wanted)} value(s) are looked up in a subquery of {len(rows.values)} column(s)"
            self.text.refuse("HW201", message, node, hint="select as many columns as stand before IN")
        return [_fitted(value, other) for value, other in zip(wanted, rows.values, strict=True)], rows


def _fitted(value: SqlValue, other: SqlValue) -> SqlValue:
    """The value as the type of the column it is looked up in."""
    if value.type is Type.INT and other.type is Type.FLOAT:
        return SqlValue(Call("to_float", (value.term,)), Type.FLOAT, value.nullable)
    return value


def _joins(left: Type | None, right: Type | None) -> bool:
    return left is None or right is None or left is right or {left, right} <= {Type.STRING, Type.ADDRESS}


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _has_subquery(node: exp.Expr) -> bool:
    return node.find(exp.Exists, exp.Subquery, exp.Select) is not None
