"""The functions a rule may call: built in, and registered by the user."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, TypeVar

from headwater.core.functions.builtins import BUILTINS, GOAL_NAMES
from headwater.core.functions.function import Function, Registry
from headwater.core.types import ONE_WORD, Type

Body = TypeVar("Body", bound=Callable[..., Any])

_user: dict[str, Function] = {}

FUNCTIONS: Registry = ChainMap(dict(BUILTINS), _user)
USER_FUNCTIONS: Registry = MappingProxyType(_user)


def register(name: str, params: tuple[Type | str, ...], result: Type | str) -> Callable[[Body], Body]:
    """Make a Python function over Arrow arrays callable from rules under `name`.

    The function gets one Arrow array per parameter, all of one length, and returns an Arrow array of
    that length; null means "no value here". Types may be given by name (`"int"`). Registering a name
    again replaces the user's earlier function; the name of a built-in function is refused.
    """
    plain = name.removeprefix("f_")
    if not plain.isidentifier() or not (plain[0].islower() or plain[0] == "_"):
        raise ValueError(f"a function's name starts with a lower-case letter and holds letters, digits and _: {name!r}")
    if plain in BUILTINS or plain in GOAL_NAMES:
        raise ValueError(f"{plain!r} is a built-in function; choose another name")

    def accept(body: Body) -> Body:
        doc = (body.__doc__ or "").strip()
        _user[plain] = Function(plain, tuple(map(_type, params)), _type(result), doc=doc, arrays=body)
        return body

    return accept


def adopt(named: Iterable[tuple[str, Function]]) -> None:
    """Register functions as another process had them registered."""
    _user.update(named)


def unregister(name: str) -> None:
    """Forget a user's function; a name that is not registered is no error."""
    _user.pop(name.removeprefix("f_"), None)


def _type(given: Type | str) -> Type:
    try:
        return given if isinstance(given, Type) else Type(given)
    except ValueError:
        known = ", ".join(each.value for each in ONE_WORD)
        raise ValueError(f"there is no type {given!r}; the types are {known}") from None
