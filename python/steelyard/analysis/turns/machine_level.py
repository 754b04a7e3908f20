"""Takes the machine's own level out of the slices of two arms that alternate, as in cycles.

The totals of a window are of blocks that both arms share, so that the machine's level cancels. A
bin of a curve is not: the arms' checkpoints begin some blocks apart, or their cycles are unlike,
and the same two seconds after a checkpoint are of other blocks in either arm. What a machine does
for some seconds then stays in the ratio: with gusts of sd 15 % that last five seconds and
checkpoints three seconds apart, bins of a curve scatter by 4 to 12 % from epoch to epoch, and by 1
to 9 % once the level is out.

So the slices of an epoch are fitted by a product: the level of the machine about the moment of the
slice, times the curve of its arm at the slice's distance from a checkpoint. The level is what both
arms did within a few blocks of a moment, over what their curves let expect (a Gaussian weight);
the curve what an arm did in a bin, over what the level lets expect: totals both, so that stalls
count as time without work. It treats the arms alike: exchanged, they have the opposite contrast.
Where all checkpoints begin in the same blocks, ratios of levelled slices are those of plain totals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.model.turn import Turn

Pair = tuple[Turn, Turn]

BLOCKS = 2.0
"""Standard deviation of the weight, in blocks: long enough that 8 slices tell a level, short beside
what a machine does for seconds."""
STEPS = 30
"""Of the fit; what three hundred would give is within 1 %."""
EDGES_S = np.array([0, 1, 2, 3.5, 5, 7.5, 10, 15, 20, 30, 60, 120, 300, 600, np.inf])
"""Bins of an arm's curve in the fit. Within one the curve is taken for flat: finer ones take more
of the machine's noise for the curve, coarser ones some of the curve for the machine's level. With
bursts of 10 and 40 % that fade within four seconds, three seconds apart, the first second is off by
up to 2 %, others by 1 (BIAS.md)."""
MOST, LEAST = 10.0, 0.1
"""Levels beyond are not told: there both arms hardly worked, or hardly in the rest of the epoch."""


def levelled(pair: Pair) -> Pair:
    """The two turns of an epoch, the busy time of each slice multiplied by the machine's level at
    its moment, so that work per time is what a level machine would show; turns that did not
    alternate stay as they are."""
    moments = np.array([second.wall_ns for turn in pair for second in turn.seconds])
    if not len(moments) or not np.isfinite(moments).all() or not all(t.seconds for t in pair):
        return pair
    levels = np.clip(_levels(pair, moments), LEAST, MOST)
    turns, offset = [], 0
    for turn in pair:
        turn_levels = levels[offset : offset + len(turn.seconds)]
        offset += len(turn.seconds)
        seconds = tuple(
            replace(second, busy_ns=max(1, round(second.busy_ns * level)) if second.busy_ns else 0)
            for second, level in zip(turn.seconds, turn_levels.tolist(), strict=True)
        )
        turns.append(replace(turn, seconds=seconds))
    return turns[0], turns[1]


def _levels(pair: Pair, moments: Floats) -> Floats:
    """The machine's level at each slice, of the control first; 1 on average."""
    cells, count = _cells(pair)
    done = np.array([float(second.transactions) for turn in pair for second in turn.seconds])
    busy = np.array([float(second.busy_ns) for turn in pair for second in turn.seconds])
    weights = _weights(moments, len(pair[0].seconds))
    worked = weights @ done
    level = np.ones(len(done))
    for _ in range(STEPS):
        rates = _ratio(
            # numpy's stubs take sums of weights for integers
            np.bincount(cells, done, minlength=count),  # type: ignore[arg-type]
            np.bincount(cells, busy * level, minlength=count),  # type: ignore[arg-type]
        )
        level = _ratio(worked, weights @ (rates[cells] * busy))
        level /= np.average(level, weights=busy) or 1.0
    return level


def _cells(pair: Pair) -> tuple[np.ndarray, int]:
    """For each slice its arm and its bin of the time since a checkpoint began, as one number; and
    how many there are. What lies before any known checkpoint has a bin of its own."""
    bins = len(EDGES_S) + 1
    cells = []
    for side, turn in enumerate(pair):
        begins = np.sort(
            np.array([checkpoint.began_ns for checkpoint in turn.checkpoints], dtype=np.float64)
        )
        middles = np.array([(second.start_ns + second.end_ns) / 2 for second in turn.seconds])
        last = np.searchsorted(begins, middles, side="right") - 1
        since = middles - begins[last] if len(begins) else np.full(len(middles), -1.0)
        since = np.where(last < 0, -1.0, since)
        cells.append(side * bins + np.searchsorted(1e9 * EDGES_S, since, side="right"))
    return np.concatenate(cells), 2 * bins


def _weights(moments: Floats, control: int) -> Floats:
    """How much each slice says of the level at each, shape (slices, slices)."""
    block_ns = float(np.median(np.diff(np.sort(moments[:control])))) if control > 1 else 1e9
    apart = (moments[:, None] - moments[None, :]) / (BLOCKS * max(block_ns, 1.0))
    weights: Floats = np.exp(-0.5 * apart**2)
    return weights


def _ratio(over: Floats, under: Floats) -> Floats:
    """0 where nothing is under it."""
    ratio: Floats = np.divide(over, under, out=np.zeros_like(over), where=under > 0)
    return ratio
