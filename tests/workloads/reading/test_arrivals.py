"""Arrivals are read as they were written, and repeated at any pace in their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.model.errors import StudyError, UsageError
from steelyard.study.read import read_study
from steelyard.workloads.reading.arrivals import Arrival, arrivals_text, paced, read_arrivals
from steelyard.workloads.reading.folder import find_workload
from workloads.folders import write_folder

GAPS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 99)), max_size=50)


@given(GAPS)
def test_what_is_written_is_read(gaps: list[tuple[int, int]]) -> None:
    arrivals, at_us = [], 0
    for gap, script in gaps:
        at_us += gap
        arrivals.append(Arrival(at_us, script))
    assert read_arrivals(arrivals_text(arrivals)) == arrivals


@pytest.mark.parametrize("text", ["x\t1\n", "1\n", "1\t2\t3\n", "-1\t1\n", "\n"])
def test_what_is_no_arrival_is_named_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        read_arrivals("0\t1\n" + text)


def test_more_than_memory_should_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.workloads.reading.arrivals.MOST_ARRIVALS", 2)
    assert len(read_arrivals("0\t1\n5\t2\n")) == 2
    with pytest.raises(ValueError, match="3 arrivals are too many: at most 2"):
        read_arrivals("0\t1\n5\t2\n5\t1\n")


def test_a_pace_divides_the_times_and_leaves_out_scripts_that_are_not_driven() -> None:
    arrivals = [Arrival(0, 3), Arrival(1000, 1), Arrival(3000, 2), Arrival(5000, 1)]
    places = {"01-a": 0, "02-b": 1}
    assert paced(arrivals, places, 1) == ([(0, 0), (2_000_000, 1), (4_000_000, 0)], 6_000_000)
    assert paced(arrivals, places, 2) == ([(0, 0), (1_000_000, 1), (2_000_000, 0)], 3_000_000)
    assert paced(arrivals, places, 0.5)[1] == 12_000_000
    for nothing in ([], [Arrival(0, 3)], [Arrival(7, 1), Arrival(7, 2)]):
        with pytest.raises(ValueError, match="arrival"):
            paced(nothing, places, 1)


def test_a_folder_without_arrivals_is_refused_and_a_wrong_one_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    with pytest.raises(UsageError, match="has no arrival times"):
        _ = find_workload(str(folder)).arrivals
    (folder / "arrivals.tsv").write_text("0\t1\nnone\n")
    with pytest.raises(UsageError, match=r"arrivals\.tsv: line 2"):
        _ = find_workload(str(folder)).arrivals


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([], "latency_mean"),
        (["decision.metric=latency_mean", "budget.counted={each = 1, blocks = 2}"], "by time"),
        (["decision.metric=latency_mean", "workload.pace=0"], "greater than 0"),
    ],
)
def test_a_study_at_a_pace_compares_latencies(changes: list[str], why: str) -> None:
    with pytest.raises((StudyError, UsageError)) as refused:
        read_study("settings", ["workload.pace=2", *changes])
    assert why in str(refused.value)
    assert read_study("settings", ["workload.pace=2", "decision.metric=latency_mean"])
