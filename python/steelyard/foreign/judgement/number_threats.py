"""Raises the threats that numbers from elsewhere show: order, dependence, steps, outliers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.analysis.checks.drops import unequal
from steelyard.analysis.checks.littles_law import busy_clients, disagree
from steelyard.analysis.checks.outliers import outlying
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.profile import Profile, profile_of
from steelyard.analysis.two_samples.replicates import FEWEST_EFFECTIVE, Replicates
from steelyard.foreign.cells import shown_values
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.level_steps import rows_lie, step_words, steps_of, trend_words
from steelyard.foreign.judgement.number_sets import NumberSets, RowOrder
from steelyard.foreign.judgement.overview import Overview, Pairing, unlike
from steelyard.foreign.series import Grain, Order, Series, TransactionCounts
from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.model.units import format_percent, log_of_percent, percent_of_log

DRIFT_TOLERANCE = np.log1p(0.05)
"""A smaller drift over all rows is not reported."""
_ORDERS = {
    Order.UNKNOWN: "nothing says in which order the arms were measured",
    Order.ALTERNATING: "the arms took turns, but nothing says that chance drew the order",
}


def number_threats(
    overview: Overview, arm: Series, pairing: Pairing, sets: NumberSets, terms: Terms
) -> tuple[Threat, ...]:
    """Every threat to the contrast of one arm with the control."""
    return (
        *_conditions(overview.comparison, arm),
        *_errors(overview.comparison, arm),
        *_load(overview.comparison, arm),
        *_machine(overview.comparison),
        *_order(overview, arm, sets),
        *_amount(overview.comparison, arm, sets),
        *_dependence(overview.comparison, arm, pairing, sets),
        *_levels(overview, arm, pairing),
        *_lone_rows(overview, arm, pairing, sets),
    )


def _errors(comparison: Comparison, arm: Series) -> Iterator[Threat]:
    """Transactions that did not simply succeed: in one arm more than in the other."""
    names = arm.arm, comparison.control.arm
    outcomes = [comparison.outcomes[name] for name in names if name in comparison.outcomes]
    for name, outcome in zip(names, outcomes, strict=False) if len(outcomes) == 2 else ():
        if outcome.wrong:
            yield raise_threat(
                ThreatKind.WRONG_ANSWER,
                f"{outcome.wrong} of {outcome.tried} transactions of {name} returned other rows "
                "than they should",
            )
    if len(outcomes) < 2:
        return
    here, there = outcomes
    if not (here.tried and there.tried):
        rows = len(arm.values), len(comparison.control.values)
        yield from _counted_errors(names, outcomes, rows)
        return
    if unequal(here.troubled, there.troubled, here.tried, there.tried):
        yield raise_threat(
            ThreatKind.ERRORS_DIFFER,
            f"{here.troubled} of {here.tried} transactions of {names[0]} failed, were retried or "
            f"skipped, and {there.troubled} of {there.tried} of {names[1]}",
        )


def _counted_errors(
    names: tuple[str, str], known: Sequence[TransactionCounts], rows: tuple[int, int]
) -> Iterator[Threat]:
    """Failures of which only the number is known: compared by rows, each with as many chances."""
    here, there = known
    chances = 1 + max(here.troubled, there.troubled)
    if unequal(here.troubled, there.troubled, rows[0] * chances, rows[1] * chances):
        yield raise_threat(
            ThreatKind.ERRORS_DIFFER,
            f"{here.troubled} failures or retries are counted in {rows[0]} rows of {names[0]}, and "
            f"{there.troubled} in {rows[1]} of {names[1]}",
        )


def _conditions(comparison: Comparison, arm: Series) -> Iterator[Threat]:
    """What the runs were asked to do, where it is not one and the same for both arms: a load that
    differs between them explains any difference."""
    names = comparison.control.arm, arm.arm
    there, here = (comparison.conditions.get(name, {}) for name in names)
    differing = [name for name in there if name in here and len({*there[name], *here[name]}) > 1]
    if not differing:
        return
    explains = [
        name
        for name in differing
        if name in comparison.loads and set(there[name]) != set(here[name])
    ]
    differing.sort(key=lambda name: name not in explains)
    sentence = "; ".join(
        f"{name} is {shown_values(there[name])} in {names[0]} and {shown_values(here[name])} in "
        f"{names[1]}"
        for name in differing
    )
    yield raise_threat(ThreatKind.CONDITIONS_DIFFER, sentence, invalidates=bool(explains))


def _machine(comparison: Comparison) -> Iterator[Threat]:
    """What the files say of their machines: one a kind, by the first run that shows it."""
    times = Counter(kind for kind, _ in comparison.machine)
    for kind, sentence in dict(reversed(comparison.machine)).items():
        more = f"; seen in {times[kind]} runs" if times[kind] > 1 else ""
        yield raise_threat(kind, f"{sentence}{more}")


def _load(comparison: Comparison, arm: Series) -> Iterator[Threat]:
    for series in (comparison.control, arm):
        point = comparison.operating_points.get(series.arm)
        if point is None or not disagree(point.clients, point.throughput, point.latency_s):
            continue
        busy = busy_clients(point.throughput, point.latency_s)
        implied_ms = 1e3 * point.clients / point.throughput
        threat = raise_threat(
            ThreatKind.LITTLES_LAW,
            f"{series.arm}: {point.throughput:.6g} transactions/s × {1e3 * point.latency_s:.5g} "
            f"ms keep {busy:.4g} clients busy, and there were {point.clients:g}; that throughput "
            f"of so many means {implied_ms:.4g} ms",
        )
        yield replace(
            threat,
            cause="clients waited outside the transactions that were timed (connecting, a rate "
            "limit, a busy driver), or the two figures are not of the same time"
            if busy < point.clients
            else "more is busy than there is: the two figures are not of the same time or load",
            advice="ask how both were measured, and trust neither until they agree",
        )


def _order(overview: Overview, arm: Series, sets: NumberSets) -> Iterator[Threat]:
    order = overview.comparison.order
    if order in _ORDERS:
        yield raise_threat(ThreatKind.OBSERVATIONAL, _ORDERS[order])
    if order is not Order.SEQUENTIAL:
        return
    control = overview.comparison.control
    moved = [
        f"{name} moved by {format_percent(percent_of_log(size), 1)} while it was measured"
        for name in (control.arm, arm.arm)
        if (size := _movement(overview.profiles[name], overview.logs[name]))
        >= abs(sets.value) / 2
        > 0
    ]
    if moved and min(len(control.values), len(arm.values)) >= FEWEST_FOR_VERDICT:
        yield raise_threat(ThreatKind.DRIFT_OR_ARM, "; ".join(moved))
    yield raise_threat(
        ThreatKind.ONE_AFTER_OTHER,
        f"all of {control.arm} was measured, and all of {arm.arm} at another time",
    )


def _movement(profile: Profile, logs: Floats) -> float:
    """How far the level of an arm moved by clear steps or drift (log); 0 where it did not."""
    steps = [log_of_percent(s.percent) for s in steps_of(profile, logs)]
    drift = abs(profile.trend.change) if profile.trend.beyond(0.0) else 0.0
    return max([abs(step) for step in steps] + [drift])


def _amount(comparison: Comparison, arm: Series, sets: NumberSets) -> Iterator[Threat]:
    pair = comparison.control, arm
    single = [f"one of {series.arm}" for series in pair if len(series.values) == 1]
    if single:
        yield raise_threat(ThreatKind.NO_SPREAD, f"values there are {' and '.join(single)}")
        return
    slices = [series.arm for series in pair if series.grain is Grain.SLICE]
    if slices:
        yield raise_threat(
            ThreatKind.ONE_RUN,
            f"the rows of {' and of '.join(slices)} are parts of one run; how runs differ is not "
            "seen",
        )
    if sets.count < FEWEST_FOR_VERDICT:
        yield raise_threat(
            ThreatKind.TOO_FEW_ROWS,
            f"there are {sets.count} to go by; a verdict needs {FEWEST_FOR_VERDICT}",
        )


def _dependence(
    comparison: Comparison, arm: Series, pairing: Pairing, sets: NumberSets
) -> Iterator[Threat]:
    """Rows that are seen to depend on their neighbours, and rows too few to rule it out."""
    names = ["the difference"] if pairing.paired else [comparison.control.arm, arm.arm]
    for name, part in zip(names, sets.parts, strict=True):
        withheld = part.count >= FEWEST_FOR_VERDICT and part.effective < FEWEST_EFFECTIVE
        if not part.dependent and not withheld:
            continue
        what = "batches of rows" if part.batched else "rows"
        worth = max(1, round(part.effective))
        sentence = (
            f"{_likely(part, what, name)}: {part.count} of them tell as much as {worth} "
            f"independent one{'s' if worth > 1 else ''}"
        )
        sentence += ", and the interval was widened" if part.enough else ", too few for an interval"
        yield raise_threat(ThreatKind.ROWS_DEPEND, sentence)


def _likely(part: Replicates, what: str, name: str) -> str:
    """How neighbours correlate; rows that are too few, or all equal, do not show it."""
    if not (np.isfinite(part.lag_one) and np.isfinite(part.lag_one_limit)):
        return f"how neighbouring {what} of {name} correlate cannot be seen"
    return (
        f"neighbouring {what} of {name} correlate by {_figure(part.lag_one)}, and up to "
        f"{_figure(part.lag_one_limit)} is likely"
    )


def _figure(correlation: float) -> str:
    return f"{correlation:.2f}".replace("-", "−")


def _levels(overview: Overview, arm: Series, pairing: Pairing) -> Iterator[Threat]:
    if not overview.in_time:
        reason = overview.comparison.no_order
        if not reason or overview.row_order is RowOrder.LOST:
            yield raise_threat(ThreatKind.ORDER_LOST, reason or _no_order(overview))
        return
    control = overview.comparison.control
    if overview.common is not None and overview.common_logs is not None:
        movement = _moved(overview.common, overview.common_logs)
        if movement:
            yield raise_threat(ThreatKind.LEVEL_MOVED, f"all arms together: {movement}")
    else:
        for name in (control.arm, arm.arm):
            movement = _moved(overview.profiles[name], overview.logs[name])
            if movement:
                yield raise_threat(ThreatKind.LEVEL_MOVED, f"{name}: {movement}")
    if pairing.paired:
        d = overview.logs[arm.arm] - overview.logs[control.arm]
        movement = _moved(profile_of(d), d)
        if movement:
            yield raise_threat(
                ThreatKind.LEVEL_MOVED, f"the difference of {arm.arm} itself: {movement}"
            )


def _no_order(overview: Overview) -> str:
    if unlike(overview.comparison, overview.logs):
        return "rows differ many times over, alike in all arms: they are of different things"
    return "the values of every arm rise or fall throughout"


def _moved(profile: Profile, logs: Floats) -> str:
    steps = steps_of(profile, logs)
    if steps:
        return step_words(steps)
    return trend_words(profile) if profile.trend.beyond(DRIFT_TOLERANCE) else ""


def _lone_rows(
    overview: Overview, arm: Series, pairing: Pairing, sets: NumberSets
) -> Iterator[Threat]:
    """Rows far out that carry more than an eighth of the interval's width, before stretching."""
    control = overview.comparison.control
    if pairing.paired:
        d = overview.logs[arm.arm] - overview.logs[control.arm]
        far = {"": outlying(d)}
        size = float(np.delete(d, far[""]).mean())
    else:
        far = {name: np.array(overview.profiles[name].outliers) for name in (control.arm, arm.arm)}
        remaining = [np.delete(overview.logs[name], rows.astype(int)) for name, rows in far.items()]
        size = float(remaining[1].mean() - remaining[0].mean())
    sentence = " and ".join(
        rows_lie(rows.tolist(), name) for name, rows in far.items() if len(rows)
    )
    width = sets.width_as_read
    if sentence and np.isfinite(width) and abs(size - sets.value) > width / 8:
        yield raise_threat(
            ThreatKind.FEW_ROWS_DECIDE,
            f"{sentence}; the estimate of {arm.arm} would move from "
            f"{format_percent(percent_of_log(sets.value), 1)} to "
            f"{format_percent(percent_of_log(size), 1)} without them",
        )


def centres_threat(
    arm: str, centres: tuple[Centred, ...], sets: NumberSets, terms: Terms, unquiet: bool
) -> Iterator[Threat]:
    """Mean and median disagree: by more than δ, and than half of the interval's half-width (before
    stretching) in rows with steps or outliers (`unquiet`), than the whole of it in quiet ones."""
    by_name = {centre.name: centre for centre in centres}
    if not by_name or not np.isfinite(sets.sets.main.width):
        return
    mean, median = by_name["mean"], by_name["median"]
    half = sets.width_as_read / 2
    gap = abs(mean.value - median.value)
    if gap > terms.margin and gap > (half / 2 if unquiet else half):
        yield raise_threat(
            ThreatKind.CENTRES_DISAGREE,
            f"{arm} by the means {ratio_words(mean)}, by the medians {ratio_words(median)}",
        )


def ratio_words(centre: Centred) -> str:
    """`+5.4 % [−1.2, 12.3]`."""
    low, high = (
        format_percent(percent_of_log(end), 1).removesuffix(" %")
        for end in (centre.low, centre.high)
    )
    return f"{format_percent(percent_of_log(centre.value), 1)} [{low}, {high}]"
