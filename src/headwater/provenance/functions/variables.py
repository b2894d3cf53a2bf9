"""Which variable stands for which base fact.

The order of the variables decides how big diagrams become, not what they mean. Facts of one derivation should be close
together. `ARRIVAL` takes facts as they come, `VALUE` sorts them by their values, and a function of a relation and a row
gives the key of any other order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from headwater.core.errors import BudgetSpent

Fact: TypeAlias = tuple[str, tuple[Any, ...]]
Order: TypeAlias = Literal["arrival", "value"] | Callable[[str, tuple[Any, ...]], Any]

MOST_VARIABLES = 65_533  # as many as a diagram can have
_KEY = itemgetter(0)
ARRIVAL: Literal["arrival"] = "arrival"
VALUE: Literal["value"] = "value"


def by_value(relation: str, row: tuple[Any, ...]) -> Any:
    """Rows in the order of their values, whatever their types."""
    return _comparable(row), relation


def _comparable(value: Any) -> Any:
    """A key that compares with that of any other value."""
    return type(value).__name__, tuple(map(_comparable, value)) if isinstance(value, tuple) else value


class Variables:
    """A number for each fact. Numbers of facts that are gone are given out again."""

    def __init__(self, order: Order = ARRIVAL) -> None:
        if order not in (ARRIVAL, VALUE) and not callable(order):
            raise ValueError(f"an order of variables is 'arrival', 'value' or a function, not {order!r}")
        self.order = order
        self._numbers: dict[Fact, int] = {}
        self._facts: dict[int, Fact] = {}
        self._places: list[tuple[Any, int]] = []  # in order of their keys, where there is an order
        self._next = 0
        self._returned: list[int] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, fact: Fact) -> bool:
        return fact in self._numbers

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._numbers)

    def __getitem__(self, fact: Fact) -> int:
        return self._numbers[fact]

    def fact(self, number: int) -> Fact:
        return self._facts[number]

    def add(self, facts: Iterable[Fact]) -> None:
        """Give every new fact a variable."""
        new = [fact for fact in dict.fromkeys(facts) if fact not in self._numbers]
        if len(self._numbers) + len(new) > MOST_VARIABLES:
            raise BudgetSpent(
                f"error[HW903]: absorption provenance holds at most {MOST_VARIABLES:,} base facts, not "
                f"{len(self._numbers) + len(new):,}\n  hint: use provenance='witness': "
                "its questions count only the facts that the row asked about can rest on"
            )
        if self.order == ARRIVAL:
            for fact in new:
                self._enter(fact, self._returned.pop() if self._returned else self._fresh())
        else:
            keyed = sorted(((self._key(fact), at) for at, fact in enumerate(new)), key=_KEY)
            placed = [key for key, _ in self._places]
            came: list[tuple[Any, int]] = []
            for gap, run in groupby(keyed, lambda pair: bisect_left(placed, pair[0])):
                came += self._fill(gap, [(key, new[at]) for key, at in run])
            self._places = sorted(self._places + came, key=_KEY)

    def discard(self, fact: Fact) -> None:
        """The fact is gone, and no function depends on it any more."""
        number = self._numbers.pop(fact)
        del self._facts[number]
        if self.order == ARRIVAL:
            self._returned.append(number)
        else:
            self._places = [place for place in self._places if place[1] != number]

    def restore(self, numbers: Iterable[tuple[Fact, int]]) -> None:
        """Add facts with the numbers they had."""
        for fact, number in numbers:
            if fact in self._numbers or number in self._facts or not 0 <= number < MOST_VARIABLES:
                raise ValueError(f"variable {number} cannot stand for {fact}")
            self._enter(fact, number)
            if self.order != ARRIVAL:
                insort(self._places, (self._key(fact), number), key=_KEY)
        self._next = max(self._facts, default=-1) + 1
        self._returned = [number for number in range(self._next) if number not in self._facts]

    def numbered(self) -> dict[Fact, int]:
        return dict(self._numbers)

    def _enter(self, fact: Fact, number: int) -> None:
        self._numbers[fact] = number
        self._facts[number] = fact

    def _fresh(self) -> int:
        self._next += 1
        return self._next - 1

    def _key(self, fact: Fact) -> Any:
        relation, row = fact
        return self.order(relation, row) if callable(self.order) else by_value(relation, row)

    def _fill(self, gap: int, run: list[tuple[Any, Fact]]) -> Iterator[tuple[Any, int]]:
        """Spread facts evenly over the numbers between two neighbours, or close by where there are not enough."""
        low = self._places[gap - 1][1] if gap else -1
        high = self._places[gap][1] if gap < len(self._places) else MOST_VARIABLES
        for at, (key, fact) in enumerate(run):
            number = self._closest(low + max(1, (high - low) * (at + 1) // (len(run) + 1)))
            self._enter(fact, number)
            yield key, number

    def _closest(self, wanted: int) -> int:
        """The free number that is closest."""
        for distance in range(MOST_VARIABLES):
            for number in (wanted + distance, wanted - distance):
                if 0 <= number < MOST_VARIABLES and number not in self._facts:
                    return number
        raise AssertionError("there are free numbers")
