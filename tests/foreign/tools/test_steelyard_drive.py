"""Summaries of `steelyard drive` are a repetition each."""

from __future__ import annotations

import json

from foreign.reading import only, refusal, sheet_of
from steelyard.evaluation.threats.numbers import QuotedOfRuns
from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.metric import THROUGHPUT
from steelyard.foreign.series import TransactionCounts
from steelyard.model.threat import ThreatKind


def test_drives_are_a_repetition_each() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    sheet = sheet_of(json.dumps(drive) + "\n" + json.dumps({**drive, "throughput": 101}))
    assert only(sheet).values.tolist() == [100.5, 101]
    assert only(sheet, 1).values.tolist() == [80, 80]
    assert sheet.clients == {"": 8}
    assert sheet.outcomes == {"": TransactionCounts(18, 0)}
    errors = {**drive, "errors": {"40001": 5, "57014": 1}}
    assert sheet_of(json.dumps(errors)).outcomes == {"": TransactionCounts(15, 6)}
    counted = {**errors, "failed": 2, "retried": 3, "skipped": 4, "unstarted": 1, "wrong_rows": 7}
    assert sheet_of(json.dumps(counted)).outcomes == {"": TransactionCounts(16, 11, 7)}
    none = sheet_of(json.dumps({**drive, "latency_us": {"mean": None}}))
    assert [metric.name for metric, _ in none.metrics] == [THROUGHPUT]
    assert "a number is expected here" in refusal(json.dumps({**drive, "throughput": "fast"}))


MACHINE = {
    "elapsed_ns": 10_000_000_000,
    "processors": 2,
    "processors_before": 2,
    "same_processors": 1,
    "steal_ns": 0,
    "throttled_ns": 0,
    "suspended_ns": 0,
    "started_anew": 0,
    "swapped_bytes": 0,
    "memory_available_bytes": 8e9,
    "memory_total_bytes": 16e9,
    "memory_total_before_bytes": 16e9,
    "disk_free_bytes": 5e10,
    "disk_total_bytes": 1e11,
}


def test_what_a_drives_machine_did_is_a_doubt_of_its_numbers() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    quiet = json.dumps({**drive, "machine": MACHINE})
    assert sheet_of(quiet).machine == ()
    stolen = json.dumps({**drive, "machine": {**MACHINE, "steal_ns": 1e9}})
    [(kind, seen)] = sheet_of(quiet + "\n" + stolen).machine
    assert kind is ThreatKind.STEAL
    assert seen.startswith("5.0% of processor time was stolen by other guests (")
    assert seen.endswith(", run 2)")
    partial = {name: value for name, value in MACHINE.items() if name != "disk_free_bytes"}
    assert sheet_of(json.dumps({**drive, "machine": {**partial, "steal_ns": 1e9}})).machine == ()
    endless = json.dumps({**drive, "machine": {**MACHINE, "steal_ns": 1}}).replace(
        '"steal_ns": 1,', '"steal_ns": 1e999,'
    )
    assert sheet_of(endless).machine == ()


def test_a_judgement_names_what_the_machine_did_once() -> None:
    drive = {"transactions": 9, "throughput": 100.5, "latency_us": {"mean": 80.0}, "clients": 8}
    stolen = {**drive, "machine": {**MACHINE, "steal_ns": 1e9}}
    off, on = (
        sheet_of("\n".join(json.dumps({**stolen, "throughput": base + n}) for n in range(10)))
        for base in (100, 110)
    )
    judgement = judge_numbers(compare([("off", off), ("on", on)], Options()))
    [contrast] = judgement.contrasts
    [threat] = [threat for threat in contrast.threats if isinstance(threat, QuotedOfRuns)]
    assert (threat.of, threat.runs) == (ThreatKind.STEAL, 20)
    assert threat.text == off.machine[0][1]
    assert "run 1" in threat.text
