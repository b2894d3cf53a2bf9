"""How far behind the clock rows may come, as their DataFrames tell it.

A stream that declares no `lateness` takes it from the watermark of its DataFrame, if that is on its time column. The
program is the same otherwise; who builds it again from its text has to be told the watermarks, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headwater.language.syntax import Declaration, Duration, Kind
from headwater.pipeline import CompiledProgram, compile_tree
from headwater.spark.inputs.contract import Input

_DELAY = "spark.watermarkDelayMs"  # how Spark notes a watermark in a schema
_MICROSECONDS = 1_000


def found(inputs: Sequence[Input], schemas: Sequence[Any]) -> dict[str, int]:
    """Milliseconds by relation: the longest, where several inputs feed one."""
    delays: dict[str, int] = {}
    for one, schema in zip(inputs, schemas, strict=True):
        if one.time is not None:
            delay = schema.fields[one.places[one.time]].metadata.get(_DELAY)
            if delay is not None:
                delays[one.relation] = max(delays.get(one.relation, 0), int(delay))
    return delays


def with_watermarks(program: CompiledProgram, delays: Mapping[str, int]) -> CompiledProgram:
    """The program with a lateness for every stream that declares none and has a watermark."""
    statements = tuple(
        _declared(one, delays) if isinstance(one, Declaration) else one for one in program.tree.statements
    )
    if statements == program.tree.statements:
        return program
    return compile_tree(replace(program.tree, statements=statements), disabled=program.disabled)


def not_in_the_text(program: CompiledProgram) -> dict[str, int]:
    """The watermarks that a program has beside its text: SQL has no word for them."""
    if program.tree.text is None:
        return {}
    return {
        one.relation: one.lateness.microseconds // _MICROSECONDS
        for one in program.tree.statements
        if isinstance(one, Declaration) and isinstance(one.lateness, Duration)
    }


def _declared(one: Declaration, delays: Mapping[str, int]) -> Declaration:
    delay = delays.get(one.relation)
    if delay is None or one.lateness is not None or one.kind is not Kind.STREAM:
        return one
    return replace(one, lateness=Duration(_MICROSECONDS * delay, f"{delay} ms"))
