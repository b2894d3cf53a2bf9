"""Cases whose queries ask for some rows only: a program's views, bound at random by values that they have."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.dice import Dice
from tests.oracle.evaluate import Diverges, evaluate
from tests.oracle.harness import SIZE, in_order
from tests.oracle.program import Atom, Const, Program, Row, State, Term, Value, Var
from tests.oracle.scripts import states
from tests.oracle.strategies import Case
from tests.oracle.timed import Clock, TimedCase


def asked_case(case: Case, seed: int) -> Case:
    """The case with a few queries in place of its own, most of which name values.

    Where a program has queries, theirs ask for no more: what they leave out need not be finite.
    """
    last: State = ([{}, *states(case.script, case.reference.keys)])[-1]
    try:
        queries = _queries(case.program, case.reference, last, Dice(seed))
    except Diverges:
        return case
    return replace(
        case,
        program=replace(case.program, queries=queries),
        reference=replace(case.reference, queries=queries),
    )


def asked_timed_case(case: TimedCase, seed: int) -> TimedCase:
    """The same for programs with time, by values that their views have once all steps are made."""
    clock = Clock(case)
    for step in case.script:
        clock.apply(step)
    last = {name: set(rows) for name, rows in clock.alive().items()}
    try:
        queries = _queries(case.program, case.program, last, Dice(seed))
    except Diverges:
        return case
    return replace(case, program=replace(case.program, queries=queries))


def _queries(program: Program, reference: Program, last: State, dice: Dice) -> tuple[Atom, ...]:
    """Queries by values that the views have over the base rows of the last state."""
    rows = evaluate(replace(reference, queries=()), last, size=SIZE)
    views = sorted(dice.shuffled(program.outputs), key=lambda name: not rows[name])  # of no rows none can be named
    return tuple(
        _query(_own_query(program, name), in_order(rows[name]), dice)
        for name in views[: dice.number(1, 2)]
        for _ in range(dice.number(1, 2))
    )


def _own_query(program: Program, name: str) -> Atom:
    width = len(next(rule.args for rule in program.rules if rule.relation == name))
    own = [query for query in program.queries if query.relation == name]
    return own[0] if own else Atom(name, tuple(Var(f"Q{at}") for at in range(width)))


def _query(own: Atom, rows: list[Row], dice: Dice) -> Atom:
    args: list[Term] = list(own.args)
    if rows:
        row = dice.pick(rows)
        for at, arg in enumerate(args):
            if isinstance(arg, Var) and dice.chance(45 if at else 70) and _can_be_asked(row[at]):
                args[at] = Const(-0.0 if row[at] == 0.0 and isinstance(row[at], float) else row[at])
    return replace(own, args=tuple(args))


def _can_be_asked(value: Value) -> bool:
    return value is None or isinstance(value, int | str | float)
