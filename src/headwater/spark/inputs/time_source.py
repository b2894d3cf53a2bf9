"""What moves the clock of a program on Spark.

The clock is that of the program: it shows the latest time among the rows that have come (*event time*). A program whose
rows have no time, only a ttl, lives by the *wall clock*, as any other may that counts in timestamps: then time also
moves on when nothing comes. Spark runs no batch where no source has anything new, so such a query listens to one more
source, which ticks once a second and brings no rows.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from headwater.core.errors import DataError
from headwater.core.types import Type
from headwater.language.syntax import Kind
from headwater.pipeline import CompiledProgram
from headwater.program.time.program_clock import clock_type
from headwater.spark.inputs.bundles import NUMBER

CLOCKS = ("event", "wall")
_EPOCH = dt.datetime(1970, 1, 1)


def lives_by_wall(program: CompiledProgram, wanted: str | None) -> bool:
    """Whether the wall clock moves time on; `wanted` as the user wants it, None: only where nothing else could."""
    if wanted is not None and wanted not in CLOCKS:
        raise ValueError(f"there is no clock {wanted!r}; take one of {', '.join(CLOCKS)}, or None")
    kind = clock_type(program.checked)
    streams = any(one.kind is Kind.STREAM for one in program.checked.relations)
    if wanted == "event" or (wanted is None and (streams or kind is None)):
        return False
    if kind is None:
        raise DataError("error[HW803]: this program knows no time that the wall clock could move on: it has no ttl")
    if kind is not Type.TIMESTAMP:
        raise DataError(
            "error[HW803]: this program counts time in numbers, which the wall clock cannot tell; "
            "give its ttl in units of time, as in `ttl 30 seconds`"
        )
    return True


def wall() -> int:
    """The moment it is, as clocks of timestamps count: microseconds of UTC."""
    return time.time_ns() // 1_000


def shown(program: CompiledProgram, moment: int | None) -> int | str | None:
    """A moment of a program's clock, for people."""
    if moment is None or clock_type(program.checked) is not Type.TIMESTAMP:
        return moment
    return (_EPOCH + dt.timedelta(microseconds=moment)).isoformat(sep=" ")


def heartbeat(spark: Any) -> Any:
    """A stream of bundles that never has any, and something new once a second."""
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 1).load().where("value < 0")
    columns = ("0 as shard", f"'{NUMBER}' as relation", "'' as sequence", "value as place", "binary('') as payload")
    return ticks.selectExpr(*columns)
