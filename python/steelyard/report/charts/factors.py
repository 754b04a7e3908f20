"""Draws a factorial: every effect with its joint interval, and an interaction that matters.

Draws and words a factorial for the page: its sentences, its effects, and how they interact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from steelyard.evaluation.factor_effects import parts_of
from steelyard.record.factors import EffectLine, FactorEffects, SimpleEffectLine, effect_name
from steelyard.report.charts.drawing import HALF, WIDE, Drawing, both_widths
from steelyard.report.charts.interval import draw_whiskers
from steelyard.report.charts.percentile_effects import draw_effect_axis
from steelyard.report.charts.scale import Linear, known_ends, reach_of
from steelyard.report.charts.upright import draw_joined
from steelyard.wording.contrast_text import full_stop, reading_text

_ROW, _TOP, _FOOT = 46, 20, 30
_PHONE = 500
_LINE = 15
_HEIGHT = 280
_MOST_PERCENT = 400.0


def draw_effects(factorial: FactorEffects, width: float) -> Markup:
    """A row an effect on one scale, with the margin; main effects above, interactions below."""
    row = _ROW + (_LINE if width < _PHONE else 0)
    reach = min(reach_of(known_ends(factorial.effects), factorial.margin_percent), _MOST_PERCENT)
    x = Linear(-reach, reach, 16, width - 16)
    bottom = _TOP + row * len(factorial.effects)
    description = "; ".join(
        f"{effect.name}: {reading_text(effect)}, {effect.verdict}" for effect in factorial.effects
    )
    drawing = Drawing(width, bottom + _FOOT, "Effects with joint intervals", description)
    margin = x(-factorial.margin_percent), x(factorial.margin_percent)
    drawing.rect(margin[0], _TOP, margin[1] - margin[0], bottom - _TOP, "margin")
    sides = ("slower", "faster") if factorial.higher_is_better else ("faster", "slower")
    draw_effect_axis(drawing, x, (_TOP, bottom), sides)
    for number, effect in enumerate(factorial.effects):
        _draw_effect(drawing, effect, x, _TOP + number * row)
    return drawing.svg()


def draw_interaction(
    parts: Sequence[SimpleEffectLine], margin_percent: float, width: float
) -> Markup:
    """The effect of a factor at both levels of another, joined: a slope is their interaction."""
    factor, by = parts[0].factor, parts[0].by
    reach = min(reach_of(known_ends(parts), margin_percent), _MOST_PERCENT)
    description = "; ".join(f"with {part.level}: {reading_text(part)}" for part in parts)
    drawing = Drawing(width, _HEIGHT, f"Effect of {factor} by {by}", description)
    points = [(f"with {part.level}", part) for part in parts]
    draw_joined(drawing, reach, margin_percent, points, by)
    return drawing.svg()


def _draw_effect(drawing: Drawing, effect: EffectLine, x: Linear, top: float) -> None:
    y = top + 31
    drawing.text(
        x.start, top + 15, effect.name, "halo strong" if effect.verdict == "matters" else "halo"
    )
    if drawing.width < _PHONE:  # name and figures have a line each
        drawing.text(x.start, top + 15 + _LINE, reading_text(effect), "halo strong")
        y += _LINE
    else:
        drawing.text(x.end, top + 15, reading_text(effect), "halo strong", "end")
    middle = effect.estimate_percent
    if middle is None:
        return
    arm_class = "arm1" if effect.is_main else "arm2"
    draw_whiskers(drawing, effect, x, y, arm_class)
    drawing.add("circle", cx=x.clamped(middle), cy=y, r=5, class_=f"estimate {arm_class}")


Row = dict[str, str]


@dataclass(frozen=True)
class ShownInteraction:
    """An interaction that matters, drawn."""

    factor: str
    by: str
    picture: Markup


@dataclass(frozen=True)
class ShownFactors:
    """What the page shows of a factorial."""

    sentences: list[str]
    matters: bool
    """Whether an interaction does."""
    effects: Markup
    interactions: list[ShownInteraction]
    effect_rows: list[Row]
    simple_rows: list[Row]
    cell_rows: list[Row]
    cell_heads: list[tuple[str, str]]
    factorial: FactorEffects


def shown_factors(factorial: FactorEffects | None) -> ShownFactors | None:
    """None where the arms are no cells of a factorial."""
    if factorial is None:
        return None
    pairs = [
        parts_of(effect, factorial) for effect in factorial.effects if effect.verdict == "matters"
    ]
    interactions = [
        ShownInteraction(
            parts[0].factor,
            parts[0].by,
            both_widths(partial(draw_interaction, parts, factorial.margin_percent), HALF),
        )
        for parts in pairs
        if parts
    ]
    effects = ("effect", "reading", "verdict")
    simple = ("factor", "level", "reading")
    return ShownFactors(
        sentences=[full_stop(sentence) for sentence in factorial.sentences],
        matters=bool(pairs),
        effects=both_widths(partial(draw_effects, factorial), WIDE),
        interactions=interactions,
        effect_rows=[dict(zip(effects, row, strict=True)) for row in effect_rows(factorial)],
        simple_rows=[dict(zip(simple, row, strict=True)) for row in simple_rows(factorial)],
        cell_rows=[{"arm": cell.arm, **cell.levels} for cell in factorial.cells],
        cell_heads=[(factor, factor) for factor in factorial.cells[0].levels],
        factorial=factorial,
    )


def effect_rows(factorial: FactorEffects) -> list[tuple[str, str, str]]:
    """Effect, joint interval and verdict, with what a fraction cannot tell from it."""
    return [
        (
            effect.name + "".join(f" (or {effect_name(alias)})" for alias in effect.aliases),
            reading_text(effect),
            effect.verdict,
        )
        for effect in factorial.effects
    ]


def simple_rows(factorial: FactorEffects) -> list[tuple[str, str, str]]:
    """Factor, level of another, joint interval."""
    return [
        (effect.factor, f"{effect.by}: {effect.level}", reading_text(effect))
        for effect in factorial.simple_effects
    ]
