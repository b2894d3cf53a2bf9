"""The work of `headwater run --engine spark`, imported only when it is asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer

from headwater.cli.data.fed_database import report_bad
from headwater.cli.data.options import Feed
from headwater.cli.data.source import load_program, parse_given, read_files, require_given
from headwater.cli.screen.report import counted, ends_on_error, show
from headwater.cli.screen.tables import show_change, show_view, terminal
from headwater.core.errors import HeadwaterError
from headwater.core.progress import ProgressLine
from headwater.core.types import Type
from headwater.database import RelationChange
from headwater.engine.codes.columns import arrow_value
from headwater.engine.codes.moments import typed_moment
from headwater.engine.guard import Guard
from headwater.files.applying import expected_of
from headwater.files.rows import CHANGE_TYPE, FileRows
from headwater.files.write import make_folder, write_table
from headwater.pipeline import CompiledProgram
from headwater.program.time.program_clock import clock_type

_NO_PYSPARK = (
    "error[HW905]: --engine spark needs PySpark, which is not installed; run pip install 'headwater[spark]', "
    "or leave out --engine to run without Spark"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class SparkRunning:
    """One run of a program on Spark: over files, or over folders that files arrive in."""

    def __init__(
        self,
        file: str,
        feed: Feed,
        streams: list[str],
        output: str | None,
        checkpoint: str | None,
        shards: int | None,
        guard: Guard,
        *,
        once: bool,
        most: int,
        until: str | None,
    ) -> None:
        self._file, self._feed, self._streams = file, feed, streams
        self._output = None if output is None else _place(output)
        self._checkpoint = None if checkpoint is None else _place(checkpoint)
        self._shards, self._guard, self._once, self._most, self._until = shards, guard, once, most, until
        self._header, self._quiet, self._optional = not feed.no_header, feed.quiet, feed.optional or []

    def run(self) -> None:
        if find_spec("pyspark") is None:
            typer.echo(_NO_PYSPARK, err=True)
            raise typer.Exit(2)
        if self._streams and self._checkpoint is None:
            raise typer.BadParameter("a stream needs a place for its state; add --checkpoint DIR")
        if not self._streams and (self._once or self._checkpoint is not None):
            raise typer.BadParameter(
                "--checkpoint and --once are for streams; add --stream RELATION=DIR, or leave them"
            )
        if self._output is not None and not self._streams and _URI.match(self._output):
            raise typer.BadParameter("only the output of streams goes to a URI; give --output a folder")
        from headwater.spark.session.session import SparkMissing, require_java  # late, as all of Spark: an extra

        with ends_on_error("interrupted: what was committed stays; start again to go on"):
            try:
                require_java()
                with ProgressLine(quiet=self._quiet) as progress:
                    self._compile_and_start(progress)
            except SparkMissing as error:
                typer.echo(str(error), err=True)
                raise typer.Exit(2) from None

    def _compile_and_start(self, progress: ProgressLine) -> None:
        progress.step(f"compiling {self._file}")
        program = load_program(self._file, self._feed)
        if not self._quiet:
            show(program.warnings)
        if self._until is not None:
            typed_moment(self._until, clock_type(program.checked))
        progress.step("starting Spark")
        self._start(program, progress)

    def _start(self, program: CompiledProgram, progress: ProgressLine) -> None:
        from headwater.spark.inputs.arriving import arriving
        from headwater.spark.session.session import local_session

        given = parse_given(program, "--input", self._feed.inputs or ())
        streams = parse_given(program, "--stream", self._streams)
        require_given(program, [*given, *streams], self._optional)
        data = read_files(program, given, [], header=self._header, progress=progress)
        spark = local_session(f"headwater run {self._file}", {"spark.log.level": "OFF"})
        static: dict[str, list[Any]] = {}
        for rows in data.inputs:
            static.setdefault(rows.relation, []).append(_frame(spark, rows))
        if streams:
            for stream in streams:
                expected = expected_of(program.checked.relation(stream.relation))
                frame = arriving(spark, expected, stream.path.absolute(), header=self._header)
                static.setdefault(stream.relation, []).append(frame)
            self._maintain(program, static, progress)
        else:
            self._evaluate(program, {name: _joined(frames) for name, frames in static.items()}, progress)
        if data.bad:
            report_bad(data.bad, strict=False)

    def _evaluate(self, program: CompiledProgram, inputs: Mapping[str, Any], progress: ProgressLine) -> None:
        from headwater.spark import evaluate

        progress.step("deriving")
        now = None if self._until is None else typed_moment(self._until, clock_type(program.checked))
        views = evaluate(program, inputs, optional=self._optional, shards=self._shards, guard=self._guard, now=now)
        self._give({name: frame.toArrow() for name, frame in views.items()})

    def _give(self, tables: Mapping[str, pa.Table]) -> None:
        """Print the views, or write a file for each."""
        if self._output is None:
            for name, table in tables.items():
                show_view(terminal(), name, table, self._most)
            return
        folder = Path(self._output)
        make_folder(folder)
        for name, table in tables.items():
            path = write_table(folder, name, table, "parquet")
            if not self._quiet:
                typer.echo(f"wrote {path}: {counted(table.num_rows, 'row')}", err=True)

    def _maintain(self, program: CompiledProgram, inputs: Mapping[str, list[Any]], progress: ProgressLine) -> None:
        from headwater.spark import maintain

        self._follow(maintain(program, inputs, **self._query_options(progress)), progress)

    def _query_options(self, progress: ProgressLine) -> dict[str, Any]:
        """The options of a streaming query that the command line gives."""
        return {
            "checkpoint": str(self._checkpoint),
            "output": self._output,
            "optional": self._optional,
            "foreach_changes": self._print_changes if self._output is None else None,
            "on_batch": lambda metrics: self._line(metrics, progress),
            "shards": self._shards,
            "guard": self._guard,
            "trigger": {"availableNow": True} if self._once else None,
        }

    def _follow(self, query: Any, progress: ProgressLine) -> None:
        """Wait until a query ends, or is interrupted."""
        from headwater.spark import failure, refresh
        from headwater.spark.state.checkpoint import Checkpoint

        progress.step("waiting for rows")
        try:
            while query.isActive:
                time.sleep(0.1)
        finally:
            query.stop()
        if query.exception() is not None:
            raise failure(query) or HeadwaterError(_first_words(str(query.exception())))
        if self._once and self._output is not None and Checkpoint(str(self._checkpoint)).committed is not None:
            progress.step("bringing the current tables up to date")
            refresh(str(self._checkpoint), self._output)

    def _print_changes(self, changes: dict[str, Any], _: int) -> None:
        console = terminal()
        for name, frame in changes.items():
            table = frame.toArrow()
            kinds = table.column(CHANGE_TYPE).to_pylist()
            rows = table.drop_columns([CHANGE_TYPE, "_batch_id"])
            came, went = (
                rows.filter(pa.array([kind == word for kind in kinds], type=pa.bool_()))
                for word in ("insert", "delete")
            )
            if kinds:
                show_change(console, name, RelationChange(came, went), self._most)

    def _line(self, metrics: Mapping[str, Any], progress: ProgressLine) -> None:
        text = batch_line(metrics)
        progress.step(text)
        moved = any(view["inserted"] or view["deleted"] for view in metrics["changed"].values())
        if not self._quiet and (metrics["rows_in"] or metrics["rejected"] or moved):
            typer.echo(text, err=True)  # a batch in which only time has passed is not worth a line


def batch_line(metrics: Mapping[str, Any]) -> str:
    """The figures of a batch in one line."""
    changed = ", ".join(
        f"{name} +{view['inserted']:,} -{view['deleted']:,}" for name, view in metrics["changed"].items()
    )
    parts = [f"batch {metrics['batch']}: {counted(metrics['rows_in'], 'row')} in", changed]
    if metrics["now"] is not None:
        parts[0] += f", time {metrics['now']}"
    if metrics["rejected"]:
        late = f" ({metrics['late']:,} of them late)" if metrics["late"] else ""
        parts.append(f"{counted(metrics['rejected'], 'row')} set aside{late}")
    if metrics["rounds"]:
        shipped = f"{counted(metrics['rows_shipped'], 'row')} and {counted(metrics['bytes_shipped'], 'byte')} shipped"
        parts.append(f"{counted(metrics['rounds'], 'round')}, {shipped}")
    return "; ".join([*parts, f"{metrics['seconds']:.2f} s"])


def _place(text: str) -> str:
    """A folder as Spark finds it, which may run in another one; a URI is left as it is."""
    return text if _URI.match(text) else str(Path(text).absolute())


def _frame(spark: Any, rows: FileRows) -> Any:
    from headwater.spark.inputs.arriving import ddl

    taken = rows.taken(np.arange(rows.size))
    if isinstance(taken, pa.Table) and rows.size:
        return spark.createDataFrame(taken)
    schema = ", ".join(f"`{name}` {ddl(kind)}" for name, kind in zip(rows.names, rows.types, strict=True))
    values = [tuple(map(_plain, row, rows.types)) for row in rows.tuples()]
    return spark.createDataFrame(values, schema)


def _plain(value: Any, kind: Type | None) -> Any:
    return arrow_value(value, kind) if kind is not None and kind.is_list else value


def _joined(frames: list[Any]) -> Any:
    first, *others = frames
    for other in others:
        first = first.unionAll(other)
    return first


def _first_words(text: str) -> str:
    """Of what Spark says of a failed query, what was said first: the error itself, not the way it took."""
    start = max(text.find("error[HW"), 0)
    lines = []
    for line in text[start:].splitlines():
        if line.lstrip().startswith(("at ", "File ", "Traceback", "===")):
            break
        lines.append(line)
    return "\n".join(lines).strip() or text
