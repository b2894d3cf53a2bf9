"""The oracle's cases on Spark: base rows as DataFrames and as files that arrive, views as the oracle writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import headwater as hw
from headwater.pipeline import CompiledProgram
from tests.oracle.bodies import items_of
from tests.oracle.program import Base, Row, State, mentioned, to_text
from tests.oracle.strategies import Case

SPARK = {"int": "bigint", "float": "double", "string": "string", "bool": "boolean"}


def compiled(case: Case) -> CompiledProgram:
    return hw.compile(to_text(case.program))


def bases(case: Case) -> list[Base]:
    """The base relations that the text knows."""
    return [base for base in case.program.bases if base.declared or base.name in mentioned(case.program)]


def schema(base: Base) -> str:
    return ", ".join(f"c{at} {_spark_type(kind)}" for at, kind in enumerate(base.types))


def _spark_type(kind: str) -> str:
    items = items_of(kind)
    return SPARK[kind] if items is None else f"array<{_spark_type(items)}>"


def frames(spark: Any, case: Case, base: State) -> dict[str, Any]:
    return {one.name: frame(spark, one, base.get(one.name, set())) for one in bases(case)}


def frame(spark: Any, base: Base, rows: set[Row]) -> Any:
    if not base.types:
        return spark.range(len(rows)).select()
    return spark.createDataFrame(sorted(rows, key=repr), schema(base))


def told(view: Any, rows: Iterable[Row]) -> set[Row]:
    """The oracle's rows as this DataFrame can hold them: what may hold anything is written as text."""
    kinds = [field.dataType.simpleString() for field in view.schema.fields]
    return {tuple(_told(value, kind) for value, kind in zip(row, kinds, strict=True)) for row in rows}


def _told(value: Any, kind: str) -> Any:
    if kind.startswith("array<"):
        return tuple(_told(item, kind[len("array<") : -1]) for item in value)
    if kind == "string":
        return value if isinstance(value, str) else str(value)
    return float(value) if kind == "double" else value


def found(rows: Iterable[Any]) -> list[Row]:
    return [tuple(_frozen(value) for value in row) for row in rows]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def write_script(case: Case, folder: Path) -> None:
    """A file per relation and transaction: a stream that takes one at a time has one transaction a batch."""
    for one in bases(case):
        (folder / one.name).mkdir(parents=True)
        for number, step in enumerate(case.script):
            changes = [("delete", row) for row in step.delete.get(one.name, ())]
            changes += [("insert", row) for row in step.insert.get(one.name, ())]
            lines = [
                json.dumps({"_change_type": kind, **{f"c{at}": value for at, value in enumerate(row)}})
                for kind, row in changes
            ]
            file = folder / one.name / f"{number:03d}.json"
            file.write_text("\n".join(lines))
            os.utime(file, (1_000_000 + number, 1_000_000 + number))


def streams(spark: Any, case: Case, folder: Path) -> dict[str, Any]:
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    return {
        one.name: reader.schema(f"{schema(one)}, _change_type string").json(str(folder / one.name))
        for one in bases(case)
    }
