"""The order in which relations are evaluated: components of the dependency graph, the lower ones first."""

from __future__ import annotations

from tests.oracle.program import Atom, Not, Program


class NotStratified(Exception):
    """A relation depends on its own negation."""


def dependencies(program: Program) -> dict[str, set[str]]:
    """For each derived relation, the derived relations that its rules read."""
    reads: dict[str, set[str]] = {relation: set() for relation in program.derived}
    for rule in program.rules:
        for goal in rule.body:
            atom = goal.atom if isinstance(goal, Not) else goal
            if isinstance(atom, Atom) and atom.relation in reads:
                reads[rule.relation].add(atom.relation)
    return reads


def reachable(reads: dict[str, set[str]]) -> dict[str, set[str]]:
    """For each relation, all that it depends on, itself only if it is recursive."""
    found = {relation: set(direct) for relation, direct in reads.items()}
    changed = True
    while changed:
        changed = False
        for below in found.values():
            wider = below.union(*(found[relation] for relation in below))
            if wider != below:
                below |= wider
                changed = True
    return found


def strata(program: Program) -> list[frozenset[str]]:
    """Components in an order in which each reads only itself and earlier ones."""
    below = reachable(dependencies(program))
    components = {
        frozenset({relation, *(other for other in deps if relation in below[other])})
        for relation, deps in below.items()
    }
    for component in components:
        for rule in program.rules:
            for goal in rule.body:
                if rule.relation in component and isinstance(goal, Not) and goal.atom.relation in component:
                    raise NotStratified(f"{rule.relation} reads the negation of {goal.atom.relation}")
    # What a component depends on has strictly fewer relations below it.
    return sorted(
        components, key=lambda component: len(set[str]().union(*(below[name] for name in component)) | component)
    )
