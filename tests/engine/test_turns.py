"""Sums that rest on sums are worked out from below: each once, however many ways lead to it."""

from __future__ import annotations

import random

import pytest

import headwater as hw

TOTALS = """
relation price(part: int, cost: int).
relation uses(part: int, other: int, number: int).
total(P, sum<C>) :- price(P, C).
total(P, sum<C>) :- uses(P, O, N), total(O, T), C = N * T.
"""


LADDERS, STEPS = 300, 12


def ladders() -> dict[str, list[tuple[int, ...]]]:
    """Every part is made of the two below it on its ladder, so that ways of all lengths lead up."""
    parts = range(LADDERS * STEPS)
    uses = [(part, part - down, 1) for part in parts for down in (1, 2) if part % STEPS >= down]
    return {"price": [(part, 1) for part in parts], "uses": uses}


def costs(price: dict[int, int], uses: dict[tuple[int, int], int]) -> set[tuple[int, int]]:
    """The same by hand: parts are only made of parts with smaller numbers."""
    found: dict[int, int] = {}
    for part in sorted({*price, *(above for above, _ in uses)}):
        below = [number * found[other] for (above, other), number in uses.items() if above == part and other in found]
        if below or part in price:
            found[part] = price.get(part, 0) + sum(below)
    return set(found.items())


@pytest.mark.parametrize("grown", [False, True])
def test_changes_at_the_bottom_are_added_up_once_per_part(grown: bool) -> None:
    db = hw.Database(hw.compile(TOTALS))
    db.apply(insert=ladders())
    store = db._shard.stores["total"]
    before = store.size
    bottom = range(0, LADDERS * STEPS, STEPS)
    if grown:
        db.apply(insert={"price": [(part, 5) for part in bottom]})
    else:
        db.apply(delete={"price": [(part, 1) for part in bottom]})
    assert store.size - before == LADDERS * (STEPS if grown else STEPS - 1)  # more would have been cleared away
    price = dict.fromkeys(range(STEPS), 1) | {0: 6 if grown else 0}
    uses = {(above, below): 1 for above, below, _ in ladders()["uses"] if above < STEPS}
    one = {row for row in costs(price, uses) if row != (0, 0)}
    assert {row for row in db.rows("total") if row[0] < STEPS} == one
    assert len(db.rows("total")) == LADDERS * len(one)


@pytest.mark.parametrize("seed", range(6))
def test_bills_of_material_stay_right_while_parts_change(seed: int) -> None:
    dice = random.Random(seed)
    price: dict[int, int] = {}
    uses: dict[tuple[int, int], int] = {}
    db = hw.Database(hw.compile(TOTALS))
    for _ in range(40):
        insert: dict[str, list[tuple[int, ...]]] = {"price": [], "uses": []}
        delete: dict[str, list[tuple[int, ...]]] = {"price": [], "uses": []}
        for _ in range(dice.randint(1, 6)):
            part = dice.randrange(12)
            if dice.random() < 0.4:
                if part in price:
                    delete["price"].append((part, price.pop(part)))
                else:
                    price[part] = dice.randint(1, 9)
                    insert["price"].append((part, price[part]))
            elif part:
                pair = part, dice.randrange(part)
                if pair in uses:
                    delete["uses"].append((*pair, uses.pop(pair)))
                else:
                    uses[pair] = dice.randint(1, 3)
                    insert["uses"].append((*pair, uses[pair]))
        for name in ("price", "uses"):  # a row that came and went again in this step
            both = set(insert[name]) & set(delete[name])
            insert[name] = [row for row in insert[name] if row not in both or row in _there(name, price, uses)]
            delete[name] = [row for row in delete[name] if row not in both]
        db.apply(insert=insert, delete=delete)
        assert db.rows("total") == costs(price, uses)


def _there(name: str, price: dict[int, int], uses: dict[tuple[int, int], int]) -> set[tuple[int, ...]]:
    return set(price.items()) if name == "price" else {(*pair, number) for pair, number in uses.items()}
