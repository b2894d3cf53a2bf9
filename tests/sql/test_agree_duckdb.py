"""Random queries over tables with nulls and equal rows: the same bags of rows as DuckDB's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import headwater as hw
from tests.sql.engines import Duck, follow, ours
from tests.sql.random_nested import NestedGrammar
from tests.sql.random_queries import DECLARATIONS, Grammar, nested_query, random_rows, recursive_query

BATCH = 40  # queries a test: a test of its own for each would only cost time


def batches(few: int, many: int) -> list[Any]:
    """Numbers of batches, of which `make test` runs a few and `make soak` all."""
    return [*range(few), *(pytest.param(batch, marks=pytest.mark.soak) for batch in range(few, many))]


@pytest.mark.parametrize("batch", batches(7, 26))
def test_agree_plain_queries(batch: int) -> None:
    refused = compare_batch(batch, random.Random, Grammar)
    assert refused <= BATCH // 10


@pytest.mark.parametrize("batch", batches(6, 26))
def test_agree_nested_queries(batch: int) -> None:
    """Subqueries as values, LATERAL, windows, grouping sets, generators and limits, inside one another."""
    refused = compare_batch(batch, lambda seed: random.Random(f"nested grammar {seed}"), NestedGrammar)
    assert refused <= BATCH // 5


def compare_batch(batch: int, dice_of: Callable[[int], random.Random], grammar: type[Grammar]) -> int:
    """Hold the queries of a batch against DuckDB; how many of them are not translated."""
    duck = Duck()
    refused = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        dice = dice_of(seed)
        rows = random_rows(dice)
        query = grammar(dice).statement()
        duck.load(rows)
        if not is_translated(query):
            refused += 1
            continue
        assert ours(query, rows) == duck.run(query), f"{seed}: {query}\n{rows}"
    return refused


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


@pytest.mark.parametrize("grammar", [Grammar, NestedGrammar])
@pytest.mark.parametrize("batch", batches(1, 8))
def test_agree_after_every_change(batch: int, grammar: type[Grammar]) -> None:
    """A query's view while rows come and go, copies among them."""
    duck = Duck()
    for seed in range(batch * 12, (batch + 1) * 12):
        dice = random.Random(f"changes {seed}")
        query = recursive_query(dice) if dice.random() < 0.3 else grammar(dice).statement()
        if not is_translated(query):
            continue
        follow(query, duck, dice, 4)
