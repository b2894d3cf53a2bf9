"""Draws docs/routes.svg: the fastest routes out of Lisbon before and after a cable fails, as Headwater works them out.

`python docs/routes_picture.py` writes the picture; a test holds it against the examples.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import headwater

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
PICTURE = HERE / "routes.svg"
FAILED = ("madrid", "paris", 12)
SOURCE = "lisbon"
PANEL, HEIGHT = 480, 400
INK, PALE, GOOD, CHANGED, DEAD = "#24313f", "#b9c4ce", "#2f6f9f", "#d9730d", "#c0392b"

PLACES = {
    "lisbon": (42, 318),
    "madrid": (128, 286),
    "barcelona": (222, 296),
    "milan": (326, 232),
    "paris": (208, 160),
    "london": (150, 96),
    "amsterdam": (262, 82),
    "frankfurt": (318, 148),
    "berlin": (402, 92),
    "vienna": (428, 192),
}

# Where a name stands beside its dot, clear of the cables: right, down, and which end of it is there.
ABOVE = (0, -26, "middle")
BELOW = (0, 24, "middle")
LABELS = {
    "lisbon": BELOW,
    "madrid": BELOW,
    "barcelona": BELOW,
    "milan": (4, 24, "start"),
    "paris": (-14, -2, "end"),
    "frankfurt": (-10, 28, "end"),
    "vienna": BELOW,
}

Cable = tuple[str, str, int]
Routes = dict[str, tuple[tuple[str, ...], int]]


def picture() -> str:
    with (EXAMPLES / "network" / "links.csv").open() as file:
        cables = [(row["a"], row["b"], int(row["ms"])) for row in csv.DictReader(file)]
    db = headwater.Database(headwater.compile_file(EXAMPLES / "routes.dl"))
    db.apply(insert={"link": cables})
    before = routes(db)
    changes = db.apply(delete={"link": [FAILED]})["fastest"]
    after = routes(db)
    changed = [row["To"] for row in changes.inserted.to_pylist() if row["From"] == SOURCE]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * PANEL} {HEIGHT}" '
        f'font-family="Helvetica, Arial, sans-serif" fill="{INK}">',
        f'<rect width="{2 * PANEL}" height="{HEIGHT}" fill="#ffffff"/>',
        *panel(0, "Fastest routes from Lisbon", cables, before, before, set()),
        *panel(PANEL, "The cable Madrid–Paris fails", cables, after, before, set(changed)),
        *legend(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def routes(db: headwater.Database) -> Routes:
    return {to: (path, ms) for source, to, path, ms in db.rows("fastest") if source == SOURCE}


def panel(left: int, title: str, cables: list[Cable], now: Routes, before: Routes, changed: set[str]) -> Iterator[str]:
    yield f'<g transform="translate({left} 0)">'
    yield f'<text x="24" y="34" font-size="18" font-weight="bold">{title}</text>'
    used = {hop: to in changed for to in sorted(now, key=lambda to: to in changed) for hop in hops(now[to][0])}
    for a, b, ms in cables:
        dead = bool(changed) and (a, b, ms) == FAILED
        hop = next((one for one in ((a, b), (b, a)) if one in used), None)
        colour = DEAD if dead else PALE if hop is None else CHANGED if used[hop] else GOOD
        yield from cable(a, b, ms, colour, dead, hop is not None)
    for city, (x, y) in PLACES.items():
        yield from node(city, x, y, now, before, city in changed)
    yield "</g>"


def hops(path: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(pairwise(path))


def cable(a: str, b: str, ms: int, colour: str, dead: bool, used: bool) -> Iterator[str]:
    (x1, y1), (x2, y2) = PLACES[a], PLACES[b]
    dashes = ' stroke-dasharray="5 5"' if dead else ""
    width = 4 if used else 2
    yield f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"{dashes}/>'
    x, y = (x1 + x2) // 2, (y1 + y2) // 2
    yield f'<rect x="{x - 10}" y="{y - 8}" width="20" height="16" rx="4" fill="#ffffff"/>'
    text = "✕" if dead else str(ms)
    yield f'<text x="{x}" y="{y + 4}" font-size="11" text-anchor="middle" fill="{DEAD if dead else INK}">{text}</text>'


def node(city: str, x: int, y: int, now: Routes, before: Routes, changed: bool) -> Iterator[str]:
    colour = INK if city == SOURCE else CHANGED if changed else GOOD
    yield f'<circle cx="{x}" cy="{y}" r="7" fill="{colour}" stroke="#ffffff" stroke-width="2"/>'
    right, down, anchor = LABELS.get(city, ABOVE)
    x, y = x + right, y + down
    yield f'<text x="{x}" y="{y}" font-size="13" text-anchor="{anchor}" font-weight="bold">{city.capitalize()}</text>'
    if city != SOURCE:
        told = f"{before[city][1]} → {now[city][1]} ms" if changed else f"{now[city][1]} ms"
        yield f'<text x="{x}" y="{y + 14}" font-size="11" text-anchor="{anchor}" fill="{colour}">{told}</text>'


def legend() -> Iterator[str]:
    told = (
        (GOOD, "a route from Lisbon"),
        (CHANGED, "part of a route that changed"),
        (PALE, "a cable no route from Lisbon needs"),
    )
    for at, (colour, text) in enumerate(told):
        x = 24 + at * 250
        yield f'<line x1="{x}" y1="376" x2="{x + 26}" y2="376" stroke="{colour}" stroke-width="4"/>'
        yield f'<text x="{x + 34}" y="380" font-size="12">{text}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
