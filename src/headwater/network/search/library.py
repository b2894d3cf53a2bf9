"""Files on the nodes of a network, few of them popular and most of them rare, and questions for them.

The number of copies of a file, the terms in names and the files that are asked for follow Zipf's law (003, section
3.2: replication has a long tail). The same seed gives the same files and questions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

MOST_COPIES = 10_000_000


@dataclass(frozen=True, slots=True)
class Library:
    """Who has which file, and the terms of each file's name."""

    terms: tuple[frozenset[str], ...]  # by file
    holders: tuple[tuple[Any, ...], ...]  # by file
    by_term: dict[str, frozenset[int]] = field(repr=False, compare=False, default_factory=dict)

    def matching(self, wanted: frozenset[str]) -> list[int]:
        """The files whose names have all these terms."""
        lists = sorted((self.by_term.get(term, frozenset()) for term in wanted), key=len)
        return sorted(frozenset.intersection(*lists)) if lists else []


@dataclass(frozen=True, slots=True)
class Question:
    """A search for files with all these terms, by a node."""

    origin: Any
    terms: frozenset[str]


def library(terms: Sequence[frozenset[str]], holders: Sequence[Sequence[Any]]) -> Library:
    """A library of given files."""
    index: dict[str, set[int]] = {}
    for number, words in enumerate(terms):
        for word in words:
            index.setdefault(word, set()).add(number)
    by_term = {word: frozenset(found) for word, found in index.items()}
    return Library(tuple(terms), tuple(tuple(held) for held in holders), by_term)


def zipf_library(
    nodes: Sequence[Any],
    *,
    files: int = 2000,
    copies: int = 10_000,
    vocabulary: int = 1000,
    words: int = 3,
    exponent: float = 1.0,
    seed: int = 0,
) -> Library:
    """So many files with so many copies in all, each on a node at random."""
    if not (1 <= files <= copies <= MOST_COPIES and 1 <= words <= vocabulary and nodes):
        raise ValueError(f"{copies:,} copies of {files:,} files with {words} of {vocabulary:,} words cannot be")
    dice = random.Random(seed)
    weights = [1 / rank**exponent for rank in range(1, files + 1)]
    scale = (copies - files) / sum(weights)
    popular = list(accumulate(1 / rank for rank in range(1, vocabulary + 1)))
    terms, holders = [], []
    for weight in weights:
        chosen: set[str] = set()
        while len(chosen) < words:
            chosen.add(f"t{dice.choices(range(vocabulary), cum_weights=popular)[0]}")
        terms.append(frozenset(chosen))
        count = min(len(nodes), 1 + round(scale * weight))
        holders.append(dice.sample(list(nodes), count))
    return library(terms, holders)


def questions(
    of: Library, nodes: Sequence[Any], count: int, *, words: int = 2, exponent: float = 0.5, seed: int = 0
) -> list[Question]:
    """Searches for files, popular ones more often, each by words of the file's name."""
    dice = random.Random(seed)
    weights = list(accumulate(1 / rank**exponent for rank in range(1, len(of.terms) + 1)))
    found = []
    for _ in range(count):
        wanted = of.terms[dice.choices(range(len(of.terms)), cum_weights=weights)[0]]
        chosen = dice.sample(sorted(wanted), min(words, len(wanted)))
        found.append(Question(dice.choice(list(nodes)), frozenset(chosen)))
    return found
