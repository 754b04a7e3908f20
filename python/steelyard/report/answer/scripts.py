"""Words the scripts of a mix and their statements: each time in both arms, and what flipped in the
plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import shorten

from steelyard.evaluation.plans.matching import statement_place
from steelyard.model.units import NS_PER_US, format_digits, format_duration
from steelyard.record.contrast import PercentInterval
from steelyard.record.verdict import FlippedPlan, ScriptTime, Statement, Verdict
from steelyard.report.answer.measured import times_text, us_pair
from steelyard.wording.contrast_text import reading_text

MOST_SQL = 120
_ARROW = " → "
"""Between the control's node and the arm's in the name of a flip."""


def side_of(row: PercentInterval) -> str:
    """Of a time: `"slower"` or `"faster"` where its interval lies on one side of zero, else
    `"unchanged"`."""
    low, high = row.low_percent, row.high_percent
    if low is not None and low > 0:
        return "slower"
    return "faster" if high is not None and high < 0 else "unchanged"


def script_counts(rows: Sequence[ScriptTime | Statement]) -> str:
    """`"1 slower, 1 faster, 1 unchanged"`, of the scripts or the statements of one arm."""
    counts = Counter(map(side_of, rows))
    kinds = [f"{counts[side]} {side}" for side in ("slower", "faster", "unchanged") if counts[side]]
    return ", ".join(kinds)


def script_rows(rows: Sequence[ScriptTime]) -> list[dict[str, str]]:
    """Each script with its share, both times, its change, its SQL and what flipped in its plan."""
    return [_cells(row, row.script, "; ".join(row.statements)) for row in rows]


def within_scripts(verdict: Verdict, arm: str) -> list[Statement]:
    """The statements of an arm that were timed, the worst first, of scripts that hold several; of
    the others the script's own time says it."""
    about = [row for row in verdict.statements if row.arm == arm and row.share_percent is not None]
    counts = Counter(row.script for row in about)
    return [row for row in about if counts[row.script] > 1]


def statement_rows(rows: Sequence[Statement]) -> list[dict[str, str]]:
    """Each statement, by its script and line, as a script is shown; a backslash command has no
    share."""
    displayed, occurrences = [], Counter[str]()
    for row in rows:
        script, line, text = statement_place(row.statement)
        position = f"{script}:{line}"
        occurrences[position] += 1
        again = f" ({occurrences[position]})" if occurrences[position] > 1 else ""
        displayed.append(_cells(row, position + again, row.sql or text))
    return displayed


def _cells(row: ScriptTime | Statement, name: str, sql: str) -> dict[str, str]:
    shortened, plan = shorten(sql, MOST_SQL, placeholder=" …"), "; ".join(row.flips)
    return {
        "metric": name,
        "share": _percent(row.share_percent),
        "executed": _percent(row.executed_percent),
        "control": _mean(row.control_us),
        "arm": _mean(row.arm_us),
        "reading": ", ".join(filter(None, (reading_text(row), times_text(row.estimate_percent)))),
        "side": side_of(row),
        "sql": shortened,
        "plan": plan,
        "note": " · plan: ".join(filter(None, (shortened, plan))),
    }


def _percent(percent: float | None) -> str:
    return "–" if percent is None else f"{format_digits(percent, 3)} %"


def _mean(microseconds: float | None) -> str:
    return "–" if microseconds is None else format_duration(microseconds * NS_PER_US)


def plan_reasons(verdict: Verdict, arm: str) -> list[str]:
    """What changed where plans flipped and times with them, the largest change first: `"01-orders
    joins by Nested Loop over customers_pkey, was Hash Join: 54.2 → 7.86 ms"`. Of an arm that is
    slower or faster those that are so too: others are no reason for it."""
    verdicts = [contrast.verdict for contrast in verdict.contrasts if contrast.arm == arm]
    sides = [side for side in verdicts if side in ("slower", "faster")] or ["slower", "faster"]
    timed = [
        flip
        for flip in verdict.plans
        if flip.arm == arm and flip.time is not None and side_of(flip.time) in sides
    ]
    timed.sort(key=_size, reverse=True)
    positions = {f"{row.script}: {row.sql}": row.statement for row in within_scripts(verdict, arm)}
    return [_reason(flip, positions.get(flip.statement)) for flip in timed]


def _size(flip: FlippedPlan) -> float:
    return abs(flip.time.arm_us - flip.time.control_us) if flip.time else 0.0


def _reason(flip: FlippedPlan, position: str | None) -> str:
    """`position`: where the statement stands, of a script of several."""
    assert flip.time is not None  # the caller chose those that have one
    name = flip.statement.partition(": ")[0]
    if position is not None:
        name = "{}:{}".format(*statement_place(position))
    return f"{name} {flip_words(flip.flips)}: {us_pair(flip.time.control_us, flip.time.arm_us)}"


def flip_words(flips: Sequence[str]) -> str:
    """What an arm does, and what the control did: the join before the rows that are read."""
    changed = [pair for flip in flips if len(pair := flip.split(_ARROW)) == 2]
    joins = [(ours, theirs) for ours, theirs in changed if _is_join(theirs)]
    if joins:
        ours, theirs = joins[0]
        indexes = list(_indexes([arm for _, arm in changed]))
        over = f" over {' and '.join(indexes[:2])}" if indexes else ""
        return f"joins by {theirs}{over}, was {ours}"
    if changed:
        ours, theirs = changed[0]
        return f"{'reads by' if 'Scan' in theirs else 'is planned with'} {theirs}, was {ours}"
    return f"is planned otherwise ({flips[0]})"


def _is_join(node: str) -> bool:
    return "Join" in node or node.startswith("Nested Loop")


def _indexes(nodes: Sequence[str]) -> Iterator[str]:
    for node in nodes:
        if " by " in node:
            yield node.rpartition(" by ")[2]
