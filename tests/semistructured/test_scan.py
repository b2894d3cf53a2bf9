"""JSON text against Python's own reader: the same documents are read, the same are refused, with a place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headwater as hw
from headwater.semistructured.reading.scan import scan_lines, scan_text
from tests.semistructured.json_trees import VALUES


def read_by_python(text: bytes) -> tuple[bool, Any]:
    """Whether Python reads a text that we should read, and the value."""

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(members)) < len(members) or any(name == "[]" for name, _ in members):
            raise ValueError("members")
        return dict(members)

    def constant(name: str) -> Any:
        raise ValueError(name)

    def real(digits: str) -> float:
        if not math.isfinite(float(digits)):
            raise ValueError(digits)
        return float(digits)

    try:
        value = json.loads(text.decode(), object_pairs_hook=pairs, parse_constant=constant, parse_float=real)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False, None
    return True, value


PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"a"', '"b"', "1", "-", "0", ".5", "e3", "true", "fals", "null", "NaN", " ", "\n",
     '"\\u00e9"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\x"', '"', "1e999", "12345678901234567890", "é", '"[]"']
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(PIECES, max_size=12).map("".join).map(str.encode), st.binary(max_size=8)))
@example(b'{"a":{"b":1},"c":{"b":2},"a":1}')
@example(b'"\xed\xa0\x80"')
@example(b'"\xf4\x90\x80\x80"')
@example(b"1e400")
@example(b"-0")
def test_agree_the_scanner_reads_what_python_reads(text: bytes) -> None:
    reads, value = read_by_python(text)
    nodes = scan_text(text, "text")
    assert (not nodes.rejected) == reads, nodes.rejected
    if reads:
        docs = hw.Documents()
        docs.put("D", value, name="D")
        assert json.dumps(docs.document("D"), sort_keys=True) == json.dumps(value, sort_keys=True)
    else:
        assert nodes.size == 0
        assert nodes.rejected[0].where.startswith("text")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(VALUES, st.sampled_from(["", "{", "]", '{"a":1,"a":2}', "NaN", '"\ud800"'])), max_size=6))
def test_agree_bad_lines_are_set_aside_and_the_others_read(lines: list[tuple[Any, str]]) -> None:
    good = [value for value, bad in lines if not bad]
    text = "\n".join(bad or json.dumps(value) for value, bad in lines).encode(errors="surrogatepass")
    nodes = scan_lines(text, "feed.jsonl")
    assert len(nodes.rejected) == len(lines) - len(good)
    assert int((nodes.roots >= 0).sum()) == len(good)
    assert scan_lines("\n".join(map(json.dumps, good)).encode(), "good").text.to_pylist() == nodes.text.to_pylist()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b'{"a": 1,\n "a": 2}', "line 2, column 2: the object has this member already"),
        (b'{"a": NaN}', "line 1, column 7: this is no JSON"),
        (b"[" * 10_000 + b"]" * 10_000, "line 1, column 1001: nested more than 1,000 levels deep"),
        (b'"\\ud800"', "line 1, column 2: half a surrogate pair: the string is no Unicode text"),
        (b'["\xc3\xa9", "\xff"]', "line 1, column 8: these bytes are no UTF-8"),
        (b"1" * 1001, "line 1, column 1: a number of more than 1,000 characters"),
        (
            b'{"a": "1e999, \\" 1e999",\n "b": -1e9990, "c": 1e999}',
            "line 2, column 7: a number that no 64-bit float holds",
        ),
        (b'{"[]": 1}', "line 1, column 2: a member cannot be called `[]`"),
    ],
)
def test_the_place_of_a_fault_is_named(text: bytes, where: str) -> None:
    assert where in str(scan_text(text, "f").rejected[0])


def test_a_number_that_is_too_large_is_found_in_its_line() -> None:
    nodes = scan_lines(b'{"a": 1}\n{"a": 1e999}\n{"a": 1e999}\n', "feed.jsonl")
    assert [bad.where for bad in nodes.rejected] == ["feed.jsonl, line 2, column 7", "feed.jsonl, line 3, column 7"]


BAD_TEXTS = (
    b"[" * 10_000 + b"]" * 10_000,
    b'{"a":1,"a":2}',
    b'{"a":NaN}',
    b'{"a":1e999}',
    b'{"a":"\\ud800"}',
    b'"\xff"',
)


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_nothing_of_a_text_that_is_refused_is_applied(text: bytes) -> None:
    docs = hw.Documents.from_json({"M": [{"k": 1}, {"k": 2}]})
    view = docs.define("define view V as X = select x from M.# x;")

    def held() -> Any:
        return [docs.database.rows(name) for name in ("edge", "atom", "name", "hollow")], docs.documents(), docs.guide()

    before = held(), view.documents()
    for change in (
        lambda: docs.put(0, text), lambda: docs.put("new", text), lambda: docs.put_all({0: {"k": 9}, 1: text}),
    ):  # fmt: skip
        with pytest.raises(hw.DataError, match=r"(?s)HW820.*nothing was applied.*line 1, column"):
            change()
        assert (held(), view.documents()) == before


def test_numbers_keep_every_digit() -> None:
    value = {"big": 10**400, "odd": 2**53 + 1, "small": 5e-324, "many": 0.1234567890123456789, "neg": -0.0}
    docs = hw.Documents.from_json({"D": value})
    assert json.dumps(docs.document("D"), sort_keys=True) == json.dumps(value, sort_keys=True)


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=300, deadline=None)
def test_floats_are_read_as_python_reads_them(value: float) -> None:
    for text in (repr(value), f"{value:.15g}", f"{value:.3e}"):
        nodes = scan_text(f'["{text}", {json.dumps(value)}]'.encode(), "f")
        assert nodes.number[1] == float(text) or not math.isfinite(float(text))
        assert nodes.number[2] == value


def test_a_document_that_is_set_aside_leaves_no_number_behind() -> None:
    """The number needs care, and where it stood the next document has an object, a null or a boolean."""
    for value in ('{"c": 1}', "[[]]", "null", "true", "[1.5]"):
        nodes = scan_lines(b'{"a": 12345678901234567890123, "b": }\n{"a": ' + value.encode() + b"}\n", "lines")
        assert [bad.position for bad in nodes.rejected] == [0]
        alone = scan_lines(b'{"a": ' + value.encode() + b"}\n", "lines")
        assert nodes.kind.tolist() == alone.kind.tolist()
        assert [math.isnan(number) for number in nodes.number] == [math.isnan(number) for number in alone.number]


def test_keys_are_exact_however_large_they_are() -> None:
    for key in (7, -3, 2**53 - 1, 2**53, 2**53 + 1, 10**30 + 1):
        docs = hw.Documents.from_json({"N": [{"k": key, "a": 1}, {"k": 5, "a": 2}]}, key="k")
        assert docs.keys() == (key, 5)
        assert docs.document(key) == {"k": key, "a": 1}
