"""A place among the tokens of an SQL text, and what can be read from there on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import Token, TokenType

from headwater.language.sql.text.parsed import Place, SqlText

OPENING = frozenset({TokenType.L_PAREN, TokenType.LT})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.GT})


class Cursor:
    """The tokens of a text and a place among them, which reading moves on."""

    def __init__(self, text: SqlText) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.at = 0

    def word(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place].text.upper() if place < len(self.tokens) and not self.is_quoted(place) else ""

    def is_quoted(self, place: int) -> bool:
        return self.tokens[place].token_type in (TokenType.STRING, TokenType.IDENTIFIER)

    def here(self) -> Place:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def take(self, *words: str) -> bool:
        if all(self.word(ahead) == each for ahead, each in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, word: str, hint: str | None = None) -> None:
        if not self.take(word):
            self.text.refuse("HW101", f"`{word}` is missing here", self.here(), hint=hint)

    def name(self, of_what: str) -> tuple[str, Token]:
        """A name, without the database in front of it."""
        if self.at >= len(self.tokens) or not (self.is_quoted(self.at) or self.word()[:1].isidentifier()):
            self.text.refuse("HW101", f"the name of {of_what} is missing here", self.here())
        token = self.tokens[self.at]
        self.at += 1
        while self.take("."):
            token = self.tokens[min(self.at, len(self.tokens) - 1)]
            self.at += 1
        return token.text, token

    def group(self) -> list[Token]:
        """The tokens inside the bracket that opens here."""
        opening, end = self.at, closing(self.tokens, self.at)
        if end == len(self.tokens):
            self.text.refuse("HW105", "this bracket is not closed", self.here(), hint="write `)` where it ends")
        self.at = end + 1
        return self.tokens[opening + 1 : end]


def closing(tokens: Sequence[Token], opening: int = 0) -> int:
    """Where the bracket closes that opens at a place; behind the last token if nowhere."""
    depth = 0
    for place in range(opening, len(tokens)):
        depth += bracket_step(tokens[place])
        if depth == 0:
            return place
    return len(tokens)


def bracket_step(token: Token) -> int:
    """1 for a bracket that opens, -1 for one that closes."""
    return (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)


def split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The parts between commas that stand in no bracket."""
    if not tokens:
        return
    depth = 0
    part: list[Token] = []
    for token in tokens:
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if token.token_type is TokenType.COMMA and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part
