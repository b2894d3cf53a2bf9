"""The batches of a query, one after the other: run, commit, publish.

The steps of a batch, in this order: all shards do their part and write it to the checkpoint (one job, or one per round
of a shuffle); the driver commits; the sinks get the changes, from files that are removed afterwards. A driver that dies
before the commit has done nothing; one that dies after it finds those files when it starts again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import types as st

from headwater.core.errors import HeadwaterError, StateError
from headwater.engine.guard import Guard
from headwater.engine.profile import Profile, RuleWork, summed
from headwater.exchange import Run
from headwater.spark.inputs import clock
from headwater.spark.inputs.bundles import DDL, shard_numbers, ship
from headwater.spark.inputs.contract import Contract
from headwater.spark.output.shard_output import late_rows, write_changes, write_rejected
from headwater.spark.output.sinks import Sink
from headwater.spark.session import worker
from headwater.spark.session.failures import error_in, error_value, stopped
from headwater.spark.session.local_sockets import message_of, read_message
from headwater.spark.session.session import described, title
from headwater.spark.shards import handover
from headwater.spark.shards.readings import Reading, is_reading, reading_like
from headwater.spark.shards.rounds import Begin
from headwater.spark.shards.run_plan import RunPlan
from headwater.spark.shards.state_view import remember
from headwater.spark.shards.taking import take
from headwater.spark.shards.transaction_job import ShardWork, run_shards
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment, BatchNotes, Checkpoint
from headwater.spark.state.manifest import Manifest, Report
from headwater.spark.state.query_definition import QueryDefinition

LOG = logging.getLogger("headwater")
_REASONS = 3  # that a line of the log shows
_WORKS = 100  # ways through rules that a manifest has, the slowest ones
_REPORT = pa.schema([pa.field("report", pa.string()), pa.field("about", pa.string())])
_REPORT_TYPE = st.StructType([st.StructField(name, st.StringType()) for name in _REPORT.names])


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What runs, and where its state is."""

    contract: Contract
    run_plan: RunPlan
    definition: QueryDefinition
    checkpoint: str
    guard: Guard
    by_wall: bool = False  # the wall clock moves time on


@dataclass
class Batches:
    """What a streaming query calls with each micro-batch of bundles."""

    _plan: QueryPlan
    _sink: Sink
    _static: list[Any]  # bundles of static rows, which come with the first batch
    _foreach_changes: Callable[[dict[str, Any], int], None] | None
    _on_batch: Callable[[dict[str, Any]], None] | None
    problems: list[BaseException] = field(default_factory=list, init=False)  # what batches raised
    _checkpoint: Checkpoint | None = field(default=None, init=False)
    _opening: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_checkpoint", "_opening")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _checkpoint=None, _opening=threading.Lock())

    def refuse(self) -> None:
        """Raise StateError if the checkpoint belongs to another query, or the output is another query's.

        It changes nothing, so that a run in progress goes on.
        """
        found = Checkpoint(self._plan.checkpoint)
        found.refuse_other(self._plan.definition)
        self._sink.refuse_foreign(found, self._plan.contract)

    def open(self) -> Checkpoint:
        """The checkpoint; from now on only this run may commit to it."""
        with self._opening:
            if self._checkpoint is None:
                found = Checkpoint(self._plan.checkpoint)
                found.resume(self._plan.definition)
                self._sink.claim(found, self._plan.contract)
                self._checkpoint = found
            return self._checkpoint

    def __call__(self, frame: Any, batch: int) -> None:
        try:
            self._batch(frame, batch)
        except Exception as problem:
            reason = stopped(problem)
            if reason is not None:
                raise RuntimeError(reason) from None
            self.problems.append(problem)
            LOG.error("batch %s failed: %s", batch, str(problem).partition("\n")[0])
            lost = None if self._checkpoint is None else self._checkpoint.lost()
            if lost is not None and str(lost) != str(problem):  # a later run causes many kinds of errors here
                raise lost from problem
            raise

    def _batch(self, frame: Any, batch: int) -> None:
        spark = frame.sparkSession  # of this query alone, so that its settings change no other query
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        checkpoint = self.open()
        checkpoint.hold()
        if checkpoint.manifest is not None:
            self._publish(spark, checkpoint.manifest, again=True)
        if checkpoint.is_due(batch):
            made = self._run(spark, frame, checkpoint, batch)
            self._publish(spark, made, again=made.epoch != checkpoint.hold().number)

    def _run(self, spark: Any, frame: Any, checkpoint: Checkpoint, batch: int) -> Manifest:
        begun = time.perf_counter()
        plan = self._plan
        assignment = checkpoint.assignment(plan.definition, plan.run_plan.sharding, batch, plan.guard)
        now = clock.wall() if plan.by_wall else None
        shards = plan.run_plan.shards
        if checkpoint.committed is None and self._static:
            static = [spark.createDataFrame(rows, DDL) if isinstance(rows, pa.Table) else rows for rows in self._static]
            frame = ship([shard_numbers(spark, shards), *static, frame], shards)
        reports, about = _reported(frame, plan, assignment, now)
        metrics = _metrics(plan, checkpoint.manifest, reports, about, time.perf_counter() - begun)
        rejected: Counter[str] = Counter()
        for shard in about:
            rejected.update(shard["rejected"])
        set_aside = [name for shard in about for name in shard["set_aside"]]
        if rejected:
            _log_set_aside(batch, rejected, [reason for shard in about for reason in shard["reasons"]], plan.checkpoint)
        told = [] if checkpoint.manifest is None else checkpoint.manifest.metrics.get("alarms", [])
        for text in metrics["alarms"]:
            if text not in told:
                LOG.warning("batch %s: %s", batch, text)
        notes = BatchNotes(rejected, set_aside, metrics | {"batch": batch})
        return checkpoint.commit(plan.definition, batch, reports, notes)

    def _publish(self, spark: Any, manifest: Manifest, *, again: bool) -> None:
        """Give a committed batch to the sinks; `again`: an earlier run may have done so, or be about to."""
        checkpoint = self.open()
        if again and not self._sink.is_pending(checkpoint, manifest):
            return
        try:
            self._sink.give(spark, checkpoint, self._plan.contract, manifest, self._foreach_changes)
        except StateError:
            if not again or self._sink.is_pending(checkpoint, manifest):
                raise
            return  # the earlier run has published all of it, and has removed the files meanwhile
        figures = remember(checkpoint, manifest)
        if self._on_batch is not None and not again:
            self._on_batch(figures)


def _log_set_aside(batch: int, rejected: dict[str, int], reasons: list[str], checkpoint: str) -> None:
    """Warn in one line a batch, so that no row vanishes silently."""
    counts = ", ".join(f"{count:,} of `{name}`" for name, count in sorted(rejected.items()))
    first = "; ".join(list(dict.fromkeys(reasons))[:_REASONS])
    LOG.warning("batch %s set rows aside: %s (%s); they are in %s/headwater/rejected", batch, counts, first, checkpoint)


def _reported(
    bundles: Any, plan: QueryPlan, assignment: Assignment, now: int | None
) -> tuple[list[Report], list[dict[str, Any]]]:
    """What the shards report of a batch, once they have done it."""
    contract, run_plan = plan.contract, plan.run_plan
    about = f"{title(contract.program)}; batch {assignment.batch} ({run_plan.sharding.kind})"

    def alone(shard: int, bundles: list[pa.RecordBatch]) -> Any:
        return json.loads(handover.run(ShardBatch(contract, assignment, now, shard, bundles)))

    work = ShardWork(_beginning(contract, assignment, now), alone, _give, _REPORT_TYPE)
    with described(bundles.sparkSession, about):
        return run_shards(bundles, work, run_plan, about, _collected)


def _collected(rows: Any) -> tuple[list[Report], list[dict[str, Any]]]:
    found = rows.collect()
    about = [json.loads(row["about"]) for row in found]
    problem = error_in(about)
    if problem is not None:
        raise problem
    return [Report.from_text(row["report"]) for row in found], about


@dataclass(frozen=True, slots=True)
class ShardBatch:
    """A batch of a shard that needs no other: a call for the worker that is best placed."""

    changes: ClassVar[bool] = True
    contract: Contract
    assignment: Assignment
    wall: int | None
    shard: int
    bundles: list[pa.RecordBatch]

    def __call__(self, cancelled: Callable[[], bool]) -> bytes:
        begin = _beginning(self.contract, self.assignment, self.wall, cancelled)
        try:
            result = worker.alone(begin(self.shard, self.bundles))
        except HeadwaterError as problem:
            result = _failed(problem)
        return json.dumps(result).encode()

    @property
    def kind(self) -> str:
        views = [(view.name, view.schema.serialize().to_pybytes()) for view in self.contract.views]
        return f"batch {self.contract.mark} {hashlib.sha256(repr(views).encode()).hexdigest()}"

    def to_message(self) -> bytes:
        about = {"assignment": self.assignment.to_json(self.shard), "wall": self.wall}
        return message_of(about, self.bundles)

    def understands(self, kind: str) -> bool:
        return kind == self.kind or is_reading(kind, self.contract.mark)

    def like(self, kind: str, message: bytes) -> ShardBatch | Reading:
        if kind != self.kind:
            contract = self.contract
            return reading_like(kind, contract.functions, contract.documents, self.assignment, self.shard, message)
        about, bundles = read_message(message)
        assignment = self.assignment.like(self.shard, about["assignment"])
        return ShardBatch(self.contract, assignment, about["wall"], self.shard, bundles)


def _beginning(
    contract: Contract, assignment: Assignment, wall: int | None, cancelled: Callable[[], bool] = lambda: False
) -> Begin:
    def begin(shard: int, bundles: list[pa.RecordBatch]) -> Run:
        worker.prepare(contract.functions)
        taken = take(contract, assignment, shard, bundles)
        now = max((time for time in (taken.latest, wall) if time is not None), default=None)
        done = yield from shard_cache.SHARD_CACHE.transaction(
            assignment, shard, taken.inserts, taken.deletes, now=now, cancelled=cancelled, shown=taken.shown
        )
        late = late_rows(done.outcome.late)
        set_aside = [*taken.rejected, *late]
        about = {
            "rows": taken.rows,
            "rejected": dict(Counter(row.relation for row in set_aside)),
            "late": len(late),
            "set_aside": write_rejected(assignment, shard, set_aside),
            "reasons": list(dict.fromkeys(f"{row.relation}: {row.reason}" for row in set_aside))[:_REASONS],
            "alarms": [alarm.text for alarm in done.outcome.alarms],
            "work": [asdict(work) for work in done.outcome.work[:_WORKS]],
            "feed": write_changes(assignment, shard, contract.views, done.outcome),
        }
        return done.report.to_text(), about

    return begin


def _give(_: int, result: tuple[str, dict[str, Any]] | HeadwaterError) -> Iterator[pa.RecordBatch]:
    report, about = _failed(result) if isinstance(result, HeadwaterError) else result
    yield pa.RecordBatch.from_arrays([pa.array([report]), pa.array([json.dumps(about)])], schema=_REPORT)


def _failed(problem: HeadwaterError) -> tuple[str, dict[str, Any]]:
    return "", error_value(problem)


def _metrics(
    plan: QueryPlan, before: Manifest | None, reports: list[Report], about: list[dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """The figures of a batch, as plain values; `rows` counts the rows of every view after it."""
    held = dict(before.metrics["rows"]) if before is not None else {}
    stale = dict(before.metrics["stale"]) if before is not None else {}
    changed: dict[str, dict[str, int]] = {}
    for view in plan.contract.views:
        came = sum(report.changed[view.name][0] for report in reports)
        went = sum(report.changed[view.name][1] for report in reports)
        changed[view.name] = {"inserted": came, "deleted": went}
        held[view.name] = held.get(view.name, 0) + came - went
        stale[view.name] = stale.get(view.name, 0) + came + went
    feed: dict[str, list[str]] = {view.name: [] for view in plan.contract.views}
    for shard in about:
        for name, file in shard["feed"].items():
            feed[name].append(file)
    return {
        "kind": plan.run_plan.sharding.kind,
        "exchange": plan.run_plan.exchange,
        "shards": plan.run_plan.shards,
        "rows_in": sum(shard["rows"] for shard in about),
        "rejected": sum(sum(shard["rejected"].values()) for shard in about),
        "late": sum(shard["late"] for shard in about),
        "alarms": list(dict.fromkeys(text for shard in about for text in shard["alarms"])),
        "now": clock.shown(plan.contract.program, reports[0].clock),
        "changed": changed,
        "rows": held,
        "stale": stale,
        "rounds": max(report.rounds for report in reports),
        "rows_shipped": sum(report.rows_shipped for report in reports),
        "bytes_shipped": sum(report.bytes_shipped for report in reports),
        "opening": round(max(report.opening for report in reports), 4),
        "working": round(max(report.seconds for report in reports), 4),
        "seconds": round(seconds, 4),
        "feed": feed,
        "work": _work(about),
    }


def _work(about: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the rules of all shards did together."""
    shards = (Profile(1, tuple(RuleWork(**work) for work in shard["work"]), ()) for shard in about)
    return [asdict(work) for work in summed(shards).rules[:_WORKS]]
