"""Regular expressions run in linear time, or are refused with the reason."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.core.functions import regex
from headwater.core.functions.builtins import BUILTINS


def test_patterns_that_make_other_engines_hang_end() -> None:
    assert not regex.matches("a" * 50_000 + "b", "(a+)+$")
    assert not regex.matches("a" * 50_000, "(a|aa)+b")
    assert regex.replaced("a" * 50_000 + "b", "(a*)*b", "x") == "x"
    assert not regex.is_like("a" * 50_000, "%a%a%a%a%b")
    assert regex.parts("a" * 1_000 + "b", "(a|a?)+b") == ("", "")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "it refers back to a group"),
        (r"(?<x>a)\k<x>", "it refers back to a group"),
        ("(?P<x>a)(?P=x)", "it refers back to a group"),
        ("a(?=b)", "it looks ahead"),
        ("a(?!b)", "it looks ahead"),
        ("(?<=a)b", "it looks back"),
        ("(?<!a)b", "it looks back"),
        ("(?>a+)b", "it has an atomic group"),
        ("a++b", "it has a possessive quantifier"),
        ("a{2}+b", "it has a possessive quantifier"),
        ("(?x)a b", "it has a flag `x`"),
        ("(?U)a", "it has a flag `U`"),
        ("[a-z&&[^b]]", "a class is cut with another"),
        ("[a[bc]]", "a class stands inside a class"),
        ("[a", "a class is not closed"),
        ("a{", "a brace starts no repetition"),
        ("a)", "a bracket has no opening one"),
        ("(a", "RE2 says: missing )"),
        ("a{5000}", "RE2 says: invalid repetition size"),
        (r"\y", r"`\y` is not known"),
        ("a\\", "it ends with a backslash"),
        (r"\p{IsNothing}", "RE2 says"),
    ],
)
def test_a_pattern_that_cannot_be_run_says_why(pattern: str, reason: str) -> None:
    found = regex.problem(pattern)
    assert found is not None
    assert found.startswith(reason)


def test_posix_classes() -> None:
    assert regex.replaced("a1 b22", "[[:digit:]]+", "#") == "a# b#"
    assert regex.extracted("--word--", "[^[:punct:]]+", 0) == "word"
    assert regex.parts("a b\tc", "[[:space:]]") == ("a", "b", "c")
    assert regex.matches("x_1", "^[[:word:]]+$")


def test_groups_keep_their_numbers_beside_an_end_of_text() -> None:
    assert regex.replaced("ab\n", r"(a)(b|x$)?", "$2$1") == "ba\n"
    assert regex.extracted("abc\n", r"(?:x$|a)(b)(c)$", 2) == "c"
    assert regex.extracted("abc\n", "b.*$", 0) == "bc"


def test_a_pattern_of_the_data_is_an_error_of_the_data() -> None:
    db = hw.Database(hw.compile("relation t(s: string, p: string). found(S) :- t(S, P), rlike(S, P)."))
    db.apply(insert={"t": [("aaa", "a+$")]})
    with pytest.raises(hw.EvaluationError, match="not a regular expression: it refers back"):
        db.apply(insert={"t": [("aa", r"(a)\1"), ("b", "b")]})
    assert db.rows("found") == {("aaa",)}
    db.apply(insert={"t": [("b", "b")]})
    assert db.rows("found") == {("aaa",), ("b",)}


@pytest.mark.parametrize("function", sorted(name for name, one in BUILTINS.items() if one.pattern is not None))
def test_a_constant_pattern_is_looked_at_when_the_program_is_compiled(function: str) -> None:
    more = {"regexp_split_to": ", 2", "regexp_replace": ', "x"', "regexp_extract": ", 0"}.get(function, "")
    goal = f"{function}(S, P{more})" if function == "rlike" else f"X = {function}(S, P{more})"
    text = "relation t(s: string). found(S) :- t(S), " + goal.replace("P", '"(a)\\\\1"') + "."
    with pytest.raises(hw.CheckProblem, match="HW413"):
        hw.compile(text)


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(hw.EvaluationError, match="none with the number 2"):
        regex.extracted("ab", "(a)", 2)
    with pytest.raises(hw.EvaluationError, match="names a group"):
        regex.replaced("ab", "(a)", "$2")
    with pytest.raises(hw.EvaluationError, match=r"write \\\$"):
        regex.replaced("ab", "a", "$")
    assert regex.replaced("ab", "(a)", "$12") == "a2b"


def test_like_escapes() -> None:
    assert regex.is_like("50%", "50!%", "!")
    assert not regex.is_like("50x", "50!%", "!")
    assert regex.is_like("a.b\nc", "a._c".replace("_c", "_%c"))
    assert not regex.is_like("axb", "a.b")


def test_like_without_single_letters_is_looked_up_part_by_part() -> None:
    """Held against the same pattern as a regular expression."""
    texts = [a + b + c for a in ("", "ab", "ba") for b in ("", "a", "%") for c in ("", "b", "aba", "a%")]
    patterns = [
        a + b + c for a in ("", "a", "%", "ab%") for b in ("", "%", "b%", "%%a") for c in ("", "a", "%ba", "!%")
    ]
    for pattern in patterns:
        expression = "".join({"%": ".*"}.get(one, one) for one in pattern.replace("!%", "\0")).replace("\0", "%")
        for text in texts:
            found = regex.is_like(text, pattern, "!")
            assert found == regex.matches(text, f"^(?:{expression})$"), (text, pattern)
