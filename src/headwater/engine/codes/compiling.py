"""Where compiled loops are kept between processes: where numba can, else in a private temporary folder, else nowhere.

Numba keeps them beside the package, or else below the user's home; where neither can be written, as in hardened
containers, it refuses to work at all. Then they go to a folder for this user among the temporary files. What is loaded
from there is run, so the folder is used only if nobody else could have put anything into it. If that is not so, every
process compiles anew, and is told which variable would spare it that.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """As numba's, but what cannot be kept is compiled all the same."""
    return lambda function: _kept(function, options) if options.get("cache") else numba.njit(**options)(function)


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if numba.config.CACHE_DIR or _has_home():
        try:
            return numba.njit(**options)(function)
        except RuntimeError:  # no place that can be written
            pass
    folder = _private_folder()
    if folder is None:
        return numba.njit(**options | {"cache": False})(function)
    chosen, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
    try:
        return numba.njit(**options)(function)
    except RuntimeError:
        return numba.njit(**options | {"cache": False})(function)
    finally:
        numba.config.CACHE_DIR = chosen


def _has_home() -> bool:
    """Whether it is known where the user's home is; else numba would make a folder called `~` wherever it stands."""
    try:
        return Path.home().is_absolute()
    except RuntimeError:
        return False


@cache
def _private_folder() -> Path | None:
    """A folder of this user alone, made when it is first asked for; None, with a warning: there can be none."""
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
    """Whether nobody else can write into a folder, nor put another one in its place."""
    own = stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.geteuid() and not folder.st_mode & _OTHERS
    replaced = around.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not around.st_mode & stat.S_ISVTX
    return own and not replaced and around.st_uid in (0, os.geteuid())
