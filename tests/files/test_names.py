"""Names of relations that would leave their folder, hide in it, or fit in none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.files.names import file_name, relation_name

HOSTILE = [
    "..", ".", "", "../../evil", "/tmp/evil", "a/b", "a\\b", "a\0b", "C:\\evil", "~", "~root", "~2e", "-rf", ".hidden",
    "_hidden", "trailing.", "trailing ", " ", "a b", "a%2fb", "%2e%2e", "a=b", "{a,b}", "*", "a?b", "[a]", "a:b", "\n",
    "con", "NUL", "com1", "rejected", "Rejected", "a.changes", "\u202e", "\ud800", "e\u0301", "é", "日本", "🙂",
    "a" * 300, "é" * 300, "/" * 300, "a" * 160, "a" * 161,
]  # fmt: skip
names = st.text(st.characters(), max_size=300) | st.text("./\\~_-aé2f\0 %", max_size=12)


@pytest.mark.parametrize("name", ["reach", "shortestPath", "link_2", "my-view", "größe", "日本", "R"])
def test_ordinary_names_stay(name: str) -> None:
    assert file_name(name) == name
    assert relation_name(name) == name


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_files_of_their_folder(name: str, tmp_path: Path) -> None:
    made = file_name(name)
    assert len(os.fsencode(f".{made}.changes.jsonl.12345678")) <= 255
    assert made[0] not in "._-"
    assert not set(made) & set("./\\\0:*?[]{}=%\n ")
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / f"{made}.csv"
    path.write_text("here")
    assert path.resolve().parent == tmp_path / "out"
    assert [one.name for one in (tmp_path / "out").iterdir()] == [f"{made}.csv"]
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_hostile_names_have_different_files() -> None:
    assert len({file_name(name) for name in HOSTILE}) == len(HOSTILE)


@given(name=names)
def test_names_come_back(name: str) -> None:
    made = file_name(name)
    assert len(made.encode()) <= 160
    assert relation_name(made) == (None if "~~" in made else name)


@given(one=names, other=names)
def test_different_names_have_different_files(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@pytest.mark.parametrize("file", ["~2", "~zz", "~61", "a.b", "_a", "~~", "a~~1234", "~ff", "~c3", "a" * 161])
def test_what_is_no_name_of_ours_is_told(file: str) -> None:
    assert relation_name(file) is None
