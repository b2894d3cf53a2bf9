"""A server in a process of its own, started as a user starts it, and a client for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlparse

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from headwater.cli.main import main; main()")
TOKEN = "a-token-for-tests-only"
PATIENCE = 1800
"""Seconds: the first question in a fresh clone waits until loops are compiled, on a busy machine."""


class Server:
    """A running server: `get` and `post` bring the token, `request` brings what it is told to."""

    def __init__(self, process: subprocess.Popen[str], url: str, said: list[str]) -> None:
        self.process = process
        self.url = url
        self.said = said
        found = urlparse(url)
        self.port = int(found.port or 0)
        self.token = parse_qs(found.query)["token"][0]

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **given: Any) -> Any:
        status, _, data = self.request("GET", self._path(path, given), headers=self.bearer)
        return {"status": status, **json.loads(data)}

    def post(self, path: str, **body: Any) -> Any:
        headers = {**self.bearer, "content-type": "application/json"}
        status, _, data = self.request("POST", path, json.dumps(body).encode(), headers)
        return {"status": status, **json.loads(data)}

    def rows(self, relation: str, **given: Any) -> list[tuple[Any, ...]]:
        found = self.get(f"/api/relations/{quote(relation, safe='')}/rows", **given)
        assert found["status"] == 200, found
        return [tuple(map(_tuple, row)) for row in found["rows"]]

    @property
    def bearer(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def _path(self, path: str, given: dict[str, Any]) -> str:
        return f"{path}?{urlencode(given)}" if given else path

    def events(self, **given: Any) -> Iterator[tuple[str, Any]]:
        """The events of a stream as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", self._path("/api/changes", given), headers=self.bearer)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        kind = ""
        try:
            while line := answer.readline().decode():
                name, _, text = line.rstrip("\n").partition(": ")
                if name == "event":
                    kind = text
                if name == "data":
                    yield kind, json.loads(text)
        finally:
            connection.close()

    def until(self, transaction: int) -> None:
        """Wait until so many transactions were applied; the stream says so."""
        stream = self.events(after=0)
        for kind, event in stream:
            reached = event["transaction"] if kind == "hello" else event["until"]
            if reached >= transaction:
                stream.close()  # type: ignore[attr-defined]
                return
        raise AssertionError("the stream has ended")

    def stop(self, sent: int = signal.SIGINT) -> int:
        self.process.send_signal(sent)
        return self.process.wait(PATIENCE)


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


@contextmanager
def serving(folder: Path, *arguments: str, port: int = 0) -> Iterator[Server]:
    """`headwater serve` in a folder, until the end of the block."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "HEADWATER_TOKEN": TOKEN, "PYTHONPATH": path}
    process = subprocess.Popen(
        [*COMMAND, "serve", *arguments, "--port", str(port)],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            said.append(line)
            found = re.match(r"open (http://\S+)", line)
            if found:
                yield Server(process, found[1], said)
                break
        else:
            raise AssertionError("".join(said))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
