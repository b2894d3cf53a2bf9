"""Documents as JSON text, however deep they are.

Python's own writer ends where its stack does, some levels before the 1,000 that a document may have; what is deeper
for it is written here without a stack.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def json_text(value: Any) -> str:
    """A value as JSON on one line, written as `json.dumps` writes it, with all letters as they are."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "".join(_pieces(value))


def _pieces(value: Any) -> Iterator[str]:
    waiting: list[Any] = [iter((("", value),))]  # of each object and array that is open, what is left
    ends: list[str] = [""]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
            yield ends.pop()
            continue
        before, inner = found
        yield before
        if isinstance(inner, dict):
            yield "{"
            waiting.append(_members(inner))
            ends.append("}")
        elif isinstance(inner, list | tuple):
            yield "["
            waiting.append((", " if at else "", item) for at, item in enumerate(inner))
            ends.append("]")
        else:
            yield json.dumps(inner, ensure_ascii=False)


def _members(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for at, (label, inner) in enumerate(value.items()):
        yield f"{', ' if at else ''}{json.dumps(label, ensure_ascii=False)}: ", inner
