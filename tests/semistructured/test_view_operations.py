"""What operations say where an object stands several times in an array, and where a value is written as before."""

from __future__ import annotations

from datetime import UTC, datetime

import headwater as hw


def test_an_object_that_comes_again_to_an_array_is_no_new_edge() -> None:
    docs = hw.Documents.from_json({"N": {"list": [{"b": 1}], "one": {"b": 2}}})
    view = docs.define("define view V as P = select n from N n with n.list l, l.b;")
    one, n = docs.oid("N", "/one"), docs.oid("N")
    docs.update(insert=[(n, "list", one)])
    assert [str(each) for each in view.changes.operations] == [
        f"Ins(&{n}', list, &{one}')",
        f"Ins(&{one}', b, &{docs.oid('N', '/one/b')}')",
    ]
    docs.update(insert=[(n, "list", one)])
    assert view.changes.operations == ()
    assert view.changes.patches == {f"&{n}'": [{"op": "add", "path": "/list/2", "value": {"b": 2}}]}
    assert view.documents() == {f"&{n}'": {"list": [{"b": 1}, {"b": 2}, {"b": 2}]}}


def test_an_edge_stays_until_the_last_place_of_its_child_goes() -> None:
    docs = hw.Documents.from_json({"N": {"list": [{"b": 1}], "one": {"b": 2}}})
    view = docs.define("define view V as P = select n from N n with n.list l, l.b;")
    one, n = docs.oid("N", "/one"), docs.oid("N")
    docs.update(insert=[(n, "list", one), (n, "list", one)])
    place = docs.database.rows("edge") & {(n, "list", one, at) for at in range(3)}
    assert {row[3] for row in place} == {1, 2}
    supposed = view.without(facts={"edge": [(n, "list", one, 2)]})
    assert supposed.operations == ()
    supposed = view.without([(n, "list", one)])
    assert [str(each) for each in supposed.operations] == [
        f"Del(&{n}', list, &{one}')",
        f"Del(&{one}', b, &{docs.oid('N', '/one/b')}')",
    ]


def test_a_time_in_the_place_of_its_own_text_changes_no_document() -> None:
    docs = hw.Documents.from_json({"N": {"a": "2026-01-31T08:00:00+00:00", "b": 0.0}})
    view = docs.define("define view V as P = select n from N n with n.a, n.b;")
    docs.update(change=[(docs.oid("N", "/a"), datetime(2026, 1, 31, 8, tzinfo=UTC))])
    assert (view.changes.operations, view.changes.patches) == ((), {})
    docs.update(change=[(docs.oid("N", "/b"), 0)])
    assert [str(each) for each in view.changes.operations] == [f"Chg(&{docs.oid('N', '/b')}', 0.0, 0)"]
