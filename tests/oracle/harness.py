"""What it means that an engine agrees with the oracle; each check raises `Disagreement` at the first difference.

An engine is anything that opens a program and then has `apply`, `rows`, `why` and `without`: the checks know no other
side of it, so that the harness itself can be tested with engines that are right by construction or broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias

from tests.oracle.dice import Dice
from tests.oracle.evaluate import evaluate
from tests.oracle.program import Agg, Not, Program, Row, State
from tests.oracle.scripts import Rows, Transaction, states
from tests.oracle.strata import dependencies, reachable
from tests.oracle.strategies import Case
from tests.oracle.terms import Value

Change: TypeAlias = tuple[list[Row], list[Row]]
"""Rows inserted, rows deleted."""

Changes: TypeAlias = Mapping[str, Change]
Fact: TypeAlias = tuple[str, Row]

SIZE = 15_000
"""Rows of a view, or bindings of a rule, past which a case is too large to be worth its time."""


class Engine(Protocol):
    def apply(self, insert: Rows, delete: Rows) -> Changes: ...

    def rows(self, relation: str) -> set[Row]: ...

    def why(self, relation: str, row: Row) -> list[Fact]: ...

    def without(self, delete: Rows) -> Changes: ...


Opener: TypeAlias = Callable[[Program], Engine]


class Disagreement(AssertionError):
    """`kind` says which promise is broken, so that a smaller case can be asked to break the same one."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def meaning(program: Program, base: State) -> State:
    """What can be read of the views: of queried ones, the rows asked for."""
    views = evaluate(program, base, size=SIZE)
    return {relation: program.asked(relation, rows) for relation, rows in views.items()}


def expectations(case: Case) -> Iterator[tuple[Transaction, State, State, State]]:
    """For each transaction: itself, the base rows after it, the views before it and the views after it."""
    before = meaning(case.reference, {})
    for transaction, base in zip(case.script, states(case.script, case.reference.keys), strict=True):
        after = meaning(case.reference, base)
        yield transaction, base, before, after
        before = after


def check_maintenance(case: Case, open_: Opener) -> None:
    """After every transaction the rows are the oracle's, and the changes are the difference of its states."""
    steps = list(expectations(case))
    engine = open_(case.program)
    compare_rows(engine, case, meaning(case.reference, {}), "before any change")
    for number, (transaction, _, before, after) in enumerate(steps):
        changes = engine.apply(transaction.insert, transaction.delete)
        compare_rows(engine, case, after, f"after transaction {number}")
        compare_changes(changes, case, before, after, f"of transaction {number}")


def check_batchings(case: Case, open_: Opener, seed: int) -> None:
    """However the same edits are cut into transactions, the views at the common points are the same."""
    dice = Dice(seed)
    single, net, whole = open_(case.program), open_(case.program), open_(case.program)
    base: State = {}
    steps = list(expectations(case))
    for number, (transaction, alive, _, after) in enumerate(steps):
        for piece in one_at_a_time(transaction, case.program, dice):
            single.apply(piece.insert, piece.delete)
        compare_rows(single, case, after, f"one change at a time, up to transaction {number}")
        if number == len(steps) - 1 or dice.chance(40):
            net.apply(difference(alive, base), difference(base, alive))
            compare_rows(net, case, after, f"net of several, up to transaction {number}")
            base = alive
    if steps:
        _, alive, before, after = steps[-1]
        before = meaning(case.reference, {})
        changes = whole.apply({relation: tuple(dice.shuffled(in_order(rows))) for relation, rows in alive.items()}, {})
        compare_rows(whole, case, after, "from scratch")
        compare_changes(changes, case, before, after, "from scratch")
        whole.apply({}, {relation: tuple(rows) for relation, rows in alive.items()})
        compare_rows(whole, case, before, "all deleted")


def check_proofs(case: Case, open_: Opener, seed: int, most: int = 6) -> None:
    """Every proof rests on facts that are alive and, where rules only add, on enough of them."""
    dice, engine = Dice(seed), open_(case.program)
    stated = case.program.facts()
    for transaction, base, _, after in expectations(case):
        engine.apply(transaction.insert, transaction.delete)
        for relation in case.program.outputs:
            for row in dice.shuffled(in_order(after[relation]))[:most]:
                facts = engine.why(relation, row)
                for name, fact in facts:
                    if fact not in base.get(name, set()) | stated.get(name, set()):
                        raise Disagreement("proof", f"{relation}{row} rests on {name}{fact}, which is not there")
                if provable(case.reference, relation):
                    support: State = {}
                    for name, fact in facts:
                        support.setdefault(name, set()).add(fact)
                    if row not in meaning(case.reference, support)[relation]:
                        raise Disagreement("proof", f"{relation}{row} does not follow from {facts}")


def check_what_if(case: Case, open_: Opener, seed: int) -> None:
    """`without` foretells what deleting would do, and does nothing."""
    dice, engine = Dice(seed), open_(case.program)
    for number, (transaction, base, _, after) in enumerate(expectations(case)):
        engine.apply(transaction.insert, transaction.delete)
        doomed = {name: tuple(row for row in in_order(rows) if dice.chance(40)) for name, rows in base.items()}
        doomed = {name: rows for name, rows in doomed.items() if rows}
        foretold = engine.without(doomed)
        left = {name: rows - set(doomed.get(name, ())) for name, rows in base.items()}
        when = f"foretold after transaction {number} for deleting {doomed}"
        compare_changes(foretold, case, after, meaning(case.reference, left), when)
        compare_rows(engine, case, after, f"after asking what if, transaction {number}")


def compare_rows(engine: Engine, case: Case, expected: State, when: str) -> None:
    for relation in case.program.outputs:
        found = engine.rows(relation)
        if typed(found) != typed(expected[relation]):
            missing, extra = expected[relation] - found, found - expected[relation]
            raise Disagreement("rows", f"{relation} {when}: missing {missing}, too many {extra}, found {found}")


def compare_changes(changes: Changes, case: Case, before: State, after: State, when: str) -> None:
    for relation in case.program.outputs:
        inserted, deleted = changes.get(relation, ([], []))
        expected = (after[relation] - before[relation], before[relation] - after[relation])
        if (set(inserted), set(deleted)) != expected:
            raise Disagreement("changes", f"{relation} {when}: {inserted}, {deleted} instead of {expected}")
        if len(inserted) != len(set(inserted)) or len(deleted) != len(set(deleted)):
            raise Disagreement("repeats", f"{relation} {when}: {inserted}, {deleted}")


def typed(rows: set[Row]) -> set[tuple[Row, str]]:
    """Python takes 1, 1.0 and True for one value; a column, and what its lists hold, has one type."""
    return {(row, _type_name(row)) for row in rows}


def _type_name(value: Value) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_type_name, value))})"
    return type(value).__name__


def in_order(rows: set[Row]) -> list[Row]:
    """A fixed order, also where a list column holds lists that do not compare."""
    return sorted(rows, key=repr)


def one_at_a_time(transaction: Transaction, program: Program, dice: Dice) -> Iterator[Transaction]:
    """Deletes first, in any order; then inserts, in the order given where a key makes the last one win."""
    deletes = [(relation, row) for relation, rows in transaction.delete.items() for row in rows]
    for relation, row in dice.shuffled(deletes):
        yield Transaction(delete={relation: (row,)})
    for relation, rows in dice.shuffled(list(transaction.insert.items())):
        for row in rows if relation in program.keys else dice.shuffled(rows):
            yield Transaction(insert={relation: (row,)})


def difference(one: State, other: State) -> Rows:
    return {relation: tuple(in_order(rows - other.get(relation, set()))) for relation, rows in one.items()}


def provable(program: Program, relation: str) -> bool:
    """Whether a row of the relation must follow from its proof's facts alone.

    So it is where rules only add: no negation below, and no aggregate but a best value that the relation's own
    recursion uses. (With fewer facts, a sum or a count over other rows may let rows appear that block the proof.)
    """
    below = reachable(dependencies(program))
    needed = {relation, *below[relation]}
    for rule in program.rules:
        if rule.relation not in needed:
            continue
        if any(isinstance(goal, Not) for goal in rule.body):
            return False
        for arg in rule.args:
            if isinstance(arg, Agg):
                own = rule.relation == relation or relation in below[rule.relation]
                if not own or arg.function not in ("min", "max", "mmin", "mmax", "top", "with"):
                    return False
    return True
