"""Notices numbers that are in two units: two tight clusters a thousand times apart."""

from __future__ import annotations

import numpy as np

from steelyard.readings.foreign.series import Floats

_TIGHT = np.log(4.0)
_THOUSAND = np.log(500.0), np.log(2000.0)
"""A unit is a thousand of the next; the effect and the noise come on top."""


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
