"""Raises the threats that numbers from elsewhere show: order, dependence, steps, outliers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.analysis.checks.drops import unequal
from steelyard.analysis.checks.failure_shares import unequal_shares
from steelyard.analysis.checks.littles_law import busy_clients, disagree
from steelyard.analysis.checks.outliers import outlying
from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT, Terms
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.profile import Profile, profile_of
from steelyard.analysis.two_samples.replicates import FEWEST_EFFECTIVE
from steelyard.evaluation.threats.numbers import (
    AllArmsMoved,
    ArmMoved,
    ArmsMovedMeanwhile,
    CentresDisagree,
    ClosedLoopBroken,
    ConditionsDiffer,
    DifferenceMoved,
    DifferingCondition,
    FewRowsDecide,
    Movement,
    OneArmAfterOther,
    OrderNotDrawn,
    OrderNotStated,
    PartsOfOneRun,
    QuotedOfRuns,
    RowsDepend,
    RowsOfDifferentThings,
    RowsSorted,
    SingleValues,
    TooFewRows,
    UnequalFailureCounts,
    UnequalFailureShares,
    UnequalOutcomes,
    WrongRowsReturned,
)
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.number_sets import NumberSets, RowOrder
from steelyard.foreign.judgement.overview import Overview, Pairing, steps_of, unlike
from steelyard.foreign.series import Grain, Order, Series, TransactionCounts
from steelyard.foreign.source import quoted
from steelyard.model.threat import Observation
from steelyard.model.units import log_of_percent

DRIFT_TOLERANCE = np.log1p(0.05)
"""A smaller drift over all rows is not reported."""


def number_threats(
    overview: Overview, arm: Series, pairing: Pairing, sets: NumberSets, terms: Terms
) -> tuple[Observation, ...]:
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


def _errors(comparison: Comparison, arm: Series) -> Iterator[Observation]:
    """Transactions that did not simply succeed: in one arm more than in the other."""
    names = arm.arm, comparison.control.arm
    outcomes = [comparison.outcomes[name] for name in names if name in comparison.outcomes]
    for name, outcome in zip(names, outcomes, strict=False) if len(outcomes) == 2 else ():
        if outcome.wrong:
            yield WrongRowsReturned(name, outcome.wrong, outcome.tried)
    if len(outcomes) < 2:
        return
    here, there = outcomes
    if not (here.tried and there.tried):
        yield from _unequal_shares(comparison, names, here.shares, there.shares)
        rows = len(arm.values), len(comparison.control.values)
        yield from _counted_errors(names, outcomes, rows)
        return
    if unequal(here.troubled, there.troubled, here.tried, there.tried):
        troubled, tried = (here.troubled, there.troubled), (here.tried, there.tried)
        yield UnequalOutcomes(*names, troubled, tried)


def _unequal_shares(
    comparison: Comparison,
    names: tuple[str, str],
    here: Mapping[str, tuple[float, ...]],
    there: Mapping[str, tuple[float, ...]],
) -> Iterator[Observation]:
    """Shares of failures that differ on the average of rows, one an arm for each column."""
    for column, mine in here.items():
        theirs = there.get(column, ())
        judged = column == quoted(comparison.metric.column)
        if theirs and not judged and unequal_shares(mine, theirs):
            means = float(np.mean(mine)), float(np.mean(theirs))
            yield UnequalFailureShares(*names, column, means)


def _counted_errors(
    names: tuple[str, str], known: Sequence[TransactionCounts], rows: tuple[int, int]
) -> Iterator[Observation]:
    """Failures of which only the number is known: compared by rows, each with as many chances."""
    here, there = known
    chances = 1 + max(here.troubled, there.troubled)
    if unequal(here.troubled, there.troubled, rows[0] * chances, rows[1] * chances):
        yield UnequalFailureCounts(*names, (here.troubled, there.troubled), rows)


def _conditions(comparison: Comparison, arm: Series) -> Iterator[Observation]:
    """What the runs were asked to do, where it is not one and the same for both arms: a load that
    differs between them explains any difference."""
    names = comparison.control.arm, arm.arm
    there, here = (comparison.conditions.get(name, {}) for name in names)
    differing = [
        DifferingCondition(
            name,
            of_control=_printable(there[name]),
            of_arm=_printable(here[name]),
            explains=name in comparison.loads and set(there[name]) != set(here[name]),
        )
        for name in there
        if name in here and len({*there[name], *here[name]}) > 1
    ]
    differing.sort(key=lambda condition: not condition.explains)
    if differing:
        yield ConditionsDiffer(arm.arm, comparison.control.arm, tuple(differing))


def _printable(values: Sequence[str]) -> tuple[str, ...]:
    """Values that a file holds, cut short, with nothing that a terminal would act on."""
    return tuple(quoted(value)[1:-1] for value in values)


def _machine(comparison: Comparison) -> Iterator[Observation]:
    """What the files say of their machines: one a kind, by the first run that shows it."""
    times = Counter(kind for kind, _ in comparison.machine)
    for kind, sentence in dict(reversed(comparison.machine)).items():
        yield QuotedOfRuns(kind, sentence, times[kind])


def _load(comparison: Comparison, arm: Series) -> Iterator[Observation]:
    for series in (comparison.control, arm):
        point = comparison.operating_points.get(series.arm)
        if point is None or not disagree(point.clients, point.throughput, point.latency_s):
            continue
        yield ClosedLoopBroken(
            series.arm,
            clients=point.clients,
            throughput=point.throughput,
            latency_ms=1e3 * point.latency_s,
            busy_clients=busy_clients(point.throughput, point.latency_s),
            implied_latency_ms=1e3 * point.clients / point.throughput,
        )


def _order(overview: Overview, arm: Series, sets: NumberSets) -> Iterator[Observation]:
    order = overview.comparison.order
    if order in (Order.UNKNOWN, Order.ALTERNATING):
        yield OrderNotDrawn(alternating=order is Order.ALTERNATING)
    if order is not Order.SEQUENTIAL:
        return
    control = overview.comparison.control
    moved = [
        (name, size)
        for name in (control.arm, arm.arm)
        if (size := _movement(overview.profiles[name], overview.logs[name]))
        >= abs(sets.value) / 2
        > 0
    ]
    if moved and min(len(control.values), len(arm.values)) >= FEWEST_FOR_VERDICT:
        yield ArmsMovedMeanwhile(tuple(moved))
    yield OneArmAfterOther(arm.arm, control.arm)


def _movement(profile: Profile, logs: Floats) -> float:
    """How far the level of an arm moved by clear steps or drift (log); 0 where it did not."""
    steps = [log_of_percent(s.percent) for s in steps_of(profile, logs)]
    drift = abs(profile.trend.change) if profile.trend.beyond(0.0) else 0.0
    return max([abs(step) for step in steps] + [drift])


def _amount(comparison: Comparison, arm: Series, sets: NumberSets) -> Iterator[Observation]:
    pair = comparison.control, arm
    single = tuple(series.arm for series in pair if len(series.values) == 1)
    if single:
        yield SingleValues(single)
        return
    slices = tuple(series.arm for series in pair if series.grain is Grain.SLICE)
    if slices:
        yield PartsOfOneRun(slices)
    if sets.count < FEWEST_FOR_VERDICT:
        yield TooFewRows(sets.count, FEWEST_FOR_VERDICT)


def _dependence(
    comparison: Comparison, arm: Series, pairing: Pairing, sets: NumberSets
) -> Iterator[Observation]:
    """Rows that are seen to depend on their neighbours, and rows too few to rule it out."""
    pair = (comparison.control.arm, arm.arm)
    names: tuple[str | None, ...] = (None,) if pairing.paired else pair
    for name, part in zip(names, sets.parts, strict=True):
        withheld = part.count >= FEWEST_FOR_VERDICT and part.effective < FEWEST_EFFECTIVE
        if part.dependent or withheld:
            yield RowsDepend(
                name,
                batched=part.batched,
                count=part.count,
                effective=part.effective,
                lag_one=part.lag_one,
                lag_one_limit=part.lag_one_limit,
                enough=part.enough,
            )


def _levels(overview: Overview, arm: Series, pairing: Pairing) -> Iterator[Observation]:
    if not overview.in_time:
        reason = overview.comparison.no_order
        if reason and overview.row_order is RowOrder.LOST:
            yield OrderNotStated(reason)
        elif not reason:
            different = unlike(overview.comparison, overview.logs)
            yield RowsOfDifferentThings() if different else RowsSorted()
        return
    control = overview.comparison.control
    if overview.common is not None and overview.common_logs is not None:
        movement = _moved(overview.common, overview.common_logs)
        if movement:
            yield AllArmsMoved(movement)
    else:
        for name in (control.arm, arm.arm):
            movement = _moved(overview.profiles[name], overview.logs[name])
            if movement:
                yield ArmMoved(name, movement)
    if pairing.paired:
        d = overview.logs[arm.arm] - overview.logs[control.arm]
        movement = _moved(profile_of(d), d)
        if movement:
            yield DifferenceMoved(arm.arm, movement)


def _moved(profile: Profile, logs: Floats) -> Movement | None:
    steps = steps_of(profile, logs)
    if steps:
        return Movement(steps)
    return Movement((), profile.trend) if profile.trend.beyond(DRIFT_TOLERANCE) else None


def _lone_rows(
    overview: Overview, arm: Series, pairing: Pairing, sets: NumberSets
) -> Iterator[Observation]:
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
    outliers = tuple((name, tuple(rows.tolist())) for name, rows in far.items() if len(rows))
    width = sets.width_as_read
    if outliers and np.isfinite(width) and abs(size - sets.value) > width / 8:
        yield FewRowsDecide(arm.arm, outliers, estimate=sets.value, without=size)


def centres_threat(
    arm: str, centres: tuple[Centred, ...], sets: NumberSets, terms: Terms, unquiet: bool
) -> Iterator[Observation]:
    """Mean and median disagree: by more than δ, and than half of the interval's half-width (before
    stretching) in rows with steps or outliers (`unquiet`), than the whole of it in quiet ones."""
    by_name = {centre.name: centre for centre in centres}
    if not by_name or not np.isfinite(sets.sets.main.width):
        return
    mean, median = by_name["mean"], by_name["median"]
    half = sets.width_as_read / 2
    gap = abs(mean.value - median.value)
    if gap > terms.margin and gap > (half / 2 if unquiet else half):
        yield CentresDisagree(arm, mean, median)
