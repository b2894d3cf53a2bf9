"""What moves the clock of a program on Spark, and how far behind it rows may come.

The clock shows the latest time among the rows that have come (*event time*). A program whose rows have only a ttl
follows the *wall clock*, and so may any other that counts in timestamps: then time moves on when no rows come, too.
Spark runs no batch where no source has anything new, so such a query reads one more source, which ticks once a second
and brings no rows.

A stream that declares no `lateness` takes it from the watermark of its DataFrame, if that is on its time column. A
program that is built again from its text needs these watermarks, too.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.core.errors import DataError
from headwater.core.types import Type
from headwater.language.syntax import Declaration, Duration, Kind, Statement
from headwater.pipeline import CompiledProgram, compile_tree
from headwater.program.time.program_clock import clock_type
from headwater.spark.inputs.bundles import NUMBER
from headwater.spark.inputs.contract import Input

CLOCKS = ("event", "wall")
_EPOCH = dt.datetime(1970, 1, 1)
_DELAY = "spark.watermarkDelayMs"  # how Spark notes a watermark in a schema
_MICROSECONDS = 1_000


def lives_by_wall(program: CompiledProgram, wanted: str | None) -> bool:
    """Whether the wall clock moves time on; `wanted` by the user, None: only where nothing else could."""
    if wanted is not None and wanted not in CLOCKS:
        raise ValueError(f"there is no clock {wanted!r}; take one of {', '.join(CLOCKS)}, or None")
    kind = clock_type(program.checked)
    streams = any(relation.kind is Kind.STREAM for relation in program.checked.relations)
    if wanted == "event" or (wanted is None and (streams or kind is None)):
        return False
    if kind is None:
        raise DataError("error[HW803]: this program has no time that the wall clock could move: it has no ttl")
    if kind is not Type.TIMESTAMP:
        raise DataError(
            "error[HW803]: this program counts time in numbers, which the wall clock does not show; "
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


def watermarks(inputs: Sequence[Input], schemas: Sequence[Any]) -> dict[str, int]:
    """Milliseconds by relation: the longest, where several inputs feed one."""
    delays: dict[str, int] = {}
    for given, schema in zip(inputs, schemas, strict=True):
        if given.time is not None:
            delay = schema.fields[given.places[given.time]].metadata.get(_DELAY)
            if delay is not None:
                delays[given.relation] = max(delays.get(given.relation, 0), int(delay))
    return delays


def with_watermarks(program: CompiledProgram, delays: Mapping[str, int]) -> CompiledProgram:
    """The program with a lateness for every stream that declares none and has a watermark."""
    statements = tuple(_with_lateness(statement, delays) for statement in program.tree.statements)
    if statements == program.tree.statements:
        return program
    return compile_tree(replace(program.tree, statements=statements), disabled=program.disabled)


def watermarks_beside_text(program: CompiledProgram) -> dict[str, int]:
    """The watermarks that the text of a program does not say: SQL has no word for them."""
    if program.tree.text is None:
        return {}
    return {
        declared.relation: declared.lateness.microseconds // _MICROSECONDS
        for declared in program.tree.statements
        if isinstance(declared, Declaration) and isinstance(declared.lateness, Duration)
    }


def _with_lateness(statement: Statement, delays: Mapping[str, int]) -> Statement:
    if not isinstance(statement, Declaration) or statement.lateness is not None or statement.kind is not Kind.STREAM:
        return statement
    delay = delays.get(statement.relation)
    return statement if delay is None else replace(statement, lateness=Duration(_MICROSECONDS * delay, f"{delay} ms"))
