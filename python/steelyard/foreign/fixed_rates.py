"""Compares the rates that loads were held to, where a tool does not print which it was asked for:
two rates are two loads."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.foreign.series import RequestedRate, Sheet
from steelyard.model.units import format_digits

_CONDITION = "rate"
_TOLERANCE = 0.02
_SIGMAS = 5.0
"""Of arrivals at random times, as pgbench's are: of n of them the number is uncertain by √n."""
_LATEST = 0.9
"""Of a run: where transactions began later than that, any rate may have been asked for."""


def requested_rate(begun: float, seconds: float, lag: float) -> RequestedRate | None:
    """What transactions that began `lag` seconds late at the end of a run say of its rate; None
    where there are none. `begun`: also those that were skipped or failed.

    A server that does not keep up falls behind: of what was due, lag ÷ seconds had not begun.
    """
    if not (begun > 0 and 0 < seconds < math.inf and lag >= 0):
        return None
    late = lag / seconds
    return RequestedRate(begun, begun / (1 - late) if late < _LATEST else math.inf, seconds)


def sum_of_rates(rates: Sequence[RequestedRate | None]) -> RequestedRate | None:
    """What runs say together; None where some of them say nothing."""
    present = [rate for rate in rates if rate is not None]
    return sum(present[1:], present[0]) if present and len(present) == len(rates) else None


def rate_conditions(
    sheets: Sequence[Sheet], arms: Sequence[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Arm → the rate that its runs were held to, as a condition; empty where those of all arms
    could be one and the same, or are not known. The first arm is the control."""
    rates = {
        arm: sum_of_rates([sheet.requested for sheet in sheets if _holds(sheet, arm)])
        for arm in arms
    }
    known = {arm: rate for arm, rate in rates.items() if rate is not None}
    if len(known) < len(arms):
        return {}
    control = known[arms[0]]
    others = {arm for arm, rate in known.items() if _differ(control, rate)}
    return {
        arm: {_CONDITION: (_words(rate if arm in others else control),)}
        for arm, rate in known.items()
        if others
    }


def _holds(sheet: Sheet, arm: str) -> bool:
    return any(series.arm == arm for _, group in sheet.metrics for series in group)


def _differ(control: RequestedRate, other: RequestedRate) -> bool:
    """Whether two rates can be no single one, however late the slower of them was."""
    slower, faster = sorted((control, other), key=lambda rate: rate.begun / rate.seconds)
    chance = _SIGMAS * math.sqrt(1 / slower.begun + 1 / faster.begun)
    most = slower.due / slower.seconds * (1 + max(_TOLERANCE, chance))
    return faster.begun / faster.seconds > most


def _words(rate: RequestedRate) -> str:
    return f"{format_digits(rate.begun / rate.seconds, 3)}/s"
