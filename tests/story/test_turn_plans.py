"""What a weighing in turns plans from its pilot: how far apart checkpoints are, and how long a turn
of each arm may take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard.engines.capabilities.checkpoints import Cycle, Scaled, WalCounters
from steelyard.model.errors import StudyError
from steelyard.model.turn import Checkpoint
from steelyard.record.plan import Plan
from steelyard.record.reader import read_recorded
from steelyard.record.record import Record
from steelyard.study.study import Study
from story.asked import Watcher, lines, study_of
from story.noop.engine import NoopInstance
from story.scripted import ScriptedWorkload, ScriptedWorld
from story.scripted_engines import ScriptedEngines
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]
S = 1_000_000_000
MB = 1e6


def writing_study(**changes: Any) -> Study:
    return study_of(
        **{
            "layout": "turns",
            "budget": {"turns": "40m", "epochs": 8},
            "decision": {"first_verdict": False},
            "turns": {"time_scale": 1},
            **changes,
        }
    )


@pytest.fixture
def writing(world: ScriptedWorld) -> ScriptedWorld:
    world.writes, world.noise = True, 0.01
    return world


def plan_of_turns(tmp_path: Path) -> Facts:
    turns: Facts = Record(tmp_path / "record").read("plan.json")["turns"]
    return turns


def turns_of(tmp_path: Path) -> list[Facts]:
    return [x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "turn"]


def starts(world: ScriptedWorld) -> int:
    """How many servers were started so far."""
    return sum(call.action == "start" for call in world.noop.calls)


def bursting(world: ScriptedWorld) -> Callable[[NoopInstance], WalCounters]:
    """Log of 40 MB/s for 3 s after a start, then of 1 MB/s."""
    started: dict[int, int] = {}

    def pulse(instance: NoopInstance) -> WalCounters:
        began_ns = started.setdefault(starts(world), world.clock.now)
        since_s = (world.clock.now - began_ns) / S
        written = 40 * MB * min(since_s, 3) + 1 * MB * max(since_s - 3, 0)
        return WalCounters(wal_bytes=written, images=0.0, owed_bytes=written)

    return pulse


@thinned(("cycle_s", "budget"), [(33, "40m"), (150, "3h")], 1)  # 150 s: not seen
def test_turns_of_a_log_that_bursts_after_each_checkpoint_are_long_enough_and_take_what_was_said(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, cycle_s: int, budget: str
) -> None:
    answers = writing.noop.journal.answers
    writing.cycle_ns = cycle_s * S
    answers.pulse = bursting(writing)
    answers.cycle = lambda _: Cycle(10**15, (117 + cycle_s) * MB, 10.0)
    weigh_in(writing, writing_study(budget={"turns": budget, "epochs": 8}))
    turns, planned = turns_of(tmp_path), plan_of_turns(tmp_path)
    assert planned["cycle_seconds"] == pytest.approx({"on": cycle_s, "off": cycle_s}, rel=0.1)
    assert {one["end"] for one in turns} == {"cycles"}
    took_ns = sum(sum(one["phases_ns"].values()) for one in turns)
    assert took_ns <= 1.05 * len(turns) * planned["turn_ns"]


@pytest.mark.long
def test_what_was_told_holds_what_an_epoch_takes_beside_its_load(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Planned(Watcher):
        began_ns = 0

        def plan(self, plan: Plan) -> None:
            self.began_ns = writing.clock.now

    def slow(owner: type, name: str, seconds: int) -> None:
        step = getattr(owner, name)

        def slowly(*arguments: Any) -> Any:
            writing.clock.now += seconds * S
            return step(*arguments)

        monkeypatch.setattr(owner, name, slowly)

    def waiting() -> int:
        until = rested.setdefault(len(writing.evicted), writing.clock.now + 9 * S)
        return (64 << 20) if writing.clock.now < until else 0

    slow(NoopInstance, "restore", 15)
    slow(ScriptedEngines, "evict", 11)
    slow(ScriptedWorkload, "violations", 12)
    planned, rested, writing.waiting = Planned(), dict[int, int](), waiting
    writing.cycle_ns, writing.checkpoint_lasts_ns = 40 * S, 39 * S  # as long as is planned for
    weigh_in(writing, writing_study(budget={"turns": "3h", "epochs": 8}), progress=planned)
    assert Record(tmp_path / "record").read("plan.json")["upkeep"] == "restore"
    took_ns = writing.clock.now - planned.began_ns
    assert took_ns == pytest.approx(8 * 2 * plan_of_turns(tmp_path)["turn_ns"], rel=0.02)


def test_putting_files_back_is_timed_once_servers_have_written_to_them(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven: dict[Path, int] = {}
    restore = NoopInstance.restore

    def restore_what_changed(self: NoopInstance, template: Path) -> int:
        if driven.get(self.directory, 0) < writing.slices:
            driven[self.directory] = writing.slices
            writing.clock.now += 60 * S
        return restore(self, template)

    monkeypatch.setattr(NoopInstance, "restore", restore_what_changed)
    weigh_in(writing, writing_study(budget={"turns": "60m", "epochs": 8}))
    plan = Record(tmp_path / "record").read("plan.json")
    assert plan["upkeep"] == "carry"
    assert "putting the files back takes 2 min" in plan["upkeep_why"]


def test_the_forecast_says_what_further_turns_take(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    writing.noise = 0.6
    [contrast] = weigh_in(writing, writing_study())["contrasts"]
    assert contrast["verdict"] == "inconclusive"
    epoch_s = 2 * plan_of_turns(tmp_path)["turn_ns"] / S
    epochs = contrast["forecast_seconds"] / epoch_s
    assert epochs == pytest.approx(round(epochs), abs=1e-6)
    assert epochs >= 1


@pytest.mark.long
def test_a_turn_that_begins_within_a_cycle_has_no_whole_cycles_and_is_cut_off(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers, planned = writing.noop.journal.answers, list[Plan]()
    every = answers.checkpoints

    class Planned(Watcher):
        def plan(self, plan: Plan) -> None:
            planned.append(plan)

    def late(one: NoopInstance, began_ns: int, now_ns: int) -> Sequence[Checkpoint]:
        if not planned or "late" not in one.settings():
            return every(one, began_ns, now_ns)
        ends = (began_ns + s * S for s in (79, 100))  # once it was no longer waited for
        return [Checkpoint(end - 9 * S, end, "time") for end in ends if end <= now_ns]

    answers.checkpoints = late
    off = {"name": "off", "checksums": False, "settings": {"late": "1"}}
    verdict = weigh_in(writing, writing_study(arms=[off]), progress=Planned())
    for epoch in read_recorded(Record(tmp_path / "record")).epochs:
        on, off_turn = (epoch.totals.turns[arm] for arm in ("on", "off"))
        assert (on.end, on.at_checkpoint, on.cycles, on.whole_cycles) == ("cycles", True, 2, 2)
        assert (off_turn.end, off_turn.at_checkpoint) == ("longest", False)
        assert (off_turn.cycles, off_turn.whole_cycles) == (2, 1)
        lasted_ns = off_turn.seconds[-1].end_ns - off_turn.seconds[0].start_ns
        assert lasted_ns == pytest.approx(90 * S, abs=S)
    [told] = [
        x for x in verdict["contrasts"][0]["threats"] if x["name"] == "no checkpoint in a turn"
    ]
    assert told["invalidates"]
    assert "8 of them did not begin at the end of one" in told["seen"]


def never(settings: Mapping[str, str]) -> bool:
    return "never" in settings


def test_an_arm_without_checkpoints_begins_as_late_and_is_measured_as_long_as_the_others(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers, far = writing.noop.journal.answers, 10**15
    every = answers.checkpoints
    answers.cycle = lambda settings: Cycle(far if never(settings) else 15 * S, 1e15, 10.0)
    answers.checkpoints = lambda one, *when: () if never(one.settings()) else every(one, *when)
    off = {"name": "off", "checksums": False, "settings": {"never": "1"}}
    weigh_in(writing, writing_study(arms=[off]))
    limits = plan_of_turns(tmp_path)["limits"]
    assert limits["off"] == {
        "begin_ns": 30 * S, "wait_ns": 0, "least_ns": 30 * S, "longest_ns": 30 * S
    }  # fmt: skip
    assert limits["on"] == {
        "begin_ns": 15 * S, "wait_ns": 45 * S, "least_ns": 22.5 * S, "longest_ns": 90 * S
    }  # fmt: skip
    for turn in turns_of(tmp_path):
        if turn["arm"] == "off":
            assert age_ns(turn) == 30 * S
            assert turn["phases_ns"]["measure"] == 30 * S
            assert turn["end"] == "longest"


def age_ns(turn: Facts) -> int:
    """Load before a turn was measured."""
    phases: dict[str, int] = turn["phases_ns"]
    return phases["warm up"] + phases["wait for a checkpoint"]


@pytest.mark.long
def test_arms_of_unlike_cycles_are_measured_at_the_same_age_and_for_the_same_time(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    """A server that loses a quarter after 80 s, whatever its settings: equal arms, then."""
    started: dict[int, int] = {}

    def speed(arm: str, life: int) -> float:
        since_ns = writing.clock.now - started.setdefault(life, writing.clock.now)
        return 4000.0 if since_ns < 80 * S else 3000.0

    writing.cycle_ns, writing.checkpoint_lasts_ns, writing.speed = 30 * S, 29 * S, speed
    writing.noop.journal.answers.cycle = lambda settings: Cycle(
        round(30 * S / float(settings.get("nearer", "1"))), 1e15, 10.0
    )
    often = {"name": "off", "checksums": False, "settings": {"nearer": "6"}}
    verdict = weigh_in(writing, writing_study(arms=[often], budget={"turns": "60m", "epochs": 8}))
    for turn in turns_of(tmp_path):
        assert turn["end"] == "cycles"
        assert age_ns(turn) == pytest.approx(60 * S, abs=5 * S)
        assert turn["phases_ns"]["measure"] == pytest.approx(60 * S, abs=5 * S)
    [contrast] = verdict["contrasts"]
    assert contrast["estimate_percent"] == pytest.approx(0, abs=2)
    assert "unequal turns" not in {one["name"] for one in contrast["threats"]}


def test_a_time_scale_beyond_what_an_arms_server_allows_is_refused_and_the_largest_named(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    answers = writing.noop.journal.answers
    stiff = {"name": "off", "checksums": False, "settings": {"stiff": "1"}}
    answers.cycle = lambda one: Cycle(15 * S, 1e15, 10 / 3 if "stiff" in one else 20.0)
    with pytest.raises(StudyError, match=r"time_scale = 4 is more .*: 3\.33 at most") as refused:
        weigh_in(writing, writing_study(arms=[stiff], turns={"time_scale": 4}))
    assert 'arm "off"' in (refused.value.detail or "")
    assert "turns.time_scale=3.33," in (refused.value.hint or "")
    assert writing.slices == 0, "refused before any load"
    allowed = ScriptedWorld(tmp_path / "allowed", writes=True)
    allowed.noop.journal.answers.cycle = answers.cycle
    assert weigh_in(allowed, writing_study(arms=[stiff], turns={"time_scale": 3.33}))


def test_the_sentence_names_the_factor_that_the_servers_really_took(
    writing: ScriptedWorld, weigh_in: Weigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(settings: Mapping[str, str], factor: float) -> Scaled:
        return Scaled({"nearer": f"{round(factor)}"}, Cycle(15 * S, 1e15, 1.0).at(round(factor)))

    monkeypatch.setattr(writing.noop, "scaled", whole)
    verdict = weigh_in(writing, writing_study(turns={"time_scale": 2.4}))
    assert plan_of_turns(tmp_path)["nearer"] == {"on": 2.0, "off": 2.0}
    assert ", 2 times as near as the settings have it" in verdict["contrasts"][0]["sentence"]
