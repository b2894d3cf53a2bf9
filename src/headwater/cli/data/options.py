"""The options that commands share: where rows come from, and how far a recursion may go."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any, TypeAlias

import typer


class TableOrJson(StrEnum):
    TABLE = "table"
    JSON = "json"


Program: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="The program.", show_default=False)]
Inputs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="RELATION=FILE",
        help="Rows of a base relation: csv, tsv, jsonl or parquet (repeatable).",
        show_default=False,
    ),
]
ChangeFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--changes",
        "-c",
        metavar="RELATION=FILE",
        help="Rows with _change_type, applied in order after the inputs, a file a transaction (repeatable).",
        show_default=False,
    ),
]
Optional: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--optional",
        metavar="RELATION",
        help="A base relation that may be without rows; every other one needs an --input (repeatable).",
        show_default=False,
    ),
]
Queries: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="ATOM",
        help="Ask this instead of the program's own queries, as in 'reachable(a, Y)' (repeatable).",
        show_default=False,
    ),
]
NoHeader: TypeAlias = Annotated[bool, typer.Option("--no-header", help="The csv files have no header line.")]
Batch: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--batch",
        min=1,
        metavar="N",
        help="Apply N changes a transaction, not a file a transaction.",
        show_default=False,
    ),
]
Strict: TypeAlias = Annotated[
    bool, typer.Option("--strict", help="A row that does not fit is an error, and nothing is applied.")
]
GuardOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--guard",
        min=0,
        metavar="N",
        help="Stop what derives more than N rows in a transaction, or takes more than N rounds (0: never).",
        show_default=False,
    ),
]
Memory: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory that all tables may take, such as 8GB or 50% (0: no bound; by default 50%).",
        show_default=False,
    ),
]
Nodes: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--nodes",
        min=1,
        metavar="N",
        help="Room for a row's provenance: nodes of its decision diagram (2,000,000).",
        show_default=False,
    ),
]
Form: TypeAlias = Annotated[TableOrJson, typer.Option("--format", help="How to print the answer.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]


@dataclass(frozen=True, slots=True)
class Feed:
    """Which rows a program gets, and how they are read."""

    inputs: list[str] | None
    changes: list[str] | None
    optional: list[str] | None
    queries: list[str] | None
    batch: int | None
    header: bool
    strict: bool
    guard: int | None
    memory: str | None
    quiet: bool


def _feed(
    inputs: Inputs = None,
    changes: ChangeFiles = None,
    optional: Optional = None,
    queries: Queries = None,
    batch: Batch = None,
    no_header: NoHeader = False,
    strict: Strict = False,
    guard: GuardOption = None,
    memory: Memory = None,
    quiet: Quiet = False,
) -> Feed:
    return Feed(inputs, changes, optional, queries, batch, not no_header, strict, guard, memory, quiet)


def fed(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options that tell which rows a program gets, in the place of its parameter `feed`."""
    shared = inspect.signature(_feed, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for one in own.parameters.values():
        parameters += shared.values() if one.name == "feed" else [one]

    @wraps(command)
    def run(**given: Any) -> None:
        feed = _feed(**{name: given.pop(name) for name in shared})
        command(feed=feed, **given)

    by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = own.replace(parameters=by_name)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in by_name}
    return run
