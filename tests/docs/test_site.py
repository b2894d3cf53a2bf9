"""The documentation site builds, with every link and name of it found; broken ones fail."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.fences import ROOT


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("headwater_site", ROOT / "docs" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_builds_without_a_warning(site: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strict: MkDocs fails at a page, a heading or a name of Python that is not there."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    site.main(tmp_path / "docs")
    built = tmp_path / "site"
    build(load_config(str(ROOT / "mkdocs.yml"), docs_dir=str(tmp_path / "docs"), site_dir=str(built), strict=True))
    assert (built / "search" / "search_index.json").stat().st_size > 100_000
    codes = {code for page in ("language", "operations") for code in codes_of(page)}
    assert {path.name for path in (built / "errors").iterdir() if path.is_dir()} == codes
    assert "variable `Z` in the rule head" in (built / "errors" / "HW301" / "index.html").read_text(encoding="utf-8")
    assert 'class="nf"' in (built / "examples" / "permissions_dl" / "index.html").read_text(encoding="utf-8")
    reference = (built / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    assert 'id="headwater.database.Database.apply"' in reference
    assert 'id="headwater.spark.maintain.maintain"' in (built / "reference/spark/index.html").read_text(
        encoding="utf-8"
    )
    start = (built / "index.html").read_text(encoding="utf-8")
    assert 'src="page/views.png"' in start
    assert not re.search(r'(src|href)="https?://[^"]*\.(js|css|woff2?)"', start)


def codes_of(page: str) -> list[str]:
    return re.findall(r"^\| (HW\d{3}) \|", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_a_link_to_a_file_that_is_not_there_fails(site: ModuleType) -> None:
    assert site.turned("[a](spark.md#time)", "docs/page.md") == "[a](spark.md#time)"
    assert site.turned("[a](docs/spark.md)", "README.md") == "[a](spark.md)"
    assert site.turned("[a](../examples/routes.dl)", "docs/page.md") == "[a](examples/routes_dl.md)"
    assert site.turned("[a](../../README.md)", "docs/coming-from/souffle.md") == "[a](../index.md)"
    with pytest.raises(SystemExit, match=r"there is no file `docs/nowhere\.md`"):
        site.turned("[a](nowhere.md)", "docs/page.md")
