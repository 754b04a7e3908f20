"""Notices numbers that cannot be compared: in two units (two tight clusters a thousand times
apart), or out of all proportion."""

from __future__ import annotations

import numpy as np

from steelyard.readings.foreign.series import Floats
from steelyard.units import MOST_RATIO

_TIGHT = np.log(4.0)
_THOUSAND = np.log(500.0), np.log(2000.0)
"""A unit is a thousand of the next; the effect and the noise come on top."""

SMALLEST, LARGEST = 1e-60, 1e60
"""No unit makes a measurement smaller or larger, and sums of squares still have room beyond."""


def out_of_range(values: Floats) -> int | None:
    """The first row that is neither 0 nor between the smallest and the largest number that is
    judged; None where none is. Values of shape (n,)."""
    wrong = (values != 0) & ~((values >= SMALLEST) & (values <= LARGEST))
    return int(np.argmax(wrong)) if wrong.any() else None


def out_of_proportion(values: Floats, usual: float) -> int | None:
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
