"""`headwater tail`: what it prints leads from an earlier state of a view to the present one; what is wrong is said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headwater.cli.main import app
from tests.serve.serving import COMMAND, PATIENCE, ROOT, TOKEN, Server, serving


def tail(*words: str, token: str = TOKEN) -> Any:
    return CliRunner().invoke(app, ["tail", *words], env={"HEADWATER_TOKEN": token})


def test_the_lines_lead_from_one_state_to_the_next(routes: Server) -> None:
    found = tail(routes.url, "fastest", "--after", "0", "--count", "3", "--format", "json")
    assert found.exit_code == 0, found.output
    rows = set(routes.rows("fastest", at=0, limit=1000))
    for line in found.stdout.splitlines():
        change = json.loads(line)
        kind, number = change.pop("_change_type"), change.pop("_transaction")
        assert 1 <= number <= 3
        row = tuple(tuple(value) if isinstance(value, list) else value for value in change.values())
        assert (row in rows) == (kind == "delete")
        rows ^= {row}
    assert rows == set(routes.rows("fastest", at=3, limit=1000))


def test_lines_for_people(routes: Server) -> None:
    found = tail(f"127.0.0.1:{routes.port}", "link", "--after", "0", "--count", "1")
    assert found.stdout == "1\t-\tlink(madrid, paris, 12)\n"


def test_refusals_are_told(routes: Server) -> None:
    wrong = tail(f"http://127.0.0.1:{routes.port}", "fastest", token="wrong")
    assert (wrong.exit_code, "the token is wrong or missing" in wrong.stderr) == (1, True)
    unknown = tail(routes.url, "nonsense")
    assert (unknown.exit_code, "there is no relation of this name" in unknown.stderr) == (1, True)
    nowhere = tail("http://127.0.0.1:9", "fastest")
    assert (nowhere.exit_code, "the server does not answer" in nowhere.stderr) == (2, True)
    assert tail("ftp://127.0.0.1", "fastest").exit_code == 2


def test_a_server_that_is_started_anew_is_followed_from_its_beginning(tmp_path: Path) -> None:
    program, links = f"{ROOT}/examples/routes.dl", f"link={ROOT}/examples/network/links.csv"
    feed = tmp_path / "feed.jsonl"
    feed.write_text(json.dumps({"_change_type": "delete", "a": "madrid", "b": "paris", "ms": 12}) + "\n")
    arguments = (program, "-i", links, "--changes", "feed.jsonl", "--batch", "1")
    with serving(tmp_path, *arguments) as server:
        command = [*COMMAND, "tail", server.url, "link", "--after", "0", "--count", "2"]
        follower = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=sys.stderr)
        assert follower.stdout is not None
        assert follower.stdout.readline() == "1\t-\tlink(madrid, paris, 12)\n"
        port = server.port
        server.process.kill()
        server.process.wait()
    with serving(tmp_path, *arguments, port=port):
        assert follower.stdout.readline() == "1\t-\tlink(madrid, paris, 12)\n"
        assert follower.wait(PATIENCE) == 0
    follower.stdout.close()
