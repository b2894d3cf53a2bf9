"""No number that decides by size is forgotten where tests lower them all, and lowering one really changes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.thresholds import HASHED, KEPT, LOWERED

ROOT = Path(__file__).parents[1] / "src" / "headwater"
WHERE = ("database.py", "engine", "exchange", "network/simulator", "plan", "provenance", "spark")
"""The parts of `src` that rows go through."""


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        within = path.relative_to(ROOT)
        if within.as_posix().startswith(WHERE):
            yield ".".join(within.with_suffix("").parts), ast.parse(path.read_text())


MODULES = dict(_modules())


def _number(value: ast.expr) -> float | None:
    """What an expression of nothing but numbers gives."""
    match value:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _number(left), _number(right)
            if one is None or other is None:
                return None
            return float(eval(f"{one!r} {_SIGNS[type(op)]} {other!r}"))
        case _:
            return None


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.FloorDiv: "//",
    ast.Div: "/",
}


def _numbers(module: ast.Module) -> Iterator[str]:
    """Names in capitals that a module binds to a number."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if name.isupper() and _number(value) is not None:
            yield name


FOUND = {f"{module}.{name}" for module, tree in MODULES.items() for name in _numbers(tree)}


def test_every_number_that_may_decide_by_size_is_listed() -> None:
    listed = {*LOWERED, *HASHED, *KEPT}
    assert not FOUND - listed, "add it to `LOWERED` in tests/thresholds.py, or to `KEPT` with the reason why not"
    assert not listed - FOUND, "it is gone from `src`: remove it from tests/thresholds.py"


def test_a_number_is_listed_once() -> None:
    assert len({*LOWERED, *HASHED, *KEPT}) == len(LOWERED) + len(HASHED) + len(KEPT)


@pytest.mark.parametrize("name", sorted({*LOWERED, *HASHED}))
def test_lowering_reaches_whoever_reads_it(name: str) -> None:
    """Another module that imports the number, a default of a parameter and a compiled function keep the old one."""
    module, _, number = name.rpartition(".")
    for other, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == f"headwater.{module}":
                assert number not in {one.name for one in node.names}, f"{other} has a {number} of its own"
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.FunctionDef):
            frozen: list[ast.AST] = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            if any("njit" in ast.unparse(one) for one in node.decorator_list):
                frozen.append(node)
            read = {one.id for part in frozen for one in ast.walk(part) if isinstance(one, ast.Name)}
            assert number not in read, f"{node.name} keeps the {number} that it was made with"
