"""The pictures on docs/page.md: `python -m tests.serve.pictures` makes them anew. Look at them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.serve.browsing import chromium, page_of
from tests.serve.serving import ROOT, serving

OUT = ROOT / "docs" / "page"
PHONE = {"width": 390, "height": 800}


def take(page: Any, name: str) -> None:
    page.screenshot(path=OUT / f"{name}.png")


def select(page: Any) -> None:
    page.get_by_label("Where").fill("fastest(lisbon, To, P, T)")
    page.keyboard.press("Enter")
    page.locator("#place", has_text="of 9").wait_for()
    page.locator("#rows tbody tr").filter(has_text="vienna").first.click()
    page.locator("#proof").wait_for()


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        shutil.copytree(ROOT / "examples", folder / "examples")
        arguments = (
            "-i",
            "link=examples/network/links.csv",
            "--changes",
            "examples/network/events.jsonl",
            "--batch",
            "1",
        )
        with serving(folder, "examples/routes.dl", *arguments) as server:
            server.until(3)
            with page_of(browser, server.url) as page:
                select(page)
                take(page, "views")
                page.get_by_role("button", name="Draw").click()
                page.locator("svg .edge.over").first.wait_for()
                page.get_by_role("button", name="Close").click()
                take(page, "graph")
                page.goto(f"http://127.0.0.1:{server.port}/#/whatif")
                for label, value in (("a: string", "lisbon"), ("b: string", "madrid"), ("ms: int", "6")):
                    page.get_by_label(label).fill(value)
                page.get_by_role("button", name="Strike out").click()
                page.locator("section[data-view=fastest]").wait_for()
                take(page, "whatif")
                for panel, seen in (
                    ("time", "#answer section"),
                    ("running", "#answer table"),
                    ("program", "svg"),
                    ("blast", "#answer table"),
                ):
                    page.goto(f"http://127.0.0.1:{server.port}/#/{panel}")
                    page.locator(seen).first.wait_for()
                    if panel == "time":
                        page.get_by_label("After transaction").fill("1")
                        page.locator("tr.came").first.wait_for()
                    take(page, panel)
            with page_of(browser, server.url, viewport=PHONE, color_scheme="dark") as page:
                select(page)
                take(page, "phone")


if __name__ == "__main__":
    main()
