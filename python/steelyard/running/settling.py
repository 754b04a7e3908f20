"""Runs epochs until the plan says that it is decided, judging after each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.evaluation.contrast import Contrast
from steelyard.evaluation.judging import judge
from steelyard.model.errors import WeighingError
from steelyard.model.units import NS_PER_S
from steelyard.running.choices import Choices
from steelyard.running.epoch import EpochRunner, RanEpoch
from steelyard.running.inspection import Inspection
from steelyard.running.progress import Progress
from steelyard.running.recording import JUDGED, Kept
from steelyard.running.setup import Setup

MOST_LOST_IN_A_ROW = 3
OPEN_ENDED_FACTOR = 10
"""An open-ended weighing gives up at this many times its planned epochs."""


@dataclass(frozen=True)
class Outcome:
    """The epochs of a weighing, what they say, and how it ended."""

    epochs: tuple[RanEpoch, ...]
    contrasts: tuple[Contrast, ...]
    seconds: float  # of the epochs, with the restarts between them
    whole_seconds: float  # with preparation and pilot too
    resumed: bool = False
    interrupted: bool = False
    failure: WeighingError | None = field(default=None)


def settle(
    setup: Setup,
    choices: Choices,
    plan: Mapping[str, Any],
    inspection: Inspection,
    kept: Kept,
    progress: Progress,
) -> Outcome:
    """Run what is missing of the plan. Ctrl-C judges what there is: epochs are timed, not chosen
    by their outcome, so ending between them is legal. Three lost epochs in a row end it too."""
    clock, runner = setup.laboratory.clock, EpochRunner(setup, choices)
    started_ns = clock.now_ns()
    epochs = list(kept.epochs)
    arms = [arm.name for arm in setup.study.arms]
    # Those of the inspection were told before the pilot.
    threats_shown = {threat.name for arm in arms for threat in inspection.threats_to(arm)}
    interrupted = False
    failure: WeighingError | None = None
    contrasts = judge(epochs, plan, setup.study, inspection, ended=False)
    if epochs:
        _note(setup, len(epochs), "resumed")
        _recall(contrasts, plan, threats_shown, progress)
    try:
        while not _over(contrasts, epochs, plan):
            number = len(epochs)
            epochs.append(runner.run(number, kept.attempts.get(number, 0) + 1))
            contrasts = judge(epochs, plan, setup.study, inspection, ended=False)
            mean_ns = (clock.now_ns() - started_ns) / (len(epochs) - len(kept.epochs))
            left = (plan["epochs"] - len(epochs)) * mean_ns / NS_PER_S
            _show(contrasts, epochs, plan, left, threats_shown, progress)
            failure = _hopeless(epochs)
            if failure is not None:
                break
    except KeyboardInterrupt:
        interrupted = True
        progress.note("interrupted: judging what there is")
        _note(setup, len(epochs), JUDGED)
    if interrupted or failure is not None:
        contrasts = judge(epochs, plan, setup.study, inspection, ended=True)
    ended_ns = clock.now_ns()
    return Outcome(
        epochs=tuple(epochs),
        contrasts=tuple(contrasts),
        seconds=(ended_ns - started_ns) / NS_PER_S,
        whole_seconds=(ended_ns - setup.began_ns) / NS_PER_S,
        resumed=kept.resumed,
        interrupted=interrupted,
        failure=failure,
    )


def _over(contrasts: list[Contrast], epochs: list[RanEpoch], plan: Mapping[str, Any]) -> bool:
    """The first contrast decides; the others never end a weighing and never hold it up."""
    limit = int(plan["epochs"]) * (OPEN_ENDED_FACTOR if plan["open_ended"] else 1)
    return bool(epochs) and (contrasts[0].verdict.ends or len(epochs) >= limit)


def _hopeless(epochs: list[RanEpoch]) -> WeighingError | None:
    """Three lost epochs in a row: what keeps killing an arm will go on doing so."""
    last = epochs[-MOST_LOST_IN_A_ROW:]
    if len(last) < MOST_LOST_IN_A_ROW or any(e.totals.outcome == "complete" for e in last):
        return None
    words = last[-1].head.get("error", [])
    return WeighingError(
        f"{MOST_LOST_IN_A_ROW} epochs in a row were lost: {last[-1].totals.outcome}",
        detail=" ".join(words) or None,
        hint="Everything that was measured is in the record; --resume goes on with it.",
    )


def _show(
    contrasts: list[Contrast],
    epochs: list[RanEpoch],
    plan: Mapping[str, Any],
    seconds_left: float,
    threats_shown: set[str],
    progress: Progress,
) -> None:
    facts = _facts(contrasts)
    _show_threats(contrasts, threats_shown, progress)
    progress.epoch(len(epochs), int(plan["epochs"]), facts, max(0.0, seconds_left))


def _recall(
    contrasts: list[Contrast],
    plan: Mapping[str, Any],
    threats_shown: set[str],
    progress: Progress,
) -> None:
    """What the record held already, for those who watch a weighing being gone on with."""
    readings = contrasts[0].details["d"]
    progress.recalled(readings, int(plan["epochs"]), _facts(contrasts))
    _show_threats(contrasts, threats_shown, progress)


def _facts(contrasts: list[Contrast]) -> list[dict[str, Any]]:
    """Each contrast as JSON, with the reading of the last epoch instead of its details."""
    facts = []
    for contrast in contrasts:
        fact = contrast.to_json()
        details = fact.pop("details")
        facts.append({**fact, "d": details["d"][-1]})
    return facts


def _show_threats(contrasts: list[Contrast], threats_shown: set[str], progress: Progress) -> None:
    for contrast in contrasts:
        for threat in contrast.threats:
            if threat.name not in threats_shown:
                threats_shown.add(threat.name)
                progress.threat(threat.to_json())


def _note(setup: Setup, epochs: int, event: str) -> None:
    """An event as a line of the record, in the epoch that it struck or that comes next."""
    setup.record.append("telemetry.jsonl", {"type": "event", "epoch": epochs, "event": event})
