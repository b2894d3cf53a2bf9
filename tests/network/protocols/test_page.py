"""docs/protocols.md has a section on every protocol: its rules as they are, its messages, what a failure does."""

from __future__ import annotations

import re

import pytest

from headwater.network.protocols import PROTOCOLS
from tests.docs.fences import ROOT

TEXT = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
SECTIONS = {found[1]: found[0] for found in re.finditer(r"^### .*\n\n`(\w+)`:(?:.*\n)*?(?=^##)", TEXT, re.MULTILINE)}


def test_every_protocol_has_a_section() -> None:
    assert set(SECTIONS) == set(PROTOCOLS)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_section_is_whole(name: str) -> None:
    section = SECTIONS[name]
    kept = (line for line in PROTOCOLS[name].text.splitlines() if not line.startswith(("%", "#include")))
    rules = "\n".join(kept).strip()
    assert f"```datalog\n{rules}\n```" in section
    assert "**Messages.**" in section
    assert "**A failure.**" in section
    assert f"$ headwater simulate {name} " in section
