"""Holds a weighing as programs get it: typed values that keep their names from version to version.

Percents are (arm / control - 1) * 100 of the metric itself. What the record does not have is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.model.errors import UsageError
from steelyard.model.estimate import Estimate
from steelyard.model.threat import Threat
from steelyard.model.units import NS_PER_S, NS_PER_US
from steelyard.record.reader import read_slices, read_telemetry
from steelyard.record.record import Record, damage_named
from steelyard.record.slice import SliceLine
from steelyard.record.totals import measured_slices

if TYPE_CHECKING:
    import pandas

VerdictWord = Literal["slower", "faster", "equivalent", "inconclusive", "invalid"]


@dataclass(frozen=True, slots=True)
class WeighedArm:
    """A treatment, or the control. Latencies are those of the whole mix, in µs."""

    name: str
    is_control: bool
    version: str
    """Of its build: `"18.4"`; empty where the record does not have it."""
    settings: Mapping[str, str]
    """As its server reported them, without secrets; empty where it could not be asked."""
    throughput: float | None
    """Transactions a second, the median of the epochs."""
    latency_us_p50: float | None
    latency_us_p95: float | None
    latency_us_p99: float | None


@dataclass(frozen=True, slots=True)
class ContrastEpoch:
    """What one epoch, the unit of replication, says of a contrast."""

    epoch: int
    """From 0."""
    log_ratio: float | None
    """ln(arm / control) of the metric; None: the epoch does not count, or one arm did no work in
    it, which counts as infinite."""
    control_throughput: float | None
    """Transactions a second; None: the epoch was not completed."""
    arm_throughput: float | None


@dataclass(frozen=True, slots=True)
class Contrast:
    """An arm against the control, or against another arm that the study compares it with, on one
    metric: estimate, interval, verdict and doubts."""

    arm: str
    control: str
    metric: str
    unit: str
    higher_is_better: bool
    estimate: Estimate
    """In percent; `low` and `high` are infinite where the data do not bound that side, `value` is
    NaN where there is none, `count` is how many epochs stand behind it."""
    verdict: VerdictWord
    margin_percent: float
    """Within it the arms count as equivalent."""
    doubts: tuple[Threat, ...]
    sentence: str
    epochs: tuple[ContrastEpoch, ...]


@dataclass(frozen=True, slots=True)
class MeasuredSlice:
    """One arm under load for a short time, in an epoch that counts."""

    epoch: int
    block: int
    """Within the epoch: each arm once, in random order."""
    position: int
    arm: str
    script: str | None
    """The only one of the slice, where scripts are taken in turn."""
    start_s: float
    """On the driver's monotonic clock, which begins anywhere."""
    end_s: float
    clients: int
    transactions: int
    failed: int
    throughput: float
    """Transactions a second of time under load, with what is charged for background work."""
    latency_us_mean: float | None
    """None: no transaction."""


@dataclass(frozen=True)
class Weighing:
    """A record. Slices are read from disk when they are first asked for."""

    directory: Path
    study: str
    title: str
    question: str
    state: Literal["judged", "interrupted", "no verdict"]
    """interrupted: judged by what there was; no verdict: under way, or stopped before the end."""
    at: datetime | None
    """When it began, UTC; None: an older record that stands in a folder of another name."""
    machine: str
    """`"vm, AMD EPYC, 2 processors"`."""
    layout: str
    seed: int
    control: str
    """The name of the control among the arms."""
    arms: Mapping[str, WeighedArm]
    """By name, the control first."""
    contrasts: tuple[Contrast, ...]
    """Against the control first."""
    sentence: str
    """The verdict in words; empty where there is none."""

    @property
    def doubts(self) -> tuple[Threat, ...]:
        """Of all contrasts, each once."""
        return tuple(dict.fromkeys(doubt for pair in self.contrasts for doubt in pair.doubts))

    @cached_property
    def slices(self) -> tuple[MeasuredSlice, ...]:
        """Measured slices of finished epochs, in order, without those that were dropped.
        RecordError: damaged."""
        record = Record.open(self.directory)
        telemetry = read_telemetry(record)
        with damage_named():
            counted = measured_slices(read_slices(record), telemetry.epochs, telemetry.turns)
            return tuple(
                _slice(line) for line in counted if line.kind == "measured" and not line.dropped
            )

    def contrast_frame(self) -> pandas.DataFrame:
        """A row a contrast; both sides in absolute numbers, doubts by their names. UsageError:
        pandas is not installed, here and below."""
        rows = [_contrast_row(x, self.arms[x.control], self.arms[x.arm]) for x in self.contrasts]
        return _frame(rows, CONTRAST_COLUMNS)

    def epoch_frame(self) -> pandas.DataFrame:
        """A row an epoch of a contrast."""
        columns = tuple(field.name for field in fields(ContrastEpoch))
        rows = [
            (x.arm, x.control, x.metric, *(getattr(epoch, name) for name in columns))
            for x in self.contrasts
            for epoch in x.epochs
        ]
        return _frame(rows, ("arm", "control", "metric", *columns))

    def slice_frame(self) -> pandas.DataFrame:
        """A row a measured slice."""
        names = tuple(field.name for field in fields(MeasuredSlice))
        return _frame([tuple(getattr(x, name) for name in names) for x in self.slices], names)


_SIDES = ("throughput", "latency_us_p50", "latency_us_p95", "latency_us_p99")
CONTRAST_COLUMNS = (
    *("arm", "control", "metric", "unit", "estimate_percent", "low_percent", "high_percent"),
    *("confidence", "epochs", "verdict", "margin_percent", "doubts"),
    *(f"{side}_{name}" for name in _SIDES for side in ("control", "arm")),
)
"""As `history export` names them."""


def _contrast_row(contrast: Contrast, control: WeighedArm, arm: WeighedArm) -> tuple[object, ...]:
    estimate = contrast.estimate
    return (
        *(contrast.arm, contrast.control, contrast.metric, contrast.unit),
        *(estimate.value, estimate.low, estimate.high, estimate.confidence, estimate.count),
        *(contrast.verdict, contrast.margin_percent),
        "; ".join(dict.fromkeys(doubt.name for doubt in contrast.doubts)),
        *(getattr(side, name) for name in _SIDES for side in (control, arm)),
    )


def _frame(rows: Sequence[tuple[object, ...]], columns: Sequence[str]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as reason:
        raise UsageError(
            "cannot make a frame: pandas is not installed",
            hint="pip install 'steelyard[pandas]' brings it; the values are here without it.",
        ) from reason
    return pandas.DataFrame(rows, columns=list(columns))


def _slice(line: SliceLine) -> MeasuredSlice:
    seconds = line.busy_with_debt_ns / NS_PER_S / line.clients
    mean_ns = line.latency_sum_ns / line.transactions if line.transactions else None
    return MeasuredSlice(
        epoch=line.epoch,
        block=line.block,
        position=line.position,
        arm=line.arm,
        script=line.script,
        start_s=line.start_ns / NS_PER_S,
        end_s=line.end_ns / NS_PER_S,
        clients=line.clients,
        transactions=line.transactions,
        failed=line.failed,
        throughput=line.transactions / seconds if seconds else 0.0,
        latency_us_mean=None if mean_ns is None else mean_ns / NS_PER_US,
    )
