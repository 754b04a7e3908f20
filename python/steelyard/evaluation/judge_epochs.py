"""Judges the epochs of one contrast: the single entry from readings to a verdict.

Pure: the same readings and terms give the same contrast, in the weighing after every epoch, from a
record on another machine, or in simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.checks.autocorrelation import mean_lag_one
from steelyard.analysis.checks.slots import slot_effect
from steelyard.analysis.decision.epoch_reading import (
    COMPLETE,
    GEOMETRIC_MEAN,
    EpochReading,
    blamed,
)
from steelyard.analysis.decision.forecast import forecast
from steelyard.analysis.decision.looks import CONFIDENCE, Stage, Terms, smallest_visible
from steelyard.analysis.decision.sets import (
    Assignment,
    JudgingSets,
    centre,
    judging_sets,
    shown_interval,
)
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.evaluation.contrast import Contrast, WeighedContrast
from steelyard.evaluation.rule import decide
from steelyard.evaluation.threats.epochs import threats_of_epochs
from steelyard.model.estimate import LOG_RATIO, UNBOUNDED, Estimate, Interval
from steelyard.model.threat import Observation
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import (
    ContrastDetails,
    ContrastLine,
    Ends,
    EpochDetail,
    Settling,
)

_MOST_POINTS = 60


def contrast_of(
    epochs: Sequence[EpochReading],
    terms: Terms,
    arm: str,
    control: str,
    threats: Sequence[Observation] = (),
    ended: bool = False,
) -> WeighedContrast:
    """The contrast after `epochs`, in the order they were measured.

    `threats`: those seen elsewhere (host, driver, engines); the epochs' own are added.
    `ended`: the clock or the user ended the weighing before its plan did.
    `verdict.ends` says that the plan ends here: at a look that may, or at N.
    """
    usable = [epoch for epoch in epochs if not math.isnan(epoch.d)]
    sets = _sets_after(epochs, terms, arm, control, ended)
    every = (*threats, *threats_of_epochs(epochs, arm, control, terms, ended))
    d = log_ratios(usable)
    estimate = _estimate(d, sets.main)
    return Contrast(
        arm=arm,
        control=control,
        terms=terms,
        estimate=estimate,
        verdict=decide(sets.stage, sets.main, sets.equivalence, terms, every),
        epochs=len(usable),
        blocks=sum(epoch.blocks for epoch in usable),
        forecast=forecast(d, terms.margins, terms.alphas[1]),
        threats=every,
        details=_details(epochs, terms, sets, arm, control, ended),
    )


def log_ratios(usable: Sequence[EpochReading]) -> Floats:
    """The log ratios of epochs that have one, shape (n,)."""
    return np.array([epoch.d for epoch in usable], dtype=float)


def slot_assignment(usable: Sequence[EpochReading], arm: str, control: str) -> Assignment | None:
    """Whether the arm stood in the lower of its two slots, by epoch; None unless the two arms
    shared exactly two slots throughout (with more arms the draw is another one)."""
    pairs = {(epoch.slots.get(arm), epoch.slots.get(control)) for epoch in usable}
    if len(pairs) != 2 or any(len(epoch.slots) != 2 for epoch in usable):
        return None
    pair, reverse = pairs
    if pair != reverse[::-1] or None in pair:
        return None
    lower = min(pair, reverse, key=repr)
    return tuple((e.slots[arm], e.slots[control]) == lower for e in usable)


def _sets_after(
    epochs: Sequence[EpochReading], terms: Terms, arm: str, control: str, ended: bool
) -> JudgingSets:
    usable = [epoch for epoch in epochs if not math.isnan(epoch.d)]
    stage = terms.stage(len(epochs), len(usable), ended)
    return judging_sets(log_ratios(usable), terms, stage, slot_assignment(usable, arm, control))


def _estimate(d: Floats, main: Interval) -> Estimate:
    if len(d) == 0:
        value, main = math.nan, UNBOUNDED
    else:
        value = centre(d, main)
    return Estimate(value, main.low, main.high, len(d), LOG_RATIO, CONFIDENCE)


def settling_of(
    epochs: Sequence[EpochReading], terms: Terms, arm: str, control: str, ended: bool = False
) -> tuple[Settling, ...]:
    """Estimate and interval after each epoch (at most 60 points), as they would have been shown."""
    counts = range(1, len(epochs) + 1)
    step = math.ceil(len(epochs) / _MOST_POINTS) or 1
    plotted = [n for n in counts if n % step == 0 or n == len(epochs)]
    points = []
    for n in plotted:
        usable = [epoch for epoch in epochs[:n] if not math.isnan(epoch.d)]
        stage = terms.stage(n, len(usable), ended and n == len(epochs))
        d = log_ratios(usable)
        interval = shown_interval(d, terms, stage, slot_assignment(usable, arm, control))
        points.append(Settling(epochs=n, **percent_ends(_estimate(d, interval))))
    return tuple(points)


def percent_ends(estimate: Estimate) -> dict[str, float | None]:
    """An estimate in percent as JSON keeps it: None where it is unbounded or there is none."""
    percent = estimate.in_percent()
    logs = (estimate.value, estimate.low, estimate.high)
    values = (percent.value, percent.low, percent.high)
    names = ("estimate_percent", "low_percent", "high_percent")
    return {
        name: value if math.isfinite(log) and math.isfinite(value) else None
        for name, log, value in zip(names, logs, values, strict=True)
    }


def _details(
    epochs: Sequence[EpochReading],
    terms: Terms,
    sets: JudgingSets,
    arm: str,
    control: str,
    ended: bool,
) -> ContrastDetails:
    usable = [epoch for epoch in epochs if not math.isnan(epoch.d)]
    d = np.array([epoch.d for epoch in usable], dtype=float)
    sd = float(np.std(d, ddof=1)) if len(d) > 1 and np.isfinite(d).all() else math.nan
    one_sided = terms.alphas[0] if _early(sets.stage, terms, len(d)) else terms.alphas[1]
    return ContrastDetails(
        d=tuple(_finite(epoch.d) for epoch in epochs),
        epochs=tuple(_epoch(epoch) for epoch in epochs),
        k=sets.k,
        subsets=sets.group,
        look=sets.stage.value,
        method=sets.method,
        level=sets.level,
        t_interval_percent=ends_or_none(t_interval(d, CONFIDENCE)),
        equivalence_interval_percent=ends_or_none(sets.equivalence),
        equivalence_level_one_sided=one_sided,
        epoch_sd_percent=_finite(100 * sd),
        slot_effect_percent=_slot_effect(usable, d, arm, control),
        typical_percent=_typical(usable),
        smallest_visible_percent=_finite(_visible(sd, len(d), terms)),
        block_autocorrelation=_finite(mean_lag_one([e.block_autocorrelation for e in epochs])),
        drops={name: sum(e.dropped.get(name, 0) for e in epochs) for name in (control, arm)},
        capped={name: sum(e.capped.get(name, 0) for e in epochs) for name in (control, arm)},
        lost_epochs=tuple(e.epoch for e in epochs if not math.isfinite(e.d)),
        attempt=terms.attempt,
        margin_percent=100 * terms.margin,
        settling=settling_of(epochs, terms, arm, control, ended),
    )


def _epoch(reading: EpochReading) -> EpochDetail:
    return EpochDetail(
        epoch=reading.epoch,
        slots=dict(reading.slots),
        order=tuple(reading.start_order),
        d=_finite(reading.d),
        throughput={name: _finite(value) for name, value in reading.throughput.items()},
        typical_d=_finite(reading.typical_d),
        outcome=reading.outcome,
    )


def counted_log_ratio(line: ContrastLine, epoch: EpochDetail) -> float:
    """The log ratio of an epoch as the interval of its contrast holds it: infinite where one arm
    did no work; NaN where the epoch is not in it."""
    if epoch.d is not None:
        return epoch.d
    finite = sum(ratio is not None for ratio in line.details.d)
    return unrecorded_log_ratio(line, epoch) if line.epochs > finite else math.nan


def unrecorded_log_ratio(line: ContrastLine, epoch: EpochDetail) -> float:
    """The log ratio of an epoch of which a record has no number: infinite, where one arm was lost
    or did no work beside another that did some; NaN where there is none."""
    pair, lost = {line.arm, line.control}, blamed(epoch.outcome)
    idle = pair & lost
    if not idle and any(epoch.throughput.get(name) for name in pair):
        idle = {name for name in pair if _surely_idle(line, epoch, name)}
    if len(idle) != 1:
        return math.nan
    return math.inf if (line.arm not in idle) is line.higher_is_better else -math.inf


def _surely_idle(line: ContrastLine, epoch: EpochDetail, arm: str) -> bool:
    """Whether an arm that survived did no work: of slices that were dropped, rates that were not
    found and queries that were given up an epoch may have no number either."""
    whole = epoch.outcome == COMPLETE and line.metric != GEOMETRIC_MEAN
    return whole and epoch.throughput.get(arm) == 0 and not line.details.drops.get(arm)


def _early(stage: Stage, terms: Terms, n: int) -> bool:
    return stage is Stage.FIRST or (terms.open_ended and n < terms.epochs)


def _slot_effect(usable: Sequence[EpochReading], d: Floats, arm: str, control: str) -> float | None:
    if any(len(epoch.slots) != 2 or not {arm, control} <= set(epoch.slots) for epoch in usable):
        return None
    effect = slot_effect(d, [epoch.slots[arm] < epoch.slots[control] for epoch in usable])
    return percent_or_none(effect)


def _typical(usable: Sequence[EpochReading]) -> float | None:
    finite = [epoch.typical_d for epoch in usable if math.isfinite(epoch.typical_d)]
    return percent_or_none(float(np.mean(finite))) if finite else None


def _visible(sd: float, n: int, terms: Terms) -> float:
    """In percent: what N epochs of this scatter would detect with 80 % power."""
    return 100 * sd * smallest_visible(max(n, terms.epochs), balanced=True) if n > 1 else math.nan


def ends_or_none(interval: Interval) -> Ends:
    """Both ends of log ratios in percent, as JSON keeps them."""
    return percent_or_none(interval.low), percent_or_none(interval.high)


def ends_of_set(interval: Interval) -> Ends:
    """Both ends in percent of a set that may hold epochs in which an arm did no work: −100 % is an
    end where the other one is known; None at both where nothing is bounded."""
    if interval == UNBOUNDED:
        return None, None
    return percent_of_log(interval.low), percent_of_log(interval.high)


def is_equal_within(interval: Interval, margin_percent: float) -> bool:
    """Whether a set of log ratios lies within a margin, as a weighing has it."""
    margin = margin_percent / 100
    return interval.inside(math.log1p(-margin), math.log1p(margin))


def percent_or_none(log_ratio: float) -> float | None:
    """In percent as JSON keeps it: None where it is unbounded or unknown."""
    return _finite(percent_of_log(log_ratio)) if math.isfinite(log_ratio) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
