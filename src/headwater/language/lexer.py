"""The language of rules for Pygments, which Jupyter, documentation sites and terminals highlight programs with.

Pygments finds it by an entry point (`pyproject.toml`), under the names `headwater` and `datalog`. It colours any text,
also one with errors: the grammar decides what is a program, not this.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
)

_AGGREGATES = r"(min|max|count|sum|avg|mmin|mmax|mcount|msum|top|list|set)(?=\s*<)"
_UNITS = r"(milliseconds?|seconds?|minutes?|hours?|days?|weeks?)\b"


class DatalogLexer(RegexLexer):  # type: ignore[misc,unused-ignore]  # Pygments has no types
    """Datalog, Network Datalog and Streamlog as Headwater reads them."""

    name = "Headwater Datalog"
    aliases: ClassVar = ["headwater", "datalog"]
    filenames: ClassVar = ["*.dl"]
    mimetypes: ClassVar = ["text/x-headwater"]
    url = ""

    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"(%|//).*?$", Comment.Single),
            (r"/\*(?s:.)*?(\*/|\Z)", Comment.Multiline),
            (r"#include\b", Comment.Preproc),
            (r"(?i:(stream|relation|query))(?=\s+[a-z`])", Keyword.Declaration),
            (r"(?i:query)(?=\s*:(?![-=]))|\?-", Keyword.Declaration),
            (
                r"([A-Za-z0-9_][\w'-]*|`[^`\n]+`)(\s*)(:)(?![-=])(?=\s*[a-z`][\w`']*\s*[(.:])",
                bygroups(Name.Label, Text, Punctuation),
            ),
            (r"(?i:(key|window|plan))(?=\s*\()|(?i:(ttl|lateness))(?=\s+[0-9])|(?i:optional)\b", Keyword),
            (r"not\b|¬|\\\+|!(?!=)|~", Operator.Word),
            (r":-|<-|←|:=|==|=<|!=|≠|<>|<=|≤|>=|≥|[<>=+*/%|-]", Operator),
            (_AGGREGATES, Name.Builtin),
            (r"\b(string|int|float|bool|timestamp|duration|any)\b(?=\s*[?,)>])", Keyword.Type),
            (r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?(?!\w)", Number),
            (_UNITS, Keyword.Type),
            (r'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"', String.Double),
            (r"'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*'", String.Single),
            (r"\b(true|false|nil|null)\b", Keyword.Constant),
            (r"\$[A-Z]\w*", Name.Variable.Global),
            (r"[A-Z]\w*(?:'\w+)*|_\w*(?:'\w+)*", Name.Variable),
            (r"f_\w+(?=\s*\()", Name.Builtin),
            (r"(?:[a-z]\w*(?:'\w+)*|`[^`\n]+`)(?=\s*\()", Name.Function),
            (r"[a-z]\w*(?:'\w+)*|`[^`\n]+`", Name),
            (r"[@#]", Name.Decorator),
            (r"[\[\](){}.,:?;]", Punctuation),
            (r".", Text),
        ]
    }
