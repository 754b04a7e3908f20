"""A slice is dropped when the machine slept in it, and for nothing else."""

from __future__ import annotations

from steelyard.running.measuring.driving import SuspendDetector
from steelyard.telemetry.host import suspended_ns

SECOND = 1_000_000_000


def test_the_slice_in_which_the_machine_slept_is_dropped_and_no_other() -> None:
    told = iter([5 * SECOND, 5 * SECOND, 65 * SECOND, 65 * SECOND + 4_000, 65 * SECOND])
    sleeps = SuspendDetector(lambda: next(told))
    assert [sleeps.affected() for _ in range(4)] == [False, True, False, False]


def test_a_machine_that_is_awake_drops_nothing() -> None:
    sleeps = SuspendDetector(suspended_ns)
    assert not any(sleeps.affected() for _ in range(10_000))
