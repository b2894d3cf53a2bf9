"""Inputs of the benchmarks, made from fixed seeds: the same call gives the same rows everywhere.

Every input is a dictionary from relation name to Arrow table. Needs NumPy and PyArrow alone, so that a
peer in another environment can make the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Input = dict[str, pa.Table]
Numbers = npt.NDArray[np.int64]

SEED = 20_240
HEAVIEST = 100  # link weights are whole numbers from 1 to this
FAR = 1_000_003  # the distance between ids that lie far apart


def table(**columns: Numbers) -> pa.Table:
    return pa.table({name: pa.array(np.ascontiguousarray(values)) for name, values in columns.items()})


def random_links(nodes: int, links: int, seed: int = SEED) -> tuple[Numbers, Numbers]:
    """Distinct directed links between different nodes, in random order."""
    rng = np.random.default_rng((seed, nodes, links))
    codes = np.zeros(0, dtype=np.int64)
    while codes.size < links:
        drawn = rng.integers(0, nodes * nodes, links - codes.size + 16)
        codes = np.unique(np.concatenate([codes, drawn[drawn // nodes != drawn % nodes]]))
    rng.shuffle(codes)
    codes = codes[:links]
    return codes // nodes, codes % nodes


def closure(nodes: int, links: int) -> Input:
    src, dst = random_links(nodes, links)
    return {"link": table(src=src, dst=dst)}


def far_apart(tables: Input) -> Input:
    """The same graph with ids that lie far apart."""
    return {
        name: pa.table({column: pa.array(rows[column].to_numpy() * FAR) for column in rows.column_names})
        for name, rows in tables.items()
    }


def from_one_source(nodes: int, links: int) -> Input:
    src, dst = random_links(nodes, links)
    return {"link": table(src=src, dst=dst), "source": table(node=np.zeros(1, dtype=np.int64))}


def weighted(nodes: int, links: int) -> Input:
    made = from_one_source(nodes, links)
    weights = np.random.default_rng((SEED, 1)).integers(1, HEAVIEST + 1, links)
    return {**made, "link": made["link"].append_column("weight", pa.array(weights))}


def labelled(nodes: int, links: int) -> Input:
    src, dst = random_links(nodes, links)
    return {"link": table(src=src, dst=dst), "node": table(id=np.arange(nodes, dtype=np.int64))}


def family(people: int) -> Input:
    """A binary tree filled level by level, its members named in random order."""
    child = np.arange(2, people + 1, dtype=np.int64)
    names = np.random.default_rng((SEED, 2)).permutation(people + 1).astype(np.int64)
    return {"parent": table(parent=names[child // 2], child=names[child])}


def pointers(variables: int) -> Input:
    """Statements of a program of many small procedures, with some assignments between them.

    Per variable about 0.3 allocations, 0.8 copies, 0.15 loads and 0.15 stores; nine statements in ten stay
    within a procedure of 50 variables.
    """
    rng = np.random.default_rng((SEED, 3, variables))

    def pairs(count: int) -> tuple[Numbers, Numbers]:
        left = rng.integers(0, variables, count)
        near = left // 50 * 50 + rng.integers(0, 50, count)
        right = np.where(rng.random(count) < 0.9, near, rng.integers(0, variables, count)) % variables
        codes = np.unique(left[left != right] * variables + right[left != right])
        rng.shuffle(codes)
        return codes // variables, codes % variables

    made = rng.choice(variables, int(0.3 * variables), replace=False).astype(np.int64)
    copies, loads, stores = pairs(int(0.8 * variables)), pairs(int(0.15 * variables)), pairs(int(0.15 * variables))
    return {
        "new": table(variable=made, object=np.arange(made.size, dtype=np.int64) + variables),
        "assign": table(to=copies[0], source=copies[1]),
        "load": table(to=loads[0], pointer=loads[1]),
        "store": table(pointer=stores[0], source=stores[1]),
    }


# Per work the full input and a quick one of the same shape.
INPUTS: dict[str, tuple[Callable[[], Input], Callable[[], Input]]] = {
    "closure-1k": (lambda: closure(1_000, 3_000), lambda: closure(300, 900)),
    "closure-1k-far": (lambda: far_apart(closure(1_000, 3_000)), lambda: far_apart(closure(300, 900))),
    "closure-2k": (lambda: closure(2_000, 4_000), lambda: closure(500, 1_000)),
    "reach": (lambda: from_one_source(200_000, 1_000_000), lambda: from_one_source(20_000, 100_000)),
    "shortest": (lambda: weighted(200_000, 1_000_000), lambda: weighted(20_000, 100_000)),
    "components": (lambda: labelled(200_000, 1_000_000), lambda: labelled(20_000, 100_000)),
    "generation": (lambda: family(3_687), lambda: family(1_000)),
    "points-to": (lambda: pointers(10_000), lambda: pointers(2_000)),
}


def make(work: str, *, quick: bool) -> Input:
    full, small = INPUTS[work]
    return small() if quick else full()
