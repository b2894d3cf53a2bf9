"""Where the shards of a gang learn each other's addresses: one small server beside whoever started them.

A gang has a name, which a second attempt does not share. A shard calls with its number and its address, and is
answered when all have called, or when its patience is at an end.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.flight as flight

from headwater.core.errors import ExchangeError
from headwater.exchange.doorkeeper import Server, new_token, with_token

_PATIENCE = 120.0
_GLANCE = 0.2  # seconds between two looks at whether the caller has been cancelled
_MOST_SHARDS = 1 << 16


class Rendezvous(Server):
    def __init__(self, host: str = "127.0.0.1", token: str | None = None) -> None:
        self.token = token or new_token()
        self._gangs: dict[str, dict[int, str]] = {}
        self._changed = threading.Condition()
        self._closed = False
        super().__init__(host, self.token)

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        try:
            asked = json.loads(action.body.to_pybytes())
            gang, number, shards, address = asked["gang"], asked["number"], asked["shards"], asked["address"]
            patience = float(asked["patience"])
            sound = isinstance(gang, str) and isinstance(address, str) and 0 <= number < shards <= _MOST_SHARDS
        except (ValueError, KeyError, TypeError) as problem:
            raise flight.FlightServerError("this is no call of a gang") from problem
        if action.type != "meet" or not sound:
            raise flight.FlightServerError("this is no call of a gang")
        with self._changed:
            peers = self._gangs.setdefault(gang, {})
            peers[number] = address
            self._changed.notify_all()
            self._changed.wait_for(lambda: len(peers) == shards or self._closed or context.is_cancelled(), patience)
            if len(peers) < shards:
                raise flight.FlightTimedOutError(f"{len(peers)} of {shards} shards have come")
            yield json.dumps([peers[one] for one in range(shards)]).encode()

    def forget(self, gang: str) -> None:
        """A gang has done its work."""
        with self._changed:
            self._gangs.pop(gang, None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        super().close()


def meet(
    rendezvous: str,
    token: str,
    gang: str,
    number: int,
    shards: int,
    address: str,
    *,
    patience: float = _PATIENCE,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[str]:
    """The addresses of all shards of a gang, once all have told theirs."""
    asked = {"gang": gang, "number": number, "shards": shards, "address": address, "patience": patience}
    answer: list[list[str] | flight.FlightError] = []

    def ask() -> None:
        try:
            with flight.connect(f"grpc://{rendezvous}") as client:
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
