"""Publishes the outcome: verdict.json, then the report; nothing is measured any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.readings.progress import Progress
from steelyard.readings.record import Record
from steelyard.report.page import write_report
from steelyard.study.study import Study
from steelyard.weighing.causes import cause_rows, complete, page_cost
from steelyard.weighing.inspection import Inspection
from steelyard.weighing.latencies import latency_rows
from steelyard.weighing.recording import Kept
from steelyard.weighing.settling import Outcome

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
        "placement": plan["placement"],
        "sentence": " ".join(contrast.sentence() for contrast in contrasts),
        "contrasts": [contrast.to_json() for contrast in contrasts],
        "causes": [row for arm in arms for row in cause_rows(told, control, arm)],
        "latency": [row for arm in arms for row in latency_rows(told, control, arm)],
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
