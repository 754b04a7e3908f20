"""Explains a workload's probes: what one access costs in buffers and log, on rows nobody timed.

EXPLAIN (ANALYZE, BUFFERS, WAL) counts exactly and times badly, so counts come from here and times
from plain executions on other rows. Source: the manual on EXPLAIN; commands/explain.c,
show_wal_usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from steelyard._core import script_statements
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import UsageError
from steelyard.workloads.loading.database import connected
from steelyard.workloads.reading.workload import DATABASE, Workload

COUNTED = {
    "wal_records": "WAL Records",
    "wal_full_page_images": "WAL FPI",
    "wal_bytes": "WAL Bytes",
    "blocks_hit": "Shared Hit Blocks",
    "blocks_read": "Shared Read Blocks",
    "blocks_dirtied": "Shared Dirtied Blocks",
}
_PLAIN = (
    # The only way to these rows is their key: whatever reads a page at once would touch all rows.
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_memoize = off",
    "SET max_parallel_workers_per_gather = 0",
    "SET jit = off",
)


def explain_probes(workload: Workload, address: Endpoint, scale: int) -> dict[str, dict[str, int]]:
    """Probe → what its execution counted; in the order of the workload, on one connection."""
    if not workload.probes:
        return {}
    variables = {name: str(value) for name, value in workload.variables(scale).items()}
    counted = {}
    with connected(replace(address, database=DATABASE)) as connection:
        for setting in _PLAIN:
            connection.execute(setting.encode())
        for name, text in workload.probes.items():
            try:
                *settings, query = script_statements(name, text, variables)
            except ValueError as error:
                raise UsageError(
                    f'workload "{workload.name}": probe "{name}" is wrong', detail=str(error)
                ) from error
            explained = f"EXPLAIN (ANALYZE, BUFFERS, WAL, FORMAT JSON) {query}"
            with connection.transaction():
                for setting in settings:
                    connection.execute(setting.encode())
                row = connection.execute(explained.encode()).fetchone()
            assert row is not None  # EXPLAIN answers with one row of JSON
            counted[name] = _counts(row[0][0]["Plan"])
    return counted


def _counts(plan: Mapping[str, object]) -> dict[str, int]:
    return {name: int(str(plan.get(key, 0))) for name, key in COUNTED.items()}
