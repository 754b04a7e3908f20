"""Prices the transactions of each arm: what a million of them cost, and the difference.

The cost is price ÷ throughput, so that the log ratio of two costs is that of the prices less that
of the throughputs, and the set of a contrast moved by it is that of the cost: the same epochs
reject the same values, at the same error rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.analysis.decision.looks import CONFIDENCE
from steelyard.analysis.decision.t_interval import t_interval
from steelyard.evaluation.contrast import WeighedContrast
from steelyard.evaluation.judge_epochs import percent_or_none
from steelyard.evaluation.rule import VerdictKind
from steelyard.model.price import Price, parse_price
from steelyard.record.capacity import Cost
from steelyard.study.study import Study


def costs(study: Study, contrasts: Sequence[WeighedContrast]) -> tuple[Cost, ...]:
    """Of every arm, the control first, compared with it but where nothing can be said of the two;
    none where the study has no prices, or an arm no epoch."""
    prices = {arm.name: parse_price(arm.price) for arm in study.every_arm if arm.price is not None}
    if not prices or not contrasts:
        return ()
    control = _cost(study.control.name, prices[study.control.name], contrasts[0])
    if control is None:
        return ()
    rows = [control]
    for contrast in contrasts:
        cost = _cost(contrast.arm, prices[contrast.arm], contrast)
        if cost is None:
            continue
        invalid = contrast.verdict.kind is VerdictKind.INVALID
        rows.append(cost if invalid else _compared(cost, control, prices, contrast))
    return tuple(rows)


def _cost(arm: str, price: Price, contrast: WeighedContrast) -> Cost | None:
    """Of an arm by itself; None where it has no epoch."""
    rates = [
        rate
        for epoch in contrast.details.epochs
        if epoch.d is not None and (rate := epoch.throughput.get(arm))
    ]
    if not rates:
        return None
    logs = np.log(np.array(rates))
    ends = t_interval(logs, CONFIDENCE)
    return Cost(
        arm=arm,
        price=price.words,
        currency=price.currency,
        per_million=price.per_million(math.exp(float(logs.mean()))),
        low_per_million=_bound(price, ends.high),
        high_per_million=_bound(price, ends.low),
        epochs=len(rates),
    )


def _bound(price: Price, log_rate: float) -> float | None:
    return price.per_million(math.exp(log_rate)) if math.isfinite(log_rate) else None


def _compared(
    cost: Cost, control: Cost, prices: dict[str, Price], contrast: WeighedContrast
) -> Cost:
    """With the difference to the control."""
    dearer = math.log(prices[cost.arm].per_hour / prices[control.arm].per_hour)
    estimate = contrast.estimate
    logs = (estimate.value, estimate.high, estimate.low)
    middle, low, high = (dearer - log for log in logs)
    return cost.model_copy(
        update={
            "control": control.arm,
            "estimate_percent": percent_or_none(middle),
            "low_percent": percent_or_none(low),
            "high_percent": percent_or_none(high),
        }
    )
