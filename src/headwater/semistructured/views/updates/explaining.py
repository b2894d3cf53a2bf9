"""What an update means to a view, as text: its relevant variables, and the maintenance statements of 001."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from headwater.language.lorel import tree
from headwater.language.lorel.printer import print_update
from headwater.semistructured.views.updates.canonical import NotCanonical, canonical
from headwater.semistructured.views.updates.maintenance import maintenance_statements
from headwater.semistructured.views.updates.relevance import RelevantOids, StoreLabels, relevant_variables


def explain_update(
    view: tree.ViewDefinition,
    update: tree.ElementaryUpdate,
    store: StoreLabels | RelevantOids | None = None,
    primary: Collection[int] | None = None,
    ranges_over: Collection[str] = (),
) -> str:
    """The maintenance statements of a view for one update, with a heading per statement of the view. A view that ranges
    over others has none: 001 has names of the store alone."""
    if ranges_over:
        others = ", ".join(f"`{name}`" for name in ranges_over)
        return (
            f"-- {print_update(update)} and {view.name}\n-- no statements: it ranges over {others}, whose objects and"
            " edges are its data. Its rules are maintained all the same."
        )
    return "\n".join(line for part in view.parts for line in _of_part(view, part, update, store, primary))


def _of_part(
    view: tree.ViewDefinition,
    part: tree.NamedQuery,
    update: tree.ElementaryUpdate,
    store: StoreLabels | RelevantOids | None,
    primary: Collection[int] | None,
) -> Iterator[str]:
    yield f"-- {print_update(update)} and {view.name}.{part.name}"
    relevance = relevant_variables(tree.ViewDefinition(view.name, (part,)), update, store)
    if not relevance.variables:
        yield "-- relevant variables: none, so no object and no edge comes or goes"
    else:
        yield f"-- relevant variables: {', '.join(sorted(relevance.variables))}"
    form = canonical(part.query)
    if isinstance(form, NotCanonical):
        yield f"-- no statements: {form.reason}. Its rules are maintained all the same."
    elif relevance.variables:
        for statement in maintenance_statements(form, update, store, primary):
            yield statement.text
    if relevance.shown:
        yield f"-- install the new value wherever the object is in the view as {' or '.join(sorted(relevance.shown))}"
