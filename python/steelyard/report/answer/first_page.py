"""Words what an answer has beside its verdict: on the first page of a report doubts, limits,
and what was weighed; on the terminal the gate, and what to type next.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.evaluation.rule import FailCondition
from steelyard.model.errors import SteelyardError
from steelyard.model.units import (
    NS_PER_S,
    counted,
    format_bytes,
    format_duration,
    whole_number,
)
from steelyard.record.contrast import ContrastLine
from steelyard.record.environment import MachineFacts
from steelyard.record.verdict import Verdict
from steelyard.report.incidents import interruption_text
from steelyard.report.layouts.shown_layout import shown_layout
from steelyard.report.source import PageSource
from steelyard.report.tables import forecast_text
from steelyard.study.budget import BUDGETS
from steelyard.study.change import key_of
from steelyard.study.read import read_study
from steelyard.wording.contrast_text import reading_text

Rows = tuple[tuple[str, str], ...]
MOST_DIFFERENCES, MOST_SCRIPTS = 4, 5
NO_DOUBT = "None of the known threats was seen, which is no proof that there is none."


@dataclass(frozen=True)
class FirstPage:
    """The texts of a report's first page beside the verdict's sentence, interval and figures."""

    doubts: Rows
    """(threat, what was seen of it), those that invalidate first."""
    limits: tuple[str, ...]
    """Sentences: of what nothing is claimed."""
    weighed: Rows
    """(label, text): the difference, traffic, data, machine, server, how long."""


def first_page(source: PageSource) -> FirstPage:
    """Of a record, with or without a verdict."""
    return FirstPage(_doubts(source), tuple(_limits(source)), tuple(_weighed(source)))


def _doubts(source: PageSource) -> Rows:
    judged = (*source.contrasts, *source.pairs)
    every = [threat for line in judged for threat in line.threats]
    every.sort(key=lambda threat: not threat.invalidates)
    return tuple(dict.fromkeys((threat.name, threat.seen or "–") for threat in every))


def _limits(source: PageSource) -> list[str]:
    verdict, plan = source.verdict, source.plan
    if verdict is None:
        return ["There is no verdict: no result is claimed."]
    sentences = [] if _doubts(source) else [NO_DOUBT]
    sentences.append(
        "It holds for this traffic on this machine, in the hours of the weighing; nothing is "
        "claimed about others."
    )
    if not plan.writes:
        sentences.append("Nothing was written in it: what writes cost is not in it.")
    else:
        sentences.append("Checkpoints that are further apart or nearer may cost otherwise.")
    unsettled = [
        line
        for line in source.contrasts
        if line.verdict == "inconclusive" and "as large as it reads" not in line.sentence
    ]
    forecasts = {forecast_text([line.forecast_seconds]) for line in unsettled} - {""}
    sentences += [f"{text[0].upper()}{text[1:]}." for text in sorted(forecasts)]
    sentences.append(interruption_text(verdict, plan.epochs))
    return [sentence for sentence in sentences if sentence]


def _weighed(source: PageSource) -> Rows:
    verdict, environment = source.verdict, source.environment
    place = verdict.place if verdict else None
    machine = environment.machine
    memory = place.memory_bytes if place else machine.memory_bytes
    processors = place.processors if place else machine.processors
    rows = (
        ("compared", _difference(source)),
        ("traffic", _traffic(source)),
        ("data", _data(source)),
        ("machine", _machine(machine, processors, memory)),
        ("server", " and ".join(place.products if place else _products(source))),
        ("weighed", _duration(source)),
    )
    return tuple((label, text) for label, text in rows if text)


def _difference(source: PageSource) -> str:
    """`"data_checksums: on → off"`, the control's value first; of several arms behind the name of
    each, and of builds alone the arms."""
    plan, verdict = source.plan, source.verdict
    others = [arm for arm in source.arms if arm != plan.control]
    declared = verdict.differences.declared if verdict else ()
    changes = [f"{name}: {ours} → {theirs}" for name, ours, theirs in declared]
    if len(others) > 1:
        changes = [
            f"{arm}: {name}: {ours} → {theirs}"
            for arm, differences in source.differences.items()
            for name, ours, theirs in differences.declared
        ]
    listed = changes[:MOST_DIFFERENCES]
    if len(changes) > MOST_DIFFERENCES:
        listed.append(f"and {len(changes) - MOST_DIFFERENCES} more")
    return "; ".join(listed) or " → ".join([plan.control, ", ".join(others)])


def _traffic(source: PageSource) -> str:
    plan, verdict = source.plan, source.verdict
    place = verdict.place if verdict else None
    name = place.workload if place else str(source.environment.workload.get("name", ""))
    clients = "1 client" if plan.clients == 1 else f"{plan.clients} clients"
    scripts = list(dict.fromkeys(row.script for row in verdict.scripts)) if verdict else []
    listed = scripts[:MOST_SCRIPTS]
    more = f" and {len(scripts) - len(listed)} more" if len(scripts) > len(listed) else ""
    mix = f"{len(scripts)} scripts ({', '.join(listed)}{more})" if len(scripts) > 1 else ""
    kind = "reads and writes" if plan.writes else "reads only"
    return ", ".join(filter(None, (name, mix, clients, kind)))


def _data(source: PageSource) -> str:
    facts, verdict = source.environment.source, source.verdict
    place = verdict.place if verdict else None
    if facts is not None:
        size = format_bytes(facts.database_bytes)
        return f'{facts.kind} "{facts.name}": database {facts.database}, {size}'
    if place is None:
        return ""
    if place.data:
        size = f" ({format_bytes(place.data_bytes)})" if place.data_bytes else ""
        return f"{place.data}{size}"
    return "" if place.scale is None else f"made by the workload, scale {place.scale}"


def _machine(machine: MachineFacts, processors: int | None, memory_bytes: int) -> str:
    count = "1 processor" if processors == 1 else f"{processors} processors" if processors else ""
    memory = f"{format_bytes(memory_bytes)} of memory" if memory_bytes else ""
    virtual = "virtual" if machine.virtual else ""
    return ", ".join(filter(None, (machine.processor, count, memory, virtual)))


def _products(source: PageSource) -> list[str]:
    builds = [about.build for about in source.environment.arms.values()]
    products = [f"{build.get('kind', '')} {build.get('version', '')}".strip() for build in builds]
    return list(dict.fromkeys(filter(None, products)))


def _duration(source: PageSource) -> str:
    verdict = source.verdict
    if verdict is None or not verdict.contrasts:
        return ""
    line = verdict.contrasts[0]
    epochs = shown_layout(source.plan).counts(line)
    counts = ", ".join(counted(count, name) for name, count in epochs.items())
    took = format_duration(verdict.whole_seconds * NS_PER_S) if verdict.whole_seconds else ""
    day = source.plan.at[:10]
    return ", ".join(filter(None, (counts, f"{took} in all" if took else "", day)))


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


_VALUED = ("--budget", "--seed", "--set")
_LENGTHS = frozenset(f"budget.{key}" for key in BUDGETS)


def with_budget(command: str, budget: str, options: Sequence[str] = ()) -> str:
    """A command as it was typed, with another budget, without its seed, and with further options;
    empty: it is none."""
    try:
        arguments = shlex.split(command)
    except ValueError:
        return ""
    # What --set says of a length counts more than --budget; of epochs of executions a time says how
    # many there are.
    by_executions = _is_counted(arguments)
    retained: list[str] = []
    while arguments:
        option, joined, value = arguments[0].partition("=")
        count = 1 if joined or option not in _VALUED else 2
        words, arguments = arguments[:count], arguments[count:]
        change = value if joined else words[-1]
        is_replaced = option == "--set" and (
            key_of(change) in _LENGTHS
            or (key_of(change) == "budget.epochs" and (by_executions or _are_too_few(change)))
        )
        if option not in ("--budget", "--seed") and not is_replaced:
            retained += words
    if retained[:2] != ["steelyard", "weigh"]:
        return ""
    further = [option for option in options if option not in retained]
    return shlex.join([*retained, "--budget", budget, *further])


def _are_too_few(change: str) -> bool:
    """Whether so many epochs give no verdict, however long they are."""
    epochs = whole_number(change.partition("=")[2].strip())
    return epochs is not None and epochs < FEWEST_FOR_VERDICT


def _is_counted(command: Sequence[str]) -> bool:
    """Whether slices of the study that is weighed are cut by executions."""
    if any("budget.counted" in word for word in command):
        return True
    study = next((word for word in command[2:3] if not word.startswith("-")), "")
    with suppress(SteelyardError):
        return bool(study) and read_study(study).budget.by_executions
    return False
