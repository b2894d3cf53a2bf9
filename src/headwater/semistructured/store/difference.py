"""The difference between stored documents and new versions of them: the least rows to insert and to delete.

Nodes are matched (see `reading.kernels.matching`): a node that stays keeps its id, so that a changed leaf is one
changed atom. An edge whose place in its array changed is deleted and inserted; an atom whose value changed is inserted
over the old one. Objects that nothing leads to any more are garbage, and their rows go with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.engine.codes.symbols import Symbols
from headwater.semistructured.reading import kernels
from headwater.semistructured.reading.kernels.scanning import COMPLEX
from headwater.semistructured.reading.nodes import KIND_NAMES, Nodes
from headwater.semistructured.schema import ATOM, EDGE
from headwater.semistructured.store.contents import HOLLOW, Ints, ObjectTree, StoredObjects, subgraph
from headwater.semistructured.store.texts import SymbolTexts, TextBytes, text_bytes


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """What becomes of new documents: the ids of their nodes, and the rows that come and go."""

    oids: Ints
    fresh: int  # how many of the ids are new
    inserted: dict[str, pa.Table]
    old_edges: Ints  # codes of edges to delete
    old_hollow: Ints
    gone: Ints  # objects that were part of the old documents and are in none of the new ones


_Described: TypeAlias = tuple[npt.NDArray[np.int32], Ints, npt.NDArray[np.int32], Ints, Ints]
"""Parents, labels, places, kinds and numbers of texts of nodes, as `match_nodes` takes them."""


def difference(
    contents: StoredObjects, texts: SymbolTexts, nodes: Nodes, stored: Ints, first: int, symbols: Symbols | None = None
) -> DocumentDifference:
    """`stored[d]` is the root that document d has in the store, or -1; new ids are handed out from `first` on.

    Labels are numbered by the symbols of `texts`, or by others that know these.

    Documents may be stored that are not among the new ones: they stand at the end of `stored`, and go.
    """
    old = subgraph(contents, stored[stored >= 0])
    symbols = texts.symbols if symbols is None else symbols
    held, given = texts.now(), text_bytes(nodes.text)
    before = old.parent, old.label, old.place, old.kind, held.numbers[old.text]
    after = _coded(nodes, given, symbols)
    found = _roots_found(old, nodes, stored)
    ids = np.array([symbols.number("int"), symbols.number("string")])
    kernels.match_nodes(before, after, symbols.number("id"), ids, found)
    oids = np.empty(nodes.size, dtype=np.int64)
    coming, changed = (np.empty(nodes.size, dtype=np.bool_) for _ in range(2))
    going, gone = (np.empty(old.oid.size, dtype=np.bool_) for _ in range(2))
    fresh = kernels.compare_nodes(
        before, after, (held.offsets, held.data), old.text, (given.offsets, given.data), found, old.oid, first, oids,
        coming, going, changed, gone,
    )  # fmt: skip
    inner, going_edges = np.flatnonzero(coming), old.edges[np.flatnonzero(going[old.roots :])]
    if old.edges.shape[0] != old.oid.size - old.roots:  # there are several ways to an object
        inner, going_edges = _edge_net(old, nodes, after[1], oids)
    inserted = {EDGE: nodes.edge_rows(inner, oids)} if inner.size else {}
    atoms = np.flatnonzero(changed)
    if atoms.size:
        inserted[ATOM] = nodes.atom_rows(atoms, oids[atoms])
    hollow, old_hollow = _hollow_net(contents, old, nodes, oids, symbols)
    if hollow is not None and hollow.num_rows:
        inserted[HOLLOW] = hollow
    return DocumentDifference(oids, fresh, inserted, going_edges, old_hollow, old.oid[gone])


def _label_codes(nodes: Nodes, symbols: Symbols) -> Ints:
    return np.fromiter((symbols.number(label) for label in nodes.labels), dtype=np.int64, count=len(nodes.labels))


def _coded(nodes: Nodes, texts: TextBytes, symbols: Symbols) -> _Described:
    """The new nodes with the store's codes for their labels and kinds."""
    labels = _label_codes(nodes, symbols)
    kinds = np.array([-1, *(symbols.number(kind) for kind in KIND_NAMES.to_pylist()[1:])], dtype=np.int64)
    label = np.where(nodes.label >= 0, labels[nodes.label], -1)
    return nodes.parent, label, nodes.place, kinds[nodes.kind], texts.numbers


def _roots_found(old: ObjectTree, nodes: Nodes, stored: Ints) -> npt.NDArray[np.int32]:
    """The old roots that the new ones are, where both are objects or both atoms; -1 for all other nodes."""
    found = np.full(nodes.size, -1, dtype=np.int32)
    roots = nodes.roots[nodes.roots >= 0]
    known = np.flatnonzero(stored[: roots.size] >= 0)
    same = (old.kind[: known.size] < 0) == (nodes.kind[roots[known]] == COMPLEX)
    found[roots[known[same]]] = np.flatnonzero(same)
    return found


def _edge_net(old: ObjectTree, nodes: Nodes, label: Ints, oids: Ints) -> tuple[npt.NDArray[np.intp], Ints]:
    """The nodes whose edges come, and the old edges that go, compared as rows."""
    inner = np.flatnonzero(nodes.parent >= 0)
    new = np.column_stack([oids[nodes.parent[inner]], label[inner], oids[inner], nodes.place[inner].astype(np.int64)])
    coming, going = _net(new, old.edges)
    return inner[coming], old.edges[going]


def _hollow_net(
    contents: StoredObjects, old: ObjectTree, nodes: Nodes, oids: Ints, symbols: Symbols
) -> tuple[pa.Table | None, Ints]:
    """The rows of empty arrays that come, and the codes of those that go."""
    held = np.zeros((0, 2), dtype=np.int64)
    if not contents.is_empty(HOLLOW):
        _, held = contents.codes(HOLLOW, 0, old.oid)
    if not nodes.hollow.size:
        return None, held
    come = nodes.hollow_rows(oids)
    codes = np.column_stack([oids[nodes.hollow[:, 0]], _label_codes(nodes, symbols)[nodes.hollow[:, 1]]])
    added, dropped = _net(codes, held)
    return come.take(pa.array(added)), held[dropped]


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
