"""The options that commands share: where rows come from, and how far a recursion may go."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, TypeAlias

import typer


class TableOrJson(StrEnum):
    """How an answer is printed: for people or for programs."""

    TABLE = "table"
    JSON = "json"


def option(text: str, *flags: str, **more: Any) -> Any:
    """An option without a default that could be shown."""
    return typer.Option(*flags, help=text, show_default=False, **more)


def argument(text: str, metavar: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, show_default=False)


Program: TypeAlias = Annotated[str, argument("The program.", "FILE")]
Atom: TypeAlias = Annotated[
    str | None, argument("The row, as in 'reachable(a, c)'; a variable matches anything.", "ATOM")
]
Form: TypeAlias = Annotated[TableOrJson, typer.Option("--format", help="How to print the answer.")]
Nodes: TypeAlias = Annotated[
    int | None,
    option("Most nodes of a decision diagram for a row's provenance (2,000,000).", "--nodes", min=1, metavar="N"),
]
Checkpoint: TypeAlias = Annotated[
    str | None,
    option("Ask the state of a query on Spark, in the place of FILE and its inputs.", "--checkpoint", metavar="DIR"),
]
Keys: TypeAlias = Annotated[
    list[str] | None,
    option(
        "For documents: the member that they are known by (repeatable). Default: id.", "--key", metavar="NAME=MEMBER"
    ),
]
_Many: TypeAlias = list[str] | None


class UnionAll(StrEnum):
    """What UNION ALL in a recursion of SQL means."""

    BAG = "bag"
    SET = "set"
    REFUSE = "refuse"


AboutUnionAll: TypeAlias = Annotated[
    UnionAll | None,
    option("In SQL, UNION ALL in a recursion: keep equal rows, keep them once, or refuse cycles.", "--union-all"),
]


@dataclass(frozen=True, slots=True)
class Feed:
    """Which rows a program gets, and how they are read: each field is an option of the command line."""

    inputs: Annotated[
        _Many,
        option(
            "Rows of a base relation: csv, tsv, jsonl or parquet (repeatable).",
            "--input",
            "-i",
            metavar="RELATION=FILE",
        ),
    ] = None
    changes: Annotated[
        _Many,
        option(
            "Rows with _change_type, applied in order after the inputs, a file a transaction (repeatable).",
            "--changes",
            "-c",
            metavar="RELATION=FILE",
        ),
    ] = None
    optional: Annotated[
        _Many,
        option(
            "A base relation that may be without rows; every other one needs an --input (repeatable).",
            "--optional",
            metavar="RELATION",
        ),
    ] = None
    queries: Annotated[
        _Many,
        option(
            "Ask this instead of the program's own queries, as in 'reachable(a, Y)' (repeatable).",
            "--query",
            metavar="ATOM",
        ),
    ] = None
    union_all: AboutUnionAll = None
    batch: Annotated[
        int | None, option("Apply N changes a transaction, not a file a transaction.", "--batch", min=1, metavar="N")
    ] = None
    now: Annotated[
        str | None,
        option(
            "The time before the first row comes, for a ttl without a stream (by default this machine's).",
            "--now",
            metavar="TIME",
        ),
    ] = None
    no_header: Annotated[bool, typer.Option("--no-header", help="The csv files have no header line.")] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="A row that does not fit is an error, and nothing is applied.")
    ] = False
    guard: Annotated[
        int | None,
        option(
            "Stop what derives more than N rows in a transaction, or takes more than N rounds (0: never).",
            "--guard",
            min=0,
            metavar="N",
        ),
    ] = None
    memory: Annotated[
        str | None,
        option(
            "Memory that all tables may take, such as 8GB or 50% (0: no bound; by default 50%).",
            "--memory",
            metavar="SIZE",
        ),
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")] = False


def asked_of(checkpoint: str | None, file: str, asked: str | None, feed: Feed, what: str) -> tuple[str, str]:
    """The program's file and what is asked; with a checkpoint there is no file, and what is asked comes first."""
    if checkpoint is None:
        if asked is None:
            raise typer.BadParameter(f"Missing argument: give FILE and {what}, or --checkpoint DIR and {what}.")
        return file, asked
    if asked is not None or feed != Feed(guard=feed.guard, memory=feed.memory, quiet=feed.quiet):
        raise typer.BadParameter(f"A checkpoint has its program and its rows: give --checkpoint DIR and {what} alone.")
    return "", file


def has_views(file: str | None, feed: Feed, keys: list[str] | None, **others: object) -> bool:
    """Whether a file has views over documents. Options of programs do not go with them, nor theirs with programs."""
    of_views = file is not None and file.lower().endswith(".lorel")
    given = {"now": feed.now, "query": feed.queries, "batch": feed.batch, **others}
    if of_views and (wrong := [f"--{name}" for name, value in given.items() if value]):
        raise typer.BadParameter(f"{' and '.join(wrong)} cannot be given for views over documents (.lorel)")
    if keys and not of_views:
        raise typer.BadParameter("--key is for views over documents (.lorel)")
    return of_views


def fed(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of a feed in the place of its parameter `feed`."""
    shared = inspect.signature(Feed, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)
    listed: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        listed += shared.values() if parameter.name == "feed" else [parameter]

    @wraps(command)
    def run(**given: Any) -> None:
        command(feed=Feed(**{field.name: given.pop(field.name) for field in fields(Feed)}), **given)

    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    run.__signature__ = own.replace(parameters=by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in by_name}
    return run
