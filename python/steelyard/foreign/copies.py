"""Refuses numbers that are there twice: copies of a file, and rows that repeat to the last digit.

A copy adds no information, and the interval would shrink as if it did.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.foreign.series import Floats, Grain, Series
from steelyard.foreign.source import Source, quoted
from steelyard.model.errors import NumbersError

_LEAST_SCATTER = 1e-3
"""Of the median: no measurement repeats more closely, however quiet the machine."""
_CLUSTERED = 10.0
"""So many times more agree than of numbers spread evenly, where they crowd in the middle."""
_CHANCE = math.log(1e-6)
_MOST_DECIMALS = 9


def refuse_copies(sources: Sequence[Source]) -> None:
    """NumbersError where two files hold the same text."""
    first: dict[str, Source] = {}
    for source in sources:
        text = source.text.strip()
        if text in first:
            names = quoted(first[text].name), quoted(source.name)
            same = names[0] == names[1]
            raise NumbersError(
                f"{names[0]} is given twice" if same else f"{names[1]} is a copy of {names[0]}",
                detail="Copies of one measurement are no repetitions of it.",
                hint="Name every file once.",
            )
        first[text] = source


def refuse_repeats(arm: str, files: Sequence[Series]) -> None:
    """NumbersError where half of the rows of an arm, or more, repeat others to the last digit, and
    numbers of so many digits do not by chance."""
    own = [series.values for series in files if series.grain is Grain.REPETITION]
    if not own:
        return
    values = np.concatenate(own)
    values = values[values > 0]
    distinct, counts = np.unique(values, return_counts=True)
    if len(values) < 4 or 2 * len(distinct) > len(values):
        return
    repeats = int((counts * (counts - 1) // 2).sum())
    chance = _CLUSTERED * _expected_repeats(values)
    tail = repeats - chance + repeats * math.log(chance / repeats) if repeats > chance else 0.0
    if tail < _CHANCE:
        often = distinct[np.argmax(counts)]
        raise NumbersError(
            f"the rows of {quoted(arm)} repeat to the last digit: {len(distinct)} different "
            f"numbers in {len(values)} rows, {often:.12g} {counts.max()} times",
            detail="Numbers of so many digits do not come again by chance: rows were copied.",
            hint="Leave every measurement in once.",
        )


def _expected_repeats(values: Floats) -> float:
    """How many pairs of rows, shape (n,), would agree in all their digits by chance."""
    low, middle, high = np.percentile(values, [25, 50, 75]).tolist()
    scatter = max(3 * (high - low), _LEAST_SCATTER * middle)
    steps = max(scatter / _resolution(values), 1.0)
    return max(len(values) * (len(values) - 1) / 2 / float(steps), 1e-12)


def _resolution(values: Floats) -> float:
    """The unit of the last digit of the numbers, shape (n,)."""
    for decimals in range(-6, _MOST_DECIMALS):
        scaled = values * 10.0**decimals
        if (np.abs(scaled - np.round(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1)).all():
            return math.pow(10, -decimals)
    return math.pow(10, -_MOST_DECIMALS)
