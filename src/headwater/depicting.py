"""A database as HTML and as drawings, for notebooks: read through the names that every user has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headwater.core.errors import DataError, UnknownRelation
from headwater.core.pictures.drawing import Drawing
from headwater.core.pictures.edges import Part, ends_of, node_name, part_of, steps_of
from headwater.core.pictures.graph import draw_graph
from headwater.core.pictures.html import card, rows_table
from headwater.provenance import Proof

if TYPE_CHECKING:
    from headwater.database import Database

_MOST = 2_000
"""Nodes that a drawing has room for."""


def database_html(db: Database) -> str:
    """Relations with their columns and sizes, and what they take in memory."""
    rows = []
    for relation in db.program.checked.relations:
        if relation.part_of is not None or relation.asks is not None:
            continue
        kind = "view" if relation.name in db.program.outputs else "derived" if relation.derived else relation.kind.value
        columns = ", ".join(
            f"{column.name}: {column.type.value}" if column.type else column.name for column in relation.visible
        )
        rows.append((relation.name, kind, columns, _count(db, relation.name)))
    now = "" if db.now is None else f"; the clock shows {db.now}"
    note = f"{db.nbytes / 2**20:,.2f} MB; provenance: {db.provenance}{now}"
    return card("Database", rows_table(("relation", "kind", "columns", "rows"), rows, numbers=(3,)), note=note)


def _count(db: Database, name: str) -> int | str:
    if name in db.missing:
        return "not given yet"
    try:
        return db.count(name)
    except (DataError, UnknownRelation):  # derived in part only, because no query asks for all of it
        return "in part"


def draw_relation(
    db: Database,
    name: str,
    over: Any,
    *,
    source: str | None,
    target: str | None,
    around: str | None,
    hops: int,
    most: int,
) -> Drawing:
    """See `Database.draw`."""
    if not 1 <= most <= _MOST:
        raise ValueError(f"a drawing has room for 1 to {_MOST:,} nodes, not {most:,}")
    schema = db.table(name).schema
    fitting = [
        field.name for field in schema if not pa.types.is_list(field.type) and not pa.types.is_floating(field.type)
    ]
    source, target = ends_of(schema.names, fitting, source, target)
    at, to = schema.names.index(source), schema.names.index(target)
    part = part_of(sorted(db.rows(name), key=repr), at, to, around, hops, most)
    if around is not None and around not in part.shown:
        raise DataError(f"there is no node `{around}` in `{name}`")
    paths = [pair for each in _listed(over) for pair in _pairs(each, name, at, to)]
    edges = [(one, other, f"{name}({', '.join(map(str, row))})") for one, other, row in part.edges]
    places = _places(db, part)
    return draw_graph(f"graph of {name}", part.shown, edges, over=paths, places=places, note=_note(part, around))


def _note(part: Part, around: str | None) -> str:
    if part.whole:
        return ""
    near = f"those near {around}" if around else "those near the busiest one"
    return f"{len(part.shown):,} of {part.nodes:,} nodes: {near}"


def _listed(over: Any) -> Sequence[Any]:
    if over is None:
        return ()
    return over if isinstance(over, list | set | frozenset) else (over,)  # type: ignore[return-value]


def _pairs(over: Any, name: str, at: int, to: int) -> Iterator[tuple[str, str]]:
    """The edges that a proof or a row leads along."""
    if isinstance(over, Proof):
        yield from ((node_name(row[at]), node_name(row[to])) for relation, row in over.facts if relation == name)
    elif isinstance(over, tuple):
        yield from steps_of(over)
    else:
        raise TypeError(f"`over` is a proof, a row, or a list of these, not {type(over).__name__}")


def _places(db: Database, part: Part) -> dict[str, tuple[float, float]] | None:
    """Latitude and longitude of all nodes, where a relation has them."""
    for relation in db.program.checked.relations:
        names = [column.name.lower() for column in relation.visible]
        lat, lon = (
            next((at for at, name in enumerate(names) if name.startswith(way)), -1) for way in ("lat", ("lon", "lng"))
        )
        if relation.derived or lat < 0 or lon < 0 or len(names) < 3 or relation.name in db.missing:
            continue
        node = next(at for at in range(len(names)) if at not in (lat, lon))
        found = {
            node_name(row[node]): (float(row[lat]), float(row[lon]))
            for row in db.rows(relation.name)
            if row[lat] is not None and row[lon] is not None
        }
        if all(name in found for name in part.shown):
            return found
    return None
