"""Refuses numbers that cannot be compared: in two units, or out of all proportion.

Two units show as two tight clusters a thousand times apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from steelyard.foreign.series import Floats, Grain, Series, Sheet
from steelyard.foreign.source import quoted
from steelyard.model.errors import NumbersError
from steelyard.model.units import MOST_RATIO

_TIGHT = np.log(4.0)
_THOUSAND = np.log(500.0), np.log(2000.0)
"""A unit is a thousand of the next; the effect and the noise come on top."""

SMALLEST, LARGEST = 1e-60, 1e60
"""No unit makes a measurement smaller or larger, and sums of squares still have room beyond."""


def _out_of_range(values: Floats) -> int | None:
    """The first row that is neither 0 nor between the smallest and the largest number that is
    judged; None where none is. Values of shape (n,)."""
    wrong = (values != 0) & ~((values >= SMALLEST) & (values <= LARGEST))
    return int(np.argmax(wrong)) if wrong.any() else None


def _out_of_proportion(values: Floats, usual: float) -> int | None:
    """The row that is farthest from the usual value, where it is more than 10¹² times smaller or
    larger; None where none is. Values of shape (n,), positive or 0."""
    positive = values > 0
    away = np.abs(np.log(np.where(positive, values, usual) / usual))
    farthest = int(np.argmax(away))
    return farthest if away[farthest] > np.log(MOST_RATIO) / 2 else None


def in_two_units(values: Floats) -> int | None:
    """The first row that is in another unit than the first row; None where none is.

    Values of shape (n,), positive. Both clusters must be tight, so that a thousandfold stall in a
    series that is wide anyhow is no other unit.
    """
    if len(values) < 2:
        return None
    logs = np.sort(np.log(values))
    gaps = np.diff(logs)
    cut = int(np.argmax(gaps)) + 1
    low, high = logs[:cut], logs[cut:]
    apart = float(np.median(high) - np.median(low))
    if not _THOUSAND[0] < apart < _THOUSAND[1] or max(np.ptp(low), np.ptp(high)) > _TIGHT:
        return None
    border = (logs[cut - 1] + logs[cut]) / 2
    above = np.log(values) > border
    return int(np.argmax(above != above[0]))


def _at(sheet: Sheet, series: Series, row: int) -> str:
    """A row's place as an error names it: its line and column, or else its arm."""
    spot = series.spot(row) if series.spot else None
    at = f" line {spot.line}, column {spot.column}" if spot else f", arm {series.arm}"
    return f'"{sheet.source}"{at}'


def refuse_out_of_range(sheet: Sheet) -> None:
    """Numbers that no unit of anything measured makes so small or so large."""
    for one in itertools.chain.from_iterable(series for _, series in sheet.metrics):
        row = _out_of_range(one.values)
        if row is not None:
            raise NumbersError(
                f"{_at(sheet, one, row)}: {one.values[row]:g} is no measurement",
                hint="Numbers from 1e-60 to 1e60 are judged.",
            )


def refuse_out_of_proportion(sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]]) -> None:
    """Numbers so far apart that a ratio of them means nothing."""
    every = np.concatenate([one.values for own in series for one in own])
    usual = float(np.median(every[every > 0]))
    for sheet, own in zip(sheets, series, strict=True):
        for one in own:
            row = _out_of_proportion(one.values, usual)
            if row is not None:
                raise NumbersError(
                    f"{_at(sheet, one, row)}: {one.values[row]:g} is out of all proportion: the "
                    f"median of all numbers is {usual:g}",
                    hint="Leave the row out if it is a slip; what lies more than a million times "
                    "above or below is not judged.",
                )


def refuse_two_units(sheets: Sequence[Sheet], series: Sequence[tuple[Series, ...]]) -> None:
    """Rows of one arm, or arms of one comparison, of which some are a thousand times the others."""
    hint = "If all numbers are in one unit, say which: --unit ms"
    for sheet, own in zip(sheets, series, strict=True):
        for one in own:
            other = in_two_units(one.values) if one.grain is Grain.REPETITION else None
            if other is not None and not sheet.row_names:
                first, far = f"{one.values[0]:g}", f"{one.values[other]:g}"
                raise NumbersError(
                    f"{_at(sheet, one, other)}: mixed units: {far} and {first} are about a "
                    "thousand times apart",
                    hint=hint,
                )
    arms = [one for own in series for one in own]
    levels = np.array([float(np.median(one.values)) for one in arms])
    odd = in_two_units(levels) if (levels > 0).all() else None
    if odd is not None:
        raise NumbersError(
            f"mixed units: {quoted(arms[odd].arm)} and {quoted(arms[0].arm)} are about a thousand "
            "times apart",
            detail=f"Their medians are {levels[odd]:g} and {levels[0]:g}.",
            hint=hint,
        )
