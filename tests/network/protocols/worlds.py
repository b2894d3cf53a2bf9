"""Random worlds for the protocols: base rows of small networks, and edits of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tests.network.protocols.references import World

CHANNELS = ("news", "music")


def rows_of(dice: random.Random, names: list[str], relation: str) -> tuple[Any, ...]:
    """One random row of a base relation other than `link`."""
    one, other, third = dice.choice(names), dice.choice(names), dice.choice(names)
    match relation:
        case "request" | "pair":
            return one, other
        case "noExport" | "noImport":
            return one, other, third
        case "surcharge":
            return one, other, dice.randint(1, 9)
        case "source" | "listener" | "sender":
            return one, dice.choice(CHANNELS)
        case "core":
            return one, "news"
        case "beat":
            return one, dice.randint(0, 9)
        case "lookup":
            return one, dice.randrange(65536)
    raise AssertionError(relation)


KEYS = {"surcharge": 2, "beat": 1, "core": 0}  # a channel has one core
"""How many first columns of a keyed relation are its key."""


def with_row(rows: set[tuple[Any, ...]], relation: str, row: tuple[Any, ...]) -> set[tuple[Any, ...]]:
    size = KEYS.get(relation, len(row))
    return {each for each in rows if each[:size] != row[:size]} | {row}


def links(dice: random.Random, names: list[str], kinds: list[str], chance: float) -> set[tuple[Any, ...]]:
    """Both directions of each link; `kinds` are the columns behind the two ends."""
    found: set[tuple[Any, ...]] = set()
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            if dice.random() < chance:
                found |= both(dice, one, other, kinds)
    return found


def both(dice: random.Random, one: str, other: str, kinds: list[str]) -> set[tuple[Any, ...]]:
    values = tuple(value(dice, kind) for kind in kinds)
    return {(one, other, *values), (other, one, *values)}


def value(dice: random.Random, kind: str) -> Any:
    match kind:
        case "cost":
            return dice.randint(1, 6)
        case "price":
            return float(dice.randint(1, 6))
        case "latency_ms":
            return dice.choice([5, 20, 40, 60])
        case "mbps":
            return dice.choice([1.0, 2.0, 10.0])
    raise AssertionError(kind)


def edits(
    dice: random.Random, names: list[str], kinds: list[str], others: list[str], count: int
) -> Iterator[tuple[World, World, World]]:
    """A world, then edits of it: what is inserted, what is deleted, and the world afterwards."""
    world: World = {"link": links(dice, names, kinds, 0.4)}
    for relation in others:
        world[relation] = set()
        for _ in range(4):
            world[relation] = with_row(world[relation], relation, rows_of(dice, names, relation))
    yield {name: set(rows) for name, rows in world.items()}, {}, world
    for _ in range(count):
        before = {name: set(rows) for name, rows in world.items()}
        for _ in range(dice.randint(1, 3)):
            _edit(dice, names, kinds, others, world)
        insert = {name: world[name] - before[name] for name in world}
        delete = {name: before[name] - world[name] for name in world}
        yield insert, delete, world


def _edit(dice: random.Random, names: list[str], kinds: list[str], others: list[str], world: World) -> None:
    if others and dice.random() < 0.4:
        relation = dice.choice(others)
        if world[relation] and dice.random() < 0.5:
            world[relation].discard(dice.choice(sorted(world[relation])))
        else:
            world[relation] = with_row(world[relation], relation, rows_of(dice, names, relation))
        return
    one, other = dice.sample(names, 2)
    gone = {row for row in world["link"] if set(row[:2]) == {one, other}}
    world["link"] -= gone
    if not gone or dice.random() < 0.4:
        world["link"] |= both(dice, one, other, kinds)
