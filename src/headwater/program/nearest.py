"""The nearest name to one that is not known, for hints.

`Spelling` finds names one slip away (a letter too many, too few, wrong, or two swapped) in time that does not
depend on how many names there are, so that large programs are not punished for being large.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MANY = 500


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, if one is like it at all."""
    pool = [candidate for candidate in candidates if candidate != name]
    if len(pool) > _MANY:
        return Spelling(pool).slip(name)
    lowered = {candidate.lower(): candidate for candidate in pool}
    found = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


class Spelling:
    """Names by what is left of them when one letter is taken out."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known: dict[str, list[str]] = {}
        for name in known:
            for form in _forms(name):
                self._known.setdefault(form, []).append(name)

    def slip(self, name: str) -> str | None:
        """A known name, other than `name`, that one slip of the pen turns into it."""
        for form in _forms(name):
            for known in self._known.get(form, ()):
                if known != name:
                    return known
        return None


def _forms(name: str) -> dict[str, None]:
    name = name.lower()[:80]  # forms of a very long name would take quadratic room
    return dict.fromkeys([name, *(name[:cut] + name[cut + 1 :] for cut in range(len(name)))])
