"""Ends a weighing whose workload cannot work: the pilot shows it before an epoch is spent."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.driver.trial import CANNOT_WORK
from steelyard.model.endpoint import error_words
from steelyard.model.errors import WeighingError
from steelyard.record.slice import SliceLine


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
            detail=errors_told(lines),
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


def errors_told(lines: Sequence[SliceLine]) -> str:
    """The errors of slices in words, for a DETAIL."""
    told = [
        f'{error_words(state)}: {count} times on arm "{arm}" ({_message(lines, state)})'
        for (state, arm), count in _errors_of(lines).items()
    ]
    return "; ".join(told) or "No error was reported; no transaction ended either."


def _errors_of(lines: Sequence[SliceLine]) -> dict[tuple[str, str], int]:
    seen: dict[tuple[str, str], int] = {}
    for line in lines:
        for state, count in line.errors.items():
            key = state, line.arm
            seen[key] = seen.get(key, 0) + count
    return dict(sorted(seen.items()))


def _message(lines: Sequence[SliceLine], state: str) -> str:
    told = (line.error_messages.get(state) for line in lines)
    return next((words for words in told if words), "no message")
