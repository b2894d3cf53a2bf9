"""Every number of `src` that decides by size which way rows go, and what it is lowered to where there is no room.

Random programs have a few dozen rows: whatever begins at a thousand would never run in them. `no_room` lowers all these
numbers at once, so that tables are sorted, split, sifted, hashed and cleared away from the first rows on. A number
that is new in `src` must be listed here, in `LOWERED` or in `KEPT`; `tests/test_thresholds.py` looks for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from headwater.engine.store.index import Space

LOWERED: Mapping[str, int] = {
    "engine.border.learning_shard._SYMBOLS_KEPT": 0,
    "engine.aggregation._LARGE": 2,
    "engine.join_orders._FEW": 0,
    "engine.join_orders._OFF": 1,
    "engine.store.budget._MORE_SYMBOLS": 0,
    "engine.store.budget._SMALL": 0,
    "engine.store.compaction._WORTH_IT": 0,
    "engine.store.compaction._WORTH_IT_AT_REST": 0,
    "engine.store.frontier._BUFFER": 1,
    "engine.store.frontier._FLOOR": 1,
    "engine.store.frontier._WORTH": 1,
    "engine.rules.fused_best._WORTH": 1,
    "engine.rules.fused_frontier._DENSE": 1,
    "engine.rules.fused_frontier._HEAP": 1,
    "engine.rules.fused_set._BUFFERED": 1,
    "engine.rules.fused_set._FEW": 3,
    "engine.rules.fused_set._ROUNDS": 2,
    "engine.store.index._CARRY": 1,
    "engine.store.index._LARGE": 1,
    "engine.store.index._MOVES": 1,
    "engine.store.index._SORT_FROM": 0,
    "engine.store.index._THRIFTY_FROM": 1,
    "engine.store.journal._DENSE": 1,
    "engine.stratum._HURRY_FROM": 0,
    "engine.stratum._PASSES": 1,
    "engine.best.selection._FEW": 0,
    "engine.best.selection._FIRST": 2,
    "engine.shard._BULK_FROM": 0,
    "engine.store.sieve._WORTH": 1,
    "engine.border.snapshot._BLOCK": 64,
    "engine.border.soundness._PART": 1,
    "engine.store.measuring._SAMPLE": 4,
    "engine.store.measuring._SEEN": 1,
    "engine.store.numbering._FAR": 1,
    "engine.store.numbering._SAMPLE": 1,
    "engine.store.numbering._SPARE": 1 << 20,
    "engine.store.numbering._MOST_SPARE": 1,
    "engine.store.standing._FLOOR": 1,
    "engine.store.store._CHUNK": 1,
    "engine.store.store._FEW": 1,
    "engine.store.store._FLOOR": 1,
    "engine.store.store._GROWTH": 2,
    "engine.store.store._LOOK": 1,
    "engine.rules.delta_rule._BUFFER": 2,
    "engine.rules.delta_rule._TRIED": 2,
    "engine.turns._FEW": 1,
    "exchange.gang._PART": 64,
    "network.simulator.provenance.absorption._FEW": 0,
    "network.simulator.provenance.fact_index._FEW": 0,
    "exchange.packing._SPARSE": 0,
    "plan.join_order._FILTERS_GAIN": 1,
    "plan.join_order._GAIN": 1,
    "plan.join_order._SEARCHED": 2,
    "plan.join_order._SELECTIVE": 1,
    "plan.reorder._START": 1,
    "provenance.demand.magic_sets._MOST": 1,
    "provenance.witness.reader._TRACED": 1,
    "spark.inputs.bundles._ROWS": 1,
    "spark.inputs.documents._BYTES": 1,
    "spark.state.snapshot_policy._FEW_BYTES": 0,
    "spark.state.snapshot_policy._FEW_ROWS": 0,
    "spark.state.snapshot_policy._MOST_LOGS": 2,
    "spark.state.checkpoint._SWEEP_EVERY": 1,
    "spark.folders.relay._PART": 64,
    "spark.output.combined_views._ROWS": 1,
    "spark.source.change_feed._ROWS": 1,
    "spark.source.state_scan._ROWS": 1,
}

HASHED: Mapping[str, int] = {"engine.store.index._DIRECT_CELLS_PER_ROW": 0, "engine.store.index._DIRECT_FLOOR": 0}
"""Lowered too in every other case: there every table is hashed, and none is sorted."""

_CODE = "stands for something, is no size"
_FORMAT = "part of a format"
_SECONDS = "seconds"
_BOUND = "a bound on what is asked for, with an error behind it; tests meet it where it is"
_SHOWN = "how much is shown"
_TOLD = "tests of its own set it"

KEPT: Mapping[str, str] = {
    "spark.inputs.carried._DAY": "the seconds of a day",
    "engine.border.arrow_stream._NOTHING": _BOUND,
    "engine.border.arrow_stream._ROWS_PER_BYTE": _BOUND,
    "engine.store.budget._NOTED": "bytes of a row",
    "engine.store.budget._RESERVE": "a share, at every size the same",
    "engine.store.kernels.frontier.STEPS": "compiled into a kernel; the stop that it makes is made by a full heap too",
    "engine.store.kernels.search.CANNOT": _CODE,
    "engine.store.kernels.search.NO_WAY": _CODE,
    "engine.store.kernels.search._FIRST": "compiled into a kernel; tests search through more",
    "engine.store.index.FULLEST": "how full a hash table may be: at every size the same",
    "engine.store.compaction._NOTABLE": "a share, at every size the same",
    "engine.store.index._CELLS_WHEN_LARGE": "at most a part of a budget that is lowered already",
    "engine.store.index._GROWING": "makes a budget larger that is lowered already",
    "engine.store.numbering._MOST": "beyond it keys are hashed, as they are in every other case",
    "engine.codes.logic._UNKNOWN": _CODE,
    "engine.profile.START": _CODE,
    "engine.border.changes._SHOWN": _SHOWN,
    "engine.profile._KEPT": _SHOWN,
    "engine.store.measuring._FREQUENT": "times the average, at every size the same",
    "engine.store.measuring._MOST": "values that are kept, counted from the most frequent",
    "engine.border.snapshot.VERSION": _FORMAT,
    "engine.border.snapshot._ALIGNMENT": _FORMAT,
    "engine.border.soundness._BITS_PER_ROW": _BOUND,
    "engine.store.standing._CELL": "bytes of a group",
    "engine.store.states.BASE": _CODE,
    "engine.store.states.EVER": _CODE,
    "engine.store.states.GHOST": _CODE,
    "engine.store.states.GONE": _CODE,
    "engine.store.states.MARKED": _CODE,
    "engine.store.store._EVER_WORTH": _CODE,
    "engine.store.states.RENUMBER_FROM": _TOLD,
    "engine.codes.symbols.NULL": _CODE,
    "engine.codes.symbols._JUDGED": "values that are looked at to judge all, not a size",
    "exchange.flight_server._GRACE": _SECONDS,
    "exchange.member._SPARE": "added to a guess that is made again until it is enough",
    "exchange.gang._END": _CODE,
    "exchange.gang._GLANCE": _SECONDS,
    "exchange.gang._GRACE": _SECONDS,
    "exchange.rendezvous._GLANCE": _SECONDS,
    "exchange.rendezvous._MOST_SHARDS": _BOUND,
    "exchange.rendezvous._PATIENCE": _SECONDS,
    "exchange.wire._ALIGNED": _FORMAT,
    "plan.join_order._PASSES": "a share, at every size the same",
    "plan.decompose._PATIENCE": "steps of a search; where it gives up, the program is placed otherwise",
    "provenance.demand.questions._SHOWN": _SHOWN,
    "provenance.witness.proof._DEEPEST": _SHOWN,
    "provenance.witness.proof._DRAWN": _SHOWN,
    "provenance.witness.proof._SHOWN_CHILDREN": _SHOWN,
    "provenance.witness.reader._NEAREST": _SHOWN,
    "provenance.functions.node_budget.NODES": _TOLD,
    "provenance.functions.node_budget._MOST": _BOUND,
    "engine.reading._ALIVE": _CODE,
    "provenance.functions.variables.MOST_VARIABLES": _BOUND,
    "provenance.worlds.worlds._ROUNDS": _BOUND,
    "spark.batches._REASONS": _SHOWN,
    "spark.inputs.bundles.EVERYWHERE": _CODE,
    "spark.state.snapshot_policy._BYTES_PER_SECOND": _SECONDS,
    "spark.state.snapshot_policy._SHORT": _SECONDS,
    "spark.state.snapshot_policy._TIMES": _SECONDS,
    "spark.state.checkpoint._KEPT": "manifests that are kept, counted from the last: at every size the same",
    "spark.output.current_table._SHARE": _TOLD,
    "spark.output.current_table._SMALL": _TOLD,
    "spark.shards.transaction_job.TRIES": "tries, not a size",
    "spark.folders.hadoop._BUFFER": "handed to Hadoop's own copying",
    "spark.session.session._MOST_VIEWS": _SHOWN,
    "spark.session.local_sockets._NONCE": _FORMAT,
    "spark.shards.rounds._KEPT": "entries of a cache",
    "spark.state.log._ALIGNMENT": _FORMAT,
    "spark.state.manifest.FORMAT": _FORMAT,
    "spark.shards.run_plan.MOST_SHARDS": _BOUND,
    "spark.shards.handover._PATIENCE": _SECONDS,
    "spark.folders.relay._MOST_WORDS": _SHOWN,
    "spark.shards.rounds._LATEST": "rounds that are sent along, not a size",
    "spark.shards.rounds._DRIVER": _CODE,
    "spark.session.encryption._PATIENCE": _SECONDS,
    "spark.session.session._LONGEST_FOLDER": "letters of a path",
    "spark.state.shard_cache._KEPT_BYTES": _TOLD,
    "spark.shards.state_view._KEPT": "entries of a cache",
    "spark.inputs.clock._MICROSECONDS": "a unit",
    "spark.questions.asking.MOST": _BOUND,
    "spark.questions.asking._PER_BYTE": "bytes of a byte",
    "spark.questions.state_reader._SMALL": _TOLD,
    "spark.questions.state_reader._TRIES": "tries, not a size",
    "spark.batches._WORKS": _SHOWN,
    "spark.maintain.KEPT_CHANGES": "batches, not a size; tests of its own set it",
    "spark.session.preflight._LEAST": "what a report calls little",
    "spark.source.change_feed._BEGINNING": _CODE,
    "spark.session.worker._EARLY": "tasks of a worker, not a size",
}


@contextmanager
def no_room(case: int) -> Iterator[None]:
    """Whatever is decided by size is decided as if there were many rows; in every other case tables are hashed.

    In every other one of the rest, keys count as too far apart to be addressed directly, except by numbers.
    """
    with pytest.MonkeyPatch.context() as cramped:
        for name, value in (LOWERED | HASHED if case % 2 else LOWERED).items():
            cramped.setattr(f"headwater.{name}", value)
        if case % 4 == 2:
            cramped.setattr(Space, "around", classmethod(lambda *_, **__: None))
        yield
