"""A weighing tells what the devices did while each arm was driven, in turns second by second."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.running.preparing import inspection
from steelyard.study.study import Study
from steelyard.telemetry.devices import Devices
from steelyard.verdict.rejudge import rejudge
from story.asked import lines, study_of
from story.scripted_device import NAME, DeviceWorld, Requests

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
IN_TURNS: Facts = {"layout": "turns", "budget": {"turns": "20m", "epochs": 8}}
IN_SLICES: Facts = {"layout": "slices", "budget": {"measuring": "30s"}}


def asked_study(**changes: Any) -> Study:
    return study_of(**{"decision": {"first_verdict": False}, **changes})


def unevenly(arm: str, second: int) -> Requests:
    """ "off" reads half as much again, in a fifth less time each, and writes far more evenly."""
    if arm == "off":
        return Requests(1500 + second % 3, 200 + 20 * math.sin(second), read_ms=0.4)
    return Requests(1000 + second % 3, 200 + 100 * math.sin(second))


@pytest.fixture
def world(tmp_path: Path) -> DeviceWorld:
    made = DeviceWorld(tmp_path, writes=True, noise=0.01)
    made.asked = unevenly
    return made


def figures(verdict: Facts) -> dict[str, Facts]:
    assert {one["arm"] for one in verdict["devices"]["figures"]} == {"off"}
    return {one["metric"]: one for one in verdict["devices"]["figures"]}


def turns_of(tmp_path: Path) -> list[Facts]:
    return [one for one in lines(tmp_path, "telemetry.jsonl") if one["type"] == "turn"]


def test_a_turn_holds_what_the_devices_did_in_each_of_its_seconds(
    world: DeviceWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world, asked_study(**IN_TURNS))
    for turn in turns_of(tmp_path):
        columns = turn["seconds"]["devices"]
        counted = {one["name"]: one["value"] for one in turn["read"]["readings"]}
        assert {len(column) for column in columns.values()} == {len(turn["seconds"]["wal_bytes"])}
        for name, column in columns.items():
            assert sum(column) == counted[f"device_{NAME}_{name}"]
    totals = read_recorded(Record(tmp_path / "record")).epochs[2].totals
    for arm, level in (("on", 1000), ("off", 1500)):
        seconds = totals.turns[arm].seconds
        assert {round(one.device_reads) - level for one in seconds} <= {-1, 0, 1, 2, 3}
        assert len({one.device_writes for one in seconds}) > 3


def test_rates_times_queue_and_cv_are_contrasts_with_intervals(
    world: DeviceWorld, weigh_in: Weigh
) -> None:
    verdict = weigh_in(world, asked_study(**IN_TURNS))
    assert verdict["devices"]["names"] == [NAME]
    assert "missing" not in verdict["devices"]
    found = figures(verdict)
    assert found["read_iops"]["control_value"] == pytest.approx(1001, abs=1)
    assert found["read_iops"]["estimate_percent"] == pytest.approx(50, abs=0.5)
    assert found["read_latency_ms"]["arm_value"] == pytest.approx(0.4, rel=0.01)
    assert found["read_latency_ms"]["estimate_percent"] == pytest.approx(-20, abs=0.5)
    assert found["write_latency_ms"]["estimate_percent"] == pytest.approx(0, abs=0.5)
    assert found["queue_length"]["control_value"] == pytest.approx(0.5 + 0.4, rel=0.05)
    assert found["reads_per_transaction"]["control_value"] == pytest.approx(1001 / 4000, rel=0.02)
    spread = found["write_iops_cv"]
    assert spread["control_value"] == pytest.approx(0.5 * math.sqrt(0.5), rel=0.1)
    assert spread["estimate_percent"] == pytest.approx(-80, abs=2)
    assert spread["high_percent"] < -70
    for one in found.values():
        assert one["low_percent"] <= one["estimate_percent"] <= one["high_percent"]
        assert one["confidence"] == 0.95


def test_in_slices_the_same_is_told_without_a_cv(world: DeviceWorld, weigh_in: Weigh) -> None:
    verdict = weigh_in(world, asked_study(**IN_SLICES))
    assert verdict["layout"] == "slices"
    found = figures(verdict)
    assert found["read_iops"]["estimate_percent"] == pytest.approx(50, abs=1)
    assert "shared_with_record" not in verdict["devices"], "the record stands elsewhere"
    assert {"write_iops", "writes_per_transaction", "queue_length"} <= {*found}
    assert not [name for name in found if name.endswith("_cv")]


def test_a_device_that_the_record_is_written_to_as_well_is_told(
    world: DeviceWorld, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "devices_beneath", lambda _: Devices(NAME, (NAME,)))
    assert weigh_in(world, asked_study(**IN_SLICES))["devices"]["shared_with_record"]


def test_where_no_device_is_to_be_seen_the_reason_is_told(
    world: DeviceWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.root = tmp_path / "no-machine"
    world.distort = lambda answer: None
    reason = "a file system of type overlay has no block device to be seen"
    world.facts = {"devices": [], "unmapped": reason}
    verdict = weigh_in(world, asked_study(**IN_TURNS))
    assert verdict["devices"] == {"missing": reason}
    assert not any("devices" in turn["seconds"] for turn in turns_of(tmp_path))


@pytest.mark.long
def test_an_older_record_without_these_is_read_and_tells_nothing_of_devices(
    world: DeviceWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(world, asked_study(**IN_TURNS))
    record = tmp_path / "record"
    older = [_without_devices(line) for line in lines(tmp_path, "telemetry.jsonl")]
    text = "".join(json.dumps(line) + "\n" for line in older)
    (record / "telemetry.jsonl").write_text(text)
    environment = json.loads((record / "environment.json").read_text())
    del environment["disk"]
    (record / "environment.json").write_text(json.dumps(environment))
    told = rejudge(read_recorded(Record.open(record))).to_json()
    assert "devices" not in told
    assert told["turns"] == verdict["turns"]
    assert told["contrasts"] == verdict["contrasts"]


def _without_devices(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_devices(one) for key, one in value.items() if key != "devices"}
    if isinstance(value, list):
        kept = [
            one for one in value if "device_" not in str(isinstance(one, dict) and one.get("name"))
        ]
        return [_without_devices(one) for one in kept]
    return value


@pytest.mark.long
def test_in_cycles_every_slice_has_its_own_and_so_has_the_contrast(
    world: DeviceWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    budget = {"cycles": "40m", "epochs": 8}
    verdict = weigh_in(world, asked_study(layout="cycles", budget=budget))
    found = figures(verdict)
    assert found["read_iops"]["estimate_percent"] == pytest.approx(50, abs=2)
    assert "read_iops_cv" in found
    epochs = [one for one in lines(tmp_path, "telemetry.jsonl") if one["type"] == "epoch"]
    for window in (one for epoch in epochs for one in epoch["windows"].values()):
        columns = window["seconds"]["devices"]
        assert {len(column) for column in columns.values()} == {len(window["starts_ns"])}
