"""A factorial as a record keeps it: cells and effects in plan.json, what was read in verdict.json.

Percents are (ratio - 1) * 100 of the metric; of an interaction, of a ratio of two ratios.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from steelyard.record.contrast import Percent
from steelyard.record.frozen import Frozen
from steelyard.study.factors import Factorial, Fraction

Factors = tuple[str, ...]


class CellLine(Frozen):
    """An arm as a combination of levels."""

    arm: str
    levels: Mapping[str, str]
    """Factor → its level."""


class PlannedEffect(Frozen):
    """A main effect or an interaction, as the contrast that will be read."""

    factors: Factors
    """One: a main effect; several: their interaction."""
    aliases: tuple[Factors, ...] = ()
    """Effects that the weighed fraction cannot tell from it."""
    weights: Mapping[str, float]
    """Arm → weight of the log of its metric in an epoch."""

    @property
    def name(self) -> str:
        """`"checksums × wal_compression"`."""
        return effect_name(self.factors)


class PlannedSimpleEffect(Frozen):
    """The effect of a factor at one level of another."""

    factor: str
    by: str
    level: str
    weights: Mapping[str, float]


class FactorsPlan(Frozen):
    """Cells, effects, fraction and aliases, fixed before the first slice."""

    factors: Mapping[str, tuple[str, str]]
    """Factor → its two levels, the baseline first."""
    fraction: Fraction
    cells: tuple[CellLine, ...]
    """The control first."""
    effects: tuple[PlannedEffect, ...]
    simple_effects: tuple[PlannedSimpleEffect, ...]

    @classmethod
    def of(cls, laid: Factorial) -> Self:
        """As a study lays it out."""
        return cls(
            factors={name: (levels[0], levels[1]) for name, levels in laid.levels.items()},
            fraction=laid.fraction,
            cells=tuple(CellLine(arm=cell.arm, levels=cell.levels) for cell in laid.cells),
            effects=tuple(
                PlannedEffect(
                    factors=effect.factors, aliases=effect.aliases, weights=effect.weights
                )
                for effect in laid.effects
            ),
            simple_effects=tuple(
                PlannedSimpleEffect(
                    factor=effect.factor, by=effect.by, level=effect.level, weights=effect.weights
                )
                for effect in laid.simple_effects
            ),
        )


class EffectLine(Frozen):
    """A main effect, or an interaction, as it was read."""

    factors: Factors
    aliases: tuple[Factors, ...]
    estimate_percent: Percent
    low_percent: Percent
    """With `high_percent` joint with those of all other effects."""
    high_percent: Percent
    p_value: float
    """Of "there is none", adjusted for all effects."""
    verdict: Literal[
        "slower", "faster", "equivalent",
        "matters", "nonzero", "negligible",
        "inconclusive", "invalid",
    ]  # fmt: skip
    """Of a main effect: the second level against the first. Of an interaction: beyond the margin,
    not zero, or within the margin."""

    @property
    def name(self) -> str:
        """`"checksums × wal_compression"`."""
        return effect_name(self.factors)

    @property
    def is_main(self) -> bool:
        """Whether it is of one factor."""
        return len(self.factors) == 1


class SimpleEffectLine(Frozen):
    """The effect of a factor at one level of another, as it was read."""

    factor: str
    by: str
    level: str
    estimate_percent: Percent
    low_percent: Percent
    """With `high_percent` joint with those of all other simple effects."""
    high_percent: Percent


class FactorEffects(Frozen):
    """What a factorial has shown."""

    sentences: tuple[str, ...]
    """An interaction that matters first, then the main effects."""
    fraction: Fraction
    cells: tuple[CellLine, ...]
    effects: tuple[EffectLine, ...]
    simple_effects: tuple[SimpleEffectLine, ...]
    metric: str
    higher_is_better: bool
    margin_percent: float
    confidence: float
    """Of all effects together; likewise of all simple effects."""
    epochs: int
    """In which every cell was measured."""
    left_out: tuple[int, ...]
    """Epochs in which one was not."""


def effect_name(factors: Factors) -> str:
    """`"checksums"`, `"checksums × wal_compression"`."""
    return " × ".join(factors)
