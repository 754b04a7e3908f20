"""An arm against the control, judged, as verdict.json keeps it.

Percents are (arm / control - 1) * 100 of the metric itself; None is unbounded or unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.record.frozen import Frozen

Ends = tuple[float | None, float | None]
"""Low and high, in percent."""


class ThreatLine(Frozen):
    """A reason to doubt (model/threat.py)."""

    name: str
    seen: str
    cause: str
    advice: str
    invalidates: bool


class WithdrawnThreat(Frozen):
    """A threat that was shown while it was weighed, and is none at the end."""

    name: str
    seen: str
    why: str


class EpochDetail(Frozen):
    """One epoch of a contrast."""

    epoch: int
    slots: Mapping[str, int]
    order: tuple[str, ...]
    d: float | None
    """Log ratio arm / control of the metric."""
    throughput: Mapping[str, float | None]
    typical_d: float | None
    outcome: str


class Settling(Frozen):
    """Estimate and interval as they stood after so many epochs."""

    epochs: int
    estimate_percent: float | None
    low_percent: float | None
    high_percent: float | None


class ContrastDetails(Frozen):
    """What stands behind a contrast."""

    d: tuple[float | None, ...]
    epochs: tuple[EpochDetail, ...]
    k: int
    subsets: int
    look: str
    method: str
    level: float
    t_interval_percent: Ends
    equivalence_interval_percent: Ends
    equivalence_level_one_sided: float
    epoch_sd_percent: float | None
    slot_effect_percent: float | None
    typical_percent: float | None
    smallest_visible_percent: float | None
    block_autocorrelation: float | None
    drops: Mapping[str, int]
    capped: Mapping[str, int]
    lost_epochs: tuple[int, ...]
    attempt: int
    margin_percent: float
    settling: tuple[Settling, ...]
    secondary: bool = False


class StallsSeen(Frozen):
    """How often and how long a weighted arm really stalled."""

    probability: float
    asked_length_ns: int
    seen: int
    length_ns: int


class Truth(Frozen):
    """The truth beside a reading, where it is known."""

    true_percent: float
    true_low_percent: float | None = None
    true_high_percent: float | None = None
    covered: bool | None
    """Whether the interval of the contrast holds it."""
    stalls: StallsSeen | None = None


class ContrastLine(Frozen):
    """The keys of the command line's contract, then what stands behind them."""

    arm: str
    control: str
    metric: str
    unit: str
    higher_is_better: bool
    estimate_percent: float | None
    low_percent: float | None
    high_percent: float | None
    confidence: float
    verdict: str
    nonzero: bool
    epochs: int
    blocks: int
    forecast_seconds: float | None
    threats: tuple[ThreatLine, ...]
    sentence: str
    details: ContrastDetails
    true_percent: float | None = None
    true_low_percent: float | None = None
    true_high_percent: float | None = None
    covered: bool | None = None
    stalls: StallsSeen | None = None
    withdrawn: tuple[WithdrawnThreat, ...] = ()
