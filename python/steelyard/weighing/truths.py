"""Tells the truth beside every reading that has one: equal arms, and arms with a known weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard._core import histogram_counts
from steelyard.analysis.known_weight import KnownWeight, stall_edges, stall_length, truth
from steelyard.readings.reading import EpochTotals
from steelyard.study.study import Arm, Study
from steelyard.verdict.judge_epochs import percent_ends
from steelyard.weighing.choices import Choices
from steelyard.weighing.stalls import Stall

Json = dict[str, Any]


@dataclass(frozen=True)
class Weighed:
    """What of a weighing the truths are told from."""

    study: Study
    choices: Choices
    epochs: Sequence[EpochTotals]  # those that every arm survived
    metric: str


def truth_of(weighed: Weighed, arm: Arm) -> Json:
    """`true_percent` of an arm with its company, for verdict.json; empty where it is not known.

    It is known of an arm that is the control but for its weight, against a control without one.
    Stalls need a single client (see `analysis/known_weight.py`).
    """
    study = weighed.study
    if not (study.differs_only_in_weight(arm) and study.control.weight.is_none):
        return {}
    if arm.weight.is_none:
        return {"true_percent": 0.0}
    times_ns = np.array(
        [_time_ns(one, study.control.name, weighed.metric) for one in weighed.epochs]
    )
    lone = study.workload.clients == 1
    if not len(times_ns) or (arm.weight.stalls and not lone):
        return {}
    facts: Json = {}
    stall = weighed.choices.stalls.get(arm.name)
    if stall is not None:
        facts = _stalls_seen(weighed.epochs, arm.name, study.control.name, stall)
    charged = weighed.choices.cost == "whole" and weighed.metric == "throughput"
    weight = KnownWeight(
        twice=arm.weight.twice,
        stall_ns=stall.probability * facts["length_ns"] if stall else 0.0,
        background=arm.weight.background if charged else 0.0,
    )
    ends = percent_ends(truth(weight, times_ns, weighed.metric))
    told: Json = {"true_percent": ends["estimate_percent"]}
    if stall is not None:
        told |= {"true_low_percent": ends["low_percent"], "true_high_percent": ends["high_percent"]}
        told["stalls"] = facts
    return told


def covered(contrast: Mapping[str, Any]) -> bool | None:
    """Whether a contrast's interval holds its truth; None without either."""
    ends = [contrast.get(f"{key}_percent") for key in ("low", "true", "high")]
    if ends[1] is None or (ends[0] is None and ends[2] is None):
        return None
    low = -np.inf if ends[0] is None else ends[0]
    high = np.inf if ends[2] is None else ends[2]
    return bool(low <= ends[1] <= high)


def _time_ns(epoch: EpochTotals, control: str, metric: str) -> float:
    """The control's mean time of a transaction: of its clients' time under load, or its latency."""
    totals = epoch.arms[control]
    return (
        totals.busy_ns / totals.transactions if metric == "throughput" else totals.latency_mean_ns
    )


def _stalls_seen(epochs: Sequence[EpochTotals], arm: str, control: str, stall: Stall) -> Json:
    """How often and how long the arm really stalled, beside what was asked for."""
    edges = stall_edges(stall.length_ns)
    counts = [histogram_counts(_latencies(epochs, name), edges) for name in (arm, control)]
    done = [sum(epoch.arms[name].transactions for epoch in epochs) for name in (arm, control)]
    spent_ns = sum(epoch.arms[control].latency_sum_ns for epoch in epochs)
    number, length_ns = stall_length(
        edges, counts[0], counts[1], done[0] / max(done[1], 1), spent_ns / max(done[1], 1)
    )
    return {
        "probability": stall.probability,
        "asked_length_ns": stall.length_ns,
        "seen": round(number),
        "length_ns": stall.length_ns if np.isnan(length_ns) else round(length_ns),
    }


def _latencies(epochs: Sequence[EpochTotals], arm: str) -> list[str]:
    return [text for epoch in epochs for text in epoch.arms[arm].latencies.values()]
