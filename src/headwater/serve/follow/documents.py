"""A folder of changes to documents: each file that arrives in it is a transaction, oldest first."""

from __future__ import annotations

from pathlib import Path

from headwater.semistructured.change_files import apply_changes
from headwater.serve.follow.files import arrived_in
from headwater.serve.live import Live

_SUFFIXES = (".jsonl", ".ndjson")


class DocumentFolder:
    """Files of documents, patches and deletes, as of `headwater run --changes`. They must arrive whole."""

    def __init__(self, name: str, path: Path, key: str | None) -> None:
        self._name = name
        self._path = path
        self._key = key
        self._seen: set[str] = set()

    def poll(self, live: Live) -> bool:
        found = arrived_in(self._path, self._seen, _SUFFIXES)
        for path in found:
            self._seen.add(path.name)
            self._apply(live, path)
        return bool(found)

    def _apply(self, live: Live, path: Path) -> None:
        live.change_documents(path.name, lambda docs: apply_changes(docs, self._name, str(path), self._key)).result()
