"""The state of a query as a reader sees it: one committed batch, and its shards, that can be asked about their rows.

Nothing of the query is touched: no epoch is taken and nothing is written. Where the state is small, or where there is
no Spark session, this process reads the shards itself, unless a worker on this machine holds them. Where it is large,
the shards are asked in Spark's workers, one job for all questions that are open at a time.

A running query removes the state of a batch after two more. A question that meets this is asked again of the last
batch.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import functions as sf

from headwater.core.errors import HeadwaterError, StateError
from headwater.core.functions.registry import USER_FUNCTIONS
from headwater.engine.border.learnt_types import plan_of
from headwater.exchange import Sharding
from headwater.pipeline import CompiledProgram
from headwater.plan.model import Plan
from headwater.spark.inputs.contract import mark_of
from headwater.spark.session.failures import error_in, error_value
from headwater.spark.session.session import described, session_at_hand
from headwater.spark.shards import handover
from headwater.spark.shards.readings import QuestionReading
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.query_definition import QueryDefinition

LOG = logging.getLogger("headwater")
_SMALL = 256 << 20  # bytes in the checkpoint up to which this process reads them itself
_TRIES = 4
_ANSWER = "answer binary, about string"
Found = TypeVar("Found")


class StateReader:
    """One committed batch of a checkpoint."""

    def __init__(self, checkpoint: str, batch: int | None = None, spark: Any = None) -> None:
        found = Checkpoint(str(checkpoint))
        self.manifest = found.as_of(batch)
        self.definition = self.manifest.definition
        if "documents" in self.definition.notes:
            raise StateError(
                f"{checkpoint} keeps views over documents, whose rows cannot be asked; read them with hws.view, or ask "
                "a view of hw.Documents over the same documents"
            )
        self.program, self.sharding, self.plan = _built(_Definition(self.definition))
        self.path = str(checkpoint)
        self._assignment = found.reading(self.manifest, self.sharding)
        self._functions = tuple(USER_FUNCTIONS.items())
        self._mark = mark_of(self._functions)
        self._spark = spark or session_at_hand()

    @property
    def shards(self) -> int:
        return self.definition.shards

    @property
    def stored(self) -> tuple[int, int]:
        """Rows and bytes of the state as the checkpoint has it: base rows, views, and what they are derived by."""
        parts = self.manifest.parts
        files = [file for part in parts for file in ((part.snapshot, *part.logs) if part.snapshot else part.logs)]
        return sum(file.rows for file in files), sum(file.bytes for file in files)

    @property
    def reads_here(self) -> bool:
        """Whether this process reads the shards, and not Spark's workers."""
        return self._spark is None or self.stored[1] <= _SMALL

    def ask(self, questions: Mapping[int, bytes]) -> dict[int, bytes]:
        """The answers of some shards to a question each."""
        where = "in this process" if self.reads_here else "in Spark's workers"
        LOG.debug("asking %s of the %s shards of %s %s", len(questions), self.shards, self.path, where)
        if self.reads_here:
            return {shard: handover.run_here(self._call(shard, asked)) for shard, asked in questions.items()}
        return self._asked_in_job(questions)

    def _call(self, shard: int, asked: bytes) -> QuestionReading:
        return QuestionReading(self._functions, self._mark, self._assignment, shard, asked)

    def _asked_in_job(self, questions: Mapping[int, bytes]) -> dict[int, bytes]:
        call, shards = self._call(0, b""), self.shards
        functions, mark, assignment, open_ = call.functions, call.mark, call.assignment, dict(questions)

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            given = [number for batch in batches for number in batch.column(0).to_pylist()]
            for shard in given:
                if shard in open_:
                    about, found = {"shard": shard}, b""
                    try:
                        found = handover.run(QuestionReading(functions, mark, assignment, shard, open_[shard]))
                    except HeadwaterError as problem:
                        about |= error_value(problem)
                    yield pa.RecordBatch.from_pydict({"answer": [found], "about": [json.dumps(about)]})

        numbers = self._spark.range(0, shards).select(sf.col("id").cast("int").alias("id"))
        frame = numbers.repartitionById(shards, sf.col("id")).mapInArrow(read, _ANSWER)
        with described(self._spark, f"headwater: a question about {self.path}"):
            rows = frame.collect()
        about = [json.loads(row["about"]) for row in rows]
        problem = error_in(about)
        if problem is not None:
            raise problem
        return {one["shard"]: bytes(row["answer"]) for one, row in zip(about, rows, strict=True)}


def asked_of(checkpoint: str, batch: int | None, spark: Any, question: Callable[[StateReader], Found]) -> Found:
    """What a question finds; asked again where a running query has removed the state meanwhile."""
    for _ in range(_TRIES - 1):
        reader = StateReader(checkpoint, batch, spark)
        try:
            return question(reader)
        except StateError:
            last = Checkpoint(str(checkpoint)).committed
            if batch is not None or last == reader.manifest.batch:
                raise
    return question(StateReader(checkpoint, batch, spark))


class _Definition:
    """A definition with the functions there are, as a key."""

    __slots__ = ("key", "value")

    def __init__(self, value: QueryDefinition) -> None:
        self.value = value
        self.key = value.fingerprint, mark_of(tuple(USER_FUNCTIONS.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Definition) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=8)
def _built(definition: _Definition) -> tuple[CompiledProgram, Sharding, Plan]:
    """The program of a checkpoint, its sharding, and the plan that one process would run."""
    program = definition.value.compiled()
    known = definition.value.known
    return program, definition.value.sharding(), plan_of(program.fitted(known).rewritten, known)
