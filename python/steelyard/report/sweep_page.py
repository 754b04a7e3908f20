"""Writes the page of a sweep: its sentences, curves of both arms and their difference, a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from markupsafe import Markup

from steelyard.evaluation.sweep import knee, reading
from steelyard.model.files.own_directory import write_whole
from steelyard.model.units import NS_PER_US, format_duration
from steelyard.record.sweep import Swept, SweptContrast
from steelyard.report.charts.drawing import WIDE, both_widths
from steelyard.report.charts.sweep import Curve, draw_levels, draw_sweep
from steelyard.report.page import style_sheet, templates
from steelyard.report.tables import amount

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class SweptArm:
    """An arm against the control over all values."""

    arm: str
    control: str
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
    every = [line for point in swept.points for line in point.contrasts]
    return (
        templates(_HERE)
        .get_template("sweep.html.j2")
        .render(
            style=Markup(style_sheet()),
            swept=swept,
            name=_name(swept),
            arms=[_arm(swept, arm) for arm in dict.fromkeys(line.arm for line in every)],
        )
    )


def _name(swept: Swept) -> str:
    return swept.key.rpartition(".")[2]


def _arm(swept: Swept, arm: str) -> SweptArm:
    known = [
        (point.value, line) for point in swept.points for line in point.contrasts if line.arm == arm
    ]
    values = [value for value, _ in known]
    control = known[0][1].control
    rates = {
        control: [line.control_throughput for _, line in known],
        arm: [line.arm_throughput for _, line in known],
    }
    knees = {side: knee(values, levels) for side, levels in rates.items()}
    latency = {
        control: [_ms(line.control_p95_us) for _, line in known],
        arm: [_ms(line.arm_p95_us) for _, line in known],
    }
    bends = [f"{values[n]} for {side}" for side, n in knees.items() if n is not None]
    name = _name(swept)
    return SweptArm(
        arm=arm,
        control=control,
        throughput=_curves(f"Throughput by {name}, /s", name, values, rates, knees),
        latency=_curves(f"p95 of the latency by {name}, ms", name, values, latency, {}),
        knees=f"Throughput bends (its knee) at {' and at '.join(bends)}." if bends else "",
        difference=both_widths(partial(draw_sweep, swept, arm), WIDE),
        rows=tuple(_row(swept, value, line) for value, line in known),
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
        Curve(arm, f"arm{number}", own, knees.get(arm))
        for number, (arm, own) in enumerate(levels.items())
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
