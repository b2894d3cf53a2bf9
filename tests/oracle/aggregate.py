"""What an aggregate makes of the bindings of one group.

Sums of floats depend on their order in the last bit, so the order is part of the meaning: ascending by value.
Nulls are left out; what is made of nothing else is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.oracle.program import Agg, Row
from tests.oracle.terms import Value


def aggregate(shape: Agg, pooled: list[Row]) -> list[Value]:
    """The results (several for `top`) over a group that is never empty; one entry per distinct binding."""
    values = [entry[-1] for entry in pooled if entry[-1] is not None]
    match shape.function:
        case "count":
            return [len(values)]
        case "top":
            return sorted(set(values))[: shape.limit]
        case _ if not values:
            return [None]
        case "min" | "mmin":
            return [min(values)]
        case "max" | "mmax":
            return [max(values)]
        case "sum":
            return [ordered_sum(values)]
        case "collect":
            return [tuple(sorted(values))]
        case "avg":
            return [ordered_sum(values) / len(values)]
        case "mcount" | "msum":
            return [ordered_sum(_largest(pooled).values())]
        case _:
            raise ValueError(f"no aggregate {shape.function}")


def best_together(shapes: Mapping[int, Agg], pools: list[Row]) -> list[Row]:
    """For `min<C>, with<P>`: of the bindings with the best C the one with the best P, C and P in the order of the head.

    A binding without a C does not count, and a P that is null is the worst.
    """
    kinds = [shape.function for shape in shapes.values()]
    (value,) = (at for at, kind in enumerate(kinds) if kind != "with")
    order = [value, *(at for at, kind in enumerate(kinds) if kind == "with")]
    largest = kinds[value] in ("max", "mmax")
    found = [tuple(entry[-1] for entry in pooled) for pooled in pools]
    for at in order:
        known = {row[at] for row in found} - {None}
        if not known and at == value:
            return []
        best = (max(known) if largest else min(known)) if known else None
        found = [row for row in found if row[at] == best]
    return found[:1]


def ordered_sum(values: Iterable[Value]) -> Value:
    first, *rest = sorted(values)
    total = first
    for value in rest:
        total = total + value
    return total


def _largest(pooled: list[Row]) -> dict[Value, Value]:
    """For each K the largest N seen with it."""
    best: dict[Value, Value] = {}
    for key, number in pooled:
        if number is None:
            continue
        if key not in best or best[key] < number:
            best[key] = number
    return best
