"""Lays out a factorial: cells made of the levels of factors, and the effects read from them.

A cell is an arm with one level of every factor. The first level of a factor is its baseline, and
the cell of first levels the control. A half fraction keeps the cells with an even number of second
levels, the control among them; each effect then shares its contrast with another, its alias.

Source: Box, Hunter & Hunter, Statistics for Experimenters, 2nd ed., Wiley 2005, chapters 5 and 6.
Their interaction is half of the one used here, which is a difference of two effects.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

Levels = Mapping[str, Sequence[str]]
"""Factor → the names of its two levels, the baseline first."""
Fraction = Literal["full", "half"]
Key = tuple[str, ...]

MOST_CELLS = 8
_TABLES = ("settings", "weight")
"""Keys of an arm whose own keys two factors may share out."""


class FactorError(ValueError):
    """Factors that make no factorial: the key that is wrong, and why."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


@dataclass(frozen=True)
class Cell:
    """One combination of levels: an arm."""

    arm: str
    levels: Mapping[str, str]
    """Factor → its level."""


@dataclass(frozen=True)
class Effect:
    """A main effect (one factor) or an interaction (several), as a contrast of cells."""

    factors: Key
    weights: Mapping[str, float]
    """Arm → weight of the log of its metric; they add up to 0."""
    aliases: tuple[Key, ...] = ()
    """Effects that the same contrast would show: a fraction cannot tell them apart."""


@dataclass(frozen=True)
class SimpleEffect:
    """The effect of a factor at one level of another."""

    factor: str
    by: str
    level: str
    weights: Mapping[str, float]


@dataclass(frozen=True)
class Factorial:
    """Factors with their cells; the control is the first of these."""

    levels: Levels
    fraction: Fraction
    cells: tuple[Cell, ...]

    @property
    def effects(self) -> tuple[Effect, ...]:
        """Main effects first, then interactions by their number of factors.

        A main effect is the mean over cells with the second level minus that over cells with the
        first; the interaction of A and B is the effect of A with B's second level minus that with
        B's first; that of A, B and C is the interaction of A and B with C's second level minus
        that with C's first.
        """
        names = tuple(self.levels)
        effects: dict[Key, Effect] = {}
        for size in range(1, len(names) + 1):
            for factors in combinations(names, size):
                other = self._alias(factors)
                if other in effects or other == ():  # told already, or lost in the mean
                    continue
                aliases = () if other is None else (other,)
                effects[factors] = Effect(factors, self._weights(factors), aliases)
        return tuple(effects.values())

    @property
    def simple_effects(self) -> tuple[SimpleEffect, ...]:
        """Of every factor at both levels of every other; none where cells do not allow it."""
        pairs = [effect.factors for effect in self.effects if len(effect.factors) == 2]
        every = pairs + [
            alias for effect in self.effects for alias in effect.aliases if len(alias) == 2
        ]
        usable = every if pairs else []
        return tuple(
            SimpleEffect(factor, by, level, self._weights_at(factor, by, level))
            for pair in usable
            for factor, by in (pair, pair[::-1])
            for level in self.levels[by]
        )

    def _alias(self, factors: Key) -> Key | None:
        """The other factors, in a half: its cells are those in which all signs multiply to one."""
        if self.fraction == "full":
            return None
        return tuple(name for name in self.levels if name not in factors)

    def _weights(self, factors: Key) -> dict[str, float]:
        share = 2 ** len(factors) / len(self.cells)
        return {
            cell.arm: share * math.prod(self._sign(cell, factor) for factor in factors)
            for cell in self.cells
        }

    def _weights_at(self, factor: str, by: str, level: str) -> dict[str, float]:
        share = 4 / len(self.cells)
        return {
            cell.arm: share * self._sign(cell, factor) if cell.levels[by] == level else 0.0
            for cell in self.cells
        }

    def _sign(self, cell: Cell, factor: str) -> int:
        return 1 if cell.levels[factor] == self.levels[factor][1] else -1


def factorial(levels: Levels, fraction: Fraction) -> Factorial:
    """The cells in standard order; FactorError where there are too few, or too many for a weighing.

    A cell is named by its levels; a level whose name another factor has too stands behind that of
    its factor: `checked+plain`, `checksums-on+fsync-off`.
    """
    for factor, names in levels.items():
        if len(names) != 2:
            raise FactorError(f"factors.{factor}", f"a factor has two levels, not {len(names)}")
    count = len(levels)
    fewest = 3 if fraction == "half" else 2
    if count < fewest:
        which = "half a factorial" if fraction == "half" else "a factorial"
        raise FactorError("factors", f"{which} has at least {fewest} factors, not {count}")
    cells = 2**count // (2 if fraction == "half" else 1)
    if cells > MOST_CELLS:
        half = '; fraction = "half" makes 8 of them' if count == 4 else ""
        raise FactorError(
            "factors", f"{cells} cells are more than the {MOST_CELLS} that can be weighed{half}"
        )
    return Factorial(levels, fraction, tuple(_cells(levels, fraction)))


def _cells(levels: Levels, fraction: Fraction) -> Iterator[Cell]:
    every = [name for names in levels.values() for name in names]
    for chosen in product((0, 1), repeat=len(levels)):
        if fraction == "half" and sum(chosen) % 2:
            continue
        combination = {
            factor: names[index]
            for (factor, names), index in zip(levels.items(), chosen, strict=True)
        }
        labels = [
            level if every.count(level) == 1 else f"{factor}-{level}"
            for factor, level in combination.items()
        ]
        yield Cell("+".join(labels), combination)


def with_cells(table: Mapping[str, Any]) -> dict[str, Any]:
    """A study's table with its cells as control and arms, judged separately.

    `[control]` is what all cells have in common. A table that holds arms already, as that of a
    record does, is left as it is. FactorError: two factors set one key, a factor sets nothing, or
    the arms have names of their own.
    """
    factors, common = table.get("factors"), table.get("control", {})
    if not isinstance(factors, dict) or not isinstance(common, dict):
        return dict(table)
    if "arms" in table:
        if "name" in common:
            return dict(table)
        raise FactorError("arm", "factors make the arms: set control.KEY for all of them")
    if any(not isinstance(levels, dict) for levels in factors.values()) or any(
        not isinstance(level, dict) for levels in factors.values() for level in levels.values()
    ):
        raise FactorError("factors", "a factor is a table of two levels, each a table of an arm")
    if "name" in common:
        raise FactorError("control.name", "cells are named by their levels: leave it out")
    fraction: Fraction = "half" if table.get("fraction") == "half" else "full"
    laid = factorial({name: tuple(levels) for name, levels in factors.items()}, fraction)
    _refuse_shared_keys(factors)
    arms = [
        {
            "name": cell.arm,
            **_merged(common, [factors[f][level] for f, level in cell.levels.items()]),
        }
        for cell in laid.cells
    ]
    decision = {"judged": "separately", **table.get("decision", {})}
    return {**table, "control": arms[0], "arms": arms[1:], "decision": decision}


def _refuse_shared_keys(factors: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    owner: dict[str, str] = {}
    for factor, levels in factors.items():
        first, second = levels.values()
        if first == second:
            raise FactorError(f"factors.{factor}", "both levels are the same")
        for key in dict.fromkeys([*_keys(first), *_keys(second)]):
            if key in owner:
                raise FactorError(
                    f"factors.{factor}", f'"{key}" is set by factor "{owner[key]}" too'
                )
            owner[key] = factor


def _keys(level: Mapping[str, Any]) -> Iterator[str]:
    """`"checksums"`, `"settings.wal_compression"`."""
    for key, value in level.items():
        if key in _TABLES and isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def _merged(common: Mapping[str, Any], levels: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all cells have in common, and what the levels set beside or in place of it."""
    merged = dict(common)
    for level in levels:
        for key, value in level.items():
            inner = merged.get(key)
            if key in _TABLES and isinstance(value, dict) and isinstance(inner, dict):
                merged[key] = {**inner, **value}
            else:
                merged[key] = value
    return merged
