"""Words both arms in absolute numbers (what was measured, carried within a limit of latency, and
what their transactions cost), and the place where they were weighed; and draws and words one
contrast for the page: its interval, its epochs and how it settled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from steelyard.model.price import money, money_with_ends
from steelyard.model.units import NS_PER_US, format_bytes, format_duration, format_rate
from steelyard.record.contrast import Capacity, ContrastLine, median_throughput
from steelyard.record.plan import Plan
from steelyard.record.verdict import Place, Verdict
from steelyard.report import tables
from steelyard.report.charts.drawing import HALF, WIDE, both_widths
from steelyard.report.charts.epochs import draw_epochs, draw_settling, percent_span
from steelyard.report.charts.interval import draw_interval
from steelyard.report.charts.percentile_effects import quantile_name
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.report.tables import amount
from steelyard.wording.contrast_text import (
    MARKS,
    reading_text,
    scope_text,
    shown_sentence,
    truth_text,
)

QUANTILES = (0.5, 0.95, 0.99)
TIMES_FROM = 50.0
"""Percent from which on a change is also said as a factor."""
_UNIT = re.compile(r"\S+ (\S+)")
"""Of a time in one unit: "18 → 1 min 20 s" would be minutes too."""


def times_text(percent: float | None) -> str:
    """`"2.02 times"` from +50 % on; else empty."""
    return f"{1 + percent / 100:.2f} times" if percent is not None and percent >= TIMES_FROM else ""


def figures(verdict: Verdict, contrast: ContrastLine) -> list[tuple[str, str]]:
    """What was measured of both arms: `("median throughput", "1 655 → 3 350 /s, 2.02 times")`, then
    percentiles of the latency; what the record does not have is left out."""
    rows = []
    rates = [_rate(verdict, contrast, arm) for arm in (contrast.control, contrast.arm)]
    if rates[0] is not None and rates[1] is not None:
        change = 100 * (rates[1] / rates[0] - 1) if rates[0] else None
        texts = (amount(_rounded(rates[0])), amount(_rounded(rates[1])))
        name = contrast.metric if verdict.capacity else "median throughput"
        rows.append((name, ", ".join(filter(None, (f"{_pair(*texts)} /s", times_text(change))))))
    costs = {cost.arm: cost for cost in verdict.costs}
    if contrast.arm in costs and contrast.control in costs:
        control_cost, arm_cost = costs[contrast.control], costs[contrast.arm]
        both = _pair(
            money(control_cost.per_million, ""), money(arm_cost.per_million, arm_cost.currency)
        )
        # Of two arms the ratio of costs is not known: each is compared with the control.
        known = [reading_text(arm_cost)] if arm_cost.control == contrast.control else []
        rows.append(("a million transactions cost", ", ".join([both, *known])))
    ours, theirs = (_latencies(verdict, arm) for arm in (contrast.control, contrast.arm))
    rows += [
        (quantile_name(q), us_pair(ours[q], theirs[q]))
        for q in QUANTILES
        if q in ours and q in theirs
    ]
    return rows


def _latencies(verdict: Verdict, arm: str) -> dict[float, float]:
    """Quantile → µs of an arm, or of the control."""
    latencies = {row.quantile: row.arm_us for row in verdict.latency if row.arm == arm}
    if latencies or arm != verdict.contrasts[0].control:
        return latencies
    return {row.quantile: row.control_us for row in verdict.latency}


def _rate(verdict: Verdict, contrast: ContrastLine, arm: str) -> float | None:
    """What an arm carried where that was searched, else its median throughput."""
    carried = {row.arm: row.rate_per_second for row in verdict.capacity}
    return carried.get(arm) or median_throughput(contrast.details, arm)


def us_pair(control_us: float, arm_us: float) -> str:
    """`"858 → 877 µs"`, `"31.8 → 10.9 ms"`, `"900 µs → 1.2 ms"`."""
    first, second = (format_duration(us * NS_PER_US) for us in (control_us, arm_us))
    units = [match[1] if (match := _UNIT.fullmatch(text)) else "" for text in (first, second)]
    return _pair(first.removesuffix(f" {units[1]}") if units[0] == units[1] else first, second)


def _pair(first: str, second: str) -> str:
    return f"{first} → {second}"


def _rounded(rate: float) -> float:
    return round(rate) if rate >= 100 else rate


def place_text(place: Place | None) -> str:
    """`"2 processors (AMD EPYC), 25 GB; PostgreSQL 18.4; pgbench, scale 50, 8 clients"`; empty for
    an older record."""
    if place is None:
        return ""
    model = f" ({place.processor})" if place.processor else ""
    count = "1 processor" if place.processors == 1 else f"{place.processors} processors"
    memory = f", {format_bytes(place.memory_bytes)} of memory" if place.memory_bytes else ""
    data = [f"scale {place.scale}"] if place.scale is not None else []
    if place.data:
        size = f" ({format_bytes(place.data_bytes)})" if place.data_bytes else ""
        data = [f"{place.data}{size}"]
    clients = "1 client" if place.clients == 1 else f"{place.clients} clients"
    work = ", ".join([f"workload {place.workload}", *data, clients])
    return "; ".join(filter(None, (f"{count}{model}{memory}", " and ".join(place.products), work)))


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


@dataclass(frozen=True)
class ShownContrast:
    """One contrast, ready to be shown."""

    facts: ContrastLine
    arm: str
    control: str
    arm_class: str
    word: str
    mark: str
    sentence: str
    measured: list[tuple[str, str]]
    """Both arms in absolute numbers."""
    scope: str
    truth: str
    interval: Markup
    epochs: Markup | None
    settling: Markup | None
    slots: list[int]
    epoch_rows: list[dict[str, str]]
    settling_rows: list[dict[str, str]]
    details: list[tuple[str, str]]


def show_contrast(
    facts: ContrastLine, plan: Plan, classes: Mapping[str, str], verdict: Verdict | None
) -> ShownContrast:
    """The contrast in words, pictures and tables; `classes`: arm → its style class."""
    arm, true = facts.arm, facts.true_percent
    arm_class = classes.get(arm, "arm1")
    margin = plan.margin_percent
    details = facts.details
    span = percent_span(facts, margin)
    return ShownContrast(
        facts=facts,
        arm=arm,
        control=facts.control,
        arm_class=arm_class,
        word=facts.verdict,
        mark=MARKS.get(facts.verdict, "?"),
        sentence=shown_sentence(facts),
        measured=figures(verdict, facts) if verdict else [],
        scope=scope_text(facts, shown_layout(plan).counts(facts)),
        truth=truth_text(facts.truth),
        interval=both_widths(
            lambda width: draw_interval(facts, margin, arm_class, width, true), WIDE - 60
        ),
        epochs=both_widths(lambda width: draw_epochs(facts, span, margin, arm_class, width), HALF)
        if details.epochs
        else None,
        settling=both_widths(
            lambda width: draw_settling(
                facts, span, margin, _planned_looks(plan), arm_class, width
            ),
            HALF,
        )
        if details.settling
        else None,
        slots=sorted({row.slots.get(arm, 0) for row in details.epochs}),
        epoch_rows=tables.epoch_rows(facts),
        settling_rows=tables.settling_rows(facts),
        details=tables.detail_rows(facts),
    )


def _planned_looks(plan: Plan) -> list[tuple[int, str]]:
    """The planned looks: after which epoch, and what is written there."""
    if plan.open_ended:
        return [(plan.epochs, "planned end")]
    return [(epoch, f"look {number}") for number, epoch in enumerate(plan.decision_epochs, 1)]
