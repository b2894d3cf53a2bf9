"""The types of the columns of a RapidNet program, which declares none: found from how values are used and meet.

Columns, variables of rules and items of lists that meet are of one type. Places are strings; what is computed with, or
compared with a number, is an int, and a float if a float meets it; what nothing says anything about is a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from headwater.network.rapidnet.syntax import AGGREGATE, RapidAtom, RapidRule, bare, is_variable, split

_CALL = re.compile(r"f_\w+\((?:[^()]|\([^()]*\))*\)")
_LISTS = ("f_append", "f_initlist", "f_list")
_SAME = ("f_removeFirst", "f_removeLast", "f_concat", "f_reverse", "f_concatPath")
_NUMBERS = {"f_size": "int", "f_now": "float", "f_rand": "int"}


class ColumnKinds:
    """Types by relation and column."""

    def __init__(self, rules: Iterable[RapidRule], given: Mapping[str, tuple[str, ...]]) -> None:
        self._parent: dict[object, object] = {}
        self._items: dict[object, object] = {}
        self._said: dict[object, set[str]] = {}
        for name, kinds in given.items():
            for at, kind in enumerate(kinds):
                self._say((name, at), kind)
        for number, rule in enumerate(rules):
            self._rule(number, rule)

    def of(self, name: str, at: int) -> str:
        """The type of a column."""
        return self._kind((name, at), 0)

    def _kind(self, what: object, depth: int) -> str:
        root = self._root(what)
        said = self._said.get(root, set())
        if root in self._items and depth < 4:
            return f"list<{self._kind(self._items[root], depth + 1)}>"
        for kind in ("string", "float", "int"):
            if kind in said:
                return kind
        return next(iter(sorted(said)), "string")

    def _root(self, what: object) -> object:
        while (parent := self._parent.get(what, what)) != what:
            what = parent
        return what

    def _meet(self, one: object, other: object) -> None:
        one, other = self._root(one), self._root(other)
        if one == other:
            return
        self._parent[other] = one
        self._said.setdefault(one, set()).update(self._said.pop(other, set()))
        theirs = self._items.pop(other, None)
        if theirs is not None:
            self._meet(self._item(one), theirs)

    def _item(self, what: object) -> object:
        root = self._root(what)
        return self._items.setdefault(root, ("item", root))

    def _say(self, what: object, kind: str) -> None:
        self._said.setdefault(self._root(what), set()).add(kind)

    def _rule(self, number: int, rule: RapidRule) -> None:
        for atom in (rule.head, *rule.atoms):
            self._atom(number, atom)
        for goal in rule.conditions:
            self._goal(number, goal)

    def _atom(self, number: int, atom: RapidAtom) -> None:
        for at, arg in enumerate(atom.args):
            column = (atom.name, at)
            aggregate = AGGREGATE.match(arg)
            if aggregate and aggregate[1] in ("COUNT", "AVG"):
                self._say(column, "int" if aggregate[1] == "COUNT" else "float")
            else:
                self._value(number, column, bare(arg))
            if at == 0 or arg.startswith("@"):
                self._say(column, "string")
            elif at == 2 and atom.name.startswith("link"):
                self._say(column, "int")
            if atom.name == "periodic":
                self._say(column, "string" if at == 0 else "int")

    def _value(self, number: int, what: object, text: str) -> None:
        """What a word, a call, or a computation says about the type of `what`."""
        text = text.strip()
        call = re.fullmatch(r"(f_\w+)\((.*)\)", text, re.DOTALL)
        if is_variable(text):
            self._meet(what, (number, text))
        elif text.startswith(('"', "'")) or re.fullmatch(r"[a-z]\w*", text):
            self._say(what, "string")
        elif call and call[1] != "f_member" and _CALL.fullmatch(text):
            self._call(number, what, call[1], split(call[2]))
        elif text and text != "_":
            for word in re.findall(r"\b[A-Z]\w*\b", _CALL.sub(" ", text)):
                self._meet(what, (number, word))
            floats = re.search(r"\d\.\d", text) or "f_now" in text
            self._say(what, "float" if floats else "int")

    def _call(self, number: int, what: object, name: str, args: list[str]) -> None:
        if name in _LISTS:
            for arg in args:
                self._value(number, self._item(what), bare(arg))
        elif name in _SAME:
            for arg in args:
                self._value(number, what, bare(arg))
        elif name in ("f_first", "f_last") and args:
            listed = (number, bare(args[0]))
            self._meet(what, self._item(listed))
        elif name == "f_empty":
            self._item(what)
        elif name == "f_sha1":
            self._say(what, "int")
        elif name in _NUMBERS:
            self._say(what, _NUMBERS[name])
            for arg in args:
                if is_variable(bare(arg)):
                    self._item((number, bare(arg)))

    def _goal(self, number: int, goal: str) -> None:
        member = re.fullmatch(r"f_member\((.*)\)\s*[!=]=\s*[01]", goal, re.DOTALL)
        if member:
            args = [bare(arg) for arg in split(member[1])]
            if len(args) == 2 and is_variable(args[0]):
                self._value(number, self._item((number, args[0])), args[1])
            return
        ring = re.fullmatch(r"(.+?)\s+in\s+[(\[](.*)[)\]]", goal, re.DOTALL)
        sides = [ring[1], *split(ring[2])] if ring else re.split(r":=|[<>=!]=|<|>", goal)
        meeting = ("goal", number, goal)
        for side in sides:
            self._value(number, meeting, side.strip().lstrip("@"))
        if ring:
            self._say(meeting, "int")
