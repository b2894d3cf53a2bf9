"""Saved and opened again: the same database, whatever happened to the process; damage is told, never guessed."""

from __future__ import annotations

import pickle
import random
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core import errors
from headwater.core.errors import StateError
from headwater.core.functions.registry import unregister
from headwater.engine.border.snapshot import MAGIC

TEXT = """
relation label(n: int, t: string) key(n).
reach(X, Y) :- edge(X, Y, _).
reach(X, Z) :- edge(X, Y, _), reach(Y, Z).
near(X, Y, min<C>) :- edge(X, Y, C).
near(X, Z, min<C>) :- near(X, Y, A), edge(Y, Z, B), C = A + B.
total(X, sum<C>, count<Y>) :- edge(X, Y, C).
route(X, Y, P) :- edge(X, Y, _), P = [X, Y].
route(X, Z, P) :- edge(X, Y, _), route(Y, Z, Q), !inPath(Q, X), P = concatPath([X, Y], Q).
lonely(X, T) :- label(X, T), !reach(X, _).
"""
NAMES = ("label", "edge", "reach", "near", "total", "route", "lonely")


def edit(dice: random.Random) -> dict[str, Any]:
    def edges(count: int) -> list[tuple[int, int, float]]:
        return [(dice.randrange(5), dice.randrange(5), dice.choice([0.1, 0.2, 0.7, 1e-300])) for _ in range(count)]

    labels = [(dice.randrange(7), dice.choice(["x", "", "é\n"]))]
    return {"insert": {"edge": edges(2), "label": labels}, "delete": {"edge": edges(12)}}


def state(db: hw.Database) -> dict[str, set[str]]:
    """Rows as text, so that floats are compared bit for bit."""
    return {name: set(map(repr, db.rows(name))) for name in NAMES}


@pytest.mark.parametrize("seed", range(6))
def test_an_opened_database_goes_on_like_the_one_that_was_saved(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    path = tmp_path / "views"
    db = hw.Database(hw.compile(TEXT), guard=9_000)
    db.apply(insert={"edge": [(1, 2, 0.1)]})
    for _ in range(5):
        db.save(path)
        again = hw.Database.open(path)
        assert state(again) == state(db)
        for _ in range(3):
            transaction = edit(dice)
            ours, theirs = db.apply(**transaction), again.apply(**transaction)
            assert state(again) == state(db)
            for name in NAMES:
                assert sorted(map(str, ours[name].inserted.to_pylist())) == sorted(
                    map(str, theirs[name].inserted.to_pylist())
                )
        for name in ("reach", "near", "total", "route", "lonely"):
            for row in db.rows(name):
                assert again.why(name, row).facts


def test_values_of_every_type_come_back_bit_for_bit(tmp_path: Path) -> None:
    text = """relation r(i: int, f: float, s: string, b: bool, t: timestamp, d: duration, l: list).
              v(L, F) :- r(_, F, _, _, _, _, L)."""
    rows = [
        (2**63 - 1, 0.1 + 0.2, "", True, "2024-01-01", -5, []),
        (-(2**63), 5e-324, "é\0\n🙂", False, 0, 2**62, ["a", [1, 2.5, True, []]]),
        (0, float("inf"), "x" * 10_000, False, 0, 0, [0.1 + 0.2, -1]),
    ]
    db = hw.Database(hw.compile(text))
    db.apply(insert={"r": rows})
    db.save(tmp_path / "kept")
    again = hw.Database.open(tmp_path / "kept")
    for name in ("r", "v"):
        assert set(map(repr, again.rows(name))) == set(map(repr, db.rows(name)))
        assert again.table(name).schema == db.table(name).schema
    assert not again.apply(insert={"r": rows})["r"]


def test_what_data_taught_is_kept(tmp_path: Path) -> None:
    db = hw.Database(hw.compile("v(X, Y) :- e(X, Y). w(X) :- z(X), v(X, _)."), guard=77)
    db.apply(insert={"e": pa.table({"src": [1], "dst": ["a"]})})
    db.save(tmp_path / "kept")
    again = hw.Database.open(tmp_path / "kept")
    assert again.table("e").column_names == ["src", "dst"]
    assert (again.program.outputs, again.provenance) == (db.program.outputs, db.provenance)
    with pytest.raises(errors.DataError, match="is not a valid int"):
        again.apply(insert={"e": [("x", "y")]})
    again.apply(insert={"z": [(1,)], "e": [{"dst": "b", "src": 2}]})
    assert (again.rows("v"), again.rows("w")) == ({(1, "a"), (2, "b")}, {(1,)})


def test_an_empty_database_and_the_facts_of_a_program(tmp_path: Path) -> None:
    hw.Database(hw.compile("v(X) :- r(X).")).save(tmp_path / "empty")
    again = hw.Database.open(tmp_path / "empty")
    again.apply(insert={"r": [("a",)]})
    assert again.rows("v") == {("a",)}
    db = hw.Database(hw.compile("r(1). r(2). v(X) :- r(X)."))
    db.save(tmp_path / "facts")
    again = hw.Database.open(tmp_path / "facts")
    again.apply(insert={"r": [(3,), (1,)]}, delete={"r": [(1,)]})
    assert again.rows("v") == {(1,), (2,), (3,)}


def test_a_function_that_is_not_registered_here(tmp_path: Path) -> None:
    hw.register("only_here", ("int",), "int")(lambda numbers: numbers)
    db = hw.Database(hw.compile("relation r(x: int). v(Y) :- r(X), Y = only_here(X)."))
    db.save(tmp_path / "kept")
    unregister("only_here")
    with pytest.raises(StateError, match="register the functions it calls first"):
        hw.Database.open(tmp_path / "kept")


def saved(folder: Path) -> Path:
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"edge": [(1, 2, 0.5), (2, 3, 0.5)], "label": [(1, "x")]})
    db.save(folder / "kept")
    return folder / "kept"


def test_every_cut_and_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    dice = random.Random(1)
    places = [*range(60), *dice.sample(range(len(whole)), 200), *range(len(whole) - 8, len(whole))]
    for place in places:
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :]):
            path.write_bytes(damaged)
            with pytest.raises(StateError, match=r"is damaged.*\n.*restore it from a copy|not a saved database; give"):
                hw.Database.open(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(StateError, match="damaged"):
        hw.Database.open(path)
    path.write_bytes(whole)
    assert hw.Database.open(path).rows("label") == {(1, "x")}


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"\x00" * 100, MAGIC, MAGIC + b"\xff" * 8, MAGIC + b"\x00" * 12], ids=repr
)
def test_files_that_are_something_else(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(StateError, match=r"is damaged.*\n.*restore it from a copy|not a saved database; give"):
        hw.Database.open(tmp_path / "other")


def with_header(content: bytes, old: bytes, new: bytes) -> bytes:
    """A saved database whose header says something else, as if it had been written so."""
    start = len(MAGIC) + 12
    length = int.from_bytes(content[len(MAGIC) : len(MAGIC) + 8], "little")
    header = content[start : start + length].replace(old, new)
    return (
        MAGIC
        + len(header).to_bytes(8, "little")
        + zlib.crc32(header).to_bytes(4, "little")
        + header
        + content[start + length :]
    )


def test_a_format_of_the_future(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_bytes(with_header(path.read_bytes(), b'"version": 4', b'"version": 9'))
    with pytest.raises(StateError, match=r"format 9, but this version of Headwater reads 4; open it with"):
        hw.Database.open(path)


def test_a_header_that_makes_no_sense(tmp_path: Path) -> None:
    path = saved(tmp_path)
    for old, new in (
        (b'"tick"', b'"tock"'),
        (b'"edge"', b'"egde"'),
        (b'"stamp"', b'"stomp"'),
        (b'"about"', b'"abuot"'),
        (b"<i4", b"<f4"),
        (b"<i2", b"<u2"),
        (b'"length"', b'"lenght"'),
    ):
        other = tmp_path / "odd"
        other.write_bytes(with_header(path.read_bytes(), old, new))
        with pytest.raises(StateError, match="damaged"):
            hw.Database.open(other)


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    db = hw.Database(hw.compile("v(X) :- r(X)."))
    for path in (tmp_path / "missing", tmp_path, tmp_path / "no" / "folder"):
        with pytest.raises(StateError, match="cannot read"):
            hw.Database.open(path)
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "folder", tmp_path, tmp_path / "file" / "below"):
        with pytest.raises(StateError, match="cannot write"):
            db.save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_saving_keeps_links_and_plain_permissions(tmp_path: Path) -> None:
    db = hw.Database(hw.compile("r(1). v(X) :- r(X)."))
    plain = tmp_path / "plain"
    plain.touch()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    db.save(link)
    assert link.is_symlink()
    assert (tmp_path / "target").stat().st_mode == plain.stat().st_mode
    db.save(str(link))
    assert hw.Database.open(link).rows("v") == {(1,)}
    assert {one.name for one in tmp_path.iterdir()} == {"plain", "link", "target"}


SAVER = """
import sys, headwater as hw
path = sys.argv[1]
db = hw.Database.open(path)
print("ready", flush=True)
number = db.count("r")
while True:
    db.apply(insert={"r": [(number, at) for at in range(2000)]})
    db.save(path)
    number += 1
"""


def test_a_killed_save_leaves_the_old_file_readable(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    db = hw.Database(hw.compile("relation r(a: int, b: int). v(A, count<B>) :- r(A, B)."))
    db.save(path)
    dice = random.Random(8)
    for _ in range(3):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE)
        assert saver.stdout is not None
        assert saver.stdout.readline() == b"ready\n"
        time.sleep(dice.random() * 0.3)
        saver.send_signal(signal.SIGKILL)
        saver.wait()
        saver.stdout.close()
        kept = hw.Database.open(path)
        assert {count for _, count in kept.rows("v")} <= {2000}
        assert kept.count("r") == 2000 * kept.count("v")


@pytest.mark.parametrize(
    "error", [errors.DataError, errors.GuardError, errors.EvaluationError, errors.StateError, errors.HeadwaterError]
)
def test_errors_survive_pickling(error: type[Exception]) -> None:
    again = pickle.loads(pickle.dumps(error("what went wrong")))
    assert type(again) is error
    assert str(again) == "what went wrong"


def test_program_errors_and_programs_survive_pickling() -> None:
    with pytest.raises(hw.ProgramError) as refused:
        hw.compile("a(X) :- b(Y).")
    again = pickle.loads(pickle.dumps(refused.value))
    assert type(again) is type(refused.value)
    assert (str(again), again.diagnostics) == (str(refused.value), refused.value.diagnostics)
    program = hw.compile(TEXT)
    copy = pickle.loads(pickle.dumps(program))
    assert copy == program
    db = hw.Database(copy)
    db.apply(insert={"edge": [(1, 2, 0.5)]})
    assert db.rows("reach") == {(1, 2)}
