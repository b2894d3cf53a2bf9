"""The rules of NDlog (002, Definitions 1-6), for programs that use `@` or `#`.

- Location specificity (HW601): the first argument of every predicate is its location, written with `@`, or of a
  column declared as an address. Facts and queries may leave the mark out.
- Address type safety (HW602): a variable written with `@` in one predicate of a rule is so in all of them.
- Stored link relations (HW603): a relation used as a link literal `#link(...)` is not derived.
- Link restriction (HW604): a rule whose predicates are not all at one location has exactly one link literal,
  and every other predicate is at one of the link's two ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Span
from headwater.core.types import Type
from headwater.language.syntax import Aggregate, Atom, Constant, Head, Rule, Term, Variable, Wildcard
from headwater.language.terms import body_atoms, variables
from headwater.program.model import Program, Relation
from headwater.program.names import rule_name

Addresses: TypeAlias = set[tuple[str, int]]  # columns declared as addresses


def is_network(rules: Iterable[Rule]) -> bool:
    """Whether a program says anything about locations or links."""
    return any(_is_marked(rule) for rule in rules)


def _is_marked(rule: Rule) -> bool:
    return any(
        (isinstance(predicate, Atom) and predicate.link) or any(_marked(arg) for arg in predicate.args)
        for predicate in _predicates(rule)
    )


def _predicates(rule: Rule) -> tuple[Head | Atom, ...]:
    return (rule.head, *(atom for atom, _ in body_atoms(rule)))


def _marked(arg: Term | Aggregate) -> bool:
    return isinstance(arg, Variable | Constant) and arg.location


def with_locations(found: tuple[Relation, ...], rules: tuple[Rule, ...]) -> tuple[Relation, ...]:
    """The relations with the place of their location: the first column, in programs that speak of locations."""
    if not is_network(rules):
        return found
    return tuple(replace(relation, location=0) if relation.columns else relation for relation in found)


def location(predicate: Head | Atom) -> str | None:
    """What stands in the place of a predicate's location: a variable's name, or a constant in quotes."""
    if not predicate.args:
        return None
    return _spelt(predicate.args[0])


def _spelt(first: Term | Aggregate) -> str | None:
    match first:
        case Variable(name):
            return name
        case Constant(value):
            return f"'{value}'"
        case _:
            return None


def is_local(rule: Rule) -> bool:
    """Definition 3: the same location in each predicate, including the head. A fact is local."""
    places = {location(atom) for atom, _ in body_atoms(rule)}
    return not places or (None not in places and places == {location(rule.head)})


@dataclass(frozen=True, slots=True)
class LinkRestriction:
    """The link literal that restricts a rule, and its two ends."""

    atom: Atom
    source: str
    destination: str


def link_restriction(rule: Rule) -> LinkRestriction | None:
    """Definition 5: the link along which a rule communicates; None for rules that no link restricts."""
    links = [atom for atom, negated in body_atoms(rule) if atom.link and not negated]
    if len(links) != 1 or len(links[0].args) < 2:
        return None
    source, destination = _spelt(links[0].args[0]), _spelt(links[0].args[1])
    if source is None or destination is None:
        return None
    ends = {source, destination}
    others = [location(rule.head), *(location(atom) for atom, _ in body_atoms(rule) if atom is not links[0])]
    return LinkRestriction(links[0], source, destination) if all(place in ends for place in others) else None


def network_problems(program: Program) -> Iterator[Diagnostic]:
    """Everything that keeps a program with `@` or `#` from being NDlog."""
    if not is_network(program.rules):
        return
    addresses = {
        (relation.name, place)
        for relation in program.relations
        if relation.declared
        for place, column in enumerate(relation.columns)
        if column.type is Type.ADDRESS
    }
    links: dict[str, Span | None] = {}
    for rule in program.rules:
        for atom, _ in body_atoms(rule):
            if atom.link:
                links.setdefault(atom.relation, atom.span)
    for rule in program.rules:
        if not rule.body:
            continue
        unlocated = list(_unlocated(rule, addresses))
        yield from unlocated
        if not unlocated:
            yield from _address_safety(rule, addresses)
        if rule.head.relation in links:
            message = f"link relation `{rule.head.relation}` is derived by {rule_name(rule)}"
            note = "links are stored: they say which nodes can talk to each other"
            hint = "derive a relation of another name, or leave out the `#` where it is read"
            yield Diagnostic("HW603", message, rule.head.span or rule.span, note=note, hint=hint)
        if not unlocated and not is_local(rule) and link_restriction(rule) is None:
            yield _unrestricted(rule)


def _unlocated(rule: Rule, addresses: Addresses) -> Iterator[Diagnostic]:
    for predicate in _predicates(rule):
        first = predicate.args[0] if predicate.args else None
        if first is not None and _is_address(first, (predicate.relation, 0), addresses):
            continue
        hint = None
        if isinstance(first, Variable):
            hint = f"write `{predicate.relation}(@{first.name}, ...)`"
        elif isinstance(first, Wildcard):
            hint = "name the location: `_` is nowhere"
        yield Diagnostic(
            "HW601",
            f"`{predicate.relation}` has no location",
            (first.span if first is not None else None) or predicate.span,
            note="in a program with `@` or `#`, the first argument of every predicate is where it is stored",
            hint=hint,
        )


def _is_address(arg: Term | Aggregate, column: tuple[str, int], addresses: Addresses) -> bool:
    return _marked(arg) or (column in addresses and _spelt(arg) is not None)


def _address_safety(rule: Rule, addresses: Addresses) -> Iterator[Diagnostic]:
    marked: dict[str, bool] = {}
    reported: set[str] = set()
    for predicate in _predicates(rule):
        for place, arg in enumerate(predicate.args):
            is_address = _is_address(arg, (predicate.relation, place), addresses)
            if (
                isinstance(predicate, Atom)
                and predicate.link
                and place == 1
                and not (is_address or isinstance(arg, Wildcard))
            ):
                message = f"the far end of link `#{predicate.relation}` is not an address"
                hint = f"write `#{predicate.relation}(@S, @D, ...)`"
                yield Diagnostic("HW602", message, arg.span or predicate.span, hint=hint)
                reported.update(variable.name for variable in variables(arg))
            for variable in variables(arg):
                mark = marked.setdefault(variable.name, is_address)
                if mark is not is_address and variable.name not in reported:
                    reported.add(variable.name)
                    message = f"variable `{variable.name}` is an address in one place and not in another"
                    hint = f"write `@{variable.name}` in every predicate of the rule, or in none"
                    yield Diagnostic("HW602", message, variable.span or predicate.span, hint=hint)


def _unrestricted(rule: Rule) -> Diagnostic:
    links = [atom for atom, _ in body_atoms(rule) if atom.link]
    places = dict.fromkeys(location(predicate) or "_" for predicate in _predicates(rule))
    spread = ", ".join(f"`@{place}`" for place in places)
    if not links:
        hint = "join through a link literal such as `#link(@S, @D)` that connects these locations"
    elif len(links) > 1:
        hint = "keep one `#` and read the other links as plain relations at one of its ends"
    else:
        ends = [_spelt(arg) for arg in links[0].args[:2]]
        hint = f"put every predicate at one end of `#{links[0].relation}`: " + " or ".join(f"`@{end}`" for end in ends)
    message = f"{rule_name(rule)} is not link-restricted"
    note = f"its predicates are stored at {spread}, and only one link may carry rows between them"
    return Diagnostic("HW604", message, rule.head.span or rule.span, note=note, hint=hint)
