"""Whether the best rows of a recursive relation rest on best rows alone (optimal substructure).

Take one recursive goal of a rule and put, for its row, another one of the same group whose value is better. The columns
outside group and value may then be anything. `carries` follows what this does to every variable of the rule
and asks that

- every other goal still holds: what moves meets no join, negation or condition, and only comparisons that a
  better value cannot break (`C < 10` for min), and every `Assign` of it still has a value;
- the head row stays in its group, and its value follows at least as asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import assert_never

from headwater.language import syntax
from headwater.language.terms import goal_names, names
from headwater.program.model import Selection
from headwater.rewrite.shapes import Shape, shape_of


class TermTrend(Enum):
    """What a better value below does to a term that depends on it."""

    ANYTHING = "anything"
    STILL = "still"
    NO_WORSE = "no worse"
    BETTER = "better"


Trends = dict[str, TermTrend]
_CHOOSING = frozenset({"larger", "largest", "smaller", "smallest"})
_BELOW = {"min": ("<", "<="), "max": (">", ">=")}


def carries(rule: syntax.Rule, selection: Selection, shapes: Mapping[str, Shape], *, strictly: bool) -> bool:
    """Whether each recursive goal may take a better row of its group, and the head gets better (or no worse)."""
    return all(
        _goal_carries(rule, goal, selection, shapes, strictly=strictly)
        for goal in rule.body
        if isinstance(goal, syntax.Atom) and goal.relation == rule.head.relation
    )


def _goal_carries(
    rule: syntax.Rule, goal: syntax.Atom, selection: Selection, shapes: Mapping[str, Shape], *, strictly: bool
) -> bool:
    value = goal.args[selection.value]
    outside = [
        arg for at, arg in enumerate(goal.args) if at not in selection.group and not isinstance(arg, syntax.Wildcard)
    ]
    named = [arg.name for arg in goal.args if isinstance(arg, syntax.Variable)]
    if not isinstance(value, syntax.Variable) or not all(isinstance(arg, syntax.Variable) for arg in outside):
        return False
    if any(named.count(arg.name) > 1 for arg in outside if isinstance(arg, syntax.Variable)):
        return False
    trends: Trends = {arg.name: TermTrend.ANYTHING for arg in outside if isinstance(arg, syntax.Variable)}
    trends[value.name] = TermTrend.BETTER
    for other in rule.body:
        if isinstance(other, syntax.Assign):
            trends[other.variable.name] = _trend(other.term, trends)
    if not all(_still_holds(other, selection, trends, shapes) for other in rule.body if other is not goal):
        return False
    if not all(_is_still(rule.head.args[at], trends) for at in selection.group):
        return False
    head = rule.head.args[selection.value]
    follows = TermTrend.ANYTHING if isinstance(head, syntax.Aggregate) else _trend(head, trends)
    return follows is TermTrend.BETTER or (not strictly and follows is not TermTrend.ANYTHING)


def _is_still(term: syntax.Term | syntax.Aggregate, trends: Trends) -> bool:
    return all(trends.get(name, TermTrend.STILL) is TermTrend.STILL for name in names(term))


def _still_holds(goal: syntax.Goal, selection: Selection, trends: Trends, shapes: Mapping[str, Shape]) -> bool:
    if all(trends.get(name, TermTrend.STILL) is TermTrend.STILL for name in goal_names(goal)):
        return True
    match goal:
        case syntax.Atom() | syntax.Negation() | syntax.Condition():
            return False
        case syntax.Comparison(op=op, left=left, right=right):
            if shape_of(left, shapes) is None or shape_of(right, shapes) is None:
                return False
            below, above = _BELOW[selection.best], _BELOW["max" if selection.best == "min" else "min"]
            smaller, larger = (left, right) if op in below else (right, left)
            return (
                op in below + above and _trend(smaller, trends) is not TermTrend.ANYTHING and _is_still(larger, trends)
            )
        case syntax.Assign(term=term):
            return _is_still(term, trends) or shape_of(term, shapes) is not None
        case _:
            assert_never(goal)


def _trend(term: syntax.Term, trends: Trends) -> TermTrend:
    match term:
        case syntax.Variable(name=name):
            return trends.get(name, TermTrend.STILL)
        case syntax.Constant() | syntax.Wildcard():
            return TermTrend.STILL
        case syntax.Binary(op="+", left=left, right=right):
            return _together(_trend(left, trends), _trend(right, trends))
        case syntax.Binary(op="-", left=left, right=right) if _is_still(right, trends):
            return _trend(left, trends)
        case syntax.Binary(op="*", left=left, right=syntax.Constant(value=int() | float() as factor)) if factor > 0:
            return _trend(left, trends)
        case syntax.Binary(op="*", left=syntax.Constant(value=int() | float() as factor), right=right) if factor > 0:
            return _trend(right, trends)
        case syntax.Call(function=function, args=args) if function.removeprefix("f_") in _CHOOSING:
            below = [_trend(arg, trends) for arg in args]
            if all(trend is TermTrend.STILL for trend in below):
                return TermTrend.STILL
            return TermTrend.ANYTHING if TermTrend.ANYTHING in below else TermTrend.NO_WORSE
        case syntax.Binary() | syntax.Call() | syntax.ListTerm():
            return TermTrend.STILL if _is_still(term, trends) else TermTrend.ANYTHING
        case _:
            assert_never(term)


def _together(left: TermTrend, right: TermTrend) -> TermTrend:
    """The trend of a sum."""
    if TermTrend.ANYTHING in (left, right):
        return TermTrend.ANYTHING
    if TermTrend.BETTER in (left, right):
        return TermTrend.BETTER
    return TermTrend.STILL if left is right is TermTrend.STILL else TermTrend.NO_WORSE
