"""Says what is seen of numbers from elsewhere: order, dependence, steps, rows far out, load; with
the phrases for rows, steps, drift and ratios that findings have too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from steelyard.analysis.two_samples.centres import Centred
from steelyard.analysis.two_samples.trend import Trend
from steelyard.evaluation.threats import numbers as seen
from steelyard.evaluation.threats.numbers import Step
from steelyard.model.units import counted, format_percent, percent_of_log
from steelyard.wording.threats.advice import OwnAdvice, Texts, ThreatWords

_MOST_NAMED = 4
_WAITED_OUTSIDE = (
    "clients waited outside the transactions that were timed (connecting, a rate limit, a busy "
    "driver), or the two figures are not of the same time"
)
_MORE_THAN_THERE_IS = "more is busy than there is: the two figures are not of the same time or load"


def _conditions_differ(observed: seen.ConditionsDiffer) -> str:
    return "; ".join(
        f"{condition.name} is {_values(condition.of_control)} in {observed.control} and "
        f"{_values(condition.of_arm)} in {observed.arm}"
        for condition in observed.conditions
    )


def _values(values: Sequence[str]) -> str:
    """`8 or 16`; many are cut."""
    names = [value or "not given" for value in values[:_MOST_NAMED]]
    more = f" or {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else ""
    return " or ".join(names) + more


def _wrong_rows(observed: seen.WrongRowsReturned) -> str:
    return (
        f"{observed.wrong} of {observed.tried} transactions of {observed.arm} returned other rows "
        "than they should"
    )


def _unequal_outcomes(observed: seen.UnequalOutcomes) -> str:
    (of_arm, of_control), (tried, tried_control) = observed.counts, observed.out_of
    return (
        f"{of_arm} of {tried} transactions of {observed.arm} failed, were retried or "
        f"skipped, and {of_control} of {tried_control} of {observed.control}"
    )


def _unequal_failure_counts(observed: seen.UnequalFailureCounts) -> str:
    (of_arm, of_control), (rows, rows_of_control) = observed.counts, observed.out_of
    failures = "1 failure or retry is" if of_arm == 1 else f"{of_arm} failures or retries are"
    return (
        f"{failures} counted in {counted(rows, 'rows')} of {observed.arm}, and "
        f"{of_control} in {rows_of_control} of {observed.control}"
    )


def _unequal_failure_shares(observed: seen.UnequalFailureShares) -> str:
    of_arm, of_control = (as_published(mean, 3) for mean in observed.means)
    return (
        f"column {observed.column} is {of_arm} on the average of the rows of {observed.arm}, and "
        f"{of_control} of {observed.control}"
    )


def _quoted_of_runs(observed: seen.QuotedOfRuns) -> str:
    more = f"; seen in {observed.runs} runs" if observed.runs > 1 else ""
    return f"{observed.text}{more}"


def _closed_loop_broken(observed: seen.ClosedLoopBroken) -> str:
    busy, implied_ms = (
        as_published(figure, 4) for figure in (observed.busy_clients, observed.implied_latency_ms)
    )
    return (
        f"{observed.arm}: {as_published(observed.throughput, 6)} transactions/s × "
        f"{as_published(observed.latency_ms, 5)} ms keep {busy} clients busy, and there were "
        f"{observed.clients:g}; that throughput of so many means {implied_ms} ms"
    )


def _closed_loop_advice(observed: seen.ClosedLoopBroken) -> ThreatWords:
    waited = observed.busy_clients < observed.clients
    return ThreatWords(
        _WAITED_OUTSIDE if waited else _MORE_THAN_THERE_IS,
        "ask how both were measured, and trust neither until they agree",
    )


def _order_not_drawn(observed: seen.OrderNotDrawn) -> str:
    if observed.alternating:
        return "the arms took turns, but nothing says that chance drew the order"
    return "nothing says in which order the arms were measured"


def _moved_meanwhile(observed: seen.ArmsMovedMeanwhile) -> str:
    return "; ".join(
        f"{arm} moved by {format_percent(percent_of_log(size), 1)} while it was measured"
        for arm, size in observed.moved
    )


def _one_after_other(observed: seen.OneArmAfterOther) -> str:
    return f"all of {observed.control} was measured, and all of {observed.arm} at another time"


def _single_values(observed: seen.SingleValues) -> str:
    return f"values there are {' and '.join(f'one of {arm}' for arm in observed.arms)}"


def _parts_of_one_run(observed: seen.PartsOfOneRun) -> str:
    rows = f"the rows of {' and of '.join(observed.arms)}"
    return f"{rows} are parts of one run; how runs differ is not seen"


def _too_few(observed: seen.TooFewRows) -> str:
    return f"there are {observed.count} to go by; a verdict needs {observed.needed}"


def _rows_depend(observed: seen.RowsDepend) -> str:
    worth = max(1, round(observed.effective))
    interval = "and the interval was widened" if observed.enough else "too few for an interval"
    return (
        f"{_likely(observed)}: {observed.count} of them tell as much as {worth} "
        f"independent one{'s' if worth > 1 else ''}, {interval}"
    )


def _likely(observed: seen.RowsDepend) -> str:
    """How neighbours correlate; rows that are too few, or all equal, do not show it."""
    what = "batches of rows" if observed.batched else "rows"
    name = "the difference" if observed.arm is None else observed.arm
    if not (math.isfinite(observed.lag_one) and math.isfinite(observed.lag_one_limit)):
        return f"how neighbouring {what} of {name} correlate cannot be seen"
    return (
        f"neighbouring {what} of {name} correlate by {_figure(observed.lag_one)}, and up to "
        f"{_figure(observed.lag_one_limit)} is likely"
    )


def _figure(correlation: float) -> str:
    return f"{correlation:.2f}".replace("-", "−")


def _order_not_stated(observed: seen.OrderNotStated) -> str:
    return observed.why


def _different_things(_: seen.RowsOfDifferentThings) -> str:
    return "rows differ many times over, alike in all arms: they are of different things"


def _sorted(_: seen.RowsSorted) -> str:
    return "the values of every arm rise or fall throughout"


def _all_moved(observed: seen.AllArmsMoved) -> str:
    return f"all arms together: {_movement(observed.movement)}"


def _arm_moved(observed: seen.ArmMoved) -> str:
    return f"{observed.arm}: {_movement(observed.movement)}"


def _difference_moved(observed: seen.DifferenceMoved) -> str:
    return f"the difference of {observed.arm} itself: {_movement(observed.movement)}"


def _movement(movement: seen.Movement) -> str:
    return step_words(movement.steps) if movement.drift is None else trend_words(movement.drift)


def _few_rows(observed: seen.FewRowsDecide) -> str:
    far_out = " and ".join(rows_lie(rows, arm) for arm, rows in observed.outliers)
    before, after = (
        format_percent(percent_of_log(log), 1) for log in (observed.estimate, observed.without)
    )
    estimate = f"the estimate of {observed.arm} would move from {before} to {after}"
    return f"{far_out}; {estimate} without them"


def _centres(observed: seen.CentresDisagree) -> str:
    mean, median = ratio_words(observed.mean), ratio_words(observed.median)
    return f"{observed.arm} by the means {mean}, by the medians {median}"


def as_published(value: float, digits: int) -> str:
    """In that many significant digits, as files have figures: without an exponent and without
    groups of three, `"1000"`, `"0.0125"`."""
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def step_words(steps: Sequence[Step], most: int = 4) -> str:
    """`rows 13–16 +56 % [38, 77], rows 17–23 +20 % [12, 29], against rows 1–12 (chosen by looking:
    intervals too narrow)`."""
    largest = sorted(steps[:most], key=lambda step: step.first)
    parts = [f"{_rows(step.first, step.last)} {_size(step)}" for step in largest]
    if len(steps) > most:
        parts.append(f"and {len(steps) - most} smaller ones")
    usual = _rows(steps[0].usual_first, steps[0].usual_last)
    return f"{', '.join(parts)}, against {usual} (chosen by looking: intervals too narrow)"


def _rows(first: int, last: int) -> str:
    """`rows 13–16`, `row 13`."""
    return f"row {first}" if first == last else f"rows {first}–{last}"


def _size(step: Step) -> str:
    low, high = (format_percent(end, 0).removesuffix(" %") for end in (step.low, step.high))
    return f"{format_percent(step.percent, 0)} [{low}, {high}]"


def trend_words(trend: Trend) -> str:
    """`+12 % [4, 21] from the first row to the last`."""
    value, low, high = (percent_of_log(log) for log in (trend.change, trend.low, trend.high))
    ends = ", ".join(format_percent(end, 0).removesuffix(" %") for end in (low, high))
    return f"{format_percent(value, 0)} [{ends}] from the first row to the last"


def rows_lie(rows: Sequence[int], of: str = "", most: int = 8) -> str:
    """`rows 13 and 15 of on lie far out`, `row 3 lies far out`; rows counted from 0."""
    of_arm = f" of {of}" if of else ""
    return f"{_listed(rows, most)}{of_arm} {'lies' if len(rows) == 1 else 'lie'} far out"


def _listed(rows: Sequence[int], most: int) -> str:
    """`rows 13, 15 and 28`, of rows counted from 0; long lists are cut."""
    numbers = [str(row + 1) for row in rows[:most]]
    if len(rows) > most:
        return f"rows {', '.join(numbers)} and {len(rows) - most} more"
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def ratio_words(centre: Centred) -> str:
    """`+5.4 % [−1.2, 12.3]`."""
    low, high = (
        format_percent(percent_of_log(end), 1).removesuffix(" %")
        for end in (centre.low, centre.high)
    )
    return f"{format_percent(percent_of_log(centre.value), 1)} [{low}, {high}]"


TEXTS: Texts = {
    seen.ConditionsDiffer: _conditions_differ,
    seen.WrongRowsReturned: _wrong_rows,
    seen.UnequalOutcomes: _unequal_outcomes,
    seen.UnequalFailureCounts: _unequal_failure_counts,
    seen.UnequalFailureShares: _unequal_failure_shares,
    seen.QuotedOfRuns: _quoted_of_runs,
    seen.ClosedLoopBroken: _closed_loop_broken,
    seen.OrderNotDrawn: _order_not_drawn,
    seen.ArmsMovedMeanwhile: _moved_meanwhile,
    seen.OneArmAfterOther: _one_after_other,
    seen.SingleValues: _single_values,
    seen.PartsOfOneRun: _parts_of_one_run,
    seen.TooFewRows: _too_few,
    seen.RowsDepend: _rows_depend,
    seen.OrderNotStated: _order_not_stated,
    seen.RowsOfDifferentThings: _different_things,
    seen.RowsSorted: _sorted,
    seen.AllArmsMoved: _all_moved,
    seen.ArmMoved: _arm_moved,
    seen.DifferenceMoved: _difference_moved,
    seen.FewRowsDecide: _few_rows,
    seen.CentresDisagree: _centres,
}
OWN_ADVICE: OwnAdvice = {seen.ClosedLoopBroken: _closed_loop_advice}
