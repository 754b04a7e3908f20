"""Proves that the work of a workload was really done: runs its checks on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.engines.engine import Address
from steelyard.workloads.load import connected
from steelyard.workloads.scripts import Script
from steelyard.workloads.workload import DATABASE, Workload


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
    violations = []
    with connected(replace(address, database=DATABASE)) as connection:
        for statement in statements:
            for row in connection.execute(statement.encode()).fetchall():
                violations.append(", ".join(str(value) for value in row))
    return violations
