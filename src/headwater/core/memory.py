"""How much memory there is for this process: the machine's, the container's, and what the process itself may take.

Nothing is cached: a container's limit may be moved while a process runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def memory_for(processes: int = 1) -> int | None:
    """Bytes for each of so many processes that share the machine, or the container; None where it is not known."""
    shared = [limit for limit in (_machine(), *_containers(_CGROUPS, Path("/proc/self/cgroup"))) if limit is not None]
    bounds = [min(shared) // max(1, processes)] if shared else []
    return min([*bounds, *_own()], default=None)


def _machine() -> int | None:
    try:
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def _containers(root: Path, member_of: Path) -> Iterator[int]:
    """The limits of the control groups that this process is in, from the innermost to the root."""
    try:
        groups = member_of.read_text().splitlines()
    except OSError:
        return
    for line in groups:
        _, kinds, name = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        top, file = (root / "memory", "memory.limit_in_bytes") if kinds else (root, "memory.max")
        inner = top / name.strip("/")
        for folder in (inner, *inner.parents):
            limit = _number(folder / file)
            if limit is not None:
                yield limit
            if folder == top:
                break


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _own() -> Iterator[int]:
    """Limits of this very process; `spark.executor.pyspark.memory` makes Spark set one for its Python workers."""
    try:
        import resource
    except ImportError:
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft
