"""Statements about materialized views, as they are read: which text is one, and what it says."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.core.source import Source
from headwater.language.sql.kept_views import (
    CatalogStatement,
    CreateView,
    DescribeView,
    DropView,
    RefreshView,
    ShowViews,
    read_statement,
    words,
)

WAYS = """WITH RECURSIVE r(a, b) AS (
  SELECT src, dst FROM net.link UNION SELECT r.a, l.dst FROM r JOIN net.link AS l ON r.b = l.src
), s AS (SELECT * FROM r JOIN Node ON Node.id = r.a)
SELECT * FROM s WHERE a NOT IN (SELECT id FROM closed)"""


def read(text: str) -> CatalogStatement | None:
    return read_statement(Source("<text>", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("REFRESH MATERIALIZED VIEW ways", RefreshView("ways")),
        ("refresh materialized view `my ways` ;", RefreshView("my ways")),
        ("DROP MATERIALIZED VIEW ways", DropView("ways", False)),
        ("-- away with it\nDROP MATERIALIZED VIEW IF EXISTS ways;", DropView("ways", True)),
        ("SHOW MATERIALIZED VIEWS", ShowViews(None)),
        ("show materialized views like 'way*|net'", ShowViews("way*|net")),
        ("DESCRIBE MATERIALIZED VIEW ways", DescribeView("ways")),
        ("DESC MATERIALIZED VIEW ways", DescribeView("ways")),
        ("REFRESH TABLE ways", None),
        ("DROP VIEW ways", None),
        ("SHOW TABLES", None),
        ("CREATE VIEW ways AS SELECT 1", None),
        ("CREATE MATERIALIZED VIEW ways AS SELECT a FROM t; SELECT * FROM ways", None),
        ("SELECT 'CREATE MATERIALIZED VIEW'", None),
        ("SELECT 'not closed", None),
        ("", None),
    ],
)
def test_which_text_is_a_statement(text: str, said: CatalogStatement | None) -> None:
    assert read(text) == said


def test_a_view_names_the_tables_that_it_reads() -> None:
    found = read(f"CREATE MATERIALIZED VIEW ways AS {WAYS};")
    assert isinstance(found, CreateView)
    assert {name: table.parts for name, table in found.tables.items()} == {
        "link": ("net", "link"),
        "node": ("Node",),
        "closed": ("closed",),
    }
    assert (found.name, found.every, found.replace, found.if_missing) == ("ways", None, False, False)


@pytest.mark.parametrize(
    ("schedule", "every"),
    [("EVERY 10 SECONDS", "10 seconds"), ("REFRESH EVERY 1 HOUR", "1 hour"), ("every 02 day", "2 days")],
)
def test_a_schedule_is_cut_out_and_leaves_places_as_they_are(schedule: str, every: str) -> None:
    text = f"CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS ways(a)\n  SCHEDULE {schedule}\nAS SELECT x FROM t"
    found = read(text)
    assert isinstance(found, CreateView)
    assert (found.every, found.replace, found.if_missing) == (every, True, True)
    assert found.text.index("AS SELECT") == text.index("AS SELECT")
    assert hw.compile(found.text).outputs == ("ways",)
    assert words(found.text) == words("create materialized view ways(a) as select x from t -- the same")
    assert words(found.text) != words("CREATE MATERIALIZED VIEW ways(a) AS SELECT x FROM u")


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("CREATE MATERIALIZED VIEW ways", "HW101", 26),
        ("CREATE MATERIALIZED VIEW net.ways AS SELECT 1", "HW117", 30),
        ("CREATE MATERIALIZED VIEW ways SCHEDULE EVERY 0 SECONDS AS SELECT 1", "HW117", 46),
        ("CREATE MATERIALIZED VIEW ways SCHEDULE EVERY 2 MONTHS AS SELECT 1", "HW117", 46),
        ("CREATE MATERIALIZED VIEW ways SCHEDULE DAILY AS SELECT 1", "HW101", 40),
        ("CREATE MATERIALIZED VIEW ways AS SELECT a FROM n.t JOIN m.t ON n.t.a = m.t.a", "HW201", 57),
        ("REFRESH MATERIALIZED VIEW", "HW101", 22),
        ("REFRESH MATERIALIZED VIEW ways now", "HW101", 32),
        ("DROP MATERIALIZED VIEW a.b", "HW117", 26),
    ],
)
def test_what_is_wrong_with_a_statement(text: str, code: str, column: int) -> None:
    with pytest.raises(hw.ProgramError) as caught:
        read(text)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert found.span is not None
    assert found.span.column == column
