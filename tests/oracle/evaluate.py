"""What a program means: the least fixpoint, stratum by stratum, by naive evaluation over Python sets.

`evaluate` promises the meaning that every engine shares, and nothing about speed. A stratum is evaluated
from nothing: its relations start empty and are recomputed as a whole, `I := T(I)`, until they stop
changing. For plain rules that is the textbook's fixpoint. For aggregates inside recursion it gives the
one reading that does not depend on any order of evaluation: each best value is supported by the final
values of the others, and no row survives that a worse, earlier value had derived. For staged and for
linear sums it runs stage after stage until nothing moves.

A program whose fixpoint grows past the bounds raises `Diverges`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, assert_never

from tests.oracle.aggregate import aggregate, best_together
from tests.oracle.functions import ABOUT_NULLS, FUNCTIONS, NOTHING
from tests.oracle.program import (
    Agg,
    Assign,
    Atom,
    Compare,
    Decode,
    Encode,
    Goal,
    Larger,
    Match,
    Not,
    Program,
    Row,
    Rule,
    State,
    Test,
    variables,
)
from tests.oracle.strata import strata
from tests.oracle.terms import Call, Const, Items, Link, Op, Term, Value, Var, Wild

Binding = dict[str, Value]

ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": operator.lt, ">": operator.gt}

ARITHMETIC: Mapping[str, Callable[[Any, Any], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda one, other: (one * 1.0) / (other * 1.0),
    "%": operator.mod,
}


class Diverges(Exception):
    """The fixpoint did not settle within the bounds."""


class Unsafe(Exception):
    """A variable of a head, or of a goal that tests, gets its value nowhere."""


def evaluate(program: Program, base: Mapping[str, set[Row]], *, rounds: int = 300, size: int = 20_000) -> State:
    """Every derived relation of the program over these base rows (the program's own facts join them)."""
    state: State = {declared.name: set(base.get(declared.name, ())) for declared in program.bases}
    for relation, rows in program.facts().items():
        state.setdefault(relation, set()).update(rows)
    derived = program.derived
    for rule in program.rules:
        require_safe(rule)
    for relation in derived:
        state[relation] = set()
    for stratum in strata(program):
        rules = [rule for rule in program.rules if rule.relation in stratum]
        for _ in range(rounds):
            after = _consequences(rules, stratum, state, size)
            if all(after[relation] == state[relation] for relation in stratum):
                break
            state.update(after)
        else:
            raise Diverges(f"{sorted(stratum)} still change after {rounds} rounds")
    return {relation: state[relation] for relation in derived}


def _consequences(rules: list[Rule], stratum: frozenset[str], state: State, size: int) -> State:
    """`T(I)`: what the rules derive, in one step, from the state as it is."""
    after: State = {}
    for relation in stratum:
        own = [rule for rule in rules if rule.relation == relation]
        if any(isinstance(arg, Agg) for rule in own for arg in rule.args):
            after[relation] = _aggregated(own, state, size)
        else:
            after[relation] = {
                tuple(_head_value(arg, found) for arg in rule.args)
                for rule in own
                for found in bindings(rule, state, size)
            }
        if len(after[relation]) > size:
            raise Diverges(f"{relation} grows past {size} rows")
    return after


def _aggregated(rules: list[Rule], state: State, size: int) -> set[Row]:
    """The bindings of all rules, pooled per group; a rule without an aggregate pools its plain value."""
    shapes = {position: arg for rule in rules for position, arg in enumerate(rule.args) if isinstance(arg, Agg)}
    groups: dict[Row, list[Row]] = {}
    for number, rule in enumerate(rules):
        for found in bindings(rule, state, size):
            group = tuple(_head_value(arg, found) for at, arg in enumerate(rule.args) if at not in shapes)
            identity = (number, tuple(sorted(found.items())))
            pooled = tuple(_pooled(rule.args[at], shape, found, identity) for at, shape in shapes.items())
            groups.setdefault(group, []).append(pooled)
    rows = set()
    for group, pools in groups.items():
        if any(shape.function == "with" for shape in shapes.values()):
            rows |= {_filled(group, chosen, shapes, len(rules[0].args)) for chosen in best_together(shapes, pools)}
            continue
        results = [
            list(map(fits, aggregate(shape, [pooled[at] for pooled in pools])))
            for at, shape in enumerate(shapes.values())
        ]
        rows |= {_filled(group, chosen, shapes, len(rules[0].args)) for chosen in product(*results)}
    return rows


def _filled(group: Row, chosen: Row, shapes: Mapping[int, Agg], width: int) -> Row:
    values, plain = iter(chosen), iter(group)
    return tuple(next(values) if at in shapes else next(plain) for at in range(width))


def _pooled(arg: Term | Agg, shape: Agg, found: Binding, identity: Value) -> Row:
    """What one binding brings to an aggregate: its value, or for the forms over pairs `(K, N)`."""
    if isinstance(arg, Agg):
        return tuple(_head_value(term, found) for term in arg.args)
    value = _head_value(arg, found)
    return (value,) if len(shape.args) == 1 else (identity, value)


def bindings(rule: Rule, state: Mapping[str, set[Row]], size: int = 20_000) -> list[Binding]:
    """The distinct bindings of the body's named variables under which every goal holds."""
    found: list[Binding] = [{}]
    for goal in _in_order(rule.body):
        found = list(_distinct(_extend(goal, found, state)))
        if len(found) > size:
            raise Diverges(f"a rule of {rule.relation} has more than {size} bindings")
    return found


def _in_order(body: Iterable[Goal]) -> Iterator[Goal]:
    """The goals in an order in which each has what it needs: tests as early as possible."""
    waiting, bound = list(body), set[str]()
    while waiting:
        ready = sorted((goal for goal in waiting if needs(goal) <= bound), key=lambda goal: isinstance(goal, Atom))
        if not ready:
            raise Unsafe(f"{waiting} have variables without a value")
        chosen = ready[0]
        waiting.remove(chosen)
        bound.update(variables(chosen))
        yield chosen


def require_safe(rule: Rule) -> None:
    bound = {name for goal in _in_order(rule.body) for name in variables(goal)}
    if unbound := {name for arg in rule.args for name in variables(arg)} - bound:
        raise Unsafe(f"{unbound} of the head of {rule.relation} have no value")


def needs(goal: Goal) -> set[str]:
    """The variables that must have a value before the goal can be looked at."""
    match goal:
        case Atom():
            return set()
        case Assign(_, term):
            return set(variables(term))
        case Encode(first, second, _):
            return {*variables(first), *variables(second)}
        case Larger(_, left, right):
            return {*variables(left), *variables(right)}
        case Decode(pair):
            return set(variables(pair))
        case Match(whole):
            return set(variables(whole))
        case Not() | Compare() | Test():
            return set(variables(goal))
        case _:
            assert_never(goal)


def _extend(goal: Goal, found: list[Binding], state: Mapping[str, set[Row]]) -> Iterator[Binding]:
    match goal:
        case Atom():
            yield from _join(goal, found, state)
        case Not(atom):
            for binding in found:
                if not any(True for _ in _join(atom, [binding], state)):
                    yield binding
        case Compare(op, left, right):
            for binding in found:
                one, other = value_of(left, binding), value_of(right, binding)
                if compares(op, one, other):
                    yield binding
        case Assign(variable, term):
            for binding in found:
                yield from _bind(binding, variable, value_of(term, binding))
        case Test(call, negated):
            for binding in found:
                truth = value_of(call, binding)
                if truth is not None and truth is not NOTHING and bool(truth) != negated:
                    yield binding
        case Encode(first, second, pair):
            for binding in found:
                yield from _bind(binding, pair, value_of(Items((first, second)), binding))
        case Decode(pair, first, second):
            for binding in found:
                if binding[pair.name] is None:
                    continue
                one, other = binding[pair.name]
                for half in _bind(binding, first, one):
                    yield from _bind(half, second, other)
        case Match(whole, items, rest):
            for binding in found:
                yield from _taken_apart(binding, binding[whole.name], items, rest)
        case Larger(variable, left, right):
            for binding in found:
                pair = (value_of(left, binding), value_of(right, binding))
                yield from _bind(binding, variable, None if None in pair else max(pair))
        case _:
            assert_never(goal)


def _taken_apart(
    binding: Binding, value: Value, items: tuple[Var | Wild, ...], rest: Var | Wild | None
) -> Iterator[Binding]:
    if value is None or len(value) < len(items) or (rest is None and len(value) != len(items)):
        return
    parts: list[tuple[Var | Wild, Value]] = list(zip(items, value, strict=False))
    if rest is not None:
        parts.append((rest, value[len(items) :]))
    halves = [binding]
    for variable, part in parts:
        halves = [more for half in halves for more in _bind(half, variable, part)]
    yield from halves


def _join(atom: Atom, found: list[Binding], state: Mapping[str, set[Row]]) -> Iterator[Binding]:
    """Every binding with every row it agrees with; rows are looked up by what the bindings already fix."""
    if not found:
        return
    fixed = [at for at, arg in enumerate(atom.args) if isinstance(arg, Const) or _is_bound(arg, found[0])]
    lookup: dict[Row, list[Row]] = {}
    for row in state.get(atom.relation, ()):
        lookup.setdefault(tuple(row[at] for at in fixed), []).append(row)
    for binding in found:
        key = tuple(value_of(atom.args[at], binding) for at in fixed)
        for row in lookup.get(key, ()):
            extended: Binding | None = dict(binding)
            for arg, value in zip(atom.args, row, strict=True):
                if isinstance(arg, Var) and extended is not None and extended.setdefault(arg.name, value) != value:
                    extended = None
            if extended is not None:
                yield extended


def _is_bound(arg: Term, binding: Binding) -> bool:
    return isinstance(arg, Var) and arg.name in binding


def compares(op: str, one: Value, other: Value) -> bool:
    """`=` and `!=` take null for a value like others; an order never holds for it."""
    if one is NOTHING or other is NOTHING:
        return False
    if (one is None or other is None) and op not in ("=", "!="):
        return False
    if {type(one), type(other)} == {int, float}:  # an int beside a float counts as a float
        one, other = float(one), float(other)  # type: ignore[arg-type]
    if op in ORDER:
        return ORDER[op](one, other)
    if op in ("<=", ">="):
        return one == other or ORDER[op[0]](one, other)
    return (one == other) == (op == "=")


def _bind(binding: Binding, variable: Var | Wild, value: Value) -> Iterator[Binding]:
    """The binding with one more variable; nothing if there is no value or the variable has another one."""
    if value is NOTHING:
        return
    if isinstance(variable, Wild):
        yield binding
    elif variable.name not in binding:
        yield {**binding, variable.name: value}
    elif binding[variable.name] == value:
        yield binding


def _distinct(found: Iterable[Binding]) -> Iterator[Binding]:
    seen = set()
    for binding in found:
        identity = tuple(sorted(binding.items()))
        if identity not in seen:
            seen.add(identity)
            yield binding


def _head_value(arg: Term | Agg, binding: Binding) -> Value:
    assert not isinstance(arg, Agg)
    value = value_of(arg, binding)
    assert value is not NOTHING, "heads hold variables and constants"
    return value


def value_of(term: Term, binding: Binding) -> Value:
    """The value of a term, NOTHING where a partial function has none; null if anything it is made of is null."""
    match term:
        case Var(name):
            return binding[name]
        case Const(value):
            return value
        case Items(items, tail):
            values = tuple(value_of(item, binding) for item in items)
            rest = () if tail is None else value_of(tail, binding)
            missing = _missing((*values, rest))
            return values + rest if missing is _FOUND else missing
        case Link(args=args):
            return (value_of(args[0], binding), value_of(args[1], binding))
        case Call(function, args):
            values = tuple(value_of(arg, binding) for arg in args)
            if function in ABOUT_NULLS:
                return NOTHING if values[0] is NOTHING else ABOUT_NULLS[function](*values)
            missing = _missing(values)
            return FUNCTIONS[function](*values) if missing is _FOUND else missing
        case Op(op, left, right):
            one, other = value_of(left, binding), value_of(right, binding)
            missing = _missing((one, other))
            if missing is not _FOUND:
                return missing
            return NOTHING if op in "/%" and other == 0 else fits(ARITHMETIC[op](one, other))
        case Wild():
            raise ValueError("a wildcard has no value")
        case _:
            assert_never(term)


def fits(value: Value) -> Value:
    """The value, if 64 bits hold it: with a larger one, an engine must refuse the transaction."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Diverges(f"{value} has more than 64 bits")
    return value


_FOUND = object()


def _missing(values: tuple[Value, ...]) -> Value:
    """What a term of these values is if one of them is missing: null before NOTHING."""
    if None in values:
        return None
    return NOTHING if NOTHING in values else _FOUND
