"""Tells which statements an arm plans otherwise than the control, and what each of them takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from steelyard.evaluation.causes import compared, epoch_contrasts
from steelyard.evaluation.plans.flips import flips
from steelyard.model.readings import EpochTotals
from steelyard.model.units import NS_PER_US
from steelyard.record.environment import Inspection
from steelyard.record.verdict import Compared, FlippedPlan, Query, Statement, StatementTime

Plans = Mapping[str, str]
"""`script: statement` → its plan."""
_VARIABLE = re.compile(r"(?<!:):[A-Za-z_]\w*|\$\d+")
_LINE = re.compile(r"^\d+ ")
US_PER_MS = 1000.0


@dataclass(frozen=True)
class Timed:
    """Where the times of statements come from."""

    epochs: Sequence[EpochTotals]
    """Those that are complete."""
    statements: Sequence[Statement]
    """Rows of the verdict, where statements were timed one by one."""
    queries: Sequence[Query]
    """Rows of the verdict, where each script is a slice of its own."""


def flipped(inspection: Inspection, control: str, arm: str, timed: Timed) -> list[FlippedPlan]:
    """The statements whose plan flipped in this arm, each with its time where that is known."""
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    found = {one: flips(ours[one], theirs[one]).names for one in ours if one in theirs}
    changed = {statement: names for statement, names in found.items() if names}
    if not changed:
        return []
    times = {
        **_whole(timed.epochs, control, arm, ours),
        **statement_times(timed.statements, timed.queries, arm, ours),
    }
    return [
        FlippedPlan(
            arm=arm,
            control=control,
            statement=one,
            flips=names,
            **({"time": times[one]} if one in times else {}),
        )
        for one, names in changed.items()
    ]


def statement_times(
    statements: Sequence[Statement], queries: Sequence[Query], arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """`script: statement` → its time, of those that were timed one by one, or whose script is
    this statement alone and a slice of its own. The rows are a verdict's."""
    alone = _alone(plans)
    times = {
        alone[one.query]: _time(one, "script", one.control_ms * US_PER_MS, one.arm_ms * US_PER_MS)
        for one in queries
        if one.arm == arm and one.query in alone
    }
    found = match_times(plans, [one for one in statements if one.arm == arm])
    return times | {
        statement: _time(row, "statement", row.control_us, row.arm_us)
        for statement, row in found.items()
    }


def _time(
    row: Compared, of: Literal["statement", "script"], control_us: float, arm_us: float
) -> StatementTime:
    kept = {name: getattr(row, name) for name in Compared.model_fields}
    return StatementTime(of=of, control_us=control_us, arm_us=arm_us, **kept)


def _alone(plans: Iterable[str]) -> dict[str, str]:
    """Script → its statement, of scripts that have one."""
    by_script: dict[str, list[str]] = {}
    for one in plans:
        by_script.setdefault(one.partition(": ")[0], []).append(one)
    return {script: own[0] for script, own in by_script.items() if len(own) == 1}


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


def match_times(plans: Iterable[str], rows: Sequence[Statement]) -> dict[str, Statement]:
    """`script: statement` → its row, which is named `script:LINE` and by the statement's first
    line alone: the first statement of the script, in its order, that begins so."""
    found: dict[str, Statement] = {}
    left = list(plans)
    for row in sorted(rows, key=_place):
        script, _, words = row.statement.partition(":")
        begins = f"{script}: {_plain(_LINE.sub('', words))}"
        same = next((one for one in left if _plain(one).startswith(begins)), None)
        if same is not None:
            found[same] = row
            left.remove(same)
    return found


def _place(row: Statement) -> tuple[str, int]:
    script, _, words = row.statement.partition(":")
    line = _LINE.match(words)
    return script, int(line[0]) if line else 0


def _plain(text: str) -> str:
    """Words in one form: variables alike, no comment, no end of a statement."""
    words = _VARIABLE.sub("$", text.partition(" --")[0].partition("\\")[0])
    return " ".join(words.split()).rstrip("; ")
