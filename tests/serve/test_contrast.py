"""Every text of the page stands out from what is behind it, in light and in dark: WCAG 2 level AA."""

from __future__ import annotations

import re

import pytest

from tests.serve.serving import ROOT

STYLE = (ROOT / "src" / "headwater" / "serve" / "page" / "style.css").read_text(encoding="utf-8")
TEXTS = (
    *((ink, back) for ink in ("ink", "quiet", "link", "came", "went") for back in ("paper", "shade")),
    *((ink, "came-shade") for ink in ("ink", "came")),
    *((ink, "went-shade") for ink in ("ink", "went")),
)
"""A colour of text, and one that is behind it: 4.5 to 1."""
SHAPES = ("node", "mark", "link", "came", "quiet")
"""Colours of lines, dots and outlines of focus on paper: 3 to 1."""


def colours(theme: str) -> dict[str, str]:
    start = STYLE.index(":root {" if theme == "light" else ':root[data-theme="dark"] {')
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", STYLE[start : STYLE.index("}", start)]))


def brightness(colour: str) -> float:
    """Relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_21_to_1() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_and_shapes_stand_out(theme: str) -> None:
    named = colours(theme)
    weak = [pair for pair in TEXTS if contrast(named[pair[0]], named[pair[1]]) < 4.5]
    weak += [(shape, "paper") for shape in SHAPES if contrast(named[shape], named["paper"]) < 3]
    assert weak == []
    assert len(named) >= 12


def test_no_colour_is_used_that_is_not_named() -> None:
    rules = STYLE[STYLE.index("* { box-sizing") :]
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;\s])", rules) == []
