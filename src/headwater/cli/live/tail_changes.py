"""The work of `headwater tail`: server-sent events to lines, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import typer

from headwater.cli.live.tail import LineFormat
from headwater.cli.screen.display import shown
from headwater.cli.screen.report import show_text

_SILENCE = 60.0  # seconds without a sign of life, which comes every 15
_AGAIN = 1.0
_LOST = (OSError, http.client.HTTPException)


class Refused(Exception):
    """The server answers, and says no."""


class TailRun:
    """Follows one view of one server."""

    def __init__(self, url: str, view: str, form: LineFormat) -> None:
        where = urlsplit(url if "://" in url else f"http://{url}")
        if where.scheme not in ("http", "https") or not where.hostname:
            raise typer.BadParameter(f"{url} is no address of a server; it begins with http://")
        self._where = where
        self._token = parse_qs(where.query).get("token", [os.environ.get("HEADWATER_TOKEN", "")])[0]
        self._view = view
        self._form = form
        self._started: float | None = None  # when the server was started that was heard last

    def run(self, after: int | None, count: int | None) -> int:
        """The exit status of the command."""
        heard, left, cursor, anew = False, count, after, False
        try:
            while True:
                try:
                    for kind, event in self._events(cursor):
                        heard = True
                        if kind == "hello":
                            anew, self._started = self._started not in (None, event["started"]), event["started"]
                            cursor = event["transaction"]
                            if anew:
                                break
                            continue
                        cursor = event["until"]
                        if self._print(event) and left is not None:
                            left -= 1
                        if left == 0:
                            return 0
                    else:
                        anew = False
                    lost = "the server was started anew" if anew else "the server has ended the stream"
                    cursor = 0 if anew else cursor  # it counts from its own beginning
                except Refused as problem:
                    show_text(str(problem))
                    return 1
                except _LOST as problem:
                    lost = f"the server does not answer: {problem}"
                if not heard:
                    show_text(lost)
                    return 2
                typer.echo(f"{lost}; trying again", err=True)
                time.sleep(_AGAIN)
        except KeyboardInterrupt:
            return 0

    def _events(self, after: int | None) -> Iterator[tuple[str, Any]]:
        """Events as they come, until the connection ends."""
        https = self._where.scheme == "https"
        kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
        connection = kind(self._where.hostname or "", self._where.port, timeout=_SILENCE)
        asked = {"view": self._view, "every": 1} | ({} if after is None else {"after": after})
        try:
            headers = {"authorization": f"Bearer {self._token}", "accept": "text/event-stream"}
            connection.request("GET", f"/api/changes?{urlencode(asked)}", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Refused(_message(answer.read(100_000), answer.status))
            name = ""
            while line := answer.readline():
                field, _, text = line.decode("utf-8").rstrip("\r\n").partition(": ")
                if field == "event":
                    name = text
                elif field == "data":
                    yield name, json.loads(text)
        finally:
            connection.close()

    def _print(self, event: Any) -> bool:
        """Whether there was something to print."""
        if self._view not in event["views"]:
            return False
        change = event["views"][self._view]
        number = event["until"]
        if change is None:
            typer.echo(f"up to transaction {number:,}: more changes than the server keeps", err=True)
            return True
        for word, mark in (("deleted", "-"), ("inserted", "+")):
            rows = change[f"{word}_rows"]
            for row in rows:
                typer.echo(self._line(number, mark, change["columns"], row))
            if change[word] > len(rows):
                typer.echo(f"... {change[word] - len(rows):,} more rows {word}", err=True)
        return True

    def _line(self, number: int, mark: str, columns: list[Any], row: list[Any]) -> str:
        if self._form is LineFormat.TEXT:
            return f"{number}\t{mark}\t{self._view}({', '.join(map(shown, row))})"
        named = {column["name"]: value for column, value in zip(columns, row, strict=True)}
        return json.dumps(
            {"_change_type": "insert" if mark == "+" else "delete", "_transaction": number} | named, ensure_ascii=False
        )


def _message(data: bytes, status: int) -> str:
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the server answered {status}"
