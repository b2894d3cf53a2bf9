"""Which tests look at which files, the likeliest to notice a mistake first; a minute for all of a file's at most."""

from __future__ import annotations

_MAINTENANCE = "tests/engine/test_oracle_maintenance.py::test_oracle_"
_TIME = "tests/time/test_oracle_time.py::test_oracle_"

_FIRST = (
    "tests/engine/test_oracle_regressions.py",
    "tests/engine/test_marks_and_lists.py",
    "tests/database/test_without.py",
    "tests/engine/test_hurry.py",
)
_EXACT = (
    "tests/database/test_edges.py",
    "tests/database/test_nulls.py",
    "tests/database/test_rollback.py",
    "tests/engine/test_turns.py",
    "tests/engine/test_snapshot.py",
    "tests/database/test_guard.py",
    "tests/time/test_clock.py",
)
_NO_ROOM = (f"{_MAINTENANCE}larger_graphs_with_no_room_to_spare", f"{_MAINTENANCE}with_no_room_to_spare")
_DRAWN = (
    f"{_MAINTENANCE}rows_and_changes_of_templates",
    f"{_MAINTENANCE}rows_and_changes_with_nulls",
    f"{_TIME}with_no_room_to_spare_and_reopened",
    f"{_MAINTENANCE}rows_and_changes_of_random_programs",
    f"{_MAINTENANCE}any_batching",
    f"{_MAINTENANCE}proofs",
    f"{_MAINTENANCE}what_if",
    f"{_TIME}rows_and_changes_over_time",
)

ENGINE = (*_FIRST, *_EXACT, *_NO_ROOM, *_DRAWN)
"""Whatever rows go through; random programs, which take longest, last."""

FEW = (*_FIRST, *_NO_ROOM)
"""Some of these, for files that other tests look at more closely."""

TIMED = (
    "tests/time/test_clock.py",
    "tests/time/test_oracle_frontier.py",
    "tests/time/test_oracle_cheapest.py",
    f"{_TIME}rows_and_changes_over_time",
    f"{_TIME}with_no_room_to_spare_and_reopened",
    f"{_TIME}valid_until_is_when_a_row_ends",
)

SHARDS = (
    "tests/exchange/test_agree_regressions.py",
    "tests/exchange/test_specs.py",
    "tests/exchange/test_sharding.py",
    "tests/exchange/test_cluster.py",
    "tests/exchange/test_travel.py",
    "tests/exchange/test_agree_shards.py",
    "tests/exchange/test_agree_replay.py",
    "tests/time/test_oracle_shards.py",
)

GANG = ("tests/exchange/test_gang.py", *SHARDS)

NODES = (
    "tests/network/simulator/test_message.py",
    "tests/network/simulator/test_fact_index.py",
    "tests/network/simulator/test_paper_example.py",
    "tests/network/simulator/test_network.py",
    "tests/network/simulator/test_oracle_networks.py",
    "tests/network/simulator/test_oracle_time.py",
)

STATE = (
    "tests/spark/test_checkpoint.py",
    "tests/spark/test_forged.py",
    "tests/spark/test_bundles.py",
    "tests/spark/test_oracle_state.py",
    "tests/spark/test_handover.py",
)

REWRITES = (
    "tests/rewrite/test_specs.py",
    "tests/rewrite/test_rules.py",
    "tests/rewrite/test_steps_apart.py",
    "tests/rewrite/test_agree_closures.py",
    "tests/engine/test_oracle_regressions.py",
    "tests/rewrite/test_oracle_same_answers.py",
    "tests/rewrite/test_oracle_random_programs.py",
    "tests/rewrite/test_oracle_demand.py",
    "tests/database/test_questions.py",
    "tests/exchange/test_agree_regressions.py",
    "tests/time/test_leases.py",
    "tests/time/test_clock.py",
    "tests/exchange/test_specs.py",
)

PLANS = (
    "tests/plan/test_specs.py",
    "tests/plan/test_oracle_join_orders.py",
    "tests/cli/test_plan.py",
    "tests/exchange/test_specs.py",
    "tests/exchange/test_sharding.py",
    *FEW,
    *SHARDS,
    *ENGINE,
    "tests/provenance/test_demand.py",
)

INTAKE = (
    "tests/database/test_rows_in.py",
    "tests/database/test_types_learnt.py",
    "tests/database/test_transactions.py",
    "tests/database/test_edges.py",
    "tests/database/test_nulls.py",
    "tests/files/test_read.py",
)

EXPRESSIONS = (
    "tests/core/test_agree_functions.py",
    "tests/core/test_functions.py",
    "tests/engine/test_agree_logic.py",
    "tests/database/test_nulls.py",
    "tests/database/test_list_items.py",
    "tests/database/test_user_functions.py",
    *ENGINE,
)

QUESTIONS = ("tests/spark/test_oracle_questions.py",)

BY_FILE: dict[str, tuple[str, ...]] = {
    "engine/border/arrow_stream.py": ("tests/database/test_forged.py", *STATE),
    "engine/border/changes.py": ("tests/database/test_edges.py", "tests/database/test_transactions.py"),
    "engine/border/codec.py": ("tests/database/test_edges.py", "tests/sql/test_recursion.py", *ENGINE),
    "engine/border/learning_shard.py": ("tests/engine/test_symbols.py", "tests/database/test_edges.py", *INTAKE),
    "engine/border/learnt_types.py": ("tests/database/test_types_learnt.py", *INTAKE),
    "engine/border/lookup.py": ("tests/database/test_edges.py", "tests/database/test_proofs.py", *INTAKE),
    "engine/store/budget.py": ("tests/database/test_memory.py", "tests/database/test_guard.py", *FEW),
    "engine/border/checksum.py": ("tests/engine/test_snapshot.py", "tests/spark/test_checkpoint.py"),
    "engine/clock.py": (*TIMED, *FEW),
    "engine/codes/columns.py": (*INTAKE, "tests/database/test_user_functions.py", *FEW),
    "engine/store/compaction.py": ("tests/engine/test_compaction.py", "tests/database/test_keeping.py", *ENGINE),
    "engine/codes/compiling.py": ("tests/engine/test_compiling.py",),
    "engine/border/bags.py": ("tests/sql/test_union_all.py", "tests/sql/test_recursion.py", *ENGINE, *SHARDS),
    "engine/store/expiry.py": (*TIMED, *FEW),
    "engine/codes/expressions.py": EXPRESSIONS,
    "engine/codes/fitting.py": INTAKE,
    "engine/best/versions.py": (*TIMED, *ENGINE),
    "engine/best/seen.py": ("tests/time/test_oracle_cheapest.py", *TIMED, *ENGINE),
    "plan/reorder.py": ("tests/plan/test_best_start.py", "tests/plan/test_oracle_join_orders.py", *PLANS),
    "engine/store/kernels/lists.py": ("tests/engine/test_marks_and_lists.py", *TIMED, *ENGINE),
    "engine/store/kernels/frontier.py": (*TIMED, *ENGINE),
    "engine/store/kernels/heap.py": ("tests/rewrite/test_oracle_searched_ways.py", *TIMED, *ENGINE),
    "engine/store/kernels/ordering.py": ("tests/engine/test_ordering.py", *ENGINE),
    "engine/store/kernels/search.py": ("tests/rewrite/test_oracle_searched_ways.py", *ENGINE),
    "engine/best/search.py": ("tests/rewrite/test_oracle_searched_ways.py", *ENGINE),
    "engine/store/frontier.py": (*TIMED, *ENGINE),
    "engine/rules/fused_frontier.py": (*TIMED, *ENGINE),
    "engine/guard.py": ("tests/database/test_guard.py", "tests/database/test_interruption.py", *ENGINE),
    "engine/border/intake.py": INTAKE,
    "engine/join_orders.py": ("tests/plan/test_oracle_join_orders.py", *ENGINE),
    "engine/profile.py": ("tests/database/test_profile.py", "tests/cli/test_plan.py"),
    "engine/store/measuring.py": ("tests/plan/test_oracle_join_orders.py", *ENGINE),
    "engine/stratum_names.py": ("tests/database/test_guard.py", "tests/database/test_user_functions.py", *FEW),
    "engine/codes/logic.py": EXPRESSIONS,
    "engine/codes/moments.py": (*INTAKE, *TIMED),
    "engine/border/reload.py": ("tests/database/test_types_learnt.py", "tests/database/test_keeping.py", *ENGINE),
    "engine/store/sieve.py": (*TIMED, *ENGINE),
    "engine/driver.py": ("tests/engine/test_one_sequence.py", *SHARDS),
    "engine/shipping.py": SHARDS,
    "engine/stratum.py": (*ENGINE, *SHARDS[:1], *SHARDS[5:7], "tests/database/test_interruption.py"),
    "engine/stratum_rules.py": (*ENGINE, *SHARDS[:1], *SHARDS[5:7]),
    "engine/stratum_runner.py": (*ENGINE, *SHARDS[:1], *SHARDS[5:7], "tests/database/test_interruption.py"),
    "engine/shard.py": (
        "tests/sql/test_union_all.py",
        "tests/database/test_edges.py",
        "tests/database/test_transactions.py",
        f"{_TIME}valid_until_is_when_a_row_ends",
        *ENGINE,
    ),
    "engine/border/snapshot.py": (
        "tests/engine/test_snapshot.py",
        "tests/database/test_forged.py",
        "tests/database/test_keeping.py",
        *_NO_ROOM,
        *STATE,
    ),
    "engine/border/sound_kernels.py": ("tests/database/test_forged.py", "tests/engine/test_snapshot.py"),
    "engine/border/soundness.py": (
        "tests/database/test_forged.py",
        "tests/engine/test_snapshot.py",
        *_NO_ROOM,
        *_DRAWN[:3],
    ),
    "engine/border/symbol_columns.py": (*INTAKE, "tests/engine/test_symbols.py", *FEW),
    "engine/codes/term_values.py": EXPRESSIONS,
    "engine/codes/ways.py": ("tests/engine/test_ways.py", *EXPRESSIONS),
    "engine/codes/symbols.py": (*INTAKE, "tests/engine/test_symbols.py", *EXPRESSIONS),
    "exchange/asking.py": QUESTIONS,
    "exchange/gathered_base.py": QUESTIONS,
    "exchange/gathered_proof.py": QUESTIONS,
    "exchange/flight_server.py": GANG,
    "exchange/gang.py": GANG,
    "exchange/rendezvous.py": GANG,
    "exchange/wire.py": GANG,
    "spark/inputs/bundles.py": ("tests/spark/test_bundles.py", *STATE),
    "rewrite/computed_keys.py": ("tests/rewrite/test_agree_computed_keys.py", *REWRITES),
    "engine/border/column_names.py": ("tests/database/test_edges.py", *INTAKE),
    "engine/store/numbering.py": ("tests/engine/test_numbering.py", *ENGINE),
    "engine/store/kernels/numbers.py": ("tests/engine/test_numbering.py", *ENGINE),
    "rewrite/base_copies.py": ("tests/network/nodes/test_questions.py", *REWRITES, *SHARDS),
    "rewrite/demand/searched_ways.py": ("tests/rewrite/test_oracle_searched_ways.py", *REWRITES),
    "network/nodes/reclaiming.py": ("tests/network/nodes/test_reclaiming.py",),
    "network/nodes/proofs/told.py": ("tests/network/nodes/test_reclaiming.py",),
    "rewrite/demand/asker_leads.py": (
        "tests/rewrite/test_specs.py",
        "tests/network/nodes/test_oracle_asker_leads.py",
    ),
    "rewrite/demand/along_links.py": (
        "tests/rewrite/test_specs.py",
        "tests/network/nodes/test_questions.py",
        "tests/network/simulator/test_oracle_claim_1.py",
    ),
    "rewrite/stage_limit.py": (
        "tests/rewrite/test_specs.py",
        "tests/sql/test_levels.py",
        "tests/sql/test_recursion.py",
        *REWRITES,
    ),
    "rewrite/unneeded_rules.py": ("tests/sql/test_subqueries.py", *REWRITES),
    "rewrite/demand/bound_columns.py": ("tests/rewrite/test_bound_columns.py", *REWRITES),
    "rewrite/shared_prefix.py": ("tests/rewrite/test_agree_shared_prefix.py", *REWRITES),
    "rewrite/demand/closure.py": ("tests/rewrite/test_specs.py", "tests/rewrite/test_agree_closures.py", *REWRITES),
    "rewrite/demand/leading_side.py": (
        "tests/rewrite/test_specs.py",
        "tests/rewrite/test_agree_closures.py",
        *REWRITES,
    ),
    "rewrite/demand/linear_recursion.py": (
        "tests/rewrite/test_specs.py",
        "tests/rewrite/test_agree_closures.py",
        *REWRITES,
    ),
    "plan/boxing.py": ("tests/database/test_list_items.py", *PLANS),
    "plan/explain.py": ("tests/plan/test_specs.py", "tests/cli/test_plan.py", "tests/exchange/test_specs.py"),
}

BY_FOLDER: dict[str, tuple[str, ...]] = {
    "engine": ENGINE,
    "network/simulator": NODES,
    "exchange": SHARDS,
    "plan": PLANS,
    "rewrite": REWRITES,
    "spark": STATE,
}


def killers(path: str) -> tuple[str, ...]:
    """The tests for a file of `src/headwater`, each once."""
    found = BY_FILE.get(path) or next(tests for folder, tests in BY_FOLDER.items() if path.startswith(f"{folder}/"))
    return tuple(dict.fromkeys(found))
