"""Compares a recorded verdict with the one that its record is judged to again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from steelyard.record.frozen import Frozen

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


def differences(recorded: Frozen, rejudged: Frozen) -> list[VerdictDifference]:
    """Where they differ, of what the recorded one says: what later versions say besides is none,
    nor is the order of statements, which earlier versions did not sort."""
    return list(_between("", recorded.to_json(), rejudged.to_json()))


def _between(key: str, ours: Value, theirs: Value) -> Iterator[VerdictDifference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            if key or name not in NOT_COMPARED:
                yield from _between(f"{key}.{name}" if key else name, value, theirs.get(name))
    elif (rows := _by_statement(ours)) and (others := _by_statement(theirs)):
        yield from _between(key, rows, others)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, both in enumerate(zip(ours, theirs, strict=True)):
            yield from _between(f"{key}[{index}]", *both)
    elif not _same(ours, theirs):
        yield VerdictDifference(key, ours, theirs)


def _by_statement(rows: Value) -> dict[str, Value]:
    """Rows of statements by arm and statement; empty: they are none."""
    if not isinstance(rows, list) or not rows:
        return {}
    by_name: dict[str, Value] = {
        f"{row['arm']} {row['statement']}": row
        for row in rows
        if isinstance(row, dict) and "statement" in row and "arm" in row
    }
    return by_name if len(by_name) == len(rows) else {}


def _same(ours: Value, theirs: Value) -> bool:
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, int | float) and isinstance(theirs, int | float):
        return math.isclose(ours, theirs, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return ours == theirs
