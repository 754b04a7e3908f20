"""Judges the epochs so far: every arm against the control, with every doubt there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.analysis.epoch_reading import read_epoch
from steelyard.analysis.looks import Terms
from steelyard.study.study import Study
from steelyard.verdict.judge_arms import contrasts_of
from steelyard.verdict.verdict import Contrast
from steelyard.weighing.epoch import RanEpoch
from steelyard.weighing.inspection import Inspection
from steelyard.weighing.suspicions import suspicions
from steelyard.weighing.work import work_doubts


def judge(
    epochs: Sequence[RanEpoch],
    plan: Mapping[str, Any],
    study: Study,
    inspection: Inspection,
    *,
    ended: bool,
) -> list[Contrast]:
    """One contrast an arm, in the order of the study; `ended`: no further epoch will come."""
    terms, control = Terms.from_plan(plan), study.control.name
    readings = {
        arm.name: [read_epoch(e.totals, arm.name, control, terms.metric) for e in epochs]
        for arm in study.arms
    }
    totals = [epoch.totals for epoch in epochs]
    threats = {
        arm: (
            *inspection.threats_to(arm),
            *work_doubts(totals, control, arm, inspection.asked),
            *suspicions(epochs, plan, study, arm),
        )
        for arm in readings
    }
    return contrasts_of(readings, terms, control, threats, ended)
