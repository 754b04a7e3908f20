"""Slices that are long beside what is measured are refused, with what to type."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from steelyard.analysis.pilot.cycle_lengths import CycleLengths, choose_cycle_lengths
from steelyard.analysis.pilot.log_curve import LogCurve
from steelyard.analysis.pilot.turn_lengths import ArmCycle, Shortage, Spacing
from steelyard.model.errors import StudyError
from steelyard.running.cycles.limits import require_fine
from steelyard.running.turns.pilot import wish_of
from steelyard.study.read import read_study
from steelyard.study.study import Study

SECONDS = [float(n) for n in range(31)]
ARM = ArmCycle(
    spacing=lambda scale: Spacing(300.0 / scale, 1e12 / scale),
    largest_scale=20.0,
    log=LogCurve.of(SECONDS, [1e6 * n for n in SECONDS]),
)


def in_cycles(*changes: str) -> Study:
    return read_study("settings", ["layout=cycles", "workload.name=tpcb-like", *changes])


def lengths_of(study: Study, latency_s: float, budget_s: float) -> CycleLengths | Shortage:
    wish = replace(wish_of(study, study.budget.cycles), budget_s=budget_s)
    return choose_cycle_lengths([ARM, ARM], wish, idle_s=6.0, warm_s=25.0, latency_s=latency_s)


def require(study: Study, latency_s: float) -> None:
    chosen = lengths_of(study, latency_s, study.budget.cycles / 1e9)
    assert isinstance(chosen, CycleLengths)
    require_fine(study, chosen, latency_s, lambda budget_s: lengths_of(study, latency_s, budget_s))


@pytest.mark.parametrize("latency_s", [0.0001, 0.01, 0.3])
def test_transactions_of_some_hundred_milliseconds_are_weighed(latency_s: float) -> None:
    require(in_cycles(), latency_s)


@pytest.mark.parametrize("latency_s", [1.0, 2.0, 5.0])
def test_the_budget_with_which_slices_are_short_enough_can_be_typed(latency_s: float) -> None:
    with pytest.raises(StudyError, match="slices are too long for cycles") as refused:
        require(in_cycles(), latency_s)
    typed = re.search(r"--budget (\d+m)", refused.value.hint or "")
    assert typed is not None
    require(in_cycles(f"budget.cycles={typed[1]}"), latency_s)


def test_of_what_no_budget_helps_executions_are_counted() -> None:
    with pytest.raises(StudyError, match="a transaction takes about 1 min") as refused:
        require(in_cycles(), 60.0)
    assert "budget.counted" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("change", "latency_s", "hint"),
    [
        ("budget.slice=30s", 0.01, "Leave out budget.slice"),
        ("turns.measured=10s", 0.5, "--set turns.measured=50s"),
        ("turns.time_scale=20", 1.0, "Leave out turns.time_scale"),
    ],
)
def test_what_the_study_says_itself_is_named(change: str, latency_s: float, hint: str) -> None:
    with pytest.raises(StudyError, match="slices are too long") as refused:
        require(in_cycles(change), latency_s)
    assert hint in (refused.value.hint or "")


def test_a_slice_of_the_study_counts() -> None:
    study = in_cycles("budget.slice=2s")
    chosen = lengths_of(study, 0.001, study.budget.cycles / 1e9)
    assert isinstance(chosen, CycleLengths)
    assert chosen.slice_s == 2.0
    require(study, 0.001)
