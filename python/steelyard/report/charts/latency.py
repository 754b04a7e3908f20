"""Draws latency by arm: its distribution, and the share of transactions that took longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from steelyard.model.units import format_digits, format_duration
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear, Log

_HEIGHT = 270
_TOP = 22
_FOOT = 40
_LEFT = 58


def draw_distribution(
    counts: Mapping[str, Sequence[int]],
    edges_ns: Sequence[int],
    arm_classes: Mapping[str, str],
    width: float,
) -> Markup:
    """Share of transactions per bin of equal width on a logarithmic axis, as steps."""
    shares = {arm: _shares(some) for arm, some in counts.items()}
    first, last = _middle_bins(counts)
    x = Log(edges_ns[first], edges_ns[last + 1], _LEFT, width - 10)
    y = Linear(0, max(max(some) for some in shares.values()) * 1.05, _HEIGHT - _FOOT, _TOP)
    drawing = Drawing(
        width, _HEIGHT, "Latency distribution by arm", "Share of transactions at each latency."
    )
    _draw_axes(drawing, x, "latency (logarithmic)")
    drawing.text(4, 12, "share of transactions per bin of 8 %", "quiet")
    for tick in y.ticks(5):
        drawing.line(_LEFT, y(tick), width - 10, y(tick), "grid")
        drawing.text(_LEFT - 6, y(tick) + 4, f"{format_digits(tick * 100, 3)} %", "", "end")
    for arm, some in shares.items():
        points = []
        for index in range(first, last + 1):
            points += [
                (x(edges_ns[index]), y(some[index])),
                (x(edges_ns[index + 1]), y(some[index])),
            ]
        drawing.polyline(points, f"series {arm_classes[arm]}")
    return drawing.svg()


def draw_tail(
    counts: Mapping[str, Sequence[int]],
    edges_ns: Sequence[int],
    arm_classes: Mapping[str, str],
    width: float,
) -> Markup:
    """Share of transactions slower than each latency, both axes logarithmic, for the tail."""
    slower = {arm: _slower(some) for arm, some in counts.items()}
    first, last = _filled_bins(counts)
    total = max(sum(some) for some in counts.values())
    x = Log(edges_ns[first], edges_ns[last + 1], _LEFT, width - 10)
    y = Log(max(0.5 / total, 1e-9), 1.0, _HEIGHT - _FOOT, _TOP)
    drawing = Drawing(
        width, _HEIGHT, "Latency tail by arm", "Share of transactions slower than each latency."
    )
    _draw_axes(drawing, x, "latency (logarithmic)")
    drawing.text(4, 12, "share of transactions that took longer", "quiet")
    for tick in (tick for tick in (10.0**-power for power in range(9)) if tick >= y.low):
        drawing.line(_LEFT, y(tick), width - 10, y(tick), "grid")
        drawing.text(_LEFT - 6, y(tick) + 4, f"{format_digits(tick * 100, 6)} %", "", "end")
    for arm, some in slower.items():
        points = [
            (x(edges_ns[index]), y(some[index]))
            for index in range(first, last + 1)
            if some[index] >= y.low
        ]
        drawing.polyline(points, f"series {arm_classes[arm]}")
    return drawing.svg()


def _draw_axes(drawing: Drawing, x: Log, label: str) -> None:
    bottom = _HEIGHT - _FOOT
    for tick in x.ticks(int((x.end - x.start) / 62)):
        drawing.line(x(tick), _TOP, x(tick), bottom, "grid")
        drawing.text(x(tick), bottom + 17, format_duration(tick), "", "middle")
    drawing.text((x.start + x.end) / 2, _HEIGHT - 6, label, "quiet", "middle")


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [count / total for count in counts]


def _slower(counts: Sequence[int]) -> list[float]:
    """For every lower edge of a bin, the share at or above it."""
    left = total = sum(counts) or 1
    shares = []
    for count in counts:
        shares.append(left / total)
        left -= count
    return shares


def _filled_bins(counts: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    pooled = [sum(column) for column in zip(*counts.values(), strict=True)]
    filled = [index for index, count in enumerate(pooled) if count]
    return (filled[0], filled[-1]) if filled else (0, len(pooled) - 1)


def _middle_bins(counts: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """The bins that hold all but a thousandth on either side; the tail has its own picture."""
    pooled = [sum(column) for column in zip(*counts.values(), strict=True)]
    total, cumulative = sum(pooled), 0
    inside = []
    for index, count in enumerate(pooled):
        if cumulative + count > total * 0.001 and cumulative < total * 0.999:
            inside.append(index)
        cumulative += count
    first, last = (inside[0], inside[-1]) if inside else (0, len(pooled) - 1)
    return max(first - 1, 0), min(last + 1, len(pooled) - 1)
