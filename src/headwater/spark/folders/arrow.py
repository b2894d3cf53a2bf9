"""Folders behind Arrow's own clients: HDFS and object stores.

The clients find their credentials in the environment of the process. Driver and executors both use the path, so it must
mean the same to them.
"""

from __future__ import annotations

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

    def _is_there(self, path: str) -> bool:
        return bool(self._files.get_file_info(path).type != arrow.FileType.NotFound)

    def read(self, name: str) -> bytes:
        with self._explained("read", name), self._files.open_input_stream(self._at(name)) as source:
            return source.read()

    def write(self, name: str, blocks: Blocks) -> int:
        with self._explained("write", name):
            return self._write(self._at(name), blocks)

    def create(self, name: str, content: bytes) -> bool:
        path = self._at(name)
        with self._explained("write", name):
            if self._is_there(path):
                return False
            if self._files.type_name in _OBJECT_STORES:
                self._write(path, [content])
                return bool(self.read(name) == content)  # the last writer wins, and the other may still find out
            folder, _, last = path.rpartition("/")
            temporary = f"{folder}/.{last}.{secrets.token_hex(8)}"
            self._write(temporary, [content])
            try:
                self._files.move(temporary, path)
            except (OSError, ArrowException):
                with suppress(OSError, ArrowException):
                    self._files.delete_file(temporary)
                if not self._is_there(path):
                    raise
                return False
            return True

    def _write(self, path: str, blocks: Blocks) -> int:
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

    def names(self, below: str = "") -> list[str]:
        with self._explained("list", below):
            found = self._files.get_file_info(arrow.FileSelector(self._at(below), allow_not_found=True))
            start = len(self._root) + 1
            return sorted(info.path[start:] for info in found if info.type == arrow.FileType.File)

    def missing(self, names: Sequence[str]) -> list[str]:
        with self._explained("list", ""):
            found = self._files.get_file_info([self._at(name) for name in names])
            return [name for name, info in zip(names, found, strict=True) if info.type != arrow.FileType.File]

    def remove(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._files.delete_file(self._at(name))

    @property
    def moves_folders(self) -> bool:
        return self._files.type_name not in _OBJECT_STORES

    def folders(self) -> list[str]:
        with self._explained("list", ""):
            found = self._files.get_file_info(arrow.FileSelector(self._root, allow_not_found=True))
            return sorted(info.base_name for info in found if info.type == arrow.FileType.Directory)

    def remove_folder(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._files.delete_dir(self._at(name))

    def _has_folder(self, name: str) -> bool:
        return self._is_there(self._at(name))

    def _move_folder(self, source: str, target: str) -> None:
        self._files.move(self._at(source), self._at(target))

    def _download(self, name: str, path: Path) -> None:
        with (
            self._explained("read", name),
            self._files.open_input_stream(self._at(name)) as source,
            path.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 22)


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
