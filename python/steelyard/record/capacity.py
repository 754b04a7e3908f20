"""What an arm carried within a limit of latency, and what its transactions cost."""

from __future__ import annotations

from steelyard.record.contrast import Percent
from steelyard.record.frozen import Frozen


class Capacity(Frozen):
    """The highest arrival rate at which an arm kept a limit of latency, the geometric mean over
    epochs; in arrivals a second."""

    arm: str
    quantile: str
    """"p99"."""
    limit_us: float
    rate_per_second: float
    low_per_second: float | None
    """95 % t interval over epochs, of this arm by itself: what drifts for all arms is in it, and in
    no interval of a contrast. None: unbounded."""
    high_per_second: float | None
    epochs: int
    """In which every arm has a reading."""
    visits: int
    """That its readings are means of."""


class Cost(Frozen):
    """What a million transactions of an arm cost at the price of its machine."""

    arm: str
    price: str
    """`"0.504 USD/h"`."""
    currency: str
    """Empty: not said."""
    per_million: float
    """At the geometric mean of its throughput over epochs, or of the rate that it carried."""
    low_per_million: float | None
    """95 % t interval over epochs, of this arm by itself: what drifts for all arms is in it. None:
    unbounded."""
    high_per_million: float | None
    epochs: int
    control: str = ""
    """What it is compared with; empty: it is the control itself, or its contrast is invalid."""
    estimate_percent: Percent = None
    """Cost against the control's, from the contrast's own set: (arm / control - 1) * 100."""
    low_percent: Percent = None
    high_percent: Percent = None
    sentence: str = ""
