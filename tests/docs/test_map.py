"""CONTRIBUTING.md does not lie: its map lists every folder of src, and every path that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.fences import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "headwater"
MAP = TEXT[TEXT.index("| folder or file |") :].split("\n\n")[0]
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:py|md|toml|txt))`")
NEW = {"rewrite/my_rewrite.py"}  # the file that a reader is asked to write


def test_the_map_lists_every_folder() -> None:
    listed = re.findall(r"^\| `([\w/]+)/` \|", MAP, re.MULTILINE)
    found = [path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")]
    assert sorted(listed) == sorted(folder for folder in found if folder != ".")


def test_every_path_exists() -> None:
    named = [path for path in NAMED.findall(TEXT) if path not in NEW]
    assert len(named) > 60
    assert [path for path in named if not any((place / path).exists() for place in places())] == []


def places() -> list[Path]:
    """Where a path on the page may begin: the top, the package, or a folder of functions that the text names first."""
    return [ROOT, SOURCE, SOURCE / "core" / "functions", SOURCE / "language" / "sql", SOURCE / "rewrite"]
