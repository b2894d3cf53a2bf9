"""Whether a text is SQL or Datalog, by its first words."""

from __future__ import annotations

import re

_SPACE = re.compile(r"(?:\s|\ufeff|--[^\n]*|/\*.*?\*/)+", re.DOTALL)
_CREATE = re.compile(
    r"declare\s+recursive\s+view\b|create\s+(?:or\s+replace\s+|local\s+|global\s+|temp(?:orary)?\s+|recursive\s+|materialized\s+|external\s+)*"
    r"(?:table|stream|view)\b",
    re.IGNORECASE,
)
_WITH = re.compile(
    r"\(*with\s+(?:(?:mutually\s+)?recursive\s+(?=[\w`\"(])|(?:[A-Za-z_]\w*|`[^`]*`|\"[^\"]*\")\s*(?:\(|as\b))",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"(?:(?:insert|merge)\s+into|delete\s+from|update\s+\S+\s+set|(?:drop|alter|truncate)\s+(?:table|view)"
    r"|explain\s+(?:select|with)|show\s+tables)\b",
    re.IGNORECASE,
)  # SQL all the same: its reader says what to do instead
_SELECT = re.compile(r"\(*\s*(?:select|values)\b(?!\s*(?::|\())|from\s+\w", re.IGNORECASE)
_BRACKETED = re.compile(r"\(*\s*(?:select|values)\s*\(", re.IGNORECASE)
_ARROW = re.compile(r":-|<-|←|\.\s*$")


def is_sql(text: str) -> bool:
    """Datalog names relations in lower case and a bracket follows them, so `select X` can only be SQL."""
    space = _SPACE.match(text)
    start = space.end() if space else 0
    if any(form.match(text, start) for form in (_CREATE, _WITH, _SELECT, _REFUSED)):
        return True
    return _BRACKETED.match(text, start) is not None and not _ARROW.search(text)
