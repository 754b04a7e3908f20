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
        own = [one for one in findings if one.level == level]
        if own:
            lines += ["", f"{title}:"]
        for one in own:
            lines += wrapped(f"- {_MARKS[level]} {one.name}: {one.seen}", width, "  ")
            if level in ("warning", "note"):
                lines += wrapped(f"  matters for {one.matters_for}", width, "    ")
                lines += wrapped(f"  advice: {one.advice} ({one.source})", width, "    ")
    return lines


def _summary(findings: Sequence[HostFinding]) -> str:
    counts = {level: sum(one.level == level for one in findings) for level in _TITLES}
    warnings = counts["warning"]
    told = f"{warnings or 'no'} warning{'' if warnings == 1 else 's'}"
    notes, unseen = counts["note"], counts["unseen"]
    return (
        f"{told}, {notes} note{'' if notes == 1 else 's'}, {counts['good']} as it should be, "
        f"{unseen} could not be seen"
    )
