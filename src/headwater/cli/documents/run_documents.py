"""The work of `headwater run view.lorel`: views over documents, and their changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import typer

from headwater.cli.data.options import Feed
from headwater.cli.documents.sources import key_of, pairs
from headwater.cli.run import Show, ViewFormat
from headwater.cli.screen.display import shown
from headwater.cli.screen.report import counted, ends_on_error
from headwater.core.errors import FileError
from headwater.core.source import Source
from headwater.engine.guard import Guard
from headwater.files.names import file_name
from headwater.files.read import bytes_of
from headwater.files.write import make_folder
from headwater.language.lorel import ViewDefinition
from headwater.semistructured.change_files import apply_changes
from headwater.semistructured.documents import Documents
from headwater.semistructured.output.json_text import json_text
from headwater.semistructured.output.view import DocumentView
from headwater.semistructured.views import ViewProgram, names_read, parse_views, require_documents


class DocumentRunning:
    """One run of the views of a file: what is printed or written of them."""

    def __init__(self, output: Path | None, form: ViewFormat | None, show: Show | None, most: int) -> None:
        self._output, self._most = output, most
        self._form = form or (ViewFormat.TABLE if output is None else ViewFormat.JSON)
        if self._form is ViewFormat.CSV or (self._form is ViewFormat.PARQUET and output is None):
            raise typer.BadParameter("documents are printed as table or json; parquet needs --output DIR")
        self._show = show or (Show.BOTH if self._form is ViewFormat.TABLE else Show.VIEWS)
        self._feed: list[tuple[str, str, Any]] = []

    def run(self, file: str, feed: Feed, keys: list[str], guard: Guard) -> None:
        with ends_on_error("interrupted: nothing was applied"):
            if self._output is not None:
                make_folder(self._output)
            docs, views = maintained(file, feed, keys, guard, self._note)
            self._give(views)
        report_set_aside(docs)

    def _note(self, views: list[DocumentView], path: str) -> None:
        for view in views:
            changes = view.changes
            if self._form is ViewFormat.TABLE and self._output is None and self._show is not Show.VIEWS:
                typer.echo(f"{path}: {view.name}: {counted(len(changes.operations), 'change')}")
                for operation in changes.operations[: self._most or None]:
                    typer.echo(f"  {shown(str(operation))}")
                self._note_more(len(changes.operations))
            self._feed += [(view.name, oid, patch) for oid, patch in changes.patches.items()]

    def _give(self, views: list[DocumentView]) -> None:
        for view in views:
            found = view.documents()
            if self._output is not None:
                self._write(self._output, view, found)
            elif self._form is ViewFormat.TABLE:
                if self._show is not Show.CHANGES:
                    typer.echo(f"{view.name}: {counted(len(found), 'document')}")
                    for oid, document in list(found.items())[: self._most or None]:
                        typer.echo(f"  {oid}  {_json(document)}")
                    self._note_more(len(found))
            else:
                if self._show is not Show.VIEWS:
                    for name, oid, patch in self._feed:
                        if name == view.name:
                            sys.stdout.write(_json({"view": name, "oid": oid, "patch": patch}) + "\n")
                if self._show is not Show.CHANGES:
                    for oid, document in found.items():
                        sys.stdout.write(_json({"view": view.name, "oid": oid, "document": document}) + "\n")

    def _note_more(self, count: int) -> None:
        if self._most and count > self._most:
            typer.echo(f"  ... {count - self._most:,} more")

    def _write(self, folder: Path, view: DocumentView, found: dict[str, Any]) -> None:
        try:
            if self._form is ViewFormat.PARQUET:
                pq.write_table(view.table(), folder / f"{file_name(view.name)}.parquet")
            else:
                lines = [_json({"oid": oid, "document": document}) for oid, document in found.items()]
                (folder / f"{file_name(view.name)}.jsonl").write_text("".join(f"{line}\n" for line in lines))
            if self._feed:
                lines = [_json({"oid": oid, "patch": patch}) for name, oid, patch in self._feed if name == view.name]
                (folder / f"{file_name(view.name)}.changes.jsonl").write_text("".join(f"{line}\n" for line in lines))
        except OSError as problem:
            raise FileError(f"{folder} cannot be written: {problem.strerror}") from None


def maintained(
    file: str,
    feed: Feed,
    keys: list[str],
    guard: Guard,
    after: Callable[[list[DocumentView], str], None] = lambda views, path: None,
) -> tuple[Documents, list[DocumentView]]:
    """The views of a file over documents after all changes; `after` is called with each file of changes."""
    definitions = views_of(file, feed)
    docs, known_by = loaded(feed, keys, guard)
    views = docs.define_views(definitions)
    for name, path in pairs(feed.changes, "--changes"):
        apply_changes(docs, name, path, known_by(name))
        after(views, path)
    return docs, views


def report_set_aside(docs: Documents) -> None:
    """Say which documents were not read."""
    if not docs.rejected:
        return
    for bad in docs.rejected:
        typer.echo(f"  {bad}", err=True)
    count = counted(len(docs.rejected), "document")
    typer.echo(
        f"warning[HW820]: {count} cannot be read and {'is' if count[0:2] == '1 ' else 'are'} set aside", err=True
    )


def loaded(feed: Feed, keys: list[str], guard: Guard) -> tuple[Documents, Callable[[str], str | None]]:
    """The documents of the inputs, and the members that those of a name are known by."""
    docs = Documents(guard=guard)
    by_name: dict[str, str | None] = {}
    asked = dict(pairs(keys, "--key"))
    for name, paths in pairs(feed.inputs, "--input"):
        by_name[name] = key_of(paths, name, asked)
        docs.add_files(paths, name=name, key=by_name[name], strict=feed.strict)
    return docs, lambda name: by_name.get(name, asked.get(name, "id"))


def views_of(file: str, feed: Feed, watched: Sequence[str] = ()) -> list[ViewDefinition]:
    """The views of a file; raises DataError where they read a name that no option gives documents for."""
    return [view.definition for view in programs_of(file, feed, watched)]


def programs_of(file: str, feed: Feed, watched: Sequence[str] = ()) -> tuple[ViewProgram, ...]:
    """The same with their rules."""
    views = parse_views(Source(file, bytes_of(Path(file)).decode("utf-8", "replace")))
    given = [*pairs(feed.inputs, "--input"), *pairs(feed.changes, "--changes"), *pairs(watched, "--watch")]
    way = "give a file by --input {name}=FILE, which may hold no documents, or add --optional {name}"
    require_documents(names_read(views), (name for name, _ in given), feed.optional or (), way=way)
    return views


def _json(value: Any) -> str:
    return json_text(value).encode("utf-8", "surrogateescape").decode()
