"""Makes a sheet of a log of requests or transactions, each with its time and its latency.

They are slices of one run: a row is the mean of consecutive ones, at most 2,000 rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText

BIN_S = 1.0
REQUESTS_A_ROW = 10
MOST_LOG_ROWS = 2_000


def sheet_of_requests(
    source: SourceText,
    form: str,
    latencies: Floats,
    moments: Floats,
    *,
    unit: str,
    rate: str,
    noun: str,
    least: float = 0.0,
    troubled: int = 0,
    column: str = "",
    notes: Sequence[str] = (),
) -> Sheet:
    """The sheet of requests with their latencies in `unit` and their moments in seconds, shapes
    (n,); `least`: what a latency of 0, a clock's rounding, counts as; `rate`: the unit of
    throughput; `troubled`: how many more failed."""
    order = np.argsort(moments, kind="stable")
    latencies, moments = latencies[order], moments[order]
    size = max(REQUESTS_A_ROW, -(-len(moments) // MOST_LOG_ROWS))
    edges = np.arange(0, max(len(moments) // size, 1)) * size
    counts = np.diff([*edges, len(moments)]).astype(np.float64)
    means = np.add.reduceat(np.maximum(latencies, least), edges) / counts
    until = float(moments[-1])
    series = Series("", means, Grain.SLICE, counts, timestamps=moments[edges], until=until)
    metrics = [(Metric(LATENCY, unit, False, column), (series,))]
    whole = int((moments[-1] - moments[0]) // BIN_S)
    if 2 <= whole <= len(moments):
        bins = moments[0] + BIN_S * np.arange(whole + 1)
        inside = moments[moments < bins[-1]]  # the last bin of a histogram is closed
        counted = np.histogram(inside, bins)[0].astype(np.float64) / BIN_S
        done = Series("", counted, Grain.SLICE, timestamps=bins[:-1], until=until)
        metrics.append((Metric(THROUGHPUT, rate, True), (done,)))
    return Sheet(
        source.name,
        form,
        tuple(metrics),
        outcomes={"": TransactionCounts(len(moments) + troubled, troubled)},
        notes=(*notes, f"a row is the mean of {size} {noun}, in the order of their ends"),
    )
