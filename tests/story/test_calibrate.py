"""A calibration in a world whose truth is known: weights are read, and a ledger keeps the books."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.views.many_arms_view import render_calibration
from steelyard.model.errors import RecordError
from steelyard.record.ledger import Ledger
from steelyard.record.record import Record
from steelyard.record.verdict import Verdict
from steelyard.report.calibration import detection_time_text, ledger_text
from steelyard.study.calibration import lay_out
from steelyard.study.read import read_study
from steelyard.study.study import Study
from story.asked import Facts, Watcher, study_of
from story.scripted import ScriptedWorld

Weigh = Callable[..., Facts]
INTERRUPT_AFTER = 600
"""A slice in the middle of the epochs, behind the pilot."""


@dataclass
class Listener(Watcher):
    """Writes down what is noted, too."""

    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)


def calibration(*overrides: str, weights: tuple[float, ...] = (), whole: bool = False) -> Study:
    asked = read_study("calibrate", ["budget.measuring=60s", *overrides])
    return lay_out(asked, weights, whole=whole).study


def equal_arms(**changes: Any) -> Study:
    """Two arms that are declared identical."""
    return study_of(control={"name": "a"}, arms=[{"name": "b"}], **changes)


def by_arm(verdict: Facts) -> dict[str, Facts]:
    return {one["arm"]: one for one in verdict["contrasts"]}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "records" / "ledger.jsonl"


def test_known_weights_are_read_within_their_intervals(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    found = by_arm(weigh_in(world, calibration()))
    assert list(found) == ["equal", "doubled-3", "stalled-3"]
    assert found["equal"]["true_percent"] == 0.0
    assert found["doubled-3"]["true_percent"] == pytest.approx(-2.913, abs=0.001)
    assert found["stalled-3"]["true_percent"] == pytest.approx(-2.91, abs=0.05)
    for contrast in found.values():
        assert contrast["covered"], contrast
        assert contrast["low_percent"] <= contrast["true_percent"] <= contrast["high_percent"]


def test_stalls_are_made_as_rare_as_their_worth_asks_and_the_plan_says_how_rare(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world, calibration(weights=(0.2,)))
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())
    assert list(plan["stalls"]) == ["stalled-20"]
    stall = plan["stalls"]["stalled-20"]
    # One client, 4,000 transactions a second: 250 µs each; 20 % of that in sleeps of 66.7 ms.
    assert stall["length_ns"] == 66_666_667
    assert stall["probability"] == pytest.approx(0.2 * 250e-6 / 66.7e-3, rel=0.05)
    driven = [{arm.name: arm.weight for arm in plan.arms} for plan in world.plans_driven]
    assert driven[0]["stalled-20"].stall == 0, "before the control's time is known there is none"
    assert all(arms["stalled-20"].stall > 0 for arms in driven[1:])
    assert driven[-1]["stalled-20"].stall == stall["probability"]


def test_work_left_to_the_background_is_charged_like_a_debt(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.writes = True
    study = calibration("budget.epochs=10", weights=(0.1,), whole=True)
    contrast = by_arm(weigh_in(world, study))["background-10"]
    assert contrast["covered"]
    assert contrast["true_low_percent"] < contrast["true_high_percent"] < -5
    measured = list(Record(tmp_path / "record").lines("slices.jsonl"))
    own = [x for x in measured if x["kind"] == "measured" and x["arm"] == "background-10"]
    assert all(x["debt_ns"] == x["left_ns"] + world.debt_ns for x in own)
    left = sum(x["left_ns"] for x in own) / sum(x["end_ns"] - x["start_ns"] for x in own)
    assert left == pytest.approx(0.1, rel=0.05)


def test_work_left_to_the_background_is_nobodys_with_cost_foreground(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    study = equal_arms(cost="foreground")
    weighted = study.arms[0].model_copy(
        update={"weight": study.arms[0].weight.model_copy(update={"background": 0.2})}
    )
    verdict = weigh_in(world, study.model_copy(update={"arms": (weighted,)}))
    [contrast] = verdict["contrasts"]
    assert contrast["true_percent"] == 0.0
    assert contrast["covered"]
    own = [x for x in Record(tmp_path / "record").lines("slices.jsonl") if x["arm"] == "b"]
    assert all(x["left_ns"] > 0 and x["debt_ns"] == 0 for x in own)


def test_every_arm_is_measured_to_the_end_of_the_plan_and_judged_by_its_own_set(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    """The plainest weight must not end the weighing before the others were read."""
    found = weigh_in(world, calibration(weights=(0.5,)))["contrasts"]
    assert [one["epochs"] for one in found] == [12, 12, 12]
    assert [one["details"]["method"] for one in found] == ["sign flips"] * 3
    assert not any(one["details"].get("secondary") for one in found)


def test_a_balance_that_is_off_by_two_percent_shows_its_miss(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.noise = 0.02
    world.speed = lambda arm, life: 4000.0 if arm == "control" else 4080.0
    study = calibration()
    verdict = weigh_in(world, study)
    found = by_arm(verdict)
    assert not any(one["covered"] for one in found.values())
    said = " ".join(render_calibration(Verdict.model_validate(verdict), study, 100).split())
    assert "3 % done twice must read −2.91 % and read −0." in said
    assert "One 95 % interval in twenty misses by chance." in said


def test_the_scatter_of_equal_arms_says_how_long_a_size_takes(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    verdict = weigh_in(world, calibration())
    rows = verdict["trust"]
    assert [row["percent"] for row in rows] == [1.0, 2.0, 5.0]
    epoch_s = verdict["seconds"] / 12 * 2 / 4  # two arms take half the time of four
    for row in rows:
        assert row["epochs"][0] <= row["epochs"][1] <= row["epochs"][2]
        assert row["seconds"] == pytest.approx(row["epochs"][1] * epoch_s, abs=0.1)


def test_the_page_answers_what_the_machine_can_be_trusted_for(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    study = calibration()
    verdict = weigh_in(world, study)
    page = (Path(verdict["record"]) / "report.html").read_text(encoding="utf-8")
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    told = " ".join(render_calibration(Verdict.model_validate(verdict), study, 2000).split())
    for row in Verdict.model_validate(verdict).trust:
        assert f"{row.percent:g} % {detection_time_text(row)}" in shown
    for words in (
        "What this machine can be trusted for",
        ledger_text(Verdict.model_validate(verdict).ledger),
    ):
        assert words in told
        assert words in shown
    assert "All 3 intervals hold their truths" in shown
    assert "3 % done twice −2.91 %" in shown


@pytest.mark.long
def test_a_calibration_repeated_is_no_further_attempt_at_anything(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    for number in range(2):
        world = ScriptedWorld(tmp_path / f"world{number}", noise=0.5)
        verdict = weigh_in(world, calibration(), record=f"attempts/{number}")
        assert "weighed before" not in [t["name"] for t in verdict["contrasts"][0]["threats"]]


@pytest.mark.long
def test_each_weighing_of_equal_arms_is_a_line_of_the_ledger_and_no_other_is(
    tmp_path: Path, weigh_in: Weigh, ledger: Path
) -> None:
    studies = [calibration(), equal_arms(), study_of(), calibration()]
    for number, study in enumerate(studies):
        world = ScriptedWorld(tmp_path / f"world{number}")
        verdict = weigh_in(world, study, record=f"r{number}", ledger=ledger)
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [line["study"] for line in lines] == ["calibrate", "scripted", "calibrate"]
    assert [line["arm"] for line in lines] == ["equal", "b", "equal"]
    assert [len(line["d"]) for line in lines] == [12, 10, 12]
    assert verdict["ledger"]["weighings"] == 3
    assert verdict["ledger"]["e_value"] == pytest.approx(lines[-1]["e_value"], rel=1e-5)
    assert not verdict["ledger"]["off_balance"]


def test_without_a_ledger_none_is_told(world: ScriptedWorld, weigh_in: Weigh) -> None:
    assert weigh_in(world, equal_arms())["ledger"] is None


def unbalanced(directory: Path) -> ScriptedWorld:
    """The equal arm is always 5 % faster, though nothing differs that anybody declared."""
    world = ScriptedWorld(directory, noise=0.01)
    world.speed = lambda arm, life: 4200.0 if arm == "equal" else 4000.0
    return world


@pytest.mark.long
def test_a_balance_that_is_off_invalidates_every_later_weighing_until_a_new_ledger_is_begun(
    tmp_path: Path, weigh_in: Weigh, ledger: Path
) -> None:
    first = weigh_in(unbalanced(tmp_path / "w1"), calibration(), record="r1", ledger=ledger)
    assert first["contrasts"][0]["verdict"] != "invalid", "it was not known to be off yet"
    assert first["ledger"]["off_balance"]
    watcher = Watcher()
    mended = ScriptedWorld(tmp_path / "w2")
    later = weigh_in(mended, study_of(), record="r2", ledger=ledger, progress=watcher)
    assert later["contrasts"][0]["verdict"] == "invalid"
    [threat] = [t for t in later["contrasts"][0]["threats"] if t["name"] == "balance's ledger"]
    assert "1 weighing of equal arms on this machine reached an e-value of" in threat["seen"]
    assert "--new-ledger" in threat["advice"]
    assert "balance's ledger" in watcher.threats
    # However well equal arms weigh from now on, the machine does not recover by itself.
    calm = ScriptedWorld(tmp_path / "w3")
    again = weigh_in(calm, calibration(), record="r3", ledger=ledger)
    assert {one["verdict"] for one in again["contrasts"]} == {"invalid"}
    assert all(one["covered"] for one in again["contrasts"]), "readings stand beside truths yet"
    new = ScriptedWorld(tmp_path / "w4")
    begun = weigh_in(new, calibration(), record="r4", ledger=ledger, new_ledger=True)
    assert "invalid" not in {one["verdict"] for one in begun["contrasts"]}
    assert (begun["ledger"]["weighings"], begun["ledger"]["ledgers"]) == (1, 2)
    assert not begun["ledger"]["off_balance"]
    kinds = [json.loads(line)["type"] for line in ledger.read_text().splitlines()]
    assert kinds == ["weighing", "weighing", "new", "weighing"], "the closed ledger is kept"
    after = weigh_in(ScriptedWorld(tmp_path / "w5"), study_of(), record="r5", ledger=ledger)
    assert after["contrasts"][0]["verdict"] != "invalid"


@pytest.mark.long
def test_another_machine_is_not_blamed(tmp_path: Path, weigh_in: Weigh, ledger: Path) -> None:
    class Elsewhere(ScriptedWorld):
        def environment(self) -> Any:
            return {"machine": {"hostname": "elsewhere"}}

    weigh_in(unbalanced(tmp_path / "w1"), calibration(), record="r1", ledger=ledger)
    here = weigh_in(ScriptedWorld(tmp_path / "w2"), equal_arms(), record="r2", ledger=ledger)
    assert here["contrasts"][0]["verdict"] == "invalid"
    verdict = weigh_in(Elsewhere(tmp_path / "w3"), equal_arms(), record="r3", ledger=ledger)
    assert verdict["contrasts"][0]["verdict"] != "invalid"
    assert verdict["ledger"]["weighings"] == 1


@pytest.mark.long
def test_an_interrupted_weighing_tells_what_it_has_and_goes_on_to_tell_the_rest_once(
    tmp_path: Path, weigh_in: Weigh, ledger: Path
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    world = ScriptedWorld(tmp_path / "w1", noise=0.0)
    world.events[INTERRUPT_AFTER] = [interrupt]
    torn = weigh_in(world, equal_arms(), record="r1", ledger=ledger)
    done = torn["contrasts"][0]["epochs"]
    assert 0 < done < 10
    # Another one comes between; then the first is gone on with, and once more, in vain.
    weigh_in(ScriptedWorld(tmp_path / "w2"), equal_arms(), record="r2", ledger=ledger)
    for rest in ("w3", "w4"):
        world = ScriptedWorld(tmp_path / rest)
        resumed = weigh_in(world, equal_arms(), resume=tmp_path / "r1", ledger=ledger)
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
        later = resumed["contrasts"][0]["epochs"] - done
        assert later > 0
        assert [(line["first_epoch"], len(line["d"])) for line in lines] == [
            (0, done), (0, 10), (done, later)
        ]  # fmt: skip
        assert lines[0]["weighing"] == lines[2]["weighing"] != lines[1]["weighing"]
        assert resumed["ledger"]["weighings"] == 2


def test_a_damaged_line_is_left_out_and_said(tmp_path: Path, weigh_in: Weigh, ledger: Path) -> None:
    listener = Listener()
    ledger.parent.mkdir()
    ledger.write_text('{"type": "weighing", "mach')
    study = equal_arms()
    verdict = weigh_in(ScriptedWorld(tmp_path / "w1"), study, ledger=ledger, progress=listener)
    assert listener.notes == [f"1 line of the ledger could not be read and is left out: {ledger}"]
    assert (verdict["ledger"]["skipped_lines"], verdict["ledger"]["weighings"]) == (1, 1)
    assert "1 damaged line" in render_calibration(Verdict.model_validate(verdict), study, 100)


def test_a_ledger_that_cannot_be_read_is_said_before_anything_is_measured(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    (tmp_path / "records").write_text("a file where a folder is wanted")
    with pytest.raises(RecordError, match="could not read the ledger"):
        weigh_in(world, equal_arms(), ledger=tmp_path / "records" / "ledger.jsonl")
    assert world.slices == 0


def test_a_ledger_that_cannot_be_written_costs_no_weighing(
    world: ScriptedWorld, weigh_in: Weigh, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = Listener()

    def full(*about: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Ledger, "_append", full)
    verdict = weigh_in(world, equal_arms(), ledger=ledger, progress=listener)
    assert listener.notes == ["could not write the ledger: no space left on device"]
    assert verdict["ledger"]["weighings"] == 0
    assert verdict["contrasts"][0]["verdict"] in ("equivalent", "inconclusive")
