"""What happens: changes as server-sent events, the last transactions, the profile, health, Prometheus metrics.

A stream of changes has no queue: it reads the journal from where it stands. What happened since its last event, a tenth
of a second ago, is one event with the net changes; where more happened than an event may hold, the event says how much,
and a reader loads the view again. So a slow reader costs no memory, and fifty pages cost little more than one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from headwater import __version__
from headwater.database import Database
from headwater.serve.http.answering import Refused, ask, endpoint, finished, live_of, number, reply
from headwater.serve.http.encoding import as_text, change_of, plain
from headwater.serve.live import Entry, Live, net_change

TICK = 0.1
"""Seconds between two events of a stream, at least."""
_MERGED = 50  # transactions of one event
_ROWS = 200  # rows of one event, each way, of each view
_STREAMS = 200
_ALIVE = 15.0


class Bell:
    """Rings in the event loop after each transaction, for all streams."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._waiting = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._end = live.listen(self._heard)
        self.streams = 0
        self.stopping = False
        self._said: tuple[tuple[Any, ...], str] | None = None

    def _heard(self) -> None:
        self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        self._waiting.set()
        self._waiting = asyncio.Event()

    def stop(self) -> None:
        """End all streams."""
        self.stopping = True
        self._heard()

    async def wait(self) -> None:
        """Until something happens, or it is time for a sign of life."""
        try:
            await asyncio.wait_for(self._waiting.wait(), _ALIVE)
        except TimeoutError:
            return

    async def event(self, cursor: int, last: int, views: tuple[str, ...], every: bool) -> str:
        """What happened behind `cursor` up to `last`, as JSON; streams that ask for the same share the answer."""
        key = (cursor, last, views, every)
        if self._said is None or self._said[0] != key:
            found = await finished(self._live.ask(lambda db: _event(self._live, db, *key)))
            self._said = key, as_text(found)
        return self._said[1]


def _event(live: Live, db: Database, cursor: int, last: int, views: tuple[str, ...], every: bool) -> dict[str, Any]:
    entries = [entry for entry in live.journal.since(cursor) if entry.number <= last]
    merged = entries if len(entries) == last - cursor and len(entries) <= _MERGED else []
    found: dict[str, Any] = {}
    for name in views or live.shown:
        change = net_change(merged, name) if merged else None
        if change is None:
            found[name] = None  # not known: load it again
        elif change:
            found[name] = change_of(change, 10_000 if every else _ROWS)
    return {
        "since": cursor,
        "until": last,
        "titles": [entry.title for entry in entries[-5:]],
        "seconds": sum(entry.seconds for entry in entries),
        "views": found,
        "now": plain(db.now),
    }


@endpoint
async def changes(request: Request) -> Response:
    """Server-sent events; `after` or Last-Event-ID says where to go on, `every` asks for each transaction by itself."""
    live, bell = live_of(request), request.app.state.bell
    if bell.streams >= _STREAMS:
        raise Refused(503, f"{_STREAMS} streams are open already")
    known = await ask(request, lambda _: live.relations)
    views = tuple(dict.fromkeys(request.query_params.getlist("view")))
    for name in views:
        if known.get(name, "there is no relation of this name") is not None:
            raise Refused(404, f"`{name}`: {known.get(name, 'there is no relation of this name')}")
    resume = request.headers.get("last-event-id", "")
    after = int(resume) if resume.isdecimal() and len(resume) < 16 else number(request, "after", -1, 0, 10**15)
    cursor = after if 0 <= after <= live.journal.last else live.journal.last
    every = number(request, "every", 0, 0, 1) == 1

    async def stream() -> AsyncIterator[str]:
        nonlocal cursor
        bell.streams += 1
        try:
            yield _line("hello", cursor, as_text({"transaction": cursor, "started": live.started}))
            while not bell.stopping:
                last = live.journal.last
                if last == cursor:
                    await bell.wait()
                    if live.journal.last == cursor:
                        yield ": alive\n\n"
                    continue
                if every and cursor + 1 >= live.journal.first:
                    last = cursor + 1
                yield _line("changes", last, await bell.event(cursor, last, views, every))
                cursor = last
                if not every:  # all streams look at the same moments, and so share what they see
                    await asyncio.sleep(TICK - time.monotonic() % TICK)
        finally:
            bell.streams -= 1

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _line(event: str, number: int, data: str) -> str:
    return f"event: {event}\nid: {number}\ndata: {data}\n\n"


@endpoint
async def transactions(request: Request) -> Response:
    live = live_of(request)
    most = number(request, "limit", 50, 1, 500)

    def question(db: Database) -> dict[str, Any]:
        entries, shown = live.journal.since(0)[-most:], live.shown
        listed = [_entry(entry, shown) for entry in reversed(entries)]
        return {
            "last": live.journal.last,
            "first": live.journal.first,
            "reach": live.journal.reach,
            "now": plain(db.now),
            "nbytes": db.nbytes,
            "totals": live.totals,
            "transactions": listed,
        }

    return reply(await ask(request, question))


def _entry(entry: Entry, relations: Sequence[str]) -> dict[str, Any]:
    found = {}
    for name in relations:
        change = entry.change(name)
        if change:
            found[name] = {"inserted": change.inserted.num_rows, "deleted": change.deleted.num_rows}
    return {
        "number": entry.number,
        "at": entry.at,
        "title": entry.title,
        "seconds": entry.seconds,
        "rounds": entry.rounds,
        "shipped": entry.shipped,
        "given": entry.given,
        "touched": entry.touched,
        "set_aside": entry.set_aside,
        "late": entry.late,
        "reasons": list(entry.rejected),
        "nbytes": entry.nbytes,
        "whole": entry.whole,
        "views": found,
    }


@endpoint
async def profile(request: Request) -> Response:
    def question(db: Database) -> list[dict[str, Any]]:
        works = db.profile().rules[:200]
        names = ("rule", "way", "runs", "started", "read", "made", "kept", "expected", "seconds")
        return [{name: plain(getattr(work, name)) for name in names} for work in works]

    return reply({"rules": await ask(request, question)})


@endpoint
async def health(request: Request) -> Response:
    live = live_of(request)
    await ask(request, lambda db: db.now)
    return reply(
        {
            "status": "ok",
            "version": __version__,
            "name": live.name,
            "writable": live.writable,
            "documents": live.documents is not None,
            "started": live.started,
            "transaction": live.journal.last,
            "problem": live.problem,
        }
    )


@endpoint
async def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    live = live_of(request)

    def question(db: Database) -> list[str]:
        rows = [f'headwater_rows{{relation="{_label(name)}"}} {db.count(name)}' for name in live.shown]
        totals = live.totals
        return [
            *_metric("rows", "gauge", "Rows of a relation.", rows),
            *_one("memory_bytes", "gauge", "Bytes of all stored rows, indexes and witnesses.", db.nbytes),
            *_one("transactions_total", "counter", "Transactions since the start.", live.journal.last),
            *_one("transaction_seconds_total", "counter", "Seconds in transactions.", totals["seconds"]),
            *_one("rows_given_total", "counter", "Rows that came in.", totals["given"]),
            *_one("rows_set_aside_total", "counter", "Rows that did not fit.", totals["set_aside"]),
            *_one("rows_late_total", "counter", "Rows that came too late.", totals["late"]),
            *_one("streams", "gauge", "Readers that follow changes.", request.app.state.bell.streams),
        ]

    text = "\n".join([*await ask(request, question), ""])
    return Response(text, media_type="text/plain; version=0.0.4")


def _metric(name: str, kind: str, text: str, samples: list[str]) -> list[str]:
    return [f"# HELP headwater_{name} {text}", f"# TYPE headwater_{name} {kind}", *samples]


def _one(name: str, kind: str, text: str, value: float) -> list[str]:
    return _metric(name, kind, text, [f"headwater_{name} {value}"])


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
