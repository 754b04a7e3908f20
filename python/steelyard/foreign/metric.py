"""Recognizes metrics and units by their names, and says which way is better."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

THROUGHPUT = "throughput"
LATENCY = "latency_mean"
TIME = "time"


@dataclass(frozen=True, slots=True)
class Metric:
    """What was measured."""

    name: str
    """"throughput", "latency_mean" and "time" as in weighings; else as the file calls it."""
    unit: str = ""
    higher_is_better: bool | None = None
    """None: not known yet."""

    @property
    def words(self) -> str:
        """As a message says it: "latency mean in ms"."""
        name = self.name.replace("_", " ")
        return f"{name} in {self.unit}" if self.unit else name

    def accepts(self, unit: str) -> bool:
        """Whether it can be in that unit: its own where it has one, no time for a throughput."""
        known = unit_of(unit) or unit
        if self.unit:
            return known.lower() == self.unit.lower()
        if known in SECONDS:
            return self.name != THROUGHPUT
        return known not in _RATE_UNITS or self.name not in (LATENCY, TIME)

    def overridden(self, unit: str | None, higher_is_better: bool | None) -> Metric:
        """The metric with this unit and this direction in place of its own; None: its own."""
        metric = self
        if unit:
            known = metric_of(unit)
            higher = known.higher_is_better if known else metric.higher_is_better
            name = known.name if known and metric.name in ("", "value") else metric.name
            metric = Metric(name, unit_of(unit) or unit, higher)
        if higher_is_better is not None:
            metric = replace(metric, higher_is_better=higher_is_better)
        return metric


_TIME_UNITS = {
    "ns": ("ns", "nsec", "nsecs", "nanosecond", "nanoseconds"),
    "µs": ("us", "µs", "μs", "usec", "usecs", "microsecond", "microseconds"),
    "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds", "millis"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hour", "hours"),
}
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Length of the units of time, in seconds."""
_RATE_UNITS = {
    "transactions/s": ("tps", "transactions/s"),
    "queries/s": ("qps", "queries/s"),
    "requests/s": ("rps", "requests/s"),
    "operations/s": ("ops", "ops/s", "iops", "operations/s"),
    "NOPM": ("nopm",),
    "TPM": ("tpm", "tpmc"),
    "MB/s": ("mb/s",),
    "rows/s": ("rows/s",),
    "%/s": (),
}
_UNITS = {
    word: unit
    for units in (_TIME_UNITS, _RATE_UNITS)
    for unit, words in units.items()
    for word in words
}
UNIT_WORDS = tuple(_UNITS)
"""Every word that names a unit, in lower case."""
_LATENCY_WORDS = {"latency", "lat", "response"}
_TIME_WORDS = {"time", "times", "duration", "durations", "elapsed", "runtime", "wall", "took"}
_RATE_WORDS = {"throughput", "rate"}
_WORD = re.compile(r"[a-zµμ%]+(?:/[a-z]+)?")


def unit_of(text: str) -> str | None:
    """The unit that a word names: `"ms"` of "msec"; None for a word that names none."""
    return _UNITS.get(text.strip().lower())


def metric_of(text: str) -> Metric | None:
    """The metric that a heading names: "latency_ms", "tps", "elapsed (s)"; None for others."""
    words = _WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower())
    units = [_UNITS[word] for word in words if word in _UNITS]
    time_unit = next((unit for unit in units if unit in SECONDS), "")
    rate_unit = next((unit for unit in units if unit not in SECONDS), "")
    named = set(words)
    if named & _LATENCY_WORDS:
        return Metric(LATENCY, time_unit, False)
    if named & _RATE_WORDS or rate_unit:
        return Metric(THROUGHPUT, rate_unit, True)
    if named & _TIME_WORDS or (time_unit and len(words) <= 2):
        return Metric(TIME, time_unit, False)
    return None


def per_second(metric: Metric) -> float | None:
    """How many transactions a second one of the metric's unit is; None for what is no such rate."""
    if metric.unit in ("transactions/s", "queries/s", "requests/s", "operations/s"):
        return 1.0
    return 1 / 60 if metric.unit == "TPM" else None
