"""The text of a RapidNet program, statement by statement: tables, rules, and what is wrong with them.

    materialize(link, infinity, infinity, keys(1,2)).
    r1 path(@X,Y,C,P) :- link(@X,Y,C), P1:=f_append(X), P2:=f_append(Y), P:=f_concat(P1,P2).
    r2 delete route(@X,Y) :- lost(@X,Y).

`parse` reads the files that the text includes, fills in `#define`, cuts the texts into statements and these into heads
and goals; it raises nothing, and gives its findings (HW815, HW113) with the program. A file is found beside the text
that includes it, and read once however often it is included. A relation that is not materialized is an event;
`periodic` is one always.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source, Span
from headwater.language.datalog.include import read_file

NO_PLACE = "HW815"
AGGREGATE = re.compile(r"a_(MIN|MAX|COUNT|SUM|AVG)\s*<\s*(\*|@?\w+)\s*>$")
CLOCKS = re.compile(r"\bf_(?:now|rand)\(\s*\)")  # functions whose value is another at each moment
_MATERIALIZE = re.compile(
    r"materialize\(\s*(\w+)\s*,\s*([\w.]+)\s*,\s*([\w.]+)\s*,\s*keys\s*\(([^)]*)\)\s*\)\s*$", re.DOTALL
)
_INCLUDE = re.compile(r"^#include\b[^\n]*", re.MULTILINE)
_DEFINE = re.compile(r"^#define\s+(\w+)\s+(\S+)\s*$", re.MULTILINE)
_DEFINE_LINE = re.compile(r"^#define[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"(?:(\w+)\s+)??(delete\s+)?(\w+)\s*\((.*)$", re.DOTALL)


@dataclass(slots=True)
class RapidAtom:
    """A goal over a relation, or a head; arguments as they are written."""

    name: str
    args: list[str]
    link: bool = False
    negated: bool = False

    def text(self) -> str:
        return f"{'!' if self.negated else ''}{'#' if self.link else ''}{self.name}({', '.join(self.args)})"

    @property
    def place(self) -> str:
        """The variable or constant that says where the row is."""
        return bare(self.args[0]) if self.args else ""


@dataclass(slots=True)
class RapidRule:
    """A rule; goals that are no atoms are text."""

    label: str | None
    head: RapidAtom
    goals: list[RapidAtom | str]
    span: Span
    deletes: bool = False

    @property
    def atoms(self) -> list[RapidAtom]:
        return [goal for goal in self.goals if isinstance(goal, RapidAtom)]

    @property
    def uses_clock(self) -> bool:
        return any(atom.name == "periodic" for atom in self.atoms)

    @property
    def conditions(self) -> list[str]:
        return [goal for goal in self.goals if isinstance(goal, str)]


@dataclass(frozen=True, slots=True)
class RapidTable:
    """A materialized relation: how long a row lives and how many there are at a node; None is for ever, and any."""

    lifetime: float | None
    size: int | None
    keys: tuple[int, ...]
    span: Span


@dataclass(slots=True)
class RapidProgram:
    """A program as it is written, and what is wrong with it."""

    source: Source
    tables: dict[str, RapidTable] = field(default_factory=dict)
    rules: list[RapidRule] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)

    def refuse(self, message: str, span: Span, hint: str) -> None:
        self.found.append(Diagnostic(NO_PLACE, message, span, hint=hint))

    def is_event(self, name: str) -> bool:
        return name == "periodic" or (self.has_events and name not in self.tables)

    @property
    def has_events(self) -> bool:
        """Whether relations that are not materialized are events: not in a program that knows no tables at all."""
        return bool(self.tables) or any(rule.deletes or rule.uses_clock for rule in self.rules)

    def events_of(self, rule: RapidRule) -> list[RapidAtom]:
        """The atoms of a rule's body that are events."""
        return [atom for atom in rule.atoms if self.is_event(atom.name)]

    def key(self, name: str, arity: int) -> tuple[int, ...]:
        """The key columns of a table, all if it names none; the location always belongs to them."""
        keys = self.tables[name].keys if name in self.tables else ()
        return tuple(sorted({0, *(at for at in keys if at < arity)})) if keys else tuple(range(arity))


def parse(text: str, name: str) -> RapidProgram:
    """The program of a text."""
    program = RapidProgram(Source(name, _uncommented(text)))
    sources = [_without_includes(source) for source in _included(program, program.source, {_file(name)})]
    program.source = sources[-1]
    for statement, span in _statements_of(sources):
        if table := _MATERIALIZE.match(statement):
            _materialize(program, table, span)
        elif ":-" in statement:
            _rule(program, statement, span)
        elif statement:
            program.refuse("this is no statement of RapidNet", span, "write a rule, or materialize(...)")
    if not program.rules and not program.found:
        program.refuse("the text has no rules", Span(program.source, 0, 0, 1, 1), "write a rule")
    return program


def _materialize(program: RapidProgram, found: re.Match[str], span: Span) -> None:
    name, lifetime, size, keys = found.groups()
    if size != "infinity" and not re.fullmatch(r"[1-9][0-9]*", size):
        program.refuse(f"`{size}` is no number of rows", span, "write a whole number above 0, or `infinity`")
        size = "infinity"
    if lifetime != "infinity" and (not re.fullmatch(r"[0-9]+(\.[0-9]+)?", lifetime) or not float(lifetime)):
        program.refuse(f"`{lifetime}` is no lifetime", span, "write seconds, or `infinity`")
        lifetime = "infinity"
    if name == "periodic":
        program.refuse("`periodic` is an event and no table", span, "leave out the statement")
        return
    places = tuple(int(key.split(":")[0]) - 1 for key in keys.split(",") if key.split(":")[0].strip().isdigit())
    program.tables[name] = RapidTable(
        None if lifetime == "infinity" else float(lifetime), None if size == "infinity" else int(size), places, span
    )


def _rule(program: RapidProgram, text: str, span: Span) -> None:
    left, _, right = text.partition(":-")
    found = _RULE.match(left.strip())
    if found is None or not left.strip().endswith(")"):
        program.refuse("this rule has no head", span, "write `r1 p(@X, Y) :- q(@X, Y).`")
        return
    label, delete, name, rest = found.groups()
    if label == "delete":
        label, delete = None, "delete"
    head = RapidAtom(name, split(rest.rstrip()[:-1]))
    goals: list[RapidAtom | str] = []
    for goal in split(right):
        atom = re.fullmatch(r"(!\s*)?([a-z]\w*)(@\w+)?\s*\((.*)\)", goal, re.DOTALL)
        if atom and not atom[2].startswith("f_"):
            args = split(atom[4])
            goals.append(RapidAtom(atom[2], [atom[3], *args] if atom[3] else args, negated=bool(atom[1])))
        else:
            goals.append(goal)
    program.rules.append(RapidRule(label, head, goals, span, deletes=bool(delete)))


def _included(program: RapidProgram, source: Source, seen: set[str]) -> list[Source]:
    """The texts that a text includes, each before those that include it, and the text itself."""
    found = []
    for line in _INCLUDE.finditer(source.text):
        span = Span(source, line.start(), line.end(), source.text.count("\n", 0, line.start()) + 1, 1)
        path = re.fullmatch(r'#include\s+"([^"]+)"\s*', line[0])
        if path is None:
            program.refuse("this includes no file", span, 'write #include "file.olg"')
            continue
        read = read_file(path[1], span)
        if isinstance(read, Diagnostic):
            program.found.append(read)
        elif _file(read.name) not in seen:
            seen.add(_file(read.name))
            found += _included(program, Source(read.name, _uncommented(read.text)), seen)
    return [*found, source]


def _file(name: str) -> str:
    """What tells one file from another, however its path is written."""
    return name if name.startswith("<") else os.path.realpath(name)


def _uncommented(text: str) -> str:
    """The text without comments; in their place, as many lines."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def _without_includes(source: Source) -> Source:
    return Source(source.name, _INCLUDE.sub("", source.text))


def _statements_of(sources: list[Source]) -> list[tuple[str, Span]]:
    """The statements of all texts; what one of them defines is filled in everywhere."""
    words = dict(found for source in sources for found in _DEFINE.findall(source.text))
    texts = [_DEFINE_LINE.sub("", source.text) for source in sources]
    for word, value in words.items():
        texts = [re.sub(rf"\b{word}\b", lambda _, value=value: value, text) for text in texts]  # type: ignore[misc]
    found = []
    for source, text in zip(sources, texts, strict=True):
        found += _statements(Source(source.name, text))
    return found


def _statements(source: Source) -> list[tuple[str, Span]]:
    found, start, depth = [], 0, 0
    text = source.text
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "." and depth <= 0 and (at + 1 == len(text) or text[at + 1].isspace()):
            found.append(_piece(source, start, at))
            start, depth = at + 1, 0
    if text[start:].strip():
        found.append(_piece(source, start, len(text)))
    return found


def _piece(source: Source, start: int, end: int) -> tuple[str, Span]:
    body = source.text[start:end]
    first = start + len(body) - len(body.lstrip())
    line = source.text.count("\n", 0, first) + 1
    return body.strip(), Span(source, first, end, line, first - source.text.rfind("\n", 0, first))


def split(text: str) -> list[str]:
    """Parts between the commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def bare(arg: str) -> str:
    """An argument without its mark and its aggregate."""
    found = AGGREGATE.match(arg)
    return (found[2] if found else arg).lstrip("@")


def is_variable(word: str) -> bool:
    return bool(re.fullmatch(r"[A-Z]\w*", word))
