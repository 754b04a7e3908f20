"""Reads a server's settings as it sees them itself.

Ends the sessions that a lost load machine has left on MySQL or MariaDB.

Reads the tables of a database into the buffer pool, index by index, as far as they fit.

Distinguishes MySQL from MariaDB, and refuses a server that is too old for a load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from steelyard.engines.capabilities.checkpoints import PoolFill
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError

OLDEST = {MYSQL: (5, 7), MARIADB: (10, 3)}
"""What is older was never tried; MySQL 5.6 has no `super_read_only`, MariaDB 10.1 no CHECK."""
_NAMES = {MYSQL: "MySQL", MARIADB: "MariaDB"}
_NUMBERS = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True)
class Product:
    """What a server is, by its own `version`."""

    kind: str
    """MYSQL or MARIADB."""
    version: tuple[int, int]
    words: str
    """As the server says it: "5.7.29", "10.11.19-MariaDB-0+deb12u1"."""

    def require_usable(self, host: str) -> None:
        """EngineError where the server is too old to be loaded."""
        oldest = OLDEST[self.kind]
        if self.version < oldest:
            names = " and ".join(f"{_NAMES[kind]} {a}.{b}" for kind, (a, b) in OLDEST.items())
            raise EngineError(
                f'cannot load into the server at "{host}": {_NAMES[self.kind]} {self.words} '
                "is too old",
                detail=f"The oldest that are worked with: {names}.",
            )


def product_of(version: str) -> Product:
    """What a `version` says. MariaDB may put 5.5.5- before its own, for old replicas."""
    mariadb = "mariadb" in version.lower()
    match = _NUMBERS.search(version.removeprefix("5.5.5-") if mariadb else version)
    numbers = (int(match[1]), int(match[2])) if match else (0, 0)
    return Product(MARIADB if mariadb else MYSQL, numbers, version)


# Of the querying session, or of this moment: no settings of the server.
_MOMENTARY = frozenset(
    {"error_count", "external_user", "gtid_executed", "gtid_next", "gtid_owned", "gtid_purged"}
    | {"gtid_seq_no", "identity", "in_transaction", "innodb_thread_sleep_delay", "insert_id"}
    | {"last_gtid", "last_insert_id", "proxy_user", "pseudo_thread_id", "rand_seed1", "rand_seed2"}
    | {"server_uid", "server_uuid", "timestamp", "warning_count"}
)

_THREADS = {
    MARIADB: "SELECT id, tid FROM information_schema.processlist WHERE tid > 0",
    MYSQL: "SELECT processlist_id, thread_os_id FROM performance_schema.threads"
    " WHERE type = 'FOREGROUND' AND processlist_id IS NOT NULL AND thread_os_id IS NOT NULL",
}
_CONNECTIONS = "SHOW PROCESSLIST"


@dataclass(frozen=True)
class Served:
    """The connections of a server at one moment."""

    threads: Mapping[int, int]
    """Connection id → the thread of the operating system that serves it."""
    unknown: frozenset[int]
    """Ids of those that are there, and whose threads the server does not report."""


def read_settings(address: Endpoint) -> dict[str, str]:
    """Every global setting by name; ServerError when the server cannot be reached."""
    with connected(address) as connection:
        rows = rows_of(connection, "SHOW GLOBAL VARIABLES")
    return {name.lower(): value for name, value in rows if name.lower() not in _MOMENTARY}


def read_threads(address: Endpoint) -> dict[int, int]:
    """Connection id → the thread of the operating system that serves it now. Empty where the server
    does not report it: MySQL without its performance schema."""
    return dict(read_served(address).threads)


def read_served(address: Endpoint) -> Served:
    """The server's connections with their threads; ServerError when it cannot be reached.

    MySQL reports no thread beyond performance_schema_max_thread_instances, MariaDB none of a pool.
    """
    with connected(address) as connection:
        [(version,)] = rows_of(connection, "SELECT version()")
        query = _THREADS[product_of(str(version)).kind]
        threads = {int(number): int(tid) for number, tid in rows_of(connection, query)}
        # Afterwards: what has ended meanwhile is not missing.
        there = {int(number) for number, *_ in rows_of(connection, _CONNECTIONS)}
    return Served(threads, frozenset(there - threads.keys()))


def end_sessions(endpoint: Endpoint, sessions: Sequence[int]) -> int:
    """Kill those of the sessions that are still there; how many there were. ServerError: the server
    could not be asked.

    A server never gives a connection's number to another one while it runs; after a restart one of
    the same user may have it. SHOW PROCESSLIST shows every user its own sessions.
    """
    import pymysql

    ended = 0
    with connected(endpoint) as connection:
        [(login,)] = rows_of(connection, "SELECT SUBSTRING_INDEX(USER(), '@', 1)")
        for number, user, *_ in rows_of(connection, "SHOW PROCESSLIST"):
            if int(number) in sessions and user == login:
                ended += 1
                # Gone meanwhile, or refused: whoever asks again sees which.
                with suppress(pymysql.MySQLError), connection.cursor() as cursor:
                    cursor.execute(f"KILL {int(number)}")
    return ended


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
_NOT_FOR_QUERIES = 1176
"""ER_KEY_DOES_NOT_EXIST, as servers call an index that is hidden from the optimizer."""


def fill_pool(address: Endpoint) -> PoolFill:
    """Count the rows of every table by each of its indexes, which reads all their leaves; those
    that queries do not use (invisible ones of MySQL, ignored ones of MariaDB) are left out.

    A page of a scan enters the pool's old part and leaves it first when the pool is full
    (innodb_old_blocks_pct): what does not fit pushes out what was scanned, not what is used.
    """
    import pymysql

    with connected(address, read_s=None) as connection:
        [(pool, page)] = rows_of(connection, "SELECT @@innodb_buffer_pool_size, @@innodb_page_size")
        [(_, before)] = rows_of(connection, _READ)
        for table, index in rows_of(connection, _INDEXES):
            try:
                rows_of(connection, f"SELECT count(*) FROM `{table}` FORCE INDEX (`{index}`)")
            except pymysql.MySQLError as refusal:
                if refusal.args[:1] != (_NOT_FOR_QUERIES,):
                    raise
        [(_, after)] = rows_of(connection, _READ)
    read = (int(after) - int(before)) * int(page)
    return PoolFill(pool_bytes=int(pool), read_bytes=read, by="index scans")
