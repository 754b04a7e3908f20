"""The program that weighs beside a raylet tells slices with it from slices without."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from validation.pages import raylet as page
from validation.raylet import PAIRS, Switching, differences
from validation.results import Results


def test_a_slice_belongs_to_a_state_unless_the_node_was_switched_in_it() -> None:
    seen = Switching([100, 200, 300])
    assert seen.running(0, 99) is True
    assert seen.running(101, 199) is False
    assert seen.running(201, 299) is True
    assert seen.running(301, 999) is False
    assert seen.running(90, 110) is None
    assert seen.running(90, 210) is None, "switched twice"


def line(epoch: int, start_ns: int, transactions: int, kind: str = "measured") -> dict[str, Any]:
    return {
        "epoch": epoch, "kind": kind, "start_ns": start_ns, "end_ns": start_ns + 5,
        "transactions": transactions, "busy_ns": 1000,
    }  # fmt: skip


def test_the_ratio_of_an_epoch_is_of_the_totals_of_both_states() -> None:
    seen = Switching([100])
    slices = [line(0, 10 * n, 98) for n in range(5)]
    slices += [line(0, 200 + 10 * n, 100) for n in range(4)]
    slices += [line(0, 98, 1), line(0, 20, 1, kind="warmup")]  # of no state, of no count
    assert differences(slices, seen) == [pytest.approx(math.log(98 / 100))]
    assert differences([*slices, line(1, 300, 9)], seen) == [pytest.approx(math.log(0.98))]


def test_the_page_says_what_is_missing_and_whether_it_is_equivalent(tmp_path: Path) -> None:
    results = Results(tmp_path / "raylet.jsonl")
    assert f"Not yet measured: {2 * PAIRS} of {2 * PAIRS} weighings" in page.section(results)
    kept = {
        "state": "with", "verdict": "inconclusive", "nonzero": False, "low_percent": -1.0,
        "high_percent": 1.0, "epoch_sd_percent": 1.0, "control_throughput": 1e4,
        "processor_share": 0.021, "memory_bytes": 3e8,
    }  # fmt: skip
    results.add("with/1", {**kept, "switched": [0.001, -0.001] * 5})
    assert "An idle node uses 2.10 % of a processor" in page.section(results)
    assert "over 10 epochs, within ±1 %" in page.section(results)
    results.add("with/2", {**kept, "switched": [0.1, 0.11] * 10})
    assert "over 30 epochs, not within ±1 %" in page.section(results)
