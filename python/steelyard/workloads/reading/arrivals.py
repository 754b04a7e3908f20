"""Reads and writes when the transactions of a captured workload arrived.

A line an arrival: microseconds since the one before, a tab, and the number with which the name of
its script begins.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ARRIVALS = "arrivals.tsv"
MOST_ARRIVALS = 4_000_000
MOST_BYTES = 128 << 20
_LINE = re.compile(r"(\d{1,15})\t(\d{1,6})")
_NUMBER = re.compile(r"\d+")


class Arrival(NamedTuple):
    """When a transaction arrived, from the first one on, and the number of its script."""

    at_us: int
    script: int


def arrivals_text(arrivals: Sequence[Arrival]) -> str:
    """Arrivals in the order of their times, as a file holds them."""
    lines, before = list[str](), 0
    for arrival in arrivals:
        lines.append(f"{arrival.at_us - before}\t{arrival.script}\n")
        before = arrival.at_us
    return "".join(lines)


def read_arrivals(text: str) -> list[Arrival]:
    """The arrivals of a file's text. ValueError: it is none, or there are too many."""
    arrivals, at_us = list[Arrival](), 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f'line {number}: "{line[:40]}" is no arrival')
        at_us += int(match[1])
        arrivals.append(Arrival(at_us, int(match[2])))
    if len(arrivals) > MOST_ARRIVALS:
        raise ValueError(f"{len(arrivals)} arrivals are too many: at most {MOST_ARRIVALS}")
    return arrivals


def paced(
    arrivals: Sequence[Arrival], places: Mapping[str, int], pace: float
) -> tuple[list[tuple[int, int]], int]:
    """When each arrives in ns at so many times the original pace, with the place of its script, and
    after how long they begin again: a mean gap behind the last one.

    `places`: name of a script → its place among those that are driven; arrivals of others are left
    out. ValueError: none is left, or no time lies between them.
    """
    by_number = {int(m[0]): place for name, place in places.items() if (m := _NUMBER.match(name))}
    scaled = [
        (round(1000 * arrival.at_us / pace), by_number[arrival.script])
        for arrival in arrivals
        if arrival.script in by_number
    ]
    if not scaled:
        raise ValueError("no arrival is of a script that is driven")
    first_ns = scaled[0][0]
    shifted = [(at_ns - first_ns, place) for at_ns, place in scaled]
    last_ns = shifted[-1][0]
    if last_ns == 0:
        raise ValueError("all arrivals are at one time")
    return shifted, last_ns + max(1, last_ns // (len(shifted) - 1))
