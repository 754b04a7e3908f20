"""Makes a sheet of a log of requests or transactions, each with its time and its latency, and reads
logs with a line a request: JMeter, hey, oha, ab -g, vegeta, k6 and ghz as CSV.

They are slices of one run: a row is the mean of consecutive ones, at most 2,000 rows. Where they
are of several kinds (labels), each kind counts alike: else more of the fast one would be a gain.

Which column of a log holds what is a table below: a log is recognized by its heading, or by the
shape of its first line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from steelyard.foreign.format import TextFormat
from steelyard.foreign.metric import LATENCY, THROUGHPUT, Metric
from steelyard.foreign.series import Floats, Grain, Series, Sheet, TransactionCounts
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tables.table import separator_of
from steelyard.foreign.tools.measured_runs import Row, csv_rows, float_in

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
    dated: bool = True,
) -> Sheet:
    """The sheet of requests with their latencies in `unit` and their moments in seconds, shapes
    (n,); `least`: what a latency of 0, a clock's rounding, counts as; `rate`: the unit of
    throughput; `troubled`: how many more failed; `labels`: of what kind each is, n or none, and
    `label`: what such a kind is called; `loads`, `conditions`: what was asked for;
    `dated`: whether moments are seconds, and not mere places in the log."""
    order = np.argsort(moments, kind="stable")
    latencies, moments = np.maximum(latencies, least)[order], moments[order]
    codes, counts = _counted(labels)
    size = max(REQUESTS_A_ROW, -(-len(moments) // MOST_LOG_ROWS))
    edges = np.arange(0, max(len(moments) // size, 1)) * size

    def mean(weights: Floats) -> Series:
        sums = np.add.reduceat(weights, edges)
        means = np.add.reduceat(latencies * weights, edges) / sums
        starts = moments[edges] if dated else None
        return Series("", means, Grain.SLICE, sums, timestamps=starts)

    of_each = Metric(LATENCY, unit, False, column)
    metrics = [(of_each, mean(np.ones(len(moments))))]
    weights = _weights(codes, counts)
    if weights is not None:
        notes = (*notes, f"each {label} counts alike in the latency, whatever its share")
        # After the other: by Little's law throughput goes with the mean of all.
        pooled = replace(of_each, column=f"{column or 'latency'} {_POOLED}")
        metrics = [(of_each, mean(weights[order])), (pooled, metrics[0][1])]
    metrics += _throughput(moments, rate) if dated else []
    places = "their ends" if dated else "the log"
    requested = {**(loads or {}), **(conditions or {}), **_kinds(counts, f"{label}s")}
    series = partial(
        replace,
        until=float(moments[-1]) if dated else None,
        conditions={name: (value,) for name, value in requested.items()},
        loads=frozenset(requested.keys() - (conditions or {}).keys()),
    )
    return Sheet(
        source.name,
        form,
        tuple((metric, (series(numbers),)) for metric, numbers in metrics),
        outcomes={"": TransactionCounts(len(moments) + troubled, troubled)},
        notes=(*notes, f"a row is the mean of {size} {noun}, in the order of {places}"),
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


@dataclass(frozen=True, slots=True)
class _Layout:
    tool: str
    headings: frozenset[str]
    """By these a heading is recognized."""
    latency: str
    unit: str
    moment: str
    """Empty where the log has none: its rows then are in their order, at no known rate."""
    second: float
    """So many of the moment's units are one second."""
    counts: Callable[[Row], bool] = lambda row: True
    """Whether a row is a request at all."""
    failed: Callable[[Row], bool] = lambda row: False
    separator: str = ","
    names: tuple[str, ...] = ()
    """Of the columns, where the log has no heading."""
    labels: tuple[str, ...] = ()
    """Columns that together say of what kind a request is, and what such a kind is called."""
    label: str = "label"
    threads: str = ""
    """The column with the number of threads at work."""


def _bad_status(name: str) -> Callable[[Row], bool]:
    return lambda row: (row.get(name) or "0")[:1] not in ("1", "2", "3")


def _failed_in_k6(row: Row) -> bool:
    """By what the script expected, where it is written."""
    if expected := row.get("expected_response"):
        return expected != "true"
    error = row.get("error") or row.get("error_code") not in (None, "", "0")
    return bool(error) or _bad_status("status")({"status": row.get("status") or "200"})


_LAYOUTS = (
    _Layout(
        tool="JMeter",
        headings=frozenset({"timeStamp", "elapsed"}),
        latency="elapsed",
        unit="ms",
        moment="timeStamp",
        second=1e3,
        failed=lambda row: (row.get("success") or "true").lower() == "false",
        labels=("label",),
        threads="allThreads",
    ),
    _Layout(
        tool="hey",
        headings=frozenset({"response-time", "DNS+dialup", "offset"}),
        latency="response-time",
        unit="s",
        moment="offset",
        second=1.0,
        failed=_bad_status("status-code"),
    ),
    _Layout(
        tool="oha",
        headings=frozenset({"request-start", "request-duration"}),
        latency="request-duration",
        unit="s",
        moment="request-start",
        second=1.0,
        failed=_bad_status("status"),
    ),
    _Layout(
        tool="ab -g",
        headings=frozenset({"starttime", "seconds", "ttime"}),
        latency="ttime",
        unit="ms",
        moment="seconds",
        second=1.0,
    ),
    _Layout(
        tool="k6",
        headings=frozenset({"metric_name", "timestamp", "metric_value"}),
        latency="metric_value",
        unit="ms",
        moment="timestamp",
        second=1.0,
        counts=lambda row: row.get("metric_name") == "http_req_duration",
        failed=_failed_in_k6,
        labels=("scenario", "method", "name"),
        label="request",
    ),
    _Layout(
        tool="ghz",
        headings=frozenset({"duration (ms)", "status", "error"}),
        latency="duration (ms)",
        unit="ms",
        moment="",
        second=1.0,
        failed=lambda row: (row.get("status") or "OK") != "OK",
    ),
    _Layout(
        tool="vegeta",
        headings=frozenset(),
        latency="latency",
        unit="ns",
        moment="timestamp",
        second=1e9,
        failed=_bad_status("code"),
        names=(
            *("timestamp", "code", "latency", "bytes_out", "bytes_in", "error", "body", "attack"),
            *("sequence", "method", "url"),
        ),
        labels=("method", "url"),
        label="target",
    ),
)
_PERCENTILES = "Percentage served,Time in ms"
"""What ab -e writes."""
_HOST = re.compile(r"^https?://[^/]+(?=/|$)")
_VEGETA = re.compile(r"[0-9]{19},[0-9]{1,3},[0-9]+,[0-9]+,[0-9]+,")


def _layout(source: SourceText) -> _Layout | None:
    """The layout of a log by its first line, with the separator that stands there."""
    head = source.text.lstrip().partition("\n")[0]
    if _VEGETA.match(head):
        return _LAYOUTS[-1]
    separator = separator_of(head) or ","
    names = {cell.strip().strip('"') for cell in head.split(separator)}
    for layout in _LAYOUTS[:-1]:
        if layout.headings <= names:
            return replace(layout, separator=separator)
    return None


def is_request_log(source: SourceText) -> bool:
    """Whether a text is a log with a line a request."""
    return _layout(source) is not None or source.text.lstrip().startswith(_PERCENTILES)


def read_request_log(source: SourceText) -> Sheet:
    """The requests of one arm in the order of their moments; those that failed are counted."""
    layout = _layout(source)
    if source.text.lstrip().startswith(_PERCENTILES):
        raise source.error(
            "a distribution of latencies: its rows are percentiles, and no repetitions",
            TextPosition(1, 1),
            hint="Keep the requests themselves: ab -g FILE.",
        )
    if layout is None:
        raise source.error("this is no log of requests that is known", TextPosition(1, 1))
    latencies: list[float] = []
    moments: list[float] = []
    labels: list[str] = []
    threads: Counter[str] = Counter()
    failed = 0
    columns = (layout.latency, layout.moment) if layout.moment else (layout.latency,)
    for number, row in csv_rows(
        source, f"a log of {layout.tool}", columns, separator=layout.separator, names=layout.names
    ):
        if not layout.counts(row):
            continue
        if at_work := row.get(layout.threads):
            threads[at_work] += 1
        if layout.failed(row):
            failed += 1
            continue
        latencies.append(float_in(source, row, layout.latency, number))
        moment = float_in(source, row, layout.moment, number) if layout.moment else float(number)
        moments.append(moment / layout.second)
        labels.append(_label(layout, row))
    values, ends = np.array(latencies), np.array(moments)
    finite = bool(np.isfinite(values).all() and np.isfinite(ends).all())
    if not (finite and len(values) and (values >= 0).all() and values.any()):
        raise source.error("no request that succeeded", TextPosition(1, 1))
    loads, conditions = _threads(threads)
    return sheet_of_requests(
        source,
        f"{layout.tool}, a line a request",
        values,
        ends,
        unit=layout.unit,
        rate="requests/s",
        noun="requests",
        least=float(values[values > 0].min()) / 2,
        troubled=failed,
        column=layout.latency,
        labels=labels if any(labels) else (),
        label=layout.label,
        loads=loads,
        conditions=conditions,
        dated=bool(layout.moment),
    )


def _label(layout: _Layout, row: Row) -> str:
    """Of what kind a request is; the same on another host."""
    cells = (_HOST.sub("", row.get(name) or "") for name in layout.labels)
    return " ".join(cell for cell in cells if cell)


def _threads(counts: Counter[str]) -> tuple[dict[str, str], dict[str, str]]:
    """How many threads were at work: of the load where it is so for most requests; where threads
    came and went, the greatest number, a mere condition."""
    if not counts:
        return {}, {}
    usual, often = counts.most_common(1)[0]
    if 2 * often > counts.total():
        return {"threads": usual}, {}
    return {}, {"threads": max(counts, key=lambda text: (len(text), text))}


REQUEST_LOG = TextFormat("requests", is_request_log, read_request_log, precedence=2)
