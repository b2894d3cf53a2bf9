"""Pages of rows as they were sent: readers who look at the same rows after the same changes share one answer.

After a change every open page asks for its rows again. An answer is good for all requests that ask for the same rows
and would be content with its transaction, so that it is made once, however many pages are open.
"""

from __future__ import annotations

from collections import OrderedDict

_MOST = 32 << 20
"""Bytes that are kept."""


class SharedAnswers:
    """The last answers, by what was asked for; used in the event loop alone."""

    def __init__(self, most: int = _MOST) -> None:
        self._kept: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._most = most
        self._size = 0

    def find(self, asked: str, at_least: int) -> str | None:
        """The answer to a question, if one is kept that is as of the transaction `at_least`, or later."""
        kept = self._kept.get(asked)
        if kept is None or kept[0] < at_least:
            return None
        self._kept.move_to_end(asked)
        return kept[1]

    def keep(self, asked: str, transaction: int, answer: str) -> None:
        before = self._kept.pop(asked, None)
        self._size += len(answer) - (0 if before is None else len(before[1]))
        self._kept[asked] = transaction, answer
        while self._size > self._most:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._size -= len(oldest)
