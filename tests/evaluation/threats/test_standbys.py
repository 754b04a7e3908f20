"""How far standbys were behind is read over epochs, and one that does not follow is a doubt."""

from __future__ import annotations

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.standbys import StandbyBehind, behind_threats, standby_lags

MB = 1 << 20


def test_arms_without_standbys_have_no_lag(make_epoch: MakeEpoch) -> None:
    assert standby_lags([make_epoch(0).totals], ("on", "off")) == []
    assert list(behind_threats([make_epoch(0).totals], ("on", "off"))) == []


def test_the_median_and_the_most_are_of_the_epochs_that_were_read(make_epoch: MakeEpoch) -> None:
    lags = [(0.0, 0.0), (3.0 * MB, 20.0), (1.0 * MB, 5.0)]
    epochs = [
        make_epoch(n, counters={"on": {"replay_lag_bytes": size, "replay_lag_ms": ms}}).totals
        for n, (size, ms) in enumerate(lags)
    ]
    [lag] = standby_lags([*epochs, make_epoch(3).totals], ("on", "off"))
    assert (lag.arm, lag.bytes_median, lag.bytes_most, lag.epochs) == ("on", MB, 3 * MB, 3)
    assert (lag.ms_median, lag.ms_most) == (5.0, 20.0)


@pytest.mark.parametrize(("size", "raised"), [(16 * MB, 0), (17 * MB, 1)])
def test_a_standby_that_is_a_segment_behind_in_most_epochs_does_not_follow(
    make_epoch: MakeEpoch, size: float, raised: int
) -> None:
    counters = {"off": {"replay_lag_bytes": size, "replay_lag_ms": 1500.0}}
    threats = list(behind_threats([make_epoch(0, counters=counters).totals], ("on", "off")))
    assert threats == [StandbyBehind("off", size, 1500.0)] * raised
    for threat in threats:
        assert threat.name == "standby behind"
        assert not threat.invalidates
