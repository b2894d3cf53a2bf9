"""What of a recursive query Spark runs itself, and what becomes rules; as specs, and its corners."""

from __future__ import annotations

import pytest
from sqlglot import exp

from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source
from headwater.core.types import Type
from headwater.language.sql.program import translate_views
from headwater.language.sql.split import Recursion, Select, split
from tests.spec_file import Case, named, read_cases
from tests.sql.test_specs import SPECS


def shown(text: str) -> str:
    found = split(Source("query.sql", text))
    if found is None:
        return "all of it is Spark's"
    lines = []
    for step in found.steps:
        match step:
            case Select(frame, query):
                lines.append(f"{frame or 'answer'} = {query}")
            case Recursion():
                given = {**step.frames, **{name: str(table) for name, table in step.tables.items()}}
                for view, frame in zip(step.views, step.outputs, strict=True):
                    assert view.query.select is not None
                    nested = [f" WITH {one.name} AS {_sql(one.query.select)}" for one in view.query.views]
                    lines.append(f"{frame} = rules {view.name} AS {_sql(view.query.select)}{''.join(nested)}")
                lines += [f"  {name} is {source}" for name, source in given.items()]
    return "\n".join(lines)


def _sql(node: exp.Expr | None) -> str:
    assert node is not None
    return node.sql(dialect="spark")


@pytest.mark.parametrize("case", read_cases(SPECS / "split.spec"), ids=named)
def test_a_query_is_taken_apart(case: Case) -> None:
    assert shown(case.given) == case.expected


def test_only_columns_that_the_recursion_looks_at_are_needed() -> None:
    text = "WITH RECURSIVE r(a) AS (SELECT x FROM t UNION SELECT {} FROM t JOIN r ON x = a) SELECT * FROM r"
    for item, expected in (("y", {"x", "y"}), ("*", None)):
        found = split(Source("q", text.format(item)))
        assert found is not None
        recursion = next(step for step in found.steps if isinstance(step, Recursion))
        assert recursion.columns is None if expected is None else expected <= (recursion.columns or set())
        assert expected is None or "z" not in (recursion.columns or set())


@pytest.mark.parametrize(("times", "shared"), [("r", False), ("r AS x JOIN r AS y ON x.a = y.a", True)])
def test_what_is_read_twice_is_computed_once(times: str, shared: bool) -> None:
    text = f"WITH RECURSIVE r(a) AS (SELECT 1 UNION SELECT a FROM r) SELECT * FROM {times}"
    found = split(Source("q", text))
    assert found is not None
    assert next(step for step in found.steps if isinstance(step, Recursion)).shared is shared


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a INT PRIMARY KEY); WITH RECURSIVE {r}",
        "CREATE STREAM s (ts TIMESTAMP); WITH RECURSIVE {r}",
        "WITH RECURSIVE v(a, min() AS b) AS (SELECT a, b FROM u), {r}",
        "WITH RECURSIVE {w}",
        "WITH RECURSIVE {r} WHERE a IN (WITH q AS (SELECT 1))",
    ],
)
def test_what_would_be_left_out_is_refused(text: str) -> None:
    plain = "r(a) AS (SELECT a FROM t UNION SELECT a FROM r) SELECT a FROM r"
    window = "r AS (WITH m AS (SELECT a FROM WINDOW(r, 60)) SELECT a FROM t UNION SELECT a FROM m) SELECT a FROM r"
    assert split(Source("query.sql", f"WITH RECURSIVE {plain}")) is not None
    with pytest.raises(SyntaxProblem):
        split(Source("query.sql", text.format(r=plain, w=window)))


@pytest.mark.parametrize(
    "clause", ["OFFSET 2", "LIMIT 2", "ORDER BY 1 LIMIT 1", "SORT BY a", "FETCH FIRST 2 ROWS ONLY"]
)
def test_a_clause_of_the_whole_union_is_refused(clause: str) -> None:
    text = f"WITH RECURSIVE r(a) AS (SELECT a + 1 FROM r WHERE a < 9 UNION SELECT a FROM t {clause}) SELECT * FROM r"
    found = split(Source("query.sql", text))
    assert found is not None
    recursion = next(step for step in found.steps if isinstance(step, Recursion))
    with pytest.raises(SyntaxProblem):
        translate_views(found.text, recursion.views, {"t": {"a": Type.INT}})
