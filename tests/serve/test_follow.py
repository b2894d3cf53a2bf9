"""Changes that come while the server runs: from files that grow, from folders, from requests; told to all readers."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import headwater as hw
from tests.serve.serving import serving

PROGRAM = """
reachable(X, Y) :- link(X, Y).
reachable(X, Z) :- link(X, Y), reachable(Y, Z).
"""


def folder(path: Path) -> Path:
    (path / "paths.dl").write_text(PROGRAM)
    (path / "links.csv").write_text("a,b\na,b\nb,c\n")
    return path


def line(kind: str, *row: str) -> str:
    return json.dumps({"_change_type": kind, "a": row[0], "b": row[1]}) + "\n"


def reach(*links: tuple[str, str]) -> set[tuple[str, ...]]:
    db = hw.Database(hw.compile(PROGRAM))
    db.apply(insert={"link": list(links)})
    return db.rows("reachable")


def test_lines_that_are_appended_are_applied(tmp_path: Path) -> None:
    feed = folder(tmp_path) / "feed.jsonl"
    feed.write_text(line("insert", "c", "d"))
    with serving(tmp_path, "paths.dl", "-i", "link=links.csv", "--changes", "feed.jsonl") as server:
        stream = server.events(after=0, view="reachable")
        assert next(stream)[0] == "hello"
        assert next(stream)[1]["views"]["reachable"]["inserted"] == 3
        with feed.open("a") as out:
            out.write(line("delete", "a", "b") + "this is no change\n" + line("insert", "d", "e")[:20])
        event = next(stream)[1]["views"]["reachable"]
        assert {tuple(row) for row in event["deleted_rows"]} == {("a", "b"), ("a", "c"), ("a", "d")}
        assert event["inserted"] == 0  # half a line is none
        with feed.open("a") as out:
            out.write(line("insert", "d", "e")[20:])
        assert next(stream)[1]["views"]["reachable"]["inserted"] == 3
        assert set(server.rows("reachable")) == reach(("b", "c"), ("c", "d"), ("d", "e"))
        reasons = [reason for each in server.get("/api/transactions")["transactions"] for reason in each["reasons"]]
        assert reasons == ["feed.jsonl:3: it is not JSON: Expecting value (column 1)"]
        feed.write_text(line("delete", "d", "e"))  # begun anew
        assert next(stream)[1]["views"]["reachable"]["deleted"] == 3
        assert server.stop() == 0
        assert [kind for kind, _ in stream] == []


def test_files_that_arrive_are_applied(tmp_path: Path) -> None:
    incoming = folder(tmp_path) / "incoming"
    incoming.mkdir()
    (incoming / "1.csv").write_text("a,b\nc,d\n")
    with serving(tmp_path, "paths.dl", "-i", "link=links.csv", "--watch", "link=incoming") as server:
        server.until(1)
        (tmp_path / "2.jsonl").write_text(line("delete", "a", "b") + line("insert", "d", "e"))
        (tmp_path / "2.jsonl").rename(incoming / "2.jsonl")
        server.until(2)
        assert set(server.rows("reachable")) == reach(("b", "c"), ("c", "d"), ("d", "e"))
        (tmp_path / "3.csv").write_text("a,b,c\n1,2,3\n")
        (tmp_path / "3.csv").rename(incoming / "3.csv")
        (tmp_path / "4.csv").write_text("a,b\ne,f\n")
        (tmp_path / "4.csv").rename(incoming / "4.csv")
        server.until(3)
        assert ("b", "f") in server.rows("reachable")
        assert "3.csv" in server.get("/api/health")["problem"]
        assert server.stop(signal.SIGTERM) in (0, -signal.SIGTERM)


def test_requests_may_change_rows_where_it_is_allowed(tmp_path: Path) -> None:
    with serving(folder(tmp_path), "paths.dl", "-i", "link=links.csv", "--writable") as server:
        first, second = server.events(), server.events()
        assert [next(stream)[0] for stream in (first, second)] == ["hello", "hello"]
        done = server.post("/api/apply", insert={"link": [["c", "a"]]}, title="a cable")
        assert done["transaction"] == 1
        for stream in (first, second):
            event = next(stream)[1]
            assert (event["until"], event["titles"], event["views"]["reachable"]["inserted"]) == (1, ["a cable"], 6)
        assert set(server.rows("reachable", at_least=1)) == reach(("a", "b"), ("b", "c"), ("c", "a"))
        refused = server.post("/api/apply", insert={"link": [["only one"]]})
        assert refused["status"] == 422
        assert server.get("/api/health")["transaction"] == 1


def test_what_is_not_kept_is_said(tmp_path: Path) -> None:
    """More transactions than one event holds: a reader is told to load the view again."""
    feed = folder(tmp_path) / "feed.jsonl"
    feed.write_text("".join(line("insert", f"n{at}", f"n{at + 1}") for at in range(120)))
    with serving(tmp_path, "paths.dl", "-i", "link=links.csv", "--changes", "feed.jsonl", "--batch", "1") as server:
        server.until(120)
        stream = server.events(after=0, view="reachable")
        next(stream)
        event = next(stream)[1]
        assert (event["since"], event["until"], event["views"]) == (0, 120, {"reachable": None})
        every = server.events(after=0, view="link", every=1)
        next(every)
        assert [next(every)[1]["until"] for _ in range(120)] == list(range(1, 121))
        assert len(server.rows("link", at=60, limit=1000)) == 62


def test_nulls_propositions_and_odd_names(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("relation r(a: string?).\nsome :- r(X).\nv(X) :- r(X).\n")
    (tmp_path / "r.jsonl").write_text('{"a": null}\n{"a": ""}\n{"a": "<script>alert(1)</script>"}\n')
    with serving(tmp_path, "p.dl", "-i", "r=r.jsonl") as server:
        assert server.rows("some") == [()]
        assert set(server.rows("v")) == {(None,), ("",), ("<script>alert(1)</script>",)}
        assert server.post("/api/why", relation="some", row=[])["status"] == 200
        assert server.post("/api/why", relation="v", row=[None])["facts"] == [{"relation": "r", "row": [None]}]
        assert server.rows("v", sort="-x", find="SCRIPT") == [("<script>alert(1)</script>",)]
        assert server.get("/api/relations/r/graph")["status"] == 422


def test_rows_that_live_by_the_wall_clock_end_while_nothing_comes(tmp_path: Path) -> None:
    (tmp_path / "alive.dl").write_text("relation alive(node: string) ttl 3 seconds. up(X) :- alive(X).\n")
    (tmp_path / "feed.jsonl").write_text(json.dumps({"_change_type": "insert", "node": "x"}) + "\n")
    with serving(tmp_path, "alive.dl", "--changes", "feed.jsonl") as server:
        stream = server.events(after=0, view="up", every=1)
        assert next(stream)[0] == "hello"
        seen = [next(stream)[1]["views"]["up"] for _ in range(2)]
        assert [(change["inserted"], change["deleted"]) for change in seen] == [(1, 0), (0, 1)]
        assert server.rows("up", at_least=2) == []
