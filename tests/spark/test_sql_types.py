"""Every type of Spark goes through a recursion of `hws.sql` and comes out as it went in, held against Spark itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.language.sql.scope.sources import Known
from headwater.spark.inputs.carried import known_columns

DOCS = Path(__file__).parents[2] / "docs" / "sql.md"
TYPES = {
    "BOOLEAN": "true",
    "TINYINT": "CAST(-128 AS TINYINT)",
    "SMALLINT": "CAST(1 AS SMALLINT)",
    "INT": "2147483647",
    "BIGINT": "9223372036854775807L",
    "FLOAT": "CAST(0.1 AS FLOAT)",
    "DOUBLE": "0.1D",
    "STRING": "'\u00fc'",
    "DATE": "DATE '1969-12-31'",
    "TIMESTAMP": "TIMESTAMP '2024-03-10 12:30:00.123456'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '2024-03-10 02:30:00.123456'",
    "INTERVAL DAY TO SECOND": "INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "INTERVAL DAY": "INTERVAL '3' DAY",
    "ARRAY<INT>": "array(1, 2)",
    "ARRAY<STRING>": "array('a', '')",
    "DECIMAL(38, 2)": "CAST(123456789012345678901234567890123456.12 AS DECIMAL(38, 2))",
    "BINARY": "X'00ff'",
    "ARRAY<DATE>": "array(DATE '2024-01-01', NULL)",
    "STRUCT<...>": (
        "named_struct('a', 1, 'b', CAST('Infinity' AS DOUBLE), 'c', X'0001', 'd', DATE '2024-01-01', 'e', "
        "TIMESTAMP '2024-01-01 00:00:00.000001', 'f', CAST(NULL AS INT), 'g', 1.50BD, 'h', array(map('k', 'v')))"
    ),
    "MAP<STRING, INT>": "map('k', 1, 'l', NULL)",
    "MAP<INT, STRING>": "map(1, 'x', 2, NULL)",
    "VARIANT": "parse_json('{\"a\": [1, 2.5, null]}')",
}


@pytest.fixture(scope="module")
def typed(spark: Any) -> Any:
    """A session with a table of all types: one row of values, one of nulls."""
    values = ", ".join(f"{value} AS c{at}" for at, value in enumerate(TYPES.values()))
    nulls = ", ".join("NULL" for _ in TYPES)
    spark.sql(f"SELECT 1 AS id, {values} UNION ALL SELECT 2, {nulls}").createOrReplaceTempView("all_types")
    return spark


def both(session: Any, text: str) -> tuple[Any, Any]:
    """The columns and rows of a query here and in Spark."""
    ours, theirs = hws.sql(session, text), session.sql(text)
    kinds = [[(field.name, field.dataType.simpleString()) for field in frame.schema] for frame in (ours, theirs)]
    rows = [Counter(str(row) for row in frame.collect()) for frame in (ours, theirs)]
    return (kinds[0], rows[0]), (kinds[1], rows[1])


def test_oracle_spark_every_type_comes_out_as_it_went_in(typed: Any) -> None:
    names = ", ".join(f"c{at}" for at in range(len(TYPES)))
    ours, theirs = both(
        typed,
        f"WITH RECURSIVE r AS (SELECT id, {names} FROM all_types UNION ALL SELECT id + 10, {names} FROM r "
        "WHERE id < 9) SELECT * FROM r",
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE d(day) AS (SELECT DATE '2024-02-27' UNION ALL SELECT date_add(day, 1) FROM d "
        "WHERE day < DATE '2024-03-02') SELECT day, dayofweek(day) AS w FROM d",
        "WITH RECURSIVE d AS (SELECT CAST('2024-01-31' AS DATE) AS day UNION ALL SELECT add_months(day, 1) FROM d "
        "WHERE day < '2024-06-02') SELECT day FROM d",
        "WITH RECURSIVE d AS (SELECT min(c8) AS day, DATE '1970-01-03' AS last FROM all_types UNION ALL "
        "SELECT day + 1, last FROM d WHERE day < last) SELECT * FROM d",
        "WITH RECURSIVE d(day, i) AS (SELECT DATE '2024-02-28', INTERVAL '1-2' YEAR TO MONTH UNION ALL "
        "SELECT day + INTERVAL 1 DAY, i FROM d WHERE day < DATE '2024-03-01') SELECT day, CAST(i AS STRING) FROM d",
        "WITH RECURSIVE r AS (SELECT c15 AS price, 1 AS n FROM all_types UNION ALL SELECT t.c15, n + 1 FROM r "
        "JOIN all_types t ON r.price = t.c15 WHERE n < 3) SELECT * FROM r",
        "WITH RECURSIVE r AS (SELECT c15 AS price, 1 AS n FROM all_types UNION ALL SELECT price, n + 1 FROM r "
        "WHERE n < 3 AND CAST(price AS DOUBLE) > 2) SELECT * FROM r",
        "WITH RECURSIVE r AS (SELECT CAST(1 AS SMALLINT) AS s UNION ALL SELECT CAST(s + 1S AS SMALLINT) FROM r "
        "WHERE s < 4) SELECT * FROM r",
    ],
)
def test_oracle_spark_types_of_recursions(typed: Any, text: str) -> None:
    ours, theirs = both(typed, text)
    assert ours == theirs


def test_a_recursion_that_is_wider_than_its_beginning_stays_so(typed: Any) -> None:
    text = "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT c4 FROM all_types, r WHERE c4 > 1) SELECT n FROM r"
    found = hws.sql(typed, text)
    assert found.schema["n"].dataType.simpleString() == "bigint"
    assert {row[0] for row in found.collect()} == {1, 2**63 - 1}


def test_an_integer_that_does_not_fit_is_an_error(typed: Any) -> None:
    text = "WITH RECURSIVE r(n) AS (SELECT 2147483646 UNION SELECT n + 1 FROM r WHERE n < 2147483649) SELECT n FROM r"
    with pytest.raises(Exception, match=r"error\[HW834\]: a value of `n` of `r` does not fit into INT"):
        hws.sql(typed, text).collect()
    wider = text.replace("SELECT 2147483646", "SELECT CAST(2147483646 AS BIGINT)")
    assert {row[0] for row in hws.sql(typed, wider).collect()} == set(range(2147483646, 2147483650))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("SELECT c15 FROM r WHERE c15 > c15", "HW403"),
        ("SELECT greatest(c15, c15) FROM r", "HW403"),
        ("SELECT r.c15 FROM r JOIN all_types t ON r.c15 = t.c7", "HW404"),
        ("SELECT r.c15 FROM r WHERE c15 = '1.5'", "HW404"),
        ("SELECT r.c15 FROM r WHERE c15 <=> '1.5'", "HW404"),
        ("SELECT c7 FROM all_types JOIN r ON c7 = c7", "HW407"),
    ],
)
def test_what_is_only_passed_on_is_not_computed_with(typed: Any, step: str, message: str) -> None:
    with pytest.raises(hw.ProgramError, match=message):
        hws.sql(typed, f"WITH RECURSIVE r AS (SELECT c15 FROM all_types UNION {step}) SELECT * FROM r")


def test_no_best_row_is_kept_of_what_is_only_passed_on(typed: Any) -> None:
    with pytest.raises(hw.ProgramError, match="HW403"):
        hws.sql(
            typed, "WITH RECURSIVE r(min() AS c) AS (SELECT c15 FROM all_types UNION SELECT c FROM r) SELECT * FROM r"
        )


def table(session: Any) -> str:
    """The table of types in the documentation."""
    known = known_columns(session.table("all_types").schema)
    lines = ["| type | in a recursion of `hws.sql` |", "|---|---|"]
    for at, name in enumerate(TYPES):
        kind = known[f"c{at}"]
        passed = isinstance(kind, Known) and kind.opaque is not None
        lines.append(f"| `{name}` | {'passed on' if passed else 'computed with'} |")
    return "\n".join(lines)


def test_the_table_of_types_in_the_documentation(typed: Any) -> None:
    assert table(typed) in DOCS.read_text(encoding="utf-8"), table(typed)
