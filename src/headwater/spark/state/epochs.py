"""Who may commit to a checkpoint: the run that opened it last, and no other.

A run takes an epoch before it writes anything: it creates the file `epoch-<number>` with the next free number, which
only one run can do. Before each commit it checks that no later epoch was taken. If there is one, it stops with an error
that names both, and what it has written of its batch does not count.

A run that checks just before a later one takes its epoch may still commit its current batch, and no batch after it. The
later run finds that batch committed and goes on from it (see `checkpoint`).

Two runs get different numbers wherever creating a file is exclusive. Object stores do not promise that: there the last
writer of a file wins, and the other finds out at its next check, because every file says which run wrote it.
"""

from __future__ import annotations

import datetime as dt
import getpass
import json
import os
import re
import secrets
import socket
from contextlib import suppress
from dataclasses import asdict, dataclass

from headwater.core.errors import StateError
from headwater.spark.folders import Folder

_EPOCH = re.compile(r"epoch-(\d+)")
_OLDER = re.compile(r"\.?epoch-(\d+)(?![0-9])")


@dataclass(frozen=True, slots=True)
class Epoch:
    """The right to commit, from when it was taken until a later one is."""

    number: int
    run: str  # random: distinguishes two runs with the same number
    when: str
    who: str

    @property
    def name(self) -> str:
        return f"epoch-{self.number}"

    def __str__(self) -> str:
        return f"epoch {self.number}, taken at {self.when} by {self.who}"

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def take(folder: Folder, above: int) -> Epoch:
    """Take the next epoch of a checkpoint, later than all others there, and than `above`."""
    while True:
        number = 1 + max(above, *_numbers(folder))
        when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        mine = Epoch(number, secrets.token_hex(8), when, _who())
        if folder.create(mine.name, mine.to_bytes()) and _read(folder, number) == mine:
            return mine


def latest(folder: Folder) -> Epoch | None:
    """The latest epoch; None: there is none."""
    number = max(_numbers(folder))
    return _read(folder, number) if number else None


def lost(folder: Folder, mine: Epoch, where: str) -> StateError | None:
    """The error of a run with this epoch of the checkpoint `where`; None: no later one was taken."""
    last = latest(folder)
    if last == mine:
        return None
    if last is None or last.number < mine.number:
        return StateError(
            f"error[HW931]: {where} was removed or replaced while this run was at work (it had {mine}); it stopped and "
            "committed nothing more; start the query again, once the checkpoint is what it should be"
        )
    return StateError(
        f"error[HW931]: another run has opened {where}, and a checkpoint has one writer: this run had {mine}; the "
        f"other one has {last}. This run stopped and committed nothing more; the other one goes on from the last "
        "commit, and no row is lost or taken twice. If this run is the one to keep, stop the other one and start this "
        "one again"
    )


def older(folder: Folder, mine: Epoch) -> list[str]:
    """The files of earlier epochs, and unfinished ones."""
    found = [(name, _OLDER.match(name)) for name in folder.names()]
    return [name for name, number in found if number is not None and int(number[1]) < mine.number]


def _numbers(folder: Folder) -> list[int]:
    """0, and the numbers of all epochs."""
    return [0, *(int(found[1]) for name in folder.names() if (found := _EPOCH.fullmatch(name)))]


def _read(folder: Folder, number: int) -> Epoch:
    """The epoch of a file; one with a damaged file was taken all the same."""
    with suppress(ValueError, TypeError):
        found = Epoch(**json.loads(folder.read(f"epoch-{number}")))
        if found.number == number:
            return found
    return Epoch(number, "", "an unknown time", "an unknown run, whose file is damaged")


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        user = f"user {os.getuid()}"
    return f"{user} on {socket.gethostname()}, process {os.getpid()}"
