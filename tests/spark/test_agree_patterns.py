"""Regular expressions and LIKE over strange texts: what Spark's Java gives, RE2 gives here."""

from __future__ import annotations

from typing import Any

from headwater.core.functions import regex
from headwater.core.functions.builtins import BUILTINS

TEXTS = (
    "",
    "a",
    "aaa",
    "baaac",
    "abc\n",
    "abc\r\n",
    "x1y22z333",
    "foo.bar",
    "Ünïcode straße",
    "tab\there",
    "a b  c",
    "line\nbreak",
    "A1_b-2",
    "[x](y){z}",
    "$5 \\ back",
    "vert\x0bical",
    "nbsp\u00a0wide",
    "😀 smile",
    "2024-02-29",
    "key=value;k2=v2",
    "%_%",
)
PATTERNS = (
    ("a*", "-"),
    ("", "-"),
    ("a+", "<$0>"),
    ("([a-z])([0-9]+)", "$2$1"),
    ("c$", "X"),
    ("\\s+", "_"),
    ("\\S", "s"),
    ("[\\s_]", "~"),
    (".", "?"),
    ("(?s).", "?"),
    ("(?i)FOO", "f"),
    ("^.", "#"),
    ("\\bb\\w*", "W"),
    ("\\p{Alpha}+", "L"),
    ("\\p{Lu}", "U"),
    ("[^\\p{L}]", ""),
    ("\\p{Punct}", "!"),
    ("\\Qfoo.\\E", "Q"),
    ("(?<n>[0-9]{2,})", "<${n}>"),
    ("\\x61|\\u0062|\\0143", "h"),
    ("[\\]\\[]", "b"),
    ("\\$", "\\$\\$"),
    ("\\\\", "/"),
    ("\\h", "_"),
    ("\\v", "_"),
    ("\\R", "|"),
    ("x|y|", "<$0>"),
    ("(a)|b", "[$1]"),
    ("a{2}", "2"),
    ("a+?", "1"),
    ("(?m)^l|e$", "M"),
    ("b\\Z", "Z"),
    ("k\\z", "z"),
    ("[a-c&]", "&"),
    ("(?:ab|a)(c|bcd)?", "g$1"),
    ("\\D{2}", "d$00"),
    ("[]a]", "r"),
    ("\\t", "T"),
    ("\\cI", "C"),
    ("=|;", "\\\\"),
    ("é|ï|😀", "u"),
    ("(?i)straße", "S"),
    ("$", "E"),
    ("\\B", "'"),
)
LIKES = (
    "%",
    "_",
    "a%",
    "%a%",
    "%a%a%",
    "_b_",
    "%\\%",
    "\\__\\%",
    "abc_",
    "%😀%",
    "",
    "_____",
    "%n%",
    "%\\\\%",
    "A%",
    "%STRASSE",
)


def _differs(text: str, pattern: str) -> bool:
    """What Java does by its own lights: empty matches inside a letter beyond 16 bits, words of other alphabets."""
    astral = any(ord(letter) > 0xFFFF for letter in text)
    return (astral and regex.matches("", pattern)) or (pattern == "\\B" and not text.isascii())


def test_agree_patterns(spark: Any) -> None:
    rows = [(text, pattern, new) for text in TEXTS for pattern, new in PATTERNS if not _differs(text, pattern)]
    frame = spark.createDataFrame(rows, "s STRING, p STRING, r STRING").coalesce(1)
    given = frame.selectExpr(
        "s",
        "p",
        "r",
        "s RLIKE p",
        "regexp_replace(s, p, r)",
        "regexp_extract(s, p, 0)",
        "split(s, p)",
        "split(s, p, 2)",
    ).collect()
    wrong = [
        (text, pattern, name, found, expected)
        for text, pattern, new, *theirs in given
        for name, found, expected in zip(
            ("rlike", "regexp_replace", "regexp_extract", "regexp_split", "regexp_split_to"),
            (
                regex.matches(text, pattern),
                regex.replaced(text, pattern, new),
                regex.extracted(text, pattern, 0),
                list(regex.parts(text, pattern)),
                list(regex.parts(text, pattern, 2)),
            ),
            theirs,
            strict=True,
        )
        if found != expected
    ]
    assert not wrong


def test_agree_likes(spark: Any) -> None:
    rows = [(text, pattern) for text in TEXTS for pattern in LIKES]
    given = (
        spark.createDataFrame(rows, "s STRING, p STRING")
        .coalesce(1)
        .selectExpr("s", "p", "s LIKE p", "s ILIKE p")
        .collect()
    )
    like, ilike = BUILTINS["like"].scalar, BUILTINS["ilike"].scalar
    assert like is not None
    assert ilike is not None
    assert [tuple(row) for row in given] == [(s, p, like(s, p), ilike(s, p)) for s, p in rows]
