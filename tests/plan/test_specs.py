"""Plans as text are what their spec file says; `python -m tests.plan.test_specs` writes it anew, to be read over."""

from __future__ import annotations

from pathlib import Path

import pytest

import headwater as hw

SPEC = Path(__file__).parents[1] / "specs" / "plan" / "plan.spec"


def _cases() -> list[tuple[str, str, str]]:
    found = []
    for block in SPEC.read_text(encoding="utf-8").split("\n== ")[1:]:
        title, rest = block.split("\n", 1)
        text, _, expected = rest.partition("\n--\n")
        found.append((title.strip(), text.strip(), expected.strip()))
    return found


@pytest.mark.parametrize(("title", "text", "expected"), _cases(), ids=[title for title, _, _ in _cases()])
def test_spec(title: str, text: str, expected: str) -> None:
    assert hw.compile(text).explain("plan").strip() == expected


def update() -> None:
    head = SPEC.read_text(encoding="utf-8").split("\n== ")[0].strip()
    parts = [
        f"== {title}\n\n{text}\n\n--\n\n{hw.compile(text).explain('plan').strip()}\n" for title, text, _ in _cases()
    ]
    SPEC.write_text("\n".join([head + "\n", *parts]), encoding="utf-8")


if __name__ == "__main__":
    update()
