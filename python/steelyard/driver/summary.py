"""Sums slices up into the summary that `steelyard drive --json` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard import _core
from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_S, NS_PER_US

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def latency_us(latencies: Sequence[str]) -> dict[str, float | None]:
    """Mean, percentiles and maximum in microseconds of encoded histograms; None without any."""
    found = _core.histogram_quantiles(list(latencies), list(QUANTILES.values()))
    if found["count"] == 0:
        return dict.fromkeys(["mean", *QUANTILES, "max"])
    shown = {"mean": found["mean_ns"], **dict(zip(QUANTILES, found["values"], strict=True))}
    shown["max"] = found["max_ns"]
    return {name: round(value / NS_PER_US, 3) for name, value in shown.items()}


def summarize(slices: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The summary of slices of one arm: DESIGN's object for `drive --json`.

    Throughput is clients × transactions ÷ Σ busy time, so that what began before the bell counts
    with its whole time.
    """

    def total(key: str) -> int:
        return sum(one[key] for one in slices)

    errors: Counter[str] = Counter()
    messages: dict[str, str] = {}
    scripts: dict[str, list[dict[str, Any]]] = {}
    arrivals = total("transactions") + total("failed")
    for one in slices:
        errors.update(one["errors"])
        messages = {**one["error_messages"], **messages}
        for script in one["scripts"]:
            scripts.setdefault(script["name"], []).append(script)
    transactions = total("transactions")
    loaded_s = sum(one["busy_ns"] / one["clients"] for one in slices) / NS_PER_S
    latency = latency_us([s["latency"] for parts in scripts.values() for s in parts])
    if transactions:
        # The exact mean; the histogram rounds to three digits.
        latency["mean"] = round(total("latency_sum_ns") / transactions / NS_PER_US, 3)
    return {
        "transactions": transactions,
        "seconds": sum(one["end_ns"] - one["start_ns"] for one in slices) / NS_PER_S,
        "throughput": transactions / loaded_s if loaded_s else 0.0,
        "latency_us": latency,
        "errors": dict(errors),
        "error_messages": messages,
        "failed": total("failed"),
        "skipped": total("skipped"),
        "unstarted": total("unstarted"),
        "over_latency_limit": total("over_limit"),
        "wrong_rows": total("wrong_rows"),
        "lost": max((one["lost"] for one in slices), default=0),
        "capped": total("capped"),
        "retried": total("retried"),
        "retries": total("retries"),
        "late_starts": total("late_starts"),
        "schedule_lag_us": {
            "mean": round(total("lag_sum_ns") / arrivals / NS_PER_US, 3) if arrivals else None,
            "max": max((one["lag_max_ns"] for one in slices), default=0) / NS_PER_US,
        },
        "connections": total("connections"),
        "connection_us": (
            round(total("connect_ns") / total("connections") / NS_PER_US, 3)
            if total("connections")
            else None
        ),
        "debug": [line for one in slices for line in one["debug"]],
        "driver_cpu_us_per_transaction": (
            round(total("driver_cpu_ns") / transactions / NS_PER_US, 3) if transactions else None
        ),
        "scripts": [
            {
                "name": name,
                "transactions": sum(part["transactions"] for part in parts),
                "latency_us": latency_us([part["latency"] for part in parts]),
                "commands": _commands(parts),
            }
            for name, parts in scripts.items()
        ],
    }


def _commands(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Timed commands of one script, over its slices; empty where nothing is timed."""
    timed = [part["commands"] for part in parts if "commands" in part]
    summed = []
    for slices in zip(*timed, strict=True):
        executions = sum(one["executions"] for one in slices)
        spent_ns = sum(one["sum_ns"] for one in slices)
        summed.append(
            {
                "line": slices[0]["line"],
                "text": slices[0]["text"],
                "executions": executions,
                "mean_us": round(spent_ns / executions / NS_PER_US, 3) if executions else None,
                "failures": sum(one["failures"] for one in slices),
                "retries": sum(one["retries"] for one in slices),
            }
        )
    return summed


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
