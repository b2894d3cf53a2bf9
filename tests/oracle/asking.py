"""Cases whose queries ask for some rows only: a program's views, bound at random by values that they have."""

from __future__ import annotations

from dataclasses import replace

from tests.oracle.dice import Dice
from tests.oracle.evaluate import Diverges, evaluate
from tests.oracle.harness import SIZE, in_order
from tests.oracle.program import Atom, Const, Program, Row, State, Term, Value, Var
from tests.oracle.scripts import states
from tests.oracle.strategies import Case


def asked_case(case: Case, seed: int) -> Case:
    """The case with one to three queries in place of its own, most of which name values."""
    dice = Dice(seed)
    last: State = ([{}, *states(case.script, case.reference.keys)])[-1]
    try:
        rows = evaluate(replace(case.reference, queries=()), last, size=SIZE)
    except Diverges:
        return case
    views = dice.shuffled([name for name in case.program.derived if name in case.reference.derived])
    queries = tuple(
        _query(name, in_order(rows[name]), _width(case.program, name), dice)
        for name in views[: dice.number(1, 2)]
        for _ in range(dice.number(1, 2))
    )
    return replace(
        case,
        program=replace(case.program, queries=queries),
        reference=replace(case.reference, queries=queries),
    )


def _width(program: Program, name: str) -> int:
    return len(next(rule.args for rule in program.rules if rule.relation == name))


def _query(name: str, rows: list[Row], width: int, dice: Dice) -> Atom:
    args: list[Term] = [Var(f"Q{at}") for at in range(width)]
    if rows:
        row = dice.pick(rows)
        for at in range(width):
            if dice.chance(45 if at else 70) and _can_be_asked(row[at]):
                args[at] = Const(row[at])
    return Atom(name, tuple(args))


def _can_be_asked(value: Value) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
