"""The mistakes that can be planted in a file: each changes one place, as a tired person would.

A mistake is known by its file, the function it is in, and the text before and after: lines may move without it being
another one. Messages, assertions (`strict=True` is one) and declarations of types are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_TOO_EASY = frozenset({"assert_never", "isinstance", "issubclass", "map", "zip"})
"""Calls that fail at once with their arguments swapped, or that never run."""

_COMPILED = frozenset({"borrowing", "inlined", "kernel"})
"""The decorators of functions that numba compiles."""

_TWINS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    path: str  # below src/headwater
    function: str
    kind: str
    before: str
    after: str
    number: int  # among those of one function that look the same
    start: int
    end: int
    line: int
    compiled: bool  # inside a function that numba compiles

    @property
    def name(self) -> str:
        again = f" #{self.number}" if self.number else ""
        return f"{self.path} {self.function}: {self.kind}: `{self.before}` -> `{self.after}`{again}"

    def planted(self, text: str) -> str:
        raw = text.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()


def mutants(path: str, text: str) -> list[Mutant]:
    """Every mistake that can be planted in a file."""
    return list(_Planter(path, text).run())


class _Planter:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._seen: dict[tuple[str, str, str, str], int] = {}

    def run(self) -> Iterator[Mutant]:
        for node in ast.parse(self._text).body:
            yield from self._inside(node, "", compiled=False)

    def _inside(self, node: ast.AST, function: str, *, compiled: bool) -> Iterator[Mutant]:
        """The mistakes in a class or function, and in what stands in it."""
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            function = f"{function}.{node.name}" if function else node.name
            compiled = compiled or any(ast.unparse(one) in _COMPILED for one in node.decorator_list)
            for child in node.body:
                yield from self._inside(child, function, compiled=compiled)
        elif function:
            for kind, place, after in _mistakes(node):
                yield self._made(function, kind, place, after, compiled)
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue
                if not isinstance(node, ast.Raise | ast.Assert | ast.AnnAssign) or isinstance(child, ast.stmt):
                    yield from self._inside(child, function, compiled=compiled)

    def _made(self, function: str, kind: str, place: ast.AST, after: str, compiled: bool) -> Mutant:
        assert isinstance(place, ast.expr | ast.stmt)
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        start = self._lines[place.lineno - 1] + place.col_offset
        end = self._lines[place.end_lineno - 1] + place.end_col_offset
        before = self._text.encode()[start:end].decode()
        key = (function, kind, before, after)
        number = self._seen[key] = self._seen.get(key, -1) + 1
        return Mutant(self._path, function, kind, before, after, number, start, end, place.lineno, compiled)


def _mistakes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """What can go wrong at one node: the kind of mistake, the place, and the text that takes its place."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITES:
            yield "comparison", node, f"{_in(left)} {_OPPOSITES[type(op)]} {_in(right)}"
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield "and/or", node, "(" + word.join(map(_in, values)) + ")"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", node, _in(operand)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            yield "dropped ~", node, _in(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            yield "plus/minus", node, f"({_in(left)} {'-' if isinstance(op, ast.Add) else '+'} {_in(right)})"
        case ast.Call(func=ast.Name(id=word) as func) if word in _TWINS:
            yield "twin", func, _TWINS[word]
        case ast.Call(func=ast.Attribute(value=value, attr=word) as func) if word in _TWINS:
            yield "twin", func, f"{ast.unparse(value)}.{_TWINS[word]}"
        case ast.Constant(value=bool() as value):
            yield "flag", node, str(not value)
        case ast.Constant(value=int() as value) if value < 1000:
            yield "off by one", node, str(value + 1)
        case ast.Expr(value=ast.Call(func=func)) if ast.unparse(func) not in _TOO_EASY:
            yield "dropped statement", node, "pass"
        case ast.AugAssign():
            yield "dropped statement", node, "pass"
        case ast.If(test=test) if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield "negated condition", test, f"not ({ast.unparse(test)})"
        case ast.Continue():
            yield "break", node, "break"
        case _:
            pass
    if isinstance(node, ast.Call) and ast.unparse(node.func) not in _TOO_EASY:
        names = [one for one in node.args if isinstance(one, ast.Name)]
        if len(names) == len(node.args) >= 2 and not node.keywords and ast.unparse(node.args[0]) != "self":
            one, other, *more = map(ast.unparse, node.args)
            if one != other:
                yield "swapped arguments", node, f"{ast.unparse(node.func)}({', '.join((other, one, *more))})"


def _in(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if isinstance(node, ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript) else f"({text})"
