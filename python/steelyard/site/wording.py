"""Puts readings of the history into words for the site's pages: short, with their intervals."""

from __future__ import annotations

from steelyard.history.entry import KnownReading, moment
from steelyard.report.contrast_text import full_stop, reading_text


def utc(at: str) -> str:
    """`"2026-03-01T120000Z"` → `"2026-03-01 12:00 UTC"`."""
    return f"{moment(at)} UTC"


def sentence(reading: KnownReading) -> str:
    """The verdict in words, with a full stop, without its first word, which stands beside it."""
    return full_stop(reading.sentence.removeprefix(f"{reading.verdict}: "))


def short_reading(reading: KnownReading) -> str:
    """`"−3.3 % [2.7, 4.0]"` of any metric, or that there is none."""
    return reading_text(reading)


def margin_text(reading: KnownReading) -> str:
    """`"±1 %"`."""
    return f"±{reading.margin_percent:.3g} %"
