"""Keep what two goals of a recursive rule give, each once, where a variable dies between them and the rest.

`points(Y, W) :- load(Y, X), points(X, Z), points(Z, W)` asks for the rows of Z once for every X that leads from Y to
Z. With `points'part1(Y, Z) :- load(Y, X), points(X, Z)` it asks once for each Y and Z, and a new `points(Z, W)` meets
each Y directly. The answers are the same: X is named nowhere else, so bindings that differ in X alone derive the same
row. It costs the memory of the pairs. Points-to analyses take a fifth to a third of the time.

It applies by the shape of a rule alone, because what is stored depends on it and data changes: the rule is
recursive through two goals or more, one of which stays outside the two that are put together; these share a variable
that nothing else in the rule names, and one goal of the two is recursive. Where a rule recurs once only, as in same
generation, most such pairs have one way each, and nothing is put together.

Left alone: heads that aggregate (they range over all bindings), relations that keep the best rows, programs with time
or locations, and rules that say in which order they are joined. `why` shows the two goals where the pair stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations

from headwater.language.syntax import Aggregate, Atom, Constant, Head, Kind, ListTerm, Rule, Variable
from headwater.language.terms import goal_names, positive_atoms
from headwater.program.model import Column, Program, Relation
from headwater.program.recursion.strata import strata


def shared_prefix(program: Program) -> Program:
    relations = {relation.name: relation for relation in program.relations}
    if not all(map(_is_plain, program.relations)):
        return program
    together = {
        name: stratum.relations for stratum in strata(program) if stratum.recursive for name in stratum.relations
    }
    made: list[Relation] = []
    rules: list[Rule] = []
    for rule in program.rules:
        name = rule.head.relation
        inside = frozenset(together.get(name, ()))
        count = sum(relation.part_of == name for relation in made)
        while inside and _may_change(rule, relations[name]):
            pair = _pair(rule, inside)
            if pair is None:
                break
            count += 1
            rule, part, defined = _put_together(rule, pair, f"{name}'part{count}")
            inside |= {part.name}
            made.append(part)
            rules.append(defined)
        rules.append(rule)
    if not made:
        return program
    return replace(program, relations=(*program.relations, *made), rules=tuple(rules))


def _is_plain(relation: Relation) -> bool:
    timed = relation.kind is Kind.STREAM or relation.ttl is not None or relation.window is not None
    return not timed and relation.time is None and relation.location is None


def _may_change(rule: Rule, relation: Relation) -> bool:
    ordered = any(atom.turn is not None for atom in positive_atoms(rule))
    aggregates = any(isinstance(arg, Aggregate) for arg in rule.head.args)
    return not relation.selections and not aggregates and not ordered


def _pair(rule: Rule, inside: frozenset[str]) -> tuple[Atom, Atom] | None:
    """The first two goals that are worth putting together; of several such pairs one with a goal from outside."""
    atoms = list(positive_atoms(rule))
    found = []
    for one, other in combinations(atoms, 2):
        rest = [goal for goal in rule.body if goal is not one and goal is not other]
        left = [goal for goal in rest if isinstance(goal, Atom)]
        shared = goal_names(one) & goal_names(other)
        asked = set(_head_names(rule.head)).union(*map(goal_names, rest))
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


def _head_names(head: Head) -> Iterator[str]:
    return (arg.name for arg in head.args if isinstance(arg, Variable))


def _put_together(rule: Rule, pair: tuple[Atom, Atom], name: str) -> tuple[Rule, Relation, Rule]:
    """The rule with one goal in the place of two, the relation of that goal, and its rule."""
    one, other = (_place(rule, atom) for atom in pair)
    rest = [goal for at, goal in enumerate(rule.body) if at not in (one, other)]
    asked = set(_head_names(rule.head)).union(*map(goal_names, rest))
    live = [variable for variable in _variables(pair) if variable in asked]
    columns = tuple(Column(variable.lower()) for variable in live)
    part = Relation(name, columns, derived=True, part_of=rule.head.relation, span=rule.span)
    terms = tuple(map(Variable, live))
    goal = Atom(name, terms, span=pair[0].span)
    kept = tuple(goal if at == one else each for at, each in enumerate(rule.body) if at != other)
    written = rule.origin or rule
    defined = Rule(Head(name, terms, span=rule.head.span), pair, origin=written, span=rule.span)
    return replace(rule, body=kept, origin=written), part, defined


def _place(rule: Rule, atom: Atom) -> int:
    """Where an atom stands in a body, which may have one that is equal."""
    return next(at for at, goal in enumerate(rule.body) if goal is atom)


def _variables(atoms: Iterable[Atom]) -> Iterator[str]:
    names = (arg.name for atom in atoms for arg in atom.args if isinstance(arg, Variable))
    return iter(dict.fromkeys(names))
