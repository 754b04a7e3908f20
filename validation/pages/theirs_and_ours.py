"""Draws published effects beside ours: a row a claim, docs/pictures/theirs-and-ours.svg.

Theirs are diamonds, open because no interval was published with any of them; ours are dots with
their intervals. Drawn is what can be compared: a published percentage of throughput or of a whole
workload's time, and our reading of the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from steelyard.cli.views.reproductions.agreement import quantity_of, readings_of
from steelyard.cli.views.reproductions.page import Found
from steelyard.model.units import format_percent
from steelyard.record.contrast import ContrastLine
from steelyard.record.sweep import SweptContrast
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear
from steelyard.reproductions.reproduction import Claim, Reproduction
from steelyard.wording.contrast_text import reading_text

WIDTH = 920
REACH = 14.0
"""Where the scale ends, in percent: what lies beyond is an arrow at its end, with its figure."""
_ROW, _HEAD, _TOP = 24, 30, 34
_LEFT, _RIGHT = 348, 672
_STYLE = """
svg { --paper: #fff; --ink: #1b1f24; --quiet: #5b6470; --grid: #e4e0d6; --ours: #0b66ad;
  --theirs: #b4470a }
@media (prefers-color-scheme: dark) { svg { --paper: #15181c; --ink: #e8eaed; --quiet: #a4adb8;
  --grid: #343a42; --ours: #6cb0ea; --theirs: #f2935a } }
text { font: 12px system-ui, "Segoe UI", Roboto, Arial, "Liberation Sans", sans-serif;
  fill: var(--ink) }
.quiet { fill: var(--quiet) } .head { font-weight: 650 } .paper { fill: var(--paper) }
.grid { stroke: var(--grid) } .zero { stroke: var(--quiet) }
.interval { stroke: var(--ours); stroke-width: 4 } .ours { fill: var(--ours) }
.theirs { fill: var(--paper); stroke: var(--theirs); stroke-width: 2 }
.beyond { fill: none; stroke: var(--theirs); stroke-width: 2 }
.cut { fill: none; stroke: var(--ours); stroke-width: 2 }
"""


@dataclass(frozen=True)
class Row:
    """One published effect, and our reading of the same; percents of the control."""

    study: str
    what: str
    theirs: float
    ours: ContrastLine | SweptContrast


def rows_of(studies: Iterable[tuple[Reproduction, Found]]) -> list[Row]:
    """What can be compared, study by study."""
    return [row for study, outcomes in studies for row in _rows(study, outcomes)]


def _rows(study: Reproduction, outcomes: Found) -> Iterator[Row]:
    for step in study.steps:
        if (outcome := outcomes.get(step.name)) is None:
            continue
        for claim in step.claims:
            if claim.percent is None or not claim.comparable:
                continue
            for where, reading in readings_of(outcome, claim):
                if isinstance(reading, ContrastLine | SweptContrast):
                    pair = f"{reading.arm} against {reading.control}"
                    what = f"{step.name}: {pair}{where}{_of_what(claim)}"
                    yield Row(study.title, what, claim.percent, reading)


def _of_what(claim: Claim) -> str:
    """Nothing of throughput, which most are of."""
    return "" if claim.of == "throughput" else f", {quantity_of(claim.of)}"


def picture(rows: list[Row]) -> str:
    """The SVG text."""
    groups = [(study, list(each)) for study, each in groupby(rows, key=lambda row: row.study)]
    height = _TOP + _HEAD * len(groups) + _ROW * len(rows) + 34
    drawing = Drawing(WIDTH, height, "Published effects, and ours", _in_words(rows))
    drawing.rect(0, 0, WIDTH, height, "paper")
    x = Linear(-REACH, REACH, _LEFT, _RIGHT)
    _scale(drawing, x, height)
    y = float(_TOP)
    for study, each in groups:
        drawing.text(10, y + 20, study, "head")
        y += _HEAD
        for row in each:
            _draw(drawing, x, y + _ROW / 2, row)
            y += _ROW
    return drawing.file(_STYLE)


def _scale(drawing: Drawing, x: Linear, height: float) -> None:
    drawing.path(_diamond(16, 16), "theirs")
    drawing.text(28, 20, "theirs: no interval was published")
    drawing.line(238, 16, 262, 16, "interval")
    drawing.add("circle", cx=250, cy=16, r=5, class_="ours")
    drawing.text(268, 20, "ours, with its interval")
    for tick in x.ticks(6):
        drawing.line(x(tick), _TOP, x(tick), height - 26, "zero" if abs(tick) < 1e-9 else "grid")
        drawing.text(x(tick), height - 10, format_percent(tick, 0), "quiet", "middle")


def _draw(drawing: Drawing, x: Linear, y: float, row: Row) -> None:
    drawing.text(10, y + 4, row.what, "quiet")
    _ours(drawing, x, y, row.ours)
    if abs(row.theirs) <= REACH:
        drawing.path(_diamond(x(row.theirs), y), "theirs")
    else:
        _arrow(drawing, x, y, row.theirs, "beyond")
    figures = f"{format_percent(row.theirs, 1)} · {reading_text(row.ours)}"
    drawing.text(_RIGHT + 14, y + 4, figures)


def _ours(drawing: Drawing, x: Linear, y: float, ours: ContrastLine | SweptContrast) -> None:
    middle = ours.estimate_percent
    if middle is None:
        return
    low = -REACH if ours.low_percent is None else ours.low_percent
    high = REACH if ours.high_percent is None else ours.high_percent
    drawing.line(x.clamped(low), y, x.clamped(high), y, "interval")
    for end in (low, high):
        if abs(end) > REACH:
            _arrow(drawing, x, y, end, "cut")
    if abs(middle) <= REACH:
        drawing.add("circle", cx=x(middle), cy=y, r=5, class_="ours")


def _arrow(drawing: Drawing, x: Linear, y: float, value: float, class_: str) -> None:
    """At the end of the scale that `value` lies beyond."""
    tip, back = (x.end + 8, -7) if value > 0 else (x.start - 8, 7)
    drawing.path(f"M{tip + back:g} {y - 5:g}L{tip:g} {y:g}L{tip + back:g} {y + 5:g}", class_)


def _diamond(x: float, y: float) -> str:
    return f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"


def _in_words(rows: list[Row]) -> str:
    """For screen readers."""
    return "; ".join(
        f"{row.what}: theirs {format_percent(row.theirs, 1)}, ours {reading_text(row.ours)}"
        for row in rows
    )
