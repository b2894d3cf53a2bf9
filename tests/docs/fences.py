"""Runs the code fences of a page: what a page says that it prints, it prints.

A fence whose first line reads ```` ```csv links.csv ```` is a file; `python` fences run in order, in one namespace,
and a `text` fence right behind one is what it prints; `console` fences hold commands behind `$`, each with what it
prints. All of a page runs in one folder that also holds `examples/`. A line of three dots stands for any lines.

`python -m tests.docs.fences` writes what is printed into the pages.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from headwater.cli.main import app

ROOT = Path(__file__).parents[2]
_PAGES = ("tutorial", "operations", "how-it-works", "provenance", "networks", "protocols", "sql", "optimiser")
_COMING = ("coming-from/spark-sql", "coming-from/graphframes", "coming-from/souffle", "coming-from/materialize")
_NAMES = (*_PAGES, "performance", "lorel", "documents", "notebooks", *_COMING)
PAGES = (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in _NAMES))
FENCE = re.compile(r"^```([\w-]+)(?: +(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BESIDE = re.compile(r"\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Page:
    """A page on its way through its fences."""

    text: str
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    ran: int = 0

    def updated(self) -> str:
        """The page with everything it prints as it is printed now."""
        out, end = [], 0
        while found := FENCE.search(self.text, end):
            out.append(self.text[end : found.start()])
            end = found.end()
            kind, name, body = found.groups()
            if name is not None:
                Path(name).write_text(body, encoding="utf-8")
                out.append(found[0])
            elif kind == "python":
                printed = self._python(body)
                out.append(found[0])
                beside = BESIDE.match(self.text, end)
                if beside is not None:
                    end = beside.end()
                    out.append(f"\n\n```text\n{kept(beside[1], printed)}```")
                elif printed:
                    raise AssertionError(f"this prints, and no text fence says what:\n{body}")
            elif kind == "console":
                out.append(f"```console\n{self._console(body)}```")
            else:
                out.append(found[0])
        return "".join([*out, self.text[end:]])

    def _python(self, body: str) -> str:
        self.ran += 1
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(body, "<page>", "exec"), self.names)
        return stripped(printed.getvalue())

    def _console(self, body: str) -> str:
        out = []
        for command, expected in commands(body):
            self.ran += 1
            out.append(f"$ {command}\n{kept(expected, stripped(run(command)))}")
        return "".join(out)


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command with the lines printed behind it; a backslash at the end of a line goes on in the next."""
    for block in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        found = re.match(r"((?:.*\\\n)*.*)\n", block)
        assert found is not None
        yield found[1], block[found.end() :]


def run(command: str) -> str:
    words = shlex.split(command.replace("\\\n", " "))
    match words:
        case ["headwater", *arguments]:
            return CliRunner().invoke(app, arguments, prog_name="headwater").output
        case ["cat", name]:
            return Path(name).read_text(encoding="utf-8")
        case ["make", "run", "ENGINE=embedded"]:
            return "".join(f"{line}\n{run(line.replace('.venv/bin/', ''))}" for line in definition())
    raise AssertionError(f"no way to run {command!r} in a test")


def definition() -> list[str]:
    """The commands of `make run ENGINE=embedded`, its set-up aside."""
    made = subprocess.run(
        ["make", "--no-print-directory", "-C", str(ROOT), "-n", "run", "ENGINE=embedded", "VENV=.venv"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in made.stdout.splitlines() if line.startswith(".venv/bin/headwater")]


def stripped(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def kept(expected: str, printed: str) -> str:
    """What the page says, if that is what was printed up to lines of dots; else what was printed."""
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "..." else re.escape(f"{line}\n") for line in expected.splitlines()
    )
    return expected if re.fullmatch(pattern, printed) else printed


@contextmanager
def a_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    for path in PAGES:
        with a_folder():
            page = Page(path.read_text(encoding="utf-8"))
            path.write_text(page.updated(), encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {page.ran} run")
