"""Sixty recursive queries as people write them, over five small tables, in words that every engine reads."""

from __future__ import annotations

from typing import Any

from tests.sql import people

TABLES = {
    "emp": "id INT, boss INT, name STRING, pay INT",
    "edge": "a INT, b INT, w INT",
    "part": "whole STRING, piece STRING, many INT",
    "flight": "origin STRING, target STRING, price INT, leaves INT, arrives INT",
    "post": "id INT, parent INT, author STRING, words STRING",
}
DECLARATIONS = "".join(f"CREATE TABLE {name} ({columns});\n" for name, columns in TABLES.items())
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "emp": people.ROWS["emp"],
    "edge": [(1, 2, 1), (2, 3, 1), (3, 1, 5), (1, 3, 4), (3, 4, 2), (4, 5, 1), (6, 7, 3)],
    "part": [("car", "wheel", 4), ("car", "door", 2), ("wheel", "bolt", 8), ("door", "bolt", 6), ("door", "pane", 1)],
    "flight": [
        ("oslo", "rome", 90, 8, 11),
        ("rome", "cairo", 70, 12, 15),
        ("oslo", "paris", 40, 7, 9),
        ("paris", "cairo", 120, 10, 14),
        ("rome", "paris", 30, 12, 13),
    ],
    "post": [
        (1, None, "ann", "red,blue"),
        (2, 1, "bob", "blue"),
        (3, 1, "cyd", None),
        (4, 2, "ann", "green"),
        (5, None, "bob", "red"),
    ],
}
_ORG = (
    "WITH RECURSIVE org(id, name, pay, level, path) AS (SELECT id, name, pay, 1, name FROM emp WHERE boss IS NULL "
    "UNION ALL SELECT e.id, e.name, e.pay, o.level + 1, o.path || '/' || e.name FROM emp e JOIN org o ON e.boss = "
    "o.id) "
)
_UNDER = (
    "WITH RECURSIVE under(top, id) AS (SELECT id, id FROM emp "
    "UNION ALL SELECT u.top, e.id FROM under u JOIN emp e ON e.boss = u.id) "
)
_ABOVE = (
    "WITH RECURSIVE above(id, boss, steps) AS (SELECT id, boss, 1 FROM emp WHERE boss IS NOT NULL "
    "UNION ALL SELECT a.id, e.boss, a.steps + 1 FROM above a JOIN emp e ON a.boss = e.id WHERE e.boss IS NOT NULL) "
)
_REACH = (
    "WITH RECURSIVE reach(a, b) AS (SELECT a, b FROM edge UNION SELECT r.a, e.b FROM reach r JOIN edge e ON r.b = e.a) "
)
_HOPS = (
    "WITH RECURSIVE hop(n, steps) AS (SELECT 1, 0 "
    "UNION SELECT e.b, h.steps + 1 FROM hop h JOIN edge e ON h.n = e.a WHERE h.steps < 6) "
)
_BOM = (
    "WITH RECURSIVE bom(piece, many) AS (SELECT piece, many FROM part WHERE whole = 'car' "
    "UNION ALL SELECT p.piece, b.many * p.many FROM bom b JOIN part p ON p.whole = b.piece) "
)
_TRIP = (
    "WITH RECURSIVE trip(place, way, price, arrives) AS "
    "(SELECT target, origin || '>' || target, price, arrives FROM flight WHERE origin = 'oslo' "
    "UNION ALL SELECT f.target, t.way || '>' || f.target, t.price + f.price, f.arrives "
    "FROM trip t JOIN flight f ON f.origin = t.place AND f.leaves > t.arrives) "
)
_THREAD = (
    "WITH RECURSIVE thread(id, top, depth, author) AS (SELECT id, id, 0, author FROM post WHERE parent IS NULL "
    "UNION ALL SELECT p.id, t.top, t.depth + 1, p.author FROM thread t JOIN post p ON p.parent = t.id) "
)
_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) "

QUERIES: dict[str, str] = {
    "org chart": _ORG + "SELECT * FROM org",
    "people by level": _ORG + "SELECT level, count(*) AS people FROM org GROUP BY level",
    "pay by level": _ORG + "SELECT level, sum(pay) AS pay, min(pay) AS least, max(pay) AS most FROM org GROUP BY level",
    "deepest people": _ORG + "SELECT name FROM org WHERE level = (SELECT max(level) FROM org)",
    "indented names": _ORG + "SELECT repeat('  ', CAST(level - 1 AS INT)) || name AS line FROM org",
    "people under Bob by path": _ORG + "SELECT name FROM org WHERE path LIKE '%/Bob/%'",
    "rank of pay within a level": _ORG + "SELECT name, rank() OVER (PARTITION BY level ORDER BY pay DESC) AS r "
    "FROM org",
    "running pay down the chart": _ORG + "SELECT path, sum(pay) OVER (ORDER BY path) AS total FROM org",
    "second best paid of a level": _ORG
    + "SELECT level, name FROM (SELECT level, name, row_number() OVER (PARTITION BY level ORDER BY pay DESC) AS n "
    "FROM org) q "
    "WHERE n = 2",
    "levels with more than one": _ORG + "SELECT level FROM org GROUP BY level HAVING count(*) > 1",
    "headcount under each": _UNDER + "SELECT top, count(*) - 1 AS people FROM under GROUP BY top",
    "payroll under each": _UNDER + "SELECT u.top, sum(e.pay) AS pay FROM under u JOIN emp e ON e.id = u.id GROUP "
    "BY u.top",
    "who leads nobody": _UNDER + "SELECT top FROM under GROUP BY top HAVING count(*) = 1",
    "payroll with names": _UNDER
    + "SELECT t.name, (SELECT sum(e.pay) FROM under u JOIN emp e ON e.id = u.id WHERE u.top = t.id) AS pay FROM emp t",
    "share of the whole payroll": _UNDER
    + "SELECT u.top, sum(e.pay) * 100 / (SELECT sum(pay) FROM emp) AS share FROM under u JOIN emp e ON e.id = u.id "
    "GROUP BY u.top",
    "all bosses of each": _ABOVE + "SELECT id, boss, steps FROM above",
    "boss of bosses": _ABOVE + "SELECT a.id, a.boss FROM above a JOIN emp e ON e.id = a.boss WHERE e.boss IS NULL",
    "steps to the top": _ABOVE + "SELECT id, max(steps) AS steps FROM above GROUP BY id",
    "common bosses": _ABOVE + "SELECT x.id AS one, y.id AS other, x.boss FROM above x JOIN above y ON x.boss = "
    "y.boss AND x.id < y.id",
    "nearest common boss": _ABOVE
    + "SELECT x.id AS one, y.id AS other, min(x.steps + y.steps) AS apart FROM above x "
    "JOIN above y ON x.boss = y.boss AND x.id < y.id GROUP BY x.id, y.id",
    "people without a boss above 90": _ABOVE
    + "SELECT id FROM emp WHERE NOT EXISTS (SELECT 1 FROM above a JOIN emp b ON b.id = a.boss WHERE a.id = emp.id "
    "AND b.pay > 90)",
    "reachable pairs": _REACH + "SELECT a, b FROM reach",
    "nodes on a cycle": _REACH + "SELECT a FROM reach WHERE a = b",
    "how many each reaches": _REACH + "SELECT a, count(*) AS n FROM reach GROUP BY a",
    "pairs that reach each other": _REACH + "SELECT x.a, x.b FROM reach x JOIN reach y ON x.a = y.b AND x.b = y.a "
    "WHERE x.a < x.b",
    "pairs not reachable": _REACH
    + "SELECT x.a, y.b FROM (SELECT DISTINCT a FROM edge) x, (SELECT DISTINCT b FROM edge) y "
    "WHERE NOT EXISTS (SELECT 1 FROM reach r WHERE r.a = x.a AND r.b = y.b)",
    "reached from 1 only": _REACH + "SELECT b FROM reach WHERE a = 1 EXCEPT SELECT b FROM reach WHERE a = 6",
    "sources": _REACH + "SELECT DISTINCT a FROM reach WHERE a NOT IN (SELECT b FROM reach)",
    "nodes within three hops": _HOPS + "SELECT DISTINCT n FROM hop WHERE steps <= 3",
    "fewest hops": _HOPS + "SELECT n, min(steps) AS steps FROM hop GROUP BY n",
    "nodes by fewest hops": _HOPS
    + "SELECT steps, count(*) AS nodes FROM (SELECT n, min(steps) AS steps FROM hop GROUP BY n) q GROUP BY steps",
    "connected components": "WITH RECURSIVE c(n, root) AS (SELECT a, a FROM edge UNION SELECT b, b FROM edge "
    "UNION SELECT e.b, c.root FROM c JOIN (SELECT a, b FROM edge UNION ALL SELECT b, a FROM edge) e ON e.a = c.n) "
    "SELECT n, min(root) AS component FROM c GROUP BY n",
    "all pieces of a car": _BOM + "SELECT piece, many FROM bom",
    "how many of each piece": _BOM + "SELECT piece, sum(many) AS many FROM bom GROUP BY piece",
    "pieces that are bought": _BOM + "SELECT piece, sum(many) AS many FROM bom WHERE piece NOT IN (SELECT whole "
    "FROM part) GROUP BY piece",
    "where a bolt is used": "WITH RECURSIVE used(whole) AS (SELECT whole FROM part WHERE piece = 'bolt' "
    "UNION SELECT p.whole FROM used u JOIN part p ON p.piece = u.whole) SELECT whole FROM used",
    "depth of each piece": "WITH RECURSIVE d(piece, depth) AS (SELECT whole, 0 FROM part WHERE whole = 'car' "
    "UNION SELECT p.piece, d.depth + 1 FROM d JOIN part p ON p.whole = d.piece) "
    "SELECT piece, max(depth) AS depth FROM d GROUP BY piece",
    "whole parts list with paths": "WITH RECURSIVE b(piece, path, many) AS (SELECT piece, whole || '.' || piece, "
    "many FROM part "
    "WHERE whole = 'car' UNION ALL SELECT p.piece, b.path || '.' || p.piece, b.many * p.many FROM b JOIN part p ON "
    "p.whole = b.piece) "
    "SELECT path, many FROM b",
    "trips from oslo": _TRIP + "SELECT way, price FROM trip",
    "cheapest trips": _TRIP + "SELECT place, min(price) AS price FROM trip GROUP BY place",
    "cheapest way to each": _TRIP
    + "SELECT place, way FROM (SELECT place, way, row_number() OVER (PARTITION BY place ORDER BY price, way) AS n "
    "FROM trip) q WHERE n = 1",
    "earliest arrival": _TRIP + "SELECT place, min(arrives) AS at FROM trip GROUP BY place",
    "trips with a stop in rome": _TRIP + "SELECT way FROM trip WHERE way LIKE '%>rome>%'",
    "trips under a price": _TRIP + "SELECT way FROM trip WHERE price < 130 AND place = 'cairo'",
    "places that cannot be reached": _TRIP + "SELECT DISTINCT origin FROM flight WHERE origin NOT IN (SELECT place "
    "FROM trip)",
    "threads": _THREAD + "SELECT id, top, depth FROM thread",
    "replies per thread": _THREAD + "SELECT top, count(*) - 1 AS replies FROM thread GROUP BY top",
    "deepest thread": _THREAD + "SELECT top, max(depth) AS depth FROM thread GROUP BY top",
    "who answers whom": _THREAD
    + "SELECT p.author AS asked, t.author AS answered, count(*) AS n FROM thread t JOIN post c ON c.id = t.id "
    "JOIN post p ON p.id = c.parent GROUP BY p.author, t.author",
    "people in each thread": _THREAD + "SELECT top, count(DISTINCT author) AS people FROM thread GROUP BY top",
    "previous post of an author": _THREAD + "SELECT id, lag(id) OVER (PARTITION BY author ORDER BY id) AS before "
    "FROM thread",
    "numbers": _COUNT + "SELECT i FROM n",
    "squares": _COUNT + "SELECT i, i * i AS square FROM n WHERE i % 2 = 0",
    "factorials": "WITH RECURSIVE f(i, x) AS (SELECT 1, 1 UNION ALL SELECT i + 1, x * (i + 1) FROM f WHERE i < 8) "
    "SELECT i, x FROM f",
    "fibonacci": "WITH RECURSIVE f(a, b, i) AS (SELECT 0, 1, 1 UNION ALL SELECT b, a + b, i + 1 FROM f WHERE i < "
    "12) SELECT a FROM f",
    "gaps in ids": _COUNT + "SELECT i FROM n WHERE i NOT IN (SELECT id FROM emp) AND i <= (SELECT max(id) FROM emp)",
    "bands of pay": _COUNT + "SELECT i * 10 AS pay, count(e.id) AS people FROM n LEFT JOIN emp e ON e.pay >= i * "
    "10 GROUP BY i",
    "common divisor": "WITH RECURSIVE g(a, b) AS (SELECT 84, 36 UNION ALL SELECT b, a % b FROM g WHERE b > 0) "
    "SELECT a FROM g WHERE b = 0",
    "halving": "WITH RECURSIVE h(x, n) AS (SELECT 27, 0 UNION ALL SELECT CASE WHEN x % 2 = 0 THEN CAST(x / 2 AS "
    "INT) ELSE 3 * x + 1 END, n + 1 "
    "FROM h WHERE x > 1) SELECT max(n) AS steps FROM h",
    "multiplication table": _COUNT + "SELECT x.i AS a, y.i AS b, x.i * y.i AS p FROM n x JOIN n y ON x.i <= y.i "
    "WHERE y.i <= 4",
}  # fmt: skip
