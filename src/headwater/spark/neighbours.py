"""Workers of one machine that do each other's shards: whoever keeps a shard warm does its batches.

Spark gives a task to any Python worker that is free. One that is given a batch of a shard which it does not have would
open it from the checkpoint and replay what it missed, and after a while every worker would keep every shard. Instead it
asks whether another worker has the shard in the state that the batch starts from, hands the batch over, and tells its
result as its own. Reading a view goes the same way. Nothing rests on it: where nobody has the shard, is free, or lives
to the end of the errand, the worker does it itself, and what the other one may have written is of an attempt that no
manifest names. Batches of shards that exchange rows are not handed over: they would have to run side by side.

A worker listens for each shard that it keeps on a socket which has a name but no file (Linux has these; elsewhere
everybody works alone). It is gone with the process. Both ends make sure that the other is a process of the same user
before a byte is read. A worker that is asked for a batch of a shard and cannot help gives the shard up: the one that
asked will have it in a newer state.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from typing import ClassVar, Protocol

from pyspark import cloudpickle

import headwater
from headwater.spark import shelf
from headwater.spark.checkpoint import Assignment
from headwater.spark.worker import TURN

_PATIENCE = 1.0  # seconds: opening a shard anew takes about as long as waiting for a busy neighbour
_YES, _NO = b"yes", b"no"


class Errand(Protocol):
    """Something to do with one shard in the state that an assignment starts from, with all that is needed for it.

    It can be pickled, and called with what tells whether it is still wanted.
    """

    changes: ClassVar[bool]  # afterwards the shard is in another state

    @property
    def assignment(self) -> Assignment: ...

    @property
    def shard(self) -> int: ...

    def __call__(self, cancelled: Callable[[], bool]) -> bytes: ...


def run(errand: Errand) -> bytes:
    """What an errand tells, done by whoever is best placed."""
    if not shelf.SHELF.has(errand.assignment, errand.shard):
        told = _handed_over(errand)
        if told is not None:
            return told
    with TURN:
        told = errand(lambda: False)
    _offer(errand.assignment, errand.shard)
    return told


def _handed_over(errand: Errand) -> bytes | None:
    """What a neighbour tells of the errand; None: no neighbour could do it."""
    files = errand.assignment.parts[errand.shard].files
    try:
        with _called(_name(errand.assignment, errand.shard)) as line:
            if not _is_own(line):
                return None
            line.send_bytes(json.dumps({"files": files, "changes": errand.changes}).encode())
            if not line.poll(2 * _PATIENCE) or line.recv_bytes() != _YES:
                return None
            line.send_bytes(cloudpickle.dumps(errand))
            return line.recv_bytes()
    except (OSError, EOFError):
        return None  # nobody listens, or nobody does any more


def _called(name: str) -> Connection:
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        caller.settimeout(_PATIENCE)
        caller.connect(name)
        caller.setblocking(True)
        return Connection(caller.detach())
    finally:
        caller.close()


_listening: set[str] = set()


def _offer(assignment: Assignment, shard: int) -> None:
    """Do what comes for a shard from now on, as long as this worker keeps it."""
    name = _name(assignment, shard)
    if sys.platform != "linux" or name in _listening or not shelf.SHELF.keeps(assignment, shard):
        return
    try:
        listener = Listener(name, "AF_UNIX", backlog=8)
    except OSError:
        return  # somebody else has an older state of it, and gives it up when next asked
    _listening.add(name)
    threading.Thread(target=_listen, args=(listener, name, assignment, shard), daemon=True).start()


def _listen(listener: Listener, name: str, assignment: Assignment, shard: int) -> None:
    with listener:
        kept = True
        while kept:
            with suppress(OSError, EOFError), listener.accept() as line:
                kept = not _is_own(line) or _answer(line, assignment, shard)
    _listening.discard(name)


def _answer(line: Connection, assignment: Assignment, shard: int) -> bool:
    """Do an errand for a neighbour, if that is possible; whether this worker goes on keeping the shard."""
    asked = json.loads(line.recv_bytes())
    if not shelf.SHELF.is_at(assignment, shard, tuple(asked["files"])) or not TURN.acquire(timeout=_PATIENCE):
        if asked["changes"]:
            shelf.SHELF.drop(assignment, shard)
        line.send_bytes(_NO)
        return shelf.SHELF.keeps(assignment, shard)
    try:
        line.send_bytes(_YES)
        errand = pickle.loads(line.recv_bytes())
        # Nothing more comes on this line: if there is something to read, it is that the other end is gone.
        told = errand(lambda: line.poll(0))
    except BaseException:  # whatever it is, the neighbour finds it, too, when it does the batch itself
        shelf.SHELF.drop(assignment, shard)
        return False
    finally:
        TURN.release()
    line.send_bytes(told)
    return shelf.SHELF.keeps(assignment, shard)


def _is_own(line: Connection) -> bool:
    """Whether the other end is a process of this user."""
    with socket.socket(fileno=os.dup(line.fileno())) as known:
        credentials = known.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.getuid())


def _name(assignment: Assignment, shard: int) -> str:
    """Where the worker listens that keeps a shard; workers of another version do not know each other."""
    about = (os.getuid(), sys.version, headwater.__file__, headwater.__version__, assignment.folder.path, shard)
    return "\0headwater-" + hashlib.sha256(repr(about).encode()).hexdigest()
