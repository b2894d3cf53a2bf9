"""The columns for Headwater and DuckDB in the table of docs/sql.md, feature by feature."""

from __future__ import annotations

from tests.sql.features import ENDLESS, FEATURES, ducks, ours, printed, verdict


def test_the_table_says_what_headwater_does() -> None:
    assert {name: verdict(ours(query), None) for name, query in FEATURES.items()} == printed("Headwater")


def test_the_table_says_what_duckdb_does() -> None:
    run = ducks()
    found = {
        name: "endless" if ("DuckDB 2.0", name) in ENDLESS else verdict(run(query), ours(query))
        for name, query in FEATURES.items()
    }
    assert found == printed("DuckDB 2.0")
