"""Connections between the Python workers of one query on one machine: Linux sockets that have a name and no file.

Both ends prove that they know the query's secret before either reads a message of the other, and every message has a
code that needs the secret (HMAC). Workers get the secret with their tasks, so no other process has it, not even one of
the same user. A peer that does not prove it in time is disconnected.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

_NONCE = 32
_CODE = hashlib.sha256().digest_size


class Refused(OSError):
    """The other end is no worker of this query, or a message was changed on the way."""


class Line:
    """A connection to a worker that knows the secret; messages are whole, and from it."""

    def __init__(self, connection: Connection, key: bytes, mine: bytes, theirs: bytes) -> None:
        self._connection = connection
        self._key = key
        self._mine, self._theirs = mine, theirs
        self._sent = self._received = 0

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, message: bytes) -> None:
        self._connection.send_bytes(self._code(self._mine, self._sent, message) + message)
        self._sent += 1

    def receive(self, patience: float | None = None) -> bytes:
        """The next message; TimeoutError if it does not begin to arrive in so many seconds."""
        if not self._connection.poll(patience):
            raise TimeoutError
        got = self._connection.recv_bytes()
        code, message = got[:_CODE], got[_CODE:]
        if not hmac.compare_digest(code, self._code(self._theirs, self._received, message)):
            raise Refused("a message without the code of this line")
        self._received += 1
        return message

    def has_more(self) -> bool:
        """Whether there is something to read, or the other end is gone."""
        return self._connection.poll(0)

    def _code(self, who: bytes, number: int, message: bytes) -> bytes:
        made = hmac.new(self._key, who + struct.pack("<Q", number), hashlib.sha256)
        made.update(message)
        return made.digest()


def call(name: str, secret: bytes, patience: float) -> Line:
    """A connection to the worker that listens at a name; OSError if there is none, or it does not know the secret."""
    with _closed_on_error(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as caller:
        caller.settimeout(patience)
        caller.connect(name)
        return _greeted(caller, secret, b"caller", b"keeper", patience)


def listener(name: str) -> socket.socket:
    """A socket that listens at a name; OSError if a process does so already."""
    with _closed_on_error(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as made:
        made.bind(name)
        made.listen(8)
        return made


def accepted(listening: socket.socket, secret: bytes, patience: float) -> Line:
    """The next connection; OSError if the caller does not know the secret."""
    with _closed_on_error(listening.accept()[0]) as answering:
        return _greeted(answering, secret, b"keeper", b"caller", patience)


@contextmanager
def _closed_on_error(made: socket.socket) -> Iterator[socket.socket]:
    try:
        yield made
    except BaseException:
        made.close()
        raise


def _greeted(line: socket.socket, secret: bytes, mine: bytes, theirs: bytes, patience: float) -> Line:
    """Both ends draw a number, and each proves that it knows the secret by a code of both numbers."""
    if not _is_own(line):
        raise Refused("a process of another user")
    end = time.monotonic() + patience
    drawn = secrets.token_bytes(_NONCE)
    line.settimeout(patience)
    line.sendall(drawn)
    got = _exactly(line, _NONCE, end)
    numbers = b"".join(sorted((mine + drawn, theirs + got)))
    line.sendall(_digest(secret, mine + numbers))
    if not hmac.compare_digest(_exactly(line, _CODE, end), _digest(secret, theirs + numbers)):
        raise Refused("it does not know the secret of this query")
    line.setblocking(True)
    return Line(Connection(line.detach()), _digest(secret, b"line" + numbers), mine, theirs)


def _digest(secret: bytes, text: bytes) -> bytes:
    return hmac.new(secret, text, hashlib.sha256).digest()


def _exactly(line: socket.socket, size: int, end: float) -> bytes:
    got = b""
    while len(got) < size:
        line.settimeout(max(0.001, end - time.monotonic()))
        part = line.recv(size - len(got))
        if not part:
            raise Refused("it hung up")
        if time.monotonic() > end:
            raise TimeoutError
        got += part
    return got


def _is_own(line: socket.socket) -> bool:
    """Whether the other end is a process of this user."""
    with suppress(OSError):
        credentials = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, user, _ = struct.unpack("3i", credentials)
        return bool(user == os.getuid())
    return False


def message_of(about: Mapping[str, Any], rows: Sequence[pa.RecordBatch] = ()) -> bytes:
    """Plain values and rows as one message: a line of JSON, then an Arrow stream, if there are rows."""
    sink = pa.BufferOutputStream()
    sink.write(json.dumps(about).encode() + b"\n")
    if rows:
        with pa.ipc.new_stream(sink, rows[0].schema) as stream:
            for batch in rows:
                stream.write_batch(batch)
    return bytes(sink.getvalue())


def read_message(message: bytes) -> tuple[dict[str, Any], list[pa.RecordBatch]]:
    """The values and rows of a message."""
    head, _, rest = message.partition(b"\n")
    return json.loads(head), list(pa.ipc.open_stream(rest)) if rest else []
