"""What is not alike for both arms of a turn is seen, and sound turns raise nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.turns.made import MB, make_turn
from evaluation.made import make_plan
from steelyard.evaluation.threats.run import plan_threats
from steelyard.evaluation.threats.turn_facts import (
    DeviceWasBusy,
    DirectoryNotDrawn,
    FilesStayedResident,
    LogGrew,
    MeasuredTime,
    NoPauseBetweenCheckpoints,
    ReadingAged,
    ResidencyUnknown,
    TurnsCutOff,
    TurnsNotLevel,
    TurnsUnequal,
    WaitingBytesGrew,
)
from steelyard.evaluation.threats.turns import turn_threats
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import Observation
from steelyard.model.turn import Checkpoint, Debt, Turn

Change = Callable[[int], dict[str, Any]]
"""Epoch → what is otherwise in a turn."""
BASE = make_turn("on")
WHOLE = sum(second.wal_bytes for second in BASE.seconds)


def nothing(_: int) -> dict[str, Any]:
    return {}


def epochs_of(
    on: Change = nothing, off: Change = nothing, n: int = 10, effect: Change = nothing
) -> list[EpochTotals]:
    """Sound epochs, except for what is changed."""
    rng = np.random.default_rng(7)
    slots = rng.permuted([0, 1] * (n // 2))
    epochs = []
    for number in range(n):
        d = float(rng.normal(0, 0.03)) + effect(number).get("d", 0.0)
        counts = {"on": 100_000, "off": round(100_000 * math.exp(d))}
        arms = {
            name: ArmTotals(name, i, 8, counts[name], 480 * 10**9, 480 * 10**9)
            for i, name in enumerate(counts)
        }
        turns = {
            name: dataclasses.replace(BASE, arm=name, **change(number))
            for name, change in (("on", on), ("off", off))
        }
        places = {"on": int(slots[number]), "off": 1 - int(slots[number])}
        epochs.append(EpochTotals(number, places, ("on", "off"), arms, turns=turns))
    return epochs


def raised(epochs: list[EpochTotals], **plan: Any) -> list[Observation]:
    return list(turn_threats(epochs, make_plan(layout="turns", **plan), "on", "off"))


def only(epochs: list[EpochTotals], **plan: Any) -> Observation:
    [observed] = raised(epochs, **plan)
    return observed


def cut_off_in(epochs: list[EpochTotals], **plan: Any) -> TurnsCutOff:
    observed = only(epochs, **plan)
    assert isinstance(observed, TurnsCutOff)
    return observed


def test_sound_turns_raise_nothing() -> None:
    assert raised(epochs_of()) == []
    assert raised([]) == []


def test_epochs_without_a_turn_of_both_arms_are_left_out() -> None:
    lost = [dataclasses.replace(epoch, turns={"on": BASE}) for epoch in epochs_of()]
    assert raised(lost) == []


def test_files_that_stay_in_the_cache_of_one_arm_make_the_verdict_invalid() -> None:
    observed = only(epochs_of(off=lambda n: {"resident_share": 0.3 + 0.02 * n}))
    assert observed == FilesStayedResident(
        "on", "off", (0, 10), 10, share=pytest.approx(0.48), arms_differ=True
    )
    assert observed.name == "files not evicted"
    assert observed.invalidates


def test_files_that_stay_in_both_arms_alike_or_once_are_a_doubt_only() -> None:
    stay = {"resident_share": 0.3}
    alike = only(epochs_of(on=lambda n: stay, off=lambda n: stay))
    once = only(epochs_of(off=lambda n: stay if n == 4 else {}))
    assert not alike.invalidates
    assert not once.invalidates
    assert once == FilesStayedResident("on", "off", (0, 1), 10, share=0.3, arms_differ=False)


@pytest.mark.parametrize("share", [0.0, 0.009, math.nan])
def test_little_left_in_the_cache_or_nothing_known_of_it_is_no_threat(share: float) -> None:
    assert raised(epochs_of(off=lambda n: {"resident_share": share})) == []


def test_files_of_which_nothing_is_known_in_either_arm_are_a_doubt() -> None:
    unknown = {"resident_share": math.nan}
    observed = only(epochs_of(on=lambda n: unknown, off=lambda n: unknown))
    assert observed == ResidencyUnknown()
    assert not observed.invalidates


def test_a_busy_device_is_told_with_what_waited_and_before_which_arm() -> None:
    busy = {"quiet": False, "waiting_bytes": 200.0 * MB}
    twice = only(epochs_of(on=lambda n: busy if n in (1, 2) else {}))
    assert twice == DeviceWasBusy(
        "on", "off", (2, 0), 10, waiting_bytes=200.0 * MB, arms_differ=False
    )
    assert twice.name == "device busy"
    always = only(epochs_of(on=lambda n: busy))
    assert always == DeviceWasBusy(
        "on", "off", (10, 0), 10, waiting_bytes=200.0 * MB, arms_differ=True
    )
    assert not always.invalidates


def test_a_turn_without_its_checkpoints_is_told_with_its_length() -> None:
    every = only(epochs_of(off=lambda n: {"end": "longest", "checkpoints": ()}))
    assert every == TurnsCutOff(
        "off", 10, 10, median_ns=60e9, completed=(0, 0), within_cycle=0, arms_differ=False
    )
    assert every.name == "no checkpoint in a turn"
    some = only(epochs_of(off=lambda n: {"end": "longest"} if n % 2 else {}))
    assert some == TurnsCutOff(
        "off", 5, 10, median_ns=60e9, completed=(2, 2), within_cycle=0, arms_differ=False
    )


def cut_off(often: int) -> Change:
    return lambda n: {"end": "longest", "checkpoints": ()} if n < often else {}


PLANNED = {
    "time_scale": 1, "time_scale_why": "", "cycles": 2, "warmup_cap_ns": 1, "wait_ns": 1,
    "longest_ns": 1, "turn_ns": 1, "cycle_seconds": {"on": 30.0, "off": 30.0},
}  # fmt: skip


def test_one_arm_cut_off_before_checkpoints_of_both_is_invalid_and_raised_first() -> None:
    busy = {"quiet": False, "waiting_bytes": 200.0 * MB}
    epochs = epochs_of(on=lambda n: busy, off=cut_off(7))
    first, second = raised(epochs, turns=PLANNED)
    assert first == TurnsCutOff(
        "off", 7, 10, median_ns=60e9, completed=(0, 0), within_cycle=0, arms_differ=True
    )
    assert first.invalidates
    assert second.name == "device busy"
    more, fewer = raised(epochs_of(on=cut_off(2), off=cut_off(10)), turns=PLANNED)
    assert (more.invalidates, fewer.invalidates) == (True, False), "the arm with more comes first"
    assert isinstance(more, TurnsCutOff)
    assert (more.arm, more.longest) == ("off", 10)


@pytest.mark.parametrize(
    ("on", "off", "planned"),
    [
        (0, 4, {"on": 30.0, "off": 30.0}),  # as likely as a coin that falls alike four times
        (10, 10, {"on": 30.0, "off": 30.0}),  # neither has checkpoints: another distance
        (0, 10, {"on": 30.0}),  # by its settings the arm makes none
    ],
)
def test_cut_off_by_chance_or_alike_or_as_planned_is_a_doubt_only(
    on: int, off: int, planned: dict[str, float]
) -> None:
    turns = {**PLANNED, "cycle_seconds": planned}
    threats = raised(epochs_of(on=cut_off(on), off=cut_off(off)), turns=turns)
    assert {threat.name for threat in threats} == {"no checkpoint in a turn"}
    assert not any(threat.invalidates for threat in threats)


def test_the_longest_turn_with_its_checkpoints_complete_is_not_cut_off() -> None:
    observed = cut_off_in(epochs_of(off=lambda n: {"end": "longest"}), turns=PLANNED)
    assert not observed.invalidates


def test_a_turn_that_began_within_a_cycle_is_cut_off_with_fewer_whole_cycles_than_asked() -> None:
    within = {"end": "longest", "at_checkpoint": False}
    observed = cut_off_in(epochs_of(off=lambda n: within if n < 7 else {}), turns=PLANNED)
    assert observed.invalidates
    assert (observed.completed, observed.within_cycle) == ((2, 2), 7)
    asked = {**PLANNED, "cycles": 1}
    assert not cut_off_in(epochs_of(off=lambda n: within), turns=asked).invalidates


def without_pause(cycle_s: float, pause_s: float) -> Change:
    turn = make_turn(cycle_s=cycle_s, writes_s=cycle_s - pause_s)
    return lambda n: {"checkpoints": turn.checkpoints, "end": "stated"}


def test_checkpoints_that_follow_each_other_at_once_are_told_with_their_cycle() -> None:
    observed = only(epochs_of(off=without_pause(4.0, 0.2)))
    assert isinstance(observed, NoPauseBetweenCheckpoints)
    assert observed.name == "checkpoints without pause"
    assert observed.arm == "off"
    assert observed.cycle_ns == pytest.approx(4e9)
    assert observed.pause_ns == pytest.approx(2e8)
    assert raised(epochs_of(off=without_pause(4.0, 2.0))) == []
    assert raised(epochs_of(off=without_pause(31.0, 0.2))) == []


def test_a_single_checkpoint_has_no_cycle() -> None:
    single = (Checkpoint(BASE.seconds[3].start_ns, BASE.seconds[9].start_ns, "time"),)
    assert raised(epochs_of(off=lambda n: {"checkpoints": single})) == []


def test_turns_measured_before_they_were_level_are_no_steady_state() -> None:
    observed = only(epochs_of(off=lambda n: {"level": n >= 6}))
    assert observed == TurnsNotLevel("off", 6, 10)
    assert observed.name == "no steady state"
    assert observed.in_turns
    assert raised(epochs_of(off=lambda n: {"level": n >= 5})) == []


def test_debt_that_grows_in_one_arm_only_is_told_by_its_share_of_the_log() -> None:
    def owing(n: int) -> dict[str, Any]:
        return {"at_end": Debt(BASE.at_start.wal_bytes + (0.06 + 0.0002 * n) * WHOLE, 1.0 * MB)}

    observed = only(epochs_of(off=owing))
    assert isinstance(observed, LogGrew)
    assert (observed.name, observed.control, observed.arm) == ("unequal debt", "on", "off")
    assert observed.growth.arm == pytest.approx(0.0609)
    assert observed.growth.control == pytest.approx(0.0)
    assert not observed.invalidates
    assert raised(epochs_of(on=owing, off=owing)) == []


def test_what_waits_to_be_written_after_the_turns_of_one_arm_only_is_a_debt_too() -> None:
    def owing(n: int) -> dict[str, Any]:
        waiting = BASE.at_start.waiting_bytes + (0.06 + 0.0002 * n) * WHOLE
        return {"at_end": Debt(BASE.at_end.wal_bytes, waiting)}

    observed = only(epochs_of(off=owing))
    assert isinstance(observed, WaitingBytesGrew)
    assert (observed.name, observed.control, observed.arm) == ("unequal debt", "on", "off")
    assert observed.growth.arm == pytest.approx(0.0609)


def test_an_effect_that_moves_with_the_epochs_is_ageing() -> None:
    observed = only(epochs_of(effect=lambda n: {"d": 0.03 * n}))
    assert isinstance(observed, ReadingAged)
    assert observed.name == "ageing"
    assert observed.log_change == pytest.approx(0.03 * 9, abs=0.1)
    assert observed.epochs == 10
    assert not observed.invalidates


def test_a_directory_that_follows_its_arm_is_told_by_the_plan_or_by_the_slots() -> None:
    tied = [dataclasses.replace(epoch, slots={"on": 0, "off": 1}) for epoch in epochs_of()]
    observed = only(tied, upkeep="exchange")
    assert observed == DirectoryNotDrawn("off", "on", 10)
    assert observed.name == "data directory tied to the arm"
    assert observed.invalidates
    assert raised(tied[:7], upkeep="exchange") == []
    assert raised(tied, upkeep="carry") == []
    planned = plan_threats(make_plan(upkeep="carry", upkeep_why="other versions"))
    assert [threat.name for threat in planned] == ["data directory tied to the arm"]


def test_arms_that_share_one_directory_are_not_tied_to_it() -> None:
    shared = [dataclasses.replace(epoch, slots={"on": 0, "off": 0}) for epoch in epochs_of()]
    assert raised(shared, upkeep="exchange") == []


def test_a_turn_that_measured_nothing_breaks_nothing() -> None:
    empty: Turn = dataclasses.replace(BASE, seconds=(), checkpoints=(), end="longest")
    epochs = epochs_of(off=lambda n: {"seconds": empty.seconds, "checkpoints": ()})
    assert raised(epochs) == []
    observed = cut_off_in(epochs_of(off=lambda n: {"seconds": (), "end": "longest"}))
    assert (observed.median_ns, observed.completed) == (None, (0, 0))


def test_arms_that_were_measured_for_another_time_or_at_another_age_are_told() -> None:
    short = {"seconds": BASE.seconds[:30], "age_ns": 22e9}
    observed = only(epochs_of(on=lambda n: {"age_ns": 90e9}, off=lambda n: short))
    assert observed == TurnsUnequal(MeasuredTime("on", 60e9, 90e9), MeasuredTime("off", 30e9, 22e9))
    assert observed.name == "unequal turns"
    assert not observed.invalidates
    unknown = only(epochs_of(off=lambda n: short))
    assert unknown == TurnsUnequal(MeasuredTime("on", 60e9, None), MeasuredTime("off", 30e9, 22e9))
    older = only(epochs_of(on=lambda n: {"age_ns": 90e9}, off=lambda n: {"age_ns": 60e9}))
    assert older.name == "unequal turns"


def test_lengths_and_ages_that_whole_cycles_leave_apart_are_alike() -> None:
    nearly = {"seconds": BASE.seconds[:45], "age_ns": 70e9}
    assert raised(epochs_of(on=lambda n: {"age_ns": 90e9}, off=lambda n: nearly)) == []
    unknown = raised(epochs_of(off=lambda n: {"age_ns": 22e9}))
    assert unknown == [], "an age that a record does not have is none"
    single = {"seconds": BASE.seconds[:10]}
    assert raised(epochs_of(off=lambda n: single if n == 0 else {})) == []
    assert raised(epochs_of(off=lambda n: single, n=2)) == [], "too few to tell"
