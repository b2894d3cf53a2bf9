"""CREATE, REFRESH, DROP, SHOW and DESCRIBE MATERIALIZED VIEW.

A view is computed when it is created, and brought up to date by REFRESH: what its tables have got since is read, no
more. With a SCHEDULE a query of the session does so from then on, until it or the session ends; REFRESH begins it
again. A view that another one reads is refreshed before it. A statement that fails leaves the view as it was.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, assert_never

from headwater.core.errors import DataError
from headwater.language.sql.kept_views import (
    CatalogStatement,
    CreateView,
    DescribeView,
    DropView,
    RefreshView,
    ShowViews,
)
from headwater.spark.catalog.definitions import Catalog, Definition
from headwater.spark.catalog.tables import forget, is_shown, quoted, show, streams
from headwater.spark.maintain import maintain
from headwater.spark.shards.state_view import progress
from headwater.spark.state.checkpoint import Checkpoint

_LISTED = "name string, refresh string, running boolean, batch bigint, rows bigint, state string"
_DESCRIBED = "col_name string, data_type string, comment string"


def run(spark: Any, statement: CatalogStatement) -> Any:
    """What a statement gives: the rows of a view that it makes or refreshes, or a list."""
    catalog = Catalog.of(spark)
    match statement:
        case CreateView():
            return show(spark, catalog, _created(spark, catalog, statement))
        case RefreshView(name):
            view = catalog.view(name)
            _refresh(spark, catalog, view, frozenset())
            return show(spark, catalog, view)
        case DropView(name, if_there):
            return _dropped(spark, catalog, name, if_there)
        case ShowViews(pattern):
            return spark.createDataFrame([_line(spark, catalog, view) for view in _like(catalog, pattern)], _LISTED)
        case DescribeView(name):
            return _described(spark, catalog, catalog.view(name))
        case _:
            assert_never(statement)


def _created(spark: Any, catalog: Catalog, statement: CreateView) -> Definition:
    there = catalog.find(statement.name)
    if there is not None and statement.if_missing:
        return there
    if there is not None and not statement.replace:
        _refuse_name(statement.name, "there is a materialized view")
    if there is None and spark.catalog.tableExists(quoted(statement.name)) and not is_shown(spark, statement.name):
        _refuse_name(statement.name, "the session has a table or view")
    tables = tuple((name, found.parts) for name, found in statement.tables.items())
    version = 1 if there is None else there.version + 1
    view = Definition(statement.name, version, statement.text, statement.every, tables)
    if there is not None:
        if view.is_like(there):
            _refresh(spark, catalog, there, frozenset())
            return there
        _refuse_where_read(catalog, there, "replaced")
    if not tables:
        raise DataError(
            f"error[HW944]: `{view.name}` reads no table, so nothing ever changes it\n  hint: write CREATE VIEW"
        )
    if statement.name.lower() in view.reads:
        raise DataError(
            f"error[HW944]: `{view.name}` reads a table of its own name\n"
            "  hint: give the view another name, or define the recursion by WITH RECURSIVE"
        )
    _compute(spark, catalog, view, there)
    return view


def _compute(spark: Any, catalog: Catalog, view: Definition, before: Definition | None) -> None:
    """Have a new version, and the one before end; what fails leaves nothing."""
    catalog.make_room(view)
    try:
        _refresh(spark, catalog, view, frozenset())
        recorded = catalog.record(view)
    except BaseException:
        _stop(spark, catalog, view)
        catalog.make_room(view)
        raise
    if not recorded:
        _stop(spark, catalog, view)
        _refuse_name(view.name, "another session has just created a materialized view")
    if before is not None:
        _stop(spark, catalog, before)
        catalog.keep_only(view)


def _refresh(spark: Any, catalog: Catalog, view: Definition, above: frozenset[str]) -> None:
    """Read what the tables have got since; a query with a schedule goes on afterwards."""
    for name in sorted(view.reads - above):
        source = catalog.find(name)
        if source is not None and source.name.lower() != view.name.lower():
            _refresh(spark, catalog, source, above | {view.name.lower()})
    query = _running(spark, catalog, view)
    if query is None:
        query = maintain(
            view.text,
            streams(spark, catalog, dict(view.tables)),
            checkpoint=catalog.state(view),
            trigger={"availableNow": True} if view.every is None else {"processingTime": view.every},
            name=_query_name(catalog, view),
        )
    if view.every is None:
        query.awaitTermination()
    else:
        query.processAllAvailable()


def _dropped(spark: Any, catalog: Catalog, name: str, if_there: bool) -> Any:
    view = catalog.find(name) if if_there else catalog.view(name)
    if view is not None:
        _refuse_where_read(catalog, view, "dropped")
        _stop(spark, catalog, view)
        catalog.remove(view)
        forget(spark, view)
    return spark.createDataFrame([], "name string")


def _like(catalog: Catalog, pattern: str | None) -> list[Definition]:
    wanted = ("*" if pattern is None else pattern).lower().split("|")
    return [view for view in catalog.views() if any(fnmatchcase(view.name.lower(), one.strip()) for one in wanted)]


def _line(spark: Any, catalog: Catalog, view: Definition) -> tuple[Any, ...]:
    state = catalog.state(view)
    figures = {} if Checkpoint(state).committed is None else progress(state)
    rows = figures.get("rows", {}).get(view.name)
    is_running = _running(spark, catalog, view) is not None
    return view.name, _how(view), is_running, figures.get("batch"), rows, state


def _described(spark: Any, catalog: Catalog, view: Definition) -> Any:
    columns = [(field.name, field.dataType.simpleString(), "") for field in show(spark, catalog, view).schema]
    _, how, is_running, batch, rows, state = _line(spark, catalog, view)
    known = {
        "Name": view.name,
        "Reads": ", ".join(".".join(parts) for _, parts in view.tables),
        "Refresh": how,
        "Running": str(is_running).lower(),
        "Batch": str(batch),
        "Rows": str(rows),
        "State": state,
        "Text": view.text.strip(),
    }
    return spark.createDataFrame(
        [*columns, ("", "", ""), ("# Materialized view", "", ""), *((name, said, "") for name, said in known.items())],
        _DESCRIBED,
    )


def _how(view: Definition) -> str:
    return "on demand" if view.every is None else f"every {view.every}"


# Queries


def _query_name(catalog: Catalog, view: Definition) -> str:
    return f"headwater {catalog.state(view)}"


def _running(spark: Any, catalog: Catalog, view: Definition) -> Any:
    name = _query_name(catalog, view)
    return next((query for query in spark.streams.active if query.name == name), None)


def _stop(spark: Any, catalog: Catalog, view: Definition) -> None:
    query = _running(spark, catalog, view)
    if query is not None:
        query.stop()


# What is refused


def _refuse_name(name: str, why: str) -> None:
    raise DataError(
        f"error[HW943]: {why} `{name}`\n  hint: write CREATE OR REPLACE MATERIALIZED VIEW, or give another name"
    )


def _refuse_where_read(catalog: Catalog, view: Definition, done: str) -> None:
    readers = catalog.readers(view.name)
    if readers:
        listed = ", ".join(f"`{name}`" for name in readers)
        raise DataError(
            f"error[HW945]: `{view.name}` cannot be {done} while other materialized views read it: {listed}\n"
            "  hint: drop these first, and create them again afterwards"
        )
