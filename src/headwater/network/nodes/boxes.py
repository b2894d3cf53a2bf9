"""A program as nodes run it: where a rule's head lives elsewhere, an outbox and an inbox stand between.

The program is localised (002, Algorithm 2): every body meets at one location. A rule whose head lives at another
location is cut in two:

    path'out(Z, S, D, ..) :- body at Z.            rows that the node Z sends, each to the node that S names
    path(S, D, ..) :- path'in(From, S, D, ..).     rows that came, with the node that they came from

`path'out` is derived, `path'in` is a base relation: what stands in the first, a network puts into the second, later.
After this no rule reads rows of two locations, so the nodes' rows can lie in one set of tables, side by side: a node
is a value of the location column.

Guarantees: if every row of an outbox is in the inbox, and no other, the program has the fixpoints of the original. Not
every fixpoint is the least one: rows may support each other through the network (see `support`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem
from headwater.core.types import Type
from headwater.engine.border.learnt_types import Known
from headwater.language.syntax import Aggregate, Atom, Constant, Head, Rule, Term, Variable, Wildcard
from headwater.language.terms import body_atoms
from headwater.pipeline import CompiledProgram
from headwater.program.model import Column, Program, Relation, Selection
from headwater.program.names import rule_name
from headwater.program.network import is_network
from headwater.program.time.program_clock import clock_type, lifetime
from headwater.program.types.inference import infer, with_types
from headwater.rewrite.localise import location_of
from headwater.rewrite.rules import LINK_RULES, NETWORK_RULES, TIME_RULES, rewrite

SENDER = "From'"


@dataclass(frozen=True, slots=True)
class Box:
    """A relation whose rows travel: where they wait to be sent, where they come in, which column names the receiver."""

    relation: str
    outbox: str
    inbox: str
    receiver: int  # column of outbox and inbox; the sender is column 0 of both
    sent: str | None = None  # where rows that were sent are kept, with their proofs, if they carry any
    copies: bool = False  # rows of another relation, for rules that join them with a link to their node


@dataclass(frozen=True, slots=True)
class BoxedProgram:
    """A program whose rules are all local, and the boxes through which its rows travel."""

    model: Program
    boxes: tuple[Box, ...]
    locations: Mapping[str, int]  # of every relation: the column that says where a row is


def local_model(program: CompiledProgram) -> Program:
    """The program before it is localised; raises CheckProblem if nodes cannot run it."""
    _refuse(program)
    return program.rewritten_by(LINK_RULES + TIME_RULES)


def boxed(model: Program, known: Known, carrying: frozenset[str] = frozenset()) -> BoxedProgram:
    """`model` over data of these types, localised, with boxes wherever a head lives elsewhere than its body.

    Inboxes of the relations in `carrying` have one column more, the number of a row's proof, which is no part of the
    row's identity; beside them stand tables of what was sent, of the same form.
    """
    typed = with_types(model, infer(model, known))
    local = rewrite(typed, rules=NETWORK_RULES)
    local = with_types(local, infer(local, known))
    relations = {relation.name: relation for relation in local.relations}
    written = {relation.name for relation in model.relations}
    rules: list[Rule] = []
    boxes: dict[str, Box] = {}
    for rule in local.rules:
        here = _body_place(rule, relations)
        there = _head_place(rule.head, relations)
        if here is None or _same(here, there):
            rules.append(rule)
            continue
        name = rule.head.relation
        if name not in boxes:
            home = relations[name]
            sent = f"{name}'sent" if name in carrying else None
            copies = name not in written and _is_copy(rule)
            box = boxes[name] = Box(name, f"{name}'out", f"{name}'in", _location(home) + 1, sent, copies)
            relations[box.outbox] = _outbox(home, box.outbox)
            relations[box.inbox] = _stored(home, box.inbox, box.receiver, proofs=sent is not None)
            if sent is not None:
                relations[sent] = _stored(home, sent, 0, proofs=True)
            rules.append(_merging(rule.head, home, box))
        rules.append(replace(rule, head=Head(boxes[name].outbox, (here, *rule.head.args), span=rule.head.span)))
    model = replace(local, relations=tuple(relations.values()), rules=tuple(rules))
    locations = {relation.name: _location(relation) for relation in relations.values() if relation.columns}
    locations |= {box.outbox: 0 for box in boxes.values()}
    return BoxedProgram(model, tuple(boxes.values()), locations)


def _refuse(program: CompiledProgram) -> None:
    checked = program.checked
    if not is_network(checked.rules):
        spot = next((rule.head.span or rule.span for rule in checked.rules if rule.body), None)
        raise CheckProblem(
            (
                Diagnostic(
                    "HW913",
                    "the program does not say where its rows live",
                    spot,
                    note="nodes of a network hold the rows of their own location, and send rows along links only",
                    hint="mark locations with `@` and the network's links with `#`: "
                    "reach(@S, @D) :- #link(@S, @Z), reach(@Z, @D).",
                ),
            )
        )
    if clock_type(checked) is not None or any(lifetime(relation) is not None for relation in checked.relations):
        relation = next(each for each in checked.relations if lifetime(each) is not None or each.time is not None)
        raise CheckProblem(
            (
                Diagnostic(
                    "HW914",
                    f"nodes of a network cannot follow rows that live by a clock of their own, as in `{relation.name}`",
                    relation.span,
                    hint="leave out the ttl and the window; Simulation(refresh=...) gives every sent row a lifetime",
                ),
            )
        )


def _location(relation: Relation) -> int:
    found = location_of(relation)
    if found is None or relation.replicated:
        raise CheckProblem(
            (
                Diagnostic(
                    "HW604",
                    f"rows of `{relation.name}` would have to be on every node, or on one that no link leads to",
                    relation.span,
                    hint="group aggregates by a location, and join through a link literal",
                ),
            )
        )
    return found


def _body_place(rule: Rule, relations: Mapping[str, Relation]) -> Variable | Constant | None:
    """Where a body is evaluated; None for a fact."""
    places = [
        place
        for atom, negated in body_atoms(rule)
        if not negated and isinstance(place := atom.args[_location(relations[atom.relation])], Variable | Constant)
    ]
    atoms = [atom for atom, negated in body_atoms(rule) if not negated]
    if not atoms:
        return None
    if len(places) < len(atoms) or any(not _same(place, places[0]) for place in places):
        raise CheckProblem(
            (Diagnostic("HW604", f"{rule_name(rule)} reads rows of several locations that no link joins", rule.span),)
        )
    return places[0]


def _is_copy(rule: Rule) -> bool:
    """Whether a rule moves all rows of a relation that is no link relation."""
    return len(rule.body) == 1 and isinstance(rule.body[0], Atom) and not rule.body[0].link


def _head_place(head: Head, relations: Mapping[str, Relation]) -> Term | Aggregate:
    return head.args[_location(relations[head.relation])]


def _same(one: Term | Aggregate, other: Term | Aggregate) -> bool:
    match one, other:
        case Variable(name=name), Variable(name=same):
            return name == same
        case Constant(value=value), Constant(value=same):
            return value == same
    return False


def _outbox(home: Relation, name: str) -> Relation:
    place = home.columns[_location(home)]
    picks = tuple(Selection((0, *(at + 1 for at in pick.group)), pick.value + 1, pick.best) for pick in home.selections)
    return Relation(
        name, (Column("from", place.type), *home.columns), derived=True, location=0, selections=picks, span=home.span
    )


def _stored(home: Relation, name: str, location: int, *, proofs: bool) -> Relation:
    """A base relation with the rows of an outbox."""
    outbox = _outbox(home, name)
    columns, key = outbox.columns, None
    if proofs:
        columns, key = (*columns, Column("proof", Type.INT)), tuple(range(len(columns)))
    return replace(
        outbox, columns=columns, key=key, derived=False, declared=True, selections=(), location=location, optional=True
    )


def _merging(head: Head, home: Relation, box: Box) -> Rule:
    """What came in belongs to the relation; where the head keeps the best of its values, the best of those."""
    names = [Variable(f"{column.name.upper()}'{at}") for at, column in enumerate(home.columns)]
    proof = () if box.sent is None else (Wildcard(),)
    read = Atom(box.inbox, (Variable(SENDER), *names, *proof), span=head.span)
    args = tuple(
        Aggregate(arg.function, (name,), arg.limit) if isinstance(arg, Aggregate) else name
        for arg, name in zip(head.args, names, strict=True)
    )
    return Rule(Head(box.relation, args, span=head.span), (read,), span=head.span)
