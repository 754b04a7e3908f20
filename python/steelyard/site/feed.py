"""Writes the Atom feeds (RFC 4287) and badges by which other pages and readers link to the site."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from urllib.parse import quote

from markupsafe import Markup, escape

from steelyard.history.export import iso
from steelyard.history.question import Point, QuestionHistory
from steelyard.model.files.printable import printable_xml
from steelyard.site.address import sentence, short_reading
from steelyard.wording.contrast_text import MARKS

MOST_ENTRIES = 50
_FEED = Markup(
    '<?xml version="1.0" encoding="utf-8"?>\n'
    '<feed xmlns="http://www.w3.org/2005/Atom">\n<id>{id}</id>\n<title>{title}</title>\n'
    "<updated>{updated}</updated>\n<author><name>Steelyard</name></author>\n"
    '<link rel="alternate" href="{page}"/>\n{entries}</feed>\n'
)
_ENTRY = Markup(
    "<entry>\n<id>{id}</id>\n<title>{title}</title>\n<updated>{updated}</updated>\n"
    '<link rel="alternate" href="{page}"/>\n<content type="text">{words}</content>\n</entry>\n'
)


def feed(
    title: str, name: str, points: Sequence[Point], page: str, of: Callable[[Point], str]
) -> str:
    """The feed of these answers. `name`: what makes its identity, which never changes; `page`: what
    it is the feed of; `of`: the address of an answer. Addresses are relative to the feed."""
    newest = sorted(points, key=lambda point: (point.entry.at, point.entry.path), reverse=True)
    recent = newest[:MOST_ENTRIES]
    text = _FEED.format(
        id=_identity(name),
        title=title,
        updated=iso(recent[0].entry.at) if recent else "1970-01-01T00:00:00Z",
        page=quote(page),
        entries=Markup("").join(_entry(point, quote(of(point), safe="/#")) for point in recent),
    )
    return printable_xml(text)


def _entry(point: Point, address: str) -> Markup:
    entry, reading = point.entry, point.reading
    doubts = f" Doubts: {', '.join(reading.doubts)}." if reading.doubts else ""
    return _ENTRY.format(
        id=_identity(f"{entry.path} {reading.question}"),
        title=f"{entry.study}: {reading.verdict}, {reading.pair}",
        updated=iso(entry.at),
        page=address,
        words=escape(sentence(reading) + doubts),
    )


def _identity(name: str) -> str:
    """A URN that is the same whenever the feed is made."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    parts = (digest[:8], digest[8:12], f"8{digest[13:16]}", f"8{digest[17:20]}", digest[20:32])
    return f"urn:uuid:{'-'.join(parts)}"


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


def draw_badge(question: QuestionHistory) -> Markup:
    """`checksums │ ▲ +3.3 % [2.7, 4.0]`; the verdict is a sign and a colour."""
    newest = question.newest
    name = newest.entry.study
    message = f"{MARKS.get(newest.reading.verdict, '?')} {short_reading(newest.reading)}"
    left, right = (round(len(text) * _CHARACTER) + 14 for text in (name, message))
    picture = _PICTURE.format(
        width=left + right,
        left=left,
        right=right,
        left_middle=left / 2,
        right_middle=left + right / 2,
        left_text=left - 14,
        right_text=right - 14,
        name=name,
        said=message,
        tone=_TONES.get(newest.reading.verdict, "#4a4f57"),
        words=f"{question.label}: {newest.reading.verdict}, {short_reading(newest.reading)}",
    )
    return Markup(printable_xml(picture))
