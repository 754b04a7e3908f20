"""Draws and words a factorial for the page: its sentences, its effects, and how they interact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from steelyard.evaluation.factors.words import parts_of
from steelyard.record.factors import FactorsTold, effect_name
from steelyard.report.charts.drawing import HALF, WIDE, both_widths
from steelyard.report.charts.factors import draw_effects, draw_interaction
from steelyard.report.contrast_text import full_stop, reading_text

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
    told: FactorsTold


def shown_factors(told: FactorsTold | None) -> ShownFactors | None:
    """None where the arms are no cells of a factorial."""
    if told is None:
        return None
    pairs = [parts_of(one, told) for one in told.effects if one.verdict == "matters"]
    interactions = [
        ShownInteraction(
            parts[0].factor,
            parts[0].by,
            both_widths(partial(draw_interaction, parts, told.margin_percent), HALF),
        )
        for parts in pairs
        if parts
    ]
    effects = ("effect", "reading", "verdict")
    simple = ("factor", "level", "reading")
    return ShownFactors(
        sentences=[full_stop(one) for one in told.sentences],
        matters=bool(pairs),
        effects=both_widths(partial(draw_effects, told), WIDE),
        interactions=interactions,
        effect_rows=[dict(zip(effects, row, strict=True)) for row in effect_rows(told)],
        simple_rows=[dict(zip(simple, row, strict=True)) for row in simple_rows(told)],
        cell_rows=[{"arm": cell.arm, **cell.levels} for cell in told.cells],
        cell_heads=[(factor, factor) for factor in told.cells[0].levels],
        told=told,
    )


def effect_rows(told: FactorsTold) -> list[tuple[str, str, str]]:
    """Effect, joint interval and verdict, with what a fraction cannot tell from it."""
    return [
        (
            one.name + "".join(f" (or {effect_name(alias)})" for alias in one.aliases),
            reading_text(one),
            one.verdict,
        )
        for one in told.effects
    ]


def simple_rows(told: FactorsTold) -> list[tuple[str, str, str]]:
    """Factor, level of another, joint interval."""
    return [
        (one.factor, f"{one.by}: {one.level}", reading_text(one)) for one in told.simple_effects
    ]
