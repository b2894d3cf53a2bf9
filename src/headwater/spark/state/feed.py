"""The changes of committed batches that are kept for readers, after they were published.

    headwater/feed/<batch>-published    which files hold the changes of a batch, by view

The note is created when a batch is published to the end. It says so to a driver that starts again, and it tells the
files of the batch from those of attempts that were given up. Files and notes of the last batches stay, as many as the
query keeps; older ones are removed.
"""

from __future__ import annotations

import json
import re

from headwater.core.errors import StateError
from headwater.spark.folders import Folder
from headwater.spark.state.checkpoint import FEED, Checkpoint
from headwater.spark.state.manifest import Manifest

_FILE = re.compile(rf"{FEED}/(\d+)-[^/]*-(\d+)\.parquet")  # the batch, ..., the shard


def note_name(batch: int) -> str:
    return f"{FEED}/{batch}-published"


def is_published(folder: Folder, batch: int) -> bool:
    return not folder.missing([note_name(batch)])


def publish(checkpoint: Checkpoint, manifest: Manifest, keep: int) -> None:
    """Note that a batch is published; remove what it published, but for the changes of the last `keep` batches."""
    stays: set[str] = set()
    if keep:
        changes = manifest.metrics.get("feed", {})
        checkpoint.folder.create(note_name(manifest.batch), json.dumps({"changes": changes}).encode())
        stays = {note_name(manifest.batch), *(name for files in changes.values() for name in files)}
    checkpoint.forget_feed(keep, stays)


def files_of(checkpoint: Checkpoint, view: str, batch: int) -> list[tuple[int, str]]:
    """The files with the changes of a view in a batch, each with its shard; StateError if they are not kept."""
    named = _noted(checkpoint, batch).get(view, [])
    found = [(_FILE.fullmatch(name), name) for name in named]
    if not all(match is not None and int(match[1]) == batch for match, _ in found):
        raise StateError(f"{checkpoint.folder.path}/{note_name(batch)} is damaged: it names other files")
    if checkpoint.folder.missing(named):
        raise _not_kept(checkpoint, batch)
    return [(int(match[2]), name) for match, name in found if match is not None]


def _noted(checkpoint: Checkpoint, batch: int) -> dict[str, list[str]]:
    """The files of a batch by view: from its note or, while it is being published, from its manifest."""
    where = note_name(batch)
    if is_published(checkpoint.folder, batch):
        try:
            changes = json.loads(checkpoint.folder.read(where))["changes"]
            return {view: [str(name) for name in files] for view, files in changes.items()}
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise StateError(f"{checkpoint.folder.path}/{where} is damaged ({problem!r})") from problem
    for manifest in checkpoint.history:
        if manifest.batch == batch:
            return dict(manifest.metrics.get("feed", {}))
    raise _not_kept(checkpoint, batch)


def _not_kept(checkpoint: Checkpoint, batch: int) -> StateError:
    return StateError(
        f"error[HW938]: the changes of batch {batch} are not kept in {checkpoint.path}; its last batch is "
        f"{checkpoint.committed}\n"
        "  hint: a reader that fell behind begins anew, with a new checkpoint of its own; let the query keep the "
        "changes of more batches, with maintain(..., keep_changes=...)"
    )
