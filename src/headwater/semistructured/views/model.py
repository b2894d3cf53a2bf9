"""A Lorel view as rules: which relations hold its objects, and how to read them.

Every relation of a view begins with the view's own name, so that views do not meet in one program. What a view
shows:

- `ViewPart.objects(oid)`: the objects that a statement selects, the *primary* objects of 001.
- `ViewProgram.edges(parent, label, child, place)`: the edges that the with clauses import.
- `ViewProgram.adjuncts(oid)`: the objects that these edges lead to. An object can be both primary and adjunct.
- A statement that selects several items, or labelled ones, makes a new object for each binding: `made(id)`, with
  `made_edges(id, label, child, place)` to objects of the store and `made_values(id, label, kind, text, number)`
  for what is computed. An id is a list of ints: the number of the statement, and the objects that the items speak
  of.
- A statement that selects one computed value has `values(id, kind, text, number)`.
- `order` has a relation per item of `order by`: `(oid or id, kind, text, number)`, to sort by when the view is
  read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source
from headwater.language.datalog.parse import parse
from headwater.language.datalog.printer import print_tree
from headwater.language.lorel.tree import ViewDefinition
from headwater.language.syntax import Atom, Query, Rule, Tree, Variable
from headwater.semistructured.schema import DECLARATIONS


@dataclass(frozen=True, slots=True)
class ViewOrder:
    """One item of `order by`: a relation with a sort key for every object; the best one counts if there are several."""

    relation: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ViewPart:
    """One statement `N = select ...` and its relations; those that the statement has no use for are None."""

    name: str
    objects: str | None = None
    made: str | None = None
    made_edges: str | None = None
    made_values: str | None = None
    values: str | None = None
    order: tuple[ViewOrder, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewProgram:
    """The rules of one view over the relations of a document store."""

    name: str
    parts: tuple[ViewPart, ...]
    edges: str | None
    adjuncts: str | None
    rules: tuple[Rule, ...]
    widths: tuple[tuple[str, int], ...]  # every relation to read, with its number of columns
    definition: ViewDefinition = field(compare=False)
    warnings: tuple[Diagnostic, ...] = ()
    ranges_over: tuple[str, ...] = ()  # the views that its paths begin with

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that the view is read from."""
        return tuple(name for name, _ in self.widths)


def program_tree(views: Iterable[ViewProgram]) -> Tree:
    """One program for several views: declarations of the store, rules, and a query for every relation to read."""
    declarations = parse(Source("<document store>", DECLARATIONS)).statements
    found = tuple(views)
    rules = tuple(rule for view in found for rule in view.rules)
    queries = tuple(
        Query(Atom(relation, tuple(Variable(f"C{place}") for place in range(width))))
        for view in found
        for relation, width in view.widths
    )
    return Tree((*declarations, *rules, *queries))


def program_text(views: Iterable[ViewProgram]) -> str:
    """The same as text."""
    return print_tree(program_tree(views))
