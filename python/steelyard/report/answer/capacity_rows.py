"""Rows of what arms carried within a limit of latency, and of what their transactions cost."""

from __future__ import annotations

from steelyard.model.price import money_with_ends
from steelyard.model.units import format_rate
from steelyard.record.capacity import Capacity
from steelyard.record.verdict import Verdict
from steelyard.wording.contrast_text import reading_text


def capacity_rows(verdict: Verdict) -> list[dict[str, str]]:
    """A row an arm: what it carried, its interval, and from how much."""
    return [
        {
            "arm": row.arm,
            "rate": f"{format_rate(row.rate_per_second)} {_ends(row)} /s",
            "epochs": str(row.epochs),
            "visits": str(row.visits),
        }
        for row in verdict.capacity
    ]


def capacity_limit(verdict: Verdict) -> str:
    """`"p99 ≤ 20 ms"`, with every digit of the limit; empty: no rate was searched."""
    return verdict.contrasts[0].metric.removeprefix("rate at ") if verdict.capacity else ""


def _ends(row: Capacity) -> str:
    low, high = (
        "unbounded" if end is None else format_rate(end)
        for end in (row.low_per_second, row.high_per_second)
    )
    return f"[{low}, {high}]"


def cost_rows(verdict: Verdict) -> list[dict[str, str]]:
    """A row an arm: its price, what a million transactions cost, and against the control."""
    return [
        {
            "arm": row.arm,
            "price": row.price,
            "cost": money_with_ends(
                row.per_million, (row.low_per_million, row.high_per_million), row.currency
            ),
            "reading": reading_text(row) if row.control else "–",
        }
        for row in verdict.costs
    ]
