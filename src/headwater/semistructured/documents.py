"""The handle of a document store: documents in, views over them, changes and proofs out.

    docs = Documents.from_json({"Guide": guide})
    view = docs.define("define view Cheap as Entrees = select e from Guide.Restaurant.Entree e where e.Price < 10;")
    docs.put("Guide", new_guide)
    view.documents(); view.changes.patches

Every change is one transaction: applied whole, or, on any error, not at all. A document keeps the ids of its objects
when it is replaced: they are matched by their path, items of arrays by their `id`. Objects that no name leads to any
more are garbage and go in the same transaction. A store belongs to one thread at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.core.errors import DataError
from headwater.core.python_warnings import warn_of
from headwater.core.source import Source
from headwater.database import Changes, Database
from headwater.engine.guard import DEFAULT_GUARD, Guard
from headwater.language.datalog.parse import parse as parse_datalog
from headwater.language.lorel import ChangeValue, DeleteEdge, InsertEdge, ViewDefinition, parse_lorel
from headwater.language.syntax import Tree
from headwater.pipeline import compile_tree
from headwater.semistructured.guide import NODE_KINDS, GuideCounts, GuidePath, graph_paths, tree_paths
from headwater.semistructured.output.patches import apply_patch
from headwater.semistructured.output.rendering import documents_of
from headwater.semistructured.output.view import DocumentView, shown_id
from headwater.semistructured.reading.loading import (
    DocumentBatch,
    Key,
    joined,
    paths_of,
    read_arrow,
    read_file,
    read_values,
    refuse,
)
from headwater.semistructured.reading.nodes import BadDocument, Nodes
from headwater.semistructured.reading.oem import read_oem
from headwater.semistructured.schema import ATOM, EDGE, NAME
from headwater.semistructured.store.base_graph import BaseGraph
from headwater.semistructured.store.contents import HOLLOW, HOLLOW_DECLARATION, Ints, StoredObjects, subgraph
from headwater.semistructured.store.difference import DocumentDifference, difference
from headwater.semistructured.store.editing import NewValue, ObjectEdit, check_old_values, edited
from headwater.semistructured.store.garbage import has_outside_parents, unreachable
from headwater.semistructured.store.recomputing import cost_of, recomputed_changes
from headwater.semistructured.store.texts import SymbolTexts
from headwater.semistructured.store.unseen import is_seen
from headwater.semistructured.views import (
    KnownNames,
    ViewSight,
    ground_update,
    parse_updates,
    program_tree,
    translate_all,
    update_warnings,
)

_BASE = (EDGE, ATOM, NAME, HOLLOW)


class Documents:
    """Documents by name and key, and the views that are defined over them."""

    def __init__(self, *, provenance: str = "witness", guard: Guard | int | None = DEFAULT_GUARD) -> None:
        self._provenance, self._guard = provenance, guard
        self._keys: dict[str, dict[Key, int]] = {}  # the roots of documents, by name and key
        self._next = 1
        self._views: list[DocumentView] = []
        self._waiting: dict[str, list[pa.Table]] = {}  # rows of a store whose database is not made yet
        self._db: Database | None = None
        self.rejected: tuple[BadDocument, ...] = ()
        self._guide: GuideCounts | None = None  # kept from when it is first asked for
        self._texts: SymbolTexts | None = None  # made when a document is first replaced
        self._sight = ViewSight(())
        self.recomputed = 0  # transactions for which the views were computed anew
        self.unseen = 0  # transactions that no view could see: for these no rule was run
        self._is_tree = True  # whether no object ever had two parents: then none is looked for

    # Loading

    @classmethod
    def from_json(cls, documents: Mapping[str, Any], *, key: str | None = None, **options: Any) -> Documents:
        """A document per name. A list stands for many documents of one name, known by `key` or by their place."""
        if not isinstance(documents, Mapping):
            raise DataError(
                f"error[HW820]: from_json takes documents by name, not {type(documents).__name__}; "
                'write Documents.from_json({"Orders": [...]}, key="id")'
            )
        docs = cls(**options)
        for name, document in documents.items():
            many = isinstance(document, list | tuple)
            values, keys = (list(document), range(len(document))) if many else ([document], [name])
            docs._take(name, read_values(values, key if many else None, name, keys), strict=True)
        return docs

    @classmethod
    def from_files(
        cls, pattern: str | PathLike[str] | Iterable[str | PathLike[str]], *, name: str, key: str | None = None,
        strict: bool = True, **options: Any,
    ) -> Documents:  # fmt: skip
        """The documents of .json, .jsonl, .ndjson and .parquet files; see `add_files`."""
        docs = cls(**options)
        docs.add_files(pattern, name=name, key=key, strict=strict)
        return docs

    @classmethod
    def from_arrow(cls, table: Any, *, name: str, key: str | None = None, **options: Any) -> Documents:
        """A document per row of an Arrow table (pandas and polars frames too); structs, lists and maps are nested."""
        docs = cls(**options)
        docs.add_arrow(table, name=name, key=key)
        return docs

    @classmethod
    def from_oem(cls, text: str, **options: Any) -> Documents:
        """A graph in the text form of OEM: `Guide &1 { Restaurant &2 { Name &5 "Thai City" } }`."""
        docs = cls(**options)
        graph = read_oem(text)
        docs._waiting = {relation: [table] for relation, table in graph.tables.items()}
        docs._keys = {name: {name: oid} for name, oid in graph.names.items()}
        docs._next = graph.largest + 1
        docs._is_tree = False
        return docs

    def add_files(
        self, pattern: str | PathLike[str] | Iterable[str | PathLike[str]], *, name: str, key: str | None = None,
        strict: bool = True,
    ) -> Changes | None:  # fmt: skip
        """Add or replace the documents of files. Those that cannot be read raise DataError, with their line and column;
        with `strict=False` they are set aside in `rejected`."""
        batches = [read_file(path, key) for path in paths_of(pattern)]
        return self._take(name, joined(batches), strict=strict)

    def add_arrow(self, table: Any, *, name: str, key: str | None = None) -> Changes | None:
        """Add or replace a document per row of an Arrow table."""
        return self._take(name, read_arrow(table, key, name), strict=True)

    def add(self, documents: Iterable[Any], *, name: str, key: str) -> Changes | None:
        """Add or replace documents, each known by a member."""
        values = list(documents)
        return self._take(name, read_values(values, key, name, range(len(values))), strict=True)

    # Changing

    def put(self, key: Key, document: Any, *, name: str | None = None) -> Changes | None:
        """Add a document, or replace the one of this key by the least changes. Bytes are JSON text."""
        name = self._name_of(key, name)
        return self._take(name, read_values([document], None, f"{name} {key!r}", [key]), strict=True)

    def put_all(
        self, documents: Mapping[Key, Any], *, name: str | None = None, remove: Iterable[Key] = ()
    ) -> Changes | None:
        """Put several documents, and remove others, in one transaction."""
        gone = list(dict.fromkeys(remove))
        if not documents and not gone:
            return None
        name = self._name_of(next(iter([*documents, *gone])), name)
        batch = read_values(list(documents.values()), None, name, list(documents))
        return self._take(name, batch, strict=True, removed=gone)

    def remove(self, key: Key, *, name: str | None = None) -> Changes:
        """Remove a document and all objects that only it leads to."""
        name, _ = self._found(key, name)
        changes = self.put_all({}, name=name, remove=[key])
        assert changes is not None
        return changes

    def patch(self, key: Key, patch: Sequence[Mapping[str, Any]] | str, *, name: str | None = None) -> Changes | None:
        """Change a document by a JSON Patch (RFC 6902)."""
        name, root = self._found(key, name)
        document = documents_of(BaseGraph(self._contents, times=True), [root], shown_id)[root]
        return self.put(key, apply_patch(document, patch), name=name)

    def update(
        self,
        insert: Iterable[tuple[int, str, Any]] = (),
        delete: Iterable[tuple[int, str, int]] = (),
        change: Iterable[tuple[int, Any]] = (),
    ) -> Changes:
        """Insert and delete edges (object, label, object) and change the values of atoms, all in one transaction.

        Deletes come first. A child may be the id of an object or, if it is no int, the value of a new one; an int as
        a value is `Documents.value(5)`.
        """
        edit = edited(self._contents, list(insert), list(delete), list(change), self._next)
        return self._apply_edit(edit)

    def execute(self, text: str) -> list[Changes]:
        """Run update statements of Lorel, each as one transaction: `update o.status := "late" from Orders o where
        ...;`, `Ins(&10, items, &15)`, `Chg(&7, 10, 20)`, which is refused where the value is not 10. If one is
        refused, those before it stay applied."""
        found = []
        for statement in parse_updates(text):
            warn_of(update_warnings(statement, self._known()))
            rows = {name: self.database.rows(name) for name in (EDGE, ATOM, NAME)}
            updates = ground_update(statement, rows)
            insert = [(one.parent, one.label, one.child) for one in updates if isinstance(one, InsertEdge)]
            delete = [(one.parent, one.label, one.child) for one in updates if isinstance(one, DeleteEdge)]
            changed = [one for one in updates if isinstance(one, ChangeValue)]
            check_old_values(self._contents, [(one.oid, one.old) for one in changed])
            change = [(one.oid, one.new) for one in changed]
            found.append(self.update(insert, delete, change))
        return found

    @staticmethod
    def value(value: Any) -> NewValue:
        """A value for a new object, where an int alone would be an id."""
        return NewValue(value)

    # Reading

    def document(self, key: Key, *, name: str | None = None) -> Any:
        """A document as it is now."""
        _, root = self._found(key, name)
        return documents_of(BaseGraph(self._contents), [root], shown_id)[root]

    def documents(self, name: str | None = None) -> dict[Key, Any]:
        """All documents of a name, by key."""
        name = name if name is not None else self._only_name()
        roots = self._collection(name)
        found = documents_of(BaseGraph(self._contents), roots.values(), shown_id)
        return {key: found[root] for key, root in roots.items()}

    def oid(self, key: Key, pointer: str = "", *, name: str | None = None) -> int:
        """The id of an object of a document, by a JSON Pointer such as `/items/0/sku`."""
        _, root = self._found(key, name)
        return BaseGraph(self._contents).at_pointer(root, pointer)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they came."""
        return tuple(self._keys)

    def keys(self, name: str | None = None) -> tuple[Key, ...]:
        """The keys of the documents of a name."""
        return tuple(self._collection(name if name is not None else self._only_name()))

    def guide(self) -> list[GuidePath]:
        """All label paths of the store, with how many objects each leads to, by kind."""
        if self._is_tree:
            if self._guide is None:
                counts = GuideCounts()
                for name, keys in self._keys.items():
                    counts.add(self._paths_of(name, np.array(list(keys.values()), dtype=np.int64)))
                self._guide = counts
            return self._guide.paths()
        return graph_paths(self._contents, {name: list(keys.values()) for name, keys in self._keys.items()})

    def _paths_of(self, name: str, roots: Ints) -> dict[tuple[str, ...], Counter[str]]:
        """The paths of documents that are stored."""
        tree = subgraph(self._contents, roots)
        words = self.database.reader.symbols.values
        labels = {code: words[code] for code in np.unique(tree.label).tolist() if code >= 0}
        kinds = {code: "object" if code < 0 else words[code] for code in np.unique(tree.kind).tolist()}
        return tree_paths(name, tree.parent, tree.label, tree.kind, labels, kinds)

    @property
    def database(self) -> Database:
        """The database underneath: relations `edge`, `atom` and `name`, and those of the views."""
        if self._db is None:
            self._db = self._built(self._views, {name: _together(tables) for name, tables in self._waiting.items()})
            self._waiting = {}
        return self._db

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, indexes and witnesses, and about as many as their texts take."""
        return self.database.reader.nbytes + (0 if self._texts is None else self._texts.nbytes)

    # Views

    @property
    def views(self) -> tuple[DocumentView, ...]:
        return tuple(self._views)

    def define(self, text: str) -> DocumentView:
        """Define a view by a statement of Lorel: `define view V as N = select ... from ... where ... with ...;`."""
        return self.define_views([_definition(text)])[0]

    def define_views(self, definitions: Sequence[ViewDefinition]) -> list[DocumentView]:
        """Define several views, given as syntax trees, at once."""
        taken = {view.name for view in self._views}
        for definition in definitions:
            if definition.name in taken:
                raise DataError(f"error[HW821]: there is a view `{definition.name}` already")
            taken.add(definition.name)
        programs = translate_all(definitions, self._known(), [view.program for view in self._views])
        added = [DocumentView(self, program) for program in programs]
        if self._db is None:
            rows = {name: _together(tables) for name, tables in self._waiting.items()}
        else:
            rows = {relation: self._db.table(relation) for relation in _BASE}
        self._db = self._built([*self._views, *added], rows)
        self._views, self._waiting = [*self._views, *added], {}
        ranged_over = {name for view in self._views for name in view.program.ranges_over}
        self._sight = ViewSight((view.program.definition for view in self._views), ranged_over)
        for program in programs:
            warn_of(program.warnings)
        return added

    def _built(self, views: Sequence[DocumentView], rows: Mapping[str, pa.Table]) -> Database:
        tree = program_tree([view.program for view in views])
        own = parse_datalog(Source("<document store>", HOLLOW_DECLARATION)).statements
        db = Database(compile_tree(Tree((*own, *tree.statements))), self._provenance, guard=self._guard)
        db.apply(insert=rows)
        return db

    def _known(self) -> KnownNames:
        """Names and labels of the store, to warn of those that nearly match."""
        if self._db is None:
            labels = {label for table in self._waiting.get(EDGE, ()) for label in table["label"].unique().to_pylist()}
        else:
            labels = set(self._db.table(EDGE)["label"].unique().to_pylist())
        return KnownNames(tuple(self._keys), labels)

    # One way in

    @property
    def _contents(self) -> StoredObjects:
        return StoredObjects(self.database.reader, is_tree=self._is_tree)

    def _symbol_texts(self) -> SymbolTexts:
        symbols = self.database.reader.symbols
        if self._texts is None or self._texts.symbols is not symbols:
            self._texts = SymbolTexts(symbols)
        return self._texts

    def _take(self, name: str, batch: DocumentBatch, *, strict: bool, removed: Sequence[Key] = ()) -> Changes | None:
        """Add or replace documents of a name, and remove others."""
        if batch.nodes.rejected and strict:
            raise refuse(batch.nodes.rejected)
        known = self._keys.get(name, {})
        stored = np.full(len(batch.keys), -1, dtype=np.int64)
        if known:
            stored[:] = [known.get(key, -1) for key in batch.keys]
        coming = set(batch.keys) if removed else set()
        removed = [key for key in removed if key not in coming]
        gone = [self._found(key, name)[1] for key in removed]
        changes = None
        if self._guide is not None:
            replaced = np.append(stored[stored >= 0], gone).astype(np.int64)
            before_paths = self._paths_of(name, replaced)
        if self._db is None and not (stored >= 0).any() and not gone:
            roots = self._wait(name, batch)
        else:
            before = np.append(stored, gone).astype(np.int64)
            change = difference(self._contents, self._symbol_texts(), batch.nodes, before, self._next)
            roots = change.oids[batch.nodes.roots[batch.nodes.roots >= 0]]
            moved = np.flatnonzero(stored != roots).tolist()
            unnamed = {(name, int(stored[at])) for at in moved if stored[at] >= 0} | {(name, root) for root in gone}
            named = {NAME: [(name, int(roots[at])) for at in moved]} if moved else {}
            changes = self._commit(change, named, {NAME: sorted(unnamed)} if unnamed else {}, unnamed=unnamed)
        self._keys.setdefault(name, {}).update(zip(batch.keys, roots.tolist(), strict=True))
        for key in removed:
            del self._keys[name][key]
        self.rejected += batch.nodes.rejected
        if self._guide is not None:
            self._guide.add(before_paths, -1)
            self._guide.add(_node_paths(name, batch.nodes))
        return changes

    def _wait(self, name: str, batch: DocumentBatch) -> Ints:
        """Keep rows until a database is made: then they are loaded once, with the views."""
        nodes = batch.nodes
        oids = self._next + np.arange(nodes.size, dtype=np.int64)
        roots = oids[nodes.roots[nodes.roots >= 0]]
        named = pa.DictionaryArray.from_arrays(pa.array(np.zeros(roots.size, dtype=np.int32)), pa.array([name]))
        for relation, table in (
            (EDGE, nodes.edges(oids)),
            (ATOM, nodes.atoms(oids)),
            (NAME, pa.table({"name": named, "oid": roots})),
            (HOLLOW, nodes.hollow_rows(oids)),
        ):
            self._waiting.setdefault(relation, []).append(table)
        self._next += nodes.size
        return roots

    def _commit(
        self,
        change: DocumentDifference,
        insert: dict[str, Any],
        delete: dict[str, Any],
        *,
        unnamed: set[tuple[str, int]],
    ) -> Changes:
        contents, symbols = self._contents, self.database.reader.symbols
        gone, edges, hollow = change.gone, change.old_edges, change.old_hollow
        if gone.size and not self._is_tree and (
            has_outside_parents(contents, gone, np.union1d(gone, change.oids))
            or self._is_named(contents, gone, unnamed)
        ):  # fmt: skip
            words, going = symbols.values, set(gone.tolist())
            deleted = [(int(a), words[b], int(c), int(d)) for a, b, c, d in edges.tolist() if a not in going]
            lost = unreachable(contents, gone.tolist(), deleted, unnamed=unnamed)
            stays = np.array(sorted(set(gone.tolist()) - lost), dtype=np.int64)
            edges, hollow = edges[~np.isin(edges[:, 0], stays)], hollow[~np.isin(hollow[:, 0], stays)]
            gone = np.array(sorted(lost), dtype=np.int64)
        insert = {**change.inserted, **insert}
        if edges.size:
            delete[EDGE] = pa.table(
                {
                    "parent": edges[:, 0],
                    "label": _words(edges[:, 1], symbols.values),
                    "child": edges[:, 2],
                    "place": edges[:, 3],
                }
            )
        if hollow.size:
            delete[HOLLOW] = pa.table({"parent": hollow[:, 0], "label": _words(hollow[:, 1], symbols.values)})
        if gone.size:
            delete[ATOM] = contents.rows(ATOM, 0, gone)
        changes = self._apply(insert, delete)
        self._next += change.fresh
        return changes

    @staticmethod
    def _is_named(contents: StoredObjects, gone: Ints, unnamed: set[tuple[str, int]]) -> bool:
        return any((name, oid) not in unnamed for name, oid in contents.rows(NAME, 1, gone))

    def _apply_edit(self, edit: ObjectEdit) -> Changes:
        changes = self._apply(edit.insert, edit.delete)
        if EDGE in edit.insert or EDGE in edit.delete or ATOM in edit.insert:
            self._guide = None
        self._is_tree &= not edit.shares
        self._next += edit.fresh
        return changes

    def _apply(self, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> Changes:
        contents = self._contents
        seen = is_seen(self._sight, contents, insert, delete)
        if seen and cost_of(contents, insert, delete).recomputes:
            changes = self._recompute(insert, delete)
        elif seen:
            changes = self.database.apply(insert=insert, delete=delete)
        else:
            changes = self.database.apply_unread(insert, delete)
        self.unseen += not seen
        for view in self._views:
            view._changed(changes)
        return changes

    def _recompute(self, insert: Mapping[str, Any], delete: Mapping[str, Any]) -> Changes:
        """Change the base rows, and compute all views anew over them."""
        old = self.database
        before = {relation: old.table(relation) for view in self._views for relation in view.program.relations}
        stored = old.apply_unread(insert, delete)
        try:
            self._db = self._built(self._views, {relation: old.table(relation) for relation in _BASE})
        except BaseException:
            undone = {relation: stored[relation] for relation in _BASE}
            back = {relation: change.deleted for relation, change in undone.items()}
            old.apply_unread(back, {relation: each.inserted for relation, each in undone.items()})
            raise
        self.recomputed += 1
        return recomputed_changes(stored, before, self._db)

    # Names and keys

    def _collection(self, name: str) -> dict[Key, int]:
        if name not in self._keys:
            names = ", ".join(f"`{one}`" for one in self._keys) or "none yet"
            raise DataError(f"error[HW821]: there is no name `{name}`; the names are {names}")
        return self._keys[name]

    def _only_name(self) -> str:
        if len(self._keys) != 1:
            names = ", ".join(f"`{one}`" for one in self._keys) or "none yet"
            raise DataError(f"error[HW821]: the store has several names or none ({names}); pass name=...")
        return next(iter(self._keys))

    def _name_of(self, key: Key, name: str | None) -> str:
        if not isinstance(key, str | int) or isinstance(key, bool):
            raise DataError(f"error[HW821]: a key is a string or an int, not {key!r}")
        if name is not None:
            return name
        return key if isinstance(key, str) and key in self._keys else self._only_name()

    def _found(self, key: Key, name: str | None) -> tuple[str, int]:
        name = self._name_of(key, name)
        root = self._collection(name).get(key)
        if root is None:
            raise DataError(f"error[HW821]: there is no document {key!r} of the name `{name}`")
        return name, root


def _node_paths(name: str, nodes: Nodes) -> dict[tuple[str, ...], Counter[str]]:
    labels = dict(enumerate(nodes.labels))
    return tree_paths(name, nodes.parent, nodes.label.astype(np.int64), nodes.kind.astype(np.int64), labels, NODE_KINDS)


def _definition(text: str) -> ViewDefinition:
    """The one view that a text defines."""
    match parse_lorel(text).statements:
        case (ViewDefinition() as view,):
            return view
        case _:
            raise DataError("error[HW821]: a text of one view should be here: define view V as N = select ...;")


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    return tables[0] if len(tables) == 1 else pa.concat_tables([_plain(table) for table in tables])


def _plain(table: pa.Table) -> pa.Table:
    """With texts of one type: those that readers make differ, and dictionaries differ from table to table."""

    def plain(kind: pa.DataType) -> pa.DataType:
        return pa.large_string() if pa.types.is_dictionary(kind) or pa.types.is_string(kind) else kind

    return table.cast(pa.schema([pa.field(field.name, plain(field.type)) for field in table.schema]))


def _words(codes: Ints, words: Sequence[Any]) -> pa.DictionaryArray:
    distinct, places = np.unique(codes, return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array([words[at] for at in distinct.tolist()]))
