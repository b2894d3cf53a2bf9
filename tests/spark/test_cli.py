"""`headwater run --engine spark`: files once, and folders that files arrive in."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from headwater.cli.main import app
from tests.spark.conftest import FAR, PATIENCE, SRC

PROGRAM = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Z) :- link(X, Y), reach(Y, Z)."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("p.dl").write_text(PROGRAM)
    Path("links.csv").write_text("x,y\n1,2\n2,3\n")
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["run", "p.dl", *words], prog_name="headwater")
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.usefixtures("spark", "folder")
def test_files_once() -> None:
    status, out, _ = run("--engine", "spark", "--input", "link=links.csv", "--shards", "2")
    assert status == 0
    assert out.splitlines()[0] == "reach: 3 rows"


@pytest.mark.usefixtures("spark", "folder")
def test_a_folder_that_files_arrive_in() -> None:
    Path("in").mkdir()
    for number, line in enumerate(['{"_change_type": "delete", "x": 2, "y": 3}', '{"x": 7, "y": "eight"}']):
        Path(f"in/{number}.jsonl").write_text(line)
        os.utime(f"in/{number}.jsonl", (1_000_000 + number,) * 2)
    words = ("--engine", "spark", "--input", "link=links.csv", "--stream", "link=in", "--checkpoint", "state", "--once")
    status, out, err = run(*words)
    assert status == 0
    assert "batch 0: 3 rows in; reach +1 -0" in err
    assert "1 row set aside" in err
    assert "1  2" in out


@pytest.mark.usefixtures("spark")
def test_state_and_output_at_uris(folder: Path) -> None:
    Path("in").mkdir()
    Path("in/0.jsonl").write_text('{"x": 1, "y": 2}')
    words = ("--engine", "spark", "--stream", "link=in", "--checkpoint", f"{FAR}{folder}/state", "--once")
    status, _, err = run(*words, "--output", f"{FAR}{folder}/out")
    assert status == 0, err
    assert Path("state/headwater/manifest-0").exists()
    assert pq.read_table("out/reach/current").num_rows == 1
    status, _, err = run("--engine", "spark", "--input", "link=links.csv", "--output", f"{FAR}{folder}/out")
    assert status == 2
    assert "only the output of streams goes to a URI" in err


@pytest.mark.usefixtures("spark", "folder")
def test_time_in_files_that_arrive() -> None:
    Path("p.dl").write_text(
        "stream hit(ts: timestamp, page: string) lateness 5 minutes. seen(P) :- hit(_, P)."
        "query seen(P), WINDOW(1 hour)."
    )
    Path("in").mkdir()
    for number, lines in enumerate(
        ["2026-01-01 12:00,a\n2026-01-01 12:30,b", "2026-01-01T13:10:00,c\n2026-01-01 12:24,d"]
    ):
        Path(f"in/{number}.csv").write_text(f"ts,page\n{lines}\n")
        os.utime(f"in/{number}.csv", (1_000_000 + number,) * 2)
    status, out, err = run("--engine", "spark", "--stream", "hit=in", "--checkpoint", "state", "--once")
    assert status == 0
    assert "batch 0: 2 rows in, time 2026-01-01 12:30:00; seen +2 -0" in err
    assert "batch 1: 2 rows in, time 2026-01-01 13:10:00; seen +1 -1; 1 row set aside (1 of them late)" in err
    assert "-  a" in out
    status, out, _ = run("--engine", "spark", "--input", "hit=in/0.csv", "--until", "2026-01-01 13:00")
    assert (status, out.splitlines()[0]) == (0, "seen: 1 row")


def written(name: str, columns: dict[str, list[Any]]) -> None:
    table = pa.table(columns)
    kind = name.rpartition(".")[2]
    if kind == "parquet":
        pq.write_table(table, name)
    elif kind == "csv":
        csv.write_csv(table, name)
    else:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.usefixtures("folder")
def test_files_of_every_kind_arrive_and_a_second_run_goes_on(spark: Any, kind: str) -> None:
    words = ("--engine", "spark", "--stream", "link=in", "--checkpoint", "state", "--output", "out", "--once")
    batches: list[dict[str, list[Any]]] = [  # rows to begin with, then changes; each file names its columns itself
        {"x": [1, 2, 3], "y": [2, 3, 4]},
        {"_change_type": ["delete", "insert"], "y": [3, 1], "x": [2, 5]},
        {"x": [2], "y": [3], "_change_type": ["insert"]},
    ]
    Path("in").mkdir()
    for number, batch in enumerate(batches):
        written(f"in/{number}.{kind}", batch)
        os.utime(f"in/{number}.{kind}", (1_000_000 + number,) * 2)
        if number == 0:
            continue
        status, _, err = run(*words)
        assert status == 0, err
        if number == 1:
            assert re.search(r"batch 0: 3 rows in; reach \+6 -0; .*\d+\.\d\d s\n", err)
            assert re.search(r"batch 1: 2 rows in; reach \+2 -4; .*\d+\.\d\d s\n", err)
    assert "batch 2" in err
    assert "batch 1" not in err, "what was committed is not run again"
    expected = {(1, 2), (2, 3), (3, 4), (1, 3), (1, 4), (2, 4), (5, 1), (5, 2), (5, 3), (5, 4)}
    current = spark.read.parquet(str(Path("out/reach/current").absolute()))
    assert {tuple(row) for row in current.collect()} == expected


@pytest.mark.usefixtures("folder")
def test_csv_that_arrives_run_plan_what_it_run_plan_without_spark(spark: Any) -> None:
    Path("p.dl").write_text("relation note(a: string, b: list). seen(A, B) :- note(A, B).")
    Path("in").mkdir()
    texts = ['\ufeffa,b\n"say ""so""",[1]\n"c:\\",[x]\n"two\nlines",[]\n,"[y, z]"\n"",[]\nfew\n', "", "q\r\nw,e,r\r\n"]
    for number, text in enumerate(texts):
        Path(f"in/{number}.csv").write_text(text, newline="")
        os.utime(f"in/{number}.csv", (1_000_000 + number,) * 2)
    Path("rows.csv").write_bytes(Path("in/0.csv").read_bytes())
    words = ("--stream", "note=in", "--checkpoint", "state", "--output", "out", "--once")
    status, _, err = run("--engine", "spark", *words)
    assert status == 0, err
    assert [line.partition(";")[0] for line in err.splitlines() if "row set aside" in line] == [
        "batch 0: 5 rows in", "batch 2: 0 rows in",
    ]  # fmt: skip
    aside = "".join(path.read_text() for path in sorted(Path("state/headwater/rejected").iterdir()))
    assert "in/0.csv:8: 1 value for 2 columns" in aside
    assert "in/2.csv: 1 column (q) for `note(a, b)`" in aside
    assert "w,e,r" in aside
    run("--input", "note=rows.csv", "--output", "there", "--format", "parquet")
    expected = pq.read_table("there/seen.parquet").to_pylist()
    assert len(expected) == 5
    current = spark.read.parquet(str(Path("out/seen/current").absolute())).collect()
    assert sorted((row["a"], list(map(str, row["b"]))) for row in current) == sorted(
        (row["a"], list(map(str, row["b"]))) for row in expected
    )


@pytest.mark.usefixtures("spark", "folder")
def test_files_without_a_header_line_lose_no_row() -> None:
    Path("in").mkdir()
    Path("in/0.csv").write_text("1,2\n2,3\n")
    words = ("--engine", "spark", "--stream", "link=in", "--checkpoint", "state", "--once", "--no-header")
    assert "batch 0: 2 rows in; reach +3 -0" in run(*words)[2]
    Path("garbled").mkdir()
    Path("garbled/0.parquet").write_text("no such thing")
    status, _, err = run("--engine", "spark", "--stream", "link=garbled", "--checkpoint", "other")
    assert (status, "0.parquet cannot be read as Parquet" in err) == (2, True)
    Path("in/1.jsonl").write_text("[3, 4]")
    status, _, err = run(*words)
    assert (status, "files of several kinds, 0.csv and 1.jsonl among them" in err) == (2, True)


def test_ctrl_c_while_spark_starts_leaves_no_java_behind(folder: Path) -> None:
    words = ["run", "p.dl", "--engine", "spark", "--input", "link=links.csv", "--quiet"]
    command = [sys.executable, "-c", "from headwater.cli.main import main; main()", *words]
    env = os.environ | {"PYTHONPATH": str(SRC)}
    with (folder / "said").open("w") as said:
        made = subprocess.Popen(command, env=env, cwd=folder, stdout=said, stderr=said, start_new_session=True)
    while made.poll() is None and not any("SparkSubmit" in command for command in commands_of(made.pid)):
        time.sleep(0.05)
    made.send_signal(signal.SIGINT)
    assert made.wait(PATIENCE) == 130
    until = time.monotonic() + PATIENCE
    while commands_of(made.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not commands_of(made.pid)


def commands_of(session: int) -> list[str]:
    """What the processes of a session run."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(place.name)) == session:
                found.append((place / "cmdline").read_text())
    return [command for command in found if command]


def test_without_java_the_command_says_what_to_install(folder: Path) -> None:
    env = {"PATH": "/nowhere", "PYTHONPATH": str(SRC), "HOME": str(folder)}
    words = ["run", "p.dl", "--engine", "spark", "--input", "link=links.csv"]
    command = [sys.executable, "-c", "from headwater.cli.main import main; main()", *words]
    made = subprocess.run(command, env=env, capture_output=True, text=True, cwd=folder, timeout=PATIENCE)
    assert made.returncode == 2
    assert made.stderr.startswith("error[HW905]: Spark needs Java, and there is no `java` on the PATH and no JAVA_HOME")
    assert "Traceback" not in made.stderr


@pytest.mark.usefixtures("folder")
def test_misuse_is_told() -> None:
    assert run("--stream", "link=in")[0] == 2
    assert run("--engine", "spark", "--stream", "link=in")[0] == 2
    status, _, err = run("--engine", "spark", "--batch", "3")
    assert status == 2
    assert "embedded" in err
    status, _, err = run("--engine", "spark", "--input", "link=links.csv", "--checkpoint", "state")
    assert (status, "--checkpoint and --once are for streams" in err) == (2, True)
    status, _, err = run("--engine", "spark", "--stream", "link=in", "--checkpoint", "state", "--until", "5")
    assert (status, "--until" in err) == (2, True)
    status, _, err = run("--engine", "spark", "--input", "link=links.csv", "--until", "noon")
    assert (status, "HW803" in err) == (1, True)
