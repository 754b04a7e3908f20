"""Makes a sheet of a log of requests or transactions, each with its time and its latency.

They are slices of one run: a row is the mean of consecutive ones, at most 2,000 rows. Where they
are of several kinds (labels), each kind counts alike: else more of the fast one would be a gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText

BIN_S = 1.0
REQUESTS_A_ROW = 10
MOST_LOG_ROWS = 2_000
_FULL, _FEW, _PART = 40, 4, 0.25
"""So many requests of a kind count fully (or in a short log so large a part of an equal share, but
at least a few), fewer by their number: a kind that comes up once or never does not decide."""
_MANY = 10 * _FULL
_POOLED = "of all"


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
    labels: Sequence[str] = (),
    label: str = "label",
    loads: Mapping[str, str] | None = None,
    conditions: Mapping[str, str] | None = None,
) -> Sheet:
    """The sheet of requests with their latencies in `unit` and their moments in seconds, shapes
    (n,); `least`: what a latency of 0, a clock's rounding, counts as; `rate`: the unit of
    throughput; `troubled`: how many more failed; `labels`: of what kind each is, n or none, and
    `label`: what such a kind is called; `loads`, `conditions`: what was asked for."""
    order = np.argsort(moments, kind="stable")
    latencies, moments = np.maximum(latencies, least)[order], moments[order]
    codes, counts = _counted(labels)
    size = max(REQUESTS_A_ROW, -(-len(moments) // MOST_LOG_ROWS))
    edges = np.arange(0, max(len(moments) // size, 1)) * size

    def mean(weights: Floats) -> Series:
        sums = np.add.reduceat(weights, edges)
        means = np.add.reduceat(latencies * weights, edges) / sums
        return Series("", means, Grain.SLICE, sums, timestamps=moments[edges])

    of_each = Metric(LATENCY, unit, False, column)
    metrics = [(of_each, mean(np.ones(len(moments))))]
    weights = _weights(codes, counts)
    if weights is not None:
        notes = (*notes, f"each {label} counts alike in the latency, whatever its share")
        # After the other: by Little's law throughput goes with the mean of all.
        pooled = replace(of_each, column=f"{column or 'latency'} {_POOLED}")
        metrics = [(of_each, mean(weights[order])), (pooled, metrics[0][1])]
    metrics += _throughput(moments, rate)
    requested = {**(loads or {}), **(conditions or {}), **_kinds(counts, f"{label}s")}
    series = partial(
        replace,
        until=float(moments[-1]),
        conditions={name: (value,) for name, value in requested.items()},
        loads=frozenset(requested.keys() - (conditions or {}).keys()),
    )
    return Sheet(
        source.name,
        form,
        tuple((metric, (series(numbers),)) for metric, numbers in metrics),
        outcomes={"": TransactionCounts(len(moments) + troubled, troubled)},
        notes=(*notes, f"a row is the mean of {size} {noun}, in the order of their ends"),
    )


def _throughput(moments: Floats, rate: str) -> list[tuple[Metric, Series]]:
    """How many requests ended in each whole second; nothing where there are too few of those."""
    whole = int((moments[-1] - moments[0]) // BIN_S)
    if not 2 <= whole <= len(moments):
        return []
    bins = moments[0] + BIN_S * np.arange(whole + 1)
    inside = moments[moments < bins[-1]]  # the last bin of a histogram is closed
    counted = np.histogram(inside, bins)[0].astype(np.float64) / BIN_S
    series = Series("", counted, Grain.SLICE, timestamps=bins[:-1])
    return [(Metric(THROUGHPUT, rate, True), series)]


def _counted(labels: Sequence[str]) -> tuple[NDArray[np.int64], dict[str, int]]:
    """The place of each label among the different ones, shape (n,), and how often each is there."""
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(text, len(places)) for text in labels], dtype=np.int64)
    counts = np.bincount(codes, minlength=len(places)).tolist() if places else []
    return codes, dict(zip(places, counts, strict=True))


def _weights(codes: NDArray[np.int64], counts: Mapping[str, int]) -> Floats | None:
    """How much each request counts, shape (n,), 1 on average; None where all are of one kind."""
    if len(counts) < 2:
        return None
    often = np.array(list(counts.values()), dtype=np.float64)
    enough = max(_FEW, min(_FULL, _PART * often.sum() / len(often)))
    of_label = np.minimum(often, enough) / often
    weights: Floats = of_label[codes]
    weights *= len(weights) / weights.sum()
    return weights


def _kinds(counts: Mapping[str, int], name: str) -> dict[str, str]:
    """The kinds of requests there are, under that name; nothing where another run of the same load
    may well have more or fewer of them, so that nothing follows from a difference."""
    rare = [count for count in counts.values() if count < REQUESTS_A_ROW]
    some = [count for count in counts.values() if REQUESTS_A_ROW <= count < _FULL]
    many = sum(counts.values()) >= _MANY
    if (some and many) or (rare and not many):
        return {}
    kinds = sorted(kind for kind, count in counts.items() if count >= REQUESTS_A_ROW)
    return {name: ", ".join(kinds)} if kinds else {}
