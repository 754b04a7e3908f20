"""Reads pgbench's log of intervals (`-l --aggregate-interval`): a line an interval.

    start  transactions  Σ latency_us  Σ latency²  min  max  Σ lag  Σ lag²  min  max  skipped
           retried  retries  serialization failures  deadlock failures  [other failures]

(pgbench's documentation, "Aggregated Logging".) Intervals begin with the measurement and not with
the clock, so the first and the last are cut off: they count for latency, not for throughput.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from steelyard.foreign.fixed_rates import requested_rate
from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import (
    Floats,
    Grain,
    RequestedRate,
    Series,
    Sheet,
    TransactionCounts,
)
from steelyard.foreign.source import SourceText, TextPosition, quoted

_LINE = re.compile(r"[0-9]{9,11} [0-9]{1,15}(?: [0-9]{1,30}){4,14}")
_SUM_LAG = 6
_SKIPPED, _RETRIED, _FAILURES = 10, 11, 13
_FEWEST_WHOLE = 2


def is_aggregate(source: SourceText) -> bool:
    """Whether a text begins as such a log."""
    return _LINE.fullmatch(source.text.lstrip("\n").partition("\n")[0].rstrip()) is not None


def read_aggregate(source: SourceText) -> Sheet:
    """Mean latency of the intervals, and throughput of those that are whole."""
    rows: list[list[float]] = []
    lines: list[int] = []
    for number, line in enumerate(source.text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        if not _LINE.fullmatch(line.strip()):
            raise source.error(
                f"{quoted(line)} is no line of an aggregated log of pgbench",
                TextPosition(number, 1),
            )
        cells = [float(cell) for cell in line.split()]
        lag = cells[_SUM_LAG] if len(cells) > _SUM_LAG else 0.0
        rows.append([*cells[:3], lag, *_troubled(cells)])
        lines.append(number)
    table = np.array(rows)
    if not (table[:, 1] * table[:, 2]).any():
        raise source.error(
            "no transaction with a latency in any interval", TextPosition(lines[0], 1)
        )
    return _sheet(source, table, tuple(lines))


def _troubled(cells: Sequence[float]) -> tuple[float, float]:
    """How many transactions of an interval were retried or did not succeed, and how many of these
    are not among its transactions (skipped and failed ones)."""
    skipped = cells[_SKIPPED] if len(cells) > _SKIPPED else 0.0
    retried = cells[_RETRIED] if len(cells) > _RETRIED else 0.0
    failed = sum(cells[_FAILURES:])
    return skipped + retried + failed, skipped + failed


def _sheet(source: SourceText, table: Floats, lines: tuple[int, ...]) -> Sheet:
    starts, counts, sums, lags, troubled, missing = table.T
    served = (counts > 0) & (sums > 0)  # without a transaction there is no latency
    latency = (
        Metric(LATENCY, "µs", False),
        (
            Series(
                "",
                sums[served] / counts[served],
                Grain.SLICE,
                weights=counts[served],
                timestamps=starts[served],
            ),
        ),
    )
    length = float(np.median(np.diff(starts))) if len(starts) > 1 else 0.0
    whole = slice(1, -1)
    notes = []
    metrics = [latency]
    if length > 0 and len(starts) - 2 >= _FEWEST_WHOLE and counts[whole].any():
        rate = Series("", counts[whole] / length, Grain.SLICE, timestamps=starts[whole])
        metrics.append((Metric(THROUGHPUT, "transactions/s", True), (rate,)))
        notes.append("the first and the last interval are cut off and left out of throughput")
    if lags.any():
        notes.append("the load had a fixed rate, so latency is judged: throughput was given")
    else:
        metrics.reverse()
    tried = float((counts + missing).sum())
    return Sheet(
        source=source.name,
        form="pgbench --aggregate-interval",
        metrics=tuple(metrics),
        lines=lines,
        requested=_requested(counts + missing, counts, lags, length),
        outcomes={
            "": TransactionCounts(int((counts + missing).sum()), int(min(troubled.sum(), tried)))
        },
        notes=tuple(notes),
    )


def _requested(begun: Floats, counts: Floats, lags: Floats, length: float) -> RequestedRate | None:
    """What the whole intervals say of the rate; all of shape (n,), `lags`: sums in µs."""
    begun, counts, lags = begun[1:-1], counts[1:-1], lags[1:-1]
    if not (lags.any() and counts.any()):
        return None
    last = int(np.flatnonzero(counts)[-1])
    return requested_rate(float(begun.sum()), length * len(begun), lags[last] / counts[last] / 1e6)


FORMAT = TextFormat("pgbench-aggregate", is_aggregate, read_aggregate, precedence=1)
