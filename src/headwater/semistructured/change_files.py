"""Files of changes to documents.

A line is one of three: a document, which is put under its key; `{"_key": K, "_patch": [...]}`, a JSON Patch of the
document K; or `{"_key": K, "_change_type": "delete"}`. A file is one transaction.
"""

from __future__ import annotations

import json
from typing import Any

from headwater.core.errors import DataError
from headwater.database import Changes
from headwater.files.read import bytes_of
from headwater.files.rows import CHANGE_TYPE
from headwater.semistructured.documents import Documents
from headwater.semistructured.output.patches import apply_patch
from headwater.semistructured.reading.loading import paths_of

_KEY, _PATCH = "_key", "_patch"


def apply_changes(docs: Documents, name: str, path: str, key: str | None) -> Changes | None:
    """Apply a file of changes as one transaction; None: it holds none."""
    put: dict[Any, Any] = {}
    gone: dict[Any, None] = {}
    for place in paths_of(path):
        for number, line in enumerate(bytes_of(place).decode("utf-8", "replace").splitlines(), 1):
            if not line.strip():
                continue
            try:
                _note(docs, name, key, json.loads(line), put, gone)
            except (ValueError, DataError) as problem:
                reason = str(problem).removeprefix("error[HW822]: ").removeprefix("error[HW821]: ")
                raise DataError(f"error[HW822]: {place}, line {number}: {reason}; nothing was applied") from None
    return docs.put_all(put, name=name, remove=[one for one in gone if one not in put])


def _note(docs: Documents, name: str, key: str | None, change: Any, put: dict[Any, Any], gone: dict[Any, None]) -> None:
    if not isinstance(change, dict):
        raise DataError("a change is a JSON object")
    if _KEY in change and not _is_key(change[_KEY]):
        raise DataError(f"`{_KEY}` is a string or an int")
    if _PATCH in change:
        known: Any = change.get(_KEY)
        if known in gone or (known not in put and known not in docs.keys(name)):
            raise DataError(f"there is no document {known!r} to patch")
        put[known] = apply_patch(put[known] if known in put else docs.document(known, name=name), change[_PATCH])
    elif change.get(CHANGE_TYPE) == "delete":
        known = change.get(_KEY, change.get(key) if key else None)
        if not _is_key(known) or (known not in put and known not in docs.keys(name)):
            raise DataError(f"there is no document {known!r} to delete")
        put.pop(known, None)
        if known in docs.keys(name):
            gone[known] = None
    else:
        document = {member: value for member, value in change.items() if member not in (CHANGE_TYPE, _KEY)}
        known = change.get(_KEY, document.get(key) if key else None)
        if not _is_key(known):
            raise DataError(f"the document has no key; it needs `{key or _KEY}`")
        put[known] = document
        gone.pop(known, None)


def _is_key(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
