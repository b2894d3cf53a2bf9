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
    """The case with a few queries in place of its own, most of which name values.

    Where a program has queries, theirs ask for no more: what they leave out need not be finite.
    """
    dice = Dice(seed)
    last: State = ([{}, *states(case.script, case.reference.keys)])[-1]
    try:
        rows = evaluate(replace(case.reference, queries=()), last, size=SIZE)
    except Diverges:
        return case
    views = dice.shuffled(case.program.outputs)
    queries = tuple(
        _query(_own_query(case.program, name), in_order(rows[name]), dice)
        for name in views[: dice.number(1, 2)]
        for _ in range(dice.number(1, 2))
    )
    return replace(
        case,
        program=replace(case.program, queries=queries),
        reference=replace(case.reference, queries=queries),
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
                args[at] = Const(row[at])
    return replace(own, args=tuple(args))


def _can_be_asked(value: Value) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
