"""Formats what the doctor found: warnings with their advice first, what is well in a line each."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.cli.views.text_layout import wrapped
from steelyard.telemetry.doctor.finding import HostFinding, Level

_MARKS: dict[Level, str] = {"warning": "!", "note": "·", "good": "✓", "unseen": "?"}
_TITLES: dict[Level, str] = {
    "warning": "would spoil a weighing",
    "note": "worth knowing",
    "good": "as it should be",
    "unseen": "could not be seen",
}


def doctor_lines(findings: Sequence[HostFinding], width: int) -> list[str]:
    """Every finding, by level; advice where there is something to do."""
    lines = [_summary(findings)]
    for level, title in _TITLES.items():
        of_level = [finding for finding in findings if finding.level == level]
        if of_level:
            lines += ["", f"{title}:"]
        for finding in of_level:
            lines += wrapped(f"- {_MARKS[level]} {finding.name}: {finding.seen}", width, "  ")
            if level in ("warning", "note"):
                lines += wrapped(f"  matters for {finding.matters_for}", width, "    ")
                lines += wrapped(f"  advice: {finding.advice} ({finding.source})", width, "    ")
    return lines


def _summary(findings: Sequence[HostFinding]) -> str:
    counts = {level: sum(finding.level == level for finding in findings) for level in _TITLES}
    warnings = counts["warning"]
    warning_text = f"{warnings or 'no'} warning{'' if warnings == 1 else 's'}"
    notes, unseen = counts["note"], counts["unseen"]
    return (
        f"{warning_text}, {notes} note{'' if notes == 1 else 's'}, "
        f"{counts['good']} as it should be, {unseen} could not be seen"
    )
