"""Files that Hadoop's own clients reach, through the JVM of this process: whatever the session itself can write.

Only the driver has that JVM. A folder that is pickled to a worker becomes one there whose files are read and written by
the driver (see `relay`). Between Python and the JVM files go through a temporary folder of this machine, never
through the gateway between them, which is made for small words.

A file is created under another name and renamed. Where Hadoop knows a rename that never replaces (HDFS and all others
that have a FileContext), of two who create the same name one is told that it was there; elsewhere this is as sure as
the file system's own rename.
"""

from __future__ import annotations

import errno
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.core.errors import StateError
from headwater.exchange.flight_server import Certificate
from headwater.spark.session.encryption import tls_for
from headwater.spark.session.temporary import scratch
from headwater.spark.state.filesystem import Blocks, Folder, LocalFolder
from headwater.spark.state.relay import Relay, RelayedFolder

_BUFFER = 1 << 20
_DEFAULT = "fs.defaultFS"
_NUMBERS = (  # how clients say what the operating system has numbers for; the first that is found in a text counts
    ("FileAlreadyExistsException", errno.EEXIST),
    ("Permission denied", errno.EACCES),
    ("AccessControlException", errno.EACCES),
    ("AccessDeniedException", errno.EACCES),
    ("Read-only file system", errno.EROFS),
    ("No space left", errno.ENOSPC),
    ("File too large", errno.EFBIG),
    ("QuotaExceededException", errno.EDQUOT),
    ("FileNotFoundException", errno.ENOENT),
)
_relays: dict[tuple[str, Certificate | None], Relay] = {}
_lock = threading.Lock()


def is_there() -> bool:
    """Whether this process has a JVM with Hadoop in it: a driver has, a worker and a client of Connect have not."""
    return SparkContext._active_spark_context is not None


def by_default(path: str) -> str | None:
    """A path without a scheme, with that of the session's default file system; None: it is a path of this machine."""
    context: Any = SparkContext._active_spark_context
    if str(context._jsc.hadoopConfiguration().get(_DEFAULT)).startswith("file:"):
        return None
    with _told():
        root = context._jvm.org.apache.hadoop.fs.Path(path)
        return str(root.getFileSystem(context._jsc.hadoopConfiguration()).makeQualified(root).toString())


class HadoopFolder(Folder):
    """A folder behind one of Hadoop's file systems; for a process that has a session with a JVM."""

    def __init__(self, path: str) -> None:
        super().__init__(path.rstrip("/"))
        context = SparkContext._active_spark_context
        assert context is not None, "asked before"
        self._gateway: Any = context._gateway
        self._java: Any = context._jvm
        self._tls = tls_for(context)
        self._host = context.getConf().get("spark.driver.host", "127.0.0.1")
        try:
            with _told():
                settings = _settings(context)
                root = self._at("")
                self._files = root.getFileSystem(settings)
                self._renames = _file_context(self._java, root, settings)
        except OSError as problem:
            raise StateError(
                f"cannot open {path} through Spark: {problem.strerror}; the session needs the file system's jar and "
                "its settings (spark.hadoop.fs....); or take a folder that all machines have mounted"
            ) from problem

    def __reduce__(self) -> tuple[Any, ...]:
        relay = _relay(self._host, self._tls)
        relay.serve(self)
        return RelayedFolder, (self.path, relay.address, relay.token, self._tls)

    def _at(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)

    def read(self, name: str) -> bytes:
        with self.local(name) as path:
            return path.read_bytes()

    def write(self, name: str, blocks: Blocks) -> int:
        with scratch() as there:
            path = there / "file"
            with self._explained("write", name):
                with path.open("wb") as out:
                    length = sum(out.write(block) for block in blocks)
                self._upload(path, self._at(name))
        return length

    def create(self, name: str, content: bytes) -> bool:
        folder, _, last = name.rpartition("/")
        final, draft = self._at(name), self._at(f"{folder}/.{last}.{secrets.token_hex(8)}".lstrip("/"))
        with self._explained("write", name), scratch() as there:
            with _told():
                if self._files.exists(final):
                    return False
            path = there / "file"
            path.write_bytes(content)
            self._upload(path, draft)
            try:
                return self._rename(draft, final)
            finally:
                with suppress(OSError), _told():
                    self._files.delete(draft, False)

    def _rename(self, source: Any, target: Any) -> bool:
        with suppress(FileExistsError), _told():
            if self._renames is not None:
                none = self._gateway.new_array(self._java.org.apache.hadoop.fs.Options.Rename, 0)
                self._renames.rename(source, target, none)
                return True
            if self._files.rename(source, target):
                return True
            if not self._files.exists(target):
                raise OSError(errno.EIO, "it could not be renamed, for no reason that the file system tells")
        return False

    def _upload(self, path: Path, target: Any) -> None:
        try:
            with _told():
                source = self._java.java.io.FileInputStream(str(path))
                try:
                    out = self._files.create(target, True)
                    self._java.org.apache.hadoop.io.IOUtils.copyBytes(source, out, _BUFFER, False)
                    if out.hasCapability("hsync"):
                        out.hsync()
                    out.close()
                finally:
                    source.close()
        except BaseException:
            with suppress(OSError), _told():
                self._files.delete(target, False)
            raise

    def names(self, below: str = "") -> list[str]:
        with self._explained("list", below), suppress(FileNotFoundError), _told():
            found = [one.getPath().getName() for one in self._files.listStatus(self._at(below)) if one.isFile()]
            return sorted(f"{below}/{name}" if below else name for name in found)
        return []

    def missing(self, names: Sequence[str]) -> list[str]:
        with self._explained("list", ""), _told():
            return [name for name in names if not self._files.exists(self._at(name))]

    def remove(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError), _told():
            self._files.delete(self._at(name), False)

    def leads_out(self, name: str) -> bool:
        """Where the files are those of this machine, as for any folder of it; elsewhere every link below counts."""
        with self._explained("read", name), suppress(FileNotFoundError), _told():
            root = self._files.resolvePath(self._at(""))  # behind the mounts of a view of several file systems
            if str(root.toUri().getScheme()) == "file":
                return LocalFolder(str(root.toUri().getPath())).leads_out(name)
            files, parts = root.getFileSystem(self._files.getConf()), name.split("/") if name else []
            for depth in range(1, len(parts) + 1):
                below = self._java.org.apache.hadoop.fs.Path(root, "/".join(parts[:depth]))
                if files.getFileLinkStatus(below).isSymlink():
                    return True
        return False

    @property
    def moves_folders(self) -> bool:
        return True

    def folders(self) -> list[str]:
        with self._explained("list", ""), suppress(FileNotFoundError), _told():
            found = self._files.listStatus(self._at(""))
            return sorted(one.getPath().getName() for one in found if one.isDirectory())
        return []

    def remove_folder(self, name: str) -> None:
        with self._explained("remove", name), suppress(FileNotFoundError), _told():
            self._files.delete(self._at(name), True)

    def replace_folder(self, source: str, target: str) -> None:
        old = f"{source}-old"
        with self._explained("rename", source), _told():
            if self._files.exists(self._at(target)):
                self._move(target, old)
            self._move(source, target)
        self.remove_folder(old)

    def _move(self, source: str, target: str) -> None:
        if not self._files.rename(self._at(source), self._at(target)):
            raise OSError(errno.EIO, "it could not be renamed, for no reason that the file system tells")

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        with scratch() as there:
            path = there / "file"
            with self._explained("read", name), _told():
                source = self._files.open(self._at(name))
                sink = self._java.java.io.FileOutputStream(str(path))
                self._java.org.apache.hadoop.io.IOUtils.copyBytes(source, sink, _BUFFER, True)
            yield path


@contextmanager
def _told() -> Iterator[None]:
    """What Java throws inside, as the error that Python would raise."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as problem:
        thrown = getattr(problem, "java_exception", None)
        first, *_ = str(problem if thrown is None else thrown.toString()).splitlines() or [""]
        number = next((number for words, number in _NUMBERS if words in first), errno.EIO)
        raise OSError(number, first) from problem


def _settings(context: Any) -> Any:
    """What the session knows of file systems; the context alone, where no session is at hand."""
    session: Any = SparkSession.getActiveSession()
    if session is None:
        return context._jsc.hadoopConfiguration()
    return session._jsparkSession.sessionState().newHadoopConf()


def _file_context(java: Any, root: Any, settings: Any) -> Any:
    try:
        return java.org.apache.hadoop.fs.FileContext.getFileContext(root.toUri(), settings)
    except Py4JJavaError as problem:
        if "UnsupportedFileSystemException" not in str(problem.java_exception):
            raise
        return None


def _relay(host: str, tls: Certificate | None) -> Relay:
    """The relay of this driver; it lives as long as the process does."""
    with _lock:
        if (host, tls) not in _relays:
            _relays[host, tls] = Relay(host, tls)
        return _relays[host, tls]
