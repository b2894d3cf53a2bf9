"""A database fed from files: the inputs as one transaction, then the changes in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from headwater.cli.data.bounds import guard_of
from headwater.cli.data.checkpoint_state import state_of
from headwater.cli.data.options import Feed
from headwater.cli.data.source import load_program, parse_given, read_files, require_given
from headwater.cli.screen.display import shown
from headwater.cli.screen.report import counted, ends_on_error, show, show_error
from headwater.core.errors import ProgramError
from headwater.core.progress import ProgressLine, rounds_told
from headwater.database import Changes, Database
from headwater.engine.codes.moments import typed_moment, wall_time
from headwater.engine.guard import Guard
from headwater.files.applying import joined, net_changes
from headwater.files.rows import BadRow, FileRows
from headwater.program.time.program_clock import clock_type, follows_wall
from headwater.provenance import NODES
from headwater.questions import Answering

_SHOWN_BAD = 5


@dataclass(frozen=True, slots=True)
class Applied:
    """One transaction of changes that was applied: what it was, in a line, and what followed."""

    title: str
    changes: Changes


class Session:
    """What `run`, `why` and the questions about what would be have in common."""

    def __init__(
        self,
        file: str,
        feed: Feed,
        guard: Guard,
        progress: ProgressLine,
        *,
        nodes: int = NODES,
        until: str | None = None,
        whole: bool = False,
        profile: bool = False,
        disabled: Iterable[str] = (),
    ) -> None:
        """`whole`: derive all of every relation, because rows may be asked about that no query asks for."""
        progress.step(f"compiling {file}")
        program = load_program(file, feed, disabled)
        self.program = program.unrestricted() if whole else program
        clock = clock_type(self.program.checked)
        self._until = None if until is None else (until, typed_moment(until, clock))
        begins = None if feed.now is None else typed_moment(feed.now, clock)
        if begins is None and follows_wall(self.program.checked):
            begins = wall_time()
        self.quiet = feed.quiet
        self._batch = feed.batch
        self._progress = progress
        if not feed.quiet:
            show(self.program.warnings)
        sources = parse_given(self.program, "--input", feed.inputs or ())
        feeds = parse_given(self.program, "--changes", feed.changes or ())
        require_given(self.program, [*sources, *feeds], feed.optional)
        self.database = Database(self.program, guard=guard, nodes=nodes, profile=profile)
        if begins is not None:
            self.database.advance(begins)
        self._without_rows = {*(feed.optional or ()), *(file.relation for file in feeds)} & set(self.database.missing)
        self.data = read_files(self.program, sources, feeds, header=not feed.no_header, progress=progress)
        self._show_notes()
        if feed.strict and self.data.bad:
            raise typer.Exit(report_bad(self.data.bad, strict=True))

    def _show_notes(self) -> None:
        empty = [f"{rows.file}: no rows" for rows in self.data.files if not rows.size and not rows.bad]
        for note in () if self.quiet else (*self.data.notes, *empty):
            typer.echo(f"note: {note}", err=True)

    def load(self) -> Changes:
        """Apply the inputs."""
        rows: dict[str, Any] = {}  # without the empty ones, the database would warn of relations that it was not given
        for file in self.data.inputs:
            given = file.taken(np.arange(file.size))
            rows[file.relation] = joined(rows[file.relation], given) if file.relation in rows else given
        self._progress.step(f"deriving from {counted(sum(file.size for file in self.data.inputs), 'row')}")
        try:
            empty: dict[str, Any] = {name: [] for name in self._without_rows - rows.keys()}
            return self.database.apply(insert=rows | empty, cancelled=rounds_told(self._progress, "deriving"))
        except ProgramError as error:
            show_error(error)
            for file in self.data.inputs:
                self._show_types(file)
            raise typer.Exit(1) from None

    def _show_types(self, rows: FileRows) -> None:
        relation = self.program.checked.relation(rows.relation)
        if not relation.declared and rows.size:
            columns = zip(relation.visible, rows.types, strict=True)
            listed = ", ".join(f"{column.name}: {kind.value if kind else 'string'}" for column, kind in columns)
            typer.echo(
                f"note: {rows.file} was read as ({listed}); if that is wrong, declare `relation {rows.relation}(...)`",
                err=True,
            )

    def feed(self) -> Iterator[Applied]:
        """Apply the changes, file by file, and give what followed."""
        for rows in self.data.changes:
            size = self._batch or max(rows.size, 1)
            for first in range(0, rows.size, size):
                last = min(first + size, rows.size)
                title = _title(rows, first, last)
                self._progress.step(f"applying {title}")
                yield Applied(title, self._apply(rows.slice(first, last)))

    def advance(self) -> Iterator[Applied]:
        """Move the clock to the moment that was asked for, if any was, so that what has ended by then expires."""
        if self._until is not None:
            text, moment = self._until
            self._progress.step(f"advancing to {text}")
            yield Applied(f"until {text}", self.database.advance(moment))

    def _apply(self, rows: FileRows) -> Changes:
        inserts, deletes = net_changes(self.database, rows)
        return self.database.apply(
            insert={rows.relation: inserts},
            delete={rows.relation: deletes},
            cancelled=rounds_told(self._progress, "maintaining"),
        )

    def report_bad(self) -> None:
        if self.data.bad:
            report_bad(self.data.bad, strict=False)


def fed_database(
    file: str,
    feed: Feed,
    nodes: int = NODES,
    *,
    whole: bool = True,
    profile: bool = False,
    disabled: Iterable[str] = (),
) -> Database:
    """A program's database once it has all its rows; ends the command where it cannot have them."""
    with ProgressLine(quiet=feed.quiet) as progress, ends_on_error("interrupted"):
        guard = guard_of(feed.guard, feed.memory)
        session = Session(file, feed, guard, progress, nodes=nodes, whole=whole, profile=profile, disabled=disabled)
        session.load()
        for _ in session.feed():
            pass
    session.report_bad()
    return session.database


def database_or_state(file: str, feed: Feed, checkpoint: str | None, nodes: int = NODES) -> Answering:
    """What a command asks: a database that files have filled, or the state in a checkpoint."""
    if checkpoint is None:
        return fed_database(file, feed, nodes)
    with ends_on_error("interrupted"):
        return state_of(checkpoint, nodes)


def _title(rows: FileRows, first: int, last: int) -> str:
    if last - first == 1 and rows.inserts is not None:
        (row,) = rows.slice(first, last).tuples()
        word = "insert" if rows.inserts[first] else "delete"
        return f"{rows.file}:{rows.lines[first]}: {word} {rows.relation}({', '.join(map(shown, row))})"
    part = "" if last - first == rows.size else f" ({first + 1:,} to {last:,} of {rows.size:,})"
    return f"{rows.file}: {counted(last - first, 'change')}{part}"


def report_bad(bad: tuple[BadRow, ...], *, strict: bool) -> int:
    head = "error[HW801]" if strict else "warning[HW801]"
    what = "do not fit; nothing was applied" if strict else "set aside"
    if strict and len(bad) == 1:
        what = "does not fit; nothing was applied"
    typer.echo(f"{head}: {counted(len(bad), 'row')} {what}", err=True)
    for row in bad[:_SHOWN_BAD]:
        typer.echo(f"  {row}", err=True)
    if len(bad) > _SHOWN_BAD:
        typer.echo(f"  ... and {len(bad) - _SHOWN_BAD:,} more", err=True)
    other = "remove --strict to set them aside" if strict else "declare the types that you want"
    typer.echo(f"  hint: correct the rows, or {other}", err=True)
    return 1
