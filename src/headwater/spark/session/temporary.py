"""Temporary folders, removed after use, or after their process has been killed.

A killed process cannot remove its folders, so the next process that makes any does. Folders of running processes are
locked (flock): the lock ends with the process however it ends, and works between containers, where process numbers mean
nothing. Only folders are removed that belong to the same user and that no other user may enter; links are never
followed. Where a system or a disk has no such locks, folders of killed processes stay.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from importlib.util import find_spec
from pathlib import Path

_PREFIX = "headwater-scratch-"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_swept = False


class _Lock(Enum):
    OURS = "this process has it"
    TAKEN = "another running process has it"
    UNKNOWN = "there are no locks here"


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder of this process alone, removed afterwards with all that is in it."""
    path, handle = _made()
    try:
        yield path
    finally:
        _remove(path, handle)


def lasting_scratch() -> Path:
    """An empty folder of this process alone, removed when the process ends."""
    path, handle = _made()
    atexit.register(_remove_own, path, handle, os.getpid())
    return path


def sweep() -> None:
    """Remove the folders that killed processes of this user have left."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
        for path in [Path(entry.path) for entry in found if entry.name.startswith(_PREFIX)]:
            with suppress(OSError):
                handle = _open(path)
                try:
                    about = os.fstat(handle)
                    ours = about.st_uid == os.geteuid() and not about.st_mode & _OTHERS
                    if ours and _lock(handle) is _Lock.OURS:
                        _empty(handle)
                        path.rmdir()
                finally:
                    os.close(handle)


def _made() -> tuple[Path, int | None]:
    """A new folder and the handle that holds its lock; None: there are no locks here."""
    global _swept
    if find_spec("fcntl") is None:
        return Path(tempfile.mkdtemp(prefix=_PREFIX)), None
    if not _swept:
        _swept = True
        sweep()
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        with suppress(FileNotFoundError):  # between two of these steps another process may take it for an abandoned one
            handle = _open(path)
            if _lock(handle) is not _Lock.TAKEN and os.path.samestat(path.lstat(), os.fstat(handle)):
                return path, handle
            os.close(handle)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def _lock(handle: int) -> _Lock:
    import fcntl  # not every system has it

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Lock.TAKEN
    except OSError:
        return _Lock.UNKNOWN
    return _Lock.OURS


def _empty(handle: int) -> None:
    """Remove what is in a folder; by its handle, so that renaming it meanwhile does not matter."""
    with os.scandir(handle) as found:
        for entry in list(found):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.name, ignore_errors=True, dir_fd=handle)
            else:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=handle)


def _remove(path: Path, handle: int | None) -> None:
    if handle is None:
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        _empty(handle)
        path.rmdir()
    os.close(handle)


def _remove_own(path: Path, handle: int | None, maker: int) -> None:
    if os.getpid() == maker:  # a child that was forked ends, too
        _remove(path, handle)
