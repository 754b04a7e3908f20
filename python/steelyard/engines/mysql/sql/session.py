"""Opens control connections to MySQL and MariaDB; the load itself goes through the driver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from steelyard.model.endpoint import Endpoint, Tls
from steelyard.model.errors import ServerError
from steelyard.model.units import NS_PER_S

if TYPE_CHECKING:
    import ssl

    from pymysql.connections import Connection

CONNECT_S = 10
_YEAR_S = 31_536_000
ANSWER_S = 60.0
"""How long an answer about the server may take: one whose process is stopped never gives any."""
_NO_DATABASE = 1049
"""ER_BAD_DB_ERROR."""
SQL_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ANSI_QUOTES,PIPES_AS_CONCAT,NO_ZERO_DATE"
"""Of every control connection, and of those that drive a workload: a value that does not fit is an
error, and || joins strings."""


def connect(
    address: Endpoint, *, sends_rows: bool = False, read_s: float | None = ANSWER_S
) -> Connection[Any]:
    """A control connection in autocommit, its time zone UTC. Raises pymysql's own errors.

    `sends_rows`: the server may ask for the rows of a LOAD DATA LOCAL, which are sent to it by the
    statement that announced them (sql/loader.py). No server ever gets a file of this machine.
    `read_s`: how long an answer may take; None: without a limit, for work on whole tables.
    """
    import pymysql
    from pymysql.constants import CLIENT

    from steelyard.engines.mysql.sql.authentication import AuthSwitchConnection, handlers

    socket = address.host if address.host.startswith("/") else None
    verified = address.tls is not None and address.tls.mode.startswith("verify")

    def opened(**encryption: Any) -> Connection[Any]:
        return AuthSwitchConnection(
            unix_socket=socket,
            host=None if socket else address.host,
            port=address.port,
            user=address.user,
            # In UTF-8, as the driver has it: PyMySQL would write it in latin1.
            password=address.password.reveal().encode() if address.password else b"",
            database=address.database or None,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_connect_s(address),
            read_timeout=read_s,
            client_flag=CLIENT.LOCAL_FILES if sends_rows else 0,
            local_infile=False,
            auth_plugin_map=handlers(private=socket is not None or verified),
            sql_mode=SQL_MODE,
            init_command="SET time_zone = '+00:00'",
            **encryption,
        )

    if address.tls is None:
        return opened(ssl_disabled=True)
    if address.tls.mode not in ("allow", "prefer"):
        return opened(ssl=_context(address.tls))
    try:
        return opened()
    except pymysql.OperationalError as error:
        if not _is_of_tls(error):
            raise
        return opened(ssl_disabled=True)  # 5.7 as some build it knows TLS 1.1 alone


def _connect_s(address: Endpoint) -> float:
    """PyMySQL takes a year at most."""
    if address.connect_timeout_ns is None:
        return CONNECT_S
    return min(address.connect_timeout_ns / NS_PER_S, _YEAR_S)


def _context(tls: Tls) -> ssl.SSLContext:
    """How a connection is encrypted that must be."""
    import ssl

    context = ssl.create_default_context(cafile=tls.roots or None)
    context.check_hostname = tls.mode == "verify-full"
    if not tls.roots and not tls.mode.startswith("verify"):  # as the driver has it
        context.verify_mode = ssl.CERT_NONE
    if tls.certificate:
        context.load_cert_chain(tls.certificate, tls.key or None)
    return context


def _is_of_tls(error: Exception) -> bool:
    import ssl

    return isinstance(getattr(error, "original_exception", None), ssl.SSLError)


@contextmanager
def connected(
    address: Endpoint, *, sends_rows: bool = False, read_s: float | None = ANSWER_S
) -> Iterator[Connection[Any]]:
    """A control connection in autocommit, as of `connect`; errors of the server become a
    ServerError."""
    import pymysql

    what = f'database "{address.database}"' if address.database else "the server"
    try:
        connection = _connect_or_say(address, sends_rows=sends_rows, read_s=read_s)
        try:
            yield connection
        finally:
            if connection.open:
                connection.close()
    except pymysql.MySQLError as error:
        missing = error.args[:1] == (_NO_DATABASE,)
        raise ServerError(
            f'could not work on {what} at "{address.host}"',
            detail=f"{what} does not exist" if missing else words_of(error),
        ) from error


def _connect_or_say(
    address: Endpoint, *, sends_rows: bool, read_s: float | None
) -> Connection[Any]:
    try:
        return connect(address, sends_rows=sends_rows, read_s=read_s)
    except RuntimeError as error:  # an authentication for which PyMySQL lacks a library
        raise ServerError(
            f'could not connect to the server at "{address.host}"',
            detail=str(error),
            hint="Use its socket or TLS (ssl-mode), or a user with mysql_native_password.",
        ) from error


def words_of(error: Exception) -> str:
    """What the server said, behind its number: "1146: Table 'd.t' doesn't exist"."""
    return ": ".join(str(part) for part in error.args) or str(error)


def rows_of(connection: Connection[Any], query: str) -> list[tuple[Any, ...]]:
    """The rows of a query; pymysql's errors."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def variables_of(connection: Connection[Any], *names: str) -> dict[str, str]:
    """Global variables by their names in small letters; one that the server does not have is left
    out. pymysql's errors."""
    listed = ", ".join(f"'{name}'" for name in names)
    query = f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})"
    return {str(name).lower(): str(value) for name, value in rows_of(connection, query)}
