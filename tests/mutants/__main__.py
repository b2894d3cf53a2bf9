"""`make mutants`: plant mistakes in a copy of the tree, one at a time, and report those that no test notices.

Which ones is drawn by a fixed seed, and a mistake keeps its place in the draw when other code changes. Each runs in
a process of its own, with a limit of processor time; running out of it, or of memory, is noticing. On a busy machine
the same work takes more processor time: where the tests run out of it without the mistake, too, they get twice as much.
First the tests run without a mistake: where one fails already, nothing it says would count. What was found is kept in
`build/mutants/found.jsonl`: a run that was stopped goes on where it was, `--again` looks at survivors anew, and a
mistake whose file has changed is run anew. Mistakes that change nothing that anybody can see are listed in
`equivalent.py`, with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.killers import killers
from tests.mutants.plant import Mutant, mutants

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "mutants"
TREE = BUILD / "tree"
FOUND = BUILD / "found.jsonl"
LIMIT = 120  # seconds of processor time: on an idle machine, several times what the tests of any file take
PATIENCE = 1800  # seconds on the clock, for a mistake that makes everybody wait
IDLE = 60  # seconds on the clock: tests that used less than a hundredth of them in processor time are stuck
MEMORY = 6 << 30
_OUT_OF_TIME = (None, -signal.SIGXCPU, -signal.SIGKILL)

AREAS = {"engine": 0.44, "exchange": 0.16, "plan": 0.14, "rewrite": 0.16, "spark": 0.1}
"""Where mistakes are planted, and the share of each."""

STATE = ("bundles", "checkpoint", "log", "manifest", "shard_cache", "snapshot_policy")
"""The files of `spark/` that hold its state; the others need a Spark to run."""

COMPILED = 0.12
"""The share of the engine's mistakes that lie in compiled functions: they run without compiling, which is slow."""


def candidates() -> dict[str, list[Mutant]]:
    """Every mistake that could be planted, by area, in the order of the draw."""
    found: dict[str, list[Mutant]] = {}
    for area in AREAS:
        for path in sorted((ROOT / "src/headwater" / area).rglob("*.py")):
            if area == "spark" and path.stem not in STATE:
                continue
            name = path.relative_to(ROOT / "src/headwater").as_posix()
            found.setdefault(area, []).extend(mutants(name, path.read_text()))
    return found


def drawn(count: int, seed: int) -> list[Mutant]:
    chosen: list[Mutant] = []
    for area, those in candidates().items():
        real = sorted((one for one in those if one.name not in EQUIVALENT), key=lambda one: _rank(one, seed))
        share = round(count * AREAS[area])
        compiled = round(share * COMPILED) if any(one.compiled for one in real) else 0
        chosen += [one for one in real if one.compiled][:compiled]
        chosen += [one for one in real if not one.compiled][: share - compiled]
    return sorted(chosen, key=lambda one: _rank(one, seed))


def _rank(mutant: Mutant, seed: int) -> str:
    return hashlib.sha256(f"{seed} {mutant.name}".encode()).hexdigest()


def known() -> dict[str, dict[str, Any]]:
    """What was found before, by mistake; the last word counts, while the file is the same."""
    if not FOUND.exists():
        return {}
    entries = [json.loads(line) for line in FOUND.read_text().splitlines()]
    return {entry["mutant"]: entry for entry in entries}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--only", default="", help="mistakes in whose name this regular expression is found")
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a mistake first")
    parser.add_argument("--list", action="store_true", help="show the draw and what is known, and run nothing")
    options = parser.parse_args()
    there = {one.name for those in candidates().values() for one in those}
    for name in EQUIVALENT.keys() - there:
        print(f"not there any more, see whether its successor still changes nothing: {name}")
    draw = [one for one in drawn(options.count, options.seed) if re.search(options.only, one.name)]
    if options.list:
        return report(draw)
    BUILD.mkdir(parents=True, exist_ok=True)
    copy_tree()
    load()
    files = {one.path: _digest(one.path) for one in draw}
    if not options.trust:
        pass_clean(draw)
    for place, mutant in enumerate(draw, 1):
        before = known().get(mutant.name)
        done = before is not None and before["file"] == files[mutant.path]
        if done and not (options.again and before is not None and before["outcome"] == "survived"):
            continue
        outcome, by, seconds = tried(mutant)
        entry = {
            "mutant": mutant.name,
            "line": mutant.line,
            "file": files[mutant.path],
            "outcome": outcome,
            "by": by,
            "seconds": round(seconds, 1),
        }
        with FOUND.open("a") as out:
            out.write(json.dumps(entry) + "\n")
        print(f"{place}/{len(draw)} {outcome} in {seconds:.0f} s by {by or 'nobody'}: {mutant.name[:150]}", flush=True)
    return report(draw)


def report(draw: list[Mutant]) -> int:
    """Survivors and the score; an error where less than nine in ten of what was run were noticed."""
    entries = known()
    ran = [entries[one.name] for one in draw if one.name in entries]
    alive = [one for one in draw if one.name in entries and entries[one.name]["outcome"] == "survived"]
    for one in alive:
        print(f"survived: {one.path}:{one.line}: {one.name}")
    killed = len(ran) - len(alive)
    print(f"{killed} of {len(ran)} noticed ({killed / max(1, len(ran)):.0%}), {len(draw) - len(ran)} not run yet")
    return 0 if ran and killed >= 0.9 * len(ran) else 1


def _digest(path: str) -> str:
    return hashlib.sha256((ROOT / "src/headwater" / path).read_bytes()).hexdigest()[:16]


def copy_tree() -> None:
    """A copy with the times of the files, so that what numba has compiled is still valid."""
    shutil.rmtree(TREE, ignore_errors=True)
    skipped = shutil.ignore_patterns(".git", ".venv*", "build", ".hypothesis", ".*_cache", ".import_linter_cache")
    shutil.copytree(ROOT, TREE, ignore=skipped, symlinks=True)


_COMPILED = (
    "border.checksum",
    "codes.ways",
    "store.kernels",
    *(
        f"store.kernels.{name}"
        for name in (
            "arrays",
            "best",
            "cells",
            "children",
            "frontier",
            "heap",
            "index",
            "lists",
            "numbers",
            "ordering",
            "search",
            "sets",
        )
    ),
    "border.sound_kernels",
)
KERNELS = tuple(f"headwater.engine.{name}" for name in _COMPILED)
"""What numba compiles: loading it takes longer than most tests do."""

WARM = ("tests/engine/test_oracle_regressions.py", "tests/database/test_without.py", "tests/time/test_clock.py")


def load() -> None:
    """What every run needs is loaded once, before the forks: packages, and the compiled functions.

    Every other module is loaded anew with the mistake, and these too where it lies in one of them.
    """
    sys.path[:] = [str(TREE / "src"), str(TREE), *(one for one in sys.path if not _is_ours(one))]
    os.chdir(TREE)
    sys.dont_write_bytecode = True
    _forget(())
    if _pytest(WARM) != 0:
        raise SystemExit("the tests fail without any mistake")
    _forget(KERNELS)


def _forget(except_for: tuple[str, ...]) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "headwater")]:
        if name not in except_for and not name.startswith("tests.mutants"):
            del sys.modules[name]


def _pytest(tests: Iterable[str]) -> int:
    import pytest

    alone = ["-p", "no:cacheprovider", "-p", "no:xdist", "--override-ini=addopts=", "--import-mode=importlib"]
    few = ["-m", "not soak", "--hypothesis-profile=mutants"]
    return int(pytest.main(["-qx", "--tb=line", *few, *alone, *tests]))


@contextlib.contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    path = TREE / "src/headwater" / mutant.path
    text, stat = path.read_text(), path.stat()
    path.write_text(mutant.planted(text))
    os.utime(path, (time.time(), time.time() + 10))  # Python must not take it for the file that it has compiled
    try:
        yield
    finally:
        path.write_text(text)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def pass_clean(draw: list[Mutant]) -> None:
    """The tests must pass where nothing is wrong."""
    todo = [one for one in draw if one.name not in known()]
    for compiled in (False, True):
        tests = dict.fromkeys(test for one in todo if one.compiled is compiled for test in killers(one.path))
        if tests:
            code, text = _ended(list(tests), compiled, compiled, 20 * LIMIT, 4 * PATIENCE)
            if code != 0:
                raise SystemExit(f"the tests fail without any mistake:\n{text[-4000:]}")


def tried(mutant: Mutant) -> tuple[str, str, float]:
    """Whether a mistake is noticed, by which test, and after how many seconds."""
    start = time.monotonic()
    tests, limit = list(killers(mutant.path)), LIMIT
    how = (mutant.compiled, mutant.compiled or _module(mutant.path) in KERNELS)
    while True:
        with planted(mutant):
            code, text = _ended(tests, *how, limit, limit * PATIENCE / LIMIT, idle=IDLE)
        if code not in _OUT_OF_TIME or _ended(tests, *how, limit, limit * PATIENCE / LIMIT)[0] == 0:
            break
        limit *= 2
    seconds = time.monotonic() - start
    if code == 0:
        return "survived", "", seconds
    if code in _OUT_OF_TIME:
        return "timed out", "the clock", seconds
    first = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    if code in (4, 5):
        raise SystemExit(f"no tests ran for {mutant.path}:\n{text[-2000:]}")
    return "killed", first.group(1) if first else f"exit {code}", seconds


def _module(path: str) -> str:
    return f"headwater.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")


def _ended(
    tests: list[str], compiled: bool, anew: bool, limit: int, patience: float, idle: float = float("inf")
) -> tuple[int | None, str]:
    """Run tests in the copy until one fails: the exit code, None if the time was up, and what was printed.

    `compiled`: the mistake lies in a compiled function; `anew`: in a module of them. The time is up, too, once
    everybody has waited for `idle` seconds.
    """
    log = BUILD / "last.log"
    child = os.fork()
    if child == 0:
        _run(tests, compiled, anew, limit, log)
    code = _wait(child, time.monotonic() + patience, idle)
    return code, log.read_text(errors="replace")


def _run(tests: list[str], compiled: bool, anew: bool, limit: int, log: Path) -> None:
    """In the child. Never returns."""
    import resource

    os.setsid()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ["PYTHONPATH"] = f"{TREE / 'src'}{os.pathsep}{TREE}"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if anew:
        _forget(())
    if compiled:
        import numba.core.config

        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.core.config.DISABLE_JIT = True
    code = 99
    try:
        code = _pytest(tests)
    finally:
        sys.stdout.flush()
        os._exit(code)


def _is_ours(place: str) -> bool:
    return place in ("", str(ROOT), str(ROOT / "src"))


def _wait(child: int, end: float, idle: float) -> int | None:
    """The exit code of a child; None: its time was up, or everybody in it waits. Nothing that it started is left."""
    looked, worked = time.monotonic(), 0.0
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
            if time.monotonic() - looked > idle:
                before, looked, worked = worked, time.monotonic(), _worked(child)
                if worked - before < 0.01 * idle:
                    return None
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _worked(group: int) -> float:
    """Seconds of processor time that the processes of a group have taken, as far as they are still there."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
