"""Epochs in cycles and in turns in alternation, and pglz in both beside the same by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.units import percent_of_log
from steelyard.reproductions.reproduction import machines_words
from validation.alternated import CONDITIONS, EPOCHS_EACH, LAYOUTS, PAIRS, PGLZ
from validation.pages.table import paragraph, table
from validation.results import Results

Json = Mapping[str, Any]
_WORDS = """
    Equal arms on TPC-B (scale 20, 8 clients, commits wait), {each} epochs in cycles and {each} in
    turns in alternation, which layout is first alternating too, until either has {whole}; with
    nothing else on the machine, and beside loops on every processor and flushed writes in spells of
    random length (`validation/alternated.py`). *sd*: of the log ratio of an epoch, pooled over its
    weighings; its interval is that of a normal sample of as many.
"""
_PGLZ_WORDS = """
    `wal_compression = pglz` against off on tproc-c, checkpoints a few seconds apart by
    `max_wal_size`, F = 1: in cycles, in turns, and by hand (`validation/by_hand.py`, pairs).
"""


def section(results: Results, by_hand: Results) -> str:
    """The section on both."""
    lines = list(results)
    head = "## Cycles and turns on real servers, in alternation"
    text = paragraph(_WORDS.format(each=EPOCHS_EACH, whole=PAIRS * EPOCHS_EACH)).strip()
    expected = 2 * PAIRS * len(CONDITIONS) + len(LAYOUTS)
    if not lines:
        return f"{head}\n\n{text}\n\nNot yet measured: 0 of {expected} weighings."
    parts = [head, text]
    if len(lines) < expected:
        parts.append(f"Not yet measured: {expected - len(lines)} of {expected} weighings.")
    parts.append(f"Measured on {machines_words(line['machine'] for line in lines)}.")
    parts.append(
        table(
            ["machine", "layout", "epochs", "sd, %", "95 %", "minutes"],
            list(_scatter(lines)),
        )
    )
    pglz = [line for line in lines if line["condition"] == PGLZ]
    if pglz:
        parts += [
            paragraph(_PGLZ_WORDS).strip(),
            table(
                ["", "a checkpoint every", "of", "effect", "interval, 95 %"],
                [*map(_weighed, pglz), *_by_hand(list(by_hand))],
            ),
        ]
    return "\n\n".join(parts)


def _scatter(lines: Sequence[Json]) -> Iterator[list[str]]:
    for condition in CONDITIONS:
        for layout in LAYOUTS:
            weighings = [
                line for line in lines if (line["condition"], line["layout"]) == (condition, layout)
            ]
            d = np.array(
                [each for weighing in weighings for each in weighing["d"]], dtype=np.float64
            )
            if len(d) < 3:
                continue
            minutes = sum(weighing["seconds"] for weighing in weighings) / 60
            low, high = sd_interval(float(d.std(ddof=1)), len(d))
            yield [
                condition, layout, str(len(d)), f"{100 * d.std(ddof=1):.1f}",
                f"{100 * low:.1f} … {100 * high:.1f}", f"{minutes:.0f}",
            ]  # fmt: skip


def sd_interval(sd: float, count: int) -> tuple[float, float]:
    """95 %, of a normal sample."""
    from scipy.stats import chi2

    low, high = (math.sqrt((count - 1) / chi2.ppf(p, count - 1)) for p in (0.975, 0.025))
    return sd * low, sd * high


def _weighed(line: Json) -> list[str]:
    ends = [line["low_percent"], line["high_percent"]]
    interval = "–" if None in ends else f"{ends[0]:+.1f} … {ends[1]:+.1f} %"
    seconds = line["distance_seconds"]
    return [
        f"in {line['layout']}",
        "–" if seconds is None else f"{seconds:.1f} s",
        f"{line['epochs']} epochs",
        f"{line['estimate_percent']:+.1f} %",
        interval,
    ]


def _by_hand(lines: Sequence[Json]) -> Iterator[list[str]]:
    if len(lines) < 2:
        return
    d = np.log([line["pglz"]["tps"] / line["off"]["tps"] for line in lines])
    distance = float(np.mean([line["off"]["distance_s"] for line in lines]))
    interval = t_interval(d, 0.95)
    low, high = percent_of_log(interval.low), percent_of_log(interval.high)
    yield [
        "by hand", f"{distance:.1f} s", f"{len(lines)} pairs",
        f"{percent_of_log(float(d.mean())):+.1f} %", f"{low:+.1f} … {high:+.1f} %",
    ]  # fmt: skip
