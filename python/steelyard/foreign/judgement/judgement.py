"""Holds the judgement of a comparison: contrasts as in a weighing, and findings."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.evaluation.contrast import Contrast
from steelyard.evaluation.threats.numbers import Step
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.level_steps import steps_of
from steelyard.foreign.judgement.overview import Finding, Overview
from steelyard.foreign.judgement.reading import InputReading
from steelyard.foreign.series import Series
from steelyard.record.contrast import Ends, JudgedContrast
from steelyard.verdict.contrast_line import judged_line

Json = dict[str, Any]


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
