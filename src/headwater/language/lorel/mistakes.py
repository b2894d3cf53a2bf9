"""Says what is wrong with a statement that Lorel's grammar refuses, and what the writer probably meant."""

from __future__ import annotations

import re
from difflib import get_close_matches

from headwater.core.diagnostics import Diagnostic
from headwater.language.lines import Lines
from headwater.language.stops import Stop, open_bracket, token_at, unclosed

_TOKEN = re.compile(
    r"""[^\W\d]\w*|[0-9]+(?:\.[0-9]+)?|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`|&[0-9]+|[<>=!:+-]=|<>|.""", re.DOTALL
)
_BRACKET = re.compile(r"""[()\[\]{}]|"[^"\n]*"|(?<!\w)'[^'\n]*'|`[^`\n]*`""")

# What is written by habit from other languages, and what it is called here. First match wins.
_HABITS = (
    (
        re.compile(r"\*(?=\s*(?:from\b|$))", re.IGNORECASE),
        "`*` does not select everything",
        "select a variable, and add `with e.#`",
    ),
    (
        re.compile(r"\$\.?"),
        "a path does not begin with `$`",
        "begin it with a name or a variable, as in `Guide.Restaurant`",
    ),
    (re.compile(r"\.\."), "`..` is no step of a path", "any path is written `.#`, as in `Guide.#.Name`"),
    (re.compile(r"\[\s*\*\s*\]"), "a label reaches every item of an array already", "leave `[*]` out"),
    (re.compile(r"\[\s*[\"']"), "a label stands behind a dot", 'as in `r."first name"`'),
    (re.compile(r"\[\s*-"), "places count from the start, from 0", None),
    (re.compile(r"\[\s*\?"), "conditions stand in the where clause", None),
    (re.compile(r"(?:join|group|having|distinct)\b", re.IGNORECASE), "there is no `{0}` in Lorel", None),
    (
        re.compile(r"is\b", re.IGNORECASE),
        "a null is compared with `=`",
        "as in `r.Name = null`, or `not exists r.Name` if there is none",
    ),
    (re.compile(r"limit\b", re.IGNORECASE), "a limit is a number at the end", "as in `order by o.id limit 10`"),
    (
        re.compile(r"(?:offset|fetch)\b", re.IGNORECASE),
        "there is no `{0}` in Lorel",
        "a view has the first objects: `limit 10`",
    ),
    (
        re.compile(r"(?<=#)@|(?<=[)*+?])@"),
        "a path of any length has no one label",
        "bind the label of one step, as in `r.#.%@L`",
    ),
    (re.compile(r"[”„«»]"), "this is not a quotation mark of the language", 'use the straight `"`'),
    (re.compile(r"[‘’‚′]"), "this is not a quotation mark of the language", "use the straight `'`"),
    (re.compile(r"(?<=\w)-(?=\w)"), "a label with `-` in it stands in quotes", 'as in `r."user-id"`'),
    (re.compile(r":=|="), "a comparison has two sides", None),
)
_CLAUSES = ("select", "from", "where", "with", "order", "define", "update", "exists", "like")
_WORDS = {
    "join": "write both paths into the from clause, and compare them in the where clause",
    "group": "aggregates range over a path, as in `select r.Name, n: count(r.Entree) from Guide.Restaurant r`",
    "having": "aggregates may stand in the where clause, as in `count(r.Entree) > 3`",
    "distinct": "a view is a set of objects already",
}

# Terminals of the grammar as a reader knows them, in the order in which they are offered.
_READABLE = (
    ("SELECT", "`select`"),
    ("DEFINE", "`define view`"),
    ("VIEW", "`view`"),
    ("AS", "`as`"),
    ("EQ", "`=`"),
    ("COMPARE", "a comparison"),
    ("_COLON", "`:`"),
    ("_IN", "`in`"),
    ("FROM", "`from`"),
    ("WHERE", "`where`"),
    ("_DOT", "`.` and a label"),
    ("SET", "`:=`, `+=` or `-=`"),
    ("_LSQUARE", "`[`"),
    ("INDEX", "a number"),
    ("_RPAR", "`)`"),
    ("_RSQUARE", "`]`"),
    ("_RBRACE", "`}`"),
    ("_COMMA", "`,`"),
    ("OID", "an object such as `&10`"),
)


def explain_stop(lines: Lines, stop: Stop) -> Diagnostic:
    bracket = open_bracket(stop, _BRACKET)
    if stop.position >= stop.end:
        if bracket is not None:
            return unclosed(lines, stop.code, bracket)
        last = stop.start + len(stop.code[stop.start : stop.position].rstrip())
        message = f"the statement ends too early: expected {_expectation(stop)}"
        return Diagnostic("HW151", message, lines.span(max(stop.start, last - 1), last))
    return _habit(lines, stop) or _unexpected(lines, stop)


def _habit(lines: Lines, stop: Stop) -> Diagnostic | None:
    for position in (stop.position, max(stop.start, stop.position - 1)):
        for pattern, message, hint in _HABITS:
            found = pattern.match(stop.code, position)
            if found is not None and found.end() > stop.position:
                word = found[0].lower()
                return Diagnostic(
                    "HW150", message.format(word), lines.span(position, found.end()), hint=hint or _WORDS.get(word)
                )
    return None


def _unexpected(lines: Lines, stop: Stop) -> Diagnostic:
    token, shown, span = token_at(stop, _TOKEN, lines)
    character = token[0]
    if not character.isprintable():
        return Diagnostic("HW150", f"`U+{ord(character):04X}` is not part of the language", span)
    begins = re.match(r"(?:define|select|update)\b", token, re.IGNORECASE) is not None
    hint = "end the statement before it with `;`" if begins and stop.code[stop.start : stop.position].strip() else None
    near = get_close_matches(token.lower(), _CLAUSES, 1, 0.75)
    if near and near[0] != token.lower():
        hint = f"did you mean `{near[0]}`?"
    return Diagnostic("HW150", f"unexpected `{shown}`, expected {_expectation(stop)}", span, hint=hint)


def _expectation(stop: Stop) -> str:
    expected = stop.expected
    words = []
    if "UPDATE" in expected:
        return "`define view`, `select` or `update`"
    if "EXISTS" in expected:
        words.append("a condition")
    elif "NUMBER" in expected:
        words.append("a value or a path")
    elif "LABEL" in expected:
        words.append("a label")
    elif "NAME" in expected and not {"_COMMA", "FROM", "WHERE", "_RPAR"} & set(expected):
        words.append("a name")
    if not words:
        words = [word for terminal, word in _READABLE if terminal in expected][:4]
    if not words:
        return "`;`"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
