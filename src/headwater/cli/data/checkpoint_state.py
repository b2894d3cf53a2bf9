"""The state of a query on Spark, asked as a database is; what a question does not need is not loaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from headwater.core.errors import HeadwaterError
from headwater.database import Changes, Database
from headwater.pipeline import CompiledProgram
from headwater.provenance import Bounds, Chances, Critical, Fact, Impact, Proof, WhyNot
from headwater.questions import Answering

Row = tuple[Any, ...]


def needs_spark() -> str:
    return "a checkpoint needs PySpark; install it with: pip install 'headwater[spark]'"


def state_of(checkpoint: str, nodes: int) -> Answering:
    """The state in a checkpoint; HeadwaterError where PySpark is not installed."""
    try:
        from headwater.spark.questions import asking
    except ImportError as problem:
        raise HeadwaterError(needs_spark()) from problem
    return CheckpointState(asking, checkpoint, nodes)


class CheckpointState:
    """Answers from a checkpoint."""

    def __init__(self, asking: Any, checkpoint: str, nodes: int) -> None:
        """`asking` is the module that asks: it needs PySpark, which may not be there."""
        self._asking = asking
        self._where = checkpoint
        self._nodes = nodes
        self._empty: Database = asking.schema(checkpoint)

    @property
    def program(self) -> CompiledProgram:
        return self._empty.program

    def apply(self) -> Changes:
        """No changes, with the types of all columns."""
        return self._empty.apply()

    @cached_property
    def _whole(self) -> Database:
        found: Database = self._asking.database(self._where)
        return found

    def rows(self, relation: str) -> set[Row]:
        return self._whole.rows(relation)

    def why(self, relation: str, row: Row) -> Proof:
        found: Proof = self._asking.why(self._where, relation, row)
        return found

    def why_not(self, relation: str, row: Row) -> WhyNot:
        return self._whole.why_not(relation, row)

    def critical(self, relation: str, row: Row) -> Critical:
        found: Critical = self._asking.critical(self._where, relation, row, nodes=self._nodes)
        return found

    def witnesses(self, relation: str, row: Row, limit: int | None = 10) -> list[list[Fact]]:
        found: list[list[Fact]] = self._asking.witnesses(self._where, relation, row, limit, nodes=self._nodes)
        return found

    def probability(self, relation: str, row: Row, facts: Chances) -> float | Bounds:
        found: float | Bounds = self._asking.probability(self._where, relation, row, facts, nodes=self._nodes)
        return found

    def without(self, facts: Mapping[str, Any]) -> Changes:
        return self._whole.without(facts)

    def blast_radius(self, relation: str) -> list[Impact]:
        return self._whole.blast_radius(relation)
