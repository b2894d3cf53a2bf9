"""`headwater run`: views from files, changes applied in order, files out, bad data, exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from headwater.cli.main import app
from headwater.database import Database
from headwater.files.names import file_name

REACH = "reachable(X, Y) :- link(X, Y).\nreachable(X, Z) :- link(X, Y), reachable(Y, Z).\n"
KEYED = "relation price(item: string, cents: int) key(item).\ndear(I, C) :- price(I, C), C > 100.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("reach.dl", REACH)
    write("keyed.dl", KEYED)
    write("links.csv", "src,dst\na,b\nb,c\nc,d\n")
    write("cut.jsonl", '{"_change_type": "delete", "src": "b", "dst": "c"}\n')
    return tmp_path


def write(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["run", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def reach(*arguments: str) -> Result:
    return run("reach.dl", "--input", "link=links.csv", *arguments)


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def pairs(text: str) -> set[tuple[str, str]]:
    return {(one["x"], one["y"]) for one in objects(text)}


ALL = {("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")}
LEFT = {("a", "b"), ("c", "d")}


def test_views_print_as_tables() -> None:
    result = reach()
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == ["reachable: 6 rows", "  x  y", "  a  b", "  a  c", "  a  d", "  b  c", "  b  d", "  c  d"]


def test_long_tables_are_cut() -> None:
    result = reach("--rows", "2")
    assert result.stdout.splitlines()[-1].strip() == "... 4 more"
    assert len(result.stdout.splitlines()) == 5
    assert len(reach("--rows", "0").stdout.splitlines()) == 8


def test_changes_print_what_came_and_went() -> None:
    write("more.jsonl", '{"_change_type": "insert", "src": "d", "dst": "e"}\n')
    result = reach("--changes", "link=cut.jsonl", "--changes", "link=more.jsonl", "--show", "changes")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines == [
        "cut.jsonl:1: delete link(b, c)",
        "  reachable: 0 came, 4 went",
        "  -  a  c",
        "  -  a  d",
        "  -  b  c",
        "  -  b  d",
        "more.jsonl:1: insert link(d, e)",
        "  reachable: 2 came, 0 went",
        "  +  c  e",
        "  +  d  e",
    ]


def test_a_change_that_matters_to_no_view() -> None:
    write("again.jsonl", '{"_change_type": "insert", "src": "a", "dst": "b"}\n')
    assert "no view changed" in reach("--changes", "link=again.jsonl").stdout


def test_json_holds_the_views_as_they_are_at_the_end() -> None:
    result = reach("--changes", "link=cut.jsonl", "--format", "json")
    assert pairs(result.stdout) == LEFT
    assert {one["relation"] for one in objects(result.stdout)} == {"reachable"}
    assert result.stderr == ""


def test_json_of_changes() -> None:
    result = reach("--changes", "link=cut.jsonl", "--format", "json", "--show", "changes")
    assert pairs(result.stdout) == ALL - LEFT
    assert {one["_change_type"] for one in objects(result.stdout)} == {"delete"}


def test_a_column_called_relation_keeps_its_name() -> None:
    write("kin.dl", "relation kin(name: string, relation: string).\nkin2(Name, Relation) :- kin(Name, Relation).\n")
    write("kin.csv", "name,relation\nann,aunt\n")
    result = run("kin.dl", "--input", "kin=kin.csv", "--format", "json")
    assert objects(result.stdout) == [{"_relation": "kin2", "name": "ann", "relation": "aunt"}]


def test_csv() -> None:
    assert reach("--format", "csv").stdout == "x,y\na,b\na,c\na,d\nb,c\nb,d\nc,d\n"
    result = reach("--format", "csv", "--changes", "link=cut.jsonl", "--show", "changes")
    assert result.stdout.splitlines()[:2] == ["_change_type,x,y", "delete,a,c"]


def test_csv_of_several_views_needs_a_choice() -> None:
    write("two.dl", REACH + "source(X) :- link(X, _).\n")
    result = run("two.dl", "--input", "link=links.csv", "--format", "csv")
    assert result.exit_code == 2
    assert "--query" in result.stderr
    result = run("two.dl", "--input", "link=links.csv", "--format", "csv", "--query", "source(X)")
    assert result.stdout == "X\na\nb\nc\n"


def test_a_query_in_place_of_the_programs() -> None:
    result = reach("--format", "csv", "--query", 'reachable(b, "c")', "--query", "reachable(a, Y).")
    assert result.stdout == "X,Y\na,b\na,c\na,d\nb,c\n"
    assert reach("--query", "nothing(X)").exit_code == 1
    assert reach("--query", "p(").exit_code == 1
    assert reach("--query", "p(1). q(2)").exit_code == 2


@pytest.mark.parametrize(("kind", "suffix"), [("csv", "csv"), ("json", "jsonl"), ("parquet", "parquet")])
def test_files_out_are_files_in(kind: str, suffix: str) -> None:
    result = reach("--changes", "link=cut.jsonl", "--output", "out/deep", "--format", kind)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert sorted(path.name for path in Path("out/deep").iterdir()) == [
        "reachable.changes.jsonl",
        f"reachable.{suffix}",
    ]
    again = run("reach.dl", "--input", f"link=out/deep/reachable.{suffix}", "--format", "json")
    assert pairs(again.stdout) == LEFT
    undone = run(
        "reach.dl",
        "--input",
        "link=links.csv",
        "--changes",
        "link=out/deep/reachable.changes.jsonl",
        "--format",
        "json",
    )
    assert pairs(undone.stdout) == LEFT


def test_values_of_every_type_come_back() -> None:
    write("typed.dl", "relation t(i: int, f: float, s: string, b: bool, m: timestamp, l: list).\n"
          "u(I, F, S, B, M, L) :- t(I, F, S, B, M, L).\n")  # fmt: skip
    write(
        "t.jsonl",
        '[1, 1.5, "a, \\"b\\"\\n", true, "2026-01-31T08:00:00", ["x", "y"]]\n[2, 1e300, "", false, "1969-01-01", []]\n',
    )
    for kind, suffix in (("csv", "csv"), ("json", "jsonl"), ("parquet", "parquet")):
        assert run("typed.dl", "-i", "t=t.jsonl", "-o", kind, "--format", kind).exit_code == 0
        first = run("typed.dl", "-i", "t=t.jsonl", "--format", "json").stdout
        again = run("typed.dl", "-i", f"t={kind}/u.{suffix}", "--format", "json").stdout
        assert again == first
        assert len(objects(first)) == 2


def test_a_view_without_columns() -> None:
    write("alarm.dl", "alarm() :- link(_, d).\ncalm() :- link(_, z).\n")
    result = run("alarm.dl", "-i", "link=links.csv", "-o", "out")
    assert result.exit_code == 0
    assert Path("out/alarm.csv").read_text() == "alarm\ntrue\n"
    assert Path("out/calm.csv").read_text() == "calm\n"
    assert objects(run("alarm.dl", "-i", "link=links.csv", "--format", "json").stdout) == [{"relation": "alarm"}]
    assert "alarm: 1 row" in run("alarm.dl", "-i", "link=links.csv").stdout


# Changes in order


def test_the_last_word_on_a_row_wins() -> None:
    write("feed.csv", "_change_type,src,dst\ninsert,d,e\ndelete,d,e\ndelete,a,b\ninsert,a,b\n")
    result = reach("--changes", "link=feed.csv", "--format", "json")
    assert pairs(result.stdout) == ALL
    assert "no view changed" in reach("--changes", "link=feed.csv").stdout


def test_batches_are_transactions_of_their_own() -> None:
    write("feed.csv", "_change_type,src,dst\ndelete,a,b\ninsert,a,b\n")
    result = reach("--changes", "link=feed.csv", "--batch", "1", "--show", "changes")
    assert "feed.csv:2: delete link(a, b)" in result.stdout
    assert "0 came, 3 went" in result.stdout
    assert "feed.csv:3: insert link(a, b)" in result.stdout
    assert "3 came, 0 went" in result.stdout
    write("feed.csv", "_change_type,src,dst\n" + "delete,a,b\n" * 3)
    result = reach("--changes", "link=feed.csv", "--batch", "2")
    assert "feed.csv: 2 changes (1 to 2 of 3)" in result.stdout


@pytest.mark.parametrize(
    ("feed", "left"),
    [
        (["insert,ink,300"], [("ink", 300), ("pen", 150)]),
        (["insert,ink,300", "insert,ink,400"], [("ink", 400), ("pen", 150)]),
        (["update_preimage,ink,200", "update_postimage,ink,90"], [("pen", 150)]),
        (["insert,ink,300", "delete,ink,300"], [("pen", 150)]),
        (["insert,ink,300", "delete,ink,200"], [("ink", 300), ("pen", 150)]),
        (["delete,ink,999"], [("ink", 200), ("pen", 150)]),
        (["delete,ink,200", "insert,ink,200"], [("ink", 200), ("pen", 150)]),
        (["insert,ink,300", "delete,ink,300", "insert,ink,500"], [("ink", 500), ("pen", 150)]),
    ],
)
@pytest.mark.parametrize("batch", [[], ["--batch", "1"]])
def test_a_feed_of_keyed_rows_ends_the_same_whole_or_one_by_one(
    feed: list[str], left: list[tuple[str, int]], batch: list[str]
) -> None:
    write("price.csv", "item,cents\nink,200\npen,150\n")
    write("feed.csv", "\n".join(["_change_type,item,cents", *feed]))
    result = run("keyed.dl", "-i", "price=price.csv", "-c", "price=feed.csv", *batch, "--format", "json")
    assert [(one["i"], one["c"]) for one in objects(result.stdout)] == left


def test_several_files_for_one_relation() -> None:
    write("more.jsonl", '["d", "e"]\n')
    assert len(objects(reach("-i", "link=more.jsonl", "--format", "json").stdout)) == 10


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_views_of_any_name_are_written_into_the_output_folder(form: str) -> None:
    write("link.csv", "a,b\n1,2\n")
    views = ["../../evil", "/tmp/evil", "..", ".hidden", "_hidden", "a/b", "v.", "n" * 300, "rejected"]
    write("evil.sql", "".join(f'CREATE VIEW "{name}" AS SELECT a, b FROM link;\n' for name in views))
    before = {str(one) for one in Path("..").resolve().rglob("*")}
    result = run("evil.sql", "-i", "link=link.csv", "--output", "one/two/out", "--format", form)
    assert result.exit_code == 0, result.stderr
    kind = {"json": "jsonl"}.get(form, form)
    assert {one.name for one in Path("one/two/out").iterdir()} == {f"{file_name(name)}.{kind}" for name in views}
    made = {str(one) for one in Path("..").resolve().rglob("*")} - before
    assert all(str(Path("one").resolve()) in one for one in made)
    assert not Path("/tmp").joinpath(f"evil.{kind}").exists()


# Bad data


def test_bad_rows_are_set_aside_and_reported() -> None:
    write("bad.csv", "src,dst,cost\na,b,1\nb,c,x\nc\nc,d,2\n")
    write("cost.dl", "total(sum<C>) :- link(X, Y, C).\n")
    result = run("cost.dl", "--input", "link=bad.csv", "--output", "out")
    assert result.exit_code == 0
    assert Path("out/total.csv").read_text() == "sum\n3\n"
    assert "warning[HW801]: 2 rows set aside" in result.stderr
    assert "bad.csv:3: column `c`: 'x' is not a valid int" in result.stderr
    assert "bad.csv:4: 1 value for 3 columns" in result.stderr
    rejected = objects(Path("out/rejected.jsonl").read_text())
    assert [(one["file"], one["line"], one["row"]) for one in rejected] == [
        ("bad.csv", 3, "b,c,x"),
        ("bad.csv", 4, "c"),
    ]
    write("bad.csv", "src,dst,cost\na,b,1\n")
    run("cost.dl", "--input", "link=bad.csv", "--output", "out")
    assert Path("out/rejected.jsonl").read_text() == ""


def test_strict_refuses_them_and_applies_nothing() -> None:
    write("bad.jsonl", '{"_change_type": "insert", "src": "d", "dst": "e"}\n{"_change_type": "insert", "src": "d"}\n')
    result = reach("--changes", "link=bad.jsonl", "--strict", "--output", "out")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[HW801]: 1 row does not fit; nothing was applied" in result.stderr
    assert "bad.jsonl:2" in result.stderr
    assert not list(Path("out").iterdir())


def test_many_bad_rows_are_counted() -> None:
    write("bad.csv", "src,dst\n" + "x\n" * 1500 + "a,b\n")
    result = run("reach.dl", "--input", "link=bad.csv")
    assert "1,500 rows set aside" in result.stderr
    assert "... and 1,495 more" in result.stderr


def test_types_in_the_data_that_the_program_cannot_work_with() -> None:
    write("cost.dl", "total(X, C) :- link(X, Y, C1), C = C1 + 1.\n")
    write("words.csv", "src,dst,cost\na,b,dear\n")
    result = run("cost.dl", "--input", "link=words.csv")
    assert result.exit_code == 1
    assert "error[HW4" in result.stderr
    assert "words.csv was read as (x: string, y: string, c1: string)" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-i", "link"], "write --input link=FILE"),
        (["-i", "=links.csv"], "write --input link=FILE"),
        (["-i", "lnk=links.csv"], "did you mean `link`?"),
        (["-i", "reachable=links.csv"], "`reachable` is derived by rules"),
        (["-i", "link=nowhere.csv"], "nowhere.csv does not exist"),
        (["-i", "link=."], "must end in .csv"),
        (["-i", "link=reach.dl"], "must end in .csv"),
        (["-i", "link=links.csv", "-c", "link=links.csv"], "_change_type"),
        (["-i", "link=links.csv", "--format", "parquet"], "--output"),
        (["-i", "link=links.csv", "--format", "table", "-o", "out"], "for the terminal"),
        (["-i", "link=links.csv", "-o", "links.csv"], "links.csv is a file"),
        (["-i", "link=links.csv", "-o", "links.csv/out"], "cannot be made"),
        (["-i", "link=links.csv", "--format", "xml"], "xml"),
    ],
)
def test_what_cannot_be_carried_out(arguments: list[str], message: str) -> None:
    result = run("reach.dl", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_programs_that_cannot_be_run() -> None:
    write("wrong.dl", "p(X, Y) :- q(X).\n")
    assert run("nowhere.dl").exit_code == 2
    wrong = run("wrong.dl")
    assert (wrong.exit_code, "error[HW301]" in wrong.stderr) == (1, True)


def test_every_base_relation_is_given_or_optional() -> None:
    refused = run("reach.dl")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "error[HW806]: no rows are given for `link`" in refused.stderr
    assert "--input link=FILE" in refused.stderr
    write("joined.dl", "open(X, Y) :- link(X, Y), node(X), !closed(X).\n")
    near = run("joined.dl", "-i", "link=links.csv", "-i", "node=links.csv", "--optional", "closd")
    assert near.exit_code == 2
    assert "did you mean `closed`?" in near.stderr
    write("nodes.csv", "id\na\n")
    given = ["-i", "link=links.csv", "-i", "node=nodes.csv"]
    assert run("joined.dl", *given).exit_code == 2
    assert run("joined.dl", *given, "--optional", "closed", "--format", "csv").stdout == "x,y\na,b\n"
    write("marked.dl", "relation closed(x: string) optional.\nopen(X, Y) :- link(X, Y), node(X), !closed(X).\n")
    assert run("marked.dl", *given, "--format", "csv").stdout == "x,y\na,b\n"
    write("closed.jsonl", '{"_change_type": "insert", "x": "a"}\n')
    assert run("joined.dl", *given, "-c", "closed=closed.jsonl", "--format", "csv").stdout == "x,y\n"


def test_notes_about_what_is_missing() -> None:
    write("none.csv", "src,dst\n")
    result = run("reach.dl", "-i", "link=none.csv")
    assert "none.csv: no rows" in result.stderr
    assert result.stdout == "reachable: 0 rows\n"
    assert run("reach.dl", "--optional", "link", "--quiet").stderr == ""


def test_the_guard() -> None:
    write("grow.dl", "n(0).\nn(Y) :- n(X), step(S), Y = X + S.\n")
    write("step.csv", "s\n1\n")
    write("none.csv", "s\n")
    write("later.csv", "_change_type,s\ninsert,1\n")
    result = run("grow.dl", "-i", "step=step.csv", "--guard", "50", "-q")
    assert result.exit_code == 1
    assert "error[HW901]" in result.stderr
    assert result.stdout == ""
    result = run("grow.dl", "-i", "step=none.csv", "-c", "step=later.csv", "--guard", "50", "-q", "--format", "json")
    assert result.exit_code == 1
    assert objects(result.stdout) == [{"relation": "n", "y": 0}]
    assert "last finished transaction" in result.stderr


def test_the_bound_on_memory() -> None:
    write("pairs.dl", "v(A, B, C) :- r(A), r(B), r(C).\n")
    write("r.csv", "s\n" + "".join(f"{at}\n" for at in range(60)))
    result = run("pairs.dl", "-i", "r=r.csv", "--memory", "2MB", "-q")
    assert result.exit_code == 1
    assert "error[HW906]: not enough memory: `v` with " in result.stderr
    assert run("pairs.dl", "-i", "r=r.csv", "--memory", "1%", "-q").exit_code == 0
    assert run("pairs.dl", "-i", "r=r.csv", "--memory", "0", "-q").exit_code == 0
    for bad in ("lots", "120%", "-1"):
        result = run("pairs.dl", "-i", "r=r.csv", "--memory", bad, "-q")
        assert result.exit_code == 2
        assert "--memory takes a" in result.stderr


def test_an_interrupted_run_gives_the_last_finished_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    write("more.jsonl", '{"_change_type": "insert", "src": "d", "dst": "e"}\n')
    apply = Database.apply
    calls = []

    def interrupted(self: Database, *args: Any, **named: Any) -> Any:
        calls.append(named)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return apply(self, *args, **named)

    monkeypatch.setattr(Database, "apply", interrupted)
    result = reach("-c", "link=cut.jsonl", "-c", "link=more.jsonl", "--format", "json")
    assert result.exit_code == 130
    assert pairs(result.stdout) == LEFT
    assert "interrupted" in result.stderr
    calls[:] = [{}, {}]
    result = reach("--format", "json")
    assert (result.exit_code, result.stdout) == (130, "")


def test_files_are_whole_or_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    reach("--output", "out")
    before = Path("out/reachable.csv").read_bytes()

    def failing(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", failing)
    result = reach("--changes", "link=cut.jsonl", "--output", "out")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert Path("out/reachable.csv").read_bytes() == before
    assert [path.name for path in Path("out").iterdir()] == ["reachable.csv"]


def test_parquet_keeps_types() -> None:
    write("cost.dl", "far(Y, min<C>) :- link(X, Y, C).\n")
    write("cost.csv", "s,d,c\na,b,1.5\n")
    run("cost.dl", "-i", "link=cost.csv", "-o", "out", "--format", "parquet")
    table = pyarrow.parquet.read_table("out/far.parquet")
    assert [str(field.type) for field in table.schema] == ["string", "double"]


def test_nothing_on_the_terminal_can_be_a_command() -> None:
    write("evil.jsonl", '["\\u001b[2J[red]", "b"]\n')
    result = run("reach.dl", "-i", "link=evil.jsonl")
    assert "\x1b" not in result.stdout
    assert "\\x1b[2J[red]" in result.stdout


def test_help_shows_an_example() -> None:
    for command in ("check", "plan", "run", "why"):
        text = CliRunner().invoke(app, [command, "--help"]).stdout
        assert f"headwater {command} paths.dl" in text
    assert "Usage" in CliRunner().invoke(app, []).output


def test_nulls_from_file_to_file() -> None:
    write("p.dl", "relation r(n: int?, s: string?, b: bool?).\nv(S, N, B) :- r(N, S, B).\n")
    write("r.csv", "n,s,b\n2,x,true\n,,\n1,,false\n")
    given = ("p.dl", "--input", "r=r.csv")
    assert run(*given, "--format", "csv").stdout == "s,n,b\n,,\n,1,false\nx,2,true\n"
    assert [line.split() for line in run(*given).stdout.splitlines()[2:]] == [
        ["null", "null", "null"],
        ["null", "1", "false"],
        ["x", "2", "true"],
    ]
    told = CliRunner().invoke(app, ["why", *given, "v(null, 1, false)"])
    assert told.stdout.startswith("v(null, 1, false)")


def test_time_comes_from_the_rows_and_moves_on() -> None:
    write("hits.dl", "stream hit(t: int, p: string) ttl 10.\nhits(P) :- hit(_, P).\nquery hits(P).\n")
    write("hits.csv", "t,p\n1,a\n5,b\n")
    write("more.jsonl", '{"_change_type": "insert", "t": 12, "p": "c"}\n')
    first = run("hits.dl", "--input", "hit=hits.csv", "--format", "csv")
    assert first.stdout.split() == ["P", "a", "b"]
    later = run("hits.dl", "--input", "hit=hits.csv", "--changes", "hit=more.jsonl", "--format", "csv")
    assert later.stdout.split() == ["P", "b", "c"]
    last = run("hits.dl", "--input", "hit=hits.csv", "--until", "15", "--show", "changes")
    assert "until 15" in last.stdout
    write("bad.csv", "t,p\nx,a\n")
    wrong = run("hits.dl", "--input", "hit=bad.csv", "--until", "noon")
    assert (wrong.exit_code, "HW803" in wrong.stderr) == (1, True)
    assert wrong.stdout == ""
    assert "HW801" not in wrong.stderr, "it is told before anything is read"


def test_changes_of_a_stream_count_by_their_times() -> None:
    """Within one file too: a delete ends all versions before it, and an older row replaces no newer one."""
    write("hits.dl", "stream hit(t: int, p: string, n: int) key(p) ttl 10.\nhits(P, N) :- hit(_, P, N).\n")
    lines = [
        ("insert", 5, "a", 1), ("delete", 3, "a", 1),
        ("insert", 6, "b", 1), ("insert", 4, "b", 2),
        ("insert", 5, "c", 1), ("insert", 6, "c", 2), ("delete", 0, "c", 2),
        ("delete", 0, "d", 1), ("insert", 6, "d", 1),
    ]  # fmt: skip
    write(
        "changes.jsonl",
        "".join(f'{{"_change_type": "{word}", "t": {t}, "p": "{p}", "n": {n}}}\n' for word, t, p, n in lines),
    )
    write("hits.csv", "t,p,n\n1,c,9\n")
    for batch in ("1", "100"):
        given = ("--input", "hit=hits.csv", "--changes", "hit=changes.jsonl", "--batch", batch, "--format", "csv")
        assert run("hits.dl", *given).stdout.split() == ["p,n", "b,1", "d,1"], batch


@pytest.mark.filterwarnings("error")
def test_an_optional_relation_or_an_empty_file_of_changes_is_no_reason_to_warn() -> None:
    write("joined.dl", "open(X, Y) :- link(X, Y), !closed(X).\n")
    write("none.csv", "_change_type,x\n")
    for given in (("--optional", "closed"), ("-c", "closed=none.csv")):
        assert run("joined.dl", "-i", "link=links.csv", *given, "--format", "csv").exit_code == 0


def test_rows_with_a_ttl_alone_live_by_the_clock_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write("alive.dl", "relation alive(node: string) ttl 1 minute. up(X) :- alive(X).\n")
    write("alive.csv", "node\nx\n")
    assert "up: 1 row" in run("alive.dl", "-i", "alive=alive.csv").stdout
    begun = run("alive.dl", "-i", "alive=alive.csv", "--now", "2026-01-01", "--until", "2026-01-01 00:00:59")
    assert "up: 1 row" in begun.stdout
    ended = run("alive.dl", "-i", "alive=alive.csv", "--now", "2026-01-01", "--until", "2026-01-01 00:01:00")
    assert "up: 0 rows" in ended.stdout
    wrong = run("alive.dl", "-i", "alive=alive.csv", "--now", "noon")
    assert (wrong.exit_code, "HW803" in wrong.stderr) == (1, True)
    write("counted.dl", "relation alive(node: string) ttl 60. up(X) :- alive(X).\n")
    unknown = run("counted.dl", "-i", "alive=alive.csv")
    assert (unknown.exit_code, "--now" in unknown.stderr) == (1, True)
    assert "up: 1 row" in run("counted.dl", "-i", "alive=alive.csv", "--now", "7").stdout
