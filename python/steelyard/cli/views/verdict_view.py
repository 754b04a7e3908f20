"""Formats a verdict for a terminal: sentences, interval charts, causes, threats, the record.

Shapes a verdict for `--json`: as the record holds it, each contrast with its parts and cause.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from textwrap import shorten

from steelyard.cli.views.interval_chart import interval_chart
from steelyard.cli.views.text_layout import contrast_table, rest_in_report, wrapped
from steelyard.cli.views.verdict_parts import (
    query_lines,
    record_lines,
    script_lines,
    statement_cost_lines,
    verdict_threats,
)
from steelyard.model.threat import ThreatKind
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.record.contrast import ContrastLine, JudgedContrast, KnownTruth
from steelyard.record.verdict import FlippedPlan, Pages, TimeParts, Verdict
from steelyard.report.answer.measured import (
    capacity_limit,
    capacity_rows,
    cost_rows,
    figures,
    place_text,
)
from steelyard.report.answer.scripts import (
    plan_reasons,
    within_scripts,
)
from steelyard.report.devices import devices_text, figure_rows, not_available, used_figures
from steelyard.report.environment_rows import default_lines, loads_line
from steelyard.report.incidents import interruption_text
from steelyard.report.plans import time_text
from steelyard.report.tables import (
    amount,
    cause_rows,
    lag_line,
    none_line,
    page_price,
)
from steelyard.report.time_parts import bottleneck_line, cause_lines, part_rows
from steelyard.report.turns import evenness_value, stall_sums
from steelyard.wording.contrast_text import MARKS, reading_text, shown_sentence, truth_text

_INDENT = "  "
_MOST_CHART = 76
_LEAST_WIDTH = 50
_MOST_PLANS, _SHORT_STATEMENT = 3, 44
"""Flipped plans that are printed, and characters of their statements."""


def render_verdict(verdict: Verdict, width: int) -> str:
    """The whole summary as plain lines no wider than `width` (at least 50), colourless."""
    width = max(width, _LEAST_WIDTH)
    contrasts = verdict.every_contrast
    blocks = [
        contrast_lines(
            contrast,
            contrast.truth,
            contrast.details.margin_percent,
            width,
            measured_lines(verdict, contrast, width),
        )
        for contrast in contrasts
    ]
    blocks.append(wrapped(place_text(verdict.place), width, ""))
    blocks.append(_costs(verdict, width))
    blocks.append(script_lines(verdict, width))
    blocks.append(_lateness(verdict, width))
    blocks.append(_standbys(verdict, width))
    blocks.append(_turns(verdict, width))
    blocks.append(_causes(verdict, width))
    blocks.append(_plans(verdict, width))
    blocks.append(_builds(verdict, width))
    blocks.append(
        [*verdict_threats(contrasts, width), *wrapped(interruption_text(verdict), width, "")]
    )
    blocks.append(record_lines(verdict, width))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def contrast_lines(
    contrast: JudgedContrast,
    truth: KnownTruth | None,
    margin_percent: float | None,
    width: int,
    measured: Sequence[str] = (),
) -> list[str]:
    """The verdict of one contrast, its own sentence, what was `measured`, and the interval as a
    chart."""
    lines = [
        f"{MARKS.get(contrast.verdict, '?')} {contrast.verdict.upper()}"
        + (f": {contrast.pair}" if measured else ""),
        *wrapped(shown_sentence(contrast), width, ""),
    ]
    text = truth_text(truth)
    lines += wrapped(f"It {text}.", width, "") if text else []
    lines += measured
    chart = interval_chart(contrast, margin_percent or 1.0, min(width - len(_INDENT), _MOST_CHART))
    return [*lines, "", *(f"{_INDENT}{line}".rstrip() for line in chart)]


def measured_lines(verdict: Verdict, contrast: ContrastLine, width: int) -> list[str]:
    """Both arms in absolute numbers, the control's first: `"median throughput 1 655 → 3 350"`."""
    parts = [" ".join(row) for row in figures(verdict, contrast)]
    return (
        wrapped(f"{contrast.control} → {contrast.arm}: {'; '.join(parts)}", width, "")
        if parts
        else []
    )


def _costs(verdict: Verdict, width: int) -> list[str]:
    """What each arm carried and cost by itself."""
    lines = [
        f"{row['arm']} carries {row['rate']} at {capacity_limit(verdict)}"
        for row in capacity_rows(verdict)
    ]
    lines += [
        f"{row['arm']} at {row['price']}: {row['cost']} a million transactions"
        for row in cost_rows(verdict)
    ]
    lines += [cost.sentence for cost in verdict.costs if cost.sentence]
    return [line for text in lines for line in wrapped(text, width, "")]


def _lateness(verdict: Verdict, width: int) -> list[str]:
    """How each arm kept up with given arrivals."""
    return [
        line
        for lateness in verdict.lateness
        for line in wrapped(
            f"captured arrivals at × {verdict.pace:g}: {lateness.arm} began {lateness.begun}, "
            f"{lateness.late_starts} late, "
            f"{format_duration(1000 * lateness.lag_mean_us)} on average, "
            f"at most {format_duration(1000 * lateness.lag_max_us)}; "
            f"{lateness.unstarted} had not begun when their slice ended",
            width,
            "",
        )
    ]


def _standbys(verdict: Verdict, width: int) -> list[str]:
    """How far behind the standbys of each arm were at the end."""
    lags = (f"standbys of {lag_line(lag)}" for lag in verdict.standbys)
    return [line for lag in lags for line in wrapped(lag, width, "")]


def _turns(verdict: Verdict, width: int) -> list[str]:
    """What turns show beside the contrasts: the effect by distance, evenness and stalls."""
    turns = verdict.turns
    if turns is None:
        return []
    several = len(verdict.contrasts) > 1
    lines = [
        f"{f'{effect.arm} ' if several else ''}at a checkpoint every "
        f"{format_duration(effect.seconds * NS_PER_S)}: {reading_text(effect)}; computed"
        for effect in verdict.by_distance
    ]
    control = verdict.contrasts[0].control
    for evenness in turns.evenness:
        if evenness.metric == "throughput_cv":
            pairs = ((control, evenness.control_value), (evenness.arm, evenness.arm_value))
            values = ", ".join(f"{evenness_value(evenness.metric, cv)} {arm}" for arm, cv in pairs)
            lines.append(f"CV of throughput by the second: {values}; {reading_text(evenness)}")
    arms = [total.arm for total in turns.sums if total.turns]
    lines += [f"stalls: {'; '.join(map(_stalls, stall_sums(arms, turns)))}"] if arms else []
    return [line for text in lines for line in wrapped(text, width, "")]


def _stalls(row: Mapping[str, str]) -> str:
    """`"none in on"`, `"7 in off, 7 s (0.91 % of the time), 0 storms"`."""
    if row["stalls"] == "0":
        return f"none in {row['arm']}"
    storms = f"{row['storms']} storm{'' if row['storms'] == '1' else 's'}"
    return f"{row['stalls']} in {row['arm']}, {row['time']}, {storms}"


def time_lines(time: TimeParts, width: int, plans: Sequence[str] = ()) -> list[str]:
    """Where a transaction's time goes: the cause, every part, and what holds either arm up.
    `plans`: what changed where plans flipped."""
    return [
        *(
            line
            for text in cause_lines([time], {time.arm: plans})
            for line in wrapped(text, width, "")
        ),
        *contrast_table("of a transaction's time", time.control, time.arm, part_rows(time), width),
        *wrapped(bottleneck_line(time), width, ""),
    ]


def _causes(verdict: Verdict, width: int) -> list[str]:
    lines = [
        line
        for time in verdict.time
        for line in time_lines(time, width, plan_reasons(verdict, time.arm))
    ]
    for arm in dict.fromkeys(cause.arm for cause in verdict.causes):
        about = [cause for cause in verdict.causes if cause.arm == arm]
        title = "cause, per transaction"
        lines += contrast_table(title, about[0].control, arm, cause_rows(about), width)
        lines += wrapped(none_line(about), width, "")
    lines += statement_cost_lines(verdict, width)
    lines += query_lines(verdict, width) + _work(verdict, width) + _devices(verdict, width)
    return lines + _pages(verdict.pages, width)


def _work(verdict: Verdict, width: int) -> list[str]:
    """What the workload counts of its own work, as NOPM is."""
    lines: list[str] = []
    for row in verdict.work:
        name = row.metric.removesuffix("_per_minute").replace("_", " ")
        values = f"{amount(row.control_value)} {row.control}, {amount(row.arm_value)} {row.arm}"
        lines += wrapped(f"{name} a minute: {values}; {reading_text(row)}", width, "")
    return lines


def _devices(verdict: Verdict, width: int) -> list[str]:
    """What the devices did while each arm was driven, where the work keeps one at it."""
    devices = verdict.devices
    if devices is None:
        return []
    lines = wrapped(not_available(devices), width, "") if devices.missing else []
    for contrast in verdict.contrasts:
        rows = figure_rows(used_figures(devices, contrast.arm))
        lines += (
            contrast_table(devices_text(devices), contrast.control, contrast.arm, rows, width)
            if rows
            else []
        )
    return lines


def _builds(verdict: Verdict, width: int) -> list[str]:
    """What the builds of the arms assume differently, and how often data was loaded."""
    texts = [*default_lines(verdict), loads_line(verdict.loads)]
    return [line for text in texts if text for line in wrapped(text, width, "")]


def _plans(verdict: Verdict, width: int) -> list[str]:
    """Statements whose plan flipped, each with its first flip and its time."""
    several = len(verdict.contrasts) > 1
    lines: list[str] = []
    scripts = {(row.arm, row.script) for row in verdict.scripts if row.flips}
    arms = [contrast.arm for contrast in verdict.contrasts]
    timed = {(arm, row.script) for arm in arms for row in within_scripts(verdict, arm)}
    listed = scripts | timed
    plans = [plan for plan in verdict.plans if (plan.arm, _script_of(plan)) not in listed]
    for plan in plans[:_MOST_PLANS]:
        more = len(plan.flips) - 1
        flip = plan.flips[0] + (f" and {more} more" if more else "")
        time = f"; {time_text(plan.time)}" if plan.time else ""
        arm = f" of {plan.arm}" if several else ""
        statement = shorten(plan.statement, _SHORT_STATEMENT, placeholder=" …")
        lines += wrapped(f"plan{arm} flipped: {flip}{time} ({statement})", width, "")
    return [*lines, *rest_in_report(len(plans) - _MOST_PLANS, "plans")]


def _script_of(plan: FlippedPlan) -> str:
    return plan.statement.partition(": ")[0]


def _pages(pages: Pages | None, width: int) -> list[str]:
    if pages is None or not math.isfinite(pages.verified_per_transaction):
        return []
    text = f"pages verified per transaction: {amount(pages.verified_per_transaction)}"
    return wrapped("; ".join(filter(None, (text, page_price(pages)))), width, "")


_NAMES = {"queue": "processor wait", "locks": "lock"}
"""Of parts whose names in the record are short."""


def verdict_json(verdict: Verdict) -> str:
    """One object: what verdict.json holds; where the time of a transaction goes is in its contrast
    too, in µs, as `parts` and `cause` (a part's name, or null). `scope`: whether chance drew the
    arms' places on this machine, or each arm is a running server as it stands."""
    times = {time.arm: time for time in verdict.time}
    facts = verdict.to_json()
    contrasts = [
        {**line.to_json(), **_time_facts(times.get(line.arm))} for line in verdict.contrasts
    ]
    threats = {threat.name for line in verdict.contrasts for threat in line.threats}
    scope = "instances" if ThreatKind.ADDRESS_ONLY in threats else "machine"
    return json.dumps({**facts, "contrasts": contrasts, "scope": scope})


def _time_facts(time: TimeParts | None) -> Mapping[str, object]:
    if time is None:
        return {"parts": [], "cause": None}
    parts = [
        {
            "name": _NAMES.get(part.part, part.part),
            "control_us": part.control_us,
            "arm_us": part.arm_us,
            "difference_us": part.difference_us,
            "low_us": part.low_us,
            "high_us": part.high_us,
        }
        for part in time.parts
    ]
    cause = time.named_cause
    name = None if cause is None else _NAMES.get(cause.part, cause.part)
    return {"parts": parts, "cause": name}
