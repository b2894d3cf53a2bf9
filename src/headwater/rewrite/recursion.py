"""Which relations define each other, directly or through others; positive and negated goals count alike."""

from __future__ import annotations

from headwater.program.graph import components
from headwater.program.model import Program
from headwater.program.terms import body_atoms


def cycles(program: Program) -> dict[str, frozenset[str]]:
    """For each recursive relation, the relations of its cycle, itself included; others are not in the mapping."""
    reads: dict[str, list[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, []).extend(atom.relation for atom, _ in body_atoms(rule))
    cycle_of: dict[str, frozenset[str]] = {}
    for members in components(reads):
        if len(members) > 1 or members[0] in reads[members[0]]:
            cycle_of.update(dict.fromkeys(members, frozenset(members)))
    return cycle_of
