"""Which variables of a view an update can touch: RelevantOids and RelevantVars of 001 (section 3.2, Figures 4 and 5).

`relevant_variables` never leaves out a variable that the update matters to; so an update without relevant variables
needs no work on the view. It holds for every view, also outside the paper's subset.

What is known about the store decides how sharp the test is. RelevantOids has the objects bound to each variable, as in
the paper; `relevant_oids` gives rules that maintain it. `StoreLabels` knows only which labels lead to an object, which
a store can tell at once. Without either, labels and constants alone decide.

Departures from Figure 5. It tests a changed value for equality with a constant; here each comparison is evaluated with
the old and the new value, as the text of section 3.2 says. It knows only comparisons with constants; a variable that is
compared with another, ordered by or aggregated is relevant to every change of its value. Our RelevantOids leaves
conditions out, so it does not depend on the order in which they are evaluated, and has a few more objects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from headwater.language.lorel import tree
from headwater.language.syntax import Atom, Rule, Wildcard
from headwater.semistructured.schema import NAME
from headwater.semistructured.views.comparisons import constants_compare, time_of
from headwater.semistructured.views.updates.places import PathPlace, ViewPlaces, view_places
from headwater.semistructured.views.walk import PathRules
from headwater.semistructured.views.writer import RuleWriter, integer, text


class StoreLabels(Protocol):
    """What a store knows about the edges that lead to an object."""

    def labels_to(self, oid: int) -> Collection[str]:
        """The labels of the edges that end at an object."""
        ...

    def names_of(self, oid: int) -> Collection[str]:
        """The names of which it is the entry point."""
        ...


RelevantOids: TypeAlias = Mapping[str, Collection[int]]
"""Each variable and each name of a statement, with the objects that were bound to it."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """`variables`: where the update can change which objects and edges are in the view. `shown`: variables of objects
    in the view whose value the update may change; their delegates take the new value (001, section 3.4)."""

    variables: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.variables or self.shown)


def relevant_variables(
    view: tree.ViewDefinition, update: tree.ElementaryUpdate, store: StoreLabels | RelevantOids | None = None
) -> Relevance:
    """The variables of a view that an update may matter to. The store is as it was before the update."""
    return ViewRelevance(view).of(update, store)


class ViewRelevance:
    """A view made ready for many questions: what does this update mean to it?"""

    def __init__(self, view: tree.ViewDefinition) -> None:
        self._places = [view_places(part.query) for part in view.parts]

    def of(self, update: tree.ElementaryUpdate, store: StoreLabels | RelevantOids | None = None) -> Relevance:
        """The variables that it may matter to. The store is as it was before the update."""
        found = [_of_statement(places, update, store) for places in self._places]
        return Relevance(
            frozenset(name for each in found for name in each.variables),
            frozenset(name for each in found for name in each.shown),
        )


def _of_statement(
    places: ViewPlaces, update: tree.ElementaryUpdate, store: StoreLabels | RelevantOids | None
) -> Relevance:
    test = BindingTest(places, store)
    match update:
        case tree.InsertEdge(parent, label) | tree.DeleteEdge(parent, label):
            hit = {place.parent for place in places.places if place.matches(label)}
            return Relevance(frozenset(name for name in hit if test.may_bind(name, parent)))
        case tree.ChangeValue(oid, old, new):
            changed = {name for name, op, constant in places.tests if _differ(op, old, new, constant)}
            bound = {name for name in changed | places.valued | places.shown if test.may_bind(name, oid)}
            return Relevance(frozenset((changed | places.valued) & bound), frozenset(places.shown & bound))


def _differ(op: str, old: tree.AtomicValue, new: tree.AtomicValue, constant: tree.AtomicValue) -> bool:
    """Figure 5 asks this of equality alone. A text may be that of a time, which compares as one."""
    if any(isinstance(each, str) and time_of(each) is not None for each in (old, new)) and isinstance(constant, str):
        return True
    return constants_compare(op, old, constant) != constants_compare(op, new, constant)


class BindingTest:
    """Whether an object may stand at a position."""

    def __init__(self, places: ViewPlaces, store: StoreLabels | RelevantOids | None) -> None:
        self._places = places
        self._store = store
        self._before: dict[str, list[str]] = {}
        for first, second in places.same:
            self._before.setdefault(second, []).append(first)

    def may_bind(self, position: str, oid: int) -> bool:
        if self._store is None:
            return True
        if isinstance(self._store, Mapping):
            return position not in self._store or oid in self._store[position]
        return self._is_led_to(self._store, position, oid)

    def _is_led_to(self, store: StoreLabels, position: str, oid: int) -> bool:
        """By an edge of a place, or because it stands at a position from which nothing needs to be walked."""
        labels = store.labels_to(oid)
        todo, seen = [position], {position}
        while todo:
            here = todo.pop()
            if here == f"&{oid}" or (here in self._places.names and here in store.names_of(oid)):
                return True
            if any(place.child == here and place.matches(label) for place in self._places.places for label in labels):
                return True
            new = [each for each in self._before.get(here, ()) if each not in seen]
            seen.update(new)
            todo += new
        return False


def relevant_oids(view: tree.ViewDefinition) -> tuple[tuple[Rule, ...], tuple[Mapping[str, str], ...]]:
    """Rules that maintain RelevantOids, and for each statement the relation of each of its variables and names."""
    writer = RuleWriter(f"{view.name} relevant")
    walker = PathRules(writer)
    found = tuple(_touched(writer, walker, view_places(part.query)) for part in view.parts)
    return tuple(writer.rules), found


def _touched(writer: RuleWriter, walker: PathRules, places: ViewPlaces) -> Mapping[str, str]:
    relations = {position: writer.relation("touched") for position in places.positions}
    for position, relation in relations.items():
        item = writer.variable("Item")
        if position in places.names:
            writer.rule(relation, (item,), [(Atom(NAME, (text(position), item)),)])
        elif position.startswith("&"):
            writer.rule(relation, (integer(int(position[1:])),), [()])
    for place in places.places:
        parent, child = writer.variable("Parent"), writer.variable("Child")
        body = (Atom(relations[place.parent], (parent,)), *walker.edge(parent, _step(place), child, Wildcard()))
        writer.rule(relations[place.child], (child,), [body])
    for first, second in places.same:
        item = writer.variable("Item")
        writer.rule(relations[second], (item,), [(Atom(relations[first], (item,)),)])
    return relations


def _step(place: PathPlace) -> tree.ByLabel | tree.ByPattern:
    return tree.ByPattern(place.label) if place.is_pattern else tree.ByLabel(place.label)
