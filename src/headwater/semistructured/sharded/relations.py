"""The base relations of documents on several shards, and the relations that a view's documents are read from.

A document lives on one shard, with all its rows: the ids of its objects are ints that the shard owns, and `edge`,
`atom` and `hollow` live by their first column, an object. `document(oid, name, key)` says what a root is called and
known by; the key is JSON text. `minted(oid)` is the largest id that the shard has given. Every relation has a key, so
that its rows are fed to one shard alone: copies that rules ask for are shipped by the shards themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

DOCUMENT: Final = "document"
MINTED: Final = "minted"

DECLARATIONS: Final = """\
relation edge(parent: int, label: string, child: int, place: int) key(parent, label, child, place) optional.
relation atom(oid: int, kind: string, text: string?, number: float?) key(oid) optional.
relation hollow(parent: int, label: string) key(parent, label) optional.
relation document(oid: int, name: string, key: string) key(oid) optional.
relation minted(oid: int) key(oid) optional.
"""


@dataclass(frozen=True, slots=True)
class MadeObjects:
    """The objects that a statement makes: `made(id)`, its members, and what is inside the objects that they lead to."""

    made: str
    edges: str | None = None  # (id, label, oid, place)
    values: str | None = None  # (id, label, kind, text, number)
    inner_edges: str | None = None  # (id, parent, label, child, place)
    inner_atoms: str | None = None  # (id, oid, kind, text, number)

    @property
    def relations(self) -> tuple[str, ...]:
        every = (self.made, self.edges, self.values, self.inner_edges, self.inner_atoms)
        return tuple(name for name in every if name is not None)


@dataclass(frozen=True, slots=True)
class ShownView:
    """The relations that a view's documents are read from."""

    name: str
    objects: tuple[str, ...] = ()  # (oid): selected objects of the store
    values: tuple[str, ...] = ()  # (id, kind, text, number): selected values
    made: tuple[MadeObjects, ...] = ()
    edges: str | None = None  # (parent, label, child, place): what the with clauses import

    @property
    def relations(self) -> tuple[str, ...]:
        inner = (name for each in self.made for name in each.relations)
        return (*self.objects, *self.values, *inner, *((self.edges,) if self.edges is not None else ()))

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> ShownView:
        made = tuple(MadeObjects(**each) for each in given["made"])
        return cls(given["name"], tuple(given["objects"]), tuple(given["values"]), made, given["edges"])
