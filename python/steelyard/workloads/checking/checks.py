"""Proves that the work of a workload was really done: runs its checks on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.workloads.loading.database import connected
from steelyard.workloads.loading.execution import named, source_of
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import DATABASE, Workload

if TYPE_CHECKING:
    import psycopg


def check(
    workload: Workload, address: Endpoint, scale: int, scripts: Sequence[Script] = ()
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
    with connected(replace(address, database=DATABASE)) as connection:
        return _found(connection, workload, files, scale)


def count_work(workload: Workload, address: Endpoint) -> dict[str, float]:
    """Each number that grows with the work done; a workload that counts nothing is not asked."""
    if not workload.counts:
        return {}
    with connected(replace(address, database=DATABASE)) as connection:
        return counted(connection, workload)


def counted(connection: psycopg.Connection, workload: Workload) -> dict[str, float]:
    """The numbers by their names; UsageError: a query answers with anything but one number."""
    return {name: _number(connection, workload, name) for name in workload.counts}


def _number(connection: psycopg.Connection, workload: Workload, name: str) -> float:
    query = workload.counts[name]
    source = source_of(workload, f'key "counts.{name}"')
    with named(source, query):
        cursor = connection.execute(query.encode())
        rows = cursor.fetchall() if cursor.description else []
    match rows:
        case [(int() | float() | Decimal() as number,)] if isfinite(number):
            return float(number)
    first = ", ".join("NULL" if value is None else str(value) for value in rows[0]) if rows else ""
    raise UsageError(
        f"{source}: its answer is not one number",
        detail=f"Rows: {len(rows)}" + (f"; the first: {first}" if rows else ""),
        hint="Before any work, too, it must be a number: coalesce(max(id), 0).",
    )


def violations_after_load(
    connection: psycopg.Connection, workload: Workload, scale: int
) -> list[str]:
    """What is wrong with freshly loaded data: `checks.sql` holds before any work too."""
    return _found(connection, workload, ["checks.sql"], scale)


def _found(
    connection: psycopg.Connection, workload: Workload, files: Sequence[str], scale: int
) -> list[str]:
    violations = []
    for file in files:
        for statement in workload.statements(file, scale):
            with named(source_of(workload, file), statement):
                rows = connection.execute(statement.encode()).fetchall()
            violations += [", ".join(str(told) for told in row) for row in rows]
    return violations
