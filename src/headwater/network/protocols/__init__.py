"""The protocol pack: one program per protocol, each a file beside this one.

    protocol("path_vector")     # a compiled program
    PROTOCOLS["path_vector"]    # its file, with `text` and `summary`
    event_protocol("gossip")    # a program with events and timers, in RapidNet's dialect
    EVENT_PROTOCOLS["gossip"]

A row only travels along a link. `docs/protocols.md` has a section on each; tests compare every one with an independent
computation in plain Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from headwater.network.rapidnet import EventProgram, event_program
from headwater.pipeline import CompiledProgram, compile_file


@dataclass(frozen=True, slots=True)
class Protocol:
    """A program of the pack."""

    name: str
    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def summary(self) -> str:
        """The first sentence of the comment that opens the file."""
        opening = re.split(r"\*/|\nrelation ", self.text, maxsplit=1)[0]
        text = " ".join(line.strip("%/* ") for line in opening.splitlines())
        ends = [at for at in (text.find(". "), text.find(": "), text.find("; "), text.find("? ")) if at >= 0]
        return text[: min(ends) + 1].rstrip(":;.") if ends else text.rstrip(".")

    def compiled(self) -> CompiledProgram:
        return compile_file(self.path)


def _pack(ending: str) -> Mapping[str, Protocol]:
    files = sorted(Path(__file__).parent.glob(f"*/*.{ending}"), key=lambda path: path.stem)
    return MappingProxyType({path.stem: Protocol(path.stem, path) for path in files})


PROTOCOLS = _pack("dl")
EVENT_PROTOCOLS = _pack("olg")


def protocol(name: str) -> CompiledProgram:
    """The compiled program of that name; KeyError if the pack has none."""
    return PROTOCOLS[name].compiled()


def event_protocol(name: str) -> EventProgram:
    """The program with events of that name; KeyError if the pack has none."""
    return event_program(EVENT_PROTOCOLS[name].text, name=name)
