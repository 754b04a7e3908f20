"""Cuts a turn into four parts that can be compared with each other, whatever a checkpoint does.

The first two are as many whole checkpoint cycles as the last two, so that what comes and goes
within a cycle is in both halves alike; an odd cycle in the middle is left out. Where a turn has
fewer than two cycles its time is cut into four.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from steelyard.model.turn import Second, Turn


def four_parts(turn: Turn) -> list[list[Second]]:
    """The measured seconds of each part, by their middles; none where nothing was measured."""
    if not turn.seconds:
        return [[], [], [], []]
    start, end = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
    ends = [one.ended_ns for one in turn.checkpoints if one.ended_ns is not None]
    inside = sorted(one for one in ends if start < one <= end)
    borders = [start, *inside] if turn.at_checkpoint else inside
    if len(borders) < 3:
        borders = [start, (start + end) // 2, end]
    half = (len(borders) - 1) // 2
    halves = (borders[0], borders[half]), (borders[-1 - half], borders[-1])
    return [part for low, high in halves for part in _in_two(turn.seconds, low, high)]


def _in_two(seconds: Sequence[Second], low: int, high: int) -> list[list[Second]]:
    borders = (low, (low + high) // 2, high)
    return [
        [one for one in seconds if a <= (one.start_ns + one.end_ns) // 2 < b]
        for a, b in pairwise(borders)
    ]
