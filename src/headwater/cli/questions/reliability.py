"""`headwater reliability`: how probable a row is when facts may fail."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.data import options


@options.fed
def reliability(
    file: options.Program,
    chances: Annotated[
        list[str],
        options.option(
            "How probable facts are: 0.9 (all), link=0.9, 'link(a, b)=0.5' (repeatable; others are certain).",
            "--chance",
            metavar="[RELATION|FACT=]P",
        ),
    ],
    feed: options.Feed,
    atom: options.Atom = None,
    checkpoint: options.Checkpoint = None,
    form: options.Form = options.TableOrJson.TABLE,
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="Show at most N rows.")] = 20,
    nodes: options.Nodes = None,
) -> None:
    """Compute how probable a row is if base facts fail independently of each other.

    The answer is exact. If that needs more nodes than --nodes, the answer is a lower and an upper bound.

    Exit status: 0; 1 if there is no such row, or the program or the data has errors; 2 if the command could not run.

    Examples:

        headwater reliability paths.dl --input link=links.csv 'reachable(a, c)' --chance 0.99

        headwater reliability paths.dl --input link=links.csv 'reachable(a, Y)' --chance 'link(a, b)=0.5'

        headwater reliability --checkpoint state 'reachable(a, c)' --chance 0.99
    """
    from headwater.cli.questions.answer_whatif import WhatIf

    file, atom = options.asked_of(checkpoint, file, atom, feed, "ATOM")
    asked = WhatIf(file, feed, nodes, checkpoint)
    asked.answer(lambda db: asked.reliability(db, atom, chances, form, rows))
