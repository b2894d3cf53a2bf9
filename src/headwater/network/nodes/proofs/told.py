"""What neighbours have been told: by channel, the facts that stood in the proofs of rows which went over it.

If such a fact dies, the receiver must hear of it, because it may have passed the rows on. Most channels of a network
have carried most facts, so the facts of a channel are the bits of one integer. A fact has its own bit until it is
forgotten, then another one may have it: integers do not grow with the facts that there ever were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class ToldFacts:
    """The facts that receivers have heard of, by sender and channel."""

    _by_sender: list[dict[int, int]]  # by channel: the bits of its facts
    _bits: dict[int, int] = field(default_factory=dict)  # by fact: the number of its bit
    _free: list[int] = field(default_factory=list)  # bits of facts that were forgotten

    def add(self, sender: int, channel: int, bits: int) -> None:
        """A receiver hears of some facts, given by `bits_of`."""
        mine = self._by_sender[sender]
        mine[channel] = mine.get(channel, 0) | bits

    def bits_of(self, facts: Iterable[int]) -> int:
        """These facts as bits; those that are new get one."""
        found = 0
        for fact in facts:
            bit = self._bits.get(fact)
            if bit is None:
                bit = self._bits[fact] = self._free.pop() if self._free else len(self._bits)
            found |= 1 << bit
        return found

    def take(self, sender: int, facts: Collection[int]) -> Iterator[tuple[int, set[int]]]:
        """Those of these facts that the receivers of each channel have heard of; from now on they count as not told."""
        bits = {fact: 1 << self._bits[fact] for fact in facts if fact in self._bits}
        every = 0
        for bit in bits.values():
            every |= bit
        for channel, told in self._by_sender[sender].items():
            if told & every:
                self._by_sender[sender][channel] = told & ~every
                yield channel, {fact for fact, bit in bits.items() if told & bit}

    def keep(self, facts: Collection[int]) -> None:
        """Forget all other facts, of which nobody will hear again."""
        others = [fact for fact in self._bits if fact not in facts]
        gone = 0
        for fact in others:
            bit = self._bits.pop(fact)
            gone |= 1 << bit
            self._free.append(bit)
        self._free.sort(reverse=True)
        self._bits = dict(self._bits)  # a dict keeps the room of what was deleted
        for mine in self._by_sender:
            for channel, told in mine.items():
                mine[channel] = told & ~gone

    @property
    def held(self) -> int:
        """How many facts have a bit."""
        return len(self._bits)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        channels = sum(100 + told.bit_length() // 7 for mine in self._by_sender for told in mine.values())
        return channels + 100 * len(self._bits) + 40 * len(self._free)
