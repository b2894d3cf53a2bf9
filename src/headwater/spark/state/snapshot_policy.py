"""When a shard is worth a new snapshot: when opening it again would replay more than it saves.

A snapshot costs time in proportion to the rows that a shard holds. So one is taken when about as many rows have changed
since the last one as it holds, when the logs together are longer than it, or when replaying them would take many times
as long as writing it. All of these spread its cost over the work since, and bound what a restart has to do again.
"""

from __future__ import annotations

from headwater.spark.state.manifest import Part

_FEW_ROWS = 10_000
_FEW_BYTES = 1 << 20
_SHORT = 1.0  # seconds
_TIMES = 20
_BYTES_PER_SECOND = 200e6  # a snapshot written to an ordinary disk
_MOST_LOGS = 100


def is_due(part: Part, nbytes: int) -> bool:
    """Whether to write a shard of so many bytes anew, given what it would be read from otherwise."""
    held = 0 if part.snapshot is None else part.snapshot.rows
    return (
        sum(log.rows for log in part.logs) >= max(_FEW_ROWS, held)
        or sum(log.bytes for log in part.logs) >= max(_FEW_BYTES, nbytes)
        or sum(log.seconds for log in part.logs) >= max(_SHORT, _TIMES * nbytes / _BYTES_PER_SECOND)
        or len(part.logs) >= _MOST_LOGS
    )
