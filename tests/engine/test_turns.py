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


def ladder(length: int) -> dict[str, list[tuple[int, ...]]]:
    """Every part is made of the two below it, so that ways of all lengths lead up."""
    uses = [(part, part - down, 1) for part in range(length) for down in (1, 2) if part >= down]
    return {"price": [(part, 1) for part in range(length)], "uses": uses}


def costs(price: dict[int, int], uses: dict[tuple[int, int], int]) -> set[tuple[int, int]]:
    """The same by hand: parts are only made of parts with smaller numbers."""
    found: dict[int, int] = {}
    for part in sorted({*price, *(above for above, _ in uses)}):
        below = [number * found[other] for (above, other), number in uses.items() if above == part and other in found]
        if below or part in price:
            found[part] = price.get(part, 0) + sum(below)
    return set(found.items())


@pytest.mark.parametrize("change", [{"delete": {"price": [(0, 1)]}}, {"insert": {"price": [(0, 5)]}}], ids=str)
def test_a_change_at_the_bottom_is_added_up_once_per_part(change: dict[str, dict[str, list[tuple[int, ...]]]]) -> None:
    length = 60
    db = hw.Database(hw.compile(TOTALS))
    db.apply(insert=ladder(length))
    store = db._shard.stores["total"]
    before = store.size
    db.apply(**change)
    assert store.size - before <= length
    assert len(db.rows("total")) == length - ("delete" in change)


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
