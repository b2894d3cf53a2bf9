"""The keys of documents that were scanned: the int or string that a path of labels leads to."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from headwater.semistructured.reading.kernels.scanning import INT, STRING
from headwater.semistructured.reading.loading import Key
from headwater.semistructured.reading.nodes import Nodes


def keys_of(nodes: Nodes, path: Sequence[str]) -> list[Key | None]:
    """The key of every document, by a path of members from its root; None where there is none."""
    there = np.flatnonzero(nodes.roots >= 0)
    owner = np.full(nodes.size, -1, dtype=np.int64)  # the document whose path has come as far as a node
    owner[nodes.roots[there]] = there
    for step in path:
        label = nodes.labels.index(step) if step in nodes.labels else -2
        found = np.flatnonzero((nodes.label == label) & (nodes.place < 0))
        after = np.full(nodes.size, -1, dtype=np.int64)
        after[found] = owner[nodes.parent[found]]
        owner = after
    keys: list[Key | None] = [None] * nodes.roots.size
    ends = np.flatnonzero((owner >= 0) & ((nodes.kind == INT) | (nodes.kind == STRING)))
    for node, document in zip(ends.tolist(), owner[ends].tolist(), strict=True):
        text = nodes.text[node].as_py()
        keys[document] = int(text) if nodes.kind[node] == INT else text
    return keys


def key_text(key: Key) -> str:
    """A key as text in which 1 and "1" differ."""
    return json.dumps(key, ensure_ascii=False)
