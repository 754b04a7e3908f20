"""A weighing in turns: one arm alone, whole checkpoint cycles, one reading an epoch."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import StudyError
from steelyard.model.turn import Checkpoint
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.record.slice import SliceLine
from steelyard.running.turns.seconds import SecondBySecond
from steelyard.study.study import Study
from story.asked import Watcher, lines, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


def writing_study(**changes: Any) -> Study:
    return study_of(
        **{
            "layout": "turns",
            "budget": {"turns": "20m", "epochs": 8},
            "decision": {"first_verdict": False},
            **changes,
        }
    )


@pytest.fixture
def writing(world: ScriptedWorld) -> ScriptedWorld:
    world.writes, world.noise = True, 0.01
    return world


def turns_of(tmp_path: Path, record: str = "record") -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl", record) if x["type"] == "turn"]


def test_a_treatment_of_checkpoints_on_work_that_waits_for_the_device_is_weighed_in_turns(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    watcher = Watcher()
    asked = writing_study(layout="auto", bound="storage")
    verdict = weigh_in(writing, asked, progress=watcher)
    assert verdict["layout"] == "turns"
    [told] = [note for note in watcher.notes if note.startswith("layout: turns")]
    assert "data_checksums acts through checkpoints" in told
    assert told.endswith("in all")
    [before] = [note for note in watcher.notes if note.startswith("in turns, for 20 min at most")]
    assert "each arm watched alone for up to 18.8 s" in before
    assert watcher.notes.index(before) < watcher.notes.index(told)
    plan = Record(tmp_path / "record").read("plan.json")
    assert plan["layout"] == "turns"
    assert len(turns_of(tmp_path)) == 2 * plan["epochs"]


def test_each_arm_stands_alone_in_its_turn_with_every_arms_files_evicted(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, writing_study())
    up: set[Path] = set()
    most = 0
    calls = writing.noop.calls
    ends = ("stop", "discard")
    inspected = [n for n, call in enumerate(calls) if call.action in ends][1]
    for call in calls[inspected + 1 :]:
        if call.action == "start":
            up.add(call.directory)
            most = max(most, len(up))
        elif call.action in ends:
            up.discard(call.directory)
    assert most == 1
    turns = turns_of(tmp_path)
    assert len(writing.evicted) == len(turns) + 2, "before every turn, and in the pilot"
    for told in Record(tmp_path / "record").read("verdict.json")["turns"]["sums"]:
        assert told["first_files_bytes"] is None, "files are put back before each epoch"
    assert all(len(set(directories)) == 2 for directories in writing.evicted)
    assert all(len(plan.arms) == 1 for plan in writing.plans_driven)


def test_a_turn_is_measured_from_the_end_of_a_checkpoint_to_the_end_of_the_second_after_it(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, writing_study(turns={"time_scale": 1}))
    record = Record(tmp_path / "record")
    for turn in read_recorded(record).epochs[3].totals.turns.values():
        assert turn.end == "cycles"
        assert turn.cycles == 2
        start, end = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
        ends = [one.ended_ns for one in turn.checkpoints if one.ended_ns is not None]
        before = max(one for one in ends if one <= start)
        after = [one for one in ends if one > before]
        assert start - before < 2_000_000_000  # a slice is a second
        assert 0 <= end - after[1] < 2_000_000_000


def test_cycles_shorter_than_half_the_least_time_are_measured_whole(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns, writing.checkpoint_lasts_ns = 3_700_000_000, 2_000_000_000
    weigh_in(writing, writing_study(turns={"time_scale": 1}))
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        for turn in epoch.totals.turns.values():
            start, end = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
            ends = [one.ended_ns for one in turn.checkpoints if one.ended_ns is not None]
            assert turn.end == "cycles"
            assert turn.cycles == 3, "two take less than ten seconds"
            assert start - max(one for one in ends if one <= start) < 1_000_000_000
            assert end - max(one for one in ends if one <= end) < 1_000_000_000


def test_a_checkpoint_that_ends_after_a_second_did_is_the_next_seconds(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps: list[int] = []
    run = SecondBySecond.run

    def run_and_pause(self: SecondBySecond, *how: Any) -> SliceLine:
        line = run(self, *how)
        gaps.append(writing.clock.now)
        writing.clock.now += 300_000_000  # until it is seen whether the turn is over
        return line

    def ends_in_gaps(one: NoopInstance, began_ns: int, now_ns: int) -> list[Checkpoint]:
        own = [gap + 100_000_000 for gap in gaps if began_ns <= gap < now_ns]
        return [Checkpoint(end - 9_000_000_000, end, "time") for end in own[14::15]]

    monkeypatch.setattr(SecondBySecond, "run", run_and_pause)
    writing.noop.journal.answers.checkpoints = ends_in_gaps
    weigh_in(writing, writing_study(turns={"time_scale": 1}))
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        for turn in epoch.totals.turns.values():
            assert (turn.end, turn.cycles) == ("cycles", 2)


@pytest.mark.long
def test_a_turn_that_waits_for_a_further_end_is_bounded_all_the_same(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns, writing.checkpoint_lasts_ns = 3_700_000_000, 2_000_000_000
    writing.noise, answers = 0.0, writing.noop.journal.answers
    every = answers.checkpoints
    writing.noop.journal.answers = replace(answers, checkpoints=lambda *when: every(*when)[:8])
    weigh_in(writing, writing_study(turns={"time_scale": 1}))
    for turn in read_recorded(Record(tmp_path / "record")).epochs[0].totals.turns.values():
        assert (turn.end, turn.cycles) == ("longest", 2)
        assert 33 <= len(turn.seconds) <= 35, "three times the three cycles"


def test_every_order_of_the_arms_comes_equally_often_and_slots_are_drawn(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, writing_study())
    first = [one["arm"] for one in turns_of(tmp_path) if one["position"] == 0]
    assert first.count("on") == first.count("off") == len(first) / 2
    slots = [(one["arm"], one["slot"]) for one in turns_of(tmp_path)]
    assert len(set(slots)) == 4


def test_the_reading_of_an_epoch_is_the_ratio_of_work_per_second_over_whole_cycles(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    writing.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0
    verdict = weigh_in(writing, writing_study())
    [contrast] = verdict["contrasts"]
    assert contrast["verdict"] == "faster"
    assert contrast["low_percent"] < 10 < contrast["high_percent"]
    assert abs(contrast["estimate_percent"] - 10) < 1
    assert "8 epochs in turns, a checkpoint every 15 s)" in contrast["sentence"]
    assert verdict["time_scale"] == 1
    assert verdict["distance_seconds"] == pytest.approx(15, abs=0.1)
    by_distance = {one["seconds"]: one["estimate_percent"] for one in verdict["by_distance"]}
    assert {5, 10} <= set(by_distance)
    assert all(abs(percent - 10) < 1.5 for percent in by_distance.values())


@pytest.mark.long
def test_a_weighing_killed_in_a_turn_loses_that_turn_and_no_other(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Killed(BaseException):
        """What kill -9 is to the code: no handler of ours sees it."""

    def kill() -> None:
        raise Killed

    def fresh(name: str) -> ScriptedWorld:
        return ScriptedWorld(tmp_path / name, noise=0.0, writes=True)

    whole = fresh("whole")
    weigh_in(whole, writing_study(), record="whole")
    torn = fresh("torn")
    kept = Watcher()
    torn.events[round(0.73 * whole.slices)] = [kill]
    with pytest.raises(Killed):
        weigh_in(torn, writing_study(), record="torn", progress=kept)
    done = turns_of(tmp_path, "torn")
    assert len(done) % 2, "it was killed in the second turn of an epoch"
    again = fresh("again")
    verdict = weigh_in(again, resume=tmp_path / "torn")
    every = turns_of(tmp_path, "torn")
    assert len(every) == len(turns_of(tmp_path, "whole"))
    assert every[: len(done)] == done
    assert [(one["epoch"], one["arm"]) for one in every] == [
        (one["epoch"], one["arm"]) for one in turns_of(tmp_path, "whole")
    ]
    expected = json.loads((tmp_path / "whole" / "verdict.json").read_text())
    assert verdict["contrasts"][0]["details"]["d"] == pytest.approx(
        expected["contrasts"][0]["details"]["d"], abs=1e-9
    )


@pytest.mark.long
def test_an_arm_that_crashes_in_its_turn_did_no_work_and_the_other_has_its_own(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    quiet = ScriptedWorld(tmp_path / "count", writes=True, noise=0.0)
    weigh_in(quiet, writing_study(), record="count")

    def crash() -> None:
        writing.running_arms["off" if "off" in writing.running_arms else "on"].crash()

    writing.noise = 0.0
    writing.events[quiet.slices // 2] = [crash]
    verdict = weigh_in(writing, writing_study())
    outcomes = [
        (x["outcome"], len(x["violations"]))
        for x in lines(tmp_path, "telemetry.jsonl")
        if x["type"] == "epoch"
    ]
    lost = [one for one in outcomes if one[0] != "complete"]
    assert len(lost) == 1
    assert lost[0][0].startswith("crashed: ")
    assert lost[0][1] == 1, "the other arm had its turn"
    assert "an arm crashed" in [t["name"] for t in verdict["contrasts"][0]["threats"]]


@pytest.mark.long
def test_an_arm_that_never_checkpoints_is_measured_for_the_longest_turn(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns = 0
    weigh_in(writing, writing_study())
    turns = turns_of(tmp_path)
    assert {one["end"] for one in turns} == {"longest"}
    assert all(one["checkpoints"] == [] for one in turns)


def test_checkpoints_without_end_are_measured_for_at_least_ten_seconds(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns, writing.checkpoint_lasts_ns = 200_000_000, 150_000_000
    weigh_in(writing, writing_study(turns={"time_scale": 1}))
    totals = read_recorded(Record(tmp_path / "record")).epochs[0].totals
    for turn in totals.turns.values():
        assert turn.cycles > 10
        assert len(turn.seconds) >= 10


def test_a_budget_too_short_for_eight_epochs_of_turns_says_what_they_take(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    with pytest.raises(StudyError, match="too short for 8 epochs in turns: 40 s") as refused:
        weigh_in(writing, writing_study(budget={"turns": "40s"}))
    assert "--set layout=slices" in (refused.value.hint or "")
    assert not writing.noop.calls[1:], "refused before anything was started"


def test_a_budget_that_the_arms_checkpoints_exceed_is_refused_after_the_pilot(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    writing.cycle_ns = 300_000_000_000
    with pytest.raises(StudyError, match="where they take about") as refused:
        weigh_in(writing, writing_study(budget={"turns": "10m"}))
    assert "--budget 32m" in (refused.value.hint or "")


def test_turns_that_hold_few_transactions_of_a_client_are_refused_after_the_pilot(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    budget = {"turns": "3h", "epochs": 8}
    writing.speed = lambda arm, life: 4.0 if arm == "on" else 2.0  # 4 clients: 2 s of off
    with pytest.raises(StudyError, match="a transaction takes about 2 s") as refused:
        weigh_in(writing, writing_study(budget=budget, turns={"time_scale": 1, "measured": "30s"}))
    assert "at least 20 transactions of each" in (refused.value.detail or "")
    assert "budget.counted={each = 1, blocks = 2, warmup = 0}" in (refused.value.hint or "")


def test_a_budget_that_holds_the_arms_own_distance_leaves_it(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, writing_study(budget={"turns": "40m", "epochs": 8}))
    assert Record(tmp_path / "record").read("plan.json")["turns"]["time_scale"] == 1


@pytest.mark.long
def test_a_budget_that_does_not_brings_all_arms_checkpoints_nearer_alike(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.cycle_ns = 120_000_000_000
    weigh_in(writing, writing_study(budget={"turns": "40m", "epochs": 8}))
    turns = Record(tmp_path / "record").read("plan.json")["turns"]
    assert 1 < turns["time_scale"] <= 10
    assert {one["nearer"] for one in turns["settings"].values()} == {f"{turns['time_scale']:g}"}


def test_slices_can_be_insisted_on(writing: ScriptedWorld, weigh_in: Weigh) -> None:
    study = writing_study(layout="slices", budget={"measuring": "30s"})
    assert weigh_in(writing, study)["layout"] == "slices"


def test_work_that_only_reads_stays_in_slices(world: ScriptedWorld, weigh_in: Weigh) -> None:
    assert (
        weigh_in(world, writing_study(layout="auto", budget={"measuring": "30s"}))["layout"]
        == "slices"
    )


def test_every_phase_of_a_turn_is_told_with_the_time_left_of_the_whole_weighing(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    watcher = Watcher()
    weigh_in(writing, writing_study(), progress=watcher)
    plan = Record(tmp_path / "record").read("plan.json")
    turns, expected_s = 2 * plan["epochs"], plan["turns"]["turn_ns"] / 1e9
    told = list(zip(watcher.phases, watcher.seconds_left, strict=True))
    begins = [left for (_, _, phase), left in told if phase == "evict"]
    assert len(begins) == turns
    assert begins[0] == pytest.approx(turns * expected_s), "what the plan expects"
    took_s = writing.clock.now / 1e9 / turns
    assert begins[-1] == pytest.approx(took_s, rel=0.2), "what the turns before it took"
    for before, after in pairwise([left for _, left in told][len(told) // 2 :]):
        assert after <= before + 0.2 * took_s


@pytest.mark.long
def test_the_time_left_counts_each_arms_turns_by_its_own(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    watcher, answers = Watcher(), writing.noop.journal.answers
    every = answers.checkpoints
    answers.checkpoints = lambda one, *when: () if "late" in one.settings() else every(one, *when)
    late = {"name": "off", "checksums": False, "settings": {"late": "1"}}
    weigh_in(writing, writing_study(arms=[late]), progress=watcher)
    told = list(zip(watcher.phases, watcher.seconds_left, strict=True))
    begins = [(arm, left) for (_, arm, phase), left in told if phase == "evict"]
    fell: dict[str, list[float]] = {"on": [], "off": []}
    for (arm, before), (_, after) in list(pairwise(begins))[4:]:
        fell[arm].append(before - after)
    assert min(fell["off"]) > 1.3 * max(fell["on"]), "it waits in vain, and is cut off"


def test_a_device_that_does_not_rest_is_waited_for_ten_seconds_and_said(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.waiting = lambda: 64 << 20
    weigh_in(writing, writing_study())
    turns = turns_of(tmp_path)
    assert not any(one["quiet"] for one in turns)
    assert writing.paused_ns == pytest.approx((len(turns) + 2) * 10e9, rel=0.02), "in the pilot too"
