"""UNION ALL in random recursions: bags on data without cycles, sets on data with one; loaded, maintained, on shards."""

from __future__ import annotations

import random
import warnings

import pytest

import headwater as hw
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import KINDS, choose
from tests.sql.engines import Duck, bag
from tests.sql.random_bags import BagQuery, random_bag_query, upwards
from tests.sql.random_queries import DECLARATIONS, random_rows
from tests.sql.test_agree_shards import arrow

BATCH = 40


@pytest.fixture(autouse=True)
def quiet() -> None:
    warnings.simplefilter("ignore", hw.UnionAllWarning)


def compiled(query: BagQuery) -> hw.CompiledProgram:
    return hw.compile(DECLARATIONS + query.text())


@pytest.mark.parametrize("batch", range(3))
def test_agree_bags(batch: int) -> None:
    duck = Duck()
    bags = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        dice = random.Random(f"bags {seed}")
        rows, query = upwards(dice, random_rows(dice)), random_bag_query(dice)
        expected, cyclic = query.expected(duck, rows)
        program = compiled(query)
        db = hw.Database(program)
        used = {relation.name for relation in program.checked.relations}
        db.apply(insert={name: given for name, given in rows.items() if name in used})
        assert bag(db.table(program.outputs[-1])) == expected, f"{seed}: {query.text()}\n{rows}\ncyclic: {cyclic}"
        bags += not cyclic and max(expected.values(), default=0) > 1
    assert bags >= BATCH // 8


@pytest.mark.parametrize("batch", range(2))
def test_agree_bags_after_every_change(batch: int) -> None:
    """Rows come and go, and cycles with them."""
    duck = Duck()
    turns = 0
    for seed in range(batch * 20, (batch + 1) * 20):
        dice = random.Random(f"bag changes {seed}")
        query = random_bag_query(dice)
        program = compiled(query)
        db = hw.Database(program)
        used, view = {one.name for one in program.checked.relations}, program.outputs[-1]
        held = {name: list(rows) for name, rows in upwards(dice, random_rows(dice)).items()}
        inserts, deletes = {name: list(rows) for name, rows in held.items()}, {name: [] for name in held}
        seen, was = bag(db.table(view)), None
        for _ in range(8):
            changes = db.apply(
                insert={name: rows for name, rows in inserts.items() if name in used},
                delete={name: rows for name, rows in deletes.items() if name in used},
            )
            expected, cyclic = query.expected(duck, held)
            found = bag(db.table(view))
            assert found == expected, f"{seed}: {query.text()}\n{held}\ncyclic: {cyclic}"
            came, went = bag(changes[view].inserted), bag(changes[view].deleted)
            assert seen + came - went == found, f"{seed}: {query.text()}"
            turns += was is not None and cyclic is not was
            seen, was = found, cyclic
            deletes = {name: dice.sample(rows, min(len(rows), 2)) for name, rows in held.items()}
            inserts = upwards(dice, random_rows(dice, most=2))
            for name, rows in held.items():
                for row in deletes[name]:
                    rows.remove(row)
                rows += inserts[name]
    assert turns >= 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shards", [2, 3])
def test_agree_bags_on_shards(shards: int, kind: str) -> None:
    duck = Duck()
    ran = 0
    for seed in range(10):
        dice = random.Random(f"bag shards {shards} {kind} {seed}")
        query = random_bag_query(dice)
        program = compiled(query)
        try:
            sharding = choose(program, {}, max(2, shards), kinds=(kind,))
        except ValueError:
            continue  # this program does not run by this kind
        ran += 1
        cluster = Cluster(sharding, shards)
        used, view = {one.name for one in program.checked.relations}, program.outputs[-1]
        held = {name: list(rows) for name, rows in upwards(dice, random_rows(dice)).items()}
        inserts, deletes = {name: list(rows) for name, rows in held.items()}, {}
        for _ in range(3):
            outcomes = cluster.apply(arrow(inserts, used), arrow(deletes, used))
            expected, cyclic = query.expected(duck, held)
            assert bag(cluster.rows(view)) == expected, f"{seed}: {query.text()}\n{held}\ncyclic: {cyclic}"
            rings = any(outcome.alarms for outcome in outcomes)
            assert rings <= cyclic
            deletes = {name: dice.sample(rows, min(len(rows), 1)) for name, rows in held.items()}
            inserts = upwards(dice, random_rows(dice, most=2))
            for name, rows in held.items():
                for row in deletes[name]:
                    rows.remove(row)
                rows += inserts[name]
    assert ran or kind == "decomposed"
