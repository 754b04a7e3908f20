"""Proves that the work of a workload was done: runs its checks and counts on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from statistics import median_low

from steelyard._core import script_statements
from steelyard.engines.loading import Checker, WorkloadDatabase
from steelyard.model.errors import UsageError
from steelyard.workloads.reading.dialects import language
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import EachProbe, Workload


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
        return _violations(checker, workload, files, scale)


def consistency(
    workload: Workload, database: WorkloadDatabase, scale: int, scripts: Sequence[Script] = ()
) -> list[str]:
    """As `check`, and what `consistency.sql` finds, which reads all the data."""
    violations = check(workload, database, scale, scripts)
    with database.checker() as checker:
        return [*violations, *_violations(checker, workload, ["consistency.sql"], scale)]


def count_work(workload: Workload, database: WorkloadDatabase) -> dict[str, float]:
    """Each number that grows with the work done; none of a workload that counts nothing."""
    if not workload.counts:
        return {}
    with database.counter() as checker:
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
    return _violations(checker, workload, ["checks.sql"], scale)


def _violations(
    checker: Checker, workload: Workload, files: Sequence[str], scale: int
) -> list[str]:
    violations = []
    for file in files:
        for statement in workload.statements(file, scale):
            rows = checker.rows(statement, workload.part(file))
            violations += [", ".join(str(field) for field in row) for row in rows]
    return violations


def explain_probes(
    workload: Workload, database: WorkloadDatabase, scale: int
) -> dict[str, dict[str, int]]:
    """Probe → what its execution counted; in the order of the workload, on one connection.

    Of one that is executed for each of some numbers: the sum of each counter, and the least, the
    median and the most of one execution as `COUNTER_least` and so on; `executions` says how many.
    UsageError: its numbers are none.
    """
    if not workload.probes:
        return {}
    counts: dict[str, dict[str, int]] = {}
    with database.prober() as prober:
        for name, probe in workload.probes.items():
            if isinstance(probe, str):
                counts[name] = prober.explain(*_resolved(workload, name, probe, scale))
            elif numbers := _numbers(workload, database, name, probe, scale):
                each = (_resolved(workload, name, probe.query, scale, each=n) for n in numbers)
                counts[name] = _distribution([prober.explain(*arguments) for arguments in each])
    return counts


def _numbers(
    workload: Workload, database: WorkloadDatabase, name: str, probe: EachProbe, scale: int
) -> list[int]:
    """What a probe is executed for; none where the options leave nothing to ask."""
    statements = _statements(workload, name, probe.each, scale)
    if not statements:
        return []
    source = workload.part(f'key "probes.{name}.each"')
    with database.checker() as checker:
        checker.execute(statements[:-1], source)
        rows = checker.rows(statements[-1], source)
    numbers = [row[0] for row in rows if len(row) == 1 and isinstance(row[0], int)]
    if not numbers or len(numbers) < len(rows):
        raise UsageError(
            f"{source}: its answer is not whole numbers, one a row",
            detail=f"Rows: {len(rows)}" + (f"; the first: {rows[0]}" if rows else ""),
        )
    return numbers


def _distribution(executions: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """The sum of each counter, and what single executions counted."""
    summary = {"executions": len(executions)}
    for counter in executions[0]:
        counts = [execution[counter] for execution in executions]
        summary[counter] = sum(counts)
        summary[f"{counter}_least"] = min(counts)
        summary[f"{counter}_median"] = median_low(counts)
        summary[f"{counter}_most"] = max(counts)
    return summary


def _resolved(
    workload: Workload, name: str, text: str, scale: int, **more: int
) -> tuple[list[str], str]:
    """The settings that a probe sets before its query, and the query, variables filled in."""
    *settings, query = _statements(workload, name, text, scale, **more)
    return settings, query


def _statements(workload: Workload, name: str, text: str, scale: int, **more: int) -> list[str]:
    variables = {**workload.variables(scale), **more}
    try:
        values = {key: str(value) for key, value in variables.items()}
        return script_statements(name, text, values, dialect=language(workload.kind))
    except ValueError as error:
        raise UsageError(
            f'workload "{workload.name}": probe "{name}" is wrong', detail=str(error)
        ) from error
