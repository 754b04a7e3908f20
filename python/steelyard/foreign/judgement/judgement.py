"""Holds the judgement of a comparison: contrasts as in a weighing, and findings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.evaluation.contrast import Contrast
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.overview import Overview

Json = dict[str, Any]


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

    def to_json(self) -> Json:
        """As the command line prints it."""
        figures = {name: _finite(figure) for name, figure in self.figures.items()}
        return {"name": self.name, "arm": self.arm or None, "said": self.said, **figures}


@dataclass(frozen=True, eq=False)
class Judgement:
    """The contrasts of a comparison, and what else its numbers show."""

    comparison: Comparison
    overview: Overview
    contrasts: tuple[Contrast, ...]
    findings: tuple[Finding, ...]
    cannot: str = ""
    """Why nothing can be judged; empty where something can."""

    def to_json(self) -> Json:
        """`contrasts` as in `weigh --json`, then what else was found."""
        comparison = self.comparison
        return {
            "sources": list(comparison.sources),
            "format": comparison.form,
            "metric": comparison.metric.name,
            "unit": comparison.metric.unit,
            "order": comparison.order.value,
            "row_order": self.overview.row_order.value,
            "cannot_judge": self.cannot or None,
            "arms": [self._arm(arm.arm) for arm in comparison.arms],
            "contrasts": [self._contrast(contrast) for contrast in self.contrasts],
            "findings": [finding.to_json() for finding in self.findings],
        }

    def _contrast(self, contrast: Contrast) -> Json:
        found = contrast.to_json()
        found["unit"] = self.comparison.metric.unit
        return found

    def _arm(self, name: str) -> Json:
        values = next(arm.values for arm in self.comparison.arms if arm.arm == name)
        sd = self.overview.profiles[name].sd
        return {
            "arm": name,
            "rows": len(values),
            "mean": float(values.mean()),
            "median": float(np.median(values)),
            "lowest": float(values.min()),
            "highest": float(values.max()),
            "sd_percent": 100 * sd if math.isfinite(sd) else None,
        }


def _finite(figure: Any) -> Any:
    """A figure as JSON can say it: null for what is unbounded or unknown."""
    if isinstance(figure, float):
        return figure if math.isfinite(figure) else None
    if isinstance(figure, dict):
        return {name: _finite(one) for name, one in figure.items()}
    return [_finite(one) for one in figure] if isinstance(figure, list) else figure
