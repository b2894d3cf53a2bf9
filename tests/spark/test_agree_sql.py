"""Random queries over tables with nulls and equal rows: the same rows as Spark's own, where Spark takes the query."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from headwater import spark as hws
from tests.sql.engines import Bag, Duck, Rows, ours
from tests.sql.random_bags import random_bag_query
from tests.sql.random_queries import TABLES, Grammar, linear_query, random_rows
from tests.sql.test_agree_duckdb import is_translated

BATCH = 10  # queries over the same rows: making tables costs more than asking them
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture(scope="module")
def quick(spark: Any) -> Iterator[Any]:
    before = {name: spark.conf.get(name, None) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
    for name in TABLES:
        spark.catalog.dropTempView(name)


def load(spark: Any, rows: Rows) -> None:
    """Views of literals: Spark plans over such rows at once, without a task."""
    for name, columns in TABLES.items():
        kinds = ["bigint" if kind == "int" else kind for _, kind in columns]
        lines = [
            ", ".join(f"cast({_literal(v)} AS {k})" for v, k in zip(row, kinds, strict=True)) for row in rows[name]
        ]
        nothing = ", ".join(f"cast(NULL AS {kind})" for kind in kinds)
        values = ", ".join(f"({line})" for line in lines) or f"({nothing})"
        heads = ", ".join(column for column, _ in columns)
        where = "" if lines else " WHERE false"
        spark.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM VALUES {values} AS v({heads}){where}")


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str | dt.date) else str(value)


def theirs(spark: Any, query: str) -> Bag | None:
    """The rows that Spark gives; None where it does not take the query."""
    try:
        return Counter(map(tuple, spark.sql(query).collect()))
    except (AnalysisException, Py4JJavaError):  # it also fails inside, on some subqueries in recursions
        return None


@pytest.mark.parametrize("batch", range(16))
def test_agree_plain_queries(quick: Any, batch: int) -> None:
    dice = random.Random(f"spark {batch}")
    rows = random_rows(dice)
    load(quick, rows)
    compared = 0
    for _ in range(BATCH):
        query = Grammar(dice).statement()
        expected = theirs(quick, query) if is_translated(query) else None
        if expected is not None:
            compared += 1
            assert ours(query, rows) == expected, f"{query}\n{rows}"
    assert compared > BATCH // 2


@pytest.mark.parametrize("batch", range(5))
def test_agree_linear_recursion(quick: Any, batch: int) -> None:
    """UNION ALL over rows without a cycle, and only which rows there are."""
    dice = random.Random(f"spark recursion {batch}")
    rows = dict(random_rows(dice))
    rows["w"] = [row for row in rows["w"] if None in row or row[0] < row[1]]
    load(quick, rows)
    for _ in range(BATCH):
        query = linear_query(dice, "UNION ALL")
        expected = theirs(quick, query)
        assert expected is not None, query
        assert set(ours(query, rows)) == set(expected), f"{query}\n{rows}"


def test_agree_bags(quick: Any) -> None:
    """UNION ALL over rows without a cycle: every row as often as Spark has it."""
    dice = random.Random("spark bags")
    rows = dict(random_rows(dice))
    rows["w"] = [(0, 1), (0, 1), (0, 2), (1, 2), (2, 3), (1, None), *((x, 3) for x, _ in rows["w"] if x != 3)]
    load(quick, rows)
    compared = 0
    for _ in range(6):
        query = random_bag_query(dice)
        if query.is_cyclic(duck_of(rows)):
            continue
        expected = theirs(quick, query.text())
        if expected is None:
            continue
        compared += 1
        found = ours(query.text(), rows)
        if compared == 1:
            assert Counter(map(tuple, hws.sql(quick, query.text(), shards=2).collect())) == expected, query
        assert found == expected, f"{query}\n{rows}"
    assert compared


def duck_of(rows: Rows) -> Duck:
    duck = Duck()
    duck.load(rows)
    return duck


def test_agree_through_the_session(quick: Any) -> None:
    """The same by `sql`: the recursion ours, the query around it Spark's."""
    dice = random.Random("sql")
    rows = dict(random_rows(dice))
    rows["w"] = [row for row in rows["w"] if None in row or row[0] < row[1]]
    load(quick, rows)
    for _ in range(2):
        query = linear_query(dice, "UNION ALL")
        expected = theirs(quick, query)
        assert expected is not None, query
        assert set(map(tuple, hws.sql(quick, query, shards=2).collect())) == set(expected), f"{query}\n{rows}"
