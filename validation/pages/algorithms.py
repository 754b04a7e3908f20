"""Ways to verify a page, side by side: a section of docs/results/drilled.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.cli.views.drilled import speed_words, undetected
from steelyard.reproductions.reproduction import machine_words
from validation.pages.table import paragraph, table

Facts = Mapping[str, Any]
_WORDS = """
    From `steelyard drill --algorithms`, on {machine}. Speeds are GB/s of 8 kB pages on one core:
    the median of six rounds [the lowest, the highest], and in brackets ticks of the time stamp
    counter a page. *Cached*: 256 kB; *streaming*: 256 MB. PostgreSQL's sum by SSE2 is what its
    builds for this architecture do, by the other name what this processor could. “none, none” does
    nothing and was not timed.
"""
_MISSED = """
    Undetected of a million with the 95 % interval, of {times:,} times that each fault was planted
    in real pages; “all”: nobody could tell; “–”: none of them.
"""


def section(facts: Facts) -> list[str]:
    """The paragraphs; `facts` as `steelyard drill --algorithms --json` gave them."""
    ways = facts["algorithms"]
    times = max(cell["times"] for way in ways for cell in way["faults"].values())
    return [
        "## Ways to verify a page, side by side",
        paragraph(_WORDS.format(machine=machine_words(facts["machine"]))).strip(),
        _speeds(ways),
        paragraph(_MISSED.format(times=times)).strip(),
        _misses(ways),
    ]


def _speeds(ways: Sequence[Facts]) -> str:
    timed = [(way, kernel, modes) for way in ways for kernel, modes in way["speeds"].items()]
    modes = list(timed[0][2])
    rows = [
        [way["algorithm"], way["identity"], kernel or "–", *(speed_words(speeds[m]) for m in modes)]
        for way, kernel, speeds in timed
    ]
    return table(["algorithm", "identity", "by", *modes], rows)


def _misses(ways: Sequence[Facts]) -> str:
    faults = list(ways[0]["faults"])
    rows = [
        [f"{way['algorithm']}, {way['identity']}", *(_missed(way["faults"][f]) for f in faults)]
        for way in ways
    ]
    return table(["", *faults], rows)


def _missed(cell: Facts) -> str:
    return "–" if cell["noticed"] == cell["times"] else undetected(cell)
