"""Regular expressions and LIKE in linear time, run by RE2.

    matches(text, "(a+)+$")          # whether the pattern is found in the text
    problem(r"(a)\\1")                # why a pattern cannot be run; None if it can

No pattern can hang: RE2 takes time in proportion to the text, whatever the pattern. `regex_spelling` says what is
refused for that. Where a pattern is no constant, a bad one is an EvaluationError.

Three things differ from Java: `(?i)` folds the capitals of every alphabet, with `(?m)` only `\\n` ends a line, and
`\\b` stands at words of ASCII letters (as it does since Java 19).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import re2

from headwater.core.errors import EvaluationError
from headwater.core.functions.regex_spelling import Spelt, Unfit, literal, spelt
from headwater.core.functions.sizes import check_text

_GROUP_NAME = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)\}")
_DIGITS = re.compile(r"[0-9]+")
_PLAIN = re.compile(r"[\w ,;:/=@-]*")  # matches itself and nothing else


Spans: TypeAlias = Sequence[tuple[int, int]]
"""Where the groups of a match begin and end in the text's bytes, the whole match first; (-1, -1): nowhere."""


class CompiledPattern:
    """A pattern that RE2 has compiled."""

    __slots__ = ("_anchor", "_match", "_plain", "_spelt", "groups", "names")

    def __init__(self, given: Spelt, *, whole: bool = False, capturing: bool = True) -> None:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = not capturing
        try:
            compiled: Any = re2.compile(given.text, options)
        except re2.error as error:
            said = error.args[0] if error.args else ""
            reason = said.decode() if isinstance(said, bytes) else str(said)
            raise Unfit(f"RE2 says: {reason}") from None
        # The module's own `search` makes an object per match, which costs more than the matching.
        self._match: Any = compiled._regexp.Match
        self._anchor: Any = re2._Anchor.ANCHOR_BOTH if whole else re2._Anchor.UNANCHORED
        self._spelt = given
        self._plain = not given.tails  # RE2's groups are the writer's
        self.groups = len(given.numbers) - 1
        self.names = given.names

    def found_in(self, text: bytes) -> bool:
        return bool(self._match(self._anchor, text, 0, len(text))[0][0] >= 0)

    def first(self, text: bytes, start: int = 0) -> Spans | None:
        spans: Spans = self._match(self._anchor, text, start, len(text))
        begin, end = spans[0]
        if begin < 0:
            return None
        if begin == end < len(text) and text[begin] & 0xC0 == 0x80:
            return self.first(text, _behind_letter(text, begin))  # `\\B` is found inside a letter of several bytes
        if self._plain:
            return spans
        for tail in self._spelt.tails:
            if spans[tail][0] >= 0:
                end = spans[tail][0]
                if begin == end > 0 and text[end - 1 : end + 1] == b"\r\n":
                    return self.first(text, end + 1)  # one line break, which nothing stands inside
        return (begin, end), *(spans[number] for number in self._spelt.numbers[1:])

    def every(self, text: bytes) -> Iterator[Spans]:
        """All matches, left to right; an empty one may stand right behind another, as in Java."""
        at = 0
        while at <= len(text):
            found = self.first(text, at)
            if found is None:
                return
            yield found
            begin, end = found[0]
            at = end if end > begin else _behind_letter(text, end)


def _behind_letter(text: bytes, at: int) -> int:
    at += 1
    while at < len(text) and text[at] & 0xC0 == 0x80:
        at += 1
    return at


@lru_cache(maxsize=1024)
def _compiled(pattern: str, capturing: bool) -> CompiledPattern | str:
    """The pattern, or why there is none."""
    try:
        return CompiledPattern(spelt(pattern), capturing=capturing)
    except Unfit as unfit:
        return str(unfit)


@lru_cache(maxsize=1024)
def _like(pattern: str, escape: str) -> tuple[str, ...] | CompiledPattern | str:
    """A pattern of LIKE: the texts between its %, or an expression if there is a _ in it; or why there is none."""
    out: list[str] = []
    texts = [""]
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "%" and letter != escape:
            texts.append("")
            out.append(".*")
        elif letter == "_" and letter != escape:
            out.append(".")
        else:
            if letter == escape and at + 1 < len(pattern):
                at += 1
            texts[-1] += pattern[at]
            out.append(literal(pattern[at]))
        at += 1
    if "." not in out:
        return tuple(texts)
    try:
        return CompiledPattern(Spelt(f"(?s){''.join(out)}", (0,), {}, ()), whole=True, capturing=False)
    except Unfit as unfit:
        return str(unfit)


def _has_in_order(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text begins with the first part, ends with the last, and has the others between them."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return text == first
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in parts[1:-1]:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def problem(pattern: str) -> str | None:
    """Why this is no pattern that can be run."""
    found = _compiled(pattern, True)
    return found if isinstance(found, str) else None


def _pattern(pattern: str, *, capturing: bool = True) -> CompiledPattern:
    found = _compiled(pattern, capturing)
    if isinstance(found, str):
        raise EvaluationError(f"`{pattern}` is not a regular expression: {found}")
    return found


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found in the text."""
    return _pattern(pattern, capturing=False).found_in(text.encode())


def is_like(text: str, pattern: str, escape: str = "\\") -> bool:
    """Whether a text is as a pattern with % and _ says."""
    found = _like(pattern, escape)
    if isinstance(found, str):
        raise EvaluationError(f"`{pattern}` is not a pattern for LIKE: {found}")
    return _has_in_order(text, found) if isinstance(found, tuple) else found.found_in(text.encode())


def extracted(text: str, pattern: str, group: int) -> str:
    """A group of the first match; nothing where it is not found."""
    found = _pattern(pattern)
    if not 0 <= group <= found.groups:
        raise EvaluationError(f"`{pattern}` has {found.groups} group(s), and none with the number {group}")
    whole = text.encode()
    match = found.first(whole)
    if match is None:
        return ""
    begin, end = match[group]
    return whole[begin:end].decode() if begin >= 0 else ""


def parts(text: str, pattern: str, most: int = 0) -> tuple[str, ...]:
    """What stands between the matches, the rest in one piece once there are `most` of them (0: however many).

    As Java has it: no part before an empty match at the start. As Spark has it: the empty pattern gives the letters.
    """
    if pattern and most <= 0 and _PLAIN.fullmatch(pattern):
        return tuple(text.split(pattern))
    found = _pattern(pattern)
    if text and not pattern:
        most = min(most, len(text)) if most > 0 else len(text)
    whole = text.encode()
    out: list[str] = []
    at = 0
    for match in found.every(whole):
        begin, end = match[0]
        if most > 0 and len(out) == most - 1:
            break
        if end == 0:
            continue
        out.append(whole[at:begin].decode())
        at = end
    return (*out, whole[at:].decode())


def replaced(text: str, pattern: str, replacement: str) -> str:
    """Every match replaced; `$1` and `${name}` stand for groups, `\\` takes the letter behind it as it is."""
    found = _pattern(pattern)
    pieces = _pieces(pattern, replacement)
    whole = text.encode()
    out: list[bytes] = []
    at = size = 0
    for match in found.every(whole):
        begin, end = match[0]
        out.append(whole[at:begin])
        for piece in pieces:
            added = piece if isinstance(piece, bytes) else whole[slice(*match[piece])]
            size += len(added)
            out.append(added)
        check_text("regexp_replace", size)
        at = end
    out.append(whole[at:])
    return b"".join(out).decode()


@lru_cache(maxsize=1024)
def _pieces(pattern: str, replacement: str) -> tuple[bytes | int, ...]:
    """A replacement as texts and numbers of groups."""
    groups, names = _pattern(pattern).groups, _pattern(pattern).names
    out: list[bytes | int] = []
    at = 0
    while at < len(replacement):
        letter = replacement[at]
        if letter == "\\" and at + 1 < len(replacement):
            out.append(replacement[at + 1].encode())
            at += 2
        elif letter == "$":
            number, at = _named_group(replacement, at + 1, groups, names)
            out.append(number)
        else:
            out.append(letter.encode())
            at += 1
    return tuple(out)


def _named_group(replacement: str, at: int, groups: int, names: dict[str, int]) -> tuple[int, int]:
    """The group that a `$` names, and where the text goes on: as many digits as there are groups for, as in Java."""
    named = _GROUP_NAME.match(replacement, at)
    if named is not None and named[1] in names:
        return names[named[1]], named.end()
    digits = _DIGITS.match(replacement, at)
    if digits is None or int(digits[0][0]) > groups:
        raise EvaluationError(
            f"the replacement `{replacement}` names a group that the pattern does not have ({groups} in all); "
            "write \\$ for a dollar"
        )
    size = 1
    while size < len(digits[0]) and int(digits[0][: size + 1]) <= groups:
        size += 1
    return int(digits[0][:size]), at + size
