"""Leave out the columns that hold one value, because nothing else is asked for.

    reach(X, Y) :- edge(X, Y), reach'asked(X).
    reach(X, Y) :- reach(X, Z), edge(Z, Y).
    reach'asked(17).
    query reach(17, Y).

Every row of `reach` starts at 17, which need not be stored with each of them, nor looked at by each step:

    reach(Y) :- edge(17, Y).
    reach(Y) :- reach(Z), edge(Z, Y).

Users see the column as before, and `why` the rules as written (`Relation.shown`).

Guarantees: the same rows. Each rule for the relation is bound to the value by the goal that magic sets have given it,
or hands it on from rows that are; so the value can stand wherever its variable stood. A value is only taken if
the rules that ask for it state it: a parameter (`$From`) may be given several values at once, and stays a column.

Runs after `magic_sets`, for one process alone: on shards the column says where rows live. Does not fire in programs
with time or locations, where several values are asked for, where some use of the relation names another value or
computes it, where no column would be left, or for values that are neither ints, nor texts, nor truth values. If the
data shows that the column has another type than the value, the program runs without it (`CompiledProgram.fitted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias, TypeVar

from headwater.core.types import Type
from headwater.language.syntax import (
    Aggregate,
    Atom,
    Constant,
    Goal,
    Head,
    Negation,
    Query,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.terms import assigned, body_atoms, positive_atoms
from headwater.program.model import Program, Relation, Selection, Shown
from headwater.rewrite.parts import knows_no_place_or_time
from headwater.rewrite.substitution import substitute_goal, substitute_head

Values: TypeAlias = Mapping[int, Constant]
"""What stands in a column of every row."""

Arg = TypeVar("Arg")

_PLAIN = (Type.INT, Type.STRING, Type.BOOL)


def bound_columns(program: Program) -> Program:
    if not program.queries or not knows_no_place_or_time(program):
        return program
    stated = _stated(program)
    found = {each.name: values for each in program.relations if (values := _values(each, program, stated))}
    while found:
        asked = {
            each.name: stated[each.name]
            for each in program.relations
            if each.asks is not None and each.asks.relation in found
        }
        made = {rule: _Bound(rule, found, asked).rule() for rule in program.rules if rule.head.relation not in asked}
        broken = {name for rule, after in made.items() if after is None for name in _named(rule, found, asked, program)}
        if not broken:
            return replace(
                program,
                relations=tuple(
                    _without(each, found.get(each.name)) for each in program.relations if each.name not in asked
                ),
                rules=tuple(after for rule in program.rules if (after := made.get(rule)) is not None),
                queries=tuple(_query(query, found) for query in program.queries),
            )
        found = {name: values for name, values in found.items() if name not in broken}
    return program


# What is asked for


def _stated(program: Program) -> dict[str, tuple[Constant, ...]]:
    """The relations of questions that hold one row, whatever the data, and that row."""
    askings = {each.name for each in program.relations if each.asks is not None}
    rules: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if rule.head.relation in askings:
            rules.setdefault(rule.head.relation, []).append(rule)
    found: dict[str, tuple[Constant, ...]] = {}
    while True:
        before = len(found)
        for name, own in rules.items():
            rows = {_row(rule, found) for rule in own}
            if name not in found and len(rows) == 1 and any(_is_sure(rule, found) for rule in own):
                found.update((name, row) for row in rows if row is not None)
        if len(found) == before:
            return found


def _row(rule: Rule, stated: Mapping[str, tuple[Constant, ...]]) -> tuple[Constant, ...] | None:
    """The only row that a rule can derive: a fact, or what it takes from another question."""
    terms: dict[str, Constant] = {}
    for goal in rule.body:
        if isinstance(goal, Atom) and goal.relation in stated:
            for arg, value in zip(goal.args, stated[goal.relation], strict=True):
                if not isinstance(arg, Variable) or terms.setdefault(arg.name, value) != value:
                    return None
    row = [terms.get(arg.name) if isinstance(arg, Variable) else arg for arg in rule.head.args]
    constants = tuple(arg for arg in row if isinstance(arg, Constant))
    return constants if len(constants) == len(row) else None


def _is_sure(rule: Rule, stated: Mapping[str, tuple[Constant, ...]]) -> bool:
    """Whether nothing but questions that are stated stands between a rule and its row."""
    return all(isinstance(goal, Atom) and goal.relation in stated for goal in rule.body)


def _values(relation: Relation, program: Program, stated: Mapping[str, tuple[Constant, ...]]) -> dict[int, Constant]:
    askings = [each for each in program.relations if each.asks is not None and each.asks.relation == relation.name]
    if len(relation.ways) != 1 or len(askings) != 1 or askings[0].name not in stated or not _is_plain(relation):
        return {}
    values = dict(zip(relation.ways[0], stated[askings[0].name], strict=True))
    fits = all(value.type in _PLAIN and relation.columns[at].type in (None, value.type) for at, value in values.items())
    return values if fits and len(values) < relation.arity else {}


def _is_plain(relation: Relation) -> bool:
    marked = relation.shown or relation.hidden or relation.search or relation.stands_for
    return not marked and relation.key is None and relation.asks is None


def _named(rule: Rule, found: Mapping[str, Values], asked: Mapping[str, object], program: Program) -> Iterable[str]:
    """The relations to leave alone if a rule cannot do without their columns."""
    predicates: list[Head | Atom] = [rule.head, *(atom for atom, _ in body_atoms(rule))]
    for each in predicates:
        if each.relation in found:
            yield each.relation
        asks = program.relation(each.relation).asks
        if each.relation in asked and asks is not None:
            yield asks.relation


# Without the columns


class _Bound:
    """A rule in which the values stand where their variables stood."""

    def __init__(self, rule: Rule, found: Mapping[str, Values], asked: Mapping[str, tuple[Constant, ...]]) -> None:
        self._rule = rule
        self._found = found
        self._known: dict[str, Values] = {**found, **{name: dict(enumerate(row)) for name, row in asked.items()}}
        self._asked = asked

    def rule(self) -> Rule | None:
        """The rule without the columns and without the questions; None if that cannot be."""
        terms: dict[str, Term] = {}
        predicates: list[Head | Atom] = [self._rule.head, *positive_atoms(self._rule)]
        for each in predicates:
            for at, value in self._known.get(each.relation, {}).items():
                arg = each.args[at]
                if isinstance(arg, Variable):
                    if terms.setdefault(arg.name, value) != value:
                        return None
                elif not isinstance(arg, Wildcard) and not _is_value(arg, value):
                    return None
        if terms.keys() & assigned(self._rule).keys():
            return None
        body: list[Goal] = []
        for goal in self._rule.body:
            after = substitute_goal(goal, terms)
            match after:
                case Atom(relation=name) if name in self._asked:
                    continue
                case Atom(relation=name, args=args) if name in self._found:
                    after = replace(after, args=_left(args, self._found[name]))
                case Negation(atom=Atom(relation=name, args=args) as atom) if name in self._known:
                    if name in self._asked or not all(
                        isinstance(args[at], Wildcard) or _is_value(args[at], value)
                        for at, value in self._found[name].items()
                    ):
                        return None
                    after = replace(after, atom=replace(atom, args=_left(args, self._found[name])))
            body.append(after)
        if len(body) < len(self._rule.body) and body and not any(isinstance(goal, Atom) for goal in body):
            return None  # the question was the only atom that it had
        head = substitute_head(self._rule.head, terms)
        head = replace(head, args=_left(head.args, self._found.get(head.relation, {})))
        made = replace(self._rule, head=head, body=tuple(body))
        return self._rule if made == self._rule else replace(made, origin=self._rule.origin or self._rule)


def _is_value(arg: Term | Aggregate, value: Constant) -> bool:
    return isinstance(arg, Constant) and (arg.value, arg.type) == (value.value, value.type)


def _left(args: tuple[Arg, ...], values: Values) -> tuple[Arg, ...]:
    return tuple(arg for at, arg in enumerate(args) if at not in values)


def _query(query: Query, found: Mapping[str, Values]) -> Query:
    values = found.get(query.atom.relation)
    return query if values is None else replace(query, atom=replace(query.atom, args=_left(query.atom.args, values)))


def _without(relation: Relation, values: Values | None) -> Relation:
    if values is None:
        return relation
    places = {at: place for place, at in enumerate(at for at in range(relation.arity) if at not in values)}
    shown = (
        Shown(replace(column, type=values[at].type), None, values[at]) if at in values else Shown(column, places[at])
        for at, column in enumerate(relation.columns)
    )
    return replace(
        relation,
        columns=_left(relation.columns, values),
        selections=tuple(_selection(selection, places) for selection in relation.selections),
        exact=tuple(places[at] for at in relation.exact),
        ways=((),),
        shown=tuple(shown),
    )


def _selection(selection: Selection, places: Mapping[int, int]) -> Selection:
    group = tuple(places[at] for at in selection.group if at in places)
    return replace(selection, group=group, value=places[selection.value])
