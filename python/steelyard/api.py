"""What `import steelyard` offers to programs: a weighing, read from its record, as typed values
that keep their names from version to version.

import steelyard
weighing = steelyard.read("records/checksums/latest")
frame = weighing.slice_frame()

Percents are (arm / control - 1) * 100 of the metric itself. What the record does not have is None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from steelyard.history.entry import Entry
from steelyard.history.reading import entry_of, read_parts
from steelyard.model.errors import UsageError
from steelyard.model.estimate import Estimate
from steelyard.model.threat import Threat
from steelyard.model.units import NS_PER_S, NS_PER_US
from steelyard.record.contrast import ArmValues, ContrastLine, control_and_arm_values
from steelyard.record.environment import ArmFacts
from steelyard.record.reader import read_slices, read_telemetry
from steelyard.record.record import Record, damage_named
from steelyard.record.slice import SliceLine
from steelyard.record.totals import measured_slices
from steelyard.record.verdict import Verdict

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


def read(directory: str | PathLike[str]) -> Weighing:
    """The record in a directory, or behind a study's `latest`; of format 1 too.

    RecordError: it is none, or damaged; StudyError: its study cannot be read.
    """
    record = Record.open(Path(directory))
    with damage_named():
        return _weighing(record)


def _weighing(record: Record) -> Weighing:
    directory = record.directory
    parts = read_parts(record)
    entry = entry_of(parts, str(directory.resolve()), {})  # a link's folder may have another time
    verdict, study = parts.verdict, parts.study
    facts = parts.environment.arms
    values = _values(verdict)
    names = [arm.name for arm in (study.control, *study.arms)]
    return Weighing(
        directory=directory,
        study=entry.study,
        title=entry.title,
        question=entry.question,
        state=entry.state,
        at=_moment(entry),
        machine=entry.machine_words,
        layout=entry.layout,
        seed=entry.seed,
        control=names[0],
        arms={
            name: _arm(name, name == names[0], entry, facts.get(name), values.get(name))
            for name in names
        },
        contrasts=tuple(_pair(line) for line in verdict.every_contrast) if verdict else (),
        sentence=verdict.sentence if verdict else "",
    )


def _moment(entry: Entry) -> datetime | None:
    """None where only the time of a file says it, which a copy may have lost."""
    if entry.at_from == "file":
        return None
    return datetime.strptime(entry.at, "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)


def _values(verdict: Verdict | None) -> Mapping[str, ArmValues]:
    """By arm; of the control as its first contrast has them."""
    values: dict[str, ArmValues] = {}
    for line in verdict.contrasts if verdict is not None else ():
        control, arm = control_and_arm_values(line, verdict.latency if verdict else ())
        values.setdefault(line.control, control)
        values.setdefault(line.arm, arm)
    return values


def _arm(
    name: str, is_control: bool, entry: Entry, facts: ArmFacts | None, values: ArmValues | None
) -> WeighedArm:
    values = values or ArmValues()
    return WeighedArm(
        name=name,
        is_control=is_control,
        version=entry.builds[name].version if name in entry.builds else "",
        settings=dict(facts.settings) if facts is not None else {},
        throughput=values.throughput,
        latency_us_p50=values.latency_us_p50,
        latency_us_p95=values.latency_us_p95,
        latency_us_p99=values.latency_us_p99,
    )


def _pair(line: ContrastLine) -> Contrast:
    low, high = line.low_percent, line.high_percent
    return Contrast(
        arm=line.arm,
        control=line.control,
        metric=line.metric,
        unit=line.unit,
        higher_is_better=line.higher_is_better,
        estimate=Estimate(
            value=math.nan if line.estimate_percent is None else line.estimate_percent,
            low=-math.inf if low is None else low,
            high=math.inf if high is None else high,
            count=line.epochs,
            unit="%",
            confidence=line.confidence,
        ),
        verdict=cast(VerdictWord, line.verdict),
        margin_percent=line.details.margin_percent,
        doubts=line.threats,
        sentence=line.sentence,
        epochs=tuple(
            ContrastEpoch(
                epoch=detail.epoch,
                log_ratio=detail.d,
                control_throughput=detail.throughput_of(line.control),
                arm_throughput=detail.throughput_of(line.arm),
            )
            for detail in line.details.epochs
        ),
    )
