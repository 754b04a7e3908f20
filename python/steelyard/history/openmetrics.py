"""Writes contrasts as OpenMetrics 1.0 text, for Prometheus and what reads its formats.

Ratios, not percents: `steelyard_ratio` is arm ÷ control of the metric, 1 where they are equal, and
low and high are the ends of its interval (`-Inf` and `+Inf` where unbounded: a ratio has 0 there).
With timestamps all weighings are there, in order, to be filled in afterwards (`promtool tsdb
create-blocks-from openmetrics`); a scrape, and node_exporter's text files, want the newest without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from steelyard.history.question import Point

VERDICTS = ("slower", "faster", "equivalent", "inconclusive", "invalid")


def openmetrics_text(points: Sequence[Point], *, timestamps: bool) -> str:
    """The whole exposition; a point of each metric a contrast, those of one series by time."""
    lines: list[str] = []
    for name, words, value in _GAUGES:
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {words}"]
        lines += _samples(name, points, value, timestamps)
    lines += ["# TYPE steelyard_verdict stateset", "# HELP steelyard_verdict What was decided."]
    lines += _states(points, timestamps)
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def _ratio(percent: float | None, unbounded: float) -> float:
    return unbounded if percent is None else 1 + percent / 100


_GAUGES: tuple[tuple[str, str, Callable[[Point], float]], ...] = (
    (
        "steelyard_ratio",
        "Arm over control of the metric.",
        lambda one: _ratio(one.reading.estimate_percent, math.nan),
    ),
    (
        "steelyard_ratio_low",
        "Low end of the interval of the ratio.",
        lambda one: _ratio(one.reading.low_percent, 0.0),
    ),
    (
        "steelyard_ratio_high",
        "High end of the interval of the ratio.",
        lambda one: _ratio(one.reading.high_percent, math.inf),
    ),
    (
        "steelyard_margin_ratio",
        "Difference below which arms count as equivalent.",
        lambda one: one.reading.margin_percent / 100,
    ),
    ("steelyard_epochs", "Epochs behind the ratio.", lambda one: float(one.reading.epochs)),
    ("steelyard_doubts", "Doubts of the verdict.", lambda one: float(len(one.reading.doubts))),
)


def _samples(
    name: str, points: Sequence[Point], value: Callable[[Point], float], timestamps: bool
) -> Iterator[str]:
    for labels, series in _by_series(points).items():
        for point, at in _timed(series, timestamps):
            yield f"{name}{{{labels}}} {_number(value(point))}{at}"


def _states(points: Sequence[Point], timestamps: bool) -> Iterator[str]:
    """One sample a state, all of a point before those of the next one."""
    for labels, series in _by_series(points).items():
        for point, at in _timed(series, timestamps):
            for word in VERDICTS:
                told = f'{labels},steelyard_verdict="{word}"'
                yield f"steelyard_verdict{{{told}}} {int(point.reading.verdict == word)}{at}"


def _by_series(points: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(_labels(point), []).append(point)
    return found


def _timed(series: Sequence[Point], timestamps: bool) -> Iterator[tuple[Point, str]]:
    """Each point with its timestamp. Timestamps of a series must rise: of two at one second the
    later one is written; without timestamps the newest alone."""
    if not timestamps:
        yield series[-1], ""
        return
    for at, point in {_seconds(one.entry.at): one for one in series}.items():
        yield point, f" {at}"


def _seconds(at: str) -> int:
    return int(datetime.strptime(at, "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC).timestamp())


def _labels(point: Point) -> str:
    entry, reading = point.entry, point.reading
    told = {
        "study": entry.study,
        "arm": reading.arm,
        "control": reading.control,
        "metric": reading.metric,
        "question": reading.question,
        "machine": entry.machine_words,
    }
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in told.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if math.isinf(value) else f"{value:.10g}"
