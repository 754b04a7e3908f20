"""The database that workloads are loaded into: created, marked as Steelyard's, and opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.engines.loading import (
    DATABASE,
    Prober,
    RowEncoding,
    ServerDisk,
    require_replaceable,
)
from steelyard.engines.mysql.builds.build import MARIADB
from steelyard.engines.mysql.sql.loader import MARKER, MysqlChecker, MysqlLoader, database_bytes
from steelyard.engines.mysql.sql.own_time import log_bytes
from steelyard.engines.mysql.sql.session import (
    ANSWER_S,
    SQL_MODE,
    connected,
    rows_of,
    variables_of,
    words_of,
)
from steelyard.engines.mysql.sql.variables import Product, product_of
from steelyard.model.endpoint import Endpoint, on_this_machine
from steelyard.model.errors import EngineError, UsageError

if TYPE_CHECKING:
    from pymysql.connections import Connection

_PATIENT = ("SET SESSION wait_timeout = 86400", "SET SESSION net_read_timeout = 600")
"""A connection of a load may wait long for the others, and a server for the next rows. In s."""


_OF_INNODB = "SET SESSION default_storage_engine = 'InnoDB'"
"""Workloads are made for it: the server's own may be one without transactions."""
_NO_LIMIT = 1 << 62
"""Of a binary log, which takes every row of a load; MySQL 8.0 and later write one unless told."""


def write_lock(variables: Mapping[str, str]) -> str | None:
    """The variable by which a server refuses writes; None: it takes them. Servers write the value
    as a word or, some that others wrote, as a number."""
    for name in ("super_read_only", "read_only"):
        if variables.get(name, "OFF").upper() not in ("OFF", "0"):
            return name
    return None


class MysqlDatabase:
    """Database "steelyard" of a server; a WorkloadDatabase.

    `answering`: around each connection, for a server that may be held still as it is asked for.
    """

    def __init__(
        self,
        address: Endpoint,
        answering: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._server = replace(address, database="")
        self._ours = replace(address, database=DATABASE)
        self._answering = answering

    @property
    def host(self) -> str:
        """The server, as messages name it."""
        return self._server.host

    @cached_property
    def kind(self) -> str:
        """The product, which is read from the server once; ServerError."""
        with self._connected(self._server) as connection:
            return _product(connection).kind

    @property
    def encoding(self) -> RowEncoding:
        """How it takes rows."""
        return "lines"

    @property
    def session(self) -> tuple[str, ...]:
        """The `sql_mode` of the sessions that load and check: statements mean the same in all."""
        return (f"SET SESSION sql_mode = '{SQL_MODE}'",)

    def create(self, *, replacing: bool = False) -> None:
        """Make it empty; EngineError: the server is too old, takes no writes or is a replica, or
        the database there is kept.

        What an interrupted load left is replaced, and a loaded one where `replacing`; a database of
        that name without our marker never.
        """
        with self._connected(self._server, read_s=None) as connection:
            product = _product(connection)
            product.require_usable(self.host)
            self._require_writable(connection, product)
            there = f"SHOW DATABASES LIKE '{DATABASE}'"
            if rows_of(connection, there):
                self._require_replaceable(replacing=replacing)
                rows_of(connection, f"DROP DATABASE {DATABASE}")
            # Bytes are compared, as PostgreSQL does for equality.
            statement = f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            rows_of(connection, statement)

    def doubts(self) -> tuple[str, ...]:
        """Whether the server is a replica, where this user may not ask."""
        with self._connected(self._server) as connection:
            replicates, refusal = _replication(connection, _product(connection))
        if replicates or not refusal:
            return ()
        return (
            f'whether the server at "{self.host}" is a replica could not be asked: {refusal}; a '
            "load into one can end its replication. With REPLICATION CLIENT (in MariaDB SLAVE "
            "MONITOR) the user can ask",
        )

    def _require_writable(self, connection: Connection[Any], product: Product) -> None:
        locked = write_lock(variables_of(connection, "read_only", "super_read_only"))
        why = f"{locked} is on" if locked else ""
        if not why and _replication(connection, product)[0]:
            why = "it is a replica"
        if why:
            raise EngineError(f'cannot load into the server at "{self.host}": {why}')

    def _require_replaceable(self, *, replacing: bool) -> None:
        with self.loader() as loader:
            marked, loaded = loader.has_table(MARKER), loader.loaded() is not None
        require_replaceable(self.host, marked=marked, loaded=loaded, replacing=replacing)

    def disk(self) -> ServerDisk:
        """Where it would be, as the server says."""
        with self._connected(self._server) as connection:
            variables = variables_of(
                connection,
                "datadir",
                "pid_file",
                "innodb_log_file_size",
                "innodb_log_files_in_group",
                "innodb_redo_log_capacity",
                "log_bin",
            )
            replaced = database_bytes(connection, f"'{DATABASE}'")
            here = on_this_machine(self.host) and _is_local(variables)
        binary_log = variables.get("log_bin", "OFF").upper() in ("ON", "1")
        log_limit = _NO_LIMIT if binary_log else log_bytes(variables)
        return ServerDisk(Path(variables["datadir"]) if here else None, log_limit, replaced)

    @contextmanager
    def loader(self) -> Iterator[MysqlLoader]:
        """A connection that fills it."""
        with self._open(sends_rows=True) as connection:
            rows_of(connection, _OF_INNODB)
            yield MysqlLoader(connection, self._server)

    @contextmanager
    def checker(self) -> Iterator[MysqlChecker]:
        """A connection that reads it."""
        with self._open(sends_rows=False) as connection:
            yield MysqlChecker(connection, self._server)

    def counter(self) -> AbstractContextManager[MysqlChecker]:
        """As `checker`: a server that is held still goes on for its question."""
        return self.checker()

    @contextmanager
    def prober(self) -> Iterator[Prober]:
        """UsageError: what a statement costs is counted by PostgreSQL's EXPLAIN alone."""
        raise UsageError(
            f'cannot explain probes on the server at "{self.host}": PostgreSQL alone counts what '
            "one execution of a statement costs"
        )
        yield  # a context manager is a generator

    @contextmanager
    def _open(self, *, sends_rows: bool) -> Iterator[Connection[Any]]:
        with self._connected(self._ours, sends_rows=sends_rows, read_s=None) as connection:
            for setting in _PATIENT:
                rows_of(connection, setting)
            yield connection

    @contextmanager
    def _connected(
        self, address: Endpoint, *, sends_rows: bool = False, read_s: float | None = ANSWER_S
    ) -> Iterator[Connection[Any]]:
        with (
            self._answering(),
            connected(address, sends_rows=sends_rows, read_s=read_s) as connection,
        ):
            yield connection


def _product(connection: Connection[Any]) -> Product:
    return product_of(str(rows_of(connection, "SELECT VERSION()")[0][0]))


_RUNNING = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slave_running', 'Slaves_running')"
"""What MariaDB, and MySQL up to 5.7, tell every user: of a replica that is not stopped."""


def _replication(connection: Connection[Any], product: Product) -> tuple[bool, str]:
    """Whether the server takes changes from another one, as far as this user may see; and the
    server's words where it may not ask, else ""."""
    import pymysql

    if product.kind == MARIADB:  # without ALL it leaves out sources that have names
        query = "SHOW ALL SLAVES STATUS"
    else:
        query = f"SHOW {'REPLICA' if product.version >= (8, 4) else 'SLAVE'} STATUS"
    try:
        return bool(rows_of(connection, query)), ""
    except pymysql.OperationalError as refusal:  # it needs REPLICATION CLIENT
        states: list[str] = []
        with suppress(pymysql.MySQLError):  # servers of others have no such status
            states = [str(value).upper() for _, value in rows_of(connection, _RUNNING)]
        return any(state not in ("OFF", "0") for state in states), words_of(refusal)


def _is_local(variables: dict[str, str]) -> bool:
    """Whether the server's directory is one of this machine's, as its process id says.

    A port of this machine may lead into a container or to another one.
    """
    directory = Path(variables["datadir"])
    try:
        process = int((directory / variables["pid_file"]).read_text())
        name = Path(f"/proc/{process}/comm").read_text().strip()
        return name in ("mysqld", "mariadbd") and directory.is_dir()
    except (OSError, ValueError):
        return False
