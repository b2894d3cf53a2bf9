"""Lower-case names that look meant as variables.

Papers often write `reachable(x, y) :- link(x, y)`; here that is a rule about the two constants "x" and "y". A rule
without any variable whose head repeats several words of its body can hardly mean that (HW211, an error); with one
word it may (HW212, a warning), as may a word that differs from a variable only by its capital. `path(a, Y)` is
plainly meant, and so is any constant in quotes.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.language.syntax import Aggregate, Constant, Rule, Term, Tree
from headwater.language.terms import goal_terms, subterms, variables
from headwater.program.types.typing_problems import capital, is_symbol


def spelling_problems(tree: Tree) -> Iterator[Diagnostic]:
    for statement in tree.statements:
        if isinstance(statement, Rule) and statement.body:
            yield from _rule(statement)


def _rule(rule: Rule) -> Iterator[Diagnostic]:
    in_head = {word.value: word for arg in rule.head.args for word in _words(arg)}
    aggregated = [word for arg in rule.head.args if isinstance(arg, Aggregate) for word in _words(arg)]
    if aggregated:
        yield _error(aggregated, "a constant cannot be aggregated")
    if aggregated or not in_head:
        return
    terms = [term for goal in rule.body for term in goal_terms(goal)]
    used = {variable.name for term in (*terms, *rule.head.args) for variable in variables(term)}
    in_body = {word.value for term in terms for word in _words(term)}
    if used:
        for value, word in in_head.items():
            if capital(str(value)) in used:
                yield _warning(word, f"`{value}` is a constant, beside a variable `{capital(str(value))}`")
        return
    shared = [word for value, word in in_head.items() if value in in_body]
    if len(shared) > 1:
        yield _error(shared, "the rule has no variable at all")
    elif shared:
        yield _warning(shared[0], f"`{shared[0].value}` is a constant, and the rule has no variable at all")


def _words(term: Term | Aggregate) -> list[Constant]:
    return [part for part in subterms(term) if isinstance(part, Constant) and is_symbol(part)]


def _hint(word: Constant) -> str:
    return f'write `{capital(str(word.value))}` for a variable, or `"{word.value}"` if the constant is meant'


def _error(words: list[Constant], why: str) -> Diagnostic:
    listed = " and ".join(f"`{word.value}`" for word in words)
    what = "is a constant" if len(words) == 1 else "are constants"
    return Diagnostic("HW211", f"{listed} {what}, and {why}", words[0].span, hint=_hint(words[0]))


def _warning(word: Constant, message: str) -> Diagnostic:
    return Diagnostic("HW212", message, word.span, hint=_hint(word), severity=Severity.WARNING)
