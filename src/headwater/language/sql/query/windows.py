"""Window functions as rules: each partition is collected as a list of its rows, and computed whole when it changes.

    rows(Dept, [Key, Id, Value, Other]) :- emp(...).        % Id is the number of a row
    lists(Ids, Results) :- parts(Dept, Rows), ...           % parts(Dept, collect<Row>) :- rows(Dept, Row).
    ... emp(...), Id := way_of(...), out(Id, Rank) ...      % out: an item of Ids beside the item of Results

An aggregate over a whole partition is a group that is joined with its rows, which follows changes row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.sql.query.generators import places
from headwater.language.sql.query.groups import AGGREGATES, Grouped
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import NULL, SqlValue, constant
from headwater.language.sql.scope.rules import ALWAYS, Piece
from headwater.language.syntax import Aggregate, Assign, Atom, Call, Constant, Duration, Term, Variable, Wildcard

_RANKS: dict[type[exp.Expr], str] = {
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Ntile: "ntile",
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_SHIFTS: dict[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
_PICKS: dict[type[exp.Expr], str] = {
    exp.FirstValue: "first_value",
    exp.First: "first_value",
    exp.LastValue: "last_value",
    exp.Last: "last_value",
    exp.NthValue: "nth_value",
}
_FLOATS = frozenset({"percent_rank", "cume_dist", "avg"})
_OVER_FRAMES = frozenset({"count", "sum", "avg", "min", "max"})
NAMES = (
    *_RANKS.values(), *_SHIFTS.values(), "first_value", "last_value", "nth_value", "count", "sum", "avg", "min", "max",
)  # fmt: skip
_FUNCTIONS = {**AGGREGATES, **_RANKS, **_SHIFTS, **_PICKS}


@dataclass(frozen=True, slots=True)
class _Call:
    """One window function, as it is asked for."""

    function: str
    value: SqlValue
    other: SqlValue
    number: int
    skips_nulls: bool


@dataclass(frozen=True, slots=True)
class _Frame:
    """The rows around a row that a window function sees; a bound of None is that of the partition."""

    unit: str
    low: object | None
    high: object | None


class Windows:
    """The window functions of one SELECT, over the rows of its body that `identity` tells apart."""

    def __init__(self, values: Values, identity: Sequence[Variable], named: dict[str, exp.Window]) -> None:
        self.values = values
        self.body = values.body
        self.context = values.body.context
        self.text = values.text
        self._identity = tuple(identity)
        self._named = named
        self._number: Variable | None = None

    def value(self, node: exp.Window) -> SqlValue:
        """The value of a window function for each row of the body, which gets the goals that find it."""
        whole = self._spelt_out(node)
        order = whole.args.get("order")
        keys = list(order.expressions) if order is not None else []
        function, test, skips = self._function(whole)
        plain = function if test is None else whole.this
        if type(function) in AGGREGATES and not keys and whole.args.get("spec") is None and not skips:
            return self._over_all(plain, list(whole.args.get("partition_by") or []), node)
        frame = self._frame(whole, keys)
        call = self._call(function, test, skips, keys, node)
        if frame.unit == "range" and (frame.low or frame.high):
            call = replace(call, other=self._measure(keys, node))
        return self._computed(call, frame, list(whole.args.get("partition_by") or []), keys, node)

    # Reading

    def _spelt_out(self, node: exp.Window) -> exp.Window:
        """The window with what `OVER name` stands for."""
        name = node.args.get("alias")
        if name is None:
            return node
        meant = self._named.get(name.name.lower())
        if meant is None:
            known = ", ".join(sorted(self._named)) or "none"
            self.text.refuse("HW230", f"there is no window `{name.name}`", node, hint=f"the windows are: {known}")
        found = self._spelt_out(meant)
        own = {part: node.args.get(part) or found.args.get(part) for part in ("partition_by", "order", "spec")}
        return exp.Window(this=node.this, **own)

    def _function(self, node: exp.Window) -> tuple[exp.Expr, exp.Expr | None, bool]:
        """The function, the test of a FILTER, and whether nulls are skipped."""
        found, test, skips = node.this, None, False
        while isinstance(found, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            if isinstance(found, exp.Filter):
                test = found.expression.this
            skips = skips or isinstance(found, exp.IgnoreNulls)
            found = found.this
        return found, test, skips

    def _call(self, node: exp.Expr, test: exp.Expr | None, skips: bool, keys: list[exp.Expr], place: exp.Expr) -> _Call:
        name = _RANKS.get(type(node)) or _SHIFTS.get(type(node)) or _PICKS.get(type(node)) or AGGREGATES.get(type(node))
        given = node.this
        if (
            name is None
            or (name not in NAMES)
            or isinstance(given, exp.Distinct)
            or (test and name not in _OVER_FRAMES)
        ):
            hint = f"the window functions are {', '.join(NAMES)}"
            self.text.refuse("HW217", f"`{self.text.written(node)}` does not work with this OVER", place, hint=hint)
        if not keys and (type(node) in _RANKS or type(node) in _SHIFTS) and name != "row_number":
            hint = "write OVER (ORDER BY ...)"
            self.text.refuse("HW117", f"`{name}` needs an order", place, hint=hint)
        if type(node) in _RANKS:
            return _Call(name, constant(1, Type.INT), NULL, self._positive(given, 1, place), False)
        if isinstance(given, exp.Star):
            value = constant(1, Type.INT)
        else:
            value = self.values.value(given)
        if test is not None:
            truth = self.values.truth(test).term
            value = SqlValue(
                Call("if", (truth, value.term, Constant(None, value.type))), value.type, True, value.is_null
            )
        number, other = 1, NULL
        if type(node) in _SHIFTS:
            number = self._whole(node.args.get("offset"), 1, place)
            default = node.args.get("default")
            other = NULL if default is None else self.values.value(default)
        elif isinstance(node, exp.NthValue):
            number = self._positive(node.args.get("offset"), 1, place)
        return _Call(name, value, other, number, skips)

    def _positive(self, node: exp.Expr | None, otherwise: int, place: exp.Expr) -> int:
        found = self._whole(node, otherwise, place)
        if found < 1:
            self.text.refuse("HW117", "this number is not above 0", place, hint="write a whole number from 1 on")
        return found

    def _whole(self, node: exp.Expr | None, otherwise: int, place: exp.Expr) -> int:
        if node is None:
            return otherwise
        sign = -1 if isinstance(node, exp.Neg) else 1
        number = node.this if isinstance(node, exp.Neg) else node
        if not isinstance(number, exp.Literal) or not str(number.this).isdigit():
            hint = "write the number itself: lag(x, 2)"
            self.text.refuse("HW117", f"`{self.text.written(node)}` is no whole number", place, hint=hint)
        return sign * int(number.this)

    def _frame(self, node: exp.Window, keys: list[exp.Expr]) -> _Frame:
        spec = node.args.get("spec")
        if spec is None:
            return _Frame("range", None, 0 if keys else None)
        unit = str(spec.args.get("kind") or "range").lower()
        low = self._bound(spec, "start", node, unit)
        high = self._bound(spec, "end", node, unit) if spec.args.get("end") is not None else 0
        return _Frame(unit, low, high)

    def _bound(self, spec: exp.Expr, part: str, node: exp.Expr, unit: str) -> object | None:
        """How far a frame reaches from a row on: rows, groups, or a distance; None: to the end of the partition."""
        given, side = spec.args[part], str(spec.args.get(f"{part}_side") or "").upper()
        said = given.upper() if isinstance(given, str) else ""
        if said == "CURRENT ROW":
            return 0
        if said == "UNBOUNDED":
            wanted = "PRECEDING" if part == "start" else "FOLLOWING"
            if side != wanted:
                self.text.refuse("HW117", f"a frame does not {part} UNBOUNDED {side}", node)
            return None
        value = self.values.value(given) if unit == "range" else constant(self._whole(given, 0, node), Type.INT)
        size = value.term.value if isinstance(value.term, Constant) else None
        size = size.microseconds if isinstance(size, Duration) else size
        if not isinstance(size, int | float) or size < 0 or side not in ("PRECEDING", "FOLLOWING"):
            hint = "write the number itself: ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"
            self.text.refuse("HW117", "this bound of a frame is not translated", node, hint=hint)
        return -size if side == "PRECEDING" else size

    def _measure(self, keys: list[exp.Expr], node: exp.Expr) -> SqlValue:
        """The value that a RANGE measures its distance by."""
        found = self.values.value(keys[0].this) if len(keys) == 1 else NULL
        if found.type not in (Type.INT, Type.FLOAT, Type.TIMESTAMP, Type.DATE, Type.DURATION):
            hint = "order by one number or time, or count rows: ROWS BETWEEN ..."
            self.text.refuse("HW117", "RANGE with a distance needs one number or time to order by", node, hint=hint)
        return found

    # Rules

    def _over_all(self, call: exp.Expr, partition: list[exp.Expr], node: exp.Expr) -> SqlValue:
        """An aggregate over a whole partition: its group, found by the keys of the row."""
        span = self.text.span(node)
        grouped = Grouped(self.values, partition, [call], span)
        name = grouped.emit(f"{self.body.owner}'groups")
        keys = [self._variable(key, span) for key in grouped.keys]
        variable = self.body.names.variable("value")
        self.body.goals.append(Atom(name, (*keys, variable), span=span))
        return replace(grouped.results[0], term=variable)

    def _computed(
        self, call: _Call, frame: _Frame, partition: list[exp.Expr], keys: list[exp.Expr], node: exp.Expr
    ) -> SqlValue:
        span = self.text.span(node)
        names = self.body.names
        number = self._row_number(span)
        row, value = names.variable("row"), names.variable("value")
        others = () if call.other.is_null else (call.other.term,)
        given = Constant(None, Type.INT) if call.value.is_null else call.value.term
        items = (self._sort_key(keys, span).term, number, given, *others)
        parts: list[Term] = [self._variable(self.values.value(each), span) for each in partition]
        rows = self._relation()
        goals = [*self.body.goals, Assign(row, Call("array_of", items, span=span), span=span)]
        self.context.emit(rows, [*parts, row], goals, self.body.choices, span)
        kept: list[Term] = [names.variable("part") for _ in parts]
        collected = self._relation()
        atom = Atom(rows, (*kept, row), span=span)
        self.context.emit(collected, [*kept, Aggregate("collect", (row,), span=span)], [atom], ALWAYS, span)
        function, kind, is_null = self._kind(call)
        everything = names.variable("rows")
        asked = Call(function, (everything, Constant(self._said(call, frame, keys), Type.STRING)), span=span)
        found = self._row_by_row(Atom(collected, (*kept, everything), span=span), everything, asked, span)
        self.body.goals.append(Atom(found, (Wildcard(), Wildcard(), number, value), span=span))
        return SqlValue(value, kind, call.function not in (*_RANKS.values(), "count"), is_null)

    def _row_by_row(self, atom: Atom, rows: Variable, asked: Call, span: Span | None) -> str:
        """The relation of the numbers of rows and what was computed for them, from lists of both."""
        names = self.body.names
        numbers, results, place = (names.variable(each) for each in ("numbers", "results", "place"))
        lists = self._relation()
        computing: list[Piece] = [
            atom,
            Assign(numbers, Call("window_rows", (rows,), span=span), span=span),
            Assign(results, asked, span=span),
        ]
        self.context.emit(lists, [numbers, results], computing, ALWAYS, span)
        every = Atom(lists, (numbers, results), span=span)
        counted = places(self.context, self.body.owner, numbers, Call("length", (numbers,)), [every], ALWAYS, span)
        own, value = names.variable("row_number"), names.variable("value")
        taking: list[Piece] = [
            every,
            Atom(counted, (numbers, place), span=span),
            Assign(own, Call("item", (numbers, place)), span=span),
            Assign(value, Call("item", (results, place)), span=span),
        ]
        found = self._relation()
        # A row that may be gone is looked for by its list and its place: its number is computed, and finds nothing.
        self.context.emit(found, [numbers, place, own, value], taking, ALWAYS, span)
        return found

    def _relation(self) -> str:
        return self.context.relation(f"{self.body.owner}'window")

    def _kind(self, call: _Call) -> tuple[str, Type | None, bool]:
        """The function that computes it, the type of its values, and whether they are nothing but null."""
        if call.function in _FLOATS:
            return "windowed_floats", Type.FLOAT, False
        if call.function in _RANKS.values() or call.function == "count":
            return "windowed_ints", Type.INT, False
        return "windowed_same", call.value.type, call.value.is_null and call.function != "sum"

    def _said(self, call: _Call, frame: _Frame, keys: list[exp.Expr]) -> str:
        bounds = ["-" if bound is None else repr(bound) for bound in (frame.low, frame.high)]
        nulls = "skip" if call.skips_nulls else "keep"
        direction = "desc" if keys and keys[0].args.get("desc") else "asc"
        return " ".join([call.function, str(call.number), nulls, frame.unit, *bounds, direction])

    def _row_number(self, span: Span | None) -> Variable:
        """The variable that tells each row of the body from the others."""
        if self._number is None:
            self._number = self.body.names.variable("row_number")
            way = Call("way_of", (Constant(0, Type.INT), *self._identity), span=span)
            self.body.goals.append(Assign(self._number, way, span=span))
        return self._number

    def _sort_key(self, keys: list[exp.Expr], span: Span | None) -> SqlValue:
        """A text that sorts as ORDER BY says."""
        parts: list[Term] = []
        for each in keys:
            value = self.values.value(each.this)
            key: Term = Call("sort_key", (value.term,), span=span)
            if each.args.get("desc"):
                key = Call("reverse_sort_key", (key,), span=span)
            if value.nullable:
                first = Constant("0" if each.args.get("nulls_first") else "2", Type.STRING)
                null = Call("is_null", (value.term,), span=span)
                parts.append(Call("if", (null, first, Constant("1", Type.STRING)), span=span))
            parts.append(key)
        if not parts:
            return constant("", Type.STRING)
        return SqlValue(parts[0] if len(parts) == 1 else Call("concat", tuple(parts), span=span), Type.STRING, False)

    def _variable(self, value: SqlValue, span: Span | None) -> Variable:
        if isinstance(value.term, Variable):
            return value.term
        variable = self.body.names.variable("part")
        self.body.goals.append(Assign(variable, value.term, span=span))
        return variable


def windows_in(node: exp.Expr) -> list[exp.Window]:
    """The window functions of an expression, none inside a subquery."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Window):
        return [node]
    return [found for child in node.iter_expressions() for found in windows_in(child)]
