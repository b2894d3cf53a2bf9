"""Checked programs evaluated the dumbest way: stratum by stratum, every rule over all rows, until nothing changes.

It reads the model and shares no code with the engine; what an aggregate means it takes from the oracle. It knows
selections, and ignores time and windows. A program that does not settle within the given rounds or rows
raises `Diverges`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from typing import Any

from headwater.core.functions.function import lookup
from headwater.core.functions.registry import FUNCTIONS
from headwater.language import syntax
from headwater.program.model import Program, Relation
from headwater.program.recursion.strata import strata
from tests.oracle.aggregate import aggregate, best_together
from tests.oracle.evaluate import ARITHMETIC, Diverges, compares
from tests.oracle.program import Agg

Row = tuple[Any, ...]
State = dict[str, set[Row]]
Binding = dict[str, Any]


def evaluate(program: Program, data: State, *, rounds: int = 40, rows: int = 250, endless: bool = False) -> State:
    """The state of all relations. With `endless`, what a stratum has reached after all rounds is good enough."""
    state: State = defaultdict(set)
    for name, given in data.items():
        state[name] |= given
    for rule in program.rules:
        if not rule.body:
            state[rule.head.relation].add(tuple(_value(arg, {}) for arg in rule.head.args))
    stated = {name: set(given) for name, given in state.items()}
    relations = {relation.name: relation for relation in program.relations}
    for stratum in strata(program):
        rules = [rule for rule in program.rules if rule.head.relation in stratum.relations]
        for _ in range(rounds):
            derived = {name: _derive(name, rules, state, stated.get(name, set())) for name in stratum.relations}
            derived = {name: _selected(relations[name], found) for name, found in derived.items()}
            if all(state[name] == found for name, found in derived.items()):
                break
            state.update(derived)
            if sum(map(len, derived.values())) > rows and not endless:
                raise Diverges
        else:
            if not endless:
                raise Diverges
    return state


def answers(program: Program, state: State) -> State:
    """What the program shows: every output, filtered by the constants of its queries."""
    if not program.queries:
        return {name: state[name] for name in program.outputs}
    shown: State = defaultdict(set)
    for query in program.queries:
        for row in state[query.atom.relation]:
            if _match(query.atom, row, {}) is not None:
                shown[query.atom.relation].add(_as_written(program.relation(query.atom.relation), row))
    return {name: shown[name] for name in program.outputs}


def _as_written(relation: Relation, row: Row) -> Row:
    """A row with the values that all rows have, and that are not stored."""
    bound = [each.value is not None for each in relation.shown or ()]
    if not any(bound):
        return row
    return tuple(row[each.at] if each.at is not None else each.value.value for each in relation.shown or ())  # type: ignore[union-attr]


def _derive(name: str, rules: list[syntax.Rule], state: State, stated: set[Row]) -> set[Row]:
    own = [rule for rule in rules if rule.head.relation == name]
    shapes = {at: arg for rule in own for at, arg in enumerate(rule.head.args) if isinstance(arg, syntax.Aggregate)}
    if shapes:
        return _aggregated(own, shapes, state)
    return stated | {
        tuple(_value(arg, binding) for arg in rule.head.args) for rule in own for binding in _solve(rule, state)
    }


def _aggregated(rules: list[syntax.Rule], shapes: dict[int, syntax.Aggregate], state: State) -> set[Row]:
    """The distinct bindings of all rules, pooled per group; a rule without an aggregate pools its plain value."""
    groups: dict[Row, dict[Row, list[Row]]] = defaultdict(dict)
    for number, rule in enumerate(rules):
        for binding in _solve(rule, state):
            identity = (number, tuple(sorted(binding.items())))
            args = rule.head.args
            group = tuple(_value(arg, binding) for at, arg in enumerate(args) if at not in shapes)
            groups[group][identity] = [_pooled(args[at], shape, binding, identity) for at, shape in shapes.items()]
    rows = set()
    for group, pooled in groups.items():
        if any(shape.function == "with" for shape in shapes.values()):
            plain_shapes = {at: Agg(shape.function, ()) for at, shape in shapes.items()}
            best = best_together(plain_shapes, [tuple(values) for values in pooled.values()])
        else:
            best = list(product(*_results(shapes, pooled)))
        for chosen in best:
            values, plain = iter(chosen), iter(group)
            rows.add(tuple(next(values if at in shapes else plain) for at in range(len(rules[0].head.args))))
    return rows


def _results(shapes: dict[int, syntax.Aggregate], pooled: dict[Row, list[Row]]) -> list[list[Any]]:
    return [
        aggregate(Agg(shape.function, (), shape.limit), [values[at] for values in pooled.values()])
        for at, shape in enumerate(shapes.values())
    ]


def _pooled(arg: syntax.Term | syntax.Aggregate, shape: syntax.Aggregate, binding: Binding, identity: Row) -> Row:
    if isinstance(arg, syntax.Aggregate):
        return tuple(_value(inner, binding) for inner in arg.args)
    return (_value(arg, binding),) if len(shape.args) == 1 else (identity, _value(arg, binding))


def _selected(relation: Relation, rows: set[Row]) -> set[Row]:
    if not relation.selections:
        return rows
    kept: set[Row] = set()
    for selection in relation.selections:
        choose = min if selection.best == "min" else max
        groups: dict[Row, list[Row]] = defaultdict(list)
        for row in rows:
            groups[tuple(row[at] for at in selection.group)].append(row)
        for members in groups.values():
            best = choose(row[selection.value] for row in members)
            kept.update(row for row in members if row[selection.value] == best)
    return kept


def _solve(rule: syntax.Rule, state: State) -> Iterator[Binding]:
    """All bindings of the body: atoms first, then what computes, then what only checks."""
    order = {syntax.Atom: 0, syntax.Assign: 1, syntax.Comparison: 2, syntax.Condition: 2, syntax.Negation: 2}
    goals = sorted(rule.body, key=lambda goal: order[type(goal)])
    bindings: list[Binding] = [{}]
    for goal in goals:
        bindings = [found for binding in bindings for found in _extend(goal, binding, state)]
    return iter(bindings)


def _extend(goal: Any, binding: Binding, state: State) -> Iterator[Binding]:
    match goal:
        case syntax.Atom(relation=relation):
            for row in state[relation]:
                found = _match(goal, row, binding)
                if found is not None:
                    yield found
        case syntax.Negation(atom=atom):
            if not any(_match(atom, row, binding) is not None for row in state[atom.relation]):
                yield binding
        case syntax.Assign(variable=variable, term=term):
            value = _value(term, binding)
            if value is not None:
                yield {**binding, variable.name: value}
        case syntax.Comparison(op=op, left=left, right=right) if _is_null(left) or _is_null(right):
            same = _is_null(left) and _is_null(right)
            if op == ("=" if same else "!="):  # by identity; a null is neither before nor after anything
                yield binding
        case syntax.Comparison(op=op, left=left, right=right):
            one, other = _value(left, binding), _value(right, binding)
            if compares(op, one, other):
                yield binding
        case syntax.Condition(call=call, negated=negated):
            value = _value(call, binding)
            if value is not None and value is not negated:
                yield binding


def _is_null(term: syntax.Term) -> bool:
    return isinstance(term, syntax.Constant) and term.value is None


def _match(atom: syntax.Atom, row: Row, binding: Binding) -> Binding | None:
    found = dict(binding)
    for arg, value in zip(atom.args, row, strict=True):
        match arg:
            case syntax.Wildcard():
                continue
            case syntax.Constant(value=wanted):
                if wanted != value:
                    return None
            case syntax.Variable(name=name):
                if found.setdefault(name, value) != value:
                    return None
            case _:
                raise AssertionError(arg)
    return found


def _value(term: syntax.Term | syntax.Aggregate, binding: Binding) -> Any:
    match term:
        case syntax.Variable(name=name):
            return binding[name]
        case syntax.Constant(value=value):
            return value
        case syntax.ListTerm(items=items, tail=None):
            return tuple(_value(item, binding) for item in items)
        case syntax.Binary(op=op, left=left, right=right):
            one, other = _value(left, binding), _value(right, binding)
            if one is None or other is None or (op in "/%" and other == 0):
                return None
            return ARITHMETIC[op](one, other)
        case syntax.Call(function=function, args=args):
            values = [_value(arg, binding) for arg in args]
            found = lookup(FUNCTIONS, function)
            assert found is not None
            assert found.scalar is not None
            return None if None in values else found.scalar(*values)
        case _:
            raise AssertionError(term)
