"""Judges the epochs so far: every arm against the control, with every doubt there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.analysis.decision.epoch_reading import EpochReading, read_epoch
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.checkpoint_distance import checkpoint_distance, settings_reported
from steelyard.evaluation.contrast import Contrast
from steelyard.evaluation.epoch_threats import doubts_of
from steelyard.evaluation.judge_arms import contrasts_of
from steelyard.evaluation.run_threats import suspicions
from steelyard.evaluation.work_done import work_doubts
from steelyard.model.readings import EpochTotals
from steelyard.model.threat import Threat
from steelyard.running.epoch import RanEpoch
from steelyard.running.inspection import Inspection
from steelyard.study.study import Study

Json = dict[str, Any]


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
    readings = {arm.name: _readings(epochs, arm.name, control, terms) for arm in study.arms}
    threats = {arm: threats_beside(epochs, plan, study, inspection, arm) for arm in readings}
    return contrasts_of(readings, terms, control, threats, ended)


def threats_beside(
    epochs: Sequence[RanEpoch],
    plan: Mapping[str, Any],
    study: Study,
    inspection: Inspection,
    arm: str,
) -> tuple[Threat, ...]:
    """Every threat to the contrast of an arm that its log ratios alone do not show."""
    totals, control = [epoch.totals for epoch in epochs], study.control.name
    return (
        *_distance(totals, plan, study, inspection, arm),
        *inspection.threats_to(arm),
        *work_doubts(totals, control, arm, inspection.asked),
        *suspicions(epochs, plan, study, arm),
    )


def withdrawn(
    epochs: Sequence[RanEpoch],
    plan: Mapping[str, Any],
    study: Study,
    inspection: Inspection,
    contrast: Contrast,
) -> list[Json]:
    """The threats that were shown while a contrast was weighed and are not among its own at the
    end: `name`, `seen` as it was last shown, and `why` it went."""
    terms, control, arm = Terms.from_plan(plan), contrast.control, contrast.arm
    last: dict[str, tuple[int, Threat]] = {}
    for n in range(1, len(epochs)):
        some = epochs[:n]
        shown = (
            *threats_beside(some, plan, study, inspection, arm),
            *doubts_of(_readings(some, arm, control, terms), arm, control, terms, False),
        )
        last |= {threat.name: (n, threat) for threat in shown}
    for threat in contrast.threats:
        last.pop(threat.name, None)
    return [
        {
            "name": name,
            "seen": threat.seen,
            "why": f"last seen after {n} of {len(epochs)} epochs; all of them together do not "
            "show it",
        }
        for name, (n, threat) in last.items()
    ]


def _readings(
    epochs: Sequence[RanEpoch], arm: str, control: str, terms: Terms
) -> list[EpochReading]:
    return [read_epoch(epoch.totals, arm, control, terms.metric) for epoch in epochs]


def _distance(
    totals: Sequence[EpochTotals],
    plan: Mapping[str, Any],
    study: Study,
    inspection: Inspection,
    arm: str,
) -> Iterator[Threat]:
    """Only where the work writes, slices are cut by time, and the arm is another treatment."""
    [asked] = [one for one in study.arms if one.name == arm]
    treated = not study.differs_only_in_weight(asked)
    if plan.get("layout") == "slices" and plan["writes"] and treated and not study.budget.counted:
        yield from checkpoint_distance(
            totals,
            study.control.name,
            arm,
            settings_reported(inspection.environment),
            {*inspection.declared.get(arm, ())},
            whole=plan["cost"] == "whole",
        )
