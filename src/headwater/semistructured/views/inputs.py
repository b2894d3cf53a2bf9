"""Which names views read documents of, and what is wrong with the names that a run is given documents for.

A name that nobody gives documents for would be silently empty, and so would every view that begins there. Documents of
a name that no view reads are refused as well: the name is misspelt, or of no use.
"""

from __future__ import annotations

from collections.abc import Iterable

from headwater.core.errors import DataError, UnknownRelation
from headwater.language.syntax import Atom, Constant, Negation
from headwater.program.nearest import nearest
from headwater.semistructured.schema import NAME
from headwater.semistructured.views.model import ViewProgram


def names_read(views: Iterable[ViewProgram]) -> tuple[str, ...]:
    """The names that the paths of these views begin with."""
    bodies = (goal for view in views for rule in view.rules for goal in rule.body)
    atoms = (goal.atom if isinstance(goal, Negation) else goal for goal in bodies)
    read = (atom.args[0] for atom in atoms if isinstance(atom, Atom) and atom.relation == NAME)
    return tuple(dict.fromkeys(str(name.value) for name in read if isinstance(name, Constant)))


def require_documents(read: Iterable[str], given: Iterable[str], optional: Iterable[str], *, way: str) -> None:
    """Raise DataError where views read a name without documents, UnknownRelation where documents have another name.

    `optional` are names that may be missing; `way` says how documents are given, with `{name}` for the name.
    """
    wanted, names = list(dict.fromkeys(read)), list(dict.fromkeys(given))
    spared = [optional] if isinstance(optional, str) else list(optional)
    missing = [name for name in wanted if name not in names and name not in spared]
    unused = [name for name in (*names, *spared) if name not in wanted]
    lines = []
    for name in missing:
        close = nearest(name, [each for each in names if each not in wanted])
        meant = f"; did you mean `{close}`, which is given?" if close else ""
        lines.append(
            f"error[HW806]: no documents are given for `{name}`, which the views read{meant}\n"
            f"  hint: {way.format(name=name)}"
        )
    for name in unused:
        listed = ", ".join(f"`{each}`" for each in wanted) or "no name at all"
        lines.append(f"error[HW807]: documents are given for `{name}`, but no view reads it; they read {listed}")
    if lines:
        raise (UnknownRelation if unused else DataError)("\n".join(lines))
