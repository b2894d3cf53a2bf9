"""Networks are what they say: connected, of the size asked for, with the latencies of 000, section 7.1."""

from __future__ import annotations

from collections import Counter

import pytest

from headwater.network.sensors import Grid, field, neighbours
from headwater.network.topology import Density, Link, TransitStub, links, with_about


def _reached(rows: list[Link]) -> set[str]:
    onward: dict[str, list[str]] = {}
    for source, target, _ in rows:
        onward.setdefault(source, []).append(target)
    seen, pending = {rows[0][0]}, [rows[0][0]]
    while pending:
        fresh = [node for node in onward[pending.pop()] if node not in seen]
        seen.update(fresh)
        pending += fresh
    return seen


@pytest.mark.parametrize("density", Density)
@pytest.mark.parametrize("seed", range(5))
def test_a_topology_is_connected_both_ways_and_without_repeats(seed: int, density: Density) -> None:
    shape = TransitStub(domains=2, density=density, seed=seed)
    rows = links(shape)
    assert len(_reached(rows)) == shape.nodes
    assert len({(source, target) for source, target, _ in rows}) == len(rows)
    assert {(target, source, latency) for source, target, latency in rows} == set(rows)
    assert all(source != target for source, target, _ in rows)


def test_the_default_is_the_papers() -> None:
    rows = links(TransitStub())
    assert TransitStub().nodes == len(_reached(rows)) == 100
    assert len(rows) == 400
    for source, target, latency in rows:
        assert latency == {"tt": 50, "st": 10, "ts": 10, "ss": 2}[source[0] + target[0]]
    assert set(Counter(latency for _, _, latency in rows)) == {50, 10, 2}


def test_a_sparse_topology_has_half_the_links() -> None:
    assert len(links(TransitStub(density=Density.SPARSE))) == 200


@pytest.mark.parametrize("wanted", [100, 200, 400, 800, 4000])
@pytest.mark.parametrize("density", Density)
def test_sizes_grow_by_transit_nodes(wanted: int, density: Density) -> None:
    assert len(links(with_about(wanted, density))) == pytest.approx(wanted, rel=0.15)


def test_the_seed_decides() -> None:
    assert links(TransitStub(seed=1)) == links(TransitStub(seed=1))
    assert links(TransitStub(seed=1)) != links(TransitStub(seed=2))


@pytest.mark.parametrize("shape", [{"domains": 0}, {"transit": 0}, {"stubs": -1}, {"stub_size": -3}])
def test_shapes_that_make_no_sense_are_refused(shape: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(shape))):
        TransitStub(**shape)


def test_a_network_may_be_as_small_as_one_node() -> None:
    assert links(TransitStub(1, 1, 0, 0)) == []


def test_the_field_of_sensors_is_the_papers() -> None:
    made = field(Grid())
    assert len(made.sensors) == 100
    assert len(made.main) == len({sensor for _, sensor in made.main}) == 5
    assert len(made.triggered) == len(set(made.triggered)) == 50
    assert {(sensor,) for _, sensor in made.main} <= set(made.triggered)
    assert field(Grid()) == made
    near = neighbours(made, 20)
    assert {(other, one) for one, other in near} == set(near)
    assert max(Counter(one for one, _ in near).values()) == 8


def test_fields_that_make_no_sense_are_refused() -> None:
    for wrong in ({"spacing": 0}, {"side": 5}, {"regions": 101}, {"triggered": 1.5}):
        with pytest.raises(ValueError):
            Grid(**wrong)  # type: ignore[arg-type]
