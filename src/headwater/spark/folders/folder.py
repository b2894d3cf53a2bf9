"""A folder of files, wherever it lies: what every kind of folder promises.

`write` promises that the file is on disk, whole, when it returns; until then a reader may see part of it. `create`
promises that no reader ever sees part of a file, and that of two processes that create the same name only one succeeds.
Object stores behind Arrow's clients have no such test: there the last writer wins, and the other finds out only if it
looks again. Every failure is a StateError that names the file and the way out.

The kinds of folders do not know each other; `open_folder` picks one.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pyarrow import ArrowException

from headwater.core.errors import StateError
from headwater.spark.session.temporary import scratch

Blocks = Iterable[bytes | memoryview]
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Folder(ABC):
    """A folder and all below it; names are relative to it, with `/` between their parts. Can be pickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    @property
    def uri(self) -> str:
        """The path as Spark finds it, whatever its default file system is."""
        return self.path

    def read(self, name: str) -> bytes:
        with self._explained("read", name):
            return self._read(name)

    def write(self, name: str, blocks: Blocks) -> int:
        """Write a file, replacing one that an earlier try left; its bytes. If that fails, no part of it is left."""
        with self._explained("write", name):
            return self._write(name, blocks)

    def create(self, name: str, content: bytes) -> bool:
        """Create a whole file, unless there is one of that name; whether it did."""
        with self._explained("write", name):
            return self._create(name, content)

    def names(self, below: str = "") -> list[str]:
        """The files (not the folders) right in a folder below, in order; none if there is no such folder."""
        with self._explained("list", below), suppress(FileNotFoundError):
            return sorted(f"{below}/{name}" if below else name for name in self._list(below, files=True))
        return []

    def missing(self, names: Sequence[str]) -> list[str]:
        """Which of these files are not there."""
        with self._explained("list", ""):
            return self._missing(names)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._remove(name)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A path of this machine under which the file can be opened or mapped; it may be gone afterwards."""
        with scratch() as there:
            path = there / "file"
            with self._explained("read", name):
                self._download(name, path)
            yield path

    @property
    def creates_once(self) -> bool:
        """Whether of two processes that create the same name only one succeeds."""
        return True

    def leads_out(self, name: str) -> bool:
        """Whether a name leads out of this folder, over a symbolic link; object stores have none."""
        return False

    # Folders below, where the file system can move them

    @property
    def moves_folders(self) -> bool:
        """Whether a folder can replace another; object stores have no such step."""
        return False

    def folders(self) -> list[str]:
        """The folders right in this one."""
        with self._explained("list", ""), suppress(FileNotFoundError):
            return sorted(self._list("", files=False))
        return []

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._remove_folder(name)

    def replace_folder(self, source: str, target: str) -> None:
        """Replace a folder, which need not be there, by another; for a moment neither is there."""
        old = f"{source}-old"
        with self._explained("rename", source):
            with suppress(FileNotFoundError):
                self._move_folder(target, old)
            self._move_folder(source, target)
        self.remove_folder(old)

    # What a kind of folder does. Any OSError or ArrowException is explained to the user.

    @abstractmethod
    def _read(self, name: str) -> bytes: ...

    @abstractmethod
    def _write(self, name: str, blocks: Blocks) -> int: ...

    @abstractmethod
    def _create(self, name: str, content: bytes) -> bool: ...

    @abstractmethod
    def _list(self, below: str, *, files: bool) -> Iterable[str]:
        """The names of the files in a folder, or of its folders."""

    @abstractmethod
    def _remove(self, name: str) -> None: ...

    def _download(self, name: str, path: Path) -> None:
        """For kinds of folders whose files are not on this machine; a local one never asks for it."""
        raise NotImplementedError

    def _missing(self, names: Sequence[str]) -> list[str]:
        there: dict[str, frozenset[str]] = {}
        for below in {name.rpartition("/")[0] for name in names}:
            there[below] = frozenset(self.names(below))
        return [name for name in names if name not in there[name.rpartition("/")[0]]]

    def _remove_folder(self, name: str) -> None:
        """For kinds that a driver opens; workers, which reach files through the driver, remove no folders."""
        raise NotImplementedError

    def _move_folder(self, source: str, target: str) -> None:
        """As `_remove_folder`. FileNotFoundError if there is no source."""
        raise NotImplementedError

    @contextmanager
    def _explained(self, doing: str, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ArrowException) as problem:
            raise StateError(_explanation(problem, doing, f"{self.path}/{name}")) from problem


def leads_out_of(root: Path, name: str) -> bool:
    """Whether a name leads out of a folder of this machine, over a symbolic link."""
    return not (root / name).resolve().is_relative_to(root.resolve())


def _explanation(problem: Exception, doing: str, where: str) -> str:
    number = getattr(problem, "errno", None)
    reason = getattr(problem, "strerror", None) or str(problem)
    if number in _FULL:
        return (
            f"cannot {doing} {where}: the disk is full ({reason}); free some space and start again: "
            "nothing that was committed is lost"
        )
    if number in _FORBIDDEN:
        return f"cannot {doing} {where}: permission is missing ({reason}); grant it and start again"
    return f"cannot {doing} {where}: {reason}"
