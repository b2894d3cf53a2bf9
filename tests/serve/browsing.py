"""Debian's chromium, driven by Playwright; tests that need it are skipped, with a reason, where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
WAIT = 300_000
"""Milliseconds that a step may take on a busy machine; what is there is not waited for."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; Playwright gives it a new profile folder, and removes it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=list(_FLAGS), timeout=WAIT)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """A page in a context of its own, which fails the test if a script of it fails or anything violates the policy."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "color_scheme": "light", **options})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(url)
    try:
        yield page
    finally:
        context.close()
    assert wrong == []
