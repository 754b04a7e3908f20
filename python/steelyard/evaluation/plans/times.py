"""Finds the time of each statement that has a plan among the times of a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from steelyard.record.verdict import Compared, Query, ScriptTime, Statement, StatementTime

Plans = Mapping[str, str]
"""`script: statement` → its plan."""
_VARIABLE = re.compile(r"(?<!:):[A-Za-z_]\w*|\$\d+")
_LINE = re.compile(r"^\d+ ")
US_PER_MS = 1000.0


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


def script_alone_times(
    scripts: Sequence[ScriptTime], arm: str, plans: Plans
) -> dict[str, StatementTime]:
    """`script: statement` → the time of its script, of those that are this statement alone."""
    alone = _alone(plans)
    return {
        alone[one.script]: _time(one, "script", one.control_us, one.arm_us)
        for one in scripts
        if one.arm == arm and one.script in alone and one.control_us and one.arm_us
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


def match_times(plans: Iterable[str], rows: Sequence[Statement]) -> dict[str, Statement]:
    """`script: statement` → its row, which is named `script:LINE` and by the statement's first
    line alone: the first statement of the script, in its order, that begins so."""
    found: dict[str, Statement] = {}
    left = list(plans)
    for row in sorted(rows, key=_place):
        script, _, words = row.statement.partition(":")
        begins = _plain(_LINE.sub("", words))
        if not begins:
            continue  # a backslash command
        known = f"{script}: {begins}"
        same = next((one for one in left if _plain(one).startswith(known)), None)
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
