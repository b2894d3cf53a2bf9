"""Cycles of relations, and how a message shows one: `p -> q -> p`, with the rules that make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from headwater.core.graph import components, way
from headwater.language.syntax import Rule
from headwater.language.terms import body_atoms
from headwater.program.model import Program
from headwater.program.names import rule_name

_ENDS = 6


@dataclass(frozen=True, slots=True)
class Cycle:
    """Relations that define each other, with all rules for them; `reads` says which rule takes one to another."""

    relations: frozenset[str]
    rules: tuple[Rule, ...]
    reads: dict[str, dict[str, Rule]]

    def around(self, rule: Rule, read: str) -> str:
        """A note on the shortest way round from the rule's head through `read` and back, and the rules on that way."""
        head = rule.head.relation
        path = (head, *way(self.reads, read, head))
        used = [rule, *(self.reads[here][there] for here, there in pairwise(path[1:]))]
        named = dict.fromkeys(rule_name(each) for each in used)
        return f"the cycle is {' -> '.join(_shortened(path))}, made by {', '.join(_shortened(named))}"

    def recursive_rules(self) -> Iterator[Rule]:
        return (rule for rule in self.rules if any(atom.relation in self.relations for atom, _ in body_atoms(rule)))


def _shortened(names: Iterable[str]) -> list[str]:
    """A long way is shown by its beginning and its end."""
    shown = list(names)
    return shown if len(shown) <= 2 * _ENDS else [*shown[:_ENDS], "...", *shown[-_ENDS:]]


def cycles(program: Program) -> list[Cycle]:
    """The recursive parts of a program, in dependency order."""
    reads: dict[str, dict[str, Rule]] = {}
    rules: dict[str, list[Rule]] = {}
    for rule in program.rules:
        found = reads.setdefault(rule.head.relation, {})
        rules.setdefault(rule.head.relation, []).append(rule)
        for atom, _ in body_atoms(rule):
            found.setdefault(atom.relation, rule)
    result = []
    for members in components(reads):
        if len(members) > 1 or members[0] in reads[members[0]]:
            inside = frozenset(members)
            edges = {name: {to: by for to, by in reads[name].items() if to in inside} for name in members}
            result.append(Cycle(inside, tuple(rule for name in members for rule in rules[name]), edges))
    return result
