"""Holds what was measured: its kind, its unit, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from steelyard.foreign.vocabulary.units import SECONDS, is_cost, is_rate, unit_of

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
    column: str = field(default="", compare=False)
    """The heading of its numbers, as the file writes it; empty: they have none."""

    @property
    def words(self) -> str:
        """As a message says it: "latency mean in ms"."""
        name = self.name.replace("_", " ")
        return f"{name} in {self.unit}" if self.unit else name

    @property
    def is_spread(self) -> bool:
        """Whether it says how far numbers lay apart, which is neither better nor worse."""
        return self.name.endswith(("_stddev", "_range"))

    def accepts(self, unit: str) -> bool:
        """Whether it can be in that unit: its own where it has one, no time for a throughput."""
        canonical = unit_of(unit) or unit
        if self.unit:
            return canonical.lower() == self.unit.lower()
        if canonical in SECONDS:
            return not self.name.startswith(THROUGHPUT)
        timed = self.name.startswith(("latency", TIME))
        return not (is_rate(canonical) or is_cost(canonical)) or not timed

    def overridden(self, unit: str | None, higher_is_better: bool | None) -> Metric:
        """The metric with this unit and this direction in place of its own; None: its own."""
        metric = self
        if unit:
            canonical = unit_of(unit) or unit
            name, higher = _implied(canonical)
            if not name or metric.name not in ("", "value"):
                name = metric.name
            if metric.higher_is_better is not None or higher is None or metric.is_spread:
                higher = metric.higher_is_better
            metric = replace(metric, name=name, unit=canonical, higher_is_better=higher)
        if higher_is_better is not None:
            metric = replace(metric, higher_is_better=higher_is_better)
        return metric


def _implied(unit: str) -> tuple[str, bool | None]:
    """The metric that a unit implies, and its direction; "" and None where it implies none."""
    if unit in SECONDS:
        return TIME, False
    if is_rate(unit):
        return THROUGHPUT, True
    return "", False if is_cost(unit) else None


def per_second(metric: Metric) -> float | None:
    """How many transactions a second one of the metric's unit is; None for what is no such rate."""
    if metric.unit in ("transactions/s", "queries/s", "requests/s", "operations/s"):
        return 1.0
    return 1 / 60 if metric.unit == "TPM" else None
