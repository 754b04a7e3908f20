"""Names the files of the site: every page, report, feed and badge has one place."""

from __future__ import annotations

import hashlib
import re

from steelyard.history.entry import Entry
from steelyard.history.question import Question

WALL = "index.html"
COMPARE = "compare.html"
FLEET = "fleet.html"
FEED = "feed.atom"


def question_page(question: Question) -> str:
    """The page of a question, from the site's folder."""
    return f"q/{question.name}.html"


def question_feed(question: Question) -> str:
    """Its Atom feed."""
    return f"q/{question.name}.atom"


def badge(question: Question) -> str:
    """Its badge."""
    return f"badge/{question.name}.svg"


def record_name(entry: Entry) -> str:
    """What a record is called in addresses: its path in letters that need no quoting."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", entry.path).strip("-.")
    return f"{words}-{hashlib.sha256(entry.path.encode()).hexdigest()[:6]}"


def report_page(entry: Entry) -> str:
    """The copy of a record's report."""
    return f"reports/{record_name(entry)}.html"
