"""Formats parts that summaries share: what each script, statement and query of a weighing took, the
worst first; its doubts; its record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten

from steelyard.cli.views.text_layout import contrast_table, rest_in_report, wrapped
from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine, WithdrawnThreat
from steelyard.record.verdict import Verdict
from steelyard.report.answer.first_page import next_lines, repeating_command
from steelyard.report.answer.scripts import (
    script_counts,
    script_rows,
    statement_rows,
    within_scripts,
)
from steelyard.report.tables import query_rows, statement_cost_rows
from steelyard.report.wall_time import took_text

_INDENT = "  "
_MOST_COSTS, _SHORT_STATEMENT = 6, 44
_MOST_SCRIPTS, _MOST_TIMED = 12, 8
"""Costs of statements, scripts and timed statements that are printed, and characters of each
statement."""


def script_lines(verdict: Verdict, width: int) -> list[str]:
    """A row a script of the mix, the worst first, with its statement and its plan where it flipped;
    then so the statements of scripts that hold several."""
    lines: list[str] = []
    for contrast in verdict.contrasts:
        scripts = [row for row in verdict.scripts if row.arm == contrast.arm]
        statements = within_scripts(verdict, contrast.arm)
        several = f" in {contrast.arm}" if len(verdict.contrasts) > 1 else ""
        for name, rows, counts, most in (
            ("scripts", script_rows(scripts), script_counts(scripts), _MOST_SCRIPTS),
            ("statements", statement_rows(statements), script_counts(statements), _MOST_TIMED),
        ):
            if rows:
                lines.append(f"{name}{several}: {counts}")
                lines += _worst_first(contrast, rows, width, most)
    return lines


def _worst_first(
    contrast: ContrastLine, rows: Sequence[Mapping[str, str]], width: int, most: int
) -> list[str]:
    """Rows with their share, the first of them with SQL and plan where they changed."""
    titled = [{**row, "metric": f"{row['metric']} ({row['share']})"} for row in rows]
    table = contrast_table(
        "mean time of (share)", contrast.control, contrast.arm, titled[:most], width
    )
    lines = table[:1]
    for row, line in zip(rows, table[1:], strict=False):
        lines.append(line)
        if row["side"] != "unchanged" and row["sql"]:
            lines.append(f"{_INDENT}{shorten(row['sql'], width - 2, placeholder=' …')}")
        lines += wrapped(f"plan: {row['plan']}", width, _INDENT) if row["plan"] else []
    return [*lines, *rest_in_report(len(rows) - most)]


def statement_cost_lines(verdict: Verdict, width: int) -> list[str]:
    """What an execution of each statement cost, where the servers counted it: those that wrote most
    log, in every arm against the control."""
    lines: list[str] = []
    for arm in dict.fromkeys(cost.arm for cost in verdict.statement_costs):
        about = [cost for cost in verdict.statement_costs if cost.arm == arm]
        short = [
            cost.model_copy(
                update={"statement": shorten(cost.statement, _SHORT_STATEMENT, placeholder=" …")}
            )
            for cost in about[:_MOST_COSTS]
        ]
        rows = statement_cost_rows(short)
        lines += contrast_table("an execution of", about[0].control, arm, rows, width)
        lines += rest_in_report(len(about) - len(rows))
    return lines


def query_lines(verdict: Verdict, width: int) -> list[str]:
    """A row a query in every arm, where each was a slice of its own, and below it what was not
    finished in which arm."""
    lines: list[str] = []
    arms = dict.fromkeys(row.arm for row in verdict.queries)
    for arm in arms:
        lines += wrapped(f"queries in {arm}", width, "") if len(arms) > 1 else []
        about = [row for row in verdict.queries if row.arm == arm]
        rows = query_rows(about)
        head, *table = contrast_table("time of a query", about[0].control, arm, rows, width)
        lines.append(head)
        for row, line in zip(rows, table, strict=True):
            excluded = f" ({row['excluded']})" if row["excluded"] else ""
            lines += wrapped(f"{line}{excluded}", width, "")
            lines += wrapped(row["unfinished"], width, _INDENT) if row["unfinished"] else []
    return lines


def verdict_threats(contrasts: Sequence[ContrastLine], width: int) -> list[str]:
    """The threats of all contrasts, and those that were withdrawn."""
    threats = (threat for contrast in contrasts for threat in contrast.threats)
    withdrawn = (threat for contrast in contrasts for threat in contrast.withdrawn)
    return threat_lines(threats, withdrawn, width)


def threat_lines(
    active: Iterable[Threat], gone: Iterable[WithdrawnThreat], width: int
) -> list[str]:
    """Every threat once, those that invalidate first, with cause and advice."""
    threats = {(threat.name, threat.seen): threat for threat in active}
    withdrawn = {(threat.name, threat.seen): threat for threat in gone}
    if not threats and not withdrawn:
        return ["doubts: none of the known threats was seen"]
    lines = ["doubts"]
    for threat in sorted(threats.values(), key=lambda t: not t.invalidates):
        fatal = " (makes the verdict invalid)" if threat.invalidates else ""
        lines += wrapped(f"- {threat.name}{fatal}: {threat.seen}", width, _INDENT)
        lines += wrapped(f"  cause: {threat.cause}", width, _INDENT)
        lines += wrapped(f"  advice: {threat.advice}", width, _INDENT)
    for withdrawal in withdrawn.values():
        lines += wrapped(f"- withdrawn: {withdrawal.name}: {withdrawal.seen}", width, _INDENT)
        lines += wrapped(f"  {withdrawal.why}", width, _INDENT)
    return lines


def record_lines(verdict: Verdict, width: int) -> list[str]:
    """Paths and the command stay on one line each, however long, to be copied."""
    record = verdict.record
    return [
        f"record  {record}",
        f"report  {record}/report.html",
        f"repeat  {repeating_command(verdict)}",
        *_next_lines(verdict, width),
        *_hanging("took    ", took_text(verdict), width),
    ]


def _next_lines(verdict: Verdict, width: int) -> list[str]:
    """A command whole, what it is wrapped."""
    indent = " " * len("next    ")
    return [
        part
        for line in next_lines(verdict)
        for part in (wrapped(line.strip(), width, indent) if line.startswith(indent) else [line])
    ]


def _hanging(label: str, text: str, width: int) -> list[str]:
    """Text beside its label, its further lines below its first."""
    lines = wrapped(text, width, " " * len(label))
    return [label + lines[0].lstrip(), *lines[1:]]
