"""Reads from a record what its page shows, one slice at a time unless they were read before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from steelyard.evaluation.threats.machine import epoch_observations
from steelyard.model.errors import RecordError
from steelyard.model.files.small_file import parse_toml, read_small
from steelyard.model.secrets.redaction import redacted
from steelyard.model.turn import Turn
from steelyard.record.contrast import ContrastLine
from steelyard.record.environment import ArmDifferences, Environment
from steelyard.record.epoch import EpochLine
from steelyard.record.machine import DriveHealth
from steelyard.record.plan import Plan
from steelyard.record.reader import (
    RecordLines,
    read_environment,
    read_inspection,
    read_plan,
    read_slices,
    read_telemetry,
    read_verdict,
)
from steelyard.record.record import Record
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epochs_of, measured_slices
from steelyard.record.turns.turn import TurnLine
from steelyard.record.verdict import Verdict
from steelyard.report.devices import device_rows, probed_rows
from steelyard.study.earlier.renamed import renamed_keys
from steelyard.wording.threats.threat import threat_of

CountLatencies = Callable[[list[str], list[int]], list[int]]
"""(base64 HdrHistograms, ascending edges in ns) → transactions per bin, one fewer than edges."""

_BINS_PER_DECADE = 30
LATENCY_EDGES_NS = [round(1_000 * 10 ** (step / _BINS_PER_DECADE)) for step in range(8 * 30 + 1)]
"""1 µs … 100 s; a bin is 8 % wide: finer than the eye, coarser than the histograms' 0.1 %."""
_BATCH = 2_000
"""Histograms decoded at once: bounds memory to a few megabytes."""


@dataclass(frozen=True)
class SliceDot:
    """One measured slice as a dot: when it began and how fast it was."""

    epoch: int  # from 1, as people count
    start_ns: int
    end_ns: int
    throughput: float  # transactions a second; 0 where nothing was done


@dataclass(frozen=True)
class DroppedSlices:
    """Slices of an arm that were dropped in one epoch, and clients that were cancelled."""

    dropped: int = 0  # slices left out
    causes: tuple[str, ...] = ()  # for which they were
    capped: int = 0  # clients that did not finish in time


@dataclass(frozen=True)
class PageEpoch:
    """What a page shows of an epoch beside its slices."""

    number: int  # from 1, as people count
    outcome: str
    error: tuple[str, ...]
    attempt: int
    machine: tuple[tuple[str, str], ...]  # (threat, what was seen)

    @classmethod
    def of(cls, line: EpochLine, processors: Sequence[int]) -> Self:
        """Of an epoch's line in the record; `processors`: those that a weighing may use."""
        threats = (threat_of(observation) for observation in epoch_observations(line, processors))
        machine = tuple((threat.name, threat.seen) for threat in threats)
        error = tuple(map(redacted, line.error))  # of an earlier version's record, too
        return cls(line.epoch + 1, line.outcome, error, line.attempt, machine)


@dataclass(frozen=True)
class Event:
    """Something that was recorded in the course of an epoch."""

    epoch: int  # from 1, as people count
    text: str


@dataclass(frozen=True)
class PageSource:
    """Everything a page shows. Parts that a record does not hold yet are empty."""

    directory: Path
    title: str
    """Of the study; empty where it has none."""
    question: str
    """Of the study; empty where it has none."""
    plan: Plan
    environment: Environment
    plans: Mapping[str, Mapping[str, str]]
    """Arm → statement → its query plan; empty where none were read."""
    differences: Mapping[str, ArmDifferences]
    """Arm → in what its settings differ from the control's; empty where that was not kept."""
    verdict: Verdict | None
    epochs: tuple[PageEpoch, ...]
    events: tuple[Event, ...]
    dots: dict[str, list[SliceDot]]
    """Measured slices by arm, in the order of the plan's arms."""
    latency_counts: dict[str, list[int]] = field(default_factory=dict)
    """Transactions per bin of LATENCY_EDGES_NS, by arm."""
    borders: dict[int, dict[str, DroppedSlices]] = field(default_factory=dict)
    """Epoch (from 1) → arm → its dropped slices and cancelled clients, where there are any."""
    turns: dict[int, dict[str, Turn]] = field(default_factory=dict)
    """Epoch (from 1) → arm → its turn; empty where it was weighed in slices."""
    devices: tuple[tuple[str, str], ...] = ()
    """What the block devices did, and what a probe found of them, as rows."""
    drives_after: tuple[DriveHealth, ...] = ()
    """What the drives said of themselves at the end."""

    @property
    def contrasts(self) -> tuple[ContrastLine, ...]:
        """Those of the verdict; none while there is no verdict."""
        return self.verdict.contrasts if self.verdict else ()

    @property
    def pairs(self) -> tuple[ContrastLine, ...]:
        """Arms against another arm than the control."""
        return self.verdict.pairs if self.verdict else ()

    @property
    def arms(self) -> list[str]:
        """Arm names, the control first: an arm's colour is its place in this list."""
        return _control_first(self.plan)


def core_counts(latencies: list[str], edges_ns: list[int]) -> list[int]:
    """Counts per bin by the extension module, which decodes HdrHistogram V2."""
    from steelyard import _core

    counts: list[int] = _core.histogram_counts(latencies, edges_ns)
    return counts


def read_source(
    directory: Path, count_latencies: CountLatencies, lines: RecordLines | None = None
) -> PageSource:
    """Read a record; only plan.json must be there. Raises RecordError. `lines`: of this record,
    where they were read before; otherwise one slice at a time is in memory."""
    record = Record.open(directory)
    plan = read_plan(record)
    telemetry = read_telemetry(record) if lines is None else lines.telemetry
    borders: dict[int, dict[str, DroppedSlices]] = {}
    slices = _Slices(record) if lines is None else lines.slices
    measured = _undropped(measured_slices(slices, telemetry.epochs, telemetry.turns), borders)
    dots, counts = _read_slices(measured, _control_first(plan), count_latencies)
    title, question = _read_words(directory / "study.toml")
    environment, verdict = read_environment(record) or Environment(), read_verdict(record)
    inspection = read_inspection(record)
    return PageSource(
        directory=directory,
        title=title,
        question=question,
        plan=plan,
        environment=environment,
        plans={} if inspection is None else inspection.plans,
        differences={arm: about.differences for arm, about in inspection.arms.items()}
        if inspection is not None
        else {},
        verdict=verdict,
        epochs=tuple(PageEpoch.of(line, plan.processors) for line in telemetry.epochs),
        events=tuple(Event(line.epoch + 1, redacted(line.event)) for line in telemetry.events),
        dots=dots,
        latency_counts=counts,
        borders=borders,
        turns=_turns(slices, telemetry.epochs, telemetry.turns),
        devices=(
            *device_rows(telemetry.epochs),
            *probed_rows(environment, telemetry.epochs, verdict),
        ),
        drives_after=telemetry.end.drives if telemetry.end else (),
    )


@dataclass(frozen=True)
class _Slices:
    """Those of a record, read anew by each iteration."""

    record: Record

    def __iter__(self) -> Iterator[SliceLine]:
        return read_slices(self.record)


def _turns(
    slices: Iterable[SliceLine], lines: Sequence[EpochLine], turns: Sequence[TurnLine]
) -> dict[int, dict[str, Turn]]:
    if not turns and not any(line.windows for line in lines):
        return {}
    every = epochs_of(slices, lines, turns)
    return {epoch.epoch + 1: dict(epoch.turns) for epoch in every}


def _control_first(plan: Plan) -> list[str]:
    return sorted(plan.arms, key=lambda arm: arm != plan.control)


def _read_words(file: Path) -> tuple[str, str]:
    """Title and question of a study, also of one that this version does not know otherwise."""
    if not file.exists():
        return "", ""
    try:
        study = renamed_keys(parse_toml(read_small(file)))
    except (OSError, ValueError) as reason:
        raise RecordError(f'could not read "{file}": {reason}') from reason
    return str(study.get("title", "")), str(study.get("question", ""))


def _read_slices(
    measured: Iterable[SliceLine], arms: list[str], count_latencies: CountLatencies
) -> tuple[dict[str, list[SliceDot]], dict[str, list[int]]]:
    """Dots and latency counts of the measured slices, by arm."""
    dots: dict[str, list[SliceDot]] = {arm: [] for arm in arms}
    counts = {arm: [0] * (len(LATENCY_EDGES_NS) - 1) for arm in arms}
    waiting: dict[str, list[str]] = {arm: [] for arm in arms}

    def count(arm: str) -> None:
        binned = count_latencies(waiting[arm], LATENCY_EDGES_NS)
        counts[arm] = [old + new for old, new in zip(counts[arm], binned, strict=True)]
        waiting[arm].clear()

    for entry in measured:
        arm = entry.arm
        if arm not in dots:
            continue
        dots[arm].append(_dot_of(entry))
        waiting[arm] += [script.latency for script in entry.scripts if script.latency]
        if len(waiting[arm]) >= _BATCH:
            count(arm)
    for arm in arms:
        if waiting[arm]:
            count(arm)
    return dots, counts


def _undropped(
    measured: Iterable[SliceLine], borders: dict[int, dict[str, DroppedSlices]]
) -> Iterator[SliceLine]:
    """The slices that were not dropped; dropped ones and cancelled clients are in `borders`."""
    for entry in measured:
        if entry.dropped or entry.capped:
            arms = borders.setdefault(entry.epoch + 1, {})
            before = arms.get(entry.arm, DroppedSlices())
            causes = [*before.causes, *([entry.dropped] if entry.dropped else [])]
            arms[entry.arm] = DroppedSlices(
                dropped=before.dropped + bool(entry.dropped),
                causes=tuple(dict.fromkeys(causes)),
                capped=before.capped + entry.capped,
            )
        if not entry.dropped:
            yield entry


def _dot_of(entry: SliceLine) -> SliceDot:
    # Throughput of a slice is clients × transactions ÷ Σ busy time of its clients.
    busy_ns = entry.busy_with_debt_ns
    done = entry.clients * entry.transactions
    return SliceDot(
        epoch=entry.epoch + 1,
        start_ns=entry.start_ns,
        end_ns=entry.end_ns,
        throughput=done * 1e9 / busy_ns if busy_ns else 0.0,
    )
