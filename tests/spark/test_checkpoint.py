"""Checkpoints on real files: killed at every step, damaged, full, forbidden, made for another program."""

from __future__ import annotations

import os
import pickle
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.core.errors import StateError
from headwater.core.types import Type
from headwater.exchange.sharding import choose
from headwater.spark.folders import arrow, local, open_folder
from headwater.spark.folders.arrow import ArrowFolder
from headwater.spark.folders.folder import Folder
from headwater.spark.folders.local import LocalFolder
from headwater.spark.state import log
from headwater.spark.state.checkpoint import BatchNotes, Checkpoint
from headwater.spark.state.manifest import Manifest, Report
from headwater.spark.state.query_definition import QueryDefinition
from headwater.spark.state.shard_cache import ShardCache
from tests.exchange.sharded import to_rows
from tests.spark.folder_checks import check_files
from tests.spark.kept import lockstep

TEXT = """
relation link(x: int, y: int).
reach(X, Y) :- link(X, Y).
reach(X, Z) :- reach(X, Y), link(Y, Z).
size(X, count<Y>) :- reach(X, Y).
query reach(X, Y).
"""
BATCHES = [([(1, 2), (2, 3)], []), ([(3, 1), (3, 4)], [(2, 3)]), ([(2, 3), (4, 5)], [(1, 2)]), ([(1, 2)], [(3, 1)])]
SHARDS = 2


def closure(links: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    found = set(links)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


def expected(batches: int) -> set[tuple[int, int]]:
    links: set[tuple[int, int]] = set()
    for insert, delete in BATCHES[:batches]:
        links = (links - set(delete)) | set(insert)
    return closure(links)


class Query:
    """A driver and one worker over the batches above, as far as they are not committed yet."""

    def __init__(self, path: Path, text: str = TEXT, kind: str = "exchange", shards: int = SHARDS) -> None:
        program = hw.compile(text)
        self.sharding = choose(program, None, shards, kinds=(kind,))
        self.definition = QueryDefinition.of(program, self.sharding, shards)
        self.driver = Checkpoint(str(path))
        self.driver.resume(self.definition)
        self.cache = ShardCache()

    def run(self, until: int = len(BATCHES)) -> None:
        first = self.driver.committed or 0  # as Spark does it: the last batch may come again, older ones do not
        for batch, (insert, delete) in list(enumerate(BATCHES[:until]))[first:]:
            if self.driver.is_due(batch):
                notes = BatchNotes(rejected={"link": 1})
                self.driver.commit(self.definition, batch, self.reports(batch, insert, delete), notes)

    def reports(self, batch: int, insert: list[tuple[int, int]], delete: list[tuple[int, int]]) -> list[Report]:
        assignment = pickle.loads(pickle.dumps(self.driver.assignment(self.definition, self.sharding, batch)))
        parts: list[tuple[dict[str, pa.Table], dict[str, pa.Table]]] = [({}, {}) for _ in range(SHARDS)]
        for side, rows in enumerate((insert, delete)):
            table = pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]}, schema=LINKS)
            for shard, part in enumerate(self.sharding.route_changes({"link": table}, SHARDS)):
                parts[shard][side].update(part)
        done = lockstep([self.cache.transaction(assignment, shard, *parts[shard]) for shard in range(SHARDS)])
        return [Report.from_text(one.report.to_text()) for one in done]

    def reach(self) -> set[tuple[int, int]]:
        assignment = self.driver.assignment(self.definition, self.sharding, 0)
        found: list[Any] = []
        for shard in range(SHARDS):
            with ShardCache().reading(assignment, shard) as member:
                found += to_rows(member.rows("reach"))
        assert len(found) == len(set(found))
        return set(found)


LINKS = pa.schema([("x", pa.int64()), ("y", pa.int64())])


@pytest.fixture(params=[1, 100])
def often(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots at every batch, and none."""
    monkeypatch.setattr("headwater.spark.state.snapshot_policy._MOST_LOGS", request.param)


def files(path: Path) -> set[str]:
    return {str(one.relative_to(path)) for one in path.rglob("*") if one.is_file()}


# Kills


class Deadly:
    """Kills its process at one step of those that touch files: before it, after it, or with a file half written."""

    def __init__(self, step: int) -> None:
        self.left = step

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(path: Any, *rest: Any) -> Any:
            self.step()
            if rest and not isinstance(rest[0], Path):
                rest = (self.cut(rest[0]), *rest[1:])
            found = do(path, *rest)
            self.step()
            return found

        return wrapped

    def cut(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        for number, block in enumerate(blocks):
            if number == 1:
                self.step()
            yield block


def in_child(work: Callable[[], None]) -> int:
    """Run something in a forked process; the signal that ended it, or its exit code, negative."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


@pytest.mark.usefixtures("often")
def test_killed_between_any_two_steps(tmp_path: Path) -> None:
    step, killed = 0, True
    while killed:
        path = tmp_path / str(step)

        def work(at: int = step, where: Path = path) -> None:
            deadly = Deadly(at)
            local._write = deadly.around(local._write)
            local._move_unless_there = deadly.around(local._move_unless_there)
            local._remove_file = deadly.around(local._remove_file)
            Query(where).run()

        ended = in_child(work)
        killed = ended == signal.SIGKILL
        assert killed or ended == 0
        again = Query(path)
        done = 0 if again.driver.committed is None else again.driver.committed + 1
        if done:
            assert again.reach() == expected(done)
        again.run()
        assert again.reach() == expected(len(BATCHES))
        manifest = again.driver.manifest
        assert manifest is not None
        assert manifest.rejected == {"link": len(BATCHES)}, "no batch twice, none lost"
        again = Query(path)  # removes what is left of the epochs before
        kept = {name for one in again.driver._history for name in (*one.files, f"manifest-{one.batch}")}
        assert files(path / "headwater") == {*kept, again.driver.hold().name}
        step += 1
    assert step > 40


# Damage


def told_or_right(folder: Path, damaged: Path) -> bool:
    try:
        return Query(folder).reach() == expected(len(BATCHES))
    except StateError as problem:
        return str(damaged) in str(problem)


@pytest.mark.usefixtures("often")
def test_damage_is_told(tmp_path: Path) -> None:
    Query(tmp_path).run()
    dice = random.Random(3)
    for path in sorted(one for one in tmp_path.rglob("*") if one.is_file()):
        whole = path.read_bytes()
        for place in (0, 5, *dice.sample(range(len(whole)), 12)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            assert told_or_right(tmp_path, path), "what is between frames means nothing"
            path.write_bytes(whole[:place])
            assert told_or_right(tmp_path, path), "it may be of the batch before"
            path.write_bytes(whole)
    assert Query(tmp_path).reach() == expected(len(BATCHES))


@pytest.mark.usefixtures("often")
def test_a_file_in_the_place_of_another_is_told(tmp_path: Path) -> None:
    Query(tmp_path).run()
    found = sorted(one for one in (tmp_path / "headwater").rglob("*") if one.is_file() and "epoch" not in one.name)
    contents = {one: one.read_bytes() for one in found}
    for path, whole in contents.items():
        for other, content in contents.items():
            if other.name.partition("-")[0] == path.name.partition("-")[0]:
                path.write_bytes(content)
                assert told_or_right(tmp_path, path), f"{other.name} as {path.name}"
        path.write_bytes(whole)
    last = tmp_path / "headwater" / f"manifest-{len(BATCHES) - 1}"
    last.write_bytes(last.with_name(f"manifest-{len(BATCHES) - 2}").read_bytes())
    with pytest.raises(StateError, match=r"manifest-3 is damaged: it is the manifest of batch 2; restore"):
        Query(tmp_path)


def test_a_missing_log_is_told(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run()
    manifest = query.driver.manifest
    assert manifest is not None
    (tmp_path / "headwater" / manifest.parts[0].files[0]).unlink()
    with pytest.raises(StateError, match=r"cannot read .*shard-0/log-0.*: No such file"):
        query.reach()


def test_a_file_that_goes_while_a_run_begins_is_missed_at_its_first_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwater.spark.state.snapshot_policy._SHORT", 1e9)  # no snapshots, however slow it is
    Query(tmp_path).run(2)
    query = Query(tmp_path)
    reports = query.reports(2, *BATCHES[2])
    assert query.driver.manifest is not None
    (tmp_path / "headwater" / query.driver.manifest.parts[0].files[0]).unlink()
    with pytest.raises(StateError, match=r"batch 2 is not committed: .* lacks shard-0/log-0.*; start the query again"):
        query.driver.commit(query.definition, 2, reports)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("exchange", "a row less"),
        ("exchange", "a round more"),
        ("exchange", "a round less"),
        ("decomposed", "a row less"),
    ],
)
def test_a_log_that_leads_elsewhere_is_told(
    kind: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With checksums that fit: a replay must come out as the batch did, and use up all that it was given."""
    monkeypatch.setattr("headwater.spark.state.snapshot_policy._SHORT", 1e9)  # no snapshots, however slow it is
    query = Query(tmp_path, kind=kind)
    query.run()
    manifest = query.driver.manifest
    assert manifest is not None
    name = manifest.parts[0].files[0]
    path = tmp_path / "headwater" / name
    entry, sealed = log.read(path.read_bytes(), name, "here")
    match change:
        case "a row less":
            entry.inserts = {"link": entry.inserts["link"].slice(1)}
        case "a round more":
            entry.rounds.append(entry.rounds[-1])
        case _:
            entry.rounds.pop()
    path.write_bytes(b"".join(map(bytes, log.write(entry, sealed, name))))
    with pytest.raises(StateError, match=f"{re.escape(name)} cannot be replayed: "):
        query.reach()


def test_a_manifest_of_the_future(tmp_path: Path) -> None:
    Query(tmp_path).run(1)
    path = tmp_path / "headwater" / "manifest-0"
    path.write_bytes(re.sub(rb"headwater manifest \d+", b"headwater manifest 77", path.read_bytes()))
    with pytest.raises(StateError, match=r"format 77, but this version of Headwater reads \d+; go on with the version"):
        Query(tmp_path)


# Batches


def test_batches_that_are_done_or_missing(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(2)
    assert [query.driver.is_due(batch) for batch in (1, 2)] == [False, True]
    with pytest.raises(StateError, match=r"goes back to batch 0, but the state in .* is of batch 1: Spark's own files"):
        query.driver.is_due(0)
    with pytest.raises(StateError, match=r"goes on with batch 5, but the state in .* is of batch 1: what came between"):
        query.driver.is_due(5)
    with pytest.raises(StateError, match=r"batch 2 was reported by shards \[1\] of 2; it is not committed"):
        query.driver.commit(query.definition, 2, query.reports(2, *BATCHES[2])[1:])
    query.run()
    assert Query(tmp_path).reach() == expected(len(BATCHES))


def test_state_that_is_gone_is_missed(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(2)
    for manifest in (tmp_path / "headwater").glob("manifest-*"):
        manifest.unlink()
    with pytest.raises(StateError, match=r"goes on with batch 2, but there is no state in .*: its files are gone"):
        Query(tmp_path).driver.is_due(2)


@pytest.mark.parametrize("instead", [None, '{"id": "another"}', "damaged"])
def test_state_beside_the_files_of_another_query_is_refused(tmp_path: Path, instead: str | None) -> None:
    (tmp_path / "metadata").write_text('{"id": "the first"}')
    Query(tmp_path).run(2)
    assert Query(tmp_path).reach() == expected(2)
    (tmp_path / "metadata").unlink()
    if instead is not None:
        (tmp_path / "metadata").write_text(instead)
    with pytest.raises(StateError, match=r"Spark's own files in .* are gone, or are those of another query"):
        Query(tmp_path)


def test_manifests_come_back_as_they_were(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.run(3)
    manifest = query.driver.manifest
    assert manifest is not None
    assert Manifest.from_bytes(manifest.to_bytes(), "here") == manifest
    assert manifest.definition == query.definition
    assert manifest.definition.sharding() == query.sharding


def test_every_task_is_an_attempt_of_its_own(tmp_path: Path) -> None:
    query = Query(tmp_path)
    made = query.driver.assignment(query.definition, query.sharding, 0)
    text = pickle.dumps(made)
    tasks = [pickle.loads(text) for _ in range(3)]
    assert len({made.attempt, *(task.attempt for task in tasks)}) == 4
    assert all((task.sharding, task.parts, task.batch) == (made.sharding, made.parts, made.batch) for task in tasks)


def test_a_cache_keeps_no_more_than_it_may(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.cache = ShardCache(limit=0)
    query.run()
    assignment = query.driver.assignment(query.definition, query.sharding, len(BATCHES))
    kept = [shard for shard in range(SHARDS) if query.cache.keeps(assignment, shard)]
    assert len(kept) == 1, "the last one, which will be needed again"
    assert query.cache.has(assignment, kept[0])
    assert query.reach() == expected(len(BATCHES))


def test_a_cache_keeps_shards_of_other_programs_apart(tmp_path: Path) -> None:
    """In one folder, one after the other, before any of them has written a file that would tell them apart."""
    cache = ShardCache()
    for text, shards in ((TEXT, 2), (TEXT, 3), (TEXT.replace("link(X, Y)", "link(Y, X)"), 3), (TEXT, 2)):
        query = Query(tmp_path, text=text, shards=shards)
        assignment = query.driver.assignment(query.definition, query.sharding, 0)
        for shard in range(shards):
            assert not cache.has(assignment, shard)
            with cache.reading(assignment, shard) as member:
                assert (member.shards, member.sharding.plan) == (shards, query.sharding.plan)
            assert cache.has(assignment, shard)


# Programs


def refusal(tmp_path: Path, **changed: Any) -> str:
    Query(tmp_path).run(1)
    with pytest.raises(StateError) as refused:
        Query(tmp_path, **changed)
    return str(refused.value)


def test_comments_and_line_breaks_are_no_change(tmp_path: Path) -> None:
    Query(tmp_path).run(2)
    again = Query(tmp_path, text="% links\n" + TEXT.replace(":-", "<-\n  "))
    again.run()
    assert again.reach() == expected(len(BATCHES))


def test_a_changed_program_is_refused_with_what_changed(tmp_path: Path) -> None:
    told = refusal(tmp_path, text=TEXT.replace("reach(X, Y), link(Y, Z)", "link(X, Y), reach(Y, Z)"))
    assert told.splitlines()[1:4] == [
        "  the program has changed:",
        "    - reach(X, Z) :- reach(X, Y), link(Y, Z).",
        "    + reach(X, Z) :- link(X, Y), reach(Y, Z).",
    ]
    assert "To go on with the new ones, give a new checkpoint and a new output" in told


def test_other_shards_and_kinds_are_refused(tmp_path: Path) -> None:
    assert "it has 2 shard(s), and 3 are asked for; give `shards=2`" in refusal(tmp_path, shards=3)
    assert "its shards work `exchange`, and `decomposed` is asked for" in refusal(tmp_path, kind="decomposed")


def test_other_types_of_inputs_are_refused() -> None:
    program = hw.compile("v(X) :- e(X, Y).")
    made = [
        QueryDefinition.of(program, choose(program, known, 2), 2, known=known, columns={"e": ("a", "b")})
        for known in ({"e": (Type.INT, Type.INT)}, {"e": (Type.INT, Type.STRING)})
    ]
    with pytest.raises(StateError, match=r"the input `e` was \(a int, b int\) and is \(a int, b string\)"):
        made[0].refuse_other(made[1], "it")
    made[0].refuse_other(QueryDefinition.from_json(made[0].to_json()), "it")


def test_plans_are_the_same_in_every_process() -> None:
    source = f"""
import headwater as hw
from headwater.exchange.sharding import choose
from headwater.spark.state.query_definition import QueryDefinition
for kind in ("exchange", "decomposed"):
    program = hw.compile({TEXT!r})
    print(QueryDefinition.of(program, choose(program, None, 2, kinds=(kind,)), 2).fingerprint)
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", source], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


# Files


def folders(tmp_path: Path) -> list[Folder]:
    class Mounted(ArrowFolder):
        """Arrow's own way to the same disk."""

        def __init__(self, path: str) -> None:
            Folder.__init__(self, path)
            self._files, self._root = arrow._connected(f"file://{path}")

    return [LocalFolder(str(tmp_path / "local")), Mounted(str(tmp_path / "arrow"))]


def test_files_wherever_they_are(tmp_path: Path) -> None:
    for where in folders(tmp_path):
        check_files(where)
        assert where.folders() == ["a"]
        where.write("new/one", [b"new"])
        for target in ("b", "a"):
            where.write("new/one", [b"new"])
            where.replace_folder("new", target)
        assert (where.folders(), where.read("a/one"), where.names("a/b")) == (["a", "b"], b"new", [])
        where.remove_folder("b")
        where.remove_folder("b")
        assert where.folders() == ["a"]


def test_paths_of_every_kind(tmp_path: Path) -> None:
    for path in (str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        assert open_folder(path).path == str(tmp_path)
    assert open_folder("file:///tmp/a%20b").path == "/tmp/a b"


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    Query(tmp_path).run(2)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        with pytest.raises(StateError, match=r"cannot write .*: the disk is full .*; free some"):
            Query(tmp_path).run()

    assert in_child(work) == 0
    again = Query(tmp_path)
    assert again.driver.committed == 1
    assert not [name for name in files(tmp_path) if "log-2" in name], "nothing half written stays"
    again.run()
    assert again.reach() == expected(len(BATCHES))


def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    Query(tmp_path).run(2)
    above = [one for one in tmp_path.parents if Path(tempfile.gettempdir()) in one.parents]
    for one in above:
        one.chmod(0o755)  # others may pass
    for one in (*tmp_path.rglob("*"), tmp_path):
        one.chmod(0o555 if one.is_dir() else 0o444)

    def work() -> None:
        if not os.getuid():
            os.setuid(65534)
        with pytest.raises(StateError, match=r"cannot \w+ .*: permission is missing .*; grant it and start again"):
            Query(tmp_path).run()

    try:
        assert in_child(work) == 0
    finally:
        for one in (tmp_path, *tmp_path.rglob("*")):
            one.chmod(0o755 if one.is_dir() else 0o644)
        for one in above:
            one.chmod(0o700)
    again = Query(tmp_path)
    again.run()
    assert again.reach() == expected(len(BATCHES))
