"""A weighing in cycles: all arms up, one awake at a time, whole cycles of own time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.capabilities.checkpoints import Cycle
from steelyard.model.errors import ServerError, StudyError
from steelyard.model.turn import Checkpoint
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from story.asked import Watcher, cut_at, cycles_study, lines
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
S = 1_000_000_000


@pytest.fixture
def writing(world: ScriptedWorld) -> ScriptedWorld:
    world.writes, world.noise = True, 0.01
    return world


def epochs_of(tmp_path: Path) -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]


@pytest.mark.long
def test_equal_arms_read_zero_and_a_slower_one_its_loss(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    verdict = weigh_in(writing, cycles_study())
    assert verdict["layout"] == "cycles"
    [contrast] = verdict["contrasts"]
    assert contrast["low_percent"] < 0 < contrast["high_percent"]
    assert contrast["epochs"] == 8
    speed = {"on": 4000.0, "off": 3800.0}
    other = ScriptedWorld(tmp_path / "other", lambda arm, life: speed[arm], 0.01, writes=True)
    [slower] = weigh_in(other, cycles_study(), record="slower")["contrasts"]
    assert slower["verdict"] == "slower"
    assert slower["low_percent"] < -5 < slower["high_percent"]


def test_only_the_arm_under_load_is_awake(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study())
    slices = lines(tmp_path, "slices.jsonl")
    in_epochs = [
        (awake, line) for awake, line in zip(writing.awake, slices, strict=True)
        if line["epoch"] >= 0
    ]  # fmt: skip
    assert in_epochs
    assert all(awake == (line["arm"],) for awake, line in in_epochs)
    assert not any(one.suspended for one in writing.running_arms.values())


@pytest.mark.long
def test_every_arm_takes_one_slice_in_each_block(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study())
    slices = [line for line in lines(tmp_path, "slices.jsonl") if line["epoch"] == 3]
    pairs = list(zip(slices[::2], slices[1::2], strict=True))
    assert all({one["arm"], two["arm"]} == {"on", "off"} for one, two in pairs)
    firsts = [one["arm"] for one, _ in pairs]
    assert 0.3 < firsts.count("on") / len(firsts) < 0.7


def test_an_arm_is_measured_from_the_begin_of_a_checkpoint_to_the_begin_of_the_second_after_it(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study(turns={"time_scale": 1}))
    slice_ns = Record(tmp_path / "record").read("plan.json")["slice_ns"]
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        for window in epoch.totals.turns.values():
            assert (window.end, window.at_checkpoint, window.cycles) == ("cycles", True, 2)
            begins = [one.began_ns for one in window.checkpoints]
            start, end = window.seconds[0].start_ns, window.seconds[-1].end_ns
            before = max(one for one in begins if one <= start)
            assert start - before <= 2 * slice_ns
            after = [one for one in begins if one > before]
            assert abs(end - after[1]) <= 2 * slice_ns
            assert end - start == pytest.approx(2 * 15 * S, abs=2 * slice_ns)


@pytest.mark.long
def test_own_time_leaves_out_the_slices_of_the_others(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study())
    for epoch in epochs_of(tmp_path):
        slices = [
            line for line in lines(tmp_path, "slices.jsonl") if line["epoch"] == epoch["epoch"]
        ]
        for arm, window in epoch["windows"].items():
            own = [line for line in slices if line["arm"] == arm]
            measured = [line for line in own if line["kind"] == "measured"]
            assert len(window["starts_ns"]) == len(measured)
            before = [line for line in own if line["start_ns"] < measured[0]["start_ns"]]
            assert window["starts_ns"][0] == sum(x["end_ns"] - x["start_ns"] for x in before)


@pytest.mark.long
def test_an_arm_that_is_through_stays_in_the_blocks_until_the_last_one_is(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers = writing.noop.journal.answers
    every = answers.checkpoints
    answers.checkpoints = lambda one, *when: (
        () if one.settings()["data_checksums"] == "off" else every(one, *when)
    )
    weigh_in(writing, cycles_study())
    [epoch] = [one for one in epochs_of(tmp_path) if one["epoch"] == 0]
    assert epoch["windows"]["off"]["end"] == "longest"
    assert epoch["windows"]["on"]["end"] == "cycles"
    slices = [line for line in lines(tmp_path, "slices.jsonl") if line["epoch"] == 0]
    beyond = [line for line in slices if line["kind"] == "beyond"]
    assert {line["arm"] for line in beyond} == {"on"}
    assert len({line["arm"] for line in slices[-2:]}) == 2


def test_processor_time_of_an_arm_that_stands_still_makes_the_verdict_invalid(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    writing.noop.journal.answers.suspended_use_ns = 2_000_000
    [contrast] = weigh_in(writing, cycles_study())["contrasts"]
    assert contrast["verdict"] == "invalid"
    held = [one for one in contrast["threats"] if one["name"] == "not held still"]
    assert held
    assert all(one["invalidates"] for one in held)


def broken_by(world: ScriptedWorld, change: Callable[..., list[Checkpoint]]) -> None:
    """Checkpoints of "off" are what `change` makes of a server, the begin of its watch and now."""
    answers = world.noop.journal.answers
    every = answers.checkpoints

    def changed(one: NoopInstance, began_ns: int, now_ns: int) -> Sequence[Checkpoint]:
        if one.running and one.settings()["data_checksums"] == "off":
            return change(every, one, began_ns, now_ns)
        return every(one, began_ns, now_ns)

    answers.checkpoints = changed


def fatal(verdict: Facts) -> set[str]:
    [contrast] = verdict["contrasts"]
    return {one["name"] for one in contrast["threats"] if one["invalidates"]}


def test_checkpoints_of_one_arm_by_a_clock_that_is_not_scaled_make_the_verdict_invalid(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    """As if its timeout had not been multiplied by the number of arms."""

    def by_the_wall(every: Any, one: NoopInstance, began_ns: int, now_ns: int) -> list[Checkpoint]:
        return [
            Checkpoint(at, at + S, "time")
            for at in range(began_ns + writing.cycle_ns, now_ns + 1, writing.cycle_ns)
        ]

    broken_by(writing, by_the_wall)
    verdict = weigh_in(writing, cycles_study(turns={"time_scale": 1}))
    assert verdict["contrasts"][0]["verdict"] == "invalid"
    assert fatal(verdict) == {"clock ahead of own time"}


@pytest.mark.long
def test_checkpoints_that_are_seen_seconds_late_cut_cycles_in_the_middle(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    def late(every: Any, one: NoopInstance, began_ns: int, now_ns: int) -> list[Checkpoint]:
        return [x for x in every(one, began_ns, now_ns) if x.began_ns <= now_ns - 8 * S]

    broken_by(writing, late)
    verdict = weigh_in(writing, cycles_study(turns={"time_scale": 1}))
    assert verdict["contrasts"][0]["verdict"] == "invalid"
    assert fatal(verdict) == {"cycles cut"}


@pytest.mark.long
def test_a_lost_arm_is_an_outcome_and_leaves_nothing_suspended(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study())
    again = ScriptedWorld(tmp_path / "again", noise=0.01, writes=True)

    def die() -> None:
        again.running_arms["off"].crash()

    again.events[writing.slices // 2] = [die]
    weigh_in(again, cycles_study(), record="again")
    outcomes = [x["outcome"] for x in lines(tmp_path, "telemetry.jsonl", "again")
                if x["type"] == "epoch"]  # fmt: skip
    assert outcomes.count("crashed: off") == 1
    assert not any(one.suspended for one in again.running_arms.values())


def test_a_budget_that_is_too_short_says_what_it_takes(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    for budget, known in (("1m", "at least"), ("8m", "about")):
        study = cycles_study(budget={"cycles": budget})
        writing.cycle_ns = 300 * S
        with pytest.raises(StudyError, match="too short for 8 epochs in cycles") as short:
            weigh_in(writing, study)
        assert known in str(short.value)
        assert "--budget" in (short.value.hint or "")


@pytest.mark.long
def test_an_interrupted_weighing_goes_on_with_the_epoch_that_was_torn(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    whole = weigh_in(writing, cycles_study(), record="whole")

    def interrupt() -> None:
        raise KeyboardInterrupt

    torn = ScriptedWorld(tmp_path / "torn", noise=0.01, writes=True)
    torn.events[writing.slices // 2] = [interrupt]
    weigh_in(torn, cycles_study())
    again = ScriptedWorld(tmp_path / "again", noise=0.01, writes=True)
    verdict = weigh_in(again, resume=tmp_path / "record")
    assert verdict["resumed"]
    assert verdict["contrasts"][0]["epochs"] == whole["contrasts"][0]["epochs"] == 8
    epochs = {name: lines(tmp_path, "telemetry.jsonl", name) for name in ("record", "whole")}
    resumed, straight = ([x for x in own if x["type"] == "epoch"] for own in epochs.values())
    drawn = ("epoch", "slots", "start_order")
    assert [[x[key] for key in drawn] for x in resumed] == [
        [x[key] for key in drawn] for x in straight
    ]
    torn_at = [x["epoch"] for x in resumed if x["attempt"] == 2]
    assert len(torn_at) == 1
    assert 0 < torn_at[0] < 7
    before = [cut_at(x) for x in resumed[: torn_at[0]]]
    assert before == [cut_at(x) for x in straight[: torn_at[0]]], "no epoch before it is lost"


def test_what_it_takes_is_said_before_it_begins_and_progress_names_what_is_done(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    watcher = Watcher()
    weigh_in(writing, cycles_study(), progress=watcher)
    assert any(note.startswith("in cycles, for 40 min at most") for note in watcher.notes)
    assert any(note.startswith("layout: cycles (the study says so)") for note in watcher.notes)
    assert {phase for _, _, phase in watcher.phases} == {"warm up", "measure"}
    assert all(left is None or left >= 0 for left in watcher.seconds_left)


@pytest.mark.long
def test_the_sentence_says_what_the_interval_rests_on(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    verdict = weigh_in(writing, cycles_study())
    assert "8 epochs in cycles, a checkpoint every" in json.dumps(verdict["sentence"])


@pytest.mark.long
def test_an_arm_that_cannot_be_held_still_is_named_and_nothing_is_left_suspended(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(writing, cycles_study())
    again = ScriptedWorld(tmp_path / "again", noise=0.01, writes=True)
    again.events[writing.slices // 2] = [
        lambda: again.noop.failures.update(
            {"suspend": [ServerError("could not freeze a server", detail="Its threads ran.")]}
        )
    ]
    weigh_in(again, cycles_study(), record="again")
    epochs = [x for x in lines(tmp_path, "telemetry.jsonl", "again") if x["type"] == "epoch"]
    [lost] = [x for x in epochs if x["outcome"] != "complete"]
    assert re.match(
        'failed: could not hold arm "(on|off)" still: could not freeze a server', lost["outcome"]
    )
    assert "Its threads ran." in " ".join(lost["error"])
    assert not any(one.suspended for one in again.running_arms.values())


@thinned("number", [3, 8], 1)
def test_of_many_arms_too_one_is_awake_and_each_has_a_slice_in_every_block(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, number: int
) -> None:
    arms = [{"name": f"arm{n}", "checksums": True} for n in range(1, number)]
    budget = {"cycles": "8h", "epochs": 8}
    verdict = weigh_in(writing, cycles_study(arms=arms, budget=budget))
    assert len(verdict["contrasts"]) == number - 1
    slices = [line for line in lines(tmp_path, "slices.jsonl") if line["epoch"] == 2]
    blocks = [slices[at : at + number] for at in range(0, len(slices), number)]
    assert all(len({line["arm"] for line in block}) == number for block in blocks)
    in_epochs = writing.awake[-len(slices) :]
    assert {len(awake) for awake in in_epochs} == {1}
    settings = Record(tmp_path / "record").read("plan.json")["turns"]["settings"]
    assert {each["own_time"] for each in settings.values()} == {str(number)}
    for epoch in epochs_of(tmp_path):
        assert {window["end"] for window in epoch["windows"].values()} == {"cycles"}


@pytest.fixture
def continuous(writing: ScriptedWorld) -> ScriptedWorld:
    """Servers that checkpoint all the time; their log, of 1 MB a second, turns over in 15 s."""
    answers = writing.noop.journal.answers
    answers.checkpoints = lambda *_: ()
    answers.cycle = lambda _: Cycle(
        10**18, 15e6, 10.0, continuous=True, round_ns=950_000_000
    )  # fmt: skip
    return writing


@thinned("layout", ["cycles", "turns"], 1)
def test_servers_that_checkpoint_all_the_time_are_measured_at_one_age_for_one_time(
    continuous: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, layout: str
) -> None:
    budget = {layout: "60m", "epochs": 8}
    verdict = weigh_in(continuous, cycles_study(layout=layout, budget=budget))
    plan = Record(tmp_path / "record").read("plan.json")
    turns = plan["turns"]
    assert (turns["continuous"], turns["time_scale"]) == (True, 1.0)
    assert turns["stated_ns"] == pytest.approx(2 * 15 * S, rel=0.1)
    assert plan["slice_ns"] == (950_000_000 if layout == "cycles" else S)
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        each = list(epoch.totals.turns.values())
        assert {one.end for one in each} == {"stated"}
        assert len({round(one.age_ns / plan["slice_ns"]) for one in each}) == 1
        for one in each:
            assert one.loaded_ns == pytest.approx(turns["stated_ns"], abs=2 * plan["slice_ns"])
            assert one.age_ns >= 2 * 15 * S - 2 * plan["slice_ns"], "after 25 s, whole turns"
    [contrast] = verdict["contrasts"]
    assert "of each arm measured" in json.dumps(verdict["sentence"])
    names = {threat["name"] for threat in contrast["threats"]}
    assert names.isdisjoint({"no checkpoint in a turn", "unequal turns", "no steady state"})
    report = (tmp_path / "record" / "report.html").read_text()
    assert "its server checkpoints all the time" in report
    assert "It was to turn over every 15 s in on" in report.replace("\N{NO-BREAK SPACE}", " ")


def test_what_turns_tell_beside_a_contrast_is_told_in_cycles_and_the_sentence_names_f(
    writing: ScriptedWorld, weigh_in: Weigh
) -> None:
    """Arms at the same distance from a checkpoint differ by 10 %, wherever the machine is."""
    writing.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0
    verdict = weigh_in(writing, cycles_study(turns={"time_scale": 1.5}))
    by_distance = {one["seconds"]: one["estimate_percent"] for one in verdict["by_distance"]}
    assert {5, 10} <= set(by_distance)
    assert all(abs(percent - 10) < 1.5 for percent in by_distance.values())
    told = verdict["turns"]
    assert [one["from_seconds"] for one in told["curve"]][:4] == [0, 1, 2, 5]
    assert all(abs(one["estimate_percent"] - 10) < 1.5 for one in told["curve"])
    assert {"throughput_mean", "throughput_cv"} <= {one["metric"] for one in told["evenness"]}
    assert {one["arm"]: one["turns"] for one in told["sums"]} == {"on": 8, "off": 8}
    assert verdict["causes"]
    assert verdict["time_scale"] == 1.5
    assert "1.5 times as near" in verdict["sentence"]
