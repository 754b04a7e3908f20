"""Formats the plan of a weighing as rows."""

from __future__ import annotations

from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.plan import Plan

_COSTS = {
    "foreground": "foreground: what the transactions themselves pay",
    "whole": "whole: each arm also pays the work it leaves to the background",
}


def plan_rows(plan: Plan) -> list[tuple[str, str]]:
    """The plan as label and text, reasons included."""
    rows = [
        ("metric that decides", plan.metric.replace("_", " ")),
        ("margin", f"±{100 * plan.margin:.3g} %"),
        ("epochs", f"{plan.epochs}, each about {format_duration(plan.epoch_ns)}"),
        ("looks", _looks(plan)),
        ("blocks in an epoch", str(plan.blocks_per_epoch)),
        ("slice", _because(format_duration(plan.slice_ns), plan.slice_why)),
        ("warm-up", format_duration(plan.warmup_ns)),
        ("placement", _because(plan.placement or "–", plan.placement_why)),
        ("cost", _COSTS.get(plan.cost, plan.cost)),
        ("load", f"{plan.clients} clients on {plan.threads} driver threads"),
        ("processors", ", ".join(map(str, plan.processors)) or "any"),
        ("attempt", _attempt(plan.attempt)),
        ("seed", str(plan.seed)),
    ]
    return [(label, text) for label, text in rows if text not in ("", "–")]


def _looks(plan: Plan) -> str:
    alpha = [f"{level:g}" for level in plan.alpha]
    if plan.open_ended:
        return (
            f"open-ended: after every epoch at {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    if plan.look:
        return (
            f"after epoch {plan.look} at level {alpha[0]}, after epoch {plan.epochs} at {alpha[1]}"
        )
    return f"at the end, level {'+'.join(alpha)}"


def _because(text: str, why: str) -> str:
    return f"{text}: {why}" if why else text


def _attempt(attempt: int) -> str:
    if attempt == 1:
        return "first"
    return f"{attempt}: weighed before on this machine; false alarms add up over attempts"


def about_duration(nanoseconds: float) -> str:
    """A time that is only expected, without digits that nobody knows: `"2 min"`, `"41 min"`."""
    seconds = nanoseconds / NS_PER_S
    step = 60 if seconds >= 600 else 10 if seconds >= 60 else 1 if seconds >= 10 else 0
    return format_duration(round(seconds / step) * step * NS_PER_S if step else nanoseconds)
