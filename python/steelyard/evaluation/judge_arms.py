"""Judges several arms against one control: the first decides, the others are secondary.

The first arm of a study is the primary contrast with its two looks. Further arms are judged once,
when the plan ends, by joint sign flips over all arms (max-T), so that asking about more arms does
not raise the chance that some arm is said to differ. They never end a weighing nor hold it up.

A study may ask for every arm to be judged separately, by the set that it would have in a weighing
of its own: a calibration asks of each interval whether it covers a truth that is known, and no arm
decides for the others. Such a plan has one look, at its end.

An open-ended weighing ends when its first arm is settled, a time that the data choose. There every
further arm is judged by the e-process and the set of N too, at its share of the error rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.decision.epoch_reading import EpochReading
from steelyard.analysis.decision.looks import Stage, Terms
from steelyard.analysis.decision.max_t import ALPHA, joint_flips
from steelyard.evaluation.contrast import Contrast
from steelyard.evaluation.judge_epochs import contrast_of, percent_ends
from steelyard.evaluation.rule import Verdict, VerdictKind, decide
from steelyard.model.estimate import UNBOUNDED, Interval
from steelyard.model.threat import Threat

Readings = Mapping[str, Sequence[EpochReading]]
"""Arm → its readings against the control, of the same epochs in the same order."""


def contrasts_of(
    readings: Readings,
    terms: Terms,
    control: str,
    threats: Mapping[str, Sequence[Threat]],
    ended: bool = False,
) -> list[Contrast]:
    """One contrast an arm, in the order of `readings`; arguments as for `contrast_of`."""
    together = len(readings) > 1 and not terms.separate
    share = _shared(terms, len(readings) - 1) if together and terms.open_ended else terms
    contrasts = [
        contrast_of(epochs, share if n else terms, arm, control, threats.get(arm, ()), ended)
        for n, (arm, epochs) in enumerate(readings.items())
    ]
    if not together:
        return contrasts
    primary, *further = contrasts
    if terms.open_ended:
        return [primary, *(_secondary_open(contrast, primary) for contrast in further)]
    joint = _joint_intervals(readings)
    return [primary] + [
        _secondary(contrast, joint[contrast.arm], primary, ended) for contrast in further
    ]


def _shared(terms: Terms, arms: int) -> Terms:
    """The terms of one of several further arms: its share of the error rate."""
    first, last = terms.alphas
    return replace(terms, alphas=(first / arms, last / arms))


def _secondary_open(contrast: Contrast, primary: Contrast) -> Contrast:
    """The contrast by its own e-process; it neither ends the weighing nor holds it up."""
    return replace(
        contrast,
        verdict=replace(contrast.verdict, ends=primary.verdict.ends),
        details={**contrast.details, "secondary": True},
    )


def _joint_intervals(readings: Readings) -> dict[str, Interval]:
    """Joint intervals over the epochs in which every arm has a finite log ratio."""
    table = np.array([[one.d for one in epochs] for epochs in readings.values()], dtype=float).T
    table = table[np.isfinite(table).all(axis=1)] if table.size else table
    if len(table) < 2:
        return dict.fromkeys(readings, UNBOUNDED)
    results = joint_flips(table)
    return {arm: result.interval for arm, result in zip(readings, results, strict=True)}


def _secondary(contrast: Contrast, main: Interval, primary: Contrast, ended: bool) -> Contrast:
    """The contrast by its joint interval: a verdict only where the primary one has its own."""
    stage = Stage(primary.details["look"])
    over = primary.verdict.ends or ended or stage is Stage.LAST
    if stage is Stage.TOO_FEW or not over:
        verdict = Verdict(VerdictKind.INCONCLUSIVE)
        if contrast.verdict.kind is VerdictKind.INVALID:
            verdict = Verdict(VerdictKind.INVALID)
    else:
        verdict = decide(Stage.LAST, main, main, contrast.terms, contrast.threats)
    value = min(max(contrast.estimate.value, main.low), main.high)
    percents = percent_ends(replace(contrast.estimate, low=main.low, high=main.high))
    ends = [percents["low_percent"], percents["high_percent"]]
    return replace(
        contrast,
        estimate=replace(
            contrast.estimate, value=value, low=main.low, high=main.high, confidence=1 - ALPHA
        ),
        verdict=replace(verdict, ends=primary.verdict.ends),
        details={
            **contrast.details,
            "secondary": True,
            "method": "joint sign flips, max-T",
            "level": 1 - ALPHA,
            "equivalence_interval_percent": ends,
            "equivalence_level_one_sided": ALPHA / 2,
        },
    )
