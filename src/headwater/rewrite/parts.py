"""Parts of rules: some goals of a body, kept as a relation of their own that no user sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from headwater.language.syntax import Aggregate, Atom, Goal, Head, Kind, Rule, Variable
from headwater.language.terms import positive_atoms
from headwater.program.model import Column, Program, Relation


@dataclass(frozen=True, slots=True)
class Part:
    """The relation of some goals, the rule that fills it, and the goal that stands in their place."""

    relation: Relation
    defined: Rule
    goal: Atom


def part_of(rule: Rule, name: str, goals: Sequence[Goal], columns: Iterable[str]) -> Part:
    """Goals of a rule as the relation `name` over these variables."""
    terms = tuple(map(Variable, columns))
    made = tuple(Column(term.name.lower()) for term in terms)
    relation = Relation(name, made, derived=True, part_of=rule.head.relation, span=rule.span)
    head = Head(name, terms, span=rule.head.span)
    defined = Rule(head, tuple(goals), origin=rule.origin or rule, span=rule.span)
    return Part(relation, defined, Atom(name, terms, span=goals[0].span))


def knows_no_place_or_time(program: Program) -> bool:
    """Whether no relation of a program has a time or a location, which a part would have to carry."""
    return not any(
        relation.kind is Kind.STREAM
        or relation.ttl is not None
        or relation.window is not None
        or relation.time is not None
        or relation.location is not None
        for relation in program.relations
    )


def is_ordered(rule: Rule) -> bool:
    """Whether a rule says in which order its atoms are joined."""
    return any(atom.turn is not None for atom in positive_atoms(rule))


def aggregates(rule: Rule) -> bool:
    return any(isinstance(arg, Aggregate) for arg in rule.head.args)


def head_names(head: Head) -> Iterator[str]:
    """The variables of a head that aggregates nothing."""
    return (arg.name for arg in head.args if isinstance(arg, Variable))


def variables_of(atoms: Iterable[Atom]) -> tuple[str, ...]:
    """The variables of atoms, in order."""
    return tuple(dict.fromkeys(arg.name for atom in atoms for arg in atom.args if isinstance(arg, Variable)))
