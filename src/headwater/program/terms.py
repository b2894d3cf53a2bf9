"""Walking terms and goals: which variables, calls and atoms stand in a piece of a rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from headwater.language import syntax


def subterms(term: syntax.Term | syntax.Aggregate) -> Iterator[syntax.Term]:
    """The term and everything inside it, outside in, left to right."""
    waiting: list[syntax.Term] = list(reversed(term.args)) if isinstance(term, syntax.Aggregate) else [term]
    while waiting:
        top = waiting.pop()
        yield top
        match top:
            case syntax.Variable() | syntax.Wildcard() | syntax.Constant():
                pass
            case syntax.ListTerm(items, tail):
                if tail is not None:
                    waiting.append(tail)
                waiting.extend(reversed(items))
            case syntax.Call(_, args):
                waiting.extend(reversed(args))
            case syntax.Binary(_, left, right):
                waiting += (right, left)
            case _:
                assert_never(top)


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
