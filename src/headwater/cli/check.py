"""`headwater check`: does a program make sense?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from headwater.cli.data.options import AboutUnionAll
from headwater.cli.screen.report import counted, exit_status, show
from headwater.core.errors import ProgramError
from headwater.core.render import as_json
from headwater.language.reading import read_program, read_source
from headwater.language.sql.text.recognise import is_sql
from headwater.pipeline import compile_tree
from headwater.program.model import Program
from headwater.program.recursion.strata import strata


class CheckFormat(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Programs to check.", show_default=False)],
    output: Annotated[
        CheckFormat, typer.Option("--format", help="Text for people, JSON for editors.")
    ] = CheckFormat.TEXT,
    spark: Annotated[
        bool, typer.Option("--spark", help="Report what Spark's own WITH RECURSIVE would do with an SQL file.")
    ] = False,
    union_all: AboutUnionAll = None,
) -> None:
    """Parse programs and check names, types, safety, strata, network rules and termination.

    Exit status: 0 if no file has errors, 1 if one has, 2 if one cannot be read. Warnings do not count.

    Examples:

        headwater check paths.dl

        headwater check --format json examples/*.dl

        headwater check --spark query.sql
    """
    outcomes = [_outcome(file, union_all) for file in files]
    if output is CheckFormat.JSON:
        typer.echo(json.dumps([_as_json(outcome) for outcome in outcomes], indent=2, ensure_ascii=False))
    else:
        for outcome in outcomes:
            _print(outcome)
            if spark:
                _print_diagnosis(outcome.file)
    raise typer.Exit(max(outcome.status for outcome in outcomes))


@dataclass(frozen=True, slots=True)
class _Outcome:
    file: str
    result: Program | ProgramError

    @property
    def status(self) -> int:
        return exit_status(self.result) if isinstance(self.result, ProgramError) else 0


def _outcome(file: str, union_all: str | None) -> _Outcome:
    try:
        if file.lower().endswith(".lorel"):
            from headwater.semistructured.views import compile_views  # as late as the files that need it

            return _Outcome(file, compile_views(read_source(file)).program.checked)
        return _Outcome(file, compile_tree(read_program(file, union_all=union_all)).checked)
    except ProgramError as error:
        return _Outcome(file, error)


def _print_diagnosis(file: str) -> None:
    from headwater.language.sql.doctor import diagnose  # late: sqlglot takes long to import

    try:
        source = read_source(file)
        findings = diagnose(source) if is_sql(source.text) or file.lower().endswith(".sql") else None
    except ProgramError:
        return  # its mistakes have been printed
    if findings is None:
        typer.echo(f"{file}: Spark reads SQL only")
        return
    for finding in findings:
        typer.echo(finding)
    if not findings:
        typer.echo(f"{file}: Spark: nothing in it is recursive, it runs there as it is")


def _print(outcome: _Outcome) -> None:
    if isinstance(outcome.result, ProgramError):
        show(outcome.result.diagnostics)
        count = len(outcome.result.diagnostics)
        typer.echo(f"{outcome.file}: {counted(count, 'error')}", err=True)
        return
    program = outcome.result
    show(program.warnings)
    counts = [
        counted(len(program.relations), "relation"),
        counted(len(program.rules), "rule"),
        counted(len(strata(program)), "stratum", "strata"),
    ]
    if program.warnings:
        counts.append(counted(len(program.warnings), "warning"))
    typer.echo(f"{outcome.file}: ok ({', '.join(counts)})")


def _as_json(outcome: _Outcome) -> dict[str, Any]:
    if isinstance(outcome.result, ProgramError):
        findings = [as_json(each) for each in outcome.result.diagnostics]
        return {"file": outcome.file, "ok": False, "diagnostics": findings}
    program = outcome.result
    return {
        "file": outcome.file,
        "ok": True,
        "relations": len(program.relations),
        "rules": len(program.rules),
        "strata": len(strata(program)),
        "outputs": list(program.outputs),
        "diagnostics": [as_json(each) for each in program.warnings],
    }
