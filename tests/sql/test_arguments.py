"""No clause is dropped: every argument of every node that the parser can make is read, or refused.

The parser's own tables (`arg_types`) tell which arguments there are. What the translation lists as read must show in
its outcome: taken away from a sample, the outcome is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from sqlglot import exp

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.language.sql.program import translate_statements
from headwater.language.sql.query.arguments import IDLE, READ, is_set
from headwater.language.sql.text.parsed import SqlText
from headwater.language.sql.text.statements import SqlQuery, SqlView, Statement, read_statements
from headwater.language.syntax import Tree

TABLES = (
    "CREATE TABLE t (n INT, m INT, s STRING, f DOUBLE, b BOOLEAN, at TIMESTAMP, l ARRAY);"
    "CREATE TABLE u (n INT, k INT);\n"
)
VALUES = """
abs(n) | ceil(f) | floor(f) | round(f, 2) | sign(f) | sqrt(f) | exp(f) | ln(f) | pow(f, 2) | n % 2 | n div 2 | upper(s)
lower(s) | length(s) | reverse(s) | replace(s, 'a', 'b') | concat(s, 'a') | concat_ws(',', s, 'b') | s like 'a%'
s not like 'a%' | s ilike 'a%' | s not ilike 'a%' | s rlike 'a' | s like 'a!%' escape '!' | substring(s, 1, 2)
left(s, 1) | right(s, 1) | repeat(s, 2) | initcap(s) | locate('a', s) | year(at) | quarter(at) | month(at) | day(at)
dayofmonth(at) | dayofweek(at) | dayofyear(at) | hour(at) | minute(at) | second(at) | startswith(s, 'a') | -n | n / 2
endswith(s, 'a') | contains(s, 'a') | array_contains(l, 1) | size(l) | array_append(l, 1) | coalesce(n, m, 1) | n - 1
greatest(n, m, 1) | least(n, m, 1) | trim(both 'x' from s) | trim(leading from s) | lpad(s, 3, 'x') | n * 2 | n + 1
rpad(s, 3, 'x') | datediff(at, at) | date_add(at, 1) | add_months(at, 1) | last_day(at) | weekofyear(at) | s || 'a'
timestampadd(HOUR, 1, at) | extract(year from at) | split(s, ',') | split(s, ',', 2) | regexp_replace(s, 'a', 'b')
regexp_extract(s, '(a)', 1) | translate(s, 'a', 'b') | log(2, f) | date_trunc('hour', at) | trunc(at, 'MM') | s | 'a'
cast(n as string) | cast(n as decimal(10, 0)) | try_cast(s as double) | case when n = 1 then 2 else 3 end | true
case n when 1 then 2 end | if(n = 1, 2, 3) | nullif(n, 1) | nvl2(n, 1, 2) | decode(n, 1, 'a', 'b') | l[0] | null
element_at(l, 1) | array(1, 2) | to_date(s) | to_date(s, 'yyyy-MM-dd') | to_timestamp(s, 'yyyy')
date_format(at, 'yyyy') | unix_timestamp(s, 'yyyy') | from_unixtime(n, 'yyyy') | at + interval 1 day | n is null
n is true | n <=> 1
n is distinct from 1 | n between 1 and 2 | n in (1, 2) | not b | b and n = 1 | b or n <> 1 | n < 1 | n <= 1 | n > 1
chr(n) | ascii(s) | space(n) | array_join(split(s, ','), '-')
n >= 1 | pmod(n, 2) | (n) | to_date(to_timestamp(s)) | f | 1.5 | unix_timestamp(to_timestamp(s, 'yyyy'), 'yyyy')
"""
QUERIES = """
SELECT DISTINCT n, m AS x FROM t WHERE b ORDER BY n DESC NULLS LAST, m NULLS FIRST LIMIT 3 OFFSET 1
SELECT n, count(*), count(m), count(DISTINCT m), sum(m), avg(m), min(m), max(m) FROM t GROUP BY n HAVING sum(m) > 1
SELECT n, sum(m) FILTER (WHERE m > 1) FROM t GROUP BY n
SELECT n, count(*) FROM t GROUP BY ALL
SELECT t.n FROM t JOIN u ON t.n = u.n
SELECT n FROM t JOIN u USING (n)
SELECT n FROM t NATURAL JOIN u
SELECT t.n, u.k FROM t LEFT JOIN u ON t.n = u.n
SELECT t.n FROM t LEFT SEMI JOIN u ON t.n = u.n
SELECT q.n FROM t AS q
SELECT q.x FROM u AS q(x, y)
SELECT q.x FROM (SELECT n FROM u) AS q(x)
SELECT q.n FROM (u AS q JOIN t ON q.n = t.n)
SELECT q.n FROM ((SELECT n FROM u) AS q JOIN t ON q.n = t.n)
SELECT a FROM VALUES (1, 2), (3, 4) AS v(a, b)
SELECT n FROM one.t, two.u AS x WHERE x.k = t.n
VALUES (1, 2), (3, 4) ORDER BY col1 LIMIT 1 OFFSET 1
SELECT n FROM t UNION SELECT n FROM u ORDER BY n LIMIT 1 OFFSET 1
SELECT n FROM t UNION ALL SELECT n FROM u
SELECT n FROM t EXCEPT SELECT n FROM u ORDER BY n LIMIT 1 OFFSET 1
SELECT n FROM t INTERSECT SELECT n FROM u ORDER BY n LIMIT 1 OFFSET 1
(SELECT n, m FROM t) ORDER BY m
SELECT n FROM t WHERE n IN (SELECT n FROM u)
SELECT n FROM t WHERE EXISTS (SELECT n FROM u WHERE u.n = t.n)
SELECT n FROM t WHERE n = (SELECT max(n) FROM u)
SELECT n FROM (WITH v AS (SELECT n FROM u) SELECT n FROM v) q
SELECT n FROM (WITH RECURSIVE v(n) AS (SELECT n FROM u UNION SELECT k FROM v JOIN u USING (n)) SELECT n FROM v) q
SELECT n FROM (WITH v AS (SELECT n FROM u) (SELECT n FROM v)) q
SELECT n FROM (WITH v AS (SELECT n FROM u) SELECT n FROM v UNION SELECT k FROM u) q
SELECT n FROM (WITH v AS (SELECT n FROM u) SELECT n FROM v EXCEPT SELECT k FROM u) q
SELECT n FROM (WITH v AS (SELECT n FROM u) SELECT n FROM v INTERSECT SELECT k FROM u) q
SELECT s | 'a' AS x FROM t
SELECT * EXCEPT (n) FROM u
SELECT * REPLACE (n + 1 AS n) FROM u
SELECT x.v FROM t, unnest(split(t.s, ',')) AS x(v)
SELECT x.v, x.i FROM t CROSS JOIN unnest(split(t.s, ',')) WITH ORDINALITY AS x(v, i)
SELECT x.v FROM t LATERAL VIEW OUTER explode(split(s, ',')) x AS v
SELECT v FROM t LATERAL VIEW explode_outer(split(s, ',')) x AS v
SELECT v, p FROM t LATERAL VIEW posexplode(split(s, ',')) x AS p, v
SELECT v, p FROM t LATERAL VIEW posexplode_outer(split(s, ',')) x AS p, v
SELECT v FROM generate_series(1, 10, 2) AS x(v)
SELECT collect_list(n), collect_set(m) FROM t
SELECT row_number() OVER (PARTITION BY m ORDER BY n DESC), ntile(3) OVER (ORDER BY n) FROM t
SELECT rank() OVER (ORDER BY n), dense_rank() OVER (ORDER BY n), percent_rank() OVER (ORDER BY n) FROM t
SELECT cume_dist() OVER w AS c FROM t WINDOW w AS (PARTITION BY m ORDER BY n) QUALIFY c > 0.5
SELECT lag(n, 2, 0) OVER (ORDER BY m), lead(n) IGNORE NULLS OVER (ORDER BY m) FROM t
SELECT lead(n, 2, 0) OVER (ORDER BY m), first(n) OVER (ORDER BY m) FROM t
SELECT first_value(n) OVER (ORDER BY m), last_value(n) OVER (ORDER BY m ROWS 2 PRECEDING) FROM t
SELECT last(n) OVER (ORDER BY m), nth_value(n, 2) RESPECT NULLS OVER (ORDER BY m) FROM t
SELECT sum(n) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM t
SELECT max(n) OVER (ORDER BY m RANGE 1 PRECEDING) FROM t
SELECT q.k FROM t, LATERAL (SELECT k FROM u WHERE u.n = t.n) AS q
SELECT n FROM t WHERE at > TIMESTAMP '2024-01-01' AND at < to_date('2024-01-05')
"""
SAMPLES = (
    *(f"SELECT {value} AS x FROM t" for line in VALUES.splitlines() for value in line.split(" | ") if value.strip()),
    *(query for query in QUERIES.splitlines() if query.strip()),
)


NAME = exp.to_identifier("other")
OTHER: dict[tuple[type[exp.Expr], str], Any] = {
    (exp.DataType, "expressions"): [exp.DataTypeParam(this=exp.Literal.number(30))],
    (exp.DateDiff, "unit"): exp.Var(this="HOUR"),
    (exp.TsOrDsAdd, "unit"): exp.Var(this="HOUR"),
    (exp.Ordered, "nulls_first"): False,
}  # arguments that say what goes without saying in the samples: another value shows


def read(sample: str) -> tuple[SqlText, list[Statement]]:
    text = SqlText(Source("query.sql", (TABLES if "one.t" not in sample else "") + sample))
    statements, problems = read_statements(text)
    assert not problems, (sample, problems)
    return text, statements


def nodes(statements: list[Statement]) -> Iterator[exp.Expr]:
    for statement in statements:
        query = statement.query if isinstance(statement, SqlView) else statement
        if isinstance(query, SqlQuery) and query.select is not None:
            yield from query.select.walk()


def outcome(text: SqlText, statements: list[Statement]) -> Tree:
    return translate_statements(text, statements)


@cache
def holders() -> dict[type[exp.Expr], list[tuple[str, int]]]:
    """For each kind of node, the samples it stands in, and where."""
    found: dict[type[exp.Expr], list[tuple[str, int]]] = {}
    for sample in SAMPLES:
        for place, node in enumerate(nodes(read(sample)[1])):
            found.setdefault(type(node), []).append((sample, place))
    return found


def changed(sample: str, place: int, name: str, value: Any) -> Tree | None:
    """What comes out once an argument is another one; None: it is refused, or cannot be done without."""
    text, statements = read(sample)
    node = next(node for at, node in enumerate(nodes(statements)) if at == place)
    node.args[name] = value
    if isinstance(value, exp.Expr):
        value.parent = node
    try:
        return outcome(text, statements)
    except SyntaxProblem:
        return None


def test_samples_are_translated() -> None:
    for sample in SAMPLES:
        outcome(*read(sample))


def test_every_kind_that_is_read_has_a_sample() -> None:
    assert not [kind.__name__ for kind in READ if kind not in holders()]


UNREAD = [
    (kind, name)
    for kind, known in READ.items()
    for name in kind.arg_types
    if name not in known and name not in IDLE.get(kind, {})
]


@pytest.mark.parametrize(("kind", "name"), UNREAD, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_an_argument_that_is_not_read_is_refused(kind: type[exp.Expr], name: str) -> None:
    sample, place = holders()[kind][0]
    refused = 0
    for value in (True, "word", exp.Literal.number(1), [exp.Literal.number(1)]):
        try:
            assert changed(sample, place, name, value) is None, (sample, value)
            refused += 1
        except (AttributeError, TypeError, ValueError):
            pass  # nothing that the parser could have put there
    assert refused


def test_an_argument_that_is_listed_as_read_is_read() -> None:
    unread = {(kind, name) for kind, known in READ.items() for name in known}
    for kind, places in holders().items():
        for sample, place in places:
            node = next(one for at, one in enumerate(nodes(read(sample)[1])) if at == place)
            for name in sorted(name for one, name in unread if one is kind):
                if not is_set(node.args.get(name)) and (kind, name) not in OTHER:
                    continue
                before = outcome(*read(sample))
                try:
                    after = changed(sample, place, name, OTHER.get((kind, name)))
                except (AttributeError, TypeError, KeyError, ValueError, AssertionError, IndexError):
                    after = None  # it cannot be done without
                if after != before:
                    unread.discard((kind, name))
    assert sorted((kind.__name__, name) for kind, name in unread) == []


def test_an_argument_that_is_idle_changes_nothing() -> None:
    for kind, known in IDLE.items():
        assert set(known) <= set(kind.arg_types), kind
        assert not set(known) & READ[kind], kind
        for sample, place in holders()[kind][:1]:
            before = outcome(*read(sample))
            for name in known:
                value = {"hint": exp.Hint(expressions=[]), "db": NAME, "catalog": NAME}.get(name, True)
                assert changed(sample, place, name, value) == before, (sample, name)


def test_a_kind_that_is_not_listed_is_refused() -> None:
    kinds = [kind for kind in _kinds(exp.Expr) if kind not in READ]
    assert len(kinds) > 500
    for kind in kinds:
        text, statements = read("SELECT n + 1 AS x FROM t")
        spot = next(node for node in nodes(statements) if isinstance(node, exp.Add))
        if kind._set_parent is exp.Expr._set_parent:
            continue  # the parser makes none of these: others derive from them
        made = kind(**{name: exp.column("n") for name, needed in kind.arg_types.items() if needed})
        if "to" in kind.arg_types:
            made.set("to", exp.DataType.build("int"))
        for name in made.find_all(exp.Identifier):
            name.meta.update(start=0, end=1)
        spot.set("expression", made)
        with pytest.raises(SyntaxProblem):
            outcome(text, statements)


def _kinds(kind: type[exp.Expr]) -> Iterator[type[exp.Expr]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _kinds(inner)


@pytest.mark.parametrize("clause", ["LIMIT 1", "OFFSET 1"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM t WHERE n IN (SELECT n FROM u UNION SELECT k FROM u {})",
        "SELECT n FROM (SELECT DISTINCT * FROM u {}) q",
        "SELECT n FROM (SELECT n FROM u QUALIFY rank() OVER (ORDER BY n) < 3 {}) q",
        "WITH RECURSIVE v(n) AS (SELECT n FROM u UNION SELECT k FROM v JOIN u USING (n) {}) SELECT n FROM v",
        "WITH RECURSIVE v(n) AS (SELECT n FROM u UNION (SELECT k FROM v JOIN u USING (n) {})) SELECT n FROM v",
    ],
)
def test_a_limit_within_is_refused(query: str, clause: str) -> None:
    text, statements = read(query.format(clause))
    with pytest.raises(SyntaxProblem, match="is not translated here"):
        outcome(text, statements)


NESTED = (
    "SELECT n FROM (WITH RECURSIVE v(n, k){} AS (SELECT n, k FROM u UNION SELECT v.n, u.k FROM v JOIN u ON v.k = u.n){}"
    " SELECT n FROM v) q"
)


@pytest.mark.parametrize(
    ("key", "end"),
    [
        (" USING KEY (n)", ""),
        ("", " SEARCH DEPTH FIRST BY n SET x"),
        ("", " SEARCH BREADTH FIRST BY n SET x"),
        ("", " CYCLE n SET x USING y"),
        ("", " CYCLE n SET x TO 1 DEFAULT 0 USING y"),
    ],
)
def test_what_stands_on_a_nested_with_is_refused(key: str, end: str) -> None:
    text, statements = read(NESTED.format(key, end))
    with pytest.raises(SyntaxProblem, match="HW117"):
        outcome(text, statements)


@pytest.mark.parametrize(
    "query",
    [
        "WITH v AS (SELECT * FROM WINDOW(s, 60)) SELECT * FROM v",
        "CREATE VIEW v AS SELECT * FROM WINDOW(s, 60); SELECT n FROM v",
        "CREATE VIEW v AS SELECT * FROM WINDOW(s, 60); CREATE VIEW w AS SELECT n FROM v",
        "CREATE VIEW w AS WITH v AS (SELECT n FROM WINDOW(s, 60)) SELECT * FROM v",
        "SELECT n FROM t WHERE n NOT IN (SELECT n FROM WINDOW(s, 60))",
        "(SELECT n FROM WINDOW(s, 60)) UNION (SELECT n FROM t)",
        "CREATE TABLE x (a INT DEFAULT 5); SELECT a FROM x",
        "CREATE TABLE x (a STRING COLLATE UTF8_LCASE); SELECT a FROM x",
        "CREATE TABLE x (a INT GENERATED ALWAYS AS IDENTITY); SELECT a FROM x",
    ],
)
def test_what_is_cut_out_before_the_parser_is_refused(query: str) -> None:
    text = SqlText(Source("query.sql", f"{TABLES}CREATE STREAM s (ts TIMESTAMP, n INT);{query}"))
    statements, problems = read_statements(text)
    with pytest.raises(SyntaxProblem, match="HW117"):
        outcome(text, statements) if not problems else _raise(problems)


def _raise(problems: list[Any]) -> None:
    raise SyntaxProblem(tuple(problems))
