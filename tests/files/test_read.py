"""Files of rows: what is read, what is set aside with its line, what is refused with a way out."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from headwater.core.errors import FileError
from headwater.core.types import Type, list_of
from headwater.files.read import read
from headwater.files.rows import Expected, FileRows

UNKNOWN = Expected("link", ("s", "d", "c"), (None, None, None), declared=False)
DECLARED = Expected("link", ("src", "dst", "cost"), (Type.STRING, Type.STRING, Type.INT), declared=True)


def of(folder: Path, name: str, content: str | bytes, expected: Expected = UNKNOWN, **options: Any) -> FileRows:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, expected, **options)


def reasons(rows: FileRows) -> list[tuple[int, str]]:
    return [(one.line, one.reason) for one in rows.bad]


def one_column(folder: Path, cells: list[str], kind: Type | None = None) -> FileRows:
    text = "v,w\n" + "".join(f'"{cell.replace(chr(34), chr(34) * 2)}",x\n' for cell in cells)
    return of(folder, "v.csv", text, Expected("value", ("v", "w"), (kind, Type.STRING), declared=True))


# csv


def test_columns_of_a_csv_file_by_name_in_any_order(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.csv", "Cost,dst,src\n5,b,a\n", DECLARED)
    assert rows.tuples() == [("a", "b", 5)]


def test_columns_by_position_where_the_relation_has_no_names_of_its_own(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.csv", "from,to,price\na,b,5\nb,c,6\n")
    assert rows.tuples() == [("a", "b", 5), ("b", "c", 6)]
    assert rows.types == (Type.STRING, Type.STRING, Type.INT)


def test_columns_beyond_the_relations_are_left_out_with_a_note(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.csv", "src,dst,cost,colour\na,b,5,red\n", DECLARED)
    assert rows.tuples() == [("a", "b", 5)]
    assert "left out colour" in rows.notes[0]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("dst,weight,cost\na,b,5\n", "name all of them"),
        ("src,dst\na,b\n", "2 columns (src, dst) for `link(src, dst, cost)`"),
        ("src;dst;cost\na;b;5\n", "separate the columns by commas"),
        ("a,b,5\nb,c,6\n", "pass --no-header"),
        ("_change_type,src,dst,cost\ninsert,a,b,5\n", "--changes"),
        ("\n\n\n", "nothing but empty lines"),
        ("", "header line (src,dst,cost)"),
        (b"\xff\xfes\0r\0c\0", "NUL"),
        (b"s\xff,d,c\na,b,1\n", "not UTF-8"),
        ('"src,dst,cost\na,b,5\n', "never closed"),
    ],
)
def test_a_csv_file_that_cannot_be_meant_is_refused_with_a_way_out(
    tmp_path: Path, text: str | bytes, what: str
) -> None:
    with pytest.raises(FileError) as problem:
        of(tmp_path, "l.csv", text, DECLARED)
    assert what in str(problem.value)
    assert str(tmp_path / "l.csv") in str(problem.value)


def test_a_first_line_that_recurs_as_a_value_is_noted(tmp_path: Path) -> None:
    expected = Expected("link", ("x", "y"), (None, None), declared=False)
    rows = of(tmp_path, "l.csv", "a,b\na,c\n", expected)
    assert rows.tuples() == [("a", "c")]
    assert "--no-header" in rows.notes[0]
    assert of(tmp_path, "l.csv", "a,b\na,c\n", expected, header=False).tuples() == [("a", "b"), ("a", "c")]


def test_rows_that_do_not_fit_are_set_aside_with_their_line(tmp_path: Path) -> None:
    text = b'src,dst,cost\na,b,5\na,b\n\na,b,c,d\nx,y,five\nx\xff,y,1\nq,r,\n"two\nlines",z,2\nz,z,9\nn\0,n,3\n'
    rows = of(tmp_path, "l.csv", b"src,dst,cost\n" + b"a,b,1\n" * 20_000 + text.partition(b"\n")[2], DECLARED)
    assert rows.tuples()[20_000:] == [("a", "b", 5), ("two\nlines", "z", 2), ("z", "z", 9)]
    assert rows.lines[-3:].tolist() == [20_002, 20_009, 20_011]
    assert reasons(rows) == [
        (20_003, "2 values for 3 columns"),
        (20_005, "4 values for 3 columns"),
        (20_006, "column `cost`: 'five' is not a valid int"),
        (20_007, "it is not UTF-8 (byte 2 of the line)"),
        (20_008, "column `cost`: an empty cell is not a valid int"),
        (20_012, "it holds a NUL byte"),
    ]


def test_an_open_quote_costs_its_own_line_only(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.csv", 'src,dst,cost\na,b,1\n"c,d,2\ne,f,3\n', DECLARED)
    assert rows.tuples() == [("a", "b", 1), ("e", "f", 3)]
    assert reasons(rows) == [(3, "a quote is opened and never closed")]


def test_a_type_is_what_most_values_show(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.csv", "s,d,c\na,b,5\nb,c,6\nc,d,many\n")
    assert rows.types[2] is Type.INT
    assert reasons(rows) == [(4, "column `c`: 'many' is not a valid int")]


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-2"], Type.INT, [1, -2]),
        (["1", "2.5"], Type.FLOAT, [1.0, 2.5]),
        (["true", "False"], Type.BOOL, [True, False]),
        (["007", "12"], Type.STRING, ["007", "12"]),
        (["", "a"], Type.STRING, ["", "a"]),
        (["", ""], Type.STRING, ["", ""]),
        (["2026-01-31", "2026-01-31 12:00"], Type.TIMESTAMP, [dt.datetime(2026, 1, 31), dt.datetime(2026, 1, 31, 12)]),
        (["2026-01-31T12:00:00+01:00"], Type.TIMESTAMP, [dt.datetime(2026, 1, 31, 11)]),
        (['["a", 1]', "[b, [c]]", "[]"], list_of(Type.ANY), [("a", 1), ("b", ("c",)), ()]),
        (["[1, 2]", "[2.5]", "[]"], list_of(Type.FLOAT), [(1, 2), (2.5,), ()]),
        (["[[1], []]", "[]"], list_of(list_of(Type.INT)), [((1,), ()), ()]),
        (["0x10", "1_000"], Type.STRING, ["0x10", "1_000"]),
    ],
)
def test_types_found_in_text(tmp_path: Path, cells: list[str], kind: Type, values: list[Any]) -> None:
    rows = one_column(tmp_path, cells)
    assert rows.types[0] is kind
    assert not rows.bad
    assert [row[0] for row in rows.tuples()] == values


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (
            Type.INT,
            {"+7": 7, " 8 ": 8, "-0": 0, "9223372036854775807": 2**63 - 1},
            ["1.0", "1e3", "9" * 19, "9" * 5000],
        ),
        (Type.FLOAT, {"1": 1.0, "+.5": 0.5, "1e3": 1000.0, "inf": float("inf")}, ["1_0", "one", "0x10"]),
        (Type.BOOL, {"TRUE": True, "0": False}, ["yes", "2"]),
        (
            Type.DATE,
            {
                "2026-01-31": dt.date(2026, 1, 31),
                " 0001-01-01 ": dt.date(1, 1, 1),
                "2026-01-31 00:00": dt.date(2026, 1, 31),
            },
            ["2026-02-30", "2026-01-31 12:00", "soon", "20484"],
        ),
        (
            Type.TIMESTAMP,
            {"1970-01-02": dt.datetime(1970, 1, 2), "1000000": dt.datetime(1970, 1, 1, 0, 0, 1)},
            ["2026-02-30"],
        ),
        (Type.DURATION, {"1 hour": dt.timedelta(hours=1), "5": dt.timedelta(microseconds=5)}, ["1 parsec", "soon"]),
        (
            Type.LIST,
            {"[Oslo, 'a, b']": ("Oslo", "a, b")},
            ["a", "[a", "[a,]", "{}", "[a] b", "[" * 200 + "]" * 200, "[" * 10**5 + "]" * 10**5],
        ),
        (Type.STRING, {"5": "5", " a": " a"}, []),
    ],
)
def test_declared_types(tmp_path: Path, kind: Type, good: dict[str, Any], bad: list[str]) -> None:
    rows = one_column(tmp_path, [*good, *bad], kind)
    assert [row[0] for row in rows.tuples()] == list(good.values())
    assert [one.line for one in rows.bad] == list(range(len(good) + 2, len(good) + len(bad) + 2))


def test_a_line_of_many_megabytes(tmp_path: Path) -> None:
    huge = "x" * 9_000_000
    rows = of(tmp_path, "l.csv", f"src,dst,cost\na,{huge},1\n{huge}\nb,c,2\n", DECLARED)
    assert [row[::2] for row in rows.tuples()] == [("a", 1), ("b", 2)]
    assert reasons(rows) == [(3, "1 value for 3 columns")]
    assert len(rows.bad[0].row) == 200


@pytest.mark.parametrize("text", ["src,dst,cost\r\na,b,1\r\n", "src,dst,cost\ra,b,1\r", "\ufeffsrc,dst,cost\na,b,1"])
def test_ends_of_lines_and_marks_of_other_systems(tmp_path: Path, text: str) -> None:
    assert of(tmp_path, "l.csv", text, DECLARED).tuples() == [("a", "b", 1)]


def test_tabs(tmp_path: Path) -> None:
    assert of(tmp_path, "l.tsv", "src\tdst\tcost\na, b\tc\t1\n", DECLARED).tuples() == [("a, b", "c", 1)]


# jsonl


def test_objects_and_arrays(tmp_path: Path) -> None:
    lines = ['{"cost": 5, "src": "a", "dst": "b"}', "", '["b", "c", 6]']
    assert of(tmp_path, "l.jsonl", "\n".join(lines), DECLARED).tuples() == [("a", "b", 5), ("b", "c", 6)]


def test_keys_in_another_order_mean_the_same(tmp_path: Path) -> None:
    lines = ['{"from": "a", "to": "b", "km": 5}', '{"km": 6, "to": "c", "from": "b"}']
    assert of(tmp_path, "l.jsonl", "\n".join(lines)).tuples() == [("a", "b", 5), ("b", "c", 6)]


def test_lines_that_do_not_fit(tmp_path: Path) -> None:
    lines = [
        b'{"src": "a", "dst": "b", "cost": 1}',
        b'{"src": "a", "dst": "b"}',
        b'{"src": "a", "dst": "b", "cost": "1"}',
        b'{"src": "a", "dst": null, "cost": 1}',
        b'{"src": "a", ',
        b"7",
        b"\xff",
        b'{"src": "\\ud800", "dst": "b", "cost": 1}',
        b'{"src": "a", "dst": "b", "cost": 9223372036854775808}',
        b"[" * 100_000,
    ]
    rows = of(tmp_path, "l.jsonl", b"\n".join(lines), DECLARED)
    assert rows.tuples() == [("a", "b", 1)]
    assert [line for line, _ in reasons(rows)] == list(range(2, 11))
    assert "it is not JSON" in rows.bad[3].reason


def test_json_numbers_of_both_kinds_are_floats(tmp_path: Path) -> None:
    rows = of(tmp_path, "l.jsonl", '["a", "b", 1]\n["a", "c", 1.5]\n["a", "d", true]')
    assert rows.types[2] is Type.FLOAT
    assert [row[2] for row in rows.tuples()] == [1.0, 1.5]
    assert reasons(rows) == [(3, "column `c`: True is not a valid float")]


@pytest.mark.parametrize("text", ["[\n", "hello\nworld", '{"a": 1}', '[["a", "b", 1]]'])
def test_a_file_without_one_good_line_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError):
        of(tmp_path, "l.jsonl", text, DECLARED)


def test_an_empty_jsonl_file_has_no_rows(tmp_path: Path) -> None:
    assert of(tmp_path, "l.jsonl", "").size == 0


# parquet


def parquet(folder: Path, table: pa.Table) -> Path:
    pyarrow.parquet.write_table(table, folder / "l.parquet")
    return folder / "l.parquet"


def test_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "dst": pa.array(["b", None, "d"]).dictionary_encode(),
            "cost": pa.array([1, 2, 3], type=pa.int16()),
            "src": pa.array(["a", "b", "c"], type=pa.large_string()),
        }
    )
    rows = read(parquet(tmp_path, table), DECLARED)
    assert rows.tuples() == [("a", "b", 1), ("c", "d", 3)]
    assert reasons(rows) == [(2, "column `dst`: a null does not fit")]


def test_moments_of_parquet_that_python_has_no_value_for_are_set_aside(tmp_path: Path) -> None:
    ends = pa.array([0, 2**62], type=pa.int64()).cast(pa.timestamp("us"))
    table = pa.table({"src": ["a", "b"], "dst": ends, "cost": [1, 2]})
    timed = Expected("link", ("src", "dst", "cost"), (Type.STRING, Type.INT, Type.INT), True)
    assert len(reasons(read(parquet(tmp_path, table), timed))) == 2
    late = Expected("link", ("src", "dst", "cost"), (Type.STRING, None, Type.BOOL), True)
    assert len(reasons(read(parquet(tmp_path, table), late))) == 2


def test_parquet_texts_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    broken = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe"))
    table = pa.table({"src": broken, "dst": ["b"], "cost": [1]})
    with pytest.raises(FileError, match=r"l.parquet is not a parquet file, or is damaged: .*UTF8"):
        read(parquet(tmp_path, table), DECLARED)


def test_types_of_parquet_are_those_of_the_file(tmp_path: Path) -> None:
    moment = dt.datetime(2026, 1, 31)
    table = pa.table({"s": [["a", "b"], []], "d": [moment, moment], "c": [1.5, 2.5]})
    rows = read(parquet(tmp_path, table), UNKNOWN)
    assert rows.types == (list_of(Type.STRING), Type.TIMESTAMP, Type.FLOAT)
    assert rows.tuples() == [(("a", "b"), moment, 1.5), ((), moment, 2.5)]


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path, pa.table({"s": ["a"], "d": ["b"], "c": [1]}))
    for cut in (path.read_bytes()[:-20], b"", b"s,d,c\na,b,1\n"):
        with pytest.raises(FileError, match="not a parquet file"):
            of(tmp_path, "cut.parquet", cut)


# Changes


def test_change_files(tmp_path: Path) -> None:
    text = (
        "src,dst,cost,_change_type,_commit_version\na,b,1,insert,1\na,b,1,delete,2\n"
        "a,c,1,update_preimage,3\na,c,2,update_postimage,3\na,d,1,upsert,4\n"
    )
    rows = of(tmp_path, "c.csv", text, DECLARED, feed=True)
    assert rows.inserts is not None
    assert rows.inserts.tolist() == [True, False, False, True]
    assert not rows.notes
    assert [one.line for one in rows.bad] == [6]
    assert "'upsert'" in rows.bad[0].reason
    lines = [json.dumps({"_change_type": "delete", "src": "a", "dst": "b", "cost": 1}), '["insert", "a", "b", 2]']
    rows = of(tmp_path, "c.jsonl", "\n".join(lines), DECLARED, feed=True)
    assert rows.tuples() == [("a", "b", 1), ("a", "b", 2)]
    assert rows.inserts is not None
    assert rows.inserts.tolist() == [False, True]


def test_a_change_file_says_which_way_rows_go(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="_change_type"):
        of(tmp_path, "c.csv", "src,dst,cost\na,b,1\n", DECLARED, feed=True)


# Files at all


@pytest.mark.parametrize("name", ["rows", "rows.txt", "rows.csv.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match=r"must end in \.csv"):
        of(tmp_path, name, "a")


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "missing.csv", "x\0y.csv", "n" * 300 + ".csv"):
        with pytest.raises(FileError):
            read(tmp_path / name, UNKNOWN)


def test_a_relation_without_columns(tmp_path: Path) -> None:
    nothing = Expected("alarm", (), (), declared=True)
    assert of(tmp_path, "a.jsonl", "[]\n{}\n", nothing).tuples() == [(), ()]
    with pytest.raises(FileError, match="jsonl"):
        of(tmp_path, "a.csv", "x\n", nothing)


MAYBE = Expected("r", ("n", "s", "b"), (Type.INT, Type.STRING, Type.BOOL), declared=True, nullable=frozenset({0, 1, 2}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", b"n,s,b\n1,a,true\n,,\n  , ,false\nx,c,\n"),
        (
            "r.jsonl",
            b'{"n": 1, "s": "a", "b": true}\n{"n": null, "s": null, "b": null}\n{"n": null, "s": " ", "b": false}\n'
            b'{"n": "x", "s": "c", "b": null}\n',
        ),
    ],
    ids=["csv", "jsonl"],
)
def test_nulls_where_they_are_let_in(tmp_path: Path, name: str, text: bytes) -> None:
    rows = of(tmp_path, name, text, MAYBE)
    assert rows.tuples() == [(1, "a", True), (None, None, None), (None, " ", False)]
    assert reasons(rows) == [(5 - (name == "r.jsonl"), "column `n`: 'x' is not a valid int")]


def test_nulls_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    pyarrow.parquet.write_table(pa.table({"n": [1, None], "s": [None, "a"], "b": [None, True]}), path)
    assert read(path, MAYBE).tuples() == [(1, None, None), (None, "a", True)]


def test_a_column_of_nothing_but_nulls(tmp_path: Path) -> None:
    assert of(tmp_path, "r.csv", b"n,s,b\n,,\n", MAYBE).tuples() == [(None, None, None)]
