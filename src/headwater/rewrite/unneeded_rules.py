"""Drop the rules that no query and no alarm needs.

Guarantees: every queried view keeps its rows. A relation that only dropped rules defined goes with them. Base
relations stay, with the facts stated for them, even when nothing reads them: their data may still arrive and
must find a place.
Without a query every derived relation is an output, and nothing is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.terms import body_atoms
from headwater.program.model import Program


def unneeded_rules(program: Program) -> Program:
    if not program.queries:
        return program
    needed = _needed(program)
    dropped = {relation.name for relation in program.relations if relation.derived and relation.name not in needed}
    if not dropped:
        return program
    return replace(
        program,
        relations=tuple(relation for relation in program.relations if relation.name not in dropped),
        rules=tuple(rule for rule in program.rules if rule.head.relation not in dropped),
    )


def _needed(program: Program) -> set[str]:
    """The queried relations and all that their rules read, directly or not."""
    reads: dict[str, set[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, set()).update(atom.relation for atom, _ in body_atoms(rule))
    needed: set[str] = set()
    frontier = [query.atom.relation for query in program.queries]
    frontier += [relation.name for relation in program.relations if relation.alarm is not None]
    while frontier:
        name = frontier.pop()
        if name not in needed:
            needed.add(name)
            frontier.extend(reads.get(name, ()))
    return needed
