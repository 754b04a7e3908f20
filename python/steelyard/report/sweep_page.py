"""Writes the page of a sweep: its sentences, curves of both arms and their difference, a table.

Draws a sweep: both arms at each value of the key, knees marked, and their difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markupsafe import Markup

from steelyard.evaluation.sweep import knee
from steelyard.model.files.own_directory import write_whole
from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.sweep import Swept, SweptContrast, SweptRow
from steelyard.report.charts.drawing import WIDE, Drawing, both_widths
from steelyard.report.charts.scale import Linear, known_ends
from steelyard.report.charts.upright import LEFT, LOWER, RIGHT, UPPER, draw_joined
from steelyard.report.page import style_sheet, templates
from steelyard.report.tables import amount
from steelyard.study.change import short_key
from steelyard.wording.sweep_sentences import reading

_HEIGHT, _DIFFERENCE_HEIGHT = 260, 300
_MOST_PERCENT = 400.0
_HEADROOM = 1.12


@dataclass(frozen=True)
class Curve:
    """What an arm did at each value; None where it is not known."""

    arm: str
    arm_class: str
    """That carries its colour and dashes."""
    levels: Sequence[float | None]
    knee: int | None = None
    """Number of the point to be marked."""


def draw_levels(
    title: str, name: str, values: Sequence[str], curves: Sequence[Curve], width: float
) -> Markup:
    """Points at equal distances, from zero up; `name`: of what the values are."""
    measured = [level for curve in curves for level in curve.levels if level is not None]
    description = "; ".join(f"{curve.arm}: {_levels_text(values, curve)}" for curve in curves)
    drawing = Drawing(width, _HEIGHT, title, description)
    y = Linear(0, max(measured, default=1.0) * _HEADROOM or 1.0, _HEIGHT - LOWER, UPPER)
    for tick in y.ticks(5):
        drawing.line(LEFT, y(tick), width - RIGHT, y(tick), "zero" if tick == 0 else "grid")
        drawing.text(LEFT - 6, y(tick) + 4, amount(tick), "", "end")
    step = (width - LEFT - RIGHT) / max(1, len(values))
    places = [LEFT + step * (number + 0.5) for number in range(len(values))]
    for x, value in zip(places, values, strict=True):
        drawing.text(x, _HEIGHT - LOWER + 18, value, "", "middle")
    drawing.text((LEFT + width - RIGHT) / 2, _HEIGHT - 6, name, "side", "middle")
    for curve in curves:
        _draw_curve(drawing, places, y, curve)
    return drawing.svg()


def _draw_curve(drawing: Drawing, places: Sequence[float], y: Linear, curve: Curve) -> None:
    points = [
        (x, y(level))
        for x, level in zip(places, curve.levels, strict=True)
        if level is not None and math.isfinite(level)
    ]
    drawing.polyline(points, f"series {curve.arm_class}")
    for x, top in points:
        drawing.add("circle", cx=x, cy=top, r=4, class_=f"estimate {curve.arm_class}")
    level = None if curve.knee is None else curve.levels[curve.knee]
    if curve.knee is not None and level is not None:
        x, top = places[curve.knee], y(level)
        drawing.add("circle", cx=x, cy=top, r=9, class_=f"knee {curve.arm_class}")
        drawing.text(x, max(12.0, top - 13), "knee", "halo strong", "middle")


def _levels_text(values: Sequence[str], curve: Curve) -> str:
    pairs = zip(values, curve.levels, strict=True)
    bend = "" if curve.knee is None else f", knee at {values[curve.knee]}"
    return ", ".join(f"{amount(level)} at {value}" for value, level in pairs) + bend


def draw_sweep(swept: Swept, row: SweptRow, width: float) -> Markup:
    """The points of one arm from left to right as they are told, at equal distances."""
    contrasts = swept.contrasts_of(row)
    ends = known_ends(line for _, line in contrasts)
    reach = max(swept.margin_percent * 1.6, *(abs(end) * 1.12 for end in ends), 0.1)
    reach = min(reach, _MOST_PERCENT)
    description = "; ".join(f"{value}: {reading(line)}" for value, line in contrasts)
    name = _name(swept)
    drawing = Drawing(width, _DIFFERENCE_HEIGHT, f"{row.arm} by {name}", description)
    draw_joined(drawing, reach, swept.margin_percent, contrasts, name)
    return drawing.svg()


_HERE = Path(__file__).parent


@dataclass(frozen=True)
class SweptArm:
    """An arm against the control, or another arm, over all values."""

    arm: str
    control: str
    is_control: bool
    """Whether it is compared with the control."""
    throughput: Markup | None
    """Curves of both; None: not kept, as in older records."""
    latency: Markup | None
    knees: str
    """Where the curves of throughput bend, as a sentence; empty: nowhere."""
    difference: Markup
    rows: tuple[dict[str, str], ...]


def write_sweep_page(swept: Swept, folder: Path) -> Path:
    """report.html in the sweep's folder."""
    page = folder / "report.html"
    write_whole(page, render_sweep(swept))
    return page


def render_sweep(swept: Swept) -> str:
    """The page as text; it opens from disk and loads nothing else."""
    return (
        templates(_HERE)
        .get_template("sweep.html.j2")
        .render(
            style=Markup(style_sheet()),
            swept=swept,
            name=_name(swept),
            arms=[_arm(swept, row) for row in swept.rows],
        )
    )


def _name(swept: Swept) -> str:
    return short_key(swept.key)


def _arm(swept: Swept, row: SweptRow) -> SweptArm:
    contrasts, (arm, control) = swept.contrasts_of(row), row
    values = [value for value, _ in contrasts]
    controls = {line.control for point in swept.points for line in point.contrasts}
    rates = {
        control: [line.control_throughput for _, line in contrasts],
        arm: [line.arm_throughput for _, line in contrasts],
    }
    knees = {side: knee(values, levels) for side, levels in rates.items()}
    latency = {
        control: [_ms(line.control_p95_us) for _, line in contrasts],
        arm: [_ms(line.arm_p95_us) for _, line in contrasts],
    }
    bends = [f"{values[n]} for {side}" for side, n in knees.items() if n is not None]
    name = _name(swept)
    return SweptArm(
        arm=arm,
        control=control,
        is_control=control in controls,
        throughput=_curves(f"Throughput by {name}, /s", name, values, rates, knees),
        latency=_curves(f"p95 of the latency by {name}, ms", name, values, latency, {}),
        knees=f"Throughput bends (its knee) at {' and at '.join(bends)}." if bends else "",
        difference=both_widths(partial(draw_sweep, swept, row), WIDE),
        rows=tuple(_row(swept, value, line) for value, line in contrasts),
    )


def _curves(
    title: str,
    name: str,
    values: Sequence[str],
    levels: dict[str, list[float | None]],
    knees: dict[str, int | None],
) -> Markup | None:
    """None where nothing of an arm is known."""
    curves = [
        Curve(arm, f"arm{number}", arm_levels, knees.get(arm))
        for number, (arm, arm_levels) in enumerate(levels.items())
    ]
    if any(all(level is None for level in curve.levels) for curve in curves):
        return None
    return both_widths(partial(draw_levels, title, name, values, curves), WIDE)


def _ms(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds / 1000


def _row(swept: Swept, value: str, line: SweptContrast) -> dict[str, str]:
    point = next(point for point in swept.points if point.value == value)
    return {
        "value": value,
        "throughput": f"{amount(_whole(line.control_throughput))} → "
        f"{amount(_whole(line.arm_throughput))}",
        "p95": f"{_duration(line.control_p95_us)} → {_duration(line.arm_p95_us)}",
        "reading": reading(line),
        "verdict": line.verdict,
        "cause": line.cause or "none named",
        "epochs": str(line.epochs),
        "doubts": ", ".join(line.threats) or "none",
        "report": f"{point.record}/report.html",
    }


def _whole(rate: float | None) -> float | None:
    return round(rate) if rate is not None and rate >= 100 else rate


def _duration(microseconds: float | None) -> str:
    return "–" if microseconds is None else format_duration(microseconds * NS_PER_US)
