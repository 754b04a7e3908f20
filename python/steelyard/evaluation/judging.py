"""Judges the epochs of a record: every arm against the control, with every threat there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.analysis.decision.epoch_reading import EpochReading, read_epoch
from steelyard.analysis.decision.looks import DEFAULT_S0, FEWEST_FOR_VERDICT, Stage, Terms
from steelyard.analysis.decision.max_t import ALPHA, joint_flips
from steelyard.analysis.decision.sign_flip import Floats, confidence_set
from steelyard.evaluation.contrast import AnswerWords, WeighedContrast
from steelyard.evaluation.judge_epochs import contrast_of, percent_ends
from steelyard.evaluation.layouts import judging_of
from steelyard.evaluation.rates import read_search_epoch
from steelyard.evaluation.rule import decide
from steelyard.evaluation.threats.epochs import threats_of_epochs
from steelyard.evaluation.threats.inspection import (
    inspection_threats,
    place_threats,
    source_threats,
)
from steelyard.evaluation.threats.machine import drive_threats
from steelyard.evaluation.threats.memory import memory_threats
from steelyard.evaluation.threats.run import run_threats
from steelyard.evaluation.threats.work import arrival_threats, work_threats
from steelyard.model.estimate import UNBOUNDED, Interval
from steelyard.model.memoize import memoize_by_identity
from steelyard.model.threat import Observation
from steelyard.model.units import NS_PER_S
from steelyard.record.epoch import EventLine
from steelyard.record.plan import Plan
from steelyard.record.reader import GIVEN_UP, JUDGED, RESUMED, RecordContents
from steelyard.study.arm import Arm
from steelyard.study.study import Study


def judge(recorded: RecordContents, *, ended: bool) -> list[WeighedContrast]:
    """One contrast an arm, in the order of the study; `ended`: no further epoch will come."""
    terms, control = terms_of(recorded.plan, recorded.events), recorded.study.control.name
    arms = [arm.name for arm in recorded.study.arms]
    readings = {arm: _readings(recorded, arm, control, terms) for arm in arms}
    threats = {arm: threats_beyond_ratios(recorded, arm) for arm in arms}
    contrasts = contrasts_of(readings, terms, control, threats, ended)
    plan, totals = recorded.plan, [epoch.totals for epoch in recorded.epochs]
    layout = judging_of(plan)
    based = [
        replace(contrast, replicates=basis)
        if (basis := layout.basis(totals, plan, contrast.arm, contrast.epochs)) is not None
        else contrast
        for contrast in contrasts
    ]
    return [
        replace(contrast, answer=answer_words(recorded.study, contrast.arm)) for contrast in based
    ]


def judge_pairs(
    recorded: RecordContents, *, ended: bool
) -> Iterator[tuple[RecordContents, WeighedContrast]]:
    """The contrast of each arm that has another one as its base, in the order of the study, by the
    epochs of all arms and with the threats to this pair; and the record as one of the pair."""
    for arm in recorded.study.arms:
        base = recorded.study.base_of(arm)
        if base is not None:
            pair = as_pair(recorded, arm, base)
            [contrast] = judge(pair, ended=ended)
            yield pair, contrast


def as_pair(recorded: RecordContents, arm: Arm, base: Arm) -> RecordContents:
    """The record as if the base were the control, and the arm alone were weighed against it. What
    the plan decided, an epoch with all arms in it, stays."""
    alone = arm.model_copy(update={"against": None})
    study = recorded.study.model_copy(update={"control": base, "arms": (alone,), "answer": {}})
    inspected = recorded.inspection.pairs.get(arm.name)
    arms = {} if inspected is None else {arm.name: inspected}
    return replace(
        recorded,
        study=study,
        plan=recorded.plan.model_copy(update={"control": base.name}),
        inspection=recorded.inspection.model_copy(update={"arms": arms, "pairs": {}}),
    )


def answer_words(study: Study, arm: str) -> AnswerWords | None:
    """The words of a study in which an arm's contrast answers it; None where it has none."""
    answer = study.answer_of(arm)
    if answer is None:
        return None
    names = {"{arm}": arm, "{control}": study.control.name}
    subject = answer.subject
    for placeholder, name in names.items():
        subject = subject.replace(placeholder, name)
    return AnswerWords(subject, answer.plural, answer.lacks, answer.against, answer.reads)


def terms_of(plan: Plan, events: Sequence[EventLine]) -> Terms:
    """The terms of a plan, and how often the weighing was judged and shown before."""
    return Terms(
        epochs=plan.epochs,
        look=plan.look,
        margin=plan.margin,
        metric=plan.metric,
        alphas=plan.alpha,
        open_ended=plan.open_ended,
        first_verdict=plan.first_verdict,
        s0=plan.s0 if plan.s0 > 0 else DEFAULT_S0,  # where the pilot gave none
        epoch_seconds=plan.epoch_takes_ns / NS_PER_S,
        attempt=plan.attempt,
        looked=earlier_judgements(events),
        separate=plan.judged == "separately",
        more_is_better=True if plan.search is not None else None,
    )


def earlier_judgements(events: Sequence[EventLine]) -> int:
    """How often a weighing was interrupted or given up, judged and shown before it went on."""
    resumed = [index for index, line in enumerate(events) if line.event == RESUMED]
    before = events[: resumed[-1]] if resumed else ()
    looks = [line for line in before if line.event in (JUDGED, GIVEN_UP)]
    return sum(line.epoch >= FEWEST_FOR_VERDICT for line in looks)


def threats_beyond_ratios(
    recorded: RecordContents, arm: str, inspected: Sequence[Observation] | None = None
) -> tuple[Observation, ...]:
    """Every threat to the contrast of an arm that its log ratios alone do not show.

    `inspected`: what `inspected_threats` gives for the arm, where it is known.
    """
    totals, control = [epoch.totals for epoch in recorded.epochs], recorded.study.control.name
    layout = judging_of(recorded.plan)
    return (
        *layout.threats(recorded, arm),
        *(inspected_threats(recorded, arm) if inspected is None else inspected),
        *work_threats(totals, control, arm, recorded.inspection),
        *(arrival_threats(totals, control, arm) if recorded.plan.search is None else ()),
        *run_threats(recorded.epochs, recorded.plan, recorded.study, arm, level=layout.level),
        *place_threats(recorded.plan, recorded.environment, control, arm),
        *drive_threats(recorded.environment.drives, recorded.end.drives if recorded.end else ()),
        *memory_threats(recorded.epochs, recorded.plan, recorded.study, recorded.environment, arm),
    )


def inspected_threats(recorded: RecordContents, arm: str) -> tuple[Observation, ...]:
    """The threats that were seen before the first epoch."""
    inspected = inspection_threats(recorded.inspection, recorded.study.control.name, arm)
    return (*inspected, *source_threats(recorded.environment.source))


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A threat that a contrast had after some of its epochs, but not after all of them."""

    observation: Observation
    """Of the last epoch that raised it."""
    epochs: int
    """How many epochs there were then."""


def withdrawn(recorded: RecordContents, contrast: WeighedContrast) -> tuple[Withdrawn, ...]:
    """The threats that were shown while a contrast was weighed and are none of its own at the
    end."""
    terms, control, arm = terms_of(recorded.plan, recorded.events), contrast.control, contrast.arm
    every = len(recorded.epochs)
    readings = _readings(recorded, arm, control, terms)
    inspected = inspected_threats(recorded, arm)
    last: dict[str, Withdrawn] = {}
    for n in range(1, every):
        threats = (
            *threats_beyond_ratios(replace(recorded, epochs=recorded.epochs[:n]), arm, inspected),
            *threats_of_epochs(readings[:n], arm, control, terms, False),
        )
        last |= {threat.name: Withdrawn(threat, n) for threat in threats}
    for threat in contrast.threats:
        last.pop(threat.name, None)
    return tuple(last.values())


def _readings(recorded: RecordContents, arm: str, control: str, terms: Terms) -> list[EpochReading]:
    search = recorded.plan.search
    if search is not None:
        totals = (epoch.totals for epoch in recorded.epochs)
        return [read_search_epoch(epoch, arm, control, search) for epoch in totals]
    read = [_read_epoch(epoch.totals, arm, control, terms.metric) for epoch in recorded.epochs]
    if recorded.study.workload.pace is None:
        return read
    # Little's law is of clients that never wait for an arrival.
    return [replace(reading, busy_share={}) for reading in read]


_read_epoch = memoize_by_identity(read_epoch)


Readings = Mapping[str, Sequence[EpochReading]]
"""Arm → its readings against the control, of the same epochs in the same order."""


def contrasts_of(
    readings: Readings,
    terms: Terms,
    control: str,
    threats: Mapping[str, Sequence[Observation]],
    ended: bool = False,
) -> list[WeighedContrast]:
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
    intervals = _intervals_of_arms(readings)
    return [primary] + [
        _secondary(contrast, intervals[contrast.arm], primary, ended) for contrast in further
    ]


def _shared(terms: Terms, arms: int) -> Terms:
    """The terms of one of several further arms: its share of the error rate."""
    first, last = terms.alphas
    return replace(terms, alphas=(first / arms, last / arms))


def _secondary_open(contrast: WeighedContrast, primary: WeighedContrast) -> WeighedContrast:
    """The contrast by its own e-process; it neither ends the weighing nor holds it up."""
    return replace(
        contrast,
        verdict=replace(contrast.verdict, ends=primary.verdict.ends),
        details=contrast.details.model_copy(update={"secondary": True}),
    )


@dataclass(frozen=True, slots=True)
class _ArmInterval:
    """What an arm is judged by beside others, at its part of their error rate."""

    interval: Interval
    method: str
    alpha: float
    epochs: int


def _intervals_of_arms(readings: Readings) -> dict[str, _ArmInterval]:
    """Intervals that hold together at 95 %: joint ones, of the epochs in which all arms have a
    ratio, for arms that always did some work; for each that did none in some epoch, which no joint
    interval holds, the set of its own epochs."""
    ratios = {arm: np.array([e.d for e in epochs], dtype=float) for arm, epochs in readings.items()}
    working = {arm: d for arm, d in ratios.items() if not np.isinf(d).any()}
    joint = _joint_intervals(working, ALPHA * (len(working) / len(ratios)))
    return {
        arm: joint[arm] if arm in joint else _own_interval(d, ALPHA / len(ratios))
        for arm, d in ratios.items()
    }


def _joint_intervals(ratios: Mapping[str, Floats], alpha: float) -> dict[str, _ArmInterval]:
    table = np.array(list(ratios.values()), dtype=float).T
    table = table[np.isfinite(table).all(axis=1)] if table.size else table
    results = joint_flips(table, alpha) if len(table) > 1 else ()
    intervals = [result.interval for result in results] or [UNBOUNDED] * len(ratios)
    return {
        arm: _ArmInterval(interval, "joint sign flips, max-T", alpha, len(table))
        for arm, interval in zip(ratios, intervals, strict=True)
    }


def _own_interval(d: Floats, alpha: float) -> _ArmInterval:
    usable = d[~np.isnan(d)]
    enough = len(usable) >= FEWEST_FOR_VERDICT
    interval = confidence_set(usable, alpha).interval if enough else UNBOUNDED
    return _ArmInterval(interval, "sign flips", alpha, len(usable))


def _secondary(
    contrast: WeighedContrast, arm: _ArmInterval, primary: WeighedContrast, ended: bool
) -> WeighedContrast:
    """The contrast by its part of the joint intervals: a verdict only where the primary one has its
    own, and of as many epochs as any verdict needs."""
    stage, main = Stage(primary.details.look), arm.interval
    over = primary.verdict.ends or ended or stage is Stage.LAST
    enough = stage is not Stage.TOO_FEW and arm.epochs >= FEWEST_FOR_VERDICT
    judged = Stage.LAST if over and enough else Stage.BETWEEN
    verdict = decide(judged, main, main, contrast.terms, contrast.threats)
    value = min(max(contrast.estimate.value, main.low), main.high)
    percents = percent_ends(replace(contrast.estimate, low=main.low, high=main.high))
    changed = {
        "secondary": True,
        "method": arm.method,
        "level": 1 - arm.alpha,
        "equivalence_interval_percent": (percents["low_percent"], percents["high_percent"]),
        "equivalence_level_one_sided": arm.alpha / 2,
    }
    return replace(
        contrast,
        estimate=replace(
            contrast.estimate, value=value, low=main.low, high=main.high, confidence=1 - ALPHA
        ),
        verdict=replace(verdict, ends=primary.verdict.ends),
        details=contrast.details.model_copy(update=changed),
    )
