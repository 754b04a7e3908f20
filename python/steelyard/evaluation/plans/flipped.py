"""Lists the statements that an arm plans otherwise than the control, with the time of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.evaluation.causes import compared, epoch_contrasts
from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.matching import Plans, script_alone_times, statement_times
from steelyard.model.readings import EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import FlippedPlan, Query, ScriptTime, Statement, StatementTime


@dataclass(frozen=True)
class Timed:
    """Where the times of statements come from."""

    epochs: Sequence[EpochTotals]
    """Those that are complete."""
    statements: Sequence[Statement]
    """Rows of the verdict, where statements were timed one by one."""
    queries: Sequence[Query]
    """Rows of the verdict, where each script is a slice of its own."""
    scripts: Sequence[ScriptTime] = ()
    """Rows of the verdict, of a mix of several."""


def flipped(inspection: Inspection, control: str, arm: str, timed: Timed) -> list[FlippedPlan]:
    """The statements whose plan flipped in this arm, each with its time where that is known."""
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    flips_of = {
        statement: flips(ours[statement], theirs[statement]).names
        for statement in ours
        if statement in theirs
    }
    changed = {statement: names for statement, names in flips_of.items() if names}
    if not changed:
        return []
    times = {
        **_whole(timed.epochs, control, arm, ours),
        **script_alone_times(timed.scripts, arm, ours),
        **statement_times(timed.statements, timed.queries, arm, ours),
    }
    return [
        FlippedPlan(
            arm=arm,
            control=control,
            statement=statement,
            flips=names,
            **({"time": times[statement]} if statement in times else {}),
        )
        for statement, names in changed.items()
    ]


def _whole(
    epochs: Sequence[EpochTotals], control: str, arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """The time of a transaction, where all that was driven is one statement."""
    if len(plans) != 1:
        return {}
    return {
        statement: StatementTime.model_validate(
            {
                "of": "transaction",
                "control_us": row.control_value,
                "arm_us": row.arm_value,
                **compared(row, control, arm),
            }
        )
        for statement in plans
        for row in epoch_contrasts(epochs, control, arm, {"mean": _mean_us})
    }


def _mean_us(epoch: EpochTotals, arm: str) -> float:
    return epoch.arms[arm].latency_mean_ns / NS_PER_US or math.nan
