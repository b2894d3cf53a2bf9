"""Random queries over tables with nulls and equal rows: the same bags of rows as DuckDB's."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from tests.sql.engines import Duck, Rows, bag, ours
from tests.sql.random_queries import DECLARATIONS, Grammar, nested_query, random_rows, recursive_query

BATCH = 40  # queries a test: a test of its own for each would only cost time


@pytest.mark.parametrize("batch", range(13))
def test_agree_plain_queries(batch: int) -> None:
    duck = Duck()
    refused = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        dice = random.Random(seed)
        rows = random_rows(dice)
        query = Grammar(dice).statement()
        duck.load(rows)
        if not is_translated(query):
            refused += 1
            continue
        assert ours(query, rows) == duck.run(query), f"{seed}: {query}\n{rows}"
    assert refused <= BATCH // 10


def is_translated(query: str) -> bool:
    """False where we say that we do not translate it; any other problem fails the test."""
    try:
        hw.compile(DECLARATIONS + query)
    except hw.ProgramError as error:
        if any(one.code != "HW117" for one in error.diagnostics):
            raise
        return False
    return True


@pytest.mark.parametrize("batch", range(2))
def test_agree_linear_recursion(batch: int) -> None:
    duck = Duck()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        dice = random.Random(seed)
        rows = random_rows(dice)
        query = recursive_query(dice)
        duck.load(rows)
        assert ours(query, rows) == duck.run(query), f"{seed}: {query}\n{rows}"


@pytest.mark.parametrize("batch", range(2))
def test_agree_nested_recursion(batch: int) -> None:
    """Clauses on a nested WITH and in subqueries: refused, or the right rows; without any, the right rows."""
    duck = Duck()
    compared = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        dice = random.Random(f"nested {seed}")
        rows = random_rows(dice)
        query, has_clause = nested_query(dice)
        duck.load(rows)
        if is_translated(query) or not has_clause:
            assert ours(query, rows) == duck.run(query), f"{seed}: {query}\n{rows}"
            compared += 1
    assert compared >= BATCH // 8


@pytest.mark.parametrize("batch", range(2))
def test_agree_after_every_change(batch: int) -> None:
    """A query's view while rows come and go, copies among them."""
    duck = Duck()
    for seed in range(batch * 12, (batch + 1) * 12):
        dice = random.Random(f"changes {seed}")
        query = recursive_query(dice) if dice.random() < 0.3 else Grammar(dice).statement()
        if not is_translated(query):
            continue
        program = hw.compile(DECLARATIONS + query)
        db = hw.Database(program)
        used = {one.name for one in program.checked.relations}
        held = {name: list(rows) for name, rows in random_rows(dice).items()}
        seen = None
        inserts: Rows = held
        deletes: Rows = {}
        for _ in range(4):
            changes = db.apply(
                insert={name: rows for name, rows in inserts.items() if name in used},
                delete={name: rows for name, rows in deletes.items() if name in used},
            )
            duck.load(held)
            view = program.outputs[-1]
            found = bag(db.table(view))
            assert found == duck.run(query), f"{seed}: {query}\n{held}"
            if seen is not None:
                came, went = bag(changes[view].inserted), bag(changes[view].deleted)
                assert seen + came - went == found, f"{seed}: {query}"
                assert not came & went
            seen = found
            deletes = {name: dice.sample(rows, min(len(rows), 2)) for name, rows in held.items()}
            inserts = random_rows(dice, most=2)
            for name, rows in held.items():
                for row in deletes[name]:
                    rows.remove(row)
                rows += inserts[name]
