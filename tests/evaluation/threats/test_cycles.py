"""What is not alike for arms that take slices in their own time is seen, and sound ones raise
nothing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest

from analysis.turns.made import NS, make_turn
from evaluation.made import make_plan
from steelyard.evaluation.threats.cycles import (
    LogSpacesCheckpoints,
    ProcessesMoved,
    TimerUnscaled,
    WindowsCut,
    WriteBackShared,
    cycle_threats,
)
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.model.threat import Observation
from steelyard.model.turn import Checkpoint, Turn
from steelyard.record.epoch import Epoch, EpochLine, WindowLine
from steelyard.record.plan import TurnChoices
from steelyard.record.turns.seconds import CheckpointLine, DeviceSecondsLine, SecondsLine
from steelyard.wording.threats.threat import threat_of

Change = Callable[[int], dict[str, Any]]
ARMS = ("on", "off")
CYCLE_S, SLICES = 15.0, 60
"""In own time: slices of half a second, two cycles."""


def nothing(_: int) -> dict[str, Any]:
    return {}


def timed(*begins_s: float, cause: str = "time") -> tuple[Checkpoint, ...]:
    """Checkpoints in own time; the first is the one that all arms are given."""
    causes = ("immediate force wait", *[cause] * (len(begins_s) - 1))
    zero = 1_000 * NS
    return tuple(
        Checkpoint(zero + round(at * NS), zero + round((at + 10) * NS), why)
        for at, why in zip(begins_s, causes, strict=True)
    )


WHOLE = timed(-CYCLE_S, 0.0, CYCLE_S, 2 * CYCLE_S)


def window(arm: str, **changes: Any) -> Turn:
    base = make_turn(arm, lengths_s=[0.5] * SLICES, cycle_s=CYCLE_S, writes_s=13.0)
    return dataclasses.replace(base, **{"checkpoints": WHOLE, "age_ns": 30.0 * NS, **changes})


def epochs_of(
    on: Change = nothing,
    off: Change = nothing,
    n: int = 10,
    dirtied: tuple[float, float] = (100.0, 100.0),
    queued_ms: int = 100,
    used_ns: int = 0,
) -> list[Epoch]:
    """Sound epochs, except for what is changed; `dirtied`: bytes in each slice, by arm, of which
    the devices write as many in the slices of both."""
    epochs = []
    for number in range(n):
        turns = {
            name: window(name, **change(number))
            for name, change in zip(ARMS, (on, off), strict=True)
        }
        lines = {
            name: WindowLine(
                end=turn.end,
                level=True,
                at_checkpoint=True,
                warmup_ns=30 * NS,
                seconds=SecondsLine(
                    dirtied_bytes=(each,) * SLICES,
                    devices=DeviceSecondsLine(
                        queued_ms=(queued_ms,) * SLICES, written_bytes=(100,) * SLICES
                    ),
                ),
                suspended_use_ns=used_ns if name == "off" and number == 3 else 0,
            )
            for (name, turn), each in zip(turns.items(), dirtied, strict=True)
        }
        slots = {"on": number % 2, "off": 1 - number % 2}
        arms = {name: ArmTotals(name, slots[name], 8, 60_000, 240 * NS, 240 * NS) for name in ARMS}
        line = EpochLine(epoch=number, slots=slots, start_order=ARMS, windows=lines)
        epochs.append(Epoch(line, EpochTotals(number, slots, ARMS, arms, turns=turns)))
    return epochs


def raised(epochs: list[Epoch]) -> list[Observation]:
    choices = TurnChoices(
        time_scale=10, time_scale_why="", cycles=2, warmup_cap_ns=NS, wait_ns=NS, longest_ns=NS,
        turn_ns=NS, cycle_seconds=dict.fromkeys(ARMS, CYCLE_S),
    )  # fmt: skip
    plan = make_plan(layout="cycles", turns=choices)
    return [
        threat
        for threat in cycle_threats(epochs, plan, "on", "off")
        if threat.name != "checkpoints without pause"
    ]


def only(epochs: list[Epoch]) -> Observation:
    [observed] = raised(epochs)
    return observed


def test_sound_cycles_raise_nothing() -> None:
    assert raised(epochs_of()) == []
    assert raised([]) == []


def test_an_epoch_in_which_one_process_moved_makes_the_verdict_invalid() -> None:
    observed = only(epochs_of(used_ns=40_000))
    assert observed == ProcessesMoved("off", 40_000, 1, 10)
    assert observed.name == "not held still"
    assert observed.invalidates


def cut(_: int) -> dict[str, Any]:
    return {"checkpoints": timed(-CYCLE_S, -4.0, 11.0, 26.0)}


def test_windows_that_begin_or_end_within_a_cycle_are_doubted_and_many_are_no_reading() -> None:
    few = only(epochs_of(off=lambda n: cut(n) if n < 3 else {}))
    assert few == WindowsCut("off", 3, 10, 4.0 * NS)
    assert (few.name, few.invalidates) == ("cycles cut", False)
    many = only(epochs_of(off=lambda n: cut(n) if n < 5 else {}))
    assert many.invalidates


def test_a_window_without_a_checkpoint_before_it_is_cut() -> None:
    observed = only(epochs_of(on=lambda n: {"checkpoints": timed(15.0)}))
    assert observed == WindowsCut("on", 10, 10, math.inf)


def test_a_checkpoint_that_was_seen_two_slices_late_cuts_nothing() -> None:
    late = timed(-16.0, -1.0, 14.0, 29.0)
    assert raised(epochs_of(off=lambda n: {"checkpoints": late})) == []


def test_windows_of_a_stated_or_the_longest_time_are_not_said_to_be_whole() -> None:
    stated = epochs_of(off=lambda n: {**cut(n), "end": "stated"})
    assert raised(stated) == []
    longest = raised(epochs_of(off=lambda n: {**cut(n), "end": "longest"}))
    assert "cycles cut" not in {threat.name for threat in longest}


UNSCALED = timed(-CYCLE_S, -7.5, 0.0, 7.5, 15.0, 22.5, 30.0)


def test_timed_checkpoints_of_one_arm_at_the_walls_pace_make_the_verdict_invalid() -> None:
    observed = only(epochs_of(off=lambda n: {"checkpoints": UNSCALED}))
    assert observed == TimerUnscaled("off", 7.5, 15.0, alone=True)
    assert observed.name == "clock ahead of own time"
    assert observed.invalidates


def test_where_both_arms_have_them_so_the_distance_is_another_and_that_is_a_doubt() -> None:
    both = raised(epochs_of(*[lambda n: {"checkpoints": UNSCALED}] * 2))
    assert both == [TimerUnscaled(arm, 7.5, 15.0, alone=False) for arm in ARMS]
    assert not any(threat.invalidates for threat in both)


def test_checkpoints_that_the_log_brings_are_no_matter_of_a_clock() -> None:
    by_log = tuple(dataclasses.replace(checkpoint, cause="wal") for checkpoint in UNSCALED)
    assert raised(epochs_of(off=lambda n: {"checkpoints": by_log})) == []


def test_borders_that_take_a_fifth_of_the_wall_are_no_unscaled_setting() -> None:
    nearer = timed(-12.0, 0.0, 12.0, 24.0, 30.0)
    assert raised(epochs_of(*[lambda n: {"checkpoints": nearer}] * 2)) == []


def test_write_back_is_shared_where_arms_dirty_unequal_amounts_and_the_device_is_busy() -> None:
    observed = only(epochs_of(dirtied=(100.0, 130.0), queued_ms=2_000))
    assert isinstance(observed, WriteBackShared)
    assert (observed.name, observed.invalidates) == ("write-back shared", False)
    assert observed.arms == ARMS
    assert observed.share == pytest.approx(30 / 130)
    assert "--set layout=turns" in threat_of(observed).advice
    assert raised(epochs_of(dirtied=(100.0, 130.0), queued_ms=100)) == []
    assert raised(epochs_of(dirtied=(100.0, 105.0), queued_ms=2_000)) == []


def begun_every(every_s: int, cause: str) -> tuple[CheckpointLine, ...]:
    begins = range(every_s, 31, every_s)
    return tuple(
        CheckpointLine(began_ns=at * NS + 1_000 * NS, ended_ns=None, cause=cause) for at in begins
    )


def spaced(epochs: list[Epoch], **lines: tuple[CheckpointLine, ...]) -> list[Epoch]:
    """The epochs with other checkpoints in the windows of arms."""

    def with_lines(epoch: Epoch) -> Epoch:
        windows = {
            arm: window.model_copy(update={"checkpoints": lines[arm]})
            for arm, window in epoch.line.windows.items()
        }
        return dataclasses.replace(epoch, line=epoch.line.model_copy(update={"windows": windows}))

    return [with_lines(epoch) for epoch in epochs]


def test_checkpoints_that_log_requests_far_more_often_in_one_arm_are_a_doubt() -> None:
    rare = begun_every(15, "time")
    observed = only(spaced(epochs_of(), on=begun_every(5, "wal"), off=rare))
    assert observed == LogSpacesCheckpoints("on", "off", 5.0, 15.0, 60, 60)
    assert (observed.name, observed.invalidates) == ("checkpoints by size", False)
    assert raised(spaced(epochs_of(), on=begun_every(10, "wal"), off=rare)) == []
    assert raised(spaced(epochs_of(), on=begun_every(5, "time"), off=rare)) == []
