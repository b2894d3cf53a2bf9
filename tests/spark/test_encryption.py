"""What Headwater's own connections carry: encrypted where Spark's settings ask for it, or not sent at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkConf

import headwater as hw
from headwater import spark as hws
from headwater.core.errors import ExchangeError, StateError
from headwater.exchange.flight_server import Certificate, new_token
from headwater.exchange.gang import Gang
from headwater.exchange.rendezvous import Rendezvous, meet
from headwater.exchange.wire import Activity, Outgoing, Parcel
from headwater.spark.folders import open_folder, relay
from headwater.spark.folders.local import LocalFolder
from headwater.spark.folders.relay import Relay, RelayedFolder
from headwater.spark.inputs.contract import agree
from headwater.spark.session import encryption
from headwater.spark.shards import transaction_job
from headwater.spark.shards.run_plan import choose_run_plan
from tests.spark.conftest import FAR
from tests.spark.test_maintain import COMPONENTS, NOW, drop, finish, link, lowest, rows, stream

SECRET = b"what nobody else is to know"
LINKS = {(1, 2), (2, 3), (7, 8)}


@pytest.fixture(scope="module")
def tls(spark: Any) -> Certificate:
    return encryption._made(spark.sparkContext)


@pytest.fixture
def asked(spark: Any, tls: Certificate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session as it would be with a setting that asks for encryption."""
    monkeypatch.setitem(encryption._asked, spark.sparkContext, "spark.network.crypto.enabled")
    monkeypatch.setattr(encryption, "_certificates", [tls])


@contextmanager
def tapped(address: str) -> Iterator[tuple[str, bytearray]]:
    """Another address of a server, and what goes through there."""
    host, port = address.rsplit(":", 1)
    seen = bytearray()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(1 << 16):
                seen.extend(part)
                sink.sendall(part)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                caller, _ = door.accept()
                called = socket.create_connection((host, int(port)))
                for ends in ((caller, called), (called, caller)):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{door.getsockname()[1]}", seen
        door.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_a_relay_carries(tls: Certificate, tmp_path: Path, encrypted: bool) -> None:
    given = tls if encrypted else None
    with Relay("127.0.0.1", given) as relay, tapped(relay.address) as (address, seen):
        relay.serve(LocalFolder(str(tmp_path)))
        place = RelayedFolder(str(tmp_path), address, relay.token, given)
        place.write("log", [SECRET])
        assert place.read("log") == SECRET
        assert place.names() == ["log"]
    assert len(seen) > 2 * len(SECRET)
    for word in (SECRET, relay.token.encode(), b"log"):
        assert (word in seen) is not encrypted, word


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_a_gang_carries(tls: Certificate, encrypted: bool) -> None:
    given, table = tls if encrypted else None, pa.table({"x": [SECRET.decode()]})
    with (
        Rendezvous("127.0.0.1", tls=given) as rendezvous,
        Gang(0, 2, rendezvous.token, tls=given) as one,
        Gang(1, 2, rendezvous.token, tls=given) as other,
        tapped(rendezvous.address) as (meeting, met),
        tapped(other.address) as (address, seen),
        ThreadPoolExecutor() as pool,
    ):

        def swap(number: int, gang: Gang, where: str) -> list[Any]:
            gang.join(meet(meeting, rendezvous.token, "g", number, 2, where, tls=given))
            return gang.swap(Outgoing({1 - number: [Parcel("out", False, table)]}, Activity.WORK)).parcels

        calls = [pool.submit(swap, 0, one, one.address), pool.submit(swap, 1, other, address)]
        for call in calls:
            ((_, parcel),) = call.result(30)
            assert parcel.rows == table
    assert (SECRET in seen) is not encrypted
    assert (rendezvous.token.encode() in seen + met) is not encrypted


def test_a_peer_without_the_certificate_is_refused(spark: Any, tls: Certificate, tmp_path: Path) -> None:
    other = encryption._made(spark.sparkContext)
    with Relay("127.0.0.1", tls) as relay:
        relay.serve(LocalFolder(str(tmp_path)))
        for strange in (None, other):
            with pytest.raises(StateError, match="cannot read"):
                RelayedFolder(str(tmp_path), relay.address, relay.token, strange).read("log")
    token = new_token()
    with (
        Gang(0, 2, token, tls=tls) as gang,
        Gang(1, 2, token, tls=other) as stranger,
        pytest.raises(ExchangeError, match="cannot be joined"),
    ):
        stranger.join([gang.address, stranger.address])
    assert tls.key.decode() not in repr(tls)


@pytest.mark.parametrize("name", encryption.SETTINGS)
def test_settings_that_ask_for_encryption(name: str) -> None:
    class Context:
        def __init__(self, **settings: str) -> None:
            self.settings = settings

        def getConf(self) -> SparkConf:
            return SparkConf(loadDefaults=False).setAll(list(self.settings.items()))

    assert encryption.asked_by(Context(**{name: "TRUE"})) == name
    assert encryption.asked_by(Context(**{name: "false", "spark.authenticate": "true"})) is None


def test_a_query_in_secret(spark: Any, asked: None, tmp_path: Path) -> None:
    """Its shards are a gang, and its files go through the driver."""
    drop(tmp_path / "in", 0, [link(*pair) for pair in LINKS])
    links, place = {"link": stream(spark, tmp_path / "in")}, f"{FAR}{tmp_path}/check"
    finish(hws.maintain(hw.compile(COMPONENTS), links, checkpoint=place, shards=2, exchange="gang", trigger=NOW))
    assert rows(hws.view(place, "low")) == lowest(LINKS)
    for servers in (transaction_job._servers, relay._relays):
        assert any(kept is not None for _, kept in servers)


def test_what_is_chosen_and_why(spark: Any, asked: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gang that talks in secret; where no certificate can be made, nothing that Spark would not encrypt."""
    links = spark.createDataFrame(sorted(LINKS), "x long, y long")
    program = hw.compile(COMPONENTS)
    contract = agree(program, [("link", links.schema)])
    run_plan = choose_run_plan(spark, contract, 2, None)
    assert run_plan.exchange == "gang"
    assert "what the gang sends is encrypted, because spark.network.crypto.enabled asks for it" in run_plan.reason

    def no_tool(context: Any) -> Certificate:
        raise FileNotFoundError("no keytool")

    monkeypatch.setattr(encryption, "_certificates", [])
    monkeypatch.setattr(encryption, "_made", no_tool)
    run_plan = choose_run_plan(spark, contract, 2, None)
    assert run_plan.exchange == "shuffle"
    assert "spark.network.crypto.enabled asks for encrypted connections" in run_plan.reason
    with pytest.raises(ValueError, match=r"a gang cannot run here, because spark\.network\.crypto.*no keytool"):
        hws.evaluate(program, {"link": links}, shards=2, exchange="gang")
    with pytest.raises(StateError, match=r"spark\.network\.crypto\.enabled asks for encrypted connections"):
        open_folder(f"{FAR}/tmp/check")
