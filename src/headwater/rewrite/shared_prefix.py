"""Keep what two goals of a recursive rule give, each once, where a variable dies between them and the rest.

`points(Y, W) :- load(Y, X), points(X, Z), points(Z, W)` asks for the rows of Z once for every X that leads from Y to
Z. With `points'part1(Y, Z) :- load(Y, X), points(X, Z)` it asks once for each Y and Z, and a new `points(Z, W)` meets
each Y directly. The answers are the same: X is named nowhere else, so bindings that differ in X alone derive the same
row. It costs the memory of the pairs. Points-to analyses take a fifth to a third of the time.

It applies by the shape of a rule alone, because what is stored depends on it and data changes: the rule is
recursive through two goals or more, one of which stays outside the two that are put together; these share a variable
that nothing else in the rule names, and one goal of the two is recursive. Where a rule recurs once only, as in same
generation, most such pairs have one way each, and nothing is put together.

Rules that have the same two goals, up to the names of variables, share what is kept. Nothing is kept only because
several rules have it: reading a join from a relation takes as long as joining again (docs/optimiser.md).

Left alone: heads that aggregate (they range over all bindings), relations that keep the best rows, programs with time
or locations, and rules that say in which order they are joined. `why` shows the two goals where the pair stands.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from headwater.language.syntax import Atom, Constant, ListTerm, Rule, Variable
from headwater.language.terms import goal_names, positive_atoms
from headwater.program.model import Program, Relation
from headwater.program.recursion.strata import strata
from headwater.rewrite.parts import (
    Part,
    aggregates,
    head_names,
    is_ordered,
    knows_no_place_or_time,
    part_of,
    variables_of,
)


def shared_prefix(program: Program) -> Program:
    relations = {relation.name: relation for relation in program.relations}
    if not knows_no_place_or_time(program):
        return program
    together = {
        name: stratum.relations for stratum in strata(program) if stratum.recursive for name in stratum.relations
    }
    made: list[Relation] = []
    shapes: dict[object, Part] = {}
    rules: list[Rule] = []
    for rule in program.rules:
        name = rule.head.relation
        inside = frozenset(together.get(name, ()))
        count = sum(relation.part_of == name for relation in made)
        while inside and _may_change(rule, relations[name]):
            pair = _pair(rule, inside)
            if pair is None:
                break
            rule, part, defined = _put_together(rule, pair, shapes, f"{name}'part{count + 1}")
            inside |= {part.name}
            if part not in made:
                count += 1
                made.append(part)
                rules.append(defined)
        rules.append(rule)
    if not made:
        return program
    return replace(program, relations=(*program.relations, *made), rules=tuple(rules))


def _may_change(rule: Rule, relation: Relation) -> bool:
    return not relation.selections and not aggregates(rule) and not is_ordered(rule)


def _pair(rule: Rule, inside: frozenset[str]) -> tuple[Atom, Atom] | None:
    """The first two goals that are worth putting together; of several such pairs one with a goal from outside."""
    atoms = list(positive_atoms(rule))
    found = []
    for one, other in combinations(atoms, 2):
        rest = [goal for goal in rule.body if goal is not one and goal is not other]
        left = [goal for goal in rest if isinstance(goal, Atom)]
        shared = goal_names(one) & goal_names(other)
        asked = set(head_names(rule.head)).union(*map(goal_names, rest))
        recursive = [atom for atom in (one, other) if atom.relation in inside]
        meets = any(
            atom.relation in inside and goal_names(atom) & (goal_names(one) | goal_names(other)) for atom in left
        )
        if recursive and meets and shared - asked and _simple(one) and _simple(other):
            found.append((len(recursive), one, other))
    return min(found, key=lambda pair: pair[0])[1:] if found else None


def _simple(atom: Atom) -> bool:
    """Whether it says nothing of its columns but by variables."""
    return not any(isinstance(arg, Constant | ListTerm) for arg in atom.args)


def _put_together(
    rule: Rule, pair: tuple[Atom, Atom], shapes: dict[object, Part], name: str
) -> tuple[Rule, Relation, Rule]:
    """The rule with one goal in the place of two, the relation of that goal, and its rule.

    A pair that differs only in names from one that was put together before shares its relation.
    """
    one, other = (_place(rule, atom) for atom in pair)
    rest = [goal for at, goal in enumerate(rule.body) if at not in (one, other)]
    asked = set(head_names(rule.head)).union(*map(goal_names, rest))
    live = [variable for variable in variables_of(pair) if variable in asked]
    part = shapes.setdefault(_shape(pair, live), part_of(rule, name, pair, live))
    goal = replace(part.goal, args=tuple(map(Variable, live)), span=pair[0].span)
    kept = tuple(goal if at == one else each for at, each in enumerate(rule.body) if at != other)
    return replace(rule, body=kept, origin=rule.origin or rule), part.relation, part.defined


def _shape(pair: tuple[Atom, Atom], live: list[str]) -> object:
    """Two goals and the variables that others ask for, whatever these are called."""
    number = {name: at for at, name in enumerate(variables_of(pair))}
    atoms = (
        (atom.relation, tuple(number[arg.name] if isinstance(arg, Variable) else arg for arg in atom.args))
        for atom in pair
    )
    return tuple(atoms), tuple(number[name] for name in live)


def _place(rule: Rule, atom: Atom) -> int:
    """Where an atom stands in a body, which may have one that is equal."""
    return next(at for at, goal in enumerate(rule.body) if goal is atom)
