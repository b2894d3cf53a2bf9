"""The contract of a program with its inputs: what goes in and what comes out.

It is made once, on the driver, from the schemas alone, and pickled to the workers. Inputs that do not fit are refused
here, before any job runs.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from headwater import pipeline
from headwater.core.errors import DataError, UnknownRelation
from headwater.core.functions.function import Function
from headwater.core.functions.registry import USER_FUNCTIONS
from headwater.core.types import Type
from headwater.core.widening import flows
from headwater.files.header import HeaderError, Match, match
from headwater.files.rows import CHANGE_TYPE, FEED_COLUMNS, VERSIONS, Expected
from headwater.pipeline import CompiledProgram
from headwater.program.inputs import require_inputs
from headwater.program.model import Program, Relation, Shown
from headwater.program.nearest import nearest
from headwater.program.types.inference import infer, refined
from headwater.semistructured.sharded import DOCUMENT_SCHEMA, DocumentViews, ShardedProgram
from headwater.spark.inputs.column_types import arrow_type, hint_for, type_of, without_zone

ORDER = "_order"
CORRUPT = "_corrupt_record"
_BESIDE = frozenset({ORDER, CORRUPT})  # columns that are not the relation's, as those of a feed are not


@dataclass(frozen=True, slots=True)
class Input:
    """One base relation as it comes in: the places of its columns in the DataFrame, and of what else it has."""

    relation: str
    names: tuple[str, ...]
    types: tuple[Type, ...]
    nullable: tuple[bool, ...]
    places: tuple[int, ...]
    time: int | None = None  # which of its columns is the time of a stream's rows
    change: int | None = None  # the place of `_change_type`
    order: int | None = None  # the place of `_order`: of two changes of one row the later wins
    version: int | None = None  # without it, that of the commit which brought a change: a commit deletes, then inserts
    corrupt: int | None = None  # the place of `_corrupt_record`: text that Spark could not parse


@dataclass(frozen=True, slots=True)
class View:
    """One queried relation as it goes out."""

    name: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class Contract:
    """A program, its inputs, its views, and the user's functions that workers need."""

    program: CompiledProgram
    inputs: tuple[Input, ...]
    views: tuple[View, ...]
    functions: tuple[tuple[str, Function], ...]  # the user's own
    documents: DocumentViews | None = None  # its views show documents, made of what the program computes
    zoned: bool = True  # timestamps have a time zone on their way out
    mark: str = dataclasses.field(init=False, compare=False)  # identifies the functions

    def __post_init__(self) -> None:
        object.__setattr__(self, "mark", mark_of(self.functions))

    @property
    def known(self) -> dict[str, tuple[Type | None, ...]]:
        """The types of the base relations, as the engine asks for them."""
        return known_types(self.program, self.inputs)


def program_of(given: CompiledProgram | str, frames: Iterable[tuple[str, Any]]) -> CompiledProgram:
    """The program itself; a text of Datalog or SQL is compiled, its tables with the columns of these frames."""
    if isinstance(given, CompiledProgram):
        return given
    tables: dict[str, dict[str, Type | str | None]] = {}
    for name, frame in frames:
        known = columns_of(frame.schema)
        beside = _BESIDE | FEED_COLUMNS if CHANGE_TYPE in known else _BESIDE
        tables.setdefault(name, {column: kind for column, kind in known.items() if column not in beside})
    return pipeline.compile(given, tables=tables)


def columns_of(schema: Any) -> dict[str, Type | None]:
    """The columns of a Spark schema with their types here; None: there is none for it."""
    return {field.name: type_of(field.dataType) for field in schema.fields}


def mark_of(functions: tuple[tuple[str, Function], ...]) -> str:
    """A digest of functions: others may be registered under the same names."""
    return hashlib.sha256(cloudpickle.dumps(functions)).hexdigest() if functions else ""


def view_called(name: str, views: Iterable[View]) -> View:
    found = {view.name: view for view in views}
    if name in found:
        return found[name]
    close = nearest(name, list(found))
    meant = f"; did you mean `{close}`?" if close else ""
    raise UnknownRelation(f"there is no view `{name}`{meant} (the program's views: {', '.join(found)})")


def refuse_others(
    given: Iterable[tuple[str, Any]], *, streams: bool = False, once: str = "evaluate", maintained: str = "maintain"
) -> None:
    """Raise DataError for anything but a DataFrame, and for a stream where none is allowed: in the function `once`."""
    for name, frame in given:
        if not hasattr(frame, "isStreaming"):
            raise DataError(
                f"error[HW801]: a {type(frame).__name__} is given for `{name}`, where a DataFrame of Spark should be; "
                "spark.createDataFrame makes one of rows"
            )
        if frame.isStreaming and not streams:
            raise DataError(
                f"error[HW801]: the DataFrame given for `{name}` is a stream; {once} takes rows that are there, and "
                f"{maintained} takes streams"
            )


def agree(
    program: CompiledProgram,
    given: Sequence[tuple[str, Any]],
    *,
    optional: Iterable[str] = (),
    changes: bool = False,
) -> Contract:
    """The contract of a program with DataFrames, each a relation and a Spark schema, in their order.

    Every base relation that a view rests on is among them, or `optional`. `changes`: they may carry `_change_type`.
    """
    way = "give a DataFrame for it, which may be empty, or pass optional=['{name}']"
    require_inputs(program.checked, (name for name, _ in given), optional, way=way)
    model = program.rewritten
    inputs = tuple(_input(model, name, schema, changes=changes) for name, schema in given)
    _refuse_unlike(inputs)
    zoned = not without_zone(schema for _, schema in given)
    known = known_types(program, inputs)
    program = program.fitted(known)
    model = program.rewritten
    types = infer(model, known)
    called = {given.relation: given.names for given in inputs}
    views = []
    for name in program.outputs:
        relation = model.relation(name)
        names = called.get(name) or tuple(column.name for column in relation.visible)
        kept = [kind or Type.STRING for kind in types.columns[name]]  # None: it can have no rows
        if relation.shown is not None:
            kept = [_kind(column, kept) for column in relation.shown]
        fields = [pa.field(column, arrow_type(kind, zoned=zoned)) for column, kind in zip(names, kept, strict=False)]
        views.append(View(name, pa.schema(fields)))
    return Contract(program, inputs, tuple(views), tuple(USER_FUNCTIONS.items()), zoned=zoned)


def agree_on_documents(compiled: ShardedProgram) -> Contract:
    """The contract of views over documents: each shows documents by the ids of their objects."""
    views = tuple(View(name, DOCUMENT_SCHEMA) for name in compiled.views.names)
    return Contract(compiled.program, (), views, (), compiled.views)


def _kind(shown: Shown, kept: list[Type]) -> Type:
    """The type of a column as written; a time that is not kept is null, and has the type that it would have."""
    return shown.column.type or Type.STRING if shown.at is None else kept[shown.at]


def _input(model: Program, name: str, schema: Any, *, changes: bool) -> Input:
    relation = model.relation(name)
    given = [field.name for field in schema.fields]
    declared = tuple(column.name for column in relation.visible)
    extra = tuple(field for field in (ORDER, CORRUPT) if changes and field in given and field not in declared)
    kinds = tuple(column.type for column in relation.visible)
    expected = Expected(name, declared, kinds, relation.declared, ordered=relation.ordered)
    try:
        found = _matched([field for field in given if field not in extra], expected, changes=changes)
    except HeaderError as problem:
        raise DataError(f"error[HW801]: the DataFrame given for `{name}`: {problem}") from None
    kept = [place for place, field in enumerate(given) if field not in extra]
    places = tuple(kept[place] for place in found.places)
    return Input(
        name,
        declared if relation.declared or found.by_name else tuple(given[place] for place in places),
        tuple(_type(relation, at, schema.fields[place]) for at, place in enumerate(places)),
        tuple(column.nullable for column in relation.visible),
        places,
        relation.time,
        None if found.change is None else kept[found.change],
        given.index(ORDER) if ORDER in extra else None,
        None if found.change is None or ORDER in extra else _version(name, declared, schema),
        given.index(CORRUPT) if CORRUPT in extra else None,
    )


def _version(name: str, declared: tuple[str, ...], schema: Any) -> int | None:
    """The place of the commit number in a feed of changes."""
    for place, field in enumerate(schema.fields):
        if field.name in VERSIONS and field.name not in declared:
            if type_of(field.dataType) is Type.INT:
                return place
            raise DataError(
                f"error[HW801]: column `{field.name}` of the DataFrame given for `{name}` orders the changes, "
                f"but is of type {field.dataType.simpleString()}; cast it to long, or leave it out"
            )
    return None


def known_types(program: CompiledProgram, inputs: Iterable[Input]) -> dict[str, tuple[Type | None, ...]]:
    """The types of all columns of these inputs, hidden ones included."""
    width = {relation.name: relation.arity for relation in program.rewritten.relations}
    return {
        given.relation: (*given.types, *(Type.INT,) * (width[given.relation] - len(given.types))) for given in inputs
    }


def _refuse_unlike(inputs: tuple[Input, ...]) -> None:
    first: dict[str, Input] = {}
    for given in inputs:
        other = first.setdefault(given.relation, given)
        if (other.types, other.names) != (given.types, given.names):
            raise DataError(f"error[HW801]: the DataFrames given for `{given.relation}` differ in columns or types")


def _matched(given: list[str], expected: Expected, *, changes: bool) -> Match:
    if CHANGE_TYPE in given and not changes and CHANGE_TYPE not in expected.columns:
        raise HeaderError(f"its column `{CHANGE_TYPE}` says that it holds changes; evaluate takes rows that are there")
    return match(given, expected, feed=changes and CHANGE_TYPE in given)


def _type(relation: Relation, at: int, field: Any) -> Type:
    found = type_of(field.dataType)
    if found is None:
        kind = field.dataType.simpleString()
        raise DataError(
            f"error[HW801]: column `{field.name}` of the DataFrame given for `{relation.name}` is of type {kind}, "
            f"which no column of a relation can hold; {hint_for(field.dataType)}"
        )
    wanted = relation.columns[at].type if relation.declared else None
    if wanted is None or not wanted.is_known:
        wanted = refined(wanted, found) or found
    if wanted is found or _flows(found, wanted):
        return wanted
    raise DataError(
        f"error[HW801]: column `{field.name}` of the DataFrame given for `{relation.name}` is of type "
        f"{field.dataType.simpleString()}, but `{relation.columns[at].name}` is declared {wanted.value}; cast it"
    )


def _flows(found: Type, wanted: Type) -> bool:
    times = {Type.STRING, Type.INT}  # an ISO text, or microseconds
    return (
        flows(found, wanted)
        or (found is Type.INT and wanted is Type.DURATION)
        or (wanted is Type.TIMESTAMP and found in times)
        or (wanted is Type.DATE and found is Type.STRING)
    )
