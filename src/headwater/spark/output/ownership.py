"""Whose output a folder is: of one query, from its first batch on.

A note in the folder of each view says which query writes there. A query that begins anew, with another checkpoint, is
refused: the changes of two queries in one folder would add up to neither of their views. An output without a note is
taken over by a query that goes on, and refused to one that begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from headwater.core.errors import StateError
from headwater.spark.folders import Folder, open_folder
from headwater.spark.output.destinations import CHANGES, CURRENT, Destination, Folders
from headwater.spark.state.checkpoint import Checkpoint

_NOTE = "_headwater"


def refuse_foreign(place: Destination | None, views: Iterable[str], checkpoint: Checkpoint) -> None:
    """Raise StateError if one of the views has a folder that is another query's."""
    for home in _homes(place, views):
        owner = _owner(home)
        began = checkpoint.committed is None
        if owner != checkpoint.query if owner is not None else began and (home.names(CHANGES) or home.names(CURRENT)):
            raise StateError(
                f"{home.path} holds the output of another query, or of an earlier start of this one; give output= a "
                "folder of its own, or remove what is there"
            )


def claim(place: Destination | None, views: Iterable[str], checkpoint: Checkpoint) -> None:
    """Note that the folders of these views are written by the query of this checkpoint, unless they are another's."""
    names = list(views)
    refuse_foreign(place, names, checkpoint)
    if checkpoint.query is None:
        return
    for home in _homes(place, names):
        if home.missing([_NOTE]):
            home.create(_NOTE, json.dumps({"query": checkpoint.query}).encode())
    refuse_foreign(place, names, checkpoint)


def _homes(place: Destination | None, views: Iterable[str]) -> list[Folder]:
    if not isinstance(place, Folders):
        return []
    try:
        return [open_folder(place.home(view)) for view in views]
    except StateError:  # only Spark can reach it
        return []


def _owner(home: Folder) -> str | None:
    """The query that writes into a view's folder; None: there is no note; "": the note is damaged."""
    if home.missing([_NOTE]):
        return None
    with suppress(ValueError, LookupError, TypeError):
        return str(json.loads(home.read(_NOTE))["query"])
    return ""
