"""A program of RapidNet run by the plainest means: dictionaries, nested loops over rows, and Python's own `eval`.

It shares the reader of the text with the thing it checks, and nothing else. Views must be local; links all take the
same number of ticks; `periodic` events have no use for their identifiers.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from headwater.network.rapidnet.syntax import AGGREGATE, RapidProgram, RapidRule, bare, parse, split

Row = tuple[Any, ...]
Binding = dict[str, Any]
DELETE, STORE, HAPPEN = range(3)
FUNCTIONS: dict[str, Any] = {
    "f_append": lambda item: (item,),
    "f_concat": lambda one, other: one + other,
    "f_member": lambda items, item: int(item in items),
    "f_size": len,
    "f_first": lambda items: items[0],
    "f_removeFirst": lambda items: items[1:],
}


class Node:
    def __init__(self) -> None:
        self.stored: dict[str, dict[Row, tuple[Row, int | None]]] = {}
        self.queue: deque[tuple[str, Row]] = deque()
        self.orders: list[tuple[int, str, Row, bool]] = []
        self.followed: dict[int, set[Row]] = {}


class Oracle:
    def __init__(self, text: str, nodes: list[str], latency: int) -> None:
        self.program: RapidProgram = parse(text, "text")
        self.nodes = {name: Node() for name in nodes}
        self.latency = latency
        self.agenda: dict[int, list[tuple[str, tuple[int, str, Row, bool]]]] = {}
        self.tick = -1
        self.sent = 0
        self.written = {
            rule.head.name
            for rule in self.program.rules
            if rule.deletes
            or (rule.head.name in self.program.tables and self.program.events_of(rule))
            or (rule.head.name in self.program.tables and self.program.tables[rule.head.name].size is not None)
        }

    # What happens

    def give(self, tick: int, name: str, row: Row, *, delete: bool = False) -> None:
        deed = HAPPEN if self.program.is_event(name) else DELETE if delete else STORE
        self.agenda.setdefault(tick, []).append(("given", (deed, name, row, True)))

    def run(self, until: int) -> None:
        periods = {
            (float(atom.args[2]), int(atom.args[3]) if len(atom.args) > 3 else None)
            for rule in self.program.rules
            for atom in rule.atoms
            if atom.name == "periodic"
        }
        for tick in range(self.tick + 1, until + 1):
            self.tick = tick
            due = self.agenda.pop(tick, [])
            self._deliver([order for kind, order in due if kind == "given"])
            self._settle()
            for name, node in self.nodes.items():
                for rows in node.stored.values():
                    for key in [key for key, (_, end) in rows.items() if end is not None and end <= tick]:
                        del rows[key]
                for seconds, times in periods:
                    step = round(seconds * 1000)
                    if tick and tick % step == 0 and (times is None or tick // step <= times):
                        node.orders.append((HAPPEN, f"periodic {seconds} {times}", (name, 0), False))
            self._deliver([order for kind, order in due if kind == "sent"])
            self._settle()

    def _deliver(self, orders: list[tuple[int, str, Row, bool]]) -> None:
        for order in orders:
            self.nodes[order[2][0]].orders.append(order)

    def _settle(self) -> None:
        for name, node in self.nodes.items():
            while self._step(name, node):
                pass

    def _step(self, name: str, node: Node) -> bool:
        orders, node.orders = sorted(node.orders), []
        for deed, relation, row, exact in orders:
            self._obey(node, deed, relation, row, exact=exact)
        event = node.queue.popleft() if node.queue else None
        views = self._views(name, node)
        for number, rule in enumerate(self.program.rules):
            events = self.program.events_of(rule)
            deed = DELETE if rule.deletes else HAPPEN if self.program.is_event(rule.head.name) else STORE
            if events:
                if event is not None and _is(events[0].name, events[0].args, event[0]):
                    for row in self._derived(rule, views, event):
                        self._order(name, (deed, rule.head.name, row, False))
            elif rule.head.name in self.written or deed == HAPPEN:
                after = self._derived(rule, views, None)
                before = node.followed.get(number, set())
                for row in after - before:
                    self._order(name, (deed, rule.head.name, row, False))
                if deed == STORE:
                    for row in before - after:
                        self._order(name, (DELETE, rule.head.name, row, True))
                node.followed[number] = after
        return bool(orders or event or node.orders)

    def _order(self, name: str, order: tuple[int, str, Row, bool]) -> None:
        if order[2][0] == name:
            self.nodes[name].orders.append(order)
        else:
            self.sent += 1
            self.agenda.setdefault(self.tick + self.latency, []).append(("sent", order))

    def _obey(self, node: Node, deed: int, relation: str, row: Row, *, exact: bool) -> None:
        if deed == HAPPEN:
            node.queue.append((relation, row))
            return
        rows = node.stored.setdefault(relation, {})
        key = tuple(row[at] for at in self.program.key(relation, len(row)))
        if deed == DELETE:
            if key in rows and (not exact or rows[key][0] == row):
                del rows[key]
            return
        table = self.program.tables[relation]
        end = None if table.lifetime is None else self.tick + round(table.lifetime * 1000)
        rows.pop(key, None)
        rows[key] = row, end
        if table.size is not None and len(rows) > table.size:
            del rows[next(iter(rows))]

    # What holds

    def rows(self, relation: str) -> set[Row]:
        return {row for name, node in self.nodes.items() for row in self._views(name, node).get(relation, ())}

    def _views(self, name: str, node: Node) -> dict[str, set[Row]]:
        """Stored rows, and all that follows from them, by naive evaluation."""
        found = {table: {row for row, _ in rows.values()} for table, rows in node.stored.items()}
        rules = [
            rule
            for rule in self.program.rules
            if not rule.deletes
            and not self.program.events_of(rule)
            and rule.head.name in self.program.tables
            and rule.head.name not in self.written
        ]
        while True:
            before = {table: set(rows) for table, rows in found.items()}
            for relation in dict.fromkeys(rule.head.name for rule in rules):
                own = [rule for rule in rules if rule.head.name == relation]
                found[relation] = set().union(*(self._derived(rule, before, None) for rule in own))
            if found == before:
                return found

    def _derived(self, rule: RapidRule, rows: dict[str, set[Row]], event: tuple[str, Row] | None) -> set[Row]:
        bindings = {tuple(sorted(each.items())) for each in self._bindings(rule, 0, {}, rows, event)}
        groups: dict[Row, list[Binding]] = {}
        spot = next((at for at, arg in enumerate(rule.head.args) if AGGREGATE.match(arg)), None)
        if spot is None:
            return {tuple(_value(bare(arg), dict(each)) for arg in rule.head.args) for each in bindings}
        kind = AGGREGATE.match(rule.head.args[spot])[1]  # type: ignore[index]
        carried = range(spot + 1, len(rule.head.args)) if kind in ("MIN", "MAX") else range(0)
        grouped = [at for at in range(len(rule.head.args)) if at != spot and at not in carried]
        for each in bindings:
            binding = dict(each)
            groups.setdefault(tuple(_value(bare(rule.head.args[at]), binding) for at in grouped), []).append(binding)
        if kind == "COUNT" and event is not None and not groups:
            only = RapidRule(None, rule.head, [*self.program.events_of(rule)], rule.span)
            alone = next(self._bindings(only, 0, {}, rows, event), None)
            if alone is not None:
                groups[tuple(_value(bare(rule.head.args[at]), alone) for at in grouped)] = []
        found = set()
        for group, mine in groups.items():
            chosen: list[Any] = [None] * len(rule.head.args)
            for at, value in zip(grouped, group, strict=True):
                chosen[at] = value
            if kind == "COUNT":
                chosen[spot] = len(mine)
            else:
                word = bare(rule.head.args[spot])
                best = (min if kind == "MIN" else max)(
                    (binding[word], *(_value(bare(rule.head.args[at]), binding) for at in carried)) for binding in mine
                )
                chosen[spot:] = best
            found.add(tuple(chosen))
        return found

    def _bindings(
        self, rule: RapidRule, at: int, binding: Binding, rows: dict[str, set[Row]], event: tuple[str, Row] | None
    ) -> Iterator[Binding]:
        if at == len(rule.goals):
            yield binding
            return
        goal = rule.goals[at]
        if isinstance(goal, str):
            more = _holds(goal, binding)
            if more is not None:
                yield from self._bindings(rule, at + 1, binding | more, rows, event)
            return
        if self.program.is_event(goal.name):
            args = goal.args[:2] if goal.name == "periodic" else goal.args
            candidates = [event[1]] if event is not None and _is(goal.name, goal.args, event[0]) else []
        else:
            args, candidates = goal.args, sorted(rows.get(goal.name, ()))
        for row in candidates:
            more = _matched([bare(arg) for arg in args], row, binding)
            if more is not None:
                yield from self._bindings(rule, at + 1, more, rows, event)


def _is(name: str, args: list[str], event: str) -> bool:
    if name != "periodic":
        return name == event
    return event == f"periodic {float(args[2])} {int(args[3]) if len(args) > 3 else None}"


def _matched(args: list[str], row: Row, binding: Binding) -> Binding | None:
    found = dict(binding)
    for arg, value in zip(args, row, strict=True):
        if arg == "_":
            continue
        if arg[0].isupper():
            if found.setdefault(arg, value) != value:
                return None
        elif _value(arg, {}) != value:
            return None
    return found


def _value(word: str, binding: Binding) -> Any:
    return eval(word, {"__builtins__": {}}, FUNCTIONS | binding)


def _holds(goal: str, binding: Binding) -> Binding | None:
    """What a condition adds to a binding; None if it does not hold."""
    if ":=" in goal:
        name, text = goal.split(":=")
        return {name.strip(): _value(text.strip(), binding)}
    ring = re.fullmatch(r"(\w+)\s+in\s+([(\[])(.*)([)\]])", goal)
    if ring:
        key, first, last = (_value(word, binding) for word in (ring[1], *split(ring[3])))
        positions = [(first + step) % 65536 for step in range(1, ((last - first - 1) % 65536) + 1)]
        inside = key in positions
        inside |= (ring[2] == "[" and key == first) or (ring[4] == "]" and key == last)
        return {} if inside else None
    return {} if _value(goal, binding) else None
