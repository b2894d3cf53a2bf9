"""The options that commands share: where rows come from, and how far a recursion may go."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

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
        help="Stop a recursion that makes more than N rows, or takes more than N rounds (0: never).",
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
