"""Reads from a record what its page shows, one slice at a time, whatever its size."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from steelyard.model.errors import RecordError
from steelyard.record.record import Record
from steelyard.record.totals import slice_busy_ns
from steelyard.report.contrast import Contrast, read_contrasts, shown_epoch
from steelyard.report.plan import Plan

Json = dict[str, Any]
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
class Border:
    """Slices of an arm that were dropped in one epoch, and clients that were cancelled."""

    dropped: int = 0  # slices left out
    causes: tuple[str, ...] = ()  # for which they were
    capped: int = 0  # clients that did not finish in time


@dataclass(frozen=True)
class Epoch:
    """How one epoch went."""

    number: int  # from 1, as people count
    outcome: str
    error: tuple[str, ...]
    attempt: int
    host: tuple[tuple[str, str], ...]
    """Kind and text of what disturbed the machine."""

    @classmethod
    def read(cls, line: Json) -> Self:
        """A line of telemetry that ends an epoch."""
        error, host, attempt = line.get("error"), line.get("host"), line.get("attempt", 1)
        return cls(
            number=shown_epoch(line),
            outcome=str(line.get("outcome", "complete")),
            error=tuple(map(str, error)) if isinstance(error, list) else (),
            attempt=attempt if isinstance(attempt, int) else 1,
            host=tuple((str(kind), str(seen)) for kind, seen in host)
            if isinstance(host, list)
            else (),
        )


@dataclass(frozen=True)
class Event:
    """Something that was recorded in the course of an epoch."""

    epoch: int  # from 1, as people count
    text: str


@dataclass(frozen=True)
class Source:
    """Everything a page shows. Parts that a record does not hold yet are empty."""

    directory: Path
    study: Json
    plan: Plan
    environment: Json
    verdict: Json | None
    contrasts: tuple[Contrast, ...]
    """Those of the verdict; none while there is no verdict."""
    epochs: tuple[Epoch, ...]
    events: tuple[Event, ...]
    dots: dict[str, list[SliceDot]]
    """Measured slices by arm, in the order of the plan's arms."""
    latency_counts: dict[str, list[int]] = field(default_factory=dict)
    """Transactions per bin of LATENCY_EDGES_NS, by arm."""
    borders: dict[int, dict[str, Border]] = field(default_factory=dict)
    """Epoch (from 1) → arm → its dropped slices and cancelled clients, where there are any."""

    @property
    def arms(self) -> list[str]:
        """Arm names, the control first: an arm's colour is its place in this list."""
        return _control_first(self.plan)


def core_counts(latencies: list[str], edges_ns: list[int]) -> list[int]:
    """Counts per bin by the extension module, which decodes HdrHistogram V2."""
    from steelyard import _core

    counts: list[int] = _core.histogram_counts(latencies, edges_ns)
    return counts


def read_source(directory: Path, count_latencies: CountLatencies) -> Source:
    """Read a record; only plan.json must be there. Raises RecordError."""
    record = Record.open(directory)
    plan = Plan.read(record.read("plan.json"))
    lines = list(record.lines("telemetry.jsonl"))
    finished = {line["epoch"]: line for line in lines if line.get("type") == "epoch"}
    borders: dict[int, dict[str, Border]] = {}
    measured = _kept(_measured(record.lines("slices.jsonl"), finished), borders)
    dots, counts = _read_slices(measured, _control_first(plan), count_latencies)
    verdict = _read_if_there(record, "verdict.json")
    return Source(
        directory=directory,
        study=_read_study(directory / "study.toml"),
        plan=plan,
        environment=_read_if_there(record, "environment.json") or {},
        verdict=verdict,
        contrasts=read_contrasts(verdict.get("contrasts") if verdict else None),
        epochs=tuple(Epoch.read(finished[epoch]) for epoch in sorted(finished)),
        events=tuple(
            Event(shown_epoch(line), str(line.get("event", "")))
            for line in lines
            if line.get("type") == "event"
        ),
        dots=dots,
        latency_counts=counts,
        borders=borders,
    )


def _control_first(plan: Plan) -> list[str]:
    return sorted(plan.arms, key=lambda arm: arm != plan.control)


def _read_if_there(record: Record, name: str) -> Json | None:
    return record.read(name) if (record.directory / name).exists() else None


def _read_study(file: Path) -> Json:
    if not file.exists():
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as reason:
        raise RecordError(f'could not read "{file}": {reason}') from reason


def _read_slices(
    measured: Iterable[Json], arms: list[str], count_latencies: CountLatencies
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
        arm = str(entry["arm"])
        if arm not in dots:
            continue
        dots[arm].append(_dot_of(entry))
        waiting[arm] += [s["latency"] for s in entry.get("scripts", []) if s.get("latency")]
        if len(waiting[arm]) >= _BATCH:
            count(arm)
    for arm in arms:
        if waiting[arm]:
            count(arm)
    return dots, counts


def _measured(slices: Iterable[Json], finished: Mapping[int, Json]) -> Iterator[Json]:
    """Slices that count: measured, by the attempt that finished their epoch (as in totals.py)."""
    for entry in slices:
        epoch = finished.get(entry["epoch"])
        if epoch is None or entry.get("kind", "measured") != "measured":
            continue
        if entry.get("attempt", 1) == epoch.get("attempt", 1):
            yield entry


def _kept(measured: Iterable[Json], borders: dict[int, dict[str, Border]]) -> Iterator[Json]:
    """The slices that were not dropped; dropped ones and cancelled clients are in `borders`."""
    for entry in measured:
        cause, capped = entry.get("dropped"), int(entry.get("capped", 0))
        if cause or capped:
            arms = borders.setdefault(shown_epoch(entry), {})
            before = arms.get(entry["arm"], Border())
            arms[entry["arm"]] = Border(
                dropped=before.dropped + bool(cause),
                causes=tuple(dict.fromkeys([*before.causes, *([str(cause)] if cause else [])])),
                capped=before.capped + capped,
            )
        if not cause:
            yield entry


def _dot_of(entry: Json) -> SliceDot:
    # Throughput of a slice is clients × transactions ÷ Σ busy time of its clients.
    busy_ns = slice_busy_ns(entry)
    done = entry.get("clients", 1) * entry.get("transactions", 0)
    return SliceDot(
        epoch=shown_epoch(entry),
        start_ns=int(entry["start_ns"]),
        end_ns=int(entry["end_ns"]),
        throughput=done * 1e9 / busy_ns if busy_ns else 0.0,
    )
