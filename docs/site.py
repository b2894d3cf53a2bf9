"""The sources of the documentation site, from the pages of docs/ and from what the code and the tests know.

    python docs/site.py build/docs && mkdocs build        (make docs)

Pages are copied with their links turned to the site's own pages; a link to a file that does not exist fails. Made here:
a page per error code (its meaning, and the cases of the specs), a page per example (its text, and a picture of what
follows from what), and the reference of Python (which MkDocs fills from docstrings).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import headwater
from headwater.core.pictures.layers import Box, draw_layers
from headwater.language.terms import body_atoms
from headwater.pipeline import CompiledProgram, compile_file
from headwater.program.recursion.strata import strata

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks/index.md",
    "benchmarks": "benchmarks/index.md",
    "examples": "examples/index.md",
    "docs/examples": "examples/index.md",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```([\w-]+) +(\S+)$", re.MULTILINE)
CODE = re.compile(r"^\| (HW\d{3}) \| (.*) \|$", re.MULTILINE)
SPECS = ("language/errors", "program/errors", "language/lorel/errors", "semistructured/errors")
SHOWN_CASES = 6


def site_path(path: str) -> str | None:
    """Where a file of the repository is on the site; None: it is not on it."""
    if path in MOVED:
        return MOVED[path]
    if path.startswith("docs/") and not path.endswith(".py"):
        return path.removeprefix("docs/")
    if path.startswith("benchmarks/") and path.endswith((".md", ".png")):
        return path
    if re.fullmatch(r"examples/\w+\.(dl|sql)", path):
        return f"{path.replace('.', '_')}.md"
    return None


def turned(text: str, path: str) -> str:
    """The text of a page of the repository with links for the site, and fences that its highlighter reads."""
    here = os.path.dirname(site_path(path) or "")  # noqa: PTH120 - a path of the site, not of this machine

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        name, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(path), name))  # noqa: PTH118, PTH120
        if not (ROOT / full).exists():
            raise SystemExit(f"{path}: there is no file `{full}`")
        to = site_path(full)
        if to is None:
            return words
        return f"{picture}[{words}]({os.path.relpath(to, here or '.')}{'#' + anchor if anchor else ''})"

    inside = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts = [part if part.startswith("```") else LINK.sub(link, part) for part in inside]
    return FENCE.sub(
        lambda found: f"```{found[1]}" + (f' title="{found[2]}"' if "." in found[2] else ""), "".join(parts)
    )


def copy_pages(out: Path) -> None:
    """Every page and picture that is on the site as it is."""
    files = [path for folder in ("docs", "benchmarks") for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    for path in [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *files]:
        name = path.relative_to(ROOT).as_posix()
        to = site_path(name)
        if to is None:
            continue
        target = out / to
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(turned(path.read_text(encoding="utf-8"), name), encoding="utf-8")
        else:
            shutil.copyfile(path, target)


# Errors


def write_errors(out: Path) -> None:
    """A page per code: what it means, and the cases of its specs."""
    folder = out / "errors"
    folder.mkdir()
    codes: dict[str, str] = {}
    for page in ("language", "operations"):
        text = turned((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), f"docs/{page}.md")
        for code, meaning in CODE.findall(text):
            codes[code] = meaning.replace("](#", f"]({page}.md#").replace("](", "](../").replace("](../http", "](http")
    for code, meaning in codes.items():
        parts = [f"# {code}", _sentence(meaning)]
        cases = [case for where in SPECS for case in _cases(ROOT / "tests" / "specs" / where / f"{code}.spec")]
        for title, given, said in cases[:SHOWN_CASES]:
            parts += [
                f"## {title[0].upper()}{title[1:]}",
                _fenced("datalog", given),
                "Headwater says:",
                _fenced("text", said),
            ]
        if not cases:
            parts.append(
                "It depends on the data or on where the program runs; the message says where, why, and what to do."
            )
        (folder / f"{code}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    lines = [f"| [{code}]({code}.md) | {meaning} |" for code, meaning in sorted(codes.items())]
    head = "# Errors\n\nEvery error and warning has a number. `headwater check FILE` shows all that a program has.\n"
    (folder / "index.md").write_text("\n".join([head, "| code | meaning |", "|---|---|", *lines, ""]), encoding="utf-8")


def _cases(path: Path) -> list[tuple[str, str, str]]:
    if not path.exists():
        return []
    found = []
    for block in ("\n" + path.read_text(encoding="utf-8")).split("\n=== ")[1:]:
        title, _, rest = block.partition("\n")
        given, _, said = rest.partition("\n---\n")
        if path.stem in said:
            found.append((title, given.strip("\n"), said.strip("\n")))
    return found


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _fenced(kind: str, text: str) -> str:
    return f"````{kind}\n{text}\n````"


# Examples


def write_examples(out: Path) -> None:
    """A page per example, with a picture of its relations."""
    folder = out / "examples"
    folder.mkdir()
    lines = []
    for path in sorted((ROOT / "examples").glob("*.*")):
        if path.suffix not in (".dl", ".sql"):
            continue
        text = path.read_text(encoding="utf-8")
        about = _about(text)
        title = path.stem.replace("_", " ").capitalize()
        name = f"{path.stem}_{path.suffix[1:]}"
        draw_program(compile_file(path)).save(folder / f"{name}.svg")
        kind = "datalog" if path.suffix == ".dl" else "sql"
        parts = [
            f"# {title}",
            about,
            f"![Relations of the program, by stratum]({name}.svg)",
            _fenced(f'{kind} title="examples/{path.name}"', text),
        ]
        (folder / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        lines.append(f"| [{title}]({name}.md) | {about.partition('. ')[0].rstrip('.').replace('|', chr(92) + '|')} |")
    head = "# Examples\n\nPrograms to start from. Each is in the folder `examples/`, and the tests run it.\n"
    (folder / "index.md").write_text(
        "\n".join([head, "| example | what it does |", "|---|---|", *lines, ""]), encoding="utf-8"
    )


def _about(text: str) -> str:
    """The comment that a program opens with."""
    lines = []
    for line in text.splitlines():
        if not re.match(r"(%|--|//)", line):
            break
        lines.append(re.sub(r"^(%|--|//)+ ?", "", line))
    return re.sub(r"([<*_\[\]])", r"\\\1", " ".join(lines).strip()) or "A program."


def draw_program(program: CompiledProgram) -> object:
    """Strata as boxes: views on top, what they follow from below."""
    checked = program.checked
    groups = [stratum.relations for stratum in strata(checked)]
    recursive = {name for stratum in strata(checked) if stratum.recursive for name in stratum.relations}
    at = {name: place for place, group in enumerate(groups) for name in group}
    for relation in checked.relations:
        if relation.name not in at:
            at[relation.name] = len(groups)
            groups.append((relation.name,))
    below: dict[int, set[int]] = {place: set() for place in range(len(groups))}
    for rule in checked.rules:
        below[at[rule.head.relation]] |= {at[atom.relation] for atom, _ in body_atoms(rule)} - {at[rule.head.relation]}
    derived = {relation.name for relation in checked.relations if relation.derived}
    boxes = [
        Box(
            ", ".join(group),
            "recursive" if recursive & set(group) else "" if derived & set(group) else "base rows",
            tuple(sorted(below[place])),
            strong=not derived & set(group),
            marked=bool(set(program.outputs) & set(group)),
        )
        for place, group in enumerate(groups)
    ]
    return draw_layers("relations of the program", boxes)


# Reference


def write_reference(out: Path) -> None:
    """Pages that MkDocs fills from docstrings: every public name."""
    folder = out / "reference"
    folder.mkdir()
    homes = headwater._HOMES
    classes = [name for name in headwater.__all__ if name in homes and name[0].isupper()]
    first = ["Database", "Documents", "Guard"]
    groups = {
        "Programs": ["compile", "compile_file", "compile_sql", "register"],
        "Data": [*first, "show_progress"],
        "Errors and warnings": [name for name in classes if name not in first],
    }
    parts = [
        "# Python",
        "`import headwater as hw`. Rows go in as tuples, dicts, frames or Arrow tables.",
        "## A compiled program",
    ]
    parts.append("::: headwater.pipeline.CompiledProgram")
    for title, names in groups.items():
        parts += [f"## {title}", *(f"::: {homes[name]}.{name}" for name in names)]
    parts += ["## What is given back", *(f"::: {name}" for name in GIVEN)]
    (folder / "python.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    spark = ["# Python on Spark", "`from headwater import spark as hws`.", *(f"::: {name}" for name in spark_names())]
    (folder / "spark.md").write_text("\n\n".join(spark) + "\n", encoding="utf-8")


GIVEN = (
    "headwater.engine.border.changes.Changes",
    "headwater.engine.border.changes.RelationChange",
    "headwater.provenance.witness.proof.Proof",
    "headwater.provenance.demand.questions.Critical",
    "headwater.provenance.demand.questions.Impact",
    "headwater.core.pictures.drawing.Drawing",
    "headwater.engine.profile.Profile",
)


def spark_names() -> list[str]:
    """The public names of headwater.spark where they are defined, read from its text: PySpark may not be installed."""
    text = (ROOT / "src" / "headwater" / "spark" / "__init__.py").read_text(encoding="utf-8")
    public = set(re.findall(r'"(\w+)"', text[text.index("__all__ = [") : text.index("]")]))
    found = {}
    for module, names in re.findall(r"^\s*from (headwater\.\S+) import (\([^()]*\)|[^\n(]*)", text, re.MULTILINE):
        for name in re.findall(r"\w+", names):
            if name in public:
                found[name] = f"{module}.{name}"
    return [found[name] for name in sorted(found)]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    copy_pages(out)
    write_errors(out)
    write_examples(out)
    write_reference(out)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
