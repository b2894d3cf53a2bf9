"""Folders of the operating system: a disk of this machine, or one that all machines have mounted."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headwater.spark.folders.folder import Blocks, Folder, leads_out_of

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})  # some mounted stores have none


class LocalFolder(Folder):
    """A folder of the operating system."""

    def __init__(self, path: str) -> None:
        super().__init__(str(Path(path).absolute()))

    @property
    def uri(self) -> str:
        return f"file://{self.path}"

    def _at(self, name: str) -> Path:
        return Path(self.path) / name

    def _read(self, name: str) -> bytes:
        return self._at(name).read_bytes()

    def _write(self, name: str, blocks: Blocks) -> int:
        path = self._at(name)
        _make_folder(path.parent)
        length = _write(path, blocks)
        _sync_folder(path.parent)
        return length

    def _create(self, name: str, content: bytes) -> bool:
        path = self._at(name)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        _make_folder(path.parent)
        _write(temporary, [content])
        try:
            _move_unless_there(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
        return True

    def _list(self, below: str, *, files: bool) -> list[str]:
        with os.scandir(self._at(below)) as found:
            return [
                entry.name for entry in found if (entry.is_file() if files else entry.is_dir(follow_symlinks=False))
            ]

    def _missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if not self._at(name).is_file()]

    def _remove(self, name: str) -> None:
        _remove_file(self._at(name))

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield self._at(name)

    def leads_out(self, name: str) -> bool:
        return leads_out_of(Path(self.path), name)

    @property
    def moves_folders(self) -> bool:
        return True

    def _remove_folder(self, name: str) -> None:
        shutil.rmtree(self._at(name))

    def _move_folder(self, source: str, target: str) -> None:
        self._at(source).rename(self._at(target))


def _write(path: Path, blocks: Blocks) -> int:
    length = 0
    try:
        with path.open("wb") as out:
            for block in blocks:
                out.write(block)
                length += len(block)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return length


def _move_unless_there(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        if target.exists():
            raise FileExistsError(target) from None
        source.replace(target)


def _remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)


def _make_folder(path: Path) -> None:
    """A folder that will still be there after a power cut."""
    if path.is_dir():
        return
    _make_folder(path.parent)
    path.mkdir(exist_ok=True)
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
