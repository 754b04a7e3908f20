"""A verdict of Steelyard as `judge` shows it: the record's own words, interval and doubts."""

from __future__ import annotations

from steelyard.cli.views.summary import doubt_lines, ruling_lines, wrapped
from steelyard.foreign.tools.steelyard_verdict import JUDGED, SavedVerdict

_LEAST = 50


def render_recorded(recorded: SavedVerdict, width: int) -> str:
    """Plain lines no wider than `width` (at least 50)."""
    width = max(width, _LEAST)
    blocks = [ruling_lines(contrast, width) for contrast in recorded.contrasts]
    blocks.append(doubt_lines(recorded.contrasts, width))
    blocks.append(
        wrapped(f'A weighing of the study "{recorded.study}", judged {JUDGED}.', width, "")
    )
    return "\n\n".join("\n".join(block) for block in blocks)
