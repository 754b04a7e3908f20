"""Gathers what the pages that compare show, of records, and of machines by throughput and cost.

Of records the page has every fact, and its script does the comparing. The script computes the ratio
of ratios as `history/ratio.py` does: Welch's t of epoch readings, of which the page has mean,
variance and number, with quantiles of t from the table here. A test holds that both say the same.

The page "which machine" has rankings by throughput and by cost, and what may not be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from steelyard.analysis.decision.student_t import t_quantile
from steelyard.fleet.machine_words import (
    alone_words,
    cost_text,
    currencies_text,
    place_text,
    throughput_text,
)
from steelyard.fleet.machines import MachineGroup, Ranked, WhichMachine
from steelyard.history.compare import facts_of
from steelyard.history.entry import Entry
from steelyard.history.question import Point
from steelyard.history.ratio import ALWAYS, CONFIDENCE, DEFAULT, epoch_logs, shared_parts, unfit
from steelyard.site.address import sentence, short_reading, utc
from steelyard.wording.contrast_text import MARKS, reading_text

MOST_RECORDS = 500
"""The newest records, which the page holds: more would make it slow to open."""
_MOST_FREEDOM = 400


class ComparedScript(BaseModel):
    """A script of the mix that a record was weighed under."""

    script: str
    reading: str
    high: float | None
    """By which the worst stand first."""


class ComparedContrast(BaseModel):
    """A contrast of a record; mean and variance are of the log ratios of its epochs."""

    question: str
    name: str
    verdict: str
    mark: str
    """The verdict's sign."""
    sentence: str
    reading: str
    doubts: tuple[str, ...]
    early: bool
    mean: float
    variance: float
    count: int
    unfit: tuple[str, ...]
    shared: Mapping[str, str]
    ends: tuple[float | None, float | None, float | None]
    """Low end, estimate, high end, in percent."""
    margin: float
    """In percent."""
    better: bool
    """Whether more is faster."""
    scripts: tuple[ComparedScript, ...]


class ComparedRecord(BaseModel):
    """A record."""

    path: str
    weighing: str
    """The same in copies of one record."""
    label: str
    at: str
    kernel: str
    report: str
    facts: Mapping[str, str]
    contrasts: tuple[ComparedContrast, ...]


class ComparedFacts(BaseModel):
    """Everything that the script reads."""

    records: tuple[ComparedRecord, ...]
    """The newest first."""
    left_out: int
    """Older ones that the page does not hold."""
    always: tuple[str, ...] = ALWAYS
    default: str = DEFAULT
    confidence: float = CONFIDENCE
    quantiles: tuple[float, ...]
    """Of t at (1 + confidence) / 2 with 1, 2, … degrees of freedom, and of the normal at last."""


def compared_facts(entries: Sequence[Entry], reports: Mapping[str, str]) -> dict[str, Any]:
    """As JSON holds it; `reports`: path of a record → the address of its report, or empty."""
    from scipy.special import ndtri

    newest = list(reversed(entries))
    level = (1 + CONFIDENCE) / 2
    table = [t_quantile(level, freedom) for freedom in range(1, _MOST_FREEDOM + 1)]
    return ComparedFacts(
        records=tuple(_record(entry, reports) for entry in newest[:MOST_RECORDS]),
        left_out=max(0, len(newest) - MOST_RECORDS),
        quantiles=(*table, float(ndtri(level))),
    ).model_dump()


def _record(entry: Entry, reports: Mapping[str, str]) -> ComparedRecord:
    return ComparedRecord(
        path=entry.path,
        weighing=hashlib.sha256(entry.weighing.encode()).hexdigest(),
        label=f"{utc(entry.at)} · {entry.study} · {entry.path}",
        at=utc(entry.at),
        kernel=entry.kernel,
        report=reports.get(entry.path, ""),
        facts=facts_of(entry),
        contrasts=tuple(_contrast(Point(entry, reading)) for reading in entry.readings),
    )


def _contrast(point: Point) -> ComparedContrast:
    reading = point.reading
    logs = epoch_logs(reading)
    finite = len(logs) > 1 and bool(np.isfinite(logs).all())
    return ComparedContrast(
        question=reading.question,
        name=f"{reading.arm} of {point.entry.path}",
        verdict=reading.verdict,
        mark=MARKS.get(reading.verdict, "?"),
        sentence=sentence(reading),
        reading=short_reading(reading),
        doubts=reading.doubts,
        early=reading.look == "first",
        mean=float(np.mean(logs)) if finite else 0.0,
        variance=float(np.var(logs, ddof=1)) if finite else 0.0,
        count=len(logs) if finite else 0,
        unfit=tuple(unfit(point)),
        shared=shared_parts(point.entry, reading),
        ends=(reading.low_percent, reading.estimate_percent, reading.high_percent),
        margin=reading.margin_percent,
        better=reading.higher_is_better,
        scripts=tuple(
            ComparedScript(script=row.script, reading=reading_text(row), high=row.high_percent)
            for row in reading.scripts
        ),
    )


@dataclass(frozen=True)
class RankedRow:
    """A row of a ranking."""

    place: int
    name: str
    kind: str
    at: str
    report: str
    """Empty: there is none."""
    figure: str
    price: str
    against: str
    doubts: str


@dataclass(frozen=True)
class ShownRanking:
    """One order of the machines of a group."""

    title: str
    head: str
    rows: tuple[RankedRow, ...]


@dataclass(frozen=True)
class ShownGroup:
    """Machines that did the same."""

    title: str
    rankings: tuple[ShownRanking, ...]
    without_price: str
    currencies: str
    """Why there is no ranking by cost, where prices are in several; else empty."""


@dataclass(frozen=True)
class MachinesShown:
    """The page."""

    groups: tuple[ShownGroup, ...]
    alone: tuple[str, ...]
    """Why other machines are in no ranking, a sentence each without a full stop."""
    left_out: tuple[tuple[str, str], ...]
    """(record, why)."""


def show_machines(ranking: WhichMachine, reports: Mapping[str, str]) -> MachinesShown:
    """The page of a ranking; `reports`: path of a record → the address of its report, or empty."""
    several = [item for item in ranking.groups if len(item.by_throughput) > 1]
    alone = [item for item in ranking.groups if len(item.by_throughput) == 1]
    return MachinesShown(
        groups=tuple(_group(item, reports) for item in several),
        alone=tuple(alone_words(item, several[0] if several else None) for item in alone),
        left_out=ranking.left_out,
    )


def _group(group: MachineGroup, reports: Mapping[str, str]) -> ShownGroup:
    metric = "transactions a second" if group.metric == "throughput" else group.metric
    rankings = [
        ShownRanking("By throughput", metric, _rows(group.by_throughput, throughput_text, reports))
    ]
    if group.by_cost:
        rows = _rows(group.by_cost, cost_text, reports)
        rankings.append(ShownRanking("By cost", "a million transactions cost", rows))
    return ShownGroup(
        group.words, tuple(rankings), ", ".join(group.without_price), currencies_text(group)
    )


def _rows(
    ranked: Sequence[Ranked], text: Callable[[Ranked], str], reports: Mapping[str, str]
) -> tuple[RankedRow, ...]:
    return tuple(
        RankedRow(
            place=place + 1,
            name=item.machine.name,
            kind=item.machine.kind,
            at=utc(item.machine.at),
            report=reports.get(item.machine.record, ""),
            figure=text(item),
            price=item.machine.price.words if item.machine.price else "",
            against=place_text(item, place),
            doubts=", ".join(item.machine.doubts) or "none",
        )
        for place, item in enumerate(ranked)
    )
