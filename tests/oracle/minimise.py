"""Makes a failing case small and prints it as a test that stands on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.oracle.harness import expectations, in_order, meaning
from tests.oracle.program import Program, State, mentioned, reads, to_text
from tests.oracle.scripts import Rows, Transaction
from tests.oracle.strategies import Case

Failure = Callable[[Case], str | None]
"""The kind of failure that a case shows, or None if it passes or makes no sense."""


def minimise(case: Case, failure: Failure, budget: int = 1_500) -> Case:
    """The case with as many rules, goals, transactions and rows taken away as still fail in the same way."""
    kind = failure(case)
    assert kind is not None
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(case):
            budget -= 1
            if budget < 0:
                return case
            if failure(smaller) == kind:
                case, progress = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for at in reversed(range(len(case.script))):
        yield replace(case, script=case.script[:at] + case.script[at + 1 :])
    if case.program is case.reference:
        for program in _smaller_programs(case.program):
            yield replace(case, program=program, reference=program)
    for at, transaction in enumerate(case.script):
        for insert in _smaller_rows(transaction.insert):
            yield _with(case, at, replace(transaction, insert=insert))
        for delete in _smaller_rows(transaction.delete):
            yield _with(case, at, replace(transaction, delete=delete))


def _with(case: Case, at: int, transaction: Transaction) -> Case:
    return replace(case, script=(*case.script[:at], transaction, *case.script[at + 1 :]))


def _smaller_rows(rows: Rows) -> Iterator[Rows]:
    for relation, many in rows.items():
        yield {name: kept for name, kept in rows.items() if name != relation}
        for at in range(len(many)) if len(many) > 1 else ():
            yield {**rows, relation: many[:at] + many[at + 1 :]}


def _smaller_programs(program: Program) -> Iterator[Program]:
    if program.queries:
        yield replace(program, queries=())
    for at in reversed(range(len(program.rules))):
        yield _pruned(replace(program, rules=program.rules[:at] + program.rules[at + 1 :]))
    for name in program.derived:
        yield _pruned(replace(program, rules=tuple(rule for rule in program.rules if rule.relation != name)))
    for at, rule in enumerate(program.rules):
        for gone in range(len(rule.body)) if len(rule.body) > 1 else ():
            body = rule.body[:gone] + rule.body[gone + 1 :]
            changed = replace(rule, body=body)
            yield _pruned(replace(program, rules=(*program.rules[:at], changed, *program.rules[at + 1 :])))


def _pruned(program: Program) -> Program:
    """Without the base relations that nothing reads."""
    return replace(program, bases=tuple(base for base in program.bases if base.name in mentioned(program)))


def sensible(case: Case) -> bool:
    """Whether the oracle can say what the case means: smaller programs may be unsafe, endless or without a rule."""
    program = case.program
    known = {base.name for base in program.bases} | {rule.relation for rule in program.rules}
    changed = {
        name for transaction in case.script for rows in (transaction.insert, transaction.delete) for name in rows
    }
    if not program.derived or not reads(program) <= known or not changed <= {base.name for base in program.bases}:
        return False
    if not set(program.outputs) <= set(program.derived):
        return False
    try:
        for _ in expectations(case):
            pass
    except Exception:
        return False
    return True


def regression_test(case: Case, kind: str) -> str:
    """A test for `tests/engine/test_oracle_regressions.py`: the program, and the rows after each step."""
    lines = [
        f"def test_{kind}_of_some_case() -> None:",
        "    replay(",
        '        """',
        to_text(case.program) + '        """,',
    ]
    lines.append(f"        Step({{}}, {{}}, {_rows_text(case, meaning(case.reference, {}))}),")
    for transaction, _, _, after in expectations(case):
        lines.append(
            f"        Step({_lists(transaction.insert)}, {_lists(transaction.delete)}, {_rows_text(case, after)}),"
        )
    return "\n".join([*lines, "    )"])


def _lists(rows: Rows) -> str:
    return repr({relation: list(many) for relation, many in rows.items() if many})


def _rows_text(case: Case, state: State) -> str:
    shown = (f"{relation!r}: {_set_text(in_order(state[relation]))}" for relation in case.program.outputs)
    return "{" + ", ".join(shown) + "}"


def _set_text(rows: list[tuple[object, ...]]) -> str:
    return "{" + ", ".join(map(repr, rows)) + "}" if rows else "set()"
