"""The protocol pack: one program per protocol, each a file beside this one.

    protocol("path_vector")     # a compiled program
    PROTOCOLS["path_vector"]    # its file, with `text` and `summary`

Every program is link-restricted, so that a row only travels along a link. `docs/protocols.md` has a section on each;
tests compare every one with an independent computation in plain Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

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
        lines = [line.removeprefix("%").strip() for line in self.text.split("\nrelation ", 1)[0].splitlines()]
        text = " ".join(lines)
        ends = [at for at in (text.find(". "), text.find(": "), text.find("; "), text.find("? ")) if at >= 0]
        return text[: min(ends) + 1].rstrip(":;.") if ends else text.rstrip(".")

    def compiled(self) -> CompiledProgram:
        return compile_file(self.path)


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        path.stem: Protocol(path.stem, path)
        for path in sorted(Path(__file__).parent.glob("*/*.dl"), key=lambda p: p.stem)
    }
)


def protocol(name: str) -> CompiledProgram:
    """The compiled program of that name; KeyError if the pack has none."""
    return PROTOCOLS[name].compiled()
