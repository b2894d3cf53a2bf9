"""The declarations of a document store compile, and strings read as numbers where they should."""

from __future__ import annotations

import pytest

import headwater as hw
from headwater.semistructured import schema


def test_declarations_compile_with_the_columns_they_name() -> None:
    program = hw.compile(schema.DECLARATIONS + "all(P, L, C, I) :- edge(P, L, C, I), atom(C, _, _, _), name(_, P).")
    declared = {item.relation: item for item in program.tree.statements if hasattr(item, "columns")}
    for relation, columns in (
        (schema.EDGE, schema.EDGE_COLUMNS),
        (schema.ATOM, schema.ATOM_COLUMNS),
        (schema.NAME, schema.NAME_COLUMNS),
    ):
        assert tuple(column.name for column in declared[relation].columns) == columns


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5.0),
        ("-5.50", -5.5),
        ("+1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("007", 7.0),
        ("", None),
        (" 5", None),
        ("5 ", None),
        ("1_000", None),
        ("0x10", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("٣", None),
        ("5\n", None),
        ("-", None),
        (".", None),
        ("1e", None),
    ],
)
def test_strings_that_read_as_numbers(text: str, number: float | None) -> None:
    assert schema.number_of(text) == number
