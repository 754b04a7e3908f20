"""Reads the URI of a MySQL or MariaDB server, in the words of their own clients.

mysql://USER:PASSWORD@HOST:PORT/DATABASE?ssl-mode=verify_identity&ssl-ca=FILE
mysql://USER@/DATABASE?socket=/run/mysqld/mysqld.sock
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from steelyard.model.endpoint import MYSQL, Endpoint, Tls
from steelyard.model.errors import UsageError
from steelyard.model.units import NS_PER_S

SCHEMES = ("mysql://", "mariadb://")
PORT = 3306
_MODES: Mapping[str, str | None] = {
    "disabled": None,
    "preferred": "prefer",
    "required": "require",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
"""`ssl-mode` of MySQL's clients → the driver's own word; None: plain text."""
_WORDS = ("socket", "ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "connect-timeout")


def is_mysql(target: str) -> bool:
    """Whether a target is such a URI."""
    return target.lower().startswith(SCHEMES)


def read_uri(target: str) -> Endpoint:
    """Where a URI leads. UsageError: it is wrong, or requests what is not supported.

    A password that is not in it is taken from MYSQL_PWD, as both clients do.
    """
    parts = urlsplit(target)
    words = _words(parts.query)
    try:
        port = parts.port or PORT
    except ValueError as error:
        raise UsageError(f'invalid URI of a server: "{_hidden(target)}": {error}') from error
    socket, host = words.get("socket"), unquote(parts.hostname or "")
    if socket and host not in ("", "localhost"):
        raise UsageError(f'two addresses: host "{host}" and socket "{socket}"')
    if socket and not socket.startswith("/"):
        raise UsageError(f'the path of a socket begins with /: "{socket}"')
    if not socket and not host:
        raise UsageError(
            f'no address: "{_hidden(target)}"',
            hint="Name a host, or a socket: mysql://user@/database?socket=/run/mysqld/mysqld.sock",
        )
    password = None if parts.password is None else unquote(parts.password)
    return Endpoint(
        host=socket or host,
        port=port,
        user=unquote(parts.username or "") or "root",
        database=unquote(parts.path.removeprefix("/")),
        password=os.environ.get("MYSQL_PWD") if password is None else password,
        tls=None if socket else _tls(host, words),
        connect_timeout_ns=_timeout_ns(words),
        protocol=MYSQL,
    )


def _words(query: str) -> dict[str, str]:
    words = dict(parse_qsl(query, keep_blank_values=True))
    unknown = next((word for word in words if word not in _WORDS), None)
    if unknown is not None:
        raise UsageError(
            f'invalid word in the URI of a server: "{unknown}"', hint=f"Known: {', '.join(_WORDS)}."
        )
    return words


def _tls(host: str, words: Mapping[str, str]) -> Tls | None:
    asked = words.get("ssl-mode", "preferred").lower().replace("-", "_")
    if asked not in _MODES:
        raise UsageError(f'invalid ssl-mode: "{asked}"', hint=f"Known: {', '.join(_MODES)}.")
    mode, roots = _MODES[asked], words.get("ssl-ca", "")
    if mode is None:
        return None
    if roots and not os.path.isfile(roots):
        raise UsageError(f'could not read ssl-ca "{roots}": there is no such file')
    return Tls(
        mode=mode,
        server_name=host,
        tells_name=True,
        direct=False,
        roots=roots,
        system_roots=not roots and mode.startswith("verify"),
        revoked="",
        certificate=words.get("ssl-cert"),
        key=words.get("ssl-key", ""),
        least_version="TLSv1.2",
        most_version=None,
    )


def _timeout_ns(words: Mapping[str, str]) -> int | None:
    seconds = words.get("connect-timeout")
    if seconds is None:
        return None
    if not seconds.isdecimal() or int(seconds) == 0:
        raise UsageError(f'invalid connect-timeout: "{seconds}"; accepted: whole seconds')
    return int(seconds) * NS_PER_S


def _hidden(target: str) -> str:
    """The URI without its password."""
    parts = urlsplit(target)
    if not parts.password:
        return target
    return target.replace(f":{parts.password}@", ":…@", 1)
