"""The oracle's own check: the same meaning by brute force, for programs that invent few values.

Every rule is tried under every assignment of its variables from the values at hand, goal by goal, with no
joins, no ordering and no indexes; a relation grows by one derived row at a time. Aggregates are left to
`tests.oracle.evaluate`: `brute` takes plain rules only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tests.oracle.evaluate import compares, value_of
from tests.oracle.functions import NOTHING
from tests.oracle.program import Agg, Assign, Atom, Compare, Goal, Not, Program, Row, Rule, State, variables
from tests.oracle.terms import Const, Value, Var, Wild


def brute(program: Program, base: Mapping[str, set[Row]]) -> State:
    """Every derived relation, in rank order: a relation is full before anything reads its negation."""
    state: State = {relation: set(rows) for relation, rows in base.items()}
    for relation, rows in program.facts().items():
        state.setdefault(relation, set()).update(rows)
    ranks = _ranks(program)
    for rank in range(max(ranks.values(), default=0) + 1):
        rules = [rule for rule in program.rules if rule.body and ranks[rule.relation] == rank]
        while new := _new_rows(rules, state):
            for relation, row in new:
                state.setdefault(relation, set()).add(row)
    return {relation: state.get(relation, set()) for relation in program.derived}


def _ranks(program: Program) -> dict[str, int]:
    """The least numbers that never fall along a rule and rise across a negation."""
    ranks = dict.fromkeys(program.derived, 0)
    for _ in range(len(ranks) + 1):
        for rule in program.rules:
            for goal in rule.body:
                if isinstance(goal, Atom) and goal.relation in ranks:
                    ranks[rule.relation] = max(ranks[rule.relation], ranks[goal.relation])
                elif isinstance(goal, Not) and goal.atom.relation in ranks:
                    ranks[rule.relation] = max(ranks[rule.relation], ranks[goal.atom.relation] + 1)
    return ranks


def _new_rows(rules: list[Rule], state: State) -> set[tuple[str, Row]]:
    found = set()
    for rule in rules:
        for binding in _assignments(rule, state):
            if all(_holds(goal, binding, state) for goal in rule.body):
                row = tuple(value_of(arg, binding) for arg in rule.args if not isinstance(arg, Agg))
                if row not in state.get(rule.relation, set()):
                    found.add((rule.relation, row))
    return found


def _assignments(rule: Rule, state: State) -> Iterator[dict[str, Value]]:
    """Every way to give the rule's variables values: those of rows at hand, and computed ones by their assignment."""
    computed = {goal.variable.name: goal.term for goal in rule.body if isinstance(goal, Assign)}
    free = sorted({name for goal in rule.body for name in variables(goal)} - computed.keys())
    domain = {(type(value), value) for rows in state.values() for row in rows for value in row}
    for chosen in product(*([value for _, value in domain] for _ in free)):
        binding = dict(zip(free, chosen, strict=True))
        try:
            while waiting := [name for name in computed if name not in binding]:
                ready = [name for name in waiting if binding.keys() >= set(variables(computed[name]))]
                binding.update({name: value_of(computed[name], binding) for name in ready})
        except TypeError:
            continue  # a sum of a string: no typed program gets there
        if NOTHING not in binding.values():
            yield binding


def _holds(goal: Goal, binding: dict[str, Value], state: State) -> bool:
    match goal:
        case Atom():
            return any(_matches(goal, row, binding) for row in state.get(goal.relation, ()))
        case Not(atom):
            return not any(_matches(atom, row, binding) for row in state.get(atom.relation, ()))
        case Compare(op, left, right):
            one, other = value_of(left, binding), value_of(right, binding)
            return (type(one) is type(other) or None in (one, other)) and compares(op, one, other)
        case Assign(variable, term):
            return bool(binding[variable.name] == value_of(term, binding))
        case _:
            raise ValueError(f"brute force does not know {goal}")


def _matches(atom: Atom, row: Row, binding: dict[str, Value]) -> bool:
    for arg, value in zip(atom.args, row, strict=True):
        match arg:
            case Wild():
                continue
            case Const(wanted):
                pass
            case Var(name):
                wanted = binding[name]
            case _:
                raise ValueError(f"not an argument of an atom: {arg}")
        if type(wanted) is not type(value) or wanted != value:
            return False
    return True
