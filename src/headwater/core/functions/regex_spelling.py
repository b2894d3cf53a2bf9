"""Regular expressions as Spark and Java write them, spelt for RE2.

`spelt` raises `Unfit` with the reason where RE2 has nothing that means the same: back-references, look-around, atomic
and possessive matching, classes inside classes. `[[:digit:]]` is a class of digits, as in POSIX; Java reads it as the
letters `:digt`, which is never meant. What RE2 finds wrong itself (a bracket that is not closed) is left to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_WHY = "Headwater's regular expressions run in linear time, without backtracking"
_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"  # what ends a line in Java
_CLASSES = {
    "s": r"\t-\r ",
    "S": r"\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10ffff}",
    "h": r" \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}",
    "v": r"\n-\r\x{85}\x{2028}\x{2029}",
}
_OUTSIDE = {
    **{letter: f"[{inside}]" for letter, inside in _CLASSES.items()},
    **{letter.upper(): f"[^{_CLASSES[letter]}]" for letter in "hv"},
    "R": rf"(?:\r\n|[{_CLASSES['v']}])",
    "e": r"\x{1b}",
}
_SAME = frozenset("dDwWafnrt")  # spelt alike by RE2, also in a class
_ANCHORS = frozenset("bBAz")
_POSIX = frozenset(
    {"lower", "upper", "ascii", "alpha", "digit", "alnum", "punct", "graph", "print", "blank", "cntrl", "xdigit"}
    | {"space", "word"}
)
_COUNT = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
_FLAGS = re.compile(r"\(\?([A-Za-z]*)(?:-([A-Za-z]*))?([:)])")
_NAMED = re.compile(r"\(\?P?<([A-Za-z][A-Za-z0-9_]*)>")
_BRACKETED = re.compile(r"\[:(\^?)([a-z]+):\]")
_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)(?:Is|sc=|script=|gc=|general_category=)?([A-Za-z_]+)\}|([A-Z]))")
_HEX = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\})")
_OCTAL = re.compile(r"\\0([0-3]?[0-7]{1,2})")
_REFUSED_GROUPS = (
    ("(?=", "it looks ahead"),
    ("(?!", "it looks ahead"),
    ("(?<=", "it looks back"),
    ("(?<!", "it looks back"),
    ("(?>", "it has an atomic group"),
    ("(?P=", "it refers back to a group"),
)


class Unfit(Exception):
    """Why a pattern cannot be run."""


@dataclass(frozen=True, slots=True)
class Spelt:
    """A pattern as RE2 spells it. `numbers` are RE2's numbers of the writer's groups, the whole match first.

    `tails` are groups of ours: a line break at the very end, which Java's `$` stands before and RE2's does not.
    """

    text: str
    numbers: tuple[int, ...]
    names: dict[str, int]
    tails: tuple[int, ...]


def spelt(pattern: str) -> Spelt:
    """The pattern in RE2's spelling; raises Unfit."""
    return _Speller(pattern).spelt()


class _Speller:
    """One walk over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._out: list[str] = []
        self._flags = [frozenset[str]()]  # of each open group
        self._numbers = [0]
        self._names: dict[str, int] = {}
        self._tails: list[int] = []
        self._count = 0  # groups of RE2

    def spelt(self) -> Spelt:
        while self._at < len(self._text):
            self._next()
        return Spelt("".join(self._out), tuple(self._numbers), self._names, tuple(self._tails))

    def _take(self, size: int, spelt: str | None = None) -> None:
        self._out.append(self._text[self._at : self._at + size] if spelt is None else spelt)
        self._at += size

    def _next(self) -> None:
        match self._text[self._at]:
            case "\\":
                self._escape()
            case "[":
                self._class()
            case "(":
                self._group()
            case ")":
                if len(self._flags) == 1:
                    raise Unfit("a bracket has no opening one; write \\) for the letter")
                self._flags.pop()
                self._take(1)
            case ".":
                self._take(1, "(?s:.)" if "s" in self._flags[-1] else f"[^{_ENDS}]")
            case "$":
                self._end(1, whole="m" not in self._flags[-1])
            case "*" | "+" | "?":
                self._quantifier(1)
            case "{":
                count = _COUNT.match(self._text, self._at)
                if count is None:
                    raise Unfit("a brace starts no repetition; write \\{ for the letter, or {2,3}")
                self._quantifier(count.end() - count.start())
            case _:
                self._take(1)

    def _quantifier(self, size: int) -> None:
        self._take(size)
        if self._text.startswith("+", self._at):
            raise Unfit(f"it has a possessive quantifier: {_WHY}")
        if self._text.startswith("?", self._at):
            self._take(1)

    def _end(self, size: int, *, whole: bool) -> None:
        if not whole:
            self._take(size, "(?m:$)")
            return
        self._count += 1
        self._tails.append(self._count)
        self._take(size, rf"(?:(\r\n|[{_ENDS}])?\z)")

    # Groups

    def _group(self) -> None:
        for start, reason in _REFUSED_GROUPS:
            if self._text.startswith(start, self._at):
                raise Unfit(f"{reason}: {_WHY}")
        named = _NAMED.match(self._text, self._at)
        flags = _FLAGS.match(self._text, self._at)
        if named is not None:
            self._names[named[1]] = len(self._numbers)
            self._open(named.end() - named.start(), "(")
        elif flags is not None:
            self._set(flags)
        elif self._text.startswith("(?", self._at):
            raise Unfit(f"it has a group `{self._text[self._at : self._at + 4]}` that is not known")
        else:
            self._open(1, "(")

    def _open(self, size: int, spelt: str) -> None:
        self._count += 1
        self._numbers.append(self._count)
        self._flags.append(self._flags[-1])
        self._take(size, spelt)

    def _set(self, found: re.Match[str]) -> None:
        on, off = frozenset(found[1]), frozenset(found[2] or "")
        unknown = sorted((on | off) - frozenset("imsu"))
        if unknown:
            raise Unfit(f"it has a flag `{unknown[0]}` that is not known; the flags are i, m and s")
        flags = (self._flags[-1] | on) - off
        letters = "".join(sorted(on & {"i", "m"}))
        less = "".join(sorted(off & {"i", "m"}))
        spelt = f"{letters}-{less}" if less else letters
        size = found.end() - found.start()
        if found[3] == ":":
            self._flags.append(flags)
            self._take(size, f"(?{spelt}:")
        else:
            self._flags[-1] = flags
            self._take(size, f"(?{spelt})" if spelt else "")

    # Escapes

    def _escape(self) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in _ANCHORS and letter:
            self._take(2)
        elif letter == "Z":
            self._end(2, whole=True)
        elif letter == "Q":
            self._quoted()
        elif letter in _OUTSIDE:
            self._take(2, _OUTSIDE[letter])
        elif found := _PROPERTY.match(self._text, self._at):
            posix = _posix(found)
            self._take(found.end() - found.start(), f"[{posix}]" if posix else _property(found))
        else:
            self._letter()

    def _letter(self) -> None:
        """An escape that means the same in a class and outside."""
        letter = self._text[self._at + 1 : self._at + 2]
        if not letter:
            raise Unfit("it ends with a backslash; write two of them for the letter")
        if letter in _SAME:
            self._take(2)
        elif found := _HEX.match(self._text, self._at):
            code = int(found[1] or found[2] or found[3], 16)
            self._take(found.end() - found.start(), rf"\x{{{code:x}}}")
        elif octal := _OCTAL.match(self._text, self._at):
            self._take(octal.end() - octal.start(), rf"\x{{{int(octal[1], 8):x}}}")
        elif letter in "123456789k":
            raise Unfit(f"it refers back to a group (`\\{letter}`): {_WHY}")
        elif letter == "c" and self._at + 2 < len(self._text):
            self._take(3, rf"\x{{{ord(self._text[self._at + 2]) ^ 64:x}}}")
        elif letter.isascii() and letter.isalnum():
            raise Unfit(f"`\\{letter}` is not known")
        else:
            self._take(2, literal(letter))

    def _quoted(self) -> None:
        end = self._text.find("\\E", self._at)
        inside = self._text[self._at + 2 : end if end >= 0 else None]
        self._at = len(self._text) if end < 0 else end + 2
        self._out.append("".join(map(literal, inside)))

    # Classes

    def _class(self) -> None:
        self._take(1)
        if self._text.startswith("^", self._at):
            self._take(1)
        first = True
        while True:
            if self._at >= len(self._text):
                raise Unfit("a class is not closed; write ] where it ends, or \\[ for the letter")
            letter = self._text[self._at]
            if letter == "]" and not first:
                self._take(1)
                return
            first = False
            if letter == "[":
                self._posix_class()
            elif self._text.startswith("&&", self._at):
                raise Unfit("a class is cut with another by &&; write out the letters that are left")
            elif letter == "\\":
                self._escape_in_class()
            elif letter == "]":
                self._take(1, "\\]")
            else:
                self._take(1)

    def _posix_class(self) -> None:
        found = _BRACKETED.match(self._text, self._at)
        if found is None or found[2] not in _POSIX:
            raise Unfit("a class stands inside a class; write \\[ for the letter, or [[:digit:]] and its like")
        self._take(found.end() - found.start())

    def _escape_in_class(self) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in _CLASSES:
            self._take(2, _CLASSES[letter])
        elif letter == "e":
            self._take(2, _OUTSIDE["e"])
        elif found := _PROPERTY.match(self._text, self._at):
            self._take(found.end() - found.start(), _posix(found) or _property(found))
        else:
            self._letter()


def _posix(found: re.Match[str]) -> str | None:
    """`\\p{Alpha}` as the class that POSIX has for it; None if it has none."""
    name = found[3].lower() if found[3] else ""
    if name not in _POSIX or name == "word":
        return None
    negated = (found[1] == "P") != bool(found[2])
    return f"[:{'^' if negated else ''}{name}:]"


def _property(found: re.Match[str]) -> str:
    return f"\\{found[1]}{{{found[2] or ''}{found[3] or found[4]}}}"


def literal(letter: str) -> str:
    return f"\\{letter}" if letter in r"\.+*?()|[]{}^$&-~#/" else letter
