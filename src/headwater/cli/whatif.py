"""`headwater whatif`: what would change without some facts."""

from __future__ import annotations

from typing import Annotated

import typer

from headwater.cli.data import options


@options.fed
def whatif(
    file: options.Program,
    facts: Annotated[
        list[str],
        options.argument("Base facts to do without, as in 'link(a, b)'; a variable matches anything.", "FACT..."),
    ],
    feed: options.Feed,
    form: options.Form = options.TableOrJson.TABLE,
    rows: Annotated[int, typer.Option("--rows", min=0, metavar="N", help="Show at most N rows (0: all).")] = 20,
) -> None:
    """Show how the views would change if some base facts were deleted. Nothing is changed.

    Exit status: 0, also if nothing would change; 1 if the program or the data has errors; 2 if a fact is not there.

    Examples:

        headwater whatif paths.dl --input link=links.csv 'link(a, b)'

        headwater whatif paths.dl --input link=links.csv 'link(b, _)' 'link(_, b)' --format json
    """
    from headwater.cli.answer_whatif import WhatIf

    asked = WhatIf(file, feed)
    asked.answer(lambda db: asked.without(db, facts, form, rows))
