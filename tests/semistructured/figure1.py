"""The database of 001, Figure 1, with the paper's object ids, and the view of its Example 2."""

from __future__ import annotations

from typing import Any

import headwater as hw
from headwater.language.lorel import parse_lorel
from headwater.pipeline import compile_tree
from headwater.semistructured.views import ViewProgram, program_tree, translate_all

FAVORITES = """
define view FavoriteEntrees as
  Entrees = select e
            from   Guide.Restaurant r, r.Entree e
            where  exists x in r.Name: x = "Baghdad Cafe"
            and    exists y in e.Ingredient: y = "Mushroom"
            with   e.Name n, e.Ingredient i;
"""

NAMES = [("Guide", 1)]
EDGES = [
    (1, "Restaurant", 2, 0),
    (1, "Restaurant", 3, 0),
    (1, "Restaurant", 4, 0),
    (2, "Name", 5, 0),
    (2, "Rating", 6, 0),
    (3, "Name", 7, 0),
    (3, "Rating", 8, 0),
    (3, "Entree", 9, 0),
    (3, "Entree", 10, 0),
    (4, "Entree", 10, 0),  # shared by two restaurants
    (4, "Name", 11, 0),
    (4, "Rating", 12, 0),
    (4, "Entree", 13, 0),
    (9, "Name", 14, 0),
    (9, "Ingredient", 15, 0),
    (10, "Name", 16, 0),
    (10, "Ingredient", 17, 0),
    (13, "Name", 18, 0),
    (13, "Ingredient", 15, 0),
]
ATOMS = [
    (5, "string", "Thai City", None),
    (6, "int", "4", 4.0),
    (7, "string", "Baghdad Cafe", None),
    (8, "string", "8/10", None),
    (11, "string", "McDonalds", None),
    (12, "real", "2.5", 2.5),
    (14, "string", "Beef Stew", None),
    (15, "string", "Mushroom", None),
    (16, "string", "Cheese Burger", None),
    (17, "string", "Cheese", None),
    (18, "string", "Veggie Burger", None),
]


def view_of(text: str) -> tuple[hw.Database, ViewProgram]:
    """A database with Figure 1 and the first view of a text."""
    views = translate_all(parse_lorel(text).views)
    db = hw.Database(compile_tree(program_tree(views)))
    db.apply(insert={"name": NAMES, "edge": EDGES, "atom": ATOMS})
    return db, views[0]


def objects(text: str) -> set[int]:
    """The objects that a query selects over Figure 1."""
    db, view = view_of(text)
    assert view.parts[0].objects is not None
    return {oid for (oid,) in db.rows(view.parts[0].objects)}


def shown(changes: Any, relation: str | None) -> tuple[set[Any], set[Any]]:
    """What a transaction inserted into a relation, and what it deleted."""
    if relation not in changes:
        return set(), set()
    change = changes[relation]
    return tuple(  # type: ignore[return-value]
        {tuple(row.values()) for row in table.to_pylist()} for table in (change.inserted, change.deleted)
    )
