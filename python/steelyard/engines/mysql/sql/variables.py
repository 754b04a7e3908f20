"""Reads a server's settings as it sees them itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.engines.mysql.builds.build import MARIADB, MYSQL
from steelyard.engines.mysql.sql.product import product_of
from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import Endpoint

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
        found = rows_of(connection, "SHOW GLOBAL VARIABLES")
    return {name.lower(): value for name, value in found if name.lower() not in _MOMENTARY}


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
