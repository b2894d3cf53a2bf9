"""The escapes inside quoted strings, the same in every language of the house."""

from __future__ import annotations

import re
from collections.abc import Callable

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}

_UNPRINTABLE = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}

NOTE = r"""the escapes are \n \t \r \0 \\ \" \' \uXXXX and \UXXXXXXXX"""
HINT = r"a backslash itself is written `\\`"


def unescaped(body: str, unknown: Callable[[re.Match[str]], None]) -> str:
    """The text that stands between quotation marks; `unknown` hears of every escape that there is not."""
    if "\\" not in body:
        return body

    def character(found: re.Match[str]) -> str:
        letters = found[1]
        if letters in _ESCAPES:
            return _ESCAPES[letters]
        code = int(letters[1:], 16) if len(letters) > 1 else None
        if code is not None and code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
        unknown(found)
        return ""

    return _ESCAPE.sub(character, body)


def quoted(text: str) -> str:
    """A text in quotation marks, with escapes for what does not print."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in _UNPRINTABLE:
        return _UNPRINTABLE[character]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
