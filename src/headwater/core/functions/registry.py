"""The functions a rule may call, with their types: built in, and registered by the user.

A function is total or partial: where it has no value (the first of an empty list, a division by
zero) it returns None, and the goal that called it does not hold. Every function may also be written
with the prefix `f_`, as in NDlog; `lookup` takes either spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from headwater.core.types import ONE_WORD, Type

ResultType: TypeAlias = Callable[[tuple[Type | None, ...]], Type | None]
Body = TypeVar("Body", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Function:
    """`scalar` takes Python values (lists are tuples); `arrays`, for user functions, takes Arrow arrays.

    `params` are the types asked for, None where any type will do (FLOAT takes an int too); with
    `variadic` the last one repeats. `also` lists other argument counts that are accepted.
    `result` is the type given back; None means "the type of the first argument", unless `typing`
    works it out from the types of the arguments.
    `output_first` marks functions that may stand as a goal `f(Result, Argument, ...)`.
    `grows` tells whether calling it again and again can make ever new values.
    A null argument gives null without a call, unless the function `sees_nulls`: then a None it returns is null, too.
    `nullable` tells from which arguments may be null whether the result may be.
    The arguments from place `alike` on go together, as the sides of a comparison do: int and string do not.
    The argument at place `pattern` is a regular expression.
    """

    name: str
    params: tuple[Type | None, ...]
    result: Type | None
    scalar: Callable[..., Any] | None = None
    arrays: Callable[..., Any] | None = None
    variadic: bool = False
    doc: str = ""
    also: tuple[int, ...] = ()
    typing: ResultType | None = None
    output_first: bool = False
    grows: bool = True
    sees_nulls: bool = False
    nullable: Callable[[tuple[bool, ...]], bool] = any
    alike: int | None = None
    pattern: int | None = None

    def accepts(self, count: int) -> bool:
        """Whether it can be called with `count` arguments."""
        return count == len(self.params) or (self.variadic and count >= len(self.params)) or count in self.also

    def parameter(self, index: int) -> Type | None:
        """The type asked for at position `index`."""
        return self.params[min(index, len(self.params) - 1)] if self.params else None

    def result_type(self, arguments: tuple[Type | None, ...]) -> Type | None:
        """The type given back for arguments of these types; None: not known before run time."""
        if self.typing is not None:
            return self.typing(arguments)
        if self.result is not None:
            return self.result
        return arguments[0] if arguments else None

    @property
    def is_condition(self) -> bool:
        """Whether it may stand as a goal of its own: it answers yes or no."""
        return self.result is Type.BOOL

    @property
    def is_goal(self) -> bool:
        return self.is_condition or self.output_first


Registry: TypeAlias = Mapping[str, Function]

_user: dict[str, Function] = {}


def lookup(registry: Registry, name: str) -> Function | None:
    """The function called `name`, with or without NDlog's prefix `f_`."""
    found = registry.get(name)
    if found is None and name.startswith("f_"):
        found = registry.get(name[2:])
    return found


class _Functions(Mapping[str, Function]):
    """The built-in functions and the user's, as one mapping that sees later registrations."""

    def __getitem__(self, name: str) -> Function:
        from headwater.core.functions.builtins import BUILTINS

        return BUILTINS[name] if name in BUILTINS else _user[name]

    def __iter__(self) -> Iterator[str]:
        from headwater.core.functions.builtins import BUILTINS

        yield from BUILTINS
        yield from _user

    def __len__(self) -> int:
        from headwater.core.functions.builtins import BUILTINS

        return len(BUILTINS) + len(_user)


FUNCTIONS: Registry = _Functions()
USER_FUNCTIONS: Registry = MappingProxyType(_user)


def register(name: str, params: tuple[Type | str, ...], result: Type | str) -> Callable[[Body], Body]:
    """Make a Python function over Arrow arrays callable from rules under `name`.

    The function gets one Arrow array per parameter, all of one length, and returns an Arrow array of
    that length; null means "no value here". Types may be given by name (`"int"`). Registering a name
    again replaces the user's earlier function; the name of a built-in function is refused.
    """
    from headwater.core.functions.builtins import BUILTINS, GOAL_NAMES

    plain = name.removeprefix("f_")
    if not plain.isidentifier() or not (plain[0].islower() or plain[0] == "_"):
        raise ValueError(f"a function's name starts with a lower-case letter and holds letters, digits and _: {name!r}")
    if plain in BUILTINS or plain in GOAL_NAMES:
        raise ValueError(f"{plain!r} is a built-in function; choose another name")

    def accept(body: Body) -> Body:
        _user[plain] = Function(
            plain,
            tuple(_type(param) for param in params),
            _type(result),
            arrays=body,
            doc=(body.__doc__ or "").strip(),
        )
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
        raise ValueError(f"no type is called {given!r}; the types are {known}") from None
