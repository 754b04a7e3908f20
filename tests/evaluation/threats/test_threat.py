"""Each threat that epochs can show is raised by a balance that is broken in its way."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import EpochReading
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.threats.epochs import (
    ArmDidNotComplete,
    EpochsWithoutReading,
    threats_of_epochs,
)
from steelyard.model.threat import Observation, ThreatKind

SHOWN_BY_EPOCHS = {
    ThreatKind.SLOTS_DIFFER,
    ThreatKind.CARRY_OVER,
    ThreatKind.START_ORDER,
    ThreatKind.UNEQUAL_DROPS,
    ThreatKind.ERRORS_DIFFER,
    ThreatKind.ARM_CRASHED,
    ThreatKind.LITTLES_LAW,
    ThreatKind.SKEWED,
    ThreatKind.TOO_FEW_EPOCHS,
    ThreatKind.ATTEMPT,
    ThreatKind.LOOKED_AT,
}


def test_a_threat_that_is_not_on_the_list_has_no_kind() -> None:
    with pytest.raises(ValueError, match="bad weather"):
        ThreatKind("bad weather")


def sound_epochs(n: int = 12) -> list[EpochReading]:
    rng = np.random.default_rng(3)
    slots = rng.permuted([0, 1] * (n // 2))
    firsts = rng.permuted([True, False] * (n // 2))
    return [
        EpochReading(
            epoch=i,
            slots={"on": int(slots[i]), "off": 1 - int(slots[i])},
            start_order=("on", "off") if firsts[i] else ("off", "on"),
            d=float(rng.normal(0.0, 0.005)),
            carry_over=float(rng.normal(0.0, 0.01)),
            busy_share={"on": 0.98, "off": 0.98},
            attempted={"on": 10_000, "off": 10_000},
            failed={"on": 1, "off": 1},
            slices={"on": 60, "off": 60},
        )
        for i in range(n)
    ]


def with_each(epochs: list[EpochReading], **changes: object) -> list[EpochReading]:
    """Every epoch with fields replaced; a function gets the epoch."""
    return [
        dataclasses.replace(one, **{k: v(one) if callable(v) else v for k, v in changes.items()})
        for one in epochs
    ]


def broken(kind: ThreatKind) -> tuple[list[EpochReading], Terms]:
    epochs, terms = sound_epochs(), Terms(12, 8)
    match kind:
        case ThreatKind.SLOTS_DIFFER:
            epochs = with_each(epochs, d=lambda one: one.d + 0.05 * one.slots["off"])
        case ThreatKind.CARRY_OVER:
            epochs = with_each(epochs, carry_over=lambda one: one.carry_over + 0.05)
        case ThreatKind.START_ORDER:
            epochs = with_each(epochs, d=lambda one: one.d + 0.05 * (one.start_order[0] == "off"))
        case ThreatKind.UNEQUAL_DROPS:
            epochs = with_each(epochs, dropped={"on": 0, "off": 1})
        case ThreatKind.ERRORS_DIFFER:
            epochs = with_each(epochs, failed={"on": 1, "off": 9})
        case ThreatKind.ARM_CRASHED:
            epochs[3] = dataclasses.replace(epochs[3], d=-math.inf, outcome="crashed: off")
        case ThreatKind.LITTLES_LAW:
            epochs = with_each(epochs, busy_share={"on": 0.98, "off": 0.5})
        case ThreatKind.SKEWED:
            for i in (2, 9):
                epochs[i] = dataclasses.replace(epochs[i], d=-0.2)
        case ThreatKind.TOO_FEW_EPOCHS:
            epochs, terms = epochs[:6], Terms(6, None)
        case ThreatKind.ATTEMPT:
            terms = Terms(12, 8, attempt=2)
        case ThreatKind.LOOKED_AT:
            terms = Terms(12, 8, looked=1)
    return epochs, terms


def doubts(epochs: list[EpochReading], terms: Terms) -> tuple[Observation, ...]:
    return threats_of_epochs(epochs, "off", "on", terms, ended=False)


def test_sound_epochs_raise_no_threat() -> None:
    assert doubts(sound_epochs(), Terms(12, 8)) == ()
    assert doubts([], Terms(12, 8)) == ()


@pytest.mark.parametrize("kind", sorted(SHOWN_BY_EPOCHS))
def test_each_threat_that_epochs_can_show_is_raised_by_a_balance_broken_in_its_way(
    kind: ThreatKind,
) -> None:
    epochs, terms = broken(kind)
    raised = doubts(epochs, terms)
    assert kind.value in [threat.name for threat in raised]


@pytest.mark.parametrize(
    ("changes", "raised"),
    [
        ({"capped": {"on": 0, "off": 1}}, ["errors or retries differ"]),
        ({"capped": {"on": 1, "off": 1}}, ["Little's law broken"]),
        ({"capped": {"on": 0, "off": 0}}, []),
        ({"uncharged_share": {"on": 0.0004, "off": 0.03}}, ["Little's law broken"]),
        ({"uncharged_share": {"on": 0.0004, "off": math.nan}}, []),
    ],
)
def test_clients_given_up_and_stalls_hidden_at_the_border_are_doubts(
    changes: dict[str, object], raised: list[str]
) -> None:
    epochs = with_each(sound_epochs(), clients={"on": 8, "off": 8}, **changes)
    assert [threat.name for threat in doubts(epochs, Terms(12, 8))] == raised


def test_an_interrupted_weighing_of_few_epochs_says_so_and_a_running_one_does_not() -> None:
    few = sound_epochs()[:6]
    running = threats_of_epochs(few, "off", "on", Terms(12, 8), ended=False)
    stopped = threats_of_epochs(few, "off", "on", Terms(12, 8), ended=True)
    assert ThreatKind.TOO_FEW_EPOCHS.value not in [threat.name for threat in running]
    assert ThreatKind.TOO_FEW_EPOCHS.value in [threat.name for threat in stopped]


def test_an_epoch_lost_by_no_arm_alone_is_named_too() -> None:
    epochs = sound_epochs()
    epochs[3] = dataclasses.replace(epochs[3], d=math.nan, outcome="failed: driver was lost")
    (threat,) = doubts(epochs, Terms(12, 8))
    assert threat == EpochsWithoutReading(((3, "failed: driver was lost"),), 12)


def test_a_crash_is_named_with_its_arm_and_its_epochs() -> None:
    epochs, terms = broken(ThreatKind.ARM_CRASHED)
    assert ArmDidNotComplete("off", ((3, "crashed"),), 12) in doubts(epochs, terms)
