"""The HTTP interface gives what the database gives: compared with an embedded one, over real sockets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.files.read import read
from headwater.files.rows import Expected
from headwater.serve.http.routes import ADDRESSES
from headwater.serve.http.shared_answers import SharedAnswers
from tests.serve.serving import ROOT, Server, serving

pytestmark = pytest.mark.xdist_group("serve")
FASTEST = ("lisbon", "vienna", ("lisbon", "madrid", "paris", "frankfurt", "vienna"), 31)


@pytest.fixture(scope="module")
def local() -> hw.Database:
    """The same rows in this process."""
    db = hw.Database(hw.compile_file(ROOT / "examples" / "routes.dl"))
    link = Expected("link", ("a", "b", "ms"), (None, None, None), True)
    db.apply(insert={"link": read(ROOT / "examples" / "network" / "links.csv", link).tuples()})
    for line in (ROOT / "examples" / "network" / "events.jsonl").read_text().splitlines()[:3]:
        event = json.loads(line)
        row = (event["a"], event["b"], event["ms"])
        insert = event["_change_type"] == "insert"
        db.apply(insert={"link": [row]} if insert else {}, delete={} if insert else {"link": [row]})
    return db


def test_rows_are_those_of_the_database(routes: Server, local: hw.Database) -> None:
    assert set(routes.rows("fastest")) == local.rows("fastest")
    assert set(routes.rows("link")) == local.rows("link")


def test_rows_are_paged_sorted_and_filtered_on_the_server(routes: Server, local: hw.Database) -> None:
    every = sorted(local.rows("fastest"), key=lambda row: (-row[3], row[0]))
    found = [row for first in range(0, 90, 7) for row in routes.rows("fastest", sort="-Ms,From", offset=first, limit=7)]
    assert [(row[3], row[0]) for row in found] == [(row[3], row[0]) for row in every]
    assert set(found) == set(every)
    asked = routes.get("/api/relations/fastest/rows", where="fastest(lisbon, To, P, T)", limit=2)
    assert (asked["matching"], asked["total"], len(asked["rows"])) == (9, 90, 2)
    assert {row[:2] for row in routes.rows("fastest", find="VIENNA", sort="From")} >= {("lisbon", "vienna")}
    assert all("vienna" in str(row) for row in routes.rows("fastest", find="VIENNA"))
    assert routes.rows("fastest", where="fastest(X, X, P, T)") == []


def test_rows_come_as_arrow_too(routes: Server, local: hw.Database) -> None:
    status, headers, data = routes.request("GET", "/api/relations/fastest/rows?format=arrow", headers=routes.bearer)
    assert (status, headers["content-type"]) == (200, "application/vnd.apache.arrow.stream")
    table = pa.ipc.open_stream(data).read_all()
    assert table.schema == local.table("fastest").schema
    assert len(table) == local.count("fastest")


def test_proofs_and_what_they_rest_on(routes: Server, local: hw.Database) -> None:
    found = routes.post("/api/why", relation="fastest", row=FASTEST)
    proof = local.why("fastest", FASTEST)
    assert found["text"] == str(proof)
    assert [(fact["relation"], tuple(fact["row"])) for fact in found["facts"]] == proof.facts
    assert found["nodes"][0]["children"]
    critical = routes.post("/api/critical", relation="fastest", row=FASTEST)
    assert len(critical["facts"]) == len(local.critical("fastest", FASTEST).facts)
    missing = routes.post("/api/why_not", atom="fastest(lisbon, vienna, [lisbon, vienna], 1)")
    assert missing["text"] == str(local.why_not("fastest", ("lisbon", "vienna", ("lisbon", "vienna"), 1)))


def test_what_if_changes_nothing(routes: Server, local: hw.Database) -> None:
    before = routes.rows("fastest")
    delete, insert = ["lisbon", "madrid", 6], ["lisbon", "vienna", 1]
    found = routes.post("/api/what_if", delete={"link": [delete]}, insert={"link": [insert]})["views"]["fastest"]
    mine = local.suppose(delete={"link": [tuple(delete)]}, insert={"link": [tuple(insert)]})["fastest"]
    assert (found["inserted"], found["deleted"]) == (mine.inserted.num_rows, mine.deleted.num_rows)
    assert routes.rows("fastest") == before
    assert routes.get("/api/health")["transaction"] == 3


def test_blast_radius(routes: Server, local: hw.Database) -> None:
    found = routes.post("/api/blast_radius", relation="link", limit=3)
    assert [each["rows"] for each in found["facts"]] == [each.rows for each in local.blast_radius("link")[:3]]
    assert found["total"] == local.count("link")


def test_views_as_they_were(routes: Server) -> None:
    program = hw.compile_file(ROOT / "examples" / "routes.dl")
    db = hw.Database(program)
    link = Expected("link", ("a", "b", "ms"), (None, None, None), True)
    db.apply(insert={"link": read(ROOT / "examples" / "network" / "links.csv", link).tuples()})
    assert set(routes.rows("fastest", at=0)) == db.rows("fastest")
    change = routes.get("/api/relations/fastest/difference", since=0)
    now = set(routes.rows("fastest"))
    assert change["inserted"] == len(now - db.rows("fastest"))
    assert change["deleted"] == len(db.rows("fastest") - now)


def test_a_graph_is_bounded(routes: Server, local: hw.Database) -> None:
    whole = routes.get("/api/relations/link/graph")
    assert whole["whole"] is True
    assert len(whole["edges"]) == local.count("link")
    part = routes.get("/api/relations/link/graph", around="lisbon", hops=1)
    assert set(part["shown"]) == {"lisbon", "madrid", "london"}
    assert routes.get("/api/relations/link/graph", limit=4)["whole"] is False
    assert routes.get("/api/relations/link/graph", **{"from": "nonsense"})["status"] == 422


def test_the_program_is_described_and_another_is_checked(routes: Server, tmp_path: Path) -> None:
    found = routes.get("/api/program")
    assert [rule["head"] for rule in found["rules"]] == ["hop", "hop", "route", "route", "delay", "fastest"]
    assert [stratum["recursive"] for stratum in found["strata"]] == [False, True, False, False]
    wrong = routes.post("/api/check", text="p(X, Y) :- q(X).")
    assert wrong["valid"] is False
    assert wrong["diagnostics"][0]["code"] == "HW301"
    assert routes.post("/api/check", text="p(X) :- q(X).")["valid"] is True
    secret = tmp_path / "secret.dl"
    secret.write_text("password(secret).")
    included = routes.post("/api/check", text=f'#include "{secret}"\np(X) :- q(X).')
    assert included["valid"] is False
    assert "password" not in json.dumps(included)


def test_metrics_transactions_and_profile(routes: Server) -> None:
    text = routes.request("GET", "/api/metrics", headers=routes.bearer)[2].decode()
    assert 'headwater_rows{relation="fastest"} 90' in text
    assert "headwater_transactions_total 3" in text
    listed = routes.get("/api/transactions")["transactions"]
    assert [each["number"] for each in listed] == [3, 2, 1]
    assert listed[2]["title"] == "feed.jsonl:1: delete link(madrid, paris, 12)"
    assert listed[2]["views"]["link"] == {"inserted": 0, "deleted": 1}
    assert routes.get("/api/profile")["rules"]


def test_the_documentation_names_every_address() -> None:
    text = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")
    assert [each.path for each in ADDRESSES if f"`{each.method} {each.path}`" not in text] == []


def test_the_description_names_every_address(routes: Server) -> None:
    found = routes.get("/api/openapi.json")
    assert {(method.upper(), path) for path, methods in found["paths"].items() for method in methods} == {
        (each.method, each.path) for each in ADDRESSES
    }


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/api/relations/nonsense/rows", {}, 404),
        ("/api/relations/fastest/rows", {"limit": "many"}, 400),
        ("/api/relations/fastest/rows", {"limit": "1001"}, 400),
        ("/api/relations/fastest/rows", {"sort": "nonsense"}, 422),
        ("/api/relations/fastest/rows", {"where": "link(a, b, c)"}, 422),
        ("/api/relations/fastest/rows", {"where": "fastest(("}, 422),
        ("/api/relations/fastest/rows", {"at": "99"}, 422),
        ("/api/relations/route/rows", {}, 404),
        ("/api/nothing", {}, 404),
    ],
)
def test_wrong_questions_are_answered_by_what_is_wrong(
    routes: Server, path: str, given: dict[str, Any], status: int
) -> None:
    found = routes.get(path, **given)
    assert found["status"] == status
    assert found["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/why", {}),
        ("/api/why", {"relation": "fastest", "row": [1]}),
        ("/api/why", {"relation": ["fastest"], "row": []}),
        ("/api/why", {"atom": "fastest(lisbon, To, P, T)"}),
        ("/api/why", {"atom": 'fastest("nowhere", "nowhere", [], 1)'}),
        ("/api/what_if", {"delete": {"link": "all"}}),
        ("/api/what_if", {"delete": [1]}),
        ("/api/what_if", {"delete": {"fastest": [["a", "b", [], 1]]}}),
        ("/api/what_if", {"insert": {"link": [["a", "b", "soon"]]}}),
        ("/api/blast_radius", {"relation": "fastest"}),
        ("/api/blast_radius", {}),
        ("/api/ask", {"view": "fastest", "given": {"From": "lisbon"}}),
        ("/api/check", {"text": 1}),
    ],
)
def test_wrong_bodies_too(routes: Server, path: str, body: dict[str, Any]) -> None:
    found = routes.post(path, **body)
    assert found["status"] in (400, 404, 422)
    assert found["error"]["message"]


def test_values_travel_exactly(tmp_path: Path) -> None:
    """Numbers that JavaScript cannot hold, times, nulls, lists, markup: asked about as they were read."""
    (tmp_path / "p.dl").write_text(
        "relation r(n: int, f: float?, t: timestamp, d: duration, s: string, l: list<int>).\n"
        "v(N, F, T, D, S, L) :- r(N, F, T, D, S, L).\n"
    )
    line = {"n": 2**60, "f": None, "t": "2026-01-01T00:00:00.000001", "d": "90 seconds", "s": "<b>&\"'", "l": [2**61]}
    (tmp_path / "r.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({**line, "n": 1, "f": 0.1}) + "\n")
    with serving(tmp_path, "p.dl", "-i", "r=r.jsonl") as server:
        for row in server.get("/api/relations/v/rows")["rows"]:
            assert server.post("/api/why", relation="v", row=row)["status"] == 200
            assert server.post("/api/what_if", delete={"r": [row]})["views"]["v"]["deleted"] == 1
        assert server.get("/api/relations/v/rows", sort="-n")["rows"][0] == [
            str(2**60), None, "2026-01-01T00:00:00.000001", 90_000_000, "<b>&\"'", [str(2**61)],
        ]  # fmt: skip


def test_readers_share_answers_and_see_every_change(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(n: int).\nv(N) :- r(N).\n")
    (tmp_path / "r.csv").write_text("n\n1\n")
    with serving(tmp_path, "p.dl", "-i", "r=r.csv", "--writable") as server:
        assert server.rows("v") == [(1,)]
        for last in range(1, 4):
            assert server.post("/api/apply", insert={"r": [[last + 1]]})["transaction"] == last
            held = [(n,) for n in range(1, last + 2)]
            assert server.rows("v", seen=last) == server.rows("v", seen=last) == server.rows("v", at_least=last) == held
            assert server.rows("v", seen=last, limit=1) == held[:1]
            assert server.rows("v", seen=last, sort="-n") == held[::-1]
        assert server.rows("v", seen=1) == held


def test_answers_that_are_kept_are_bounded() -> None:
    kept = SharedAnswers(most=25)
    for at in range(4):
        kept.keep(str(at), at, "x" * 10)
    assert [kept.find(str(at), 0) is not None for at in range(4)] == [False, False, True, True]
    assert kept.find("3", 4) is None
    kept.keep("3", 9, "y" * 30)
    assert [kept.find(str(at), 0) for at in range(4)] == [None] * 4
