"""Proves that the work of a workload was done: runs its checks and counts on a server."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

from steelyard._core import script_statements
from steelyard.engines.loading import Checker, WorkloadDatabase
from steelyard.model.errors import UsageError
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload


def check(
    workload: Workload, database: WorkloadDatabase, scale: int, scripts: Sequence[Script] = ()
) -> list[str]:
    """What is wrong with the data after the scripts ran; empty when everything holds.

    `checks.sql` holds after any mix of the workload's scripts, `checks/NAME.sql` only where NAME
    is the one script that writes. After scripts of the user that write nothing can be said.
    """
    writers = [script.name for script in scripts if script.writes]
    if any(name not in workload.scripts for name in writers):
        return []
    files = ["checks.sql"]
    if len(writers) == 1:
        files.append(f"checks/{writers[0]}.sql")
    with database.checker() as checker:
        return _found(checker, workload, files, scale)


def consistency(
    workload: Workload, database: WorkloadDatabase, scale: int, scripts: Sequence[Script] = ()
) -> list[str]:
    """As `check`, and what `consistency.sql` finds, which reads all the data."""
    found = check(workload, database, scale, scripts)
    with database.checker() as checker:
        return [*found, *_found(checker, workload, ["consistency.sql"], scale)]


def count_work(workload: Workload, database: WorkloadDatabase) -> dict[str, float]:
    """Each number that grows with the work done; none of a workload that counts nothing."""
    if not workload.counts:
        return {}
    with database.checker() as checker:
        return counted(checker, workload)


def counted(checker: Checker, workload: Workload) -> dict[str, float]:
    """The numbers by their names; UsageError: a query answers with anything but one number."""
    return {name: _number(checker, workload, name) for name in workload.counts}


def _number(checker: Checker, workload: Workload, name: str) -> float:
    source = workload.part(f'key "counts.{name}"')
    rows = checker.rows(workload.counts[name], source)
    match rows:
        case [(int() | float() | Decimal() as number,)] if isfinite(number):
            return float(number)
    first = ", ".join("NULL" if value is None else str(value) for value in rows[0]) if rows else ""
    raise UsageError(
        f"{source}: its answer is not one number",
        detail=f"Rows: {len(rows)}" + (f"; the first: {first}" if rows else ""),
        hint="Before any work, too, it must be a number: coalesce(max(id), 0).",
    )


def violations_after_load(checker: Checker, workload: Workload, scale: int) -> list[str]:
    """What is wrong with freshly loaded data: `checks.sql` holds before any work too."""
    return _found(checker, workload, ["checks.sql"], scale)


def _found(checker: Checker, workload: Workload, files: Sequence[str], scale: int) -> list[str]:
    violations = []
    for file in files:
        for statement in workload.statements(file, scale):
            rows = checker.rows(statement, workload.part(file))
            violations += [", ".join(str(field) for field in row) for row in rows]
    return violations


def explain_probes(
    workload: Workload, database: WorkloadDatabase, scale: int
) -> dict[str, dict[str, int]]:
    """Probe → what its execution counted; in the order of the workload, on one connection."""
    if not workload.probes:
        return {}
    with database.prober() as prober:
        return {
            name: prober.explain(*_resolved(workload, name, text, scale))
            for name, text in workload.probes.items()
        }


def _resolved(workload: Workload, name: str, text: str, scale: int) -> tuple[list[str], str]:
    """The settings that a probe sets before its query, and the query, variables filled in."""
    variables = {name: str(value) for name, value in workload.variables(scale).items()}
    try:
        *settings, query = script_statements(name, text, variables)
    except ValueError as error:
        raise UsageError(
            f'workload "{workload.name}": probe "{name}" is wrong', detail=str(error)
        ) from error
    return settings, query
