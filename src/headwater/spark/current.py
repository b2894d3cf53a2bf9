"""The current table of each view: written anew where that is cheap, and never twice for the same state.

While it is small it is written in every batch, a larger one once a fifth of it has changed; with `always` it is written
whenever anything has, with `never` not at all. `refresh` writes what is behind, whatever its size.

Which state a table holds is noted in a file inside its folder. Spark removes the folder before it writes a table anew,
and the note with it, so one that is there tells the truth: a query that starts again leaves alone what is still good.
Formats that keep tables in some other way have no such note: theirs are written anew after a restart.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from headwater.core.errors import StateError
from headwater.spark.checkpoint import Checkpoint
from headwater.spark.destinations import BatchFolders, Folders, Tables, destination
from headwater.spark.filesystem import Folder, folder
from headwater.spark.manifest import Manifest
from headwater.spark.session import session_at_hand
from headwater.spark.state_view import last_of, noted_views, view_of

CURRENT = ("auto", "always", "never")
_NOTE = "_headwater"  # Spark takes names like this for its own, and reads none of them
_SMALL = 20_000  # rows of a view that are written anew in every batch, into one file
_SHARE = 5  # a larger one, once a fifth of it has changed


@dataclass(slots=True)
class CurrentTables:
    place: Folders | Tables
    when: str
    _written: dict[str, int] = field(default_factory=dict)  # by view: how many changes its table has seen

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
        self.place.put(now, view)
        seen = manifest.metrics["stale"][view]
        where, query = self._folder(view), checkpoint.query
        if where is not None and query is not None:
            told = {"query": query, "format": self.place.format, "batch": manifest.batch, "changes": seen}
            where.create(_NOTE, json.dumps(told).encode())
        self._written[view] = seen

    def _seen(self, checkpoint: Checkpoint, view: str, latest: int) -> int | None:
        """How many of the view's changes its table has seen; None: nobody knows."""
        if view not in self._written:
            noted = self._noted(checkpoint, view, latest)
            if noted is None:
                return None
            self._written[view] = noted
        return self._written[view]

    def _noted(self, checkpoint: Checkpoint, view: str, latest: int) -> int | None:
        """What an earlier run noted; not after the batch `latest`: its checkpoint may have been set back since."""
        where, query = self._folder(view), checkpoint.query
        if where is None or query is None or _NOTE not in where.names():
            return None
        with suppress(StateError, ValueError, LookupError, TypeError):
            told = json.loads(where.read(_NOTE))
            if (told["query"], told["format"]) == (query, self.place.format) and told["batch"] <= latest:
                return int(told["changes"])
        return None

    def _folder(self, view: str) -> Folder | None:
        if not isinstance(self.place, BatchFolders):
            return None
        try:
            return folder(self.place.current(view))
        except StateError:  # a place that Spark alone can reach
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
    tables = CurrentTables(place, "auto")
    for view in noted_views(manifest.recipe.notes["views"]):
        tables.catch_up(session, found, view.name, manifest)
