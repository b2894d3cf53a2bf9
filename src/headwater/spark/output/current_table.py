"""The current table of each view: written anew where that is cheap, and never twice for the same state.

While it is small it is written in every batch, a larger one once a fifth of it has changed; with `always` it is written
whenever anything has, with `never` not at all. `refresh` writes what is behind, whatever its size.

Which state a table holds is noted in a file inside its folder. A table of files is written beside the one that is
there, with its note, and takes its place once it is whole, unless another run has opened the checkpoint meanwhile; so
whoever reads the folder finds a whole table, and two runs at once do not write into each other's. Object stores cannot
put a folder in the place of another: there Spark removes the folder, and the note with it, before it writes the table.
Either way a note that is there tells the truth: a query that starts again leaves alone what is still good. Formats that
keep tables in some other way have no such note: theirs are written anew after a restart.
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
from headwater.spark.shards.state_view import last_of, noted_views, view_of
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
    place: Folders | Tables
    when: str
    _written: dict[str, int] = field(
        default_factory=dict
    )  # by view: how many changes a table has seen that has no note

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
        told = {"query": checkpoint.query, "format": self.place.format, "batch": manifest.batch, "changes": seen}
        where = self._home(view)
        if where is not None and where.moves_folders:
            self._swap_in(now, checkpoint, view, where, json.dumps(told).encode())
        else:
            checkpoint.check()
            self.place.put(now, view)
            if where is not None and checkpoint.query is not None:
                where.create(f"{TABLE}/{_NOTE}", json.dumps(told).encode())
        self._written[view] = seen

    def _swap_in(self, now: Any, checkpoint: Checkpoint, view: str, where: Folder, note: bytes) -> None:
        """Write a table beside the one that is there, and put it in its place."""
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
        """Remove tables that runs before this one did not bring to their end."""
        for name in where.folders():
            found = _LEFT.match(name)
            if found is not None and int(found[1]) < epoch:
                where.remove_folder(name)

    def _seen(self, checkpoint: Checkpoint, view: str, latest: int) -> int | None:
        """How many of the view's changes its table has seen; None: nobody knows."""
        where = self._home(view)
        if where is None or checkpoint.query is None:
            return self._written.get(view)
        return self._noted(checkpoint, where, latest)

    def _noted(self, checkpoint: Checkpoint, where: Folder, latest: int) -> int | None:
        """What was noted, by whichever run; not after the batch `latest`: its checkpoint may have been set back."""
        name = f"{TABLE}/{_NOTE}"
        with suppress(StateError, ValueError, LookupError, TypeError):
            if not where.missing([name]):
                told = json.loads(where.read(name))
                if (told["query"], told["format"]) == (checkpoint.query, self.place.format) and told["batch"] <= latest:
                    return int(told["changes"])
        return None

    def _home(self, view: str) -> Folder | None:
        """The folder that a table of files lies in; None: it is no such table, or Spark alone can reach it."""
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
    """Bring the current tables below an output up to date with the last batch that was committed.

    For runs that end, as those with {"availableNow": True} do: while a query goes on, the table of a large view may lag
    behind it. Tables that are up to date are left alone.
    """
    found = Checkpoint(str(checkpoint))
    session = spark or session_at_hand()
    if session is None:
        raise ValueError("there is no Spark session; give one, as in refresh(checkpoint, output, spark=session)")
    manifest = last_of(found)
    place = destination(str(output), format, dict(options or {}))
    if not isinstance(place, Folders | Tables):
        raise ValueError(f"the format {format} keeps no current tables")
    tables, views = CurrentTables(place, "auto"), noted_views(manifest.definition.notes["views"])
    refuse_foreign(place, [view.name for view in views], found)
    for view in views:
        tables.catch_up(session, found, view.name, manifest)
