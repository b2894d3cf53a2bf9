"""What every delta rule of a shard needs besides its own plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.core.types import Type
from headwater.engine.codes.expressions import Expressions
from headwater.engine.codes.symbols import Symbols
from headwater.engine.store.store import Store
from headwater.plan.model import FlatRule

Owns = Callable[[npt.NDArray[np.integer[Any]], Type], npt.NDArray[np.bool_]]  # of values, those that a shard owns


def owns_all(column: npt.NDArray[np.integer[Any]], kind: Type) -> npt.NDArray[np.bool_]:
    return np.ones(column.shape[0], dtype=np.bool_)


class Context:
    """The stores, the symbols, and which values are this shard's own."""

    __slots__ = ("holds_nulls", "owns", "replanned", "replans", "stores", "symbols")

    def __init__(self, stores: dict[str, Store], symbols: Symbols, owns: Owns = owns_all, *, holds_nulls: bool) -> None:
        self.stores = stores
        self.symbols = symbols
        self.owns = owns
        self.holds_nulls = holds_nulls
        self.replanned: dict[int, FlatRule] = {}  # rules that are joined in other orders than they were planned in
        self.replans = 0

    def note_replanned(self, rules: Mapping[int, FlatRule]) -> None:
        """These rules are joined in other orders from now on."""
        self.replanned.update(rules)
        self.replans += 1

    def expressions(self, rule: FlatRule, *, searching: bool = False) -> Expressions:
        """What evaluates the terms of a rule (see `Expressions`)."""
        return Expressions(rule.types, rule.nullable, self.symbols, searching=searching, holds_nulls=self.holds_nulls)
