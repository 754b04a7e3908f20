"""Where a connection string points to: libpq's words as plain fields."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from steelyard.errors import UsageError

_PLAIN = re.compile(r"(?:\s*(?:host|port|user|dbname|password)=[^\s'\\,]+)+\s*")
_ENCRYPTED = ("require", "verify-ca", "verify-full")


@dataclass(frozen=True)
class Target:
    """A server to connect to; a host that begins with `/` is a socket directory."""

    host: str
    port: int
    user: str
    database: str
    password: str | None = field(default=None, repr=False)


def read_target(conninfo: str) -> Target:
    """The target of a connection string or URI, completed as libpq does. UsageError: invalid.

    A string that names its host in plain `key=value` words is read here; everything else is left
    to libpq, whose import costs as much time as a small measurement may.
    """
    if _PLAIN.fullmatch(conninfo) and "host=" in conninfo:
        words = dict(word.split("=", 1) for word in conninfo.split())
        return _target({**_environment(), **words})
    return _target(_by_libpq(conninfo))


def _environment() -> dict[str, str]:
    names = {"port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE", "password": "PGPASSWORD"}
    return {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}


def _by_libpq(conninfo: str) -> dict[str, str]:
    import psycopg
    from psycopg import conninfo as libpq

    try:
        given = libpq.conninfo_to_dict(conninfo)
        defaults = psycopg.pq.Conninfo.get_defaults()
    except psycopg.Error as error:
        raise UsageError(f"invalid connection string: {str(error).strip()}") from error
    found = {d.keyword.decode(): d.val.decode() for d in defaults if d.val}
    found.update({key: str(value) for key, value in given.items() if value is not None})
    if "host" not in found:
        sockets = next((d.compiled for d in defaults if d.keyword == b"host"), None)
        found["host"] = sockets.decode() if sockets else "/tmp"
    return found


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
        password=words.get("password"),
    )


def _login_name() -> str:
    import getpass

    return getpass.getuser()
