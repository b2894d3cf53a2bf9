"""The SQL that the papers print (000, section 2; 004, section VI) gives what its Datalog twin gives."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import headwater as hw

EXAMPLES = Path(__file__).parents[2] / "examples"
REACHABLE = (
    (EXAMPLES / "reachability.sql").read_text(),
    """
reachable(X, Y) :- link(X, Y).
reachable(X, Y) :- link(X, Z), reachable(Z, Y).
""",
)
SHORTEST = (
    """
with recursive path(src,dst,vec,cost,length) as
((select src, dst, src | '.' | dst, cost, 1
from link
) union (
select L.src, P.dst, L.src |'.'| P.vec, L.cost+P.cost, P.length+1
from link L, path P
where L.dst = P.src
))
create view minCost(src,dst,cost) as
(select src, dst, min(cost) from path
group by src, dst)
create view minHops(src,dst,length) as
(select src, dst, min(length) from path
group by src, dst)
create view cheapestPath(src,dst,vec,cost) as
(select P.src, P.dst, P.vec, P.cost
from path P, minCost C
where P.src = C.src and P.dst = C.dst and P.cost = C.cost)
create view fewestHops(src,dst,vec,length) as
(select P.src, P.dst, P.vec, P.length
from path P, minHops H
where P.src = H.src and P.dst = H.dst and P.length = H.length)
create view shortestCheapestPath(src,dst,vec1,cost,vec2,length) as
(select P.src, P.dst, P.vec, P.cost, H.vec, H.length
from cheapestPath P, fewestHops H
where P.src = H.src and P.dst = H.dst)
""",
    """
path(X, Y, P, C, L) :- link(X, Y, C), P = concat(X, ".", Y), L = 1.
path(X, Y, P, C, L) :- link(X, Z, C0), path(Z, Y, P1, C1, L1), C = C0 + C1, P = concat(X, ".", P1), L = 1 + L1.
minCost(X, Y, min<C>) :- path(X, Y, P, C, L).
minHops(X, Y, min<L>) :- path(X, Y, P, C, L).
cheapestPath(X, Y, P, C) :- path(X, Y, P, C, L), minCost(X, Y, C).
fewestHops(X, Y, P, L) :- path(X, Y, P, C, L), minHops(X, Y, L).
shortestCheapestPath(X, Y, P1, C, P2, L) :- cheapestPath(X, Y, P1, C), fewestHops(X, Y, P2, L).
query minCost(X, Y, C).
query minHops(X, Y, L).
query cheapestPath(X, Y, P, C).
query fewestHops(X, Y, P, L).
query shortestCheapestPath(X, Y, P1, C, P2, L).
""",
)
REGIONS = (
    """
with recursive activeRegion(regionid,sensorid) as
( select M.regionid, S.sensorid
from sensor S, mainSensorInRegion M, isTriggered T
where M.sensorid = S.sensorid and S.sensorid = T.sensorid
union
select A.regionid, S2.sensorid
from sensor S1, sensor S2, activeRegion A, isTriggered T
where distance(S1.coord, S2.coord) < 20
and S1.sensorid = A.sensorid and S1.sensorid = T.sensorid )
create view regionSizes(regionid,size) as
(select regionid, count(sensorid)
from activeRegion
group by regionid)
create view largestRegion(size) as
(select max(size) from regionSizes)
create view largestRegions(regionid) as
(select R.regionid
from regionSizes R, largestRegion L
where R.size = L.size)
""",
    """
activeRegion(R, X) :- sensor(X, P), mainSensorInRegion(X, R), isTriggered(X).
activeRegion(R, Y) :- sensor(X, P), sensor(Y, Q), isTriggered(X), activeRegion(R, X), distance(P, Q) < 20.
regionSizes(R, count<X>) :- activeRegion(R, X).
largestRegion(max<N>) :- regionSizes(R, N).
largestRegions(R) :- regionSizes(R, N), largestRegion(N).
query regionSizes(R, N).
query largestRegion(N).
query largestRegions(R).
""",
)
RIDES = (
    """
Create Stream: ride(Ts: Timestamp Pickup: String, Drop:
String, Fare: Float)
WITH recursive bestPrice (Ts, Pickup, Drop, min() AS
Fare) AS
(SELECT Ts, Pickup, Drop, Fare FROM ride) UNION
(SELECT larger(bestPrice.Ts, ride.Ts),
  bestPrice.Pickup, ride.Drop, bestPrice.Fare +
  ride.Fare FROM bestPrice, ride WHERE
  bestPrice.Drop = ride.Pickup)
SELECT Pickup, Drop, Fare FROM WINDOW(bestPrice, 60 minutes)
""",
    """
stream ride(ts: timestamp, pickup: string, drop: string, fare: float).
bestPrice(Ts, P, D, min<F>) :- ride(Ts, P, D, F).
bestPrice(Ts, P, D, min<F>) :- bestPrice(Ts1, P, M, F1), ride(Ts2, M, D, F2), F = F1 + F2, larger(Ts, Ts1, Ts2).
result(P, D, F) :- bestPrice(_, P, D, F).
query result(P, D, F), WINDOW(60 minutes).
""",
)


def _links(dice: random.Random) -> list[tuple[str, str, int]]:
    nodes = "abcdef"
    pairs = {(dice.choice(nodes), dice.choice(nodes)) for _ in range(9)}
    return [(x, y, dice.randint(1, 5)) for x, y in pairs if x < y or dice.random() < 0.2]


def _twins(texts: tuple[str, str]) -> tuple[hw.Database, hw.Database]:
    sql, datalog = (hw.Database(hw.compile(text)) for text in texts)
    assert sql.program.tree.text == texts[0]
    assert set(sql.program.outputs) == set(datalog.program.outputs)
    return sql, datalog


COLUMNS = {
    "link": ("src", "dst", "cost"),
    "sensor": ("sensorid", "coord"),
    "isTriggered": ("sensorid",),
    "mainSensorInRegion": ("sensorid", "regionid"),
}


def _named(rows: dict[str, Any]) -> dict[str, Any]:
    """The rows of tables that the SQL does not declare, with the names of their columns."""
    return {
        table: [dict(zip(COLUMNS[table], row, strict=False)) for row in given] if table in COLUMNS else given
        for table, given in rows.items()
    }


def _apply(twins: tuple[hw.Database, hw.Database], **changes: Any) -> None:
    sql, datalog = twins
    sql.apply(**{way: _named(rows) for way, rows in changes.items()})
    datalog.apply(**changes)
    for view in datalog.program.outputs:
        assert sql.rows(view) == datalog.rows(view), view


def _apply_and_halve(twins: tuple[hw.Database, hw.Database], rows: list[Any], dice: random.Random) -> None:
    _apply(twins, insert={"link": rows})
    _apply(twins, delete={"link": dice.sample(rows, len(rows) // 2)})


@pytest.mark.parametrize("seed", range(4))
def test_reachability_000_query_1(seed: int) -> None:
    dice = random.Random(seed)
    rows = [(x, y) for x, y, _ in _links(dice)]
    _apply_and_halve(_twins(REACHABLE), rows, dice)


@pytest.mark.parametrize("seed", range(4))
def test_shortest_paths_000_query_2(seed: int) -> None:
    """On graphs without cycles: as printed, the paths of a cycle never end."""
    dice = random.Random(seed)
    rows = [(x, y, cost) for x, y, cost in _links(dice) if x < y]
    _apply_and_halve(_twins(SHORTEST), rows, dice)


@pytest.mark.parametrize("seed", range(4))
def test_regions_000_query_3(seed: int) -> None:
    dice = random.Random(seed)
    sensors = [(f"s{at}", (float(dice.randint(0, 60)), float(dice.randint(0, 60)))) for at in range(12)]
    main = [(f"s{at}", f"r{at}") for at in range(3)]
    on = [(name,) for name, _ in sensors if dice.random() < 0.8]
    twins = _twins(REGIONS)
    sql, datalog = twins
    order = {"sensor": sensors, "isTriggered": on, "mainSensorInRegion": main}
    sql.apply(insert=_named(order))
    datalog.apply(insert=order)
    for twin in (None, on[:2]):
        if twin is not None:
            for each in twins:
                each.apply(delete={"isTriggered": twin})
        for view in ("regionSizes", "largestRegions"):
            assert sql.rows(view) == datalog.rows(view)
        # SQL's max over no rows is one row with a null, where Datalog has none.
        assert sql.rows("largestRegion") == (datalog.rows("largestRegion") or {(None,)})


@pytest.mark.parametrize("seed", range(4))
def test_cheap_rides_004_section_6(seed: int) -> None:
    dice = random.Random(seed)
    twins = _twins(RIDES)
    start = datetime(2026, 1, 31, 8)
    for minute in range(0, 160, 40):
        when = start + timedelta(minutes=minute)
        rows = [(when, dice.choice("abcd"), dice.choice("abcd"), float(dice.randint(1, 9))) for _ in range(4)]
        _apply(twins, insert={"ride": rows})
