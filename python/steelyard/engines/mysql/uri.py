"""Reads the URI of a MySQL or MariaDB server, in the words of their own clients.

mysql://USER:PASSWORD@HOST:PORT/DATABASE?ssl-mode=verify_identity&ssl-ca=FILE
mysql://USER@/DATABASE?socket=/run/mysqld/mysqld.sock
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

from steelyard.engines.server_uri import ENCODED, ServerUri, seconds_ns, split_uri
from steelyard.model.endpoint import MYSQL, Endpoint, Tls
from steelyard.model.errors import UsageError
from steelyard.model.secrets.secret import Secret
from steelyard.model.units import whole_number

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

    What is not in it is taken as both clients take it: the user is that of our process, the
    password is in MYSQL_PWD, the port in MYSQL_TCP_PORT.
    """
    uri = split_uri(target, _default_port())
    parameters = _parameters(uri)
    socket = parameters.get("socket")
    if socket and uri.host not in ("", "localhost"):
        raise UsageError(f'two addresses: host "{uri.host}" and socket "{socket}"')
    if socket and not socket.startswith("/"):
        raise UsageError(f'the path of a socket begins with /: "{socket}"')
    if not socket and not uri.host:
        raise UsageError(
            f'no address: "{uri.shown}"',
            hint="Name a host, or a socket: mysql://user@/database?socket=/run/mysqld/mysqld.sock",
        )
    if uri.nested:
        raise UsageError(f'no database of one name: "{uri.shown}"', hint=ENCODED)
    return Endpoint(
        host=socket or uri.host,
        port=uri.port,
        user=uri.user or _own_user(),
        database=uri.database,
        password=Secret.of(os.environ.get("MYSQL_PWD")) if uri.password is None else uri.password,
        tls=None if socket else _tls(uri.host, parameters),
        connect_timeout_ns=seconds_ns(parameters, "connect-timeout"),
        protocol=MYSQL,
    )


def _default_port() -> int:
    """UsageError: the environment has one that is none."""
    text = os.environ.get("MYSQL_TCP_PORT")
    port = whole_number(text) if text else PORT
    if port is None or not 0 < port < 1 << 16:
        raise UsageError(
            f'invalid port in MYSQL_TCP_PORT: "{text}"',
            hint="Unset it, or set it to a number from 1 to 65535.",
        )
    return port


def _own_user() -> str:
    """The account of this process: clients connect as the user of the same name (read_user_name in
    libmariadb's mariadb_lib.c). UsageError: it has no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise UsageError(
            f"no user: user id {os.geteuid()} has no name on this machine",
            hint="Name one: mysql://user@host/database",
        ) from None


def _parameters(uri: ServerUri) -> dict[str, str]:
    return uri.parameters(str, _WORDS)


def _tls(host: str, parameters: Mapping[str, str]) -> Tls | None:
    roots = parameters.get("ssl-ca", "")
    # With ssl-ca alone MySQL's own clients verify it.
    implied = "verify_ca" if roots else "preferred"
    encryption = parameters.get("ssl-mode", implied).lower().replace("-", "_")
    if encryption not in _MODES:
        raise UsageError(f'invalid ssl-mode: "{encryption}"', hint=f"Known: {', '.join(_MODES)}.")
    mode = _MODES[encryption]
    if mode in (None, "prefer"):
        _refuse_files(encryption, parameters)
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
        certificate=parameters.get("ssl-cert"),
        key=parameters.get("ssl-key", ""),
        least_version="TLSv1.2",
        most_version=None,
    )


def _refuse_files(mode: str, parameters: Mapping[str, str]) -> None:
    """UsageError: files of certificates, which a connection that is not encrypted leaves unread."""
    for word in ("ssl-ca", "ssl-cert", "ssl-key"):
        if parameters.get(word):
            raise UsageError(
                f"ssl-mode={mode} may leave {word} unread: connections need not be encrypted",
                hint="Say ssl-mode=verify_identity, verify_ca or required.",
            )
