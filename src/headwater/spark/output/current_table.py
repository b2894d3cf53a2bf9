"""The current table of each view: written anew where that is cheap, and never twice for the same state.

A small table is written in every batch, a larger one once a fifth of it has changed; with `always` whenever anything
has changed, with `never` not at all. `refresh` writes every table that is behind, whatever its size.

A note in the table's folder says which state it holds. A table of files is written beside the old one, with its note,
and replaces it once it is whole, unless another run has opened the checkpoint meanwhile. So readers find a whole table,
and two runs at once do not write into each other's. Object stores cannot replace a folder: there Spark removes the
folder, with its note, before it writes the table. Either way a note is true: a query that starts again leaves a table
alone that is up to date. Tables of other formats have no note, and are written anew after a restart.
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import StateError
from headwater.spark.folders import Folder, open_folder
from headwater.spark.output.destinations import CURRENT as TABLE
from headwater.spark.output.destinations import BatchFolders, Folders, Tables, destination
from headwater.spark.output.ownership import refuse_foreign
from headwater.spark.session.session import session_at_hand
from headwater.spark.shards.state_view import noted_views, view_of
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.manifest import Manifest

CURRENT = ("auto", "always", "never")
_NOTE = "_headwater"  # Spark takes names like this for its own, and reads none of them
_BESIDE = "_current-"  # what a table is called while it is written
_LEFT = re.compile(rf"{_BESIDE}e(\d+)-")
_SMALL = 20_000  # rows of a view that are written anew in every batch, into one file
_SHARE = 5  # a larger one, once a fifth of it has changed


@dataclass(slots=True)
class CurrentTables:
    """The current tables of one query's views."""

    place: Folders | Tables
    when: str
    _written: dict[str, int] = field(default_factory=dict)  # by view: the changes in a table that has no note

    def follow(self, spark: Any, checkpoint: Checkpoint, view: str, manifest: Manifest) -> None:
        """Write the table of a view as of the last batch, if it is time."""
        if self.when != "never" and self._is_due(checkpoint, view, manifest):
            self._write(spark, checkpoint, view, manifest)

    def catch_up(self, spark: Any, checkpoint: Checkpoint, view: str, manifest: Manifest) -> None:
        """Write the table of a view as of the last batch, unless it is that already."""
        if self._seen(checkpoint, view, manifest.batch) != manifest.metrics["stale"][view]:
            self._write(spark, checkpoint, view, manifest)

    def _is_due(self, checkpoint: Checkpoint, view: str, manifest: Manifest) -> bool:
        count, seen = manifest.metrics["stale"][view], self._seen(checkpoint, view, manifest.batch - 1)
        if seen is None or count == seen:
            return seen is None
        rows = manifest.metrics["rows"][view]
        return self.when == "always" or rows <= _SMALL or (count - seen) * _SHARE >= rows

    def _write(self, spark: Any, checkpoint: Checkpoint, view: str, manifest: Manifest) -> None:
        now = view_of(spark, checkpoint, view)
        if manifest.metrics["rows"][view] <= _SMALL:
            now = now.coalesce(1)
        seen = manifest.metrics["stale"][view]
        about = {"query": checkpoint.query, "format": self.place.format, "batch": manifest.batch, "changes": seen}
        note = json.dumps(about).encode()
        where = self._home(view)
        if where is not None and where.moves_folders:
            self._swap_in(now, checkpoint, view, where, note)
        else:
            checkpoint.check()
            self.place.put(now, view)
            if where is not None and checkpoint.query is not None:
                where.create(f"{TABLE}/{_NOTE}", note)
        self._written[view] = seen

    def _swap_in(self, now: Any, checkpoint: Checkpoint, view: str, where: Folder, note: bytes) -> None:
        """Write a table beside the old one, and replace that one by it."""
        assert isinstance(self.place, BatchFolders)
        beside = f"{_BESIDE}{'' if checkpoint.epoch is None else f'e{checkpoint.epoch}-'}{secrets.token_hex(4)}"
        if checkpoint.epoch is not None:
            self._remove_left(where, checkpoint.epoch)
        try:
            self.place.put_beside(now, view, beside)
            if checkpoint.query is not None:
                where.create(f"{beside}/{_NOTE}", note)
            checkpoint.check()
            where.replace_folder(beside, TABLE)
        except BaseException:
            with suppress(StateError):
                where.remove_folder(beside)
            raise

    def _remove_left(self, where: Folder, epoch: int) -> None:
        """Remove unfinished tables of earlier runs."""
        for name in where.folders():
            found = _LEFT.match(name)
            if found is not None and int(found[1]) < epoch:
                where.remove_folder(name)

    def _seen(self, checkpoint: Checkpoint, view: str, latest: int) -> int | None:
        """How many of the view's changes are in its table; None: unknown."""
        where = self._home(view)
        if where is None or checkpoint.query is None:
            return self._written.get(view)
        return self._noted(checkpoint, where, latest)

    def _noted(self, checkpoint: Checkpoint, where: Folder, latest: int) -> int | None:
        """What a run noted, up to the batch `latest`: the checkpoint may have been restored from an older copy."""
        name = f"{TABLE}/{_NOTE}"
        with suppress(StateError, ValueError, LookupError, TypeError):
            if not where.missing([name]):
                note = json.loads(where.read(name))
                if (note["query"], note["format"]) == (checkpoint.query, self.place.format) and note["batch"] <= latest:
                    return int(note["changes"])
        return None

    def _home(self, view: str) -> Folder | None:
        """The folder of a table of files; None: it is no such table, or only Spark can reach it."""
        if not isinstance(self.place, BatchFolders):
            return None
        try:
            return open_folder(self.place.home(view))
        except StateError:
            return None


def refresh(
    checkpoint: str,
    output: str,
    *,
    format: str = "parquet",  # noqa: A002
    options: dict[str, str] | None = None,
    spark: Any = None,
) -> None:
    """Bring the current tables below an output up to date with the last committed batch.

    For runs that end, as with {"availableNow": True}: while a query runs, the table of a large view may lag behind.
    """
    found = Checkpoint(str(checkpoint))
    session = spark or session_at_hand()
    if session is None:
        raise ValueError("there is no Spark session; give one, as in refresh(checkpoint, output, spark=session)")
    manifest = found.as_of(None)
    place = destination(str(output), format, dict(options or {}))
    if not isinstance(place, Folders | Tables):
        raise ValueError(f"the format {format} keeps no current tables")
    tables, views = CurrentTables(place, "auto"), noted_views(manifest.definition.notes["views"])
    refuse_foreign(place, [view.name for view in views], found)
    for view in views:
        tables.catch_up(session, found, view.name, manifest)
