"""Writes the history for other programs: as CSV, SQLite, Parquet, and as OpenMetrics text.

Every form has the same rows, one a contrast of a record, in the same order: by time. The database
also has the readings of epochs and the doubts, a row each.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from datetime import datetime
from pathlib import Path

from steelyard.history.entry import Entry
from steelyard.history.openmetrics import openmetrics_text
from steelyard.history.question import Point, without_copies
from steelyard.model.errors import RecordError, UsageError
from steelyard.model.files.own_directory import replacing

FORMATS = {
    "csv": (".csv",),
    "sqlite": (".sqlite", ".db"),
    "parquet": (".parquet",),
    "openmetrics": (".prom", ".om", ".txt"),
}
"""Name → endings of files that mean it."""


@dataclass(frozen=True)
class ExportedRow:
    """A contrast of a record; percents are (arm / control - 1) * 100, None is unbounded."""

    record: str
    at: str
    """UTC, ISO 8601."""
    state: str
    study: str
    question: str
    arm: str
    control: str
    metric: str
    unit: str
    estimate_percent: float | None
    low_percent: float | None
    high_percent: float | None
    confidence: float
    margin_percent: float
    verdict: str
    epochs: int
    doubts: str
    """Names, separated by `; `."""
    true_percent: float | None
    machine: str
    arm_version: str
    control_version: str
    layout: str
    seed: int
    steelyard: str
    control_throughput: float | None
    """Transactions a second, the median of the epochs; None, here and below: not in the record."""
    arm_throughput: float | None
    control_latency_us_p50: float | None
    arm_latency_us_p50: float | None
    control_latency_us_p95: float | None
    arm_latency_us_p95: float | None
    control_latency_us_p99: float | None
    arm_latency_us_p99: float | None
    control_price: str
    """Of its machine; empty: the study has none."""
    arm_price: str
    control_cost_per_million: float | None
    """Of transactions, in the currency of the price."""
    arm_cost_per_million: float | None


def format_of(file: Path, requested: str | None) -> str:
    """The format that is named, or that the file's ending means. UsageError: neither is known."""
    if requested is not None and requested not in FORMATS:
        raise UsageError(
            f'unrecognized format: "{requested}"', detail=f"Accepted: {', '.join(FORMATS)}."
        )
    by_ending = next((name for name, ends in FORMATS.items() if file.suffix in ends), None)
    if requested is None and by_ending is None:
        every = ", ".join(end for ends in FORMATS.values() for end in ends)
        raise UsageError(
            f'file "{file}" does not say by its ending which format is meant',
            hint=f"Known endings: {every}; or name it: --format csv.",
        )
    return requested or by_ending or ""


def export(entries: Sequence[Entry], file: Path, form: str, *, latest: bool = False) -> int:
    """Write all of it or nothing, and return how many rows there are. `latest`: of each question
    and machine the newest alone. RecordError: it cannot be written; UsageError: the library of the
    format is not installed."""
    points = _points(entries, latest)
    written: dict[str, Callable[[Path], None]] = {
        "csv": lambda draft: _write_text(draft, _csv(points)),
        "openmetrics": lambda draft: _write_text(
            draft, openmetrics_text(points, timestamps=not latest)
        ),
        "sqlite": lambda draft: _write_database(draft, points),
        "parquet": lambda draft: _write_parquet(draft, points),
    }
    if form == "parquet":
        _require_pyarrow()
    if form in ("sqlite", "parquet"):
        _require_narrow_seeds(points, file)
    try:
        with replacing(file) as draft:
            written[form](draft)
    except OSError as reason:
        raise RecordError(f'could not write "{file}": {reason.strerror or reason}') from reason
    except sqlite3.Error as reason:
        raise RecordError(f'could not write "{file}": {reason}') from reason
    return len(points)


def newest_metrics(entries: Sequence[Entry]) -> str:
    """What a scrape gets: as the export with `latest`, OpenMetrics text without timestamps."""
    return openmetrics_text(_points(entries, latest=True), timestamps=False)


def iso(at: str) -> str:
    """`"2026-03-01T120000Z"` → `"2026-03-01T12:00:00Z"`."""
    return f"{at[:13]}:{at[13:15]}:{at[15:]}"


def _points(entries: Sequence[Entry], latest: bool) -> list[Point]:
    """The answers by time; a weighing whose record stands there several times is one."""
    ordered = sorted(without_copies(entries), key=lambda entry: (entry.at, entry.path))
    points = [Point(entry, reading) for entry in ordered for reading in entry.readings]
    if not latest:
        return points
    newest = {(point.reading.question, point.entry.machine_words): point for point in points}
    return list(newest.values())


def _rows(points: Sequence[Point]) -> Iterator[ExportedRow]:
    for point in points:
        entry, reading = point.entry, point.reading
        control, arm = reading.control_values, reading.arm_values
        versions = {arm: build.version for arm, build in entry.builds.items()}
        yield ExportedRow(
            record=entry.path,
            at=iso(entry.at),
            state=entry.state,
            study=entry.study,
            question=reading.question,
            arm=reading.arm,
            control=reading.control,
            metric=reading.metric,
            unit=reading.unit,
            estimate_percent=reading.estimate_percent,
            low_percent=reading.low_percent,
            high_percent=reading.high_percent,
            confidence=reading.confidence,
            margin_percent=reading.margin_percent,
            verdict=reading.verdict,
            epochs=reading.epochs,
            doubts="; ".join(reading.doubts),
            true_percent=reading.true_percent,
            machine=entry.machine_words,
            arm_version=versions.get(reading.arm, ""),
            control_version=versions.get(reading.control, ""),
            layout=entry.layout,
            seed=entry.seed,
            steelyard=entry.steelyard,
            control_throughput=control.throughput,
            arm_throughput=arm.throughput,
            control_latency_us_p50=control.latency_us_p50,
            arm_latency_us_p50=arm.latency_us_p50,
            control_latency_us_p95=control.latency_us_p95,
            arm_latency_us_p95=arm.latency_us_p95,
            control_latency_us_p99=control.latency_us_p99,
            arm_latency_us_p99=arm.latency_us_p99,
            control_price=control.price,
            arm_price=arm.price,
            control_cost_per_million=control.cost_per_million,
            arm_cost_per_million=arm.cost_per_million,
        )


def _csv(points: Sequence[Point]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(ExportedRow)])
    writer.writerows(astuple(row) for row in _rows(points))
    return text.getvalue()


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


_TYPES = {"int": "INTEGER", "float": "REAL", "float | None": "REAL", "str": "TEXT"}


def _write_database(file: Path, points: Sequence[Point]) -> None:
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        columns = ", ".join(
            f"{field.name} {_TYPES[str(field.type)]}" for field in fields(ExportedRow)
        )
        database.execute(f"CREATE TABLE contrasts (id INTEGER PRIMARY KEY, {columns})")
        database.execute(
            "CREATE TABLE epochs (contrast INTEGER NOT NULL REFERENCES contrasts, "
            "epoch INTEGER NOT NULL, log_ratio REAL, PRIMARY KEY (contrast, epoch))"
        )
        database.execute(
            "CREATE TABLE doubts (contrast INTEGER NOT NULL REFERENCES contrasts, name TEXT)"
        )
        places = ", ".join("?" * (len(fields(ExportedRow)) + 1))
        for number, (row, point) in enumerate(zip(_rows(points), points, strict=True), 1):
            database.execute(f"INSERT INTO contrasts VALUES ({places})", (number, *astuple(row)))
            database.executemany(
                "INSERT INTO epochs VALUES (?, ?, ?)",
                [(number, epoch, value) for epoch, value in enumerate(point.reading.d, 1)],
            )
            database.executemany(
                "INSERT INTO doubts VALUES (?, ?)",
                [(number, name) for name in point.reading.doubts],
            )


_MOST_BITS = 63
"""Of a whole number in SQLite and Parquet, without its sign."""


def _require_narrow_seeds(points: Sequence[Point], file: Path) -> None:
    """RecordError: a seed, which may have any number of digits, is larger than a column holds."""
    wide = next((point.entry for point in points if point.entry.seed >> _MOST_BITS), None)
    if wide is not None:
        raise RecordError(
            f'could not write "{file}": the seed of "{wide.path}" has more than {_MOST_BITS} bits',
            hint="A table as .csv holds it.",
        )


def _require_pyarrow() -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError(
            "cannot write Parquet: pyarrow is not installed",
            hint="pip install 'steelyard[parquet]' brings it; .csv and .sqlite need nothing.",
        )


def _write_parquet(file: Path, points: Sequence[Point]) -> None:
    """One table, the columns of `ExportedRow`; the time is one in UTC."""
    import pyarrow as arrow
    from pyarrow import parquet

    types = {"int": arrow.int64(), "float": arrow.float64(), "str": arrow.string()}
    columns = {field.name: types[str(field.type).split(" |")[0]] for field in fields(ExportedRow)}
    schema = arrow.schema([*columns.items()])
    rows = [asdict(row) for row in _rows(points)]
    table = arrow.Table.from_pylist(rows, schema=schema)
    index = schema.get_field_index("at")
    moments = [datetime.fromisoformat(row["at"]) for row in rows]
    timed = arrow.array(moments, arrow.timestamp("s", tz="UTC"))
    parquet.write_table(table.set_column(index, "at", timed), file)
