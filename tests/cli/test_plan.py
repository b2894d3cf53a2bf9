"""`headwater plan`: any stage as text, what the rewrites did, and how to leave one out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app

SHORTEST = """
SP1: path(S, D, C) :- link(S, D, C).
SP2: path(S, D, C) :- link(S, Z, C1), path(Z, D, C2), C = C1 + C2.
SP3: best(S, D, min<C>) :- path(S, D, C).
query best(S, D, C).
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "shortest.dl"
    path.write_text(SHORTEST, encoding="utf-8")
    return str(path)


def test_how_it_runs_on_shards(program: str) -> None:
    shown = run(program, "--stage", "spark")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("decomposed: ")
    assert "view best(S, D, C): by D" in shown.stdout


def test_stages(program: str) -> None:
    assert "C = C1 + C2" in run(program, "--stage", "parsed").stdout
    checked = run(program, "--stage", "checked").stdout
    assert "C := C1 + C2" in checked
    assert "keeps the min" not in checked
    rewritten = run(program, "--stage", "rewritten").stdout
    assert "% path keeps the min of c per (s, d)" in rewritten
    assert run(program, "--stage", "rewritten").exit_code == 0


def test_the_trace_names_the_rewrite_and_what_it_changed(program: str) -> None:
    lines = run(program, "--trace").stdout.splitlines()
    place = lines.index("% aggregate_selection")
    assert lines[place + 1] == "% + % path keeps the min of c per (s, d)"


def test_a_query_shows_what_is_restricted_to_what(program: str) -> None:
    shown = run(program, "--query", "best(a, D, C)")
    assert shown.exit_code == 0
    assert "% best is derived only where S = a" in shown.stdout
    unfit = run(program, "--query", "best(a, D)")
    assert unfit.exit_code == 1
    assert "relation `best` has 3 arguments, but here 2" in unfit.stderr


def test_the_trace_shows_what_time_adds(tmp_path: Path) -> None:
    path = tmp_path / "timed.dl"
    path.write_text("relation link(x: int, y: int) ttl 1 minute.\nnear(X, Y) :- link(X, Y).\n")
    lines = run(str(path), "--trace").stdout.splitlines()
    assert lines[0] == "% leases"
    assert "% + near(X, Y, Until'at0) :- link(X, Y, Until'at0)." in lines
    assert lines[-1] == "near(X, Y, Until'at0) :- link(X, Y, Until'at0)."


def test_the_plan_shows_order_index_and_loop(tmp_path: Path) -> None:
    path = tmp_path / "closure.dl"
    path.write_text("relation e(a: int, b: int).\ntc(X, Y) :- e(X, Y).\ntc(X, Y) :- tc(X, Z), e(Z, Y).\n")
    lines = run(str(path), "--stage", "plan").stdout.splitlines()
    place = lines.index("    when e(Z, Y) comes: join tc(X, Z) by index (y)")
    assert lines[place + 1] == "      loop: join of two atoms, short form"


def test_the_trace_of_a_program_that_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "plain.dl"
    path.write_text("p(X, Y) :- q(X, Y).\np(X, Y) :- p(X, Z), q(Z, Y).\n")
    assert run(str(path), "--trace").stdout.startswith("% no rewrite changed anything\n")


def test_a_rewrite_can_be_left_out(program: str) -> None:
    assert "keeps the min" not in run(program, "--disable", "aggregate_selection").stdout
    wrong = run(program, "--disable", "agregate_selection")
    assert wrong.exit_code == 2
    assert "aggregate_selection" in wrong.stderr


def test_what_cannot_be_shown(program: str, tmp_path: Path) -> None:
    assert run(program, "--stage", "planed").exit_code == 2
    assert run(str(tmp_path / "missing.dl")).exit_code == 2
    bad = tmp_path / "bad.dl"
    bad.write_text("p(X) :- q(Y).")
    result = run(str(bad))
    assert result.exit_code == 1
    assert "error[HW301]" in result.stderr
    assert result.stdout == ""


def test_analyze_shows_what_rules_did_and_the_plan_that_ran(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("reach(X, Y) :- link(X, Y).\nreach(X, Z) :- reach(X, Y), link(Y, Z).\n")
    (tmp_path / "links.csv").write_text("x,y\n1,2\n2,3\n3,4\n")
    given = ["plan", str(tmp_path / "p.dl"), "--input", f"link={tmp_path / 'links.csv'}", "--analyze"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0
    assert "when reach(X, Y) comes" in shown.stdout
    assert "join link(Y, Z) by index (x)" in shown.stdout
    read = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    assert {work["kept"] for work in read["rules"] if work["way"] == "when reach(X, Y) comes"} == {3}
    assert "stratum 1" in read["plan"]


def test_rows_without_analyze_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("reach(X, Y) :- link(X, Y).\n")
    for more in (["--json"], ["--input", "link=x.csv"]):
        refused = CliRunner().invoke(app, ["plan", str(tmp_path / "p.dl"), *more])
        assert refused.exit_code == 2
        assert "--analyze" in refused.output


@pytest.fixture
def view(tmp_path: Path) -> str:
    path = tmp_path / "view.lorel"
    path.write_text("define view V as N = select e from Guide.Entree e where e.Price < 10 with e.Name;\n")
    return str(path)


def test_a_view_over_documents_is_shown_at_every_stage(view: str) -> None:
    for stage in ("parsed", "checked", "rewritten", "plan", "spark"):
        found = run(view, "--stage", stage)
        assert found.exit_code == 0, found.output
        assert "v_V__N__objects" in found.stdout


def test_a_query_has_no_place_in_a_view_over_documents(view: str) -> None:
    shown = run(view, "--query", "best(a, D, C)")
    assert shown.exit_code == 2
    assert "--query is for rules" in shown.stderr


def test_an_update_shows_the_maintenance_statements(view: str) -> None:
    lines = run(view, "--update", "Ins(&10, Price, &15)").stdout.splitlines()
    assert lines[:3] == ["-- Ins(&10, Price, &15) and V.N", "-- relevant variables: e", "ADD_prim +="]
    assert "  where  exists &15 in &10.Price: &15 < 10" in lines


def test_an_update_that_is_none(view: str, program: str) -> None:
    wrong = run(view, "--update", "Insert(&10, Price, &15)")
    assert wrong.exit_code == 1
    assert "error[HW150]" in wrong.stderr
    query = run(view, "--update", "select e from N.e e")
    assert query.exit_code == 1
    assert "error[HW155]" in query.stderr
    assert run(program, "--update", "Ins(&10, Price, &15)").exit_code == 2


def test_a_view_with_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "view.lorel"
    path.write_text("select e from Guide.Entree e with f.Name;\n")
    found = run(str(path))
    assert found.exit_code == 1
    assert "error[HW252]" in found.stderr


def test_the_cost_of_a_view_and_what_is_chosen(tmp_path: Path) -> None:
    view, orders = tmp_path / "view.lorel", tmp_path / "orders.jsonl"
    view.write_text("define view V as A = select o from Orders o, o.items i where i.p > 2 with o.id;", "utf-8")
    orders.write_text('{"id": 1, "items": [{"p": 3}, {"p": 4}]}\n{"id": 2}\n', encoding="utf-8")
    result = run(str(view), "--explain-cost", "--input", f"Orders={orders}")
    assert result.exit_code == 0, result.output
    first, second, name, recompute, *_ = result.output.splitlines()
    assert (first, second) == (
        "12 rows: a transaction is followed, and from 16,671 changed edges on the",
        "views are computed anew",
    )
    assert (name, recompute) == ("V.A", "  recompute: 8 objects")  # orders, items, prices, and the id of each


def test_the_cost_of_a_view_over_a_view_and_of_names_without_documents(tmp_path: Path) -> None:
    view, orders = tmp_path / "view.lorel", tmp_path / "orders.jsonl"
    text = "define view V as A = select o from Orders o with o.id; define view W as B = select i from V.A.id i;"
    view.write_text(text, encoding="utf-8")
    orders.write_text('{"id": 1}\n', encoding="utf-8")
    result = run(str(view), "--explain-cost", "--input", f"Orders={orders}")
    assert result.output.splitlines()[-2:] == ["W.B", "  the model has no cost for it: it ranges over `V`"]
    missing = run(str(view), "--explain-cost", "--input", f"Order={orders}")
    assert missing.exit_code == 1
    assert "HW806" in missing.stderr
    assert "HW807" in missing.stderr
