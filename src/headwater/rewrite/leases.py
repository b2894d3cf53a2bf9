"""Rows that end, in terms of rows: every row that can expire gets a column for the moment at which it does.

A base row's lease is worked out when it comes. A derived row's lease is the smallest of those its derivation rests on,
and of several derivations the one with the latest lease is kept: `valid_until` is the max over derivations of the min
over base rows, maintained by the same fixpoint that derives the rows. So when time moves on, every table can drop the
rows whose lease is over, and nothing that is left rests on them (the queue-based index of 004, section IV).

What each relation keeps (`Keeps`):

- plain rows: of each row the version with the latest lease;
- the best of a group (min, max, top, a selection, or the earliest time where times are kept): inside the recursion,
  in `p'kept`, all rows that are best now or can become so when better ones end; outside, in `p`, those best now;
- totals and what shares a recursion with them: rows without lease, which follow what comes and goes below.

The time of a derived row is kept where it is asked for (`headwater.program.timing`); else its column is gone.
Not a matter of choice like the other rewrites: without it a program with time cannot run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headwater.core.types import Type
from headwater.language.tree import (
    Aggregate,
    Assign,
    Atom,
    Call,
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
from headwater.program.clock import FOREVER, lifetime
from headwater.program.graph import components
from headwater.program.model import Column, Keeps, Program, Relation, Selection, Shown
from headwater.program.terms import body_atoms
from headwater.program.timing import LiveRule, Timing, live, timing
from headwater.rewrite.progressive import progressive


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns of one relation stand: as written, by position, or None for a time that is not kept."""

    relation: Relation  # as it was
    shown: tuple[int | None, ...]
    lease: int | None
    keeps: Keeps  # of the relation as others see it
    split: bool  # its recursion runs in another relation

    @property
    def drops_time(self) -> bool:
        return None in self.shown

    @property
    def kept(self) -> str:
        return f"{self.relation.name}'kept" if self.split else self.relation.name


def leases(program: Program) -> Program:
    if all(lifetime(relation) is None for relation in program.relations):
        return program
    program = progressive(program)
    times = timing(program)
    cycle_of = _cycles(program)
    picks = {rule.head.relation: arg for rule in program.rules for arg in rule.head.args if isinstance(arg, Aggregate)}
    layouts = {one.name: _layout(one, times, picks) for one in program.relations}
    rules = [_rule(rule, layouts, cycle_of) for rule in program.rules]
    rules += (_seen(layout, rules) for layout in layouts.values() if layout.split)
    return replace(
        program,
        relations=tuple(relation for layout in layouts.values() for relation in _relations(layout)),
        rules=tuple(rules),
        queries=tuple(_query(query, layouts) for query in program.queries),
    )


def _cycles(program: Program) -> dict[str, int]:
    """The number of the recursion that a derived relation belongs to."""
    reads: dict[str, list[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, []).extend(atom.relation for atom, _ in body_atoms(rule))
    return {name: number for number, members in enumerate(components(reads)) for name in members}


def _layout(relation: Relation, times: Timing, picks: Mapping[str, Aggregate]) -> _Layout:
    name = relation.name
    has_lease = name in times.leased or name in times.ending
    timed = relation.time is not None
    dropped = relation.derived and timed and name not in times.asked
    places: list[int | None] = list(range(relation.arity))
    if dropped:
        places = [None, *range(relation.arity - 1)]
    width = relation.arity - dropped
    if not relation.derived:
        keeps = Keeps.LATEST if lifetime(relation) is not None else Keeps.ALL
        split = False
    else:
        best = name in picks or bool(relation.selections)
        has_time = timed and not dropped
        split = has_lease and (best or has_time)
        keeps = Keeps.BEST if split or has_time else Keeps.LATEST if has_lease else Keeps.ALL
    return _Layout(relation, tuple(places), width if has_lease else None, keeps, split)


def _relations(layout: _Layout) -> Iterable[Relation]:
    relation = layout.relation
    if layout.lease is None and not layout.drops_time:
        yield replace(relation, keeps=layout.keeps)
        return
    columns = tuple(column for column, at in zip(relation.columns, layout.shown, strict=True) if at is not None)
    if layout.lease is not None:
        columns += (Column(_fresh("until", columns), Type.INT),)
    done = replace(
        relation,
        columns=columns,
        time=None if layout.drops_time else relation.time,
        location=None if relation.location is None else layout.shown[relation.location],
        selections=tuple(_selection(one, layout) for one in relation.selections),
        lease=layout.lease,
        shown=tuple(map(Shown, relation.columns, layout.shown)),
        keeps=layout.keeps,
    )
    if layout.split:
        yield replace(done, name=layout.kept, keeps=Keeps.FRONTIER, stands_for=relation.name)
    yield done


def _fresh(name: str, columns: tuple[Column, ...]) -> str:
    taken = {column.name for column in columns}
    while name in taken:
        name += "_"
    return name


def _selection(selection: Selection, layout: _Layout) -> Selection:
    group = tuple(at for one in selection.group if (at := layout.shown[one]) is not None)
    value = layout.shown[selection.value]
    assert value is not None, "a selection's value is no time"
    return replace(selection, group=group, value=value)


def _rule(rule: Rule, layouts: Mapping[str, _Layout], cycle_of: Mapping[str, int]) -> Rule:
    head = layouts[rule.head.relation]
    if not rule.body and not head.relation.derived:
        until = () if head.lease is None else (Constant(0, Type.INT),)  # the engine works out the lease of a fact
        return replace(rule, head=replace(rule.head, args=(*rule.head.args, *until)), origin=rule)
    left = live(rule, drop_time=head.drops_time)
    leased = head.lease is not None
    untils: list[Variable] = []
    body: list[Goal] = []
    for goal in left.body:
        match goal:
            case Atom(relation=name):
                inside = cycle_of.get(name, -1) == cycle_of[rule.head.relation]
                ends = leased and layouts[name].lease is not None
                if ends:
                    untils.append(Variable(f"Until'at{len(untils)}"))
                body.append(_atom(goal, layouts[name], left, untils[-1] if ends else None, inside=inside))
            case Negation(atom=atom):
                body.append(replace(goal, atom=_atom(atom, layouts[atom.relation], left, None, inside=False)))
            case _:
                body.append(goal)
    args: tuple[Term | Aggregate, ...] = left.head
    if leased:
        args += (_least(untils, body),)
    done = replace(rule, head=replace(rule.head, relation=head.kept, args=args), body=tuple(body))
    return rule if done == rule else replace(done, origin=rule.origin or rule)


def _atom(atom: Atom, layout: _Layout, left: LiveRule, until: Variable | None, *, inside: bool) -> Atom:
    args = list(atom.args)
    if layout.drops_time:
        del args[0]
    elif layout.relation.time is not None and not left.needs(args[0]):
        args[0] = Wildcard()
    if layout.lease is not None:
        args.append(until or Wildcard())
    return replace(atom, relation=layout.kept if inside else atom.relation, args=tuple(args))


def _least(untils: list[Variable], body: list[Goal]) -> Term:
    """The lease of a derivation; a goal that works it out is added where there is something to compare."""
    if not untils:
        return Constant(FOREVER, Type.INT)
    if len(untils) == 1:
        return untils[0]
    least = Variable("Until'")
    body.append(Assign(least, Call("smaller" if len(untils) == 2 else "smallest", tuple(untils))))
    return least


def _seen(layout: _Layout, rules: Iterable[Rule]) -> Rule:
    """What others see of a relation whose recursion runs elsewhere: the same pick, of the rows alive."""
    heads = [rule.head for rule in rules if rule.head.relation == layout.kept]
    body = tuple(Variable(f"V'{at}") for at in range(len(heads[0].args)))
    shapes = {at: arg for head in heads for at, arg in enumerate(head.args) if isinstance(arg, Aggregate)}
    args = tuple(replace(shapes[at], args=(one,)) if at in shapes else one for at, one in enumerate(body))
    return Rule(Head(layout.relation.name, args), (Atom(layout.kept, body),), span=layout.relation.span)


def _query(query: Query, layouts: Mapping[str, _Layout]) -> Query:
    layout = layouts[query.atom.relation]
    args = query.atom.args[1:] if layout.drops_time else query.atom.args
    if layout.lease is not None:
        args += (Wildcard(),)
    return replace(query, atom=replace(query.atom, args=args))
