"""Summaries of slices: totals, and percentiles from merged histograms."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.summary import LatencySummary, summarize
from steelyard.model.errors import DriverError


def _slice(**changes: Any) -> SliceAnswer:
    empty = {
        "arm": "a", "clients": 4, "transactions": 0, "busy_ns": 0, "latency_sum_ns": 0,
        "scripts": [{"name": "s"}],
    }  # fmt: skip
    return SliceAnswer.model_validate({**empty, **changes})


def test_throughput_is_work_per_loaded_second_of_all_slices() -> None:
    slices = [
        _slice(transactions=100, busy_ns=4_000_000_000, end_ns=1_000_000_000),
        _slice(transactions=300, busy_ns=8_000_000_000, end_ns=2_500_000_000),
    ]
    summary = summarize(slices)
    assert summary.transactions == 400
    assert summary.throughput == pytest.approx(400 / 3)
    assert summary.seconds == 3.5


def test_errors_of_all_slices_are_added_up_by_sqlstate() -> None:
    slices = [
        _slice(failed=2, errors={"40001": 2}, error_messages={"40001": "a"}),
        _slice(failed=4, errors={"40001": 3, "57014": 1}, error_messages={"57014": "b"}),
    ]
    summary = summarize(slices)
    assert summary.errors == {"40001": 5, "57014": 1}
    assert summary.error_messages == {"40001": "a", "57014": "b"}
    assert summary.failed == 6


def test_a_timed_statement_is_shown_without_its_secrets() -> None:
    statement = {
        "line": 1,
        "text": "ALTER ROLE a PASSWORD 'S3cretTok'",
        "executions": 1,
        "sum_ns": 1,
    }
    summary = summarize([_slice(scripts=[{"name": "s", "commands": [statement]}])])
    [command] = summary.scripts[0].commands
    assert command.text == "ALTER ROLE a PASSWORD '…'"


def test_nothing_done_has_no_latency_and_no_throughput() -> None:
    summary = summarize([_slice()])
    assert summary.throughput == 0.0
    assert summary.latency_us == LatencySummary()


def test_an_empty_histogram_is_an_empty_text() -> None:
    assert _core.histogram_quantiles(["", ""], [0.5])["count"] == 0
    assert _core.histogram_counts([""], [0, 10, 20]) == [0, 0]


@pytest.mark.parametrize(
    "text", ["%", "AAAA", "HISTFAAAAHh4nJNpmSzMwMDAxAABzFCaEUoz2X+AMIKZAEARAtM="]
)
def test_a_text_that_is_no_histogram_is_refused(text: str) -> None:
    with pytest.raises(DriverError, match="invalid latency histogram"):
        _core.histogram_quantiles([text[:-9] if len(text) > 9 else text], [0.5])
