"""Formats where the wall time of a weighing went: what it took in a line, its phases in rows.

Draws where the wall time of a weighing went: a bar split into its phases, and their key.
"""

from __future__ import annotations

import math

from markupsafe import Markup

from steelyard.model.units import NS_PER_S, format_duration, format_share
from steelyard.record.spent import UNDER_LOAD, Phase, Spent
from steelyard.record.verdict import Verdict
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.stacked_bar import (
    KEY_ROW,
    ROW,
    SIDE,
    BarPart,
    draw_bar,
    draw_key,
    key_rows,
)

MOST_NAMED = 3
"""Of the phases, in the line that says what a weighing took."""
PHASE_WORDS: dict[Phase, str] = {
    "find engines": "finding and comparing engines",
    "load data": "loading data",
    "inspect": "inspecting the arms",
    "put back": "putting files back",
    "quiet": "waiting for the device to rest",
    "start": "starting servers",
    "fill pools": "reading data into buffer pools",
    "connect": "connecting clients",
    "pilot": "pilot, under load",
    "warm up": "warm-up, under load",
    "measure": "measuring, under load",
    "read": "reading telemetry and checking the work",
    "stop": "stopping servers",
    "judge": "judging",
    "other": "other",
}


def took_text(verdict: Verdict) -> str:
    """`"2 min 50 s: 1 min 37 s under load, 21 s start, 15 s stop"`: the whole, and what most of it
    went into; of a record without phases `"2 min 50 s, 1 min 21 s of it under load"`."""
    if verdict.spent is not None:
        largest = ", ".join(f"{_time(s)} {name}" for name, s in _largest(verdict.spent))
        return f"{_time(verdict.spent.seconds)}: {largest}"
    took = _time(verdict.whole_seconds or verdict.seconds)
    if math.isfinite(verdict.measured_seconds):
        took += f", {_time(verdict.measured_seconds)} of it under load"
    return took


def _largest(spent: Spent) -> list[tuple[str, float]]:
    """Name and seconds of the three that took most; the phases under load are one."""
    every: list[tuple[str, float]] = [
        (phase.phase, phase.seconds) for phase in spent.phases if phase.phase not in UNDER_LOAD
    ]
    every += [("under load", spent.loaded_seconds)] if spent.loaded_seconds else []
    return sorted(every, key=lambda row: -row[1])[:MOST_NAMED]


def phase_rows(spent: Spent) -> list[dict[str, str]]:
    """Each phase with its time and its share of the whole, in the order of a weighing; the whole
    last."""
    rows = [
        _row(PHASE_WORDS[phase.phase], phase.seconds, phase.seconds / spent.seconds)
        for phase in spent.phases
    ]
    return [*rows, _row("the whole", spent.seconds, 1.0)]


def _row(name: str, seconds: float, share: float) -> dict[str, str]:
    time = format_duration(seconds * NS_PER_S)
    return {"phase": name, "time": time, "share": format_share(share)}


def _time(seconds: float) -> str:
    """In whole seconds, but for less than one."""
    return format_duration((round(seconds) or seconds) * NS_PER_S)


def draw_wall_time(spent: Spent, width: float) -> Markup:
    """The bar is as long as the whole; phases stand in the order of a weighing."""
    parts = [
        BarPart(
            PHASE_WORDS[phase.phase],
            f"part spent-{phase.phase.replace(' ', '-')}",
            phase.seconds,
            format_duration(phase.seconds * NS_PER_S),
        )
        for phase in spent.phases
    ]
    key = key_rows(parts, width)
    whole = format_duration(spent.seconds * NS_PER_S)
    loaded = f"{100 * spent.loaded_seconds / spent.seconds:.0f} % under load"
    description = ", ".join(f"{part.name}: {part.text}" for part in parts)
    height = ROW + len(key) * KEY_ROW + 6
    drawing = Drawing(width, height, "Where the time of the weighing went", description)
    x = Linear(0.0, spent.seconds, SIDE, width - SIDE)
    draw_bar(drawing, f"{whole}, {loaded}", parts, x)
    draw_key(drawing, key, ROW + 14)
    return drawing.svg()
