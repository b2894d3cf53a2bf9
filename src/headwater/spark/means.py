"""By what means a program runs: its scheme, the number of shards, and how they exchange rows.

Shuffles work everywhere, a job per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.exchange.scheme import Scheme, choose
from headwater.spark.contract import Contract
from headwater.spark.session import slots

EXCHANGES = ("shuffle",)


@dataclass(frozen=True, slots=True)
class Means:
    scheme: Scheme
    shards: int
    exchange: str | None  # None: no row travels between shards
    reason: str


def choose_means(spark: Any, contract: Contract, shards: int | None, exchange: str | None) -> Means:
    """The means for a program on a session; `shards` and `exchange` as the user wants them, None: as seems best."""
    if shards is not None and (not isinstance(shards, int) or shards < 1):
        raise ValueError(f"shards is a number from 1 on, not {shards!r}")
    if exchange is not None and exchange not in EXCHANGES:
        raise ValueError(f"there is no exchange {exchange!r}; take one of {', '.join(EXCHANGES)}, or None")
    free = slots(spark)
    count = shards or free
    names = {one.relation: one.names for one in contract.inputs}
    scheme = choose(contract.program, contract.known, count, columns=names)
    if scheme.kind == "single":
        return Means(scheme, 1, None, scheme.reason)
    if scheme.kind == "decomposed":
        return Means(scheme, count, None, scheme.reason)
    return Means(scheme, count, "shuffle", scheme.reason)
