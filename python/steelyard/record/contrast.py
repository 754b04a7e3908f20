"""An arm against the control, or against another arm, judged, as verdict.json keeps it; what an arm
carried within a limit of latency, and what its transactions cost.

Percents are (arm / control - 1) * 100 of the metric itself; None is unbounded or unknown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Annotated, Protocol

from pydantic import AfterValidator

from steelyard.model.threat import Threat
from steelyard.record.frozen import Frozen


def _bound(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


Percent = Annotated[float | None, AfterValidator(_bound)]
"""None where it is unbounded or unknown, also where a file says NaN or Infinity."""
Ends = tuple[Percent, Percent]
"""Low and high, in percent."""


class PercentInterval(Protocol):
    """An estimate with the ends of its interval, as every row of a verdict has them."""

    @property
    def estimate_percent(self) -> float | None:
        """The estimate."""

    @property
    def low_percent(self) -> float | None:
        """The low end."""

    @property
    def high_percent(self) -> float | None:
        """The high end."""


class ReadContrast(PercentInterval, Protocol):
    """A contrast with its verdict, as pictures and sentences need it."""

    @property
    def arm(self) -> str:
        """The arm."""

    @property
    def control(self) -> str:
        """What it is compared with."""

    @property
    def pair(self) -> str:
        """`"off against on"`."""

    @property
    def metric(self) -> str:
        """What was measured."""

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric is faster."""

    @property
    def verdict(self) -> str:
        """The verdict in a word."""

    @property
    def nonzero(self) -> bool:
        """Whether 0 is outside the interval."""


class LatencyPair(Protocol):
    """A latency quantile of an arm and of the control."""

    @property
    def arm(self) -> str:
        """The arm."""

    @property
    def control(self) -> str:
        """What it is compared with."""

    @property
    def quantile(self) -> float:
        """From 0 to 1."""

    @property
    def control_us(self) -> float:
        """Of the control."""

    @property
    def arm_us(self) -> float:
        """Of the arm."""


class ArmValues(Frozen):
    """What was measured of one arm in absolute numbers; None: the record does not have it."""

    throughput: float | None = None
    """Transactions a second, the median of the epochs that have it."""
    latency_us_p50: float | None = None
    latency_us_p95: float | None = None
    latency_us_p99: float | None = None
    epoch_throughput: tuple[float, ...] = ()
    """Of the epochs that have a log ratio; of a search, the rates that it carried."""
    price: str = ""
    """Of its machine, as the study has it: `"0.504 USD/h"`; empty: it has none."""
    cost_per_million: float | None = None
    """Of transactions, in the price's currency."""
    cost_per_million_low: float | None = None
    cost_per_million_high: float | None = None


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

    def throughput_of(self, arm: str) -> float | None:
        """Transactions a second; None: the arm is not in it, or the epoch was not completed."""
        return self.throughput.get(arm) if self.outcome == "complete" else None


class Settling(Frozen):
    """Estimate and interval as they stood after so many epochs."""

    epochs: int
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent


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


class StallCounts(Frozen):
    """How often and how long a weighted arm really stalled."""

    probability: float
    asked_length_ns: int
    seen: int
    length_ns: int


class KnownTruth(Frozen):
    """The truth beside a reading, where it is known."""

    true_percent: float
    true_low_percent: float | None = None
    true_high_percent: float | None = None
    covered: bool | None
    """Whether the interval of the contrast holds it."""
    stalls: StallCounts | None = None


class JudgedContrast(Frozen):
    """An arm against the control, judged: the keys of the command line's contract."""

    arm: str
    control: str
    metric: str
    unit: str
    higher_is_better: bool
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent
    confidence: float
    verdict: str
    nonzero: bool
    epochs: int
    blocks: int
    forecast_seconds: float | None
    threats: tuple[Threat, ...]
    sentence: str

    @property
    def pair(self) -> str:
        """`"off against on"`."""
        return f"{self.arm} against {self.control}"


class ContrastLine(JudgedContrast):
    """A contrast of a weighing, with what stands behind it."""

    details: ContrastDetails
    control_throughput: float | None = None
    """Transactions a second, the median of the epochs that have it."""
    arm_throughput: float | None = None
    true_percent: float | None = None
    true_low_percent: float | None = None
    true_high_percent: float | None = None
    covered: bool | None = None
    stalls: StallCounts | None = None
    withdrawn: tuple[WithdrawnThreat, ...] = ()

    @property
    def truth(self) -> KnownTruth | None:
        """The true effect where it is known: of equal arms and of known weights."""
        if self.true_percent is None:
            return None
        return KnownTruth(
            true_percent=self.true_percent,
            true_low_percent=self.true_low_percent,
            true_high_percent=self.true_high_percent,
            covered=self.covered,
            stalls=self.stalls,
        )


def median_throughput(details: ContrastDetails, arm: str) -> float | None:
    """Transactions a second of an arm or the control, the median of the epochs that have it."""
    rates = [rate for epoch in details.epochs if (rate := epoch.throughput_of(arm)) is not None]
    return statistics.median(rates) if rates else None


def control_and_arm_values(
    contrast: ContrastLine, latency: Iterable[LatencyPair]
) -> tuple[ArmValues, ArmValues]:
    """Of the control and of the arm, by the quantiles of the whole mix: of two arms those that each
    has beside the control."""
    sides: dict[str, dict[float, float]] = {contrast.control: {}, contrast.arm: {}}
    for row in latency:
        if row.arm == contrast.arm and row.control == contrast.control:
            sides[row.control][row.quantile] = row.control_us
        if row.arm in sides:
            sides[row.arm][row.quantile] = row.arm_us
    return (
        _arm_values(
            _throughput(contrast, contrast.control, contrast.control_throughput),
            sides[contrast.control],
        ),
        _arm_values(
            _throughput(contrast, contrast.arm, contrast.arm_throughput), sides[contrast.arm]
        ),
    )


def _arm_values(throughput: float | None, latency_us: Mapping[float, float]) -> ArmValues:
    return ArmValues(
        throughput=throughput,
        latency_us_p50=latency_us.get(0.5),
        latency_us_p95=latency_us.get(0.95),
        latency_us_p99=latency_us.get(0.99),
    )


def _throughput(contrast: ContrastLine, arm: str, stated: float | None) -> float | None:
    """As the verdict says it; of one that is older than the key from its epochs."""
    return stated if stated is not None else median_throughput(contrast.details, arm)


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
