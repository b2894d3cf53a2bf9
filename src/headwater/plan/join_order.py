"""The order in which a delta rule joins its atoms, by what the data is.

The cost of an order is the number of lookups and of bindings that they give, per starting row. How many rows a lookup
gives follows from how often values occur in the column that is looked up, weighed by how often they occur in the
column that the value was taken from: a hub that is frequent in both counts as often as it will be met, not as an
average. Of several known columns, the most selective counts in full, the next by its square root, and so on, because
columns of one table mostly depend on each other. A rule with few atoms is searched whole (by subsets), a longer one
takes the cheapest atom next.

Before an atom that multiplies bindings is joined, they may be filtered by another one that is joined later: those that
meet no row of it go no further (a semi-join). That is worth a lookup where a variable is known that few rows of the
later atom have, but those few have many rows, so that joining it first would multiply bindings itself.

An order that is hardly cheaper than the structural one is not taken: estimates are not that good. Where a table of the
rule has no statistics, there is nothing to compare, and the structural order (`delta_rules`) stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import goal_names, names
from headwater.plan.drafts import Draft
from headwater.plan.equations import Equations, solved
from headwater.plan.model import Var, literal
from headwater.plan.statistics import CodeOf, ColumnStatistics, Statistics

_SEARCHED = 7  # so many atoms are searched whole
_GAIN = 2.0  # an order must be so many times cheaper than the structural one
_FILTERS_GAIN = 1.25  # with filters it need not be as much: a filter that lets most through is left out soon
_PASSES = 0.5  # of bindings that are tested, so many pass
_SELECTIVE = 0.25  # bindings are filtered only if no more than such a share is expected to pass
Origin: TypeAlias = tuple[str, int] | None  # the table and column that a value was taken from; None: it is computed
Known: TypeAlias = Mapping[str, Origin]


@dataclass(frozen=True, slots=True)
class Choice:
    """What an order is chosen for: the atoms of a rule that are left, and the variables known at the start."""

    draft: Draft
    known: Known
    atoms: Mapping[int, syntax.Atom]  # by slot
    structural: tuple[int, ...]
    equations: Equations


@dataclass(frozen=True, slots=True)
class Costed:
    """An order of atoms (see `DeltaRule.order`) with its cost and the bindings it gives, both per starting row."""

    order: tuple[int, ...]
    cost: float = 0.0
    made: float = 1.0


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a search got."""

    costed: Costed
    known: Known
    passed: Mapping[int, float] = field(default_factory=dict)  # atoms filtered by -> the share that passed


@dataclass(slots=True)
class Costs:
    """The cost of orders by statistics of the tables."""

    statistics: Statistics
    code_of: CodeOf
    types: Mapping[str, tuple[Type, ...]]  # of the tables' columns
    keys: Mapping[str, frozenset[int]] = field(default_factory=dict)  # columns that no two rows of a table agree on

    def best(self, choice: Choice) -> Costed:
        """The cheapest order, or the structural one if that is not much dearer."""
        usual = self._ordered(choice, filtered=False)
        if len(choice.atoms) < 2:
            return usual
        found = self._searched(choice) if len(choice.atoms) <= _SEARCHED else self._greedy(choice)
        if _GAIN * found.cost < usual.cost:
            return found
        filtered = self._ordered(choice, filtered=True)
        return filtered if _FILTERS_GAIN * filtered.cost < usual.cost else usual

    def _ordered(self, choice: Choice, *, filtered: bool) -> Costed:
        """The structural order, with filters or without."""
        reached = self._begun(choice)
        for slot in choice.structural:
            reached = self._joined(choice, self._filtered(choice, reached, slot) if filtered else reached, slot)
        return reached.costed

    def _begun(self, choice: Choice) -> _Reached:
        return _Reached(Costed(()), _computed(choice.draft, choice.known))

    def _searched(self, choice: Choice) -> Costed:
        best: dict[frozenset[int], _Reached] = {frozenset(): self._begun(choice)}
        for _ in choice.atoms:
            longer: dict[frozenset[int], _Reached] = {}
            for taken, reached in best.items():
                for slot in choice.atoms:
                    if slot not in taken:
                        found = self._joined(choice, self._filtered(choice, reached, slot), slot)
                        there = longer.get(taken | {slot})
                        if there is None or found.costed.cost < there.costed.cost:
                            longer[taken | {slot}] = found
            best = longer
        return best[frozenset(choice.atoms)].costed

    def _greedy(self, choice: Choice) -> Costed:
        reached = self._begun(choice)
        for _ in choice.atoms:
            left = [slot for slot in choice.atoms if slot not in reached.costed.order]
            ways = [self._joined(choice, self._filtered(choice, reached, slot), slot) for slot in left]
            reached = min(ways, key=lambda way: (way.costed.made, way.costed.cost))
        return reached.costed

    def _joined(self, choice: Choice, reached: _Reached, slot: int) -> _Reached:
        """One atom more."""
        atom, costed = choice.atoms[slot], reached.costed
        keys = solved(choice.equations, atom, reached.known)
        met = self.matches(atom, {**reached.known, **{key.variable.name: None for key in keys}})
        met /= reached.passed.get(slot, 1.0)
        given = {
            arg.name: (atom.relation, column)
            for column, arg in enumerate(atom.args)
            if isinstance(arg, syntax.Variable) and arg.name not in reached.known
        }
        order = (*costed.order, slot)
        if met > 1.0 and given.keys().isdisjoint(_asked_for(choice, order)):
            met = 1.0  # one row is as good as all
        known = _computed(choice.draft, {**reached.known, **given})
        tested = _newly_tested(choice.draft, reached.known, known) - len(keys)
        made = costed.made * met * _PASSES**tested
        return _Reached(Costed(order, costed.cost + costed.made * (1.0 + met), made), known, reached.passed)

    def _filtered(self, choice: Choice, reached: _Reached, slot: int) -> _Reached:
        """The bindings that are left for an atom to join once they are filtered by those that are worth it."""
        if not choice.draft.filtered or len(choice.atoms) < 2:
            return reached
        met = self.matches(choice.atoms[slot], reached.known)
        for other, atom in choice.atoms.items():
            if other == slot or other in reached.costed.order or other in reached.passed:
                continue
            share = self._passing(atom, reached.known)
            if share <= _SELECTIVE and (1.0 - share) * (1.0 + met) > 1.0:
                costed, passed = reached.costed, {**reached.passed, other: max(share, 1e-9)}
                after = Costed((*costed.order, ~other), costed.cost + costed.made, costed.made * share)
                reached = _Reached(after, reached.known, passed)
        return reached

    def _passing(self, atom: syntax.Atom, known: Known) -> float:
        """Of bindings, the share that meets any row of an atom, by the most selective of its known columns."""
        columns = self.statistics[atom.relation].columns
        shares = [
            self._found(columns[column], known[arg.name])
            for column, arg in enumerate(atom.args)
            if isinstance(arg, syntax.Variable) and arg.name in known and column in columns
        ]
        whole = all(isinstance(arg, syntax.Variable) and arg.name in known for arg in atom.args)
        return 1.0 if whole else min(shares, default=1.0)

    def _found(self, about: ColumnStatistics, origin: Origin) -> float:
        """Of the rows that a value may come from, the share whose value a column has."""
        source = None if origin is None else self.statistics.get(origin[0])
        values = None if source is None or origin is None else source.columns.get(origin[1])
        if source is None or values is None or not source.rows:
            return 1.0
        hit = min(1.0, about.others / max(1.0, values.others))
        spent = sum(values.frequent.values())
        found = sum(count * (1.0 if code in about.frequent else hit) for code, count in values.frequent.items())
        return min(1.0, (found + max(0.0, source.rows - spent) * hit) / source.rows)

    def matches(self, atom: syntax.Atom, known: Known) -> float:
        """Rows of an atom that a binding meets, on average."""
        table = self.statistics[atom.relation]
        if not table.rows:
            return 0.0
        shares: list[float] = []
        columns: set[int] = set()
        seen: set[str] = set()
        for column, arg in enumerate(atom.args):
            about = table.columns.get(column)
            match arg:
                case syntax.Wildcard():
                    continue
                case syntax.Variable(name=name) if name in known:
                    columns.add(column)
                    shares.append(self._share(about, table.rows, known[name]))
                case syntax.Variable(name=name) if name in seen:
                    shares.append(1.0 / max(1.0, about.distinct) if about is not None else _PASSES)
                case syntax.Variable(name=name):
                    seen.add(name)
                case _ if about is not None:
                    columns.add(column)
                    code = self.code_of(literal(arg), self.types[atom.relation][column])
                    shares.append(about.rows_with(code) / table.rows)
        met = float(table.rows)
        for place, share in enumerate(sorted(shares)):
            met *= share ** (0.5**place)
        unique = columns.issuperset(self.keys.get(atom.relation, range(len(atom.args))))
        return min(met, 1.0) if unique else met

    def _share(self, about: ColumnStatistics | None, rows: int, origin: Origin) -> float:
        """Of the rows of a table, those that have a value in a column, for a value that comes from `origin`."""
        if about is None:
            return _PASSES
        source = None if origin is None else self.statistics.get(origin[0])
        values = None if source is None or origin is None else source.columns.get(origin[1])
        if source is None or values is None or not source.rows:
            return 1.0 / max(1.0, about.distinct)
        met = spent = 0.0
        hit = min(1.0, about.others / max(1.0, values.others))
        for code, count in values.frequent.items():
            met += count * (about.frequent[code] if code in about.frequent else about.rest * hit)
            spent += count
        occurs = min(1.0, values.others / max(1.0, about.distinct))
        for code, count in about.frequent.items():
            if code not in values.frequent:
                met += values.rest * occurs * count
        met += max(0.0, source.rows - spent) * about.rest * hit
        return min(1.0, met / source.rows / rows)


def _asked_for(choice: Choice, order: tuple[int, ...]) -> set[str]:
    """The variables that something asks for once these atoms are joined."""
    asked = {source.name for source in choice.draft.head if isinstance(source, Var)}
    for goal in choice.draft.body:
        if not isinstance(goal, syntax.Atom):
            asked |= goal_names(goal)
    for slot, atom in choice.atoms.items():
        if slot not in order:
            asked |= {arg.name for arg in atom.args if isinstance(arg, syntax.Variable)}
    return asked


def _computed(draft: Draft, known: Known) -> Known:
    """The same with the variables that can be computed from them."""
    found = dict(known)
    assigned = [goal for goal in draft.body if isinstance(goal, syntax.Assign)]
    progress = bool(assigned)
    while progress:
        progress = False
        for goal in assigned:
            if goal.variable.name not in found and names(goal.term) <= found.keys():
                found[goal.variable.name] = None
                progress = True
    return found


def _newly_tested(draft: Draft, before: Known, after: Known) -> int:
    """How many tests can be made that could not be made before."""
    tests = [goal_names(goal) for goal in draft.body if isinstance(goal, syntax.Comparison | syntax.Condition)]
    return sum(asked <= after.keys() and not asked <= before.keys() for asked in tests)
