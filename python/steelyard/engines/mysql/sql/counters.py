"""Reads cumulative counters: redo log, pages, transactions, doublewrite, syncs.

They are exact at once: a session adds to them as it works (SHOW GLOBAL STATUS sums over threads).
The log is counted by its sequence number, which has no padding, and Innodb_os_log_written has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.readings import Kind, Sample

if TYPE_CHECKING:
    from pymysql.connections import Connection

KINDS = (
    Kind("wal_bytes", "bytes", per_transaction=True),
    Kind("blocks_hit", "blocks"),
    Kind("blocks_read", "blocks", per_transaction=True),
    Kind("blocks_written", "blocks", per_transaction=True),
    Kind("commits", "transactions"),
    Kind("rollbacks", "transactions"),
    Kind("rows_changed", "rows"),
    Kind("deadlocks", "deadlocks"),
    Kind("doublewrite_pages", "pages", per_transaction=True),
    Kind("data_syncs", "syncs", per_transaction=True),
    Kind("wal_writes", "writes"),
    Kind("wal_syncs", "syncs", per_transaction=True),
    Kind("row_lock_waits", "waits"),
    Kind("row_lock_us", "µs"),
    Kind("pool_waits", "waits"),
    Kind("log_waits", "waits"),
)
"""Cumulative counts of a whole server; a difference of two belongs to the time between.

`wal_bytes`: InnoDB's redo log, by its sequence number. `blocks_*`: pages of the buffer pool, hit
without a read, read from files and written to them; each page that was read was verified where the
algorithm is not "none". `doublewrite_pages`: of those written, those that went to the doublewrite
buffer first. `data_syncs`: fsync(2) of all files, the log's among them; `wal_syncs`: of the log.
`pool_waits`: for a free page, `log_waits`: for room in the log's buffer. `commits` and
`rollbacks` are statements that said so: autocommitted ones are in neither.
Sources: "Server Status Variables" of MySQL 5.7's and MariaDB's manuals.
"""

_SUMS: Mapping[str, tuple[str, ...]] = {
    "blocks_read": ("innodb_pages_read",),
    "blocks_written": ("innodb_pages_written",),
    "commits": ("com_commit",),
    "rollbacks": ("com_rollback",),
    "rows_changed": ("innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"),
    "deadlocks": ("innodb_deadlocks",),
    "doublewrite_pages": ("innodb_dblwr_pages_written",),
    "data_syncs": ("innodb_data_fsyncs",),
    "wal_writes": ("innodb_log_writes",),
    "wal_syncs": ("innodb_os_log_fsyncs",),
    "row_lock_waits": ("innodb_row_lock_waits",),
    "pool_waits": ("innodb_buffer_pool_wait_free",),
    "log_waits": ("innodb_log_waits",),
}
_INSTEAD: Mapping[str, tuple[str, ...]] = {
    # MariaDB counts InnoDB's rows no more from 10.6 on; these are of all storage engines.
    "rows_changed": ("handler_write", "handler_update", "handler_delete"),
}
_MILLISECONDS = "innodb_row_lock_time"
_REQUESTS, _MISSES = "innodb_buffer_pool_read_requests", "innodb_buffer_pool_reads"
_LSN = "innodb_lsn_current"
_LSN_WORDS = re.compile(r"Log sequence number\s+(\d+)")


def read_counters(address: Endpoint) -> Sample:
    """What the server counted so far, by the names of KINDS; what it does not count is left out.
    ServerError when it cannot be reached."""
    with connected(address) as connection:
        status = {
            str(name).lower(): float(value)
            for name, value in rows_of(connection, "SHOW GLOBAL STATUS")
            if _number(value)
        }
        counts = {**_sums(status, _INSTEAD), **_sums(status, _SUMS)}
        counts["wal_bytes"] = status[_LSN] if _LSN in status else float(log_position(connection))
        if "deadlocks" not in counts:
            counts |= _metrics(connection)
    if _REQUESTS in status and _MISSES in status:
        counts["blocks_hit"] = status[_REQUESTS] - status[_MISSES]
    if _MILLISECONDS in status:
        counts["row_lock_us"] = status[_MILLISECONDS] * 1000
    return Sample(counts)


def _sums(status: Mapping[str, float], sums: Mapping[str, tuple[str, ...]]) -> dict[str, float]:
    return {
        name: sum(status[part] for part in parts)
        for name, parts in sums.items()
        if all(part in status for part in parts)
    }


def log_position(connection: Connection[Any]) -> int:
    """The log's sequence number; MySQL has it in InnoDB's status report alone."""
    [(_, _, report)] = rows_of(connection, "SHOW ENGINE INNODB STATUS")
    match = _LSN_WORDS.search(report)
    return int(match[1]) if match else 0


def _metrics(connection: Connection[Any]) -> dict[str, float]:
    """Deadlocks, which MySQL counts among InnoDB's metrics, switched on by default."""
    query = (
        "SELECT count FROM information_schema.innodb_metrics"
        " WHERE name = 'lock_deadlocks' AND status = 'enabled'"
    )
    rows = rows_of(connection, query)
    return {"deadlocks": float(rows[0][0])} if rows else {}


def _number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
