"""Walking terms and goals: what stands in a piece of a rule, and the piece with something else in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from headwater.core.graph import reachable_from
from headwater.language import syntax

Change = Callable[[syntax.Term], syntax.Term]


def children(term: syntax.Term | syntax.Aggregate) -> tuple[syntax.Term, ...]:
    """The terms right inside a term, left to right."""
    match term:
        case syntax.Variable() | syntax.Wildcard() | syntax.Constant():
            return ()
        case syntax.ListTerm(items, tail):
            return items if tail is None else (*items, tail)
        case syntax.Call(_, args) | syntax.Aggregate(_, args):
            return args
        case syntax.Binary(_, left, right):
            return left, right
        case _:
            assert_never(term)


def with_children(term: syntax.Term, change: Change) -> syntax.Term:
    """The term with each of the terms right inside it changed."""
    match term:
        case syntax.Variable() | syntax.Wildcard() | syntax.Constant():
            return term
        case syntax.ListTerm(items, tail):
            return replace(term, items=tuple(map(change, items)), tail=None if tail is None else change(tail))
        case syntax.Call(_, args):
            return replace(term, args=tuple(map(change, args)))
        case syntax.Binary(_, left, right):
            return replace(term, left=change(left), right=change(right))
        case _:
            assert_never(term)


def with_terms(goal: syntax.Goal, change: Change) -> syntax.Goal:
    """The goal with each of its terms changed; the variable that an `Assign` binds is not one of them."""
    match goal:
        case syntax.Atom(_, args):
            return replace(goal, args=tuple(map(change, args)))
        case syntax.Negation(atom):
            return replace(goal, atom=replace(atom, args=tuple(map(change, atom.args))))
        case syntax.Comparison(_, left, right):
            return replace(goal, left=change(left), right=change(right))
        case syntax.Assign(_, term):
            return replace(goal, term=change(term))
        case syntax.Condition(call):
            return replace(goal, call=replace(call, args=tuple(map(change, call.args))))
        case _:
            assert_never(goal)


def with_arguments(head: syntax.Head, change: Change) -> syntax.Head:
    """The head with each of its terms changed, also those inside aggregates."""

    def argument(arg: syntax.Term | syntax.Aggregate) -> syntax.Term | syntax.Aggregate:
        return replace(arg, args=tuple(map(change, arg.args))) if isinstance(arg, syntax.Aggregate) else change(arg)

    return replace(head, args=tuple(map(argument, head.args)))


def subterms(term: syntax.Term | syntax.Aggregate) -> Iterator[syntax.Term]:
    """The term and everything inside it, outside in, left to right; of an aggregate, what is inside."""
    waiting: list[syntax.Term] = list(reversed(term.args)) if isinstance(term, syntax.Aggregate) else [term]
    while waiting:
        top = waiting.pop()
        yield top
        waiting.extend(reversed(children(top)))


def variables(term: syntax.Term | syntax.Aggregate) -> Iterator[syntax.Variable]:
    """Every occurrence of a variable in the term."""
    return (each for each in subterms(term) if isinstance(each, syntax.Variable))


def names(term: syntax.Term | syntax.Aggregate) -> set[str]:
    return {variable.name for variable in variables(term)}


def goal_terms(goal: syntax.Goal) -> tuple[syntax.Term, ...]:
    """The terms that stand in a goal, left to right."""
    match goal:
        case syntax.Atom(_, args):
            return args
        case syntax.Negation(atom):
            return atom.args
        case syntax.Comparison(_, left, right):
            return (left, right)
        case syntax.Assign(variable, term):
            return (variable, term)
        case syntax.Condition(call):
            return (call,)
        case _:
            assert_never(goal)


def goal_names(goal: syntax.Goal) -> set[str]:
    """The names of the variables in a goal."""
    return {variable.name for term in goal_terms(goal) for variable in variables(term)}


def positive_atoms(rule: syntax.Rule) -> Iterator[syntax.Atom]:
    return (goal for goal in rule.body if isinstance(goal, syntax.Atom))


def body_atoms(rule: syntax.Rule) -> Iterator[tuple[syntax.Atom, bool]]:
    """The atoms of the body with whether each is negated."""
    for goal in rule.body:
        match goal:
            case syntax.Atom():
                yield goal, False
            case syntax.Negation(atom):
                yield atom, True
            case _:
                pass


def assigned(rule: syntax.Rule) -> dict[str, syntax.Term]:
    """What each assigned variable of a checked rule stands for."""
    return {goal.variable.name: goal.term for goal in rule.body if isinstance(goal, syntax.Assign)}


def leaves(term: syntax.Term, terms: Mapping[str, syntax.Term]) -> set[str]:
    """The variables that a term is worked out from, where `terms` are what assigned variables stand for."""
    edges = {name: names(each) for name, each in terms.items()}
    return {name for name in reachable_from(names(term), edges) if name not in terms}


def reads(rules: Iterable[syntax.Rule]) -> dict[str, set[str]]:
    """For each relation with rules, the relations that they read."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        found.setdefault(rule.head.relation, set()).update(atom.relation for atom, _ in body_atoms(rule))
    return found


def readers(rules: Iterable[syntax.Rule], *, negated: bool = True) -> dict[str, set[str]]:
    """For each relation that rules read, the relations that they derive; perhaps only by positive atoms."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        for atom, is_negated in body_atoms(rule):
            if negated or not is_negated:
                found.setdefault(atom.relation, set()).add(rule.head.relation)
    return found
