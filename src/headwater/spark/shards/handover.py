"""Batches handed over between the workers of a machine: the worker that holds a shard in memory does its batches.

Spark gives a task to any free Python worker. A worker without the shard would open it from the checkpoint and replay
what it missed, and after a while every worker would hold every shard. Instead it asks whether another worker holds the
shard in the state that the batch starts from, hands the batch over, and returns that worker's result. Reading a view
works the same way. Nothing depends on it: if no worker has the shard, is free, or survives the call, the worker does it
itself, and what the other one may have written belongs to an attempt that no manifest names. Batches of shards that
exchange rows are not handed over: they would have to run side by side.

A worker listens, for each shard that it holds, on a socket that has a name but no file (only Linux has these; elsewhere
nothing is handed over). It disappears with the process. Before a message is read, both ends check that the other is a
process of the same user and knows the query's secret (see `local_sockets`). Messages are JSON and Arrow, and nothing in
them is executed: the program and the user's functions came from Spark, with an earlier task. A worker that is asked for
a batch and cannot help drops the shard: the one that asked will have it in a newer state.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Protocol

import headwater
from headwater.spark.session import local_sockets
from headwater.spark.session.local_sockets import Line
from headwater.spark.session.worker import TURN
from headwater.spark.state import shard_cache
from headwater.spark.state.checkpoint import Assignment

_PATIENCE = 1.0  # seconds: opening a shard takes about as long as waiting for a busy worker
_YES, _NO = b"yes", b"no"


class ShardCall(Protocol):
    """Work on one shard in the state that an assignment starts from; called with a function that says to stop."""

    changes: ClassVar[bool]  # whether it changes the state of the shard

    @property
    def assignment(self) -> Assignment: ...

    @property
    def shard(self) -> int: ...

    @property
    def kind(self) -> str:
        """A worker that has done a call can do others of the same kind."""
        ...

    def __call__(self, cancelled: Callable[[], bool]) -> bytes: ...

    def to_message(self) -> bytes:
        """What a worker needs that has done a call for this shard before."""
        ...

    def understands(self, kind: str) -> bool:
        """Whether a worker that has done this call can do one of that kind."""
        ...

    def like(self, kind: str, message: bytes) -> ShardCall:
        """The call of a message, of a kind that is understood."""
        ...


def run(call: ShardCall) -> bytes:
    """The result of a call, by the worker that is best placed."""
    if not shard_cache.SHARD_CACHE.has(call.assignment, call.shard):
        result = _handed_over(call)
        if result is not None:
            return result
    with TURN:
        result = call(lambda: False)
    _offer(call)
    return result


def run_here(call: ShardCall) -> bytes:
    """The result of a call that only reads: by a worker that holds the shard, else by this process."""
    result = None if shard_cache.SHARD_CACHE.has(call.assignment, call.shard) else _handed_over(call)
    if result is not None:
        return result
    with TURN:
        return call(lambda: False)


def _handed_over(call: ShardCall) -> bytes | None:
    """The result of another worker; None: no other worker could do it."""
    files = call.assignment.parts[call.shard].files
    asked = {"files": files, "changes": call.changes, "kind": call.kind}
    try:
        with local_sockets.call(_name(call), call.assignment.secret, 2 * _PATIENCE) as line:
            line.send(json.dumps(asked).encode())
            if line.receive(2 * _PATIENCE) != _YES:
                return None
            line.send(call.to_message())
            return line.receive()
    except (OSError, EOFError):
        return None  # no worker listens, or it has stopped


_known: dict[str, ShardCall] = {}  # by the name that this worker listens under: the last call that it got from Spark


def _offer(call: ShardCall) -> None:
    """Do further calls for a shard, as long as this worker holds it."""
    name = _name(call)
    if sys.platform != "linux" or not shard_cache.SHARD_CACHE.keeps(call.assignment, call.shard):
        return
    if name in _known:
        if call.changes or not _known[name].changes:  # a worker that has done a batch can read, too
            _known[name] = call
        return
    try:
        listening = local_sockets.listener(name)
    except OSError:
        return  # another worker has an older state of it, and drops it when it is next asked
    _known[name] = call
    threading.Thread(target=_listen, args=(listening, name), daemon=True).start()


def _listen(listening: socket.socket, name: str) -> None:
    with listening:
        kept, secret = True, _known[name].assignment.secret
        while kept:
            with suppress(OSError, EOFError), local_sockets.accepted(listening, secret, _PATIENCE) as line:
                kept = _answer(line, _known[name])
    del _known[name]


def _answer(line: Line, known: ShardCall) -> bool:
    """Do a call for another worker, if possible; whether this worker still holds the shard."""
    asked = json.loads(line.receive(_PATIENCE))
    assignment, shard = known.assignment, known.shard
    can = known.understands(asked["kind"]) and shard_cache.SHARD_CACHE.is_at(assignment, shard, tuple(asked["files"]))
    if not can or not TURN.acquire(timeout=_PATIENCE):
        if asked["changes"]:
            shard_cache.SHARD_CACHE.drop(assignment, shard)
        line.send(_NO)
        return shard_cache.SHARD_CACHE.keeps(assignment, shard)
    try:
        line.send(_YES)
        call = known.like(asked["kind"], line.receive())
        # Nothing more comes on this connection: if there is something to read, the other end is gone.
        result = call(line.has_more)
    except BaseException:  # the other worker meets the same error when it does the batch itself
        shard_cache.SHARD_CACHE.drop(assignment, shard)
        return False
    finally:
        TURN.release()
    line.send(result)
    return shard_cache.SHARD_CACHE.keeps(assignment, shard)


def _name(call: ShardCall) -> str:
    """The socket of the worker that holds a shard; other versions and other drivers have other names."""
    where = call.assignment.folder.path
    about = (os.getuid(), sys.version, headwater.__file__, headwater.__version__, where, call.shard)
    return "\0headwater-" + hmac.digest(call.assignment.secret, repr(about).encode(), "sha256").hex()
