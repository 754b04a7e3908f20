"""A larger buffer pool by hand beside its weighing in slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.units import percent_of_log
from steelyard.reproductions.reproduction import machines_words
from validation.pages.table import paragraph, table
from validation.pools_by_hand import SIZES
from validation.results import Results

Json = Mapping[str, Any]

_WORDS = """
    What a pool of 1 GB gains over one of 128 MB on 750 MB of data that are only read, in the same
    hour on the same machine: `steelyard weigh shared-buffers` in slices, and by hand
    (`validation/pools_by_hand.py`): a server of one size, pgbench until it is warm (30 s) and for
    20 s more, a server of the other, pairs in alternating order, and a paired t over the log
    ratios. *Load*: the machine's load average over the minute before.
"""


def section(results: Results) -> str:
    """The section on pools by hand."""
    head = ["## A buffer pool by hand beside slices", paragraph(_WORDS)]
    weighings = [result for result in results if result["kind"] == "weighing"]
    pairs: dict[str, list[Json]] = {}
    for result in results:
        if result["kind"] == "pair":
            pairs.setdefault(result["session"], []).append(result)
    paired = [weighing for weighing in weighings if len(pairs.get(weighing["session"], ())) > 1]
    if not paired:
        return "\n\n".join([*head, "Not yet measured."])
    rows = [_row(weighing, pairs[weighing["session"]]) for weighing in paired]
    columns = ["session", "load", "Steelyard, %", "took", "by hand, %", "pairs", "intervals"]
    return "\n\n".join(
        [
            *head,
            f"Measured on {machines_words(weighing['machine'] for weighing in paired)}.",
            table(columns, rows),
        ]
    )


def _row(weighing: Json, pairs: Sequence[Json]) -> list[str]:
    small, large = SIZES
    logs = np.array([math.log(pair[large] / pair[small]) for pair in pairs])
    interval = t_interval(logs)
    low, high = percent_of_log(interval.low), percent_of_log(interval.high)
    ends = weighing["low_percent"], weighing["high_percent"]
    bounds = "unbounded" if None in ends else f"[{ends[0]:+.1f}, {ends[1]:+.1f}]"
    apart = None not in ends and (low > ends[1] or high < ends[0])
    return [
        weighing["session"][:16],
        f"{weighing['load_before']:.1f}",
        f"{weighing['estimate_percent']:+.1f} {bounds}",
        f"{weighing['seconds'] / 60:.1f} min",
        f"{percent_of_log(float(logs.mean())):+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{len(pairs)}",
        "**apart**" if apart else "overlap",
    ]
