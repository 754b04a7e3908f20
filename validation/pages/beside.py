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
    beside = [one for one in every if one["state"] == "with"]
    if beside:
        parts.append(_switched(beside))
    rows = [_row(state, [one for one in every if one["state"] == state]) for state in _STATES]
    if every:
        head = ["Ray", "weighings", "told apart", "sd of an epoch, %", "half width, points"]
        parts.append(table([*head, "throughput, 1/s"], rows))
    return "\n\n".join(parts)


_STATES = ("without", "with")


def _switched(beside: Sequence[Json]) -> str:
    used = statistics.median(one["processor_share"] for one in beside)
    memory = statistics.median(one["memory_bytes"] for one in beside)
    said = (
        f"An idle node uses {100 * used:.2f} % of a processor and {format_bytes(memory)} (median)."
    )
    logs = np.array([d for one in beside for d in one["switched"]])
    if len(logs) < 8:
        return f"{said} Too few epochs to compare: {len(logs)}."
    ends = confidence_set(logs, 0.05).interval
    low, high = percent_of_log(ends.low), percent_of_log(ends.high)
    within = "within" if max(abs(low), abs(high)) <= MARGIN_PERCENT else "not within"
    return (
        f"{said} Running ÷ stopped: **{format_percent(percent_of_log(float(logs.mean())))} "
        f"[{low:+.2f}, {high:+.2f}]** over {len(logs)} epochs, {within} ±{MARGIN_PERCENT:.0f} %."
    )


def _row(state: str, weighings: Sequence[Json]) -> list[str]:
    if not weighings:
        return [state, f"0 of {PAIRS}", *["not yet measured"] * 4]
    apart = sum(one["verdict"] in ("slower", "faster") or bool(one["nonzero"]) for one in weighings)
    known = [one for one in weighings if None not in (one["low_percent"], one["high_percent"])]
    halves = [(one["high_percent"] - one["low_percent"]) / 2 for one in known]
    spreads = [one["epoch_sd_percent"] for one in weighings if one["epoch_sd_percent"]]
    return [
        state,
        f"{len(weighings)} of {PAIRS}",
        f"{apart} of {len(weighings)}",
        f"{statistics.median(spreads):.2f}" if spreads else "–",
        f"{statistics.median(halves):.2f}" if halves else "–",
        f"{statistics.median(one['control_throughput'] for one in weighings):,.0f}",
    ]
