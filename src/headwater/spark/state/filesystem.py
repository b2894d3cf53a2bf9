"""Files of a checkpoint, wherever it lies: on a disk that all machines see, or in any store that Spark can write.

A path without a scheme is in the session's default file system, as it is for Spark itself: nearly always that of the
operating system, which is `file:` as well. `hdfs:`, `viewfs:`, `s3:` (also spelt `s3a:` and `s3n:`), `gs:` and `abfs:`
(`abfss:`) are written through Arrow's own clients, with the credentials that those find in the environment of the
process. Driver and executors both use the path, so what they find there must be the same.
Whatever Arrow cannot open is left to Hadoop's clients, in the JVM of the driver (see `hadoop`).

`write` promises that the file is on disk, whole, when it returns; until then a reader may see part of it. `create`
promises that nobody ever sees part of a file, and that of two who create the same name one is told that it was there.
Arrow's clients of object stores have no such test: there the last one wins, and only one who looks again finds out.
Whatever goes wrong is a StateError that names the file and the way out.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

from pyarrow import ArrowException
from pyarrow import fs as arrow

from headwater.core.errors import StateError
from headwater.spark.session.temporary import scratch

Blocks = Iterable[bytes | memoryview]
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_S3 = re.compile(r"^s3[an]:", re.IGNORECASE)
_ARROW_SCHEMES = ("hdfs", "viewfs", "s3", "s3a", "s3n", "gs", "abfs", "abfss")
_OBJECT_STORES = frozenset({"s3", "gcs", "abfs", "abfss"})  # a file is there when it is whole
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})  # some mounted stores know none
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Folder(ABC):
    """A folder and all below it; names are relative to it, with `/` between their parts. Can be pickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    @property
    def uri(self) -> str:
        """What Spark finds it by, whatever its default file system is."""
        return self.path

    @abstractmethod
    def read(self, name: str) -> bytes: ...

    @abstractmethod
    def write(self, name: str, blocks: Blocks) -> int:
        """Write a file, in place of one that an earlier try left; its bytes. If that fails, no part of it is left."""

    @abstractmethod
    def create(self, name: str, content: bytes) -> bool:
        """Put a file there at once, unless there is one of that name; whether it did."""

    @abstractmethod
    def names(self, below: str = "") -> list[str]:
        """The files (not the folders) right in a folder below, in order; none if there is no such folder."""

    def missing(self, names: Sequence[str]) -> list[str]:
        """Which of these files are not there."""
        there: dict[str, frozenset[str]] = {}
        for below in {name.rpartition("/")[0] for name in names}:
            there[below] = frozenset(self.names(below))
        return [name for name in names if name not in there[name.rpartition("/")[0]]]

    def leads_out(self, name: str) -> bool:
        """Whether a name leads out of this folder, over a symbolic link; object stores have none."""
        return False

    @property
    def moves_folders(self) -> bool:
        """Whether a folder can be put in the place of another; object stores have no such step."""
        return False

    def folders(self) -> list[str]:
        """The folders right in this one, where folders can be moved."""
        raise NotImplementedError

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, if it is there."""
        raise NotImplementedError

    def replace_folder(self, source: str, target: str) -> None:
        """Put a folder in the place of another, which need not be there; for a moment neither is."""
        raise NotImplementedError

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    @abstractmethod
    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A path of this machine under which the file can be opened or mapped; it may be gone afterwards."""

    @contextmanager
    def _explained(self, doing: str, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ArrowException) as problem:
            raise StateError(_explanation(problem, doing, f"{self.path}/{name}")) from problem


class LocalFolder(Folder):
    """A folder of the operating system."""

    def leads_out(self, name: str) -> bool:
        root = Path(self.path).resolve()
        return not self._at(name).resolve().is_relative_to(root)

    @property
    def moves_folders(self) -> bool:
        return True

    def __init__(self, path: str) -> None:
        super().__init__(str(Path(path).absolute()))

    @property
    def uri(self) -> str:
        return f"file://{self.path}"

    def _at(self, name: str) -> Path:
        return Path(self.path) / name

    def read(self, name: str) -> bytes:
        with self._explained("read", name):
            return self._at(name).read_bytes()

    def write(self, name: str, blocks: Blocks) -> int:
        with self._explained("write", name):
            path = self._at(name)
            _make_folder(path.parent)
            length = _write(path, blocks)
            _sync_folder(path.parent)
            return length

    def create(self, name: str, content: bytes) -> bool:
        path = self._at(name)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with self._explained("write", name):
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

    def names(self, below: str = "") -> list[str]:
        with self._explained("list", below), suppress(FileNotFoundError), os.scandir(self._at(below)) as found:
            return sorted(f"{below}/{one.name}" if below else one.name for one in found if one.is_file())
        return []

    def missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if not self._at(name).is_file()]

    def remove(self, name: str) -> None:
        with self._explained("remove", name):
            _remove_file(self._at(name))

    def folders(self) -> list[str]:
        with self._explained("list", ""), suppress(FileNotFoundError), os.scandir(self.path) as found:
            return sorted(one.name for one in found if one.is_dir(follow_symlinks=False))
        return []

    def remove_folder(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError):
            shutil.rmtree(self._at(name))

    def replace_folder(self, source: str, target: str) -> None:
        old = f"{source}-old"
        with self._explained("rename", source):
            with suppress(FileNotFoundError):
                self._at(target).rename(self._at(old))
            self._at(source).rename(self._at(target))
        self.remove_folder(old)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield self._at(name)


class ArrowFolder(Folder):
    """A folder behind one of Arrow's file systems."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._files, self._root = _connected(_S3.sub("s3:", path))

    @property
    def moves_folders(self) -> bool:
        return self._files.type_name not in _OBJECT_STORES

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def read(self, name: str) -> bytes:
        with self._explained("read", name), self._files.open_input_stream(self._at(name)) as source:
            return source.read()

    def write(self, name: str, blocks: Blocks) -> int:
        with self._explained("write", name):
            return self._write(self._at(name), blocks)

    def create(self, name: str, content: bytes) -> bool:
        path = self._at(name)
        with self._explained("write", name):
            if self._files.get_file_info(path).type != arrow.FileType.NotFound:
                return False
            if self._files.type_name in _OBJECT_STORES:
                self._write(path, [content])
                return bool(self.read(name) == content)  # the last one wins, and the other one may still find out
            folder, _, last = path.rpartition("/")
            temporary = f"{folder}/.{last}.{secrets.token_hex(8)}"
            self._write(temporary, [content])
            try:
                self._files.move(temporary, path)
            except (OSError, ArrowException):
                with suppress(OSError, ArrowException):
                    self._files.delete_file(temporary)
                if self._files.get_file_info(path).type == arrow.FileType.NotFound:
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
            return sorted(one.path[start:] for one in found if one.type == arrow.FileType.File)

    def missing(self, names: Sequence[str]) -> list[str]:
        with self._explained("list", ""):
            found = self._files.get_file_info([self._at(name) for name in names])
            return [name for name, one in zip(names, found, strict=True) if one.type != arrow.FileType.File]

    def remove(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._files.delete_file(self._at(name))

    def folders(self) -> list[str]:
        with self._explained("list", ""):
            found = self._files.get_file_info(arrow.FileSelector(self._root, allow_not_found=True))
            return sorted(one.base_name for one in found if one.type == arrow.FileType.Directory)

    def remove_folder(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError):
            self._files.delete_dir(self._at(name))

    def replace_folder(self, source: str, target: str) -> None:
        old = f"{source}-old"
        with self._explained("rename", source):
            if self._files.get_file_info(self._at(target)).type != arrow.FileType.NotFound:
                self._files.move(self._at(target), self._at(old))
            self._files.move(self._at(source), self._at(target))
        self.remove_folder(old)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        with scratch() as folder:
            path = folder / "file"
            with (
                self._explained("read", name),
                self._files.open_input_stream(self._at(name)) as source,
                path.open("wb") as sink,
            ):
                shutil.copyfileobj(source, sink, 1 << 22)
            yield path


def folder(path: str | os.PathLike[str]) -> Folder:
    """The folder that a path or URI names; raises StateError where nothing here can open it."""
    text = os.fspath(path)
    match _scheme(text):
        case None:
            elsewhere = _by_default(text)
            return LocalFolder(text) if elsewhere is None else folder(elsewhere)
        case "file":
            return LocalFolder("/" + unquote(text[len("file:") :]).lstrip("/"))
        case known if known in _ARROW_SCHEMES:
            try:
                return ArrowFolder(text)
            except StateError:
                found = _hadoop_folder(text)
                if found is None:
                    raise
                return found
    found = _hadoop_folder(text)
    if found is None:
        refuse_hadoop(text)
        raise AssertionError("it is refused")
    return found


def refuse_hadoop(path: str) -> None:
    """Raise StateError if a path can be opened by Hadoop's clients alone."""
    scheme = _scheme(path)
    if scheme is None or scheme in ("file", *_ARROW_SCHEMES):
        return
    known = ", ".join(f"{one}:" for one in ("file", *_ARROW_SCHEMES))
    raise StateError(
        f"{path}: `{scheme}:` is reached through Hadoop's clients, in the JVM of a driver, and this process has none "
        "(with Spark Connect nobody has one); start the query in a driver with a session of its own, give a path "
        f"under one of {known}, which need no JVM, or a folder that all machines have mounted"
    )


def _scheme(path: str) -> str | None:
    found = _SCHEME.match(path)
    return None if found is None else found.group(1).lower()


def _hadoop() -> ModuleType | None:
    """The way through Hadoop, which needs pyspark and a JVM; None where this process has none."""
    if find_spec("pyspark") is None:
        return None
    from headwater.spark.state import hadoop

    return hadoop if hadoop.is_there() else None


def _hadoop_folder(path: str) -> Folder | None:
    found = _hadoop()
    return None if found is None else found.HadoopFolder(path)


def _by_default(path: str) -> str | None:
    """A path without a scheme as the session's default file system has it; None: that of the operating system."""
    found = _hadoop()
    return None if found is None else found.by_default(path)


def _connected(uri: str) -> tuple[Any, str]:
    try:
        files, root = arrow.FileSystem.from_uri(uri)
    except (OSError, ArrowException) as problem:
        reason, *_ = str(problem).splitlines() or ["for no reason that it tells"]
        needed = " (for HDFS: JAVA_HOME, HADOOP_HOME and CLASSPATH)" if uri.startswith(("hdfs:", "viewfs:")) else ""
        raise StateError(
            f"cannot open {uri} from Python: {reason}; the client library and the credentials must be found in the "
            f"environment of the driver and of every executor{needed}; or take a folder that all machines have mounted"
        ) from problem
    return files, root.rstrip("/")


def _explanation(problem: Exception, doing: str, where: str) -> str:
    number = getattr(problem, "errno", None)
    reason = getattr(problem, "strerror", None) or str(problem)
    if number in _FULL:
        return (
            f"cannot {doing} {where}: no room is left on that disk ({reason}); free some and start again: "
            "nothing that was committed is lost"
        )
    if number in _FORBIDDEN:
        return f"cannot {doing} {where}: permission is missing ({reason}); grant it and start again"
    return f"cannot {doing} {where}: {reason}"


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
