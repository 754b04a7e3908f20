"""The cost of checksums is that of the newest weighing whose arms differ in checksums alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.integrity.checksum_cost import last_cost
from steelyard.study.read import read_study, write_study


@pytest.mark.parametrize(("control", "percent"), [("on", -3.85), ("off", 4.0)])
def test_the_cost_is_that_of_the_last_weighing_whichever_arm_is_the_control(
    tmp_path: Path, control: str, percent: float
) -> None:
    arm = "off" if control == "on" else "on"
    for time, value in (("20261120T000000Z", 9.0), ("20261121T000000Z", 4.0)):
        record = tmp_path / "checksums" / time
        record.mkdir(parents=True)
        names = {"control": control, "arm": arm}
        asked = [f"{which}.name={name}" for which, name in names.items()]
        asked += [f"{which}.checksums={str(name == 'on').lower()}" for which, name in names.items()]
        (record / "study.toml").write_text(write_study(read_study("aa", asked)))
        contrast = {"arm": arm, "control": control, "metric": "throughput", "verdict": "faster"}
        contrast |= {"estimate_percent": value, "low_percent": 3.0, "high_percent": 5.0}
        (record / "verdict.json").write_text(json.dumps({"contrasts": [contrast]}))
    (tmp_path / "checksums" / "latest").symlink_to("20261120T000000Z")
    cost = last_cost(tmp_path)
    assert cost is not None
    assert cost.percent == pytest.approx(percent, abs=0.01)
    assert cost.low_percent < cost.percent < cost.high_percent
    assert cost.workload == "pgbench select-only"
    assert last_cost(tmp_path / "none") is None


def _weighed(records: Path, study: str, time: str, value: float, *more: str) -> None:
    record = records / study / time
    record.mkdir(parents=True)
    asked = ["control.name=off", "arm.name=on", "control.checksums=false", "arm.checksums=true"]
    (record / "study.toml").write_text(write_study(read_study("aa", [*asked, *more])))
    contrast = {"arm": "on", "control": "off", "metric": "throughput", "verdict": "slower"}
    contrast |= {f"{name}_percent": value for name in ("estimate", "low", "high")}
    (record / "verdict.json").write_text(json.dumps({"contrasts": [contrast]}))


def test_a_cost_is_of_arms_that_differ_in_checksums_alone(tmp_path: Path) -> None:
    _weighed(tmp_path, "mine", "20261120T000000Z", -2.0, "arm.settings.work_mem=64MB")
    _weighed(tmp_path, "mine", "20261121T000000Z", -9.0, "arm.version=16")
    assert last_cost(tmp_path) is None
    _weighed(tmp_path, "mine", "20261119T000000Z", -3.0)
    cost = last_cost(tmp_path)
    assert cost is not None
    assert cost.percent == -3.0


def test_a_weighing_of_checksums_comes_before_a_newer_one_of_something_else(tmp_path: Path) -> None:
    _weighed(tmp_path, "read-after-insert", "20261121T000000Z", -9.0)
    _weighed(tmp_path, "checksums-rw", "20261120T000000Z", -2.0)
    cost = last_cost(tmp_path)
    assert cost is not None
    assert cost.percent == -2.0
