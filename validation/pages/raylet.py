"""The section on a host that has an idle raylet beside its servers."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.decision.sign_flip import confidence_set
from steelyard.model.units import format_bytes, format_percent, percent_of_log
from validation.pages.table import paragraph, table
from validation.raylet import PAIRS
from validation.results import Results

Json = Mapping[str, Any]
MARGIN_PERCENT = 1.0
_WORDS = """
    Hosts of a fleet run Ray's node processes beside what they weigh. Equal arms
    (`steelyard weigh aa --budget 30s`) were weighed in pairs, without Ray and with an idle node of
    a cluster whose processes were stopped and continued every second or so, at random
    (`python -m validation.raylet`). *Running ÷ stopped*: throughput of the slices while the node
    ran over that of the slices while it stood, one number an epoch, sign-flip set of all epochs. A
    stopped node keeps its memory; what that does is only in the comparison of whole weighings,
    minutes apart.
"""


def section(results: Results) -> str:
    """What a raylet changes, and what it uses."""
    every = list(results)
    parts = ["## A host with a raylet", paragraph(_WORDS)]
    if len(every) < 2 * PAIRS:
        parts.append(f"Not yet measured: {2 * PAIRS - len(every)} of {2 * PAIRS} weighings.")
    with_raylet = [weighing for weighing in every if weighing["state"] == "with"]
    if with_raylet:
        parts.append(_switched(with_raylet))
    rows = [
        _row(state, [weighing for weighing in every if weighing["state"] == state])
        for state in _STATES
    ]
    if every:
        head = ["Ray", "weighings", "told apart", "sd of an epoch, %", "half width, points"]
        parts.append(table([*head, "throughput, 1/s"], rows))
    return "\n\n".join(parts)


_STATES = ("without", "with")


def _switched(weighings: Sequence[Json]) -> str:
    used = statistics.median(weighing["processor_share"] for weighing in weighings)
    memory = statistics.median(weighing["memory_bytes"] for weighing in weighings)
    sentence = (
        f"An idle node uses {100 * used:.2f} % of a processor and {format_bytes(memory)} (median)."
    )
    logs = np.array([d for weighing in weighings for d in weighing["switched"]])
    if len(logs) < 8:
        return f"{sentence} Too few epochs to compare: {len(logs)}."
    ends = confidence_set(logs, 0.05).interval
    low, high = percent_of_log(ends.low), percent_of_log(ends.high)
    within = "within" if max(abs(low), abs(high)) <= MARGIN_PERCENT else "not within"
    return (
        f"{sentence} Running ÷ stopped: **{format_percent(percent_of_log(float(logs.mean())))} "
        f"[{low:+.2f}, {high:+.2f}]** over {len(logs)} epochs, {within} ±{MARGIN_PERCENT:.0f} %."
    )


def _row(state: str, weighings: Sequence[Json]) -> list[str]:
    if not weighings:
        return [state, f"0 of {PAIRS}", *["not yet measured"] * 4]
    apart = sum(
        weighing["verdict"] in ("slower", "faster") or bool(weighing["nonzero"])
        for weighing in weighings
    )
    bounded = [
        weighing
        for weighing in weighings
        if None not in (weighing["low_percent"], weighing["high_percent"])
    ]
    halves = [(weighing["high_percent"] - weighing["low_percent"]) / 2 for weighing in bounded]
    spreads = [
        weighing["epoch_sd_percent"] for weighing in weighings if weighing["epoch_sd_percent"]
    ]
    return [
        state,
        f"{len(weighings)} of {PAIRS}",
        f"{apart} of {len(weighings)}",
        f"{statistics.median(spreads):.2f}" if spreads else "–",
        f"{statistics.median(halves):.2f}" if halves else "–",
        f"{statistics.median(weighing['control_throughput'] for weighing in weighings):,.0f}",
    ]
