"""How long the rows of a base relation live, what tells one row from another, and which of two versions is newer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from headwater.network.simulator.rows.join import picker
from headwater.network.simulator.rows.terms import Row
from headwater.program.model import Relation
from headwater.program.time.program_clock import lifetime

_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class BaseLifetime:
    identity: Callable[[Row], Row]  # the row without its time
    key: Callable[[Row], Row] | None = None
    time: int | None = None  # the column with a row's own time
    by_clock: bool = False  # time means something to these rows
    ttl: float | None = None
    size: float | None = None  # of the window
    slide: float | None = None
    lateness: float | None = None

    @property
    def ends(self) -> bool:
        return self.ttl is not None or self.size is not None

    def with_window(self, span: float) -> BaseLifetime:
        """The same for rows that live so long, whatever the program says."""
        return replace(self, by_clock=True, ttl=span)

    def is_late(self, row: Row, now: float) -> bool:
        return self.lateness is not None and self.time is not None and bool(row[self.time] < now - self.lateness)

    def start(self, row: Row) -> float | None:
        """The moment at which a row begins, where its window moves in steps."""
        return None if self.slide is None or self.time is None else _step_after(row[self.time], self.slide)

    def age_and_end(self, row: Row, now: float | None) -> tuple[float, float]:
        """What tells which of two versions is newer, and the moment at which this one goes."""
        if not self.by_clock:
            return 0, _NEVER
        assert now is not None, "rows that live by the clock come at a known time"
        since = now if self.time is None else row[self.time]
        end = _NEVER
        if self.ttl is not None:
            end = since + self.ttl
        if self.size is not None:
            over = since + self.size
            end = min(end, over if self.slide is None else _step_after(over, self.slide))
        return end if self.time is None else since, end


def lives(relation: Relation) -> BaseLifetime:
    """As the program says, of a relation as it was checked: a stream with its time, its key and its window."""
    life = lifetime(relation)
    time = None if life is None else relation.time
    return BaseLifetime(
        identity=picker(tuple(at for at in range(relation.arity) if at != time)),
        key=None if relation.key is None else picker(relation.key),
        time=time,
        by_clock=life is not None,
        ttl=None if life is None else life.ttl,
        size=None if life is None else life.size,
        slide=None if life is None else life.slide,
        lateness=None if life is None else life.lateness,
    )


def _step_after(moment: float, slide: float) -> float:
    """The first step at or after a moment."""
    return moment + (slide - moment % slide) % slide
