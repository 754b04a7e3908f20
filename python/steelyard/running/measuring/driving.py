"""Drives visits and keeps their lines: one that the machine slept through is dropped, and an arm
that lost its connections ends the driving.

Ends a weighing whose workload cannot work: the pilot shows it before an epoch is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from steelyard.driver.trial import CANNOT_WORK
from steelyard.evaluation.threats.machine import SUSPENDED_NS
from steelyard.model.endpoint import error_words
from steelyard.model.errors import WeighingError
from steelyard.record.reader import SLICES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.arm_loss import ArmLostError
from steelyard.running.measuring.load import Load, SlicePlace, Visit
from steelyard.running.preparing.setup import Setup


def require_work(lines: Sequence[SliceLine]) -> None:
    """WeighingError unless transactions succeeded and none failed for what is missing."""
    for (state, arm), count in _errors_of(lines).items():
        if state.startswith(CANNOT_WORK):
            raise WeighingError(
                f'the workload cannot work on arm "{arm}": {_message(lines, state)}',
                detail=f"{error_words(state)}, {count} times in the pilot.",
                hint="What its scripts ask for must be made by its schema, on every arm's version.",
            )
    if not any(line.transactions for line in lines):
        raise WeighingError(
            "no transaction succeeded in the pilot",
            detail=errors_text(lines),
            hint="Where the errors tell of damaged data: `steelyard engines clear --templates` has "
            "the next weighing load them anew.",
        )


def require_answers(lines: Sequence[SliceLine]) -> None:
    """WeighingError where some transactions of every arm returned another number of rows than they
    must: then it is not an arm's doing, and every epoch would be as the pilot was."""
    wrong: dict[str, int] = {}
    for line in lines:
        wrong[line.arm] = wrong.get(line.arm, 0) + line.wrong_rows
    if wrong and all(wrong.values()):
        raise WeighingError(
            f"{sum(wrong.values())} transactions of the pilot returned another number of rows than "
            "they must, on every arm",
            detail="Work that can be done only once may be used up within an epoch.",
            hint="Take fewer blocks, executions or clients, or more data.",
        )


def errors_text(lines: Sequence[SliceLine]) -> str:
    """The errors of slices in words, for a DETAIL."""
    clauses = [
        f'{error_words(state)}: {count} times on arm "{arm}" ({_message(lines, state)})'
        for (state, arm), count in _errors_of(lines).items()
    ]
    return "; ".join(clauses) or "No error was reported; no transaction ended either."


def _errors_of(lines: Sequence[SliceLine]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for line in lines:
        for state, count in line.errors.items():
            key = state, line.arm
            counts[key] = counts.get(key, 0) + count
    return dict(sorted(counts.items()))


def _message(lines: Sequence[SliceLine], state: str) -> str:
    messages = (line.error_messages.get(state) for line in lines)
    return next((message for message in messages if message), "no message")


DROPPED = "machine suspended"
"""What a dropped slice's line in the record says."""


def drive(
    setup: Setup, load: Load, visits: Sequence[Visit], place: SlicePlace
) -> Iterator[SliceLine]:
    """Run visits; each line as it is recorded. ArmLostError where an arm lost its connections."""
    detector = SuspendDetector(setup.laboratory.clock.suspended_ns)
    for answered in load.run(visits, place):
        slept = detector.affected()
        line = answered.model_copy(update={"dropped": DROPPED}) if slept else answered
        setup.record.append(SLICES, line.to_json())
        yield line
        if line.lost:
            raise ArmLostError.in_slice(line.arm, line.errors)


def drive_pilot(
    setup: Setup, load: Load, visits: Sequence[Visit], place: SlicePlace
) -> list[SliceLine]:
    """Run visits of a pilot, each recorded as it ends; WeighingError where an arm lost its
    connections: no epoch would go better."""
    lines = []
    for line in load.run(visits, place):
        setup.record.append(SLICES, line.to_json())
        lines.append(line)
        if line.lost:
            killed = ArmLostError.at_its_cap(setup.slots.running_arms)
            if killed is not None:
                raise WeighingError(f"in the pilot {killed.primary}", detail=killed.detail)
            raise WeighingError(
                f'arm "{line.arm}" lost its connections in the pilot',
                detail=errors_text([line]),
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
