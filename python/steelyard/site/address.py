"""Names the files of the site, and puts readings of the history into its short words."""

from __future__ import annotations

import hashlib
import re

from steelyard.history.entry import Entry, KnownReading, moment
from steelyard.history.question import QuestionHistory
from steelyard.model.units import format_digits
from steelyard.wording.contrast_text import full_stop, reading_text

WALL = "index.html"
COMPARE = "compare.html"
FLEET = "fleet.html"
MACHINES = "machines.html"
FEED = "feed.atom"


_MOST_LETTERS = 160
"""Of a name: a file system takes 255 bytes, and a draft's has some more than the file's."""


def question_file(name: str) -> str:
    """What the files of a question are called: its name, whose end is a digest, cut in the middle
    where it is too long for a file."""
    if len(name) <= _MOST_LETTERS:
        return name
    end = name.rpartition("-")[2]
    return f"{name[: _MOST_LETTERS - len(end) - 1].rstrip('-.')}-{end}"


def question_page(question: QuestionHistory) -> str:
    """The page of a question, from the site's folder."""
    return f"q/{question_file(question.name)}.html"


def question_feed(question: QuestionHistory) -> str:
    """Its Atom feed."""
    return f"q/{question_file(question.name)}.atom"


def badge(question: QuestionHistory) -> str:
    """Its badge."""
    return f"badge/{question_file(question.name)}.svg"


def record_name(entry: Entry) -> str:
    """What a record is called in addresses: its path in letters that need no quoting, the end of
    one that is too long for a file."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", entry.path).strip("-.")[-_MOST_LETTERS:].lstrip("-.")
    return f"{slug}-{hashlib.sha256(entry.path.encode()).hexdigest()[:6]}"


def report_page(entry: Entry) -> str:
    """The copy of a record's report."""
    return f"reports/{record_name(entry)}.html"


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
    return f"±{format_digits(reading.margin_percent, 3)} %"
