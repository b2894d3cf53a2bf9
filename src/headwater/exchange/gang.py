"""Shards in several processes that exchange their rounds over Arrow Flight.

    with Gang(number, shards, token, host) as gang:
        gang.join(meet(rendezvous, token, name, number, shards, gang.address))
        outcome = drive(member.transaction(inserts, deletes), gang.swap)

Every shard holds one stream to each other for as long as the gang lasts, and sends something on each in every round, be
it empty: so all know the most that any shard reported, without a coordinator, and a peer that dies is noticed
at once, because its streams break. Streams are read as fast as rows come, by threads of their own, so two shards that
send each other much at the same time do not wait for each other. No shard is ever more than one round ahead.

Any failure, here or at a peer, is an ExchangeError (or what this shard itself raised) at every shard; its streams are
cut, nothing listens any more, and the transactions are undone.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

from headwater.core.errors import ExchangeError, StateError
from headwater.exchange.flight_server import Certificate, Server, connect, with_token
from headwater.exchange.wire import Activity, Incoming, Outgoing, Parcel, read_incoming, write_incoming

_PART = 16 << 20  # bytes of a round that are sent at a time
_SCHEMA = pa.schema([("part", pa.large_binary())])
_ABOUT = struct.Struct("<QB")  # the round, and whether this is its last part
_GLANCE = 0.1
_GRACE = 2.0
_END = (1 << 64) - 1  # the round that no shard reaches: a stream that ends as it should


class Gang:
    """One shard of a gang, with its streams to and from all others."""

    def __init__(
        self,
        number: int,
        shards: int,
        token: str,
        host: str = "127.0.0.1",
        *,
        tls: Certificate | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """A shard that listens for its peers; `cancelled` is asked while it waits."""
        self.number = number
        self.shards = shards
        self._token = token
        self._tls = tls
        self._cancelled = cancelled
        self._post = _Post(number, shards)
        self._listener: _Listener | None = _Listener(host, token, tls, self._post)
        self.address = self._listener.address
        self._clients: list[flight.FlightClient] = []
        self._writers: dict[int, Any] = {}
        self._round = 0
        self._watchers: list[threading.Thread] = []
        self._closing = False

    def join(self, addresses: Sequence[str]) -> None:
        """Open a stream to every peer; addresses are by the peers' numbers."""
        about = flight.FlightDescriptor.for_command(json.dumps({"from": self.number}).encode())
        for peer, address in enumerate(addresses):
            if peer == self.number:
                continue
            try:
                client = connect(address, self._tls)
                self._clients.append(client)
                writer, answers = client.do_put(about, _SCHEMA, with_token(self._token))
                self._writers[peer] = writer
                if answers.read() is None:
                    del self._writers[peer]
                    writer.close()  # raises the peer's reason
                    raise OSError("it has closed its end")
            except (flight.FlightError, pa.ArrowException, OSError) as problem:
                raise ExchangeError(f"error[HW904]: shard {peer} cannot be joined: {_first_line(problem)}") from problem
            watcher = threading.Thread(target=self._watch, args=(peer, answers), daemon=True)
            watcher.start()
            self._watchers.append(watcher)

    def _watch(self, peer: int, answers: Any) -> None:
        """A peer answers once, when it takes the stream; whatever comes after that is its end."""
        try:
            answers.read()
            problem: BaseException = ConnectionError("it has closed its end")
        except (flight.FlightError, pa.ArrowException, OSError) as broken:
            problem = broken
        if not self._closing:
            self._post.fail(_lost(peer, problem))

    def swap(self, outgoing: Outgoing) -> Incoming:
        """Send a round and wait for those of all peers."""
        for peer, writer in self._writers.items():
            parcels = [(self.number, parcel) for parcel in outgoing.parcels.get(peer, ())]
            content = write_incoming(Incoming(parcels, outgoing.activity))
            try:
                _send(writer, self._round, content)
            except (flight.FlightError, pa.ArrowException, OSError) as problem:
                raise self._post.failure() or _lost(peer, problem) from problem
        received = self._post.round(self._round, self._cancelled)
        self._round += 1
        parcels_in: list[tuple[int, Parcel]] = []
        activity = outgoing.activity
        for peer in sorted(received):
            incoming = _checked(peer, received[peer])
            parcels_in += incoming.parcels
            activity = max(activity, incoming.activity)
        return Incoming(parcels_in, Activity(activity))

    def close(self, *, failed: bool = False) -> None:
        """Cut all streams and listen no more; unless it `failed`, the peers see an orderly end."""
        self._closing = True
        for writer in self._writers.values():
            _end(writer, failed)
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for watcher in self._watchers:
            watcher.join(_GRACE)  # a peer that is busy elsewhere ends its side when it notices
        self._writers.clear()
        self._clients.clear()

    def __enter__(self) -> Gang:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(failed=kind is not None)


class _Post:
    """Rounds that have arrived and are not read yet, and what went wrong."""

    def __init__(self, number: int, shards: int) -> None:
        self._peers = frozenset(range(shards)) - {number}
        self._arrived: dict[tuple[int, int], pa.Buffer] = {}
        self._connected: set[int] = set()
        self._failure: ExchangeError | None = None
        self._changed = threading.Condition()

    def connect(self, peer: Any) -> int:
        with self._changed:
            if peer not in self._peers or peer in self._connected:
                raise flight.FlightServerError(f"shard {peer!r} is not expected")
            self._connected.add(peer)
        return int(peer)

    def put(self, peer: int, number: int, content: pa.Buffer) -> None:
        with self._changed:
            self._arrived[number, peer] = content
            self._changed.notify_all()

    def fail(self, failure: ExchangeError) -> None:
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    def failure(self) -> ExchangeError | None:
        return self._failure

    def round(self, number: int, cancelled: Callable[[], bool]) -> dict[int, pa.Buffer]:
        wanted = [(number, peer) for peer in self._peers]
        with self._changed:
            while not all(key in self._arrived for key in wanted):
                if self._failure is not None:
                    raise self._failure
                self._changed.wait(_GLANCE)
                if cancelled():
                    raise KeyboardInterrupt
            return {peer: self._arrived.pop((number, peer)) for number, peer in wanted}


class _Listener(Server):
    def __init__(self, host: str, token: str, tls: Certificate | None, post: _Post) -> None:
        self._post = post
        super().__init__(host, token, tls)

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        try:
            peer = self._post.connect(json.loads(descriptor.command)["from"])
        except (ValueError, KeyError, TypeError) as problem:
            raise flight.FlightServerError("this is not a stream of a gang") from problem
        parts: list[pa.Buffer] = []
        try:
            writer.write(pa.py_buffer(b"welcome"))
            while True:
                chunk = reader.read_chunk()
                number, last = _ABOUT.unpack(chunk.app_metadata.to_pybytes())
                if number == _END:
                    return
                parts.append(chunk.data.column(0)[0].as_buffer())
                if last:
                    self._post.put(peer, number, _joined(parts))
                    parts = []
        except (StopIteration, flight.FlightError, pa.ArrowException, OSError, struct.error, LookupError) as problem:
            self._post.fail(_lost(peer, problem))


def _end(writer: Any, failed: bool) -> None:
    try:
        if not failed:
            _send(writer, _END, pa.py_buffer(b""))
        writer.done_writing()
    except (flight.FlightError, pa.ArrowException, OSError):
        pass  # that peer is gone already


def _send(writer: Any, number: int, content: pa.Buffer) -> None:
    starts = range(0, max(1, content.size), _PART)
    for start in starts:
        part = content.slice(start, min(_PART, content.size - start))
        ends = pa.py_buffer(np.array([0, part.size], dtype=np.int64))
        column = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, part])
        batch = pa.RecordBatch.from_arrays([column], schema=_SCHEMA)
        writer.write_with_metadata(batch, pa.py_buffer(_ABOUT.pack(number, start == starts[-1])))


def _joined(parts: list[pa.Buffer]) -> pa.Buffer:
    return parts[0] if len(parts) == 1 else pa.py_buffer(b"".join(part.to_pybytes() for part in parts))


def _checked(peer: int, content: pa.Buffer) -> Incoming:
    incoming = read_incoming(content)
    if any(sender != peer for sender, _ in incoming.parcels):
        raise StateError(f"shard {peer} sent rows in another shard's name")
    return incoming


def _lost(peer: int, problem: BaseException) -> ExchangeError:
    return ExchangeError(f"error[HW904]: shard {peer} was lost in the middle of a transaction: {_first_line(problem)}")


def _first_line(problem: BaseException) -> str:
    return str(problem).splitlines()[0] if str(problem) else "its stream ended"
