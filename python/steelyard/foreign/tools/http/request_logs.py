"""Reads logs with a line a request: JMeter, hey, oha, ab -g, vegeta and k6 as CSV.

Requests of one run are slices of it. Which column holds what is a table below: a log is recognized
by its heading, or by the shape of its first line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steelyard.foreign.format import TextFormat
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText, TextPosition
from steelyard.foreign.tools.measured_runs import Row, csv_rows, float_in
from steelyard.foreign.tools.request_times import sheet_of_requests


@dataclass(frozen=True, slots=True)
class _Layout:
    tool: str
    headings: frozenset[str]
    """By these a heading is recognized."""
    latency: str
    unit: str
    moment: str
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
        separator="\t",
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
    head = source.text.lstrip().partition("\n")[0]
    if _VEGETA.match(head):
        return _LAYOUTS[-1]
    for layout in _LAYOUTS[:-1]:
        names = {cell.strip().strip('"') for cell in head.split(layout.separator)}
        if layout.headings <= names:
            return layout
    return None


def is_request_log(source: SourceText) -> bool:
    """Whether a text is one of these logs."""
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
    columns = (layout.latency, layout.moment)
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
        moments.append(float_in(source, row, layout.moment, number) / layout.second)
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


FORMAT = TextFormat("requests", is_request_log, read_request_log, precedence=2)
