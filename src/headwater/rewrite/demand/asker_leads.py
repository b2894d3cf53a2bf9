"""Follow a recursion from the node that asks, and send the answers back the way they came (003 section 4.5.3).

    cost(@S, @D, min<C>) :- #link(@S, @D, C).
    cost(@S, @D, min<C>) :- #link(@S, @Z, C1), cost(@Z, @D, C2), C = C1 + C2.
    query cost($S, @D, C).

Asked by S, this right-linear recursion asks every node that S reaches for all of its costs: as much as all pairs.
Written from S, as `leading_side` does, its rows come up at the other end of their ways, so that is where they are kept:

    cost'way(@D, @S, min<C>, with<Hops>, with<From>)      the cost from S to D, and the neighbour it came from
    cost'back(@At, @S, @D, C)                             an answer on its way to S
    cost(@S, @D, min<C>) :- cost'back(@S, @S, @D, C).

A node sends each answer to the neighbour from which it heard of S, which sends it on. These neighbours form a tree with
S at its root: the best value is that of the neighbour and one step, with one hop more, so nobody follows a circle.
Where a way has other values than one of which the best is kept, they are kept beside the tree, in `cost'far`.

Guarantees: those of `leading_side`, and that every message travels along a link (002, Claim 1), answers against the
direction in which the step was taken, as answers of questions do (`along_links`).

Does not fire where `along_links` does not, where rows are asked for by more than their location, where steps are more
than one link long, or where a sum may be one of floats: what nodes run is fixed before they see data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeGuard

from headwater.core.types import Type
from headwater.language.syntax import (
    Aggregate,
    Assign,
    Atom,
    Binary,
    Comparison,
    Constant,
    Goal,
    Head,
    Rule,
    Term,
    Variable,
    Wildcard,
)
from headwater.language.terms import body_atoms, goal_names, names, positive_atoms
from headwater.program.model import Asking, Column, Program, Relation, Selection
from headwater.program.network import is_network
from headwater.program.recursion.aggregates import WITH
from headwater.rewrite.demand.adornments import asked_one_way
from headwater.rewrite.demand.along_links import along_links
from headwater.rewrite.demand.closure import Closure, Side, find_closure, turned
from headwater.rewrite.demand.leading_side import is_exact, says_order

_HOPS, _BEFORE, _AT, _FROM = (
    Variable("Hops'1"),
    Variable("Hops'0"),
    Variable("At'0", location=True),
    Variable("From'0", location=True),
)

_LARGEST = ("max", "mmax")  # what goes with the largest value is the largest too: hops are counted down


def asker_leads(program: Program) -> Program:
    if any(each.asks is not None for each in program.relations) or not is_network(program.rules):
        return program
    found = [route for name, way in asked_one_way(program) if (route := _route(program, name, way)) is not None]
    while found:
        asked = along_links(_opaque(program, found))
        lost = [route for route in found if not route.fits(asked)]
        if not lost:
            return _routed(asked, found)
        found = [route for route in found if route not in lost]
    return program


@dataclass(frozen=True, slots=True)
class _Route:
    """A closure whose rows live in column `home`, the asker's end, and come up at the other one."""

    relation: Relation
    closure: Closure
    written: Rule | None
    home: int
    far: int

    @property
    def name(self) -> str:
        return self.relation.name

    @property
    def opaque(self) -> str:
        return f"{self.name}'rows"

    @property
    def merged(self) -> bool:
        """Whether the tree holds all that there is to know of a way."""
        return not self.closure.values or (self.closure.best is not None and len(self.closure.values) == 1)

    def fits(self, asked: Program) -> bool:
        """Whether its rows are asked for at their home, and its steps read nothing of which only a part is derived."""
        read = {atom.relation for step in self.closure.steps for atom, _ in body_atoms(step)}
        return asked.relation(self.name).ways == ((self.home,),) and not any(asked.relation(each).ways for each in read)


def _route(program: Program, name: str, way: tuple[int, ...]) -> _Route | None:
    relation = program.relation(name)
    rules = [rule for rule in program.rules if rule.head.relation == name]
    closure = find_closure(name, rules)
    if closure is None or closure.side is Side.DOUBLED or way != (relation.location,):
        return None
    home, far = closure.source, closure.target
    if closure.side is Side.LEFT:
        home, far = far, home
    if home != relation.location or relation.time is not None or relation.key is not None:
        return None
    if not is_exact(relation, closure) or any(relation.columns[at].type is not Type.INT for at in closure.sums):
        return None
    if any(map(says_order, rules)) or not all(_is_hop(program, step, home, far) for step in closure.steps):
        return None
    around = [rule for rule in rules if rule not in closure.steps]
    return _Route(relation, closure, around[0] if len(around) == 1 else None, home, far)


def _is_hop(program: Program, step: Rule, home: int, far: int) -> bool:
    """Whether a step goes over one link, and reads nothing but rows at its ends."""
    ends = {_name(step.head.args[home]), _name(step.head.args[far])}
    places = {_name(atom.args[program.relation(atom.relation).location or 0]) for atom, _ in body_atoms(step)}
    over = any(atom.link and {_name(arg) for arg in atom.args[:2]} == ends for atom in positive_atoms(step))
    return over and places <= ends


def _opaque(program: Program, routes: list[_Route]) -> Program:
    """The program in which the rows of closures come from somewhere, to see what is asked of them."""
    own = {route.name: route for route in routes}
    rules = [rule for rule in program.rules if rule.head.relation not in own]
    rules += [Rule(_kept(route, args := _args(route)), (Atom(route.opaque, args),)) for route in routes]
    given = [replace(route.relation, name=route.opaque, derived=False, selections=()) for route in routes]
    return replace(program, relations=(*program.relations, *given), rules=tuple(rules))


def _args(route: _Route) -> tuple[Variable, ...]:
    ends = (route.home, route.far)
    return tuple(
        Variable(f"{column.name.upper()}'{at}", at in ends) for at, column in enumerate(route.relation.columns)
    )


def _kept(route: _Route, args: tuple[Variable, ...]) -> Head:
    """A head of the relation, of which the best is kept as it was before."""
    written = route.closure.steps[0].head.args
    kept = (
        replace(own, args=(arg,)) if isinstance(own, Aggregate) else arg for own, arg in zip(written, args, strict=True)
    )
    return Head(route.name, tuple(kept))


def _routed(program: Program, routes: list[_Route]) -> Program:
    own = {route.opaque: route for route in routes}
    relations = [relation for relation in program.relations if relation.name not in own]
    rules: list[Rule] = []
    for rule in program.rules:
        route = next((own[atom.relation] for atom in positive_atoms(rule) if atom.relation in own), None)
        if route is None:
            rules.append(rule)
            continue
        asked = next(each for each in relations if each.asks == Asking(route.name, (route.home,)) and each.derived)
        relations += _relations(route)
        rules += _rules(route, asked.name)
    return replace(program, relations=tuple(relations), rules=tuple(rules))


def _relations(route: _Route) -> Iterator[Relation]:
    relation, columns = route.relation, route.relation.columns
    here, there = columns[route.home], columns[route.far]
    values = [columns[at] for at in route.closure.values] if route.merged else []
    tree = (there, here, *values, Column("hops", Type.INT), Column("from", here.type))
    made = Relation(f"{route.name}'way", tree, derived=True, location=0, part_of=route.name, span=relation.span)
    yield made
    if not route.merged:
        yield replace(relation, name=f"{route.name}'far", location=route.far, part_of=route.name)
    picks = tuple(
        Selection((0, *(at + 1 for at in each.group)), each.value + 1, each.best) for each in relation.selections
    )
    back = (Column("at", here.type), *columns)
    yield replace(made, name=f"{route.name}'back", columns=back, selections=picks)


def _rules(route: _Route, asked: str) -> Iterator[Rule]:
    side = Side.LEFT if route.home == route.closure.source else Side.RIGHT
    longer = list(turned(route.closure, side, route.written))
    plain = longer if route.merged else list(turned(replace(route.closure, values={}), side, route.written))
    for step, more, bare in zip(route.closure.steps, longer, plain, strict=True):
        start = replace(step, body=(*step.body, Atom(asked, (_bare(step.head.args[route.home]),))), origin=step)
        yield _tree(route, start, None)
        yield _tree(route, bare, next(atom for atom in positive_atoms(bare) if atom.relation == route.name))
        if not route.merged:
            yield _renamed(start, route.name)
            yield _renamed(more, route.name)
    args = _args(route)
    back, home = f"{route.name}'back", _bare(args[route.home])
    yield Rule(Head(back, (args[route.far], *args)), (_reached(route, args),))
    hop = Atom(f"{route.name}'way", (_AT, home, *(Wildcard() for _ in _values(route)), Wildcard(), _FROM))
    on = (Atom(back, (_AT, *args)), hop, Comparison("!=", _bare(_AT), home))
    yield Rule(Head(back, (_FROM, *args)), on)
    yield Rule(_kept(route, args), (Atom(back, (args[route.home], *args)),), origin=route.written)


def _values(route: _Route) -> list[int]:
    """The columns that the tree has from the relation, besides its ends."""
    return list(route.closure.values) if route.merged else []


def _reached(route: _Route, args: tuple[Variable, ...]) -> Atom:
    """The goal that gives the rows of a node where they come up."""
    if not route.merged:
        return Atom(f"{route.name}'far", args)
    values = (args[at] for at in _values(route))
    return Atom(f"{route.name}'way", (args[route.far], args[route.home], *values, Wildcard(), Wildcard()))


def _tree(route: _Route, rule: Rule, before: Atom | None) -> Rule:
    """The rule for the tree that does what a rule for the relation does: a first step, or one after `before`."""
    name, args = f"{route.name}'way", rule.head.args
    body: list[Goal] = [goal for goal in rule.body if goal is not before]
    hops: Term = Constant(-1 if route.closure.best in _LARGEST else 1, Type.INT)
    if before is not None:
        there = [before.args[at] for at in (route.far, route.home, *_values(route))]
        body.insert(0, Atom(name, (*there, _BEFORE, Wildcard())))
        hops = Binary("+", _BEFORE, hops)
    sender = _bare(args[route.home] if before is None else before.args[route.far])
    values = [args[at] for at in _values(route)]
    fewest = Aggregate(WITH if values else "min", (_HOPS,))
    head = Head(name, (args[route.far], args[route.home], *values, fewest, Aggregate(WITH, (sender,))))
    used = {name for arg in head.args for name in names(arg)}.union(
        *(goal_names(goal) for goal in body if not _is_let(goal))
    )
    needed = [goal for goal in body if not (_is_let(goal) and goal.variable.name not in used)]
    return replace(rule, head=head, body=(*needed, Assign(_HOPS, hops)))


def _is_let(goal: Goal) -> TypeGuard[Assign]:
    return isinstance(goal, Assign)


def _renamed(rule: Rule, name: str) -> Rule:
    far = f"{name}'far"
    body = (replace(g, relation=far) if isinstance(g, Atom) and g.relation == name else g for g in rule.body)
    return replace(rule, head=replace(rule.head, relation=far), body=tuple(body))


def _bare(arg: Term | Aggregate) -> Variable:
    assert isinstance(arg, Variable)
    return replace(arg, location=False)


def _name(arg: Term | Aggregate) -> str | None:
    return arg.name if isinstance(arg, Variable) else None
