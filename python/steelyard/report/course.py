"""Tells what happened in the course of a weighing: epochs lost, slices dropped, events.

Only what is out of the ordinary has a row, so most weighings have none.
"""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.evaluation.host_threats import seen_in
from steelyard.record.epoch import EpochLine
from steelyard.report.source import Source, shown_epoch


def course_rows(source: Source) -> list[dict[str, str]]:
    """One row a thing that happened, in the order of the epochs: `epoch`, `what`."""
    events: dict[int, list[str]] = {}
    for event in source.events:
        events.setdefault(shown_epoch(event.epoch), []).append(event.event)
    told: dict[int, list[str]] = {}
    for epoch in source.epochs:
        number = shown_epoch(epoch.epoch)
        told[number] = list(_of_epoch(epoch, source))
    return [
        {"epoch": str(number), "what": what}
        for number in sorted({*events, *told})
        for what in (*events.get(number, []), *told.get(number, []))
    ]


def marked_epochs(source: Source) -> set[int]:
    """The epochs (from 1) in which something happened: they bear a mark in the pictures."""
    return {int(row["epoch"]) for row in course_rows(source)}


def _of_epoch(line: EpochLine, source: Source) -> Iterator[str]:
    borders = source.borders.get(shown_epoch(line.epoch), {})
    if line.outcome != "complete":
        said = " ".join(line.error)
        yield f"{line.outcome}: {said}" if said else line.outcome
    if line.attempt > 1:
        yield f"begun {line.attempt} times; only the last was read"
    for kind, seen in seen_in(line, source.plan.get("processors", ())):
        yield f"{kind}: {seen}"
    for arm, border in borders.items():
        if border.dropped:
            yield f"{border.dropped} slices of {arm} were dropped: {', '.join(border.causes)}"
        if border.capped:
            yield f"{border.capped} clients of {arm} were not back in time and were given up"
