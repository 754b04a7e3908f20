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
    weighings = [one for one in results if one["kind"] == "weighing"]
    pairs: dict[str, list[Json]] = {}
    for one in results:
        if one["kind"] == "pair":
            pairs.setdefault(one["session"], []).append(one)
    found = [one for one in weighings if len(pairs.get(one["session"], ())) > 1]
    if not found:
        return "\n\n".join([*head, "Not yet measured."])
    rows = [_row(one, pairs[one["session"]]) for one in found]
    columns = ["session", "load", "Steelyard, %", "took", "by hand, %", "pairs", "intervals"]
    return "\n\n".join(
        [
            *head,
            f"Measured on {machines_words(one['machine'] for one in found)}.",
            table(columns, rows),
        ]
    )


def _row(weighing: Json, pairs: Sequence[Json]) -> list[str]:
    small, large = SIZES
    logs = np.array([math.log(one[large] / one[small]) for one in pairs])
    own = t_interval(logs)
    low, high = percent_of_log(own.low), percent_of_log(own.high)
    ends = weighing["low_percent"], weighing["high_percent"]
    told = "unbounded" if None in ends else f"[{ends[0]:+.1f}, {ends[1]:+.1f}]"
    apart = None not in ends and (low > ends[1] or high < ends[0])
    return [
        weighing["session"][:16],
        f"{weighing['load_before']:.1f}",
        f"{weighing['estimate_percent']:+.1f} {told}",
        f"{weighing['seconds'] / 60:.1f} min",
        f"{percent_of_log(float(logs.mean())):+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{len(pairs)}",
        "**apart**" if apart else "overlap",
    ]
