"""A proof: why a row is there, down to base facts.

A proof is read from the witness stored with each row; no rule runs. Steps that rest on the same row share its node,
and the printed tree shows its proof once.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headwater.core.pictures.drawing import Drawing
from headwater.core.pictures.html import Line, card, folded
from headwater.core.pictures.layers import Box, draw_layers
from headwater.provenance.functions.variables import Fact

_SPECIAL = re.compile(r"[^\w .,:=-]")
_SHOWN_CHILDREN = 20
_DRAWN = 200  # steps that a drawing has room for
_DEEPEST = 40  # a longer chain of steps goes on below the tree, back at the left margin


class Reason(Enum):
    """Why a row of a proof holds."""

    FACT = "fact"  # a base row
    STATED = "stated"  # a fact of the program
    RULE = "rule"
    AGGREGATE = "aggregate"
    BINDING = "binding"  # one binding that an aggregate ranges over
    ABSENT = "absent"  # a negated goal: no row matched


@dataclass(eq=False, slots=True)
class Proof:
    """A row with the reason why it holds; `rule` is the label or text of its rule, if it has one."""

    relation: str
    row: tuple[Any, ...]
    reason: Reason
    rule: str | None = None
    children: list[Proof] = field(default_factory=list)
    text: str = ""
    until: Any = None  # when the row ends; None: never, or a total, which ends with any of its bindings
    decides: bool = False  # a fact that ends first among those the proof rests on

    @property
    def facts(self) -> list[Fact]:
        """The base facts (and facts of the program) that the row rests on, each once, in order of appearance."""
        return [(node.relation, node.row) for node in self.nodes() if node.reason in (Reason.FACT, Reason.STATED)]

    def nodes(self) -> Iterator[Proof]:
        """Every node once, parents before children."""
        seen: set[int] = set()
        pending = [self]
        while pending:
            node = pending.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                pending.extend(reversed(node.children))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        seen: set[int] = set()
        later: deque[Proof] = deque()
        count = 0
        pending: list[tuple[Proof, str, str]] = [(self, "", "")]
        while pending or later:
            if not pending:
                count += 1
                pending.append((later.popleft(), f"({count}) ", ""))
                yield ""
            node, lead, below = pending.pop()
            again = bool(node.children) and id(node) in seen
            yield f"{lead}{node.line()}" + ("  (proved above)" if again else "")
            if again:
                continue
            if node.children and len(below) >= 3 * _DEEPEST:
                later.append(node)
                yield f"{below}└─ ... goes on at ({count + len(later)})"
                continue
            seen.add(id(node))
            shown = node.children[:_SHOWN_CHILDREN]
            more = len(node.children) - len(shown)
            entries = []
            for at, child in enumerate(shown):
                last = at == len(shown) - 1 and not more
                entries.append((child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  ")))
            if more:
                rest = Proof("", (), Reason.BINDING, text=f"... and {more:,} more")
                entries.append((rest, below + "└─ ", below + "   "))
            pending.extend(reversed(entries))

    def line(self) -> str:
        """The node as a line of text."""
        if self.until is None:
            return self._stem()
        return f"{self._stem()}  until {self.until}" + (" (decides)" if self.decides else "")

    def _stem(self) -> str:
        match self.reason:
            case Reason.FACT | Reason.BINDING:
                return self.text
            case Reason.STATED:
                return f"{self.text}  [fact of the program]"
            case Reason.ABSENT:
                return f"no row matched {self.text}"
            case Reason.RULE | Reason.AGGREGATE:
                return f"{self.text}  [{self.rule}]"

    def to_json(self, *, indent: int | None = 2) -> str:
        """The proof as a list of nodes that name their children by number; the first is the row asked about."""
        nodes = list(self.nodes())
        number = {id(node): at for at, node in enumerate(nodes)}
        return json.dumps(
            [
                {
                    "id": at,
                    "relation": node.relation,
                    "row": _plain(node.row),
                    "reason": node.reason.value,
                    "rule": node.rule,
                    "text": node.text,
                    **({} if node.until is None else {"until": node.until, "decides": node.decides}),
                    "children": [number[id(child)] for child in node.children],
                }
                for at, node in enumerate(nodes)
            ],
            indent=indent,
            default=str,
            ensure_ascii=False,
            allow_nan=False,
        )

    def draw(self) -> Drawing:
        """The proof as a drawing (SVG): the row on top, base facts below what rests on them."""
        nodes = list(self.nodes())
        number = {id(node): at for at, node in enumerate(nodes)}
        boxes = [
            Box(
                node.text,
                node._note(),
                tuple(number[id(child)] for child in node.children),
                node._is_fact(),
                node.decides,
            )
            for node in nodes[:_DRAWN]
        ]
        return draw_layers(f"why {self.text}", boxes, max(0, len(nodes) - _DRAWN))

    def _repr_html_(self) -> str:
        """The proof as a tree that folds, for notebooks."""
        nodes = list(self.nodes())
        number = {id(node): at for at, node in enumerate(nodes)}
        lines = [
            Line(node.text, node._note(), tuple(number[id(child)] for child in node.children), node._is_fact())
            for node in nodes
        ]
        return card("Proof", folded(lines), note=f"rests on {len(self.facts):,} facts")

    def _is_fact(self) -> bool:
        return self.reason in (Reason.FACT, Reason.STATED)

    def _note(self) -> str:
        """What is said of a node beside its row."""
        said = {Reason.STATED: "fact of the program", Reason.ABSENT: "no row matched"}.get(self.reason, self.rule or "")
        return (
            said if self.until is None else f"{said} until {self.until}{' (decides)' if self.decides else ''}".strip()
        )

    def to_dot(self) -> str:
        """The proof as a Graphviz digraph."""
        lines = ["digraph proof {", "  rankdir=TB;", "  node [shape=box];"]
        nodes = list(self.nodes())
        number = {id(node): at for at, node in enumerate(nodes)}
        for at, node in enumerate(nodes):
            shape = ", style=filled, fillcolor=lightgrey" if node.reason in (Reason.FACT, Reason.STATED) else ""
            lines.append(f"  n{at} [label={json.dumps(node.line(), ensure_ascii=False)}{shape}];")
            lines += [f"  n{at} -> n{number[id(child)]};" for child in node.children]
        return "\n".join([*lines, "}"])

    def to_mermaid(self) -> str:
        """The proof as a Mermaid flowchart."""
        lines = ["flowchart TD"]
        nodes = list(self.nodes())
        number = {id(node): at for at, node in enumerate(nodes)}
        for at, node in enumerate(nodes):
            lines.append(f'  n{at}["{_escaped(node.line())}"]')
            lines += [f"  n{at} --> n{number[id(child)]}" for child in node.children]
        return "\n".join(lines)


def _plain(value: Any) -> Any:
    """A value that JSON has a way to write: it has none for floats that are not finite."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
