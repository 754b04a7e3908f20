"""Draws a probe of storage as one self-contained SVG file: latencies of every job on one scale."""

from __future__ import annotations

from pathlib import Path

from steelyard.model.units import format_bytes, format_duration
from steelyard.record.machine.probe import Probe
from steelyard.report.charts.drawing import Drawing, save
from steelyard.report.charts.scale import Log

WIDTH = 920
_ROW = 34
_TOP, _LEFT, _RIGHT = 46, 250, 190
_STYLE = """
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
    height = _TOP + _ROW * len(figures) + 40
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
        x = Log(low / 1.2, max(high, low * 2) * 1.2, _LEFT, WIDTH - _RIGHT)
        bottom = _TOP + _ROW * len(figures) + 6
        for tick in x.ticks(7):
            drawing.line(x(tick), _TOP, x(tick), bottom, "grid")
            drawing.text(x(tick), bottom + 18, format_duration(round(tick)), "quiet", "middle")
        for number, figure in enumerate(figures):
            y = _TOP + _ROW * (number + 0.5)
            drawing.text(_LEFT - 12, y + 4, figure.name, "", "end")
            drawing.line(x(figure.p99_ns), y, x(figure.p999_ns), y, "rare")
            drawing.line(x(figure.p50_ns), y, x(figure.p99_ns), y, "usual")
            drawing.add("circle", cx=x(figure.p50_ns), cy=y, r=6, class_="median")
            rate = f"{figure.iops:,.0f}".replace(",", " ")
            drawing.text(
                WIDTH - _RIGHT + 14, y + 4, f"{rate} /s, {format_bytes(figure.bytes_per_s)}/s"
            )
    return drawing.file(f".paper {{ fill: #fff }} {_STYLE}")
