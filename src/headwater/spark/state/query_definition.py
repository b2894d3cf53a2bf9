"""What a checkpoint was made for: enough to build the same shards again, and to say what has changed since.

State follows from the program, the types of its inputs and how it is split over shards. If one of these has changed,
the stored rows mean nothing, so the checkpoint is refused, with what changed and what to do. Comments and line breaks
do not count: programs are compared statement by statement as they print.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headwater import pipeline
from headwater.core.errors import StateError
from headwater.core.types import Type
from headwater.exchange import Sharding, choose
from headwater.language.datalog.printer import print_tree
from headwater.language.syntax import Declaration, Tree
from headwater.pipeline import CompiledProgram
from headwater.plan.model import Plan
from headwater.spark.inputs.clock import watermarks_beside_text, with_watermarks


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """A value; as JSON it stands in every manifest."""

    program: str  # as the printer prints it
    disabled: tuple[str, ...]
    types: dict[str, tuple[str | None, ...]]  # of base relations, by relation, as the inputs have them
    columns: dict[str, tuple[str, ...]]  # of undeclared base relations, as the inputs call them
    kind: str
    shards: int
    layout: str  # a digest of the tables and rules that stored rows are numbered by
    watermarks: dict[str, int]  # of streams, in milliseconds, where the program's text does not say them
    notes: dict[str, Any] = field(default_factory=dict, compare=False)  # for readers of the checkpoint

    @classmethod
    def of(
        cls,
        program: CompiledProgram,
        sharding: Sharding,
        shards: int,
        *,
        known: Mapping[str, Sequence[Type | None]] | None = None,
        columns: Mapping[str, Sequence[str]] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> QueryDefinition:
        """For a sharding that `choose(program, known, shards, columns=columns)` made."""
        types = {
            name: tuple(None if kind is None else kind.value for kind in kinds) for name, kinds in (known or {}).items()
        }
        names = {name: tuple(those) for name, those in (columns or {}).items()}
        # SQL as it was written: printed as rules it would not say which of its tables count equal rows.
        text = _text(program.tree) if program.tree.text is None else program.tree.text
        layout, delays = _layout(sharding.plan), watermarks_beside_text(program)
        return cls(text, program.disabled, types, names, sharding.kind, shards, layout, delays, dict(notes or {}))

    @property
    def fingerprint(self) -> str:
        """Equal for equal definitions, in every process."""
        return hashlib.sha256(json.dumps(self.to_json() | {"notes": None}, sort_keys=True).encode()).hexdigest()

    @property
    def known(self) -> dict[str, tuple[Type | None, ...]]:
        return {
            name: tuple(None if kind is None else Type(kind) for kind in kinds) for name, kinds in self.types.items()
        }

    def compiled(self) -> CompiledProgram:
        """The program, from its text; the functions it calls must be registered here."""
        written = pipeline.compile_saved(self.program, name="checkpoint's program", disabled=self.disabled)
        return with_watermarks(written, self.watermarks)

    def sharding(self) -> Sharding:
        """The sharding, built again from the program and the types."""
        program = self.compiled()
        try:
            found = choose(program, self.known, self.shards, columns=self.columns, kinds=(self.kind,))
        except (LookupError, TypeError, ValueError, AttributeError) as problem:
            raise StateError(f"the checkpoint's program cannot be planned with its types ({problem!r})") from problem
        if _layout(found.plan) != self.layout:
            raise StateError(_OTHER_VERSION)
        return found

    def refuse_other(self, now: QueryDefinition, where: str) -> None:
        """Raise StateError if the checkpoint `where` was not made for this definition."""
        changed = list(self._differences(now))
        if not changed and self.layout != now.layout:
            changed = [f"  {_OTHER_VERSION}"]
        if changed:
            raise StateError("\n".join((f"{where} belongs to another query:", *changed, _ADVICE)))

    def _differences(self, now: QueryDefinition) -> Iterator[str]:
        if self.program != now.program:
            yield "  the program has changed:"
            compared = difflib.ndiff(_statements(self.program), _statements(now.program))
            yield from (f"    {line.rstrip()}" for line in compared if line[0] in "-+")
        if self.disabled != now.disabled:
            yield f"  the rewrites left out were {_listed(self.disabled)} and are {_listed(now.disabled)}"
        for name in sorted({*self.types, *now.types}):
            before, after = _input(self, name), _input(now, name)
            if before != after:
                yield f"  the input `{name}` was {before} and is {after}"
        for name in sorted({*self.watermarks, *now.watermarks}):
            before, after = _delay(self.watermarks.get(name)), _delay(now.watermarks.get(name))
            if before != after:
                yield f"  the watermark of `{name}` was {before} and is {after}"
        if self.shards != now.shards:
            yield f"  it has {self.shards} shard(s), and {now.shards} are asked for; give `shards={self.shards}`"
        elif self.kind != now.kind:
            yield f"  its shards work `{self.kind}`, and `{now.kind}` is asked for"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> QueryDefinition:
        """From `to_json`; LookupError, TypeError or ValueError for anything else."""
        tuples = {name: {key: tuple(values) for key, values in given[name].items()} for name in ("types", "columns")}
        made = cls(**{**given, **tuples, "disabled": tuple(given["disabled"]), "notes": given["notes"]})
        texts = [made.program, made.kind, made.layout, *made.disabled, *made.types, *made.columns, *made.watermarks]
        texts += (name for names in made.columns.values() for name in names)
        texts += (kind for kinds in made.types.values() for kind in kinds if kind is not None)
        numbers = [made.shards, *made.watermarks.values()]
        if not all(type(text) is str for text in texts) or not all(type(number) is int for number in numbers):
            raise TypeError("its definition makes no sense")
        if made.shards < 1 or not isinstance(made.notes, dict):
            raise ValueError("its definition makes no sense")
        return made


_OTHER_VERSION = "this version of Headwater plans the program in another way; go on with the version that wrote it"
_ADVICE = """\
  The stored rows follow from the old ones. To go on with the new ones, give a new checkpoint and a new output,
  and let the inputs be read from their beginning; to go on with the old ones, give them again."""


def _input(definition: QueryDefinition, name: str) -> str:
    if name not in definition.types:
        return "not there"
    kinds = [kind or "of unknown type" for kind in definition.types[name]]
    columns = definition.columns.get(name)
    return f"({', '.join(kinds if columns is None else map(' '.join, zip(columns, kinds, strict=False)))})"


def _text(tree: Tree) -> str:
    """A program as it prints; which relations are optional does not change the stored rows."""
    plain = tuple(
        replace(statement, optional=False) if isinstance(statement, Declaration) else statement
        for statement in tree.statements
    )
    return print_tree(replace(tree, statements=plain))


def _statements(text: str) -> list[str]:
    """The statements of a printed program; the lines of one after its first are indented."""
    return re.split(r"\n(?! )", text.rstrip("\n"))


def _layout(plan: Plan) -> str:
    """A digest of what the numbers in stored rows refer to: tables, columns and rules."""
    tables = [[table.name, [kind.value for kind in table.types], table.depth] for table in plan.tables]
    rules = [[rule.id, rule.table, rule.atoms, rule.negated] for rule in plan.rules]
    shipments = [[ship.table, ship.outbox, ship.inbox, ship.column, ship.everywhere] for ship in plan.shipments]
    strata = [[stratum.tables, stratum.rules, stratum.aggregations] for stratum in plan.strata]
    return hashlib.sha256(json.dumps([tables, rules, shipments, strata]).encode()).hexdigest()[:16]


def _delay(milliseconds: int | None) -> str:
    return "not there" if milliseconds is None else f"{milliseconds} ms"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
