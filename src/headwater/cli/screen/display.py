"""Values as a terminal shows them."""

from __future__ import annotations

from typing import Any


def shown(value: Any) -> str:
    """A value in one line; what a terminal might take for a command is written out."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value if value.isprintable() else value.encode("unicode_escape").decode("ascii")
        case list() | tuple():
            return f"[{', '.join(map(shown, value))}]"
    return str(value)
