"""Formats what many machines answered for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.fleet.hosts import Across
from steelyard.model.units import format_reading


def fleet_lines(found: Sequence[Across]) -> Iterator[str]:
    """A question, its hosts, and the sentence; then what is left out."""
    for one in found:
        if not one.hosts:
            continue
        yield one.title
        for host in one.hosts:
            read = host.point.reading
            told = format_reading(read.estimate_percent, read.low_percent, read.high_percent)
            yield f"  {read.verdict:<12}  {told:<28}  {host.machine}"
        yield f"  {one.sentence}"
        yield ""
    for host, why in (left for one in found for left in one.left_out):
        yield f"left out: {host.point.entry.path}: {why}"
