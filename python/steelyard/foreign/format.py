"""Defines what a reader of a format is: its name, how the format is recognized, how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.foreign.json_document import Document
from steelyard.foreign.series import Sheet
from steelyard.foreign.source import SourceText


@dataclass(frozen=True, slots=True)
class TextFormat:
    """A format of lines of text."""

    name: str
    """As `--format` takes it."""
    fits: Callable[[SourceText], bool]
    """Whether a text is in this format."""
    read: Callable[[SourceText], Sheet]
    """NumbersError with line and column where the text is not what it should be."""
    precedence: int = 1
    """Of several formats that fit a text the one with the lowest is taken."""
    like_json: bool = False
    """Whether its texts may begin as JSON does: "[OVERALL], ", or a sentence in a list."""


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A format of JSON values."""

    name: str
    """As `--format` takes it."""
    title: str
    """What an error calls it: "an export of hyperfine"."""
    holds: Callable[[Any], bool]
    """Whether a JSON value is of this format."""
    read: Callable[[Document], Sheet]
    """Of a document that `check` has accepted."""
    repeats: Callable[[Any], bool] = lambda value: False
    """Whether a file may hold several values like this one, one after the other."""
    bare: Callable[[SourceText], SourceText] = lambda source: source
    """A source without what the tool prints around its JSON; of another format as it is."""

    def fits(self, document: Document) -> bool:
        """Whether a document is in this format: its first value, or all that may be several."""
        first = document.values[0]
        if self.repeats(first):
            return all(map(self.repeats, document.values))
        return self.holds(first)

    def check(self, document: Document) -> None:
        """NumbersError where a value is of another format, or is one too many."""
        for number, value in enumerate(document.values):
            if not self.holds(value):
                position = document.place(number, ())
                raise document.source.error(f"this is not {self.title}", position)
        if len(document.values) > 1 and not all(map(self.repeats, document.values)):
            raise document.source.error(
                f"more than one of {self.title}",
                document.place(1, ()),
                hint="Name each in a file of its own: judge on=a.json off=b.json",
            )
