"""A calibration on real servers: weights are put on, truths told, and the ledger is kept."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from underway import Underway, recorded

from steelyard.record.record import Record
from steelyard.running.laboratory import Laboratory
from steelyard.running.measuring.load import SlicePlace, Visit
from steelyard.running.preparing.preparation import prepare
from steelyard.running.preparing.recording import Question, open_record
from steelyard.running.world import LocalLaboratory
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.weigh import weigh
from story.asked import Silent

pytestmark = pytest.mark.postgres

WEIGHT = 0.4
SHORT = ("--budget", "20s", "--set", "workload.scale=1", "--set", "budget.slice=50ms")
SHORT += ("--set", "budget.epochs=3", "--weight", "40%", "--seed", "5")


def measured(calibrated: Underway, arm: str) -> list[dict[str, Any]]:
    """The measured slices of an arm."""
    lines = Record(calibrated.record).lines("slices.jsonl")
    return [line for line in lines if line["kind"] == "measured" and line["arm"] == arm]


@pytest.fixture(scope="module")
def calibrated(start_shared: Callable[..., Underway]) -> Underway:
    """A whole calibration with weights that are heavy enough for its three epochs."""
    calibration = start_shared("record", *SHORT, command="calibrate")
    assert calibration.end() == 0, calibration.said
    return calibration


@pytest.mark.long
def test_a_calibration_says_truths_beside_readings(calibrated: Underway) -> None:
    found = {one["arm"]: one for one in calibrated.verdict["contrasts"]}
    assert list(found) == ["equal", "doubled-40", "stalled-40"]
    assert found["equal"]["true_percent"] == 0.0
    assert found["doubled-40"]["true_percent"] == pytest.approx(100 * (1 / 1.4 - 1))
    for contrast in found.values():
        assert contrast["covered"] is not None
        assert contrast["epochs"] == 3
    # Three epochs decide nothing, but a weight of 40 % is plain in any of them.
    assert found["doubled-40"]["estimate_percent"] < found["equal"]["estimate_percent"]


@pytest.mark.long
def test_the_truth_of_stalls_is_their_time_beside_the_controls_own(calibrated: Underway) -> None:
    """How rare they are comes of the pilot; on a machine whose speed has changed since, their
    truth is another than what was asked for, and is told."""
    stalled = next(x for x in calibrated.verdict["contrasts"] if "stalls" in x)
    each_ns = stalled["stalls"]["probability"] * stalled["stalls"]["length_ns"]
    spent: dict[int, list[int]] = {}
    for line in measured(calibrated, "control"):
        epoch = spent.setdefault(line["epoch"], [0, 0])
        epoch[0] += line["busy_ns"]
        epoch[1] += line["transactions"]
    slower = [math.log(1 + each_ns * done / busy_ns) for busy_ns, done in spent.values()]
    assert len(slower) == 3
    assert stalled["true_percent"] == pytest.approx(100 * math.expm1(-statistics.mean(slower)))


def test_stalls_are_as_many_as_the_plan_says_and_no_shorter_than_asked(
    calibrated: Underway,
) -> None:
    stall = Record(calibrated.record).read("plan.json")["stalls"]["stalled-40"]
    seen = next(x["stalls"] for x in calibrated.verdict["contrasts"] if "stalls" in x)
    done = sum(line["transactions"] for line in measured(calibrated, "stalled-40"))
    expected = done * stall["probability"]
    assert abs(seen["seen"] - expected) < 5 * expected**0.5 + 5
    assert stall["length_ns"] * 0.999 < seen["length_ns"] < stall["length_ns"] * 1.5


def test_equal_arms_are_told_to_the_ledger_of_the_working_directory(calibrated: Underway) -> None:
    ledger = calibrated.record.parent / "records" / "ledger.jsonl"
    [line] = [json.loads(text) for text in ledger.read_text().splitlines()]
    assert (line["study"], line["arm"], len(line["d"])) == ("calibrate", "equal", 3)
    assert line["machine"]["hostname"]
    assert calibrated.verdict["ledger"]["weighings"] == 1
    assert calibrated.verdict["ledger"]["e_value"] == pytest.approx(line["e_value"])


def test_the_record_keeps_the_answer_and_its_page_shows_the_truths(calibrated: Underway) -> None:
    assert Record(calibrated.record).read("verdict.json") == recorded(calibrated.verdict)
    page = (calibrated.record / "report.html").read_text(encoding="utf-8")
    assert "must read −28.57 %" in page


def study_with_background(cost: str, *overrides: str) -> Study:
    """Equal arms, of which one leaves two fifths of its work to the background."""
    keys = [f"cost={cost}", f"arm.weight.background={WEIGHT:.0%}", "workload.scale=1"]
    return read_study("aa", [*keys, *overrides])


@pytest.fixture
def world(weighing_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laboratory]:
    monkeypatch.setenv("STEELYARD_CACHE", str(weighing_cache))
    with LocalLaboratory() as laboratory:
        yield laboratory


@pytest.mark.long
def test_background_work_is_charged_like_a_debt_with_cost_whole(
    world: Laboratory, tmp_path: Path
) -> None:
    kept = open_record(
        Question(study_with_background("whole"), 3, tmp_path / "record"), world.clock.now_ns
    )
    visits = [Visit(arm, 200_000_000, "measured", n, 0) for n in range(6) for arm in ("a", "b")]
    with (
        prepare(kept, world, Silent()) as setup,
        setup.started_arms(0, "restore") as standing,
        setup.connect(standing, "symmetric", 1, {}) as load,
    ):
        lines = list(load.run(visits, SlicePlace(0)))
    control, own = ([line for line in lines if line.arm == arm] for arm in ("a", "b"))
    left = sum(x.left_ns for x in own) / sum(x.end_ns - x.start_ns for x in own)
    assert left == pytest.approx(WEIGHT, rel=0.4), "as long as that much work takes"
    assert all(x.debt_ns > x.left_ns for x in own), "a CHECKPOINT comes on top"
    assert not any(x.left_ns for x in control)
    assert all(x.debt_ns > 0 for x in control)


@pytest.mark.long
def test_background_work_that_nobody_pays_is_seen_by_its_processor_time(
    world: Laboratory, tmp_path: Path
) -> None:
    brief = ("budget.slice=50ms", "budget.epochs=8", "budget.measuring=20s")
    study = study_with_background("foreground", *brief)
    question = Question(study, 3, tmp_path / "record")
    verdict = weigh(question, world, Silent()).to_json()
    [contrast] = verdict["contrasts"]
    assert contrast["true_percent"] == 0.0
    assert contrast["estimate_percent"] > -20, "it is not charged"
    cpu = verdict["causes"][0]
    assert cpu["metric"] == "server_cpu_us_per_transaction"
    assert cpu["estimate_percent"] > 20
    assert "foreground and CPU disagree" in [threat["name"] for threat in contrast["threats"]]
