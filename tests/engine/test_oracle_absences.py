"""Rows that are not there: `why_not` answers for each of them, and never claims that a plain rule holds."""

from __future__ import annotations

from hypothesis import given

from tests.engine.holding import hold, pairs
from tests.engine.opened import Opened
from tests.oracle.dice import Dice
from tests.oracle.harness import Disagreement, Opener, expectations, in_order
from tests.oracle.program import Agg, Program, Row
from tests.oracle.strategies import Case, cases


@pairs(150)
@given(cases)
def test_oracle_absent_rows_have_a_reason(case: Case) -> None:
    hold(check_absences, case)


def check_absences(case: Case, open_: Opener) -> None:
    engine, dice = open_(case.program), Dice(0)
    assert isinstance(engine, Opened)
    for transaction, _, before, after in expectations(case):
        engine.apply(transaction.insert, transaction.delete)
        for relation in case.program.outputs:
            gone = before[relation] - after[relation]
            for row in in_order(gone)[:3] + mixed(after[relation], dice):
                if row not in after[relation]:
                    reason = engine.db.why_not(relation, row)
                    holding = [attempt.rule for attempt in reason.attempts if attempt.failed is None]
                    if not str(reason) or (holding and is_plain(case.program, relation)):
                        raise Disagreement("absence", f"{relation}{row} is not there, but {holding} hold")


def mixed(rows: set[Row], dice: Dice) -> list[Row]:
    """Rows made of the columns of others: near to being there."""
    known = in_order(rows)
    if not known or not known[0]:
        return []
    return [tuple(dice.pick(known)[at] for at in range(len(known[0]))) for _ in range(3)]


def is_plain(program: Program, relation: str) -> bool:
    """Not aggregated, and all of it asked for: a query that selects hides rows for which rules hold."""
    heads = [rule for rule in program.rules if rule.relation == relation]
    return not program.queries and not any(isinstance(arg, Agg) for rule in heads for arg in rule.args)
