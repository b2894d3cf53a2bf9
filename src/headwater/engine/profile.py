"""Where the time of a database goes: per rule, per way through it, and per round.

A `Meter` counts while rules run. It costs two looks at a clock and a few additions for each delta rule that runs in a
round, under a microsecond whatever the number of rows, so it always counts. What compiled loops find before they drop
duplicates is known only if it is looked up a second time; a meter does that if it is told to (`counts_all`), and leaves
that work out of the seconds.

A `Profile` is what a meter has counted so far, with the rules as they were written. What several shards have counted
adds up (`summed`): they run the same plan.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from headwater.engine.rules.delta_rule import Runner
from headwater.language.datalog.printer import print_rule
from headwater.plan.explain import ways
from headwater.plan.model import Plan

_KEPT = 10_000  # the latest runs of rules in rounds
START = -1  # the way of a rule that starts from no row
_Run = tuple[int, int, tuple[int, int], int, int, int | None, int, float | None, float]


@dataclass(slots=True)
class _Counts:
    """What one way through one rule has done."""

    runs: int = 0
    started: int = 0
    read: int = 0
    made: int | None = 0
    kept: int = 0
    expected: float | None = 0.0
    seconds: float = 0.0

    def less(self, earlier: _Counts) -> _Counts:
        """What came on top of what was counted earlier."""
        made = None if self.made is None else self.made - (earlier.made or 0)
        expected = None if self.expected is None else self.expected - (earlier.expected or 0)
        return _Counts(
            self.runs - earlier.runs,
            self.started - earlier.started,
            self.read - earlier.read,
            made,
            self.kept - earlier.kept,
            expected,
            self.seconds - earlier.seconds,
        )


class Meter:
    """Counts what the rules of a shard do."""

    __slots__ = ("_by_way", "_rounds", "counts_all", "transactions")

    def __init__(self) -> None:
        self.counts_all = False
        self.transactions = 0
        self._by_way: dict[tuple[int, int], _Counts] = {}
        self._rounds: deque[_Run] = deque(maxlen=_KEPT)

    def note(self, runner: Runner, turn: int, started: int, kept: int, seconds: float) -> None:
        """A delta rule has run in a round, from so many rows or keys. Written out: it is called for every edit."""
        key, read, made = runner.key, started + runner.met, runner.made
        runner.met = runner.made = 0
        expected = runner.expected
        counts = self._by_way.get(key)
        if counts is None:
            counts = self._by_way[key] = _Counts()
        counts.runs += 1
        counts.started += started
        counts.read += read
        counts.kept += kept
        counts.seconds += seconds
        if made is None or counts.made is None:
            counts.made = None
        else:
            counts.made += made
        if expected is None:
            counts.expected = None
        else:
            expected *= started
            if counts.expected is not None:
                counts.expected += expected
        self._rounds.append((self.transactions, turn, key, started, read, made, kept, expected, seconds))

    def mark(self) -> Mapping[tuple[int, int], _Counts]:
        """What was counted so far, to be compared with later."""
        return {key: replace(counts) for key, counts in self._by_way.items()}

    def since(self, before: Mapping[tuple[int, int], _Counts], plan: Plan) -> tuple[RuleWork, ...]:
        """What was counted since a mark."""
        nothing = _Counts()
        found = {key: counts.less(before.get(key, nothing)) for key, counts in self._by_way.items()}
        ran = {key: counts for key, counts in found.items() if counts.runs}
        texts = _texts(plan, {rule for rule, _ in ran})
        return _slowest_first(RuleWork(*texts[key], **asdict(counts)) for key, counts in ran.items())

    def profile(self, plan: Plan) -> Profile:
        """What was counted so far."""
        texts = _texts(plan, {rule for rule, _ in self._by_way})
        rounds = []
        for at, turn, key, started, read, made, kept, expected, seconds in self._rounds:
            rounds.append(RoundWork(at, turn, *texts[key], started, read, made, kept, expected, seconds))
        return Profile(self.transactions, self.since({}, plan), tuple(rounds))


def _texts(plan: Plan, wanted: Collection[int]) -> dict[tuple[int, int], tuple[str, str]]:
    """Of every way through these rules the rule as it was written, and the way."""
    texts: dict[tuple[int, int], tuple[str, str]] = {}
    for rule in plan.rules:
        if rule.id not in wanted:
            continue
        written = plan.program_rules[rule.origin]
        text = print_rule(written.origin or written)
        texts.update(((rule.id, at), (text, way)) for at, way in enumerate(ways(rule)))
        texts[rule.id, START] = text, "at the start"
    return texts


def _slowest_first(works: Iterable[RuleWork]) -> tuple[RuleWork, ...]:
    return tuple(sorted(works, key=lambda work: -work.seconds))


@dataclass(frozen=True, slots=True)
class RuleWork:
    """What one way through one rule has done since the database was opened.

    Each run started from `started` rows; `read` counts them and the rows that they met, `made` the head rows found
    (None: not counted), `kept` those that were new; `expected` is what statistics led the planner to expect for `made`.
    """

    rule: str
    way: str
    runs: int
    started: int
    read: int
    made: int | None
    kept: int
    expected: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundWork:
    """The same for one round of one transaction."""

    transaction: int
    round: int
    rule: str
    way: str
    started: int
    read: int
    made: int | None
    kept: int
    expected: float | None
    seconds: float


_Work = TypeVar("_Work", RuleWork, RoundWork)


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time goes: prints as a table, the slowest way through a rule first; `json()` has the rounds too."""

    transactions: int
    rules: tuple[RuleWork, ...]
    rounds: tuple[RoundWork, ...] = field(repr=False)  # the latest ones

    @property
    def seconds(self) -> float:
        """The time that rules took."""
        return sum(work.seconds for work in self.rules)

    def json(self, *, indent: int | None = 2) -> str:
        """All of it as JSON."""
        return json.dumps({**asdict(self), "seconds": self.seconds}, indent=indent)

    def __str__(self) -> str:
        several = "" if self.transactions == 1 else "s"
        title = f"{self.seconds:.3f} s in rules, {self.transactions:,} transaction{several}"
        if not self.rules:
            return f"{title}: no rule has run yet"
        return "\n".join((title, *_table(self.rules)))


def summed(profiles: Iterable[Profile]) -> Profile:
    """What several shards have done together; a round is the same round of each of them."""
    given = list(profiles)
    rules: dict[tuple[Any, ...], RuleWork] = {}
    rounds: dict[tuple[Any, ...], RoundWork] = {}
    for profile in given:
        for rule in profile.rules:
            _add(rules, (rule.rule, rule.way), rule)
        for at in profile.rounds:
            _add(rounds, (at.transaction, at.round, at.rule, at.way), at)
    transactions = max((profile.transactions for profile in given), default=0)
    ordered = tuple(rounds[key] for key in sorted(rounds))
    return Profile(transactions, _slowest_first(rules.values()), ordered)


def _add(found: dict[tuple[Any, ...], _Work], key: tuple[Any, ...], work: _Work) -> None:
    """Add what was counted to what there is of the same key; what one did not count is not known of all."""
    there = found.get(key)
    if there is None:
        found[key] = work
        return
    both = ((name, getattr(there, name), getattr(work, name)) for name in _ADDED if hasattr(work, name))
    total: dict[str, Any] = {name: None if None in (one, two) else one + two for name, one, two in both}
    found[key] = replace(there, **total)


_ADDED = ("runs", "started", "read", "made", "kept", "expected", "seconds")
_HEADS = ("seconds", "runs", "started", "read", "made", "expected", "kept", "rule")


def _table(works: Iterable[RuleWork]) -> Iterator[str]:
    """Rows of cells, numbers flush right, and under each rule its way."""
    rows: list[Sequence[str]] = [_HEADS]
    for work in works:
        numbers = (work.runs, work.started, work.read, work.made, work.expected, work.kept)
        rows.append((f"{work.seconds:.4f}", *map(_shown, numbers), work.rule))
        rows.append(("",) * (len(_HEADS) - 1) + (f"  {work.way}",))
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADS) - 1)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join((*cells, row[-1]))


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:,.0f}"
