"""Findings on the terminal: the text a person reads, or JSON for editors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import FileError, HeadwaterError, ProgramError
from headwater.core.render import render

UNREADABLE = "HW113"
INTERRUPTED = 130
"""The exit status of a command that Ctrl-C has ended."""


def show(diagnostics: tuple[Diagnostic, ...]) -> None:
    """Write findings to the error stream."""
    for diagnostic in diagnostics:
        typer.echo(render(diagnostic), err=True)


def is_unreadable(error: ProgramError) -> bool:
    """Whether the file asked for could not be read at all, as against one that is wrong."""
    return any(each.code == UNREADABLE and each.span is None for each in error.diagnostics)


def exit_status(error: ProgramError) -> int:
    return 2 if is_unreadable(error) else 1


def show_error(error: HeadwaterError) -> int:
    """Write any error of ours to the error stream; the exit status that goes with it."""
    if isinstance(error, ProgramError):
        show(error.diagnostics)
        return exit_status(error)
    if isinstance(error, FileError):
        typer.echo(f"error[HW802]: {error}", err=True)
        return 2
    show_text(str(error))
    return 1


@contextmanager
def ends_on_error(interrupted: str) -> Iterator[None]:
    """An error of ours, or Ctrl-C, inside ends the command with the status that goes with it."""
    try:
        yield
    except HeadwaterError as error:
        raise typer.Exit(show_error(error)) from None
    except KeyboardInterrupt:
        typer.echo(interrupted, err=True)
        raise typer.Exit(INTERRUPTED) from None


def show_text(text: str) -> None:
    """Write the text of an error to the error stream."""
    typer.echo(text if text.startswith("error[") else f"error: {text}", err=True)


def counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
