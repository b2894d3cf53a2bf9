"""The exchange as a gang: all shards in one barrier stage, sending each other rows directly.

The driver runs one small server where the shards of a job learn each other's addresses; they prove by a token, which
only the job's tasks are given, that they belong to it, and talk in secret where Spark does (see `secrecy`). Every shard
listens on its executor's own address, as long as the job runs. A barrier stage cannot be cut short or joined with
others, so what it gives is shuffled on before anybody else sees it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import BarrierTaskContext

from headwater.core.errors import HeadwaterError
from headwater.engine.driver import drive
from headwater.exchange.flight_server import Certificate
from headwater.exchange.gang import Gang
from headwater.exchange.rendezvous import Rendezvous, meet
from headwater.exchange.wire import Run
from headwater.spark.session import worker
from headwater.spark.session.encryption import tls_for

_servers: dict[tuple[str, Certificate | None], Rendezvous] = {}
_lock = threading.Lock()

Give = Callable[[int, Any], Iterator[pa.RecordBatch]]


def ganged(
    sent: Any,
    begin: Callable[[int, list[pa.RecordBatch]], Run],
    shards: int,
    give: Give,
    schema: Any,
    failed: Callable[[HeadwaterError], Any] | None = None,
) -> Any:
    """What `give` makes of the value of every shard's transaction, as a DataFrame that is one barrier stage.

    `failed` makes a value of what a shard raised; without it, the stage fails.
    """
    tls = tls_for(sent.sparkSession.sparkContext)
    server = _server(_driver_host(sent.sparkSession), tls)
    place, token, name = server.address, server.token, secrets.token_hex(8)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = BarrierTaskContext.get()
        shard = context.partitionId()
        host = context.getTaskInfos()[shard].address.rpartition(":")[0]
        bundles = list(batches)
        try:
            with Gang(shard, shards, token, host, tls=tls) as gang:
                turn = context.taskAttemptId()
                gang.join(meet(place, token, name, shard, shards, gang.address, tls=tls, turn=turn))
                with worker.TURN:
                    told = drive(begin(shard, bundles), gang.swap)
        except HeadwaterError as problem:
            if failed is None:
                raise
            told = failed(problem)
        yield from give(shard, told)

    return sent.mapInArrow(work, schema, barrier=True)


def is_broken_barrier(problem: Exception) -> bool:
    """Whether Spark gave a gang up that lost a task; it does so itself where another task has ended by then."""
    text = str(problem)
    return "barrier ResultStage" in text or "because barrier task" in text


def _driver_host(spark: Any) -> str:
    return str(spark.conf.get("spark.driver.host", "127.0.0.1"))


def _server(host: str, tls: Certificate | None) -> Rendezvous:
    """The server of this driver; it lives as long as the process does."""
    with _lock:
        if (host, tls) not in _servers:
            _servers[host, tls] = Rendezvous(host, tls=tls)
        return _servers[host, tls]
