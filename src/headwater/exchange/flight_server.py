"""Flight servers that answer only who knows the token, at one address, for as long as they are wanted.

With a seal, which both sides must have, nobody in between can read what they say (TLS).
"""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from dataclasses import dataclass, field
from typing import Any

import pyarrow.flight as flight

SEALED_NAME = "headwater"  # of whoever has the seal, wherever it listens
_HEADER = "authorization"
_GRACE = 2.0  # seconds for streams to end before a server is left to end by itself; it listens no more


@dataclass(frozen=True, slots=True)
class Seal:
    """A certificate, made out to SEALED_NAME, and its key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


def new_token() -> str:
    return secrets.token_hex(32)


def with_token(token: str) -> flight.FlightCallOptions:
    return flight.FlightCallOptions(headers=[(_HEADER.encode(), f"Bearer {token}".encode())])


def connect(address: str, seal: Seal | None = None) -> flight.FlightClient:
    """A client of the server that listens there; it is asked for its seal, if there is one."""
    if seal is None:
        return flight.connect(f"grpc://{address}")
    return flight.connect(f"grpc+tls://{address}", tls_root_certs=seal.certificate, override_hostname=SEALED_NAME)


def own_address(towards: str) -> str:
    """The address by which this machine is seen from another (a host, or `host:port`); nothing is sent."""
    host = towards.rsplit(":", 1)[0] if ":" in towards else towards
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))
        return str(probe.getsockname()[0])


class Doorkeeper(flight.ServerMiddlewareFactory):
    """Turns away every call without the token, before anything of it is looked at."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        given = headers.get(_HEADER) or [""]
        if not hmac.compare_digest(str(given[0]).encode("utf-8", "replace"), self._expected):
            raise flight.FlightUnauthenticatedError("another token is wanted here")


class Server(flight.FlightServerBase):
    def __init__(self, host: str, token: str, seal: Seal | None = None) -> None:
        protocol, certificates = ("grpc", None) if seal is None else ("grpc+tls", [(seal.certificate, seal.key)])
        super().__init__(
            f"{protocol}://{host}:0", tls_certificates=certificates, middleware={"token": Doorkeeper(token)}
        )
        self.address = f"{host}:{self.port}"

    def close(self) -> None:
        """Listen no more, at once; streams of peers that are busy elsewhere end when those notice."""
        ending = threading.Thread(target=self.shutdown, daemon=True)
        ending.start()
        ending.join(_GRACE)
