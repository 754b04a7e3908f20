"""The cost of checksums is that of the newest weighing whose arms differ in checksums alone."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.integrity.checksum_cost import ChecksumCost, cost_words, last_cost
from steelyard.model.latency_goal import METRIC_WORDS
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


def _study(control: str) -> str:
    arm = "off" if control == "on" else "on"
    asked = [f"{which}.name={name}" for which, name in (("control", control), ("arm", arm))]
    asked += [f"control.checksums={str(control == 'on').lower()}"]
    asked += [f"arm.checksums={str(arm == 'on').lower()}"]
    return write_study(read_study("aa", asked))


STUDIES = {control: _study(control) for control in ("on", "off")}
CHANGES = st.lists(st.floats(-60.0, 290.0), min_size=3, max_size=3).map(sorted)
"""Whose ends are no more than a factor of ten apart: wider ones are said in words."""


def _kept(contrast: dict[str, object]) -> ChecksumCost | None:
    """The cost by a record with this contrast alone."""
    with tempfile.TemporaryDirectory() as records:
        record = Path(records) / "checksums" / "20261120T000000Z"
        record.mkdir(parents=True)
        (record / "study.toml").write_text(STUDIES[str(contrast["control"])])
        (record / "verdict.json").write_text(json.dumps({"contrasts": [contrast]}))
        return last_cost(Path(records))


@given(
    changes=CHANGES,
    control=st.sampled_from(("on", "off")),
    metric=st.sampled_from(sorted(METRIC_WORDS)),
    verdict=st.sampled_from(("slower", "faster", "equivalent", "inconclusive")),
)
def test_text_and_json_give_the_change_by_turning_checksums_on_with_one_sign(
    changes: list[float], control: str, metric: str, verdict: str
) -> None:
    low, estimate, high = changes
    arm = "off" if control == "on" else "on"
    contrast = {"arm": arm, "control": control, "metric": metric, "verdict": verdict}
    contrast |= {"estimate_percent": estimate, "low_percent": low, "high_percent": high}
    cost = _kept(contrast)
    assert cost is not None
    facts = cost.to_json()
    assert facts["low_percent"] <= facts["percent"] <= facts["high_percent"]
    # A textbook version: speeds of 100 without, and what the contrast says with.
    off, on = (100.0, 100 + estimate) if control == "off" else (100 + estimate, 100.0)
    assert facts["percent"] == pytest.approx(100 * on / off - 100, rel=1e-6, abs=1e-6)
    turned = {"slower": "faster", "faster": "slower"} if control == "on" else {}
    assert facts["verdict"] == turned.get(verdict, verdict)
    words = cost_words(cost)
    match = re.fullmatch(
        r"(.+) changes by (\S+) % \[(\S+), (\S+)\] \((\w+); \S+, workload pgbench select-only\)",
        words,
    )
    assert match is not None, words
    assert (match[1], match[5]) == (METRIC_WORDS[metric], facts["verdict"])
    for shown, name in zip(
        match.groups()[1:4], ("percent", "low_percent", "high_percent"), strict=True
    ):
        assert float(shown.replace("−", "-")) == pytest.approx(facts[name], abs=0.0051)
        assert "-" not in shown, "an ASCII hyphen is no minus"
        assert shown[0] in "+−" or float(shown) == 0
    assert facts["metric"] == metric


@pytest.mark.parametrize(
    ("changed", "control"),
    [
        ({"low_percent": -100.0, "estimate_percent": -100.0}, "on"),  # the inverse has no end
        ({"low_percent": None}, "off"),
        ({"metric": "cpu_us"}, "off"),
        ({"verdict": "invalid"}, "off"),
    ],
)
def test_a_contrast_without_a_bounded_change_of_speed_is_no_cost(
    changed: dict[str, object], control: str
) -> None:
    arm = "off" if control == "on" else "on"
    contrast = {"arm": arm, "control": control, "metric": "throughput", "verdict": "slower"}
    contrast |= {"estimate_percent": -2.0, "low_percent": -3.0, "high_percent": -1.0}
    assert _kept(contrast) is not None
    assert _kept(contrast | changed) is None


def test_without_a_weighing_the_words_name_the_command_that_makes_one() -> None:
    assert "steelyard weigh checksums" in cost_words(None)
