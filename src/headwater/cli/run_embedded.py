"""The work of `headwater run`, imported only when it is asked for."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path

import pyarrow as pa
import typer

from headwater.cli.data.fed_database import Applied, Session
from headwater.cli.data.options import Feed
from headwater.cli.run import Show, ViewFormat
from headwater.cli.screen.report import INTERRUPTED, counted, ends_on_error, show_error
from headwater.cli.screen.tables import show_change, show_view, terminal
from headwater.core.errors import HeadwaterError
from headwater.core.progress import ProgressLine
from headwater.engine.guard import Guard
from headwater.files.rows import CHANGE_TYPE
from headwater.files.write import (
    csv_bytes,
    in_order,
    json_objects,
    make_folder,
    write_changes,
    write_rejected,
    write_table,
)

_FILE_KINDS = {ViewFormat.CSV: "csv", ViewFormat.JSON: "jsonl", ViewFormat.PARQUET: "parquet"}


class Running:
    """One run of a program in this process: what is printed or written of it."""

    def __init__(self, output: Path | None, form: ViewFormat | None, show: Show | None, most: int) -> None:
        self._output = output
        self._form = form or (ViewFormat.TABLE if output is None else ViewFormat.CSV)
        if output is None and self._form is ViewFormat.PARQUET:
            raise typer.BadParameter("parquet is written to files; add --output DIR", param_hint="--format")
        if output is not None and self._form is ViewFormat.TABLE:
            raise typer.BadParameter("tables are for the terminal; with --output take csv, json or parquet")
        self._show = show or (Show.BOTH if self._form is ViewFormat.TABLE else Show.VIEWS)
        self._most = most
        self._feeds: dict[str, list[tuple[str, pa.Table]]] = {}

    def run(self, file: str, feed: Feed, until: str | None, guard: Guard) -> None:
        status = 0
        with ProgressLine(quiet=feed.quiet) as progress, ends_on_error("interrupted: nothing was applied"):
            if self._output is not None:
                make_folder(self._output)
            session = Session(file, feed, guard, progress, until=until)
            self._refuse_several(session)
            session.load()
            self._feeds = {name: [] for name in session.program.outputs}
            done: list[Applied] = []
            try:
                for transaction in chain(session.feed(), session.advance()):
                    done.append(transaction)
                    self._keep(transaction)
            except KeyboardInterrupt:
                status = INTERRUPTED
                typer.echo("interrupted: the views are those of the last finished transaction", err=True)
            except HeadwaterError as error:
                status = show_error(error)
                typer.echo("note: the views are those of the last finished transaction", err=True)
        try:
            self._give(session, done)
        except HeadwaterError as error:
            raise typer.Exit(show_error(error)) from None
        session.report_bad()
        raise typer.Exit(status)

    def _refuse_several(self, session: Session) -> None:
        names = session.program.outputs
        if self._output is None and self._form is ViewFormat.CSV and len(names) != 1:
            listed = ", ".join(names) or "none"
            raise typer.BadParameter(
                f"csv holds one view, not {len(names)} ({listed}); choose one by --query, or add --output DIR",
                param_hint="--format",
            )

    def _keep(self, transaction: Applied) -> None:
        for name in transaction.changes:
            change = transaction.changes[name]
            self._feeds[name] += [("delete", in_order(change.deleted)), ("insert", in_order(change.inserted))]

    def _give(self, session: Session, done: list[Applied]) -> None:
        if self._output is not None:
            self._write(self._output, session)
        elif self._form is ViewFormat.TABLE:
            self._print(session, done)
        else:
            self._stream(session)

    # For people

    def _print(self, session: Session, done: list[Applied]) -> None:
        console = terminal()
        if self._show is not Show.VIEWS:
            for transaction in done:
                self._print_transaction(transaction)
            if done and self._show is Show.BOTH:
                console.print()
        if self._show is not Show.CHANGES:
            for name in session.program.outputs:
                show_view(console, name, _rows(session, name), self._most)

    def _print_transaction(self, transaction: Applied) -> None:
        console = terminal()
        console.print(transaction.title, markup=False)
        changed = [name for name in transaction.changes if transaction.changes[name]]
        for name in changed:
            show_change(console, name, transaction.changes[name], self._most)
        if not changed:
            console.print("  no view changed")

    # For machines

    def _stream(self, session: Session) -> None:
        out = sys.stdout.buffer
        for name in session.program.outputs:
            pieces: list[tuple[dict[str, str], pa.Table]] = []
            if self._show is not Show.VIEWS:
                pieces += [({CHANGE_TYPE: kind}, table) for kind, table in self._feeds[name]]
            if self._show is not Show.CHANGES:
                pieces.append(({}, _rows(session, name)))
            if self._form is ViewFormat.CSV:
                out.write(_csv(pieces, name))
            else:
                key = "_relation" if any("relation" in table.column_names for _, table in pieces) else "relation"
                for extra, table in pieces:
                    for line in json_objects(table, {key: name, **extra}):
                        out.write(f"{line}\n".encode())
        out.flush()

    def _write(self, folder: Path, session: Session) -> None:
        written = []
        for name in session.program.outputs:
            table = _rows(session, name)
            path = write_table(folder, name, table, _FILE_KINDS[self._form])
            written.append(f"{path}: {counted(table.num_rows, 'row')}")
            if session.data.changes:
                path = write_changes(folder, name, self._feeds[name])
                count = sum(table.num_rows for _, table in self._feeds[name])
                written.append(f"{path}: {counted(count, 'change')}")
        if session.data.bad or (folder / "rejected.jsonl").exists():
            path = write_rejected(folder, session.data.bad)
            written.append(f"{path}: {counted(len(session.data.bad), 'row')}")
        for line in () if session.quiet else written:
            typer.echo(f"wrote {line}", err=True)


def _csv(pieces: list[tuple[dict[str, str], pa.Table]], name: str) -> bytes:
    """One csv text; where there are changes, its first column says which way a row goes (empty: it is there)."""
    if all(not extra for extra, _ in pieces):
        return b"".join(csv_bytes(table, name) for _, table in pieces)
    parts: list[bytes] = []
    for extra, table in pieces:
        kind = pa.array([extra.get(CHANGE_TYPE, "")] * table.num_rows, type=pa.string())
        text = csv_bytes(table.add_column(0, CHANGE_TYPE, kind), name)
        parts.append(text if not parts else text.partition(b"\n")[2])
    return b"".join(parts)


def _rows(session: Session, name: str) -> pa.Table:
    """A view as its query orders it, else in an order that is always the same."""
    table = session.database.table(name)
    return table if session.database.is_ordered(name) else in_order(table)
