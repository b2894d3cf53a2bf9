"""`headwater whatif`: what would change without some facts."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.data import options


@options.fed
def whatif(
    file: options.Program,
    feed: options.Feed,
    facts: Annotated[
        list[str] | None,
        options.argument("Base facts to do without, as in 'link(a, b)'; a variable matches anything.", "FACT..."),
    ] = None,
    checkpoint: options.Checkpoint = None,
    form: options.Form = options.TableOrJson.TABLE,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Show at most N rows (0: all).")] = 20,
) -> None:
    """Show how the views would change if some base facts were deleted. Nothing is changed.

    Exit status: 0, also if nothing would change; 1 if the program or the data has errors; 2 if a fact is not there.

    Examples:

        headwater whatif paths.dl --input link=links.csv 'link(a, b)'

        headwater whatif paths.dl --input link=links.csv 'link(b, _)' 'link(_, b)' --format json

        headwater whatif --checkpoint state 'link(a, b)'
    """
    from headwater.cli.questions.answer_whatif import WhatIf

    more = facts or []
    if checkpoint is None:
        file, first = options.asked_of(None, file, more[0] if more else None, feed, "FACT")
    else:
        file, first = options.asked_of(checkpoint, file, None, feed, "FACT")
        more = ["", *more]
    asked = WhatIf(file, feed, checkpoint=checkpoint)
    asked.answer(lambda db: asked.without(db, [first, *more[1:]], form, rows))
