"""Checkpoints that no run wrote: one of their files with changed fields and cells, and checksums that fit.

    python -m tests.spark.forging FOLDER FIRST LAST

reads and goes on from the checkpoints of these seeds, one after the other, as `tests.database.forging` does with files.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwater.core.errors import HeadwaterError
from headwater.engine.border.checksum import checksum
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.shard_cache import ShardCache
from tests.database.forging import CHANGES, ODD, each_seed, put_together, taken_apart
from tests.spark.kept import Kept, lockstep

TEXT = """
relation link(x: string, y: int, c: float).
relation name(y: int, x: string).
reach(X, Y) :- link(X, Y, _).
reach(X, Y) :- reach(X, Z), name(Z, N), reach(N, Y).
cost(X, sum<C>) :- link(X, Y, C).
"""
_FRAME = struct.Struct("<8sQQ")


def saved(folder: Path) -> None:
    """A checkpoint of two shards, each with a snapshot and some logs."""
    with pytest.MonkeyPatch.context() as patched:  # the snapshot is due after batch 3, however long anything takes
        patched.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", 4)
        patched.setattr("headwater.spark.state.snapshot_policy._SHORT", 1e9)
        kept = Kept.of_text(TEXT, ("reach", "cost"), folder, 2, "exchange", 5)
        for batch in range(5):
            kept.apply(*rows(batch))


def rows(batch: int) -> tuple[Any, Any]:
    dice = random.Random(batch)
    pairs = [(f"n{dice.randrange(6)}", dice.randrange(6)) for _ in range(6)]
    links = [(x, y, float(y) / 2) for x, y in pairs]
    return {"link": links, "name": [(y, x) for x, y in pairs]}, {
        "link": links[:1],
        "name": [(pairs[1][1], pairs[1][0])],
    }


def forge(path: Path, dice: random.Random) -> None:
    content = path.read_bytes()
    if path.name.startswith("manifest"):
        head, _, text = content.partition(b"\n")
        found = json.loads(text)
        CHANGES[0](dice, found, {})
        text = json.dumps(found).encode()
        path.write_bytes(head[: head.rindex(b" ")] + f" {zlib.crc32(text):08x}\n".encode() + text)
    elif "snapshot" in path.name:
        header, arrays = taken_apart(content)
        keep = False
        for _ in range(dice.choice((1, 2))):
            with suppress(LookupError, TypeError, AttributeError):
                keep |= dice.choice(CHANGES[:-1])(dice, header, arrays)
        path.write_bytes(put_together(header, arrays, keep=keep))
    else:
        path.write_bytes(forged_log(content, dice))


def forged_log(content: bytes, dice: random.Random) -> bytes:
    frames: list[tuple[bytes, bytes]] = []
    at = 0
    while at < len(content):
        what, length, _ = _FRAME.unpack_from(content, at)
        frames.append((what, content[at + 64 : at + 64 + length]))
        at += 64 + length + -length % 64
    place = dice.randrange(len(frames))
    what, payload = frames[place]
    match dice.randrange(4):
        case 0 if payload.startswith(b"{"):
            told = json.loads(payload)
            told[dice.choice(list(told))] = dice.choice(ODD)
            payload = json.dumps(told).encode()
        case 1:
            frames.insert(dice.randrange(len(frames)), dice.choice(frames))
        case 2:
            what = dice.choice(frames)[0]
        case _:
            changed = bytearray(payload)
            for _ in range(dice.choice((1, 1, 4))):
                changed[dice.randrange(len(changed))] = dice.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
            payload = bytes(changed)
    frames[place] = what, payload
    out = b""
    for what, payload in frames:
        head = _FRAME.pack(what, len(payload), checksum(np.frombuffer(payload, dtype=np.uint8)))
        out += head + bytes(64 - _FRAME.size) + payload + bytes(-len(payload) % 64)
    return out


def tried(folder: Path) -> str:
    """Read every shard, and go on with a batch."""
    outside = {path: path.read_bytes() for path in folder.parent.iterdir() if path.is_file()}
    try:
        driver = Checkpoint(str(folder))
        assert driver.manifest is not None
        definition = driver.manifest.definition
        sharding = definition.sharding()
        driver.resume(definition)
        batch = driver.manifest.batch + 1
        assignment = driver.assignment(definition, sharding, batch)
        for shard in range(definition.shards):
            with ShardCache().reading(assignment, shard) as member:
                for view in ("reach", "cost", "link"):
                    member.rows(view)
        kept = Kept.__new__(Kept)
        kept.sharding, kept.definition, kept.workers, kept.dice = sharding, definition, [ShardCache()], random.Random(1)
        done = lockstep(kept.runs(assignment, *(kept._arrow(side) for side in rows(batch))))
        driver.commit(definition, batch, [one.report for one in done])
    except HeadwaterError:
        return "refused"
    finally:
        if any(not path.exists() or path.read_bytes() != content for path, content in outside.items()):
            raise AssertionError("a file outside the checkpoint was touched")
    return "opened"


def main(folder: Path, first: int, last: int) -> int:
    whole, forged = folder / "whole", folder / f"forged-{first}"

    def trial(seed: int) -> str:
        dice = random.Random(seed)
        shutil.rmtree(forged, ignore_errors=True)
        shutil.copytree(whole, forged)
        manifest = Checkpoint(str(whole)).manifest
        assert manifest is not None
        name = dice.choice([f"manifest-{manifest.batch}", *sorted(manifest.files), *sorted(manifest.files)])
        forge(forged / "headwater" / name, dice)
        return tried(forged)

    return each_seed(first, last, trial)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
