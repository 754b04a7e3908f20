"""Gathers what the page that compares needs of every record; its script does the comparing.

The script computes the ratio of ratios as `history/ratio.py` does: Welch's t of epoch readings, of
which the page has mean, variance and number, with quantiles of t from the table here. A test holds
that both say the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel

from steelyard.analysis.decision.student_t import t_quantile
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
