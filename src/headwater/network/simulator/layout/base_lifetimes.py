"""How long the rows of a base relation live, what identifies a row, and which of two versions is newer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwater.network.simulator.rows.join import picker
from headwater.network.simulator.rows.terms import Row
from headwater.program.model import Relation
from headwater.program.time.program_clock import Lifetime, lifetime

_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class BaseLifetime:
    """When rows of one base relation come and go; `life` and `ttl` are None where they do not live by the clock."""

    identity: Callable[[Row], Row]  # the row without its time
    key: Callable[[Row], Row] | None = None
    time: int | None = None  # the column with a row's own time
    life: Lifetime | None = None
    ttl: float | None = None

    @property
    def by_clock(self) -> bool:
        return self.life is not None or self.ttl is not None

    @property
    def ends(self) -> bool:
        return self.ttl is not None or (self.life is not None and self.life.ends)

    def is_late(self, row: Row, now: float) -> bool:
        lateness = None if self.life is None else self.life.lateness
        return lateness is not None and self.time is not None and bool(row[self.time] < now - lateness)

    def start(self, row: Row) -> float | None:
        """The moment at which a row begins, where its window moves in steps."""
        slide = None if self.life is None else self.life.slide
        return None if slide is None or self.time is None else _step_after(row[self.time], slide)

    def age_and_end(self, row: Row, now: float | None) -> tuple[float, float]:
        """What decides which of two versions is newer, and the moment at which this one goes."""
        if not self.by_clock:
            return 0, _NEVER
        assert now is not None, "rows that live by the clock come at a known time"
        since = now if self.time is None else row[self.time]
        end = _NEVER if self.ttl is None else since + self.ttl
        if self.life is not None and self.life.size is not None:
            over = since + self.life.size
            end = min(end, over if self.life.slide is None else _step_after(over, self.life.slide))
        return end if self.time is None else since, end


def base_lifetime(relation: Relation) -> BaseLifetime:
    """As the program says, of a relation as it was checked: a stream with its time, its key and its window."""
    life = lifetime(relation)
    time = None if life is None else relation.time
    return BaseLifetime(
        identity=picker(tuple(at for at in range(relation.arity) if at != time)),
        key=None if relation.key is None else picker(relation.key),
        time=time,
        life=life,
        ttl=None if life is None else life.ttl,
    )


def _step_after(moment: float, slide: float) -> float:
    """The first step at or after a moment."""
    return moment + (slide - moment % slide) % slide
