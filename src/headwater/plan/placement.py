"""Placement: which head rows of a localised program stay on the shard that derives them, and which travel.

After `rewrite.localise` every body meets at one location. A rule whose head lives at that location is local. Of any
other, head rows that the deriving shard itself owns stay, and the rest fills an *outbox*, an ordinary table with
witnesses; what is alive there is in the *inbox* of the shard that owns the row, and from the inbox the row follows by
one more rule. So a sender ships each row once, however many derivations it finds (only improving ones, where the table
keeps the best), and a row that several shards derive has several witnesses at its owner.

Inside a recursion, the owner of a head row is not looked up for each derivation where a goal from outside the recursion
names it: the table of that goal is parted beforehand into what leads to rows of this shard, and what leads away.

    low(Y, min<L>) :- link(X, Y), low(X, L).

becomes two rules that look up no owner: one over the links to nodes of this shard, and one, into the outbox, over the
others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.core.types import Type
from headwater.language.syntax import Aggregate, Atom, Constant, Goal, Negation, Term, Variable, Wildcard
from headwater.plan.drafts import PICKS, Draft, Drafts
from headwater.plan.model import Shipment, Ships, Source, Table, Var, literal
from headwater.program.model import Keeps, Program, Relation
from headwater.program.recursion.aggregates import WITH
from headwater.program.recursion.strata import Mode, strata
from headwater.rewrite.localise import location_of


def obstacle(program: Program) -> str | None:
    """Why shards cannot evaluate a localised program together; None: they can.

    Sums inside a recursion need all shards to agree on every value before it is used; a rule that only negates meets
    nowhere. Such programs run on one shard.
    """
    for stratum in strata(program):
        if stratum.mode is Mode.STAGED:
            return f"`{stratum.relations[0]}` is a sum inside its own recursion"
    relations = {relation.name: relation for relation in program.relations}
    for rule in program.rules:
        fixed = [goal for goal in rule.body if isinstance(goal, Atom) and not relations[goal.relation].replicated]
        if not fixed and any(isinstance(goal, Negation) for goal in rule.body):
            return f"a rule for `{rule.head.relation}` only negates, and so meets nowhere"
    return None


def place(program: Program, drafts: Drafts, ships: Ships) -> tuple[Shipment, ...]:
    """Give the rules whose heads travel an outbox, and every such table an inbox."""
    relations = {relation.name: relation for relation in program.relations}
    parting = _Parting(program, drafts)
    shipments: dict[str, Shipment] = {}
    local: list[Draft] = []
    received: list[Draft] = []
    for at, rule in enumerate(drafts.rules):
        table = drafts.tables[rule.table]
        relation = relations[drafts.homes.get(rule.table, rule.table)]
        if table.base or table.bag or _stays(rule.head, rule.body, relation, relations):
            continue  # a localised program has gathered the bindings of an aggregate where they are aggregated
        if rule.table not in shipments:
            column = None if relation.replicated else location_of(relation)
            made = Shipment(rule.table, f"{rule.table}'out", f"{rule.table}'in", column, relation.replicated)
            shipments[rule.table] = made
            _add_boxes(drafts, made, table)
            received.append(_receiving(rule, made, table))
        made = shipments[rule.table]
        away = replace(rule, table=made.outbox)
        if ships is Ships.OTHERS and made.column is not None and not made.everywhere:
            stays, leaves = parting.of(rule, relation.name, rule.head[made.column])
            local.append(stays)
            away = replace(leaves, table=made.outbox)
        drafts.rules[at] = away
    drafts.rules.extend(local)
    drafts.rules.extend(parting.rules)
    drafts.rules.extend(received)
    return tuple(shipments.values())


class _Parting:
    """Makes two rules of one: for the head rows that this shard owns, and for those that others do."""

    def __init__(self, program: Program, drafts: Drafts) -> None:
        self._drafts = drafts
        self._recursion = {
            name: frozenset(stratum.relations)
            for stratum in strata(program)
            if stratum.recursive
            for name in stratum.relations
        }
        self.rules: list[Draft] = []

    def of(self, rule: Draft, relation: str, owner: Source) -> tuple[Draft, Draft]:
        found = self._naming(rule, relation, owner)
        if found is None:
            return replace(rule, owned=owner), replace(rule, owned=owner, mine=False)
        place, column = found
        before, after = rule.body[:place], rule.body[place + 1 :]
        here, away = (self._part(rule, place, column, relation, mine) for mine in (True, False))
        return replace(rule, body=(*before, here, *after)), replace(rule, body=(*before, away, *after))

    def _naming(self, rule: Draft, relation: str, owner: Source) -> tuple[int, int] | None:
        """A goal from outside the recursion that names the owner, and the column in which it does."""
        own = self._recursion.get(relation, frozenset())
        atoms = [(place, goal) for place, goal in enumerate(rule.body) if isinstance(goal, Atom)]
        if isinstance(owner, Var) and any(atom.relation in own for _, atom in atoms):
            for place, atom in atoms:
                table = self._drafts.tables[atom.relation]
                if atom.relation in own or table.lease is not None or table.time is not None:
                    continue
                for column, arg in enumerate(atom.args):
                    if isinstance(arg, Variable) and arg.name == owner.name:
                        return place, column
        return None

    def _part(self, rule: Draft, place: int, column: int, relation: str, mine: bool) -> Atom:
        """The same goal over the rows of its table that have this shard's values in a column, or over the others."""
        goal = rule.body[place]
        assert isinstance(goal, Atom)
        table = self._drafts.tables[goal.relation]
        name = f"{table.name}'{'here' if mine else 'away'}{column}"
        if name not in self._drafts.tables:
            names = [f"c{at}" for at in range(len(table.types))]
            types = dict(zip(names, table.types, strict=True))
            nullable = frozenset(names[at] for at in table.nullable)
            head: tuple[Source, ...] = tuple(Var(each) for each in names)
            body = (Atom(table.name, tuple(map(Variable, names))),)
            made = Draft(rule.origin, name, head, body, types, nullable, owned=Var(names[column]), mine=mine)
            self.rules.append(made)
            self._drafts.tables[name] = Table(name, table.types, table.columns, bag=True, nullable=table.nullable)
            self._drafts.parts[name] = relation
        return replace(goal, relation=name)


def travelling(program: Program) -> tuple[str, ...]:
    """The relations of a localised program of which rows travel, whatever the types of its columns are."""
    relations = {relation.name: relation for relation in program.relations}
    found: dict[str, None] = {}
    for rule in program.rules:
        relation = relations[rule.head.relation]
        head = tuple(_value(arg) for arg in rule.head.args)
        shapes = [arg.function for arg in rule.head.args if isinstance(arg, Aggregate)]
        gathered = any(function not in PICKS and function != WITH for function in shapes)
        if relation.derived and not gathered and not _stays(head, rule.body, relation, relations):
            found[relation.name] = None
    return tuple(found)


def _value(arg: Term | Aggregate) -> Source | None:
    match arg:
        case Variable(name=name):
            return Var(name)
        case Constant():
            return literal(arg)
        case _:
            return None


def _stays(
    head: Sequence[Source | None], body: tuple[Goal, ...], relation: Relation, relations: Mapping[str, Relation]
) -> bool:
    """Whether the head lives where the body meets."""
    if relation.replicated:
        atoms = [goal for goal in body if isinstance(goal, Atom)]
        return bool(atoms) and all(relations[atom.relation].replicated for atom in atoms)
    column = location_of(relation)
    if column is None or column >= len(head):
        return False
    meeting = _meeting_place(body, relations)
    return meeting is not None and meeting == head[column]


def _meeting_place(body: tuple[Goal, ...], relations: Mapping[str, Relation]) -> Source | None:
    for goal in body:
        if isinstance(goal, Atom) and not relations[goal.relation].replicated:
            column = location_of(relations[goal.relation])
            if column is None:
                return None
            match goal.args[column]:
                case Variable(name=name):
                    return Var(name)
                case Constant() as constant:
                    return literal(constant)
            return None
    return None


def _add_boxes(drafts: Drafts, made: Shipment, table: Table) -> None:
    columns, picks = table.columns, table.picks
    drafts.tables[made.outbox] = Table(
        made.outbox,
        table.types,
        columns,
        picks=picks,
        outbox=True,
        bag=True,
        nullable=table.nullable,
        time=table.time,
        lease=table.lease,
        keeps=table.keeps,
    )
    drafts.tables[made.inbox] = Table(
        made.inbox,
        (Type.INT, *table.types),
        ("sender", *table.columns),
        bag=True,
        nullable=frozenset(at + 1 for at in table.nullable),
        lease=table.lease + 1 if table.lasting and table.lease is not None else None,  # what has ended goes unasked
        keeps=Keeps.LATEST if table.lasting else Keeps.ALL,
    )
    drafts.homes[made.outbox] = drafts.homes[made.inbox] = made.table


def _receiving(rule: Draft, made: Shipment, table: Table) -> Draft:
    names = [f"c{at}" for at in range(len(table.types))]
    atom = Atom(made.inbox, (Wildcard(), *map(Variable, names)))
    head: tuple[Source, ...] = tuple(Var(name) for name in names)
    nullable = frozenset(names[at] for at in table.nullable)
    return Draft(rule.origin, made.table, head, (atom,), dict(zip(names, table.types, strict=True)), nullable)
