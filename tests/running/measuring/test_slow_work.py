"""A load whose executions are too slow for slices by time is noticed in its first blocks."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.record.slice import SliceLine
from steelyard.running.measuring.counted import (
    SlowExecutionsError,
    SlowWatch,
    is_slow,
    longest_slice_ns,
)
from steelyard.study.read import read_study

MS = 1_000_000
S = 1000 * MS


def line(latency_ms: float, done: int, clients: int = 1, **changes: Any) -> SliceLine:
    """A slice in which each client was busy without a pause."""
    busy_ns = round(latency_ms * MS * done)
    facts: dict[str, Any] = {
        "epoch": -2, "run": 1, "arm": "on", "kind": "pilot", "block": 0, "position": 0,
        "start_ns": 0, "end_ns": busy_ns // clients, "length_ns": 50 * MS, "clients": clients,
        "transactions": done, "busy_ns": busy_ns, "latency_sum_ns": busy_ns,
    }  # fmt: skip
    return SliceLine.model_validate({**facts, **changes})


CANCELLED = line(0, 0, 8, end_ns=5050 * MS, busy_ns=8 * 5050 * MS, capped=8)


def watch() -> SlowWatch:
    return SlowWatch(read_study("checksums", []))


def test_the_longest_slice_follows_the_budget_and_the_study_s_epochs() -> None:
    assert longest_slice_ns(read_study("checksums", [])) == 1 * S
    assert longest_slice_ns(read_study("checksums", ["budget.measuring=20m"])) == 6 * S
    words = ["budget.measuring=20m", "budget.epochs=20"]
    assert longest_slice_ns(read_study("checksums", words)) == 3 * S


def test_fast_executions_are_fast_and_cancelled_ones_slow() -> None:
    assert not is_slow(line(0.1, 500), 1 * S)
    assert not is_slow(line(0.1, 50_000), 1 * S)  # five seconds of them
    assert is_slow(line(300, 1), 1 * S)
    assert is_slow(CANCELLED, 1 * S)


def test_executions_that_failed_say_nothing_of_their_time() -> None:
    assert not is_slow(line(0, 0, failed=8, errors={"42P01": 8}), 1 * S)


def test_one_block_of_seconds_is_enough() -> None:
    with pytest.raises(SlowExecutionsError):
        watch().note([line(0.1, 500), line(3000, 1)])
    with pytest.raises(SlowExecutionsError):
        watch().note([CANCELLED])


def test_short_ones_are_slow_only_in_three_blocks_one_after_the_other() -> None:
    seen = watch()
    seen.note([line(20, 3)])
    seen.note([line(20, 3)])
    with pytest.raises(SlowExecutionsError):
        seen.note([line(20, 3)])


def test_after_a_fast_block_nothing_is_slow_any_more() -> None:
    """A checkpoint or a neighbour later on does not change how slices are cut."""
    seen = watch()
    seen.note([line(20, 3)])
    seen.note([line(0.1, 500)])
    seen.note([line(3000, 1)])
