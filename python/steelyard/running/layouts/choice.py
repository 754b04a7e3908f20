"""Chooses the layout of a weighing, and says why."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.evaluation.threats.checkpoint_distance import ACTS_THROUGH_CHECKPOINTS
from steelyard.record.plan import Choices
from steelyard.running.layouts.cycles import Cycles
from steelyard.running.layouts.layout import Layout
from steelyard.running.layouts.slices import Slices
from steelyard.running.layouts.turns import Turns
from steelyard.running.preparing.recording import Kept
from steelyard.running.preparing.setup import Setup
from steelyard.running.progress import Progress
from steelyard.study.address import IN_TURNS
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import Script

LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout for layout in (Slices(), Turns(), Cycles())
}  # fmt: skip
"""Layout by its name in a study or a plan."""


def choose_layout(study: Study, scripts: tuple[Script, ...]) -> tuple[Layout, str]:
    """The layout, and why: what acts through checkpoints is measured over their cycles. StudyError
    where the study cannot be weighed so."""
    if study.reaches:
        return LAYOUTS["slices"], "an address is neither started nor stopped"
    name, why = (
        _by_treatment(study, scripts)
        if study.layout == "auto"
        else (study.layout, "the study says so")
    )
    LAYOUTS[name].require(study)
    return LAYOUTS[name], why


def resumed_layout(kept: Kept, scripts: tuple[Script, ...]) -> tuple[Layout, str]:
    """The layout of a weighing: one that goes on keeps that of its plan."""
    if kept.plan is not None:
        return LAYOUTS[kept.plan.layout or "slices"], kept.plan.layout_why
    return choose_layout(kept.question.study, scripts)


def choose(setup: Setup, progress: Progress) -> Choices:
    """What the pilot of the layout chooses: everything that the seed does not decide."""
    return LAYOUTS[setup.layout].pilot(setup, progress)


def servers_at_once(study: Study) -> int:
    """How many of the arms' servers run at once, and share the machine's memory."""
    layout, _ = choose_layout(study, resolve(study.workload, study.engine).scripts)
    return layout.servers_at_once(study)


def _by_treatment(study: Study, scripts: tuple[Script, ...]) -> tuple[str, str]:
    if study.budget.counted is not None:
        return "slices", "they are cut by executions"
    if study.engine not in IN_TURNS:
        return "slices", f"the checkpoints of {study.engine} are not seen"
    if not any(script.writes for script in scripts):
        return "slices", "the work only reads"
    through = sorted(
        {
            name
            for arm in study.arms
            for name in study.declared_differences(arm)
            if name.startswith(ACTS_THROUGH_CHECKPOINTS)
        }
    )
    if not through:
        return "slices", "no arm differs in what acts through checkpoints"
    acts = "acts" if len(through) == 1 else "act"
    return "turns", f"the work writes, and {' and '.join(through)} {acts} through checkpoints"
