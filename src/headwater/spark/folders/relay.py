"""Files that workers reach through the driver, by Arrow Flight, with a token that only tasks get, and encrypted where
Spark's settings ask for it.

A relay serves the folders that it was given, and nothing outside them: neither by `..` nor over symbolic links. A
file is sent in parts; one whose end does not arrive is a write that failed, for the folder behind the relay. A worker
raises the driver's own error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from headwater.core.errors import StateError
from headwater.exchange import Certificate, Server, connect, new_token, with_token
from headwater.spark.folders.folder import Blocks, Folder

_PART = 4 << 20
_SCHEMA = pa.schema([("part", pa.large_binary())])
_END = b"end"  # comes with the last part
_MOST_WORDS = 4000  # of an error that goes back
_relays: dict[tuple[str, Certificate | None], Relay] = {}  # of this driver, for as long as it runs
_lock = threading.Lock()


def relayed(folder: Folder, host: str, tls: Certificate | None) -> RelayedFolder:
    """The folder that workers get in place of one that only this driver can open."""
    with _lock:
        if (host, tls) not in _relays:
            _relays[host, tls] = Relay(host, tls)
        relay = _relays[host, tls]
    relay.serve(folder)
    return RelayedFolder(folder.path, relay.address, relay.token, tls)


class Relay(Server):
    """The driver's server for folders that only it can open."""

    def __init__(self, host: str = "127.0.0.1", tls: Certificate | None = None) -> None:
        self.token = new_token()
        self._folders: dict[str, Folder] = {}
        super().__init__(host, self.token, tls)

    def serve(self, folder: Folder) -> None:
        self._folders[folder.path] = folder

    def do_get(self, context: Any, ticket: Any) -> Any:
        with _sent_back():
            folder, name = self._asked(ticket.ticket)
            return flight.GeneratorStream(_SCHEMA, _parts(folder, name))

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        with _sent_back():
            folder, name = self._asked(descriptor.command)
            length = folder.write(name, _received(reader))
        writer.write(str(length).encode())

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        asked, _, content = action.body.to_pybytes().partition(b"\n")
        found: object = None
        with _sent_back():
            folder, name = self._asked(asked)
            match action.type:
                case "create":
                    found = folder.create(name, content)
                case "names":
                    found = folder.names(name)
                case "remove":
                    folder.remove(name)
                case _:
                    raise StateError(f"a relay has no action {action.type!r}")
        yield json.dumps(found).encode()

    def _asked(self, text: bytes) -> tuple[Folder, str]:
        """The folder and the name in it that a call is about."""
        try:
            asked = json.loads(text)
            folder, name = self._folders[asked["folder"]], asked["name"]
        except (ValueError, LookupError, TypeError):
            raise StateError("this relay does not serve that folder") from None
        parts = name.split("/") if isinstance(name, str) else [".."]
        if name and any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise StateError(f"{name!r} is not the name of a file in a folder")
        if folder.leads_out(name):
            raise StateError(f"{folder.path}/{name} is reached over a symbolic link, which a relay does not follow")
        return folder, name


class RelayedFolder(Folder):
    """A folder that a worker reaches through the driver."""

    def __init__(self, path: str, address: str, token: str, tls: Certificate | None = None) -> None:
        super().__init__(path)
        self._address = address
        self._token = token
        self._tls = tls

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self._address, self._token, self._tls)

    def _read(self, name: str) -> bytes:
        return b"".join(self._downloaded(name))

    def _write(self, name: str, blocks: Blocks) -> int:
        with self._called() as client:
            about = flight.FlightDescriptor.for_command(self._about(name))
            writer, answers = client.do_put(about, _SCHEMA, with_token(self._token))
            try:
                for block in blocks:
                    for start in range(0, len(block), _PART):
                        writer.write_batch(_batch(block[start : start + _PART]))
                writer.write_with_metadata(_batch(b""), _END)
                writer.done_writing()
                length = answers.read()
            except flight.FlightError:
                writer.close()  # raises the driver's own reason
                raise
            except BaseException:
                with suppress(flight.FlightError):
                    writer.close()  # without the end, so that nothing is kept
                raise
            writer.close()
            return int(length.to_pybytes())

    def _create(self, name: str, content: bytes) -> bool:
        return bool(self._do("create", name, content))

    def _list(self, below: str, *, files: bool) -> list[str]:
        assert files, "workers move no folders"
        return [str(name).rpartition("/")[2] for name in self._do("names", below)]

    def _remove(self, name: str) -> None:
        self._do("remove", name)

    def _download(self, name: str, path: Path) -> None:
        with path.open("wb") as out:
            out.writelines(self._downloaded(name))

    def _about(self, name: str) -> bytes:
        return json.dumps({"folder": self.path, "name": name}).encode()

    def _downloaded(self, name: str) -> Iterator[bytes]:
        with self._called() as client:
            for chunk in client.do_get(flight.Ticket(self._about(name)), with_token(self._token)):
                for part in chunk.data.column(0):
                    yield part.as_buffer()

    def _do(self, what: str, name: str, content: bytes = b"") -> Any:
        with self._called() as client:
            action = flight.Action(what, self._about(name) + b"\n" + content)
            (answer,) = client.do_action(action, with_token(self._token))
            return json.loads(answer.body.to_pybytes())

    @contextmanager
    def _called(self) -> Iterator[Any]:
        """A connection to the driver; an error there is raised here."""
        try:
            with connect(self._address, self._tls) as client:
                yield client
        except flight.FlightError as problem:
            if problem.extra_info:
                raise StateError(problem.extra_info.decode("utf-8", "replace")) from problem
            raise


@contextmanager
def _sent_back() -> Iterator[None]:
    """Send the text of an error inside to the worker that called."""
    try:
        yield
    except (StateError, OSError) as problem:
        text = str(problem)[:_MOST_WORDS]
        raise flight.FlightServerError(text, extra_info=text.encode()) from problem


def _batch(part: bytes | memoryview) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([part], type=pa.large_binary())], schema=_SCHEMA)


def _parts(folder: Folder, name: str) -> Iterator[pa.RecordBatch]:
    with _sent_back(), folder.local(name) as path, path.open("rb") as source:
        while part := source.read(_PART):
            yield _batch(part)


def _received(reader: Any) -> Iterator[memoryview]:
    for chunk in reader:
        if chunk.app_metadata is not None:
            return
        for part in chunk.data.column(0):
            yield memoryview(part.as_buffer())
    raise StateError("the worker that sent it is gone")
