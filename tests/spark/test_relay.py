"""Files that workers reach through the driver: what a relay serves, to whom, and what a worker is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.flight as flight
import pytest

from headwater.core.errors import StateError
from headwater.spark.folders.local import LocalFolder
from headwater.spark.folders.relay import Relay, RelayedFolder


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    with Relay() as made:
        made.serve(LocalFolder(str(tmp_path / "served")))
        yield made


@pytest.fixture
def served(relay: Relay, tmp_path: Path) -> RelayedFolder:
    return RelayedFolder(str(tmp_path / "served"), relay.address, relay.token)


def test_a_file_of_many_parts(served: RelayedFolder) -> None:
    content = bytes(range(256)) * (1 << 15) + b"the end"
    assert served.write("shard-0/log", [content[:5], memoryview(content)[5:], b""]) == len(content)
    assert served.read("shard-0/log") == content
    with served.local("shard-0/log") as path:
        assert path.read_bytes() == content
    assert served.write("empty", []) == 0
    assert served.read("empty") == b""


def test_nobody_is_served_without_the_token(relay: Relay, served: RelayedFolder) -> None:
    stranger = RelayedFolder(served.path, relay.address, "0" * 64)
    with pytest.raises(StateError, match="wrong token"):
        stranger.write("file", [b"1"])
    with pytest.raises(StateError, match="wrong token"):
        stranger.read("file")
    with pytest.raises(StateError, match="wrong token"):
        stranger.names()
    assert served.names() == []


def test_nothing_outside_the_folders_is_served(relay: Relay, served: RelayedFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for name in ("../secret", "a/../../secret", str(tmp_path / "secret"), "a//b", "a\0b", "."):
        with pytest.raises(StateError, match="is not the name of a file"):
            served.read(name)
        with pytest.raises(StateError, match="is not the name of a file"):
            served.write(name, [b"spoilt"])
        with pytest.raises(StateError, match="is not the name of a file"):
            served.remove(name)
    with pytest.raises(StateError, match="does not serve that folder"):
        RelayedFolder(str(tmp_path), relay.address, relay.token).read("secret")
    assert (tmp_path / "secret").read_text() == "secret"


def test_links_out_of_the_folder_are_not_followed(served: RelayedFolder, tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "one").write_text("secret")
    served.write("shard-0/log", [b"log"])
    here = tmp_path / "served"
    (here / "file").symlink_to(tmp_path / "secrets" / "one")
    (here / "new").symlink_to(tmp_path / "secrets" / "two")
    (here / "folder").symlink_to(tmp_path / "secrets")
    (here / "over").symlink_to(here / "folder")
    (here / "inside").symlink_to(here / "shard-0")
    ways: tuple[Callable[[str], object], ...] = (
        served.read,
        served.remove,
        lambda name: served.write(name, [b"1"]),
        lambda name: served.create(name, b"1"),
    )
    for name in ("file", "new", "folder/one", "folder/two", "over/one"):
        for do in ways:
            with pytest.raises(StateError, match="over a symbolic link, which a relay does not follow"):
                do(name)
    with pytest.raises(StateError, match="over a symbolic link"):
        served.names("folder")
    assert {one.name: one.read_text() for one in (tmp_path / "secrets").iterdir()} == {"one": "secret"}
    assert served.read("inside/log") == b"log"


def test_a_file_whose_end_does_not_come_is_not_kept(relay: Relay, served: RelayedFolder) -> None:
    def cut_off() -> Iterator[bytes]:
        yield b"1"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        served.write("half", cut_off())
    assert served.names() == []
    about = flight.FlightDescriptor.for_command(json.dumps({"folder": served.path, "name": "half"}).encode())
    options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {relay.token}".encode())])
    with flight.connect(f"grpc://{relay.address}") as client:
        schema = pa.schema([("part", pa.large_binary())])
        writer, _ = client.do_put(about, schema, options)
        writer.write_batch(pa.RecordBatch.from_arrays([pa.array([b"1"], type=pa.large_binary())], schema=schema))
        with pytest.raises(flight.FlightServerError, match="the worker that sent it is gone"):
            writer.close()
    assert served.names() == []


def test_a_worker_says_what_the_driver_says(relay: Relay, served: RelayedFolder, tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"^[^\n]*No such file[^\n]*/served/none'$"):
        served.read("none")
    (tmp_path / "served").write_text("in the way")
    with pytest.raises(StateError, match=r"^cannot write .*/served/file: (Not a directory|File exists)"):
        served.write("file", [b"1" * 1_000_000] * 20)
    relay.close()
    with pytest.raises(StateError, match=r"^cannot read .*/served/file: .*failed to connect"):
        served.read("file")
