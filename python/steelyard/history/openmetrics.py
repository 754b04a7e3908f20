"""Writes contrasts as OpenMetrics 1.0 text, for Prometheus and what reads its formats.

Ratios, not percents: `steelyard_ratio` is arm ÷ control of the metric, 1 where they are equal, and
low and high are the ends of its interval (`-Inf` and `+Inf` where unbounded: a ratio has 0 there).
Throughput and latency are those of each side by itself (`side="control"`, `side="arm"`), where the
record has them.

With timestamps all weighings are there, in order, to be filled in afterwards (`promtool tsdb
create-blocks-from openmetrics`); a scrape, and node_exporter's text files, want the newest without.

All are gauges, the verdict too, and no state set: of that type node_exporter, Telegraf and whatever
else reads Prometheus' older text format refuse the whole text (prometheus/common, expfmt).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from steelyard.history.entry import KnownReading, time_of
from steelyard.history.question import Point
from steelyard.model.price import parse_price
from steelyard.model.units import NS_PER_S, NS_PER_US
from steelyard.record.contrast import ArmValues

VERDICTS = ("slower", "faster", "equivalent", "inconclusive", "invalid")


def openmetrics_text(points: Sequence[Point], *, timestamps: bool) -> str:
    """The whole exposition; a point of each metric a contrast, those of one series by time."""
    lines: list[str] = []
    for name, help_text, samples in _GAUGES:
        lines += [f"# TYPE {name} gauge", f"# HELP {name} {help_text}"]
        lines += _samples(name, points, samples, timestamps)
    return "".join(f"{line}\n" for line in [*lines, "# EOF"])


def _ratio(percent: float | None, unbounded: float) -> float:
    return unbounded if percent is None else 1 + percent / 100


_Values = Callable[[Point], Mapping[str, float]]
"""Further labels of a sample → its value."""


def _throughput(point: Point) -> Mapping[str, float]:
    sides = _sides(point.reading).items()
    return {f'side="{side}"': x for side, values in sides if (x := values.throughput) is not None}


def _cost(point: Point) -> Mapping[str, float]:
    return {
        f'side="{side}",currency="{parse_price(values.price).currency}"': values.cost_per_million
        for side, values in _sides(point.reading).items()
        if values.cost_per_million is not None
    }


def _latency(point: Point) -> Mapping[str, float]:
    return {
        f'side="{side}",quantile="{quantile}"': us * NS_PER_US / NS_PER_S
        for side, values in _sides(point.reading).items()
        for quantile, us in (
            ("0.5", values.latency_us_p50),
            ("0.95", values.latency_us_p95),
            ("0.99", values.latency_us_p99),
        )
        if us is not None
    }


def _verdict(point: Point) -> Mapping[str, float]:
    return {
        f'steelyard_verdict="{word}"': float(point.reading.verdict == word) for word in VERDICTS
    }


def _sides(reading: KnownReading) -> Mapping[str, ArmValues]:
    return {"control": reading.control_values, "arm": reading.arm_values}


_GAUGES: tuple[tuple[str, str, _Values], ...] = (
    (
        "steelyard_ratio",
        "Arm over control of the metric.",
        lambda point: {"": _ratio(point.reading.estimate_percent, math.nan)},
    ),
    (
        "steelyard_ratio_low",
        "Low end of the interval of the ratio.",
        lambda point: {"": _ratio(point.reading.low_percent, 0.0)},
    ),
    (
        "steelyard_ratio_high",
        "High end of the interval of the ratio.",
        lambda point: {"": _ratio(point.reading.high_percent, math.inf)},
    ),
    (
        "steelyard_margin_ratio",
        "Difference below which arms count as equivalent.",
        lambda point: {"": point.reading.margin_percent / 100},
    ),
    (
        "steelyard_epochs",
        "Epochs behind the ratio.",
        lambda point: {"": float(point.reading.epochs)},
    ),
    (
        "steelyard_doubts",
        "Doubts of the verdict.",
        lambda point: {"": float(len(point.reading.doubts))},
    ),
    (
        "steelyard_throughput_per_second",
        "Transactions a second of one side, the median of its epochs.",
        _throughput,
    ),
    (
        "steelyard_cost_per_million",
        "What a million transactions of one side cost at the price of its machine.",
        _cost,
    ),
    (
        "steelyard_latency_seconds",
        "Quantiles of the latency of one side, over whole epochs.",
        _latency,
    ),
    ("steelyard_verdict", "What was decided: 1 at its word, 0 at the others.", _verdict),
)


def _samples(
    name: str, points: Sequence[Point], values: _Values, timestamps: bool
) -> Iterator[str]:
    """Those of one series next to each other, by time."""
    series: dict[str, list[str]] = {}
    for labels, points_of_question in _by_series(points).items():
        for point, at in _timed(points_of_question, timestamps):
            for further, value in values(point).items():
                every = ",".join(filter(None, (labels, further)))
                series.setdefault(every, []).append(f"{name}{{{every}}} {_number(value)}{at}")
    for samples in series.values():
        yield from samples


def _by_series(points: Sequence[Point]) -> dict[str, list[Point]]:
    by_series: dict[str, list[Point]] = {}
    for point in points:
        by_series.setdefault(_labels(point), []).append(point)
    return by_series


def _timed(series: Sequence[Point], timestamps: bool) -> Iterator[tuple[Point, str]]:
    """Each point with its timestamp. Timestamps of a series must rise: of two at one second the
    later one is written; without timestamps the newest alone."""
    if not timestamps:
        yield series[-1], ""
        return
    for at, point in {_seconds(sample.entry.at): sample for sample in series}.items():
        yield point, f" {at}"


def _seconds(at: str) -> int:
    time = time_of(at)
    assert time is not None  # an entry has no other
    return int(time.timestamp())


def _labels(point: Point) -> str:
    entry, reading = point.entry, point.reading
    labels = {
        "study": entry.study,
        "arm": reading.arm,
        "control": reading.control,
        "metric": reading.metric,
        "question": reading.question,
        "machine": entry.machine_words,
    }
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "+Inf" if math.isinf(value) else f"{value:.10g}"
