"""`headwater guide`: the label paths of documents, with counts."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from headwater.cli.data.options import Form, TableOrJson
from headwater.cli.screen.display import shown
from headwater.cli.screen.report import counted, ends_on_error


def guide(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents: json, jsonl or parquet.")],
    name: Annotated[str, typer.Option("--name", help="What the documents are called.")] = "Documents",
    form: Form = TableOrJson.TABLE,
) -> None:
    """Show every label path of some documents, with how many objects it leads to, and of which kinds.

    Exit status: 0 if all is well, 2 if a file is unreadable. Documents that cannot be read are set aside and counted.

    Examples:

        headwater guide orders/*.jsonl --name Orders
    """
    from headwater.semistructured.documents import Documents

    with ends_on_error("interrupted"):
        docs = Documents.from_files(files, name=name, strict=False)
        paths = docs.guide()
    for path in paths:
        if form is TableOrJson.JSON:
            typer.echo(json.dumps({"path": list(path.labels), "count": path.count, "kinds": path.kinds}))
        else:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(path.kinds.items()))
            typer.echo(f"{'  ' * (len(path.labels) - 1)}{shown(path.labels[-1])}  {kinds}")
    if docs.rejected:
        for bad in docs.rejected:
            typer.echo(f"  {bad}", err=True)
        typer.echo(f"warning[HW820]: {counted(len(docs.rejected), 'document')} set aside", err=True)
