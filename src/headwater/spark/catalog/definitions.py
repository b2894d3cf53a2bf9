"""The folder of a catalog: for each materialized view what it is, and the checkpoint of the query that maintains it.

    <view>/view-<version>.json    its text, its tables, its schedule: the highest version counts
    <view>/state-<version>/       the checkpoint of that version

A version is there once its file is, which is created in one step after its first rows are computed. What an attempt
left that failed before is removed by the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from headwater.core.errors import DataError
from headwater.files.names import file_name
from headwater.language.sql.kept_views import words
from headwater.program.nearest import nearest
from headwater.spark.folders import open_folder

SETTING = "spark.headwater.views"
_BESIDE_TABLES = "_headwater"  # in the warehouse; no table has a name that begins so
_VIEW = re.compile(r"view-(\d+)\.json")


@dataclass(frozen=True, slots=True)
class Definition:
    """A version of a materialized view. `tables` are names of the session's tables, in parts, by those of the text."""

    name: str
    version: int
    text: str
    every: str | None
    tables: tuple[tuple[str, tuple[str, ...]], ...]

    def is_like(self, other: Definition) -> bool:
        return (self.every, self.tables) == (other.every, other.tables) and words(self.text) == words(other.text)

    @property
    def reads(self) -> frozenset[str]:
        """The names of one part that it reads, in lower case: other materialized views are among them."""
        return frozenset(parts[0].lower() for _, parts in self.tables if len(parts) == 1)


class Catalog:
    """The materialized views of a folder. Names differ in more than case, as those of Spark's tables do."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._root = open_folder(path)

    @classmethod
    def of(cls, spark: Any) -> Catalog:
        """The catalog of a session: in the folder that it is set to, or else beside its tables."""
        chosen = spark.conf.get(SETTING, None)
        return cls(chosen or f"{spark.conf.get('spark.sql.warehouse.dir').rstrip('/')}/{_BESIDE_TABLES}")

    def names(self) -> list[str]:
        """The names of folders of views; there need not be a view in each."""
        return self._root.folders()

    def views(self) -> list[Definition]:
        found = (self._latest(folder) for folder in self.names())
        return sorted((one for one in found if one is not None), key=lambda one: one.name.lower())

    def find(self, name: str) -> Definition | None:
        return self._latest(_folder(name))

    def view(self, name: str) -> Definition:
        """The view of a name; an error names the one that is nearest."""
        found = self.find(name)
        if found is not None:
            return found
        known = [view.name for view in self.views()]
        close = nearest(name, known)
        hint = f"did you mean `{close}`?" if close else f"the views are: {', '.join(known) or 'none so far'}"
        raise DataError(f"error[HW942]: there is no materialized view `{name}` in {self.path}; {hint}")

    def readers(self, name: str) -> list[str]:
        """The other views that read one."""
        return [view.name for view in self.views() if name.lower() in view.reads and view.name.lower() != name.lower()]

    def state(self, view: Definition) -> str:
        return f"{self.path.rstrip('/')}/{_state(view)}"

    # Changes

    def make_room(self, view: Definition) -> None:
        """Remove what an attempt at this version may have left."""
        self._root.remove_folder(_state(view))

    def record(self, view: Definition) -> bool:
        """Make a version the one that counts; False: another session was quicker."""
        return self._root.create(_file(view), json.dumps(asdict(view)).encode())

    def keep_only(self, view: Definition) -> None:
        """Remove the versions before."""
        for number in self._versions(_folder(view.name)):
            if number < view.version:
                before = Definition(view.name, number, "", None, ())
                self._root.remove(_file(before))
                self._root.remove_folder(_state(before))

    def remove(self, view: Definition) -> None:
        """Remove all versions; the files first, so that none is left without its state."""
        for number in sorted(self._versions(_folder(view.name)), reverse=True):
            self._root.remove(_file(Definition(view.name, number, "", None, ())))
        self._root.remove_folder(_folder(view.name))

    def _versions(self, folder: str) -> list[int]:
        names = (name.rpartition("/")[2] for name in self._root.names(folder))
        return [int(found[1]) for found in map(_VIEW.fullmatch, names) if found is not None]

    def _latest(self, folder: str) -> Definition | None:
        versions = self._versions(folder)
        if not versions:
            return None
        return _from_json(json.loads(self._root.read(f"{folder}/view-{max(versions)}.json")))


def _from_json(said: dict[str, Any]) -> Definition:
    tables: Iterable[tuple[str, list[str]]] = said["tables"]
    named = tuple((name, tuple(parts)) for name, parts in tables)
    return Definition(said["name"], said["version"], said["text"], said["every"], named)


def _folder(name: str) -> str:
    return file_name(name.lower())


def _file(view: Definition) -> str:
    return f"{_folder(view.name)}/view-{view.version}.json"


def _state(view: Definition) -> str:
    return f"{_folder(view.name)}/state-{view.version}"
