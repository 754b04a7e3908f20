"""Contrasts the latency quantiles of an arm with the control's, from histograms of whole epochs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.analysis.decision.quantile_contrast import quantile_contrasts
from steelyard.evaluation.judge_epochs import percent_ends
from steelyard.model.readings import EpochTotals
from steelyard.record.verdict import Latency

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


def latency_rows(
    epochs: Sequence[EpochTotals],
    control: str,
    arm: str,
    *,
    script: str | None = None,
    quantiles: Sequence[float] = QUANTILES,
) -> list[Latency]:
    """One row a quantile that every epoch can tell, in the order of the quantiles.

    Without a `script` those of an epoch are pooled: the quantile is of the mix that was driven.
    """
    from steelyard._core import histogram_quantiles

    tables: dict[str, list[list[int]]] = {control: [], arm: []}
    counts = []
    for epoch in epochs:
        for name in (control, arm):
            every = epoch.arms[name].latencies
            driven = [every[one] for one in every if script in (None, one)]
            found = histogram_quantiles(driven, list(quantiles))
            tables[name].append(found["values"])
            counts.append(found["count"])
    if not counts or min(counts) == 0:
        return []
    of_control, of_arm = (np.array(tables[name], dtype=float) for name in (control, arm))
    named = {} if script is None else {"script": script}
    return [
        Latency.model_validate(
            {
                **named,
                "arm": arm,
                "control": control,
                "quantile": one.quantile,
                "control_us": one.control_ns / 1000,
                "arm_us": one.arm_ns / 1000,
                **percent_ends(one.estimate),
                "confidence": one.estimate.confidence,
            }
        )
        for one in quantile_contrasts(quantiles, of_control, of_arm, min(counts))
    ]
