"""What `apply` gives back: the rows that came and went, by relation, and the rows that were set aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from headwater.engine.border.intake import Rejected
from headwater.language.syntax import Query


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
    ) -> None:
        self._outputs = outputs
        self._change_of = change_of
        self._cache: dict[str, RelationChange] = {}
        self.rejected = rejected
        self.late = late

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
