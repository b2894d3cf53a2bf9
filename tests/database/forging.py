"""Files that nobody saved: saved databases with changed fields and cells, and checksums that fit.

    python -m tests.database.forging FOLDER FIRST LAST

opens the files of these seeds, one after the other, and works with those that open. It prints every seed before its
file is opened, so that a process that dies names it, and ends with what went wrong otherwise.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import traceback
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import headwater as hw
from headwater.core.errors import HeadwaterError, StateError
from headwater.engine.border.checksum import checksum
from headwater.engine.border.snapshot import MAGIC
from headwater.engine.border.symbol_columns import to_columns

Arrays = dict[tuple[str, str], npt.NDArray[Any]]
Forgery = tuple[dict[str, Any], Arrays]
_START = len(MAGIC) + 12


# What is saved

PROGRAMS = {
    "closure": """
        relation edge(a: string, b: string).
        reach(X, Y) :- edge(X, Y).
        reach(X, Z) :- reach(X, Y), reach(Y, Z).
        alone(X) :- edge(X, _), !reach(X, X).
        far(X, count<Y>) :- reach(X, Y).
    """,
    "paths": """
        relation link(a: int, b: int, c: float) key(a, b).
        path(X, Y, [X, Y], C) :- link(X, Y, C).
        path(X, Z, concat([X], P), C) :- link(X, Y, C1), path(Y, Z, P, C2), !member(X, P), C = C1 + C2.
        best(X, Y, min<C>) :- link(X, Y, C).
        best(X, Z, min<C>) :- link(X, Y, C1), best(Y, Z, C2), C = C1 + C2.
        total(X, sum<C>) :- best(X, Y, C).
        near(X, top<2, C>) :- best(X, Y, C).
    """,
    "times": """
        stream ride(ts: timestamp, a: string, b: string, fare: int) ttl 30 seconds.
        relation open(a: string, yes: bool).
        fare(Ts, A, B, mmin<F>) :- ride(Ts, A, B, F), open(A, true).
        fare(Ts, A, B, mmin<F>) :- ride(T1, A, C, F1), fare(T2, C, B, F2), F = F1 + F2, largest(Ts, T1, T2).
    """,
    "learnt": """
        both(Y, X) :- pair(X, Y).
        some(X, max<Y>) :- pair(X, Y).
        pair(1, 2).
        query both(X, Y).
        query some(X, Y).
    """,
    "odd": "odd(X, Y) :- step(X, Y). odd(X, Z) :- even(X, Y), step(Y, Z). even(X, Z) :- odd(X, Y), step(Y, Z).",
}


def saved(folder: Path) -> list[Path]:
    """One file per program, and one with absorption provenance; every one after inserts and deletes."""
    dice = random.Random(3)
    made: list[Path] = []
    for name, text in PROGRAMS.items():
        for provenance in ("witness", "absorption") if name in ("closure", "odd") else ("witness",):
            db = hw.Database(hw.compile(text), provenance=provenance)
            for _ in range(4):
                edit(db, name, dice)
            made.append(folder / f"{name}-{provenance}")
            db.save(made[-1])
    return made


def edit(db: hw.Database, name: str, dice: random.Random) -> None:
    """A transaction that inserts some rows and deletes others."""
    count = 6
    pairs = [(dice.randrange(7), dice.randrange(7)) for _ in range(count)]
    match name:
        case "closure":
            insert: dict[str, list[Any]] = {"edge": [(f"n{a}", f"n{b}") for a, b in pairs]}
        case "paths":
            insert = {"link": [(a, b, float(dice.randrange(1, 9))) for a, b in pairs]}
        case "times":
            at = [f"2026-01-01T00:00:{dice.randrange(60):02}" for _ in pairs]
            rides = [(np.datetime64(t), f"n{a}", f"n{b}", a + b) for t, (a, b) in zip(at, pairs, strict=True)]
            insert = {"ride": rides, "open": [(f"n{a}", b > 2) for a, b in pairs]}
        case "learnt":
            insert = {"pair": pairs}
        case _:
            insert = {"step": pairs}
    delete = {one: sorted(db.rows(one), key=repr)[:2] for one in insert}
    db.apply(insert=insert, delete=delete)


# How it is changed


def taken_apart(content: bytes) -> Forgery:
    length = int.from_bytes(content[len(MAGIC) : len(MAGIC) + 8], "little")
    header = json.loads(content[_START : _START + length])
    arrays: Arrays = {}
    for table, name, kind, shape, at, _ in header["arrays"]:
        nbytes = int(np.prod(shape)) * np.dtype(kind).itemsize
        start = _START + length + at
        arrays[table, name] = np.frombuffer(content[start : start + nbytes], dtype=kind).reshape(shape).copy()
    return header, arrays


def put_together(header: dict[str, Any], arrays: Arrays, *, keep: bool = False) -> bytes:
    """The file, with checksums that fit; with `keep`, places and lengths are those of the header."""
    body = b""
    places = []
    for (table, name), array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        places.append([table, name, array.dtype.str, list(array.shape), len(body), checksum(array)])
        body += raw + bytes(-len(raw) % 64)
    if not keep:
        header = header | {"arrays": places, "length": len(body)}
    text = json.dumps(header).encode()
    text += b" " * (-(_START + len(text)) % 64)
    return MAGIC + len(text).to_bytes(8, "little") + zlib.crc32(text).to_bytes(4, "little") + text + body


def _deep(strata: int) -> Any:
    found: Any = []
    for _ in range(strata):
        found = [found]
    return found


ODD: tuple[Any, ...] = (
    None, True, False, -1, -2, 0, 1, 2, 3, 7, 2**15, 2**31 - 2, 2**31 - 1, 2**31, 2**32, 10**12, 2**63 - 1, 2**63,
    -(2**63), 1.5, -1e300, "", "x", "../x", "int", "O", "|O", "<f8", "<i8", ">i4", [], {}, [0], [None, None],
    _deep(300), "absorption",
)  # fmt: skip


def _change_field(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> bool:
    """Somewhere in the header, another value, or one too few or too many."""
    where: Any = header
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = dice.choice(keys)
        inner = where[key]
        if not isinstance(inner, list | dict) or not inner or dice.random() < 0.25:
            break
        where = inner
    match dice.randrange(6):
        case 0:
            del where[key]
        case 1 if isinstance(where, list):
            where.insert(key, copy.deepcopy(where[dice.randrange(len(where))]))
        case 2 if isinstance(inner, int) and not isinstance(inner, bool):
            where[key] = inner + dice.choice((-64, -1, 1, 64))
        case 3 if isinstance(inner, str) and inner:
            at = dice.randrange(len(inner))
            where[key] = inner[:at] + dice.choice("AZaz09+/= (.),") + inner[at + 1 :]
        case _:
            where[key] = copy.deepcopy(dice.choice(ODD))
    return True


def _change_cells(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> bool:
    names = [key for key, array in arrays.items() if array.size]
    array = arrays[dice.choice(names)].reshape(-1)
    limits = np.iinfo(array.dtype)
    for _ in range(dice.choice((1, 1, 2, 8))):
        at = dice.randrange(array.size)
        now = int(array[at])
        new = dice.choice(
            (now + 1, now - 1, -1, -2, -3, 0, 1, limits.max, limits.min, array.size, int(dice.choice(array)))
        )
        array[at] = min(max(new, limits.min), limits.max)
    return False


def _change_rows(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> bool:
    """A table with rows too few, too many, twice, or of another table or kind."""
    tables = sorted({table for table, _ in arrays} - {""})
    table = dice.choice(tables)
    parts = [name for owner, name in arrays if owner == table]
    some = parts if dice.random() < 0.6 else [dice.choice(parts)]
    size = len(arrays[table, parts[0]])
    one, other = dice.randrange(size + 1), dice.randrange(size + 1)
    kind, how = dice.choice(("<i4", "<i8", "<i2", "|u1")), dice.randrange(6)
    for name in some:
        array = arrays[table, name]
        match how:
            case 0:
                arrays[table, name] = array[:one]
            case 1:
                arrays[table, name] = np.concatenate([array, array[one:], array[:other]])
            case 2 if one < size and other < size:
                array[one] = array[other]
            case 3:
                arrays[table, name] = array.astype(kind)
            case 4:
                arrays[table, name] = arrays.get((dice.choice(tables), name), array)
            case _:
                arrays[table, name] = array[::-1]
    return False


def _change_symbols(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> bool:
    key = "", "symbols"
    raw = arrays[key]
    match dice.randrange(5):
        case 0 | 1:
            for _ in range(dice.choice((1, 3))):
                raw[dice.randrange(raw.size)] = dice.choice((0, 1, 0x7F, 0x80, 0xFF))
            return False
        case 2:
            values: list[Any] = ["n1", *(f"n{at}" for at in range(dice.randrange(40))), (1, 2), 1.5, True][
                dice.randrange(2) :
            ]
            table = to_columns(values)
        case 3:
            column = dice.choice(
                [pa.nulls(10**6), pa.array([None, "a"]), pa.array([1]), pa.array([{"x": 1}]), pa.array([[None]])]
            )
            table = pa.table({dice.choice(("text", "ints", "other", "x")): column})
        case _:
            inner = dice.choice(
                ('{"list": ' * 5000 + "[]" + "}" * 5000, '{"dict": {}}', "null", "1", '{"int": "a"}', "[]")
            )
            table = pa.table({"other": pa.array([inner], type=pa.large_string())})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=dice.choice((None, None, "zstd")))
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    arrays[key] = np.frombuffer(sink.getvalue(), dtype=np.uint8)
    return False


def _change_program(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> bool:
    text = header["about"]["program"]
    lines = text.split("\n")
    match dice.randrange(5):
        case 0:
            lines[dice.randrange(len(lines))] = dice.choice(
                ('#include "/etc/passwd".', '#include "x"', "x(1). x(N+1) :- x(N).")
            )
        case 1:
            del lines[dice.randrange(len(lines))]
        case 2:
            dice.shuffle(lines)
        case 3:
            lines.append(
                dice.choice(
                    ("y(" + "[" * 3000, "z(f_unknown(X)) :- edge(X, _).", "\0", "SELECT 1", "x(1). x(N+1) :- x(N).")
                )
            )
        case _:
            lines = [dice.choice([*PROGRAMS.values(), ""])]
    header["about"]["program"] = "\n".join(lines)
    return False


CHANGES: tuple[Callable[[random.Random, dict[str, Any], Arrays], bool], ...] = (
    *(_change_field, _change_field, _change_cells, _change_cells, _change_cells),
    *(_change_rows, _change_symbols, _change_program),
)


def forged(files: list[bytes], seed: int) -> bytes:
    dice = random.Random(seed)
    header, arrays = taken_apart(dice.choice(files))
    keep = False
    for _ in range(dice.choice((1, 1, 1, 2))):
        with suppress(LookupError, TypeError, AttributeError):  # the first change left nothing for the second
            keep |= dice.choice(CHANGES)(dice, header, arrays)
    return put_together(header, arrays, keep=keep)


# What it leads to


def tried(path: Path, seed: int) -> str:
    """Open a file and work with it. HeadwaterErrors are what may come of rows that do not follow from each other."""
    dice = random.Random(seed)
    try:
        db = hw.Database.open(path)
    except StateError as problem:
        if path.name not in str(problem) or "root:" in str(problem):
            raise AssertionError("the file is not named, or a file of the machine is quoted") from problem
        return "refused"
    name = next((one for one, text in PROGRAMS.items() if db.program.text == hw.compile(text).text), "")
    for _ in range(2):
        try:
            for view in db.program.outputs:
                db.table(view)
                for row in sorted(db.rows(view), key=repr)[:5]:
                    str(db.why(view, row))
                    db.critical(view, row)
            if name:
                edit(db, name, dice)
            if db.now is not None:
                db.advance(np.datetime64("2026-01-01T00:01:20"))
        except HeadwaterError:
            return "opened, and an edit was refused"
    return "opened"


def main(folder: Path, first: int, last: int) -> int:
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith("forged")]
    path = folder / f"forged-{first}"

    def trial(seed: int) -> str:
        path.write_bytes(forged(files, seed))
        return tried(path, seed)

    return each_seed(first, last, trial)


def each_seed(first: int, last: int, trial: Callable[[int], str]) -> int:
    """Count what trials find; whether any of them ended with an error that users should never see."""
    counts: dict[str, int] = {}
    wrong: list[int] = []
    for seed in range(first, last):
        print(f"seed {seed}", flush=True)
        try:
            found = trial(seed)
        except Exception:
            found = "WRONG"
            wrong.append(seed)
            print(f"seed {seed} went wrong\n{traceback.format_exc()}", flush=True)
        counts[found] = counts.get(found, 0) + 1
    print(counts, f"went wrong: {wrong}", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
