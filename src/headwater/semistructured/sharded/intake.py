"""Documents as base rows of the shard that holds them: the least changes, and ids that no other shard gives.

Which shard holds a document follows from its name and key. The shard finds the old document among its own base rows,
so that nothing is kept twice. A node that stays keeps its id (see `store.difference`); a new one gets the next int that
the shard owns. Every int has one owner, so no two shards ever give the same id, and all rows of a document live where
the document does.

The shard is only read here. Its symbols do not grow either: a replay of the transaction does not come this way, and
must number them alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from headwater.engine.codes.symbols import SymbolsAside
from headwater.engine.reading import StoreReader, TableReader
from headwater.exchange import Member
from headwater.semistructured.reading.loading import DocumentBatch, joined
from headwater.semistructured.reading.nodes import Nodes
from headwater.semistructured.reading.scan import scan_texts
from headwater.semistructured.schema import ATOM, ATOM_COLUMNS, EDGE, EDGE_COLUMNS
from headwater.semistructured.sharded.relations import DOCUMENT, MINTED
from headwater.semistructured.store.contents import HOLLOW, Ints, StoredObjects
from headwater.semistructured.store.difference import DocumentDifference, difference
from headwater.semistructured.store.texts import SymbolTexts

_TEXTS: WeakKeyDictionary[Member, SymbolTexts] = WeakKeyDictionary()  # of the shards that this process keeps
_SCANNED = 1 << 29  # bytes that are scanned at once; the kernel takes less than 2 GiB
_UNMINTED = 1 << 60  # nodes are numbered from here until it is known how many ids they need


@dataclass(frozen=True, slots=True)
class GivenDocument:
    """A document that a shard holds from now on; without a text it goes."""

    name: str
    key: str  # as `key_text` writes it
    text: bytes | None


@dataclass(frozen=True, slots=True)
class BaseChanges:
    """Base rows to insert and to delete; an atom whose value changed is among both."""

    inserts: dict[str, pa.Table] = field(default_factory=dict)
    deletes: dict[str, pa.Table] = field(default_factory=dict)


def base_changes(member: Member, documents: Sequence[GivenDocument]) -> BaseChanges:
    """What becomes of documents, no two with the same name and key, whose texts can be read."""
    if not documents:
        return BaseChanges()
    contents = StoredObjects(reader_of(member), is_tree=True)
    put = [each for each in documents if each.text is not None]
    stored = _roots(member, put)
    gone = _roots(member, [each for each in documents if each.text is None])
    gone = gone[gone >= 0]
    nodes = _scanned([each.text for each in put if each.text is not None])
    before = np.append(stored, gone)
    change = _difference(contents, member, nodes, before)
    first = _last_minted(member)
    minted = member.owned_ints(first + 1, change.fresh)
    inserts = {name: _with_ids(table, minted) for name, table in change.inserted.items()}
    deletes = _deleted(contents, change, inserts.get(ATOM))
    if minted.size:
        inserts[MINTED] = pa.table({"oid": minted[-1:]})
        if first:
            deletes[MINTED] = pa.table({"oid": np.array([first])})
    roots = _minted(change.oids[nodes.roots], minted)
    moved = np.flatnonzero(roots != stored)
    if moved.size:
        named = [put[at] for at in moved.tolist()]
        texts = ([each.name for each in named], [each.key for each in named])
        inserts[DOCUMENT] = pa.table({"oid": roots[moved], "name": texts[0], "key": texts[1]})
    unnamed = np.append(stored[moved], gone)
    _add_rows(deletes, DOCUMENT, ("oid", "name", "key"), contents, unnamed[unnamed >= 0])
    return BaseChanges(inserts, {name: rows for name, rows in deletes.items() if rows.num_rows})


def reader_of(member: Member) -> StoreReader:
    return StoreReader(member.shard.stores, member.shard.symbols)


def _scanned(texts: Sequence[bytes]) -> Nodes:
    """The nodes of all texts, scanned in parts of a bounded size."""
    ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    part = ends // _SCANNED
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(texts)]
    batches = []
    for start, end in pairwise(cuts):
        nodes = scan_texts(texts[start:end], "documents")
        assert not nodes.rejected, "documents that cannot be read are set aside before"
        batches.append(DocumentBatch(nodes, tuple(range(start, end))))
    return joined(batches).nodes


def _roots(member: Member, documents: Sequence[GivenDocument]) -> Ints:
    """The root that each document has here; -1: there is no such document."""
    symbols = member.shard.symbols
    codes = [(symbols.find(each.name), symbols.find(each.key)) for each in documents]
    asked = np.array(codes, dtype=np.int64).reshape(-1, 2)
    found = np.full(len(documents), -1, dtype=np.int64)
    known = np.flatnonzero((asked >= 0).all(axis=1))
    if known.size:
        table = TableReader(member.shard.stores[DOCUMENT])
        which, rows = table.with_keys((1, 2), asked[known])
        found[known[which]] = table.codes(rows)[:, 0]
    return found


def _difference(contents: StoredObjects, member: Member, nodes: Nodes, before: Ints) -> DocumentDifference:
    if (before >= 0).any():
        symbols = member.shard.symbols
        texts = _TEXTS.get(member)
        if texts is None or texts.symbols is not symbols:
            texts = _TEXTS[member] = SymbolTexts(symbols)
        return difference(contents, texts, nodes, before, _UNMINTED, SymbolsAside(symbols))
    oids = _UNMINTED + np.arange(nodes.size, dtype=np.int64)  # nothing to compare with
    tables = {EDGE: nodes.edges(oids), ATOM: nodes.atoms(oids), HOLLOW: nodes.hollow_rows(oids)}
    inserted = {name: table for name, table in tables.items() if table.num_rows}
    none = np.zeros(0, dtype=np.int64)
    return DocumentDifference(oids, nodes.size, inserted, none.reshape(0, 4), none.reshape(0, 2), none)


def _last_minted(member: Member) -> int:
    table = TableReader(member.shard.stores[MINTED])
    return int(table.codes(table.alive())[:, 0].max(initial=0))


def _minted(oids: Ints, minted: Ints) -> Ints:
    fresh = oids >= _UNMINTED
    found = oids.copy()
    found[fresh] = minted[oids[fresh] - _UNMINTED]
    return found


def _with_ids(table: pa.Table, minted: Ints) -> pa.Table:
    """Rows with the ids of new objects in the place of their numbers; texts without dictionaries, as a log has them."""
    columns: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in ("parent", "child", "oid"):
            columns[name] = _minted(column.to_numpy(), minted)
        else:
            columns[name] = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    return pa.table(columns)


def _deleted(contents: StoredObjects, change: DocumentDifference, atoms: pa.Table | None) -> dict[str, pa.Table]:
    """The rows that go; with every atom that gets another value, its old one."""
    words = contents.words
    deletes: dict[str, pa.Table] = {}
    for name, columns, codes in (
        (EDGE, EDGE_COLUMNS, change.old_edges),
        (HOLLOW, ("parent", "label"), change.old_hollow),
    ):
        if codes.size:
            held: Mapping[str, Any] = {column: codes[:, at] for at, column in enumerate(columns)}
            labels = pa.array([words[code] for code in codes[:, 1].tolist()], type=pa.string())
            deletes[name] = pa.table({**held, "label": labels})
    replaced = change.gone if atoms is None else np.append(change.gone, atoms.column("oid").to_numpy())
    _add_rows(deletes, ATOM, ATOM_COLUMNS, contents, replaced)
    return deletes


_TYPES = {"oid": pa.int64(), "number": pa.float64()}


def _add_rows(
    deletes: dict[str, pa.Table], relation: str, columns: tuple[str, ...], contents: StoredObjects, oids: Ints
) -> None:
    """The rows of these objects, as they are."""
    rows = contents.rows(relation, 0, oids) if oids.size else []
    if rows:
        parts = zip(*rows, strict=True)
        deletes[relation] = pa.table(
            {
                name: pa.array(part, type=_TYPES.get(name, pa.string()))
                for name, part in zip(columns, parts, strict=True)
            }
        )
