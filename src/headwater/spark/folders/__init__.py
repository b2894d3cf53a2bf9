"""Folders of files: on a disk that all machines see, or in any store that Spark can write.

A path without a scheme is in the session's default file system, as it is for Spark itself: nearly always that of the
operating system, which is `file:` as well. `hdfs:`, `viewfs:`, `s3:` (also spelt `s3a:` and `s3n:`), `gs:` and `abfs:`
(`abfss:`) are opened by Arrow's own clients. Whatever Arrow cannot open is left to Hadoop's clients, in the JVM of the
driver, and workers reach it through the driver.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from urllib.parse import unquote

from headwater.core.errors import StateError
from headwater.spark.folders import arrow
from headwater.spark.folders.arrow import ArrowFolder
from headwater.spark.folders.folder import Folder
from headwater.spark.folders.local import LocalFolder

if find_spec("pyspark") is not None:
    from headwater.spark.folders import hadoop, relay

__all__ = ["Folder", "open_folder", "refuse_hadoop"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_WITHOUT_JVM = ("file", *arrow.SCHEMES)


def open_folder(path: str | os.PathLike[str]) -> Folder:
    """The folder that a path or URI names; raises StateError where no client here can open it."""
    text = os.fspath(path)
    scheme = _scheme(text)
    if scheme is None:
        elsewhere = hadoop.by_default(text) if _has_jvm() else None
        return LocalFolder(text) if elsewhere is None else open_folder(elsewhere)
    if scheme == "file":
        return LocalFolder("/" + unquote(text[len("file:") :]).lstrip("/"))
    if scheme in arrow.SCHEMES:
        try:
            return ArrowFolder(text)
        except StateError:
            if not _has_jvm():
                raise
    elif not _has_jvm():
        refuse_hadoop(text)
    return hadoop.HadoopFolder(text, relay.relayed)


def refuse_hadoop(path: str) -> None:
    """Raise StateError if only Hadoop's clients can open a path."""
    scheme = _scheme(path)
    if scheme is None or scheme in _WITHOUT_JVM:
        return
    known = ", ".join(f"{name}:" for name in _WITHOUT_JVM)
    raise StateError(
        f"{path}: `{scheme}:` is reached through Hadoop's clients, in the JVM of a driver, and this process has none "
        "(a client of Spark Connect never has); start the query in a driver with a session of its own, give a path "
        f"under one of {known}, which need no JVM, or a folder that all machines have mounted"
    )


def _scheme(path: str) -> str | None:
    found = _SCHEME.match(path)
    return None if found is None else found.group(1).lower()


def _has_jvm() -> bool:
    return find_spec("pyspark") is not None and hadoop.is_there()
