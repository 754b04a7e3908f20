"""Where a connection string points to: libpq's words as plain fields.

libpq itself reads what is more than plain words: URIs, `PG*` variables, service files, `.pgpass`,
and which of several hosts takes the connection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard.errors import DriverError, UsageError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

_PLAIN = re.compile(r"(?:\s*(?:host|port|user|dbname|password)=[^\s'\\,]+)+\s*")
_ENCRYPTED = ("require", "verify-ca", "verify-full")

_NOT_THERE = ("connection to server", "could not translate host name")
"""How libpq begins when its words were understood, and the server did not answer."""


@dataclass(frozen=True)
class Target:
    """A server to connect to; a host that begins with `/` is a socket directory."""

    host: str
    port: int
    user: str
    database: str
    password: str | None = field(default=None, repr=False)
    options: str = ""
    application_name: str = "steelyard"


def read_target(conninfo: str) -> Target:
    """The target of a connection string or URI, completed as libpq does. UsageError: invalid.

    A string that names its host and password in plain `key=value` words is read here; everything
    else is left to libpq, whose import costs as much time as a small measurement may. Several
    hosts are tried as libpq tries them, and the one that takes the connection is driven;
    DriverError: none does.
    """
    if _PLAIN.fullmatch(conninfo) and "host=" in conninfo and not _needs_libpq(conninfo):
        words = dict(word.split("=", 1) for word in conninfo.split())
        return _target({**_environment(), **words})
    return _by_libpq(conninfo)


def _environment() -> dict[str, str]:
    names = {
        "port": "PGPORT",
        "user": "PGUSER",
        "dbname": "PGDATABASE",
        "password": "PGPASSWORD",
        "options": "PGOPTIONS",
        "application_name": "PGAPPNAME",
        "sslmode": "PGSSLMODE",
    }
    return {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}


def _needs_libpq(conninfo: str) -> bool:
    """Whether a service file or a password file may say more than the string does."""
    if os.environ.get("PGSERVICE"):
        return True
    if "password=" in conninfo or os.environ.get("PGPASSWORD"):
        return False
    named = os.environ.get("PGPASSFILE") or os.path.expanduser("~/.pgpass")
    return os.path.exists(named)


def _by_libpq(conninfo: str) -> Target:
    from psycopg import pq

    # Starting a connection makes libpq read everything that a connection depends on.
    started = pq.PGconn.connect_start(conninfo.encode())
    try:
        failed = started.status == pq.ConnStatus.BAD
        if failed and not _said(started).startswith(_NOT_THERE):
            raise UsageError(f"invalid connection string: {_said(started)}")
        words = _words(started)
        if "," not in (words.get("hostaddr") or words.get("host") or ""):
            words.setdefault("host", started.host.decode())
            return _target(words)
    finally:
        started.finish()
    tried = pq.PGconn.connect(conninfo.encode())
    try:
        if tried.status != pq.ConnStatus.OK:
            raise DriverError("could not connect to any of the hosts", detail=_said(tried))
        chosen = {"host": tried.host.decode(), "port": tried.port.decode()}
        if words.get("hostaddr") and not chosen["host"].startswith("/"):
            chosen["hostaddr"] = tried.hostaddr.decode()
        password = tried.password.decode()
        return _target({**words, "hostaddr": "", **chosen, "password": password})
    finally:
        tried.finish()


def _words(connection: PGconn) -> dict[str, str]:
    """What libpq knows about a connection, by keyword."""
    found = {word.keyword.decode(): word.val.decode() for word in connection.info if word.val}
    if connection.password:
        found["password"] = connection.password.decode()
    return found


def _said(connection: PGconn) -> str:
    return connection.error_message.decode(errors="replace").strip()


def _target(words: Mapping[str, str]) -> Target:
    if words.get("sslmode") in _ENCRYPTED:
        raise UsageError(
            f'cannot connect with sslmode "{words["sslmode"]}": encryption is not supported',
            hint='Use sslmode "prefer" or "disable" where the server allows it.',
        )
    host = words.get("hostaddr") or words["host"]
    port = words.get("port") or "5432"
    if "," in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(f'cannot drive host "{host}", port "{port}": one server is driven at once')
    user = words.get("user") or _login_name()
    return Target(
        host=host,
        port=int(port),
        user=user,
        database=words.get("dbname") or user,
        password=words.get("password") or None,
        options=words.get("options") or "",
        application_name=words.get("application_name") or "steelyard",
    )


def _login_name() -> str:
    import getpass

    return getpass.getuser()
