"""Draws the badge of a question, for a README: its name and its newest reading."""

from __future__ import annotations

from markupsafe import Markup

from steelyard.history.question import Question
from steelyard.report.contrast_text import MARKS
from steelyard.site.wording import short_reading

_CHARACTER = 6.7
_TONES = {
    "slower": "#a3241c",
    "faster": "#1b6e3c",
    "equivalent": "#2f5d8a",
    "inconclusive": "#6b5300",
    "invalid": "#5d2a77",
}
"""Of at least 5:1 against white."""
_PICTURE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
    'aria-label="{words}"><title>{words}</title>'
    '<rect width="{left}" height="20" fill="#4a4f57"/>'
    '<rect x="{left}" width="{right}" height="20" fill="{tone}"/>'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
    'text-anchor="middle"><text x="{left_middle}" y="14" textLength="{left_text}" '
    'lengthAdjust="spacingAndGlyphs">{name}</text><text x="{right_middle}" y="14" '
    'textLength="{right_text}" lengthAdjust="spacingAndGlyphs">{said}</text></g></svg>\n'
)


def draw_badge(question: Question) -> Markup:
    """`checksums │ ▲ +3.3 % [2.7, 4.0]`; the verdict is a sign and a colour."""
    newest = question.newest
    name = newest.entry.study
    said = f"{MARKS.get(newest.reading.verdict, '?')} {short_reading(newest.reading)}"
    left, right = (round(len(words) * _CHARACTER) + 14 for words in (name, said))
    return _PICTURE.format(
        width=left + right,
        left=left,
        right=right,
        left_middle=left / 2,
        right_middle=left + right / 2,
        left_text=left - 14,
        right_text=right - 14,
        name=name,
        said=said,
        tone=_TONES.get(newest.reading.verdict, "#4a4f57"),
        words=f"{question.label}: {newest.reading.verdict}, {short_reading(newest.reading)}",
    )
