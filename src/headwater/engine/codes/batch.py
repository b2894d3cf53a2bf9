"""A batch: bindings of a rule's variables on the way through a delta rule, as columns of codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[np.integer[Any]]
Positions = npt.NDArray[np.intp] | npt.NDArray[np.int32] | npt.NDArray[np.bool_]


@dataclass(slots=True)
class Batch:
    """`rows` holds, per positive atom, the row that met it; `origin`, in a pull, which key each binding answers."""

    size: int
    columns: dict[str, Column] = field(default_factory=dict)
    rows: dict[int, npt.NDArray[np.int32]] = field(default_factory=dict)
    origin: npt.NDArray[np.int32] | None = None

    def take(self, which: Positions, keep: tuple[str, ...] | None = None) -> Batch:
        """Some of the bindings, with all variables or those in `keep`."""
        names = self.columns if keep is None else [name for name in keep if name in self.columns]
        size = int(np.count_nonzero(which)) if which.dtype == np.bool_ else which.shape[0]
        return Batch(
            size,
            {name: self.columns[name][which] for name in names},
            {atom: rows[which] for atom, rows in self.rows.items()},
            None if self.origin is None else self.origin[which],
        )


def stacked(columns: Iterable[Column], size: int) -> npt.NDArray[np.int64]:
    """Columns as rows of codes."""
    parts = list(columns)
    out = np.empty((size, len(parts)), dtype=np.int64)
    for at, column in enumerate(parts):
        out[:, at] = column
    return out
