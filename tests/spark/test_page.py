"""The page about Spark does not lie: everything on it runs, and prints what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.fences import ROOT, Page, a_folder


def test_everything_on_the_page_runs(spark: Any) -> None:
    text = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    with a_folder():
        for name in ("incoming", "orders", "state", "out", "copy"):  # the session was started in another folder
            text = text.replace(f'"{name}', f'"{Path.cwd()}/{name}').replace(
                f"path '{name}", f"path '{Path.cwd()}/{name}"
            )
        page = Page(text)
        assert page.updated() == text
    assert page.ran > 1


def test_the_first_lines_of_the_readme_run(spark: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("```py\n", "```python\n")
    section = text[text.index("## On Spark\n") : text.index("## From Python\n")]
    page = Page(section)
    assert page.updated().rstrip() == section.rstrip()
    assert page.ran == 1


def test_without_java_the_message_says_what_to_install(monkeypatch: Any) -> None:
    from headwater.spark.session.session import SparkMissing, require_java

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SparkMissing, match=r"HW905.*openjdk-17"):
        require_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SparkMissing, match="no JAVA_HOME"):
        require_java()
