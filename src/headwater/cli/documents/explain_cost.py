"""`headwater plan view.lorel --explain-cost`: what a view costs to recompute and to maintain, over some documents."""

from __future__ import annotations

import typer

from headwater.cli.data.options import Feed
from headwater.cli.documents.run_documents import programs_of
from headwater.cli.documents.sources import pairs
from headwater.cli.screen.report import ends_on_error
from headwater.semistructured.cost import GuideStatistics, ViewCost, view_cost
from headwater.semistructured.documents import Documents
from headwater.semistructured.store.recomputing import cheaper_from
from headwater.semistructured.views.updates.canonical import NotCanonical, canonical


def explain_cost(file: str, feed: Feed) -> None:
    """Print the costs of every statement of a file."""
    with ends_on_error("interrupted"):
        views = programs_of(file, feed)
        docs = Documents()
        for name, paths in pairs(feed.inputs, "--input"):
            docs.add_files(paths, name=name, strict=feed.strict)
        statistics = GuideStatistics.of(docs.guide())
        rows = sum(docs.database.count(relation) for relation in ("edge", "atom", "name"))
        typer.echo(f"{rows:,} rows: a transaction is followed, and from {cheaper_from(rows):,} changed edges on the")
        typer.echo("views are computed anew")
        for view in views:
            for part in view.definition.parts:
                found = canonical(part.query)
                typer.echo(f"{view.name}.{part.name}")
                if view.ranges_over:
                    others = ", ".join(f"`{name}`" for name in view.ranges_over)
                    typer.echo(f"  the model has no cost for it: it ranges over {others}")
                elif isinstance(found, NotCanonical):
                    typer.echo(f"  the model has no cost for it: {found.reason}")
                else:
                    _show(view_cost(found, statistics))


def _show(cost: ViewCost) -> None:
    typer.echo(f"  recompute: {cost.recompute:,.0f} objects")
    typer.echo("  one update of the edge         by the paper's walk   by Headwater's indexes")
    for update in cost.updates:
        step = f"<{update.step.parent}, {update.step.label}, {update.step.child}>"
        typer.echo(f"    {step:<28} {update.incremental:>20,.0f} {update.engine:>24,.0f}")
    typer.echo(f"  by objects alone, recomputing would be cheaper from about {cost.cheaper_until:,.0f} updates on")
