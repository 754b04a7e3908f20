"""Judges each statement by itself, where statements were timed: its share, its mean time, how an
arm changes it, and its plan."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.evaluation.plans.flips import flips
from steelyard.evaluation.plans.matching import match_times, statement_place
from steelyard.evaluation.scripts.mean_times import MeanTime, mean_times
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.record.environment import Inspection
from steelyard.record.verdict import Statement


def statement_rows(
    epochs: Sequence[EpochTotals],
    inspection: Inspection,
    control: str,
    arm: str,
    margin: float,
) -> list[Statement]:
    """A row for each command that was timed, jointly: statements, the worst first, then backslash
    commands, which are the client's own work and have no verdict. `margin`: a share within which an
    arm is as good."""
    names = list(dict.fromkeys(name for epoch in epochs for name in epoch.arms[control].statements))
    times = mean_times(epochs, (control, arm), names, _counted, margin)
    sql = [time for time in times if not _is_client_side(time.name)]
    client_side = [time for time in times if _is_client_side(time.name)]
    all_time = sum(time.share_percent for time in sql) / 100 or 1.0
    all_executed = sum(time.executed_percent for time in sql) / 100 or 1.0
    rows = [
        _row(time)
        | {
            "share_percent": time.share_percent / all_time,
            "executed_percent": time.executed_percent / all_executed,
            "verdict": time.verdict,
        }
        for time in sql
    ]
    every = map(Statement.model_validate, [*rows, *map(_row, client_side)])
    return _with_plans(list(every), inspection, control, arm)


def _row(time: MeanTime) -> dict[str, object]:
    return {
        "statement": time.name,
        "script": statement_place(time.name)[0],
        "control_us": time.control_us,
        "arm_us": time.arm_us,
        **time.change,
    }


def _is_client_side(name: str) -> bool:
    """Whether `script:LINE words` is a backslash command."""
    return statement_place(name)[2].startswith("\\")


def _with_plans(
    rows: Sequence[Statement], inspection: Inspection, control: str, arm: str
) -> list[Statement]:
    """The rows, those that have a plan with the whole statement and what flipped in it."""
    ours, theirs = (inspection.plans.get(name, {}) for name in (control, arm))
    planned = {row.statement: name for name, row in match_times(ours, rows).items()}
    return [
        row.model_copy(
            update={
                "sql": name.partition(": ")[2],
                "flips": flips(ours[name], theirs[name]).names if name in theirs else (),
            }
        )
        if (name := planned.get(row.statement)) is not None
        else row
        for row in rows
    ]


def _counted(arm: ArmTotals, statement: str) -> tuple[int, float]:
    return arm.statements.get(statement, (0, 0))
