"""Whatever bytes a file holds, reading it gives rows and bad rows, or a FileError; no other exception."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.core.errors import FileError
from headwater.core.types import ONE_WORD, Type, list_of
from headwater.files.read import SUFFIXES, read
from headwater.files.rows import Expected, FileRows

TYPES = st.sampled_from([None, *ONE_WORD, list_of(Type.INT), list_of(Type.STRING)])
WORDS = st.sampled_from(
    [
        *(
            b"a",
            b"b,",
            b"_change_type",
            b"insert",
            b"delete",
            b"\n",
            b"\r\n",
            b"\r",
            b'"',
            b"[",
            b"]",
            b"{",
            b"}",
            b":",
        ),
        *(b"1", b"1e999", b"-", b"2026-02-30", b"\xff", b"\0", b"\xef\xbb\xbf", b"nan", b"true", b"null", b",", b"\t"),
        *(b"9" * 30, b'{"a": 1, "b": [1, "x"]}', b'["insert", 1, 2]', b'"\\ud800"', b"30 seconds", b"a,b\n", b"PAR1"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=3),
    max_leaves=8,
)
BYTES = (
    st.binary(max_size=60)
    | st.lists(WORDS, max_size=30).map(b"".join)
    | st.lists(JSON, max_size=6).map(lambda values: "\n".join(map(json.dumps, values)).encode())
)


def settled(path: Path, expected: Expected, feed: bool, header: bool) -> FileRows | FileError:
    try:
        return read(path, expected, feed=feed, header=header)
    except FileError as problem:
        return problem


@settings(max_examples=500)
@given(BYTES, st.sampled_from(SUFFIXES), st.tuples(TYPES, TYPES), st.booleans(), st.booleans(), st.booleans())
def test_any_bytes(
    data: bytes, suffix: str, types: tuple[Type | None, Type | None], feed: bool, header: bool, declared: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows{suffix}"
        path.write_bytes(data)
        rows = settled(path, Expected("r", ("a", "b"), types, declared), feed, header)
    if isinstance(rows, FileError):
        assert str(path) in str(rows)
        return
    assert len(rows.tuples()) == rows.size
    assert all(len(row) == 2 and None not in row for row in rows.tuples())
    assert all(one.reason and one.line > 0 for one in rows.bad)
    assert (rows.inserts is not None) == feed
