"""A program with its inputs loaded, and the files and folders that are followed from then on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from headwater.cli.data.bounds import guard_of
from headwater.cli.data.fed_database import Session
from headwater.cli.data.options import Feed
from headwater.cli.data.source import Given, load_program, parse_given
from headwater.cli.screen.report import ends_on_error
from headwater.core.progress import ProgressLine
from headwater.database import Database
from headwater.pipeline import CompiledProgram
from headwater.program.time.program_clock import follows_wall
from headwater.provenance import NODES
from headwater.serve.follow import ChangeFile, Folder, WallClock
from headwater.serve.follow.follower import Source


def load_followed(
    file: str, feed: Feed, watch: list[str], *, nodes: int = NODES, whole: bool = False
) -> tuple[Database, list[Source]]:
    """Load the inputs; ends the command where that fails. What is followed may come later: it needs no input."""
    with ProgressLine(quiet=feed.quiet) as progress, ends_on_error("interrupted"):
        program = load_program(file, feed)
        files = parse_given(program, "--changes", _named(program, feed.changes))
        folders = parse_given(program, "--watch", _named(program, watch))
        _require(files, folders)
        optional = [*(feed.optional or ()), *(given.relation for given in (*files, *folders))]
        inputs = replace(feed, changes=None, optional=list(dict.fromkeys(optional)))
        session = Session(file, inputs, guard_of(feed.guard, feed.memory), progress, nodes=nodes, whole=whole)
        session.load()
    session.report_bad()
    header = not feed.no_header
    return session.database, [
        *(ChangeFile(each.relation, each.path, header=header, batch=feed.batch) for each in files),
        *(Folder(each.relation, each.path, header=header) for each in folders),
        *([WallClock()] if feed.now is None and follows_wall(program.checked) else []),
    ]


def _named(program: CompiledProgram, texts: list[str] | None) -> list[str]:
    """Where the program has one base relation, a path alone is for it."""
    bases = [relation.name for relation in program.checked.relations if not relation.derived]
    return [f"{bases[0]}={text}" if "=" not in text and len(bases) == 1 else text for text in texts or ()]


def _require(files: list[Given], folders: list[Given]) -> None:
    for given in files:
        if not Path(given.path).is_file():
            raise typer.BadParameter(f"{given.path} is not a file", param_hint="--changes")
    for given in folders:
        if not Path(given.path).is_dir():
            raise typer.BadParameter(f"{given.path} is not a folder", param_hint="--watch")
