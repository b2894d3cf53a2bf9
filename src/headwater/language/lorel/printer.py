"""Lorel's syntax tree to text: what it prints parses back to an equal tree."""

from __future__ import annotations

import re
from typing import assert_never

from headwater.language.escapes import quoted
from headwater.language.lorel import tree
from headwater.language.lorel.build import ANSWER

_NAME = re.compile(r"[^\W\d]\w*'*")
_LABEL = re.compile(r"[^\W\d]\w*")
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
        define view update select from where with order by asc desc limit as or and not exists for in union like
        true false null count sum min max avg oldval oldpath ins del chg upd
        """,
    )
)
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


def print_lorel(lorel: tree.LorelTree) -> str:
    return "".join(f"{print_lorel_statement(statement)};\n" for statement in lorel.statements)


def print_lorel_statement(statement: tree.LorelStatement) -> str:
    match statement:
        case tree.ViewDefinition(name, (tree.NamedQuery(part, query),)) if name == part == ANSWER:
            return print_query(query)
        case tree.ViewDefinition(name, parts):
            texts = (f"{_name(part.name)} = {print_query(part.query, 2)}" for part in parts)
            return f"define view {_name(name)} as\n  " + ";\n  ".join(texts)
        case tree.UpdateStatement(target, op, value, sources, where):
            text = f"update {print_operand(target)} {op} {print_operand(value)}"
            text += f" from {', '.join(map(_from_item, sources))}" if sources else ""
            return text + (f" where {print_condition(where)}" if where is not None else "")
        case tree.InsertEdge() | tree.DeleteEdge() | tree.ChangeValue():
            return print_update(statement)
        case _:
            assert_never(statement)


def print_update(update: tree.ElementaryUpdate) -> str:
    match update:
        case tree.InsertEdge(parent, label, child):
            return f"Ins(&{parent}, {_label(label)}, &{child})"
        case tree.DeleteEdge(parent, label, child):
            return f"Del(&{parent}, {_label(label)}, &{child})"
        case tree.ChangeValue(oid, old, new):
            return f"Chg(&{oid}, {print_value(old)}, {print_value(new)})"
        case _:
            assert_never(update)


def print_query(query: tree.SelectQuery, indent: int = 0, selected: str | None = None) -> str:
    """One clause per line; `selected` replaces what the select clause says."""
    lines = (f"{word:6} {text}" for word, text in _clauses(query, selected))
    return ("\n" + " " * indent).join(lines)


def _in_line(query: tree.SelectQuery) -> str:
    return " ".join(f"{word} {text}" for word, text in _clauses(query, None))


def _clauses(query: tree.SelectQuery, selected: str | None) -> list[tuple[str, str]]:
    found = [("select", selected or ", ".join(map(_select_item, query.items)))]
    if query.sources:
        found.append(("from", ", ".join(map(_from_item, query.sources))))
    if query.where is not None:
        parts = query.where.parts if isinstance(query.where, tree.AllOf) else (query.where,)
        found.append(("where", _conjunct(parts[0], len(parts) > 1)))
        found += (("and", _conjunct(part, True)) for part in parts[1:])
    if query.adjuncts:
        found.append(("with", ", ".join(map(_with_item, query.adjuncts))))
    if query.order:
        found.append(("order by", ", ".join(map(_order_item, query.order))))
    if query.limit is not None:
        found.append(("limit", str(query.limit)))
    return found


def print_condition(condition: tree.LorelCondition) -> str:
    match condition:
        case tree.AllOf(parts):
            return " and ".join(_conjunct(part, True) for part in parts)
        case tree.AnyOf(parts):
            return " or ".join(_inside_or(part) for part in parts)
        case tree.NotSo(part):
            return f"not {_conjunct(part, True)}"
        case tree.Compared(op, left, right):
            return f"{print_operand(left)} {op} {print_operand(right)}"
        case tree.ExistsIn(variable, source, inner):
            text = f"exists {_root(variable)} in {print_operand(source)}"
            return text if inner is None else f"{text}: {_conjunct(inner, True)}"
        case tree.ForAll(variable, source, inner):
            return f"for all {_root(variable)} in {print_operand(source)}: {_conjunct(inner, True)}"
        case tree.Exists(source):
            return f"exists {print_operand(source)}"
        case tree.MemberOf(item, source):
            return f"{print_operand(item)} in {print_operand(source)}"
        case _:
            assert_never(condition)


def print_operand(operand: tree.Operand) -> str:
    match operand:
        case tree.PathExpression(root, steps):
            return _root(root) + "".join(f".{_step(step)}" for step in steps)
        case tree.LorelLiteral(value):
            return print_value(value)
        case tree.AggregateOf(function, tree.Subquery(query)):
            return f"{function}({_in_line(query)})"
        case tree.AggregateOf(function, source):
            return f"{function}({print_operand(source)})"
        case tree.Subquery(query):
            return f"({_in_line(query)})"
        case tree.UnionOf(source, objects):
            return f"({print_operand(source)} union {{{', '.join(map(_root, objects))}}})"
        case tree.OldPath(path):
            return f"OldPath({print_operand(path)})"
        case tree.OldValue(path):
            return f"OldVal({print_operand(path)})"
        case tree.Arithmetic(op, left, right):
            strength = _STRENGTH[op]
            return f"{_factor(left, strength)} {op} {_factor(right, strength + 1)}"
        case _:
            assert_never(operand)


def print_value(value: tree.AtomicValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int():
            return str(value)
        case float():
            text = repr(value)
            return text if "." in text or "e" in text else f"{text}.0"
        case _:
            assert_never(value)


def _conjunct(part: tree.LorelCondition, several: bool) -> str:
    """In brackets where it would fall apart beside an `and`."""
    text = print_condition(part)
    return f"({text})" if several and isinstance(part, tree.AnyOf | tree.AllOf) else text


def _inside_or(part: tree.LorelCondition) -> str:
    return f"({print_condition(part)})" if isinstance(part, tree.AnyOf) else print_condition(part)


def _factor(operand: tree.Operand, strength: int) -> str:
    text = print_operand(operand)
    weak = isinstance(operand, tree.Arithmetic) and _STRENGTH[operand.op] < strength
    negative = isinstance(operand, tree.LorelLiteral) and text.startswith("-")
    return f"({text})" if weak or negative else text


def _select_item(item: tree.SelectItem) -> str:
    text = print_operand(item.operand)
    return text if item.label is None else f"{_as_label(item.label)}: {text}"


def _as_label(label: str) -> str:
    return label if _LABEL.fullmatch(label) and label.lower() not in _RESERVED else quoted(label)


def _from_item(item: tree.FromItem) -> str:
    return print_operand(item.source) + (f" {_root(item.variable)}" if item.variable is not None else "")


def _with_item(item: tree.WithItem) -> str:
    return print_operand(item.path) + (f" {_root(item.variable)}" if item.variable is not None else "")


def _order_item(item: tree.OrderItem) -> str:
    return print_operand(item.operand) + (" desc" if item.descending else "")


def _root(root: tree.Identifier | tree.ObjectId) -> str:
    return f"&{root.oid}" if isinstance(root, tree.ObjectId) else _name(root.name)


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) and name.lower() not in _RESERVED else f"`{name}`"


def _label(label: str) -> str:
    return label if _LABEL.fullmatch(label) else quoted(label)


def _step(step: tree.PathStep) -> str:
    match step:
        case tree.ByLabel(label, places, variable):
            return _label(label) + _places(places) + _bound(variable)
        case tree.ByPattern(pattern, places, variable):
            return pattern + _places(places) + _bound(variable)
        case tree.AnyPath():
            return "#"
        case tree.Choice(branches):
            return f"({'|'.join('.'.join(map(_step, branch)) for branch in branches)})"
        case tree.Repeat(path, least, endless):
            return _step(path) + ("?" if not endless else "+" if least else "*")
        case _:
            assert_never(step)


def _bound(variable: tree.Identifier | None) -> str:
    return "" if variable is None else f"@{_root(variable)}"


def _places(places: tree.Places | None) -> str:
    if places is None:
        return ""
    return f"[{places.first}]" if places.first == places.last else f"[{places.first}-{places.last}]"
