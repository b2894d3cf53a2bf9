"""Move relations to columns by which shards can hold them; what the text says of locations is kept wherever it works.

- A keyed base relation lives by a column of its key: an insert takes the place of the row with its key, so both must be
  on one shard. Rules that want its rows elsewhere get a copy, as for any relation (see `localise`).
- An aggregate lives by a column of its groups: by its own value, it would move whenever that changes.
- Where there is no such column, one shard holds the relation (`Relation.gathered`).

Locations only say where rows are held, so nothing else changes.
"""

from __future__ import annotations

from dataclasses import replace

from headwater.language.syntax import Aggregate, Atom, Constant, Goal, Negation, Rule, Term, Variable
from headwater.program.model import Program, Relation
from headwater.program.recursion.aggregates import aggregate_columns
from headwater.rewrite.localise import location_of, marked_at


def relocate(program: Program) -> Program:
    moved: dict[str, int | None] = {}
    for relation in program.relations:
        location = location_of(relation)
        allowed = _allowed(relation, program)
        if location is not None and location not in allowed:
            moved[relation.name] = next(iter(allowed), None)
    if not moved:
        return program
    return replace(
        program,
        relations=tuple(
            replace(relation, location=moved[relation.name], gathered=moved[relation.name] is None)
            if relation.name in moved
            else relation
            for relation in program.relations
        ),
        rules=tuple(_rule(rule, moved) for rule in program.rules),
        queries=tuple(replace(query, atom=_atom(query.atom, moved)) for query in program.queries),
    )


def _allowed(relation: Relation, program: Program) -> tuple[int, ...]:
    if not relation.derived:
        return tuple(range(relation.arity)) if relation.key is None else relation.key
    heads = [rule.head for rule in program.rules if rule.head.relation == relation.name]
    values = {at for head in heads for at in aggregate_columns(head)}
    return tuple(at for at in range(relation.arity) if at not in values and at != relation.time)


def _rule(rule: Rule, moved: dict[str, int | None]) -> Rule:
    head = rule.head
    if head.relation in moved:
        head = replace(head, args=tuple(_marked(arg, at == moved[head.relation]) for at, arg in enumerate(head.args)))
    body = tuple(_goal(goal, moved) for goal in rule.body)
    return replace(rule, head=head, body=body, origin=rule.origin or rule)


def _goal(goal: Goal, moved: dict[str, int | None]) -> Goal:
    match goal:
        case Atom():
            return _atom(goal, moved)
        case Negation(atom=atom):
            return replace(goal, atom=_atom(atom, moved))
        case _:
            return goal


def _atom(atom: Atom, moved: dict[str, int | None]) -> Atom:
    return marked_at(atom, moved[atom.relation]) if atom.relation in moved else atom


def _marked(arg: Term | Aggregate, here: bool) -> Term | Aggregate:
    return replace(arg, location=here) if isinstance(arg, Variable | Constant) else arg
