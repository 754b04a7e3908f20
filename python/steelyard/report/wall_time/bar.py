"""Draws where the wall time of a weighing went: a bar split into its phases, and their key."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.spent import Spent
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.report.charts.stacked_bar import (
    KEY_ROW,
    ROW,
    SIDE,
    Part,
    draw_bar,
    draw_key,
    key_rows,
)
from steelyard.report.wall_time.words import PHASE_WORDS


def draw_wall_time(spent: Spent, width: float) -> Markup:
    """The bar is as long as the whole; phases stand in the order of a weighing."""
    parts = [
        Part(
            PHASE_WORDS[one.phase],
            f"part spent-{one.phase.replace(' ', '-')}",
            one.seconds,
            format_duration(one.seconds * NS_PER_S),
        )
        for one in spent.phases
    ]
    key = key_rows(parts, width)
    whole = format_duration(spent.seconds * NS_PER_S)
    loaded = f"{100 * spent.loaded_seconds / spent.seconds:.0f} % under load"
    words = ", ".join(f"{part.name}: {part.text}" for part in parts)
    height = ROW + len(key) * KEY_ROW + 6
    drawing = Drawing(width, height, "Where the time of the weighing went", words)
    x = Linear(0.0, spent.seconds, SIDE, width - SIDE)
    draw_bar(drawing, f"{whole}, {loaded}", parts, x)
    draw_key(drawing, key, ROW + 14)
    return drawing.svg()
