"""Times of derived rows are kept where they are asked for (`headwater.program.time.timing`), and nowhere else.

A derived relation loses its time if no query and no rule asks for it; users still see that column, without values.
Goals that only compute such a time go, and a stream's time that a rule does nothing with becomes a wildcard. Where a
rule needs the time of a view but no query names it, the column is stored and not shown.

Comes after `progressive`, which makes rules that ask for times, and before `leases`. What is left is right for any
placement of rows: a time that stands in a rule from here on is there because its value matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.core.types import Type
from headwater.language.syntax import Atom, Goal, Negation, Query, Rule, Wildcard
from headwater.program.model import Program, Relation, Selection, Shown
from headwater.program.time.program_clock import clock_type, lifetime
from headwater.program.time.timing import LiveRule, asked, hides_time, live


@dataclass(frozen=True, slots=True)
class _Fate:
    """What becomes of the time of one relation."""

    relation: Relation  # as it was
    dropped: bool
    hidden: bool  # no query asks for it


def kept_times(program: Program) -> Program:
    if all(lifetime(relation) is None for relation in program.relations):
        return program
    wanted, clock = asked(program), clock_type(program)
    fates: dict[str, _Fate] = {}
    for relation in program.relations:
        timed = relation.derived and relation.time is not None
        dropped = timed and relation.name not in wanted
        hidden = dropped or (timed and hides_time(relation.name, program))
        fates[relation.name] = _Fate(relation, dropped, hidden)
    return replace(
        program,
        relations=tuple(_asking(_relation(fate, clock), fates) for fate in fates.values()),
        rules=tuple(_rule(rule, fates) for rule in program.rules),
        queries=tuple(_query(query, fates) for query in program.queries),
    )


def _relation(fate: _Fate, clock: Type | None) -> Relation:
    relation = fate.relation
    if not fate.hidden:
        return relation
    time, *others = relation.columns
    shift = 0 if fate.dropped else 1
    shown = (Shown(replace(time, type=clock), None), *(Shown(column, at + shift) for at, column in enumerate(others)))
    if not fate.dropped:
        return replace(relation, shown=shown)
    return replace(
        relation,
        columns=tuple(others),
        time=None,
        location=None if not relation.location else relation.location - 1,
        selections=tuple(map(_selection, relation.selections)),
        ways=tuple(tuple(at - 1 for at in way) for way in relation.ways),
        exact=tuple(at - 1 for at in relation.exact),
        shown=shown,
    )


def _asking(relation: Relation, fates: Mapping[str, _Fate]) -> Relation:
    """A relation of questions, about the columns as they stand without the time."""
    if relation.asks is None or not fates[relation.asks.relation].dropped:
        return relation
    return replace(relation, asks=replace(relation.asks, columns=tuple(at - 1 for at in relation.asks.columns)))


def _selection(selection: Selection) -> Selection:
    """The same without the time, which is in no group and no value."""
    return replace(selection, group=tuple(at - 1 for at in selection.group if at), value=selection.value - 1)


def _rule(rule: Rule, fates: Mapping[str, _Fate]) -> Rule:
    if not rule.body and not fates[rule.head.relation].relation.derived:
        return rule
    left = live(rule, drop_time=fates[rule.head.relation].dropped)
    body: list[Goal] = []
    for goal in left.body:
        match goal:
            case Atom(relation=name):
                body.append(_atom(goal, fates[name], left))
            case Negation(atom=atom):
                body.append(replace(goal, atom=_atom(atom, fates[atom.relation], left)))
            case _:
                body.append(goal)
    done = replace(rule, head=replace(rule.head, args=left.head), body=tuple(body))
    return rule if done == rule else replace(done, origin=rule.origin or rule)


def _atom(atom: Atom, fate: _Fate, left: LiveRule) -> Atom:
    if fate.dropped:
        return replace(atom, args=atom.args[1:])
    if fate.relation.time is not None and not left.needs(atom.args[0]):
        return replace(atom, args=(Wildcard(), *atom.args[1:]))
    return atom


def _query(query: Query, fates: Mapping[str, _Fate]) -> Query:
    if not fates[query.atom.relation].dropped:
        return query
    return replace(query, atom=replace(query.atom, args=query.atom.args[1:]))
