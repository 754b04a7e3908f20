"""Drives visits and keeps their lines: one that the machine slept through is dropped, and an arm
that lost its connections ends the driving."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.evaluation.threats.machine import SUSPENDED_NS
from steelyard.model.errors import WeighingError
from steelyard.record.recorded import SLICES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.first_errors import errors_told
from steelyard.running.measuring.load import Load, Place, Visit
from steelyard.running.measuring.slots import ArmLostError
from steelyard.running.preparing.setup import Setup

DROPPED = "machine suspended"
"""What a dropped slice's line in the record says."""


def drive(setup: Setup, load: Load, visits: Sequence[Visit], place: Place) -> Iterator[SliceLine]:
    """Run visits; each line as it is recorded. ArmLostError where an arm lost its connections."""
    detector = SuspendDetector(setup.laboratory.clock.suspended_ns)
    for answered in load.run(visits, place):
        slept = detector.affected()
        line = answered.model_copy(update={"dropped": DROPPED}) if slept else answered
        setup.record.append(SLICES, line.to_json())
        yield line
        if line.lost:
            raise ArmLostError.in_slice(line.arm, line.errors)


def drive_pilot(setup: Setup, load: Load, visits: Sequence[Visit], place: Place) -> list[SliceLine]:
    """Run visits of a pilot, each recorded as it ends; WeighingError where an arm lost its
    connections: no epoch would go better."""
    lines = []
    for line in load.run(visits, place):
        setup.record.append(SLICES, line.to_json())
        lines.append(line)
        if line.lost:
            killed = ArmLostError.at_its_cap(setup.slots.standing)
            if killed is not None:
                raise WeighingError(f"in the pilot {killed.primary}", detail=killed.detail)
            raise WeighingError(
                f'arm "{line.arm}" lost its connections in the pilot',
                detail=errors_told([line]),
            )
    return lines


class SuspendDetector:
    """Decides after every slice whether that slice is to be dropped."""

    def __init__(self, suspended_ns: Callable[[], int]) -> None:
        self._suspended_ns = suspended_ns
        self._before_ns = suspended_ns()

    def affected(self) -> bool:
        """Whether the machine was suspended since the last call."""
        before_ns, self._before_ns = self._before_ns, self._suspended_ns()
        return self._before_ns - before_ns > SUSPENDED_NS
