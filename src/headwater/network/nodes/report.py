"""What a simulation has seen: messages and bytes by link and by node over time, and how complete the views were when.

Numbers are recorded message by message in flat arrays, and summed up when they are asked for.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headwater.engine.codes.symbols import Codes
from headwater.network.nodes.post import last_words

Series = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TracedMessage:
    """One message: when it was sent and arrived (None: lost), between which nodes, its bytes and its rows."""

    sent: float
    arrived: float | None
    src: Any
    dst: Any
    bytes: int
    rows: tuple[tuple[str, str, tuple[Any, ...]], ...]  # "+" or "-", relation, row


class RecordedLists:
    """Lists that the record of changes alone still names, as numbers of their items in one flat array.

    In the record, the complement of a list's number here stands for its code: no code of a list is negative.
    """

    def __init__(self) -> None:
        self._items, self._ends = array("i"), array("l", [0])

    def add(self, items: Iterable[int]) -> int:
        """What stands for a list of these items from now on."""
        self._items.extend(items)
        self._ends.append(len(self._items))
        return -(len(self._ends) - 1)

    def items(self, code: int) -> list[int]:
        return self._items[self._ends[~code] : self._ends[-code]].tolist()


class SimulationReport:
    """Counts of one simulation; they grow while it runs."""

    def __init__(self, nodes: tuple[Any, ...], channels: list[tuple[Any, Any]]) -> None:
        self.nodes = nodes
        self.channels = channels
        self.transactions = 0  # moments at which some node had something to do
        self.trace: list[TracedMessage] = []
        self._time, self._channel = array("d"), array("l")
        self._bytes, self._rows = array("l"), array("l")
        self._lost = 0
        self._relations: Counter[str] = Counter()
        self._changes: dict[str, list[tuple[float, int, Codes]]] = {}
        self.lists = RecordedLists()

    # Recording

    def sent(self, now: float, channel: int, size: int, rows: Iterable[tuple[str, int]], *, lost: bool) -> None:
        """A message is sent, with so many rows of each of these relations."""
        total = 0
        for relation, count in rows:
            total += count
            self._relations[relation] += count
        self._time.append(now)
        self._channel.append(channel)
        self._bytes.append(size)
        self._rows.append(total)
        self._lost += lost

    def lost_under_way(self, messages: int) -> None:
        """Messages that were counted as sent do not arrive, because their link has failed."""
        self._lost += messages

    def changed(self, now: float, view: str, sign: int, rows: Codes) -> None:
        if rows.shape[0]:
            self._changes.setdefault(view, []).append((now, sign, rows))

    # Reading

    def changes(self, view: str) -> list[tuple[float, int, Codes]]:
        """The rows of a view that came (1) and went (-1), as codes, in the order of time; some lists are `lists`."""
        return self._changes.get(view, [])

    def recorded(self) -> Iterator[tuple[str, Codes]]:
        """The rows of all changes of each view: one matrix, which the record shares, to be read and written."""
        for view, changes in self._changes.items():
            together = np.concatenate([rows for _, _, rows in changes])
            parts = np.split(together, np.cumsum([rows.shape[0] for _, _, rows in changes])[:-1])
            self._changes[view] = [(*change[:2], part) for change, part in zip(changes, parts, strict=True)]
            yield view, together

    @property
    def messages(self) -> int:
        return len(self._time)

    @property
    def lost(self) -> int:
        """Messages that never arrived."""
        return self._lost

    @property
    def bytes(self) -> int:
        return sum(self._bytes)

    @property
    def rows(self) -> int:
        """Rows in all messages, those that come and those that go."""
        return sum(self._rows)

    def rows_by_relation(self) -> dict[str, int]:
        """Rows in all messages by their relation, those of rewritten rules too (`Simulation.explain`)."""
        return dict(sorted(self._relations.items()))

    @property
    def last_message(self) -> float:
        """When the last message was sent; 0 if there was none."""
        return max(self._time, default=0.0)

    def bytes_by_link(self) -> dict[tuple[Any, Any], int]:
        """Bytes sent over each direction of each link."""
        totals = np.bincount(self._of(self._channel), weights=self._of(self._bytes), minlength=len(self.channels))
        return {name: int(total) for name, total in zip(self.channels, totals, strict=True)}

    def bytes_by_node(self) -> dict[Any, int]:
        """Bytes that each node sent."""
        found = dict.fromkeys(self.nodes, 0)
        for (src, _), total in self.bytes_by_link().items():
            found[src] += total
        return found

    def rate(
        self, bucket: float = 0.1, *, since: float = 0.0, until: float | None = None, node: Any = None, link: Any = None
    ) -> tuple[Series, Series]:
        """Bytes per second over time, of one node or link or of all: the starts of the buckets, and the rates."""
        if bucket <= 0:
            raise ValueError(f"a bucket is longer than 0 seconds, not {bucket}")
        times, sizes = self._of(self._time), self._of(self._bytes).astype(np.float64)
        if node is not None or link is not None:
            chosen = [(src == node) if link is None else ((src, dst) == tuple(link)) for src, dst in self.channels]
            mine = np.array(chosen, dtype=np.bool_)[self._of(self._channel)]
            times, sizes = times[mine], sizes[mine]
        end = until if until is not None else max(self.last_message, since) + bucket
        count = max(1, int(np.ceil((end - since) / bucket - 1e-9)))
        place = np.floor((times - since) / bucket + 1e-9).astype(np.int64)
        inside = (place >= 0) & (place < count)
        totals = np.bincount(place[inside], weights=sizes[inside], minlength=count)
        return since + bucket * np.arange(count, dtype=np.float64), totals / bucket

    def peak_rate(self, bucket: float = 0.1) -> float:
        """The highest rate of a bucket, in bytes per second and node."""
        return float(self.rate(bucket)[1].max()) / len(self.nodes)

    def settled(self, view: str, rows: Codes, since: float = 0.0) -> Series:
        """For each of these rows of a view that are there now, when it came for the last time; in ascending order."""
        came = [(now, found) for now, sign, found in self._changes.get(view, ()) if sign > 0]
        if not came or not rows.shape[0]:
            return np.zeros(0)
        every = np.concatenate([found for _, found in came]).astype(np.int64)
        times = np.repeat([now for now, _ in came], [found.shape[0] for _, found in came])
        last = last_words(every)
        every, times = every[last], times[last]
        together = np.concatenate([every, rows.astype(np.int64)])
        packed = np.ascontiguousarray(together).view([("", together.dtype)] * together.shape[1]).ravel()
        _, first, back = np.unique(packed, return_index=True, return_inverse=True)
        return np.sort(np.maximum(times[first[back.ravel()[every.shape[0] :]]], since))

    def _of(self, numbers: array[Any]) -> npt.NDArray[Any]:
        kind = np.float64 if numbers.typecode == "d" else np.dtype("l")
        return np.frombuffer(numbers, dtype=kind) if numbers else np.zeros(0, dtype=kind)

    def table(self, converged: Mapping[str, float]) -> dict[str, Any]:
        """The main numbers, for a table or JSON."""
        return {
            "messages": self.messages,
            "lost": self.lost,
            "rows": self.rows,
            "bytes": self.bytes,
            "bytes_per_node": round(self.bytes / len(self.nodes), 1),
            "peak_bytes_per_second_and_node": round(self.peak_rate(), 1),
            "last_message": round(self.last_message, 6),
            "converged": {name: round(moment, 6) for name, moment in converged.items()},
        }
