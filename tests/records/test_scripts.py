"""Of a mix each script has its mean time and its share, and together they are what was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard._core import histogram_quantiles
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.verdict.rejudge import rejudge


@pytest.mark.parametrize("name", ["settings", "three-arms"])
def test_times_and_shares_of_scripts_add_up_to_the_time_of_all(
    name: str, kept: Callable[[str], Path]
) -> None:
    """The driver's own sum of latencies is the oracle; histograms have three digits."""
    recorded = read_recorded(Record.open(kept(name)))
    verdict = rejudge(recorded)
    complete = [e.totals for e in recorded.epochs if e.totals.outcome == "complete"]
    for contrast in verdict.contrasts:
        rows = [row for row in verdict.scripts if row.arm == contrast.arm]
        assert len(rows) > 1
        assert sum(row.share_percent for row in rows) == pytest.approx(100)
        for side in ("slower", "inconclusive", "equivalent", "faster"):
            changes = [row.estimate_percent or 0.0 for row in rows if row.verdict == side]
            assert changes == sorted(changes, reverse=True), "the worst first"
        whole_us = sum(e.arms[contrast.control].latency_sum_ns for e in complete) / 1000
        for row in rows:
            counts = [
                histogram_quantiles([e.arms[contrast.control].latencies[row.script]], [])
                for e in complete
            ]
            spent_us = sum(one["count"] * one["mean_ns"] for one in counts) / 1000
            assert row.share_percent == pytest.approx(100 * spent_us / whole_us, rel=0.005)
        assert contrast.control_throughput is not None
        by_epoch = [e.arms[contrast.control].throughput for e in complete]
        assert min(by_epoch) <= contrast.control_throughput <= max(by_epoch)


@pytest.mark.parametrize("name", ["checksums", "queries"])
def test_a_mix_of_one_and_queries_of_their_own_have_no_such_rows(
    name: str, kept: Callable[[str], Path]
) -> None:
    assert rejudge(read_recorded(Record.open(kept(name)))).scripts == ()


def test_the_place_is_that_of_the_record(kept: Callable[[str], Path]) -> None:
    place = rejudge(read_recorded(Record.open(kept("settings")))).place
    assert place is not None
    assert (place.processors, place.processor, place.clients) == (2, "AMD EPYC", 8)
    assert place.products == ("PostgreSQL 18.4",)
    assert (place.workload, place.scale) == ("tproc-c", 1)
