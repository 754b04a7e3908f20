"""Words why a gate is open or closed, and what to type where a verdict is not settled."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from steelyard.evaluation.rule import FailCondition
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import Verdict
from steelyard.wording.contrast_text import reading_text


def repeating_command(verdict: Verdict) -> str:
    """What weighs again with the same draws, to be pasted."""
    again = ["steelyard", "weigh", verdict.study, "--seed", str(verdict.seed)]
    return verdict.command or shlex.join(again)


def gate_lines(conditions: Sequence[FailCondition], contrasts: Sequence[ContrastLine]) -> list[str]:
    """Why the exit status is what it is: `"gate: closed, slower:2% holds (off against on −3.1 %
    [−3.5, −2.6]: the whole interval lies beyond −2 %)"`; a line a condition."""
    return [_gate_line(condition, contrasts) for condition in conditions]


def _gate_line(condition: FailCondition, contrasts: Sequence[ContrastLine]) -> str:
    word = f"{condition.kind.value}:{100 * condition.margin:g}%"
    holding = [contrast for contrast in contrasts if condition.holds([contrast])]
    if holding:
        first = holding[0]
        side = "−" if (condition.kind == "slower") is first.higher_is_better else "+"
        return (
            f"gate: closed, {word} holds ({first.pair} {reading_text(first)}: the whole interval "
            f"lies beyond {side}{100 * condition.margin:g} %)"
        )
    read = "; ".join(
        f"{contrast.verdict}: {contrast.pair} {reading_text(contrast)}" for contrast in contrasts
    )
    return f"gate: open, {word} does not hold ({read})"


def next_lines(verdict: Verdict) -> list[str]:
    """What to type where contrasts are inconclusive and more measuring would settle those that it
    can, and what that is. Of a weighing that was interrupted `--resume` is said at the end of the
    command."""
    inconclusive = [line for line in verdict.contrasts if line.verdict == "inconclusive"]
    forecasts = [line.forecast_seconds for line in inconclusive if line.forecast_seconds]
    if not forecasts or verdict.interrupted:
        return []
    if inconclusive[0].details.look == "open":
        record = shlex.quote(verdict.record)
        return [f"next    steelyard weigh --resume {record}", f"        {_EXTENDS}"]
    # In slices a budget is load; otherwise it is whole epochs, files and starts included.
    slices = verdict.layout in ("", "slices")
    spent = verdict.measured_seconds if slices else max(verdict.measured_seconds, verdict.seconds)
    budgets = [max(1, math.ceil((spent + more) / 60)) for more in forecasts]
    minutes = max((budget for budget in budgets if budget <= _MOST_MINUTES), default=None)
    if minutes is None:
        return []
    extended = len(verdict.contrasts) == 1 and verdict.factors is None  # else judged once, perhaps
    options = ["--open-ended"] if extended else []
    longer = with_budget(verdict.command, f"{minutes}m", options)
    note = f"{_AGAIN}; {_EXTENDED}" if extended else _AGAIN
    return [f"next    {longer}", f"        ({note})"] if longer else []


_EXTENDS = "(goes on with this weighing, which is open-ended: its error rate holds)"
_AGAIN = "a new weighing: its verdict will say that it is another attempt"
_EXTENDED = "--resume can extend it"
_MOST_MINUTES = 7 * 24 * 60
"""The longest budget that is accepted."""


def with_budget(command: str, budget: str, options: Sequence[str] = ()) -> str:
    """A command as it was typed, with another budget, without its seed, and with further options;
    empty: it is none."""
    try:
        arguments = shlex.split(command)
    except ValueError:
        return ""
    retained: list[str] = []
    skip = False
    for argument in arguments:
        option = argument.partition("=")[0]
        if not skip and option not in ("--budget", "--seed"):
            retained.append(argument)
        skip = not skip and argument in ("--budget", "--seed")
    if retained[:2] != ["steelyard", "weigh"]:
        return ""
    further = [option for option in options if option not in retained]
    return shlex.join([*retained, "--budget", budget, *further])
