"""RapidNet's rules over tables, as rules of ours: a table that only tables derive is a view.

Labels get a colon, addresses their `@` in every atom of a rule, the link that connects two locations its `#`,
aggregates and functions our names. `read_rapidnet` gives the text of a program that a `Database` can run; where a
construct means something on nodes in simulated time only, it says so (HW815). `events` reads those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from headwater.core.errors import SyntaxProblem
from headwater.network.rapidnet.kinds import ColumnKinds
from headwater.network.rapidnet.syntax import (
    AGGREGATE,
    CLOCKS,
    RapidAtom,
    RapidProgram,
    RapidRule,
    RapidTable,
    bare,
    parse,
)

RING = 65536  # positions on the ring of `K in (A, B]`
ON_NODES = "run it on nodes: headwater simulate FILE.olg, or event_program(text)"
_FUNCTIONS = {
    "f_concat": "concat",
    "f_size": "length",
    "f_first": "first",
    "f_last": "last",
    "f_removeFirst": "rest",
    "f_concatPath": "concatPath",
    "f_inPath": "inPath",
    "f_sha1": "ring_position",
}
_NAMES = ("src", "dst", "cost")  # of link relations, which a topology fills by these names
_LISTS = ("f_append", "f_initlist", "f_list")


def read_rapidnet(text: str, *, name: str = "<text>", types: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """The text of our program; raises SyntaxProblem. `types` gives the column types of base relations.

    Without them, a column is an int if a rule computes with it or compares it with a number, else a string.
    """
    program = parse(text, name)
    _refuse_events(program)
    if program.found:
        raise SyntaxProblem(tuple(program.found))
    rules = merged_minima(program.rules, program.tables)
    kinds = ColumnKinds(rules, types or {})
    derived = {rule.head.name: rule.head for rule in rules}
    given = {atom.name: atom for rule in rules for atom in rule.atoms if atom.name not in derived}
    lines = [declaration(atom.name, len(atom.args), program, kinds, ttl=True) for atom in given.values()]
    lines += [printed(rule, program.tables) for rule in rules]
    lines += [query(head) for head in derived.values() if head.name in program.tables or not program.tables]
    return "\n".join(lines) + "\n"


def _refuse_events(program: RapidProgram) -> None:
    """What a rule of a `Database` cannot say: it holds while its body does."""
    for name, table in program.tables.items():
        if table.size is not None:
            program.refuse(f"a view does not forget rows by their number, as `{name}` does", table.span, ON_NODES)
    for rule in program.rules:
        events = program.events_of(rule)
        if rule.deletes:
            program.refuse(f"a view cannot delete rows, as this rule does with `{rule.head.name}`", rule.span, ON_NODES)
        elif any(atom.name == "periodic" for atom in events):
            program.refuse("`periodic` makes events by a clock, and views have none", rule.span, ON_NODES)
        elif events and not program.is_event(rule.head.name):
            message = f"a view holds while its body does, and the event `{events[0].name}` lasts one moment"
            program.refuse(message, rule.span, ON_NODES)
        for goal in rule.conditions:
            if called := CLOCKS.search(goal):
                program.refuse(f"`{called[0]}` is another value at each moment", rule.span, ON_NODES)


def unknown_functions(program: RapidProgram) -> None:
    """Refuse functions of RapidNet whose values no rule can compute."""
    for rule in program.rules:
        for goal in rule.conditions:
            if called := re.search(r"\bf_randomNodeID\b", goal):
                program.refuse(f"`{called[0]}` has no place here", rule.span, "give the value as a base row")


def merged_minima(rules: list[RapidRule], tables: Mapping[str, RapidTable]) -> list[RapidRule]:
    """Where a best row is chosen from a relation whose rules read it, the two become one."""
    for best in rules:
        found = [at for at, arg in enumerate(best.head.args) if (m := AGGREGATE.match(arg)) and m[1] in ("MIN", "MAX")]
        if len(found) != 1 or len(best.goals) != 1 or not isinstance(best.goals[0], RapidAtom):
            continue
        source = best.goals[0]
        own = [rule for rule in rules if rule.head.name == source.name]
        if not any(atom.name == best.head.name for rule in own for atom in rule.atoms):
            continue
        plain = [bare(arg) for arg in best.head.args]
        if sorted(plain) != sorted(map(bare, source.args)):
            continue
        merged = []
        for rule in own:
            values = dict(zip(map(bare, source.args), rule.head.args, strict=True))
            args = [
                re.sub(r"<.*>", f"<{values[bare(arg)]}>", arg) if AGGREGATE.match(arg) else values[bare(arg)]
                for arg in best.head.args
            ]
            paths = {
                atom.args[at] for atom in rule.atoms if atom.name == best.head.name for at in range(len(atom.args))
            }
            keys = tables[best.head.name].keys if best.head.name in tables else ()
            others = [bare(args[at]) for at in keys if at < found[0]]
            goals: list[RapidAtom | str] = []
            for goal in rule.goals:
                tested = _loop_test(goal, paths) if isinstance(goal, str) else None
                goals += [goal] if tested is None else [f"{tested} != {other}" for other in others if other != tested]
            merged.append(RapidRule(rule.label, RapidAtom(best.head.name, args), goals, rule.span))
        kept = [rule for rule in rules if rule is not best and rule.head.name != source.name]
        return merged_minima([*merged, *kept], tables)
    return rules


def _loop_test(goal: str, paths: set[str]) -> str | None:
    """The node that must not be on the path of a best row."""
    found = re.fullmatch(r"f_member\((\w+)\s*,\s*@?(\w+)\)\s*==\s*0", goal)
    return found[2] if found is not None and found[1] in paths else None


def column_names(name: str, arity: int) -> list[str]:
    named: tuple[str, ...] = _NAMES if arity <= len(_NAMES) and name.startswith("link") else ()
    named = ("at", "id") if (name, arity) == ("node", 2) else named
    return [*named[:arity], *(f"c{at + 1}" for at in range(len(named[:arity]), arity))]


def declaration(
    name: str, arity: int, program: RapidProgram, kinds: ColumnKinds, *, ttl: bool = False, optional: bool = False
) -> str:
    """A base relation with its types and its key."""
    names = column_names(name, arity)
    columns = ", ".join(f"{column}: {kinds.of(name, at)}" for at, column in enumerate(names))
    table = program.tables.get(name)
    key = f" key({', '.join(names[at] for at in program.key(name, arity))})" if table and table.keys else ""
    lives = table.lifetime if table is not None and ttl else None
    life = "" if lives is None else f" ttl {lives:g} seconds"
    return f"relation {name}({columns}){key}{life}{' optional' if optional else ''}."


def _locations(rule: RapidRule) -> set[str]:
    return {arg.lstrip("@") for atom in (rule.head, *rule.atoms) for arg in atom.args if arg.startswith("@")}


def printed(rule: RapidRule, tables: Mapping[str, RapidTable]) -> str:
    """A rule over tables as ours."""
    places = _locations(rule)

    def marked(arg: str) -> str:
        return f"@{arg.lstrip('@')}" if arg.lstrip("@") in places else arg

    link = joining_link(rule, tables)
    goals = []
    for goal in rule.goals:
        if isinstance(goal, str):
            goals.append(condition(goal))
            continue
        args = [marked(arg) for arg in goal.args]
        goals.append(RapidAtom(goal.name, args, goal is link, goal.negated).text())
    head = f"{rule.head.name}({', '.join(head_args(rule.head, tables, marked))})"
    return f"{rule.label + ': ' if rule.label else ''}{head} :- {', '.join(goals)}."


def joining_link(rule: RapidRule, tables: Mapping[str, RapidTable]) -> RapidAtom | None:
    """The atom that connects the two locations of a rule: one that is called a link, else a materialized one."""
    own = {atom.place for atom in (rule.head, *rule.atoms) if atom.args}
    if len(own) < 2:
        return None
    joining = [
        atom
        for atom in rule.atoms
        if {arg.lstrip("@") for arg in atom.args[:2]} == own and (atom.name in tables or not tables)
    ]
    return next((atom for atom in joining if atom.name.startswith("link")), joining[0] if joining else None)


def head_args(head: RapidAtom, tables: Mapping[str, RapidTable], marked: Callable[[str], str]) -> list[str]:
    """Arguments of a head; columns behind a minimum that are no keys go with the row that is chosen."""
    args, carried = [], []
    keys = tables[head.name].keys if head.name in tables else ()
    at = next((place for place, arg in enumerate(head.args) if AGGREGATE.match(arg)), None)
    for place, arg in enumerate(head.args):
        found = AGGREGATE.match(arg)
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


def query(head: RapidAtom) -> str:
    args = (f"@V{at + 1}" if at == 0 else f"V{at + 1}" for at in range(len(head.args)))
    return f"query {head.name}({', '.join(args)})."


def condition(goal: str) -> str:
    """A goal that is no atom, in our words."""
    member = re.fullmatch(r"f_member\((.*)\)\s*==\s*([01])", goal)
    if member:
        return f"{'!' if member[2] == '0' else ''}inPath({condition(member[1])})"
    if ring := re.fullmatch(r"(.+?)\s+in\s+([(\[])(\w+)\s*,\s*(\w+)([)\]])", goal, re.DOTALL):
        return _on_ring(*ring.groups())
    for name in _LISTS:
        goal = re.sub(rf"\b{name}\(([^()]*)\)", r"[\1]", goal)
    goal = re.sub(r"\bf_empty\(\)", "nil", goal)
    return re.sub(r"\bf_\w+", lambda found: _FUNCTIONS.get(found[0], found[0]), goal)


def _on_ring(key: str, opening: str, first: str, last: str, closing: str) -> str:
    """Whether a key lies between two positions, clockwise; from a position to itself it is once around."""
    begins, ends = opening == "[", closing == "]"
    far = f"({key} - {first} + {RING}{'' if begins else ' - 1'}) % {RING}"
    if begins and ends:
        return f"{far} <= ({last} - {first} + {RING}) % {RING}"
    return f"{far} < ({last} - {first} + {RING} - 1) % {RING}{' + 1' if begins or ends else ''}"


def rules_over_tables(program: RapidProgram, rules: Iterable[RapidRule]) -> list[RapidRule]:
    """The rules that no event takes part in."""
    return [rule for rule in rules if not rule.deletes and not program.events_of(rule)]
