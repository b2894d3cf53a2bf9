"""Says what is wrong with a statement that the grammar refuses, and what the writer probably meant.

The parser knows only where it stopped and what it could have read there; the rest is looking at the
text around that place.
"""

from __future__ import annotations

import re
from collections.abc import Set

from headwater.core.diagnostics import Diagnostic
from headwater.language.lines import Lines
from headwater.language.stops import Stop, open_bracket, token_at, unclosed

_NO_PARAMETER = "write the variable without `$`, and ask for its value: `query p($X, Y).`"
_HABITS = (
    (re.compile(r"=>"), "`=>` is not an operator", "greater or equal is `>=`; a rule is written `head :- body`"),
    (re.compile(r"->|→|⇒"), "an arrow points from the body to the head", "write `head :- body`"),
    (re.compile(r";"), "`;` does not separate goals", "write one rule for each alternative, and `,` for `and`"),
    (re.compile(r"&&?|∧"), "`,` stands between goals", "write `,` for `and`"),
    (re.compile(r"\|\||∨"), "there is no `or` inside a rule", "write one rule for each alternative"),
    (re.compile(r"[“”„«»]"), "this is not a quotation mark of the language", 'use the straight `"`'),
    (re.compile(r"[‘’‚′]"), "this is not a quotation mark of the language", "use the straight `'`"),
    (re.compile(r"[−–]"), "this dash is not a minus sign", "use the plain `-`"),
    (re.compile(r"[×·÷]"), "this sign is not an operator", "multiply with `*`, divide with `/`"),
    (re.compile(r"[A-Z_]\w*\s*\("), "a relation or function begins with a lower-case letter", None),
    (re.compile(r":(?![-=])"), "`:` does not belong here", "an arrow is written `:-`"),
    (re.compile(r"(?:\.[0-9]+)+"), "a number has one decimal point", 'quote an address, as in `"10.0.0.1"`'),
    (re.compile(r"[<>](?!=)"), "a comparison has two sides", "an aggregate such as `min<C>` stands only in a head"),
    (re.compile(r"#include\b"), "an include names a file or labels", 'as in `#include "file.dl"` or `#include(SP1)`'),
    (re.compile(r"\?(?!-)"), "`?` is not part of the language", "a query is written `query p(X).`"),
    (re.compile(r"\$[a-z_]\w*"), "a parameter begins with an upper-case letter", "as in `$From`"),
    (re.compile(r"\$[A-Z]\w*"), "a parameter stands in a query, in the place of a value", _NO_PARAMETER),
    (re.compile(r"[0-9][0-9.]*[A-Za-z_]\w*"), "a name does not begin with a digit", 'quote it, as in `"10a"`'),
)

_TOKEN = re.compile(
    r"""[A-Za-z_]\w*(?:'\w+)*|[0-9]+(?:\.[0-9]+)?|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|:-|<-|[<>=!:]=|<>|.""", re.DOTALL
)
_STATEMENT_START = re.compile(
    r"(?:[A-Za-z_][\w'-]*\s*:(?![-=])\s*)?[a-z]\w*\s*\(|[a-z]\w*\s*(?::-|<-|←)|(?i:query|stream|relation)\s|[{#]"
)
_BRACKET = re.compile(r"""[()\[\]{}]|"[^"\n]*"|(?<!\w)'[^'\n]*'""")
_WORD_BEFORE = re.compile(r"[A-Z_]\w*\s*$")
_LONGEST_WORD = 80
_TOO_LATE = re.compile(r"\.(?![0-9])|}|:-|<-|←")  # no bracket is open where one of these stands

# Terminals of the grammar as a reader knows them, in the order in which they are offered.
_READABLE = (
    ("MORE", "`>`"),
    ("RPAR", "`)`"),
    ("RSQUARE", "`]`"),
    ("_RBRACE", "`}`"),
    ("_COLON", "`:` and a type"),
    ("_ARROW", "`:-`"),
    ("_COMMA", "`,`"),
    ("_BAR", "`|`"),
    ("_END", "`.`"),
    ("LABEL_NAME", "a label"),
)


def explain(lines: Lines, stop: Stop) -> Diagnostic:
    if stop.position >= stop.end:
        return _unfinished(lines, stop)
    if begins_statement(lines, stop):
        return _missing_stop(lines, stop)
    if _TOO_LATE.match(stop.code, stop.position) and (bracket := open_bracket(stop, _BRACKET)) is not None:
        return unclosed(lines, stop.code, bracket)
    return _habit(lines, stop) or _unexpected(lines, stop)


def begins_statement(lines: Lines, stop: Stop) -> bool:
    """Whether the text at the stop is the next statement, first on its line, after one without a full stop."""
    text = lines.source.text
    line = text.rfind("\n", 0, stop.position) + 1
    return (
        "_END" in stop.expected
        and stop.position > stop.start
        and not text[line : stop.position].strip()
        and _STATEMENT_START.match(stop.code, stop.position) is not None
    )


def _unfinished(lines: Lines, stop: Stop) -> Diagnostic:
    bracket = open_bracket(stop, _BRACKET)
    if bracket is not None:
        return unclosed(lines, stop.code, bracket)
    if "_END" in stop.expected:
        return _missing_stop(lines, stop)
    last = _end_of_code(stop)
    message = f"the text ends in the middle of a statement: expected {_expectation(stop)}"
    return Diagnostic("HW102", message, lines.span(last, last + 1))


def _missing_stop(lines: Lines, stop: Stop) -> Diagnostic:
    last = _end_of_code(stop)
    hint = "end it with `.`, or write `,` before the next goal"
    return Diagnostic("HW102", "this statement has no full stop", lines.span(last, last + 1), hint=hint)


def _habit(lines: Lines, stop: Stop) -> Diagnostic | None:
    # The parser stops at the second character of `=>`, and behind the name of `Link(X)`.
    word = _WORD_BEFORE.search(stop.code, max(stop.start, stop.position - _LONGEST_WORD), stop.position)
    for position in (word.start() if word else stop.position, max(stop.start, stop.position - 1), stop.position):
        for pattern, message, hint in _HABITS:
            found = pattern.match(stop.code, position)
            if found is not None and found.end() > stop.position:
                if hint is None:
                    hint = f"write `{found[0][0].lower()}{found[0][1:-1].rstrip()}(...)`, or quote a value"
                return Diagnostic("HW101", message, lines.span(position, found.end()), hint=hint)
    return None


def _unexpected(lines: Lines, stop: Stop) -> Diagnostic:
    token, shown, span = token_at(stop, _TOKEN, lines)
    character = token[0]
    if not (character.isascii() and character.isprintable()):
        named = character if character.isprintable() else f"U+{ord(character):04X}"
        return Diagnostic("HW112", f"`{named}` is not part of the language", span, hint="text goes in quotes")
    if character in "$^\\" or (character == "?" and token == "?"):
        return Diagnostic("HW112", f"`{character}` is not part of the language", span)
    hint = "a query asks for one relation: join others to it in a rule" if "WINDOW" in stop.expected else None
    return Diagnostic("HW101", f"unexpected `{shown}`, expected {_expectation(stop)}", span, hint=hint)


def _expectation(stop: Stop) -> str:
    expected = _possible(stop)
    words = []
    if "LABEL" in expected:
        words.append("a rule, a declaration or a query")
    elif "NOT" in expected:
        words.append("a goal")
    elif {"VARIABLE", "NUMBER"} <= expected:
        words.append("a value")
    elif {"VARIABLE", "NAME"} <= expected and "_COMMA" not in expected:
        words.append("a name")
    elif "NAME" in expected and "_END" not in expected and "_COMMA" not in expected:
        words.append("the name of a relation")
    elif "WINDOW" in expected:
        words.append("`WINDOW(...)`")
    elif "NUMBER" in expected:
        words.append("a number")
    words += [word for name, word in _READABLE if name in expected]
    if not words:
        return "the end of the statement"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _possible(stop: Stop) -> Set[str]:
    """What the parser expects, less what the open brackets rule out: its states do not tell brackets apart."""
    bracket = open_bracket(stop, _BRACKET)
    if bracket is None:
        return stop.expected - {"RPAR", "RSQUARE", "_BAR", "_RBRACE", "MORE"}
    fitting = {"(": {"RPAR"}, "[": {"RSQUARE", "_BAR"}, "{": {"_RBRACE"}}[stop.code[bracket]]
    if stop.code.rfind("<", bracket, stop.position) > stop.code.rfind(">", bracket, stop.position):
        fitting = {"MORE"}
    return stop.expected - ({"RPAR", "RSQUARE", "_BAR", "_RBRACE", "_END", "_ARROW", "MORE"} - fitting)


def _end_of_code(stop: Stop) -> int:
    """Just behind the last character of code before the stop."""
    return stop.start + len(stop.code[stop.start : stop.position].rstrip())
