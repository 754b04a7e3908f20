"""Reads a ramp of rates, and finds the highest rate that the server kept up with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steelyard.driver.summary import summarize
from steelyard.model.errors import UsageError

STEPS = 10
MOST_STEPS = 1000
BEHIND = 0.01
"""The share of a step's arrivals that may fail, be skipped, or find no client before its end."""


def read_ramp(text: str) -> tuple[float, ...]:
    """Rates a second: `FROM:TO`, `FROM:TO:STEPS` (evenly spaced), or `R1,R2,…`. UsageError."""
    try:
        if ":" in text:
            ends, steps = text.split(":"), STEPS
            if len(ends) == 3:
                steps = int(ends.pop())
            first, last = map(float, ends)
            if not 2 <= steps <= MOST_STEPS:
                raise ValueError
            rates = [first + (last - first) * step / (steps - 1) for step in range(steps)]
        else:
            rates = [float(word) for word in text.split(",")]
    except ValueError:
        rates = []
    if not rates or len(rates) > MOST_STEPS or not all(0 < rate < float("inf") for rate in rates):
        raise UsageError(
            f'invalid ramp: "{text}"',
            hint=f"Accepted: FROM:TO ({STEPS} steps), FROM:TO:STEPS, or RATE,RATE,… (more than 0).",
        )
    return tuple(rates)


def summarize_ramp(
    rates: Sequence[float], slices: Sequence[dict[str, Any]], limit_ms: float | None
) -> dict[str, Any]:
    """Every step by itself, and `kept_up`: the highest rate below which every step kept up.

    A step keeps up when no more than BEHIND of its arrivals failed, were skipped or had not begun
    at its end and, with a latency limit, its 99th percentile stays within that. The steps drain
    apart, so that no step pays for the one before.
    """
    steps = [_step(rate, one, limit_ms) for rate, one in zip(rates, slices, strict=True)]
    failing = [step["rate"] for step in steps if not step["kept_up"]]
    kept = [
        step["rate"]
        for step in steps
        if step["kept_up"] and step["rate"] < min(failing, default=float("inf"))
    ]
    return {"steps": steps, "kept_up": max(kept, default=None)}


def _step(rate: float, one: dict[str, Any], limit_ms: float | None) -> dict[str, Any]:
    summary = summarize([one])
    behind = summary["failed"] + summary["skipped"] + summary["unstarted"]
    arrivals = summary["transactions"] + behind
    p99_us = summary["latency_us"]["p99"]
    slow = limit_ms is not None and (p99_us is None or p99_us > limit_ms * 1000)
    shown = ("transactions", "seconds", "throughput", "latency_us", "schedule_lag_us")
    counted = ("late_starts", "skipped", "unstarted", "failed", "retries")
    return {
        "rate": rate,
        **{key: summary[key] for key in (*shown, *counted)},
        "kept_up": arrivals > 0 and behind <= BEHIND * arrivals and not slow,
    }
