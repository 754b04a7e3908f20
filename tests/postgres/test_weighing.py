"""A whole weighing on real servers keeps its record, tells its verdict, and leaves nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from underway import QUICK, Traces, Underway, recorded

from steelyard.record.record import Record

pytestmark = pytest.mark.postgres

CONTRACT = {"study", "seed", "record", "seconds", "placement", "contrasts"}
CONTRAST = {"arm", "control", "metric", "unit", "higher_is_better", "estimate_percent"}
CONTRAST |= {"low_percent", "high_percent", "confidence", "verdict", "nonzero", "epochs", "blocks"}
CONTRAST |= {"forecast_seconds", "threats"}
THREAT = {"name", "seen", "cause", "advice", "invalidates"}
FILES = {"study.toml", "plan.json", "environment.json", "slices.jsonl", "telemetry.jsonl"}
FILES |= {"inspection.json", "verdict.json", "report.html"}


@dataclass(frozen=True)
class Whole:
    """A weighing that ran to its end, with what it had on the machine meanwhile."""

    weighing: Underway
    status: int
    traces: Traces

    @property
    def answer(self) -> dict[str, Any]:
        return self.weighing.verdict


@pytest.fixture(scope="module")
def whole(start_shared: Callable[..., Underway]) -> Whole:
    weighing = start_shared("record", "checksums", *QUICK, "--seed", "7")
    weighing.in_the_middle_of(1)
    traces = weighing.traces()
    return Whole(weighing, weighing.end(), traces)


@pytest.mark.long
def test_a_weighing_ends_well_whatever_its_verdict(whole: Whole) -> None:
    assert whole.status == 0, whole.weighing.said
    [contrast] = whole.answer["contrasts"]
    words = ("slower", "faster", "equivalent", "inconclusive", "invalid")
    assert contrast["verdict"] in words
    assert "verdict: " in whole.weighing.said
    assert "Traceback" not in whole.weighing.said


def test_standard_output_is_one_object_with_the_keys_of_the_contract(whole: Whole) -> None:
    assert whole.weighing.answer.count("\n") == 1
    assert set(whole.answer) >= CONTRACT
    assert (whole.answer["study"], whole.answer["seed"]) == ("checksums", 7)
    [contrast] = whole.answer["contrasts"]
    assert set(contrast) >= CONTRAST
    assert (contrast["arm"], contrast["control"]) == ("off", "on")
    assert (contrast["metric"], contrast["higher_is_better"]) == ("throughput", True)
    assert contrast["low_percent"] <= contrast["estimate_percent"] <= contrast["high_percent"]
    assert contrast["threats"], "pgbench at scale 1 fits into memory; the study says it does not"
    assert all(set(threat) == THREAT for threat in contrast["threats"])


def test_the_record_is_complete_and_says_what_was_said(whole: Whole) -> None:
    directory = whole.weighing.record
    assert {file.name for file in directory.iterdir()} == FILES
    assert json.loads((directory / "verdict.json").read_text()) == recorded(whole.answer)
    assert whole.answer["record"] == str(directory)
    record = Record.open(directory)
    epochs = [x for x in record.lines("telemetry.jsonl") if x["type"] == "epoch"]
    assert [x["epoch"] for x in epochs] == list(range(record.read("plan.json")["epochs"]))
    assert all(x["outcome"] == "complete" for x in epochs)
    assert whole.answer["contrasts"][0]["epochs"] == len(epochs)


def test_arms_differ_in_checksums_and_in_nothing_else(whole: Whole) -> None:
    differences = whole.answer["differences"]
    assert differences["declared"] == [["data_checksums", "on", "off"]]
    assert differences["undeclared"] == []
    assert differences["compared"] > 300


def test_every_slice_did_its_work(whole: Whole) -> None:
    slices = list(Record(whole.weighing.record).lines("slices.jsonl"))
    assert all(x["transactions"] > 0 for x in slices if x["kind"] == "measured")
    for bad in ("failed", "wrong_rows", "capped", "lost"):
        assert sum(x[bad] for x in slices) == 0, bad


def test_the_wall_time_is_accounted_for_and_most_phases_of_a_weighing_are_in_it(
    whole: Whole,
) -> None:
    spent, answer = whole.answer["spent"], whole.answer
    seconds = {one["phase"]: one["seconds"] for one in spent["phases"]}
    assert sum(seconds.values()) == pytest.approx(spent["seconds"], abs=1e-6)
    assert spent["seconds"] > answer["whole_seconds"] - 0.01  # with the last judgement
    assert {"find engines", "put back", "start", "connect", "read", "stop", "judge"} <= set(seconds)
    loaded = sum(seconds[phase] for phase in ("pilot", "warm up", "measure"))
    assert spent["loaded_seconds"] == pytest.approx(loaded)
    assert answer["measured_seconds"] <= seconds["measure"] + 0.01


def test_causes_stand_beside_the_verdict(whole: Whole) -> None:
    told = {row["metric"] for row in whole.answer["causes"]}
    assert {"server_cpu_us_per_transaction", "wal_bytes_per_transaction"} <= told
    cpu = next(x for x in whole.answer["causes"] if x["metric"] == "server_cpu_us_per_transaction")
    assert 1 < cpu["control_value"] < 10_000


def test_the_report_opens_offline(whole: Whole) -> None:
    page = (whole.weighing.record / "report.html").read_text(encoding="utf-8")
    assert whole.answer["sentence"].split(":")[0] in page
    assert "--seed 7" in page
    assert 'src="http' not in page
    assert len(page) < 2_000_000


def test_nothing_is_left_on_the_machine(whole: Whole, weighing_cache: Path) -> None:
    traces = whole.traces
    assert len(traces.processes) > 16, "two servers, their clients' backends, and the driver"
    assert len(traces.directories) == 2
    assert traces.system_v
    assert traces.left == []
    assert [x for x in (weighing_cache / "run").iterdir() if x.is_dir()] == []


@pytest.mark.long
def test_a_complete_weighing_is_not_gone_on_with(
    whole: Whole, start: Callable[..., Underway]
) -> None:
    before = (whole.weighing.record / "verdict.json").read_bytes()
    again = start("none", "--resume", str(whole.weighing.record))
    assert again.end() == 2
    assert "weighing is complete already" in again.said
    assert (whole.weighing.record / "verdict.json").read_bytes() == before


PRELOAD = "arm.settings.shared_preload_libraries=none_such"


@pytest.mark.long
def test_a_server_that_would_not_start_leaves_its_log_in_the_record(
    start: Callable[..., Underway],
) -> None:
    """What a library or the machine lacks is only found at the start."""
    weighing = start("record", "settings", *QUICK, "--set", PRELOAD)
    assert weighing.end() == 3
    assert 'none_such": could not start PostgreSQL 18.4 in slot ' in weighing.said
    assert "could not access file" in weighing.said
    assert f'The servers\' logs are kept in "{weighing.record}"' in weighing.said
    logs = [file.read_text() for file in weighing.record.glob("server-slot*.log")]
    assert any("could not access file" in log for log in logs)


@pytest.mark.long
def test_a_script_whose_routine_is_missing_is_refused_before_any_load(
    start: Callable[..., Underway], tmp_path: Path
) -> None:
    (tmp_path / "pay.sql").write_text("SELECT pay(1);\n")
    mixed = ("-f", "select-only", "-f", str(tmp_path / "pay.sql"))
    weighing = start("missing", "aa", *mixed, *QUICK)
    assert weighing.end() == 2
    assert 'pay.sql" cannot work on arm "a": function pay(integer) does not exist' in weighing.said
    assert "SQLSTATE 42883" in weighing.said
    assert not (weighing.record / "verdict.json").exists()
