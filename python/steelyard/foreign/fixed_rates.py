"""Finds the rates that loads were held to, where a tool does not print which it was asked for: two
rates are two loads, and throughput that was asked for is no result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, RequestedRate, Series, Sheet
from steelyard.foreign.source import quoted, shell_word
from steelyard.model.errors import UsageError
from steelyard.model.units import format_digits

_CONDITION = "rate"
_TOLERANCE = 0.02
_SIGMAS = 5.0
"""Of arrivals at random times, as pgbench's are: of n of them the number is uncertain by √n."""
_LATEST = 0.9
"""Of a run: where transactions began later than that, any rate may have been asked for."""
_CLOSE = 2e-3
"""Of the rate: a generator that keeps up is no farther from what it was asked for."""
_UNLIKE = 3.0
"""In a closed loop of some clients the one is the inverse of the other: they scatter alike."""
_LEAST_SCATTER = 5e-3
"""Less than this may be digits that were cut off, and is no difference either."""


def round_rate(measured: float) -> float:
    """The round number, of at most two digits, that a measured rate is next to; 0 where it is next
    to none: a generator without a rate, or one that did not keep up."""
    if not 0 < measured < math.inf:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(measured)) - 1)
    rounded = round(measured / step) * step
    return float(f"{rounded:.3g}") if abs(measured - rounded) <= _CLOSE * rounded else 0.0


def _common_rate(measured: Floats) -> float:
    """The round rate that all of them are next to, shape (n,); 0: there is none such."""
    if not len(measured):
        return 0.0
    common = round_rate(float(measured[0]))
    others = map(round_rate, measured.tolist())  # until the first that is next to another
    return common if common and all(rate == common for rate in others) else 0.0


def refuse_requested_rates(
    sheets: Sequence[Sheet], metric: Metric, series: Sequence[Sequence[Series]]
) -> None:
    """UsageError where throughput would be judged that was asked for: all runs of an arm lie next
    to one round rate, and their latencies scatter as those of a closed loop cannot.

    `series`: of every sheet, on the metric.
    """
    if not metric.name.startswith(THROUGHPUT) or metric.higher_is_better is not True:
        return
    rates = _by_arm(series)
    rate_of = {arm: _common_rate(values) for arm, values in rates.items()}
    if not all(rate_of.values()):
        return
    latencies = {latency: _by_arm(group) for latency, group in _mean_latencies(sheets)}
    least = max(_UNLIKE * _scatter(rates, rate_of), _LEAST_SCATTER)
    scatters = [_scatter(values, rate_of) for values in latencies.values()]
    if not scatters or min(scatters) <= least:
        return
    arm = next(iter(rate_of))
    names = (next(iter(latencies)), metric.column or metric.name)
    words = [*map(shell_word, names)]
    raise UsageError(
        f"every run of {arm} did {format_digits(rate_of[arm], 2)} {metric.unit or 'a second'}: "
        "throughput seems to be what was asked for, and no result",
        detail=f"All runs lie within 0.2 % of a round rate, and {quoted(names[0])} scatters "
        f"{_UNLIKE:.0f} times as much and more, as it cannot where throughput follows it.",
        hint=f"Say which was measured: --metric {words[0]}; or, if nothing held the load "
        f"to a rate: --metric {words[1]}.",
    )


def _by_arm(sheets: Sequence[Sequence[Series]]) -> dict[str, Floats]:
    values: dict[str, list[Floats]] = {}
    for series in (each for group in sheets for each in group):
        values.setdefault(series.arm, []).append(series.values)
    return {arm: np.concatenate(parts) for arm, parts in values.items()}


def _mean_latencies(sheets: Sequence[Sheet]) -> Iterator[tuple[str, Sequence[Sequence[Series]]]]:
    """The mean latencies that all sheets hold, by their headings or names, and the series of every
    sheet on each."""
    for metric, _ in sheets[0].metrics:
        groups = [
            next((group for other, group in sheet.metrics if _same(metric, other)), None)
            for sheet in sheets
        ]
        present = [group for group in groups if group is not None]
        if metric.name.rpartition(":")[2] == LATENCY and len(present) == len(sheets):
            yield metric.column or metric.name, present


def _same(metric: Metric, other: Metric) -> bool:
    return metric == other and metric.column == other.column


def _scatter(arms: Mapping[str, Floats], rate_of: Mapping[str, float]) -> float:
    """The standard deviation of logs within arms that were held to one rate; 0 where no rate has
    two runs, or where a number is no measurement."""
    logs: dict[float, list[float]] = {}
    for arm, values in arms.items():
        if not (values > 0).all():
            return 0.0
        logs.setdefault(rate_of[arm], []).extend(np.log(values).tolist())
    free = sum(map(len, logs.values())) - len(logs)
    squares = sum(float(np.var(group)) * len(group) for group in logs.values())
    return math.sqrt(squares / free) if free else 0.0


def requested_rate(begun: float, seconds: float, lag: float) -> RequestedRate | None:
    """What transactions that began `lag` seconds late at the end of a run say of its rate; None
    where there are none. `begun`: also those that were skipped or failed.

    A server that does not keep up falls behind: of what was due, lag ÷ seconds had not begun.
    """
    if not (begun > 0 and 0 < seconds < math.inf and lag >= 0):
        return None
    late = lag / seconds
    return RequestedRate(begun, begun / (1 - late) if late < _LATEST else math.inf, seconds)


def sum_of_rates(rates: Sequence[RequestedRate | None]) -> RequestedRate | None:
    """What runs say together; None where some of them say nothing."""
    present = [rate for rate in rates if rate is not None]
    return sum(present[1:], present[0]) if present and len(present) == len(rates) else None


def rate_conditions(
    sheets: Sequence[Sheet], arms: Sequence[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Arm → the rate that its runs were held to, as a condition; empty where those of all arms
    could be one and the same, or are not known. The first arm is the control."""
    rates = {
        arm: sum_of_rates([sheet.requested for sheet in sheets if _holds(sheet, arm)])
        for arm in arms
    }
    known = {arm: rate for arm, rate in rates.items() if rate is not None}
    if len(known) < len(arms):
        return {}
    control = known[arms[0]]
    others = {arm for arm, rate in known.items() if _differ(control, rate)}
    return {
        arm: {_CONDITION: (_words(rate if arm in others else control),)}
        for arm, rate in known.items()
        if others
    }


def _holds(sheet: Sheet, arm: str) -> bool:
    return any(series.arm == arm for _, group in sheet.metrics for series in group)


def _differ(control: RequestedRate, other: RequestedRate) -> bool:
    """Whether two rates can be no single one, however late the slower of them was."""
    slower, faster = sorted((control, other), key=lambda rate: rate.begun / rate.seconds)
    chance = _SIGMAS * math.sqrt(1 / slower.begun + 1 / faster.begun)
    most = slower.due / slower.seconds * (1 + max(_TOLERANCE, chance))
    return faster.begun / faster.seconds > most


def _words(rate: RequestedRate) -> str:
    return f"{format_digits(rate.begun / rate.seconds, 3)}/s"
