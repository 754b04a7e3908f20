"""Describes the numbers of a comparison before they are judged: every arm, what rows share, and
what they show whatever they are compared for: the findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.analysis.checks.littles_law import busy_clients
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.pairing import (
    FEWEST_ROWS,
    Correlation,
    is_sorted,
    rank_correlation,
)
from steelyard.analysis.two_samples.profile import Profile, profile_of
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.level_steps import steps_of
from steelyard.foreign.judgement.number_sets import RowOrder
from steelyard.foreign.series import Order, Rows, Series
from steelyard.model.errors import UsageError
from steelyard.model.units import percent_of_log
from steelyard.wording.row_phrases import as_published, rows_lie, step_words, trend_words

DRIFT_TOLERANCE = np.log1p(0.05)
"""A smaller drift over all rows is not reported."""


@dataclass(frozen=True, eq=False)
class Overview:
    """Level, spread, steps, drift and outliers of every arm, and of all arms together."""

    comparison: Comparison
    logs: Mapping[str, Floats]
    """Arm → natural logs of its rows; a row without any work counts as the least there was."""
    profiles: Mapping[str, Profile]
    in_time: bool
    """Whether rows are in the order of measuring, as far as is known."""
    common_logs: Floats | None
    """Mean over the arms of the logs of every row, where rows belong together in time."""
    common: Profile | None

    @property
    def row_order(self) -> RowOrder:
        """What the order of the rows says of their independence."""
        if self.comparison.order is Order.RANDOM:
            return RowOrder.DRAWN
        return RowOrder.IN_TIME if self.in_time else RowOrder.LOST


def overview_of(comparison: Comparison) -> Overview:
    """The overview of a comparison."""
    logs = {arm.arm: logs_of(arm) for arm in comparison.arms}
    in_time = not comparison.no_order and not order_lost(comparison, logs)
    equal = len({len(arm.values) for arm in comparison.arms}) == 1
    aligned = comparison.rows is not Rows.APART and equal and in_time
    shared = np.mean([logs[arm.arm] for arm in comparison.arms], axis=0) if aligned else None
    return Overview(
        comparison=comparison,
        logs=logs,
        profiles={name: profile_of(values, in_time) for name, values in logs.items()},
        in_time=in_time,
        common_logs=shared,
        common=profile_of(shared) if shared is not None else None,
    )


_UNLIKE_SCATTER = 0.7
"""Of the rows' logs: twice and half."""
_UNLIKE_SHARE = 0.97
"""Of the scatter, common to all arms."""


def order_lost(comparison: Comparison, logs: Mapping[str, Floats]) -> bool:
    """Whether no order of measuring is in the rows: every arm is sorted, with five rows or more, as
    no measurement comes out; or rows are of different things, as the times of queries are."""
    return all(is_sorted(arm.values) for arm in comparison.arms) or unlike(comparison, logs)


def unlike(comparison: Comparison, logs: Mapping[str, Floats]) -> bool:
    """Whether rows that nothing names differ many times over, and alike in all arms: then they are
    different things, and no repetitions of one."""
    every = list(logs.values())
    if (
        comparison.rows is not Rows.BESIDE
        or len({len(arm_logs) for arm_logs in every}) > 1
        or len(every[0]) < 5
    ):
        return False
    table = np.array(every)
    scatter = float(table.mean(axis=0).var(ddof=1))
    within = float((table - table.mean(axis=0)).var(axis=1, ddof=1).mean())
    wide = scatter > _UNLIKE_SCATTER**2
    return wide and scatter / (scatter + within) > _UNLIKE_SHARE


def logs_of(series: Series) -> Floats:
    """Natural logs of the rows, shape (n,)."""
    least = float(series.values[series.values > 0].min())
    logs: Floats = np.log(np.maximum(series.values, least))
    return logs


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether rows are paired, why, and how the rows correlate."""

    paired: bool
    why: str
    """Continues "paired: " or "not paired: "."""
    correlation: Correlation


def pairing_of(comparison: Comparison, arm: Series, requested: bool | None) -> Pairing:
    """The pairing of an arm with the control; UsageError where --paired cannot be."""
    control = comparison.control
    sizes = len(control.values), len(arm.values)
    equal = sizes[0] == sizes[1]
    correlation = rank_correlation(control.values, arm.values) if equal else _NONE
    if requested is not None:
        if requested and not equal:
            raise UsageError(
                f"cannot pair rows: {control.arm} has {sizes[0]} of them, {arm.arm} {sizes[1]}",
                hint="Leave out --paired, or the rows without a partner.",
            )
        return Pairing(requested, "the user said so", correlation)
    if comparison.rows is Rows.BLOCKS and equal:
        return Pairing(True, "the file says which rows belong together", correlation)
    against = _against(comparison, arm)
    return Pairing(not against, against or _what_it_gains(correlation), correlation)


def _against(comparison: Comparison, arm: Series) -> str:
    """Why rows are not to be paired; empty where nothing speaks against it."""
    control = comparison.control
    if len(control.values) != len(arm.values):
        return f"{control.arm} has {len(control.values)} rows, {arm.arm} {len(arm.values)}"
    if comparison.rows is Rows.APART:
        return comparison.apart or "nothing connects row k of one arm with row k of the other"
    if is_sorted(control.values) and is_sorted(arm.values):
        return "the rows are sorted, so row numbers mean nothing"
    if comparison.order is Order.SEQUENTIAL:
        return "the arms were measured one after the other, so no row is of one time"
    return ""


def _what_it_gains(correlation: Correlation) -> str:
    if not correlation.known:
        return "they stand in one row"
    figures = f"{correlation.value:.2f} [{correlation.low:.2f}, {correlation.high:.2f}]".replace(
        "-", "−"
    )
    if correlation.clear:
        kind = "share something" if correlation.value > 0 else "oppose each other"
        return f"rows {kind}, their rank correlation is {figures}"
    return (
        f"they stand in one row; their rank correlation, {figures}, does not tell that they share "
        "anything, and then pairs cost little"
    )


_NONE = Correlation(float("nan"), float("nan"), float("nan"), 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the numbers show, in words and as figures. A closed list of names."""

    name: str
    """"pairing", "replicates", "visible", "level steps", "drift", "outliers", "centres",
    "shared rows", "Little's law", "to measure", "left out"."""
    said: str
    figures: Mapping[str, Any]
    arm: str = ""
    """The arm it is about; empty: all of them."""

    @property
    def command(self) -> str:
        """The command that a finding "to measure" names; else empty."""
        return str(self.figures.get("command", ""))

    def to_json(self) -> dict[str, Any]:
        """As the command line prints it."""
        figures = {name: _finite(figure) for name, figure in self.figures.items()}
        return {"name": self.name, "arm": self.arm or None, "said": self.said, **figures}


def _finite(figure: Any) -> Any:
    """A figure as JSON can hold it: null for what is unbounded or unknown."""
    if isinstance(figure, float):
        return figure if math.isfinite(figure) else None
    if isinstance(figure, dict):
        return {name: _finite(part) for name, part in figure.items()}
    return [_finite(part) for part in figure] if isinstance(figure, list) else figure


def number_findings(overview: Overview) -> Iterator[Finding]:
    """What the rows show, whatever they are compared for."""
    if overview.common is not None and overview.common_logs is not None:
        yield from _levels("", overview.common, overview.common_logs)
    for arm in overview.comparison.arms:
        profile = overview.profiles[arm.arm]
        if overview.common is None:
            yield from _levels(arm.arm, profile, overview.logs[arm.arm])
        if profile.outliers:
            sentence = rows_lie(profile.outliers, arm.arm)
            rows = [row + 1 for row in profile.outliers[:1000]]
            yield Finding("outliers", sentence, {"rows": rows}, arm.arm)
    yield from _shared(overview)
    yield from _little(overview.comparison)
    for note in overview.comparison.notes:
        yield Finding("left out", note, {})


def _shared(overview: Overview) -> Iterator[Finding]:
    """The correlation of the rows of any two of three or more arms."""
    arms = overview.comparison.arms
    if overview.common is None or len(arms) < 3 or len(arms[0].values) < FEWEST_ROWS:
        return
    pairs = list(combinations(arms, 2))
    ranks = [rank_correlation(first.values, second.values).value for first, second in pairs]
    logs = [float(np.corrcoef(overview.logs[a.arm], overview.logs[b.arm])[0, 1]) for a, b in pairs]
    yield Finding(
        "shared rows",
        f"the rows of any two arms correlate, by {min(ranks):.2f} to {max(ranks):.2f} in ranks and "
        f"{min(logs):.2f} to {max(logs):.2f} in logs".replace(" -", " −"),
        {"rank_correlations": ranks, "log_correlations": logs},
    )


def _levels(arm: str, profile: Profile, logs: Floats) -> Iterator[Finding]:
    prefix = f"{arm}: " if arm else "all arms together: "
    steps = steps_of(profile, logs)
    if steps:
        figures = {"steps": [step.to_json() for step in steps]}
        yield Finding("level steps", prefix + step_words(steps), figures, arm)
    if profile.trend.beyond(float(DRIFT_TOLERANCE)):
        trend = profile.trend
        ends = {
            f"{name}_percent": percent_of_log(log)
            for name, log in (("estimate", trend.change), ("low", trend.low), ("high", trend.high))
        }
        yield Finding("drift", prefix + trend_words(trend), ends, arm)


def _little(comparison: Comparison) -> Iterator[Finding]:
    for arm, point in comparison.operating_points.items():
        busy = busy_clients(point.throughput, point.latency_s)
        implied_ms = 1e3 * point.clients / point.throughput
        yield Finding(
            "Little's law",
            f"{arm}: {point.clients:g} clients at {as_published(point.throughput, 6)} "
            f"transactions/s mean {as_published(implied_ms, 4)} ms; given are "
            f"{as_published(1e3 * point.latency_s, 5)} ms, which keep {as_published(busy, 4)} busy",
            {
                "clients": point.clients,
                "throughput": point.throughput,
                "latency_ms": 1e3 * point.latency_s,
                "implied_latency_ms": implied_ms,
                "busy_clients": busy,
            },
            arm,
        )
