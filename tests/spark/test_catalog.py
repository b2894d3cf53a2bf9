"""Materialized views: made, refreshed and dropped by SQL, kept in a folder, and right after every refresh."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headwater as hw
from headwater import spark as hws
from headwater.spark.catalog.definitions import SETTING

REACH = """WITH RECURSIVE r(a, b) AS (
  SELECT src, dst FROM {0} UNION SELECT r.a, l.dst FROM r JOIN {0} AS l ON r.b = l.src
) SELECT a, b FROM r"""


@pytest.fixture
def catalog(spark: Any, tmp_path: Path) -> Iterator[Path]:
    """A folder of views of its own, with a stream `link` of rows that carry `_change_type`."""
    folder = tmp_path / "views"
    (tmp_path / "links").mkdir()
    spark.conf.set(SETTING, str(folder))
    schema = "src int, dst int, _change_type string"
    spark.readStream.schema(schema).json(str(tmp_path / "links")).createOrReplaceTempView("link")
    yield folder
    for query in spark.streams.active:
        query.stop()
    for name in ("reach", "outgoing", "far", "odd'name `x`", "link"):
        spark.catalog.dropTempView(name)
    spark.conf.unset(SETTING)


def change(folder: Path, number: int, inserted: set[tuple[int, int]], deleted: set[tuple[int, int]]) -> None:
    """One file, as Spark's sources want it: written under a name that they do not see."""
    lines = [
        f'{{"src": {src}, "dst": {dst}, "_change_type": "{kind}"}}\n'
        for kind, rows in (("delete", deleted), ("insert", inserted))
        for src, dst in sorted(rows)
    ]
    hidden = folder.parent / "links" / f".{number}"
    hidden.write_text("".join(lines))
    hidden.rename(folder.parent / "links" / f"{number}.json")


def closure(links: set[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(links)
    while more := {(a, d) for a, b in found for c, d in links if b == c} - found:
        found |= more
    return found


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_oracle_views_over_views_after_every_refresh(spark: Any, catalog: Path) -> None:
    """Links come and go; each refresh of the last view brings those before it up to date."""
    dice = random.Random(5)
    held = {(dice.randrange(6), dice.randrange(6)) for _ in range(6)}
    change(catalog, 0, held, set())
    assert rows(hws.sql(spark, f"CREATE MATERIALIZED VIEW reach AS {REACH.format('link')}")) == sorted(closure(held))
    hws.sql(spark, "CREATE MATERIALIZED VIEW outgoing AS SELECT a, count(*) AS n FROM reach GROUP BY a")
    for number in range(1, 4):
        deleted = {row for row in held if dice.random() < 0.3}
        inserted = {(dice.randrange(6), dice.randrange(6)) for _ in range(2)} - held
        held = held - deleted | inserted
        change(catalog, number, inserted, deleted)
        found = rows(hws.sql(spark, "REFRESH MATERIALIZED VIEW outgoing"))
        expected = closure(held)
        assert found == sorted((a, sum(one == a for one, _ in expected)) for a in {a for a, _ in expected})
        assert rows(hws.sql(spark, "SELECT a, b FROM reach")) == sorted(expected)
    assert hws.progress(str(catalog / "reach" / "state-1"))["batch"] == 3  # it read what was new, and no more


def test_a_view_is_there_in_another_session(spark: Any, catalog: Path) -> None:
    change(catalog, 0, {(1, 2), (2, 3)}, set())
    hws.sql(spark, f"CREATE MATERIALIZED VIEW reach AS {REACH.format('link')}")
    other = spark.newSession()
    other.conf.set(SETTING, str(catalog))
    assert rows(hws.sql(other, "SELECT count(*) FROM reach")) == [(3,)]
    ((name, refresh, running, batch, count, state),) = rows(hws.sql(other, "SHOW MATERIALIZED VIEWS"))
    assert (name, refresh, running, batch, count) == ("reach", "on demand", False, 0, 3)
    assert str(hws.why(state, "reach", (1, 3))).startswith("reach(1, 3)")
    assert rows(hws.sql(other, "SHOW MATERIALIZED VIEWS LIKE 'far*|out*'")) == []
    described = {row[0]: row[1] for row in hws.sql(other, "DESCRIBE MATERIALIZED VIEW reach").collect()}
    assert (described["a"], described["Reads"], described["Rows"]) == ("bigint", "link", "3")


def test_replacing_and_dropping(spark: Any, catalog: Path) -> None:
    change(catalog, 0, {(1, 2), (2, 3)}, set())
    create = f"MATERIALIZED VIEW reach AS {REACH.format('link')}"
    hws.sql(spark, f"CREATE {create}")
    with pytest.raises(hw.DataError, match=r"HW943.*there is a materialized view `reach`"):
        hws.sql(spark, f"CREATE {create}")
    assert len(rows(hws.sql(spark, f"CREATE OR REPLACE {create}"))) == 3
    assert sorted(path.name for path in (catalog / "reach").iterdir()) == ["state-1", "view-1.json"]
    with pytest.raises(hw.ProgramError, match="HW230"):
        hws.sql(spark, f"CREATE OR REPLACE {create} WHERE nothing > 1")
    assert sorted(path.name for path in (catalog / "reach").iterdir()) == ["state-1", "view-1.json"]
    assert rows(hws.sql(spark, f"CREATE OR REPLACE {create} WHERE a > 1")) == [(2, 3)]
    assert sorted(path.name for path in (catalog / "reach").iterdir()) == ["state-2", "view-2.json"]
    assert len(rows(hws.sql(spark, f"CREATE {create.replace('VIEW', 'VIEW IF NOT EXISTS')}"))) == 1

    hws.sql(spark, "CREATE MATERIALIZED VIEW far AS SELECT b FROM reach")
    for statement in ("DROP MATERIALIZED VIEW reach", f"CREATE OR REPLACE {create}"):
        with pytest.raises(hw.DataError, match=r"HW945.*`far`"):
            hws.sql(spark, statement)
    hws.sql(spark, "DROP MATERIALIZED VIEW far")
    hws.sql(spark, "DROP MATERIALIZED VIEW reach")
    hws.sql(spark, "DROP MATERIALIZED VIEW IF EXISTS reach")
    assert list(catalog.iterdir()) == []
    assert not spark.catalog.tableExists("reach")
    with pytest.raises(hw.DataError, match="HW942"):
        hws.sql(spark, "DROP MATERIALIZED VIEW reach")


def test_a_schedule_goes_on_until_the_view_is_dropped(spark: Any, catalog: Path) -> None:
    change(catalog, 0, {(1, 2)}, set())
    create = f"CREATE MATERIALIZED VIEW reach SCHEDULE EVERY 1 SECOND AS {REACH.format('link')}"
    assert rows(hws.sql(spark, create)) == [(1, 2)]
    (query,) = spark.streams.active
    change(catalog, 1, {(2, 3)}, set())
    query.processAllAvailable()
    assert rows(hws.sql(spark, "SELECT a, b FROM reach")) == [(1, 2), (1, 3), (2, 3)]
    query.stop()  # as the end of its session would
    change(catalog, 2, set(), {(1, 2)})
    assert rows(hws.sql(spark, "REFRESH MATERIALIZED VIEW reach")) == [(2, 3)]
    assert [one.isActive for one in spark.streams.active] == [True]
    hws.sql(spark, "DROP MATERIALIZED VIEW reach")
    assert spark.streams.active == []


def test_a_view_of_tables_without_rows_is_empty_and_fills(spark: Any, catalog: Path) -> None:
    assert rows(hws.sql(spark, f"CREATE MATERIALIZED VIEW reach AS {REACH.format('link')}")) == []
    assert hws.sql(spark, "SELECT * FROM reach").schema.simpleString() == "struct<a:bigint,b:bigint>"
    assert rows(hws.sql(spark, "SHOW MATERIALIZED VIEWS"))[0][3:5] == (None, None)
    with pytest.raises(hw.DataError, match=r"HW944.*have had no rows so far"):
        hws.sql(spark, "CREATE MATERIALIZED VIEW far AS SELECT b FROM reach")
    change(catalog, 0, {(1, 2)}, set())
    assert rows(hws.sql(spark, "REFRESH MATERIALIZED VIEW reach")) == [(1, 2)]


def test_names_of_any_kind_stay_in_the_folder(spark: Any, catalog: Path) -> None:
    change(catalog, 0, {(1, 2)}, set())
    name = "`../odd'name ``x```"
    assert rows(hws.sql(spark, f"CREATE MATERIALIZED VIEW {name} AS SELECT src FROM link")) == [(1,)]
    assert rows(hws.sql(spark, f"SELECT src + 1 FROM {name}")) == [(2,)]
    assert [path.parent for path in catalog.iterdir()] == [catalog]
    assert sorted(path.name for path in catalog.parent.iterdir()) == ["links", "views"]
    hws.sql(spark, f"DROP MATERIALIZED VIEW {name}")


def test_what_cannot_be_kept(spark: Any, catalog: Path) -> None:
    spark.createDataFrame([(1, 2)], "src int, dst int").createOrReplaceTempView("far")
    for text, message in {
        "CREATE MATERIALIZED VIEW reach AS SELECT src FROM nowhere": "HW944.*cannot follow `nowhere`.*cannot be found",
        "CREATE MATERIALIZED VIEW reach AS SELECT src FROM far": "HW944.*cannot follow `far`",
        "CREATE MATERIALIZED VIEW reach AS SELECT 1 AS one": "HW944.*reads no table",
        "CREATE MATERIALIZED VIEW far AS SELECT src FROM link": "HW943.*has a table or view `far`",
        "CREATE MATERIALIZED VIEW reach AS SELECT a FROM reach": "HW944.*a table of its own name",
        "REFRESH MATERIALIZED VIEW reach": "HW942.*the views are: none so far",
    }.items():
        with pytest.raises(hw.DataError, match=message):
            hws.sql(spark, text)
    assert not catalog.exists() or list(catalog.iterdir()) == []
