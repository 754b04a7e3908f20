"""Writes Atom feeds (RFC 4287): an entry a verdict, the newest first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from urllib.parse import quote

from markupsafe import Markup, escape

from steelyard.history.export import iso
from steelyard.history.question import Point
from steelyard.site.wording import sentence

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
    newest = sorted(points, key=lambda one: (one.entry.at, one.entry.path), reverse=True)
    shown = newest[:MOST_ENTRIES]
    return _FEED.format(
        id=_identity(name),
        title=title,
        updated=iso(shown[0].entry.at) if shown else "1970-01-01T00:00:00Z",
        page=quote(page),
        entries=Markup("").join(_entry(one, quote(of(one), safe="/#")) for one in shown),
    )


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
