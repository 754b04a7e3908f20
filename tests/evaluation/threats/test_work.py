"""Work that was not done, or not alike, is seen in the rows that came back or were changed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluation.made import MakeEpoch
from steelyard.evaluation.threats.work import (
    ArrivalsNotBegun,
    NoRowAtAll,
    NoRowOfArm,
    RowsUnlike,
    StandbyBehind,
    arrival_threats,
    behind_threats,
    standby_lags,
    work_threats,
)
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import Observation
from steelyard.record.environment import Inspection

READS = Inspection(compared=0, statements=1, writes=False, arms={})
WRITES = Inspection(compared=0, statements=2, writes=True, arms={})
MB = 1 << 20


def observed(
    make_epoch: MakeEpoch, inspection: Inspection, count: int = 10, **facts: Any
) -> list[Observation]:
    epochs = [make_epoch(n, **facts).totals for n in range(count)]
    threats = list(work_threats(epochs, "on", "off", inspection))
    assert all(threat.name == "wrong answer from the workload" for threat in threats)
    assert all(threat.invalidates for threat in threats)
    return threats


def test_rows_alike_are_no_doubt(make_epoch: MakeEpoch) -> None:
    assert observed(make_epoch, READS, rows={"on": 1000, "off": 1000}) == []
    assert observed(make_epoch, READS, rows={"on": 1000, "off": 996}) == []


def test_a_record_that_does_not_tell_rows_raises_nothing(make_epoch: MakeEpoch) -> None:
    assert observed(make_epoch, READS) == []
    assert observed(make_epoch, READS, rows={"on": 1000}) == []


@pytest.mark.parametrize("count", [1, 10])
def test_an_arm_that_finds_nothing_is_a_wrong_answer(make_epoch: MakeEpoch, count: int) -> None:
    threats = observed(make_epoch, READS, count, rows={"on": 1000, "off": 0})
    assert threats == [NoRowOfArm("off", 1.0)]


def test_two_arms_that_find_nothing_are_a_wrong_answer_too(make_epoch: MakeEpoch) -> None:
    threats = observed(make_epoch, READS, 2, rows={"on": 0, "off": 0})
    assert threats == [NoRowAtAll("off", "on", 4000)]


def test_scripts_without_a_plan_are_not_asked_for_rows(make_epoch: MakeEpoch) -> None:
    nothing = {"on": 0, "off": 0}
    unplanned = WRITES.model_copy(update={"statements": 0})
    assert observed(make_epoch, unplanned, rows=nothing) == []


def test_updates_return_no_row_and_do_their_work_all_the_same(make_epoch: MakeEpoch) -> None:
    changed = {arm: {"rows_changed": 2000.0} for arm in ("on", "off")}
    nothing = {"on": 0, "off": 0}
    assert observed(make_epoch, WRITES, rows=nothing, counters=changed) == []
    idle = {**changed, "off": {"rows_changed": 1.0}}
    [threat] = observed(make_epoch, WRITES, rows=nothing, counters=idle)
    assert isinstance(threat, NoRowOfArm)
    assert threat.arm == "off"


def test_arms_that_read_must_find_as_many_rows_and_arms_that_write_need_not(
    make_epoch: MakeEpoch,
) -> None:
    fewer = {"on": 1000, "off": 980}
    threats = observed(make_epoch, READS, rows=fewer)
    assert threats == [RowsUnlike("off", "on", pytest.approx(math.log(0.98)))]
    assert observed(make_epoch, READS, 7, rows=fewer) == []
    assert observed(make_epoch, WRITES, rows=fewer) == []


def test_where_nobody_counts_what_was_changed_nothing_is_said_of_work_that_writes(
    make_epoch: MakeEpoch,
) -> None:
    assert observed(make_epoch, WRITES, rows={"on": 0, "off": 0}) == []


@pytest.mark.parametrize(("unstarted", "raised"), [(0, 0), (1, 0), (2, 1), (50, 1)])
def test_arrivals_that_an_arm_did_not_come_to_are_a_threat(unstarted: int, raised: int) -> None:
    arms = {
        "on": ArmTotals("on", 0, 1, 100, 10**9, 10**9),
        "off": ArmTotals("off", 1, 1, 98, 10**9, 10**9, failed=1, unstarted=unstarted),
    }
    epochs = [EpochTotals(n, {"on": 0, "off": 1}, ("on", "off"), arms) for n in range(3)]
    threats = list(arrival_threats(epochs, "on", "off"))
    arrived = 3 * (98 + 1 + unstarted)
    assert threats == [ArrivalsNotBegun("off", 3 * unstarted, arrived)] * raised
    assert [threat.name for threat in threats] == ["behind its arrivals"] * raised


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
