"""Shows what became of records that were to be taken in, a line each."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.fleet.collecting import Collected


def collected_lines(found: Collected) -> Iterator[str]:
    """Those that are here now, then those that are not."""
    for one, to in found.taken:
        yield f"taken    {one} -> {to}"
    for one, to in found.known:
        yield f"known    {one} -> {to}"
    yield from left_lines(found)


def left_lines(found: Collected) -> Iterator[str]:
    """Those that are not here, with why."""
    for one, why in found.refused:
        yield f"refused  {one}: {why}"
    for one, why in found.skipped:
        yield f"skipped  {one}: {why}"
