"""UNION ALL in a recursion: what it means, on what data, and what its writer is told."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import headwater as hw
from headwater.cli.main import app
from tests.sql.engines import bag

TABLE = "CREATE TABLE part (of STRING, needs STRING, many INT);\n"
RECURSION = (
    "WITH RECURSIVE all_parts(name, many) AS (SELECT needs, many FROM part WHERE of = 'car' {} "
    "SELECT part.needs, part.many FROM part JOIN all_parts ON of = name) "
)
BOLTS = RECURSION.format("UNION ALL") + "SELECT name, sum(many) AS many FROM all_parts GROUP BY name"
ROWS = [("car", "wheel", 4), ("car", "door", 2), ("wheel", "bolt", 8), ("door", "bolt", 8)]
BACK = ("bolt", "wheel", 1)
TWICE = (
    "WITH RECURSIVE r(a, b) AS (SELECT of, needs FROM part UNION ALL "
    "SELECT x.a, y.b FROM r AS x JOIN r AS y ON x.b = y.a) SELECT a FROM r"
)


def database(text: str, **more: Any) -> hw.Database:
    db = hw.Database(hw.compile(TABLE + text, **more))
    db.apply(insert={"part": ROWS})
    return db


def told(work: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        work()
    return found


def test_every_way_to_a_row_counts() -> None:
    assert database(BOLTS).rows("result") == {("wheel", 4), ("door", 2), ("bolt", 16)}
    assert database(BOLTS, union_all="set").rows("result") == {("wheel", 4), ("door", 2), ("bolt", 8)}
    assert database(BOLTS.replace("UNION ALL", "UNION")).rows("result") == {("wheel", 4), ("door", 2), ("bolt", 8)}


def test_equal_rows_of_a_table_count() -> None:
    db = database(RECURSION.format("UNION ALL") + "SELECT name FROM all_parts")
    db.apply(insert={"part": [("wheel", "bolt", 8)]})
    assert bag(db.table("result")) == Counter({("wheel",): 1, ("door",): 1, ("bolt",): 3})


def test_a_cycle_that_comes_is_told_once_and_one_that_goes_gives_the_copies_back() -> None:
    db = database(BOLTS)
    (found,) = told(lambda: db.apply(insert={"part": [BACK]}))
    assert found.category is hw.UnionAllWarning
    assert found.filename == __file__
    assert "the data has a cycle, and UNION ALL in the recursion of `all_parts`" in str(found.message)
    assert db.rows("result") == {("wheel", 5), ("door", 2), ("bolt", 8)}
    assert told(lambda: db.apply(insert={"part": [("bolt", "nut", 1)]})) == []
    assert told(lambda: db.apply(delete={"part": [BACK]})) == []
    assert db.rows("result") == {("wheel", 4), ("door", 2), ("bolt", 16), ("nut", 2)}
    assert len(told(lambda: db.apply(insert={"part": [BACK]}))) == 1


def test_a_cycle_can_be_refused() -> None:
    db = database(BOLTS, union_all="refuse")
    before = db.rows("result")
    with pytest.raises(hw.DataError, match=r"error\[HW826\]: the data has a cycle.*`all_parts`"):
        db.apply(insert={"part": [BACK, ("door", "screw", 1)]})
    assert db.rows("result") == before
    assert told(lambda: db.apply(insert={"part": [("door", "screw", 1)]})) == []


def test_nothing_is_told_where_copies_do_not_count() -> None:
    texts = (
        RECURSION.format("UNION") + "SELECT name FROM all_parts",
        "SELECT of FROM part UNION ALL SELECT needs FROM part",
        RECURSION.format("UNION ALL") + "SELECT DISTINCT name FROM all_parts",
        RECURSION.format("UNION ALL") + "SELECT max(many) FROM all_parts",
    )
    for text in texts:
        program = hw.compile(TABLE + text)
        assert not any("way_of" in str(rule) for rule in program.checked.rules), text
        assert told(lambda text=text: database(text).apply(insert={"part": [BACK]})) == [], text


@pytest.mark.parametrize(
    ("step", "growing"),
    [
        ("all_parts.many + 1", True),
        ("1 + all_parts.many", True),
        ("all_parts.many - 2", True),
        ("all_parts.many + 0", False),
        ("all_parts.many + part.many", False),
        ("all_parts.many * 2", False),
        ("part.many + 1", False),
    ],
)
def test_where_a_column_moves_on_no_cycle_is_searched_for(step: str, growing: bool) -> None:
    text = "WITH RECURSIVE all_parts(name, many) AS (SELECT needs, 1 FROM part UNION ALL SELECT part.needs, {} "
    text += "FROM part "
    text += "JOIN all_parts ON of = name WHERE all_parts.many < 5 AND all_parts.many > -5) SELECT * FROM all_parts"
    relations = {relation.name for relation in hw.compile(TABLE + text.format(step)).checked.relations}
    assert ("all_parts'cycle" not in relations) is growing


def test_a_level_that_may_be_null_is_no_level() -> None:
    """Null plus one is null: such a row leads back to itself."""
    text = "CREATE TABLE e (a INT, b INT); WITH RECURSIVE r(a, n) AS (SELECT a, b FROM e UNION ALL SELECT r.a, r.n + 1 "
    db = hw.Database(hw.compile(text + "FROM r JOIN e ON r.a = e.a WHERE coalesce(r.n, 0) < 3) SELECT * FROM r"))
    db.apply(insert={"e": [(1, 2)]})
    assert bag(db.table("r")) == Counter({(1, 2): 1, (1, 3): 1})
    (found,) = told(lambda: db.apply(insert={"e": [(2, None)]}))
    assert found.category is hw.UnionAllWarning
    assert bag(db.table("r")) == Counter({(1, 2): 1, (1, 3): 1, (2, None): 1})


def test_a_recursion_that_reads_itself_twice_is_a_set() -> None:
    (found,) = told(lambda: database(TWICE))
    assert "UNION ALL in the recursion of `r` is taken as UNION" in str(found.message)
    assert "reads the recursion twice" in str(found.message)
    assert told(lambda: database(TWICE, union_all="set")) == []
    with pytest.raises(hw.ProgramError, match=r"HW117.*cannot keep equal rows"):
        database(TWICE, union_all="refuse")


def test_views_that_read_each_other_are_bags_too() -> None:
    text = (
        "WITH RECURSIVE odd(n) AS (SELECT needs FROM part WHERE of = 'car' UNION ALL "
        "SELECT part.needs FROM part JOIN even ON of = n), "
        "even(n) AS (SELECT part.needs FROM part JOIN odd ON of = n UNION ALL SELECT 'none') SELECT n AS m FROM even"
    )
    db = database(text)
    assert bag(db.table("result")) == Counter({("bolt",): 2, ("none",): 1})
    (found,) = told(lambda: db.apply(insert={"part": [BACK]}))
    assert "of `odd` and `even`" in str(found.message)
    assert bag(db.table("result")) == Counter({("bolt",): 1, ("none",): 1})


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="union_all is one of 'bag', 'set', 'refuse', not 'multiset'"):
        hw.compile(BOLTS, union_all="multiset")


@pytest.mark.parametrize("given", ["bag", "set", "refuse"])
def test_a_saved_database_means_the_same(tmp_path: Path, given: str) -> None:
    db = database(BOLTS, union_all=given)
    db.save(tmp_path / "saved")
    opened = hw.Database.open(tmp_path / "saved")
    assert opened.program.checked.rules == db.program.checked.rules
    assert opened.rows("result") == db.rows("result")


def test_a_comment_says_it_in_the_text() -> None:
    said = hw.compile(f"-- union_all: set\n{TABLE}{BOLTS}")
    assert said.checked.rules == hw.compile(TABLE + BOLTS, union_all="set").checked.rules
    assert hw.compile(f"-- union_all: set\n{TABLE}{BOLTS}", union_all="bag").checked.rules != said.checked.rules


def test_the_command_line_says_it(tmp_path: Path) -> None:
    path = tmp_path / "parts.sql"
    path.write_text(TABLE + BOLTS, encoding="utf-8")
    data = tmp_path / "part.csv"
    lines = "\n".join(",".join(map(str, row)) for row in (*ROWS, BACK))
    data.write_text(f"of,needs,many\n{lines}\n", encoding="utf-8")
    arguments = ["run", str(path), "--input", f"part={data}", "--quiet"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0
    assert "warning[HW704]: the data has a cycle" in found.output
    refused = CliRunner().invoke(app, [*arguments, "--union-all", "refuse"])
    assert refused.exit_code == 1
    assert "error[HW826]" in refused.output
    assert "HW704" not in CliRunner().invoke(app, [*arguments, "--union-all", "set"]).output
    path.write_text(TABLE + TWICE, encoding="utf-8")
    assert "warning[HW704]" in CliRunner().invoke(app, ["check", str(path)]).output
    assert "HW704" not in CliRunner().invoke(app, ["check", str(path), "--union-all", "set"]).output
