"""Which tests look at which files, the likeliest to notice a mistake first; a minute for all of a file's at most."""

from __future__ import annotations

_MAINTENANCE = "tests/engine/test_oracle_maintenance.py::test_oracle_"
_TIME = "tests/time/test_oracle_time.py::test_oracle_"

ENGINE = (
    "tests/engine/test_oracle_regressions.py",
    "tests/database/test_without.py",
    "tests/engine/test_hurry.py",
    f"{_MAINTENANCE}larger_graphs_with_no_room_to_spare",
    f"{_MAINTENANCE}with_no_room_to_spare",
    f"{_MAINTENANCE}rows_and_changes_of_templates",
    f"{_MAINTENANCE}rows_and_changes_with_nulls",
    f"{_TIME}with_no_room_to_spare_and_reopened",
    "tests/database/test_rollback.py",
    "tests/engine/test_turns.py",
    "tests/engine/test_snapshot.py",
    f"{_MAINTENANCE}rows_and_changes_of_random_programs",
    f"{_MAINTENANCE}any_batching",
    f"{_MAINTENANCE}proofs",
    f"{_MAINTENANCE}what_if",
    f"{_TIME}rows_and_changes_over_time",
    "tests/database/test_nulls.py",
    "tests/database/test_guard.py",
    "tests/time/test_clock.py",
    "tests/database/test_edges.py",
)
"""Whatever rows go through."""

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
    "tests/engine/test_oracle_regressions.py",
    "tests/rewrite/test_oracle_same_answers.py",
    "tests/rewrite/test_oracle_random_programs.py",
    "tests/exchange/test_agree_regressions.py",
    "tests/time/test_leases.py",
    "tests/time/test_clock.py",
    "tests/exchange/test_specs.py",
)

PLANS = (
    "tests/plan/test_specs.py",
    "tests/cli/test_plan.py",
    "tests/exchange/test_specs.py",
    "tests/exchange/test_sharding.py",
    *ENGINE[:7],
    *SHARDS,
    *ENGINE[7:],
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

BY_FILE: dict[str, tuple[str, ...]] = {
    "engine/border/arrow_stream.py": ("tests/database/test_forged.py", *STATE),
    "engine/border/changes.py": ("tests/database/test_edges.py", "tests/database/test_transactions.py"),
    "engine/border/codec.py": ("tests/database/test_edges.py", "tests/sql/test_recursion.py", *ENGINE),
    "engine/border/learnt_types.py": ("tests/database/test_types_learnt.py", *INTAKE),
    "engine/border/lookup.py": ("tests/database/test_edges.py", "tests/database/test_proofs.py", *INTAKE),
    "engine/store/budget.py": ("tests/database/test_memory.py", "tests/database/test_guard.py", *ENGINE[:5]),
    "engine/border/checksum.py": ("tests/engine/test_snapshot.py", "tests/spark/test_checkpoint.py"),
    "engine/clock.py": (*TIMED, *ENGINE[:5]),
    "engine/codes/columns.py": (*INTAKE, "tests/database/test_user_functions.py", *ENGINE[:5]),
    "engine/store/compaction.py": ("tests/engine/test_compaction.py", "tests/database/test_keeping.py", *ENGINE),
    "engine/codes/compiling.py": ("tests/engine/test_compiling.py",),
    "engine/border/bags.py": ("tests/sql/test_union_all.py", "tests/sql/test_recursion.py", *ENGINE, *SHARDS),
    "engine/store/expiry.py": (*TIMED, *ENGINE[:5]),
    "engine/codes/expressions.py": EXPRESSIONS,
    "engine/codes/fitting.py": INTAKE,
    "engine/best/versions.py": (*TIMED, *ENGINE),
    "engine/store/kernels/frontier.py": (*TIMED, *ENGINE),
    "engine/store/frontier.py": (*TIMED, *ENGINE),
    "engine/rules/fused_frontier.py": (*TIMED, *ENGINE),
    "engine/guard.py": ("tests/database/test_guard.py", "tests/database/test_interruption.py", *ENGINE),
    "engine/border/intake.py": INTAKE,
    "engine/stratum_names.py": ("tests/database/test_guard.py", "tests/database/test_user_functions.py", *ENGINE[:5]),
    "engine/codes/logic.py": EXPRESSIONS,
    "engine/codes/moments.py": (*INTAKE, *TIMED),
    "engine/border/reload.py": ("tests/database/test_types_learnt.py", "tests/database/test_keeping.py", *ENGINE),
    "engine/store/sieve.py": (*TIMED, *ENGINE),
    "engine/driver.py": ("tests/engine/test_one_sequence.py", *SHARDS),
    "engine/shipping.py": SHARDS,
    "engine/stratum.py": (*ENGINE, *SHARDS[:1], *SHARDS[5:7], "tests/database/test_interruption.py"),
    "engine/stratum_rules.py": (*ENGINE, *SHARDS[:1], *SHARDS[5:7]),
    "engine/shard.py": (
        "tests/database/test_edges.py",
        "tests/database/test_transactions.py",
        f"{_TIME}valid_until_is_when_a_row_ends",
        *ENGINE,
    ),
    "engine/border/snapshot.py": (
        "tests/engine/test_snapshot.py",
        "tests/database/test_forged.py",
        "tests/database/test_keeping.py",
        *ENGINE[3:5],
        *STATE,
    ),
    "engine/border/sound_kernels.py": ("tests/database/test_forged.py", "tests/engine/test_snapshot.py"),
    "engine/border/soundness.py": ("tests/database/test_forged.py", "tests/engine/test_snapshot.py", *ENGINE[3:8]),
    "engine/border/symbol_columns.py": (*INTAKE, "tests/engine/test_symbols.py", *ENGINE[:5]),
    "engine/codes/term_values.py": EXPRESSIONS,
    "engine/codes/symbols.py": (*INTAKE, "tests/engine/test_symbols.py", *EXPRESSIONS),
    "exchange/flight_server.py": GANG,
    "exchange/gang.py": GANG,
    "exchange/rendezvous.py": GANG,
    "exchange/wire.py": GANG,
    "spark/inputs/bundles.py": ("tests/spark/test_bundles.py", *STATE),
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
