"""`headwater plan`: what a program becomes, stage by stage."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, TypeAlias

import typer

from headwater.cli.data import options
from headwater.cli.data.source import load_program
from headwater.cli.screen.report import exit_status, show
from headwater.core.errors import ProgramError
from headwater.core.source import Source
from headwater.language.lorel import parse_update
from headwater.language.reading import read_source
from headwater.pipeline import STAGES, CompiledProgram
from headwater.program.nearest import nearest
from headwater.rewrite.rules import ALONE_RULES, LEASE_RULES, OPTIONAL, RULES, TIME_RULES, trace

_STAGES = (*STAGES, "spark")


def _is_stage(stage: str) -> str:
    if stage not in _STAGES:
        raise typer.BadParameter(f"{stage!r} is not one of {', '.join(_STAGES)}")
    return stage


def _are_rewrites(disabled: list[str]) -> list[str]:
    for name in disabled:
        if name not in OPTIONAL:
            guess = nearest(name, OPTIONAL)
            meant = f"did you mean {guess}?" if guess else f"the rewrites are {', '.join(OPTIONAL)}"
            raise typer.BadParameter(f"there is no rewrite {name!r} to leave out; {meant}")
    return disabled


_File: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="The program to show.", show_default=False)]
_Stage: TypeAlias = Annotated[
    str, typer.Option("--stage", help=f"Which stage: {', '.join(_STAGES)}.", callback=_is_stage)
]
_Disable: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--disable", metavar="NAME", help="Switch a rewrite off (repeatable).", show_default=False),
]
_Update: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--update", metavar="UPDATE", help="Show how a view over documents follows this update.", show_default=False
    ),
]
_Analyze: TypeAlias = Annotated[
    bool, typer.Option("--analyze", help="Run the program over its inputs, and show where the time went.")
]
_Costs: TypeAlias = Annotated[
    bool, typer.Option("--explain-cost", help="Show what a view over documents costs to recompute and to maintain.")
]


@options.fed
def plan(
    file: _File,
    feed: options.Feed,
    stage: _Stage = "rewritten",
    show_trace: Annotated[bool, typer.Option("--trace", help="List what each rewrite changed.")] = False,
    disable: _Disable = None,
    update: _Update = None,
    analyze: _Analyze = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --analyze: print JSON.")] = False,
    costs: _Costs = False,
) -> None:
    """Show a program as text at any stage from source to plan, or what running it takes.

    Exit status: 0 if the program has no errors, 1 if it has, 2 if it cannot be read.

    Examples:

        headwater plan paths.dl --stage checked

        headwater plan paths.dl --stage spark

        headwater plan paths.dl --trace --disable aggregate_selection

        headwater plan paths.dl --query 'reachable(a, Y)'

        headwater plan view.lorel --update 'Ins(&10, Ingredient, &15)'

        headwater plan paths.dl --input link=links.csv --analyze

        headwater plan view.lorel --explain-cost --input "Orders=orders/*.jsonl"
    """
    disabled = _are_rewrites(disable or [])
    of_views = file.lower().endswith(".lorel")
    for given, flag in ((update is not None, "--update"), (costs, "--explain-cost")):
        if given and not of_views:
            raise typer.BadParameter(f"{flag} is for views over documents (.lorel)")
    if costs:
        from headwater.cli.documents.explain_cost import explain_cost

        explain_cost(file, feed)
        return
    if analyze:
        _analyse(file, feed, disabled, as_json=as_json)
        return
    if as_json or replace(feed, union_all=None, queries=None) != options.Feed():
        raise typer.BadParameter("rows, and --json, are for --analyze; add it to run the program")
    if of_views and feed.queries:
        raise typer.BadParameter("--query is for rules; a view over documents is shown whole")
    try:
        program = _views_program(file, disabled, update) if of_views else load_program(file, feed, disabled)
    except ProgramError as error:
        show(error.diagnostics)
        raise typer.Exit(exit_status(error)) from None
    show(program.warnings)
    if show_trace:
        _show_steps(program, disabled)
    typer.echo((_on_shards(program) if stage == "spark" else program.explain(stage)).rstrip("\n"))


def _views_program(file: str, disabled: list[str], update: str | None) -> CompiledProgram:
    """The program of the views of a file; with an update, what it means to them is shown instead."""
    from headwater.semistructured.views import compile_views, explain_update  # as late as the commands that need it

    views = compile_views(read_source(file), disabled=disabled)
    if update is None:
        return views.program
    given = parse_update(Source("--update", update))
    show(views.warnings)
    for view in views.views:
        typer.echo(explain_update(view.definition, given, ranges_over=view.ranges_over))
    raise typer.Exit


def _analyse(file: str, feed: options.Feed, disabled: list[str], *, as_json: bool) -> None:
    from headwater.cli.data.fed_database import fed_database  # the engine behind it takes a while to import

    database = fed_database(file, feed, whole=False, profile=True, disabled=disabled)
    profile, text = database.profile(), database.plan()
    if as_json:
        typer.echo(json.dumps({**json.loads(profile.json()), "plan": text}, indent=2))
    else:
        typer.echo(f"{profile}\n\n{text}")


def _on_shards(program: CompiledProgram) -> str:
    from headwater.exchange import choose  # the engine behind it takes a while to import

    try:
        return choose(program, {}, 2).explain()
    except ProgramError as error:
        show(error.diagnostics)
        raise typer.Exit(exit_status(error)) from None


def _show_steps(program: CompiledProgram, disabled: list[str]) -> None:
    """What each rewrite takes away and adds."""
    _, steps = trace(program.checked, disabled=disabled, rules=RULES + TIME_RULES + LEASE_RULES + ALONE_RULES)
    for step in steps:
        typer.echo(f"% {step.rule}")
        _show_lines("-", step.removed)
        _show_lines("+", step.added)
    typer.echo("" if steps else "% no rewrite changed anything\n", nl=bool(steps))


def _show_lines(mark: str, pieces: tuple[str, ...]) -> None:
    """Pieces of the program as comments, so that the whole output stays a program."""
    for piece in pieces:
        for line in piece.rstrip("\n").split("\n"):
            typer.echo(f"% {mark} {line}")
