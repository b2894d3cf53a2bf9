"""Recall and bytes of three ways to search: flooding, an index on Chord's ring, and a hybrid (003, section 3.2).

- Flooding: a question goes to all nodes within a horizon of hops, over every link once in each direction that a node
  does not know to be useless (not back to whom it came from); an answer takes the way of the question.
- Index: every node publishes each term of each of its files to the term's owner on the ring. A question goes to the
  owner of its rarest term, whose list goes to the owner of the next one, and so on; the last sends the answers.
- Hybrid: questions are flooded within a smaller horizon; if fewer answers come than wanted, the index is asked, which
  holds rare files only. A file is rare by `result size` (fewer copies than a bound) or by `terms` (one of its
  terms is in fewer names than a bound).

Bytes are counted hop by hop, except that lists and answers of the index go directly. Nothing is lost or late here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headwater.network.links import Topology
from headwater.network.search.library import Library, Question
from headwater.network.search.ring import Ring

QUESTION, ANSWER, POSTING = 80, 100, 40  # bytes
RARITIES = ("result size", "terms")


@dataclass(frozen=True, slots=True)
class SearchCost:
    """What one way of searching finds, and what it costs."""

    method: str
    recall: float  # share of the copies that exist
    distinct_recall: float  # share of the files that exist
    satisfied: float  # share of the questions with as many answers as wanted, or all that exist
    question_bytes: float  # of a question, on average
    published: int  # postings in the index
    published_bytes: int


@dataclass(slots=True)
class _Tally:
    wanted: int
    copies: int = 0
    files: int = 0
    all_copies: int = 0
    all_files: int = 0
    bytes: int = 0
    satisfied: int = 0

    def add(self, of: Library, matching: list[int], found: set[tuple[int, Any]], sent: int) -> None:
        exist = sum(len(of.holders[number]) for number in matching)
        self.satisfied += len(found) >= min(self.wanted, exist)
        self.copies += len(found)
        self.files += len({number for number, _ in found})
        self.all_copies += exist
        self.all_files += len(matching)
        self.bytes += sent

    def cost(self, method: str, asked: int, published: int, published_bytes: int) -> SearchCost:
        return SearchCost(
            method,
            self.copies / max(1, self.all_copies),
            self.files / max(1, self.all_files),
            self.satisfied / max(1, asked),
            self.bytes / max(1, asked),
            published,
            published_bytes,
        )


def compare(
    topology: Topology,
    of: Library,
    asked: Sequence[Question],
    *,
    horizon: int = 4,
    near: int = 3,
    wanted: int = 20,
    rare_copies: int = 5,
    rare_terms: int = 10,
) -> list[SearchCost]:
    """Each way over the same questions: flooding, the index, and the hybrid by either rarity."""
    if not 0 <= near <= horizon:
        raise ValueError(f"the hybrid floods within {near} hops, which is not within the horizon of {horizon}")
    network = _Network(topology)
    every = range(len(of.terms))
    found = [_flooding(network, of, asked, horizon, wanted)]
    whole = _Index(network.ring, of, frozenset(every))
    found.append(_indexed(whole, of, asked, wanted))
    for rarity in RARITIES:
        rare = frozenset(number for number in every if is_rare(of, number, rarity, rare_copies, rare_terms))
        index = _Index(network.ring, of, rare)
        found.append(_hybrid(network, index, of, asked, near, wanted, f"hybrid, rare by {rarity}"))
    return found


def is_rare(of: Library, number: int, rarity: str, copies: int, names: int) -> bool:
    """Whether a file is to be indexed by the hybrid."""
    if rarity == "result size":
        return len(of.holders[number]) < copies
    return any(sum(len(of.holders[other]) for other in of.by_term[term]) < names for term in of.terms[number])


class _Network:
    """Who talks to whom, and the ring of the same nodes."""

    def __init__(self, topology: Topology) -> None:
        self.onward: dict[Any, list[Any]] = {node: [] for node in topology.nodes}
        for src, dst, _ in topology.channels:
            self.onward[src].append(dst)
        self.ring = Ring((node, position(f"node {node}")) for node in topology.nodes)

    def flood(self, origin: Any, horizon: int) -> tuple[dict[Any, int], int]:
        """How far the nodes within the horizon are, and the messages that reaching them takes."""
        far = {origin: 0}
        edge, messages = [origin], 0
        for hop in range(1, horizon + 1):
            fresh = []
            for node in edge:
                messages += len(self.onward[node]) - (node != origin)
                for other in self.onward[node]:
                    if other not in far:
                        far[other] = hop
                        fresh.append(other)
            edge = fresh
        return far, messages


def position(text: str) -> int:
    """Where a name stands on the ring."""
    return int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest()[:4], "big")


def _flooded(
    network: _Network, of: Library, question: Question, matching: list[int], horizon: int
) -> tuple[set[tuple[int, Any]], int]:
    far, messages = network.flood(question.origin, horizon)
    found = {(number, node) for number in matching for node in of.holders[number] if node in far}
    return found, messages * QUESTION + sum(far[node] for _, node in found) * ANSWER


def _flooding(network: _Network, of: Library, asked: Sequence[Question], horizon: int, wanted: int) -> SearchCost:
    tally = _Tally(wanted)
    for question in asked:
        matching = of.matching(question.terms)
        tally.add(of, matching, *_flooded(network, of, question, matching, horizon))
    return tally.cost(f"flooding, {horizon} hops", len(asked), 0, 0)


class _Index:
    """Postings on the ring: for each term, the copies of files that have it."""

    def __init__(self, ring: Ring, of: Library, files: frozenset[int]) -> None:
        self._ring = ring
        self.files = files
        self.postings = self.bytes = 0
        self.length: dict[str, int] = {}
        for number in sorted(files):
            for term in of.terms[number]:
                self.length[term] = self.length.get(term, 0) + len(of.holders[number])
                for node in of.holders[number]:
                    self.postings += 1
                    self.bytes += POSTING * ring.hops(node, position(term))

    def ask(self, of: Library, question: Question, matching: list[int]) -> tuple[set[tuple[int, Any]], int]:
        terms = sorted(question.terms, key=lambda term: (self.length.get(term, 0), term))
        sent = QUESTION * self._ring.hops(question.origin, position(terms[0]))
        left = self.files
        for at, term in enumerate(terms[:-1]):
            left &= of.by_term.get(term, frozenset())
            if self._ring.owner(position(term)) != self._ring.owner(position(terms[at + 1])):
                sent += QUESTION + POSTING * sum(len(of.holders[number]) for number in left)
        found = {(number, node) for number in matching if number in self.files for node in of.holders[number]}
        return found, sent + ANSWER * len(found)


def _indexed(index: _Index, of: Library, asked: Sequence[Question], wanted: int) -> SearchCost:
    tally = _Tally(wanted)
    for question in asked:
        matching = of.matching(question.terms)
        tally.add(of, matching, *index.ask(of, question, matching))
    return tally.cost("index of all files", len(asked), index.postings, index.bytes)


def _hybrid(
    network: _Network, index: _Index, of: Library, asked: Sequence[Question], near: int, wanted: int, method: str
) -> SearchCost:
    tally = _Tally(wanted)
    for question in asked:
        matching = of.matching(question.terms)
        found, sent = _flooded(network, of, question, matching, near)
        if len(found) < wanted:
            more, extra = index.ask(of, question, matching)
            found, sent = found | more, sent + extra
        tally.add(of, matching, found, sent)
    return tally.cost(method, len(asked), index.postings, index.bytes)
