"""Workers of one machine that do each other's shards: whoever keeps a shard warm does its batches.

Spark gives a task to any Python worker that is free. One that is given a batch of a shard which it does not have would
open it from the checkpoint and replay what it missed, and after a while every worker would keep every shard. Instead it
asks whether another worker has the shard in the state that the batch starts from, hands the batch over, and tells its
result as its own. Reading a view goes the same way. Nothing rests on it: where nobody has the shard, is free, or lives
to the end of the call, the worker does it itself, and what the other one may have written is of an attempt that no
manifest names. Batches of shards that exchange rows are not handed over: they would have to run side by side.

A worker listens for each shard that it keeps on a socket which has a name but no file (Linux has these; elsewhere
everybody works alone). It is gone with the process. Both ends make sure that the other is a process of the same user,
and that it knows the query's secret, before a message is read (see `lines`). What is sent is JSON and Arrow, and
nothing in it is executed: the program and the user's functions are those that Spark gave the worker, with a task of its
own. A worker that is asked for a batch of a shard and cannot help gives the shard up: the one that asked will have it
in a newer state.
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

_PATIENCE = 1.0  # seconds: opening a shard anew takes about as long as waiting for a busy neighbour
_YES, _NO = b"yes", b"no"


class ShardCall(Protocol):
    """Something to do with one shard in the state that an assignment starts from, with all that is needed for it.

    It is called with what tells whether it is still wanted.
    """

    changes: ClassVar[bool]  # afterwards the shard is in another state

    @property
    def assignment(self) -> Assignment: ...

    @property
    def shard(self) -> int: ...

    @property
    def kind(self) -> str:
        """What must be the same for a worker that has done an call to do another: what both do, and by what."""
        ...

    def __call__(self, cancelled: Callable[[], bool]) -> bytes: ...

    def to_message(self) -> bytes:
        """What a worker is told that has done an call for this shard before."""
        ...

    def understands(self, kind: str) -> bool:
        """Whether a worker that has done this call can do one of another kind."""
        ...

    def like(self, kind: str, message: bytes) -> ShardCall:
        """The call that a message tells, of a kind that is understood."""
        ...


def run(call: ShardCall) -> bytes:
    """What an call tells, done by whoever is best placed."""
    if not shard_cache.SHARD_CACHE.has(call.assignment, call.shard):
        told = _handed_over(call)
        if told is not None:
            return told
    with TURN:
        told = call(lambda: False)
    _offer(call)
    return told


def _handed_over(call: ShardCall) -> bytes | None:
    """What a neighbour tells of the call; None: no neighbour could do it."""
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
        return None  # nobody listens, or nobody does any more


_known: dict[str, ShardCall] = {}  # by the name that this worker listens under: the last call that it got from Spark


def _offer(call: ShardCall) -> None:
    """Do what comes for a shard from now on, as long as this worker keeps it."""
    name = _name(call)
    if sys.platform != "linux" or not shard_cache.SHARD_CACHE.keeps(call.assignment, call.shard):
        return
    if name in _known:
        if call.changes or not _known[name].changes:  # who has done a batch can read, too
            _known[name] = call
        return
    try:
        listening = local_sockets.listener(name)
    except OSError:
        return  # somebody else has an older state of it, and gives it up when next asked
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
    """Do an call for a neighbour, if that is possible; whether this worker goes on keeping the shard."""
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
        # Nothing more comes on this line: if there is something to read, it is that the other end is gone.
        told = call(line.has_more)
    except BaseException:  # whatever it is, the neighbour finds it, too, when it does the batch itself
        shard_cache.SHARD_CACHE.drop(assignment, shard)
        return False
    finally:
        TURN.release()
    line.send(told)
    return shard_cache.SHARD_CACHE.keeps(assignment, shard)


def _name(call: ShardCall) -> str:
    """Where the worker listens that keeps a shard; workers of another version, or driver, do not know each other."""
    where = call.assignment.folder.path
    about = (os.getuid(), sys.version, headwater.__file__, headwater.__version__, where, call.shard)
    return "\0headwater-" + hmac.digest(call.assignment.secret, repr(about).encode(), "sha256").hex()
