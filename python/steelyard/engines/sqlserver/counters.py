"""Reads what SQL Server counts of one database: its log, its pages, its writes."""

from __future__ import annotations

from steelyard.engines.sqlserver.session import Session, bracketed, literal
from steelyard.model.readings import Kind, Sample

PAGE_BYTES = 8192

KINDS = (
    Kind("wal_bytes", "bytes", per_transaction=True),
    Kind("wal_writes", "writes", per_transaction=True),
    Kind("blocks_read", "blocks", per_transaction=True),
    Kind("blocks_written", "blocks", per_transaction=True),
    Kind("data_writes", "writes", per_transaction=True),
    Kind("data_stall_us", "µs"),
    Kind("wal_stall_us", "µs"),
)
"""Cumulative counts of one database; a difference of two belongs to the time between.

`wal_bytes`, `wal_writes`: "Log Bytes Flushed/sec" and "Log Flushes/sec" of
sys.dm_os_performance_counters, which are cumulative in spite of their names. The others are of
sys.dm_io_virtual_file_stats: `blocks_*` are bytes of its data files over 8 kB, a page each, also
where several were read at once; `*_stall_us`: how long sessions waited for them.
Sources: "SQL Server, Databases object"; "sys.dm_io_virtual_file_stats (Transact-SQL)".
"""

_COUNTER = """
(SELECT CONVERT(nvarchar(20), MAX(cntr_value)) FROM sys.dm_os_performance_counters
  WHERE object_name LIKE N'%:Databases%' AND counter_name = N'{counter}'
    AND instance_name = {name}) AS {alias}"""
_FILES = """
SELECT CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_bytes_read END)) AS bytes_read,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_bytes_written END))
         AS bytes_written,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.num_of_writes END)) AS data_writes,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 0 THEN v.io_stall END)) AS data_stall_ms,
       CONVERT(nvarchar(20), SUM(CASE WHEN f.type = 1 THEN v.io_stall END)) AS wal_stall_ms
  FROM sys.dm_io_virtual_file_stats(DB_ID({name}), NULL) v
  JOIN {database}.sys.database_files f ON f.file_id = v.file_id;
"""


def read(session: Session, database: str) -> Sample:
    """What was counted of a database so far; what the server hides is left out. RefusedError:
    this login may see none of it."""
    name = literal(database)
    log = ",".join(
        _COUNTER.format(counter=counter, name=name, alias=alias)
        for counter, alias in (
            ("Log Bytes Flushed/sec", "wal_bytes"),
            ("Log Flushes/sec", "wal_writes"),
        )
    )
    logged = _first(session, f"SELECT {log};")
    files = _first(session, _FILES.format(name=name, database=bracketed(database)))
    for before, after, factor in (
        ("bytes_read", "blocks_read", 1 / PAGE_BYTES),
        ("bytes_written", "blocks_written", 1 / PAGE_BYTES),
        ("data_stall_ms", "data_stall_us", 1000),
        ("wal_stall_ms", "wal_stall_us", 1000),
    ):
        if before in files:
            files[after] = files.pop(before) * factor
    return Sample({**logged, **files})


def _first(session: Session, query: str) -> dict[str, float]:
    """Column → number of the one row, without those that are NULL."""
    [result] = session.execute(query)
    [row] = result.rows
    cells = zip(result.columns, row, strict=True)
    return {name: float(value) for name, value in cells if value is not None}
