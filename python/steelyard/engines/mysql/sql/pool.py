"""Reads the tables of a database into the buffer pool, index by index, as far as they fit."""

from __future__ import annotations

from steelyard.engines.engine import PoolFill
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import Endpoint

# The largest first: what is read last stays longest.
_INDEXES = """
    SELECT s.table_name, s.index_name
      FROM information_schema.statistics s
      JOIN information_schema.tables t
        ON t.table_schema = s.table_schema AND t.table_name = s.table_name
     WHERE s.table_schema = database() AND t.engine = 'InnoDB' AND s.seq_in_index = 1
       AND s.index_type = 'BTREE'
     ORDER BY t.data_length + t.index_length DESC, s.table_name, s.index_name <> 'PRIMARY',
              s.index_name"""
_READ = "SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'"


def fill_pool(address: Endpoint) -> PoolFill:
    """Count the rows of every table by each of its indexes, which reads all their leaves.

    A page of a scan enters the pool's old part and leaves it first when the pool is full
    (innodb_old_blocks_pct): what does not fit pushes out what was scanned, not what is used.
    """
    with connected(address, read_s=None) as connection:
        [(pool, page)] = rows_of(connection, "SELECT @@innodb_buffer_pool_size, @@innodb_page_size")
        [(_, before)] = rows_of(connection, _READ)
        for table, index in rows_of(connection, _INDEXES):
            rows_of(connection, f"SELECT count(*) FROM `{table}` FORCE INDEX (`{index}`)")
        [(_, after)] = rows_of(connection, _READ)
    read = (int(after) - int(before)) * int(page)
    return PoolFill(pool_bytes=int(pool), read_bytes=read, by="index scans")
