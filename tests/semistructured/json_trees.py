"""Random JSON documents and edits of them, and views with what they show computed from the Python values alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

WORDS = st.sampled_from(["a", "b", "pen", "ink", "é", "", "5", "5.0", "-3", "1e2", "tilde~/", "ünï\u0000c", "x" * 40])
LABELS = st.sampled_from(["id", "name", "items", "price", "sku", "sub", "a/b", "~"])
ATOMS = st.one_of(
    WORDS,
    st.integers(-5, 5),
    st.integers(2**53 - 2, 2**53 + 2),
    st.just(10**30),
    st.sampled_from([0.5, -0.0, 1e300, 5.0, 1.25]),
    st.booleans(),
    st.none(),
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(LABELS, inner, max_size=4)),
    max_leaves=12,
)
ITEMS = st.fixed_dictionaries(
    {"sku": WORDS},
    optional={"id": st.integers(0, 3), "price": ATOMS, "sub": VALUES, "tags": st.lists(WORDS, max_size=3)},
)
ORDERS = st.fixed_dictionaries(
    {"items": st.one_of(st.lists(ITEMS, max_size=4), ITEMS)},
    optional={"customer": st.fixed_dictionaries({"name": WORDS}), "note": VALUES, "empty": st.just([])},
)


def numbered(value: Any) -> float | None:
    """What Lorel compares as a number."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, str) and (not value or not set(value) <= set("0123456789+-.eE")):
            return None
        return float(value)
    except ValueError:
        return None


def is_text(value: Any, text: str) -> bool:
    """Whether a value equals a text in Lorel."""
    return isinstance(value, str) and value == text


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def everywhere(value: Any) -> list[Any]:
    """A value and everything inside it but arrays, which are no objects where they are members."""
    found = [value] if not isinstance(value, list) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    for item in inner:
        found += everywhere(item)
    return found


def cheap_items(orders: list[Any]) -> list[Any]:
    """Items with a price below 3, with their sku and tags."""
    found = []
    for order in orders:
        for item in as_list(order["items"]):
            prices = [numbered(price) for price in as_list(item.get("price", [])) if not isinstance(price, dict | list)]
            if any(price is not None and price < 3 for price in prices):
                found.append({name: item[name] for name in ("sku", "tags") if item.get(name, []) != []})
    return found


def pens_anywhere(orders: list[Any]) -> list[Any]:
    """Orders with the text pen anywhere, with their items whole."""
    return [order_shown(order) for order in orders if any(is_text(value, "pen") for value in everywhere(order))]


def order_shown(order: Any) -> Any:
    return {"customer": order["customer"]} if "customer" in order else {}


VIEWS: tuple[tuple[str, Callable[[list[Any]], list[Any]]], ...] = (
    (
        "define view Cheap as Items = select i from Orders.items i where i.price < 3 with i.sku s, i.tags t;",
        cheap_items,
    ),
    (
        'define view Pens as Found = select o from Orders o where exists x in o.#: x = "pen" with o.customer.name n;',
        pens_anywhere,
    ),
)


@st.composite
def edits(draw: st.DrawFn) -> list[tuple[str, int, Any]]:
    """Documents put, replaced by a slightly different one, and removed, by key."""
    keys = st.integers(0, 3)
    steps: list[tuple[str, int, Any]] = []
    held: dict[int, Any] = {}
    for _ in range(draw(st.integers(1, 6))):
        key = draw(keys)
        kind = draw(st.sampled_from(["put", "tweak", "remove"]))
        if kind == "remove" and key in held:
            del held[key]
            steps.append(("remove", key, None))
        elif kind == "tweak" and key in held:
            held[key] = tweaked(draw, held[key])
            steps.append(("put", key, held[key]))
        else:
            held[key] = draw(ORDERS)
            steps.append(("put", key, held[key]))
    return steps


def tweaked(draw: st.DrawFn, order: Any) -> Any:
    """The document with an item moved, dropped, added or changed."""
    order = copy.deepcopy(order)
    items = order["items"]
    if not isinstance(items, list) or not items:
        order["items"] = [draw(ITEMS)]
        return order
    at = draw(st.integers(0, len(items) - 1))
    match draw(st.sampled_from(["move", "drop", "add", "change", "note"])):
        case "move":
            items.insert(0, items.pop(at))
        case "drop":
            items.pop(at)
        case "add":
            items.insert(at, draw(ITEMS))
        case "change":
            items[at]["sku"] = draw(WORDS)
        case _:
            order["note"] = draw(VALUES)
    return order
