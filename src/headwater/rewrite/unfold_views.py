"""Read through trivial views: where `v(X, Y) :- p(Y, X, Z).` is all there is to `v`, a goal `v(A, B)` is `p(B, A, _)`.

A view is trivial when one rule with one positive atom defines it, the arguments of the atom are distinct variables
or `_`, and so are those of the head: a renaming, a permutation or a projection.

Guarantees: the same rows in every relation that stays. A column that the view leaves out becomes `_`, which is not
a named variable, so an aggregate still ranges over the same bindings; under negation, "no row of the view" and
"no row of `p` with anything there" say the same. Views that read each other in a circle are left alone.

Not touched, because they carry a meaning of their own: outputs, views with a key, ttl or window, views of rows with
a time (a negated goal sees what has arrived by then), and views that move rows to another location
(`linkD(@Z, @S) :- link(@S, @Z)`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headwater.language.syntax import Atom, Goal, Head, Negation, Rule, Variable, Wildcard
from headwater.language.terms import goal_names
from headwater.program.model import Program, Relation
from headwater.rewrite.substitution import substitute_atom


@dataclass(frozen=True, slots=True)
class _View:
    """`atom` says in the view's own `columns` what the view reads."""

    columns: tuple[str, ...]
    atom: Atom


def unfold_views(program: Program) -> Program:
    views = _resolved(_trivial_views(program))
    if not views:
        return program
    return replace(
        program,
        relations=tuple(relation for relation in program.relations if relation.name not in views),
        rules=tuple(_unfolded(rule, views) for rule in program.rules if rule.head.relation not in views),
    )


def _trivial_views(program: Program) -> dict[str, _View]:
    relations = {relation.name: relation for relation in program.relations}
    outputs = frozenset(program.outputs)
    rules_of = Counter(rule.head.relation for rule in program.rules)
    views: dict[str, _View] = {}
    for rule in program.rules:
        name = rule.head.relation
        if rules_of[name] == 1 and name not in outputs and _is_plain(relations[name]):
            view = _view(rule, relations)
            if view is not None:
                views[name] = view
    return views


def _is_plain(relation: Relation) -> bool:
    return (
        relation.time is None
        and relation.key is None
        and relation.ttl is None
        and relation.window is None
        and not relation.selections
    )


def _view(rule: Rule, relations: Mapping[str, Relation]) -> _View | None:
    match rule.body:
        case (Atom(args=args) as atom,) if all(isinstance(arg, Variable | Wildcard) for arg in args):
            pass
        case _:
            return None
    columns = tuple(arg.name for arg in rule.head.args if isinstance(arg, Variable))
    named = [arg.name for arg in args if isinstance(arg, Variable)]
    if len(set(columns)) != len(rule.head.args) or len(set(named)) != len(named) or not set(columns) <= set(named):
        return None
    here, there = relations[rule.head.relation], relations[atom.relation]
    if there.time is not None or not _same_types(rule.head, here, atom, there):
        return None
    if here.location is not None and there.location is not None:
        stands = atom.args[there.location]
        if not (isinstance(stands, Variable) and stands.name == columns[here.location]):
            return None
    return _View(columns, replace(atom, link=False))


def _same_types(head: Head, here: Relation, atom: Atom, there: Relation) -> bool:
    """A declared view may widen int to float; reading through it must not undo that."""
    stands = {arg.name: at for at, arg in enumerate(atom.args) if isinstance(arg, Variable)}
    return all(
        here.columns[at].type is there.columns[stands[arg.name]].type
        for at, arg in enumerate(head.args)
        if isinstance(arg, Variable)
    )


def _resolved(views: dict[str, _View]) -> dict[str, _View]:
    """Each view in terms of a relation that is none; those that only ever lead back to themselves are left out."""
    done: dict[str, _View | None] = {}
    for start in views:
        chain: dict[str, None] = {}
        name = start
        while name in views and name not in done and name not in chain:
            chain[name] = None
            name = views[name].atom.relation
        circular = name in chain or done.get(name, _NOT_A_VIEW) is None
        for link in reversed(chain):
            view = views[link]
            below = done.get(view.atom.relation)
            if circular:
                done[link] = None
            else:
                done[link] = view if below is None else _View(view.columns, _read_through(view.atom, below))
    return {name: view for name, view in done.items() if view is not None}


_NOT_A_VIEW = object()


def _unfolded(rule: Rule, views: Mapping[str, _View]) -> Rule:
    def goal(goal: Goal) -> Goal:
        match goal:
            case Atom(relation=name) if name in views:
                return _read_through(goal, views[name])
            case Negation(Atom(relation=name) as atom) if name in views:
                return replace(goal, atom=_read_through(atom, views[name]))
            case _:
                return goal

    if not any(isinstance(g, Atom | Negation) for g in rule.body):
        return rule
    return replace(rule, body=tuple(goal(g) for g in rule.body))


def _read_through(use: Atom, view: _View) -> Atom:
    given = dict(zip(view.columns, use.args, strict=True))
    lost = {name: Wildcard() for name in goal_names(view.atom) if name not in given}
    return replace(substitute_atom(view.atom, {**given, **lost}), span=use.span)
