"""Resolves `#include`: other files' statements take the place of the line that asks for them.

`#include "file"` brings in the whole file, found relative to the file that includes it; a file that
is asked for twice comes in once. `#include(SP2, SP3)` picks rules by label from the files that the
same text has included before it, and `#include "file" (SP2, SP3)` from that file. A file that rules
are picked from is a library: its declarations come in, its other rules and its queries do not.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source, Span
from headwater.language.syntax import Declaration, Include, Rule, Statement

# From the path as written and the directive that names it to the text, or to why there is none.
Reader: TypeAlias = Callable[[str, Span | None], Source | Diagnostic]
Statements: TypeAlias = tuple[list[Statement | Include], list[Diagnostic]]

_DEEPEST = 50  # files that include one another in a row


def read_file(path: str, directive: Span | None) -> Source | Diagnostic:
    """The file at `path`, relative to the file of the directive that includes it."""
    name = path
    if directive is not None and directive.source.name and not directive.source.name.startswith("<"):
        name = str(Path(directive.source.name).parent / path)
    try:
        if not Path(name).is_file():  # a device or a pipe could block or never end
            return _unreadable(name, "not a file" if Path(name).exists() else "there is no such file", directive)
        return Source(name, Path(name).read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        return _unreadable(name, f"it is not UTF-8 text (byte {error.start})", directive)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return _unreadable(name, reason.lower(), directive)


def read_nothing(path: str, directive: Span | None) -> Source | Diagnostic:
    """For a text that may come from elsewhere: no file of this machine is read for it."""
    return _unreadable(path, "a saved program holds all its statements, and reads no file", directive)


def resolve(
    source: Source, read: Reader, parse: Callable[[Source], Statements]
) -> tuple[list[Statement], list[Diagnostic]]:
    """The statements of a text with those of its included files in place, and everything that is wrong."""
    return _Resolver(read, parse).text(source, ())


def _unreadable(name: str, reason: str, directive: Span | None) -> Diagnostic:
    return Diagnostic("HW113", f"cannot read `{name}`: {reason}", directive)


class _Resolver:
    def __init__(self, read: Reader, parse: Callable[[Source], Statements]) -> None:
        self._read = read
        self._parse = parse
        self._pasted: set[str] = set()
        self._problems: list[Diagnostic] = []

    def text(self, source: Source, above: tuple[str, ...]) -> tuple[list[Statement], list[Diagnostic]]:
        statements, problems = self._parse(source)
        self._problems += problems
        return self._paste(statements, (*above, _identity(source))), self._problems

    def _paste(self, statements: list[Statement | Include], above: tuple[str, ...]) -> list[Statement]:
        # A label include turns the files before it into libraries, so those before the last one are.
        last_pick = max((at for at, it in enumerate(statements) if _picks_from_above(it)), default=-1)
        result: list[Statement] = []
        library: list[Statement] = []
        for at, statement in enumerate(statements):
            if not isinstance(statement, Include):
                result.append(statement)
            elif statement.path is None:
                result += self._pick(library, statement)
            elif statement.labels:
                found = self._file(statement, above)
                result += [*_declarations(found), *self._pick(found, statement)]
                library += found
            elif at < last_pick:
                found = self._file(statement, above)
                result += _declarations(found)
                library += found
            else:
                result += self._file(statement, above, once=True)
        return result

    def _file(self, include: Include, above: tuple[str, ...], *, once: bool = False) -> list[Statement]:
        assert include.path is not None
        found = self._read(include.path, include.span)
        if isinstance(found, Diagnostic):
            self._problems.append(found)
            return []
        name = _identity(found)
        if name in above:
            cycle = " -> ".join(f"`{Path(step).name}`" for step in (*above[above.index(name) :], name))
            self._report("HW114", "this file includes itself", include, note=f"the cycle is {cycle}")
            return []
        if len(above) > _DEEPEST:
            self._report("HW114", f"files include one another more than {_DEEPEST} levels deep", include)
            return []
        if once and name in self._pasted:
            return []
        if once:
            self._pasted.add(name)
        return self.text(found, above)[0]

    def _pick(self, library: list[Statement], include: Include) -> list[Statement]:
        labels = [statement.label for statement in library if isinstance(statement, Rule) and statement.label]
        for label in include.labels:
            if label not in labels:
                close = get_close_matches(label, labels, 1)
                message = f"no rule with the label `{label}` in the files included so far"
                note = f"the labels there are {', '.join(dict.fromkeys(labels))}" if labels else None
                hint = _label_hint(close[0] if close else None, known=bool(labels))
                self._report("HW115", message, include, note=note, hint=hint)
        wanted = frozenset(include.labels)
        return [statement for statement in library if isinstance(statement, Rule) and statement.label in wanted]

    def _report(
        self, code: str, message: str, include: Include, *, note: str | None = None, hint: str | None = None
    ) -> None:
        self._problems.append(Diagnostic(code, message, include.span, note, hint))


def _label_hint(close: str | None, *, known: bool) -> str | None:
    if close is not None:
        return f"did you mean `{close}`?"
    return None if known else 'include the file first: `#include "file.dl"`'


def _picks_from_above(statement: Statement | Include) -> bool:
    return isinstance(statement, Include) and statement.path is None


def _declarations(statements: list[Statement]) -> list[Statement]:
    return [statement for statement in statements if isinstance(statement, Declaration)]


def _identity(source: Source) -> str:
    if source.name.startswith("<"):
        return source.name
    try:
        return str(Path(source.name).resolve())
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, or a loop of links
        return source.name
