"""How loops are compiled, and where they are kept between processes: where numba can, else in a private temporary
folder, else nowhere.

Numba keeps them beside the package, or else below the user's home; where neither can be written, as in hardened
containers, it refuses to work at all. Then they go to a folder for this user among the temporary files. What is loaded
from there is run, so the folder is used only if no other user could have put anything into it. Otherwise every process
compiles them again, and a warning names the variable that spares it that.

What is kept is out of date when a file in the folder of the kernel has changed. Numba itself looks at the kernel's own
file only, and would go on using a loop into which it has inlined an older version of a function of another file.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.options import DefaultOptions

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_UNCOUNTED = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}

inlined: Callable[[Callable[..., Any]], Any] = numba.njit(inline="always")

borrowing: Callable[[Callable[..., Any]], Any] = numba.njit(**_UNCOUNTED)
"""Compile a function that a kernel calls in its inner loop, with arrays of its own. It makes no array, so numba need
not count references: it would, atomically, for every argument of every call, which was half of the time of reading
1.1M nodes of JSON (100 ms, 44 without) and most of looking whether 1M rows ascend (15 ms, 1.3 without)."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, without Python's lock; keep it on disk if there is a place for it."""
    compiled = _kept(function)
    if compiled is function:  # numba is told not to compile
        return function
    kept = getattr(compiled._cache, "_cache_file", None)  # numba has no other way to say what a loop is made from
    if kept is not None:
        kept._source_stamp = _stamp(Path(function.__code__.co_filename).parent)
    return compiled


@cache
def _stamp(folder: Path) -> str:
    """Of the files that the kernels of a folder may be made from."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _compiled(function: Callable[..., Any], *, keep: bool) -> Any:
    return numba.njit(cache=keep, nogil=True)(function)


def _kept(function: Callable[..., Any]) -> Any:
    if numba.config.CACHE_DIR or _has_home():
        try:
            return _compiled(function, keep=True)
        except RuntimeError:  # no place that can be written
            pass
    folder = _private_folder()
    if folder is None:
        return _compiled(function, keep=False)
    chosen, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        return _compiled(function, keep=True)
    except RuntimeError:
        return _compiled(function, keep=False)
    finally:
        numba.config.CACHE_DIR = chosen


def kept_in() -> str | None:
    """The folder that compiled loops are kept in between processes; None: there is none that can be written."""
    found = getattr(_kept(_nothing), "_cache", None)
    return getattr(found, "cache_path", None)


def _nothing() -> None:
    """A loop like any other, as far as it matters where it is kept."""


def _has_home() -> bool:
    """Whether the user's home is known; else numba would make a folder called `~` in the current one."""
    try:
        return Path.home().is_absolute()
    except RuntimeError:
        return False


@cache
def _private_folder() -> Path | None:
    """A folder of this user alone, made at the first call; None, with a warning, if there can be none."""
    try:
        around = Path(tempfile.gettempdir())
        folder = around / f"headwater-{os.geteuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if _is_private(folder.lstat(), around.stat()) and os.access(folder, os.W_OK | os.X_OK):
            return folder
        reason = f"{folder} is not this user's alone"
    except (OSError, AttributeError) as problem:  # Windows has no numbers of users, and a home for each
        reason = str(problem)
    warnings.warn(
        "Headwater compiles its loops again in every process: neither its own folder, nor the user's home, nor a "
        f"temporary folder can keep them ({reason}); set NUMBA_CACHE_DIR to a folder that only this user can write to",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def _is_private(folder: os.stat_result, around: os.stat_result) -> bool:
    """Whether no other user can write into a folder, or put another one in its place."""
    own = stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.geteuid() and not folder.st_mode & _OTHERS
    replaced = around.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not around.st_mode & stat.S_ISVTX
    return own and not replaced and around.st_uid in (0, os.geteuid())
