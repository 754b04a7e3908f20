"""Describes the numbers of a comparison before they are judged: every arm, and what rows share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.two_samples.pairing import is_sorted
from steelyard.analysis.two_samples.profile import Profile, profile_of
from steelyard.foreign.comparison import Comparison
from steelyard.foreign.judgement.number_sets import RowOrder
from steelyard.foreign.series import Order, Rows, Series


@dataclass(frozen=True, eq=False)
class Overview:
    """Level, spread, steps, drift and outliers of every arm, and of all arms together."""

    comparison: Comparison
    logs: Mapping[str, Floats]
    """Arm → natural logs of its rows; a row without any work counts as the least there was."""
    profiles: Mapping[str, Profile]
    in_time: bool
    """Whether rows are in the order of measuring, as far as is known."""
    common_logs: Floats | None
    """Mean over the arms of the logs of every row, where rows belong together in time."""
    common: Profile | None

    @property
    def row_order(self) -> RowOrder:
        """What the order of the rows says of their independence."""
        if self.comparison.order is Order.RANDOM:
            return RowOrder.DRAWN
        return RowOrder.IN_TIME if self.in_time else RowOrder.LOST


def overview_of(comparison: Comparison) -> Overview:
    """The overview of a comparison."""
    logs = {arm.arm: logs_of(arm) for arm in comparison.arms}
    in_time = not comparison.no_order and not order_lost(comparison)
    equal = len({len(arm.values) for arm in comparison.arms}) == 1
    beside = comparison.rows is not Rows.APART and equal and in_time
    shared = np.mean([logs[arm.arm] for arm in comparison.arms], axis=0) if beside else None
    return Overview(
        comparison=comparison,
        logs=logs,
        profiles={name: profile_of(values, in_time) for name, values in logs.items()},
        in_time=in_time,
        common_logs=shared,
        common=profile_of(shared) if shared is not None else None,
    )


def order_lost(comparison: Comparison) -> bool:
    """Whether every arm is sorted, with five rows or more: no measurement comes out so."""
    return all(is_sorted(arm.values) for arm in comparison.arms)


def logs_of(series: Series) -> Floats:
    """Natural logs of the rows, shape (n,)."""
    least = float(series.values[series.values > 0].min())
    logs: Floats = np.log(np.maximum(series.values, least))
    return logs
