"""Servers that several tests ask: loading a program takes a second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serve.serving import ROOT, Server, serving


@pytest.fixture(scope="session")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The example network, with three events applied."""
    feed = (ROOT / "examples" / "network" / "events.jsonl").read_text(encoding="utf-8").splitlines()[:3]
    folder = tmp_path_factory.mktemp("routes")
    (folder / "feed.jsonl").write_text("".join(f"{line}\n" for line in feed), encoding="utf-8")
    arguments = ("-i", f"link={ROOT}/examples/network/links.csv", "--changes", "feed.jsonl", "--batch", "1")
    with serving(folder, f"{ROOT}/examples/routes.dl", *arguments) as server:
        server.until(3)
        yield server
