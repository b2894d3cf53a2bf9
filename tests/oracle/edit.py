"""What a transaction does to the base rows: deletes before inserts, keys replaced, no-ops ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.oracle.program import Row, State


def edit(
    base: Mapping[str, set[Row]],
    keys: Mapping[str, tuple[int, ...]],
    insert: Mapping[str, Iterable[Row]],
    delete: Mapping[str, Iterable[Row]],
) -> State:
    """The base rows afterwards. Within one batch the last insert with a key wins."""
    after = {relation: set(rows) for relation, rows in base.items()}
    for relation, rows in delete.items():
        after.setdefault(relation, set()).difference_update(rows)
    for relation, rows in insert.items():
        present = after.setdefault(relation, set())
        for row in rows:
            if relation in keys:
                key = keys[relation]
                present -= {old for old in present if all(old[at] == row[at] for at in key)}
            present.add(row)
    return after
