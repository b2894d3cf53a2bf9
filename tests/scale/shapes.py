"""The programs and the data that are run at size: what people close over, with thousands of rows and more.

A shape is a program and a function of dice and a size that makes its base rows; `size` 1 gives views of some ten
thousand rows or more, a tenth of it about as many as it takes for tables to grow and indexes to be sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from tests.oracle.program import Row

Base = dict[str, list[Row]]
SPARSE = 982_451_653  # a prime: so far apart that no table is addressed directly


@dataclass(frozen=True, slots=True)
class Shape:
    text: str
    base: Callable[[Random, float], Base]


def pairs(dice: Random, nodes: int, count: int, spread: int = 1) -> list[Row]:
    return [(dice.randrange(nodes) * spread, dice.randrange(nodes) * spread) for _ in range(count)]


def chains(dice: Random, count: int, length: int, spread: int = 1) -> list[Row]:
    """Disjoint chains: many rows in their closure, and not many more ways to derive them."""
    names = dice.sample(range(count * (length + 1)), count * (length + 1))
    starts = range(0, len(names), length + 1)
    return [(names[at + step] * spread, names[at + step + 1] * spread) for at in starts for step in range(length)]


def tree(dice: Random, nodes: int, near: int) -> list[Row]:
    """(child, parent), each parent among the last `near` before its child."""
    return [(node, dice.randrange(max(0, node - near), node)) for node in range(1, nodes)]


def _closure_2(dice: Random, size: float) -> Base:
    return {"e": pairs(dice, int(250 * size**0.5), int(330 * size**0.5))}


def _closure_2_chains(dice: Random, size: float) -> Base:
    return {"e": chains(dice, int(500 * size), 30)}


def _closure_2_sparse(dice: Random, size: float) -> Base:
    near = pairs(dice, int(150 * size**0.5), int(195 * size**0.5), SPARSE)
    return {"e": chains(dice, int(90 * size), 20, SPARSE) + [(-x, -y) for x, y in near]}


def _closure_2_names(dice: Random, size: float) -> Base:
    return {"e": [(f"n{x}", f"n{y}") for x, y in _closure_2(dice, size)["e"] + chains(dice, int(60 * size), 20, 1_000)]}


def _closure_3(dice: Random, size: float) -> Base:
    nodes, count = int(300 * size**0.5), int(1_100 * size**0.5)
    return {"e": [(dice.randrange(nodes), dice.randrange(3), dice.randrange(nodes)) for _ in range(count)]}


def _closure_3_sparse(dice: Random, size: float) -> Base:
    return {"e": [(x * SPARSE, -r * SPARSE, y * SPARSE) for x, r, y in _closure_3(dice, size)["e"]]}


def _closure_4(dice: Random, size: float) -> Base:
    nodes, count = int(150 * size**0.5), int(2_200 * size**0.5)
    rows = [(dice.randrange(nodes), dice.randrange(4), dice.randrange(3), dice.randrange(nodes)) for _ in range(count)]
    return {"e": rows}


def _layers(dice: Random, size: float) -> Base:
    """Two times four layers of nodes, many ways from each to the next, none between even and odd: one round fills most
    of the closure, by joins that hand on their rows in several batches."""
    widths = [int(wide * size**0.5) for wide in (240, 120, 20, 240)]
    rows = []
    for layer, ((wide, below), ways) in enumerate(zip(pairwise(widths), (8, 10, 100), strict=True)):
        for node in range(wide):
            ends = dice.sample(range(node % 2, below, 2), min(ways, below // 2))
            rows += [(1_000 * (3 - layer) + node, 1_000 * (2 - layer) + end) for end in ends]
    return {"e": rows}


def _dyck(dice: Random, size: float) -> Base:
    nodes, count = int(190 * size**0.5), int(300 * size**0.5)
    made = {
        name: [(dice.randrange(nodes), dice.randrange(2), dice.randrange(nodes)) for _ in range(count)]
        for name in ("opens", "closes")
    }
    return {**made, "node": [(node,) for node in range(nodes)]}


def _mutual(dice: Random, size: float) -> Base:
    nodes = int(170 * size**0.5)
    return {"e": pairs(dice, nodes, int(225 * size**0.5)), "f": pairs(dice, nodes, int(90 * size**0.5))}


def _generation(dice: Random, size: float) -> Base:
    return {"parent": tree(dice, int(1_600 * size**0.5), int(90 * size**0.5))}


def _andersen(dice: Random, size: float) -> Base:
    nodes = int(500 * size**0.5)
    return {
        "address": pairs(dice, nodes, int(300 * size**0.5)),
        "assign": pairs(dice, nodes, int(420 * size**0.5)),
        "load": pairs(dice, nodes, int(50 * size**0.5)),
        "store": pairs(dice, nodes, int(40 * size**0.5)),
    }


def _cspa(dice: Random, size: float) -> Base:
    nodes = int(260 * size**0.5)
    return {"assign": pairs(dice, nodes, int(190 * size**0.5)), "deref": pairs(dice, nodes, int(110 * size**0.5))}


def _galen(dice: Random, size: float) -> Base:
    nodes, labels = int(220 * size**0.5), 6

    def three(count: int) -> list[Row]:
        return [(dice.randrange(nodes), dice.randrange(labels), dice.randrange(nodes)) for _ in range(count)]

    return {
        "sub": pairs(dice, nodes, int(200 * size**0.5)),
        "has": three(int(170 * size**0.5)),
        "conj": [tuple(dice.randrange(nodes) for _ in range(3)) for _ in range(int(120 * size**0.5))],
        "some": three(int(40 * size**0.5)),
        "role": pairs(dice, labels, 4),
        "path": [tuple(dice.randrange(labels) for _ in range(3)) for _ in range(2)],
    }


def _weighted(dice: Random, size: float, spread: int = 1) -> Base:
    """Small graphs beside each other: in each, nearly everything reaches everything."""
    graphs, nodes = int(12 * size) + 1, 40
    links = [
        ((graph * nodes + x) * spread, (graph * nodes + y) * spread, dice.randrange(1, 100))
        for graph in range(graphs)
        for x, y in pairs(dice, nodes, 90)
    ]
    return {"link": links, "node": [(node * spread,) for node in range(0, graphs * nodes, 4)]}


_CLOSURE_2 = "relation e(x: int, y: int). p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z)."
_CLOSURE_3 = "relation e(x: int, r: int, y: int). q(X, R, Y) :- e(X, R, Y). q(X, R, Z) :- q(X, R, Y), q(Y, R, Z)."
_CUBED = """
relation e(x: int, y: int).
p(X, Y) :- e(X, Y).
p(X, W) :- p(X, Y), p(Y, Z), p(Z, W).
odd(X, W) :- e(X, W).
odd(X, W) :- odd(X, Y), odd(Y, Z), odd(Z, W), X != W.
"""
_BEST = """
relation link(x: int, y: int, c: int). relation node(x: int).
d(X, Y, min<C>) :- link(X, Y, C).
d(X, Y, min<C>) :- d(X, Z, A), d(Z, Y, B), C = A + B.
"""

SHAPES: dict[str, Shape] = {
    "closure_2": Shape(_CLOSURE_2, _closure_2),
    "closure_2_chains": Shape(_CLOSURE_2, _closure_2_chains),
    "closure_2_sparse": Shape(_CLOSURE_2, _closure_2_sparse),
    "closure_2_names": Shape(_CLOSURE_2.replace("int", "string"), _closure_2_names),
    "closure_3": Shape(_CLOSURE_3, _closure_3),
    "closure_3_sparse": Shape(_CLOSURE_3, _closure_3_sparse),
    "closure_4": Shape(
        """
relation e(x: int, r: int, s: int, y: int).
q(X, R, S, Y) :- e(X, R, S, Y).
q(X, R, S, Z) :- q(X, R, S, Y), q(Y, R, S, Z).
""",
        _closure_4,
    ),
    "closure_tested": Shape(
        "relation e(x: int, y: int). p(X, Y) :- e(X, Y). p(X, Z) :- p(X, Y), p(Y, Z), X != Z.", _closure_2
    ),
    "cubed": Shape(_CUBED, lambda dice, size: {"e": chains(dice, int(160 * size), 24)}),
    "cubed_layers": Shape(_CUBED, _layers),
    "dyck": Shape(
        """
relation opens(x: int, l: int, y: int). relation closes(x: int, l: int, y: int). relation node(x: int).
d(X, X) :- node(X).
d(X, Z) :- d(X, Y), d(Y, Z).
d(X, Y) :- opens(X, L, A), d(A, B), closes(B, L, Y).
""",
        _dyck,
    ),
    "mutual": Shape(
        """
relation e(x: int, y: int). relation f(x: int, y: int).
a(X, Y) :- e(X, Y).
b(X, Y) :- f(X, Y).
a(X, Z) :- b(X, Y), b(Y, Z).
b(X, Z) :- a(X, Y), b(Y, Z).
a(X, Z) :- a(X, Y), a(Y, Z).
""",
        _mutual,
    ),
    "same_generation": Shape(
        """
relation parent(x: int, y: int).
sg(X, Y) :- parent(X, P), parent(Y, P), X != Y.
sg(X, Y) :- parent(X, A), sg(A, B), parent(Y, B).
""",
        _generation,
    ),
    "andersen": Shape(
        """
relation address(x: int, y: int). relation assign(x: int, y: int).
relation load(x: int, y: int). relation store(x: int, y: int).
points(Y, X) :- address(Y, X).
points(Y, X) :- assign(Y, Z), points(Z, X).
points(Y, W) :- load(Y, X), points(X, Z), points(Z, W).
points(Z, W) :- store(Y, X), points(Y, Z), points(X, W).
""",
        _andersen,
    ),
    "cspa": Shape(
        """
relation assign(x: int, y: int). relation deref(x: int, y: int).
flow(Y, X) :- assign(Y, X).
flow(X, Y) :- assign(X, Z), memory(Z, Y).
flow(X, Y) :- flow(X, Z), flow(Z, Y).
memory(X, W) :- deref(Y, X), alias(Y, Z), deref(Z, W).
alias(X, Y) :- flow(Z, X), flow(Z, Y).
alias(X, Y) :- flow(Z, X), memory(Z, W), flow(W, Y).
flow(X, X) :- assign(X, _).
flow(X, X) :- assign(_, X).
memory(X, X) :- assign(_, X).
memory(X, X) :- assign(X, _).
""",
        _cspa,
    ),
    "galen": Shape(
        """
relation sub(x: int, y: int). relation has(x: int, r: int, y: int). relation conj(x: int, y: int, z: int).
relation some(x: int, r: int, y: int). relation role(r: int, s: int). relation path(r: int, s: int, t: int).
p(X, Y) :- sub(X, Y).
q(X, R, Y) :- has(X, R, Y).
p(X, Z) :- p(X, Y), p(Y, Z).
q(X, R, Z) :- p(X, Y), q(Y, R, Z).
p(X, Z) :- p(Y, W), some(W, R, Z), q(X, R, Y).
p(X, Z) :- conj(Y, W, Z), p(X, W), p(X, Y).
q(X, S, Z) :- q(X, R, Z), role(R, S).
q(X, T, Z) :- q(X, R, Y), path(R, S, T), q(Y, S, Z).
""",
        _galen,
    ),
    "best": Shape(_BEST, _weighted),
    "best_sparse": Shape(_BEST, lambda dice, size: _weighted(dice, size, SPARSE)),
    "above": Shape(
        f"""{_BEST}
far(X, Y) :- node(X), node(Y), !near(X, Y).
near(X, Y) :- d(X, Y, _).
total(X, sum<C>) :- d(X, Y, C).
reached(X, count<Y>) :- d(X, Y, C), C < 200.
worst(X, max<C>) :- d(X, Y, C).
apart(X, count<Y>) :- far(X, Y).
pairs(count<Y>) :- near(X, Y).
all(sum<C>) :- d(X, Y, C).
""",
        _weighted,
    ),
}
