"""There is one sequence of a transaction: the tests of a database, of shards and of workers all go through it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headwater as hw
from headwater.engine.shard import Shard
from headwater.exchange.cluster import Cluster
from headwater.exchange.sharding import choose
from headwater.spark.session.worker import alone
from headwater.spark.state.checkpoint import Checkpoint
from headwater.spark.state.query_definition import QueryDefinition
from headwater.spark.state.shard_cache import ShardCache

SRC = Path(hw.__file__).parent
TEXT = "relation link(x: int, y: int). reach(X, Y) :- link(X, Y). reach(X, Y) :- link(X, Z), reach(Z, Y)."
_CATCH = "except StopIteration as"
STEPS = {"begin_run", "concerns", "receive_marks", "receive_rows", "marks_to_send", "rows_to_send"}


def _calls(path: Path) -> Iterator[tuple[str, str, str]]:
    """The functions of a file with the methods that they call: class or "", function, method."""
    tree = ast.parse(path.read_text())
    owners = {function: node.name for node in tree.body if isinstance(node, ast.ClassDef) for function in node.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    yield owners.get(node, ""), node.name, call.func.attr


def test_only_the_shard_runs_strata() -> None:
    found = {
        (path.relative_to(SRC).as_posix(), owner, function)
        for path in sorted(SRC.rglob("*.py"))
        for owner, function, method in _calls(path)
        if method in STEPS
    }
    assert found == {
        ("engine/shard.py", "Shard", "transaction"),
        ("engine/shard.py", "Shard", "_exchange"),  # the rounds of a stratum that ships
        ("engine/shipping.py", "Outboxes", "marks"),  # what a shard ships to itself
        ("engine/shipping.py", "Outboxes", "rows"),
        ("engine/stratum_runner.py", "StratumRunner", "run"),
    }


def test_only_the_driver_ends_a_generator() -> None:
    catching = [path.relative_to(SRC).as_posix() for path in SRC.rglob("*.py") if _CATCH in path.read_text()]
    assert catching == ["engine/driver.py"]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Shard]:
    """The shards whose `transaction` was called, once per call."""
    shards: list[Shard] = []
    original: Callable[..., Any] = Shard.transaction

    def counted(self: Shard, *args: Any, **options: Any) -> Any:
        shards.append(self)
        return original(self, *args, **options)

    monkeypatch.setattr(Shard, "transaction", counted)
    return shards


def test_a_database_runs_the_shard_s_transaction(begun: list[Shard]) -> None:
    db = hw.Database(hw.compile(TEXT))
    db.apply(insert={"link": [(1, 2)]})
    db.without({"link": [(1, 2)]})
    assert begun == [db._shard] * 3


def test_shards_in_one_process_run_the_shard_s_transaction(begun: list[Shard]) -> None:
    cluster = Cluster(choose(hw.compile(TEXT), {}, 2, kinds=("exchange",)), 2)
    cluster.apply({"link": pa.table({"x": [1, 2], "y": [2, 3]})}, {})
    assert begun == [member.shard for member in cluster.members] * 2


def test_a_worker_and_its_replay_run_the_shard_s_transaction(begun: list[Shard], tmp_path: Path) -> None:
    program = hw.compile(TEXT)
    sharding = choose(program, {}, 1)
    driver, definition = Checkpoint(str(tmp_path)), QueryDefinition.of(program, sharding, 1)
    assignment = driver.assignment(definition, sharding, 0)
    rows = {"link": pa.table({"x": [1, 2], "y": [2, 3]})}
    done = alone(ShardCache().transaction(assignment, 0, rows, {}))
    driver.commit(definition, 0, [done.report])
    with ShardCache().reading(driver.assignment(definition, sharding, 1), 0) as member:
        assert member.rows("reach").num_rows == 3
    assert len(begun) == 2
