"""The examples of 001 with the paper's object ids: Figures 1 and 2, Examples 1 to 7."""

from __future__ import annotations

import pytest

from tests.semistructured.figure1 import ATOMS, EDGES, FAVORITES, objects, shown, view_of

PRIMARY = "v_FavoriteEntrees__Entrees__objects"
EDGE = "v_FavoriteEntrees____edges"


def test_example_1_selects_one_entree() -> None:
    query = """
      select  e
      from    Guide.Restaurant r, r.Entree e
      where   r.Name = “Baghdad Cafe” and e.Ingredient = “Mushroom”;
    """
    assert objects(query) == {9}


def test_figure_2_is_the_view_of_example_2() -> None:
    db, view = view_of(FAVORITES)
    assert view.parts[0].objects == PRIMARY
    assert (view.edges, view.adjuncts) == (EDGE, "v_FavoriteEntrees____adjuncts")
    assert db.rows(PRIMARY) == {(9,)}
    assert db.rows(EDGE) == {(9, "Name", 14, 0), (9, "Ingredient", 15, 0)}
    assert db.rows(view.adjuncts) == {(14,), (15,)}


def test_examples_3_and_4_insert_an_edge() -> None:
    db, _ = view_of(FAVORITES)
    changes = db.apply(insert={"edge": [(10, "Ingredient", 15, 0)]})
    assert shown(changes, PRIMARY) == ({(10,)}, set())
    assert shown(changes, EDGE) == (
        {(10, "Name", 16, 0), (10, "Ingredient", 17, 0), (10, "Ingredient", 15, 0)},
        set(),
    )


def test_examples_5_and_6_delete_an_edge() -> None:
    db, _ = view_of(FAVORITES)
    changes = db.apply(delete={"edge": [(3, "Entree", 9, 0)]})
    assert shown(changes, PRIMARY) == (set(), {(9,)})
    assert shown(changes, EDGE) == (set(), {(9, "Name", 14, 0), (9, "Ingredient", 15, 0)})


def test_an_entree_with_two_mushrooms_loses_one_and_stays() -> None:
    """Section 3.3.2: the delete statement must look for another binding."""
    db, _ = view_of(FAVORITES)
    db.apply(insert={"edge": [(9, "Ingredient", 30, 0)], "atom": [(30, "string", "Mushroom", None)]})
    changes = db.apply(delete={"edge": [(9, "Ingredient", 15, 0)]})
    assert shown(changes, PRIMARY) == (set(), set())
    assert shown(changes, EDGE) == (set(), {(9, "Ingredient", 15, 0)})


def test_example_7_changes_a_value() -> None:
    db, _ = view_of(FAVORITES)
    changes = db.apply(insert={"atom": [(7, "string", "Wendy's", None)]})
    assert shown(changes, PRIMARY) == (set(), {(9,)})
    assert shown(changes, EDGE) == (set(), {(9, "Name", 14, 0), (9, "Ingredient", 15, 0)})


@pytest.mark.parametrize("value", ["Hunan Wok", "Baghdad Cafe"])
def test_section_3_2_an_irrelevant_and_a_relevant_change(value: str) -> None:
    """&5 has no entrees: neither value changes the view, though the second might."""
    db, _ = view_of(FAVORITES)
    changes = db.apply(insert={"atom": [(5, "string", value, None)]})
    assert shown(changes, PRIMARY) == (set(), set())


def test_appendix_a_an_edge_stays_only_by_a_path_of_the_with_clause() -> None:
    """Figure 19: `o` is reached by `p` and by `q`, but its child only by `q.L`."""
    db, view = view_of('select e from Guide.Restaurant e where e.Name = "Thai City" with e.p, e.q.L;')
    o, child = 40, 41
    db.apply(insert={"edge": [(2, "p", o, 0), (2, "q", o, 0), (o, "L", child, 0)]})
    assert db.rows(view.edges) == {(2, "p", o, 0), (2, "q", o, 0), (o, "L", child, 0)}
    changes = db.apply(delete={"edge": [(2, "q", o, 0)]})
    assert shown(changes, view.edges) == (set(), {(2, "q", o, 0), (o, "L", child, 0)})
    assert db.rows(view.adjuncts) == {(o,)}


def test_a_batch_nets_out() -> None:
    """Deferred maintenance (section 1): updates that cancel each other leave no change."""
    db, _ = view_of(FAVORITES)
    changes = db.apply(
        insert={"edge": [(3, "Entree", 9, 0)], "atom": [(7, "string", "Baghdad Cafe", None)]},
        delete={"edge": [(3, "Entree", 9, 0)]},
    )
    assert shown(changes, PRIMARY) == (set(), set())
    assert {row[0] for row in ATOMS} <= {edge[2] for edge in EDGES}
