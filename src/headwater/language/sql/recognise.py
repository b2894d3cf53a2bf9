"""Whether a text is SQL or Datalog, told by its first words."""

from __future__ import annotations

import re

_SPACE = re.compile(r"(?:\s|\ufeff|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_CREATE = re.compile(
    r"create\s+(?:or\s+replace\s+|global\s+|temp(?:orary)?\s+|recursive\s+|materialized\s+|external\s+)*"
    r"(?:table|stream|view)\b",
    re.IGNORECASE,
)
_WITH = re.compile(r"with\s+(?:recursive\s+)?(?:[A-Za-z_]\w*|`[^`]*`)\s*(?:\(|as\b)", re.IGNORECASE)
_SELECT = re.compile(r"\(*\s*(?:select|values)\b(?!\s*(?::|\())|from\s+\w", re.IGNORECASE)
_BRACKETED = re.compile(r"\(*\s*(?:select|values)\s*\(", re.IGNORECASE)
_ARROW = re.compile(r":-|<-|←|\.\s*$")


def is_sql(text: str) -> bool:
    """Datalog names relations in lower case and a bracket follows them, so `select X` can only be SQL."""
    space = _SPACE.match(text)
    start = space.end() if space else 0
    if any(form.match(text, start) for form in (_CREATE, _WITH, _SELECT)):
        return True
    return _BRACKETED.match(text, start) is not None and not _ARROW.search(text)
