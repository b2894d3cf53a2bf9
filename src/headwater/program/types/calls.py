"""Calls as the types of their arguments ask for them, once these types are known.

Where a function takes a moment, a text is read as one: `datediff(T, "2024-02-29")`; where its arguments go together,
so is a text beside a moment: `if(C, T, "2024-02-29")`.
A moment is a number inside, so a cast that may get anything becomes the one for moments where it gets one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from headwater.core.functions.function import Registry, lookup
from headwater.core.functions.registry import FUNCTIONS
from headwater.core.types import Type
from headwater.language import syntax
from headwater.language.terms import with_terms
from headwater.program.types.literals import coerced
from headwater.program.types.typing import arithmetic_type, call_type, list_type

_OF_MOMENTS = {**dict.fromkeys(("to_string", "try_to_string"), "time_to_string"), "try_to_int": "unix_timestamp"}
_OF_DATES = {
    **_OF_MOMENTS,
    **dict.fromkeys(("to_string", "try_to_string"), "date_to_string"),
    "try_to_timestamp": "date_to_timestamp",
}
_Typed = tuple[syntax.Term, Type | None]


def settled(term: syntax.Term, variables: Mapping[str, Type | None], registry: Registry) -> syntax.Term:
    """The term with every call in it as the types of its arguments ask for it."""
    return _typed(term, variables, registry)[0]


def settled_rule(
    rule: syntax.Rule, variables: Mapping[str, Type | None], registry: Registry = FUNCTIONS
) -> syntax.Rule:
    body = tuple(_goal(goal, variables, registry) for goal in rule.body)
    return rule if body == rule.body else replace(rule, body=body)


def _goal(goal: syntax.Goal, variables: Mapping[str, Type | None], registry: Registry) -> syntax.Goal:
    if isinstance(goal, syntax.Condition):
        found = settled(goal.call, variables, registry)
        return replace(goal, call=found) if isinstance(found, syntax.Call) else goal
    return with_terms(goal, lambda term: settled(term, variables, registry))


def _typed(term: syntax.Term, variables: Mapping[str, Type | None], registry: Registry) -> _Typed:
    match term:
        case syntax.Variable(name):
            return term, variables.get(name)
        case syntax.Wildcard():
            return term, None
        case syntax.Constant():
            return term, term.type
        case syntax.ListTerm(items, tail):
            given = [_typed(item, variables, registry) for item in items]
            rest, behind = (None, None) if tail is None else _typed(tail, variables, registry)
            inner = tuple(item for item, _ in given)
            whole = list_type([kind for _, kind in given], behind)
            return (term if (inner, rest) == (items, tail) else replace(term, items=inner, tail=rest)), whole
        case syntax.Binary(op, left, right):
            one, other = _typed(left, variables, registry), _typed(right, variables, registry)
            kind = arithmetic_type(op, one[1], other[1])
            return (term if (one[0], other[0]) == (left, right) else replace(term, left=one[0], right=other[0])), kind
        case syntax.Call(_, args):
            return _call(term, [_typed(arg, variables, registry) for arg in args], registry)
        case _:
            assert_never(term)


def _call(call: syntax.Call, given: list[_Typed], registry: Registry) -> _Typed:
    kinds = [kind for _, kind in given]
    if kinds == [Type.TIMESTAMP] and call.function == "try_to_timestamp":
        return given[0]
    if kinds in ([Type.TIMESTAMP], [Type.DATE]):
        spelt = _OF_DATES if kinds == [Type.DATE] else _OF_MOMENTS
        call = replace(call, function=spelt.get(call.function, call.function))
    function = lookup(registry, call.function)
    if function is None:
        return replace(call, args=tuple(arg for arg, _ in given)), None
    wanted_here = (function.parameter(place) for place in range(len(given)))
    given = [
        _moment(one, wanted) if wanted is not None and wanted.is_moment else one
        for one, wanted in zip(given, wanted_here, strict=True)
    ]
    if function.alike is not None and any(kind is not None and kind.is_moment for kind in kinds[function.alike :]):
        alike = kinds[function.alike :]
        wanted = Type.DATE if Type.TIMESTAMP not in alike else Type.TIMESTAMP
        given = given[: function.alike] + [_moment(one, wanted) for one in given[function.alike :]]
    args = tuple(arg for arg, _ in given)
    return (call if args == call.args else replace(call, args=args)), call_type(
        function, args, tuple(k for _, k in given)
    )


def _moment(given: _Typed, wanted: Type) -> _Typed:
    """A text as a date, where it is one and only dates stand beside it, else as a timestamp."""
    term, kind = given
    if not isinstance(term, syntax.Constant) or kind is not Type.STRING:
        return given
    found = coerced(term, wanted)
    if found.type is kind:
        found = coerced(term, Type.TIMESTAMP)
    return found, found.type
