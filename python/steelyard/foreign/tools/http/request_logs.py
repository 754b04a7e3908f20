"""Reads logs with a line a request: JMeter, hey, oha, ab -g, vegeta and k6 as CSV.

Requests of one run are slices of it. Which column holds what is a table below: a log is recognized
by its heading, or by the shape of its first line.
"""

from __future__ import annotations

import re
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


def _bad_status(name: str) -> Callable[[Row], bool]:
    return lambda row: (row.get(name) or "0")[:1] not in ("1", "2", "3")


_LAYOUTS = (
    _Layout(
        tool="JMeter",
        headings=frozenset({"timeStamp", "elapsed"}),
        latency="elapsed",
        unit="ms",
        moment="timeStamp",
        second=1e3,
        failed=lambda row: (row.get("success") or "true").lower() == "false",
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
        failed=lambda row: bool(row.get("error")),
    ),
    _Layout(
        tool="vegeta",
        headings=frozenset(),
        latency="latency",
        unit="ns",
        moment="timestamp",
        second=1e9,
        failed=_bad_status("code"),
        names=("timestamp", "code", "latency"),
    ),
)
_PERCENTILES = "Percentage served,Time in ms"
"""What ab -e writes."""
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
    failed = 0
    columns = (layout.latency, layout.moment)
    for number, row in csv_rows(
        source, f"a log of {layout.tool}", columns, separator=layout.separator, names=layout.names
    ):
        if not layout.counts(row):
            continue
        if layout.failed(row):
            failed += 1
            continue
        latencies.append(float_in(source, row, layout.latency, number))
        moments.append(float_in(source, row, layout.moment, number) / layout.second)
    values, ends = np.array(latencies), np.array(moments)
    finite = bool(np.isfinite(values).all() and np.isfinite(ends).all())
    if not (finite and len(values) and (values >= 0).all() and values.any()):
        raise source.error("no request that succeeded", TextPosition(1, 1))
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
    )


FORMAT = TextFormat("requests", is_request_log, read_request_log, precedence=2)
