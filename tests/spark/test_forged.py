"""A checkpoint that somebody has changed, with checksums that fit: it is read and gone on from, or refused."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headwater.core.errors import StateError
from headwater.exchange.wire import Activity, Incoming, Parcel, read_incoming, write_incoming
from headwater.spark.state import log
from headwater.spark.state.manifest import Manifest
from tests.database.test_forged import run_forged
from tests.spark import forging


def forge(folder: Path, first: int, last: int) -> None:
    forging.saved(folder / "whole")
    assert "refused" in run_forged("tests.spark.forging", folder, first, last)


def test_forged_checkpoints_are_read_or_refused(tmp_path: Path) -> None:
    forge(tmp_path, 0, 80)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_many_forged_checkpoints_are_read_or_refused(part: int, tmp_path: Path) -> None:
    forge(tmp_path, 1000 * part, 1000 * part + 1000)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    forging.saved(folder)
    return max((folder / "headwater").glob("manifest-*")).read_bytes()


@pytest.mark.parametrize("name", ["../../kept", "/etc/passwd", "shard-0/../../kept", "kept", "shard-0/", "shard-0/\0"])
def test_a_manifest_names_files_below_its_folder_only(name: str, manifest: bytes) -> None:
    """Files that a manifest names are removed when they are old."""
    told = said(manifest)
    told["parts"][0]["logs"][0]["name"] = name
    with pytest.raises(StateError, match=r"manifest-5 is damaged .*it names files outside its folder"):
        Manifest.from_bytes(forged(manifest, told), "manifest-5")


def said(manifest: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest.partition(b"\n")[2])
    return found


def forged(manifest: bytes, told: dict[str, Any]) -> bytes:
    head, _, _ = manifest.partition(b"\n")
    text = json.dumps(told).encode()
    return head[: head.rindex(b" ")] + f" {zlib.crc32(text):08x}\n".encode() + text


def _number(told: dict[str, Any], place: str) -> tuple[dict[str, Any], str]:
    """Where a number of a manifest stands."""
    if place == "rejected":
        return told["rejected"], "link"
    return (told, place) if place in told else (told["parts"][0]["logs"][0], place)


@pytest.mark.parametrize("place", ["batch", "epoch", "clock", "rejected", "bytes", "rows"])
def test_numbers_of_a_manifest_are_those_of_64_bits(place: str, manifest: bytes) -> None:
    told = said(manifest)
    where, name = _number(told, place)
    where[name] = 2**63 - 1
    Manifest.from_bytes(forged(manifest, told), "manifest-5")
    for number in (2**63, -(2**63), "5", 5.0, *(() if place == "clock" else (-1, None, True))):
        where[name] = number
        with pytest.raises(StateError, match=r"manifest-5 is damaged "):
            Manifest.from_bytes(forged(manifest, told), "manifest-5")


@pytest.mark.parametrize("shards", [1, 3])
def test_a_manifest_has_a_part_for_each_shard(shards: int, manifest: bytes) -> None:
    told = said(manifest)
    told["parts"] = (told["parts"] * 2)[:shards]
    with pytest.raises(StateError, match=r"manifest-5 is damaged .*it has unknown parts"):
        Manifest.from_bytes(forged(manifest, told), "manifest-5")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (pa.table({"0": pa.nulls(10**6)}), "1,000,000 rows"),
        (pa.table({"0": pa.nulls(5), "1": [1, 2, 3, 4, 5]}), "columns of types null, int64"),
        (pa.table({"0": pa.array([[None]])}), "columns of types list<item: null>"),
        (pa.table({"0": pa.array([{}], type=pa.struct([]))}), "columns of types struct<>"),
    ],
)
def test_rows_that_take_no_bytes_are_refused(rows: pa.Table, reason: str) -> None:
    content = write_incoming(Incoming([(1, Parcel("outbox", False, rows))], Activity.SENT))
    with pytest.raises(StateError, match=reason):
        read_incoming(content)
    written = b"".join(map(bytes, log.write(log.LogEntry(False, {"link": rows}, {}), {}, "some log")))
    with pytest.raises(StateError, match=reason):
        log.read(written, "some log", "here")


def test_compressed_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of their bytes could fill the memory."""
    entry = log.LogEntry(False, {"link": pa.table({"x": [0] * 100_000})}, {})

    def read() -> log.LogEntry:
        return log.read(b"".join(map(bytes, log.write(entry, {}, "some log"))), "some log", "here")[0]

    assert read().inserts["link"].num_rows == 100_000
    plain = pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    monkeypatch.setattr(pa.ipc, "new_stream", lambda sink, schema: plain(sink, schema, options=options))
    with pytest.raises(StateError, match="compressed columns"):
        read()
