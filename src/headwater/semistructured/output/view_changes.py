"""What a transaction changed in a view: Ins, Del and Chg of its objects, and JSON Patches of its documents.

Only documents that a changed edge or value can reach are written, before and after; what they cost follows the change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headwater.database import Changes
from headwater.semistructured.output.patches import Patch, make_patch
from headwater.semistructured.output.rendering import documents_of
from headwater.semistructured.output.view_graph import ViewGraph, read_value, row_tuples
from headwater.semistructured.schema import ATOM
from headwater.semistructured.store.contents import value_of
from headwater.semistructured.views import ViewPart, ViewProgram


@dataclass(frozen=True, slots=True)
class Ins:
    """An edge that came; the parent of a primary object is the view's name, the label the statement's."""

    parent: str
    label: str
    child: Any

    def __str__(self) -> str:
        return f"Ins({self.parent}, {self.label}, {self.child})"


@dataclass(frozen=True, slots=True)
class Del:
    """An edge that went."""

    parent: str
    label: str
    child: Any

    def __str__(self) -> str:
        return f"Del({self.parent}, {self.label}, {self.child})"


@dataclass(frozen=True, slots=True)
class Chg:
    """A value that changed."""

    oid: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"Chg({self.oid}, {self.old!r}, {self.new!r})"


ViewOperation: TypeAlias = Ins | Del | Chg


@dataclass(frozen=True, slots=True)
class ViewChanges:
    """Operations on the view's objects, deletes first, and a patch for each document that differs, by its id.

    A patch with the path "" adds a whole document, or removes it.
    """

    operations: tuple[ViewOperation, ...]
    patches: dict[str, Patch]

    def __bool__(self) -> bool:
        return bool(self.operations or self.patches)


def view_changes(
    graph: ViewGraph, program: ViewProgram, changes: Changes, delegate: Callable[[Any], str],
    shown: Callable[[Any], str], *, patches: bool = True,
) -> ViewChanges:  # fmt: skip
    """The changes of a view in a transaction. Without `patches` the transaction need not have been applied."""
    edges = _edge_changes(graph, program, changes, delegate)
    touched = _touched(program, changes)
    before = graph.before(changes)
    changed = _value_changes(graph, before, program, changes) if patches else {}
    values = [Chg(delegate(oid), old, new) for oid, (old, new) in sorted(changed.items())]
    gone = [edge for edge in edges if isinstance(edge, Del)]
    come = [edge for edge in edges if isinstance(edge, Ins)]
    operations: tuple[ViewOperation, ...] = (*gone, *values, *come)
    touched |= changed.keys()  # items that only change places are no operation, but their document differs
    if not touched or not patches:
        return ViewChanges(operations, {})
    roots = _roots_above(graph, before, program, touched)
    old_roots, new_roots = _primaries(before, program, roots), _primaries(graph, program, roots)
    old = documents_of(before, old_roots, delegate)
    new = documents_of(graph, new_roots, delegate)
    found: dict[str, Patch] = {}
    for root in sorted(old_roots | new_roots, key=repr):
        if root not in new:
            found[delegate(root)] = [{"op": "remove", "path": ""}]
        elif root not in old:
            found[delegate(root)] = [{"op": "add", "path": "", "value": new[root]}]
        else:
            patch = make_patch(old[root], new[root])
            if patch:
                found[delegate(root)] = patch
    return ViewChanges(operations, found)


def _edge_changes(
    graph: ViewGraph, program: ViewProgram, changes: Changes, delegate: Callable[[Any], str]
) -> list[ViewOperation]:
    found: list[ViewOperation] = []

    def note(relation: str | None, read: Callable[[tuple[Any, ...]], tuple[str, str, Any]]) -> None:
        if relation is None or not changes[relation]:
            return
        went, came = row_tuples(changes[relation].deleted), row_tuples(changes[relation].inserted)
        gone, come = set(map(read, went)), set(map(read, came))
        if relation in with_places:  # an object may stand several times in an array: it is one edge, which stays
            there = set(map(read, graph.unchanged_edges(relation, [*went, *came])))
            gone, come = gone - there, come - there
        found.extend(Del(*edge) for edge in sorted(gone - come, key=repr))
        found.extend(Ins(*edge) for edge in sorted(come - gone, key=repr))

    with_places = {program.edges, *(part.made_edges for part in program.parts)}

    for part in program.parts:
        top = part.name
        note(part.objects, lambda row, top=top: (program.name, top, delegate(row[0])))  # type: ignore[misc]
        note(part.made, lambda row, top=top: (program.name, top, delegate(row[0])))  # type: ignore[misc]
        note(part.values, lambda row, top=top: (program.name, top, read_value(*row[1:4])))  # type: ignore[misc]
        note(part.made_edges, lambda row: (delegate(row[0]), row[1], delegate(row[2])))
        note(part.made_values, lambda row: (delegate(row[0]), row[1], read_value(*row[2:5])))
    note(program.edges, lambda row: (delegate(row[0]), row[1], delegate(row[2])))
    return found


def _touched(program: ViewProgram, changes: Changes) -> set[Any]:
    """The objects at whose edges something changed."""
    relations = [program.edges]
    for part in program.parts:
        relations += [part.objects, part.made, part.made_edges, part.made_values, part.values]
    return {
        row[0]
        for relation in relations
        if relation is not None and changes[relation]
        for table in (changes[relation].inserted, changes[relation].deleted)
        for row in row_tuples(table)
    }


def _value_changes(
    graph: ViewGraph, before: ViewGraph, program: ViewProgram, changes: Changes
) -> dict[int, tuple[Any, Any]]:
    """Old and new values of the atoms in the view, before and after, that have another one."""
    atoms = changes[ATOM]
    if not atoms:
        return {}
    old = {row[0]: value_of(row[1], row[2]) for row in row_tuples(atoms.deleted)}
    new = {row[0]: value_of(row[1], row[2]) for row in row_tuples(atoms.inserted)}
    both = [oid for oid in old if oid in new]
    shown = {oid for oid in both if oid in _in_view(graph, program, both)} if both else set()
    shown &= _in_view(before, program, both) if both else set()
    return {oid: (old[oid], new[oid]) for oid in shown if not _is_same(old[oid], new[oid])}


def _is_same(old: Any, new: Any) -> bool:
    """Whether two values are written alike, as a time and its text are: a document does not show which it has."""
    return type(old) is type(new) and repr(old) == repr(new)


def _in_view(graph: ViewGraph, program: ViewProgram, oids: list[int]) -> set[Any]:
    found: set[Any] = set()
    for relation in (program.adjuncts, *(part.objects for part in program.parts)):
        if relation is not None:
            found |= graph.holds(relation, oids)
    missing = [oid for oid in oids if oid not in found]
    return found | {oid for oid in missing if graph.made_parents([oid])}


def _roots_above(graph: ViewGraph, before: ViewGraph, program: ViewProgram, touched: set[Any]) -> set[Any]:
    """Everything from which a touched object can be reached in the view, before or after."""
    found = set(touched)
    level = [oid for oid in touched if isinstance(oid, int)]
    while level:
        above = {*graph.parents(level), *before.parents(level)} - found
        made = {*graph.made_parents(level), *before.made_parents(level)} - found
        found |= above | made
        level = list(above)
    return found


def _primaries(graph: ViewGraph, program: ViewProgram, oids: set[Any]) -> set[Any]:
    def relation(part: ViewPart) -> str | None:
        return part.objects or part.made or part.values

    names = [name for name in map(relation, program.parts) if name is not None]
    return set().union(*(graph.holds(name, list(oids)) for name in names)) if names else set()
