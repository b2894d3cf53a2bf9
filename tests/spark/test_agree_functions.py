"""Functions and casts over values, strange values and nulls: what Spark gives."""

from __future__ import annotations

from typing import Any

import headwater as hw
from tests.sql.expressions import COLUMNS, EXPRESSIONS, ROWS

LENIENT = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}


def test_agree_functions(spark: Any) -> None:
    before = {name: spark.conf.get(name) for name in LENIENT}
    for name, value in LENIENT.items():
        spark.conf.set(name, value)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)
    typed = columns.replace("TIMESTAMP", "TIMESTAMP_NTZ")
    items = ", ".join(f"{expression} AS r{at}" for at, expression in enumerate(EXPRESSIONS))
    try:
        frame = spark.createDataFrame([(at, *row) for at, row in enumerate(ROWS)], f"number INT, {typed}")
        frame.createOrReplaceTempView("given")
        theirs = {row[0]: tuple(row)[1:] for row in spark.sql(f"SELECT number, {items} FROM given").collect()}
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
        spark.catalog.dropTempView("given")
    db = hw.Database(hw.compile(f"CREATE TABLE given (number INT, {columns}); SELECT number, {items} FROM given"))
    db.apply(insert={"given": [(at, *row) for at, row in enumerate(ROWS)]})
    ours = {row[0]: row[1:] for row in db.rows("result")}
    wrong = [
        (expression, ROWS[number], _plain(found), _plain(expected))
        for number, row in theirs.items()
        for expression, found, expected in zip(EXPRESSIONS, ours[number], row, strict=True)
        if _plain(found) != _plain(expected)
    ]
    assert not wrong


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return round(value, 9) if isinstance(value, float) else value
