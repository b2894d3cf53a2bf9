"""The cost model of 001, section 4: objects fetched to recompute a view, and to maintain it under one update.

Statistics come from the guide of the store: how many objects a label path leads to, and so the fan-out of a label. A
statement has a cost here if it has a canonical form. Both models count objects:

- `recompute` and `incremental` are the paper's: a walk from the entry point down, which a variable that the update
  binds cuts short (Examples 8 and 9).
- `engine` is what Headwater does: from the changed edge upwards through an index, one object a step where objects have
  one parent, and downwards by the fan-outs of the other paths.

As in the paper, a change of a value is weighed with the chance that it matters, a(1 - a) twice, if a share `a` of the
objects meets the where clause.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.semistructured.guide import GuidePath, Path
from headwater.semistructured.views.updates.canonical import CanonicalView, OneStepPath


@dataclass(frozen=True, slots=True)
class GuideStatistics:
    """How many objects each label path of a store leads to."""

    counts: Mapping[Path, int]

    @classmethod
    def of(cls, guide: Iterable[GuidePath]) -> GuideStatistics:
        return cls({path.labels: path.count for path in guide})

    def fanout(self, path: Path, label: str) -> float:
        """Children with a label per object of a path, on average."""
        above = self.counts.get(path, 0)
        return self.counts.get((*path, label), 0) / above if above else 0.0


@dataclass(frozen=True, slots=True)
class UpdateCost:
    """Objects fetched to follow an insert or delete of an edge that a one-step path of the view describes."""

    step: OneStepPath
    incremental: float
    engine: float


@dataclass(frozen=True, slots=True)
class ViewCost:
    """The costs of one statement."""

    recompute: float
    updates: tuple[UpdateCost, ...]
    selectivity: float

    def change(self, step: OneStepPath) -> float:
        """A change of a value at the end of a step, on average: the chance that it matters, both ways."""
        found = next(update for update in self.updates if update.step == step)
        return 2 * self.selectivity * (1 - self.selectivity) * found.incremental

    @property
    def cheaper_until(self) -> float:
        """How many updates of the dearest kind cost as much as to recompute."""
        worst = max((update.engine for update in self.updates), default=1.0)
        return self.recompute / max(worst, 1.0)


def view_cost(view: CanonicalView, statistics: GuideStatistics, selectivity: float = 0.5) -> ViewCost:
    """What a statement costs over a store; a share `selectivity` of the objects meets the where clause."""
    model = _Model(view, statistics)
    steps = (*view.primary_paths, *view.with_paths)
    updates = tuple(
        UpdateCost(step, model.walk({step.parent, step.child}, selectivity), model.from_edge(step, selectivity))
        for step in steps
    )
    return ViewCost(model.walk(set(), 1.0), updates, selectivity)


class _Model:
    def __init__(self, view: CanonicalView, statistics: GuideStatistics) -> None:
        self._view, self._statistics = view, statistics
        self._paths: dict[str, Path] = {name: (name,) for name in view.names}
        self._paths |= {variable: (name,) for name, variable in view.aliases}
        for step in (*view.primary_paths, *view.with_paths):
            self._paths[step.child] = (*self._paths.get(step.parent, (step.parent,)), step.label)
        self._starts = {*view.names, *(variable for _, variable in view.aliases)}

    def _fanout(self, step: OneStepPath) -> float:
        return self._statistics.fanout(self._paths[step.parent], step.label)

    def walk(self, bound: set[str], selectivity: float) -> float:
        """Top down from the entry points; each bound variable is one object (Examples 8 and 9)."""
        sizes: dict[str, float] = {start: self._statistics.counts.get(self._paths[start], 0) for start in self._starts}
        cost = float(sum(sizes[variable] for _, variable in self._view.aliases))
        for step in self._view.primary_paths:
            found = sizes.get(step.parent, 1.0) * self._fanout(step)
            if step.child in bound:
                found = min(found, 1.0)
            sizes[step.child] = found
            cost += found
        if bound:
            sizes[self._view.selected] = sizes.get(self._view.selected, 1.0) * selectivity
        for step in self._view.with_paths:
            found = sizes.get(step.parent, 1.0) * self._fanout(step)
            sizes[step.child] = found
            cost += found
        return cost

    def from_edge(self, step: OneStepPath, selectivity: float) -> float:
        """From an edge up to its entry point, and down every path that begins at an object on the way."""
        steps = (*self._view.primary_paths, *self._view.with_paths)
        above = {one.child: one for one in steps}
        sizes: dict[str, float] = {step.child: 1.0}
        at: str | None = step.parent
        while at is not None:
            sizes[at] = 1.0
            at = above[at].parent if at in above else None
        cost = float(len(sizes))
        for one in steps:
            if one.child not in sizes and one.parent in sizes:
                sizes[one.child] = sizes[one.parent] * self._fanout(one)
                cost += sizes[one.child] * (selectivity if one in self._view.with_paths else 1.0)
        return cost
