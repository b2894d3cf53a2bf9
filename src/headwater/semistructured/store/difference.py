"""The difference between stored documents and new versions of them: the least rows to insert and to delete.

Nodes are matched (see `reading.kernels.matching`): a node that stays keeps its id, so that a changed leaf is one
changed atom. An edge whose place in its array changed is deleted and inserted; an atom whose value changed is inserted
over the old one. Objects that nothing leads to any more are garbage, and their rows go with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.engine.codes.columns import string_codes
from headwater.engine.codes.symbols import Symbols
from headwater.semistructured.reading import kernels
from headwater.semistructured.reading.kernels.scanning import COMPLEX
from headwater.semistructured.reading.nodes import KIND_NAMES, Nodes
from headwater.semistructured.schema import ATOM, EDGE
from headwater.semistructured.store.contents import HOLLOW, Ints, ObjectTree, StoredObjects, subgraph


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """What becomes of new documents: the ids of their nodes, and the rows that come and go."""

    oids: Ints
    fresh: int  # how many of the ids are new
    inserted: dict[str, pa.Table]
    old_edges: Ints  # codes of edges to delete
    old_hollow: Ints
    gone: Ints  # objects that were part of the old documents and are in none of the new ones


@dataclass(frozen=True, slots=True)
class _Coded:
    """The nodes of new documents, with the store's codes for their labels, kinds and texts."""

    label: Ints
    kind: Ints
    text: Ints


def difference(contents: StoredObjects, symbols: Symbols, nodes: Nodes, stored: Ints, first: int) -> DocumentDifference:
    """`stored[d]` is the root that document d has in the store, or -1; new ids are handed out from `first` on.

    Documents may be stored that are not among the new ones: they stand at the end of `stored`, and go.
    """
    old = subgraph(contents, stored[stored >= 0])
    coded = _coded(nodes, symbols)
    found = _matched(old, nodes, coded, symbols, stored)
    kept = found >= 0
    oids = np.empty(nodes.size, dtype=np.int64)
    oids[kept] = old.oid[found[kept]]
    fresh = int(nodes.size - np.count_nonzero(kept))
    oids[~kept] = first + np.arange(fresh)
    stays = np.zeros(old.oid.size, dtype=np.bool_)
    stays[found[kept]] = True
    gone = old.oid[~stays]
    inner, going = _edge_net(old, nodes, coded, found, oids)
    atomic = np.flatnonzero(nodes.kind != COMPLEX)
    changed = atomic[_is_changed(old, coded, found, atomic)]
    inserted: dict[str, pa.Table | None] = {EDGE: nodes.edge_rows(inner, oids) if inner.size else None}
    if changed.size:
        inserted[ATOM] = nodes.atom_rows(changed, oids[changed])
    hollow = nodes.hollow_rows(oids) if nodes.hollow.size else None
    held = np.zeros((0, 2), dtype=np.int64)
    if not contents.is_empty(HOLLOW):
        _, held = contents.codes(HOLLOW, 0, old.oid)
    if hollow is not None:
        codes = np.column_stack([oids[nodes.hollow[:, 0]], _label_codes(nodes, symbols)[nodes.hollow[:, 1]]])
        added, dropped = _net(codes, held)
        hollow, held = hollow.take(pa.array(added)), held[dropped]
    inserted[HOLLOW] = hollow
    tables = {name: table for name, table in inserted.items() if table is not None and table.num_rows}
    return DocumentDifference(oids, fresh, tables, old.edges[going], held, gone)


def _label_codes(nodes: Nodes, symbols: Symbols) -> Ints:
    return np.fromiter((symbols.number(label) for label in nodes.labels), dtype=np.int64, count=len(nodes.labels))


def _coded(nodes: Nodes, symbols: Symbols) -> _Coded:
    labels = _label_codes(nodes, symbols)
    kinds = np.array([-1, *(symbols.number(kind) for kind in KIND_NAMES.to_pylist()[1:])], dtype=np.int64)
    text = np.zeros(nodes.size, dtype=np.int64)
    present = np.flatnonzero(nodes.text.is_valid().to_numpy(zero_copy_only=False))
    text[present] = string_codes(nodes.text.drop_null(), symbols)
    label = np.where(nodes.label >= 0, labels[nodes.label], -1)
    return _Coded(label, kinds[nodes.kind], text)


def _matched(old: ObjectTree, nodes: Nodes, coded: _Coded, symbols: Symbols, stored: Ints) -> npt.NDArray[np.int32]:
    """For each node the old one that it is, or -1."""
    found = np.full(nodes.size, -1, dtype=np.int32)
    roots = nodes.roots[nodes.roots >= 0]
    known = np.flatnonzero(stored[: roots.size] >= 0)
    same = (old.kind[: known.size] < 0) == (coded.kind[roots[known]] < 0)
    found[roots[known[same]]] = np.flatnonzero(same)
    label, ids = symbols.number("id"), np.array([symbols.number("int"), symbols.number("string")])
    before = _described(old.parent, old.label, old.place, old.kind, old.text, label, ids)
    after = _described(nodes.parent, coded.label, nodes.place, coded.kind, coded.text, label, ids)
    depth = _depths(nodes.parent)
    order = np.argsort(depth, kind="stable")
    ends = np.cumsum(np.bincount(depth)) if depth.size else np.zeros(0, dtype=np.int64)
    kernels.match_nodes(before, after, ends, order, found)
    return found


def _described(
    parent: npt.NDArray[np.integer], label: Ints, place: npt.NDArray[np.integer], kind: Ints, text: Ints, named: int,
    ids: Ints,
) -> tuple[npt.NDArray[np.generic], ...]:  # fmt: skip
    """Nodes as `match_nodes` takes them."""
    parent = parent.astype(np.int64)
    key = np.where(place >= 0, (place.astype(np.int64) << 1) | 1, -1)
    content = np.empty(parent.size, dtype=np.uint64)
    kernels.subtree_hashes(parent, label, place.astype(np.int64), kind * 0x9E3779B1 + text, content)
    content |= np.uint64(1)
    naming = np.flatnonzero((label == named) & (place < 0) & np.isin(kind, ids) & (parent >= 0))
    has_id = np.zeros(parent.size, dtype=np.bool_)
    has_id[parent[naming]] = True
    owner = parent[naming]
    in_array = place[owner] >= 0
    key[owner[in_array]] = text[naming[in_array]] << 1
    atomic = kind >= 0
    content[atomic | (place < 0) | has_id] = 0
    return parent, label, key, atomic, content.view(np.int64)


def _depths(parent: npt.NDArray[np.int32]) -> Ints:
    """How far below its root each node is; parents stand before their children."""
    depth = np.zeros(parent.size, dtype=np.int64)
    level = np.flatnonzero(parent < 0)
    children = np.argsort(parent, kind="stable")
    begins = np.searchsorted(parent[children], np.arange(parent.size + 1))
    at = 0
    while level.size:
        depth[level] = at
        counts = begins[level + 1] - begins[level]
        starts = np.repeat(begins[level], counts)
        level = children[starts + _ranges(counts)]
        at += 1
    return depth


def _ranges(counts: Ints) -> Ints:
    """0, 1, ... for each count in turn."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - counts, counts)


def _edge_net(
    old: ObjectTree, nodes: Nodes, coded: _Coded, found: npt.NDArray[np.int32], oids: Ints
) -> tuple[Ints, Ints]:
    """The nodes whose edges come, and the numbers of the old edges that go."""
    inner = np.flatnonzero(nodes.parent >= 0)
    rooted = int(np.count_nonzero(old.parent < 0))
    if old.edges.shape[0] != old.oid.size - rooted:  # there are several ways to an object
        coming, going = _net(_edge_codes(nodes, coded, oids), old.edges)
        return inner[coming], going
    same = found[inner]
    there = np.flatnonzero(same >= 0)
    node, before = inner[there], same[there]
    held = (old.parent[before] == found[nodes.parent[node]]) & (old.place[before] == nodes.place[node])
    coming = np.ones(inner.size, dtype=np.bool_)
    coming[there[held]] = False
    going_mask = np.ones(old.oid.size, dtype=np.bool_)
    going_mask[before[held]] = False
    return inner[coming], np.flatnonzero(going_mask[rooted:])


def _edge_codes(nodes: Nodes, coded: _Coded, oids: Ints) -> Ints:
    inner = np.flatnonzero(nodes.parent >= 0)
    return np.column_stack(
        [oids[nodes.parent[inner]], coded.label[inner], oids[inner], nodes.place[inner].astype(np.int64)]
    )


def _is_changed(old: ObjectTree, coded: _Coded, found: npt.NDArray[np.int32], atomic: Ints) -> npt.NDArray[np.bool_]:
    changed = np.ones(atomic.size, dtype=np.bool_)
    there = np.flatnonzero(found[atomic] >= 0)
    node, same = atomic[there], found[atomic[there]]
    changed[there] = (old.kind[same] != coded.kind[node]) | (old.text[same] != coded.text[node])
    return changed


def _net(new: Ints, old: Ints) -> tuple[Ints, Ints]:
    """Which of the new rows are not among the old ones, and which of the old ones not among the new."""
    if not new.shape[0] or not old.shape[0]:
        return np.arange(new.shape[0]), np.arange(old.shape[0])
    both = np.concatenate([new, old])
    order = np.lexsort(both.T[::-1])
    ordered = both[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    alone = np.ones(both.shape[0], dtype=np.bool_)
    alone[order[1:][same]] = False
    alone[order[:-1][same]] = False
    return np.flatnonzero(alone[: new.shape[0]]), np.flatnonzero(alone[new.shape[0] :])
