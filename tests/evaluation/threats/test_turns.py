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
from steelyard.evaluation.threats.turns import turn_threats
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import Threat
from steelyard.model.turn import Checkpoint, Debt, Turn

Change = Callable[[int], dict[str, Any]]
"""Epoch → what is otherwise in a turn."""
BASE = make_turn("on")
WHOLE = sum(one.wal_bytes for one in BASE.seconds)


def nothing(_: int) -> dict[str, Any]:
    return {}


def epochs_of(
    on: Change = nothing, off: Change = nothing, n: int = 10, effect: Change = nothing
) -> list[EpochTotals]:
    """Sound epochs, except for what is changed."""
    rng = np.random.default_rng(7)
    slots = rng.permuted([0, 1] * (n // 2))
    found = []
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
        found.append(EpochTotals(number, places, ("on", "off"), arms, turns=turns))
    return found


def raised(epochs: list[EpochTotals], **plan: Any) -> list[Threat]:
    return list(turn_threats(epochs, make_plan(layout="turns", **plan), "on", "off"))


def only(epochs: list[EpochTotals], **plan: Any) -> Threat:
    [threat] = raised(epochs, **plan)
    return threat


def test_sound_turns_raise_nothing() -> None:
    assert raised(epochs_of()) == []
    assert raised([]) == []


def test_epochs_without_a_turn_of_both_arms_are_left_out() -> None:
    lost = [dataclasses.replace(one, turns={"on": BASE}) for one in epochs_of()]
    assert raised(lost) == []


def test_files_that_stay_in_the_cache_of_one_arm_make_the_verdict_invalid() -> None:
    threat = only(epochs_of(off=lambda n: {"resident_share": 0.3 + 0.02 * n}))
    assert threat.name == "files not evicted"
    assert threat.invalidates
    assert "0 of 10 turns of on and 10 of 10 of off" in threat.seen
    assert "up to 48 %" in threat.seen


def test_files_that_stay_in_both_arms_alike_or_once_are_a_doubt_only() -> None:
    stay = {"resident_share": 0.3}
    alike = only(epochs_of(on=lambda n: stay, off=lambda n: stay))
    once = only(epochs_of(off=lambda n: stay if n == 4 else {}))
    assert not alike.invalidates
    assert not once.invalidates
    assert "0 of 10 turns of on and 1 of 10 of off" in once.seen


@pytest.mark.parametrize("share", [0.0, 0.009, math.nan])
def test_little_left_in_the_cache_or_nothing_known_of_it_is_no_threat(share: float) -> None:
    assert raised(epochs_of(off=lambda n: {"resident_share": share})) == []


def test_a_busy_device_is_told_with_what_waited_and_before_which_arm() -> None:
    busy = {"quiet": False, "waiting_bytes": 200.0 * MB}
    threat = only(epochs_of(on=lambda n: busy if n in (1, 2) else {}))
    assert threat.name == "device busy"
    assert "up to 200 MB" in threat.seen
    assert "2 of 10 turns of on and 0 of 10 of off" in threat.seen
    assert "chance" not in threat.seen
    always = only(epochs_of(on=lambda n: busy))
    assert "more often before one arm than chance has it" in always.seen
    assert not always.invalidates


def test_a_turn_without_its_checkpoints_is_told_with_its_length() -> None:
    threat = only(epochs_of(off=lambda n: {"end": "longest", "checkpoints": ()}))
    assert threat.name == "no checkpoint in a turn"
    assert "10 of 10 turns of off" in threat.seen
    assert "longest turn of 1 min, with no checkpoint completed" in threat.seen
    some = only(epochs_of(off=lambda n: {"end": "longest"} if n % 2 else {}))
    assert "5 of 10 turns of off" in some.seen
    assert "with 2 checkpoints completed" in some.seen


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
    assert (first.name, first.invalidates) == ("no checkpoint in a turn", True)
    assert "7 of 10 turns of off" in first.seen
    assert "differs between the arms beyond chance" in first.seen
    assert second.name == "device busy"
    [some, more] = raised(epochs_of(on=cut_off(2), off=cut_off(10)), turns=PLANNED)
    assert (some.invalidates, more.invalidates) == (True, False), "the arm with more comes first"
    assert "10 of 10 turns of off" in some.seen


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
    assert {one.name for one in threats} == {"no checkpoint in a turn"}
    assert not any(one.invalidates for one in threats)


def test_the_longest_turn_with_its_checkpoints_complete_is_not_cut_off() -> None:
    threat = only(epochs_of(off=lambda n: {"end": "longest"}), turns=PLANNED)
    assert not threat.invalidates


def test_a_turn_that_began_within_a_cycle_is_cut_off_with_fewer_whole_cycles_than_asked() -> None:
    within = {"end": "longest", "at_checkpoint": False}
    threat = only(epochs_of(off=lambda n: within if n < 7 else {}), turns=PLANNED)
    assert threat.invalidates
    assert "with 2 checkpoints completed; 7 of them did not begin at the end of one" in threat.seen
    asked = {**PLANNED, "cycles": 1}
    assert not only(epochs_of(off=lambda n: within), turns=asked).invalidates


def without_pause(cycle_s: float, pause_s: float) -> Change:
    turn = make_turn(cycle_s=cycle_s, writes_s=cycle_s - pause_s)
    return lambda n: {"checkpoints": turn.checkpoints, "end": "stated"}


def test_checkpoints_that_follow_each_other_at_once_are_told_with_their_cycle() -> None:
    threat = only(epochs_of(off=without_pause(4.0, 0.2)))
    assert threat.name == "checkpoints without pause"
    assert "a checkpoint of off began every 4 s, 200 ms after" in threat.seen
    assert raised(epochs_of(off=without_pause(4.0, 2.0))) == []
    assert raised(epochs_of(off=without_pause(31.0, 0.2))) == []


def test_a_single_checkpoint_has_no_cycle() -> None:
    one = (Checkpoint(BASE.seconds[3].start_ns, BASE.seconds[9].start_ns, "time"),)
    assert raised(epochs_of(off=lambda n: {"checkpoints": one})) == []


def test_turns_measured_before_they_were_level_are_no_steady_state() -> None:
    threat = only(epochs_of(off=lambda n: {"level": n >= 6}))
    assert threat.name == "no steady state"
    assert "of off were not level yet when 6 of 10" in threat.seen
    assert raised(epochs_of(off=lambda n: {"level": n >= 5})) == []


def test_debt_that_grows_in_one_arm_only_is_told_by_its_share_of_the_log() -> None:
    def owing(n: int) -> dict[str, Any]:
        return {"at_end": Debt(BASE.at_start.wal_bytes + (0.06 + 0.0002 * n) * WHOLE, 1.0 * MB)}

    threat = only(epochs_of(off=owing))
    assert threat.name == "unequal debt"
    assert "by +6.1 % of the turn's log in off, and by 0.0 % in on" in threat.seen
    assert not threat.invalidates
    assert raised(epochs_of(on=owing, off=owing)) == []


def test_an_effect_that_moves_with_the_epochs_is_ageing() -> None:
    threat = only(epochs_of(effect=lambda n: {"d": 0.03 * n}))
    assert threat.name == "ageing"
    assert "from the first epoch to the last" in threat.seen
    assert not threat.invalidates


def test_a_directory_that_follows_its_arm_is_told_by_the_plan_or_by_the_slots() -> None:
    tied = [dataclasses.replace(one, slots={"on": 0, "off": 1}) for one in epochs_of()]
    threat = only(tied, upkeep="exchange")
    assert threat.name == "data directory tied to the arm"
    assert threat.invalidates
    assert raised(tied[:7], upkeep="exchange") == []
    assert raised(tied, upkeep="carry") == []
    told = plan_threats(make_plan(upkeep="carry", upkeep_why="other versions"))
    assert [one.name for one in told] == ["data directory tied to the arm"]


def test_arms_that_share_one_directory_are_not_tied_to_it() -> None:
    shared = [dataclasses.replace(one, slots={"on": 0, "off": 0}) for one in epochs_of()]
    assert raised(shared, upkeep="exchange") == []


def test_a_turn_that_measured_nothing_breaks_nothing() -> None:
    empty: Turn = dataclasses.replace(BASE, seconds=(), checkpoints=(), end="longest")
    epochs = epochs_of(off=lambda n: {"seconds": empty.seconds, "checkpoints": ()})
    assert raised(epochs) == []
    assert (
        "no checkpoint completed"
        in only(epochs_of(off=lambda n: {"seconds": (), "end": "longest"})).seen
    )


def test_arms_that_were_measured_for_another_time_or_at_another_age_are_told() -> None:
    short = {"seconds": BASE.seconds[:30], "age_ns": 22e9}
    threat = only(epochs_of(on=lambda n: {"age_ns": 90e9}, off=lambda n: short))
    assert threat.name == "unequal turns"
    assert not threat.invalidates
    assert threat.seen == (
        "on was measured for 1 min after 1 min 30 s under load, off was measured for 30 s after "
        "22 s under load (medians)"
    )
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
