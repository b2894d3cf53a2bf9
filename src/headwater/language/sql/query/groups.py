"""Groups of a SELECT as a relation: one row per group, with its keys and its aggregates."""

from __future__ import annotations

from sqlglot import exp

from headwater.core.source import Span
from headwater.core.types import Type, list_of
from headwater.language.sql.scalar.scalars import Values
from headwater.language.sql.scalar.value import SqlValue, constant
from headwater.language.sql.scope.rules import ALWAYS, Choices, Piece
from headwater.language.syntax import Aggregate, Assign, Atom, Call, Constant, Negation, Term, Variable, Wildcard

AGGREGATES: dict[type[exp.Expr], str] = {
    kind: kind.__name__.lower() for kind in (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
} | dict.fromkeys((exp.ArrayAgg, exp.ArrayUniqueAgg), "collect")
KNOWN = ("avg", "collect_list", "collect_set", "count", "max", "max_by", "min", "min_by", "string_agg", "sum")
_OF_AGGREGATE = {"count": Type.INT, "avg": Type.FLOAT}
_ONLY_IN_RECURSION = frozenset({"mmin", "mmax", "mcount", "msum"})


class Grouped:
    """The relation of groups: one rule with all plain aggregates, and one more for each DISTINCT."""

    def __init__(self, values: Values, keys: list[exp.Expr], calls: list[exp.Expr], span: Span | None) -> None:
        self.body = values.body
        self.text = values.text
        self.context = values.body.context
        self.span = span
        self.values = values
        self.keys = [self.values.value(node) for node in keys]
        self.results: list[SqlValue] = []
        self._plain: list[tuple[int, Aggregate]] = []
        self._distinct: list[tuple[int, str, Term]] = []
        for at, call in enumerate(calls):
            self._take(at, call)

    def _take(self, at: int, call: exp.Expr) -> None:
        test: exp.Expr | None = None
        node = call
        if isinstance(node, exp.Filter):
            test, node = node.expression.this, node.this
        function = AGGREGATES.get(type(node))
        if function is None:
            hint = f"the aggregates are {', '.join(KNOWN)}"
            self.text.refuse("HW217", f"`{self.text.written(node)}` is no aggregate here", node, hint=hint)
        unique = isinstance(node, exp.ArrayUniqueAgg)
        distinct = isinstance(node.this, exp.Distinct) or unique
        given = node.this.expressions if isinstance(node.this, exp.Distinct) else [node.this, *(node.expressions or [])]
        if len(given) != 1:
            message = f"`{function}` over several columns is not translated"
            self.text.refuse("HW217", message, node, hint="join them first: count(DISTINCT a || ',' || b)")
        value = constant(1, Type.INT) if isinstance(given[0], exp.Star) else self.values.value(given[0])
        if test is not None:
            truth = self.values.truth(test).term
            value = SqlValue(
                Call("if", (truth, value.term, Constant(None, value.type))), value.type, True, value.is_null
            )
        kind = list_of(value.type) if function == "collect" else _OF_AGGREGATE.get(function, value.type)
        is_null = value.is_null and function in ("min", "max")
        self.results.append(SqlValue(Constant(None, None), kind, function != "count", is_null))
        if distinct and function in ("count", "sum", "avg", "collect"):
            self._distinct.append((at, function, self._variable(value)))
        else:
            self._plain.append((at, Aggregate(function, (self._variable(value),), span=self.text.span(node))))

    def _variable(self, value: SqlValue) -> Term:
        """An aggregate ranges over a variable: another value gets one."""
        if isinstance(value.term, Variable):
            return value.term
        variable = self.body.names.variable("value")
        self.body.goals.append(Assign(variable, value.term, span=self.text.span(None)))
        return variable

    def emit(self, wanted: str) -> str:
        """The relation of keys and results, one row per group; without keys, one row in any case."""
        count = len(self.keys)
        keys: list[Term] = [self._variable(key) for key in self.keys]
        goals, choices = self._bindings(keys)
        parts: list[tuple[str, list[int]]] = []
        if self._plain or not self._distinct:
            name = self.context.relation(wanted)
            head: list[Term | Aggregate] = [*keys, *(aggregate for _, aggregate in self._plain)]
            self.context.emit(name, head, goals, choices, self.span)
            parts.append((name, [at for at, _ in self._plain]))
        for at, function, value in self._distinct:
            inner = self.context.relation(f"{wanted}'values")
            self.context.emit(inner, [*keys, value], goals, choices, self.span)
            fresh = [self.body.names.variable("key") for _ in keys]
            argument = self.body.names.variable("value")
            name = self.context.relation(wanted)
            atom = Atom(inner, (*fresh, argument), span=self.span)
            self.context.emit(
                name, [*fresh, Aggregate(function, (argument,), span=self.span)], [atom], ALWAYS, self.span
            )
            parts.append((name, [at]))
        if len(parts) == 1 and parts[0][1] == list(range(len(self.results))) and count:
            return parts[0][0]
        return self._combined(wanted, parts, count)

    def _bindings(self, keys: list[Term]) -> tuple[list[Piece], Choices]:
        """One way to hold: an aggregate must not see a row once per way."""
        if len(self.body.choices) == 1:
            return [*self.body.goals, *self.body.choices[0]], ALWAYS
        name = self.context.relation(f"{self.body.owner}'rows")
        used = [aggregate.args[0] for _, aggregate in self._plain] + [value for _, _, value in self._distinct]
        kept = [each for each in (*keys, *used, *self.body.identity()) if isinstance(each, Variable)]
        args = tuple(dict.fromkeys(kept))
        self.context.emit(name, args, self.body.goals, self.body.choices, self.span)
        return [Atom(name, args, span=self.span)], ALWAYS

    def _combined(self, wanted: str, parts: list[tuple[str, list[int]]], count: int) -> str:
        """Several relations of the same groups side by side; and, without keys, the row of no rows."""
        name = self.context.relation(wanted)
        keys = [self.body.names.variable("key") for _ in range(count)]
        results: dict[int, Term] = {}
        goals: list[Piece] = []
        for part, places in parts:
            variables = [self.body.names.variable("value") for _ in places]
            results.update(zip(places, variables, strict=True))
            goals.append(Atom(part, (*keys, *variables), span=self.span))
        head: list[Term | Aggregate] = [*keys, *(results[at] for at in range(len(self.results)))]
        self.context.emit(name, head, goals, ALWAYS, self.span)
        if not count:
            empty: list[Term | Aggregate] = [
                Constant(None, None) if value.nullable else Constant(0, Type.INT) for value in self.results
            ]
            nothing = Atom(parts[0][0], tuple(Wildcard() for _ in parts[0][1]), span=self.span)
            self.context.emit(name, empty, [Negation(nothing, span=self.span)], ALWAYS, self.span)
        return name


class Replaced(dict[exp.Expr, SqlValue]):
    """Expressions that stand for a variable already, found also where only the case of names differs."""

    def __init__(self, given: dict[exp.Expr, SqlValue]) -> None:
        super().__init__({_folded(node): value for node, value in given.items()})

    def __contains__(self, node: object) -> bool:
        return isinstance(node, exp.Expr) and super().__contains__(_folded(node))

    def __getitem__(self, node: exp.Expr) -> SqlValue:
        return super().__getitem__(_folded(node))


def _folded(node: exp.Expr) -> exp.Expr:
    if isinstance(
        node, exp.Column | exp.AggFunc | exp.Window | exp.Func | exp.Binary | exp.Case | exp.Paren | exp.Unary
    ):
        copy = node.copy()
        for name in copy.find_all(exp.Identifier):
            name.set("this", str(name.this).lower())
            name.set("quoted", False)
        return copy
    return node


def aggregates_in(node: exp.Expr) -> list[exp.Expr]:
    """The aggregates of an expression, outermost first, none inside a subquery."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Window):  # its own function ranges over rows, but may be given aggregates of groups
        function = node.this
        while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            function = function.this
        inside = [*function.iter_expressions(), *node.args.get("partition_by", []), node.args.get("order")]
        return [found for child in inside if child is not None for found in aggregates_in(child)]
    if isinstance(node, exp.Filter | exp.AggFunc) or is_named_aggregate(node):
        return [node]
    return [found for child in node.iter_expressions() for found in aggregates_in(child)]


def is_named_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).lower() in _ONLY_IN_RECURSION
