"""A known weight really makes its arm do more work, and three arms stand side by side."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest
from underway import QUICK, Underway

from steelyard import _core
from steelyard.record.record import Record

pytestmark = [pytest.mark.postgres, pytest.mark.long]

STUDY = """\
title = "Are weights felt?"
question = "Does a known weight make its arm do more work?"
cost = "foreground"
[control]
name = "free"
[[arm]]
name = "double"
weight = { double_work = "40%" }
[[arm]]
name = "stalled"
weight = { stall = "5%", stall_time = "20ms" }
[settings]
autovacuum = false
"""
STALL_NS = 20_000_000


@pytest.fixture(scope="module")
def weighed(start_shared: Callable[..., Underway]) -> Underway:
    """One epoch of a study with three arms; then it is interrupted."""
    weighing = start_shared("record", "weights.toml", *QUICK, study=STUDY)
    weighing.in_the_middle_of(2)
    weighing.process.send_signal(signal.SIGINT)
    weighing.end()
    return weighing


def commits_per_transaction(weighing: Underway) -> dict[str, float]:
    """What the servers counted against what the driver counted, by arm, in the first epoch."""
    head = next(Record(weighing.record).lines("telemetry.jsonl"))
    commits = {
        arm: one["value"]
        for arm, line in head["arms"].items()
        for one in line["readings"]
        if one["name"] == "commits"
    }
    return {arm: commits[arm] / line["all_transactions"] for arm, line in head["arms"].items()}


def stalled_share(weighing: Underway, arm: str) -> float:
    """Share of an arm's transactions that took at least as long as a stall."""
    own = [x for x in weighing.slices(1) if x["arm"] == arm]
    parts = [script["latency"] for line in own for script in line["scripts"]]
    # Three digits are kept of a latency: a bin may end a thousandth below.
    counts = _core.histogram_counts(parts, [0, STALL_NS * 99 // 100, 1 << 60])
    return counts[1] / sum(counts)


def test_three_arms_stand_in_three_slots_and_two_are_judged(weighed: Underway) -> None:
    head = next(Record(weighed.record).lines("telemetry.jsonl"))
    assert sorted(head["slots"].values()) == [0, 1, 2]
    contrasts: list[dict[str, Any]] = weighed.verdict["contrasts"]
    assert [(x["arm"], x["control"]) for x in contrasts] == [
        ("double", "free"),
        ("stalled", "free"),
    ]


def test_an_arm_that_does_work_twice_commits_more_than_it_is_given_credit_for(
    weighed: Underway,
) -> None:
    commits = commits_per_transaction(weighed)
    assert commits["free"] == pytest.approx(1.0, abs=0.03)
    assert commits["double"] == pytest.approx(1.4, abs=0.06)


def test_a_stall_makes_as_many_transactions_slow_as_it_was_told(weighed: Underway) -> None:
    assert stalled_share(weighed, "stalled") > 0.04
    assert stalled_share(weighed, "free") < 0.04
