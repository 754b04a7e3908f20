"""Formats a judgement of foreign numbers: verdicts, charts of intervals and rows, threats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from steelyard.cli.views.interval_chart import interval_chart
from steelyard.cli.views.row_plot import level_borders, row_plot
from steelyard.cli.views.text_layout import wrapped
from steelyard.cli.views.verdict_view import contrast_lines, threat_lines
from steelyard.foreign.tools.steelyard_verdict import JUDGED, SavedVerdict
from steelyard.model.units import format_percent
from steelyard.report.contrast import Contrast, Json, finite, read_contrasts
from steelyard.report.contrast_text import MARKS, full_stop

_LEAST_WIDTH = 50
_MOST_CHART = 76
_OF_AN_ARM = ("pairing", "replicates", "centres", "visible")
_SHOWN_AS_THREATS = ("level steps", "Little's law")


def render_judgement(
    judgement: Json, sentences: Sequence[str], rows: Mapping[str, Sequence[float]], width: int
) -> str:
    """Plain lines no wider than `width` (at least 50).

    `judgement` as `judge --json` prints it, a sentence a contrast, and the rows of every arm.
    """
    width = max(width, _LEAST_WIDTH)
    if judgement["cannot_judge"]:
        blocks = [_cannot(judgement, width)]
    else:
        blocks = [
            _contrast(contrast, sentence, width)
            for contrast, sentence in zip(
                read_contrasts(judgement["contrasts"]), sentences, strict=True
            )
        ]
        blocks.append(_rows(judgement, rows, width))
    blocks.append(_arms(judgement, width))
    blocks.append(list(_findings(judgement, width)))
    blocks.append(list(_threats(judgement["contrasts"], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _contrast(contrast: Contrast, sentence: str, width: int) -> list[str]:
    word = contrast.word
    text = full_stop(sentence.removeprefix(f"{word}: "))
    lines = [f"{MARKS[word]} {word.upper()}", *wrapped(text, width, "")]
    margin = contrast.margin_percent or 1.0
    chart = interval_chart(contrast, margin, min(width - 2, _MOST_CHART))
    return [*lines, "", *(f"  {line}".rstrip() for line in chart)]


def _cannot(judgement: Json, width: int) -> list[str]:
    lines = [f"? {judgement['cannot_judge']}"]
    given = "; ".join(
        f"{contrast['arm']} against {contrast['control']} "
        f"{format_percent(contrast['estimate_percent'], 1)}"
        for contrast in judgement["contrasts"]
    )
    return lines + wrapped(
        f"As given, of {_metric(judgement)}: {given}. Measured again, each could be elsewhere; how "
        "far, one value cannot say.",
        width,
        "",
    )


def _metric(judgement: Json) -> str:
    name = str(judgement["metric"]).replace("latency_mean", "mean latency").replace("_", " ")
    return f"{name} ({judgement['unit']})" if judgement["unit"] else name


def _rows(judgement: Json, rows: Mapping[str, Sequence[float]], width: int) -> list[str]:
    drawn = row_plot(rows, level_borders(judgement), str(judgement["unit"]), width - 2)
    lost = judgement["row_order"] == "lost"
    placed = "as given, in no order of time" if lost else "in their order"
    return [f"rows {placed}, on a scale of ratios", *(f"  {line}".rstrip() for line in drawn)]


def _arms(judgement: Json, width: int) -> list[str]:
    """The table of arms; columns that do not fit are left out from the right."""
    head = ["arm", "rows", "mean", "median", "lowest", "highest", "sd of a row"]
    table = [head]
    for arm in judgement["arms"]:
        scatter = finite(arm["sd_percent"])
        figures = [_four(arm[key]) for key in ("mean", "median", "lowest", "highest")]
        spread = "none" if scatter is None else f"{scatter:.1f} %"
        table.append([arm["arm"], str(arm["rows"]), *figures, spread])
    wide = [max(len(row[column]) for row in table) for column in range(len(head))]
    count = len(head)
    while count > 2 and sum(wide[:count]) + 2 * (count - 1) > width:
        count -= 1
    name = min(wide[0], width - sum(wide[1:count]) - 2 * (count - 1))
    return [
        "  ".join(
            [f"{row[0][:name]:<{name}}", *(f"{row[c]:>{wide[c]}}" for c in range(1, count))]
        ).rstrip()
        for row in table
    ]


def _four(value: float) -> str:
    """Four significant digits, more before the point: `1053`, `0.1131`."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _findings(judgement: Json, width: int) -> Iterator[str]:
    """Findings as a list, without those that are shown as threats."""
    several = len(judgement["contrasts"]) > 1
    findings = [f for f in judgement["findings"] if f["name"] not in _SHOWN_AS_THREATS]
    if not findings:
        return
    yield "findings"
    for finding in findings:
        name = f"{finding['arm']}: " if several and finding["name"] in _OF_AN_ARM else ""
        yield from wrapped(f"- {name}{finding['said']}", width, "  ")
        if finding["name"] == "to measure":
            yield "    all of it, restarts and random order too:"
            yield f"    {finding['command']}"  # to be copied, however long


def _threats(contrasts: Sequence[Json], width: int) -> Iterator[str]:
    """Every threat by its name: all that was seen, then cause and advice once."""
    threats = [threat for contrast in contrasts for threat in contrast["threats"]]
    if not threats:
        yield "doubts: none of the known threats was seen"
        return
    yield "doubts"
    threats.sort(key=lambda threat: not threat["invalidates"])
    for name in dict.fromkeys(threat["name"] for threat in threats):
        same = [threat for threat in threats if threat["name"] == name]
        fatal = " (makes the verdict invalid)" if same[0]["invalidates"] else ""
        seen = list(dict.fromkeys(threat["seen"] for threat in same))
        yield from wrapped(f"- {name}{fatal}: {seen[0]}", width, "  ")
        for more in seen[1:]:
            yield from wrapped(f"  {more}", width, "  ")
        yield from wrapped(f"  cause: {same[0]['cause']}", width, "  ")
        yield from wrapped(f"  advice: {same[0]['advice']}", width, "  ")


def render_saved_verdict(saved: SavedVerdict, width: int) -> str:
    """A verdict of Steelyard's own, in plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST_WIDTH)
    contrasts = read_contrasts(saved.contrasts)
    blocks = [contrast_lines(contrast, width) for contrast in contrasts]
    blocks.append(threat_lines(contrasts, width))
    blocks.append(wrapped(f'A weighing of the study "{saved.study}", judged {JUDGED}.', width, ""))
    return "\n\n".join("\n".join(block) for block in blocks)
