"""Which base relations a run must be given rows for, and what is wrong with what it is given.

A base relation that some output rests on must be given, unless the program states facts of it or declares it
`optional`: a relation without input would be silently empty, and so would every view that joins it. Rows for a relation
that the program does not have are refused as well: a misspelt name, or of no use.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable

from headwater.core.errors import DataError, MissingInputWarning, UnknownRelation
from headwater.core.graph import reachable_from
from headwater.language.terms import reads
from headwater.program.model import Program
from headwater.program.nearest import nearest


def needed(program: Program, views: Iterable[str] | None = None) -> tuple[str, ...]:
    """The base relations that these views rest on, by default all outputs, and that only a user can give rows for."""
    stated = {rule.head.relation for rule in program.rules if not rule.body}
    found = reachable_from(program.outputs if views is None else views, reads(program.rules)) - stated
    return tuple(
        relation.name
        for relation in program.relations
        if relation.name in found and not relation.derived and not relation.optional
    )


def require_inputs(program: Program, given: Iterable[str], optional: Iterable[str] = (), *, way: str) -> None:
    """Raise DataError where a needed relation has no input, UnknownRelation where an input has no relation.

    `optional` names relations that may be missing; `way` says how rows are given, with `{name}` for the relation.
    """
    names = list(dict.fromkeys(given))
    spared = [optional] if isinstance(optional, str) else list(dict.fromkeys(optional))
    bases = [relation.name for relation in program.relations if not relation.derived]
    derived = [relation.name for relation in program.relations if relation.derived]
    missing = [name for name in needed(program) if name not in names and name not in spared]
    unused = [name for name in names if name not in bases and name not in derived]
    lines = [_missing(name, nearest(name, names), way) for name in missing]
    lines += [_unused(name, bases) for name in unused]
    lines += [_derived(name, bases) for name in names if name in derived]
    lines += [_not_optional(name, bases) for name in spared if name not in bases]
    if lines:
        raise (UnknownRelation if unused else DataError)("\n".join(lines))


def _missing(name: str, close: str | None, way: str) -> str:
    meant = f"; did you mean `{close}`, which is given?" if close else ""
    return (
        f"error[HW806]: no rows are given for `{name}`, which the program reads{meant}\n"
        f"  hint: {way.format(name=name)}; or declare it optional, as in `relation {name}(...) optional.`"
    )


def _unused(name: str, bases: list[str]) -> str:
    return f"error[HW807]: rows are given for `{name}`, but there is no relation `{name}`{_meant(name, bases)}"


def _derived(name: str, bases: list[str]) -> str:
    return f"error[HW807]: rows are given for `{name}`, which is derived by rules; give rows for {_listed(bases)}"


def _not_optional(name: str, bases: list[str]) -> str:
    return f"error[HW807]: `{name}` is declared optional, but there is no base relation `{name}`{_meant(name, bases)}"


def _meant(name: str, bases: list[str]) -> str:
    close = nearest(name, bases)
    return f"; did you mean `{close}`?" if close else f"; the program reads {_listed(bases)}"


def _listed(bases: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in bases) or "no base relation at all"


class MissingInputs:
    """The base relations that a database was given no rows for yet, not even none, and the warnings about them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = dict.fromkeys(needed(program))
        self._warned: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._names)

    def keep(self, names: Collection[str]) -> None:
        """Of those that are missing, only these are."""
        self._names = {name: None for name in self._names if name in names}

    def give(self, names: Iterable[str]) -> None:
        for name in names if self._names else ():
            self._names.pop(name, None)

    def warn(self, view: str) -> None:
        """Warn, once for each of them, of base relations that this view rests on and that were not given."""
        if self._names.keys() <= self._warned:
            return
        rests_on = needed(self._program, [view])
        absent = [name for name in rests_on if name in self._names and name not in self._warned and name != view]
        if absent:
            self._warned.update(absent)
            warnings.warn(absence(view, absent), MissingInputWarning, stacklevel=3)


def absence(view: str, absent: list[str]) -> str:
    """What a database says about a view over base relations that it was given no rows for."""
    listed = " and ".join(f"`{name}`" for name in absent)
    given = ", ".join(f'"{name}": []' for name in absent)
    return (
        f"`{view}` rests on {listed}, which has been given no rows yet; if there are none, say so: "
        f"apply(insert={{{given}}}), or declare `relation {absent[0]}(...) optional.`"
    )
