"""Each threat that a weighing itself can see is raised by what it is about, and by nothing else."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluation.made import MakeEpoch, make_plan
from steelyard.evaluation.threats.machine import InEpochs
from steelyard.evaluation.threats.run import (
    BackgroundInOneArm,
    ChecksViolated,
    ConnectionsDrawn,
    DatabasesOfOneServer,
    DriverMostOfWork,
    FewLoads,
    PilotUnsettled,
    ServersOfTheirOwn,
    StillDrifting,
    ThroughputHardlyMoved,
    ThroughputMovedToo,
    WorkingSetUnlike,
    WrongRows,
    run_threats,
)
from steelyard.model.threat import Observation, Quoted, ThreatKind
from steelyard.study.study import Study


def study(**workload: Any) -> Study:
    return Study.model_validate(
        {
            "name": "s", "title": "t", "question": "q",
            "control": {"name": "on"}, "arms": [{"name": "off", "checksums": False}],
            "workload": workload,
        }
    )  # fmt: skip


def threats(epochs: list, asked: Study | None = None, **plan: Any) -> list[Observation]:
    return list(run_threats(epochs, make_plan(**plan), asked or study(), "off"))


def names(epochs: list, asked: Study | None = None, **plan: Any) -> list[str]:
    return [threat.name for threat in threats(epochs, asked, **plan)]


def test_a_clean_weighing_raises_nothing(make_epoch: MakeEpoch) -> None:
    alike = {"on": 30_000_000, "off": 30_000_000}
    assert names([make_epoch(n, cpu_ns=alike) for n in range(10)]) == []


def test_wrong_rows_and_violations_are_wrong_answers(make_epoch: MakeEpoch) -> None:
    rows = make_epoch(0, wrong_rows={"off": 3})
    sums = make_epoch(1, violations={"on": ["sum(abalance) is 1 but 0"]})
    assert names([rows, sums]) == ["wrong answer from the workload"] * 2
    violation = "sum(abalance) is 1 but 0"
    assert threats([rows, sums]) == [ChecksViolated("on", 1, violation, 1), WrongRows("off", 3)]
    again = make_epoch(2, violations={"on": ["a", "b"]})
    assert threats([sums, again]) == [ChecksViolated("on", 1, violation, 3)]


def test_a_checkpoint_in_one_arm_only_is_said(make_epoch: MakeEpoch) -> None:
    one = {"on": {"checkpoints_timed": 1.0}, "off": {"checkpoints_timed": 0.0}}
    both = {"on": {"checkpoints_timed": 1.0}, "off": {"checkpoints_timed": 2.0}}
    expected = ["checkpoint or autovacuum in one arm's slices only"]
    assert names([make_epoch(0, counters=one)]) == expected
    assert threats([make_epoch(0, counters=one)]) == [
        BackgroundInOneArm("checkpoints", (("on", 1.0), ("off", 0.0)))
    ]
    assert names([make_epoch(0, counters=both)]) == []


def test_a_checkpoint_that_an_idle_server_skipped_is_none(make_epoch: MakeEpoch) -> None:
    skipped = {"checkpoints_timed": 1.0, "checkpoints_requested": 0.0}
    for told in ({"checkpoints_done": 0.0}, {"blocks_written_by_checkpointer": 0.0}):
        one = {"on": {**skipped, **told}, "off": {"checkpoints_timed": 0.0, **told}}
        assert names([make_epoch(0, counters=one)]) == []
    for told in ({"checkpoints_done": 1.0}, {"blocks_written_by_checkpointer": 9.0}):
        one = {"on": {**skipped, **told}, "off": {"checkpoints_timed": 0.0, **told}}
        assert names([make_epoch(0, counters=one)]) != []


@pytest.mark.parametrize(
    ("expected", "read", "raised"),
    [("exceeds", 0.0, 1), ("exceeds", 4000.0, 0), ("fits", 4000.0, 1), ("any", 0.0, 0)],
)
def test_the_working_set_must_be_what_the_study_says(
    make_epoch: MakeEpoch, expected: Any, read: float, raised: int
) -> None:
    counters = {"on": {"blocks_read": read}, "off": {"blocks_read": read}}
    epoch = make_epoch(0, counters=counters)
    asked = study(working_set=expected)
    assert names([epoch], asked) == ["working set not what the study says"] * raised
    each = read / epoch.totals.transactions_all["on"]
    unlike = WorkingSetUnlike(expected, (("on", each), ("off", each)))
    assert threats([epoch], asked) == [unlike] * raised


def test_a_driver_that_uses_most_of_the_time_is_the_bottleneck(make_epoch: MakeEpoch) -> None:
    arms = {"on": {"driver_cpu_ns": 40_000_000}, "off": {"driver_cpu_ns": 40_000_000}}
    assert names([make_epoch(0, arms=arms)]) == ["driver is the bottleneck"]
    [threat] = threats([make_epoch(0, arms=arms)])
    assert isinstance(threat, DriverMostOfWork)
    assert 0.5 < threat.share < 1


@pytest.mark.parametrize("counter", ["checkpoints_timed", "autovacuums"])
def test_background_that_was_counted_of_one_arm_alone_is_not_said_to_be_of_one_arm_only(
    make_epoch: MakeEpoch, counter: str
) -> None:
    one_arm = make_epoch(0, counters={"on": {counter: 3.0}})
    assert names([one_arm]) == []
    of_none = make_epoch(1, counters={"on": {counter: math.nan}, "off": {counter: 0.0}})
    both = make_epoch(2, counters={"on": {counter: 1.0}, "off": {counter: 0.0}})
    [said] = threats([one_arm, of_none, both])
    assert isinstance(said, BackgroundInOneArm)
    assert said.counts == (("on", 1.0), ("off", 0.0))


@pytest.mark.parametrize("expected", ["exceeds", "fits"])
def test_reads_that_were_not_counted_say_nothing_of_the_working_set(
    make_epoch: MakeEpoch, expected: str
) -> None:
    asked, doubt = study(working_set=expected), "working set not what the study says"
    assert doubt not in names([make_epoch(0)], asked)
    read = 4000.0 if expected == "exceeds" else 0.0
    counted = make_epoch(1, counters={arm: {"blocks_read": read} for arm in ("on", "off")})
    uncounted = [make_epoch(n) for n in range(2, 60)]
    assert doubt not in names([counted, *uncounted], asked)


def test_a_driver_is_compared_with_servers_whose_time_was_read(make_epoch: MakeEpoch) -> None:
    """Of two servers that use 30 ms each, one is not seen: 40 ms of the driver are not most."""
    arms = {"on": {"driver_cpu_ns": 20_000_000}, "off": {"driver_cpu_ns": 20_000_000}}
    alike = {"on": 30_000_000, "off": 30_000_000}
    unseen = {"off": {"server_cpu_us": math.nan}}
    assert names([make_epoch(0, arms=arms, cpu_ns=alike)]) == []
    assert names([make_epoch(0, arms=arms, cpu_ns=alike, counters=unseen)]) == []


def test_processor_time_that_contradicts_throughput_is_said(make_epoch: MakeEpoch) -> None:
    def epoch(n: int, faster: int, cpu: int) -> Any:
        done = {"off": faster + n % 3}
        return make_epoch(n, transactions=done, cpu_ns={"on": 30_000_000, "off": cpu * done["off"]})

    agreeing = [epoch(n, 1100, 27_000) for n in range(10)]
    contradicting = [epoch(n, 1100, 33_000 + 10 * n) for n in range(10)]
    assert names(agreeing) == []
    assert names(contradicting) == ["foreground and CPU disagree"]
    [threat] = threats(contradicting)
    assert isinstance(threat, ThroughputMovedToo)
    assert (threat.arm, threat.log_ratio) == ("off", pytest.approx(math.log(1.1), abs=0.01))


@pytest.mark.parametrize(
    ("transactions", "cpu_ns", "doubted"),
    [
        (1000, 31_000, True),  # work left to the background: nothing of it shows
        (1000, 29_000, True),  # the control left some
        (970, 31_000, False),  # bound by the processor: nearly all shows
        (980, 31_000, False),  # the driver's part of the time does not grow
        (1000, 30_100, False),  # within the margin
    ],
)
def test_processor_time_of_which_throughput_shows_less_than_half_is_said(
    make_epoch: MakeEpoch, transactions: int, cpu_ns: int, doubted: bool
) -> None:
    def epoch(n: int) -> Any:
        done = transactions + n % 3 - 1
        return make_epoch(
            n, transactions={"off": done}, cpu_ns={"on": 30_000_000, "off": (cpu_ns + 5 * n) * done}
        )

    epochs = [epoch(n) for n in range(10)]
    assert names(epochs) == (["foreground and CPU disagree"] if doubted else [])
    if doubted:
        change = pytest.approx(math.log(cpu_ns / 30_000), abs=0.01)
        assert threats(epochs) == [ThroughputHardlyMoved("off", change)]


def test_a_pilot_that_did_not_settle_is_said(make_epoch: MakeEpoch) -> None:
    assert names([make_epoch(0)], pilot={"settled": False}) == ["no steady state"]
    assert threats([make_epoch(0)], pilot={"settled": False}) == [PilotUnsettled()]


def test_epochs_that_still_drift_are_said(make_epoch: MakeEpoch) -> None:
    drifting = {
        "on": [1000 + 20 * k + k % 3 for k in range(30)],
        "off": [1000 + k % 3 for k in range(30)],
    }
    epochs = [make_epoch(n, rates=drifting) for n in range(6)]
    assert names(epochs) == ["no steady state"]
    assert threats(epochs) == [StillDrifting("on", 6, 6)]


def test_what_the_machine_did_is_said_once_with_how_often(make_epoch: MakeEpoch) -> None:
    older = [("steal or throttling", "9 % was stolen")]
    epochs = [make_epoch(0, machine_seen=older), make_epoch(1), make_epoch(2, machine_seen=older)]
    stolen = Quoted(ThreatKind.STEAL, "9 % was stolen")
    assert threats(epochs) == [InEpochs(stolen, 0, 2, 3)]
    assert names(epochs) == ["steal or throttling"]


def test_the_plan_itself_can_be_doubted(make_epoch: MakeEpoch) -> None:
    plan = {
        "upkeep": "carry", "upkeep_why": "slow", "placement": "free",
        "placement_why": "60 % waited",
    }  # fmt: skip
    assert names([make_epoch(0)], **plan) == ["data directory tied to the arm", "placement free"]
    assert threats([make_epoch(0)], **plan) == [
        Quoted(ThreatKind.DIRECTORY_TIED, "slow"),
        Quoted(ThreatKind.PLACEMENT_FREE, "60 % waited"),
    ]


@pytest.mark.parametrize(
    ("residency", "threat", "kind"),
    [
        ("one server", ConnectionsDrawn(), "shared background"),
        ("own databases", DatabasesOfOneServer(), "shared background"),
        ("several servers", ServersOfTheirOwn(), "address only"),
    ],
)
def test_servers_that_run_already_are_doubted_by_what_the_arms_share(
    make_epoch: MakeEpoch, residency: str, threat: Observation, kind: str
) -> None:
    assert threats([make_epoch(0)], residency=residency) == [threat]
    assert threat.name == kind


@pytest.mark.parametrize(
    ("upkeep", "shared", "count", "raised"),
    [
        ("restore", True, 1, 0),
        ("restore", False, 3, 0),
        ("restore", False, 2, 1),
        ("carry", True, 1, 1),
        ("carry", False, 3, 0),
    ],
)
def test_files_are_tied_to_an_arm_unless_it_has_three_loads(
    make_epoch: MakeEpoch, upkeep: str, shared: bool, count: int, raised: int
) -> None:
    loads = {"shared": shared, "arms": {arm: {"by": arm, "count": count} for arm in ("on", "off")}}
    plan = {"upkeep": upkeep, "upkeep_why": "slow", "loads": loads}
    assert names([make_epoch(0)], **plan) == ["data directory tied to the arm"] * raised
    if raised and not shared:
        assert threats([make_epoch(0)], **plan) == [FewLoads(count)]
