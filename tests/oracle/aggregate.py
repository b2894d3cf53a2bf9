"""What an aggregate makes of the bindings of one group.

Sums of floats depend on their order in the last bit, so the order is part of the meaning: ascending by value.
Nulls are left out; what is made of nothing else is null.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.oracle.program import Agg, Row, Value


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
        case "avg":
            return [ordered_sum(values) / len(values)]
        case "mcount" | "msum":
            return [ordered_sum(_largest(pooled).values())]
        case _:
            raise ValueError(f"no aggregate {shape.function}")


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
