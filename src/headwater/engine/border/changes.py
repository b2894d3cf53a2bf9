"""What `apply` gives back: the rows that came and went, by relation, and the rows that were set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from headwater.core.pictures.html import card, change_rows
from headwater.engine.border.intake import Rejected
from headwater.language.syntax import Query

_SHOWN = 20  # rows each way that a notebook shows


@dataclass(frozen=True)
class RelationChange:
    """The rows of one relation that came and went, as Arrow tables."""

    inserted: pa.Table
    deleted: pa.Table

    def __bool__(self) -> bool:
        return bool(self.inserted.num_rows or self.deleted.num_rows)


class Changes(Mapping[str, RelationChange]):
    """What a transaction changed: by name for every relation; iterating gives the queried views."""

    def __init__(
        self,
        outputs: tuple[str, ...],
        change_of: Callable[..., RelationChange],
        rejected: tuple[Rejected, ...] = (),
        late: tuple[Rejected, ...] = (),
        touched: int = 0,
    ) -> None:
        """`touched` counts the changed rows of all tables, which are kept as long as the changes are."""
        self._outputs = outputs
        self._change_of = change_of
        self._cache: dict[str, RelationChange] = {}
        self.rejected = rejected
        self.late = late
        self.touched = touched

    def answering(self, query: Query) -> RelationChange:
        """The rows that came and went of those that one query asks for."""
        return self._change_of(query.atom.relation, [query])

    def __getitem__(self, name: str) -> RelationChange:
        if name not in self._cache:
            self._cache[name] = self._change_of(name)
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __repr__(self) -> str:
        parts = [f"{name}: +{self[name].inserted.num_rows} -{self[name].deleted.num_rows}" for name in self]
        return f"Changes({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Every view with the rows that came and went, for notebooks."""
        parts = []
        for name, change in self.items():
            came, went = (_rows_of(table.slice(0, _SHOWN)) for table in (change.inserted, change.deleted))
            left_out = change.inserted.num_rows + change.deleted.num_rows - len(came) - len(went)
            table = change_rows(change.inserted.column_names, came, went, left_out=left_out) if change else ""
            parts.append(card(name, table, note=f"+{change.inserted.num_rows:,} −{change.deleted.num_rows:,}"))
        aside = [f"{len(rows):,} {word}" for rows, word in ((self.rejected, "set aside"), (self.late, "late")) if rows]
        return card("Changes", *parts, note=", ".join(aside))


def _rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    try:
        columns = [column.to_pylist() for column in table.columns]
    except (OverflowError, ValueError):  # times that Python cannot hold
        columns = [[str(value) for value in column] for column in table.columns]
    return list(zip(*columns, strict=True))
