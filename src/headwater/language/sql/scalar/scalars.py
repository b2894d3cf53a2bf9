"""Scalar expressions of SQL as terms.

A term is null where SQL's value is: every function gives null for a null argument, except those that are made to look
at nulls. Where a rule's term would have no value and its goal would fail (a division by zero), SQL's function gives
null instead, as Spark's `try_` functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, NoReturn, TypeAlias

from sqlglot import exp

from headwater.core.functions.casts import to_time
from headwater.core.functions.function import lookup
from headwater.core.source import Span
from headwater.core.types import Type, list_of, list_with
from headwater.core.widening import item_of
from headwater.core.widening import widest as all_items
from headwater.language.sql.scalar import times
from headwater.language.sql.scalar.by_name import as_named
from headwater.language.sql.scalar.functions import CALLS
from headwater.language.sql.scalar.value import NULL, SqlValue, called, constant
from headwater.language.sql.scope.body import Body, meant
from headwater.language.sql.scope.sources import SqlColumn
from headwater.language.sql.text.sql_types import FIXES, type_named, widest
from headwater.language.syntax import Binary, Call, Constant, ListTerm, Term
from headwater.language.units import duration

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="
}  # fmt: skip
_COMPARING = {
    "=": "is_equal", "!=": "is_unequal", "<": "is_less", "<=": "is_at_most", ">": "is_more", ">=": "is_at_least"
}  # fmt: skip
_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_CASTS = {
    Type.INT: "try_to_int",
    Type.FLOAT: "try_to_float",
    Type.STRING: "try_to_string",
    Type.BOOL: "try_to_bool",
    Type.TIMESTAMP: "try_to_timestamp",
}
_CASTS_OF: dict[Type | None, dict[Type, str]] = {
    Type.TIMESTAMP: {Type.INT: "unix_timestamp", Type.STRING: "time_to_string"},
    Type.DATE: {Type.INT: "unix_timestamp", Type.STRING: "date_to_string", Type.TIMESTAMP: "date_to_timestamp"},
}
_CONDITIONS = (
    exp.And | exp.Or | exp.Not | exp.Is | exp.NullSafeEQ | exp.NullSafeNEQ | exp.Between | exp.In | exp.Exists
    | exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE
)  # fmt: skip
_PASSING = exp.Select | exp.Group | exp.EQ | exp.NEQ | exp.NullSafeEQ | exp.NullSafeNEQ | exp.Is | exp.Count
_CAST_BEFORE = "cast it where the recursion begins: CAST(... AS DOUBLE), or AS STRING; or compute with it outside"
_LARGEST = 2**63
OTHER_FUNCTIONS = "name what it gives in a column of the data, or register a function"


Subqueries: TypeAlias = Callable[[exp.Expr, Body], SqlValue]


class Values:
    """Terms for the expressions of one SELECT; `replaced` are expressions that stand for a variable already."""

    def __init__(self, body: Body, scalar: Subqueries, replaced: dict[exp.Expr, SqlValue] | None = None) -> None:
        self.body = body
        self.text = body.context.text
        self._scalar = scalar
        self.replaced = replaced or {}

    def term(self, node: exp.Expr) -> Term:
        return self.value(node).term

    def value(self, node: exp.Expr) -> SqlValue:
        if node in self.replaced:
            return self.replaced[node]
        span = self.text.span(node)
        match node:
            case exp.Paren() | exp.Alias():
                return self.value(node.this)
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    self._refuse(node, "`*` has no value here", "name the columns")
                found = self.body.column(node)
                column = found.column
                self._refuse_opaque(node, column)
                return SqlValue(found.variable, column.type, column.nullable, column.is_null, column.opaque)
            case exp.Boolean():
                return constant(bool(node.this), Type.BOOL, span)
            case exp.Null():
                return replace(NULL, term=Constant(None, None, span=span))
            case exp.Array():
                items = [self.value(item) for item in node.expressions]
                terms, kind = tuple(item.term for item in items), list_with(item.type for item in items)
                if any(isinstance(item.term, Constant) and item.term.value is None for item in items):
                    self._refuse(
                        node, "an array with NULL written in it is not translated", "take the null from a column"
                    )
                if any(item.nullable for item in items):  # a list term would be null, and an array holds nulls
                    return SqlValue(Call("array_of", terms, span=span), kind, False)
                return SqlValue(ListTerm(terms, span=span), kind, False)
            case exp.Subquery() | exp.Select():
                return self._scalar(node, self.body)
            case exp.Window():
                self._refuse(
                    node,
                    f"the window function `{self.text.written(node)}` cannot stand here",
                    "put it into the SELECT list or into QUALIFY, or filter in a query around this one",
                )
            case exp.AggFunc():
                self._refuse(
                    node,
                    f"`{self.text.written(node)}` is an aggregate, and there is no group to aggregate here",
                    "move it into the SELECT list or into HAVING; in WHERE, compare with a subquery",
                )
        if isinstance(node, _CONDITIONS):
            return self.truth(node)
        of_kind = self._OF_KIND.get(type(node))
        return self._function(node, span) if of_kind is None else of_kind(self, node, span)

    # Conditions as values: true, false or null

    def truth(self, node: exp.Expr) -> SqlValue:
        span = self.text.span(node)
        if node in self.replaced:
            return self.replaced[node]
        match node:
            case exp.Paren():
                return self.truth(node.this)
            case exp.And() | exp.Or():
                parts = [self.truth(part) for part in _chain(node, type(node))]
                name = "all_true" if isinstance(node, exp.And) else "any_true"
                call = Call(name, tuple(part.term for part in parts), span=span)
                return _bool(call, any(part.nullable for part in parts))
            case exp.Not():
                inner = self.truth(node.this)
                return _bool(Call("negated", (inner.term,), span=span), inner.nullable)
            case exp.Is():
                return self._is(node, span)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                left, right = self.value(node.this), self.value(node.expression)
                self._refuse_unlike(node, left, right)
                same = Call("is_same", (left.term, right.term), span=span)
                return _bool(same if isinstance(node, exp.NullSafeEQ) else Call("negated", (same,), span=span), False)
            case exp.Between():
                value, low, high = (self.value(node.args[each]) for each in ("this", "low", "high"))
                above = Call("is_at_least", (value.term, low.term), span=span)
                below = Call("is_at_most", (value.term, high.term), span=span)
                nullable = value.nullable or low.nullable or high.nullable
                return _bool(Call("all_true", (above, below), span=span), nullable)
            case exp.In() if not node.args.get("query"):
                return self._in(node, span)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                left, right = self.compared(node)
                call = Call(_COMPARING[COMPARISONS[type(node)]], (left.term, right.term), span=span)
                return _bool(call, left.nullable or right.nullable)
            case exp.Exists() if (counted := _counted(node.this)) is not None:
                return self.truth(counted)
            case exp.Exists() | exp.In():
                hint = "use it in WHERE, joined with AND or OR"
                self._refuse(node, "a condition with a subquery cannot be used as a value", hint)
            case _:
                return self.value(node)

    def _refuse_opaque(self, node: exp.Expr, column: SqlColumn) -> None:
        """A value of a type that is only passed on may be selected, compared for equality, and looked at for null."""
        used = node.parent
        while isinstance(used, exp.Paren | exp.Alias):
            used = used.parent
        if column.opaque is None or used is None or isinstance(used, _PASSING):  # no parent: a column of `*`
            return
        if column.opaque.startswith("decimal") and isinstance(used, exp.Cast):
            return
        message = f"`{column.name}` is of type {column.opaque}, which a recursion passes on but does not compute with"
        self.text.refuse("HW403", message, node, hint=_CAST_BEFORE)

    def _refuse_unlike(self, node: exp.Expr, left: SqlValue, right: SqlValue) -> None:
        """Values of a type that is only passed on are compared with others of that type alone."""
        if left.opaque != right.opaque and not left.is_null and not right.is_null:
            kinds = " and ".join(side.opaque or (side.type or Type.ANY).value for side in (left, right))
            self.text.refuse("HW404", f"{kinds} cannot be compared inside a recursion", node, hint=_CAST_BEFORE)

    def compared(self, node: exp.Expr) -> tuple[SqlValue, SqlValue]:
        """Both sides of a comparison, which must be of kinds that compare; a text beside a time is a time."""
        left, right = self.value(node.this), self.value(node.expression)
        self._refuse_unlike(node, left, right)
        if not _comparable(left.type, right.type):
            assert left.type is not None
            assert right.type is not None
            message = f"{left.type.value} and {right.type.value} cannot be compared"
            self.text.refuse("HW404", message, node, hint="cast one side: CAST(... AS STRING)")
        return left, right

    def _is(self, node: exp.Is, span: Span | None) -> SqlValue:
        value = self.value(node.this)
        wanted = node.expression
        if isinstance(wanted, exp.Null):
            return _bool(Call("is_null", (value.term,), span=span), False)
        if isinstance(wanted, exp.Boolean):
            return _bool(Call("is_same", (value.term, Constant(bool(wanted.this), Type.BOOL)), span=span), False)
        self._refuse(node, f"`{self.text.written(node)}` is not understood", "write IS NULL, IS TRUE or IS FALSE")

    def _in(self, node: exp.In, span: Span | None) -> SqlValue:
        if not node.expressions:
            self._refuse(node, "this IN is not understood", "write x IN (1, 2) or x IN (SELECT ...)")
        value = self.value(node.this)
        items = [self.value(item) for item in node.expressions]
        same = [Call("is_equal", (value.term, item.term), span=span) for item in items]
        nullable = value.nullable or any(item.nullable for item in items)
        return _bool(Call("any_true", tuple(same), span=span), nullable)

    # The cases

    def _literal(self, node: exp.Expr, span: Span | None) -> SqlValue:
        text = str(node.this)
        if node.is_string:
            return constant(text, Type.STRING, span)
        try:
            if text.isdigit():
                number = int(text)
                if number >= _LARGEST:
                    self.text.refuse("HW108", f"`{text}` does not fit into 64 bits", node, hint="write it as a float")
                return constant(number, Type.INT, span)
            return constant(float(text), Type.FLOAT, span)
        except ValueError:
            self.text.refuse("HW101", f"`{text}` is no number", node)

    def _negative(self, node: exp.Expr, span: Span | None) -> SqlValue:
        if isinstance(node.this, exp.Literal) and str(node.this.this) == str(_LARGEST):
            return constant(-_LARGEST, Type.INT, span)
        inner = self.value(node.this)
        if isinstance(inner.term, Constant) and isinstance(inner.term.value, int | float):
            return SqlValue(Constant(-inner.term.value, inner.term.type, span=span), inner.type, False)
        return SqlValue(Binary("-", Constant(0, Type.INT), inner.term, span=span), inner.type, inner.nullable)

    def _arithmetic(self, node: exp.Expr, span: Span | None) -> SqlValue:
        assert isinstance(node, exp.Binary)
        months = times.months_in(node)
        if months is not None:
            return times.months_later(self.value(months[0]), Constant(months[1], Type.INT), span)
        left, right = self.value(node.this), self.value(node.expression)
        sign = _ARITHMETIC[type(node)]
        later = times.days_later(left, right, sign, span)
        if later is not None:
            return later
        kind = _arithmetic(left.type, right.type)
        if kind is None and left.type is not None and right.type is not None and not _counts(left.type, right.type):
            message = f"`{sign}` does not work on {left.type.value} and {right.type.value}"
            hint = "texts are joined by ||" if sign == "+" else "cast one side: CAST(... AS INT)"
            self.text.refuse("HW403", message, node, hint=hint)
        found = SqlValue(Binary(sign, left.term, right.term, span=span), kind, left.nullable or right.nullable)
        if left.is_null or right.is_null:
            return replace(found, type=None, is_null=True)
        if kind is Type.TIMESTAMP and Type.DATE in (left.type, right.type) and _has_whole_days(node):
            return times.day_of(found, span)
        return found

    def _divided(self, node: exp.Expr, span: Span | None) -> SqlValue:
        left, right = self.value(node.this), self.value(node.expression)
        if isinstance(right.term, Constant) and right.term.value:
            return SqlValue(Binary("/", left.term, right.term, span=span), Type.FLOAT, left.nullable)
        return SqlValue(Call("divide", (left.term, right.term), span=span), Type.FLOAT, True)

    def _joined(self, node: exp.Expr, span: Span | None) -> SqlValue:
        """`a || b`; and `a | '.' | b`, as 000 writes it, where a text takes part."""
        parts = list(_chain(node, type(node)))
        values = [self.value(part) for part in parts]
        if isinstance(node, exp.BitwiseOr) and not any(value.type is Type.STRING for value in values):
            self._refuse(node, "`|` on bits is not translated", "write || to join texts")
        return called("concat", _texts(values), _joined_type(values), span)

    def _escaped(self, node: exp.Expr, span: Span | None) -> SqlValue:
        """`text LIKE pattern ESCAPE mark`"""
        found = self.value(node.this)
        inner = found.term.args[0] if node.this.args.get("negate") and isinstance(found.term, Call) else found.term
        if not isinstance(inner, Call) or inner.function not in ("like", "ilike"):
            self._refuse(node, "ESCAPE belongs to LIKE", "write text LIKE pattern ESCAPE '!'")
        call: Term = Call(inner.function, (*inner.args, self.term(node.expression)), span=span)
        if inner is not found.term:
            call = Call("negated", (call,), span=span)
        return SqlValue(call, Type.BOOL, found.nullable)

    def _interval(self, node: exp.Expr, span: Span | None) -> SqlValue:
        if times.months(node) is not None:
            hint = "add it to a time: at + INTERVAL 1 MONTH"
            self._refuse(node.parent or node, "a month has no length of its own", hint)
        number, unit = node.this, node.args.get("unit")
        amount = number.this if isinstance(number, exp.Literal) else None
        found = duration(str(amount), str(unit.name).lower()) if amount is not None and unit is not None else None
        if found is None:
            self.text.refuse("HW110", "this is not a span of time", node, hint="write INTERVAL 5 MINUTES")
        return constant(found, Type.DURATION, span)

    def _cast(self, node: exp.Expr, span: Span | None) -> SqlValue:
        inner = self.value(node.this)
        name = str(node.args["to"].this.value if node.args["to"].this else "")
        if inner.is_null:
            kind = type_named(name, node.args["to"].expressions)
            if kind is not None:
                return SqlValue(Constant(None, kind, span=span), kind)
        kind = type_named(name, node.args["to"].expressions)
        if kind is None:
            hint = FIXES.get(name.lower(), "cast to INT, DOUBLE, STRING, BOOLEAN, TIMESTAMP or DATE")
            self._refuse(node, f"there is no cast to {name}", hint)
        if kind is inner.type:
            return inner
        if isinstance(node.this, exp.Literal) and kind.is_moment and node.this.is_string:
            inner = self._moment(node, span)
        if kind is Type.DATE:
            return times.as_date(inner, span)
        if kind is inner.type:
            return inner
        called = _CASTS_OF.get(inner.type, _CASTS).get(kind)
        if called is None:
            self._refuse(
                node, f"there is no cast to {kind.value}", "cast to INT, DOUBLE, STRING, BOOLEAN, TIMESTAMP or DATE"
            )
        return SqlValue(Call(called, (inner.term,), span=span), kind, True)

    def _moment(self, node: exp.Expr, span: Span | None) -> SqlValue:
        """`TIMESTAMP '2024-02-29 12:00:00'` and its like."""
        text = str(node.this.this)
        found = to_time(text)
        if found is None:
            self.text.refuse(
                "HW110", f"'{text}' is no moment", node, hint="write it as '2024-02-29' or '2024-02-29 12:30:00'"
            )
        return constant(found, Type.TIMESTAMP, span)

    def _if(self, node: exp.Expr, span: Span | None) -> SqlValue:
        test: exp.Expr = node.this
        if isinstance(node, exp.Nvl2):
            test = exp.Not(this=exp.Is(this=test.copy(), expression=exp.Null()))
        return self._choose(test, self.value(node.args["true"]), self._or_null(node.args.get("false")), span)

    def _null_if(self, node: exp.Expr, span: Span | None) -> SqlValue:
        left = self.value(node.this)
        same = Call("is_equal", (left.term, self.term(node.expression)), span=span)
        return SqlValue(Call("if", (same, Constant(None, None), left.term), span=span), left.type, True, left.is_null)

    def _converted(self, node: exp.Expr, span: Span | None) -> SqlValue:
        if node.this is None:
            hint = "views must give the same answer for the same data; put the time into a column"
            self._refuse(node, "the current time is not part of the data", hint)
        inner = node.this
        while isinstance(inner, exp.TimeStrToTime):
            inner = inner.this
        return times.converted(self.text, node, self.value(inner), span)

    def _case(self, node: exp.Expr, span: Span | None) -> SqlValue:
        otherwise = self._or_null(node.args.get("default"))
        for branch in reversed(node.args["ifs"]):
            test: exp.Expr = branch.this
            if node.this is not None:
                test = exp.EQ(this=node.this.copy(), expression=test.copy())
            otherwise = self._choose(test, self.value(branch.args["true"]), otherwise, span)
        return otherwise

    def _decoded(self, node: exp.Expr, span: Span | None) -> SqlValue:
        """`decode(x, 1, 'a', 2, 'b', 'else')`; a null is found by a null."""
        given, *rest = node.expressions
        otherwise = self._or_null(rest.pop() if len(rest) % 2 else None)
        for at in range(len(rest) - 2, -1, -2):
            test = exp.NullSafeEQ(this=given.copy(), expression=rest[at].copy())
            otherwise = self._choose(test, self.value(rest[at + 1]), otherwise, span)
        return otherwise

    def _bracket(self, node: exp.Expr, span: Span | None) -> SqlValue:
        """`list[0]` and `element_at(list, 1)`; null where there is no such item."""
        items = self.value(node.this)
        if items.type is None or not items.type.is_list or len(node.expressions) != 1:
            self._refuse(node, f"`{self.text.written(node)}` is not translated", "brackets pick an item of an array")
        place = self.value(node.expressions[0])
        name = "item" if node.args.get("offset") == 1 else "item_from_0"
        return called(name, [items, place], item_of(items.type), span, nullable=True)

    def _or_null(self, node: exp.Expr | None) -> SqlValue:
        return NULL if node is None else self.value(node)

    def _choose(self, test: exp.Expr, yes: SqlValue, no: SqlValue, span: Span | None) -> SqlValue:
        kinds = [each.type for each in (yes, no) if not each.is_null]
        call = Call("if", (self.truth(test).term, yes.term, no.term), span=span)
        return SqlValue(call, widest(kinds), yes.nullable or no.nullable, yes.is_null and no.is_null)

    # Functions

    def _function(self, node: exp.Expr, span: Span | None) -> SqlValue:
        named = node if isinstance(node, exp.Anonymous) else as_named(node)
        if named is not None:
            return self._named(named, span)
        known = CALLS.get(type(node))
        if known is None:
            if isinstance(node, exp.GenerateSeries):
                self._refuse(node, "numbers one after the other have no value here", "write explode(sequence(1, 3))")
            self._refuse(node, f"`{self.text.written(node)}` is not translated here", OTHER_FUNCTIONS)
        values: list[SqlValue] = []
        for key in known.arguments:
            found = node.args.get(key)
            values += [self.value(each) for each in (found if isinstance(found, list) else [found] if found else [])]
        if isinstance(node, exp.Concat | exp.ConcatWs):
            values = _texts(values)
        found = known.build(values, span)
        if node.args.get("negate"):
            return SqlValue(Call("negated", (found.term,), span=span), Type.BOOL, found.nullable)
        return found

    def _named(self, node: exp.Anonymous, span: Span | None) -> SqlValue:
        name = str(node.this).lower()
        values = [self.value(arg) for arg in node.expressions]
        if name in ("isnull", "isnotnull") and len(values) == 1:
            test = "is_null" if name == "isnull" else "is_not_null"
            return _bool(Call(test, (values[0].term,), span=span), False)
        spelt = next((each for each in self.body.context.registry if each.lower() == name), None)
        function = None if spelt is None else lookup(self.body.context.registry, spelt)
        if function is None:
            hint = meant(name, list(self.body.context.registry))
            self.text.refuse("HW202", f"there is no function `{node.this}`", node, hint=hint)
        kind = function.result_type(tuple(value.type for value in values))
        return called(function.name, values, kind, span, nullable=True)

    def _refuse(self, node: exp.Expr, message: str, hint: str) -> NoReturn:
        self.text.refuse("HW117", message, node, hint=hint)

    _OF_KIND: ClassVar[dict[type[exp.Expr], Callable[[Values, exp.Expr, Span | None], SqlValue]]] = {
        exp.Literal: _literal,
        exp.Neg: _negative,
        **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
        exp.Div: _divided,
        **dict.fromkeys((exp.DPipe, exp.BitwiseOr), _joined),
        exp.Interval: _interval,
        exp.Escape: _escaped,
        **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
        exp.Case: _case,
        **dict.fromkeys((exp.If, exp.Nvl2), _if),
        exp.Nullif: _null_if,
        exp.DecodeCase: _decoded,
        exp.Bracket: _bracket,
        **dict.fromkeys((exp.TsOrDsToDate, exp.StrToTime, exp.StrToUnix, exp.UnixToStr, exp.TimeToStr), _converted),
    }


def as_text(value: SqlValue) -> SqlValue:
    """The value as Spark writes it where a text is wanted."""
    if value.type is Type.STRING:
        return value
    called = _CASTS_OF.get(value.type, _CASTS)[Type.STRING]
    return SqlValue(Call(called, (value.term,)), Type.STRING, value.nullable)


def _texts(values: list[SqlValue]) -> list[SqlValue]:
    """What is joined, as texts; what may be a list stays as it is, unless a text takes part."""
    has_text = any(value.type is Type.STRING for value in values)
    return [value if value.is_list or (value.type is None and not has_text) else as_text(value) for value in values]


def _joined_type(values: list[SqlValue]) -> Type:
    lists = [value.type for value in values if value.is_list]
    return list_of(all_items(item_of(kind) for kind in lists)) if lists else Type.STRING


def _has_whole_days(node: exp.Expr) -> bool:
    """Whether the intervals in a sum are days, so that a date stays one."""
    units = [
        str(interval.args["unit"].name).upper() for interval in node.find_all(exp.Interval) if "unit" in interval.args
    ]
    return all(unit.rstrip("S") in ("DAY", "WEEK") for unit in units)


def _counted(query: exp.Expr) -> exp.Expr | None:
    """`EXISTS (SELECT ...)` as a value: whether there is a row; None if the query has groups or parts."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or any(query.args.get(part) for part in ("group", "having", "with_", "limit")):
        return None
    if any(item.find(exp.AggFunc) for item in query.expressions):
        return None
    count = query.copy()
    for part in ("distinct", "order", "offset"):
        count.set(part, None)
    count.set("expressions", [exp.Count(this=exp.Star())])
    return exp.GT(this=exp.Subquery(this=count), expression=exp.Literal.number(0))


def _bool(call: Call, nullable: bool) -> SqlValue:
    return SqlValue(call, Type.BOOL, nullable)


def _comparable(left: Type | None, right: Type | None) -> bool:
    if left is None or right is None or left is right:
        return True
    pair = {left, right}
    if left.is_moment or right.is_moment:
        return pair <= {Type.STRING, Type.TIMESTAMP, Type.DATE}
    return pair <= {Type.INT, Type.FLOAT} or pair <= {Type.STRING, Type.ADDRESS}


def _counts(left: Type, right: Type) -> bool:
    """Whether arithmetic may mean something: the checks know more of durations and times."""
    return {left, right} <= {Type.INT, Type.FLOAT, Type.TIMESTAMP, Type.DATE, Type.DURATION}


def _arithmetic(left: Type | None, right: Type | None) -> Type | None:
    pair = {Type.TIMESTAMP if side is Type.DATE else side for side in (left, right)}
    if pair == {Type.TIMESTAMP, Type.DURATION}:
        return Type.TIMESTAMP
    if pair == {Type.TIMESTAMP}:
        return Type.DURATION
    return widest((left, right))


def _chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    while isinstance(node, kind):
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]
