"""Names: what every name in a program stands for, and whether it is used the same way everywhere.

`survey` reads a tree once and returns what it found, with all diagnostics: declarations that clash, relations
used with different numbers of arguments, unknown functions and aggregates, queries of nothing. It looks at
no types and no bindings.

A name in a goal is a relation if the program declares or derives it, or if no built-in goal has that
name; so a user's relation wins over a function, and a warning says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from headwater.core.diagnostics import Diagnostic, Severity
from headwater.core.functions.builtins import GOAL_NAMES
from headwater.core.functions.function import Function, Registry, lookup
from headwater.core.source import Span
from headwater.language import syntax
from headwater.language.terms import goal_terms, subterms
from headwater.program.nearest import Spelling, nearest
from headwater.program.recursion.aggregates import AGGREGATES

PATH_FUNCTIONS = frozenset({"concatPath"})
_LONG_ENOUGH = 4  # letters; among shorter names everything is one slip from everything


_FOR_BASES: tuple[tuple[Callable[[syntax.Declaration], bool], str, str], ...] = (
    (
        lambda declaration: declaration.kind is syntax.Kind.STREAM,
        "as a stream",
        "declare it as a relation: its time follows from the rules",
    ),
    (
        lambda declaration: declaration.key is not None,
        "with a key",
        "only base relations are updated by key; use an aggregate to keep one row per group",
    ),
    (
        lambda declaration: declaration.ttl is not None,
        "with a ttl",
        "give the ttl to the base relations: derived rows live as long as what they rest on",
    ),
    (
        lambda declaration: declaration.optional,
        "optional",
        "only base relations are given rows; declare the base relations optional that may be missing",
    ),
)  # what only a base relation can be declared as


@dataclass(slots=True)
class Mention:
    """A relation as its first uses show it."""

    arity: int
    span: Span | None
    columns: list[str | None]  # the first variable seen in each place, or the aggregate that counts or adds
    asked: list[str | None] = field(default_factory=list)  # the first variable of a query in each place


@dataclass(slots=True)
class Names:
    """Every relation in order of first mention, and what the program says of it."""

    registry: Registry
    mentions: dict[str, Mention] = field(default_factory=dict)
    declarations: dict[str, syntax.Declaration] = field(default_factory=dict)
    heads: set[str] = field(default_factory=set)
    derived: set[str] = field(default_factory=set)
    headings: dict[str, syntax.Heading] = field(default_factory=dict)

    def is_relation(self, name: str) -> bool:
        return name in self.declarations or name in self.heads or name in self.headings

    def goal_function(self, name: str) -> str | None:
        """The function that a goal of this name calls, unless it is a relation."""
        if self.is_relation(name):
            return None
        if name.removeprefix("f_") in GOAL_NAMES:
            return name.removeprefix("f_")
        function = lookup(self.registry, name)
        return function.name if function is not None and function.is_goal else None


def survey(tree: syntax.Tree, registry: Registry) -> tuple[Names, list[Diagnostic]]:
    found = _Survey(Names(registry))
    found.read(tree)
    return found.names, found.diagnostics


class _Survey:
    def __init__(self, names: Names) -> None:
        self.names = names
        self.diagnostics: list[Diagnostic] = []

    def read(self, tree: syntax.Tree) -> None:
        for heading in tree.headings:
            self.names.headings[heading.relation] = heading
        for statement in tree.statements:
            match statement:
                case syntax.Declaration():
                    self._declare(statement)
                case syntax.Rule(head, body):
                    self.names.heads.add(head.relation)
                    if body:
                        self.names.derived.add(head.relation)
                case syntax.Query():
                    pass
                case _:
                    assert_never(statement)
        queries = []
        for statement in tree.statements:
            match statement:
                case syntax.Declaration():
                    columns: list[str | None] = [column.name for column in statement.columns]
                    mention = Mention(len(columns), statement.span, columns)
                    self.names.mentions.setdefault(statement.relation, mention)
                case syntax.Rule(head, body):
                    self._head(head)
                    for goal in body:
                        self._goal(goal)
                case syntax.Query():
                    queries.append(statement)
                case _:
                    assert_never(statement)
        for query in queries:
            self._query(query)
        self._derived_declarations()
        self._hidden_functions()
        self._misspelt()

    def error(
        self, code: str, message: str, span: Span | None, note: str | None = None, hint: str | None = None
    ) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, note, hint))

    def warn(self, code: str, message: str, span: Span | None, hint: str | None) -> None:
        self.diagnostics.append(Diagnostic(code, message, span, hint=hint, severity=Severity.WARNING))

    def _declare(self, declaration: syntax.Declaration) -> None:
        name = declaration.relation
        earlier = self.names.declarations.setdefault(name, declaration)
        if earlier is not declaration:
            self.error(
                "HW204", f"relation `{name}` is declared twice", declaration.span, note=_first(earlier.span, "declared")
            )
        seen: set[str] = set()
        for column in declaration.columns:
            if column.name in seen:
                self.error("HW205", f"relation `{name}` has two columns called `{column.name}`", column.span)
            seen.add(column.name)
        for key in declaration.key or ():
            if key not in seen:
                message = f"the key of `{name}` names a column `{key}` that it does not have"
                hint = _meant(nearest(key, seen)) or f"its columns are {', '.join(sorted(seen)) or 'none'}"
                self.error("HW206", message, declaration.span, hint=hint)

    def _derived_declarations(self) -> None:
        for name, declaration in self.names.declarations.items():
            if name not in self.names.derived:
                continue
            for applies, words, hint in _FOR_BASES:
                if applies(declaration):
                    self.error(
                        "HW207", f"`{name}` is declared {words}, but rules derive it", declaration.span, hint=hint
                    )

    def _head(self, head: syntax.Head) -> None:
        self._mention(head.relation, head.args, head.span)
        for arg in head.args:
            if isinstance(arg, syntax.Aggregate):
                self._aggregate(arg)
                for inner in arg.args:
                    self._term(inner)
            else:
                self._term(arg)

    def _goal(self, goal: syntax.Goal) -> None:
        for term in goal_terms(goal):
            self._term(term)
        if isinstance(goal, syntax.Atom | syntax.Negation):
            self._atom(goal.atom if isinstance(goal, syntax.Negation) else goal)

    def _atom(self, atom: syntax.Atom) -> None:
        called = self.names.goal_function(atom.relation)
        if called is None:
            self._mention(atom.relation, atom.args, atom.span)
        elif called in GOAL_NAMES:
            if len(atom.args) != 3:
                self._count(called, "3 arguments", len(atom.args), atom.span)
        else:
            function = self.names.registry[called]
            given = len(atom.args) - function.output_first
            if not function.accepts(given):
                expected = _expected(function, function.output_first)
                self._count(called, expected, len(atom.args), atom.span)

    def _count(self, name: str, expected: str, given: int, span: Span | None) -> None:
        hint = f"`{name}` is a built-in function; to use a relation of that name, declare it"
        self.error("HW203", f"`{name}` takes {expected}, not {given}", span, hint=hint)

    def _mention(self, name: str, args: tuple[syntax.Term | syntax.Aggregate, ...], span: Span | None) -> None:
        declaration = self.names.declarations.get(name)
        mention = self.names.mentions.get(name)
        if mention is None:
            # A declaration may stand below the first use; it still says how many columns there are.
            arity, first = (len(args), span) if declaration is None else (len(declaration.columns), declaration.span)
            mention = self.names.mentions[name] = Mention(arity, first, [None] * arity)
        if mention.arity != len(args):
            word = "used" if declaration is None else "declared"
            message = f"relation `{name}` has {_arguments(mention.arity)}, but here {len(args)}"
            self.error("HW201", message, span, note=_first(mention.span, word))
            return
        for place, arg in enumerate(args):
            if mention.columns[place] is None:
                mention.columns[place] = _named(arg)

    def _term(self, term: syntax.Term) -> None:
        links: set[int] = set()
        for part in subterms(term):
            if not isinstance(part, syntax.Call):
                continue
            function = lookup(self.names.registry, part.function)
            if function is None:
                if id(part) not in links:
                    self._unknown_function(part)
                continue
            if function.name in PATH_FUNCTIONS:
                links.update(id(arg) for arg in part.args if self._is_link(arg))
            if not function.accepts(len(part.args)):
                message = f"`{part.function}` takes {_expected(function)}, not {len(part.args)}"
                self.error("HW203", message, part.span, note=function.doc or None)

    def _is_link(self, arg: syntax.Term) -> bool:
        return isinstance(arg, syntax.Call) and lookup(self.names.registry, arg.function) is None and len(arg.args) >= 2

    def _unknown_function(self, call: syntax.Call) -> None:
        if self.names.is_relation(call.function) or call.function in self.names.mentions:
            message = f"`{call.function}` is a relation and has no value"
            self.error("HW213", message, call.span, hint="name it as a goal of its own and use its variables here")
            return
        guess = nearest(call.function.removeprefix("f_"), self.names.registry)
        self.error("HW202", f"there is no function `{call.function}`", call.span, hint=_meant(guess))

    def _aggregate(self, aggregate: syntax.Aggregate) -> None:
        name = aggregate.function
        kind = AGGREGATES.get(name)
        if kind is None:
            guess = _meant(nearest(name, AGGREGATES)) or f"the aggregates are {', '.join(AGGREGATES)}"
            self.error("HW217", f"there is no aggregate `{name}`", aggregate.span, hint=guess)
        elif name == "top" and (aggregate.limit is None or aggregate.limit < 1):
            self.error("HW217", "`top` needs to know how many to keep", aggregate.span, hint="write `top<3, C>`")
        elif name != "top" and aggregate.limit is not None:
            self.error("HW217", f"`{name}` takes no limit", aggregate.span, hint=f"write `{name}<C>` or `top<k, C>`")
        elif not (len(aggregate.args) == 1 or (kind.pairs and len(aggregate.args) == 2)):
            shape = f"`{name}<(K, N)>`" if kind.pairs else f"`{name}<C>`"
            self.error(
                "HW217", f"`{name}` over {_arguments(len(aggregate.args))}", aggregate.span, hint=f"write {shape}"
            )

    def _query(self, query: syntax.Query) -> None:
        name = query.atom.relation
        if name not in self.names.mentions:
            guess = nearest(name, self.names.mentions)
            self.error(
                "HW209", f"the query asks for `{name}`, which nothing defines", query.atom.span, hint=_meant(guess)
            )
            return
        self._mention(name, query.atom.args, query.atom.span)
        mention = self.names.mentions[name]
        if mention.arity == len(query.atom.args):
            earlier = mention.asked or [None] * mention.arity
            mention.asked = [known or _named(arg) for known, arg in zip(earlier, query.atom.args, strict=True)]

    def _hidden_functions(self) -> None:
        for name in self.names.mentions:
            function = lookup(self.names.registry, name)
            is_goal = name.removeprefix("f_") in GOAL_NAMES or (function is not None and function.is_goal)
            if is_goal and self.names.is_relation(name):
                message = f"relation `{name}` hides the built-in function of that name in goals"
                hint = "rename the relation if the function was meant anywhere"
                self.warn("HW214", message, self.names.mentions[name].span, hint=hint)

    def _misspelt(self) -> None:
        """A base relation without a declaration, one slip away from a relation that is there."""
        known = Spelling(name for name in self.names.mentions if self.names.is_relation(name))
        for name, mention in self.names.mentions.items():
            if self.names.is_relation(name):
                continue
            guess = known.slip(name) if len(name) >= _LONG_ENOUGH else None
            if guess is None or self.names.mentions[guess].arity != mention.arity:
                continue
            if name.startswith(guess) or guess.startswith(name):
                continue  # link and linkD are a family, not a slip
            message = f"relation `{name}` is neither declared nor derived, so it is read from data"
            self.warn("HW210", message, mention.span, hint=_meant(guess))


def _expected(function: Function, extra: int = 0) -> str:
    least = len(function.params) + extra
    if function.variadic:
        return f"at least {_arguments(least)}"
    counts = sorted({least, *(count + extra for count in function.also)})
    return " or ".join(str(count) for count in counts[:-1]) + (" or " if counts[:-1] else "") + _arguments(counts[-1])


def _named(arg: syntax.Term | syntax.Aggregate) -> str | None:
    """What an argument calls its column: the variable, also inside `min<C>`, but what counts or adds by itself."""
    if isinstance(arg, syntax.Aggregate):
        kind = AGGREGATES.get(arg.function)
        if kind is not None and not kind.picks:
            return kind.name
        arg = arg.args[-1] if arg.args else syntax.Wildcard()
    return arg.name if isinstance(arg, syntax.Variable) else None


def _arguments(count: int) -> str:
    return f"{count} argument" + ("" if count == 1 else "s")


def _meant(guess: str | None) -> str | None:
    return f"did you mean `{guess}`?" if guess else None


def _first(span: Span | None, word: str) -> str | None:
    return f"it is first {word} at {span.source.name}:{span.line}:{span.column}" if span else None


def rule_name(rule: syntax.Rule) -> str:
    """How a message refers to a rule: by its label, else by its head and line."""
    if rule.label:
        return f"`{rule.label}`"
    where = f" in line {rule.span.line}" if rule.span else ""
    return f"the rule for `{rule.head.relation}`{where}"
