"""A file that somebody sent, with checksums that fit: it opens right or is refused, and the process lives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import StateError
from headwater.engine.border.symbol_columns import to_columns
from tests.database import forging
from tests.database.forging import Arrays, put_together, taken_apart


@pytest.fixture(scope="module")
def closure(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A saved closure: edges between 40 nodes, some of which were deleted again."""
    db = hw.Database(hw.compile(forging.PROGRAMS["closure"]))
    db.apply(insert={"edge": [(f"n{at}", f"n{at * 7 % 40}") for at in range(40)]})
    db.apply(insert={"edge": [("n1", "n2"), ("n2", "n3")]}, delete={"edge": [("n3", "n21")]})
    path = tmp_path_factory.mktemp("closure") / "kept"
    db.save(path)
    return path.read_bytes()


def cell(table: str, name: str, value: int, at: int = 0) -> Callable[[dict[str, Any], Arrays], None]:
    def change(header: dict[str, Any], arrays: Arrays) -> None:
        arrays[table, name].reshape(-1)[at] = value

    return change


def field(name: str, value: Any) -> Callable[[dict[str, Any], Arrays], None]:
    def change(header: dict[str, Any], arrays: Arrays) -> None:
        (header["about"] if name in header["about"] else header)[name] = value

    return change


def circle(header: dict[str, Any], arrays: Arrays) -> None:
    """Two rows of the closure, both alive and derived from others of it, that rest on each other."""
    rules, stamp = arrays["reach", "rules"], arrays["reach", "stamp"]
    joined = np.flatnonzero((rules == rules.max()) & (stamp > 0))
    one, other = joined[:2]
    arrays["reach", "witness"][one], arrays["reach", "witness"][other] = other, one


def doubled(header: dict[str, Any], arrays: Arrays) -> None:
    for name in ("data", "stamp", "rules", "witness"):
        arrays["edge", name] = np.concatenate([arrays["edge", name], arrays["edge", name][-1:]])


def symbols(table: pa.Table, compression: str | None = None) -> Callable[[dict[str, Any], Arrays], None]:
    def change(header: dict[str, Any], arrays: Arrays) -> None:
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        arrays["", "symbols"] = np.frombuffer(sink.getvalue(), dtype=np.uint8)

    return change


WORDS = [f"n{at}" for at in range(40)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (cell("edge", "data", 10**9), r"table `edge`: column 1 holds an invalid code for string"),
        (cell("edge", "data", -1), r"table `edge`: column 1 holds an invalid code for string"),
        (cell("reach", "witness", 10**9), r"table `reach`: row 0 depends on a row that does not exist"),
        (cell("reach", "witness", -5), r"table `reach`: row 0 depends on a row that does not exist"),
        (cell("edge", "stamp", 0), r"table `reach`: row \d+ depends on a row that is gone"),
        (cell("edge", "stamp", -1), r"table `edge`: row 0 has a state that no row can have"),
        (cell("edge", "stamp", 2**31 - 1), r"table `edge`: row 0 has a state that no row can have"),
        (cell("edge", "rules", 3), r"table `edge`: row 0 names a rule that derives no such rows"),
        (cell("reach", "rules", 300), r"table `reach`: row 0 names a rule that derives no such rows"),
        (circle, r"table `reach`: row \d+ rests on itself"),
        (doubled, r"table `edge`: two of its rows are the same"),
        (field("tick", 2**40), r"the number of its rounds cannot be 1099511627776"),
        (field("clock", 2**70), r"its time cannot be"),
        (field("known", {"edge": ["int"]}), r"`edge` has 2 columns"),
        (field("nodes", "many"), r"error\[HW921\]"),
        (field("program", '#include "/etc/passwd"\n'), r"cannot read `/etc/passwd`: a saved program holds all its"),
        (field("program", '#include "kept"\n'), r"cannot read `kept`: a saved program holds all its statements"),
        (symbols(to_columns(["n1", *WORDS])), r"two of its symbols are equal"),
        (symbols(to_columns(WORDS), "zstd"), r"compressed columns"),
        (symbols(pa.table({"text": pa.nulls(10**6)})), r"1,000,000 rows in"),
        (symbols(pa.table({"other": ['{"list": [' * 10**5 + "]}" * 10**5]})), r"error\[HW921\]"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    change: Callable[[dict[str, Any], Arrays], None], reason: str, closure: bytes, tmp_path: Path
) -> None:
    header, arrays = taken_apart(closure)
    path = tmp_path / "forged"
    path.write_bytes(put_together(header, arrays))
    assert len(hw.Database.open(path).rows("reach")) > 100
    change(header, arrays)
    path.write_bytes(put_together(header, arrays))
    with pytest.raises(StateError, match=reason) as caught:
        hw.Database.open(path)
    assert "forged" in str(caught.value)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (2, "|O"),
        (2, "<f8"),
        (2, ">i4"),
        (3, [10**12, 2]),
        (3, [2**32, 2**32]),
        (3, [-1, 2]),
        (3, []),
        (4, 0),
        (4, 10**15),
        (4, -64),
    ],
)
def test_arrays_that_cannot_be_are_refused(at: int, value: Any, closure: bytes, tmp_path: Path) -> None:
    header, arrays = taken_apart(closure)
    header["arrays"][2][at] = value
    path = tmp_path / "forged"
    path.write_bytes(put_together(header, arrays, keep=True))
    with pytest.raises(StateError, match=r"error\[HW921\]: .*forged is damaged.*table `edge`"):
        hw.Database.open(path)


def test_a_program_in_a_file_does_not_run_when_it_is_opened(tmp_path: Path) -> None:
    """Nor do facts of a program that never ends: the rows are those in the file."""
    db = hw.Database(hw.compile("relation e(x: int). v(X) :- e(X). n(1). n(X) :- n(Y), X = Y + 1, X < 4."), guard=None)
    db.save(tmp_path / "kept")
    header, arrays = taken_apart((tmp_path / "kept").read_bytes())
    header["about"]["program"] = header["about"]["program"].replace("X < 4", "X > 0")
    (tmp_path / "kept").write_bytes(put_together(header, arrays))
    assert len(hw.Database.open(tmp_path / "kept").rows("n")) == 3


def run_forged(module: str, folder: Path, first: int, last: int) -> str:
    """Open forged files in a process of its own, so that one that dies is a failure with its seed."""
    run = [sys.executable, "-m", module, str(folder), str(first), str(last)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def forge(folder: Path, first: int, last: int) -> None:
    forging.saved(folder)
    run_forged("tests.database.forging", folder, first, last)


def test_forged_files_open_or_are_refused(tmp_path: Path) -> None:
    forge(tmp_path, 0, 250)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_forged_files_open_or_are_refused(part: int, tmp_path: Path) -> None:
    forge(tmp_path, 1000 * part, 1000 * part + 1000)
