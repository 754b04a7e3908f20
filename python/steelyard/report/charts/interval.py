"""Draws one interval on a scale around "no difference", with the margin marked."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.model.units import format_digits, format_percent
from steelyard.record.contrast import PercentInterval, ReadContrast
from steelyard.report.charts.drawing import Drawing
from steelyard.report.charts.scale import Linear, decimals_of, reach_of
from steelyard.wording.contrast_text import better_side, reading_text, sentence_text

_HEIGHT = 132
_WIDE_CHARACTER = 8.4
"""Of a bold label, in a wide font such as DejaVu Sans."""
_BEAM_Y = 84


def draw_interval(
    contrast: ReadContrast,
    margin_percent: float,
    arm_class: str,
    width: float,
    true_percent: float | None = None,
) -> Markup:
    """The interval of one contrast; `arm_class` carries the arm's colour; `true_percent`: the true
    effect where it is known."""
    low, middle, high = contrast.low_percent, contrast.estimate_percent, contrast.high_percent
    reach = reach_of([low, high, middle, true_percent], margin_percent)
    x = Linear(-reach, reach, 14, width - 14)
    drawing = Drawing(width, _HEIGHT, contrast.pair, sentence_text(contrast))
    _draw_margin(drawing, x, margin_percent)
    _draw_scale(drawing, x, width)
    left, right = better_side(contrast)
    drawing.text(x(-reach), 12, f"◂ {left}", "side")
    drawing.text(x(reach), 12, f"{right} ▸", "side", "end")
    if middle is not None:
        _draw_interval(drawing, x, (low, middle, high), arm_class)
        _draw_label(drawing, x(middle), reading_text(contrast), width)
    if true_percent is not None:
        _draw_truth(drawing, x(true_percent))
    return drawing.svg()


def _draw_margin(drawing: Drawing, x: Linear, margin: float) -> None:
    drawing.rect(x(-margin), 48, x(margin) - x(-margin), _BEAM_Y - 48, "margin")
    for side in (-margin, margin):
        drawing.line(x(side), 48, x(side), _BEAM_Y, "margin-edge")
    drawing.text(x(0), _BEAM_Y + 38, f"0 · margin ±{format_digits(margin, 3)} %", "", "middle")


def _draw_scale(drawing: Drawing, x: Linear, width: float) -> None:
    drawing.line(x.start, _BEAM_Y, x.end, _BEAM_Y, "beam")
    ticks = x.ticks(10 if width > 500 else 4)
    digits = decimals_of(ticks)
    for tick in ticks:
        drawing.line(x(tick), _BEAM_Y, x(tick), _BEAM_Y + 5, "beam")
        if abs(tick) > 1e-9:
            drawing.text(x(tick), _BEAM_Y + 20, format_percent(tick, digits), "", "middle")
    # The fulcrum of the balance stands under zero.
    drawing.path(f"M{x(0):.1f} {_BEAM_Y + 2}l9 18h-18z", "fulcrum")


def _draw_interval(
    drawing: Drawing,
    x: Linear,
    ends: tuple[float | None, float, float | None],
    arm_class: str,
) -> None:
    low, middle, high = ends
    y = 62
    if low is None and high is None:
        drawing.add("circle", cx=x(middle), cy=y, r=6, class_=f"dot {arm_class}")
        return
    left = x.start if low is None else x(low)
    right = x.end if high is None else x(high)
    drawing.line(left, y, right, y, f"interval {arm_class}")
    for end, at in ((low, left), (high, right)):
        if end is not None:
            drawing.line(at, y - 8, at, y + 8, f"cap {arm_class}")
    drawing.add("circle", cx=x(middle), cy=y, r=7, class_=f"estimate {arm_class}")


def draw_whiskers(
    drawing: Drawing, interval: PercentInterval, x: Linear, y: float, colour: str, cap: float = 6
) -> None:
    """A line from end to end at height `y`, with a cap at each end that is known; an end that is
    not is at the scale's. `colour`: the classes of its colour; `cap`: half of a cap's length."""
    low, high = interval.low_percent, interval.high_percent
    left = x.start if low is None else x.clamped(low)
    right = x.end if high is None else x.clamped(high)
    drawing.line(left, y, right, y, f"interval thin {colour}")
    for end, at in ((low, left), (high, right)):
        if end is not None:
            drawing.line(at, y - cap, at, y + cap, f"cap {colour}")


def _draw_truth(drawing: Drawing, at: float) -> None:
    """Where a known weight must be read: a diamond on the beam, with a line up to the interval."""
    drawing.line(at, 50, at, _BEAM_Y, "truth-line")
    drawing.path(f"M{at:.1f} {_BEAM_Y - 6}l6 6l-6 6l-6 -6z", "truth")


def _draw_label(drawing: Drawing, at: float, text: str, width: float) -> None:
    """The figures above their interval, kept inside the picture."""
    half = len(text) * _WIDE_CHARACTER / 2
    drawing.text(min(max(at, half), width - half), 42, text, "strong halo", "middle")
