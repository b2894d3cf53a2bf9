"""A program as coloured HTML, with its styles in place."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.sql import SqlLexer

from headwater.language.lexer import DatalogLexer

_PAPER = "background:#f6f8fa;color:#1f2328;padding:8px 12px;border-radius:6px;overflow-x:auto"


def highlighted(text: str, *, sql: bool) -> str:
    """The text on a light card, which reads the same on a dark page."""
    lexer = SqlLexer() if sql else DatalogLexer()
    form = HtmlFormatter(noclasses=True, nobackground=True, style="default", cssstyles=_PAPER, prestyles="margin:0")
    return str(highlight(text, lexer, form))
