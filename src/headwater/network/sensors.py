"""A field of sensors on a grid, some of them triggered: the second workload of 000, section 7.1.

By default 100 m by 100 m with a sensor every 10 m, and 5 regions that each start at one sensor. The sensors that
regions start from are triggered, and so is half of the others, chosen at random.

Guarantees: the same field for the same parameters and seed; no two regions start at the same sensor.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TypeAlias

Position: TypeAlias = tuple[int, int]
MOST_SENSORS = 1_000_000
MOST_PAIRS = 10_000_000


@dataclass(frozen=True, slots=True)
class Grid:
    """The shape of a field, in metres."""

    side: int = 100
    spacing: int = 10
    regions: int = 5
    triggered: float = 0.5  # the share of sensors that are triggered
    seed: int = 0

    def __post_init__(self) -> None:
        if self.spacing < 1 or self.side < self.spacing:
            raise ValueError(f"a field of {self.side} m has no sensor every {self.spacing} m")
        if (self.side // self.spacing) ** 2 > MOST_SENSORS:
            raise ValueError(f"{(self.side // self.spacing) ** 2:,} sensors; at most {MOST_SENSORS:,} will do")
        if not 0 <= self.regions <= (self.side // self.spacing) ** 2:
            raise ValueError(
                f"{self.regions} regions do not start at as many sensors of {self.side} m by {self.side} m"
            )
        if not 0.0 <= self.triggered <= 1.0:
            raise ValueError(f"the share of triggered sensors lies between 0 and 1, not at {self.triggered}")


@dataclass(frozen=True, slots=True)
class Field:
    """Rows of the region query (000, Query 3): `sensor`, `mainSensorInRegion`, `isTriggered`."""

    sensors: list[tuple[str, Position]]
    main: list[tuple[str, str]]  # region, sensor
    triggered: list[tuple[str]]  # in the order in which they are triggered


def field(grid: Grid) -> Field:
    dice = random.Random(grid.seed)
    across = grid.side // grid.spacing
    sensors = [(f"m{x}.{y}", (x * grid.spacing, y * grid.spacing)) for x in range(across) for y in range(across)]
    names = [name for name, _ in sensors]
    main = dice.sample(names, grid.regions)
    taken = set(main)
    others = [name for name in names if name not in taken]
    more = max(0, round(grid.triggered * len(names)) - len(main))
    chosen = dice.sample(others, min(more, len(others)))
    regions = [(f"r{number}", name) for number, name in enumerate(main)]
    return Field(sensors, regions, [(name,) for name in main + chosen])


def neighbours(made: Field, radius: float) -> list[tuple[str, str]]:
    """Pairs of different sensors closer than `radius`: rows of `near`, for programs that do not measure distances."""
    if not radius >= 0:
        raise ValueError(f"a radius is a number of metres, not {radius}")
    columns: dict[int, list[tuple[int, str]]] = {}
    for name, (x, y) in made.sensors:
        columns.setdefault(x, []).append((y, name))
    found: list[tuple[str, str]] = []
    for sensor, (x1, y1) in made.sensors:
        for x2, column in columns.items():
            if abs(x1 - x2) < radius:
                near = ((y2, other) for y2, other in column if abs(y1 - y2) < radius and other != sensor)
                found += [(sensor, other) for y2, other in near if (x1 - x2) ** 2 + (y1 - y2) ** 2 < radius * radius]
        if len(found) > MOST_PAIRS:
            raise ValueError(f"more than {MOST_PAIRS:,} pairs of sensors are closer than {radius:g} m")
    return found
