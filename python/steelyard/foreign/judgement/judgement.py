"""Holds the judgement of a comparison: contrasts as in a weighing, and findings. Those of its rows
are made here: what they show, whatever they are compared for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.analysis.checks.littles_law import busy_clients
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.pairing import FEWEST_ROWS, rank_correlation
from steelyard.analysis.two_samples.profile import Profile
from steelyard.evaluation.contrast import Contrast
from steelyard.evaluation.threats.numbers import Step
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.number_threats import DRIFT_TOLERANCE
from steelyard.foreign.judgement.overview import InputReading, Overview, steps_of
from steelyard.foreign.series import Series
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import Ends, JudgedContrast
from steelyard.verdict.contrast_line import judged_line
from steelyard.wording.threats.numbers import as_published, rows_lie, step_words, trend_words

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the numbers show, in words and as figures. A closed list of names."""

    name: str
    """"pairing", "replicates", "visible", "level steps", "drift", "outliers", "centres",
    "shared rows", "Little's law", "to measure", "left out"."""
    sentence: str
    figures: Mapping[str, Any]
    arm: str = ""
    """The arm it is about; empty: all of them."""

    @property
    def command(self) -> str:
        """The command that a finding "to measure" names; else empty."""
        return str(self.figures.get("command", ""))

    def to_json(self) -> Json:
        """As the command line prints it."""
        figures = {name: _finite(figure) for name, figure in self.figures.items()}
        return {"name": self.name, "arm": self.arm or None, "said": self.sentence, **figures}


@dataclass(frozen=True, slots=True)
class NumberDetails:
    """The basis of a contrast of numbers from elsewhere, in the order in which it is printed; the
    names as in a weighing (record/contrast.py)."""

    paired: bool
    method: str
    look: str
    level: float
    k: int
    subsets: int
    t_interval_percent: Ends
    equivalence_interval_percent: Ends
    equivalence_level_one_sided: float
    smallest_visible_percent: float | None
    margin_percent: float
    no_spread: bool
    """One value an arm: nothing can be judged."""
    replicate: str
    basis: str
    d: tuple[float, ...] | None
    """Log ratios of the rows; None where they are not paired."""
    instead: str = ""

    def to_json(self) -> Json:
        """As the command line prints it."""
        facts = asdict(self)
        fields = {k: list(v) if isinstance(v, tuple) else v for k, v in facts.items()}
        return fields if self.instead else {k: v for k, v in fields.items() if k != "instead"}


NumberContrast = Contrast[NumberDetails]
"""A contrast of numbers from elsewhere."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """What the rows of an arm are, in the metric's unit."""

    arm: str
    rows: int
    mean: float
    median: float
    lowest: float
    highest: float
    sd_percent: float | None
    """Of a row; None where one row has none."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The contrasts of a comparison, and what else its numbers show."""

    comparison: Comparison
    overview: Overview
    contrasts: tuple[NumberContrast, ...]
    findings: tuple[Finding, ...]
    cannot: str = ""
    """Why nothing can be judged; empty where something can."""
    reading: InputReading | None = None
    """What was taken for what."""

    def to_json(self) -> Json:
        """`contrasts` as in `weigh --json`, then what else was found."""
        comparison = self.comparison
        return {
            "sources": list(comparison.sources),
            "format": comparison.form,
            "metric": comparison.metric.name,
            "unit": comparison.metric.unit,
            "order": comparison.order.value,
            "reading": self.reading.to_json() if self.reading else None,
            "row_order": self.overview.row_order.value,
            "cannot_judge": self.cannot or None,
            "arms": [asdict(arm) for arm in self.arms],
            "contrasts": [
                {**self.judged(contrast).to_json(), "details": contrast.details.to_json()}
                for contrast in self.contrasts
            ],
            "findings": [finding.to_json() for finding in self.findings],
        }

    def judged(self, contrast: NumberContrast) -> JudgedContrast:
        """A contrast by the command line's contract, in the unit of the numbers."""
        return judged_line(contrast).model_copy(update={"unit": self.comparison.metric.unit})

    @property
    def arms(self) -> tuple[ArmFigures, ...]:
        """The figures of every arm, in the order of the comparison."""
        return tuple(self._figures(arm) for arm in self.comparison.arms)

    @property
    def common_steps(self) -> tuple[Step, ...]:
        """The steps of level that all arms share; none where their rows are not paired."""
        common, logs = self.overview.common, self.overview.common_logs
        return () if common is None or logs is None else steps_of(common, logs)

    def _figures(self, arm: Series) -> ArmFigures:
        values, sd = arm.values, self.overview.profiles[arm.arm].sd
        return ArmFigures(
            arm=arm.arm,
            rows=len(values),
            mean=float(values.mean()),
            median=float(np.median(values)),
            lowest=float(values.min()),
            highest=float(values.max()),
            sd_percent=100 * sd if math.isfinite(sd) else None,
        )


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
