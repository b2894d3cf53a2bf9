"""Derive only what the queries ask for, on nodes that talk along links (002 section 5.1.2, 003 section 4.5.2).

Magic sets whose questions are rows like any other: each has a location, and a rule that asks another node sends the
question over the link that joins the two. `path(@S, @D, ..) :- #link(@S, @Z, ..), path(@Z, @D, ..).`, asked by S and D,
asks on by `path'asked(@Z, @D) :- path'asked(@S, @D), #link(@S, @Z, ..).`, and answers come back over the same link.
Asked by D alone, the question lives at D: `path(@S, @D, ..) :- path'asked(@D), #link(@S, @D, ..).` is 002's SP1-D.

What follows from it: every node that was asked keeps its own answer while anybody needs it, which is 002's cache of
results on the reverse path with their sub-paths (section 5.2). A question that a node has been asked before goes no
further, whoever asks. And the cache is a view, maintained as links change.

Guarantees: those of `magic_sets`, and every rule is link-restricted if the given ones are. A relation of which some
question would not travel along a link is derived whole, and a note in the program's text says so.

Does not fire where `magic_sets` does not, or in a program without locations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headwater.language.syntax import Atom, Constant, Goal, Head, Rule, Variable
from headwater.language.terms import body_atoms
from headwater.program.model import Program, Relation
from headwater.program.network import is_network
from headwater.rewrite.demand.magic_sets import noted, restricted

_OFF_LINKS = "what is asked of it would not travel along links"


def along_links(program: Program) -> Program:
    asks = any(relation.asks is not None for relation in program.relations)
    if asks or not program.queries or not is_network(program.rules):
        return program
    links = {atom.relation for rule in program.rules for atom, _ in body_atoms(rule) if atom.link}
    whole: dict[str, str] = {}
    while True:
        made = restricted(program, whole)
        if made is program:
            return noted(program, whole)
        placed = _placed(made)
        relations = {relation.name: relation for relation in placed.relations}
        rules = [_linked(rule, relations, links) for rule in placed.rules]
        broken = {
            name
            for rule, linked in zip(placed.rules, rules, strict=True)
            if linked is None
            for name in _asked(rule, relations)
        }
        if not broken:
            return replace(placed, rules=tuple(rule for rule in rules if rule is not None))
        whole.update(dict.fromkeys(broken, _OFF_LINKS))


def _placed(program: Program) -> Program:
    """The program with a location for every relation of questions: that of the rows asked for, else the first column
    that names a node."""
    addresses = _addresses(program)
    found = []
    for relation in program.relations:
        if relation.asks is not None:
            asked, ways = relation.asks.relation, relation.asks.columns
            home = program.relation(asked).location
            places = [at for at, column in enumerate(ways) if column == home]
            places += [at for at, column in enumerate(ways) if (asked, column) in addresses]
            relation = replace(relation, location=places[0] if places else None, gathered=not places)
        found.append(relation)
    return replace(program, relations=tuple(found))


def _addresses(program: Program) -> set[tuple[str, int]]:
    """The columns that hold addresses wherever a rule writes them with `@`."""
    return {
        (predicate.relation, at)
        for rule in program.rules
        for predicate in _predicates(rule)
        for at, arg in enumerate(predicate.args)
        if isinstance(arg, Variable | Constant) and arg.location
    }


def _linked(rule: Rule, relations: Mapping[str, Relation], links: Iterable[str]) -> Rule | None:
    """The rule with a mark at the link that it talks over, if it needs one; None if no link joins its locations."""
    places = {_place(predicate, relations) for predicate in _predicates(rule)}
    if not rule.body or (len(places) == 1 and None not in places):
        return rule
    if None in places:
        return None
    for goal in sorted(rule.body, key=lambda goal: not (isinstance(goal, Atom) and goal.link)):
        if isinstance(goal, Atom) and goal.relation in links and places <= {_spelt(arg) for arg in goal.args[:2]}:
            return replace(rule, body=tuple(_marked(each, goal) for each in rule.body))
    return None


def _marked(goal: Goal, link: Atom) -> Goal:
    return replace(goal, link=True) if goal is link and isinstance(goal, Atom) else goal


def _asked(rule: Rule, relations: Mapping[str, Relation]) -> set[str]:
    """The relations of whose questions a rule speaks."""
    found = (relations[predicate.relation].asks for predicate in _predicates(rule))
    return {asks.relation for asks in found if asks is not None}


def _predicates(rule: Rule) -> tuple[Head | Atom, ...]:
    return (rule.head, *(atom for atom, _ in body_atoms(rule)))


def _place(predicate: Head | Atom, relations: Mapping[str, Relation]) -> str | None:
    location = relations[predicate.relation].location
    return None if location is None else _spelt(predicate.args[location])


def _spelt(arg: object) -> str | None:
    match arg:
        case Variable(name):
            return name
        case Constant(value):
            return f"'{value}'"
    return None
