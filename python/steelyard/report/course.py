"""Tells what happened in the course of a weighing: epochs lost, slices dropped, events.

Only what is out of the ordinary has a row, so most weighings have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from steelyard.report.source import Border, Source, shown_epoch

Facts = Mapping[str, object]


def course_rows(source: Source) -> list[dict[str, str]]:
    """One row a thing that happened, in the order of the epochs: `epoch`, `what`."""
    events: dict[int, list[str]] = {}
    for event in source.events:
        events.setdefault(shown_epoch(event), []).append(str(event.get("event", "")))
    told: dict[int, list[str]] = {}
    for epoch in source.epochs:
        number = shown_epoch(epoch)
        told[number] = list(_of_epoch(epoch, source.borders.get(number, {})))
    return [
        {"epoch": str(number), "what": what}
        for number in sorted({*events, *told})
        for what in (*events.get(number, []), *told.get(number, []))
    ]


def marked_epochs(source: Source) -> set[int]:
    """The epochs (from 1) in which something happened: they bear a mark in the pictures."""
    return {int(row["epoch"]) for row in course_rows(source)}


def _of_epoch(epoch: Facts, borders: Mapping[str, Border]) -> Iterator[str]:
    outcome = str(epoch.get("outcome", "complete"))
    if outcome != "complete":
        words = epoch.get("error")
        said = " ".join(str(word) for word in words) if isinstance(words, list) else ""
        yield f"{outcome}: {said}" if said else outcome
    attempt = epoch.get("attempt", 1)
    if isinstance(attempt, int) and attempt > 1:
        yield f"begun {attempt} times; only the last was read"
    host = epoch.get("host")
    for kind, seen in host if isinstance(host, list) else []:
        yield f"{kind}: {seen}"
    for arm, border in borders.items():
        if border.dropped:
            yield f"{border.dropped} slices of {arm} were dropped: {', '.join(border.causes)}"
        if border.capped:
            yield f"{border.capped} clients of {arm} were not back in time and were given up"
