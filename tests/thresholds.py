"""Every number of `src` that decides by size which way rows go, and what it is lowered to where there is no room.

Random programs have a few dozen rows: whatever begins at a thousand would never run in them. `no_room` lowers all these
numbers at once, so that tables are sorted, split, sifted, hashed and cleared away from the first rows on. A number
that is new in `src` must be listed here, in `LOWERED` or in `KEPT`; `tests/test_thresholds.py` looks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

LOWERED: Mapping[str, int] = {
    "database._SYMBOLS_KEPT": 0,
    "engine.aggregation._LARGE": 2,
    "engine.budget._MORE_SYMBOLS": 0,
    "engine.budget._SMALL": 0,
    "engine.compaction._WORTH_IT": 0,
    "engine.frontiers._BUFFER": 1,
    "engine.frontiers._FLOOR": 1,
    "engine.frontiers._WORTH": 1,
    "engine.fused_best._WORTH": 1,
    "engine.fused_frontier._DENSE": 1,
    "engine.fused_frontier._HEAP": 1,
    "engine.fused_set._ROOM": 1,
    "engine.index._CARRY": 1,
    "engine.index._SORT_FROM": 0,
    "engine.journal._DENSE": 1,
    "engine.level._HURRY_FROM": 0,
    "engine.level._PASSES": 1,
    "engine.selection._FEW": 0,
    "engine.selection._FIRST": 2,
    "engine.shard._BULK_FROM": 0,
    "engine.sieve._WORTH": 1,
    "engine.snapshot._BLOCK": 64,
    "engine.soundness._PART": 1,
    "engine.standing._FLOOR": 1,
    "engine.store._CHUNK": 1,
    "engine.store._FEW": 1,
    "engine.store._FLOOR": 1,
    "engine.store._GROWTH": 2,
    "engine.store._LOOK": 1,
    "engine.strand._BUFFER": 2,
    "engine.turns._FEW": 1,
    "exchange.gang._PART": 64,
    "exchange.nodes.absorbed._FEW": 0,
    "exchange.nodes.named._FEW": 0,
    "exchange.packing._SPARSE": 0,
    "provenance.demand._MOST": 1,
    "provenance.reader._TRACED": 1,
    "spark.bundles._ROWS": 1,
    "spark.cadence._FEW_BYTES": 0,
    "spark.cadence._FEW_ROWS": 0,
    "spark.cadence._MOST_LOGS": 2,
    "spark.checkpoint._SWEEP_EVERY": 1,
    "spark.relay._PART": 64,
    "spark.wide._ROWS": 1,
}

HASHED: Mapping[str, int] = {"engine.index._DIRECT_CELLS_PER_ROW": 0, "engine.index._DIRECT_FLOOR": 0}
"""Lowered too in every other case: there every table is hashed, and none is sorted."""

_CODE = "stands for something, is no size"
_FORMAT = "part of a format"
_SECONDS = "seconds"
_BOUND = "a bound on what is asked for, with an error behind it; tests meet it where it is"
_SHOWN = "how much is shown"
_TOLD = "tests of its own set it"

KEPT: Mapping[str, str] = {
    "engine.arrow_stream._NOTHING": _BOUND,
    "engine.arrow_stream._ROWS_PER_BYTE": _BOUND,
    "engine.budget._NOTED": "bytes of a row",
    "engine.budget._RESERVE": "a share, at every size the same",
    "engine.frontier_kernels.STEPS": "compiled into a kernel; the stop that it makes is made by a full heap too",
    "engine.index.FULLEST": "how full a hash table may be: at every size the same",
    "engine.index._GROWING": "makes a budget larger that is lowered already",
    "engine.logic._UNKNOWN": _CODE,
    "engine.snapshot.VERSION": _FORMAT,
    "engine.snapshot._ALIGNMENT": _FORMAT,
    "engine.soundness._BITS_PER_ROW": _BOUND,
    "engine.standing._CELL": "bytes of a group",
    "engine.states.BASE": _CODE,
    "engine.states.EVER": _CODE,
    "engine.states.GHOST": _CODE,
    "engine.states.GONE": _CODE,
    "engine.states.MARKED": _CODE,
    "engine.store._EVER_WORTH": _CODE,
    "engine.states.RENUMBER_FROM": _TOLD,
    "engine.values.NULL": _CODE,
    "engine.values._JUDGED": "values that are looked at to judge all, not a size",
    "exchange.doorkeeper._GRACE": _SECONDS,
    "exchange.gang._END": _CODE,
    "exchange.gang._GLANCE": _SECONDS,
    "exchange.gang._GRACE": _SECONDS,
    "exchange.rendezvous._GLANCE": _SECONDS,
    "exchange.rendezvous._MOST_SHARDS": _BOUND,
    "exchange.rendezvous._PATIENCE": _SECONDS,
    "exchange.wire._ALIGNED": _FORMAT,
    "plan.decompose._PATIENCE": "steps of a search; where it gives up, the program is placed otherwise",
    "provenance.held._ALIVE": _CODE,
    "provenance.proof._DEEPEST": _SHOWN,
    "provenance.proof._SHOWN_CHILDREN": _SHOWN,
    "provenance.reader._NEAREST": _SHOWN,
    "provenance.room.NODES": _TOLD,
    "provenance.room._MOST": _BOUND,
    "provenance.search._ALIVE": _CODE,
    "provenance.variables.MOST_VARIABLES": _BOUND,
    "provenance.worlds._ROUNDS": _BOUND,
    "spark.batches._REASONS": _SHOWN,
    "spark.bundles.EVERYWHERE": _CODE,
    "spark.cadence._BYTES_PER_SECOND": _SECONDS,
    "spark.cadence._SHORT": _SECONDS,
    "spark.cadence._TIMES": _SECONDS,
    "spark.checkpoint._KEPT": "manifests that are kept, counted from the last: at every size the same",
    "spark.current._SHARE": _TOLD,
    "spark.current._SMALL": _TOLD,
    "spark.tries.TRIES": "tries, not a size",
    "spark.hadoop._BUFFER": "handed to Hadoop's own copying",
    "spark.jobs._MOST_VIEWS": _SHOWN,
    "spark.lines._NONCE": _FORMAT,
    "spark.live._KEPT": "entries of a cache",
    "spark.log._ALIGNMENT": _FORMAT,
    "spark.manifest.FORMAT": _FORMAT,
    "spark.means.MOST_SHARDS": _BOUND,
    "spark.neighbours._PATIENCE": _SECONDS,
    "spark.relay._MOST_WORDS": _SHOWN,
    "spark.rounds._LATEST": "rounds that are sent along, not a size",
    "spark.rounds._NOBODY": _CODE,
    "spark.secrecy._PATIENCE": _SECONDS,
    "spark.session._LONGEST_FOLDER": "letters of a path",
    "spark.shelf._KEPT_BYTES": _TOLD,
    "spark.state_view._KEPT": "entries of a cache",
    "spark.watermarks._MICROSECONDS": "a unit",
    "spark.worker._EARLY": "tasks of a worker, not a size",
}


@contextmanager
def no_room(case: int) -> Iterator[None]:
    """Whatever is decided by size is decided as if there were many rows; in every other case tables are hashed."""
    with pytest.MonkeyPatch.context() as cramped:
        for name, value in (LOWERED | HASHED if case % 2 else LOWERED).items():
            cramped.setattr(f"headwater.{name}", value)
        yield
