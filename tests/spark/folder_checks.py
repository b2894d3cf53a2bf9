"""What every folder of files promises, wherever it lies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.core.errors import StateError
from headwater.spark.folders import Folder


def check_files(where: Folder, missing: str = "") -> None:
    """Write, read, create once, list and remove; `missing` is in the error of a file that is not there."""
    assert where.names() == where.names("a/b") == []
    assert where.missing(["a/b/one"]) == ["a/b/one"]
    assert where.write("a/b/one", [b"12", memoryview(b"345")]) == 5
    assert where.read("a/b/one") == b"12345"
    assert where.write("a/b/one", [b"6"]) == 1
    assert where.read("a/b/one") == b"6"
    assert where.create("two", b"first")
    assert not where.create("two", b"second")
    assert where.read("two") == b"first"
    assert (where.names(), where.names("a"), where.names("a/b")) == (["two"], [], ["a/b/one"])
    with where.local("a/b/one") as path:
        assert path.read_bytes() == b"6"
    where.remove("two")
    where.remove("two")
    assert where.names() == []
    with pytest.raises(StateError, match=rf"cannot read .*two: .*{missing}"):
        where.read("two")
    with pytest.raises(ValueError, match="stop"):
        where.write("a/half", _cut_off())
    assert where.names("a") == []
    assert where.missing(["a/b/one", "two"]) == ["two"]


def _cut_off() -> Iterator[bytes]:
    yield b"1"
    raise ValueError("stop")
