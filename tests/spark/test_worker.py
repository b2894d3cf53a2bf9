"""What a task carries to a Python worker."""

from __future__ import annotations

import pickle
from types import FunctionType, ModuleType

import pytest
from pyspark import cloudpickle

from headwater.spark import batches
from headwater.spark.inputs import bundles
from headwater.spark.shards import rounds, state_view, transaction_job
from headwater.spark.state import shard_cache


def _closures(module: ModuleType) -> list[FunctionType]:
    """The functions that a module's functions make: these are pickled by value, with every global they name."""
    made = []
    for function in vars(module).values():
        if isinstance(function, FunctionType) and function.__module__ == module.__name__:
            made += [
                FunctionType(code, function.__globals__, code.co_name, None, tuple(_cell() for _ in code.co_freevars))
                for code in function.__code__.co_consts
                if hasattr(code, "co_freevars")
            ]
    return made


def _cell() -> object:
    value = None
    return (lambda: value).__closure__[0]  # type: ignore[index]


@pytest.mark.parametrize("module", [batches, transaction_job, rounds, bundles, state_view])
def test_no_task_carries_a_cache_of_its_own(module: ModuleType) -> None:
    """A worker whose tasks each bring an empty cache opens its shards anew in every batch."""
    for function in _closures(module):
        there = pickle.loads(cloudpickle.dumps(function))
        carried = [value for value in there.__globals__.values() if isinstance(value, shard_cache.ShardCache)]
        assert not carried, f"{module.__name__}.{function.__name__}"
        assert there.__globals__.get("shard_cache", shard_cache) is shard_cache
