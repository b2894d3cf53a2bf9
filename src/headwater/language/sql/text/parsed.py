"""An SQL text as tokens and parsed queries, with the place of everything in it.

Every problem that the translation finds is raised as `Refused` with a diagnostic that points into this text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, TokenError

from headwater.core.diagnostics import Diagnostic
from headwater.core.source import Source, Span
from headwater.language.lines import Lines
from headwater.language.sql.text.plainer import plainer

Place: TypeAlias = exp.Expr | Token | Span | None

DEEPEST = 60  # brackets within brackets: the parser and everything after it may recurse without a care
_DIALECT = Dialect.get_or_raise("spark")
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


class NotTranslated(Exception):
    """A piece of SQL that cannot be translated; caught where the next piece begins."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class SqlText:
    """An SQL text, its tokens, and the place of each of them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lines = Lines(source)
        self._behind_commas: set[int] = set()

    def tokens(self) -> list[Token]:
        try:
            found = list(_DIALECT.tokenize(self.source.text.replace("\ufeff", " ")))
        except TokenError:
            start = _unclosed(self.source.text)
            message = "a quotation mark or a comment is not closed"
            hint = "close it where the text or the name ends"
            self.refuse("HW103", message, self._lines.span(start, start + 1), hint=hint)
        depth = 0
        for token in found:
            if token.token_type in _OPENING:
                depth += 1
                if depth > DEEPEST:
                    self.refuse("HW106", "this is nested too deep", token, hint="name a part of it with WITH")
            elif token.token_type in _CLOSING:
                depth -= 1
        return found

    def parse(self, tokens: Sequence[Token], place: Place) -> exp.Expr:
        """The one query that these tokens are."""
        if not tokens:
            self.refuse("HW102", "a query is missing here", place, hint="write SELECT ... FROM ...")
        for token, behind in pairwise(tokens):
            if token.token_type is TokenType.COMMA and behind.token_type in (TokenType.FROM, TokenType.WHERE):
                self.refuse("HW101", "nothing follows this comma", token, hint="leave it out, or name one more column")
        self._refuse_placeholders(tokens)
        self._note_commas(tokens)
        try:
            parsed = _DIALECT.parser(error_level=ErrorLevel.RAISE).parse(list(tokens), self.source.text)
        except ParseError as error:
            self._misread(error, tokens)
        except RecursionError:
            self.refuse("HW106", "this query is nested too deep", tokens[0], hint="name a part of it with WITH")
        (query,) = parsed if len(parsed) == 1 else (None,)
        if not isinstance(query, exp.Query | exp.Values):
            note = "Headwater reads CREATE TABLE, CREATE STREAM, CREATE VIEW, WITH and SELECT"
            hint = "rows come from files, frames or `db.apply`, never from SQL"
            self.refuse("HW101", "this is not a query", tokens[0], note=note, hint=hint)
        return plainer(query)

    def _refuse_placeholders(self, tokens: Sequence[Token]) -> None:
        """`?`, `:name` and `${name}` stand for a value that another program would put there."""
        for token in tokens:
            if token.token_type in (TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.COLON):
                hint = "write the value itself, or bring it as a row of a table and join with it"
                self.refuse("HW117", "placeholders for values are not supported", token, hint=hint)

    def _note_commas(self, tokens: Sequence[Token]) -> None:
        comma = False
        for token in tokens:
            if token.token_type is TokenType.COMMA:
                comma = True
            elif comma and token.token_type is not TokenType.L_PAREN:
                self._behind_commas.add(token.start)
                comma = False

    def follows_comma(self, node: exp.Expr) -> bool:
        """Whether a comma stands before it, with nothing but brackets between."""
        span = self.span(node)
        return span is not None and span.start in self._behind_commas

    def _misread(self, error: ParseError, tokens: Sequence[Token]) -> NoReturn:
        first_error: dict[str, Any] = error.errors[0] if error.errors else {}
        place = first_error.get("line"), first_error.get("col")
        at = next((token for token in tokens if (token.line, token.col) == place), tokens[-1])
        ends = at is tokens[-1]
        what = f"syntax error at `{self._cut(at)}`"
        if ends:
            what = f"the query ends too early, at `{self._cut(at)}`"
        first = tokens[0].text.upper()
        close = get_close_matches(first, ("SELECT", "WITH", "CREATE", "VALUES"), 1)
        if close and close[0] != first:
            self.refuse("HW101", f"`{tokens[0].text}` begins no statement", tokens[0], hint=f"did you mean {close[0]}?")
        self.refuse("HW102" if ends else "HW101", what, at, note=_said(str(first_error.get("description", ""))))

    def _cut(self, token: Token) -> str:
        text = self.source.text[token.start : token.end + 1]
        return text if len(text) <= 40 else f"{text[:37]}..."

    # Places

    def span(self, *places: Place) -> Span | None:
        """The smallest stretch of text that holds all of these."""
        ends = [end for place in places for end in self._ends(place)]
        if not ends:
            return None
        return self._lines.span(min(start for start, _ in ends), max(end for _, end in ends))

    def _ends(self, place: Place) -> Iterable[tuple[int, int]]:
        if isinstance(place, Span):
            yield place.start, place.end
        elif isinstance(place, Token):
            yield place.start, place.end + 1
        elif place is not None:
            for node in place.walk():
                start = node.meta.get("start") if node.meta else None
                if start is not None:
                    yield start, node.meta["end"] + 1

    def written(self, node: exp.Expr) -> str:
        """A piece of the text as it stands there, short."""
        span = self.span(node)
        whole = self.source.text[span.start : span.end] if span else node.sql(dialect="spark")
        text = " ".join(f"{whole}{')' * (whole.count('(') - whole.count(')'))}".split())
        return text if len(text) <= 60 else f"{text[:57]}..."

    def problem(
        self, code: str, message: str, place: Place, *, note: str | None = None, hint: str | None = None
    ) -> Diagnostic:
        around = place
        while isinstance(around, exp.Expr) and self.span(around) is None:
            around = around.parent  # a literal has no place of its own
        return Diagnostic(code, message, self.span(around), note, hint)

    def refuse(
        self, code: str, message: str, place: Place, *, note: str | None = None, hint: str | None = None
    ) -> NoReturn:
        raise NotTranslated(self.problem(code, message, place, note=note, hint=hint))


def _said(description: str) -> str | None:
    """What the parser said, unless it speaks of its own insides."""
    if not description or "<class" in description or description.startswith("Invalid expression"):
        return None
    return f"the parser says: {description[:1].lower()}{description[1:]}"


def _unclosed(text: str) -> int:
    """Where the quotation mark or comment that is not closed begins."""
    at = 0
    while at < len(text):
        if text.startswith("--", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                return at
            at = end + 2
        elif (mark := text[at]) in "'\"`":
            end = at + 1
            while end < len(text) and text[end] != mark:
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                return at
            at = end + 1
        else:
            at += 1
    return max(0, len(text) - 1)
