"""Files that Hadoop's own clients reach, through the JVM of this process: whatever the session itself can write.

Only the driver has that JVM, so what a worker gets is another kind of folder. Between Python and the JVM files go
through a temporary folder of this machine: the gateway between them is made for small values.

A file is created under another name and renamed. Where Hadoop has a rename that never replaces (HDFS and all others
with a FileContext), only one of two processes creates a name; elsewhere the file system's own rename decides.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.core.errors import StateError
from headwater.exchange import Certificate
from headwater.spark.folders.folder import Blocks, Folder, leads_out_of
from headwater.spark.session.encryption import tls_for
from headwater.spark.session.temporary import scratch

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
_NOT_RENAMED = "it could not be renamed, and the file system gave no reason"
Relayed = Callable[[Folder, str, Certificate | None], Folder]


def is_there() -> bool:
    """Whether this process has a JVM with Hadoop in it: a driver has, a worker and a client of Connect have not."""
    return SparkContext._active_spark_context is not None


def by_default(path: str) -> str | None:
    """A path without a scheme, with that of the session's default file system; None: it is a path of this machine."""
    context: Any = SparkContext._active_spark_context
    if str(context._jsc.hadoopConfiguration().get(_DEFAULT)).startswith("file:"):
        return None
    with _java_errors():
        root = context._jvm.org.apache.hadoop.fs.Path(path)
        return str(root.getFileSystem(context._jsc.hadoopConfiguration()).makeQualified(root).toString())


class HadoopFolder(Folder):
    """A folder behind one of Hadoop's file systems; for a process that has a session with a JVM."""

    def __init__(self, path: str, relayed: Relayed) -> None:
        """`relayed(folder, host, certificate)` is the folder that workers get in its place."""
        super().__init__(path.rstrip("/"))
        self._relayed = relayed
        context = SparkContext._active_spark_context
        assert context is not None, "asked before"
        self._gateway: Any = context._gateway
        self._java: Any = context._jvm
        self._tls = tls_for(context)
        self._host = context.getConf().get("spark.driver.host", "127.0.0.1")
        try:
            with _java_errors():
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
        made = self._relayed(self, self._host, self._tls).__reduce__()
        assert isinstance(made, tuple), "a folder is pickled by its arguments"
        return made

    def _at(self, name: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)

    def _read(self, name: str) -> bytes:
        with self.local(name) as path:
            return path.read_bytes()

    def _write(self, name: str, blocks: Blocks) -> int:
        with scratch() as there:
            path = there / "file"
            with path.open("wb") as out:
                length = sum(out.write(block) for block in blocks)
            self._upload(path, self._at(name))
        return length

    def _create(self, name: str, content: bytes) -> bool:
        folder, _, last = name.rpartition("/")
        final, draft = self._at(name), self._at(f"{folder}/.{last}.{secrets.token_hex(8)}".lstrip("/"))
        if self._is_there(final):
            return False
        with scratch() as there:
            path = there / "file"
            path.write_bytes(content)
            self._upload(path, draft)
            try:
                return self._rename(draft, final)
            finally:
                with suppress(OSError), _java_errors():
                    self._files.delete(draft, False)

    def _is_there(self, path: Any) -> bool:
        with _java_errors():
            return bool(self._files.exists(path))

    def _rename(self, source: Any, target: Any) -> bool:
        with suppress(FileExistsError), _java_errors():
            if self._renames is not None:
                none = self._gateway.new_array(self._java.org.apache.hadoop.fs.Options.Rename, 0)
                self._renames.rename(source, target, none)
                return True
            if self._files.rename(source, target):
                return True
            if not self._files.exists(target):
                raise OSError(errno.EIO, _NOT_RENAMED)
        return False

    def _upload(self, path: Path, target: Any) -> None:
        try:
            with _java_errors():
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
            with suppress(OSError), _java_errors():
                self._files.delete(target, False)
            raise

    def _list(self, below: str, *, files: bool) -> list[str]:
        with _java_errors():
            found = self._files.listStatus(self._at(below))
            return [status.getPath().getName() for status in found if status.isFile() is files]

    def _missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if not self._is_there(self._at(name))]

    def _remove(self, name: str) -> None:
        with _java_errors():
            self._files.delete(self._at(name), False)

    def leads_out(self, name: str) -> bool:
        """Files of this machine are judged as in any local folder; elsewhere every link below counts."""
        with self._explained("read", name), suppress(FileNotFoundError), _java_errors():
            root = self._files.resolvePath(self._at(""))  # behind the mounts of a view of several file systems
            if str(root.toUri().getScheme()) == "file":
                return leads_out_of(Path(str(root.toUri().getPath())), name)
            files, parts = root.getFileSystem(self._files.getConf()), name.split("/") if name else []
            for depth in range(1, len(parts) + 1):
                below = self._java.org.apache.hadoop.fs.Path(root, "/".join(parts[:depth]))
                if files.getFileLinkStatus(below).isSymlink():
                    return True
        return False

    @property
    def moves_folders(self) -> bool:
        return True

    def _remove_folder(self, name: str) -> None:
        with _java_errors():
            self._files.delete(self._at(name), True)

    def _move_folder(self, source: str, target: str) -> None:
        if not self._is_there(self._at(source)):
            raise FileNotFoundError(errno.ENOENT, "there is no such folder")
        with _java_errors():
            if not self._files.rename(self._at(source), self._at(target)):
                raise OSError(errno.EIO, _NOT_RENAMED)

    def _download(self, name: str, path: Path) -> None:
        with _java_errors():
            source = self._files.open(self._at(name))
            sink = self._java.java.io.FileOutputStream(str(path))
            self._java.org.apache.hadoop.io.IOUtils.copyBytes(source, sink, _BUFFER, True)


@contextmanager
def _java_errors() -> Iterator[None]:
    """Raise what Java throws inside as the error that Python would raise."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as problem:
        thrown = getattr(problem, "java_exception", None)
        first, *_ = str(problem if thrown is None else thrown.toString()).splitlines() or [""]
        number = next((number for words, number in _NUMBERS if words in first), errno.EIO)
        raise OSError(number, first) from problem


def _settings(context: Any) -> Any:
    """The settings of file systems: the session's or, where there is none, the context's."""
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
