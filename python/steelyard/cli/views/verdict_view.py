"""Formats a verdict for a terminal: sentences, interval charts, causes, threats, the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.cli.views.interval_chart import interval_chart
from steelyard.cli.views.text_layout import wrapped
from steelyard.model.units import NS_PER_S, format_duration
from steelyard.report.build_differences import default_lines, loads_line
from steelyard.report.contrast import Contrast, Json, finite, read_contrasts
from steelyard.report.contrast_text import MARKS, row_reading, shown_sentence, truth_text
from steelyard.report.incidents import interruption_text
from steelyard.report.tables import amount, cause_rows

_INDENT = "  "
_MOST_CHART = 76
_LEAST_WIDTH = 50


def render_verdict(verdict: Json, width: int) -> str:
    """The whole summary as plain lines no wider than `width` (at least 50), colourless."""
    width = max(width, _LEAST_WIDTH)
    blocks: list[list[str]] = []
    contrasts = read_contrasts(verdict.get("contrasts"))
    blocks += [contrast_lines(contrast, width) for contrast in contrasts]
    blocks.append(_causes(verdict, width))
    blocks.append(_builds(verdict, width))
    blocks.append(
        [*threat_lines(contrasts, width), *wrapped(interruption_text(verdict), width, "")]
    )
    blocks.append(record_lines(verdict))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def contrast_lines(contrast: Contrast, width: int) -> list[str]:
    """The verdict of one contrast, its own sentence, and the interval as a chart."""
    word = contrast.word
    lines = [
        f"{MARKS.get(word, '?')} {word.upper()}",
        *wrapped(shown_sentence(contrast), width, ""),
    ]
    truth = truth_text(contrast)
    lines += wrapped(f"It {truth}.", width, "") if truth else []
    margin = contrast.margin_percent or 1.0
    chart = interval_chart(contrast, margin, min(width - len(_INDENT), _MOST_CHART))
    return [*lines, "", *(f"{_INDENT}{line}".rstrip() for line in chart)]


def _causes(verdict: Json, width: int) -> list[str]:
    causes = list(verdict.get("causes") or [])
    contrasts = verdict.get("contrasts") or [{}]
    lines: list[str] = []
    for arm in dict.fromkeys(str(c.get("arm") or contrasts[0].get("arm")) for c in causes):
        about = [c for c in causes if str(c.get("arm") or contrasts[0].get("arm")) == arm]
        lines += _cause_table(str(contrasts[0].get("control")), arm, cause_rows(about), width)
    return (
        lines
        + _queries(verdict, width)
        + _work(verdict, width)
        + _pages(verdict.get("pages"), width)
    )


def _queries(verdict: Json, width: int) -> list[str]:
    """A row a query, where each was a slice of its own."""
    lines: list[str] = []
    for row in verdict.get("queries") or []:
        values = [amount(row.get(f"{side}_ms"), "ms") for side in ("control", "arm")]
        lost = sum(int(row.get(f"{side}_unfinished") or 0) for side in ("control", "arm"))
        more = f" ({lost} not finished: counted with their time until then)" if lost else ""
        more += " (not in the mean)" if row.get("excluded") else ""
        lines.append(
            f"{row.get('query')}  {values[0]:>10}  {values[1]:>10}  {row_reading(row)}{more}"
        )
    return [line for one in lines for line in wrapped(one, width, "")]


def _work(verdict: Json, width: int) -> list[str]:
    """What the workload counts of its own work, as NOPM is."""
    lines: list[str] = []
    for row in verdict.get("work") or []:
        name = str(row.get("metric", "")).removesuffix("_per_minute").replace("_", " ")
        values = [
            f"{amount(row.get(f'{side}_value'))} {row.get(side)}" for side in ("control", "arm")
        ]
        lines += wrapped(f"{name} a minute: {', '.join(values)}; {row_reading(row)}", width, "")
    return lines


def _cause_table(
    control: str, arm: str, rows: Sequence[Mapping[str, str]], width: int
) -> list[str]:
    head = {"metric": "cause, per transaction", "control": control, "arm": arm, "reading": "change"}
    wide = {key: max(len(row[key]) for row in [head, *rows]) for key in head}
    lines = []
    for row in [head, *rows]:
        first = f"{row['metric']:<{wide['metric']}}"
        values = f"{row['control']:>{wide['control']}}  {row['arm']:>{wide['arm']}}"
        line = f"{first}  {values}  {row['reading']}"
        # On a narrow terminal the values go and the contrast, which is the finding, stays.
        lines.append(line if sum(wide.values()) + 6 <= width else f"{first}  {row['reading']}")
    return lines


def _builds(verdict: Json, width: int) -> list[str]:
    """What the builds of the arms assume differently, and how often data was loaded."""
    texts = [*default_lines(verdict), loads_line(verdict.get("loads"))]
    return [line for text in texts if text for line in wrapped(text, width, "")]


def _pages(pages: Json | None, width: int) -> list[str]:
    if not pages or finite(pages.get("verified_per_transaction")) is None:
        return []
    text = f"pages verified per transaction: {amount(pages['verified_per_transaction'])}"
    if finite(pages.get("low")) is not None and finite(pages.get("high")) is not None:
        text += (
            f"; {amount(pages.get('nanoseconds_per_page'), 'ns')} a page"
            f" [{amount(pages['low'])}, {amount(pages['high'])}]"
        )
        text += ", not distinguishable from zero" if pages["low"] <= 0 <= pages["high"] else ""
    return wrapped(text, width, "")


def threat_lines(contrasts: Sequence[Contrast], width: int) -> list[str]:
    """Every threat once, those that invalidate first, with cause and advice."""
    threats = {(t.name, t.seen): t for contrast in contrasts for t in contrast.threats}
    withdrawn = {(t.name, t.seen): t for contrast in contrasts for t in contrast.withdrawn}
    if not threats and not withdrawn:
        return ["doubts: none of the known threats was seen"]
    lines = ["doubts"]
    for threat in sorted(threats.values(), key=lambda t: not t.invalidates):
        fatal = " (makes the verdict invalid)" if threat.invalidates else ""
        lines += wrapped(f"- {threat.name}{fatal}: {threat.seen}", width, _INDENT)
        lines += wrapped(f"  cause: {threat.cause}", width, _INDENT)
        lines += wrapped(f"  advice: {threat.advice}", width, _INDENT)
    for threat in withdrawn.values():
        lines += wrapped(f"- withdrawn: {threat.name}: {threat.seen}", width, _INDENT)
        lines += wrapped(f"  {threat.why}", width, _INDENT)
    return lines


def record_lines(verdict: Json) -> list[str]:
    """Paths and the command stay on one line each, however long, to be copied."""
    record = verdict.get("record")
    seconds = finite(verdict.get("whole_seconds")) or finite(verdict.get("seconds"))
    study, seed = verdict.get("study"), verdict.get("seed")
    command = verdict.get("command") or f"steelyard weigh {study} --seed {seed}"
    lines = [f"record  {record}", f"report  {record}/report.html", f"repeat  {command}"]
    if seconds is not None:
        measured = finite(verdict.get("measured_seconds"))
        took = f"took    {format_duration(round(seconds) * NS_PER_S)}"
        if measured is not None:
            took += f", {format_duration(round(measured) * NS_PER_S)} of it under load"
        lines.append(took)
    return lines
