"""From options to data: the program, the files that are given for its relations, and what they hold.

All files are read before anything is applied, so that a file that cannot be read changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from headwater.cli.data.options import Feed
from headwater.core.errors import DataError
from headwater.core.progress import ProgressLine
from headwater.files.applying import expected_of
from headwater.files.read import read
from headwater.files.rows import BadRow, FileRows, settled
from headwater.language.reading import read_program
from headwater.language.syntax import Query
from headwater.pipeline import CompiledProgram, compile_tree
from headwater.program.inputs import require_inputs
from headwater.program.nearest import nearest
from headwater.questions import parse_query


@dataclass(frozen=True, slots=True)
class Data:
    """What the files of a run hold."""

    inputs: tuple[FileRows, ...]
    changes: tuple[FileRows, ...]

    @property
    def files(self) -> tuple[FileRows, ...]:
        return *self.inputs, *self.changes

    @property
    def bad(self) -> tuple[BadRow, ...]:
        return tuple(row for file in self.files for row in file.bad)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(note for file in self.files for note in file.notes)


@dataclass(frozen=True, slots=True)
class Given:
    """A file for a relation, as an option names it."""

    relation: str
    path: Path


def load_program(file: str, feed: Feed, disabled: Iterable[str] = ()) -> CompiledProgram:
    """The program of a file, asked a feed's queries in place of its own if there are any, without some rewrites."""
    tree = read_program(file, union_all=feed.union_all)
    queries = feed.queries or ()
    if queries:
        asked = [_query(text) for text in queries]
        kept = [statement for statement in tree.statements if not isinstance(statement, Query)]
        tree = replace(tree, statements=(*kept, *asked))
    return compile_tree(tree, disabled=disabled)


def _query(text: str) -> Query:
    try:
        return parse_query(text, "--query")
    except DataError as problem:
        raise typer.BadParameter(str(problem), param_hint="--query") from None


def require_given(program: CompiledProgram, given: Sequence[Given], optional: Sequence[str] | None) -> None:
    """End the command if a relation that the program reads is given no file and is not optional."""
    way = "give a file by --input {name}=FILE, which may hold no rows, or add --optional {name}"
    try:
        require_inputs(program.checked, (file.relation for file in given), optional or (), way=way)
    except DataError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def parse_given(program: CompiledProgram, option: str, texts: Sequence[str]) -> list[Given]:
    given = []
    bases = [relation.name for relation in program.checked.relations if not relation.derived]
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            example = next(iter(bases), "link")
            raise typer.BadParameter(f"{text!r} names no relation; write {option} {example}=FILE")
        if name not in bases:
            raise typer.BadParameter(_unknown(name, program, bases))
        given.append(Given(name, Path(path)))
    return given


def _unknown(name: str, program: CompiledProgram, bases: list[str]) -> str:
    if any(relation.name == name for relation in program.checked.relations):
        return f"`{name}` is derived by rules; give rows for {_listed(bases)}"
    close = nearest(name, bases)
    meant = f"did you mean `{close}`?" if close else f"it reads {_listed(bases)}"
    return f"the program has no base relation `{name}`; {meant}"


def _listed(bases: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in bases) or "no base relation at all"


def read_files(
    program: CompiledProgram, inputs: list[Given], changes: list[Given], *, header: bool, progress: ProgressLine
) -> Data:
    """What the files hold. The first file that shows a column's type settles it for the others."""
    expected = {relation.name: expected_of(relation) for relation in program.checked.relations}

    def one_file(given: Given, feed: bool) -> FileRows:
        progress.step(f"reading {given.path}")
        rows = read(given.path, expected[given.relation], feed=feed, header=header)
        if rows.size:
            expected[given.relation] = settled(expected[given.relation], rows.types)
        return rows

    return Data(
        tuple(one_file(given, feed=False) for given in inputs), tuple(one_file(given, feed=True) for given in changes)
    )
