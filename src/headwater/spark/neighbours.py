"""Workers of one machine that do each other's shards: whoever keeps a shard warm does its batches.

Spark gives a task to any Python worker that is free. One that is given a batch of a shard which it does not have would
open it from the checkpoint and replay what it missed, and after a while every worker would keep every shard. Instead it
asks whether another worker has the shard in the state that the batch starts from, hands the batch over, and tells its
result as its own. Reading a view goes the same way. Nothing rests on it: where nobody has the shard, is free, or lives
to the end of the errand, the worker does it itself, and what the other one may have written is of an attempt that no
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
from headwater.spark import lines, shelf
from headwater.spark.checkpoint import Assignment
from headwater.spark.lines import Line
from headwater.spark.worker import TURN

_PATIENCE = 1.0  # seconds: opening a shard anew takes about as long as waiting for a busy neighbour
_YES, _NO = b"yes", b"no"


class Errand(Protocol):
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
        """What must be the same for a worker that has done an errand to do another: what both do, and by what."""
        ...

    def __call__(self, cancelled: Callable[[], bool]) -> bytes: ...

    def to_message(self) -> bytes:
        """What a worker is told that has done an errand for this shard before."""
        ...

    def understands(self, kind: str) -> bool:
        """Whether a worker that has done this errand can do one of another kind."""
        ...

    def like(self, kind: str, message: bytes) -> Errand:
        """The errand that a message tells, of a kind that is understood."""
        ...


def run(errand: Errand) -> bytes:
    """What an errand tells, done by whoever is best placed."""
    if not shelf.SHELF.has(errand.assignment, errand.shard):
        told = _handed_over(errand)
        if told is not None:
            return told
    with TURN:
        told = errand(lambda: False)
    _offer(errand)
    return told


def _handed_over(errand: Errand) -> bytes | None:
    """What a neighbour tells of the errand; None: no neighbour could do it."""
    files = errand.assignment.parts[errand.shard].files
    asked = {"files": files, "changes": errand.changes, "kind": errand.kind}
    try:
        with lines.call(_name(errand), errand.assignment.secret, 2 * _PATIENCE) as line:
            line.send(json.dumps(asked).encode())
            if line.receive(2 * _PATIENCE) != _YES:
                return None
            line.send(errand.to_message())
            return line.receive()
    except (OSError, EOFError):
        return None  # nobody listens, or nobody does any more


_known: dict[str, Errand] = {}  # by the name that this worker listens under: the last errand that it got from Spark


def _offer(errand: Errand) -> None:
    """Do what comes for a shard from now on, as long as this worker keeps it."""
    name = _name(errand)
    if sys.platform != "linux" or not shelf.SHELF.keeps(errand.assignment, errand.shard):
        return
    if name in _known:
        if errand.changes or not _known[name].changes:  # who has done a batch can read, too
            _known[name] = errand
        return
    try:
        listening = lines.listener(name)
    except OSError:
        return  # somebody else has an older state of it, and gives it up when next asked
    _known[name] = errand
    threading.Thread(target=_listen, args=(listening, name), daemon=True).start()


def _listen(listening: socket.socket, name: str) -> None:
    with listening:
        kept, secret = True, _known[name].assignment.secret
        while kept:
            with suppress(OSError, EOFError), lines.accepted(listening, secret, _PATIENCE) as line:
                kept = _answer(line, _known[name])
    del _known[name]


def _answer(line: Line, known: Errand) -> bool:
    """Do an errand for a neighbour, if that is possible; whether this worker goes on keeping the shard."""
    asked = json.loads(line.receive(_PATIENCE))
    assignment, shard = known.assignment, known.shard
    can = known.understands(asked["kind"]) and shelf.SHELF.is_at(assignment, shard, tuple(asked["files"]))
    if not can or not TURN.acquire(timeout=_PATIENCE):
        if asked["changes"]:
            shelf.SHELF.drop(assignment, shard)
        line.send(_NO)
        return shelf.SHELF.keeps(assignment, shard)
    try:
        line.send(_YES)
        errand = known.like(asked["kind"], line.receive())
        # Nothing more comes on this line: if there is something to read, it is that the other end is gone.
        told = errand(line.has_more)
    except BaseException:  # whatever it is, the neighbour finds it, too, when it does the batch itself
        shelf.SHELF.drop(assignment, shard)
        return False
    finally:
        TURN.release()
    line.send(told)
    return shelf.SHELF.keeps(assignment, shard)


def _name(errand: Errand) -> str:
    """Where the worker listens that keeps a shard; workers of another version, or driver, do not know each other."""
    where = errand.assignment.folder.path
    about = (os.getuid(), sys.version, headwater.__file__, headwater.__version__, where, errand.shard)
    return "\0headwater-" + hmac.digest(errand.assignment.secret, repr(about).encode(), "sha256").hex()
