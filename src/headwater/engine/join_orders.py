"""When the join orders of a stratum no longer fit the data, and what they are then.

Orders are chosen from statistics of the tables that rules read: before a stratum runs, so that even the first load is
joined well, and between rounds. They are chosen anew when a table has ten times as many rows as it had then, or a
tenth. Small tables are not looked at: there the structural order is good enough, and choosing would cost more than it
saves. A table of the stratum itself that is still small will grow: its rules wait.

What is chosen follows from the rows alone, so that a replay chooses the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from headwater.core.types import Type
from headwater.engine.codes.symbols import find_code
from headwater.engine.rules.context import Context
from headwater.engine.store.measuring import measure
from headwater.language.syntax import Atom, Wildcard
from headwater.plan.join_order import Costs
from headwater.plan.model import FlatRule, Literal
from headwater.plan.reorder import by_cost, has_choice, in_structural_order

_FEW = 1000
_OFF = 10


class JoinOrders:
    """The rules of a stratum that are joined in an order of our choice, and the sizes it was chosen for."""

    def __init__(self, rules: Collection[FlatRule], inside: Collection[str], context: Context) -> None:
        self._rules = {rule.id: rule for rule in rules if has_choice(rule)}
        self._inside = inside
        self._context = context
        read = dict.fromkeys(table for rule in self._rules.values() for table in rule.atoms)
        self.planned: dict[str, int] = {}  # rows of each table when the orders were chosen
        self._watched = [(context.stores[name], name) for name in read]
        self._bounds: list[tuple[int, int]] = []
        self.note(dict.fromkeys(read, 0))

    def note(self, planned: Mapping[str, int]) -> None:
        """The orders are those for tables of these sizes; raises KeyError if one is not read."""
        self.planned = {name: planned[name] for _, name in self._watched}
        self._bounds = [(size // _OFF if size > _FEW else -1, max(_FEW, _OFF * size)) for size in self.planned.values()]

    def due(self) -> bool:
        """Whether a table has outgrown what the orders were chosen for."""
        for (store, _), (low, high) in zip(self._watched, self._bounds, strict=True):
            if not low <= store.size <= high:
                return True
        return False

    def choose(self, rules: Iterable[FlatRule]) -> Iterator[FlatRule]:
        """Of these rules, as they are joined now, those that are joined in other orders from now on."""
        self.note({name: store.size for store, name in self._watched})
        costs = self._costs()
        tables = {name: store.table for name, store in self._context.stores.items()}
        for rule in rules:
            if rule.id not in self._rules:
                continue
            grows = any(name in self._inside and self.planned[name] <= _FEW for name in rule.atoms)
            large = any(self.planned[name] > _FEW for name in rule.atoms)
            anew = by_cost(rule, tables, costs) if large and not grows else in_structural_order(rule, tables)
            if anew != rule:
                yield anew

    def restore(self, planned: Mapping[str, int]) -> None:
        """The orders were chosen for these sizes; raises ValueError if they cannot be, KeyError if one is missing."""
        if len(planned) != len(self.planned) or not all(type(size) is int and size >= 0 for size in planned.values()):
            raise ValueError("join orders are chosen for the sizes of all tables that are joined")
        self.note(planned)

    def _costs(self) -> Costs:
        asked: dict[str, set[int]] = {name: set() for name in self.planned}
        heads: dict[str, set[int]] = {}
        keys: Mapping[str, frozenset[int]] = {}
        for rule in self._rules.values():
            keys = rule.keys
            heads.setdefault(rule.table, set()).update(range(len(rule.head)))
            for atom in (goal for goal in rule.body if isinstance(goal, Atom)):
                asked[atom.relation].update(at for at, arg in enumerate(atom.args) if not isinstance(arg, Wildcard))
        stores, symbols = self._context.stores, self._context.symbols
        for name in heads:
            asked.setdefault(name, set())
        measured = {
            name: measure(stores[name], sorted(columns | heads.get(name, set()))) for name, columns in asked.items()
        }
        types = {name: stores[name].table.types for name in asked}

        def code_of(constant: Literal, kind: Type) -> int:
            return find_code(constant.value, kind, symbols)

        return Costs(measured, code_of, types, keys)
