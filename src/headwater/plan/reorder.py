"""A rule planned anew, in other join orders, while its rows and witnesses stay.

A witness names rows by the place of their atoms in the rule, and rounds need only that all delta rules of a rule take
turns in one way. So the orders of a rule can change between any two rounds: no stored row depends on them. Tables,
rules and their numbers stay as they are. In a rule of two atoms, arriving rows leave no choice: their loops stay too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headwater.language.syntax import Atom
from headwater.plan.build import flatten
from headwater.plan.drafts import Draft
from headwater.plan.equations import equations_of
from headwater.plan.join_order import Choice, Costed, Costs
from headwater.plan.model import FlatRule, Table

_START = 2.0  # another atom must be so many times cheaper to start from than the last one written


@dataclass(frozen=True, slots=True)
class Orders:
    """The join orders of one rule, one per delta rule, and the atom that starts where all rows come at once."""

    last: int | None
    slots: tuple[tuple[int, ...], ...]

    @property
    def packed(self) -> list[Any]:
        """As JSON."""
        return [self.last, [list(order) for order in self.slots]]

    @classmethod
    def of(cls, last: Any, slots: Any) -> Orders:
        """What `packed` gave; raises ValueError or TypeError if it did not."""
        numbers = [] if last is None else [last]
        numbers += [slot for order in slots for slot in order]
        if not all(type(number) is int for number in numbers):
            raise ValueError("join orders are numbers of atoms")
        return cls(last, tuple(map(tuple, slots)))


def orders_of(rule: FlatRule) -> Orders:
    """The orders that a rule has."""
    return Orders(rule.last, tuple(delta_rule.order for delta_rule in rule.delta_rules))


def has_choice(rule: FlatRule) -> bool:
    """Whether a rule can be joined in several orders."""
    return len(rule.atoms) > 1 and not fixed(rule)


def fixed(rule: FlatRule) -> bool:
    """Whether the program says in which order its atoms are joined."""
    return any(isinstance(goal, Atom) and goal.turn is not None for goal in rule.body)


def by_cost(rule: FlatRule, tables: Mapping[str, Table], costs: Costs) -> FlatRule:
    """The rule in the orders that cost least, as far as the statistics can tell."""
    last = _best_start(rule, costs) if len(rule.atoms) > 2 else None
    return _planned(rule, flatten(rule.id, draft_of(rule), tables, costs.best, last))


def in_structural_order(rule: FlatRule, tables: Mapping[str, Table]) -> FlatRule:
    """The rule as it is planned without statistics."""
    return _planned(rule, flatten(rule.id, draft_of(rule), tables))


def in_orders(rule: FlatRule, tables: Mapping[str, Table], orders: Orders) -> FlatRule:
    """The rule in given orders; raises ValueError if they are not those of such a rule."""
    if orders.last is not None and orders.last not in range(len(rule.atoms)):
        raise ValueError(f"rule {rule.id} has no atom {orders.last!r}")
    if len(orders.slots) != len(rule.delta_rules):
        raise ValueError(f"rule {rule.id} has {len(rule.delta_rules)} delta rules, not {len(orders.slots)}")
    given = iter(orders.slots)

    def choose(choice: Choice) -> Costed:
        order = next(given)
        if sorted(slot for slot in order if slot >= 0) != sorted(choice.atoms) or not _filters_first(order):
            raise ValueError(f"rule {rule.id} cannot be joined in the order {order}")
        return Costed(order)

    made = _planned(rule, flatten(rule.id, draft_of(rule), tables, choose, orders.last))
    return replace(
        made,
        arrive=tuple(replace(each, expected=None) for each in made.arrive),
        forbid=tuple(replace(each, expected=None) for each in made.forbid),
        allow=tuple(replace(each, expected=None) for each in made.allow),
        pulls=tuple(replace(pull, delta_rule=replace(pull.delta_rule, expected=None)) for pull in made.pulls),
    )


def _filters_first(order: Sequence[int]) -> bool:
    """Whether bindings are filtered by each atom at most once, and before it is joined."""
    filters = [~slot for slot in order if slot < 0]
    return len(set(filters)) == len(filters) and all(
        slot in order and order.index(~slot) < order.index(slot) for slot in filters
    )


def draft_of(rule: FlatRule) -> Draft:
    """The draft that a rule was planned from."""
    return Draft(
        rule.origin,
        rule.table,
        rule.head,
        rule.body,
        rule.types,
        rule.nullable,
        weights=rule.weights,
        keys=rule.keys,
        owned=rule.owned,
        mine=rule.mine,
        filtered=rule.filtered,
    )


def _planned(rule: FlatRule, anew: FlatRule) -> FlatRule:
    """A rule planned anew; where arriving rows leave no choice, their delta rules stay, with the loops they have."""
    if len(rule.atoms) > 2:
        return anew
    arrive = tuple(replace(old, expected=new.expected) for old, new in zip(rule.arrive, anew.arrive, strict=True))
    return replace(anew, arrive=arrive, last=rule.last)


def _best_start(rule: FlatRule, costs: Costs) -> int | None:
    """The atom from which all derivations are found at the least cost; None: the last one written."""
    found = list(_totals(rule, costs))
    least = min(found)
    return None if found[-1] <= _START * least else found.index(least)


def _totals(rule: FlatRule, costs: Costs) -> Iterator[float]:
    """For each atom, the cost of starting from all its rows."""
    atoms: Sequence[Atom] = [goal for goal in rule.body if isinstance(goal, Atom)]
    draft = draft_of(rule)
    for slot, delta_rule in enumerate(rule.arrive):
        assert delta_rule.start is not None
        known = {name: (delta_rule.start.table, column) for column, name in delta_rule.start.binds}
        left = {other: atom for other, atom in enumerate(atoms) if other != slot}
        rows = min(costs.statistics[rule.atoms[slot]].rows, costs.matches(atoms[slot], {}))
        yield rows * (1.0 + costs.best(Choice(draft, known, left, tuple(left), equations_of(draft))).cost)
