"""`headwater why`: why a row is there, or why it is not."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from headwater.cli.data import options


class ProofFormat(StrEnum):
    """How a proof is printed."""

    TREE = "tree"
    JSON = "json"
    DOT = "dot"
    MERMAID = "mermaid"


@options.fed
def why(
    file: options.Program,
    feed: options.Feed,
    atom: options.Atom = None,
    checkpoint: options.Checkpoint = None,
    absent: Annotated[bool, typer.Option("--not", help="Ask why the row is not there.")] = False,
    form: Annotated[ProofFormat, typer.Option("--format", help="How to print the proof.")] = ProofFormat.TREE,
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="Explain at most N rows.")] = 3,
    keys: options.Keys = None,
) -> None:
    """Explain why a row is there, down to base rows; or, if it is not there, where each rule fails.

    Of views over documents (.lorel), ATOM is the id of an object, as `headwater run` prints it.

    Exit status: 0 if the row is there (--not: is not), 1 otherwise, 2 if the command could not run.

    Examples:

        headwater why paths.dl --input link=links.csv 'reachable(a, c)'

        headwater why paths.dl --input link=links.csv 'route("New York", To, Path, Cost)' --format mermaid

        headwater why paths.dl --input link=links.csv --not 'reachable(c, a)'

        headwater why --checkpoint state 'reachable(a, c)'

        headwater why cheap.lorel --input Orders=orders.jsonl "&8'"
    """
    from headwater.cli.questions.answer_why import Explaining

    file, atom = options.asked_of(checkpoint, file, atom, feed, "ATOM")
    explaining = Explaining(form, rows, absent=absent)
    if options.has_views(file, feed, keys):
        explaining.run_documents(file, atom, feed, keys or [])
    else:
        explaining.run(file, atom, feed, checkpoint)
