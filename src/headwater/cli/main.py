"""The `headwater` command: finds the subcommand and runs it.

Each command is a function in a file of its own, named here. Exit status 0 is success, 1 means the program (or
the data) has errors, 2 that the command could not be carried out as given.
"""

from __future__ import annotations

import warnings
from typing import Any

import typer

from headwater import __version__
from headwater.cli.check import check
from headwater.cli.documents.guide import guide
from headwater.cli.generate import generate
from headwater.cli.live.tail import tail
from headwater.cli.plan import plan
from headwater.cli.questions.critical import critical
from headwater.cli.questions.reliability import reliability
from headwater.cli.questions.whatif import whatif
from headwater.cli.questions.why import why
from headwater.cli.run import run
from headwater.cli.serve import serve
from headwater.cli.simulate import simulate
from headwater.core.errors import NearMissWarning, UnionAllWarning

app = typer.Typer(
    name="headwater",
    help="Keep recursive views correct while the data changes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (check, generate, guide, plan, run, serve, simulate, tail, why, whatif, critical, reliability):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
    ),
) -> None:
    """Keep recursive views correct while the data changes."""
    warnings.showwarning = _show_warning


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a warning about the data as diagnostics are printed, without the line of Headwater that raised it."""
    ours = issubclass(category, NearMissWarning | UnionAllWarning)
    typer.echo(str(message) if ours else f"{category.__name__}: {message}", err=True)


def main() -> None:
    app()
