"""Words of SQL that say what others say as well, over random rows that come and go: the same bags as DuckDB's."""

from __future__ import annotations

import random

import pytest

import headwater as hw
from tests.sql.engines import Duck, bag
from tests.sql.random_queries import DECLARATIONS, random_rows

QUERIES = {
    "rows in a list": "SELECT a, b FROM t WHERE (a, b) IN ((1, 2), (0, 0), (3, NULL))",
    "rows not in a list": "SELECT a, b FROM t WHERE (a, b) NOT IN ((1, 2), (0, 0))",
    "a row in a list as a value": "SELECT a, (a, s) IN ((1, 'b'), (2, 'ab')) AS c FROM t",
    "count_if": "SELECT s, count_if(coalesce(a, 0) > 1) AS c FROM t GROUP BY s",
    "bool_and and bool_or": "SELECT s, bool_and(a > 0) AS c, bool_or(a > b) AS d FROM t GROUP BY s",
    "a condition over bool_and": "SELECT s FROM t GROUP BY s HAVING bool_and(a > 0)",
    "star without columns": "SELECT * EXCLUDE (b, s) FROM t",
    "a table's star without columns": "SELECT t.* EXCLUDE (s), w.x FROM t JOIN w ON t.a = w.x",
    "star with others": "SELECT * REPLACE (a + b AS a, upper(s) AS s) FROM t",
    "a column by its new name": "SELECT a + 1 AS c, c * 2 AS d, c + d AS e FROM t",
    "a table's column before a new name": "SELECT a + 1 AS b, b AS c FROM t",
    "a new name in a group": "SELECT a AS k, k + 1 AS c, count(*) AS d FROM t GROUP BY a",
    "EXISTS as a value": "SELECT a, EXISTS (SELECT 1 FROM w WHERE w.x = t.a) AS c FROM t",
    "EXISTS in CASE": "SELECT CASE WHEN EXISTS (SELECT x FROM w WHERE w.x > t.a) THEN s ELSE 'none' END AS c FROM t",
    "NOT EXISTS as a value": "SELECT x, NOT EXISTS (SELECT 1 FROM u WHERE u.a = x AND u.c > y) AS c FROM w",
    "brackets around the whole": "((SELECT a FROM t) UNION ALL (SELECT x FROM w)) ORDER BY 1 LIMIT 100",
    "chr": "SELECT chr(a + 65) AS c, ascii(s) AS d FROM t WHERE a >= 0 AND s <> ''",
    "names in double quotes": 'WITH RECURSIVE "r" (p) AS (SELECT x FROM w UNION SELECT w.y FROM "r" JOIN w ON w.x = p) '
    'SELECT p FROM "r"',
    "NOT EXISTS over another table in a recursion": "WITH RECURSIVE r(p) AS (SELECT x FROM w UNION SELECT w.y FROM r "
    "JOIN w ON w.x = r.p WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.c > w.y)) SELECT p FROM r",
    "what NOT EXISTS asks is computed": "WITH RECURSIVE r(p) AS (SELECT x FROM w UNION SELECT w.y FROM r JOIN w "
    "ON w.x = r.p WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.c = r.p + 1 OR u.a > r.p)) SELECT p FROM r",
    "NOT IN over some of another table": "WITH RECURSIVE r(p) AS (SELECT x FROM w UNION SELECT w.y FROM r JOIN w "
    "ON w.x = r.p WHERE w.y NOT IN (SELECT c FROM u WHERE u.a < r.p)) SELECT p FROM r",
}


@pytest.mark.parametrize("title", QUERIES)
def test_agree_other_words(title: str) -> None:
    duck, query = Duck(), QUERIES[title]
    program = hw.compile(DECLARATIONS + query)
    used, view = {one.name for one in program.checked.relations}, program.outputs[-1]
    for seed in range(4):
        dice = random.Random(f"{title} {seed}")
        db = hw.Database(program)
        held = {name: list(rows) for name, rows in random_rows(dice).items()}
        inserts, deletes = {name: list(rows) for name, rows in held.items()}, {}
        for _ in range(3):
            db.apply(
                insert={name: rows for name, rows in inserts.items() if name in used},
                delete={name: rows for name, rows in deletes.items() if name in used},
            )
            duck.load(held)
            assert bag(db.table(view)) == duck.run(query), f"{query}\n{held}"
            deletes = {name: dice.sample(rows, min(len(rows), 2)) for name, rows in held.items()}
            inserts = {name: list(rows) for name, rows in random_rows(dice, most=2).items()}
            for name, rows in held.items():
                for row in deletes[name]:
                    rows.remove(row)
                rows += inserts[name]


def test_any_value_is_one_of_the_group() -> None:
    db = hw.Database(hw.compile(DECLARATIONS + "SELECT a, any_value(b) AS c FROM t GROUP BY a"))
    db.apply(insert={"t": [(1, 2, "x"), (1, 3, "y"), (2, None, "z")]})
    assert db.rows("result") in ({(1, 2), (2, None)}, {(1, 3), (2, None)})


def test_texts_of_lists_and_spaces() -> None:
    text = "SELECT array_join(split(s, ','), '-') AS c, space(a) AS d, count_if(b > 0) FILTER (WHERE a > 5) AS e "
    db = hw.Database(hw.compile(DECLARATIONS + text + "FROM t GROUP BY s, a"))
    db.apply(insert={"t": [(2, 0, "p,q"), (-1, 0, None)]})
    assert db.rows("result") == {("p-q", "  ", 0), (None, "", 0)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT median(a) FROM t", r"`median\(a\)` is not an aggregate"),
        ("SELECT a + 1 AS c, count(*) FROM t GROUP BY ROLLUP(c)", r"`ROLLUP\(c\)` is not translated"),
        (
            "WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b FROM r) SELECT * FROM r",
            "which `b` stays for a key depends on the order in which rows come",
        ),
        (
            "WITH RECURSIVE r(a) AS (SELECT 1 UNION SELECT a FROM r) SEARCH DEPTH FIRST BY b SET o SELECT * FROM r",
            "`r` has no column `b`",
        ),
        (
            "WITH RECURSIVE r(a) AS (SELECT 1 UNION SELECT r.a FROM r, r AS s) CYCLE a SET c USING p SELECT * FROM r",
            "read `r` once, in their own FROM",
        ),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", "PIVOT is not translated"),
        ("SELECT a FROM t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE is not translated"),
        ("SELECT a FROM t CLUSTER BY a", "CLUSTER BY is not translated"),
        ("SELECT a FROM t FOR UPDATE", "FOR UPDATE is not translated"),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (a, b))", "UNPIVOT is not translated"),
        ("SELECT a FROM t WHERE a > ALL (SELECT a FROM u)", "a comparison with ALL is not translated"),
        ("SELECT a FROM t ORDER BY ALL", "`ALL` is not translated"),
        ("SELECT sequence(1, 3) FROM t", "numbers one after the other have no value here"),
        ("SELECT u.a FROM t RIGHT SEMI JOIN u ON t.a = u.a", "RIGHT SEMI JOIN is not translated"),
        ("SELECT * EXCEPT (q) FROM t", r"`\*` has no column `q` here"),
    ],
)
def test_what_is_refused_is_called_by_its_name(text: str, told: str) -> None:
    with pytest.raises(hw.ProgramError, match=told):
        hw.compile(DECLARATIONS + text)
