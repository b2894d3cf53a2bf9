"""Listens, prints the address, and ends on Ctrl-C: streams are closed, running requests are finished."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn

from headwater.core.errors import HeadwaterError
from headwater.serve.http.app import make_app
from headwater.serve.http.guard import LOCAL, Door
from headwater.serve.http.watching import Bell
from headwater.serve.live import Live

PORT = 8642
SHORTEST = 16
"""Letters of a token, at least."""


def new_token() -> str:
    return secrets.token_urlsafe(24)


def run_server(
    live: Live, *, listen: str = "127.0.0.1", port: int = PORT, token: str | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:  # fmt: skip
    """Serve until a signal ends it; `ready` is given the address with the token once requests are accepted.

    Port 0 takes a free one. HeadwaterError says why an address cannot be listened at.
    """
    bound = _bound(listen, port)
    port = bound.getsockname()[1]
    # Elsewhere than on this machine the names of the server are not known: the token alone decides.
    door = Door(token or new_token(), port, LOCAL if listen in LOCAL else ())
    host = f"[{listen}]" if ":" in listen else listen

    def started(bell: Bell) -> None:
        server.bell = bell
        ready(f"http://{host}:{port}/?token={door.token}")

    config = uvicorn.Config(
        make_app(live, door, started), log_level="warning", access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=3, ws="none", http="h11",
    )  # fmt: skip
    server = _Server(config)
    with suppress(KeyboardInterrupt):  # it raises the signal that ended it once more
        server.run(sockets=[bound])


class _Server(uvicorn.Server):
    """Ends the streams of changes first, which would else go on for ever."""

    bell: Bell | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.bell is not None:
            self.bell.stop()
        super().handle_exit(sig, frame)


def _bound(listen: str, port: int) -> socket.socket:
    kind = socket.AF_INET6 if ":" in listen else socket.AF_INET
    found = socket.socket(kind, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((listen, port))
        found.listen(128)  # requests wait from now on: the address is printed before the first is accepted
    except OSError as problem:
        found.close()
        what = problem.strerror or str(problem)
        raise HeadwaterError(
            f"cannot listen at {listen}:{port}: {what}; choose another --port, or 0 for a free one"
        ) from None
    return found
