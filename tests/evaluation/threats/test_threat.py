"""The threats are a closed list, each with its cause and advice, and each can be reached."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest

from steelyard.analysis.decision.epoch_reading import EpochReading
from steelyard.analysis.decision.looks import Terms
from steelyard.cli.commands import COMMANDS
from steelyard.evaluation.threats.epochs import threats_of_epochs
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind

INVALIDATING = {
    "unequal drops",
    "balance's ledger",
    "debug build of the driver",
    "wrong answer from the workload",
    "drift looks like an arm",
    "not held still",
}
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


@pytest.mark.parametrize("kind", ThreatKind)
def test_every_threat_says_what_was_seen_the_likely_cause_and_what_to_do(kind: ThreatKind) -> None:
    threat = raise_threat(kind, "seen")
    assert threat.to_json().keys() == {"name", "seen", "cause", "advice", "invalidates"}
    assert threat.name == kind.value
    assert threat.seen == "seen"
    assert min(len(threat.cause), len(threat.advice)) > 20
    assert not threat.cause.endswith(".")
    assert not threat.advice.endswith(".")
    assert threat.invalidates is (kind.value in INVALIDATING)


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


def doubts(epochs: list[EpochReading], terms: Terms) -> tuple[Threat, ...]:
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
    seen = next(threat.seen for threat in raised if threat.name == kind.value)
    assert not seen.endswith(".")


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
    assert threat.name == "an arm crashed"
    assert threat.seen.endswith("have no reading; epoch 4: failed: driver was lost")


def test_a_crash_is_named_with_its_arm_and_its_epochs() -> None:
    epochs, terms = broken(ThreatKind.ARM_CRASHED)
    seen = next(t.seen for t in doubts(epochs, terms) if t.name == ThreatKind.ARM_CRASHED.value)
    assert seen == "off did not complete 1 of 12 epochs: 4 (crashed)"


def test_advice_names_only_commands_that_there_are() -> None:
    every = [raise_threat(kind, "seen") for kind in ThreatKind]
    named = {
        command
        for threat in every
        for command in re.findall(r"`steelyard ([a-z]+)", f"{threat.cause} {threat.advice}")
    }
    assert "calibrate" in named
    assert named <= set(COMMANDS)


def test_a_threat_of_an_older_record_has_the_name_that_it_has_now() -> None:
    now = raise_threat(ThreatKind.ATTEMPT, "this is attempt 2")
    older = Threat(**{**now.to_json(), "name": "attempt k"})  # type: ignore[arg-type]
    assert older == now
    assert older.name == "weighed before"
