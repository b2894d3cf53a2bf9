"""Whether a program uses time as it can be kept: totals have none, and a recursion's own times may still fall.

A row that follows in several ways has the earliest of their times. Inside a recursion that time behaves like the
value of a `min`: it may be handed on, go into `larger` or `largest`, or be held below a bound; any other use could be
undone by an earlier derivation (HW510). Totals have no time of their own, nor have rows whose value and time could
pull in different directions (HW509).
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.diagnostics import Diagnostic
from headwater.language.syntax import Assign, Atom, Comparison, Condition, Goal, Negation, Rule, Term, Variable
from headwater.language.terms import goal_names, names
from headwater.program.model import Program
from headwater.program.names import rule_name
from headwater.program.recursion.cycles import cycles
from headwater.program.time.timing import asked, is_time_goal, timeless


def time_use_problems(program: Program) -> Iterator[Diagnostic]:
    if all(relation.time is None for relation in program.relations):
        return
    wanted = asked(program)
    spans = {relation.name: relation.span for relation in program.relations}
    for name in sorted(wanted & timeless(program)):
        message = f"the time of `{name}` is used, but its rows have no single time"
        note = "they add up rows of many times, or a better value of their recursion may come with a later time"
        hint = "write `_` for it; over the rows below, `max<T>` tells the latest of their times"
        yield Diagnostic("HW509", message, spans[name], note=note, hint=hint)
    for cycle in cycles(program):
        moving = cycle.relations & wanted
        for rule in cycle.recursive_rules() if moving else ():
            misused = _misused(rule, moving)
            if misused is not None:
                yield Diagnostic(
                    "HW510",
                    f"`{misused}` in {rule_name(rule)} is the time of a row that may still get an earlier time",
                    rule.span,
                    note="a row that follows in several ways has the earliest of their times",
                    hint="inside its recursion hand a time on, take `larger` or `largest`, or hold it below a bound; "
                    "for anything else derive a relation outside",
                )


def _misused(rule: Rule, moving: frozenset[str]) -> str | None:
    """A variable for a time of the rule's own recursion, or one made from it, in a place where it must not stand."""
    own = [goal.args[0] for goal in rule.body if isinstance(goal, Atom) and goal.relation in moving]
    falling = [arg.name for arg in own if isinstance(arg, Variable)]
    for goal in rule.body:
        if is_time_goal(goal) and names(goal.term) & set(falling):
            falling.append(goal.variable.name)
    known = set(falling)
    for goal in rule.body:
        for name in sorted(_touched(goal) & known):
            if not _allowed(goal, name, known, moving):
                return name
    joined = [name for name in falling if _standing(name, rule) + falling.count(name) > 2]
    beyond = sorted({name for arg in rule.head.args[1:] for name in names(arg)} & known)
    return next(iter([*joined, *beyond]), None)


def _touched(goal: Goal) -> set[str]:
    return names(goal.term) if isinstance(goal, Assign) else goal_names(goal)


def _standing(name: str, rule: Rule) -> int:
    """In how many atoms the variable stands."""
    return sum(isinstance(goal, Atom) and name in goal_names(goal) for goal in rule.body)


def _allowed(goal: Goal, name: str, falling: set[str], moving: frozenset[str]) -> bool:
    match goal:
        case Atom(relation=relation, args=args):
            return relation in moving and sum(_is(arg, name) for arg in args) == 1 and _is(args[0], name)
        case Assign():
            return is_time_goal(goal)
        case Comparison(op="<" | "<=", left=left, right=right):
            return _is(left, name) and not names(right) & falling
        case Comparison(op=">" | ">=", left=left, right=right):
            return _is(right, name) and not names(left) & falling
        case Comparison() | Condition() | Negation():
            return False


def _is(term: Term, name: str) -> bool:
    return isinstance(term, Variable) and term.name == name
