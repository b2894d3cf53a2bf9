"""Where the shards of a gang learn each other's addresses: one small server in the process that started them.

A shard calls with its number and its address, and is answered when all have called, or when its patience is at an end.
A gang may be tried again under its name, while shards of an earlier try are still waiting or have been answered. Each
call says its `turn`, a number that only grows: shards of one try have turns that differ by less than their number
(Spark numbers tasks that way), and a shard that is further behind belongs to a try that was given up.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.flight as flight

from headwater.core.errors import ExchangeError
from headwater.exchange.flight_server import Certificate, Server, connect, new_token, with_token

_PATIENCE = 120.0
_GLANCE = 0.2  # seconds between two looks at whether the caller has been cancelled
_MOST_SHARDS = 1 << 16


class Rendezvous(Server):
    """The server; several gangs may meet at it, each under its name."""

    def __init__(self, host: str = "127.0.0.1", token: str | None = None, tls: Certificate | None = None) -> None:
        self.token = token or new_token()
        self._meetings: dict[str, _Meeting] = {}  # those that are not full
        self._changed = threading.Condition()
        self._closed = False
        super().__init__(host, self.token, tls)

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        try:
            asked = json.loads(action.body.to_pybytes())
            gang, number, shards, address = asked["gang"], asked["number"], asked["shards"], asked["address"]
            patience, turn = float(asked["patience"]), int(asked["turn"])
            sound = isinstance(gang, str) and isinstance(address, str) and 0 <= number < shards <= _MOST_SHARDS
        except (ValueError, KeyError, TypeError) as problem:
            raise flight.FlightServerError("this is not a call of a gang") from problem
        if action.type != "meet" or not sound:
            raise flight.FlightServerError("this is not a call of a gang")
        with self._changed:
            meeting = self._meetings.setdefault(gang, _Meeting(shards))
            if meeting.shards != shards:
                raise flight.FlightServerError(f"this gang has {meeting.shards} shards")
            meeting.seat(number, turn, address)
            if meeting.is_full:
                del self._meetings[gang]  # a shard that calls now is of a later try
            self._changed.notify_all()
            self._wait(meeting, number, turn, patience, context)
            if not (meeting.is_full and meeting.has(number, turn)):
                come = len(meeting.seats)
                meeting.leave(number, turn)
                if not meeting.seats:
                    self._meetings.pop(gang, None)
                raise flight.FlightTimedOutError(f"{come} of {shards} shards have arrived")
            addresses = [meeting.seats[shard][1] for shard in range(shards)]
        yield json.dumps(addresses).encode()

    def _wait(self, meeting: _Meeting, number: int, turn: int, patience: float, context: Any) -> None:
        """Until all shards have come, or waiting on is of no use."""
        ends = time.monotonic() + patience
        while not meeting.is_full and meeting.has(number, turn) and time.monotonic() < ends:
            self._changed.wait(_GLANCE)
            if self._closed or context.is_cancelled():
                return

    def waiting(self, gang: str) -> int:
        """How many shards of a gang wait for the others."""
        with self._changed:
            return len(self._meetings[gang].seats) if gang in self._meetings else 0

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        super().close()


class _Meeting:
    """Who has come so far: per shard its turn and its address."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.seats: dict[int, tuple[int, str]] = {}

    @property
    def is_full(self) -> bool:
        return len(self.seats) == self.shards

    def has(self, number: int, turn: int) -> bool:
        return number in self.seats and self.seats[number][0] == turn

    def seat(self, number: int, turn: int, address: str) -> None:
        if any(turn + self.shards <= other for other, _ in self.seats.values()):
            raise flight.FlightServerError("this gang is being tried again")
        self.seats = {shard: seat for shard, seat in self.seats.items() if seat[0] + self.shards > turn}
        self.seats[number] = turn, address

    def leave(self, number: int, turn: int) -> None:
        if self.has(number, turn):
            del self.seats[number]


def meet(
    rendezvous: str,
    token: str,
    gang: str,
    number: int,
    shards: int,
    address: str,
    *,
    tls: Certificate | None = None,
    turn: int = 0,
    patience: float = _PATIENCE,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[str]:
    """The addresses of all shards of a gang, once all have called."""
    asked = {
        "gang": gang, "number": number, "shards": shards, "address": address, "turn": turn, "patience": patience,
    }  # fmt: skip
    answer: list[list[str] | flight.FlightError] = []

    def ask() -> None:
        try:
            with connect(rendezvous, tls) as client:
                (found,) = client.do_action(flight.Action("meet", json.dumps(asked).encode()), with_token(token))
                answer.append(json.loads(found.body.to_pybytes()))
        except flight.FlightError as problem:
            answer.append(problem)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    while asking.is_alive():
        asking.join(_GLANCE)
        if cancelled():
            raise KeyboardInterrupt
    if isinstance(answer[0], Exception):
        raise ExchangeError(f"shard {number} did not meet the others at {rendezvous}: {answer[0]}") from answer[0]
    return answer[0]
