"""Publishes the outcome: verdict.json, then the report; nothing is measured any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.calibration.trust import Trust, trust
from steelyard.evaluation.achievements import (
    probe_rows,
    query_rows,
    script_rows,
    statement_rows,
    work_rows,
)
from steelyard.evaluation.causes import cause_rows, complete, page_cost
from steelyard.evaluation.judging import withdrawn
from steelyard.evaluation.latencies import latency_rows
from steelyard.evaluation.truths import Weighed, truth_beside
from steelyard.record.record import Record
from steelyard.report.page import write_report
from steelyard.running.aa_ledger import tell
from steelyard.running.choices import Choices
from steelyard.running.inspection import Inspection
from steelyard.running.progress import Progress
from steelyard.running.recording import Kept
from steelyard.running.settling import Outcome
from steelyard.study.study import Study

Json = dict[str, Any]


def publish(
    kept: Kept,
    plan: Mapping[str, Any],
    inspection: Inspection,
    outcome: Outcome,
    progress: Progress,
) -> Json:
    """Write the verdict and its report; the verdict comes back as it stands in verdict.json.

    A weighing that lost too many epochs is published too, and then raised as its failure.
    """
    record, study = kept.record, kept.question.study
    verdict = _verdict(record, study, plan, inspection, outcome)
    for shown, contrast in zip(verdict["contrasts"], outcome.contrasts, strict=True):
        shown["withdrawn"] = withdrawn(outcome.epochs, plan, study, inspection, contrast)
    verdict["trust"] = _trust(study, outcome, len(outcome.epochs) - len(kept.epochs))
    verdict["ledger"] = tell(kept.question, plan, inspection, outcome.contrasts, progress)
    record.write("verdict.json", verdict)
    write_report(record.directory)
    record.close()
    progress.done(verdict)
    if outcome.failure is not None:
        raise outcome.failure
    return verdict


def _verdict(
    record: Record,
    study: Study,
    plan: Mapping[str, Any],
    inspection: Inspection,
    outcome: Outcome,
) -> Json:
    control = study.control.name
    told = complete([epoch.totals for epoch in outcome.epochs])
    contrasts = outcome.contrasts
    arms = [arm.name for arm in study.arms]
    return {
        "study": study.name,
        "seed": plan["seed"],
        "record": str(record.directory),
        "seconds": round(outcome.seconds, 3),
        "whole_seconds": round(outcome.whole_seconds, 3),
        "placement": plan["placement"],
        "sentence": ". ".join(contrast.sentence() for contrast in contrasts),
        "contrasts": _contrasts(study, plan, told, outcome),
        "causes": [row for arm in arms for row in cause_rows(told, control, arm)],
        "latency": [row for arm in arms for row in latency_rows(told, control, arm)],
        "latency_by_script": [row for arm in arms for row in script_rows(told, control, arm)],
        "queries": [row for arm in arms for row in query_rows(told, control, arm)],
        "statements": [row for arm in arms for row in statement_rows(told, control, arm)],
        "work": [row for arm in arms for row in work_rows(told, control, arm)],
        "probes": probe_rows(told, [control, *arms]),
        "pages": _pages(study, told),
        "differences": _differences(inspection, arms),
        "defaults": plan.get("defaults"),
        "loads": plan.get("loads"),
        "measured_seconds": _measured_seconds(outcome),
        "slices": sum(len(arm.slices) for e in outcome.epochs for arm in e.totals.arms.values()),
        "resumed": outcome.resumed,
        "interrupted": outcome.interrupted,
        "command": plan["command"],
    }


def _contrasts(
    study: Study, plan: Mapping[str, Any], told: Sequence[Any], outcome: Outcome
) -> list[Json]:
    """Every contrast, with its truth beside it where that is known."""
    writes = bool(plan.get("writes", plan["cost"] == "whole"))
    weighed = Weighed(study, Choices.from_json(plan), told, str(plan["metric"]), writes)
    arms = {arm.name: arm for arm in study.arms}
    shown = [contrast.to_json() for contrast in outcome.contrasts]
    return [{**one, **truth_beside(weighed, arms[one["arm"]], one)} for one in shown]


def _trust(study: Study, outcome: Outcome, measured: int) -> list[Json]:
    """What equal arms say of this machine: how long a weighing of two arms sees 1, 2 and 5 %.

    `measured`: epochs that `outcome.seconds` were spent on; an epoch of two arms takes its part.
    """
    equals = {arm.name for arm in study.equals}
    equal = next((one for one in outcome.contrasts if one.arm in equals), None)
    if equal is None or not measured:
        return []
    d = np.array([np.nan if x is None else x for x in equal.details["d"]], dtype=float)
    seconds = outcome.seconds / measured * 2 / len(study.every_arm)
    return [_row(one) for one in trust(d, seconds)]


def _row(one: Trust) -> Json:
    least, likely, most = one.seconds or (None, None, None)
    return {
        "percent": round(100 * one.size, 3),
        "epochs": [one.need.fewest, one.need.likely, one.need.most],
        "seconds": likely and round(likely, 1),
        "least_seconds": least and round(least, 1),
        "most_seconds": round(most, 1) if most and np.isfinite(most) else None,
    }


def _pages(study: Study, told: Sequence[Any]) -> Json | None:
    """For the first arm that differs from the control in checksums."""
    for arm in study.arms:
        if arm.checksums != study.control.checksums:
            pair = (arm.name, study.control.name)
            verifying, other = pair if arm.checksums else pair[::-1]
            return page_cost(told, verifying, other)
    return None


def _differences(inspection: Inspection, arms: Sequence[str]) -> Json:
    found = inspection.differences
    return {
        "compared": inspection.compared,
        "declared": [list(each) for arm in arms for each in found[arm].declared],
        "derived": [list(each) for arm in arms for each in found[arm].derived],
        "undeclared": [list(each) for arm in arms for each in found[arm].undeclared],
    }


def _measured_seconds(outcome: Outcome) -> float:
    """Loaded time of all arms together, debt included."""
    totals = [arm for epoch in outcome.epochs for arm in epoch.totals.arms.values()]
    return round(sum(arm.busy_ns / arm.clients for arm in totals if arm.clients) / 1e9, 3)
