"""Reads connection strings as libpq does, and writes them, and options of its client programs.

libpq itself reads what is more than plain words: URIs, `PG*` variables, service files, `.pgpass`,
and which of several hosts takes the connection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.engines.postgres.libpq.connection_words import (
    connection_words,
    read_tls,
    refuse_options,
    require_clear,
    require_well_written,
    session_settings,
)
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, UsageError
from steelyard.model.files.small_file import read_small_bytes
from steelyard.model.secrets.secret import Secret
from steelyard.model.units import NS_PER_S, whole_number

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn


@dataclass(frozen=True)
class GivenAddress(Endpoint):
    """An address that a user gave: what else the connection string says is kept."""

    words: str = field(default="", repr=False)


@dataclass(frozen=True)
class OwnAddress(Endpoint):
    """The address of a server that Steelyard started. Connections to every other one are guarded
    (guarded/connection.py)."""


def conninfo_of(endpoint: Endpoint) -> str:
    """A connection string without a password; of an address that a user gave, the string as it was
    given, with its password, but for the database."""
    if isinstance(endpoint, GivenAddress):
        from psycopg.conninfo import make_conninfo

        return make_conninfo(endpoint.words, dbname=endpoint.database)
    return (
        f"host={endpoint.host} port={endpoint.port} user={endpoint.user} dbname={endpoint.database}"
    )


def client_flags(endpoint: Endpoint) -> list[str]:
    """Command-line options of PostgreSQL's client programs for the server, not the database."""
    return ["-h", endpoint.host, "-p", str(endpoint.port), "-U", endpoint.user]


_PLAIN = re.compile(r"(?:\s*(?:host|port|user|dbname|password)=[^\s'\\,]+)*\s*")
_URI = re.compile(r"postgres(?:ql)?://")

_NOT_THERE = ("connection to server", "could not translate host name")
"""How libpq begins when its words were understood, and the server did not answer."""

_SIMPLE = {
    "PGPORT": "port",
    "PGUSER": "user",
    "PGDATABASE": "dbname",
    "PGPASSWORD": "password",
    "PGOPTIONS": "options",
    "PGAPPNAME": "application_name",
}
"""Variables whose meaning is that of one word."""

_ELSEWHERE = ("PGTZ", "PGDATESTYLE", "PGGEQO")
"""Variables that libpq sends to the server, read where the settings of a session are."""

_MEANINGLESS = ("PGDATA", "PGPASSFILE", "PGSERVICEFILE", "PGHOST")
"""Variables that do not change where a string leads that names its host, or that are no libpq's."""

_ANY_SERVER = ("", "any", "prefer-standby")
"""Values of `target_session_attrs` that a single server meets whatever its state."""

_ENDLESS_NS = 10 * 365 * 86_400 * NS_PER_S


def read_target(
    conninfo: str,
    *,
    host: str | None = None,
    port: str | None = None,
    user: str | None = None,
) -> GivenAddress:
    """The target of a connection string or URI, completed as libpq does. UsageError: invalid.

    The string itself takes precedence over the single words, as with pgbench; a string that is
    neither keywords nor a URI is the name of a database.

    A string that names its host and password in plain `key=value` words is read here; everything
    else is left to libpq, whose import costs as much time as a small measurement may. Several
    hosts are tried as libpq tries them, and the one that takes the connection is driven;
    DriverError: none does.
    """
    require_clear(conninfo)
    parameters = {"host": host, "port": port, "user": user}
    if conninfo.strip() and "=" not in conninfo and not _URI.match(conninfo):
        require_well_written(conninfo)
        parameters["dbname"], conninfo = conninfo, ""
    defaults = {key: value for key, value in parameters.items() if value}
    if _PLAIN.fullmatch(conninfo) and not _needs_libpq():
        plain = defaults | dict(word.split("=", 1) for word in conninfo.split())
        if "host" in plain and "," not in plain["host"] and _knows_password(plain):
            return _target({**_environment(), **plain}, _written(plain))
    return _by_libpq(_joined(defaults, conninfo))


def _environment() -> dict[str, str]:
    return {word: os.environ[name] for name, word in _SIMPLE.items() if os.environ.get(name)}


def _needs_libpq() -> bool:
    """Whether the environment holds more than single words do."""
    simple = (*_SIMPLE, *_ELSEWHERE, *_MEANINGLESS)
    return any(name.startswith("PG") and name not in simple for name in os.environ)


def _knows_password(plain: Mapping[str, str]) -> bool:
    """Whether no password file can add to the string."""
    if "password" in plain or os.environ.get("PGPASSWORD"):
        return True
    password_file = os.environ.get("PGPASSFILE") or os.path.expanduser("~/.pgpass")
    return not os.path.exists(password_file)


def _written(plain: Mapping[str, str]) -> str:
    """The words as libpq reads them; without psycopg, whose import takes time."""
    escaped = {word: re.sub(r"(['\\])", r"\\\1", value) for word, value in plain.items()}
    return " ".join(f"{word}='{value}'" for word, value in escaped.items())


def _joined(defaults: Mapping[str, str], conninfo: str) -> str:
    """One string, in which `conninfo` has precedence."""
    if not defaults:
        return conninfo
    from psycopg.conninfo import make_conninfo

    return make_conninfo("", **{**defaults, **connection_words(conninfo)})


def _by_libpq(conninfo: str) -> GivenAddress:
    from psycopg import pq
    from psycopg.conninfo import make_conninfo

    _require_small_service_file(conninfo)
    # Starting a connection makes libpq read everything that a connection depends on.
    started = pq.PGconn.connect_start(conninfo.encode())
    try:
        failed = started.status == pq.ConnStatus.BAD
        if failed and not _error_message(started).startswith(_NOT_THERE):
            connection_words(conninfo)  # what cannot be split is not quoted
            raise UsageError(f"invalid connection string: {_error_message(started)}")
        parameters = _parameters(started)
        several = "," in (parameters.get("hostaddr") or parameters.get("host") or "")
        chooses = parameters.get("target_session_attrs", "") not in _ANY_SERVER
        if not several and not chooses:
            if "hostaddr" not in parameters:
                parameters.setdefault("host", started.host.decode())
            return _target(parameters, conninfo)
    finally:
        started.finish()
    which = "any of the hosts" if several else "the server"
    chosen = {"hostaddr": "", **_accepting_server(conninfo, parameters, which)}
    return _target({**parameters, **chosen}, make_conninfo(conninfo, **chosen))


_MOST_OF_SERVICES = 1 << 20


def _require_small_service_file(conninfo: str) -> None:
    """UsageError: libpq would wait for a pipe, or read zeros without end, without returning."""
    parameters = connection_words(conninfo)
    if not parameters.get("service") and not os.environ.get("PGSERVICE"):
        return
    service_file = parameters.get("servicefile") or os.environ.get("PGSERVICEFILE")
    file = Path(service_file or os.path.expanduser("~/.pg_service.conf"))
    try:
        read_small_bytes(file, _MOST_OF_SERVICES)
    except FileNotFoundError:
        return  # libpq's words, or the file of the system
    except OSError as error:
        raise UsageError(f'could not read service file "{file}": {error.strerror}') from error


def _accepting_server(conninfo: str, parameters: Mapping[str, str], which: str) -> dict[str, str]:
    """Host, port and password of the server that takes the connection; of a name with several
    addresses, the one whose state libpq has looked at. DriverError: none does."""
    import psycopg

    from steelyard.engines.postgres.guarded.connection import guarded

    try:
        with guarded(
            conninfo, where=parameters.get("host") or parameters.get("hostaddr") or ""
        ) as session:
            info = session.info
    except psycopg.Error as error:
        raise DriverError(f"could not connect to {which}", detail=str(error).strip()) from error
    chosen = {"host": info.host, "port": info.port, "password": info.password}
    by_address = (
        parameters.get("hostaddr") or parameters.get("target_session_attrs", "") not in _ANY_SERVER
    )
    if by_address and not info.host.startswith("/"):
        chosen["hostaddr"] = info.hostaddr
    return chosen


def _parameters(connection: PGconn) -> dict[str, str]:
    """What libpq knows about a connection, by keyword."""
    parameters = {word.keyword.decode(): word.val.decode() for word in connection.info if word.val}
    if connection.password:
        parameters["password"] = connection.password.decode()
    return parameters


def _error_message(connection: PGconn) -> str:
    return connection.error_message.decode(errors="replace").strip()


def _target(parameters: Mapping[str, str], words: str) -> GivenAddress:
    """`words`: what control sessions connect by, the password that was given among them."""
    refuse_options(parameters)
    host = parameters.get("hostaddr") or parameters["host"]
    port = parameters.get("port") or "5432"
    if not 0 < (whole_number(port) or 0) < 65536:
        raise UsageError(f'invalid port number: "{port}"')
    if "," in host:
        raise UsageError(f'cannot drive host "{host}": one server is driven at once')
    if host.startswith("@"):
        raise UsageError(
            f'cannot drive host "{host}": sockets without a file are not supported',
            hint="Name a directory of the server's unix_socket_directories, or a TCP address.",
        )
    user = parameters.get("user") or _login_name()
    return GivenAddress(
        host=host,
        port=int(port),
        user=user,
        database=parameters.get("dbname") or user,
        password=Secret.of(parameters.get("password") or None),
        options=parameters.get("options") or "",
        settings=session_settings(parameters),
        application_name=parameters.get("application_name")
        or parameters.get("fallback_application_name")
        or "steelyard",
        tls=read_tls(parameters),
        channel_binding=parameters.get("channel_binding") or "prefer",
        require_auth=parameters.get("require_auth") or None,
        connect_timeout_ns=_patience_ns(parameters.get("connect_timeout")),
        words=words,
    )


def _patience_ns(timeout: str | None) -> int | None:
    """libpq's `connect_timeout`, whole seconds of which 0 and less are without end."""
    if not timeout:
        return None
    try:
        seconds = int(timeout)
    except ValueError:
        raise UsageError(
            f'invalid integer value "{timeout}" for connection option "connect_timeout"'
        ) from None
    return seconds * NS_PER_S if seconds > 0 else _ENDLESS_NS


def _login_name() -> str:
    import getpass

    return getpass.getuser()
