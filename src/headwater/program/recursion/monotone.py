"""Values of aggregates inside their own recursion: do they flow only in ways that more rows cannot undo?

The value of a recursive `min` only ever falls, that of `max`, `mcount` and `msum` only rises. The recursion has a
least fixpoint if everything computed from such a value moves the same way and ends in an aggregate of the
same direction, or in a comparison that, once true, stays true. This is what is checked, variable by variable,
rule by rule; whatever does not fit is HW504.

What is carried along with a value (`min<(C, P)>`) may be anything when the value gets better; only while the value
stays does it move one way. So it may only be carried on, beside a value that gets strictly better with the first one
(`C = C1 + C2`), and in a way that keeps its order: as it is, or at the end of a list (`P = [X | P2]`). Then the pair
as a whole only ever gets better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.language import syntax
from headwater.language.terms import assigned, goal_names, leaves, names
from headwater.program.names import rule_name
from headwater.program.recursion.aggregates import AGGREGATES, Trend, carried_columns, value_columns
from headwater.program.recursion.cycles import Cycle

Trends: TypeAlias = dict[str, Trend]

_JOINS_LISTS = frozenset({"concat", "concatPath"})


@dataclass(frozen=True, slots=True)
class _Value:
    """Of an aggregated relation: the column of its value, the way it moves, and the columns carried along."""

    place: int
    trend: Trend
    carried: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Carrier:
    """A recursive goal: the variable of its value, and those of what is carried along, in order."""

    value: str | None
    carried: tuple[str | None, ...]

    @property
    def names(self) -> set[str]:
        return {name for name in (self.value, *self.carried) if name is not None}


_FOLLOW = frozenset(
    {"larger", "largest", "smaller", "smallest", "floor", "ceil", "round", "to_int", "to_float", "sqrt", "exp", "log"}
)
_FLIPPED = {Trend.FALLS: Trend.RISES, Trend.RISES: Trend.FALLS, Trend.WAVERS: Trend.WAVERS}


def monotone_problems(cycle: Cycle) -> Iterator[Diagnostic]:
    """Uses of recursive aggregate values that more rows could undo."""
    values = _values(cycle)
    if not values:
        return
    for rule in cycle.recursive_rules():
        yield from _Flow(rule, cycle, values).problems()


def _values(cycle: Cycle) -> dict[str, _Value]:
    """For each aggregated relation of the cycle, the column of its value and the way it moves."""
    return {
        rule.head.relation: _Value(place, AGGREGATES[arg.function].trend, carried_columns(rule.head))
        for rule in cycle.rules
        for place in value_columns(rule.head)
        if isinstance(arg := rule.head.args[place], syntax.Aggregate)
    }


class _Flow:
    """One rule: which variables move which way, and where they end."""

    def __init__(self, rule: syntax.Rule, cycle: Cycle, values: dict[str, _Value]) -> None:
        self.rule = rule
        self.cycle = cycle
        self.values = values
        self.moving: Trends = {}
        self.origin: dict[str, str] = {}  # the relation whose value a variable moves with
        self.carriers: list[_Carrier] = []
        self.terms = assigned(rule)
        self.nonnegative = {
            goal.left.name
            for goal in rule.body
            if isinstance(goal, syntax.Comparison)
            and goal.op in (">", ">=")
            and isinstance(goal.left, syntax.Variable)
            and _is_nonnegative(goal.right)
        }

    def problems(self) -> Iterator[Diagnostic]:
        yield from self._sources()
        for goal in self.rule.body:
            if isinstance(goal, syntax.Assign):
                trend = self._trend(goal.term)
                if trend is not None:
                    self.moving[goal.variable.name] = trend
                    self.origin[goal.variable.name] = next(
                        self.origin[name] for name in sorted(names(goal.term)) if name in self.moving
                    )
        for goal in self.rule.body:
            match goal:
                case syntax.Comparison(op, left, right):
                    if not self._stays_true(op, left, right):
                        name = self._moving_in(left, right)
                        yield self._problem(name, goal.span, f"compared by `{op}`", self._bound_hint(name, op))
                case syntax.Condition() | syntax.Negation():
                    for name in sorted(goal_names(goal) & self.moving.keys()):
                        yield self._problem(name, goal.span, "tested by a goal that may turn false again")
                case syntax.Atom() | syntax.Assign():
                    pass
                case _:
                    assert_never(goal)
        yield from self._head()

    def _sources(self) -> Iterator[Diagnostic]:
        """Variables that stand for a recursive value; they must not also be joined on."""
        for goal in self.rule.body:
            if not isinstance(goal, syntax.Atom) or goal.relation not in self.values:
                continue
            value = self.values[goal.relation]
            yield from self._source(goal, value.place, value.trend)
            for place in value.carried:
                yield from self._source(goal, place, Trend.WAVERS)
            own = [goal.args[place] for place in (value.place, *value.carried)]
            first, *carried = (arg.name if isinstance(arg, syntax.Variable) else None for arg in own)
            self.carriers.append(_Carrier(first, tuple(carried)))

    def _source(self, goal: syntax.Atom, place: int, trend: Trend) -> Iterator[Diagnostic]:
        match goal.args[place]:
            case syntax.Wildcard():
                pass
            case syntax.Variable(name):
                self.moving[name] = trend
                self.origin[name] = goal.relation
                if self._standing(name) > 1:
                    yield self._problem(name, goal.span, "joined on")
            case _:
                message = f"the value of `{goal.relation}` is compared with a constant inside its own recursion"
                note = f"it moves as rows are added; {self.cycle.around(self.rule, goal.relation)}"
                hint = "ask for the value from outside the cycle"
                yield Diagnostic("HW504", message, goal.args[place].span or goal.span, note=note, hint=hint)

    def _standing(self, name: str) -> int:
        return sum(
            isinstance(arg, syntax.Variable) and arg.name == name
            for goal in self.rule.body
            if isinstance(goal, syntax.Atom)
            for arg in goal.args
        )

    def _trend(self, term: syntax.Term) -> Trend | None:
        """Which way a term moves; None if no recursive value stands in it."""
        match term:
            case syntax.Variable(name):
                return self.moving.get(name)
            case syntax.Constant() | syntax.Wildcard():
                return None
            case syntax.Binary(op, left, right):
                return self._arithmetic(op, left, right)
            case syntax.Call(function, args):
                trends = [self._trend(arg) for arg in args]
                return _together(trends, follow=function in _FOLLOW)
            case syntax.ListTerm(items):
                trends = [self._trend(item) for item in items]
                # Lists order by their first item that differs, so only a first item keeps the order.
                return _together(trends, follow=all(trend is None for trend in trends[1:]))
            case _:
                assert_never(term)

    def _arithmetic(self, op: str, left: syntax.Term, right: syntax.Term) -> Trend | None:
        first, second = self._trend(left), self._trend(right)
        match op:
            case "+":
                return _together([first, second], follow=True)
            case "-":
                return _together([first, _FLIPPED[second] if second else None], follow=True)
            case "*" | "/":
                if first is not None and second is not None:
                    return Trend.WAVERS
                if first is None and second is None:
                    return None
                if first is not None and self._has_sign(right):
                    return _FLIPPED[first] if _is_negative(right) else first
                if second is not None and op == "*" and self._has_sign(left):
                    return _FLIPPED[second] if _is_negative(left) else second
                return Trend.WAVERS
            case _:
                return _together([first, second], follow=False)

    def _has_sign(self, factor: syntax.Term) -> bool:
        if isinstance(factor, syntax.Variable):
            return factor.name in self.nonnegative
        return _is_nonnegative(factor) or _is_negative(factor)

    def _stays_true(self, op: str, left: syntax.Term, right: syntax.Term) -> bool:
        first, second = self._trend(left), self._trend(right)
        if first is None and second is None:
            return True
        match op:
            case "<" | "<=":
                return first in (None, Trend.FALLS) and second in (None, Trend.RISES)
            case ">" | ">=":
                return first in (None, Trend.RISES) and second in (None, Trend.FALLS)
            case _:
                return False

    def _moving_in(self, *terms: syntax.Term) -> str:
        return min(name for term in terms for name in names(term) if name in self.moving)

    def _bound_hint(self, name: str, op: str) -> str | None:
        if op in ("=", "!="):
            return "compare from outside the cycle, when the value is final"
        side = "an upper bound, `<` or `<=`" if self.moving[name] is Trend.FALLS else "a lower bound, `>` or `>=`"
        return f"inside the cycle this value can only be held against {side}"

    def _head(self) -> Iterator[Diagnostic]:
        head = self.rule.head
        value = self.values.get(head.relation)
        if value is not None and value.carried:
            yield from self._carried_on(value)
        for place, arg in enumerate(head.args):
            if value is not None and place in value.carried:
                continue
            inner = arg.args if isinstance(arg, syntax.Aggregate) else (arg,)
            for position, term in enumerate(inner):
                trend = self._trend(term)
                if trend is None:
                    continue
                is_value = value is not None and place == value.place and position == len(inner) - 1
                if is_value and value is not None and trend is value.trend:
                    continue
                name = self._moving_in(term)
                yield self._problem(name, term.span or head.span, *self._why_not(arg, trend, is_value))

    def _carried_on(self, value: _Value) -> Iterator[Diagnostic]:
        """What a head carries along that moves: the pair must get better as a whole."""
        head = self.rule.head
        terms = [_inner(head.args[place]) for place in value.carried]
        best = _inner(head.args[value.place])
        for carrier in self.carriers:
            used = [term for term in terms if carrier.names & self._leaves_of(term)]
            if not used:
                continue
            name = min(carrier.names & self._leaves_of(used[0]))
            if carrier.value is None or not self._strictly(best, carrier.value):
                hint = "let the value be a sum with the other one in it, as in `C = C1 + C2`"
                yield self._problem(
                    name, head.span, "carried along with a value that need not get better with it", hint
                )
                continue
            first, *others = carrier.carried or (None,)
            on = [term for term in used if set(carrier.carried) & self._leaves_of(term)]
            kept = len(on) <= 1 and all(first is not None and self._keeps_order(term, first) for term in on)
            if not kept or any(other in self._leaves_of(term) for other in others if other for term in on):
                name = min({carried for carried in carrier.carried if carried} & self._leaves_of(on[0]))
                hint = "carry on the first of them, as it is or at the end of a list, as in `P = [X | P2]`"
                yield self._problem(name, head.span, "carried along in a way that may reverse its order", hint)

    def _leaves_of(self, term: syntax.Term) -> set[str]:
        return leaves(term, self.terms)

    def _strictly(self, term: syntax.Term, name: str) -> bool:
        """Whether a term gets strictly better when a variable does, whatever else does not get worse."""
        match term:
            case syntax.Variable(other):
                return other == name or (other in self.terms and self._strictly(self.terms[other], name))
            case syntax.Binary("+", left, right):
                return self._strictly(left, name) or self._strictly(right, name)
            case syntax.Binary("-", left, right):
                return self._strictly(left, name) and name not in self._leaves_of(right)
            case _:
                return False

    def _keeps_order(self, term: syntax.Term, name: str) -> bool:
        """Whether a term is larger where a variable is, while all else stays."""
        match term:
            case syntax.Variable(other):
                return other == name or (other in self.terms and self._keeps_order(self.terms[other], name))
            case syntax.Call(function, (*before, last)) if function in _JOINS_LISTS:
                return self._keeps_order(last, name) and not any(name in self._leaves_of(item) for item in before)
            case _:
                return False

    def _why_not(self, arg: syntax.Term | syntax.Aggregate, trend: Trend, is_value: bool) -> tuple[str, str | None]:
        relation = self.rule.head.relation
        if trend is Trend.WAVERS:
            return (
                "used in an expression that may reverse its order",
                "use `+`, `larger`, `smaller`, or a factor known not to be negative: add `F >= 0` for a factor `F`",
            )
        if is_value and isinstance(arg, syntax.Aggregate):
            return f"put into `{arg.function}`, which moves the other way", None
        wanted = "min" if trend is Trend.FALLS else "max"
        return (
            f"kept as a plain column of `{relation}`, where older values would stay",
            f"aggregate it there too, as in `{relation}(..., {wanted}<...>)`, or move the rule out of the cycle",
        )

    def _problem(self, name: str, span: Span | None, use: str, hint: str | None = None) -> Diagnostic:
        origin = self.origin[name]
        message = f"`{name}` in {rule_name(self.rule)} is a value of `{origin}` that may still change, and it is {use}"
        note = self.cycle.around(self.rule, origin)
        return Diagnostic("HW504", message, span or self.rule.span, note=note, hint=hint)


def _inner(arg: syntax.Term | syntax.Aggregate) -> syntax.Term:
    return arg.args[0] if isinstance(arg, syntax.Aggregate) else arg


def _together(trends: list[Trend | None], follow: bool) -> Trend | None:
    moving = {trend for trend in trends if trend is not None}
    if not moving:
        return None
    return moving.pop() if follow and len(moving) == 1 else Trend.WAVERS


def _is_nonnegative(term: syntax.Term) -> bool:
    return isinstance(term, syntax.Constant) and isinstance(term.value, int | float) and term.value >= 0


def _is_negative(term: syntax.Term) -> bool:
    return isinstance(term, syntax.Constant) and isinstance(term.value, int | float) and term.value < 0
