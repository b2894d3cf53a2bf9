"""Documents as flat arrays: what every reader of JSON, Arrow or Python values makes, and what becomes rows.

Nodes lie in preorder, document by document. A node has its parent (-1: the root of a document), the label of the edge
that leads to it, its place in an array (-1: in none), its kind and, if it is an atom, its text and number. Labels
are numbered; label 0 is `[]`, that of the items of an array that is a node.

`hollow` names the arrays without items: there is no edge that could say that they are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.semistructured.reading import kernels
from headwater.semistructured.reading.kernels.scanning import BOOL, COMPLEX, INT, NULL, REAL, STRING, TIME
from headwater.semistructured.schema import KINDS

KIND_NAMES = pa.array(["complex", *KINDS])
assert KIND_NAMES.to_pylist() == ["complex", "int", "real", "string", "bool", "null", "time"]
assert tuple(range(7)) == (COMPLEX, INT, REAL, STRING, BOOL, NULL, TIME)

Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class BadDocument:
    """A document that cannot be read: which one it was, what is wrong, and where, as a user finds it."""

    position: int
    reason: str
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Nodes:
    """Documents as flat arrays; `roots[d]` is the root of the d-th document, or -1 where it is set aside."""

    parent: Ints32
    label: Ints32
    place: Ints32
    kind: npt.NDArray[np.int8]
    text: pa.LargeStringArray  # null for objects and for JSON's null
    number: npt.NDArray[np.float64]  # NaN where there is none
    labels: tuple[str, ...]
    hollow: Ints32  # (node, label) pairs
    roots: Ints
    rejected: tuple[BadDocument, ...] = ()

    @property
    def size(self) -> int:
        return int(self.parent.size)

    def edges(self, oids: Ints) -> pa.Table:
        """The edges as rows, if the nodes have these ids. Those of an object are side by side: so they load best."""
        inner = np.empty(self.size - np.count_nonzero(self.parent < 0), dtype=np.int32)
        kernels.by_parent(self.parent, inner)
        return self.edge_rows(inner, oids)

    def edge_rows(self, inner: npt.NDArray[np.signedinteger[Any]], oids: Ints) -> pa.Table:
        """The edges that lead to some of the nodes."""
        return pa.table(
            {
                "parent": oids[self.parent[inner]],
                "label": self.label_column(self.label[inner]),
                "child": oids[inner],
                "place": self.place[inner].astype(np.int64),
            }
        )

    def atoms(self, oids: Ints) -> pa.Table:
        """The atoms as rows, if the nodes have these ids."""
        atomic = np.flatnonzero(self.kind != COMPLEX)
        return self.atom_rows(atomic, oids[atomic])

    def atom_rows(self, nodes: npt.NDArray[np.intp], oids: Ints) -> pa.Table:
        number = self.number[nodes]
        every = nodes.size == self.size
        return pa.table(
            {
                "oid": oids,
                "kind": pa.DictionaryArray.from_arrays(pa.array(self.kind[nodes]), KIND_NAMES),
                "text": self.text if every else self.text.take(pa.array(nodes)),
                "number": pa.array(number, mask=np.isnan(number)),
            }
        )

    def hollow_rows(self, oids: Ints) -> pa.Table:
        """The empty arrays as rows, if the nodes have these ids."""
        return pa.table({"parent": oids[self.hollow[:, 0]], "label": self.label_column(self.hollow[:, 1])})

    def label_column(self, labels: Ints32) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array(labels), pa.array(self.labels, type=pa.string()))
