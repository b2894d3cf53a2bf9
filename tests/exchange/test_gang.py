"""Shards in processes of their own: they agree with the oracle, nobody else joins, and nobody is left waiting."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow.flight as flight
import pytest

from headwater.core.errors import ExchangeError
from headwater.core.types import Type
from headwater.exchange.flight_server import new_token, with_token
from headwater.exchange.gang import Gang
from headwater.exchange.rendezvous import Rendezvous, _Meeting, meet
from headwater.exchange.sharding import choose
from headwater.exchange.wire import Activity, Outgoing
from headwater.pipeline import compile as compile_text
from tests.exchange import peers
from tests.exchange.sharded import to_rows, to_table
from tests.oracle.harness import expectations
from tests.oracle.program import to_text
from tests.oracle.strategies import template_case


def test_agree_processes_with_the_oracle() -> None:
    cases = [
        template_case(name, seed) for name in ("closure", "components", "path_vector", "shortest") for seed in (3, 8)
    ]
    told = []
    for case in cases:
        text = to_text(case.program)
        known = {base.name: tuple(map(Type, base.types)) for base in case.program.bases}
        sharding = choose(compile_text(text), known, 3, kinds=("exchange",))
        script = [
            tuple(
                {name: to_table(sharding.table(name), list(rows)) for name, rows in side.items()}
                for side in (transaction.insert, transaction.delete)
            )
            for transaction in case.script
        ]
        told.append((text, known, script))
    found = {}
    with peers.gang_of(peers.maintain, 3, told) as (_, reports):
        for _ in range(3 * sum(1 + len(case.script) for case in cases)):
            which, turn, number, views, outcome = reports.get(timeout=peers.WAIT)
            found[which, turn, number] = views, outcome
    for which, case in enumerate(cases):
        for turn, (_, _, _, after) in enumerate(expectations(case), 1):
            for view in case.program.outputs:
                parts = [to_rows(found[which, turn, number][0][view]) for number in range(3)]
                rows = [row for part in parts for row in part]
                assert len(rows) == len(set(rows))
                assert set(rows) == after[view]
    assert sum(outcome.rows_shipped for _, outcome in found.values()) > 0


def test_much_both_ways_does_not_lock_up() -> None:
    with peers.gang_of(peers.send_much, 3) as (_, reports):
        found = [reports.get(timeout=peers.WAIT) for _ in range(9)]
    for number, turn, got, rows in found:
        assert got == {peer: [10 * peer + turn] for peer in range(3) if peer != number}
        assert rows == 2 * peers.much(turn)


def test_a_killed_peer_is_noticed_by_all_and_nobody_goes_on_listening() -> None:
    with peers.gang_of(peers.be_killed, 3) as (processes, reports):
        found = sorted(reports.get(timeout=peers.WAIT) for _ in range(2))
        processes[0].join(peers.WAIT)
        assert processes[0].exitcode == -9
    assert [number for number, _, _ in found] == [1, 2]
    assert all("HW904" in text for _, text, _ in found)
    assert not any(listens for _, _, listens in found)


def test_an_error_of_one_shard_ends_the_gang() -> None:
    with peers.gang_of(peers.fail_oneself, 3) as (_, reports):
        found = sorted(reports.get(timeout=peers.WAIT) for _ in range(3))
    assert [kind for _, kind, _, _ in found] == ["ExchangeError", "ZeroDivisionError", "ExchangeError"]
    assert not any(listens for *_, listens in found)


def test_a_shard_that_waits_can_be_cancelled() -> None:
    told = peers.SPAWN.Event()
    with peers.gang_of(peers.be_cancelled, 2, told) as (_, reports):
        try:
            assert reports.get(timeout=peers.WAIT) == ("cancelled", False)
        finally:
            told.set()


def _take_part(gang: Gang, addresses: list[str]) -> None:
    gang.join(addresses)
    for _ in range(100):
        gang.swap(Outgoing({}, Activity.WORK))


def test_nobody_joins_without_the_token() -> None:
    token = new_token()
    with Gang(0, 2, token) as gang, Gang(1, 2, new_token()) as stranger:
        with pytest.raises(ExchangeError, match="token"):
            _take_part(stranger, [gang.address, stranger.address])
        with flight.connect(f"grpc://{gang.address}") as client, pytest.raises(flight.FlightUnauthenticatedError):
            list(client.list_flights())
    with Rendezvous() as rendezvous, pytest.raises(ExchangeError, match="token"):
        meet(rendezvous.address, token, "g", 0, 2, "nowhere:1", patience=peers.WAIT)


def test_a_second_stream_in_a_shard_s_name_is_refused() -> None:
    token = new_token()
    with Gang(0, 2, token) as gang, Gang(1, 2, token) as peer, Gang(1, 2, token) as double:
        gang.join([gang.address, peer.address])
        peer.join([gang.address, peer.address])
        with pytest.raises(ExchangeError):
            _take_part(double, [gang.address, double.address])


def test_who_waits_alone_is_told_so() -> None:
    with Rendezvous() as rendezvous:
        with pytest.raises(ExchangeError, match="1 of 2 shards"):
            meet(rendezvous.address, rendezvous.token, "g", 0, 2, "nowhere:1", patience=0.3)
        with (
            flight.connect(f"grpc://{rendezvous.address}") as client,
            pytest.raises(flight.FlightError, match="not a call"),
        ):
            list(client.do_action(flight.Action("meet", b"{}"), with_token(rendezvous.token)))


def test_a_gang_that_is_tried_again_meets_nobody_of_the_try_before() -> None:
    with Rendezvous() as rendezvous, ThreadPoolExecutor() as pool:

        def call(number: int, turn: int) -> Future[list[str]]:
            address = f"turn {turn}"
            return pool.submit(
                meet, rendezvous.address, rendezvous.token, "g", number, 2, address, turn=turn, patience=peers.WAIT
            )

        first = [call(0, 10), call(1, 11)]
        assert [one.result(peers.WAIT) for one in first] == [["turn 10", "turn 11"]] * 2
        left_behind = call(0, 12)  # its peer, 13, has died before it called
        while not rendezvous.waiting("g"):
            time.sleep(0.01)
        again = [call(1, 14), call(0, 15)]
        assert [one.result(peers.WAIT) for one in again] == [["turn 15", "turn 14"]] * 2
        with pytest.raises(ExchangeError, match="did not meet"):
            left_behind.result(peers.WAIT)
        late = call(1, 16)
        while not rendezvous.waiting("g"):
            time.sleep(0.01)
        with pytest.raises(ExchangeError, match="tried again"):
            call(0, 13).result(peers.WAIT)
        call(0, 17)
        assert late.result(peers.WAIT) == ["turn 17", "turn 16"]


def test_who_is_as_many_turns_behind_as_there_are_shards_belongs_to_another_try() -> None:
    meeting = _Meeting(2)
    meeting.seat(0, 12, "old")
    meeting.seat(1, 13, "old")
    assert meeting.is_full
    meeting.seat(1, 14, "again")
    assert meeting.seats == {1: (14, "again")}
    meeting.seat(0, 15, "again")
    assert meeting.is_full


def test_closed_doors_do_not_answer() -> None:
    gang = Gang(0, 2, new_token())
    assert gang.address.startswith("127.0.0.1:")
    assert peers.listening(gang.address)
    gang.close()
    assert not peers.listening(gang.address)
