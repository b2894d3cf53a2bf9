"""`headwater critical`: the facts that a row cannot do without, or the facts that most rows cannot do without."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.data import options


@options.fed
def critical(
    file: options.Program,
    feed: options.Feed,
    asked: Annotated[
        str | None,
        options.argument(
            "A row, as in 'reachable(a, c)' (a variable matches anything); or a base relation, to rank its facts.",
            "ATOM|RELATION",
        ),
    ] = None,
    checkpoint: options.Checkpoint = None,
    form: options.Form = options.TableOrJson.TABLE,
    rows: Annotated[int, typer.Option("--rows", min=1, metavar="N", help="Show at most N rows or facts.")] = 10,
    sets: Annotated[int, typer.Option("--sets", min=1, metavar="N", help="Show at most N sets of facts per row.")] = 5,
    nodes: options.Nodes = None,
) -> None:
    """Show the base facts that a row cannot do without, alone or together, and those that are enough for it.

    Given the name of a base relation instead, rank its facts by how many rows of the views depend on each alone.

    Exit status: 0; 1 if there is no such row, or the program or the data has errors; 2 if the command could not run.

    Examples:

        headwater critical paths.dl --input link=links.csv 'reachable(a, c)'

        headwater critical paths.dl --input link=links.csv link --rows 5

        headwater critical --checkpoint state 'reachable(a, c)'
    """
    from headwater.cli.questions.answer_whatif import WhatIf

    file, wanted = options.asked_of(checkpoint, file, asked, feed, "ATOM|RELATION")
    wondering = WhatIf(file, feed, nodes, checkpoint)
    wondering.answer(lambda db: wondering.critical(db, wanted, form, rows, sets))
