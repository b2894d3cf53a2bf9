"""The escapes inside quoted strings, the same in every language of the house."""

from __future__ import annotations

import re
from collections.abc import Callable

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}

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
