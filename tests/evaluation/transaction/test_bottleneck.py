"""The bottleneck is where most of a transaction's time goes, or there is none."""

from __future__ import annotations

import pytest

from steelyard.evaluation.transaction.bottleneck import bottlenecks, withheld_share
from steelyard.model.readings import EpochTotals, Reading
from steelyard.record.verdict import TimePart, TimeParts


def parts_of(**arm: float) -> TimeParts:
    """An arm whose time goes there, against one on a processor only."""
    parts = [
        TimePart.model_validate(
            {
                "part": part, "control_us": 100.0 if part == "processor" else 0.0, "arm_us": us,
                "difference_us": 0.0, "low_us": None, "high_us": None,
            }
        )
        for part, us in {"processor": 0.0, **arm}.items()
    ]  # fmt: skip
    return TimeParts(
        control="on", arm="off", epochs=10, control_us=100, arm_us=sum(arm.values()),
        parts=tuple(parts),
    )  # fmt: skip


def epoch(**machine: float) -> EpochTotals:
    readings = {name: Reading(name, "ns", value) for name, value in machine.items()}
    return EpochTotals(0, {}, (), {}, machine=readings)


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"processor": 30.0, "queue": 50.0, "client": 40.0}, "processor"),
        ({"processor": 10.0, "wal": 50.0, "client": 20.0}, "WAL flush"),
        ({"processor": 10.0, "read": 50.0}, "reading"),
        ({"processor": 10.0, "locks": 50.0}, "lock"),
        ({"processor": 10.0, "client": 50.0}, "client"),
        ({"processor": 10.0, "wal": 30.0, "locks": 30.0, "client": 30.0}, "none"),
    ],
)
def test_the_largest_part_is_the_bottleneck_where_it_is_large(
    parts: dict[str, float], kind: str
) -> None:
    control, arm = bottlenecks([], parts_of(**parts))
    assert (control.kind, control.arm, arm.arm) == ("processor", "on", "off")
    assert arm.kind == kind
    assert arm.transaction_us == sum(parts.values())
    assert arm.part == (kind if kind != "none" else "WAL flush")


def test_waiting_for_processors_that_are_withheld_is_no_want_of_them() -> None:
    throttled = epoch(elapsed_ns=1e9, processors=2, throttled_ns=3e8, steal_ns=0)
    assert withheld_share([throttled]) == pytest.approx(0.15)
    _, arm = bottlenecks([throttled], parts_of(processor=20.0, queue=80.0))
    assert arm.kind == "waiting for a processor"
    assert (arm.part, arm.waited) == ("processor", 0.8)
    assert arm.withheld == pytest.approx(0.15)
    _, free = bottlenecks(
        [epoch(elapsed_ns=1e9, processors=2)], parts_of(processor=20.0, queue=80.0)
    )
    assert free.kind == "processor"
    assert (free.waited, free.withheld) == (0.8, None)


def test_a_machine_that_tells_nothing_withholds_nothing() -> None:
    assert withheld_share([]) == 0
    assert withheld_share([epoch()]) == 0
