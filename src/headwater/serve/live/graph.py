"""Rows as a graph: two columns of ids are the ends of edges. Bounded: of a large graph, the part around one node."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headwater.core.pictures.edges import ends_of, part_of
from headwater.files.rows import values_of

_READ = 200_000
"""Edges that are looked at."""


def graph_of(
    table: pa.Table, source: str | None, target: str | None, around: str | None, hops: int, most: int
) -> dict[str, Any]:
    """Nodes and edges, at most `most` nodes: all, or those within some hops of one, or those near the busiest one.

    An edge is `[from, to, row]`, nodes are texts. `nodes` counts those of the whole graph.
    """
    fitting = [
        field.name
        for field in table.schema
        if not pa.types.is_list(field.type) and not pa.types.is_floating(field.type)
    ]
    source, target = ends_of(table.column_names, fitting, source, target)
    cut = table.slice(0, _READ)
    rows = list(zip(*(values_of(column) for column in cut.columns), strict=True))
    at, to = (cut.column_names.index(name) for name in (source, target))
    part = part_of(rows, at, to, around, hops, most)
    return {
        "from": source,
        "to": target,
        "columns": cut.column_names,
        "shown": part.shown,
        "edges": part.edges,
        "nodes": part.nodes,
        "rows": table.num_rows,
        "whole": part.whole and table.num_rows <= _READ,
    }
