"""Flight servers that answer only who knows the token, at one address, for as long as they are wanted.

With a certificate, which both sides must have, the connections between them are encrypted (TLS).
"""

from __future__ import annotations

import hmac
import secrets
import threading
from dataclasses import dataclass, field
from typing import Any

import pyarrow.flight as flight

TLS_NAME = "headwater"  # the name in the certificate, whatever address a server listens at
_HEADER = "authorization"
_GRACE = 2.0  # seconds for streams to end before a server is left to end by itself; it listens no more


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for TLS_NAME and its private key, both as PEM."""

    pem: bytes
    key: bytes = field(repr=False)


def new_token() -> str:
    return secrets.token_hex(32)


def with_token(token: str) -> flight.FlightCallOptions:
    return flight.FlightCallOptions(headers=[(_HEADER.encode(), f"Bearer {token}".encode())])


def connect(address: str, tls: Certificate | None = None) -> flight.FlightClient:
    """A client of the server that listens there; with a certificate the server must prove that it has the same one."""
    if tls is None:
        return flight.connect(f"grpc://{address}")
    return flight.connect(f"grpc+tls://{address}", tls_root_certs=tls.pem, override_hostname=TLS_NAME)


class TokenCheck(flight.ServerMiddlewareFactory):
    """Rejects every call without the token, before any of its content is read."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> None:
        given = headers.get(_HEADER) or [""]
        if not hmac.compare_digest(str(given[0]).encode("utf-8", "replace"), self._expected):
            raise flight.FlightUnauthenticatedError("wrong token")


class Server(flight.FlightServerBase):
    """A server at a free port of a host, which is `address` then."""

    def __init__(self, host: str, token: str, tls: Certificate | None = None) -> None:
        protocol, certificates = ("grpc", None) if tls is None else ("grpc+tls", [(tls.pem, tls.key)])
        super().__init__(
            f"{protocol}://{host}:0", tls_certificates=certificates, middleware={"token": TokenCheck(token)}
        )
        self.address = f"{host}:{self.port}"

    def close(self) -> None:
        """Listen no more, at once; streams of peers that are busy elsewhere end when those notice."""
        ending = threading.Thread(target=self.shutdown, daemon=True)
        ending.start()
        ending.join(_GRACE)
