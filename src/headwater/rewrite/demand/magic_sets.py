"""Derive only what the queries ask for (magic sets; 002 section 5.1.2, 003 section 4.5.2).

`query reach(17, Y)` needs the rows of 17 and of what they rest on, not all pairs. A restricted relation `p` gets a
relation `p'asked` of the values asked for. A query's constants are facts of it; rules derive what else follows: when
`p` is asked by X and `p(X, Y) :- e(X, Z), p(Z, Y).`, then `p'asked(Z) :- p'asked(X), e(X, Z).` Every rule for `p` gets
the goal `p'asked(X)`, unless a goal over `p` itself, asked by the same values, makes sure of it. A rule that computes X
compares what it computes with what is asked for.

Why the answers stay the same. Every row of a body that derives a row asked for is asked for, by `sideways`; so, by
induction over derivations, stratum by stratum, all rows asked for are derived. Those that are derived are rows of the
whole relation, because a goal was added and none taken away. Under negation and aggregates the same holds, since what
they look at is asked for whole: all rows that match, all bindings of a group.

A question may depend on rows that in turn depend, by negation or by an aggregate, on what is asked. Such a program has
no strata. Then the relation in question is derived whole, and a note in the program's text says so.

Does not fire without a query, or where no query and no goal over a derived relation names a constant. What it restricts
and is no output cannot be read: see `Relation.ways`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headwater.language.syntax import Atom, Constant, Goal, Head, Rule, Term, Variable
from headwater.language.terms import body_atoms, positive_atoms
from headwater.program.model import Asking, Column, Program, Relation
from headwater.program.questions import question_columns, questions_of
from headwater.program.recursion.cycles import Cycle, cycles
from headwater.program.recursion.strata import wavers
from headwater.program.recursion.stratified import cycle_problems
from headwater.rewrite.demand.adornments import Adornments
from headwater.rewrite.demand.bindable import Columns
from headwater.rewrite.demand.computed_values import compared, tested

_NO_STRATA = "what is asked of it depends on it, through a negation or an aggregate"


def magic_sets(program: Program) -> Program:
    if not program.queries or any(relation.asks is not None for relation in program.relations):
        return program
    made = restricted(program, {})
    return noted(program, Adornments(program, {}).refused) if made is program else made


def noted(program: Program, reasons: Mapping[str, str]) -> Program:
    """The program that says why relations are derived whole."""
    relations = (replace(each, whole=reasons.get(each.name, each.whole)) for each in program.relations)
    return replace(program, relations=tuple(relations)) if reasons else program


def restricted(program: Program, whole: Mapping[str, str]) -> Program:
    """The program in which only what is asked is derived; relations in `whole` are derived whole, for the reason given.

    `program` itself if nothing is left to restrict.
    """
    whole = dict(whole)
    while True:
        adornments = Adornments(program, whole)
        if not adornments.restricted:
            return program
        made = _Restricted(adornments).program()
        broken = _without_strata(made, adornments)
        if not broken:
            return made
        whole.update((name, _NO_STRATA) for name in broken)


def _without_strata(program: Program, adornments: Adornments) -> set[str]:
    """Relations to derive whole, because asking for them would leave the program without strata."""
    broken: set[str] = set()
    asks = {relation.name: relation.asks.relation for relation in program.relations if relation.asks is not None}
    for cycle in cycles(program):
        asked = {asks[name] for name in cycle.relations if name in asks}
        if asked and next(cycle_problems(cycle), None) is not None:
            broken |= (_looked_at(cycle) & adornments.restricted.keys()) or asked
    return broken


def _looked_at(cycle: Cycle) -> set[str]:
    """The relations of a cycle that it negates or aggregates."""
    found: set[str] = set()
    for rule in cycle.rules:
        wavering = wavers(rule, cycle.relations)
        found |= {atom.relation for atom, negated in body_atoms(rule) if negated or wavering} & cycle.relations
    return found


class _Restricted:
    """The program in which only what is asked is derived."""

    def __init__(self, adornments: Adornments) -> None:
        self._adornments = adornments
        self._given = adornments.program
        self._restricted = adornments.restricted
        self._relations = {relation.name: relation for relation in self._given.relations}

    def program(self) -> Program:
        rules: dict[Rule, None] = dict.fromkeys(self._seeds())
        rules.update((rule, None) for rule in self._demand() if Atom(rule.head.relation, _terms(rule)) not in rule.body)
        guarded = [each for rule in self._given.rules for each in self._guarded(rule)]
        return replace(
            self._given,
            relations=(*map(self._marked, self._given.relations), *self._askings(), *self._questions()),
            rules=(*guarded, *rules),
        )

    def _seeds(self) -> Iterable[Rule]:
        for query in self._given.queries:
            name = query.atom.relation
            if name in self._restricted:
                way = self._adornments.way(name, self._adornments.query_columns(query))
                questions = Atom(questions_of(query), tuple(map(Variable, query.parameters)))
                given = (questions,) if query.parameters else ()
                head = Head(self._asking(name, way), tuple(query.atom.args[at] for at in way))
                yield Rule(head, given, span=query.span)

    def _demand(self) -> Iterable[Rule]:
        """The rules that derive what is asked for."""
        for question in self._adornments.questions():
            use, rule = question.use, question.rule
            if use.relation not in self._restricted:
                continue
            way = self._adornments.way(use.relation, self._adornments.known(use))
            asked, before = use.prefix(way)
            body: tuple[Goal, ...] = before
            if asked and question.columns:
                body = (self._guard(rule, question.columns), *before)
            head = Head(self._asking(use.relation, way), tuple(use.known[at] for at in way))
            yield Rule(head, tuple(tested(body)), span=rule.span)

    def _guarded(self, rule: Rule) -> Iterable[Rule]:
        """The rule, once for every way in which its head is asked."""
        name = rule.head.relation
        if not rule.body or name not in self._restricted:
            yield rule
            return
        ways = self._restricted[name]
        for way in sorted(ways):
            if len(ways) == 1 and self._is_handed_on(rule, way):
                yield rule
            else:
                guarded = compared(rule, self._guard(rule, way))
                yield replace(rule, body=(*rule.body, *guarded), origin=rule.origin or rule)

    def _is_handed_on(self, rule: Rule, way: Columns) -> bool:
        """Whether the rule builds on rows of its own relation that are asked for by the same values."""
        wanted = [_bare(rule.head.args[at]) for at in way]
        return any(
            atom.relation == rule.head.relation and [_bare(atom.args[at]) for at in way] == wanted
            for atom in positive_atoms(rule)
        )

    def _guard(self, rule: Rule, way: Columns) -> Atom:
        args = tuple(arg for at in way if isinstance(arg := _bare(rule.head.args[at]), Variable | Constant))
        return Atom(self._asking(rule.head.relation, way), args)

    def _asking(self, name: str, way: Columns) -> str:
        several = len(self._restricted[name]) > 1
        return f"{name}'asked{''.join(f'_{at}' for at in way) if several else ''}"

    def _askings(self) -> Iterable[Relation]:
        for name, ways in self._restricted.items():
            relation = self._relations[name]
            for way in sorted(ways):
                columns = tuple(relation.columns[at] for at in way)
                location = way.index(relation.location) if relation.location in way else None
                asks = Asking(name, way)
                yield Relation(
                    self._asking(name, way), columns, derived=True, location=location, asks=asks, span=relation.span
                )

    def _questions(self) -> Iterable[Relation]:
        """A base relation for the questions of every query with parameters."""
        for query in dict.fromkeys(self._given.queries):
            name = query.atom.relation
            if query.parameters and name in self._restricted:
                places = question_columns(query)
                kinds = self._relations[name].columns
                columns = tuple(Column(each, kinds[at].type) for each, at in zip(query.parameters, places, strict=True))
                yield Relation(questions_of(query), columns, named=True, asks=Asking(name, places), span=query.span)

    def _marked(self, relation: Relation) -> Relation:
        if relation.name in self._restricted:
            return replace(relation, ways=tuple(sorted(self._restricted[relation.name])))
        reason = self._adornments.whole.get(relation.name) or self._adornments.refused.get(relation.name)
        return relation if reason is None else replace(relation, whole=reason)


def _bare(arg: object) -> object:
    return replace(arg, location=False) if isinstance(arg, Variable | Constant) and arg.location else arg


def _terms(rule: Rule) -> tuple[Term, ...]:
    return tuple(arg for arg in rule.head.args if isinstance(arg, Variable | Constant))
