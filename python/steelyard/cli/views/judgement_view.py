"""Formats a judgement of foreign numbers: verdicts, charts of intervals and rows, threats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.cli.views.interval_chart import interval_chart
from steelyard.cli.views.row_plot import level_borders, row_plot
from steelyard.cli.views.text_layout import arm_names, wrapped
from steelyard.cli.views.verdict_view import contrast_lines, threat_lines, time_lines
from steelyard.foreign.judgement.judgement import Judgement
from steelyard.foreign.judgement.number_sets import RowOrder
from steelyard.foreign.tools.steelyard_verdict import JUDGED, SavedVerdict
from steelyard.model.files.columns import columns_of, padded
from steelyard.model.threat import Threat
from steelyard.model.units import format_digits, format_percent
from steelyard.record.contrast import JudgedContrast
from steelyard.wording.contrast_text import MARKS, full_stop

_LEAST_WIDTH = 50
_MOST_CHART = 76
_MOST_NAME = 28
"""Columns of an arm's name in a table."""
_BESIDE_NAME = 30
"""Columns of a plot's heading that are not the name of its arm: what stands left, and the unit."""
_OF_AN_ARM = ("pairing", "replicates", "centres", "visible")
_SHOWN_AS_THREATS = ("level steps", "Little's law")


def render_judgement(judgement: Judgement, width: int) -> str:
    """Plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST_WIDTH)
    contrasts = [judgement.judged(contrast) for contrast in judgement.contrasts]
    if judgement.cannot:
        blocks = [_cannot(judgement, contrasts, width)]
    else:
        margins = [contrast.details.margin_percent for contrast in judgement.contrasts]
        blocks = [
            _contrast(contrast, margin, width)
            for contrast, margin in zip(contrasts, margins, strict=True)
        ]
        blocks.append(_rows(judgement, width))
    if judgement.reading is not None:
        blocks.insert(
            0, [part for line in judgement.reading.lines for part in _reading_lines(line, width)]
        )
    blocks.append(_arms(judgement, width))
    blocks.append(list(_findings(judgement, width)))
    blocks.append(list(_threats([t for contrast in contrasts for t in contrast.threats], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _reading_lines(line: str, width: int) -> list[str]:
    return wrapped(line, width, "  ")


def _contrast(contrast: JudgedContrast, margin_percent: float, width: int) -> list[str]:
    word = contrast.verdict
    text = full_stop(contrast.sentence.removeprefix(f"{word}: "))
    lines = [f"{MARKS[word]} {word.upper()}", *wrapped(text, width, "")]
    chart = interval_chart(contrast, margin_percent, min(width - 2, _MOST_CHART))
    return [*lines, "", *(f"  {line}".rstrip() for line in chart)]


def _cannot(judgement: Judgement, contrasts: Sequence[JudgedContrast], width: int) -> list[str]:
    lines = [f"? {judgement.cannot}"]
    estimates = "; ".join(
        f"{contrast.pair} {format_percent(contrast.estimate_percent or 0.0, 1)}"
        for contrast in contrasts
    )
    return lines + wrapped(
        f"As given, of {_metric(judgement)}: {estimates}. Measured again, each could be elsewhere; "
        "how far, one value cannot say.",
        width,
        "",
    )


def _metric(judgement: Judgement) -> str:
    metric = judgement.comparison.metric
    name = metric.name.replace("latency_mean", "mean latency").replace("_", " ")
    return f"{name} ({metric.unit})" if metric.unit else name


def _rows(judgement: Judgement, width: int) -> list[str]:
    arms = judgement.comparison.arms
    names = arm_names([arm.arm for arm in arms], width - _BESIDE_NAME)
    rows = {name: arm.values.tolist() for name, arm in zip(names, arms, strict=True)}
    borders, unit = level_borders(judgement.common_steps), judgement.comparison.metric.unit
    drawn = row_plot(rows, borders, unit, width - 2)
    lost = judgement.overview.row_order is RowOrder.LOST
    placed = "as given, in no order of time" if lost else "in their order"
    return [f"rows {placed}, on a scale of ratios", *(f"  {line}".rstrip() for line in drawn)]


def _arms(judgement: Judgement, width: int) -> list[str]:
    """The table of arms; names are cut, and columns that do not fit are left out from the right."""
    head = ["arm", "rows", "mean", "median", "lowest", "highest", "sd of a row"]
    names = arm_names([arm.arm for arm in judgement.arms], _MOST_NAME)
    table = [head]
    for name, arm in zip(names, judgement.arms, strict=True):
        figures = [_four(value) for value in (arm.mean, arm.median, arm.lowest, arm.highest)]
        spread = "none" if arm.sd_percent is None else f"{arm.sd_percent:.1f} %"
        table.append([name, str(arm.rows), *figures, spread])
    wide = [max(columns_of(row[column]) for row in table) for column in range(len(head))]
    count = len(head)
    while count > 2 and sum(wide[:count]) + 2 * (count - 1) > width:
        count -= 1
    return [
        "  ".join(
            [padded(row[0], wide[0]), *(f"{row[c]:>{wide[c]}}" for c in range(1, count))]
        ).rstrip()
        for row in table
    ]


def _four(value: float) -> str:
    """Four significant digits, more before the point: `1053`, `0.1131`."""
    return f"{value:.0f}" if abs(value) >= 1000 else format_digits(value, 4)


def _findings(judgement: Judgement, width: int) -> Iterator[str]:
    """Findings as a list, without those that are shown as threats."""
    several = len(judgement.contrasts) > 1
    findings = [finding for finding in judgement.findings if finding.name not in _SHOWN_AS_THREATS]
    if not findings:
        return
    yield "findings"
    for finding in findings:
        name = f"{finding.arm}: " if several and finding.name in _OF_AN_ARM else ""
        yield from wrapped(f"- {name}{finding.said}", width, "  ")
        if finding.command:
            yield "    all of it, restarts and random order too:"
            yield f"    {finding.command}"  # to be copied, however long


def _threats(threats: list[Threat], width: int) -> Iterator[str]:
    """Every threat by its name: all that was seen, then cause and advice once."""
    if not threats:
        yield "doubts: none of the known threats was seen"
        return
    yield "doubts"
    threats = sorted(threats, key=lambda threat: not threat.invalidates)
    for name in dict.fromkeys(threat.name for threat in threats):
        same = [threat for threat in threats if threat.name == name]
        fatal = " (makes the verdict invalid)" if same[0].invalidates else ""
        observations = list(dict.fromkeys(threat.seen for threat in same))
        yield from wrapped(f"- {name}{fatal}: {observations[0]}", width, "  ")
        for more in observations[1:]:
            yield from wrapped(f"  {more}", width, "  ")
        yield from wrapped(f"  cause: {same[0].cause}", width, "  ")
        yield from wrapped(f"  advice: {same[0].advice}", width, "  ")


def render_saved_verdict(saved: SavedVerdict, width: int) -> str:
    """A verdict of Steelyard's own, in plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST_WIDTH)
    contrasts = saved.shown
    blocks = [
        contrast_lines(contrast.judged, contrast.truth, contrast.margin_percent, width)
        for contrast in contrasts
    ]
    blocks += [time_lines(time, width) for time in saved.times]
    threats = [threat for contrast in contrasts for threat in contrast.judged.threats]
    withdrawn = [threat for contrast in contrasts for threat in contrast.withdrawn]
    blocks.append(threat_lines(threats, withdrawn, width))
    blocks.append(wrapped(f'A weighing of the study "{saved.study}", judged {JUDGED}.', width, ""))
    return "\n\n".join("\n".join(block) for block in blocks)
