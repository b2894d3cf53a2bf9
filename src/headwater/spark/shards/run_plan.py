"""How a program runs on Spark: its sharding, the number of shards, and how they exchange rows.

A gang is one barrier stage: all shards run at the same time and send each other rows directly. It needs a free slot per
shard, which Spark Connect and dynamic allocation cannot promise, and a certificate where Spark's settings ask for
encryption. Shuffles work everywhere, a job per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwater.core.errors import StateError
from headwater.exchange import KINDS, Sharding, choose
from headwater.spark.inputs.contract import Contract
from headwater.spark.session.encryption import asked_by, tls_for
from headwater.spark.session.session import has_dynamic_allocation, is_connect, slots

EXCHANGES = ("gang", "shuffle")
_OF_DOCUMENTS = ("exchange", "single")  # a document lives on one shard, and is compared there with its old version
MOST_SHARDS = 10_000  # each is a task of every batch, and a folder in the checkpoint


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How a program runs on Spark, and why so."""

    sharding: Sharding
    shards: int
    exchange: str | None  # None: shards ship each other nothing
    reason: str


def choose_run_plan(spark: Any, contract: Contract, shards: int | None, exchange: str | None) -> RunPlan:
    """The plan for a program on a session; `shards` and `exchange` are the user's choice, None: the best one."""
    if shards is not None and (not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS):
        raise ValueError(f"shards is a number from 1 to {MOST_SHARDS:,}, not {shards!r}; one per task slot is best")
    if exchange is not None and exchange not in EXCHANGES:
        raise ValueError(f"there is no exchange {exchange!r}; take one of {', '.join(EXCHANGES)}, or None")
    free = slots(spark)
    count = shards or free
    names = {given.relation: given.names for given in contract.inputs}
    kinds = KINDS if contract.documents is None else _OF_DOCUMENTS
    sharding = choose(contract.program, contract.known, count, columns=names, kinds=kinds)
    if sharding.kind == "single":
        return RunPlan(sharding, 1, None, sharding.reason)
    if sharding.kind == "decomposed":
        return RunPlan(sharding, count, None, sharding.reason)
    obstacle = _obstacle(spark, count, free)
    if exchange == "gang" and obstacle is not None:
        raise ValueError(f"a gang cannot run here, because {obstacle}; take exchange='shuffle'")
    if exchange is None:
        exchange = "gang" if obstacle is None else "shuffle"
    return RunPlan(
        sharding, count, exchange, "; ".join(filter(None, (sharding.reason, obstacle, _secret(spark, exchange))))
    )


def _obstacle(spark: Any, shards: int, free: int) -> str | None:
    """Why no gang can run; None: one can."""
    if is_connect(spark):
        return "Spark Connect has no driver process that shards could meet through"
    if has_dynamic_allocation(spark):
        return "under dynamic allocation Spark runs no barrier stages"
    if shards > free:
        return f"{shards} shards need as many task slots, and there are {free}"
    try:
        tls_for(spark.sparkContext)
    except StateError as problem:
        return str(problem)
    return None


def _secret(spark: Any, exchange: str) -> str | None:
    """Why the connections of a gang are encrypted; None: they are not."""
    setting = asked_by(spark.sparkContext) if exchange == "gang" else None
    return None if setting is None else f"what the gang sends is encrypted, because {setting} asks for it"
