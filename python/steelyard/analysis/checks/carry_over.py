"""Computes carry-over: how much an arm reads otherwise after another arm than after itself.

Only the first slice of a block is used: whether it follows its own arm or another is then a coin
flip of the block order, and position inside the block plays no part. A change that both arms share
cancels; only a difference between the arms can move a contrast, so that is what is measured.
Carry-over and burn-in in switchback designs: Hu & Wager, arXiv 2209.00197; diagnostics by
conditional randomisation: Liu & Zhong, arXiv 2602.23257.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from steelyard.model.readings import ArmTotals, SliceTotals

FEWEST_SLICES = 2
"""Slices of either kind an arm must have for its change to count."""


def carry_over(arms: Mapping[str, ArmTotals], arm: str, control: str) -> float:
    """(arm after another − arm after itself) − (the same of the control), of mean log throughput.

    `arms`: every arm of the epoch, since what came before may be a third one. NaN where the arm or
    the control has fewer than FEWEST_SLICES slices of either kind.
    """
    run = sorted(
        (
            (one.block, one.position, name, one)
            for name, all_of in arms.items()
            for one in all_of.slices
        ),
        key=lambda place: place[:2],
    )
    after: dict[tuple[str, bool], list[float]] = {}
    for (earlier, last, before, _), (block, position, name, one) in pairwise(run):
        neighbours = (earlier, last) == (block - 1, len(arms) - 1)  # none was dropped between them
        if position == 0 and neighbours and one.transactions > 0:
            after.setdefault((name, before == name), []).append(_log_rate(one))
    changes = [_change(after, name) for name in (arm, control)]
    return changes[0] - changes[1]


def _change(after: Mapping[tuple[str, bool], list[float]], name: str) -> float:
    own, other = after.get((name, True), []), after.get((name, False), [])
    if min(len(own), len(other)) < FEWEST_SLICES:
        return math.nan
    return float(np.mean(other)) - float(np.mean(own))


def _log_rate(one: SliceTotals) -> float:
    return math.log(one.transactions / max(one.busy_ns, 1))
