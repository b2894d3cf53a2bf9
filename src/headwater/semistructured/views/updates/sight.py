"""What views can see of a store: an update that none of them can see needs no work at all.

This is RelevantVars of 001 (Figure 5) by labels alone, asked of many updates at once: an edge is seen if a path of a
view has a step with its label, a value if such a step leads to objects whose values a view compares, computes or
shows. What is unseen matches no rule of any view, so no derived row and no witness depends on it. Conditions and the
objects that variables were bound to are not asked: a rule that they keep from firing may still use the row later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from headwater.language.lorel import tree
from headwater.semistructured.views.updates.places import PathPlace, ViewPlaces, view_places


class ViewSight:
    """The labels, names and objects that some views look at."""

    def __init__(self, views: Iterable[tree.ViewDefinition], ranged_over: Collection[str] = ()) -> None:
        """`ranged_over` names the views whose objects other views look at."""
        self._steps: list[PathPlace] = []
        self._to_values: list[PathPlace] = []
        self.names: set[str] = set()
        self.values: set[int] = set()  # objects that are written down in a view
        self.named_values: set[str] = set()  # names of objects whose own values matter
        for view in views:
            for part in view.parts:
                self._add(view_places(part.query), everything=view.name in ranged_over)
        self._by_pattern = any(step.is_pattern for step in self._steps)  # every label is compared with a pattern
        self._edges: dict[str, bool] = {}
        self._values: dict[str, bool] = {}

    def _add(self, places: ViewPlaces, *, everything: bool) -> None:
        self._steps += places.places
        self.names |= places.names
        before: dict[str, list[str]] = {}
        for first, second in places.same:
            before.setdefault(second, []).append(first)
        todo = [*places.valued, *places.shown, *(name for name, _, _ in places.tests)]
        todo += places.positions if everything else ()
        seen = set(todo)
        while todo:
            here = todo.pop()
            new = [each for each in before.get(here, ()) if each not in seen]
            seen.update(new)
            todo += new
        self._to_values += (place for place in places.places if place.child in seen)
        self.named_values |= seen & places.names
        self.values |= {int(position[1:]) for position in seen if position.startswith("&")}

    def sees_edges(self, labels: Iterable[str]) -> bool:
        """Whether an edge with one of these labels may matter."""
        return any(self._sees(self._edges, self._steps, label, self._by_pattern) for label in labels)

    def sees_values(self, labels: Iterable[str]) -> bool:
        """Whether the value of an object may matter that an edge with one of these labels leads to."""
        return any(self._sees(self._values, self._to_values, label) for label in labels)

    @staticmethod
    def _sees(known: dict[str, bool], steps: list[PathPlace], label: str, always: bool = False) -> bool:
        found = known.get(label)
        if found is None:
            found = known[label] = always or any(step.matches(label) for step in steps)
        return found
