"""Folders behind Arrow's own clients: HDFS and object stores.

The clients find their credentials in the environment of the process. Driver and executors both use the path, so it must
mean the same to them.
"""

from __future__ import annotations

import errno
import re
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyarrow import ArrowException
from pyarrow import fs as arrow

from headwater.core.errors import StateError
from headwater.spark.folders.folder import Blocks, Folder

SCHEMES = ("hdfs", "viewfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss")
_S3 = re.compile(r"^s3[an]:", re.IGNORECASE)
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs", "abfss"})  # a file is there when it is whole


class ArrowFolder(Folder):
    """A folder behind one of Arrow's file systems."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files, self._root = _connected(_S3.sub("s3:", path))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _is_there(self, name: str) -> bool:
        return bool(self._files.get_file_info(self._at(name)).type != arrow.FileType.NotFound)

    def _read(self, name: str) -> bytes:
        with self._files.open_input_stream(self._at(name)) as source:
            return source.read()

    def _write(self, name: str, blocks: Blocks) -> int:
        path = self._at(name)
        self._files.create_dir(path.rpartition("/")[0], recursive=True)
        length = 0
        try:
            with self._files.open_output_stream(path) as sink:
                for block in blocks:
                    sink.write(block)
                    length += len(block)
        except BaseException:
            with suppress(OSError, ArrowException):
                self._files.delete_file(path)
            raise
        return length

    def _create(self, name: str, content: bytes) -> bool:
        if self._is_there(name):
            return False
        if self._files.type_name in _OBJECT_STORES:
            self._write(name, [content])
            return bool(self._read(name) == content)  # the last writer wins, and the other may still find out
        folder, _, last = name.rpartition("/")
        temporary = f"{folder}/.{last}.{secrets.token_hex(8)}".lstrip("/")
        self._write(temporary, [content])
        try:
            self._files.move(self._at(temporary), self._at(name))
        except (OSError, ArrowException):
            with suppress(OSError, ArrowException):
                self._files.delete_file(self._at(temporary))
            if not self._is_there(name):
                raise
            return False
        return True

    def _list(self, below: str, *, files: bool) -> list[str]:
        wanted = arrow.FileType.File if files else arrow.FileType.Directory
        found = self._files.get_file_info(arrow.FileSelector(self._at(below), allow_not_found=True))
        return [info.base_name for info in found if info.type == wanted]

    def _missing(self, names: Sequence[str]) -> list[str]:
        found = self._files.get_file_info([self._at(name) for name in names])
        return [name for name, info in zip(names, found, strict=True) if info.type != arrow.FileType.File]

    def _remove(self, name: str) -> None:
        self._files.delete_file(self._at(name))

    def _download(self, name: str, path: Path) -> None:
        with self._files.open_input_stream(self._at(name)) as source, path.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 22)

    @property
    def creates_once(self) -> bool:
        return self._files.type_name not in _OBJECT_STORES

    @property
    def moves_folders(self) -> bool:
        return self._files.type_name not in _OBJECT_STORES

    def _remove_folder(self, name: str) -> None:
        self._files.delete_dir(self._at(name))

    def _move_folder(self, source: str, target: str) -> None:
        if not self._is_there(source):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder", source)
        self._files.move(self._at(source), self._at(target))


def _connected(uri: str) -> tuple[Any, str]:
    try:
        files, root = arrow.FileSystem.from_uri(uri)
    except (OSError, ArrowException) as problem:
        reason, *_ = str(problem).splitlines() or ["it gave no reason"]
        needed = " (for HDFS: JAVA_HOME, HADOOP_HOME and CLASSPATH)" if uri.startswith(("hdfs:", "viewfs:")) else ""
        raise StateError(
            f"cannot open {uri} from Python: {reason}; the client library and the credentials must be found in the "
            f"environment of the driver and of every executor{needed}; or take a folder that all machines have mounted"
        ) from problem
    return files, root.rstrip("/")
