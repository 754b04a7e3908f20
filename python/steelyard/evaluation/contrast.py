"""Holds a contrast: an arm against the control on one metric, with its verdict and its doubts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.analysis.decision.forecast import MOST_EPOCHS, Forecast, Need
from steelyard.analysis.decision.looks import Terms
from steelyard.evaluation.rule import Verdict, VerdictKind
from steelyard.model.estimate import Estimate
from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine

Json = dict[str, Any]
"""A verdict or a part of it, as verdict.json holds it."""
UNITS = {"throughput": "transactions/s", "latency_mean": "µs", "geometric_mean": "µs"}


@dataclass(frozen=True, slots=True)
class Contrast:
    """An arm against the control, judged."""

    arm: str
    control: str
    terms: Terms
    estimate: Estimate
    """Log ratio arm ÷ control of the metric, with the printed set."""
    verdict: Verdict
    epochs: int
    """Usable epochs: those with a log ratio, infinite ones included."""
    blocks: int
    forecast: Forecast | None
    threats: tuple[Threat, ...]
    details: Mapping[str, Any]
    """What verdict.json keeps beside the command line's contract; JSON values only."""

    @property
    def needed(self) -> Need | None:
        """Further epochs until an inconclusive weighing would settle: ±δ, else the sign; None when
        it is settled, nothing can be said, or no time will settle it."""
        if self.forecast is None or self.verdict.kind is not VerdictKind.INCONCLUSIVE:
            return None
        needs = [n for n in (self.forecast.margin, self.forecast.sign) if n is not None]
        possible = [need for need in needs if need.likely < MOST_EPOCHS]
        return self.forecast.more(min(possible, key=lambda n: n.likely)) if possible else None

    @property
    def forecast_seconds(self) -> float | None:
        """Time of the needed epochs; None where there is no need or an epoch's time is unknown."""
        if self.needed is None or not self.terms.epoch_seconds:
            return None
        return self.needed.likely * self.terms.epoch_seconds

    def sentence(self) -> str:
        """The verdict in words."""
        from steelyard.evaluation.sentence import sentence_of

        return sentence_of(self)

    def to_line(self) -> ContrastLine:
        """The contrast as verdict.json keeps it; its details stand at the end."""
        return ContrastLine.model_validate(self.to_json())

    def to_json(self) -> Json:
        """The keys of the command line's contract, then "details"."""
        percent = self.estimate.in_percent()
        seconds = self.forecast_seconds
        return {
            "arm": self.arm,
            "control": self.control,
            "metric": self.terms.metric,
            "unit": UNITS.get(self.terms.metric, self.terms.metric),
            "higher_is_better": self.terms.higher_is_better,
            "estimate_percent": number(percent.value),
            "low_percent": None if math.isinf(self.estimate.low) else number(percent.low),
            "high_percent": None if math.isinf(self.estimate.high) else number(percent.high),
            "confidence": self.estimate.confidence,
            "verdict": self.verdict.kind.value,
            "nonzero": self.verdict.nonzero,
            "epochs": self.epochs,
            "blocks": self.blocks,
            "forecast_seconds": None if seconds is None else round(seconds, 1),
            "threats": [threat.to_json() for threat in self.threats],
            "sentence": self.sentence(),
            "details": dict(self.details),
        }


def number(value: float) -> float | None:
    """A finite JSON number; None for what JSON cannot say (±∞, NaN)."""
    return value if math.isfinite(value) else None
