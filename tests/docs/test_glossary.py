"""The glossary does not lie: its words are sorted, the code uses them, and it covers what classes are named after."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import pairwise

import pytest

from tests.docs.fences import ROOT

SOURCE = ROOT / "src" / "headwater"
WORDS = re.findall(r"^\| \*\*(.+?)\*\* \|", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)

KEEP = re.findall(
    r"[\w-]+",
    "row change transaction round stratum delta-rule witness proof lease ghost mark pull shard ship window",
)

# Classes of these are named after parts of Datalog, SQL, files, options, errors, questions and web servers.
NAMED_BY_OTHERS = ("cli/", "core/", "files/", "language/", "questions.py", "serve/")

# Words of other class names that every programmer knows.
ORDINARY = frozenset(
    re.findall(
        r"\w+",
        """
        absent arrived attempt before begin best certificate check column committed console context delays
        delivery density done edge encoded ended ends entry expressions field finished folder folders grid
        incoming join keeps large let line lists literal looks lost memory mention missing mode names
        nullability opened outgoing owned preflight reader reading reads reason received refused rejection
        runner saved search seen sel server shape shown side space spelling step stub test text token topic
        translation types unsound use value var verdict why wide writer written
        """,
    )
)


def test_the_words_are_sorted_and_there_once() -> None:
    assert sorted(set(WORDS)) == WORDS
    assert set(KEEP) <= {word.replace(" ", "-") for word in WORDS}


@pytest.mark.parametrize("word", WORDS)
def test_the_code_uses_the_word(word: str) -> None:
    """As a part of a name, or in a docstring: `delta rule` is `DeltaRule`, `delta_rule` or spelt out."""
    *first, last = word.split()
    assert any((*first, form) in used_words() for form in spellings(last))


def test_classes_are_named_after_words_of_the_glossary() -> None:
    known = ORDINARY | {forms for word in WORDS for part in word.split() for forms in spellings(part)}
    assert {name: path for name, path in public_classes() if not known & {*parts(name)}} == {}


def test_no_ordinary_word_is_without_use() -> None:
    used = {part for name, _ in public_classes() for part in parts(name)}
    assert sorted(ORDINARY - used) == []
    assert sorted(ORDINARY & set(WORDS)) == []


def spellings(word: str) -> set[str]:
    """The word itself, its plural, its participle, and who does it."""
    stem = word.removesuffix("e")
    plurals = {f"{word}s", f"{word}es", f"{word[:-1]}ies"}
    return {word, *plurals, f"{stem}ed", f"{word}{word[-1]}ed", f"{word[:-1]}ied", f"{stem}er", f"{stem}or"}


def parts(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", name)]


@cache
def public_classes() -> tuple[tuple[str, str], ...]:
    return tuple(
        (node.name, path.relative_to(SOURCE).as_posix())
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and not path.relative_to(SOURCE).as_posix().startswith(NAMED_BY_OTHERS)
    )


@cache
def used_words() -> frozenset[tuple[str, ...]]:
    """All words of the code and all pairs of neighbours, in lower case, with names taken apart."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py")))
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower())
    return frozenset((word,) for word in words) | frozenset(pairwise(words))
