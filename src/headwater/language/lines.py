"""From a position in a text to its line and column, in logarithmic time."""

from __future__ import annotations

import re
from bisect import bisect_right

from headwater.core.source import Source, Span


class Lines:
    """The line starts of one text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", source.text))]

    def span(self, start: int, end: int) -> Span:
        line = bisect_right(self._starts, start)
        return Span(self.source, start, end, line, start - self._starts[line - 1] + 1)
