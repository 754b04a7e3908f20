"""Formats lists of records for a terminal: a history (a line a record, a line a contrast, and what
was not read), records that were taken in, and how far a matrix of weighings has come.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from steelyard.history.entry import Entry, KnownReading, Unread
from steelyard.history.export import iso
from steelyard.history.sweeps import in_order, value_of
from steelyard.model.latency_goal import metric_words
from steelyard.model.units import format_reading

if TYPE_CHECKING:
    from steelyard.fleet.collecting import Collected
    from steelyard.fleet.matrix.run import MatrixState


def history_lines(
    entries: Sequence[Entry], unread: Sequence[Unread], chosen_from: Sequence[Entry]
) -> Iterator[str]:
    """The printed lines of a history, the newest record first; `chosen_from`: with those that a
    filter left out."""
    points = Counter(entry.sweep for entry in chosen_from)
    sweeps: dict[str, list[Entry]] = {}
    for entry in reversed(entries):
        sweeps.setdefault(entry.sweep, []).append(entry)
    for entry in reversed(entries):
        if len(sweeps[entry.sweep]) > 1 and entry.sweep:
            if entry is sweeps[entry.sweep][0]:
                yield from _sweep(entry.sweep, sweeps[entry.sweep], points[entry.sweep])
            continue
        yield f"{_when(entry)}  {entry.path}"
        if entry.sweep:
            yield f"  a point of the sweep {entry.sweep}"
        if entry.state != "judged":
            state = "interrupted, judged by what there was"
            yield f"  {state if entry.state == 'interrupted' else 'no verdict yet'}"
        for reading in entry.readings:
            yield (
                f"  {reading.verdict:<12}  {reading.pair:<24}  "
                f"{reading_words(reading)}{_doubts(reading)}"
            )
    if not entries:
        yield f"no record of {len(chosen_from)} fits" if chosen_from else "no records"
    if unread:
        yield ""
        yield f"not read ({len(unread)}; the others stand)"
    for refused in unread:
        yield f"  {refused.path}: {refused.reason}"


def _when(entry: Entry) -> str:
    unsure = " (by its file's time)" if entry.at_from == "file" else ""
    return f"{iso(entry.at).replace('T', ' ').removesuffix('Z')}{unsure}"


def _sweep(sweep: str, entries: Sequence[Entry], whole: int) -> Iterator[str]:
    """The points of a sweep that are listed, of so many: a curve an arm, then a line a point."""
    some = f", {len(entries)} of them listed" if len(entries) < whole else ""
    yield f"{_when(entries[0])}  {sweep}: a sweep of {whole} points{some}"
    by_value = {value_of(entry): entry for entry in entries}
    ordered = {value: by_value[value] for value in in_order(by_value)}
    for value, entry in ordered.items():
        if entry.state != "judged":
            yield f"  at {value}: {entry.state}"
    pairs = dict.fromkeys(reading.pair for entry in entries for reading in entry.readings)
    for pair in pairs:
        points = [
            (value, reading)
            for value, entry in ordered.items()
            for reading in entry.readings
            if reading.pair == pair
        ]
        yield f"  {pair}  {_curve([reading.estimate_percent for _, reading in points])}"
        wide = max(len(value) for value, _ in points)
        for value, reading in points:
            text = f"{reading_words(reading)}{_doubts(reading)}"
            yield f"    {value:>{wide}}  {reading.verdict:<12}  {text}"


def _curve(levels: Sequence[float | None]) -> str:
    """`"▁▃▇"`: estimates from the least to the most of them; a blank where there is none."""
    finite = [level for level in levels if level is not None]
    if not finite:
        return ""
    low, span = min(finite), max(finite) - min(finite)
    steps = len(_BLOCKS) - 1
    return "".join(
        " " if level is None else _BLOCKS[round(steps * (level - low) / span) if span else 0]
        for level in levels
    )


_BLOCKS = "▁▂▃▄▅▆▇█"


def reading_words(reading: KnownReading) -> str:
    """`"−4.10 % [−6.00, −2.20] of throughput"`."""
    ends = reading.low_percent, reading.high_percent
    read = format_reading(reading.estimate_percent, *ends)
    return f"{read} of {metric_words(reading.metric)}"


def _doubts(reading: KnownReading) -> str:
    count = len(reading.doubts)
    return f"  ({count} doubt{'s' if count > 1 else ''})" if count else ""


def collected_lines(collected: Collected) -> Iterator[str]:
    """Those that are here now, then those that are not."""
    for record, to in collected.taken:
        yield f"taken    {record} -> {to}"
    for record, to in collected.known:
        yield f"known    {record} -> {to}"
    yield from left_lines(collected)


def left_lines(collected: Collected) -> Iterator[str]:
    """Those that are not here, with why."""
    for record, why in collected.refused:
        yield f"refused  {record}: {why}"
    for record, why in collected.skipped:
        yield f"skipped  {record}: {why}"


def matrix_lines(state: MatrixState, collected: Collected) -> Iterator[str]:
    """A line a cell, then what became of the records."""
    width = max(len(name) for name in state.cells)
    for name, cell in state.cells.items():
        yield f"{cell.how:<8} {name:<{width}}  {cell.host}".rstrip()
        for line in cell.why.splitlines() if cell.how != "done" else ():
            yield f"         {line}"
    here = len(collected.taken) + len(collected.known)
    if here:
        yield f"{here} {'record is' if here == 1 else 'records are'} here: steelyard fleet"
    yield from left_lines(collected)
    left = sum(cell.how == "waiting" for cell in state.cells.values())
    if left:
        yield f"{left} wait for a host of their kind: the same command goes on with them"


def matrix_json(state: MatrixState, collected: Collected) -> str:
    """The object of `fleet run --json`."""
    cells = [{"name": name, **asdict(cell)} for name, cell in state.cells.items()]
    facts = {"folder": str(state.folder), "cells": cells, "records": collected.to_json()}
    return json.dumps(facts)
