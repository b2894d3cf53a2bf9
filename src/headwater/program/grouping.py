"""Heads that group by more than their writer meant: `best(X, Y, min<C>, P)` (HW513, a warning).

Every argument of a head beside its aggregate is one to group by, so that P, which came with C, makes groups.
Mostly the P of the least C is meant. SQL says itself what it groups by, and is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.language.syntax import Aggregate, Rule, Variable
from headwater.language.terms import assigned, goal_names, leaves, positive_atoms
from headwater.program.model import Program
from headwater.program.recursion.aggregates import AGGREGATES, PICK_ONE, Trend, carried_columns, value_columns


def grouping_warnings(program: Program) -> Iterator[Diagnostic]:
    """Heads such as `best(X, Y, min<C>, P)`, where P splits a group that the writer took for one."""
    for rule in program.rules:
        picks = value_columns(rule.head)
        if len(picks) != 1 or carried_columns(rule.head):
            continue
        aggregate = rule.head.args[picks[0]]
        if not isinstance(aggregate, Aggregate) or aggregate.function not in PICK_ONE:
            continue
        column = next(_splitting(rule, picks[0]), None)
        if column is None:
            continue
        arg, value = rule.head.args[column], aggregate.args[0]
        name = arg.name.partition("'")[0] if isinstance(arg, Variable) else "P"
        best = value.name.partition("'")[0] if isinstance(value, Variable) else "C"
        word = "smallest" if AGGREGATES[aggregate.function].trend is Trend.FALLS else "largest"
        yield Diagnostic(
            "HW513",
            f"`{aggregate.function}<{best}>` is computed for each `{name}` separately",
            arg.span or rule.head.span,
            note=f"every other argument of the head is a grouping column, so there is a row for each `{name}`",
            hint=f"for the `{name}` of the {word} `{best}` write `{aggregate.function}<({best}, {name})>`; to group by "
            f"`{name}`, put it before the aggregate",
            severity=Severity.WARNING,
        )


def _splitting(rule: Rule, pick: int) -> Iterator[int]:
    """The variables of a head behind its aggregate that one goal brings along with the aggregated value."""
    value = rule.head.args[pick]
    assert isinstance(value, Aggregate)
    terms = assigned(rule)
    origins = set().union(*(leaves(arg, terms) for arg in value.args))
    for at, arg in enumerate(rule.head.args[pick + 1 :], pick + 1):
        if isinstance(arg, Variable):
            own = leaves(arg, terms)
            if any(origins & goal_names(atom) and own & goal_names(atom) for atom in positive_atoms(rule)):
                yield at
