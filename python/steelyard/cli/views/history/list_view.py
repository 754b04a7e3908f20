"""Formats a history for a terminal: a line a record, a line a contrast, and what was not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.history.entry import Entry, KnownReading, Unread
from steelyard.history.export import iso
from steelyard.model.units import format_percent


def history_lines(entries: Sequence[Entry], unread: Sequence[Unread]) -> Iterator[str]:
    """The printed lines of a history, the newest record first."""
    for entry in reversed(entries):
        when = iso(entry.at).replace("T", " ").removesuffix("Z")
        unsure = " (by its file's time)" if entry.at_from == "file" else ""
        yield f"{when}{unsure}  {entry.path}"
        if entry.sweep:
            yield f"  a point of the sweep {entry.sweep}"
        if entry.state != "judged":
            told = "interrupted, judged by what there was"
            yield f"  {told if entry.state == 'interrupted' else 'no verdict yet'}"
        for one in entry.readings:
            yield f"  {one.verdict:<12}  {one.pair:<24}  {reading_words(one)}{_doubts(one)}"
    if not entries:
        yield "no records"
    if unread:
        yield ""
        yield f"not read ({len(unread)}; the others stand)"
    for refused in unread:
        yield f"  {refused.path}: {refused.reason}"


def reading_words(one: KnownReading) -> str:
    """`"−4.1 % [−6.0, −2.2] of throughput"`."""
    middle = "–" if one.estimate_percent is None else format_percent(one.estimate_percent)
    low, high = (
        "unbounded" if end is None else format_percent(end).removesuffix(" %")
        for end in (one.low_percent, one.high_percent)
    )
    return f"{middle} [{low}, {high}] of {one.metric.replace('_', ' ')}"


def _doubts(one: KnownReading) -> str:
    count = len(one.doubts)
    return f"  ({count} doubt{'s' if count > 1 else ''})" if count else ""
