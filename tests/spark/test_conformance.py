"""The columns for Spark in the table of docs/sql.md, and the everyday queries through `hws.sql` and Spark itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import headwater as hw
from headwater import spark as hws
from tests.spark.test_agree_sql import QUICK
from tests.sql import everyday, features
from tests.sql.engines import Duck

Tables = Mapping[str, Sequence[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def tables(spark: Any) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    _load(spark, everyday.DECLARATIONS, everyday.ROWS)
    _load(spark, features.DECLARATIONS, features.ROWS)
    yield
    for name, value in before.items():
        spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    for name in (*everyday.ROWS, *features.ROWS):
        spark.catalog.dropTempView(name)


def _load(spark: Any, declarations: str, rows: Tables) -> None:
    """Views of literals: Spark plans over such rows at once, without a task."""
    for line in declarations.splitlines():
        name, _, columns = line.removeprefix("CREATE TABLE ").removesuffix(");").partition(" (")
        kinds = [column.split() for column in columns.split(", ")]
        written = [
            ", ".join(f"CAST({_literal(v)} AS {kind})" for v, (_, kind) in zip(row, kinds, strict=True))
            for row in rows[name]
        ]
        heads = ", ".join(head for head, _ in kinds)
        spark.sql(
            f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT * FROM VALUES "
            f"{', '.join(f'({one})' for one in written)} AS v({heads})"
        )


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _rows(spark: Any, query: str, *, headwater: bool) -> list[tuple[Any, ...]] | None:
    """What Spark itself or `hws.sql` gives; None where it refuses the query."""
    try:
        frame = hws.sql(spark, query) if headwater else spark.sql(query)
        return [tuple(row) for row in frame.collect()]
    except (PySparkException, Py4JJavaError, hw.HeadwaterError):
        return None


@pytest.mark.parametrize("engine", ["Spark 4.3", "`hws.sql`"])
def test_the_table_says_what_spark_does(spark: Any, tables: None, engine: str) -> None:
    found = {}
    for name, query in features.FEATURES.items():
        rows = _rows(spark, query, headwater=engine != "Spark 4.3")
        found[name] = features.verdict(None if rows is None else features.same(rows), features.ours(query))
    assert found == features.printed(engine)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.soak)])
def test_agree_everyday_queries_on_spark(spark: Any, tables: None, step: int) -> None:
    """Each takes seconds here, so that `make soak` alone runs all of them."""
    duck = Duck(everyday.DECLARATIONS)
    duck.load(everyday.ROWS)
    for name, query in list(everyday.QUERIES.items())[::step]:
        found = _rows(spark, query, headwater=True)
        assert found is not None, name
        assert Counter(found) == duck.run(query), name
