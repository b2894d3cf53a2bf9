"""Folders for a while: what killed processes leave is removed, and nothing else, whatever it is called."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headwater.spark.session import temporary as home
from headwater.spark.session.temporary import lasting_scratch, scratch, sweep
from tests.spark.conftest import SRC

HOLDER = """
import signal
from headwater.spark.session.temporary import scratch
with scratch() as folder:
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "below" / "deeper" / "file").write_text("large")
    print(folder, flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@contextmanager
def holder(temporary: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that has a folder, and what it is called."""
    env = os.environ | {"PYTHONPATH": str(SRC), "TMPDIR": str(temporary)}
    process = subprocess.Popen([sys.executable, "-c", HOLDER], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_folder_is_there_until_it_is_done_with(temporary: Path) -> None:
    with scratch() as folder:
        assert folder.parent == temporary
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a").mkdir()
        (folder / "a" / "file").write_text("1")
        (folder / "file").write_text("2")
    assert not folder.exists()
    with pytest.raises(KeyError), scratch() as folder:
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_has_left_is_removed_and_a_living_one_keeps_its_own(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holder(temporary) as (living, kept), holder(temporary) as (killed, left):
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert (left / "below" / "deeper" / "file").exists()
        monkeypatch.setattr(home, "_swept", False)
        with scratch() as own:
            assert not left.exists()
            assert {own, kept} == set(temporary.iterdir())
            sweep()
            assert own.exists()
        assert living.poll() is None
        assert (kept / "below" / "deeper" / "file").exists()


def test_nobody_is_tricked_into_removing_anything_else(temporary: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    named = temporary / "headwater-scratch-"
    named.with_name(named.name + "link").symlink_to(precious)
    named.with_name(named.name + "file").write_text("no folder")
    os.mkfifo(named.with_name(named.name + "pipe"))
    open_to_all = named.with_name(named.name + "open")
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (temporary / "headwater-other").mkdir(mode=0o700)
    if os.geteuid() == 0:
        foreign = named.with_name(named.name + "foreign")
        foreign.mkdir(mode=0o700)
        os.chown(foreign, 65534, 65534)
    before = set(temporary.iterdir())
    left = named.with_name(named.name + "left")
    left.mkdir(mode=0o700)
    (left / "link").symlink_to(precious)
    (left / "below").mkdir()
    (left / "below" / "link").symlink_to(precious)
    os.link(precious / "file", left / "same file")
    sweep()
    assert set(temporary.iterdir()) == before
    assert (precious / "file").read_text() == "mine"


def test_a_folder_that_is_taken_for_one_that_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may sweep after a folder is made and before its lock is held; then another one is made."""
    make, taken = tempfile.mkdtemp, []

    def made(prefix: str) -> str:
        folder = make(prefix=prefix)
        if len(taken) < 2:
            sweep()
            taken.append(Path(folder))
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    with scratch() as folder:
        assert folder.is_dir()
        assert len(taken) == 2
        assert folder not in taken
        sweep()
        assert folder.is_dir()


def test_where_there_are_no_locks_nothing_is_swept(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "_lock", lambda handle: home._Lock.UNKNOWN)
    with scratch() as folder:
        (folder / "file").write_text("1")
        sweep()
        assert (folder / "file").exists()
    assert list(temporary.iterdir()) == []


def test_a_child_that_was_forked_leaves_its_parent_s_folder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lasting_scratch()
    monkeypatch.setattr(os, "getpid", lambda: 0)
    home._remove_own(folder, None, maker=1)
    assert folder.exists()
    home._remove_own(folder, None, maker=0)
    assert not folder.exists()
