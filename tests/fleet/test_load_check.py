"""A check finds what was put on by hand: delays, clocks, and that equal arms are equal."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from driver.conftest import server
from driver.served import Server
from fleet.load_generators.false_clock import FarAgent, FarMachines
from steelyard.cli.views.host_view import check_json, check_lines
from steelyard.fleet import load_check as of_check
from steelyard.fleet.load_check import ClusterCheck, LoadCheck, check
from steelyard.model.estimate import UNBOUNDED, Interval

__all__ = ["server"]

MS = 1_000_000
HOUR_NS = 3_600_000 * MS


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> Iterator[FarMachines]:
    monkeypatch.setattr(of_check, "EXCHANGES", 60)
    near = FarAgent("near", offset_ns=HOUR_NS)
    far = FarAgent("far", offset_ns=-HOUR_NS, drift=200e-6, there_s=0.003)
    made = FarMachines([near, far])
    yield made
    made.close()


def test_round_trips_and_clocks_are_found_without_a_server(machines: FarMachines) -> None:
    found = check(machines, None, clients=2, seconds=1.0, seed=1)
    near, far = found.links
    assert found.load is None
    assert far.round_trip_ns(0.5) >= 3 * MS
    assert near.round_trip_ns(0.5) < far.round_trip_ns(0.5)
    for link, hand in zip(found.links, machines.hands, strict=True):
        apart_ns = hand.false_ns(hand.zero_ns) - hand.zero_ns
        # The check lasts for seconds: what the clock has drifted since is within a millisecond.
        assert abs(link.offset.value_ns - apart_ns) <= link.offset.bound_ns + 2 * MS
        assert abs(link.drift.ns_per_s - hand.drift * 1e9) <= link.drift.bound_ns_per_s
    assert any(line.startswith("far: ") for line in check_lines(found))


@pytest.mark.parametrize(
    ("ratio", "words", "ends"),
    [
        (Interval(-0.01, 0.02), "+0.50 % [−1.00, +2.02] over blocks of one epoch", (-0.995, 2.02)),
        (UNBOUNDED, "not known: both arms worked in fewer than two blocks", (None, None)),
    ],
)
def test_arms_that_hardly_worked_have_no_ratio(
    ratio: Interval, words: str, ends: tuple[float | None, float | None]
) -> None:
    load = LoadCheck(18, 4, (1,) * 18, ratio, {"near": 100.0}, {"near": 0.5})
    found = ClusterCheck((), load, 4.0)
    assert f"  arm to arm   {words}" in check_lines(found)
    told = json.loads(check_json(found))["load"]
    assert [told["low_percent"], told["high_percent"]] == [
        end if end is None else pytest.approx(end, abs=0.001) for end in ends
    ]


@pytest.mark.long
@pytest.mark.postgres
def test_equal_arms_are_driven_by_all_machines_and_every_figure_is_told(
    server: Server, machines: FarMachines
) -> None:
    found = check(machines, server.address, clients=2, seconds=4.0, seed=1)
    load = found.load
    assert load is not None
    assert (load.slices, load.clients) == (18, 4)
    assert set(load.transactions_per_s) == {"near", "far"}
    assert all(rate > 0 for rate in load.transactions_per_s.values())
    assert all(0 < share < 1.2 for share in load.processor_share.values())
    assert len(load.skews_ns) == 18
    assert list(load.skews_ns) == sorted(load.skews_ns)
    assert load.ratio.low < load.ratio.high
    told = json.loads(check_json(found))
    assert told["load"]["apart_us_p95"] == pytest.approx(load.apart_share * 200_000)
    assert [one["name"] for one in told["machines"]] == ["near", "far"]
    shown = "\n".join(check_lines(found))
    assert "equal arms, 18 slices of 200 ms, 4 clients" in shown
    assert "of a slice" in shown
