"""The Python workers of a driver, as the system shows them: who they are, and where they listen."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def python_workers(driver: int | None = None) -> list[int]:
    """Processes forked by a daemon of pyspark that a driver's JVM has started."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for one in Path("/proc").iterdir():
        try:
            number = int(one.name)
            parents[number] = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            names[number] = (one / "cmdline").read_text()
        except (ValueError, OSError):
            continue
    daemons = {number for number, name in names.items() if _is_daemon(name.split("\0"))}

    def is_ours(number: int) -> bool:
        while number > 1:
            number = parents.get(number, 0)
            if number == (driver or os.getpid()):
                return True
        return False

    return sorted(number for number in daemons if parents[number] in daemons and is_ours(number))


def _is_daemon(words: list[str]) -> bool:
    """The JVM's own command line speaks of daemons, too."""
    return "python" in Path(words[0]).name and any(word.endswith(".daemon") for word in words[1:3])


def listening(process: int) -> set[tuple[str, int]]:
    """The addresses at which a process listens."""
    files = []
    with suppress(OSError):  # the process is gone
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):  # the file is closed
                files.append(str(file.readlink()))
    held = {file[len("socket:[") : -1] for file in files if file.startswith("socket:[")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and words[9] in held:
                found.add(_address(words[1]))
    return found


def _address(text: str) -> tuple[str, int]:
    host, port = text.split(":")
    words = [struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8)]
    packed = b"".join(words)
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, packed).removeprefix("::ffff:"), int(port, 16)
