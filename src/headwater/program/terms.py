"""Walking terms and goals: which variables, calls and atoms stand in a piece of a rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from headwater.language.tree import (
    Aggregate,
    Assign,
    Atom,
    Binary,
    Call,
    Comparison,
    Condition,
    Constant,
    Goal,
    ListTerm,
    Negation,
    Rule,
    Term,
    Variable,
    Wildcard,
)


def subterms(term: Term | Aggregate) -> Iterator[Term]:
    """The term and everything inside it, outside in, left to right."""
    waiting: list[Term] = list(reversed(term.args)) if isinstance(term, Aggregate) else [term]
    while waiting:
        top = waiting.pop()
        yield top
        match top:
            case Variable() | Wildcard() | Constant():
                pass
            case ListTerm(items, tail):
                if tail is not None:
                    waiting.append(tail)
                waiting.extend(reversed(items))
            case Call(_, args):
                waiting.extend(reversed(args))
            case Binary(_, left, right):
                waiting += (right, left)
            case _:
                assert_never(top)


def variables(term: Term | Aggregate) -> Iterator[Variable]:
    """Every occurrence of a variable in the term."""
    return (each for each in subterms(term) if isinstance(each, Variable))


def names(term: Term | Aggregate) -> set[str]:
    return {variable.name for variable in variables(term)}


def goal_terms(goal: Goal) -> tuple[Term, ...]:
    """The terms that stand in a goal, left to right."""
    match goal:
        case Atom(_, args):
            return args
        case Negation(atom):
            return atom.args
        case Comparison(_, left, right):
            return (left, right)
        case Assign(variable, term):
            return (variable, term)
        case Condition(call):
            return (call,)
        case _:
            assert_never(goal)


def goal_names(goal: Goal) -> set[str]:
    """The names of the variables in a goal."""
    return {variable.name for term in goal_terms(goal) for variable in variables(term)}


def positive_atoms(rule: Rule) -> Iterator[Atom]:
    return (goal for goal in rule.body if isinstance(goal, Atom))


def body_atoms(rule: Rule) -> Iterator[tuple[Atom, bool]]:
    """The atoms of the body with whether each is negated."""
    for goal in rule.body:
        match goal:
            case Atom():
                yield goal, False
            case Negation(atom):
                yield atom, True
            case _:
                pass


def assigned(rule: Rule) -> dict[str, Term]:
    """What each assigned variable of a checked rule stands for."""
    return {goal.variable.name: goal.term for goal in rule.body if isinstance(goal, Assign)}
