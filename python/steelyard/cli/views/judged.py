"""A judgement as a terminal shows it: verdict and beam, the rows, what stands behind, doubts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.cli.views.beam import beam_lines
from steelyard.cli.views.rows import borders_of, rows_lines
from steelyard.cli.views.summary import wrapped
from steelyard.model.units import format_percent
from steelyard.report.words import MARKS, finite, full_stop

Facts = Mapping[str, Any]
_LEAST = 50
_MOST_BEAM = 76
_BEHIND = ("pairing", "replicates", "centres", "visible")
_DOUBTED = ("level steps", "Little's law")


def render_judgement(
    judgement: Facts, sentences: Sequence[str], rows: Mapping[str, Sequence[float]], width: int
) -> str:
    """Plain lines no wider than `width` (at least 50).

    `judgement` as `judge --json` prints it, a sentence a contrast, and the rows of every arm.
    """
    width = max(width, _LEAST)
    if judgement["cannot_judge"]:
        blocks = [_cannot(judgement, width)]
    else:
        blocks = [
            _ruling(contrast, said, width)
            for contrast, said in zip(judgement["contrasts"], sentences, strict=True)
        ]
        blocks.append(_rows(judgement, rows, width))
    blocks.append(_arms(judgement, width))
    blocks.append(list(_behind(judgement, width)))
    blocks.append(list(_doubts(judgement["contrasts"], width)))
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _ruling(contrast: Facts, said: str, width: int) -> list[str]:
    word = str(contrast["verdict"])
    told = full_stop(said.removeprefix(f"{word}: "))
    lines = [f"{MARKS[word]} {word.upper()}", *wrapped(told, width, "")]
    beam = beam_lines(contrast, contrast["details"]["margin_percent"], min(width - 2, _MOST_BEAM))
    return [*lines, "", *(f"  {line}".rstrip() for line in beam)]


def _cannot(judgement: Facts, width: int) -> list[str]:
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


def _metric(judgement: Facts) -> str:
    name = str(judgement["metric"]).replace("latency_mean", "mean latency").replace("_", " ")
    return f"{name} ({judgement['unit']})" if judgement["unit"] else name


def _rows(judgement: Facts, rows: Mapping[str, Sequence[float]], width: int) -> list[str]:
    drawn = rows_lines(rows, borders_of(judgement), str(judgement["unit"]), width - 2)
    lost = judgement["row_order"] == "lost"
    placed = "as given, in no order of time" if lost else "in their order"
    return [f"rows {placed}, on a scale of ratios", *(f"  {line}".rstrip() for line in drawn)]


def _arms(judgement: Facts, width: int) -> list[str]:
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


def _behind(judgement: Facts, width: int) -> Iterator[str]:
    """Findings as a list; those that the doubts tell are left to them."""
    several = len(judgement["contrasts"]) > 1
    told = [f for f in judgement["findings"] if f["name"] not in _DOUBTED]
    if not told:
        return
    yield "what stands behind it"
    for finding in told:
        name = f"{finding['arm']}: " if several and finding["name"] in _BEHIND else ""
        yield from wrapped(f"- {name}{finding['said']}", width, "  ")
        if finding["name"] == "to measure":
            yield "    all of it, restarts and random order too:"
            yield f"    {finding['command']}"  # to be copied, however long


def _doubts(contrasts: Sequence[Facts], width: int) -> Iterator[str]:
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
