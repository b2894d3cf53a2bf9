"""A program with all rewrites on several shards, beside the same without one of them in one database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import headwater as hw
from tests.exchange.sharded import Sharded

Rows = dict[str, list[tuple[Any, ...]]]


def agree_on_shards(text: str, left_out: str, shards: int, edits: Iterable[tuple[Rows, Rows]]) -> None:
    outputs = hw.compile(text).outputs
    sharded = Sharded.of_text(text, outputs, shards, kinds=("exchange",))
    alone = hw.Database(hw.compile(text, disabled=[left_out]))
    for insert, delete in edits:
        sharded.apply(
            {name: tuple(set(rows)) for name, rows in insert.items()}, {n: tuple(r) for n, r in delete.items()}
        )
        alone.apply(insert=insert, delete=delete)
        for view in outputs:
            assert sharded.rows(view) == alone.rows(view)
