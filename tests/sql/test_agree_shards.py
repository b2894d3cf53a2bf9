"""Random SQL on several shards while rows come and go, nulls and copies among them: the same bags as DuckDB's."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.types import Type
from headwater.engine.codes.columns import ARROW
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import KINDS, choose
from tests.sql.engines import Bag, Duck, Rows, bag
from tests.sql.random_queries import DECLARATIONS, TABLES, Grammar, random_rows, recursive_query
from tests.sql.test_agree_duckdb import is_translated


def arrow(rows: Rows, used: set[str]) -> dict[str, pa.Table]:
    return {
        name: pa.table(
            {column: pa.array([row[at] for row in given], ARROW[Type(kind)]) for at, (column, kind) in columns}
        )
        for name, given in rows.items()
        if name in used and (columns := list(enumerate(TABLES[name])))
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_agree_on_shards(shards: int, kind: str) -> None:
    duck = Duck()
    ran = 0
    for seed in range(12):
        dice = random.Random(f"{shards} {kind} {seed}")
        query = recursive_query(dice) if dice.random() < 0.6 else Grammar(dice).statement()
        if not is_translated(query):
            continue
        program = hw.compile(DECLARATIONS + query)
        try:
            sharding = choose(program, {}, max(2, shards), kinds=(kind,))
        except ValueError:
            continue  # this program does not run by this kind
        ran += 1
        cluster = Cluster(sharding, shards)
        used, view = {one.name for one in program.checked.relations}, program.outputs[-1]
        held = {name: list(rows) for name, rows in random_rows(dice).items()}
        seen: Bag = bag(cluster.rows(view))  # what holds without any rows
        inserts: Rows = held
        deletes: Rows = {}
        for _ in range(3):
            outcomes = cluster.apply(arrow(inserts, used), arrow(deletes, used))
            duck.load(held)
            found = bag(cluster.rows(view))
            assert found == duck.run(query), f"{seed}: {query}\n{held}"
            for one in outcomes:
                seen = seen + bag(one.changes[view][0])
            for one in outcomes:
                went = bag(one.changes[view][1])
                assert went <= seen
                seen = seen - went
            assert seen == found, f"{seed}: {query}"
            deletes = {name: dice.sample(rows, min(len(rows), 2)) for name, rows in held.items()}
            inserts = random_rows(dice, most=2)
            for name, rows in held.items():
                held[name] = list((Counter(rows) - Counter(deletes[name])).elements()) + list(inserts[name])
    assert ran or kind == "decomposed"
