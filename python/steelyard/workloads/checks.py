"""Proves that the work of a workload was really done: runs its checks on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.engines.engine import Address
from steelyard.workloads.database import connected, value
from steelyard.workloads.scripts import Script
from steelyard.workloads.workload import DATABASE, Workload

if TYPE_CHECKING:
    import psycopg


def check(
    workload: Workload, address: Address, scale: int, scripts: Sequence[Script] = ()
) -> list[str]:
    """What is wrong with the data after the scripts ran; empty when everything holds.

    `checks.sql` holds after any mix of the workload's scripts, `checks/NAME.sql` only where NAME
    is the one script that writes. After scripts of the user that write nothing can be said.
    """
    writers = [script.name for script in scripts if script.writes]
    if any(name not in workload.scripts for name in writers):
        return []
    statements = workload.statements("checks.sql", scale)
    if len(writers) == 1:
        statements += workload.statements(f"checks/{writers[0]}.sql", scale)
    with connected(replace(address, database=DATABASE)) as connection:
        return _found(connection, statements)


def count_work(workload: Workload, address: Address) -> dict[str, float]:
    """Each number that grows with the work done; a workload that counts nothing is not asked."""
    if not workload.counts:
        return {}
    with connected(replace(address, database=DATABASE)) as connection:
        return {name: value(connection, query) for name, query in workload.counts.items()}


def violations_after_load(
    connection: psycopg.Connection, workload: Workload, scale: int
) -> list[str]:
    """What is wrong with freshly loaded data: `checks.sql` holds before any work too."""
    return _found(connection, workload.statements("checks.sql", scale))


def _found(connection: psycopg.Connection, statements: Sequence[str]) -> list[str]:
    violations = []
    for statement in statements:
        for row in connection.execute(statement.encode()).fetchall():
            violations.append(", ".join(str(told) for told in row))
    return violations
