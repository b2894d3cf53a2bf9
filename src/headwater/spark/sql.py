"""SQL over a session's tables: recursive views are computed by Headwater, everything else by Spark.

Statements about materialized views are those of `catalog`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from pyspark.errors import PySparkException

from headwater import pipeline
from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import CheckProblem, SyntaxProblem
from headwater.core.python_warnings import warn_of
from headwater.core.source import Source
from headwater.language.sql.doctor import diagnose
from headwater.language.sql.kept_views import read_statement
from headwater.language.sql.program import translate_views
from headwater.language.sql.split import Named, Recursion, Select, Steps, split
from headwater.program.nearest import nearest
from headwater.spark.catalog import run, show_named
from headwater.spark.evaluate import evaluate_in
from headwater.spark.inputs.carried import carried_in, carried_out, known_columns
from headwater.spark.session.session import kept

_RECURSIVE = re.compile(r"\brecursive\b", re.IGNORECASE)


def sql(
    spark: Any, text: str, *, shards: int | None = None, exchange: str | None = None, union_all: str | None = None
) -> Any:
    """The rows of a query, as in `WITH RECURSIVE ... UNION ...`: a DataFrame.

    Tables and views that the text does not define are the session's. Only recursive views are computed by Headwater;
    what they read and what reads them runs in Spark, with all of Spark's SQL. `union_all` is that of `compile`.
    CREATE, REFRESH, DROP, SHOW and DESCRIBE MATERIALIZED VIEW are about views that are kept, and brought up to date.
    """
    union_all = pipeline.known_union_all(union_all)
    statement = read_statement(Source("<text>", text))
    if statement is not None:
        return run(spark, statement)
    show_named(spark, text)
    found = _taken_apart(text)
    if found is None:
        return spark.sql(text)
    frames: dict[str, Any] = {}
    findings: list[Diagnostic] = []
    for step in found.steps:
        match step:
            case Select(frame, query):
                frames[frame] = _selected(spark, query, frames)
            case Recursion():
                inputs = _inputs(spark, step, frames)
                schemas = {name: known_columns(frame.schema) for name, frame in inputs.items()}
                program = pipeline.compile_tree(translate_views(found.text, step.views, schemas, union_all))
                findings += program.warnings
                read = {relation.name for relation in program.checked.relations}
                taken = {name: carried_in(frame) for name, frame in inputs.items() if name in read}
                views = evaluate_in(spark, program, taken, shards=shards, exchange=exchange)
                for at, (frame, view) in enumerate(zip(step.outputs, program.outputs, strict=True)):
                    outcome = carried_out(views[view], _types(spark, step.typed[at], frames), step.views[at].name)
                    frames[frame] = kept(outcome, eager=False) if step.shared else outcome
    warn_of(findings)
    return frames[_answer(found)]


def explain(spark: Any, text: str) -> str:
    """What the session's own WITH RECURSIVE would do with a text, and what Headwater does."""
    findings = diagnose(Source("<text>", text))
    return "\n".join(map(str, findings)) or "nothing in it is recursive: it runs in Spark as it is"


def _taken_apart(text: str) -> Steps | None:
    """The steps of a text; None if only Spark is needed, or only Spark can read it."""
    try:
        return split(Source("<text>", text))
    except SyntaxProblem:
        if _RECURSIVE.search(text):
            raise
        return None


def _answer(steps: Steps) -> str:
    last = steps.steps[-1]
    assert isinstance(last, Select), "the last step is the query of the text"
    return last.frame


def _selected(spark: Any, text: str, frames: Mapping[str, Any]) -> Any:
    holes = {name for _, name, _, _ in Formatter().parse(text) if name}
    return spark.sql(text, **{name: frames[name] for name in holes}) if holes else spark.sql(text.format())


def _types(spark: Any, texts: Sequence[str], frames: Mapping[str, Any]) -> Any:
    """The schema that Spark gives the first of these texts that it can read; None if it can read none."""
    for text in texts:
        try:
            return _selected(spark, text, frames).schema
        except PySparkException:
            continue
    return None


def _inputs(spark: Any, step: Recursion, frames: Mapping[str, Any]) -> dict[str, Any]:
    """What the views of a recursion read, by the names they use, without columns that they do not read."""
    found = {name: frames[frame] for name, frame in step.frames.items()}
    found |= {name: _table(spark, table) for name, table in step.tables.items()}
    if step.columns is None:
        return found
    return {name: frame if name in step.whole else _looked_at(frame, step.columns) for name, frame in found.items()}


def _looked_at(frame: Any, columns: frozenset[str]) -> Any:
    names = [name for name in frame.columns if name.lower() in columns] or frame.columns[:1]
    if len(names) == len(frame.columns):
        return frame
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in names))


def _listed(spark: Any) -> list[str]:
    """The tables and views of a session; if it cannot list them, there is no hint."""
    try:
        return [table.name for table in spark.catalog.listTables()]
    except Exception:
        return []


def _table(spark: Any, table: Named) -> Any:
    try:
        found = spark.table(str(table))
        _ = found.schema  # Spark Connect looks for it only now
    except Exception as problem:
        if "TABLE_OR_VIEW_NOT_FOUND" not in str(problem):
            raise
        name = ".".join(table.parts)
        close = nearest(name, _listed(spark))
        hint = "register a frame with createOrReplaceTempView, or create the table"
        if close:
            hint = f"did you mean `{close}`? If not, {hint}"
        problems = (Diagnostic("HW230", f"the session has no table `{name}`", table.span, hint=hint),)
        raise CheckProblem(problems) from None
    return found
