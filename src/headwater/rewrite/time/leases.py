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

Comes after `kept_times`, and after the rewrites that move rows between shards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headwater.core.graph import components
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import body_atoms
from headwater.program.model import Column, Keeps, Program, Relation, Shown
from headwater.program.time.program_clock import FOREVER, lifetime
from headwater.program.time.timing import ending, leased


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the lease of one relation stands, if it has one, and which versions of its rows it keeps."""

    relation: Relation  # as it was
    lease: int | None
    keeps: Keeps  # of the relation as others see it
    split: bool  # its recursion runs in another relation

    @property
    def kept(self) -> str:
        return f"{self.relation.name}'kept" if self.split else self.relation.name


def leases(program: Program) -> Program:
    if all(lifetime(relation) is None for relation in program.relations):
        return program
    lasting = ending(program) | leased(program)
    cycle_of = _cycles(program)
    picks = {
        rule.head.relation for rule in program.rules for arg in rule.head.args if isinstance(arg, syntax.Aggregate)
    }
    layouts = {
        relation.name: _layout(relation, relation.name in lasting, relation.name in picks)
        for relation in program.relations
    }
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


def _layout(relation: Relation, has_lease: bool, picks: bool) -> _Layout:
    timed = relation.time is not None
    if not relation.derived:
        keeps = Keeps.LATEST if lifetime(relation) is not None else Keeps.ALL
        split = False
    else:
        split = has_lease and (picks or timed or bool(relation.selections))
        keeps = Keeps.BEST if split or timed else Keeps.LATEST if has_lease else Keeps.ALL
    return _Layout(relation, relation.arity if has_lease else None, keeps, split)


def _relations(layout: _Layout) -> Iterable[Relation]:
    relation = layout.relation
    if layout.lease is None:
        yield replace(relation, keeps=layout.keeps)
        return
    done = replace(
        relation,
        columns=(*relation.columns, Column(_fresh("until", relation.columns), Type.INT)),
        lease=layout.lease,
        shown=relation.shown or tuple(Shown(column, at) for at, column in enumerate(relation.columns)),
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


def _rule(rule: syntax.Rule, layouts: Mapping[str, _Layout], cycle_of: Mapping[str, int]) -> syntax.Rule:
    head = layouts[rule.head.relation]
    if not rule.body and not head.relation.derived:
        if head.lease is None:
            return rule
        until = syntax.Constant(0, Type.INT)  # the engine computes the lease of a fact
        return replace(rule, head=replace(rule.head, args=(*rule.head.args, until)), origin=rule)
    has_lease = head.lease is not None
    untils: list[syntax.Variable] = []
    body: list[syntax.Goal] = []
    for goal in rule.body:
        match goal:
            case syntax.Atom(relation=name):
                inside = cycle_of.get(name, -1) == cycle_of[rule.head.relation]
                ends = has_lease and layouts[name].lease is not None
                if ends:
                    untils.append(syntax.Variable(f"Until'at{len(untils)}"))
                body.append(_atom(goal, layouts[name], untils[-1] if ends else None, inside=inside))
            case syntax.Negation(atom=atom):
                body.append(replace(goal, atom=_atom(atom, layouts[atom.relation], None, inside=False)))
            case _:
                body.append(goal)
    args = rule.head.args
    if has_lease:
        args += (_least(untils, body),)
    done = replace(rule, head=replace(rule.head, relation=head.kept, args=args), body=tuple(body))
    return rule if done == rule else replace(done, origin=rule.origin or rule)


def _atom(atom: syntax.Atom, layout: _Layout, until: syntax.Variable | None, *, inside: bool) -> syntax.Atom:
    lease = () if layout.lease is None else (until or syntax.Wildcard(),)
    return replace(atom, relation=layout.kept if inside else atom.relation, args=(*atom.args, *lease))


def _least(untils: list[syntax.Variable], body: list[syntax.Goal]) -> syntax.Term:
    """The lease of a derivation; a goal that works it out is added where there is something to compare."""
    if not untils:
        return syntax.Constant(FOREVER, Type.INT)
    if len(untils) == 1:
        return untils[0]
    least = syntax.Variable("Until'")
    body.append(syntax.Assign(least, syntax.Call("smaller" if len(untils) == 2 else "smallest", tuple(untils))))
    return least


def _seen(layout: _Layout, rules: Iterable[syntax.Rule]) -> syntax.Rule:
    """What others see of a relation whose recursion runs elsewhere: the same pick, of the rows alive."""
    heads = [rule.head for rule in rules if rule.head.relation == layout.kept]
    body = tuple(syntax.Variable(f"V'{at}") for at in range(len(heads[0].args)))
    shapes = {at: arg for head in heads for at, arg in enumerate(head.args) if isinstance(arg, syntax.Aggregate)}
    args = tuple(replace(shapes[at], args=(arg,)) if at in shapes else arg for at, arg in enumerate(body))
    return syntax.Rule(
        syntax.Head(layout.relation.name, args), (syntax.Atom(layout.kept, body),), span=layout.relation.span
    )


def _query(query: syntax.Query, layouts: Mapping[str, _Layout]) -> syntax.Query:
    if layouts[query.atom.relation].lease is None:
        return query
    return replace(query, atom=replace(query.atom, args=(*query.atom.args, syntax.Wildcard())))
