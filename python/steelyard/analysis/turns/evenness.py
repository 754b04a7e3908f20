"""Computes how even throughput and device requests of turns are, and what each arm wrote and left.

The coefficient of variation of a series falls with the length of its windows and rises with the
length of the series, so both arms of an epoch are cut to the same time and to the same windows:
fixed windows from the begin of the measured part, into which the work of a second goes in
proportion to time. None is shorter than the seconds themselves. An even server at a lower mean is
another thing than a fast one with stalls; the mean alone does not distinguish them.

Cuts a turn into four parts that can be compared with each other, whatever a checkpoint does.

The first two are as many whole checkpoint cycles as the last two, so that what comes and goes
within a cycle is in both halves alike; an odd cycle in the middle is left out. Where a turn has
fewer than two cycles its time is cut into four.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.analysis.decision.secondary import SecondaryContrast, secondary_contrasts
from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.turns.debt import turn_bytes
from steelyard.model.turn import Second, Turn
from steelyard.model.units import NS_PER_S

FEWEST_WINDOWS = 10
"""With fewer a spread is no figure."""
MEAN, SPREAD, VARIATION = "throughput_mean", "throughput_sd", "throughput_cv"
READ_VARIATION, WRITE_VARIATION = "read_iops_cv", "write_iops_cv"

_REQUESTS: Mapping[str, Callable[[Second], float]] = {
    READ_VARIATION: lambda second: second.device_reads,
    WRITE_VARIATION: lambda second: second.device_writes,
}


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
            turn.clients * second.transactions / (second.busy_ns / NS_PER_S)
            if second.busy_ns
            else 0.0
            for second in turn.seconds
        ]
    )


def even_windows(control: Turn, arm: Turn) -> tuple[Floats, Floats]:
    """Throughput of both arms by equal windows, shape (windows,) each, as many as both have."""
    of_control, of_arm = (_throughput(windows) for windows in _pair_windows(control, arm))
    return of_control, of_arm


@dataclass(frozen=True, slots=True)
class _Windows:
    """A turn cut into equal windows. What happened in a second runs up evenly within it, and stands
    still between two of them."""

    turn: Turn
    window_ns: float
    count: int

    def amounts(self, of_each: Callable[[Second], float]) -> Floats:
        """What fell into each window, of a number that each second has."""
        seconds = self.turn.seconds
        if not seconds:
            return np.empty(0)
        edges = seconds[0].start_ns + self.window_ns * np.arange(self.count + 1)
        at = np.array(
            [t for second in seconds for t in (second.start_ns, second.end_ns)], dtype=float
        )
        steps = [amount for second in seconds for amount in (0.0, float(of_each(second)))]
        return np.diff(np.interp(edges, at, np.cumsum(steps)))


def _pair_windows(control: Turn, arm: Turn) -> tuple[_Windows, _Windows]:
    """Both turns cut alike, as long as the shorter one took; no windows where one has no second."""
    turns = (control, arm)
    if not all(turn.seconds for turn in turns):
        return _Windows(control, float(NS_PER_S), 0), _Windows(arm, float(NS_PER_S), 0)
    lengths = [
        np.median([second.end_ns - second.start_ns for second in turn.seconds]) for turn in turns
    ]
    window_ns = max(float(NS_PER_S), *(float(length) for length in lengths))
    whole_ns = min(turn.measured_ns for turn in turns)
    count = int(whole_ns / window_ns * (1 + 1e-9))
    return _Windows(control, window_ns, count), _Windows(arm, window_ns, count)


def _throughput(windows: _Windows) -> Floats:
    done = windows.amounts(lambda second: second.transactions)
    busy_ns = windows.amounts(lambda second: second.busy_ns)
    return np.divide(
        windows.turn.clients * NS_PER_S * done,
        busy_ns,
        out=np.zeros(len(done)),
        where=busy_ns > 0,
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
            name: ([row[0][index] for row in rows], [row[1][index] for row in rows])
            for index, name in enumerate((MEAN, SPREAD, VARIATION))
        }
    )


def request_evenness(pairs: Sequence[tuple[Turn, Turn]]) -> tuple[SecondaryContrast, ...]:
    """Contrasts of the CV (sd ÷ mean) of the devices' reads and of their writes a second, over the
    same windows as throughput; a window in which nothing was measured is left out.

    `pairs`: as for `evenness`. Log ratios with joint intervals. Epochs with fewer than 10 windows
    and those whose requests were not counted are left out; reads or writes of which an arm did none
    in some epoch have no row.
    """
    every = [_pair_windows(control, arm) for control, arm in pairs]
    counted = [
        sides
        for sides in every
        if sides[0].count >= FEWEST_WINDOWS and all(_counted(side.turn.seconds) for side in sides)
    ]
    columns: dict[str, tuple[list[float], list[float]]] = {}
    for name, of_each in _REQUESTS.items():
        control, arm = ([_variation(s[side], of_each) for s in counted] for side in (0, 1))
        if counted and all(map(math.isfinite, [*control, *arm])):
            columns[name] = control, arm
    return secondary_contrasts(columns)


def _counted(seconds: Sequence[Second]) -> bool:
    return all(math.isfinite(second.device_reads + second.device_writes) for second in seconds)


def _variation(windows: _Windows, of_each: Callable[[Second], float]) -> float:
    """CV of a number of requests a second over windows; NaN where there was none."""
    loaded_ns = windows.amounts(lambda second: second.end_ns - second.start_ns)
    rates = windows.amounts(of_each)[loaded_ns > 0] / loaded_ns[loaded_ns > 0]
    return float(rates.std(ddof=1) / rates.mean()) if rates.any() else math.nan


def _figures(throughput: Floats) -> tuple[float, float, float]:
    mean, spread = float(throughput.mean()), float(throughput.std(ddof=1))
    return mean, spread, spread / mean


def sums_of(turns: Sequence[Turn]) -> TurnSums:
    """What the turns of one arm wrote and left, on average."""

    def mean(values: list[float]) -> float:
        finite = [value for value in values if math.isfinite(value)]
        return sum(finite) / len(finite) if finite else math.nan

    return TurnSums(
        turns=len(turns),
        seconds=mean([turn.measured_ns / NS_PER_S for turn in turns]),
        wal_bytes=mean([turn_bytes(turn) for turn in turns]),
        checkpoints=mean([float(turn.cycles) for turn in turns]),
        waiting_at_start=mean([turn.at_start.waiting_bytes for turn in turns]),
        waiting_at_end=mean([turn.at_end.waiting_bytes for turn in turns]),
    )


def four_parts(turn: Turn) -> list[list[Second]]:
    """The measured seconds of each part, by their middles; none where nothing was measured."""
    if not turn.seconds:
        return [[], [], [], []]
    start, end = turn.seconds[0].start_ns, turn.seconds[-1].end_ns
    inside = sorted(moment for moment in _cycle_borders(turn) if start < moment <= end)
    borders = [start, *inside] if turn.at_checkpoint else inside
    if len(borders) < 3:
        borders = [start, (start + end) // 2, end]
    half = (len(borders) - 1) // 2
    halves = (borders[0], borders[half]), (borders[-1 - half], borders[-1])
    return [part for low, high in halves for part in _in_two(turn.seconds, low, high)]


def _cycle_borders(turn: Turn) -> list[int]:
    """Where its whole cycles begin and end: at the end of each checkpoint in turns, and at its
    begin in cycles, whose windows of own time begin with one."""
    if math.isfinite(turn.seconds[0].wall_ns):
        return [checkpoint.began_ns for checkpoint in turn.checkpoints]
    return [each.ended_ns for each in turn.checkpoints if each.ended_ns is not None]


def _in_two(seconds: Sequence[Second], low: int, high: int) -> list[list[Second]]:
    borders = (low, (low + high) // 2, high)
    return [
        [second for second in seconds if a <= (second.start_ns + second.end_ns) // 2 < b]
        for a, b in pairwise(borders)
    ]
