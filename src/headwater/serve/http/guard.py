"""Who may ask, and how much: every request passes here first.

Promise: without the token nothing is answered but how to get it. Requests that another site makes a browser send are
refused, whether they carry a cookie or not. No request is longer than its bound, and no answer can be framed, cached,
guessed to be something else, or run a script that is not ours.

What it does not do: encrypt. On another address than localhost, put a proxy with TLS or an SSH tunnel in front.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL = ("127.0.0.1", "localhost", "::1")
LARGEST = 1 << 20
"""Bytes of a request's body."""
_LONGEST = 8_192  # letters of an address with its question
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
_WRONG_TOKEN = "the token is wrong or missing: open the address that `headwater serve` has printed\n"


@dataclass(frozen=True, slots=True)
class Door:
    """The token, and the names under which the server may be asked; none: any, the token decides."""

    token: str
    port: int
    hosts: tuple[str, ...] = LOCAL

    @property
    def cookie(self) -> str:
        """Cookies do not know ports: each server has a name of its own."""
        return f"headwater-{self.port}"

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())

    def is_known_host(self, host: str) -> bool:
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        return not self.hosts or name.strip("[]").lower() in self.hosts


class Guarded:
    """The application behind the guard."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                more = ((name.encode(), value.encode()) for name, value in _HEADERS.items())
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in given)]
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        if refused is not None:
            await refused(scope, receive, send_with_headers)
            return
        await self._app(scope, _Bounded(receive), send_with_headers)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Why a request is not let in; None: it is."""
        if len(scope["query_string"]) + len(scope["raw_path"]) > _LONGEST:
            return _error(414, "the address is too long")
        if not self._door.is_known_host(headers.get("host", "")):
            return _error(421, "the server is not known by this name")
        if _length(headers) > LARGEST:
            return _error(413, f"a request holds at most {LARGEST:,} bytes")
        if scope["path"] == "/" and scope["method"] == "GET" and b"token=" in scope["query_string"]:
            return self._let_in(scope)
        if self._is_foreign(scope, headers):
            return _error(403, "requests from other sites are refused")
        if not any(map(self._door.is_token, _tokens(headers, self._door.cookie))):
            wants_page = scope["path"] == "/"
            return PlainTextResponse(_WRONG_TOKEN, 401) if wants_page else _error(401, _WRONG_TOKEN.strip())
        if (
            scope["method"] == "POST"
            and headers.get("content-type", "").partition(";")[0].strip() != "application/json"
        ):
            return _error(415, "the body must be application/json")
        return None

    def _let_in(self, scope: Scope) -> Response:
        """The printed address: its token becomes a cookie, so that it does not stay in the address bar."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not self._door.is_token(given):
            return PlainTextResponse(_WRONG_TOKEN, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._door.cookie, given, httponly=True, samesite="strict", path="/")
        return answer

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        """Whether a page of another origin made the browser send this: another port is another origin."""
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            # The first look from a link elsewhere is no harm: it carries no cookie, and the answer asks for the token.
            return scope["path"] != "/" or scope["method"] != "GET"
        origin = headers.get("origin")
        return origin is not None and origin.partition("://")[2] != headers.get("host")


class _Bounded:
    """A body that is cut off where it is longer than it may be, whatever its header says."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._left = LARGEST

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if self._left < 0 else message


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isdecimal() and len(text) < 20 else LARGEST + 1


def _tokens(headers: Headers, cookie: str) -> Iterable[str]:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield token.strip()
    for pair in headers.get("cookie", "").split(";"):  # those of other servers on this host may be anything
        name, _, value = pair.partition("=")
        if name.strip() == cookie:
            yield value.strip()


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": {"code": None, "message": message}}, status)
