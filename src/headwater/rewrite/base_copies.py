"""Copies of base relations that need not be derived: the rows can be brought to both places.

`localise` makes `link_at_y(X, @Y) :- link(@X, Y)` where a rule meets the rows of `link` at another column. To ship them
from shard to shard takes a round, an outbox and an inbox. A base row is on its way to a shard anyway, so it may as well
go to the other one too: the copy becomes a base relation that is fed together with its original. A rule that reads
nothing but the original then reads the copy that lives where its head does, and nothing of it travels.

Keyed relations are left as they are: which row an insert takes the place of is known only where the key lives. So are
tables of equal rows, which are numbered where they live, and relations with a time, whose rows come and go by a clock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from headwater.language.syntax import Atom, Negation, Rule, Variable
from headwater.program.model import Program, Relation
from headwater.rewrite.localise import location_of, marked_at


def base_copies(program: Program, outputs: Collection[str]) -> tuple[Program, dict[str, tuple[str, ...]]]:
    """The program with such copies as base relations, and which these are, by their originals.

    What is among the `outputs` is no mere copy.
    """
    relations = {relation.name: relation for relation in program.relations}
    rules_of: dict[str, list[Rule]] = {}
    for rule in program.rules:
        rules_of.setdefault(rule.head.relation, []).append(rule)
    originals: dict[str, str] = {}
    for name, own in rules_of.items():
        original = _copied(own[0], relations) if len(own) == 1 and name not in outputs else None
        if original is not None:
            originals[name] = original
    if not originals:
        return program, {}
    copies: dict[str, tuple[str, ...]] = {}
    for copy, original in originals.items():
        copies[original] = (*copies.get(original, ()), copy)
    rules = [_read_at_home(rule, relations, copies) for rule in program.rules if rule.head.relation not in originals]
    facts = [
        replace(rule, head=replace(rule.head, relation=copy))
        for rule in rules
        if not rule.body
        for copy in copies.get(rule.head.relation, ())
    ]
    return replace(
        program,
        relations=tuple(
            replace(relation, derived=False, declared=True) if relation.name in originals else relation
            for relation in program.relations
        ),
        rules=(*rules, *facts),
    ), copies


def _copied(rule: Rule, relations: Mapping[str, Relation]) -> str | None:
    """The base relation that a rule copies as it is."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
        return None
    copy, original = relations[rule.head.relation], relations[rule.body[0].relation]
    if original.derived or original.key is not None or original.hidden or copy.selections:
        return None
    if copy.arity != original.arity:
        return None
    if any(value is not None for value in (original.time, original.lease, original.ttl, original.window)):
        return None
    names = [arg.name if isinstance(arg, Variable) else None for arg in rule.body[0].args]
    heads = [arg.name if isinstance(arg, Variable) else "" for arg in rule.head.args]
    return original.name if names == heads and len(set(names)) == len(names) else None


def _read_at_home(rule: Rule, relations: Mapping[str, Relation], copies: Mapping[str, tuple[str, ...]]) -> Rule:
    """The rule over the copy of its only goal that lives where the head does, if there is one."""
    atoms = [(at, goal) for at, goal in enumerate(rule.body) if isinstance(goal, Atom)]
    home = location_of(relations[rule.head.relation])
    if home is None or len(atoms) != 1 or any(isinstance(goal, Negation) for goal in rule.body):
        return rule
    ((at, atom),) = atoms
    wanted = rule.head.args[home]
    for copy in (atom.relation, *copies.get(atom.relation, ())):
        column = None if relations[copy].replicated else location_of(relations[copy])
        there = None if column is None else atom.args[column]
        if isinstance(wanted, Variable) and isinstance(there, Variable) and there.name == wanted.name:
            moved = atom if copy == atom.relation else marked_at(replace(atom, relation=copy, link=False), column)
            body = (*rule.body[:at], moved, *rule.body[at + 1 :])
            return replace(rule, body=body, origin=rule.origin or rule)
    return rule
