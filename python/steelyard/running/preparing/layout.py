"""Decides the layout of a weighing, slices or turns, and what it charges to an arm."""

from __future__ import annotations

from steelyard.analysis.pilot.turn_lengths import least_budget_s
from steelyard.evaluation.threats.checkpoint_distance import ACTS_THROUGH_CHECKPOINTS
from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_S
from steelyard.running.turns.pilot import too_short
from steelyard.study.address import IN_TURNS
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import Script


def which_layout(study: Study, scripts: tuple[Script, ...]) -> tuple[str, str]:
    """ "slices" or "turns", and why: what acts through checkpoints is measured over their cycles.
    StudyError where the budget cannot hold turns, however short they are."""
    if study.reaches:
        return "slices", "an address is neither started nor stopped"
    own = study.layout == "auto"
    layout, why = _own_layout(study, scripts) if own else (study.layout, "the study says so")
    if layout == "turns":
        arms, epochs = len(study.every_arm), study.budget.epochs
        least_s = least_budget_s(arms, epochs)
        if study.budget.turns < least_s * NS_PER_S:
            raise too_short(study, least_s, least=True)
    return layout, why


def servers_at_once(study: Study) -> int:
    """How many of the arms' servers stand at once, and share the machine's memory."""
    layout, _ = which_layout(study, resolve(study.workload, study.engine).scripts)
    return 1 if layout == "turns" else len(study.every_arm)


def _own_layout(study: Study, scripts: tuple[Script, ...]) -> tuple[str, str]:
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


def which_cost(study: Study, scripts: tuple[Script, ...], layout: str) -> tuple[str, str]:
    """ "foreground", "whole" or "cycles", and why: work that writes leaves a debt behind.
    StudyError where that would be paid in the slices of another arm."""
    if layout == "turns":
        return "cycles", "whole checkpoint cycles are measured: what an arm leaves is in them"
    if study.reaches and not study.housed:
        return "foreground", "what a server that is not ours leaves to the background is no arm's"
    writes = any(script.writes for script in scripts)
    if study.housed and writes and study.cost == "foreground":
        raise StudyError(
            'cost = "foreground" cannot be weighed where arms are databases of one server',
            detail="It would write the pages that an arm left dirty in the slices of the others.",
            hint='Leave out "cost": a CHECKPOINT after each slice is charged to its arm.',
        )
    if study.cost != "auto":
        return study.cost, "the study says so"
    if writes:
        return "whole", "the work writes: what it leaves to the background is charged to its arm"
    return "foreground", "the work only reads"
