"""Computes how even the throughput of turns is, and what each arm wrote and left.

The coefficient of variation of a series falls with the length of its windows and rises with the
length of the series, so both arms of an epoch are cut to the same time and to the same windows:
fixed windows from the begin of the measured part, into which the work of a second goes in
proportion to time. None is shorter than the seconds themselves. An even server at a lower mean is
another thing than a fast one with stalls; the mean alone does not distinguish them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.secondary import SecondaryContrast, secondary_contrasts
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.turns.debt import turn_bytes
from steelyard.model.turn import Turn
from steelyard.model.units import NS_PER_S

FEWEST_WINDOWS = 10
"""With fewer a spread is no figure."""
MEAN, SPREAD, VARIATION = "throughput_mean", "throughput_sd", "throughput_cv"


@dataclass(frozen=True, slots=True)
class TurnSums:
    """What an arm's turns wrote and left, on average over its turns; NaN: not known."""

    turns: int
    seconds: float
    wal_bytes: float
    checkpoints: float
    waiting_at_start: float
    """Dirty and under write-back on the machine, bytes; so is the next."""
    waiting_at_end: float


def throughputs(turn: Turn) -> Floats:
    """Transactions per second of loaded time of each measured second; 0 where nothing ran."""
    return np.array(
        [
            turn.clients * one.transactions / (one.busy_ns / NS_PER_S) if one.busy_ns else 0.0
            for one in turn.seconds
        ]
    )


def even_windows(control: Turn, arm: Turn) -> tuple[Floats, Floats]:
    """Throughput of both arms by equal windows, shape (windows,) each, as many as both have."""
    turns = (control, arm)
    if not all(turn.seconds for turn in turns):
        return np.empty(0), np.empty(0)
    lengths = [np.median([one.end_ns - one.start_ns for one in turn.seconds]) for turn in turns]
    window_ns = max(float(NS_PER_S), *(float(one) for one in lengths))
    whole_ns = min(turn.measured_ns for turn in turns)
    count = int(whole_ns / window_ns * (1 + 1e-9))
    one, other = (_windows(turn, window_ns, count) for turn in turns)
    return one, other


def _windows(turn: Turn, window_ns: float, count: int) -> Floats:
    """Work and loaded time run up evenly within a second and stand still between two of them."""
    edges = turn.seconds[0].start_ns + window_ns * np.arange(count + 1)
    at = np.array([t for one in turn.seconds for t in (one.start_ns, one.end_ns)], dtype=float)

    def run_up(name: str) -> Floats:
        steps = [amount for one in turn.seconds for amount in (0.0, float(getattr(one, name)))]
        return np.diff(np.interp(edges, at, np.cumsum(steps)))

    done, busy_ns = run_up("transactions"), run_up("busy_ns")
    return np.divide(
        turn.clients * NS_PER_S * done, busy_ns, out=np.zeros(count), where=busy_ns > 0
    )


def evenness(pairs: Sequence[tuple[Turn, Turn]]) -> tuple[SecondaryContrast, ...]:
    """Contrasts of mean, standard deviation and CV (sd ÷ mean) of throughput over equal windows.

    `pairs`: the turns of the control and the arm in each epoch. Log ratios with joint intervals;
    epochs with fewer than 10 windows, or in which an arm did nothing, are left out; empty without
    any other.
    """
    rows = []
    for control, arm in pairs:
        sides = even_windows(control, arm)
        if len(sides[0]) >= FEWEST_WINDOWS and all(side.any() for side in sides):
            rows.append([_figures(side) for side in sides])
    if not rows:
        return ()
    return secondary_contrasts(
        {
            name: ([row[0][place] for row in rows], [row[1][place] for row in rows])
            for place, name in enumerate((MEAN, SPREAD, VARIATION))
        }
    )


def _figures(throughput: Floats) -> tuple[float, float, float]:
    mean, spread = float(throughput.mean()), float(throughput.std(ddof=1))
    return mean, spread, spread / mean


def sums_of(turns: Sequence[Turn]) -> TurnSums:
    """What the turns of one arm wrote and left, on average."""

    def mean(values: list[float]) -> float:
        known = [value for value in values if math.isfinite(value)]
        return sum(known) / len(known) if known else math.nan

    return TurnSums(
        turns=len(turns),
        seconds=mean([turn.measured_ns / NS_PER_S for turn in turns]),
        wal_bytes=mean([turn_bytes(turn) for turn in turns]),
        checkpoints=mean([float(turn.cycles) for turn in turns]),
        waiting_at_start=mean([turn.at_start.waiting_bytes for turn in turns]),
        waiting_at_end=mean([turn.at_end.waiting_bytes for turn in turns]),
    )
