"""The Spark session: finding the active one, starting a local one, what it can do, and how its jobs are described.

Nothing here changes the settings of a session that the user made.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as sf

from headwater.core.errors import HeadwaterError
from headwater.core.interruption import held_back
from headwater.pipeline import CompiledProgram
from headwater.spark.session.temporary import lasting_scratch

RENAMING_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_DESCRIPTION = "spark.job.description"
_MOST_VIEWS = 5
_LOCAL = re.compile(r"local(\[.*\])?")
_LONGEST_FOLDER = 33  # of a socket's whole path systems take about a hundred bytes; what comes below has seventy
_NO_JAVA = (
    "error[HW905]: Spark needs Java, and there is no {place}; install a Java runtime, version 17 or later "
    "(for example the package openjdk-17-jre-headless), or set JAVA_HOME to one"
)


class SparkMissing(HeadwaterError):
    """Spark cannot run here; the message says what to install."""


def session_of(frames: Iterable[Any]) -> Any:
    """The session that DataFrames belong to, or the active one where there are none."""
    for frame in frames:
        return frame.sparkSession
    found = session_at_hand()
    if found is None:
        raise ValueError("there is no Spark session; give a DataFrame, or start a session first")
    return found


def session_at_hand() -> Any:
    """The session of this thread or, where it has none of its own, of the process; None: there is none."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def is_connect(spark: Any) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def slots(spark: Any) -> int:
    """How many tasks run at once: what Spark takes for its default parallelism."""
    if not is_connect(spark):
        return max(1, int(spark.sparkContext.defaultParallelism))
    parts = spark.range(0, 1 << 20).select(sf.spark_partition_id().alias("part")).distinct().count()
    return max(1, int(parts))


def has_dynamic_allocation(spark: Any) -> bool:
    return str(spark.conf.get("spark.dynamicAllocation.enabled", "false")).lower() == "true"


def is_local(spark: Any) -> bool:
    """Whether all of Spark is one process, which cannot lose executors."""
    return _LOCAL.fullmatch(str(spark.conf.get("spark.master", ""))) is not None


def kept(frame: Any, *, eager: bool = True) -> Any:
    """The same rows, held by executors: at once or, if not `eager`, when they are first used.

    Spark cannot compute them again, because rounds of a shuffle lie behind them, or should not, because a gang does. So
    a cluster keeps two copies. If both are lost, whatever reads the frame fails: a checkpoint block is missing.
    """
    if is_local(frame.sparkSession):
        return frame.localCheckpoint(eager)
    return frame.localCheckpoint(eager, StorageLevel.MEMORY_AND_DISK_2)


def observed(frame: Any, keep: Callable[[Any], Any], *figures: Any) -> tuple[Any, dict[str, Any]]:
    """The frame that `keep` computes and holds, and aggregates over its rows, without a second pass where possible."""
    if is_connect(frame.sparkSession):  # it does not report observations of a checkpoint
        held = keep(frame)
        return held, held.agg(*figures).collect()[0].asDict()
    seen = Observation()
    held = keep(frame.observe(seen, *figures))
    return held, seen.get


def title(program: CompiledProgram) -> str:
    """The name of a program's jobs, as in `headwater routes.dl: fastest`: its file, if any, and its views."""
    spans = [statement.span for statement in program.tree.statements[:1]]
    named = [span.source.name for span in spans if span is not None]
    file = "".join(f" {PurePath(name).name}" for name in named if not name.startswith("<"))
    views = [*program.outputs[:_MOST_VIEWS], *(["..."] if len(program.outputs) > _MOST_VIEWS else [])]
    return f"headwater{file}: {', '.join(views)}"


@contextmanager
def described(spark: Any, text: str) -> Iterator[None]:
    """Jobs started inside have this description, except in Connect, which has none."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, text)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)


def local_session(name: str = "headwater", settings: Mapping[str, str] | None = None) -> Any:
    """The session there is, or a local one with what makes Headwater quick on one machine."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    master = (settings or {}).get("spark.master", "local[*]")
    chosen = {
        "spark.master": master,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.sql.streaming.checkpointFileManagerClass": RENAMING_FILES,
        "spark.python.daemon.module": "headwater.spark.daemon",
        "spark.driver.bindAddress": "127.0.0.1",
        **(_sockets() if _LOCAL.fullmatch(master) else {}),
        **(settings or {}),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with held_back():  # a Java that is interrupted while it starts is left behind, and never ends
        return builder.getOrCreate()


def _sockets() -> dict[str, str]:
    """Settings that have Java and the Python workers of this machine talk through sockets in a folder of their own.

    On the network's loopback each end waits for the other to acknowledge small messages, some 40 ms a task. Sockets in
    the file system need no token, so only this user may enter the folder.
    """
    if not hasattr(socket, "AF_UNIX"):
        return {}
    if len(tempfile.gettempdir()) > _LONGEST_FOLDER:
        return {}
    folder = str(lasting_scratch())
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": folder}


def require_java() -> None:
    """Raise SparkMissing where there is no Java, instead of the launcher's stack trace."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise SparkMissing(_NO_JAVA.format(place="`java` on the PATH and no JAVA_HOME"))
    try:
        subprocess.run([java, "-version"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise SparkMissing(_NO_JAVA.format(place=f"Java that runs at {java}")) from None
