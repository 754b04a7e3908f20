"""Summaries of `steelyard drive` are a repetition each."""

from __future__ import annotations

import json

from foreign.reading import only, refusal, sheet_of
from steelyard.foreign.metric import THROUGHPUT
from steelyard.foreign.series import Outcome


def test_drives_are_a_repetition_each() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    sheet = sheet_of(json.dumps(drive) + "\n" + json.dumps({**drive, "throughput": 101}))
    assert only(sheet).values.tolist() == [100.5, 101]
    assert only(sheet, 1).values.tolist() == [80, 80]
    assert sheet.clients == {"": 8}
    assert sheet.outcomes == {"": Outcome(18, 0)}
    errors = {**drive, "errors": {"40001": 5, "57014": 1}}
    assert sheet_of(json.dumps(errors)).outcomes == {"": Outcome(15, 6)}
    counted = {**errors, "failed": 2, "retried": 3, "skipped": 4, "unstarted": 1, "wrong_rows": 7}
    assert sheet_of(json.dumps(counted)).outcomes == {"": Outcome(16, 11, 7)}
    none = sheet_of(json.dumps({**drive, "latency_us": {"mean": None}}))
    assert [metric.name for metric, _ in none.metrics] == [THROUGHPUT]
    assert "a number is expected here" in refusal(json.dumps({**drive, "throughput": "fast"}))
