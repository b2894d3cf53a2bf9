"""Rules without what is not needed: hidden columns that no rule counts by, variables that no goal reads, mere copies.

A hidden column is needed where the view is shown, where a rule counts its bindings, or where it goes on into a column
that is needed. The answers stay the same; the rules get as short as a person would write them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

from headwater.language import syntax
from headwater.language.sql.scope.rules import renamed
from headwater.language.sql.scope.sources import SqlTable
from headwater.language.terms import body_atoms, goal_terms, variables

_Place: TypeAlias = tuple[str, int]
_COUNTING = frozenset({"count", "sum", "avg", "collect"})


def pruned(rules: list[syntax.Rule], tables: dict[str, SqlTable], shown: set[str]) -> list[syntax.Rule]:
    """The rules without unneeded columns; `tables` lose them, too. `shown` are the views that are asked for."""
    needed = _needed(rules, tables, shown)
    rules = [_without_columns(rule, tables, needed) for rule in rules]
    for name, table in tables.items():
        table.hidden = sum(1 for place in range(len(table.columns), table.arity) if (name, place) in needed)
    rules = _without_copies(rules, shown)
    return [_with_wildcards(rule) for rule in rules]


# Hidden columns


def _needed(rules: list[syntax.Rule], tables: dict[str, SqlTable], shown: set[str]) -> set[_Place]:
    hidden = {(name, place) for name, table in tables.items() for place in range(len(table.columns), table.arity)}
    needed = {place for place in hidden if place[0] in shown}
    while True:
        found = {place for rule in rules for place in _asked(rule, hidden, needed)}
        if found <= needed:
            return needed
        needed |= found


def _asked(rule: syntax.Rule, hidden: set[_Place], needed: set[_Place]) -> Iterator[_Place]:
    """The hidden columns that a rule reads for a reason."""
    counts = _counts(rule)
    name = rule.head.relation
    uses = _uses(rule, lambda place: (name, place) not in hidden or (name, place) in needed)
    for goal in rule.body:
        if isinstance(goal, syntax.Atom):
            for place, arg in enumerate(goal.args):
                read = isinstance(arg, syntax.Variable) and (counts or uses[arg.name] > 1)
                if read and (goal.relation, place) in hidden:
                    yield goal.relation, place


def _without_columns(rule: syntax.Rule, tables: dict[str, SqlTable], needed: set[_Place]) -> syntax.Rule:
    head = replace(rule.head, args=_kept(rule.head.relation, rule.head.args, tables, needed))
    body: list[syntax.Goal] = []
    for goal in rule.body:
        match goal:
            case syntax.Atom(relation, args):
                body.append(replace(goal, args=_kept(relation, args, tables, needed)))
            case syntax.Negation(atom):
                body.append(replace(goal, atom=replace(atom, args=_kept(atom.relation, atom.args, tables, needed))))
            case _:
                body.append(goal)
    return replace(rule, head=head, body=tuple(body))


def _kept(relation: str, args: tuple, tables: dict[str, SqlTable], needed: set[_Place]) -> tuple:  # type: ignore[type-arg]
    table = tables.get(relation)
    if table is None:
        return args
    width = len(table.columns)
    return tuple(arg for place, arg in enumerate(args) if place < width or (relation, place) in needed)


# Copies


def _without_copies(rules: list[syntax.Rule], shown: set[str]) -> list[syntax.Rule]:
    """Helpers that another relation only copies are written into it."""
    while True:
        copied = _copy(rules, shown)
        if copied is None:
            return rules
        copy, source = copied
        parts = [_through(copy, rule) for rule in rules if rule.head.relation == source]
        at = next(place for place, rule in enumerate(rules) if rule is copy)
        before = [rule for rule in rules[:at] if rule.head.relation != source]
        after = [rule for rule in rules[at + 1 :] if rule.head.relation != source]
        rules = [*before, *parts, *after]


def _copy(rules: list[syntax.Rule], shown: set[str]) -> tuple[syntax.Rule, str] | None:
    readers: dict[str, list[syntax.Rule]] = {}
    heads: dict[str, list[syntax.Rule]] = {}
    for rule in rules:
        heads.setdefault(rule.head.relation, []).append(rule)
        for name in {atom.relation for atom, _ in body_atoms(rule)}:
            readers.setdefault(name, []).append(rule)
    for rule in rules:
        if len(rule.body) != 1 or not isinstance(rule.body[0], syntax.Atom):
            continue
        source = rule.body[0].relation
        if "'" not in source or source in shown or source not in heads or source == rule.head.relation:
            continue
        if len(readers[source]) != 1 or any(isinstance(arg, syntax.Aggregate) for arg in rule.head.args):
            continue
        if _is_whole(rule, rule.body[0], heads[source], alone=len(heads[rule.head.relation]) == 1):
            return rule, source
    return None


def _is_whole(rule: syntax.Rule, atom: syntax.Atom, sources: list[syntax.Rule], *, alone: bool) -> bool:
    names = [arg.name for arg in atom.args if isinstance(arg, syntax.Variable)]
    if len(set(names)) != len(names) or any(isinstance(arg, syntax.Constant) for arg in atom.args):
        return False
    if any(each.relation == rule.head.relation for source in sources for each, _ in body_atoms(source)):
        return False
    if not any(isinstance(arg, syntax.Aggregate) for source in sources for arg in source.head.args):
        return True
    taken = [arg.name for arg in rule.head.args if isinstance(arg, syntax.Variable)]
    return alone and sorted(taken) == sorted(names) and len(taken) == len(rule.head.args) == len(atom.args)


def _through(copy: syntax.Rule, source: syntax.Rule) -> syntax.Rule:
    atom = copy.body[0]
    assert isinstance(atom, syntax.Atom)
    given = {
        arg.name: value
        for arg, value in zip(atom.args, source.head.args, strict=True)
        if isinstance(arg, syntax.Variable)
    }
    args: list[syntax.Term | syntax.Aggregate] = []
    for arg in copy.head.args:
        value = given.get(arg.name) if isinstance(arg, syntax.Variable) else None
        if isinstance(value, syntax.Aggregate):
            args.append(value)
        else:
            assert not isinstance(arg, syntax.Aggregate)
            plain = {name: each for name, each in given.items() if not isinstance(each, syntax.Aggregate)}
            args.append(renamed(arg, plain))
    return replace(source, head=replace(source.head, relation=copy.head.relation, args=tuple(args)))


# Variables


def _with_wildcards(rule: syntax.Rule) -> syntax.Rule:
    if _counts(rule):
        return rule
    uses = _uses(rule)
    body = tuple(
        replace(goal, args=tuple(syntax.Wildcard() if _once(arg, uses) else arg for arg in goal.args))
        if isinstance(goal, syntax.Atom)
        else goal
        for goal in rule.body
        if not (isinstance(goal, syntax.Assign) and uses[goal.variable.name] == 1)
    )
    return replace(rule, body=body)


def _once(arg: syntax.Term, uses: Counter[str]) -> bool:
    return isinstance(arg, syntax.Variable) and uses[arg.name] == 1


def _counts(rule: syntax.Rule) -> bool:
    return any(isinstance(arg, syntax.Aggregate) and arg.function in _COUNTING for arg in rule.head.args)


def _uses(rule: syntax.Rule, shown: Callable[[int], bool] = lambda _: True) -> Counter[str]:
    """How often each variable stands in a rule; in its head, in the places that are `shown`."""
    terms = [arg for place, arg in enumerate(rule.head.args) if shown(place)]
    inside = [term for goal in rule.body for term in goal_terms(goal)]
    return Counter(variable.name for term in (*terms, *inside) for variable in variables(term))
