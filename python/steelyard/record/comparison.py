"""Compares two verdicts of one record: the one it holds, and what is judged of it now."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.record.verdict import Verdict

Value = object
TOLERANCE = 1e-9
"""Relative difference of two numbers that another machine's arithmetic may make."""
NOT_COMPARED = ("record",)
"""Where the record lies is not a part of what it says."""


@dataclass(frozen=True)
class VerdictDifference:
    """One key on which two verdicts differ."""

    key: str
    recorded: Value
    rejudged: Value


def differences(recorded: Verdict, rejudged: Verdict) -> list[VerdictDifference]:
    """Where they differ, of what the recorded one says: what later versions say besides is none."""
    return list(_between("", recorded.to_json(), rejudged.to_json()))


def _between(key: str, ours: Value, theirs: Value) -> Iterator[VerdictDifference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if key or name not in NOT_COMPARED:
                yield from _between(f"{key}.{name}" if key else name, value, theirs.get(name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _between(f"{key}[{place}]", one, other)
    elif not _same(ours, theirs):
        yield VerdictDifference(key, ours, theirs)


def _same(ours: Value, theirs: Value) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return ours == theirs
