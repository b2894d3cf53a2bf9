"""What justifies count, sum or avg inside a recursion: explicit stages, or linearity in a sum.

*Stages.* Every relation of the cycle has a stage column such that each rule copies the stage of its recursive
goals or counts it up by a positive constant (`J1 = J + 1`), and no way round the cycle leaves the stage as it is.
Then the rows of one stage rest on earlier stages, or on relations worked out before them within the stage, and
the program is locally stratified (004, Query 6).

*Linear sums.* Every relation of the cycle is a sum, each of its recursive rules reads one recursive goal, and that
goal's value reaches the sum by multiplication and division with values from outside the cycle, once (004, Query 7).
Then a change of the value changes the sum in proportion, and deltas can be passed on as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from headwater.core.graph import components, reachable
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import assigned, body_atoms, goal_names, names
from headwater.program.recursion.aggregates import aggregate_columns


def stage_columns(rules: Iterable[syntax.Rule], cycle: frozenset[str]) -> dict[str, int] | None:
    """The stage column of every relation of the cycle, or None if there are no stages. `rules` are all its rules."""
    recursive = [rule for rule in rules if any(atom.relation in cycle for atom, _ in body_atoms(rule))]
    if not recursive:
        return None
    by_head: dict[str, list[syntax.Rule]] = {}
    for rule in recursive:
        by_head.setdefault(rule.head.relation, []).append(rule)
    start = min(by_head, key=lambda name: len(by_head[name][0].head.args))
    for column in range(len(by_head[start][0].head.args)):
        found = _spread(by_head, cycle, start, column)
        if found is not None:
            return found
    return None


def _spread(
    by_head: dict[str, list[syntax.Rule]], cycle: frozenset[str], start: str, column: int
) -> dict[str, int] | None:
    """The stage columns that follow when `column` is the stage of `start`, if they agree and every cycle counts up."""
    stages = {start: column}
    waiting = [start]
    level: dict[str, set[str]] = {name: set() for name in cycle}  # edges that leave the stage as it is
    while waiting:
        name = waiting.pop()
        for rule in by_head.get(name, ()):
            stage = rule.head.args[stages[name]]
            if not isinstance(stage, syntax.Variable):
                return None
            origin, step = _origin(stage.name, assigned(rule))
            for atom, _ in body_atoms(rule):
                if atom.relation not in cycle:
                    continue
                place = _place(atom, origin, stages.get(atom.relation))
                if place is None:
                    return None
                if atom.relation not in stages:
                    stages[atom.relation] = place
                    waiting.append(atom.relation)
                if step == 0:
                    level[name].add(atom.relation)
    if any(len(members) > 1 or members[0] in level[members[0]] for members in components(level)):
        return None
    return stages if len(stages) == len(cycle) else None


def _origin(name: str, terms: dict[str, syntax.Term]) -> tuple[str, int]:
    """The variable that a stage is counted up from, and by how much: `J1 = J + 1` is ("J", 1)."""
    step = 0
    while name in terms:
        match terms[name]:
            case syntax.Variable(other):
                name = other
            case syntax.Binary("+", syntax.Variable(other), syntax.Constant(int() as more, Type.INT)) | syntax.Binary(
                "+", syntax.Constant(int() as more, Type.INT), syntax.Variable(other)
            ) if more > 0:
                name, step = other, step + more
            case _:
                break
    return name, step


def _place(atom: syntax.Atom, variable: str, wanted: int | None) -> int | None:
    places = [place for place, arg in enumerate(atom.args) if isinstance(arg, syntax.Variable) and arg.name == variable]
    if wanted is not None:
        return wanted if wanted in places else None
    return places[0] if places else None


def is_linear_sum(rules: Iterable[syntax.Rule], cycle: frozenset[str]) -> bool:
    """Whether every relation of the cycle is a sum that the cycle's values reach linearly."""
    rules = tuple(rules)
    value = {
        rule.head.relation: aggregate_columns(rule.head)[0] for rule in rules if len(aggregate_columns(rule.head)) == 1
    }
    return set(value) == cycle and all(_is_linear(rule, cycle, value) for rule in rules)


def _is_linear(rule: syntax.Rule, cycle: frozenset[str], value: dict[str, int]) -> bool:
    recursive = [(atom, negated) for atom, negated in body_atoms(rule) if atom.relation in cycle]
    if not recursive:
        return True
    if len(recursive) != 1 or recursive[0][1]:
        return False
    atom = recursive[0][0]
    total = rule.head.args[value[rule.head.relation]]
    weight = atom.args[value[atom.relation]]
    if not isinstance(total, syntax.Aggregate) or total.function != "sum" or not isinstance(weight, syntax.Variable):
        return False
    summed = total.args[0]
    if not isinstance(summed, syntax.Variable):
        return False
    terms = assigned(rule)
    carriers = _chain(summed.name, weight.name, terms)
    if carriers is None:
        return False
    return all(_uses(rule, name) == 2 for name in carriers)  # where it comes from and where it goes


def _chain(summed: str, weight: str, terms: dict[str, syntax.Term]) -> list[str] | None:
    """The variables through which the weight reaches the sum, if each step is a product or quotient in it."""
    carriers = [summed]
    while carriers[-1] != weight:
        term = terms.get(carriers[-1])
        following = None if term is None else _factor(term, terms, weight)
        if following is None or following in carriers:
            return None
        carriers.append(following)
    return carriers


def _factor(term: syntax.Term, terms: dict[str, syntax.Term], weight: str) -> str | None:
    """The one variable that carries the weight in a product, never in a divisor."""
    match term:
        case syntax.Variable(name):
            return name if _reaches(name, terms, weight) else None
        case syntax.Binary("*", left, right):
            sides = [side for side in (left, right) if any(_reaches(name, terms, weight) for name in names(side))]
            return _factor(sides[0], terms, weight) if len(sides) == 1 else None
        case syntax.Binary("/", left, right):
            if any(_reaches(name, terms, weight) for name in names(right)):
                return None
            return _factor(left, terms, weight)
        case syntax.Binary() | syntax.Constant() | syntax.Wildcard() | syntax.ListTerm() | syntax.Call():
            return None
        case _:
            assert_never(term)


def _reaches(name: str, terms: dict[str, syntax.Term], weight: str) -> bool:
    return weight in reachable(name, {each: names(term) for each, term in terms.items() if each != weight})


def _uses(rule: syntax.Rule, name: str) -> int:
    """How often a variable stands in the head and in atoms, and in how many other goals."""
    in_head = sum(name in names(arg) for arg in rule.head.args)
    in_body = 0
    for goal in rule.body:
        if isinstance(goal, syntax.Atom):
            in_body += sum(name in names(arg) for arg in goal.args)
        else:
            in_body += name in goal_names(goal)
    return in_head + in_body
