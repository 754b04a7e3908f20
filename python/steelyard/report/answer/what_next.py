"""Words why a gate is open or closed, and what to type where a verdict is not settled."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from steelyard.evaluation.rule import FailCondition
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import Verdict
from steelyard.report.contrast_text import reading_text


def gate_lines(conditions: Sequence[FailCondition], contrasts: Sequence[ContrastLine]) -> list[str]:
    """Why the exit status is what it is: `"gate: closed, slower:2% holds (off against on −3.1 %
    [−3.5, −2.6]: the whole interval lies beyond −2 %)"`; a line a condition."""
    return [_gate_line(one, contrasts) for one in conditions]


def _gate_line(condition: FailCondition, contrasts: Sequence[ContrastLine]) -> str:
    word = f"{condition.kind.value}:{100 * condition.margin:g}%"
    holding = [one for one in contrasts if condition.holds([one])]
    if holding:
        first = holding[0]
        side = "−" if (condition.kind == "slower") is first.higher_is_better else "+"
        return (
            f"gate: closed, {word} holds ({first.pair} {reading_text(first)}: the whole interval "
            f"lies beyond {side}{100 * condition.margin:g} %)"
        )
    read = "; ".join(f"{one.verdict}: {one.pair} {reading_text(one)}" for one in contrasts)
    return f"gate: open, {word} does not hold ({read})"


def next_lines(verdict: Verdict) -> list[str]:
    """What to type where the first contrast is inconclusive and more measuring would settle it."""
    first = verdict.contrasts[0]
    if first.verdict != "inconclusive" or not first.forecast_seconds:
        return []
    if first.details.look == "open":
        record = shlex.quote(verdict.record)
        return [f"next    steelyard weigh --resume {record}   (it is open-ended, and goes on)"]
    if verdict.layout not in ("", "slices"):
        return []
    seconds = verdict.measured_seconds + first.forecast_seconds
    longer = with_budget(verdict.command, f"{max(1, math.ceil(seconds / 60))}m")
    return [f"next    {longer}"] if longer else []


def with_budget(command: str, budget: str) -> str:
    """A command as it was typed, with another budget and without its seed; empty: it is none."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    kept: list[str] = []
    skip = False
    for word in words:
        option = word.partition("=")[0]
        if not skip and option not in ("--budget", "--seed"):
            kept.append(word)
        skip = not skip and word in ("--budget", "--seed")
    return shlex.join([*kept, "--budget", budget]) if kept[:2] == ["steelyard", "weigh"] else ""
