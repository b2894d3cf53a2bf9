"""A checkpoint that somebody has changed, with checksums that fit: it is read and gone on from, or refused."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.core.errors import StateError
from headwater.exchange.wire import Activity, Incoming, Parcel, read_incoming, write_incoming
from headwater.spark.state import log
from headwater.spark.state.manifest import Manifest
from tests.spark import forging


def forge(folder: Path, first: int, last: int) -> None:
    forging.saved(folder / "whole")
    run = [sys.executable, "-m", "tests.spark.forging", str(folder), str(first), str(last)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert "refused" in done.stdout


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
    head, _, text = manifest.partition(b"\n")
    told = json.loads(text)
    told["parts"][0]["logs"][0]["name"] = name
    text = json.dumps(told).encode()
    forged = head[: head.rindex(b" ")] + f" {zlib.crc32(text):08x}\n".encode() + text
    with pytest.raises(StateError, match=r"manifest-5 is damaged .*it names files elsewhere"):
        Manifest.from_bytes(forged, "manifest-5")


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
    written = b"".join(map(bytes, log.write(log.Entry(False, {"link": rows}, {}), {}, "some log")))
    with pytest.raises(StateError, match=reason):
        log.read(written, "some log", "here")


def test_compressed_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of their bytes could fill the memory."""
    entry = log.Entry(False, {"link": pa.table({"x": [0] * 100_000})}, {})

    def read() -> log.Entry:
        return log.read(b"".join(map(bytes, log.write(entry, {}, "some log"))), "some log", "here")[0]

    assert read().inserts["link"].num_rows == 100_000
    plain = pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    monkeypatch.setattr(pa.ipc, "new_stream", lambda sink, schema: plain(sink, schema, options=options))
    with pytest.raises(StateError, match="compressed columns"):
        read()
