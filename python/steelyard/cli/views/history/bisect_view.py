"""Formats a search for a terminal: its answer, every weighing of it, and where the records are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from steelyard.history.bisect import Bisected, words


def bisect_lines(found: Bisected, folder: str, width: int) -> Iterator[str]:
    """The printed lines of a search."""
    yield ""
    yield from textwrap.wrap(found.sentence, width)
    yield ""
    for step in found.steps:
        yield from textwrap.wrap(words(step, found.places), width, subsequent_indent="  ")
    yield ""
    yield f"record  {folder}"
    if found.command:
        yield f"repeat  {found.command}"
