"""Whether a term always has a value, and what is known of the lists that a recursive relation builds.

`concatPath([S, Z], P2)` has a value only if P2 starts at Z. In a routing program it always does, because every rule for
`path(S, D, P, C)` makes a P that starts at S; `path_ends` finds such invariants by induction: suppose that all of
them hold, drop those that some rule does not keep, until every rule keeps what is left.

Guarantees: a term with a `Shape` has a value for every row that the goals before it let through; None promises nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headwater.core.types import Type
from headwater.language import syntax
from headwater.program.model import Relation

Node: TypeAlias = str  # a variable's name, or a constant's printed value after `=`


@dataclass(frozen=True, slots=True)
class Shape:
    """`is_list` is None where the type is not known; `first` and `last` are what is known to stand at a list's ends.

    `pair` is a list of two, such as a link, which `concatPath` also takes from its far end.
    """

    is_list: bool | None = None
    empty: bool = False
    first: frozenset[Node] = frozenset()
    last: frozenset[Node] = frozenset()
    pair: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """Pairs (list column, other column): the list starts with, or ends with, the other column's value."""

    first: frozenset[tuple[int, int]] = frozenset()
    last: frozenset[tuple[int, int]] = frozenset()


_SCALAR = Shape(is_list=False)
_ALWAYS = frozenset({"larger", "largest", "smaller", "smallest", "abs", "to_string"})
"""Functions that have a value whatever (well-typed) arguments they get, and do not make lists of scalars."""


def path_ends(relation: Relation, rules: Collection[syntax.Rule], relations: Mapping[str, Relation]) -> Ends:
    """What holds of every row of a relation that `rules`, and nothing else, define."""
    columns = range(relation.arity)
    everything = frozenset((a, b) for a in columns for b in columns if a != b)
    ends = Ends(everything, everything)
    while True:
        kept = ends
        for rule in rules:
            shapes = rule_shapes(rule, relations, {relation.name: kept})
            nodes = [_node(arg) for arg in rule.head.args]
            heads = [None if isinstance(arg, syntax.Aggregate) else shape_of(arg, shapes) for arg in rule.head.args]
            kept = Ends(
                frozenset((a, b) for a, b in kept.first if (shape := heads[a]) and nodes[b] in shape.first),
                frozenset((a, b) for a, b in kept.last if (shape := heads[a]) and nodes[b] in shape.last),
            )
        if kept == ends:
            return ends
        ends = kept


def rule_shapes(rule: syntax.Rule, relations: Mapping[str, Relation], ends: Mapping[str, Ends]) -> dict[str, Shape]:
    """The shapes of a rule's variables; one that an `Assign` may leave without a value is missing."""
    shapes: dict[str, Shape] = {}
    for goal in rule.body:
        if isinstance(goal, syntax.Atom):
            types = [column.type for column in relations[goal.relation].columns]
            known = ends.get(goal.relation, Ends())
            nodes = [_node(arg) for arg in goal.args]
            for at, arg in enumerate(goal.args):
                if isinstance(arg, syntax.Variable):
                    first = frozenset(nodes[other] for column, other in known.first if column == at) - {""}
                    last = frozenset(nodes[other] for column, other in known.last if column == at) - {""}
                    kind = types[at]
                    declared = None if kind is None or kind is Type.ANY else kind.is_list
                    is_list = True if first or last else declared
                    shapes[arg.name] = _merged(shapes.get(arg.name), Shape(is_list, False, first, last))
    for goal in rule.body:
        if isinstance(goal, syntax.Assign):
            shape = shape_of(goal.term, shapes)
            if shape is not None:
                shapes[goal.variable.name] = shape
    return shapes


def shape_of(term: syntax.Term, shapes: Mapping[str, Shape]) -> Shape | None:
    """The shape of a term's value; None where it may have none."""
    match term:
        case syntax.Variable(name=name):
            return shapes.get(name)
        case syntax.Constant():
            return _SCALAR
        case syntax.Wildcard():
            return Shape()
        case syntax.ListTerm(items=items, tail=None):
            if any(shape_of(item, shapes) is None for item in items):
                return None
            if not items:
                return Shape(is_list=True, empty=True)
            return Shape(True, False, _nodes(items[0]), _nodes(items[-1]), pair=len(items) == 2)
        case syntax.ListTerm():
            return None
        case syntax.Binary(op=op, left=left, right=right):
            if shape_of(left, shapes) is None or shape_of(right, shapes) is None:
                return None
            if op in ("/", "%"):
                return _SCALAR if isinstance(right, syntax.Constant) and right.value != 0 else None
            return _SCALAR
        case syntax.Call(function=function, args=args):
            given = [shape_of(arg, shapes) for arg in args]
            known = [shape for shape in given if shape is not None]
            return _called(function.removeprefix("f_"), args, known) if len(known) == len(given) else None
        case _:
            assert_never(term)


def _called(function: str, args: tuple[syntax.Term, ...], given: list[Shape]) -> Shape | None:
    match function, given:
        case "concatPath", [left, right]:
            return _joined_path(args, left, right)
        case "concat", [*parts] if parts and all(part.is_list for part in parts):
            full = [part for part in parts if not part.empty]
            if not full:
                return Shape(is_list=True, empty=True)
            return Shape(True, False, full[0].first, full[-1].last)
        case "concat", [*parts] if all(part.is_list is False for part in parts):
            return _SCALAR
        case "append", [items, _] if items.is_list:
            return Shape(True, False, _nodes(args[1]) if items.empty else items.first, _nodes(args[1]))
        case "encd", [_, _]:
            return Shape(True, False, _nodes(args[0]), _nodes(args[1]))
        case (("length" | "size"), [whole]) if whole.is_list:
            return _SCALAR
        case _:
            return Shape() if function in _ALWAYS else None


def _joined_path(args: tuple[syntax.Term, ...], left: Shape, right: Shape) -> Shape | None:
    if left.is_list and right.is_list:
        if left.empty or right.empty:
            return right if left.empty else left
        if left.last & right.first:
            return Shape(True, False, left.first, right.last)
        if left.pair and left.first & right.first:
            return Shape(True, False, left.last, right.last)
        return None
    if left.is_list is False or right.is_list is False:
        # A node that is no list is put in front or behind, whatever the other side is.
        first = _nodes(args[0]) if left.is_list is False else left.first
        last = _nodes(args[1]) if right.is_list is False else right.last
        return Shape(True, False, first, last)
    return None


def _merged(one: Shape | None, other: Shape) -> Shape:
    """What two goals that name the same variable say of it together."""
    if one is None:
        return other
    is_list = other.is_list if one.is_list is None else one.is_list
    return Shape(is_list, False, one.first | other.first, one.last | other.last)


def _node(term: syntax.Term | syntax.Aggregate) -> Node:
    match term:
        case syntax.Variable(name=name):
            return name
        case syntax.Constant(value=value):
            return f"={value!r}"
        case _:
            return ""


def _nodes(term: syntax.Term) -> frozenset[Node]:
    return frozenset({_node(term)} - {""})
