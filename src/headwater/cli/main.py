"""The `headwater` command: finds the subcommand and runs it.

Each command is a function in a file of its own, named here. Exit status 0 is success, 1 means the program (or
the data) has errors, 2 that the command could not be carried out as given.
"""

from __future__ import annotations

import typer

from headwater import __version__
from headwater.cli.check import check
from headwater.cli.critical import critical
from headwater.cli.documents.guide import guide
from headwater.cli.generate import generate
from headwater.cli.plan import plan
from headwater.cli.reliability import reliability
from headwater.cli.run import run
from headwater.cli.simulate import simulate
from headwater.cli.whatif import whatif
from headwater.cli.why import why

app = typer.Typer(
    name="headwater",
    help="Keep recursive views correct while the data changes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (check, generate, guide, plan, run, simulate, why, whatif, critical, reliability):
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


def main() -> None:
    app()
