"""Join orders drawn by dice: whatever the order, rows, changes and proofs must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from headwater.language.syntax import Variable
from headwater.plan.join_order import Choice, Costed, Costs
from headwater.plan.model import FlatRule


def _with_filters(dice: Random, choice: Choice, order: list[int]) -> Iterator[int]:
    """An order with filters by any atoms of which something is known."""
    known, filtered = set(choice.known), set()
    for at, slot in enumerate(order):
        for later in order[at + 1 :]:
            named = {arg.name for arg in choice.atoms[later].args if isinstance(arg, Variable)}
            if choice.draft.filtered and named & known and later not in filtered and dice.random() < 0.5:
                filtered.add(later)
                yield ~later
        yield slot
        known |= {arg.name for arg in choice.atoms[slot].args if isinstance(arg, Variable)}


@contextmanager
def shuffled_orders(seed: int) -> Iterator[None]:
    """Every rule is planned anew whenever a table grows, in any order and from any atom."""
    dice = Random(seed)

    def best(costs: Costs, choice: Choice) -> Costed:
        return Costed(tuple(_with_filters(dice, choice, dice.sample(sorted(choice.atoms), len(choice.atoms)))))

    def start(rule: FlatRule, costs: Costs) -> int | None:
        return dice.choice([None, *range(len(rule.atoms))])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headwater.engine.join_orders._FEW", 0)
        patched.setattr("headwater.engine.join_orders._OFF", 1)
        patched.setattr(Costs, "best", best)
        patched.setattr("headwater.plan.reorder._best_start", start)
        yield
