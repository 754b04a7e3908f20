"""Draws latency: of arms the distribution, and the share of transactions that took longer; of a
probe of storage every job on one scale, as one self-contained SVG file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from steelyard.model.units import format_bytes, format_digits, format_duration
from steelyard.record.machine import Probe
from steelyard.report.charts.drawing import Drawing, save
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


WIDTH = 920
_PROBE_ROW = 34
_PROBE_TOP, _PROBE_LEFT, _PROBE_RIGHT = 46, 250, 190
_PROBE_STYLE = """
text { font: 12px system-ui, "Segoe UI", Roboto, Arial, "Liberation Sans", sans-serif;
  fill: #1b1f24 }
text.quiet { fill: #5b6470 } text.strong { font-weight: 650 }
.grid { stroke: #ebe8e1 } .usual { stroke: #0b66ad; stroke-width: 6 }
.rare { stroke: #0b66ad; stroke-width: 2; stroke-dasharray: 4 3 }
.median { fill: #0b66ad; stroke: #fff; stroke-width: 1.5 }
"""


def write_picture(probe: Probe, path: Path) -> None:
    """Write the picture; RecordError where the file cannot be written."""
    save(picture_of(probe), path)


def picture_of(probe: Probe) -> str:
    """The SVG text: a line a job, from the median to 99 % and 99.9 %, its rate beside it."""
    figures = [figure for figure in probe.figures if figure.p50_ns > 0]
    height = _PROBE_TOP + _PROBE_ROW * len(figures) + 40
    title = f"{probe.directory}: what the storage does"
    description = "; ".join(
        f"{figure.name}: median {format_duration(round(figure.p50_ns))}" for figure in figures
    )
    drawing = Drawing(WIDTH, height, title, description)
    drawing.rect(0, 0, WIDTH, height, "paper")
    drawing.text(14, 20, title, "strong")
    drawing.text(14, 36, f"{probe.fio}, {probe.engine}, {probe.taken}", "quiet")
    if figures:
        low, high = (
            min(figure.p50_ns for figure in figures),
            max(figure.p999_ns for figure in figures),
        )
        x = Log(low / 1.2, max(high, low * 2) * 1.2, _PROBE_LEFT, WIDTH - _PROBE_RIGHT)
        bottom = _PROBE_TOP + _PROBE_ROW * len(figures) + 6
        for tick in x.ticks(7):
            drawing.line(x(tick), _PROBE_TOP, x(tick), bottom, "grid")
            drawing.text(x(tick), bottom + 18, format_duration(round(tick)), "quiet", "middle")
        for number, figure in enumerate(figures):
            y = _PROBE_TOP + _PROBE_ROW * (number + 0.5)
            drawing.text(_PROBE_LEFT - 12, y + 4, figure.name, "", "end")
            drawing.line(x(figure.p99_ns), y, x(figure.p999_ns), y, "rare")
            drawing.line(x(figure.p50_ns), y, x(figure.p99_ns), y, "usual")
            drawing.add("circle", cx=x(figure.p50_ns), cy=y, r=6, class_="median")
            rate = f"{figure.iops:,.0f}".replace(",", " ")
            drawing.text(
                WIDTH - _PROBE_RIGHT + 14, y + 4, f"{rate} /s, {format_bytes(figure.bytes_per_s)}/s"
            )
    return drawing.file(f".paper {{ fill: #fff }} {_PROBE_STYLE}")
