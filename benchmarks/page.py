"""What pages cost that look at views while they change: 50 of them, at 1,000 changes a second.

    python benchmarks/page.py                   a minute without pages, a minute with 50, and again
    python benchmarks/page.py --seconds 10 --browser

A server is started as a user starts it, and follows a file that grows by 1,000 changes a second. Readers do what the
page does: they follow all changes, and load the first rows of the view again after each event, at most every second.
Reported: the CPU seconds of the server for each change, with readers and without; the time from a transaction to its
event at the readers; the memory of the server; how many events said that more had happened than they hold. With
--browser, a real page is open too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PROGRAM = """
relation link(a: int, b: int).
reachable(X, Y) :- link(X, Y).
reachable(X, Z) :- link(X, Y), reachable(Y, Z).
"""
TOKEN = "a-token-of-a-benchmark"
CHAINS, LENGTH = 200, 10
RATE = 1_000
AGAIN = 1.0


@dataclass
class Heard:
    """What the readers saw: when each transaction reached them, and how much was left out."""

    arrived: list[tuple[int, float]] = field(default_factory=list)
    events: int = 0
    reloads: int = 0
    cut: int = 0


async def send(url: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=1 << 24)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n".encode())
    writer.write(b"Connection: close\r\n\r\n")
    await writer.drain()
    return reader, writer


async def fetch(url: str, path: str) -> Any:
    reader, writer = await send(url, path)
    data = await reader.read()
    writer.close()
    head, _, body = data.partition(b"\r\n\r\n")
    return json.loads(body) if b"200" in head[:20] else None


async def read(url: str, heard: Heard) -> None:
    """One page: events, and the first rows again after them."""
    reader, writer = await send(url, "/api/changes")
    loaded = 0.0
    try:
        while line := await reader.readline():
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if "until" not in event:
                continue
            now = time.time()
            heard.events += 1
            heard.arrived.append((event["until"], now))
            heard.cut += event["views"].get("reachable", 0) is None
            if now - loaded >= AGAIN:
                loaded = now
                heard.reloads += 1
                await fetch(url, f"/api/relations/reachable/rows?limit=200&seen={event['until']}")
    finally:
        writer.close()


async def write(feed: Path, seconds: float, dice: random.Random) -> int:
    """Append changes at the rate, ten times a second; how many."""
    present = {(chain, at) for chain in range(CHAINS) for at in range(LENGTH)}
    edges = sorted(present)
    began, written = time.monotonic(), 0
    with feed.open("a", encoding="utf-8") as out:
        while (passed := time.monotonic() - began) < seconds:
            due = min(int(passed * RATE), int(seconds * RATE)) - written
            for _ in range(due):
                edge = chain, at = dice.choice(edges)
                kind = "delete" if edge in present else "insert"
                present ^= {edge}
                out.write(json.dumps({"_change_type": kind, "a": chain * 100 + at, "b": chain * 100 + at + 1}) + "\n")
            out.flush()
            written += due
            await asyncio.sleep(0.1)
    return written


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def measured(url: str, pid: int, feed: Path, pages: int, seconds: float, seed: int) -> dict[str, float]:
    heard = Heard()
    readers = [asyncio.create_task(read(url, heard)) for _ in range(pages)]
    await asyncio.sleep(1)
    before = cpu(pid)
    changes = await write(feed, seconds, random.Random(seed))
    with feed.open("a", encoding="utf-8") as out:  # the last change says that all others were applied
        out.write(json.dumps({"_change_type": "insert", "a": -1 - seed, "b": 0}) + "\n")
    while not (await fetch(url, f"/api/relations/link/rows?find=-{1 + seed}"))["matching"]:
        await asyncio.sleep(0.2)
    spent = cpu(pid) - before
    log = await fetch(url, "/api/transactions?limit=500")
    at = {entry["number"]: entry["at"] for entry in log["transactions"]}
    late = sorted(now - at[number] for number, now in heard.arrived if number in at) or [float("nan")]
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    return {
        "pages": pages,
        "changes": changes,
        "cpu_per_change_us": spent / changes * 1e6,
        "events": heard.events,
        "reloads": heard.reloads,
        "cut": heard.cut,
        "latency_median_ms": statistics.median(late) * 1e3,
        "latency_99_ms": late[int(len(late) * 0.99)] * 1e3,
        "memory_mb": megabytes(pid),
    }


def browsed(url: str, seconds: float) -> None:
    """A real page, open while changes come: whether it keeps up, and says so."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.serve.browsing import chromium

    with chromium() as browser:
        page = browser.new_page()
        page.goto(url)
        page.locator("#rows tbody tr").first.wait_for()
        began, seen = time.monotonic(), set()
        while time.monotonic() - began < seconds:
            seen.add(page.locator("#status").inner_text())
            page.wait_for_timeout(100)
        last = page.locator("#news").inner_text()
        print(f"browser: the page showed {len(seen)} states in {seconds:.0f} s; the last: {last}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "paths.dl").write_text(PROGRAM)
        links = [(chain * 100 + at, chain * 100 + at + 1) for chain in range(CHAINS) for at in range(LENGTH)]
        (folder / "links.csv").write_text("a,b\n" + "".join(f"{one},{other}\n" for one, other in links))
        command = [
            sys.executable,
            "-c",
            "from headwater.cli.main import main; main()",
            "serve",
            "paths.dl",
            "--port",
            "0",
        ]
        for at in range(given.passes):
            for pages in (0, given.pages):
                feed = folder / f"feed{at}_{pages}.jsonl"
                feed.touch()
                server = subprocess.Popen(
                    [*command, "-i", "link=links.csv", "--changes", f"link={feed.name}"], cwd=folder, text=True,
                    stdout=subprocess.PIPE, env={**os.environ, "HEADWATER_TOKEN": TOKEN},
                )  # fmt: skip
                try:
                    assert server.stdout is not None
                    url = next(line.split()[1] for line in server.stdout if line.startswith("open "))
                    asyncio.run(measured(url, server.pid, feed, 0, 2, 99))  # loops are compiled
                    asyncio.run(one(url, server.pid, feed, pages, given.seconds, at, given.browser))
                finally:
                    server.terminate()
                    server.wait()


async def one(url: str, pid: int, feed: Path, pages: int, seconds: float, seed: int, browser: bool) -> None:
    looking = asyncio.to_thread(browsed, url, seconds) if browser and pages else asyncio.sleep(0)
    found, _ = await asyncio.gather(measured(url, pid, feed, pages, seconds, seed), looking)
    print(json.dumps({name: round(value, 1) for name, value in found.items()}), flush=True)


if __name__ == "__main__":
    main()
