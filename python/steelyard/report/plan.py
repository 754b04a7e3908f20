"""Reads the plan of a weighing from JSON, and formats it as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from steelyard.model.units import format_duration
from steelyard.report.contrast import finite

_COSTS = {
    "foreground": "foreground: what the transactions themselves pay",
    "whole": "whole: each arm also pays the work it leaves to the background",
}


@dataclass(frozen=True)
class Plan:
    """What a page and a terminal show of a plan; what it does not hold is None or empty."""

    study: str | None
    control: str
    arms: tuple[str, ...]
    metric: str
    margin: float | None
    epochs: int | None
    look: int | None
    open_ended: bool
    alpha: tuple[float, ...]
    epoch_ns: float | None
    slice_ns: float | None
    slice_why: str | None
    warmup_ns: float | None
    warm: str | None
    warm_why: str | None
    warm_ns: float | None
    epochs_why: str | None
    blocks_per_epoch: int | None
    placement: str | None
    placement_why: str | None
    cost: str | None
    clients: int | None
    threads: int | None
    processors: tuple[int, ...]
    attempt: int
    seed: int | None
    command: str | None

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> Self:
        """The plan of a record, or of a weighing that begins."""
        as_they_are = (
            *("study", "epochs", "look", "slice_why", "blocks_per_epoch", "placement"),
            *("placement_why", "cost", "clients", "threads", "seed", "command"),
            *("warm", "warm_why", "epochs_why"),
        )
        return cls(
            **{name: plan.get(name) for name in as_they_are},
            control=str(plan.get("control")),
            arms=tuple(str(arm) for arm in plan.get("arms", [])),
            metric=str(plan.get("metric", "throughput")),
            margin=finite(plan.get("margin")),
            open_ended=bool(plan.get("open_ended")),
            alpha=tuple(plan.get("alpha", [])),
            epoch_ns=finite(plan.get("epoch_ns")),
            slice_ns=finite(plan.get("slice_ns")),
            warmup_ns=finite(plan.get("warmup_ns")),
            warm_ns=finite(plan.get("warm_ns")),
            processors=tuple(plan.get("processors") or ()),
            attempt=plan.get("attempt") or 1,
        )

    @property
    def margin_percent(self) -> float:
        """The margin of equivalence, 1 % where the plan names none."""
        return (self.margin or 0.01) * 100

    @property
    def looks(self) -> tuple[int, ...]:
        """After which epochs a look is planned."""
        return tuple(int(epoch) for epoch in (self.look, self.epochs) if epoch)


def plan_rows(plan: Plan) -> list[tuple[str, str]]:
    """The plan as label and text, reasons included."""
    load = f"{_or_dash(plan.clients)} clients on {_or_dash(plan.threads)} driver threads"
    rows = [
        ("metric that decides", plan.metric.replace("_", " ")),
        ("margin", f"±{100 * (plan.margin or 0):.3g} %"),
        ("epochs", _because(_epochs(plan), plan.epochs_why)),
        ("looks", _looks(plan)),
        ("blocks in an epoch", _or_dash(plan.blocks_per_epoch)),
        ("slice", _because(_duration(plan.slice_ns), plan.slice_why)),
        ("warm-up", _duration(plan.warmup_ns)),
        ("buffer pools", _pools(plan)),
        ("placement", _because(_or_dash(plan.placement or None), plan.placement_why)),
        ("cost", _COSTS.get(str(plan.cost), _or_dash(plan.cost))),
        ("load", load),
        ("processors", ", ".join(map(str, plan.processors)) or "any"),
        ("attempt", _attempt(plan.attempt)),
        ("seed", _or_dash(plan.seed)),
    ]
    return [(label, text) for label, text in rows if text not in ("", "–")]


def _epochs(plan: Plan) -> str:
    fewer = "longer and fewer, " if plan.epochs_why else ""
    return f"{plan.epochs}, {fewer}each about {_duration(plan.epoch_ns)}"


def _pools(plan: Plan) -> str:
    """Nothing where only the load warms them."""
    if plan.warm != "by reading":
        return ""
    return _because(
        f"filled by reading the data, {_duration(plan.warm_ns)} an epoch", plan.warm_why
    )


def _looks(plan: Plan) -> str:
    alpha = [f"{level:g}" for level in plan.alpha]
    if plan.open_ended and len(alpha) == 2:
        return (
            f"open-ended: after every epoch at {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    if plan.look and len(alpha) == 2:
        return (
            f"after epoch {plan.look} at level {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    return f"at the end, level {'+'.join(alpha)}"


def _or_dash(value: object) -> str:
    return "–" if value is None else str(value)


def _duration(value_ns: float | None) -> str:
    return "–" if value_ns is None else format_duration(value_ns)


def _because(text: str, why: str | None) -> str:
    return f"{text}: {why}" if why else text


def _attempt(attempt: int) -> str:
    if attempt == 1:
        return "first"
    return f"{attempt}: weighed before on this machine; false alarms add up over attempts"
