"""RapidNet's dialect of Network Datalog, read as a program of ours.

    materialize(link, infinity, infinity, keys(1,2)).
    r1 path(@X,Y,C,P) :- link(@X,Y,C), P1:=f_append(X), P2:=f_append(Y), P:=f_concat(P1,P2).
    r3 bestPath(@X,Y,a_MIN<C>,P) :- path(@X,Y,C,P).

`read_rapidnet` gives text that `headwater.compile` takes: labels get a colon, addresses their `@` in every atom of a
rule, the link that connects two locations its `#`, aggregates and functions our names. `CONSTRUCTS` is the table of
what has a place here and what has none; a construct without one is a finding (HW815) with its line. A relation that
is not materialized is an event. Here it is an ordinary base relation: insert its row, delete it at the next moment.

Not guaranteed: that a program with events means the same. RapidNet keeps what an event has derived after the event
is over, and our views do not; a rule that derives a materialized relation from an event is therefore refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.core.diagnostics import Diagnostic
from headwater.core.errors import SyntaxProblem
from headwater.core.source import Source, Span

NO_PLACE = "HW815"

CONSTRUCTS: tuple[tuple[str, str, bool], ...] = (
    ("`r1 p(@X) :- ...` (label without a colon)", "`r1: p(@X) :- ...`", True),
    ("`materialize(p, infinity, infinity, keys(1,2))`, p is given", "`relation p(...) key(...)`", True),
    ("`materialize(p, infinity, infinity, keys(...))`, p is derived", "a view; its rows follow from the rules", True),
    ("`materialize(p, 30, ...)`, a lifetime in seconds", "`relation p(...) ttl 30 seconds` (in a `Database`)", True),
    (
        "`materialize(p, ..., 100, ...)`, at most so many rows",
        "none: a view does not forget rows by their number",
        False,
    ),
    ("`@X` at the location only", "`@` wherever the rule has the variable; `#` at the link between", True),
    ("`a_MIN<C>`, `a_MAX<C>` and columns beside it", "`min<(C, P)>`, `max<(C, P)>`", True),
    ("`a_COUNT<*>`, `a_SUM<C>`, `a_AVG<C>`", "`count<1>`, `sum<C>`, `avg<C>`", True),
    ("a minimum that its own input reads", "the two relations as one, with `min<(C, P)>`", True),
    ("`f_member(P, X) == 0` on the path of a best row", "`X != Y` for its end: costs are above 0", True),
    ("`f_append(X)`, `f_concat(P, Q)`, `f_member(P, X)`, `f_size(P)`", "`[X]`, `concat`, `inPath`, `length`", True),
    ("`f_now()`, `f_rand()`, `f_sha1(X)`", "none: give the values as base rows", False),
    ("an event in the body of an event's rule", "a base relation: insert a row, delete it a moment later", True),
    ("a materialized relation derived from an event", "none: a view holds while its body does", False),
    ("`periodic(@X, E, 5)`", "none: insert rows by a script of events", False),
    ("`delete p(@X) :- ...`", "none: say when a row holds, with a negated goal", False),
    ("`#define NAME value`", "filled in", True),
    ("`#include`", "none: put the rules in its place", False),
)
"""Construct, what it is here, whether it has a place."""

_MATERIALIZE = re.compile(
    r"materialize\(\s*(\w+)\s*,\s*([\w.]+)\s*,\s*([\w.]+)\s*,\s*keys\s*\(([^)]*)\)\s*\)\s*$", re.DOTALL
)
_RULE = re.compile(r"(?:(\w+)\s+)??(delete\s+)?(\w+)\s*\((.*)$", re.DOTALL)
_AGGREGATE = re.compile(r"a_(MIN|MAX|COUNT|SUM|AVG)\s*<\s*(\*|@?\w+)\s*>$")
_FUNCTIONS = {
    "f_concat": "concat",
    "f_size": "length",
    "f_first": "first",
    "f_last": "last",
    "f_removeFirst": "rest",
    "f_concatPath": "concatPath",
    "f_inPath": "inPath",
}
_NAMES = ("src", "dst", "cost")  # of link relations, which a topology fills by these names
_LISTS = ("f_append", "f_initlist", "f_list")


@dataclass(slots=True)
class _Atom:
    name: str
    args: list[str]
    link: bool = False

    def text(self) -> str:
        return f"{'#' if self.link else ''}{self.name}({', '.join(self.args)})"


@dataclass(slots=True)
class _Rule:
    label: str | None
    head: _Atom
    goals: list[_Atom | str]
    span: Span

    @property
    def atoms(self) -> list[_Atom]:
        return [goal for goal in self.goals if isinstance(goal, _Atom)]


@dataclass(frozen=True, slots=True)
class _Table:
    lifetime: str
    keys: tuple[int, ...]


class _Reader:
    def __init__(self, source: Source, types: Mapping[str, tuple[str, ...]]) -> None:
        self.source = source
        self.types = types
        self.found: list[Diagnostic] = []
        self.tables: dict[str, _Table] = {}
        self.rules: list[_Rule] = []

    def refuse(self, message: str, span: Span, hint: str) -> None:
        self.found.append(Diagnostic(NO_PLACE, message, span, hint=hint))

    def statements(self) -> None:
        for text, span in _statements(self.source):
            if text.startswith("#include"):
                text = text.partition("\n")[2].strip()
            if found := _MATERIALIZE.match(text):
                self._materialize(found, span)
            elif ":-" in text:
                self._rule(text, span)
            elif text:
                self.refuse("this is no statement of RapidNet", span, "write a rule, or materialize(...)")

    def _materialize(self, found: re.Match[str], span: Span) -> None:
        name, lifetime, size, keys = found.groups()
        if size != "infinity":
            self.refuse(f"`{name}` holds at most {size} rows", span, "write `infinity`")
        if lifetime != "infinity" and not re.fullmatch(r"[0-9]+", lifetime):
            self.refuse(f"`{lifetime}` is no lifetime", span, "write whole seconds, or `infinity`")
        places = tuple(int(key.split(":")[0]) - 1 for key in keys.split(",") if key.split(":")[0].strip().isdigit())
        self.tables[name] = _Table(lifetime, places)

    def _rule(self, text: str, span: Span) -> None:
        left, _, right = text.partition(":-")
        found = _RULE.match(left.strip())
        if found is None or not left.strip().endswith(")"):
            self.refuse("this rule has no head", span, "write `r1 p(@X, Y) :- q(@X, Y).`")
            return
        label, delete, name, rest = found.groups()
        if delete or label == "delete":
            self.refuse(f"a rule that deletes rows of `{name}`", span, "say when a row holds, with a negated goal")
            return
        head = _Atom(name, _split(rest.rstrip()[:-1]))
        goals: list[_Atom | str] = []
        for goal in _split(right):
            atom = re.fullmatch(r"([a-z]\w*)\s*\((.*)\)", goal, re.DOTALL)
            if atom and not atom[1].startswith("f_"):
                goals.append(_Atom(atom[1], _split(atom[2])))
            else:
                goals.append(goal)
        self.rules.append(_Rule(label, head, goals, span))

    def check(self) -> None:
        derived = {rule.head.name for rule in self.rules}
        for rule in self.rules:
            for atom in rule.atoms:
                if atom.name == "periodic":
                    self.refuse("`periodic` makes events by a clock", rule.span, "insert rows by a script of events")
                elif self._is_event(atom.name) and not self._is_event(rule.head.name):
                    self.refuse(
                        f"materialized `{rule.head.name}` is derived from the event `{atom.name}`",
                        rule.span,
                        f"materialize `{atom.name}` too, or do not materialize `{rule.head.name}`",
                    )
            for goal in rule.goals:
                if isinstance(goal, str) and (name := re.search(r"\bf_(now|rand|sha1|randomNodeID)\b", goal)):
                    self.refuse(
                        f"`{name[0]}` has no value that rules define", rule.span, "give the value as a base row"
                    )
        if not derived:
            self.refuse("the text has no rules", Span(self.source, 0, 0, 1, 1), "write a rule")

    def _is_event(self, name: str) -> bool:
        return bool(self.tables) and name not in self.tables


def read_rapidnet(text: str, *, name: str = "<text>", types: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """The text of our program; raises SyntaxProblem. `types` gives the column types of base relations.

    Without them, a column is an int if a rule computes with it or compares it with a number, else a string.
    """
    reader = _Reader(Source(name, _defined(text)), types or {})
    for found in re.finditer(r"^#include[^\n]*", reader.source.text, re.MULTILINE):
        span = Span(reader.source, found.start(), found.end(), reader.source.text.count("\n", 0, found.start()) + 1, 1)
        reader.refuse("a file is included", span, "put its rules in the place of the line")
    reader.statements()
    reader.check()
    if reader.found:
        raise SyntaxProblem(tuple(reader.found))
    rules = _merged_minima(reader.rules, reader.tables)
    lines = [*_declarations(rules, reader), *(_printed(rule, reader.tables) for rule in rules)]
    derived = dict.fromkeys(rule.head.name for rule in rules)
    heads = {rule.head.name: rule.head for rule in rules}
    queries = [
        f"query {each}({', '.join(_query_args(heads[each], reader.tables))})."
        for each in derived
        if each in reader.tables or not reader.tables
    ]
    return "\n".join([*lines, *queries]) + "\n"


def _defined(text: str) -> str:
    """The text without comments (in their place, as many lines), with its definitions filled in."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for found in re.findall(r"^#define\s+(\w+)\s+(\S+)\s*$", text, re.MULTILINE):
        text = re.sub(rf"(?<!#define )\b{found[0]}\b", lambda _, value=found[1]: value, text)  # type: ignore[misc]
    return re.sub(r"^#define[^\n]*$", "", text, flags=re.MULTILINE)


def _statements(source: Source) -> list[tuple[str, Span]]:
    found, start, depth = [], 0, 0
    text = source.text
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "." and depth == 0 and (at + 1 == len(text) or text[at + 1].isspace()):
            found.append(_piece(source, start, at))
            start = at + 1
    if text[start:].strip():
        found.append(_piece(source, start, len(text)))
    return found


def _piece(source: Source, start: int, end: int) -> tuple[str, Span]:
    body = source.text[start:end]
    first = start + len(body) - len(body.lstrip())
    line = source.text.count("\n", 0, first) + 1
    return body.strip(), Span(source, first, end, line, first - source.text.rfind("\n", 0, first))


def _split(text: str) -> list[str]:
    """Parts between the commas that stand outside brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def _merged_minima(rules: list[_Rule], tables: Mapping[str, _Table]) -> list[_Rule]:
    """Where a best row is chosen from a relation whose rules read it, the two become one."""
    for best in rules:
        found = [at for at, arg in enumerate(best.head.args) if (m := _AGGREGATE.match(arg)) and m[1] in ("MIN", "MAX")]
        if len(found) != 1 or len(best.goals) != 1 or not isinstance(best.goals[0], _Atom):
            continue
        source = best.goals[0]
        own = [rule for rule in rules if rule.head.name == source.name]
        if not any(atom.name == best.head.name for rule in own for atom in rule.atoms):
            continue
        plain = [_bare(arg) for arg in best.head.args]
        if sorted(plain) != sorted(map(_bare, source.args)):
            continue
        merged = []
        for rule in own:
            values = dict(zip(map(_bare, source.args), rule.head.args, strict=True))
            args = [
                re.sub(r"<.*>", f"<{values[_bare(arg)]}>", arg) if _AGGREGATE.match(arg) else values[_bare(arg)]
                for arg in best.head.args
            ]
            paths = {
                atom.args[at] for atom in rule.atoms if atom.name == best.head.name for at in range(len(atom.args))
            }
            keys = tables[best.head.name].keys if best.head.name in tables else ()
            others = [_bare(args[at]) for at in keys if at < found[0]]
            goals: list[_Atom | str] = []
            for goal in rule.goals:
                tested = _loop_test(goal, paths) if isinstance(goal, str) else None
                goals += [goal] if tested is None else [f"{tested} != {other}" for other in others if other != tested]
            merged.append(_Rule(rule.label, _Atom(best.head.name, args), goals, rule.span))
        kept = [rule for rule in rules if rule is not best and rule.head.name != source.name]
        return _merged_minima([*merged, *kept], tables)
    return rules


def _loop_test(goal: str, paths: set[str]) -> str | None:
    """The node that must not be on the path of a best row."""
    found = re.fullmatch(r"f_member\((\w+)\s*,\s*@?(\w+)\)\s*==\s*0", goal)
    return found[2] if found is not None and found[1] in paths else None


def _bare(arg: str) -> str:
    found = _AGGREGATE.match(arg)
    return (found[2] if found else arg).lstrip("@")


def _declarations(rules: list[_Rule], reader: _Reader) -> list[str]:
    derived = {rule.head.name for rule in rules}
    used: dict[str, int] = {}
    for rule in rules:
        for atom in rule.atoms:
            if atom.name not in derived:
                used.setdefault(atom.name, len(atom.args))
    found = []
    for name, arity in used.items():
        kinds = reader.types.get(name) or tuple(_kind(name, at, rules) for at in range(arity))
        named = _NAMES if arity <= len(_NAMES) and name.startswith("link") else ()
        names = [*named[:arity], *(f"c{at + 1}" for at in range(len(named[:arity]), arity))]
        columns = ", ".join(f"{column}: {kind}" for column, kind in zip(names, kinds, strict=True))
        table = reader.tables.get(name)
        key = f" key({', '.join(names[at] for at in _key(table) if at < arity)})" if table and table.keys else ""
        ttl = f" ttl {table.lifetime} seconds" if table and table.lifetime != "infinity" else ""
        found.append(f"relation {name}({columns}){key}{ttl}.")
    return found


def _key(table: _Table) -> tuple[int, ...]:
    """The key columns; the location always belongs to them."""
    return tuple(sorted({0, *table.keys}))


def _kind(name: str, at: int, rules: list[_Rule]) -> str:
    counts = False
    for rule in rules:
        places = _locations(rule)
        for atom in rule.atoms:
            if atom.name == name:
                word = atom.args[at].lstrip("@")
                if atom.args[at].startswith("@") or word in places:
                    return "string"
                for goal in rule.goals:
                    if isinstance(goal, str) and "f_" not in goal and re.search(rf"\b{re.escape(word)}\b", goal):
                        counts |= bool(re.search(r"[+*/<>]|\d|-", goal))
    return "int" if counts or (at == 2 and name.startswith("link")) else "string"


def _locations(rule: _Rule) -> set[str]:
    return {arg.lstrip("@") for atom in (rule.head, *rule.atoms) for arg in atom.args if arg.startswith("@")}


def _printed(rule: _Rule, tables: Mapping[str, _Table]) -> str:
    places = _locations(rule)

    def marked(arg: str) -> str:
        return f"@{arg.lstrip('@')}" if arg.lstrip("@") in places else arg

    own = {atom.args[0].lstrip("@") for atom in (rule.head, *rule.atoms) if atom.args}
    link = _link(rule, own, tables) if len(own) > 1 else None
    goals = []
    for goal in rule.goals:
        if isinstance(goal, str):
            goals.append(_goal(goal))
            continue
        args = [marked(arg) for arg in goal.args]
        goals.append(_Atom(goal.name, args, goal is link).text())
    head = f"{rule.head.name}({', '.join(_head_args(rule.head, tables, marked))})"
    return f"{rule.label + ': ' if rule.label else ''}{head} :- {', '.join(goals)}."


def _link(rule: _Rule, own: set[str], tables: Mapping[str, _Table]) -> _Atom | None:
    """The atom that connects the two locations of a rule: one that is called a link, else a materialized one."""
    joining = [
        atom
        for atom in rule.atoms
        if {arg.lstrip("@") for arg in atom.args[:2]} == own and (atom.name in tables or not tables)
    ]
    return next((atom for atom in joining if atom.name.startswith("link")), joining[0] if joining else None)


def _head_args(head: _Atom, tables: Mapping[str, _Table], marked: Callable[[str], str]) -> list[str]:
    args, carried = [], []
    keys = tables[head.name].keys if head.name in tables else ()
    at = next((place for place, arg in enumerate(head.args) if _AGGREGATE.match(arg)), None)
    for place, arg in enumerate(head.args):
        found = _AGGREGATE.match(arg)
        if found is None:
            if at is not None and place > at and place not in keys and head.args[at].startswith(("a_MIN", "a_MAX")):
                carried.append(arg.lstrip("@"))
            else:
                args.append(marked(arg))
        else:
            kind = found[1].lower()
            args.append(f"{kind}<{'1' if kind == 'count' or found[2] == '*' else found[2]}>")
    if carried and at is not None:
        spot = next(place for place, arg in enumerate(args) if arg.startswith(("min<", "max<")))
        kind, value = args[spot][:-1].split("<")
        args[spot] = f"{kind}<({', '.join([value, *carried])})>"
    return args


def _query_args(head: _Atom, tables: Mapping[str, _Table]) -> list[str]:
    return [f"@V{at + 1}" if at == 0 else f"V{at + 1}" for at in range(len(head.args))]


def _goal(goal: str) -> str:
    member = re.fullmatch(r"f_member\((.*)\)\s*==\s*([01])", goal)
    if member:
        return f"{'!' if member[2] == '0' else ''}inPath({_goal(member[1])})"
    for name in _LISTS:
        goal = re.sub(rf"\b{name}\(([^()]*)\)", r"[\1]", goal)
    goal = re.sub(r"\bf_empty\(\)", "nil", goal)
    return re.sub(r"\bf_\w+", lambda found: _FUNCTIONS.get(found[0], found[0]), goal)
