"""Several shards that evaluate one program together: routing, minimal shipping, rounds."""

from headwater.exchange.asking import answer
from headwater.exchange.flight_server import TLS_NAME, Certificate, Server, connect, new_token, with_token
from headwater.exchange.gang import Gang
from headwater.exchange.gathered_base import GatheredBase
from headwater.exchange.gathered_proof import GatheredProof
from headwater.exchange.member import Member, Outcome
from headwater.exchange.rendezvous import Rendezvous, meet
from headwater.exchange.routing import hash_values, owners
from headwater.exchange.sharding import KINDS, Sharding, choose
from headwater.exchange.wire import (
    Activity,
    Incoming,
    Outgoing,
    Parcel,
    Run,
    read_incoming,
    read_outgoing,
    ship,
    write_incoming,
    write_outgoing,
)  # fmt: skip

__all__ = [
    "KINDS", "TLS_NAME", "Activity", "Certificate", "Gang", "GatheredBase", "GatheredProof", "Incoming", "Member",
    "Outcome", "Outgoing", "Parcel", "Rendezvous", "Run", "Server", "Sharding", "answer", "choose", "connect",
    "hash_values", "meet", "new_token", "owners", "read_incoming", "read_outgoing", "ship", "with_token",
    "write_incoming", "write_outgoing",
]  # fmt: skip
